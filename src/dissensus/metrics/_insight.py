"""What a system knows of the panel beyond what a few labels an item can show.

Three labels of an item hardly say how evenly the panel is split, and nothing of what a system does
where it is split 52 to 48. A learned prior takes a system for one of the panel there: it errs where
people err. People do, and classifiers nearly so; a system that finds the leading label however even
the split is does better, and no label tells. What is left open is one number a system, its
*insight*: the log odds of an answer to be the leading label are so much more than the labels show.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.arrays.keys import Keys, item_keys
from dissensus.arrays.leaned import leaned
from dissensus.arrays.seeds import generator
from dissensus.dims import CHAIN, DRAW, ITEM, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief
from dissensus.metrics._lists import Prepare, Score
from dissensus.plausibility import Space

Floats = npt.NDArray[np.float64]

LEARNED: Final = "learned"
SCALE: Final = 0.28
SHIFT: Final = -0.4
"""Of SCALE exp(z) + SHIFT with z standard normal: 89 % of it lie between -.34 and .99, and the mean
is .06. Decision 0017 has what systems on panels of ten and more came to."""


def insight_of(standard: Floats) -> Floats:
    """Return insights from standard normal numbers.

    Examples
    --------
    >>> insight_of(np.array([-1.6, 0.0, 1.6])).round(2).tolist()
    [-0.34, -0.12, 0.99]
    """
    return SCALE * np.exp(standard) + SHIFT


def insights(
    insight: Any, plausibility: xr.DataArray, predictions: xr.Dataset, random_seed: Any
) -> xr.DataArray:
    """Return the insight of each system, draw by draw.

    Parameters
    ----------
    insight : "learned" or DataArray (..., system)
    plausibility : DataArray
        Of whose draws.
    predictions : Dataset
        Of which systems.
    random_seed : int or Generator, optional

    Raises
    ------
    ArgumentError
        If it is neither, or there is nothing it could lean.
    """
    if not set(SAMPLE) <= set(plausibility.dims):
        _refuse("None beside a point estimate", insight)
    if isinstance(insight, str) and insight == LEARNED:
        chains, draws = (plausibility.sizes[dim] for dim in SAMPLE)
        return draw_insights(predictions, (chains, draws), random_seed)
    if not isinstance(insight, xr.DataArray) or SYSTEM not in insight.coords:
        _refuse(f"None, {LEARNED!r}, or a DataArray over {SYSTEM!r} with names there", insight)
    names = predictions[SYSTEM].to_numpy()
    found = insight.astype(np.float64).reindex({SYSTEM: names})
    if not bool(np.isfinite(found).all()):
        _refuse(f"finite numbers for {brief(names.tolist())}", insight[SYSTEM].to_numpy().tolist())
    strange = {dim: found.sizes[dim] for dim in found.dims if dim not in (SYSTEM, *SAMPLE)}
    sizes = {dim: plausibility.sizes[dim] for dim in SAMPLE}
    if strange or any(found.sizes.get(dim, n) != n for dim, n in sizes.items()):
        _refuse(f"no dims but {SYSTEM!r} and those of the draws, {sizes}", dict(found.sizes))
    alike = {dim: n for dim, n in sizes.items() if dim not in found.dims}
    return found.drop_vars(SAMPLE, errors="ignore").expand_dims(alike)


def draw_insights(
    predictions: xr.Dataset, size: tuple[int, int], random_seed: Any = None
) -> xr.DataArray:
    """Draw (chain, draw, system), alike for systems that give the same labels.

    The correlation of two is the share of items on which they do: of copies it is one number, and
    neither is better.
    """
    rng = generator(random_seed, "insight")
    first = predictions["label_code"].isel({POSITION: 0}).transpose(ITEM, SYSTEM).to_numpy()
    alike = np.stack([(first == one[:, None]).mean(axis=0) for one in first.T])
    values, vectors = np.linalg.eigh(alike)
    root = vectors * np.sqrt(values.clip(min=0.0))
    found = insight_of(rng.standard_normal((*size, len(alike))) @ root.T)
    coords = {SYSTEM: predictions[SYSTEM].to_numpy()}
    return xr.DataArray(found, dims=(*SAMPLE, SYSTEM), coords=coords)


def with_insight(prepare: Prepare, insight: xr.DataArray, random_seed: Any) -> Prepare:
    """Let scores of 0 and 1 lean by each system's insight, where draws leave an item open."""
    seed = int(generator(random_seed, "items leaned").integers(2**31))

    def leaning(theta: xr.DataArray, lists: xr.Dataset, where: Space) -> Score:
        score = prepare(theta, lists, where)
        keys = item_keys(theta[ITEM].to_numpy(), theta.sizes[CHAIN], seed=seed)

        def one(answers: xr.Dataset) -> xr.DataArray:
            return lean(score(answers), insight.sel({SYSTEM: answers[SYSTEM]}, drop=True), keys)

        return one

    return leaning


def lean(scores: xr.DataArray, insight: xr.DataArray, keys: Keys) -> xr.DataArray:
    """Let one system's scores (chain, draw, item) lean by its insight (chain, draw).

    ``keys`` (chain, item) start the items' random streams.
    """
    streams = xr.DataArray(keys, dims=(CHAIN, ITEM))
    return xr.apply_ufunc(
        leaned, scores, scores.mean(SAMPLE), np.exp(insight), streams,
        input_core_dims=[[DRAW], [], [DRAW], []], output_core_dims=[[DRAW]],
    ).transpose(*scores.dims)  # fmt: skip


def _refuse(expected: str, found: Any) -> None:
    raise ArgumentError("insight", expected=expected, found=brief(found))
