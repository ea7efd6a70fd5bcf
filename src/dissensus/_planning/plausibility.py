"""New studies of labels whose truth is a plausibility, drawn from a pilot's posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import models
from dissensus._planning.checks import counts, level, share
from dissensus.data.predictions import Features
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.kernels.dirichlet import draw_dirichlet
from dissensus.kernels.majority import leaned
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats
from dissensus.metrics._insight import insight_of
from dissensus.sampling import fitting
from dissensus.sampling.learned_prior import LEARNED, learned, plausibilities

_REPEATS = 10
_WARM_UP = 100


def planned(
    pilot: Any,
    annotators: Sequence[int],
    items: Sequence[int],
    *,
    accuracy: float = 0.8,
    reliability: float = 1.0,
    prior_count: float | str = LEARNED,
    prob: float | None = None,
    draws: int = 400,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Return what `dissensus.plan` does of labels that are no measurements."""
    share("accuracy", accuracy)
    draws = fitting.sample_shape(draws, 1)[1]
    sizes = {"annotators": counts("annotators", annotators), "items": counts("items", items)}
    fit = models.get("dirichlet").module.fit(
        pilot, draws=_REPEATS, chains=1, random_seed=random_seed, progressbar=False,
        reliability=reliability, prior_count=prior_count,
    )  # fmt: skip
    truths = fit["posterior"]["plausibility"].isel(chain=0).to_numpy()
    rng = generator(random_seed, "plan")
    prob = level(prob)
    # A study for each size: what items have in common is learned from those there are.
    studies = [
        [
            _study(truths, n, k, accuracy, reliability, prior_count, draws, rng)
            for k in sizes["items"]
        ]
        for n in sizes["annotators"]
    ]
    largest = int(np.argmax(sizes["items"]))
    found = [row[largest] for row in studies]
    half = [[_half_width(study[0], prob, rng) for study in row] for row in studies]
    return xr.Dataset(
        {
            "certainty": (ANNOTATOR, [float(study[1].mean()) for study in found]),
            "certain_share": (ANNOTATOR, [float((study[1] > 0.9).mean()) for study in found]),
            "half_width": ((ANNOTATOR, ITEM), half),
            "shortfall": (ANNOTATOR, [accuracy - float(study[0].mean()) for study in found]),
        },
        coords={ANNOTATOR: sizes["annotators"], ITEM: sizes["items"]},
        attrs={"accuracy": accuracy, "reliability": reliability, "probability": prob},
    )


def _study(
    truths: Floats,
    n_annotators: int,
    n_items: int,
    accuracy: float,
    reliability: float,
    prior_count: float | str,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Simulate one study: the system's scores (draw, item), and certainties (item)."""
    pool = truths.reshape(-1, truths.shape[-1])
    theta = pool[rng.integers(len(pool), size=n_items)]
    counts = rng.multinomial(n_annotators, theta)
    n_labels = theta.shape[1]
    right = theta.argmax(axis=1)
    wrong = (right + rng.integers(1, max(2, n_labels), size=n_items)) % n_labels
    said = np.where(rng.random(n_items) < accuracy, right, wrong)
    drawn = _posterior(counts, said, reliability, prior_count, draws, rng).argmax(axis=-1)
    frequency = np.stack([(drawn == label).mean(axis=0) for label in range(n_labels)])
    scores = (drawn == said).astype(np.float64)
    if isinstance(prior_count, str):  # what the system knows beyond the labels is left open
        keys: Any = rng.integers(2**64, size=n_items, dtype=np.uint64)
        insight = insight_of(rng.standard_normal(draws))
        scores = leaned(scores.T, 0.0, scores.mean(axis=0), 1.0, insight, keys).T
    return scores, frequency.max(axis=0)


def _posterior(
    counts: npt.NDArray[np.int64], said: npt.NDArray[np.int64], reliability: float,
    prior_count: float | str, draws: int, rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Draw plausibilities of a simulated study (draw, item, label), as the model does."""
    n_items, n_labels = counts.shape
    if not isinstance(prior_count, str):
        keys: Any = rng.integers(2**64, size=n_items, dtype=np.uint64)
        return draw_dirichlet(prior_count + reliability * counts, keys, draws).theta
    answer, votes = Features([np.eye(n_labels)[said]], ["system"], []), counts.astype(np.float64)
    prior = learned([(votes, answer.values)], (1, draws), _WARM_UP, rng)
    seed = fitting.stream_seed(rng)
    theta = plausibilities(prior, reliability * votes, answer, np.arange(n_items), (1, draws), seed)
    return theta[0]


def _half_width(scores: Floats, level: float, rng: np.random.Generator) -> float:
    """Return half the interval's length, items by the Bayesian bootstrap."""
    weights = rng.standard_exponential(scores.shape)
    values = (scores * weights).sum(axis=1) / weights.sum(axis=1)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(high - low) / 2
