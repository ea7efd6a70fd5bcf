"""Simulation-based calibration: are the posteriors right on average over the prior?

Draw parameters from the prior, annotations from the parameters, fit, and see where the true
parameter falls among the posterior draws. If the model is fitted as it is written, that place is
uniform, whatever is asked of parameters and data (Talts et al., 2018; Modrak et al., 2023, for
questions that also look at the data).

Uniformity is judged by the distribution function of the places, at many points at once: the
envelope of Sailynoja, Buerkner and Vehtari (2022), Statistics and Computing 32:32, by
simulation. Here it is written as a p-value: how often would uniform places stray as far?
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy import stats

from dissensus.errors import ConvergenceWarning, DissensusWarning

Floats = npt.NDArray[np.float64]
Fit = Callable[..., xr.DataTree]

POINTS = 100


@dataclass(frozen=True)
class Case:
    """One study drawn from a model."""

    annotations: xr.Dataset
    hyper: Mapping[str, Any]
    """Hyperparameters that the study was drawn with, to be fitted with."""
    questions: Callable[[xr.DataTree], Mapping[str, tuple[Floats, Floats]]]
    """Return, for each question, the answers by draw (sample, cell) and the true ones (cell).

    The cells of one question must be independent of one another: items are, where nothing is
    shared between them.
    """
    thin: int = 1
    """Of so many draws one is looked at: places are uniform among independent draws only."""


def places(draws: Floats, truth: Floats, rng: np.random.Generator) -> Floats:
    """Return where the truth falls among the draws, in (0, 1); ties are broken at random.

    With S draws, the truth has one of S + 1 ranks; spread over its (S + 1)-th, it is exactly
    uniform under calibration, so that tests for continuous distributions hold.
    """
    below, equal = (draws < truth).sum(0), (draws == truth).sum(0)
    return (below + rng.random(truth.shape) * (equal + 1)) / (len(draws) + 1)


def run(fit: Fit, simulate: Callable[[np.random.Generator], Case], *, studies: int,
        draws: int = 199, seed: int = 0,
        enough: Callable[[dict[str, Floats]], bool] = lambda places: False,
        ) -> dict[str, Floats]:  # fmt: skip
    """Return the places of the truth over several studies, for each question.

    With a quarter and a half of them it is asked whether that is ``enough``.
    """
    rng = np.random.default_rng(seed)
    result: dict[str, list[Floats]] = {}
    for number in range(studies):
        if number in {studies // 4, studies // 2} and enough(_joined(result)):
            break
        case = simulate(rng)
        with warnings.catch_warnings():
            # Of forty short chains one may well be poor; that is what the places are to show.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # Drawn from a prior, annotators are sometimes that bad.
            for words in ("In the posterior, annotators", r"\d+ of \d+ annotators .* right less"):
                warnings.filterwarnings("ignore", words, DissensusWarning)
            tree = fit(case.annotations, draws=draws * case.thin, chains=1, progressbar=False,
                       random_seed=int(rng.integers(2**31)), **case.hyper)  # fmt: skip
        tree = tree.isel(draw=slice(None, None, case.thin)) if case.thin > 1 else tree
        for question, (answers, truth) in case.questions(tree).items():
            result.setdefault(question, []).append(places(answers, truth, rng))
    return _joined(result)


def _joined(result: dict[str, list[Floats]]) -> dict[str, Floats]:
    return {question: np.concatenate(parts) for question, parts in result.items()}


def strays(places: Floats) -> float:
    """Return how far the places stray from uniformity: the least pointwise tail probability."""
    points = np.arange(1, POINTS) / POINTS
    count = np.searchsorted(np.sort(places), points, side="right")
    binomial = stats.binom(len(places), points)
    return float(np.minimum(binomial.cdf(count), binomial.sf(count - 1)).min())


@cache
def _uniform_strays(n: int, simulations: int = 2000) -> Floats:
    rng = np.random.default_rng(20220318)
    return np.sort([strays(rng.random(n)) for _ in range(simulations)])


def p_value(places: Floats) -> float:
    """Return how often as many uniform places would stray as far; never below 1/2000."""
    null = _uniform_strays(len(places))
    return float((1 + np.searchsorted(null, strays(places), side="right")) / (1 + len(null)))


def envelope(n: int, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Return points, and the lower and upper edge that hold all of a uniform sample's ECDF."""
    points = np.arange(POINTS + 1) / POINTS
    tail = np.quantile(_uniform_strays(n), 1 - level)
    low, high = stats.binom.ppf(tail, n, points), stats.binom.isf(tail, n, points)
    return points, low / n, high / n
