"""Every model of the registry is calibrated against its own `build`, with no code of its own."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from calibration import as_written, forms, harness
from calibration.designs import design
from calibration.simulators import SIMULATORS

from dissensus import models
from dissensus.sampling import fitting
from dissensus.sampling.interpreter import uncompiled

FALSE_ALARM = 0.001
FORMS = forms.forms()
FIRST = {form.model.name: name for name, form in reversed(FORMS.items())}
"""One form of each model."""


def least(form, studies, draws=200, seed=1):
    """Return the least p of a form's questions; for so few studies nothing is compiled."""
    with uncompiled():
        run_result = harness.run(form.model.module.fit, form.simulator(seed), studies=studies,
                            draws=draws, seed=seed)  # fmt: skip
    return min(harness.p_value(x) for x in run_result.values())


def test_every_model_is_drawn_from_as_written_or_says_why_not():
    drawn = {form.model.name for form in FORMS.values()}
    assert drawn | set(forms.NOT_DRAWN) == set(models.names())
    assert not drawn & set(forms.NOT_DRAWN)
    assert all(len(why) > 20 for why in {**forms.NOT_DRAWN, **forms.LAID_OUT_BY_DATA}.values())


@pytest.mark.parametrize("name", sorted(forms.NOT_DRAWN))
def test_a_model_that_is_not_drawn_from_cannot_be_and_is_simulated_by_hand(name):
    model = models.get(name)
    with pytest.raises(as_written.NotDrawnError):
        forms.Form(model, model.kinds[-1], {}).simulator()
    assert name in {simulated.split(":")[0] for simulated in SIMULATORS}


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("name", [FIRST[model] for model in sorted(FIRST)])
def test_calibrated_as_written(name):
    assert least(FORMS[name], studies=15) > FALSE_ALARM


def test_a_prior_that_is_taken_from_the_data_is_refused():
    with pytest.raises(as_written.NotDrawnError, match="hang on the data"):
        forms.Form(models.get("normal_scores"), "continuous", {}).simulator()


# -- A model registered tomorrow --------------------------------------------------------------


def toy(times=1.0, centre=50.0):
    """A mean for each item, scores around it: conjugate, or fitted as if labels counted more."""
    module = ModuleType("dissensus.models.toy")

    def build(annotations):
        at = float(annotations["value"].mean()) if centre is None else centre
        coords = {"item": annotations["item"].to_numpy(),
                  "annotation": range(annotations.sizes["annotation"])}  # fmt: skip
        with pm.Model(coords=coords) as model:
            mean = pm.Normal("mean", at, 1.0, dims="item")
            item = annotations["item_code"].to_numpy()
            pm.Normal("score", mean[item], 1.0, observed=annotations["value"].to_numpy(),
                      dims="annotation")  # fmt: skip
        return model

    def fit(annotations, *, draws, chains, random_seed, **options):
        item, n_items = annotations["item_code"].to_numpy(), annotations.sizes["item"]
        n = times * np.bincount(item, minlength=n_items)
        total = times * np.bincount(item, annotations["value"].to_numpy(), minlength=n_items)
        rng = np.random.default_rng(random_seed)
        noise = rng.normal(size=(chains, draws, n_items)) / np.sqrt(1 + n)
        mean = xr.DataArray((50.0 + total) / (1 + n) + noise, dims=("chain", "draw", "item"))
        return fitting.fitted("toy", posterior={"mean": mean}, sample_stats={}, observed_data={},
                              constant_data={}, hyper={})  # fmt: skip

    module.build, module.fit = build, fit
    return module


@pytest.fixture
def registered(monkeypatch):
    """Return a function that puts a toy into the registry, and returns its form."""

    def put(**options):
        model = models.Model("toy", ("continuous",), "scores around a mean")
        monkeypatch.setitem(sys.modules, "dissensus.models.toy", toy(**options))
        monkeypatch.setattr(models, "MODELS", (*models.MODELS, model))
        return forms.forms()["toy: continuous (as written)"]

    return put


def test_a_model_that_is_registered_is_calibrated_with_no_further_code(registered):
    form = registered()
    run_result = harness.run(form.model.module.fit, form.simulator(1), studies=60, draws=99, seed=1)
    assert list(run_result) == ["mean[0]", "mean[7]", "log-likelihood"]
    assert all(len(x) == 60 and harness.p_value(x) > FALSE_ALARM for x in run_result.values())


@pytest.mark.parametrize("times", [0.3, 3.0])
def test_one_with_a_wrong_rate_is_caught(times, registered):
    assert least(registered(times=times), studies=60) < FALSE_ALARM


def test_one_whose_prior_is_taken_from_the_data_is_told_so(registered):
    with pytest.raises(as_written.NotDrawnError, match="GIVEN"):
        registered(centre=None).simulator()


# -- The harness itself -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["nominal", "ranking"])
def test_what_was_said_is_what_is_put_back(kind):
    """A model's own observed data, put back, are the annotations they came from."""
    ann = design(kind)
    for name in ("dirichlet", "plackett_luce") if kind == "nominal" else ("plackett_luce",):
        given = forms.GIVEN.get(name, {})
        built = models.get(name).module.build(ann, **given)
        observed = built.rvs_to_values[built.observed_RVs[0]].data
        along = tuple(built.named_vars_to_dims[built.observed_RVs[0].name])
        back = as_written.put_back(ann, along, observed)
        again = models.get(name).module.build(back, **given)
        np.testing.assert_array_equal(again.rvs_to_values[again.observed_RVs[0]].data, observed)


def test_draws_are_worth_what_autoregression_says():
    rng = np.random.default_rng(1)
    for rho in (0.0, 0.5, 0.9):
        x = np.zeros(20_000)
        noise = rng.normal(size=len(x))
        for t in range(1, len(x)):
            x[t] = rho * x[t - 1] + noise[t]
        exact = len(x) * (1 - rho) / (1 + rho)
        assert as_written.worth(x) == pytest.approx(exact, rel=0.2)
        assert len(as_written.thinned(x)) <= as_written.worth(x) + 1
