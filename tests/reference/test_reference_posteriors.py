"""Fits of every model against posteriors that something independent of the library has made.

The files in `posteriors/` say how each was made; `make reference` makes them again.
"""

from __future__ import annotations

import datetime
from functools import lru_cache
from typing import NamedTuple

import arviz as az
import numpy as np
import pytest
from reference.stored import FOLDER, draws, references, statistics
from samplers import drawn_at_once

from dissensus.models import names

NAMES = sorted(references())
every_reference = pytest.mark.parametrize("name", NAMES)
BOUND = 5.0
"""In Monte Carlo standard errors of both sides together.

There are some 2,000 comparisons, and a normal variable is past 5 once in 1.7 million times, past
4.5 once in 150,000. The larger bound leaves room for errors of quantiles, which are themselves
estimated to 10 % or so.
"""
LEAST = 400
"""Effective draws without which neither the estimate nor its error is one."""
SELDOM = {"symmetric_confusion", "rasch"}
"""Models that are seldom where labels have changed places, or a spread is next to nothing: a chain
that has not been there, or once, knows neither how much that matters nor how little it knows."""


def run(name, **more):
    model = references()[name].model
    draws = 4000 if model in drawn_at_once() else 18_000 if model in SELDOM else 6000
    settings = {"draws": draws, "chains": 2, "tune": 300}
    return references()[name].fit(**{**settings, **more})


@lru_cache
def fitted(name):
    return run(name)


class Gap(NamedTuple):
    """An estimate of the library beside the value of a reference."""

    value: float
    estimate: float
    error: float
    """Monte Carlo standard error of both together."""
    effective: float

    def is_past(self, bound):
        if self.error == 0:  # a truth that is known is no matter of errors
            return self.estimate != self.value
        return not abs(self.estimate - self.value) < bound * self.error


def gaps(name, posterior, change=lambda x: x):
    """Return each comparison, by what is compared."""
    out = {}
    for quantity, entry in references()[name].quantities.items():
        result = change(draws(posterior, entry))
        for statistic, (value, error) in statistics(entry).items():
            which, estimate = judged(result, statistic)
            both, effective = 0.0, np.inf
            if np.ptp(result) > 0:
                both = np.hypot(float(az.mcse(result, **which)), error)
                effective = float(az.ess(result, **which))
            out[f"{quantity} {statistic}"] = Gap(value, float(estimate), float(both), effective)
    return out


def judged(result, statistic):
    """Return what ArviZ calls a statistic, and its estimate."""
    if statistic == "mean":
        return {"method": "mean"}, result.mean()
    if statistic == "sd":
        return {"method": "sd"}, result.std(ddof=1)
    q = int(statistic[1:]) / 100
    return {"method": "quantile", "prob": q}, np.quantile(result, q)


def past(result, bound=BOUND):
    return {
        quantity: f"reference {gap.value:.5g}, library {gap.estimate:.5g}, error {gap.error:.2g}"
        for quantity, gap in result.items()
        if gap.is_past(bound)
    }


def test_every_model_has_a_reference():
    assert {references()[name].model for name in NAMES} == set(names()), (
        "write tests/reference/make/<name>.py, and run `python -m reference.make <name>`"
    )


@every_reference
def test_a_reference_met_all_its_criteria_and_says_where_it_is_from(name):
    stored = references()[name]
    assert stored.criteria
    assert all(value is True for value in stored.criteria.values())
    assert {"exact", "quadrature_error_below_1e-6", "r_hat_below_1.01"} & set(stored.criteria)
    origin = stored.provenance
    assert (FOLDER.parents[2] / origin["script"]).is_file()
    assert origin["command"].endswith(origin["script"].split("/")[-1].removesuffix(".py"))
    assert {"python", "numpy", "scipy"} <= set(origin["versions"])
    datetime.date.fromisoformat(origin["date"])
    monte_carlo = "NUTS" in origin["method"]
    assert monte_carlo == ("ess_above_10000" in stored.criteria) == (origin["seed"] is not None)
    assert monte_carlo <= ({"pymc", "arviz"} <= set(origin["versions"]))
    assert stored.question.endswith("?")


@pytest.mark.unit(0, long=8)
@every_reference
def test_a_fit_has_the_means_spreads_and_tails_of_its_reference(name):
    result = gaps(name, fitted(name))
    assert len(result) >= 12
    few = {
        quantity: round(gap.effective)
        for quantity, gap in result.items()
        if not gap.effective > LEAST
    }
    assert not few, "too few effective draws: choose other data, or add the model to SELDOM"
    assert not past(result)


WRONG = {name: stored.wrong for name, stored in references().items() if "wrong" in stored.content}
"""One hyperparameter of each model off by 1.3, see `reference.make.writer.write`."""


one_of_each = pytest.mark.parametrize("name", WRONG)


@pytest.mark.unit(0, long=4)
@one_of_each
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda x: x.mean() + 0.9 * (x - x.mean()), id="pulled to their mean by a tenth"
        ),
        pytest.param(lambda x: x + 0.15 * x.std(), id="moved by a seventh of their spread"),
    ],
)
def test_draws_that_are_not_what_they_should_be_are_noticed(name, change):
    assert past(gaps(name, fitted(name), change))


@pytest.mark.unit(0, long=3)
@one_of_each
def test_a_hyperparameter_that_is_off_by_a_third_is_noticed(name):
    assert past(gaps(name, run(name, **WRONG[name])))


def test_each_model_has_been_given_a_wrong_hyperparameter():
    assert {references()[name].model for name in WRONG} == set(names()), (
        "add wrong= to tests/reference/make/<name>.py: a hyperparameter 1.3 times too large"
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The chains have not run long enough")
@every_reference
def test_a_long_fit_has_them_too(name):
    result = gaps(name, run(name, draws=100_000, chains=4, random_seed=2))
    assert not past(result)
