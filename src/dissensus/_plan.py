"""How many annotators, how many items? Simulated from a pilot study's posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import fitting, models
from dissensus.arrays.dirichlet import draw_dirichlet
from dissensus.arrays.seeds import generator
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.errors import ArgumentError

Floats = npt.NDArray[np.float64]
_REPEATS = 10


def plan(
    pilot: xr.Dataset,
    annotators: Sequence[int] = (1, 2, 3, 5, 8, 12),
    items: Sequence[int] = (100, 300, 1000),
    *,
    accuracy: float = 0.8,
    reliability: float = 1.0,
    prior_count: float = 1.0,
    prob: float | None = None,
    draws: int = 400,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Foresee what a study with so many annotators and items would tell.

    New studies are drawn from the pilot's posterior: items like the pilot's, annotated by so
    many annotators each, and a system that names an item's truly most plausible label
    with probability ``accuracy``. Each is analysed as `models.dirichlet` would.

    Parameters
    ----------
    pilot : xarray.Dataset
        Nominal or ordinal annotations of a first few dozen items.
    annotators : sequence of int
        Annotators for each item to try.
    items : sequence of int
        Numbers of items to try.
    accuracy : float
        The imagined system's accuracy.
    reliability, prior_count : float
        Of the model, both for the pilot and for the analysis of the new studies.
    prob : float, optional
        Probability of the interval; ArviZ's ``stats.ci_prob`` by default.
    draws : int
        Posterior draws in each simulated study.
    random_seed : int, optional
        Makes it repeatable.

    Returns
    -------
    xarray.Dataset
        ``certainty`` (annotator): mean annotation certainty; ``certain_share`` (annotator):
        share of items with certainty above .9; ``half_width`` (annotator, item): half the length
        of the interval of the uncertainty-adjusted accuracy for new items; ``shortfall``
        (annotator): how far its mean lies below the true accuracy, because few annotators leave
        the truth open. Means over simulated studies.

    Raises
    ------
    AnnotationError
        If the pilot is of another kind.
    ArgumentError
        If an argument makes no sense.

    Examples
    --------
    >>> import dissensus as dx
    >>> pilot = dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"),
    ...                         "label": ["x", "y", "x", "x"]})
    >>> result = dx.plan(pilot, annotators=(1, 8), items=(50,), random_seed=1)
    >>> bool(result.certainty.sel(annotator=8) > result.certainty.sel(annotator=1))
    True
    """
    _share("accuracy", accuracy)
    draws = fitting.sample_shape(draws, 1)[1]
    sizes = {"annotators": _counts("annotators", annotators), "items": _counts("items", items)}
    fit = models.get("dirichlet").module.fit(
        pilot, draws=_REPEATS, chains=1, random_seed=random_seed,
        reliability=reliability, prior_count=prior_count,
    )  # fmt: skip
    truths = fit["posterior"]["plausibility"].isel(chain=0).to_numpy()
    rng = generator(random_seed, "plan")
    level = _level(prob)
    found = [
        _study(truths, n, max(sizes["items"]), accuracy, reliability, prior_count, draws, rng)
        for n in sizes["annotators"]
    ]
    half = [[_half_width(study, n, level, rng) for n in sizes["items"]] for study in found]
    return xr.Dataset(
        {
            "certainty": (ANNOTATOR, [float(study[1].mean()) for study in found]),
            "certain_share": (ANNOTATOR, [float((study[1] > 0.9).mean()) for study in found]),
            "half_width": ((ANNOTATOR, ITEM), half),
            "shortfall": (ANNOTATOR, [accuracy - float(study[0].mean()) for study in found]),
        },
        coords={ANNOTATOR: sizes["annotators"], ITEM: sizes["items"]},
        attrs={"accuracy": accuracy, "reliability": reliability, "probability": level},
    )


def _counts(name: str, values: Sequence[int]) -> list[int]:
    try:
        numbers = np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        numbers = np.array([])
    if not len(numbers) or not (numbers >= 1).all() or (numbers != np.rint(numbers)).any():
        raise ArgumentError(name, expected="whole numbers, 1 or more", found=repr(values))
    return sorted({int(number) for number in numbers})


def _share(name: str, value: float) -> float:
    number = fitting.finite(name, value)
    if not 0 < number < 1:
        raise ArgumentError(name, expected="a number between 0 and 1", found=repr(value))
    return number


def _level(prob: float | None) -> float:
    from arviz_base import rcParams

    return float(rcParams["stats.ci_prob"]) if prob is None else _share("prob", prob)


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
    drawn = draw_dirichlet(prior_count + reliability * counts, (draws,), rng).theta.argmax(axis=-1)
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
