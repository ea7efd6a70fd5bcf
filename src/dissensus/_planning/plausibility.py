"""New studies of labels whose truth is a plausibility, drawn from a pilot's posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import fitting, models
from dissensus._planning.checks import counts, level, share
from dissensus.arrays.dirichlet import draw_dirichlet
from dissensus.arrays.seeds import generator
from dissensus.dims import ANNOTATOR, ITEM

Floats = npt.NDArray[np.float64]
_REPEATS = 10


def planned(
    pilot: Any,
    annotators: Sequence[int],
    items: Sequence[int],
    *,
    accuracy: float = 0.8,
    reliability: float = 1.0,
    prior_count: float = 1.0,
    prob: float | None = None,
    draws: int = 400,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Return what `dissensus.plan` does of labels that are no measurements."""
    share("accuracy", accuracy)
    draws = fitting.sample_shape(draws, 1)[1]
    sizes = {"annotators": counts("annotators", annotators), "items": counts("items", items)}
    fit = models.get("dirichlet").module.fit(
        pilot, draws=_REPEATS, chains=1, random_seed=random_seed,
        reliability=reliability, prior_count=prior_count,
    )  # fmt: skip
    truths = fit["posterior"]["plausibility"].isel(chain=0).to_numpy()
    rng = generator(random_seed, "plan")
    prob = level(prob)
    found = [
        _study(truths, n, max(sizes["items"]), accuracy, reliability, prior_count, draws, rng)
        for n in sizes["annotators"]
    ]
    half = [[_half_width(study, n, prob, rng) for n in sizes["items"]] for study in found]
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
    prior_count: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Simulate one large study: the system's scores (draw, item), and certainties (item)."""
    pool = truths.reshape(-1, truths.shape[-1])
    theta = pool[rng.integers(len(pool), size=n_items)]
    counts = rng.multinomial(n_annotators, theta)
    n_labels = theta.shape[1]
    right = theta.argmax(axis=1)
    wrong = (right + rng.integers(1, max(2, n_labels), size=n_items)) % n_labels
    said = np.where(rng.random(n_items) < accuracy, right, wrong)
    keys = rng.integers(2**64, size=n_items, dtype=np.uint64)
    drawn = draw_dirichlet(prior_count + reliability * counts, keys, draws).theta.argmax(axis=-1)
    frequency = np.stack([(drawn == label).mean(axis=0) for label in range(n_labels)])
    return (drawn == said).astype(np.float64), frequency.max(axis=0)


def _half_width(
    study: tuple[Floats, Any], n_items: int, level: float, rng: np.random.Generator
) -> float:
    """Return half the interval's length with the first n items, by the Bayesian bootstrap."""
    scores = study[0][:, :n_items]
    weights = rng.standard_exponential(scores.shape)
    values = (scores * weights).sum(axis=1) / weights.sum(axis=1)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(high - low) / 2
