"""Insight: a system's knowledge of the panel beyond the few labels of an item.

A few labels do not show how evenly a panel is split, or how well a system predicts the most
plausible label of evenly split items. On these items, a learned prior treats a system as a member
of the panel. A system that gives the panel's most plausible label on these items is underestimated,
and a few labels cannot show this. So *insight*, one number for each system, is drawn from a fixed
distribution and not estimated. It is added to the log odds that a prediction is the most plausible
label, or a list the most plausible list. Decision 0017 gives the source of the distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.alignment import common_items
from dissensus.data.plausibility import Space, plausibility_of
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.majority import leaned
from dissensus.kernels.random import generator, item_keys, name_hashes
from dissensus.kernels.types import Floats, Keys
from dissensus.metrics._lists import Prepare, Score, check_lists, require_draws

LEARNED: Final = "learned"
SCALE: Final = 0.2
SPREAD: Final = 1.3
SHIFT: Final = -0.4
"""Insight is SCALE exp(SPREAD z) + SHIFT with z standard normal: mean .07, 89 % between -.37 and
1.20. `benchmarks/insight.py` chooses the narrowest distribution with this mean whose intervals
contain the true value in .8 of the cases on every real panel of 300 items or more."""
ALIKE: Final = 8
"""The correlation of two systems' z is the share of equal predictions to this power: .43 if systems
agree on nine of ten items, .06 on seven of ten. So insights are nearly independent unless systems
are nearly copies."""


def insight_of(standard: Floats) -> Floats:
    """Return insights from standard normal numbers."""
    return SCALE * np.exp(SPREAD * standard) + SHIFT


def insights(
    insight: Any, theta: xr.DataArray, predictions: xr.Dataset, random_seed: Any
) -> xr.DataArray:
    """Return insights (chain, draw, system): drawn for "learned", else the given insights."""
    require_draws(theta)
    if isinstance(insight, str) and insight == LEARNED:
        return draw_insights(predictions, (theta.sizes[CHAIN], theta.sizes[DRAW]), random_seed)
    if not isinstance(insight, xr.DataArray) or SYSTEM not in insight.indexes:
        _refuse(f"None, {LEARNED!r}, or a DataArray over {SYSTEM!r} with names there", insight)
    if insight.dtype.kind not in "fiu":
        _refuse("numbers", insight.to_numpy().ravel().tolist())
    names, insight_names = predictions[SYSTEM].to_numpy(), insight[SYSTEM].to_numpy()
    if not insight.indexes[SYSTEM].is_unique:
        _refuse("each system once", insight_names.tolist())
    values = insight.compute().astype(np.float64).reindex({SYSTEM: names})
    if not bool(np.isfinite(values).all()):
        _refuse(f"finite numbers for {brief(names.tolist())}", insight_names.tolist())
    sizes = {dim: theta.sizes[dim] for dim in SAMPLE}
    sample = [dim for dim in values.dims if dim != SYSTEM]
    if any(values.sizes[dim] != sizes.get(dim) for dim in sample):
        _refuse(f"only the dims {SYSTEM!r} and those of the draws, {sizes}", dict(values.sizes))
    for dim in sample:
        if dim in values.indexes and dim in theta.indexes:
            own, expected = values.indexes[dim], theta.indexes[dim]
            if not own.equals(expected):
                _refuse(f"the {dim}s of the plausibility, {brief(expected.tolist())}", own.tolist())
    lacking = {dim: n for dim, n in sizes.items() if dim not in values.dims}
    return values.drop_vars(SAMPLE, errors="ignore").expand_dims(lacking)


def draw_insights(
    predictions: xr.Dataset, size: tuple[int, int], random_seed: Any = None
) -> xr.DataArray:
    """Draw insights (chain, draw, system), with correlations from `ALIKE`.

    The random numbers of a system are seeded by its predictions, and do not depend on its name or
    on the order of systems and items. Systems with the same predictions have the same insight.
    Systems with different predictions have different random numbers, also in separate calls with
    one seed.
    """
    seed = int(generator(random_seed, "insight").integers(2**63))
    first = predictions["label_code"].isel({POSITION: 0}).transpose(SYSTEM, ITEM).to_numpy()
    order = np.argsort(name_hashes(predictions[ITEM].to_numpy()), kind="stable")
    answers = name_hashes(predictions[LABEL].to_numpy())[first[:, order]]
    digests = [blake2b(row.tobytes(), digest_size=8).digest() for row in answers]
    seeds, places, back = np.unique(
        np.array([int.from_bytes(digest) for digest in digests], dtype=np.uint64),
        return_index=True, return_inverse=True,
    )  # fmt: skip
    distinct = first[places]
    correlation = np.stack([(distinct == row).mean(axis=1) for row in distinct]) ** ALIKE
    # The symmetric root does not depend on the signs of eigenvectors.
    values, vectors = np.linalg.eigh(correlation)
    root = (vectors * np.sqrt(values.clip(min=0.0))) @ vectors.T
    normal = [np.random.default_rng([seed, int(own)]).standard_normal(size) for own in seeds]
    drawn = insight_of(np.stack(normal, axis=-1) @ root)[..., back]
    coords = {SYSTEM: predictions[SYSTEM].to_numpy()}
    return xr.DataArray(drawn, dims=(*SAMPLE, SYSTEM), coords=coords)


def with_insight(
    prepare: Prepare, insight: Any, plausibility: Any, predictions: xr.Dataset, on_missing: str,
    random_seed: Any,
) -> Prepare:  # fmt: skip
    """Return a function like ``prepare``; each system's scores are shifted by its insight.

    ``insight`` is an argument of a metric: None leaves the scores as they are.
    """
    if insight is None:
        return prepare
    check_lists(predictions)
    theta = plausibility_of(plausibility)
    _, scored = common_items(theta[ITEM], predictions, on_missing)
    drawn = insights(insight, theta, scored, random_seed)

    def leaning(theta: xr.DataArray, lists: xr.Dataset, label_space: Space) -> Score:
        score, lean = prepare(theta, lists, label_space), leans(theta, drawn, random_seed)
        return lambda answers: lean(score(answers), answers[SYSTEM].item())

    return leaning


def leans(
    theta: xr.DataArray, insight: xr.DataArray, random_seed: Any
) -> Callable[[xr.DataArray, Hashable], xr.DataArray]:
    """Return a function of scores (chain, draw, item) and a system's name that shifts the scores.

    All systems share one random number per item and draw. So systems with the same prediction and
    the same insight are right in the same draws.
    """
    seed = int(generator(random_seed, "items leaned").integers(2**31))
    keys = item_keys(theta[ITEM].to_numpy(), theta.sizes[CHAIN], seed=seed)
    return lambda scores, name: lean(scores, insight.sel({SYSTEM: name}, drop=True), keys)


def lean(scores: xr.DataArray, insight: xr.DataArray, keys: Keys) -> xr.DataArray:
    """Return one system's scores (chain, draw, item), shifted by its insight (chain, draw).

    ``keys`` (chain, item) seed the items' random streams.
    """
    streams = xr.DataArray(keys, dims=(CHAIN, ITEM))
    return xr.apply_ufunc(
        leaned, scores, scores.min(SAMPLE), scores.mean(SAMPLE), scores.max(SAMPLE), insight,
        streams, input_core_dims=[[DRAW], [], [], [], [DRAW], []], output_core_dims=[[DRAW]],
    ).transpose(*scores.dims)  # fmt: skip


def _refuse(expected: str, value: Any) -> None:
    raise ArgumentError("insight", expected=expected, found=brief(value))
