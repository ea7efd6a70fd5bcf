"""What a system knows of the panel beyond what a few labels an item can show.

Three labels of an item hardly say how evenly the panel is split, and nothing of what a system does
where it is split 52 to 48. A learned prior takes a system for one of the panel there: it errs where
people err. People do, and classifiers nearly so; a system that finds the leading label however even
the split is does better, and no label tells. What is left open is one number a system, its
*insight*: the log odds of an answer to be the leading label are so much more than the labels show.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.plausibility import Space
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.majority import leaned
from dissensus.kernels.random import generator, item_keys, name_hashes
from dissensus.kernels.types import Floats, Keys
from dissensus.metrics._lists import Prepare, Score, require_draws

LEARNED: Final = "learned"
SCALE: Final = 0.28
SHIFT: Final = -0.4
"""Of SCALE exp(z) + SHIFT with z standard normal: 89 % of it lie between -.34 and .99, and the mean
is .06. Decision 0017 has what systems on panels of ten and more came to."""
ALIKE: Final = 8
"""z of two systems that give the same label on nine of ten items is correlated by .43, on seven of
ten by .06: different systems differ in it, and only copies have the same."""


def insight_of(standard: Floats) -> Floats:
    """Return insights from standard normal numbers.

    Examples
    --------
    >>> insight_of(np.array([-1.6, 0.0, 1.6])).round(2).tolist()
    [-0.34, -0.12, 0.99]
    """
    return SCALE * np.exp(standard) + SHIFT


def insights(
    insight: Any, theta: xr.DataArray, predictions: xr.Dataset, random_seed: Any
) -> xr.DataArray:
    """Return the insight of each system, draw by draw.

    Parameters
    ----------
    insight : "learned" or DataArray (..., system)
    theta : DataArray
        Of whose draws.
    predictions : Dataset
        Of which systems, on its items.
    random_seed : int or Generator, optional

    Raises
    ------
    ArgumentError
        If it is neither, or there are no draws that it could lean.
    """
    require_draws(theta)
    if isinstance(insight, str) and insight == LEARNED:
        return draw_insights(predictions, (theta.sizes[CHAIN], theta.sizes[DRAW]), random_seed)
    if not isinstance(insight, xr.DataArray) or SYSTEM not in insight.indexes:
        _refuse(f"None, {LEARNED!r}, or a DataArray over {SYSTEM!r} with names there", insight)
    if insight.dtype.kind not in "fiu":
        _refuse("numbers", insight.to_numpy().ravel().tolist())
    names, given = predictions[SYSTEM].to_numpy(), insight[SYSTEM].to_numpy()
    if not insight.indexes[SYSTEM].is_unique:
        _refuse("each system once", given.tolist())
    found = insight.compute().astype(np.float64).reindex({SYSTEM: names})
    if not bool(np.isfinite(found).all()):
        _refuse(f"finite numbers for {brief(names.tolist())}", given.tolist())
    sizes = {dim: theta.sizes[dim] for dim in SAMPLE}
    sample = [dim for dim in found.dims if dim != SYSTEM]
    if any(found.sizes[dim] != sizes.get(dim) for dim in sample):
        _refuse(f"no dims but {SYSTEM!r} and those of the draws, {sizes}", dict(found.sizes))
    for dim in sample:
        if dim in found.indexes and dim in theta.indexes:
            named, theirs = found.indexes[dim], theta.indexes[dim]
            if not named.equals(theirs):
                expected = f"the {dim}s of the plausibility, {brief(theirs.tolist())}"
                _refuse(expected, named.tolist())
    alike = {dim: n for dim, n in sizes.items() if dim not in found.dims}
    return found.drop_vars(SAMPLE, errors="ignore").expand_dims(alike)


def draw_insights(
    predictions: xr.Dataset, size: tuple[int, int], random_seed: Any = None
) -> xr.DataArray:
    """Draw (chain, draw, system), alike for systems that give the same labels.

    A system's random numbers start from its answers: they are the same in whatever order systems
    stand, and others in a call for another system under the same seed. The correlation of two is
    the share of items on which they give the same label, to the power of `ALIKE`.
    """
    seed = int(generator(random_seed, "insight").integers(2**63))
    first = predictions["label_code"].isel({POSITION: 0}).transpose(SYSTEM, ITEM).to_numpy()
    order = np.argsort(name_hashes(predictions[ITEM].to_numpy()), kind="stable")
    answers = name_hashes(predictions[LABEL].to_numpy())[first[:, order]]
    digests = [blake2b(one.tobytes(), digest_size=8).digest() for one in answers]
    names, where, back = np.unique(
        np.array([int.from_bytes(one) for one in digests], dtype=np.uint64),
        return_index=True, return_inverse=True,
    )  # fmt: skip
    once = first[where]
    alike = np.stack([(once == one).mean(axis=1) for one in once]) ** ALIKE
    values, vectors = np.linalg.eigh(alike)
    root = (vectors * np.sqrt(values.clip(min=0.0))) @ vectors.T
    standard = [np.random.default_rng([seed, int(name)]).standard_normal(size) for name in names]
    found = insight_of(np.stack(standard, axis=-1) @ root)[..., back]
    coords = {SYSTEM: predictions[SYSTEM].to_numpy()}
    return xr.DataArray(found, dims=(*SAMPLE, SYSTEM), coords=coords)


def with_insight(prepare: Prepare, insight: xr.DataArray, random_seed: Any) -> Prepare:
    """Let scores lean by each system's insight, where draws leave an item open."""

    def leaning(theta: xr.DataArray, lists: xr.Dataset, where: Space) -> Score:
        score, lean = prepare(theta, lists, where), leans(theta, insight, random_seed)
        return lambda answers: lean(score(answers), answers[SYSTEM].item())

    return leaning


def leans(
    theta: xr.DataArray, insight: xr.DataArray, random_seed: Any
) -> Callable[[xr.DataArray, Hashable], xr.DataArray]:
    """Return what lets scores (chain, draw, item) of one system, with its name, lean.

    Items have one random number a draw for all systems: of systems with the same insight an
    answer is right of both or of neither.
    """
    seed = int(generator(random_seed, "items leaned").integers(2**31))
    keys = item_keys(theta[ITEM].to_numpy(), theta.sizes[CHAIN], seed=seed)
    return lambda scores, name: lean(scores, insight.sel({SYSTEM: name}, drop=True), keys)


def lean(scores: xr.DataArray, insight: xr.DataArray, keys: Keys) -> xr.DataArray:
    """Let one system's scores (chain, draw, item) lean by its insight (chain, draw).

    ``keys`` (chain, item) start the items' random streams.
    """
    streams = xr.DataArray(keys, dims=(CHAIN, ITEM))
    return xr.apply_ufunc(
        leaned, scores, scores.min(SAMPLE), scores.mean(SAMPLE), scores.max(SAMPLE), insight,
        streams, input_core_dims=[[DRAW], [], [], [], [DRAW], []], output_core_dims=[[DRAW]],
    ).transpose(*scores.dims)  # fmt: skip


def _refuse(expected: str, found: Any) -> None:
    raise ArgumentError("insight", expected=expected, found=brief(found))
