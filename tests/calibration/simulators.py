"""How to draw a study from each model of the registry, and what to ask of its fit.

A model without an entry here fails `test_every_model_has_a_simulator`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from calibration import crossed_simulators as crossed
from calibration import rasch_simulators as rasch
from calibration import truth_simulators as truth
from calibration.harness import Case, Floats
from scipy import stats

import dissensus as dx

ITEMS = 40


def _stacked(array: xr.DataArray) -> Floats:
    """Return draws as (sample, item, ...)."""
    return array.to_numpy().reshape(-1, *array.shape[2:])


# -- Plausibilities ---------------------------------------------------------------------------


def _votes(
    rng: np.random.Generator, n_labels: int, prior_count: float, least: int
) -> tuple[Floats, npt.NDArray[np.int64], list[list[int]]]:
    """Draw plausibilities, numbers of annotators (unequal), and what each of them says."""
    theta = rng.dirichlet(np.full(n_labels, prior_count), ITEMS)
    n = rng.integers(least, 7, ITEMS)
    labels = [
        rng.choice(n_labels, size, p=row).tolist() for size, row in zip(n, theta, strict=True)
    ]
    counts = np.array([np.bincount(row, minlength=n_labels) for row in labels])
    return theta, counts, labels


def _simplex_questions(
    theta: Floats, counts: npt.NDArray[np.int64], draws: Floats
) -> dict[str, Any]:
    """Ask of single labels, of functions of all, and of the data under the parameters."""

    def fitted(p: Floats) -> Floats:
        return (counts * np.log(np.maximum(p, 1e-300))).sum(-1)

    def lead(p: Floats) -> Floats:
        return p.max(-1)

    return {
        "first label": (draws[..., 0], theta[..., 0]),
        "last label": (draws[..., -1], theta[..., -1]),
        "largest": (lead(draws), lead(theta)),
        "log-likelihood": (fitted(draws), fitted(theta)),
    }


def dirichlet(rng: np.random.Generator) -> Case:
    """At reliability 1, where the likelihood is one of data; also items nobody labelled."""
    prior_count = float(rng.choice([0.3, 1.0, 2.0]))
    theta, counts, labels = _votes(rng, 4, prior_count, least=0)
    matrix = np.array([row + [None] * (7 - len(row)) for row in labels], dtype=object)
    ann = dx.from_matrix(matrix, kind="nominal", labels=range(4))

    def questions(fit: xr.DataTree) -> Mapping[str, tuple[Floats, Floats]]:
        draws = _stacked(fit["posterior"]["plausibility"])
        return _simplex_questions(theta, counts, draws)

    return Case(ann, {"prior_count": prior_count}, questions)


def inverse_rank(rng: np.random.Generator) -> Case:
    """Single labels, trust per annotator and a prior: there PrIRN is the Dirichlet posterior.

    Rankings have no likelihood in PrIRN, so that nothing can be drawn from it in general. Of
    eight labels most are named by nobody, so that the remainder and its split are tried too.
    """
    prior_count = float(rng.choice([0.4, 1.0]))
    theta, counts, labels = _votes(rng, 8, prior_count, least=1)
    ann = dx.from_rankings({i: [[[label]] for label in row] for i, row in enumerate(labels)},
                           labels=range(8))  # fmt: skip

    def questions(fit: xr.DataTree) -> Mapping[str, tuple[Floats, Floats]]:
        dense = dx.group_labels(fit, {label: label for label in range(8)})
        unnamed = counts == 0
        rest = fit["posterior"]["plausibility"].isel(candidate=-1)
        return {
            **_simplex_questions(theta, counts, _stacked(dense)),
            "remainder": (_stacked(rest), (theta * unnamed).sum(-1)),
        }

    hyper = {"reliability": 1.0, "reliability_per": "annotator", "prior_count": prior_count}
    return Case(ann, hyper, questions)


def _ranked(rng: np.random.Generator, theta: Floats) -> list[list[int]]:
    """List some labels in the order in which they arrive, some tied, the rest left out."""
    arrival = np.log(rng.standard_exponential(len(theta))) - np.log(theta)
    blocks: list[list[int]] = []
    for label in np.argsort(arrival)[: rng.integers(1, len(theta))].tolist():
        if blocks and rng.random() < 0.4:
            blocks[-1].append(label)
        else:
            blocks.append([label])
    return blocks


def plackett_luce(rng: np.random.Generator) -> Case:
    """Rankings of eight labels, tied and cut at random; some are named by nobody.

    Strength tempering is a likelihood at any reliability, likelihood tempering at 1 only.
    """
    concentration = float(rng.choice([0.4, 1.0]))
    tempering, trust = [("likelihood", 1.0), ("strength", 0.4), ("strength", 3.0)][rng.integers(3)]
    theta = rng.dirichlet(np.full(8, concentration), ITEMS)
    labels = [[_ranked(rng, row**trust) for _ in range(rng.integers(0, 4))] for row in theta]
    ann = dx.from_rankings(dict(enumerate(labels)), labels=range(8))
    named = np.array(
        [np.isin(range(8), [x for r in label for b in r for x in b]) for label in labels]
    )
    some = named.any(axis=1)
    first = named.argmax(axis=1)

    def questions(fit: xr.DataTree) -> Mapping[str, tuple[Floats, Floats]]:
        draws = _stacked(fit["posterior"]["plausibility"])
        known = np.where(named, theta, 0.0)
        return {
            "first named label": (draws[:, some, 0], theta[some, first[some]]),
            "remainder": (draws[:, some, -1], (theta * ~named).sum(-1)[some]),
            "largest named": (draws[:, some, :-1].max(-1), known[some].max(-1)),
            "spread of the named": (
                (draws[:, some, :-1] ** 2).sum(-1),
                (known[some] ** 2).sum(-1),
            ),
        }

    hyper = {"concentration": concentration, "tempering": tempering, "reliability": trust}
    return Case(ann, hyper, questions, thin=10)


# -- Scores -----------------------------------------------------------------------------------


def normal_scores(rng: np.random.Generator) -> Case:
    """With the prior given; an estimated one is not the prior that the truth came from."""
    m, k, a, b = prior = (50.0, float(rng.choice([0.2, 2.0])), float(rng.choice([1.5, 4.0])), 3.0)
    variance = b / rng.gamma(a, size=ITEMS)
    mean = rng.normal(m, np.sqrt(variance / k))
    scores = rng.normal(mean[:, None], np.sqrt(variance)[:, None], (ITEMS, 5))
    scores[np.arange(5) >= rng.integers(0, 6, ITEMS)[:, None]] = np.nan
    ann = dx.from_matrix(scores, kind="continuous")

    def questions(fit: xr.DataTree) -> Mapping[str, tuple[Floats, Floats]]:
        draws = tuple(_stacked(fit["posterior"][name]) for name in ("mean", "variance"))

        def event(mu: Floats, v: Floats) -> Floats:
            return stats.norm.cdf((49.0 - mu) / np.sqrt(v))

        def fitted(mu: Floats, v: Floats) -> Floats:
            logp = stats.norm.logpdf(scores, mu[..., None], np.sqrt(v)[..., None])
            return np.nansum(logp, axis=-1)

        return {
            "mean": (draws[0], mean),
            "variance": (draws[1], variance),
            "event": (event(*draws), event(mean, variance)),
            "log-likelihood": (fitted(*draws), fitted(mean, variance)),
        }

    return Case(ann, {"prior": prior}, questions)


SIMULATORS: Final[Mapping[str, Callable[[np.random.Generator], Case]]] = {
    "dirichlet": dirichlet,
    "inverse_rank": inverse_rank,
    "normal_scores": normal_scores,
    "plackett_luce": plackett_luce,
    **{
        f"{model}: {family}": partial(crossed.case, model, family)
        for model in crossed.MODELS
        for family in crossed.FAMILIES
    },
    **truth.SIMULATORS,
    **rasch.SIMULATORS,
}
"""By the model's name; where a model has several forms, what follows the colon says which."""
