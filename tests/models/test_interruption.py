"""Ctrl-C during any model's fit: whole draws, said loudly, or a clean KeyboardInterrupt."""

from __future__ import annotations

import signal
import threading
from functools import partial

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from samplers import drawn_at_once, with_chains

import dissensus as dx
from dissensus.sampling import chains, fitting

SWEPT = sorted(with_chains() - {"plackett_luce"})
"""Models whose chains are advanced by `fitting.swept`."""
LOTS = 50


def interrupted_at(monkeypatch, lot, while_doing=""):
    """Let Ctrl-C be pressed when so many lots of sweeps are done."""

    def tracked(steps, text, show, total=None):
        for place, step in enumerate(steps):
            if place == lot and while_doing in text:
                signal.raise_signal(signal.SIGINT)
            yield step

    monkeypatch.setattr(chains, "tracked", tracked)


def fit(model, examples, **options):
    options = {"draws": 200, "tune": 100, "chains": 2, "random_seed": 3, "progressbar": False,
               **options}  # fmt: skip
    return dx.models.get(model).module.fit(examples[dx.models.get(model).kinds[-1]], **options)


@pytest.mark.filterwarnings("ignore:.*chains have not run long enough")
@pytest.mark.parametrize("model", SWEPT)
def test_what_was_drawn_is_returned_and_said(model, examples, monkeypatch):
    whole = fit(model, examples, posterior_predictive=True, log_likelihood=True)
    interrupted_at(monkeypatch, LOTS + 30)
    with pytest.warns(dx.DissensusWarning, match="interrupted: it holds 120 of the 200 draws"):
        part = fit(model, examples, posterior_predictive=True, log_likelihood=True)
    for group in (part, *part.children.values()):
        assert (group.attrs["interrupted"], group.attrs["draws_drawn"]) == (1, 120)
        assert group.attrs["draws_asked"] == 200
    assert "interrupted" not in whole.attrs
    assert part["posterior"].sizes["chain"] == 2
    for name, draws in whole["posterior"].data_vars.items():
        # The same draws, up to the interruption.
        if model != "cross_replication" or name != "item_effect":  # items unseen come afterwards
            xr.testing.assert_equal(part["posterior"][name], draws.isel(draw=slice(120)))
    for name in ("posterior_predictive", "log_likelihood"):
        for draws in part[name].data_vars.values():
            assert draws.sizes["draw"] == 120
            assert np.isfinite(draws).all()
    if "truth_mean" in part["constant_data"]:
        np.testing.assert_allclose(part["constant_data"]["truth_mean"].sum("label"), 1)
        mean = part["posterior"]["truth"].mean(("chain", "draw"))
        np.testing.assert_allclose(part["constant_data"]["truth_mean"], mean, atol=1e-12)


@pytest.mark.parametrize("model", SWEPT)
def test_a_warm_up_gives_nothing_back(model, examples, monkeypatch):
    # The last lot of two sweeps is not counted: it may not have been finished.
    interrupted_at(monkeypatch, 20)
    with pytest.raises(KeyboardInterrupt, match="38 of 100 sweeps of the warm-up: there are no"):
        fit(model, examples)


def test_rankings_are_drawn_item_by_item_and_so_all_or_none(examples, monkeypatch):
    interrupted_at(monkeypatch, 2)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt, match="before all items were through: there are no"):
        fit("plackett_luce", examples, concentration=None)
    interrupted_at(monkeypatch, 1, while_doing="Learning the prior")
    with pytest.raises(KeyboardInterrupt, match="before the prior was learned: there are no"):
        fit("plackett_luce", examples)
    assert threading.active_count() <= before  # what earlier tests left may end meanwhile


@pytest.mark.parametrize("model", sorted(drawn_at_once()))
def test_predictions_that_were_not_made_are_not_returned(model, examples, monkeypatch):
    # PyMC swallows Ctrl-C in its loop over draws, and returns arrays that were never filled.
    real = pm.sample_posterior_predictive

    def swallowing(*args, **options):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return real(*args, **options)

    monkeypatch.setattr(pm, "sample_posterior_predictive", swallowing)
    with pytest.raises(KeyboardInterrupt, match="while predictions were drawn"):
        fit(model, examples, posterior_predictive=True)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Interruption:
    """A callback of PyMC's that presses Ctrl-C at some draw."""

    def __init__(self, monkeypatch, at):
        real = pm.sample

        def sample(**options):
            return real(**options | {"callback": self, "cores": 1})

        monkeypatch.setattr(pm, "sample", sample)
        self.at = at

    def __call__(self, trace, draw):
        if len(trace) >= self.at:
            raise KeyboardInterrupt


# After so short a warm-up steps may diverge, by the last bits of a processor's arithmetic.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* transitions diverged")
@pytest.mark.filterwarnings("ignore:.*chains have not run long enough")
@pytest.mark.parametrize("model", ["crossed_effects", "symmetric_confusion", "rasch"])
def test_nuts_gives_back_what_it_drew(model, examples, monkeypatch):
    Interruption(monkeypatch, at=60 + 40)
    with pytest.warns(dx.DissensusWarning, match="interrupted: it holds 40 of the 100 draws"):
        part = fit(model, examples, sampler="nuts", draws=100, tune=60, chains=2)
    assert part["posterior"].sizes["draw"] == 40
    for draws in part["posterior"].data_vars.values():
        assert np.isfinite(draws).all()


@pytest.mark.long
def test_nuts_in_its_warm_up_raises_cleanly(examples, monkeypatch):
    Interruption(monkeypatch, at=20)
    with pytest.raises(KeyboardInterrupt, match="in the warm-up: there are no draws"):
        fit("crossed_effects", examples, sampler="nuts", draws=50, tune=60, chains=1)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*transitions diverged")  # few draws after a short warm-up
def test_half_a_nuts_run_is_of_no_use_to_who_wants_all(examples, monkeypatch):
    draws, real = [], pm.NUTS.step

    def step(nuts, point):
        draws.append(len(draws))
        if len(draws) == 60 + 20:
            signal.raise_signal(signal.SIGINT)
        return real(nuts, point)

    # Chain after chain: PyMC would go on with the second one.
    monkeypatch.setattr(pm, "sample", partial(pm.sample, cores=1))
    monkeypatch.setattr(pm.NUTS, "step", step)
    with fitting.all_or_nothing(), pytest.raises(KeyboardInterrupt, match=r"after 1. of 50 draws"):
        fit("crossed_effects", examples, sampler="nuts", draws=50, tune=60, chains=2)
    assert len(draws) < 60 + 20 + 5


def test_other_complaints_of_pymc_pass(monkeypatch):
    def sample(**options):
        raise ValueError("something else")

    monkeypatch.setattr(pm, "sample", sample)
    with pytest.raises(ValueError, match="something else"), pm.Model() as model:
        pm.Normal("x")
        fitting.sampled(model, draws=1, tune=1, chains=1)


@pytest.mark.long
def test_an_evaluation_is_whole_or_not_at_all(monkeypatch):
    study = dx.simulate.replication_study(30, 5, 3, random_seed=1)
    interrupted_at(monkeypatch, LOTS + 30, "Sampling effects")  # the components' chains
    with pytest.raises(KeyboardInterrupt, match=r"Interrupted after \d+ of 1,000 draws"):
        dx.evaluate(study.annotations, threshold=0.0, draws=100, random_seed=1, progressbar=False)
