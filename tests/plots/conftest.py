"""One evaluation of each form of plausibilities, and figures that leave nothing behind."""

from __future__ import annotations

from functools import cache

import component_fits as made
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication

import dissensus as dx
from dissensus._component_groups import component_draws


@pytest.fixture(autouse=True)
def no_window():
    """Draw without a screen, and check that no figure stays in pyplot's list unless ArviZ's."""
    before = mpl.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="session")
def dense():
    """Three labels, so that the triangle can be drawn; four systems; two models."""
    study = dx.simulate.study(n_items=12, n_annotators=4, n_labels=3, kind="nominal", random_seed=1)
    return _evaluated(study, companion="inverse_rank")


@pytest.fixture(scope="session")
def candidates():
    """Partial rankings, hence candidates with a remainder, and two models by default."""
    study = dx.simulate.study(n_items=12, n_annotators=4, n_labels=9, random_seed=1)
    return _evaluated(study)


def _evaluated(study, **options):
    labels = study.annotations["label"].to_numpy().tolist()
    risk = dict(zip(labels, range(len(labels)), strict=True))
    result = dx.evaluate(
        study.annotations,
        study.predictions,
        draws=30,
        chains=2,
        random_seed=1,
        progressbar=False,
        risk=risk,
        **options,
    )
    result["truth"] = study.truth
    result["agreement_check"] = _checked(study.annotations)
    result["assumptions"] = _assumptions()
    result["shared_mistakes"] = _mistakes()
    result["accuracy"] = _accuracy()
    result["components"] = component_draws(cross_replication("ordinal"), xr.DataArray(3.0))
    result["plan"] = _planned()
    result["weighted_reliability"] = _reliability()
    result["items_to_review"] = _review()
    result["accuracy_plan"] = _planned_accuracy()
    for name, found in _of_the_sure().items():
        result[name] = found
    sure = study.annotations["annotator_code"].astype(float) / 4
    result["annotations"] = study.annotations.assign(confidence=sure)
    for name, found in _crossed_checks().items():
        result[name] = found
    result["discrepancy_curve"] = _along_thresholds(study.predictions["system"].to_numpy())
    return result


def _reliability():
    """Draws of one reliability, which an evaluation may have beside it."""
    draws = np.random.default_rng(1).beta(58, 42, size=(2, 100))
    return xr.Dataset({"weighted_reliability": (("chain", "draw"), draws)})


def _review():
    """Gains of items of a small study of its own."""
    votes = [["x", "x", "x"], ["y", "y", "y"]] * 4 + [["x", "x", "y"], ["y", None, None]]
    fit = dx.models.symmetric_confusion.fit(
        dx.from_matrix(votes), draws=100, chains=2, random_seed=1, progressbar=False
    )
    return dx.items_to_review(fit, further=2)


def _planned():
    """A plan of reliability, from a pilot of its own."""
    pilot = made.crossed_effects("gaussian", draws=20)
    return dx.plan_reliability(
        pilot, (2, 4), (20, 40), panel=6, studies=2, draws=30, random_seed=1, progressbar=False
    )


@cache
def _planned_accuracy():
    """A plan of accuracy without the truth, two studies of a size."""
    return dx.plan_accuracy(
        annotators=(2, 3), items=(20, 40), kappa=0.5, n_labels=3, studies=2, random_seed=1,
        progressbar=False,
    )  # fmt: skip


@cache
def _assumptions():
    """Checks of a model of the truth, of a small study of its own."""
    study = dx.simulate.confusion_study(40, system_accuracy=(0.9, 0.7), random_seed=1)
    fit = dx.models.symmetric_confusion.fit(
        study.annotations, predictions=study.predictions, draws=200, chains=2, random_seed=1,
        progressbar=False, posterior_predictive=True,
    )  # fmt: skip
    return dx.check_assumptions(fit)


@cache
def _mistakes():
    """What mistakes that annotators share do to the accuracies of a small study of its own."""
    study = dx.simulate.confusion_study(100, system_accuracy=(0.7, 0.6), random_seed=1)
    fit = dx.models.symmetric_confusion.fit(
        study.annotations, predictions=study.predictions, draws=200, chains=2, random_seed=1,
        progressbar=False,
    )  # fmt: skip
    return dx.shared_mistakes(fit, (0, 0.1, 0.2), random_seed=1)


@cache
def _accuracy():
    """Accuracies of a small study with one truth of its own."""
    study = dx.simulate.confusion_study(150, ipc=0.7, system_accuracy=(0.9, 0.7), random_seed=1)
    result = dx.evaluate(
        study.annotations, study.predictions, draws=30, chains=2, random_seed=1, components=None,
        progressbar=False,
    )  # fmt: skip
    return result["accuracy"].to_dataset()


@cache
def _crossed_checks():
    """Checks of crossed effects, before and after they have seen ordered labels."""
    study = dx.simulate.replication_study(12, 5, 3, family="ordinal", random_seed=1)
    fit = dx.models.crossed_effects.fit(
        study.annotations, family="ordinal", draws=30, chains=2, random_seed=1, progressbar=False,
        posterior_predictive=True,
    )  # fmt: skip
    prior = dx.prior_predictive(
        "crossed_effects", study.annotations, family="ordinal", draws=30, random_seed=1
    )
    return {
        "label_check": dx.label_check(fit),
        "residual_check": dx.residual_check(fit),
        "prior_predictive": prior,
    }


@cache
def _of_the_sure():
    """Labels with confidence and a known truth, and what is said of the two."""
    rng = np.random.default_rng(1)
    sure, right = rng.choice([0.25, 0.5, 1.0], 120), rng.random(120) < 0.8
    ann = dx.annotations(
        {"item": np.repeat(np.arange(30), 4), "annotator": list("abcd") * 30,
         "label": right.astype(int), "confidence": sure}, confidence="confidence",
    )  # fmt: skip
    truth = dict.fromkeys(range(30), 1) | {0: 0, 1: 0}
    made = ("annotator_roc", "confidence_check", "confidence_difficulty")
    return {name: getattr(dx, name)(ann, truth, draws=100, random_seed=1) for name in made}


def _along_thresholds(systems):
    """Draws of a curve, which an evaluation without scores has not, but may have beside it."""
    draws = np.random.default_rng(1).uniform(0.8, 1.4, size=(1, 30, len(systems), 4))
    coords = {"system": systems, "threshold": [0.2, 0.4, 0.6, 0.8]}
    dims = ("chain", "draw", "system", "threshold")
    return xr.DataArray(draws, coords, dims, name="discrepancy_curve").to_dataset()


def _checked(annotations):
    """What `agreement_check` returns; it is no part of an evaluation, but may be put beside."""
    model = "plackett_luce" if annotations.attrs["kind"] == "ranking" else "dirichlet"
    fit = dx.models.get(model).module.fit(
        annotations, draws=30, chains=2, random_seed=1, progressbar=False, posterior_predictive=True
    )
    return dx.agreement_check(fit)


@pytest.fixture(params=["dense", "candidates"])
def evaluation(request):
    return request.getfixturevalue(request.param)
