"""Agreement beyond chance between two pools of annotators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.schema import check_annotations
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, POOL
from dissensus.errors import AnnotationError, shown, warn_caller
from dissensus.kernels.grouped import grouped
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._chance import ROUNDED, alpha_of, alpha_parts
from dissensus.statistics._distances import (
    Disagreement,
    Distance,
    disagreement,
    distance_name,
    from_table,
    table_of,
)
from dissensus.statistics._read import codes_in, labels_of, places_in, read, spelled
from dissensus.statistics._sums import Matrix, Sums, Undefined, times

MISSING: Final = ("weighted", "pairs", "items")
NO_OVERLAP: Final = "no overlap between the pools: no item (of positive weight) has labels of both"
NO_SPREAD: Final = "all labels of both pools are the same{}: disagreement by chance is 0"
NO_RELIABILITY: Final = 1e-9
"""An alpha up to this value may be a rounding error of 0."""


def cross_kappa(
    annotations: xr.Dataset,
    pools: Sequence[Any] | None = None,
    distance: Distance = "nominal",
    missing: str = "weighted",
    normalized: bool = False,
    *,
    weights: Any = None,
) -> xr.DataArray:
    r"""Cross kappa: agreement beyond chance between two pools of annotators.

    .. math:: \kappa_x = 1 - \frac{d_o}{d_e}, \qquad
        d_o = \frac{\sum_i v_i \bar D_i}{\sum_i v_i}, \quad
        \bar D_i = \frac{1}{R_i S_i} \sum_{r, s} D(x_{ir}, y_{is}), \quad
        d_e = \frac{1}{N_x N_y} \sum_{i, j} \sum_{r, s} D(x_{ir}, y_{js})

    over the items that both pools labelled. Item i has :math:`R_i` annotators of the first and
    :math:`S_i` of the second pool; :math:`N_x` and :math:`N_y` are their sums over items.

    Parameters
    ----------
    annotations : Dataset
        Annotations with pools (``pool=`` of `dissensus.annotations`). An annotator with several
        labels for an item in one pool (``trial=``) counts once: each label counts as its share of
        that annotator's labels. If an annotator is in both pools, pairs of this annotator's own
        labels count too, with a warning: they measure consistency, and not agreement of the pools.
    pools : pair of names, optional
        The two pools. Not needed if there are only two.
    distance : {"nominal", "interval", "absolute"} or callable
        The distance of labels: 0 or 1, squared or absolute differences; or a callable that takes
        two labels, called once for each ordered pair. "squared" is a synonym of "interval".
    missing : {"weighted", "pairs", "items"}
        The weight of an item if items have different numbers of labels; with complete data there is
        no difference. "weighted": :math:`v_i = R_i + S_i`, as in the source; "pairs":
        :math:`v_i = R_i S_i`, equal weights of pairs of annotators; "items": :math:`v_i = 1`, and
        in :math:`d_e` all items have equal weights too.
    normalized : bool
        Divide by :math:`\sqrt{\alpha_x \alpha_y}`, where each :math:`\alpha` is Krippendorff's
        alpha of a pool with the same distance on the same items. The quotient estimates the
        agreement of the pools if their labels had no noise. As a ratio of estimates it may exceed
        1; it is not clipped.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items. With ``normalized``, as in `krippendorff_alpha`: whole numbers are
        counts of items, other weights are relative.

    Returns
    -------
    xarray.DataArray
        A number: 1 for perfect agreement, 0 for chance. Named ``cross_kappa`` or
        ``normalized_cross_kappa``. ``attrs`` name the pools and the other arguments. NaN, with a
        warning, if the pools share no item, all labels are the same, or (normalised) the alpha of a
        pool is not positive beyond rounding.

    Notes
    -----
    A low value has two possible causes: pools that label differently, or noise within a pool. The
    normalised value distinguishes these, unless the alpha of a pool is close to 0. With few
    annotators the draws of the normalised value are skewed: use their median. In simulations with
    two pools of five annotators, two on an item, means of draws were 1.0 and the true value .8.
    `krippendorff_alpha` of all annotators together mixes agreement within and between pools. Like
    any kappa, cross kappa is low where one label is frequent.

    Source: Wong, Paritosh and Aroyo (2021), "Cross-replication reliability", Eq. 4 to 13; with
    missing labels Eq. 9 and 10.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({
    ...     "item": [1, 1, 1, 2, 2, 2, 3, 3],
    ...     "annotator": ["ann", "bob", "eve", "ann", "bob", "eve", "bob", "eve"],
    ...     "group": ["crowd", "crowd", "expert", "crowd", "crowd", "expert", "crowd", "expert"],
    ...     "label": ["x", "x", "x", "x", "y", "y", "y", "y"],
    ... }, pool="group")
    >>> round(float(dx.cross_kappa(ann)), 3)
    0.648
    """
    annotations = read(annotations)
    arguments.one_of("missing", missing, MISSING)
    arguments.flags(normalized=normalized)
    attrs: dict[str, Any] = {
        "distance": distance_name(distance),
        "missing": str(missing),
        "normalized": int(normalized),
    }
    first, second, between = _two_pools(annotations, pools, distance)
    parts = _parts(first, second, between, missing)
    ends = [_width(parts)]
    if normalized:
        for pool in (first, second):
            parts += alpha_parts(pool.distances, pool.n_annotators)
            ends.append(_width(parts))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        head, *rest = np.split(totals, ends[:-1], axis=1)
        value = _kappa(first.distances, head, undefined)
        for pool, part in zip((first, second), rest, strict=False):
            value = _relative(value, pool, part, undefined)
        return value

    name = "normalized_cross_kappa" if normalized else "cross_kappa"
    attrs |= {"pools": spelled([first.name, second.name])}
    return Sums(name, parts, finish, annotations[ITEM].to_numpy(), attrs=attrs).value(weights)


class _Pool(NamedTuple):
    """The labels of one pool on the items that both pools labelled; other items have zeros."""

    name: Any
    n_annotators: Ints
    """(item): number of annotators."""
    distances: Disagreement


def _two_pools(
    annotations: xr.Dataset, pools: Sequence[Any] | None, distance: Distance
) -> tuple[_Pool, _Pool, Floats]:
    """Return both pools, and the sum of distances between them (item)."""
    places = _places(annotations, pools)
    names = annotations[POOL].to_numpy()[places].tolist()
    annotations, in_second = _shared(annotations, places)
    n_items, n_annotators = annotations.sizes[ITEM], annotations.sizes[ANNOTATOR]
    item, annotator = codes_in(annotations, ITEM, ANNOTATOR)
    # The second pool's labels are grouped as those of separate items, so that one call is enough.
    each = grouped(item + in_second * n_items, annotator, 2 * n_items)
    if int(each.n_annotators.sum()) < len(item):
        check_annotations(annotations, {})
    together = grouped(item, annotator + in_second * n_annotators, n_items)
    own, everyone = _distances(annotations, distance, each, together)
    sides = slice(None, n_items), slice(n_items, None)
    # Distances between pools are all distances minus those within pools. Negative differences are
    # rounding errors.
    between = everyone.within - own.within[sides[0]] - own.within[sides[1]]
    both = len(np.intersect1d(annotator[in_second == 0], annotator[in_second == 1]))
    if both:
        warn_caller(
            f"{both} annotator{'s are' if both > 1 else ' is'} in both pools, {names[0]!r} and "
            f"{names[1]!r}: pairs of an annotator's own labels count as pairs between the pools."
        )
    margin: Any = own.margin
    first, second = (
        _Pool(
            name,
            each.n_annotators[side],
            replace(own, within=own.within[side], own=own.own[side], margin=margin[side]),
        )
        for name, side in zip(names, sides, strict=True)
    )
    return first, second, np.maximum(between / 2.0, 0.0)


def _distances(annotations: xr.Dataset, distance: Distance, *layouts: Any) -> list[Disagreement]:
    if not callable(distance):
        return [disagreement(annotations, rows, distance) for rows in layouts]
    codes, labels = labels_of(annotations)
    table = table_of(labels, distance)
    return [from_table(rows, codes, table) for rows in layouts]


def _places(annotations: xr.Dataset, pools: Any) -> Ints:
    """Return the codes of the two pools to compare, or raise."""
    if "pool_code" not in annotations:
        raise AnnotationError(
            "annotations",
            expected="annotators in pools",
            found="no pools",
            hint="Name the column of the annotators' groups with pool= when reading annotations",
        )
    known = annotations[POOL].to_numpy()
    if pools is None and len(known) == 2:
        return np.arange(2)
    return places_in("pools", pools, known, f"two of the pools {shown(list(known), 12)}", 2)


def _shared(annotations: xr.Dataset, places: Ints) -> tuple[xr.Dataset, Ints]:
    """Keep the rows of two pools on items that both labelled, and mark rows of the second pool."""
    pool, item = annotations["pool_code"].to_numpy(), annotations["item_code"].to_numpy()
    labelled = np.zeros((annotations.sizes[POOL], annotations.sizes[ITEM]), dtype=bool)
    labelled[pool, item] = True
    kept = labelled[places].all(axis=0)[item] & np.isin(pool, places)
    rows = annotations if kept.all() else annotations.isel({ANNOTATION: kept})
    return rows, (pool[kept] == places[1]).astype(np.int64)


def _width(parts: tuple[Matrix, ...]) -> int:
    return sum(1 if part.ndim == 1 else part.shape[1] for part in parts)


def _parts(first: _Pool, second: _Pool, between: Floats, missing: str) -> tuple[Matrix, ...]:
    """Return six sums by item for `_kappa`.

    They are the weight of the item, its weighted distance, and for the two pools the numbers of
    annotators (1 with ``missing="items"``) and the margins.
    """
    r, s = (pool.n_annotators.astype(np.float64) for pool in (first, second))
    shared = (r > 0).astype(np.float64)
    r_or_1, s_or_1 = np.maximum(r, 1.0), np.maximum(s, 1.0)
    mean = between / (r_or_1 * s_or_1)
    of_x, of_y = first.distances.margin, second.distances.margin
    if missing == "items":
        return (shared, mean, shared, shared, times(of_x, 1.0 / r_or_1), times(of_y, 1.0 / s_or_1))
    if missing == "pairs":
        return (r * s, between, r, s, of_x, of_y)
    return (r + s, (r + s) * mean, r, s, of_x, of_y)


def _kappa(distances: Disagreement, totals: Floats, undefined: Undefined) -> Floats:
    weight, observed, n_x, n_y, *_ = totals.T
    of_x, of_y = np.split(totals[:, 4:], 2, axis=1)
    shared = weight > 0
    expected = np.where(shared, distances.cross(of_x, of_y) * weight, 1.0)
    reason = NO_SPREAD.format(ROUNDED if distances.rounded else "")
    ratio = undefined.divide(observed * n_x * n_y, expected, reason)
    return 1.0 - undefined.where(~shared, ratio, NO_OVERLAP)


def _relative(value: Floats, pool: _Pool, totals: Floats, undefined: Undefined) -> Floats:
    """Divide by the square root of one pool's alpha; undefined unless alpha is positive."""
    alpha = alpha_of(pool.distances, totals, Undefined())  # `undefined` gets other reasons, below
    subject = f"Krippendorff's alpha of pool {pool.name!r} on the items that both labelled is"
    value = undefined.where(np.isnan(alpha), value, f"{subject} undefined")
    low = alpha <= NO_RELIABILITY
    value = undefined.where(low, value, f"{subject} not positive beyond rounding")
    return value / np.sqrt(np.where(low | np.isnan(alpha), 1.0, alpha))
