"""Agreement beyond chance between two pools of annotators."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data import tables
from dissensus.data.schema import check_annotations
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, POOL
from dissensus.errors import AnnotationError, ArgumentError, DissensusWarning, shown
from dissensus.kernels.grouped import Grouped, grouped
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._chance import ROUNDED, alpha_of, alpha_parts
from dissensus.statistics._distances import (
    Disagreement,
    Distance,
    called,
    disagreement,
    from_table,
    table_of,
)
from dissensus.statistics._read import labels_of, names_in, read, spelled
from dissensus.statistics._sums import Doubts, Matrix, Sums, times

# Two pools of annotators, on the items that both labelled.


class TwoPools(NamedTuple):
    """How far two pools are from each other and each from itself, in sums over items.

    Items that only one pool labelled have nothing but zeros.
    """

    names: tuple[Any, Any]
    voices: tuple[Ints, Ints]
    """(item) each: how many annotators."""
    within: tuple[Disagreement, Disagreement]
    between: Floats
    """(item): distances over all pairs of an annotator of one pool and one of the other."""
    in_both: int
    """How many annotators are in both pools: pairs with themselves are among the others."""


def two_pools(annotations: xr.Dataset, pools: Sequence[Any] | None, distance: Distance) -> TwoPools:
    """Measure distances within and between two pools.

    An annotator in both pools is one person in each.

    Raises
    ------
    AnnotationError
        If the annotations have no pools.
    ArgumentError
        If these are not two of them.
    """
    places = _two(annotations, pools)
    names = tuple(annotations[POOL].to_numpy()[places].tolist())
    annotations, second = _shared(annotations, places)
    n_items, n_annotators = annotations.sizes[ITEM], annotations.sizes[ANNOTATOR]
    item = annotations["item_code"].to_numpy().astype(np.int64)
    annotator = annotations["annotator_code"].to_numpy().astype(np.int64)
    # Each pool's share of an item is an item of its own: one way of counting for both.
    each = grouped(item + second * n_items, annotator, 2 * n_items)
    if int(each.voices.sum()) < len(item):
        check_annotations(annotations, {})
    together = grouped(item, annotator + second * n_annotators, n_items)
    own, all_of_them = _measured(annotations, distance, each, together)
    first, other = slice(None, n_items), slice(n_items, None)
    # What is not within a pool is between them. Below 0 is rounding.
    between = all_of_them.within - own.within[first] - own.within[other]
    return TwoPools(
        (names[0], names[1]),
        (each.voices[first], each.voices[other]),
        (_part(own, first), _part(own, other)),
        np.maximum(between / 2.0, 0.0),
        len(np.intersect1d(annotator[second == 0], annotator[second == 1])),
    )


def _measured(
    annotations: xr.Dataset, distance: Distance, *layouts: Grouped
) -> tuple[Disagreement, ...]:
    if not callable(distance):
        return tuple(disagreement(annotations, rows, distance) for rows in layouts)
    codes, labels = labels_of(annotations)
    between_labels = table_of(labels, distance)
    return tuple(from_table(rows, codes, between_labels) for rows in layouts)


def _part(found: Disagreement, items: slice) -> Disagreement:
    margin: Matrix = found.margin[items]
    return replace(found, within=found.within[items], own=found.own[items], margin=margin)


def _two(annotations: xr.Dataset, pools: Any) -> Ints:
    """Return the codes of two pools."""
    if "pool_code" not in annotations:
        raise AnnotationError(
            "annotations",
            expected="annotators in pools",
            found="no pools",
            hint="Name the column of the annotators' groups when they are read, with pool=",
        )
    known = annotations[POOL].to_numpy()
    if pools is None and len(known) == 2:
        return np.arange(2)
    expected = f"two of the pools {shown(list(known), 12)}"
    given = names_in("pools", pools, expected)
    if len(given) != 2:
        raise ArgumentError("pools", expected=expected, found=f"{len(given)} names")
    places = tables.match(given, known)
    if (places < 0).any():
        unknown = [name for name, place in zip(given, places, strict=True) if place < 0]
        raise ArgumentError("pools", expected=expected, found=shown(unknown))
    if places[0] == places[1]:
        raise ArgumentError(
            "pools",
            expected="two different pools",
            found=f"{shown(list(given[:1]))} twice",
            hint="Agreement within one pool is krippendorff_alpha of its annotations",
        )
    return places


def _shared(annotations: xr.Dataset, places: Ints) -> tuple[xr.Dataset, Ints]:
    """Keep the rows of two pools on items that both labelled, and say which are the second's."""
    pool, item = annotations["pool_code"].to_numpy(), annotations["item_code"].to_numpy()
    seen = np.zeros((annotations.sizes[POOL], annotations.sizes[ITEM]), dtype=bool)
    seen[pool, item] = True
    kept = seen[places].all(axis=0)[item] & np.isin(pool, places)
    rows = annotations if kept.all() else annotations.isel({ANNOTATION: kept})
    return rows, (pool[kept] == places[1]).astype(np.int64)


MISSING: Final = ("weighted", "pairs", "items")
NO_OVERLAP: Final = "no overlap between the pools: no item (of positive weight) has labels of both"
NO_SPREAD: Final = (
    "all labels of both pools are the same{}, so that none could have disagreed by chance"
)
NO_RELIABILITY: Final = 1e-9
"""An alpha up to this is 0 but for rounding, and dividing by its root gives any number at all."""


def cross_kappa(
    annotations: xr.Dataset,
    pools: Sequence[Any] | None = None,
    distance: Distance = "nominal",
    missing: str = "weighted",
    normalized: bool = False,
    *,
    weights: Any = None,
) -> xr.DataArray:
    r"""Agreement beyond chance between two pools of annotators: cross-replication reliability.

    .. math:: \kappa_x = 1 - \frac{d_o}{d_e}, \qquad
        d_o = \frac{\sum_i v_i \bar D_i}{\sum_i v_i}, \quad
        \bar D_i = \frac{1}{R_i S_i} \sum_{r, s} D(x_{ir}, y_{is}), \quad
        d_e = \frac{1}{N_x N_y} \sum_{i, j} \sum_{r, s} D(x_{ir}, y_{js})

    over the items that both pools labelled, by :math:`R_i` and :math:`S_i` annotators,
    :math:`N_x` and :math:`N_y` in all.

    Parameters
    ----------
    annotations : Dataset
        Annotations with pools (``pool=`` of `dissensus.annotations`). An annotator with several
        labels for an item in one pool (``trial=``) counts once, with their shares. Who is in both
        pools counts in both, also in pairs with themselves, which show how steady somebody is and
        not how far two pools agree: there is a warning.
    pools : pair of names, optional
        Which two pools. May be left out where there are two.
    distance : {"nominal", "interval", "absolute"} or callable
        How far labels are apart: by 0 or 1, squared or absolute differences; or a callable that
        takes two labels, called once for each distinct pair. "squared" is "interval".
    missing : {"weighted", "pairs", "items"}
        What weighs the same where items have different numbers of labels; with complete data all
        give the same. "weighted": items weigh :math:`v_i = R_i + S_i`, as in the source; "pairs":
        pairs of annotators, :math:`v_i = R_i S_i`; "items": items, :math:`v_i = 1`, and
        :math:`d_e` is between two items' mean labels too.
    normalized : bool
        Divide by :math:`\sqrt{\alpha_x \alpha_y}`, Krippendorff's alpha of each pool with the same
        distance on the same items: agreement of the pools if each were without noise. May exceed
        1, and is not clipped: it is a ratio of estimates.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items. If normalised, their scale matters as in `krippendorff_alpha`: whole
        numbers count an item so many times, all others are relative.

    Returns
    -------
    xarray.DataArray
        A number, 1 for perfect agreement, 0 for what chance would give. Named ``cross_kappa``, or
        ``normalized_cross_kappa``. Its ``attrs`` name the pools and the other arguments.

    Raises
    ------
    AnnotationError
        If the annotations have no pools, are rankings, or their labels have no such distance.
    ArgumentError
        If these are not two different pools of the annotations, or another argument is unknown.

    Warns
    -----
    DissensusWarning
        Where it is undefined, and NaN: no item in common, all labels the same, or (normalised) a
        pool whose alpha is not positive, or only by rounding. And if annotators are in both pools.

    Notes
    -----
    Low values come from pools that mean different things, and from noise within either: the
    normalised value tells them apart, unless a pool is so noisy that there is nothing to divide
    by. `krippendorff_alpha` of all annotators together mixes the three. Where one label is much
    more frequent than the others it is low for the same reason as any kappa.

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
    return sums(annotations, pools, distance, missing, normalized).value(weights)


class _Pool(NamedTuple):
    """One pool on the items that both labelled."""

    name: Any
    voices: Ints
    found: Disagreement


def sums(
    annotations: xr.Dataset,
    pools: Sequence[Any] | None = None,
    distance: Distance = "nominal",
    missing: str = "weighted",
    normalized: bool = False,
) -> Sums:
    """Prepare it as a function of sums over items."""
    annotations = read(annotations)
    arguments.one_of("missing", missing, MISSING)
    arguments.flags(normalized=normalized)
    attrs = {"distance": called(distance), "missing": str(missing), "normalized": int(normalized)}
    both = two_pools(annotations, pools, distance)
    if both.in_both:
        _warn_of_pairs_with_oneself(both)
    sides = [_Pool(*side) for side in zip(both.names, both.voices, both.within, strict=True)]
    parts = _parts(both, missing)
    ends = [_width(parts)]
    if normalized:
        for side in sides:
            parts += alpha_parts(side.found, side.voices)
            ends.append(_width(parts))

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        first, *rest = np.split(totals, ends[:-1], axis=1)
        value = _kappa(both, first, doubts)
        for side, part in zip(sides, rest, strict=False):
            value = _relative(value, side, part, doubts)
        return value

    name = "normalized_cross_kappa" if normalized else "cross_kappa"
    attrs |= {"pools": spelled(both.names)}
    return Sums(name, parts, finish, annotations[ITEM].to_numpy(), attrs=attrs)


def _warn_of_pairs_with_oneself(both: TwoPools) -> None:
    many = f"{both.in_both} annotators are" if both.in_both > 1 else "1 annotator is"
    one, two = both.names
    warnings.warn(
        f"{many} in both pools, {one!r} and {two!r}: pairs of somebody's labels with their own "
        "count as pairs between the pools.",
        DissensusWarning,
        stacklevel=4,
    )


def _width(parts: tuple[Matrix, ...]) -> int:
    return sum(1 if part.ndim == 1 else part.shape[1] for part in parts)


def _parts(both: TwoPools, missing: str) -> tuple[Matrix, ...]:
    """Return the weights and distances of items, and the annotators and margins of each pool."""
    r, s = (voices.astype(np.float64) for voices in both.voices)
    shared = (r > 0).astype(np.float64)
    r_or_1, s_or_1 = np.maximum(r, 1.0), np.maximum(s, 1.0)
    mean = both.between / (r_or_1 * s_or_1)
    of_x, of_y = (found.margin for found in both.within)
    if missing == "items":
        return (shared, mean, shared, shared, times(of_x, 1.0 / r_or_1), times(of_y, 1.0 / s_or_1))
    if missing == "pairs":
        return (r * s, both.between, r, s, of_x, of_y)
    return (r + s, (r + s) * mean, r, s, of_x, of_y)


def _kappa(both: TwoPools, totals: Floats, doubts: Doubts) -> Floats:
    weight, observed, n_x, n_y, *_ = totals.T
    of_x, of_y = np.split(totals[:, 4:], 2, axis=1)
    shared = weight > 0
    expected = np.where(shared, both.within[0].cross(of_x, of_y) * weight, 1.0)
    why = NO_SPREAD.format(ROUNDED if both.within[0].rounded else "")
    ratio = doubts.divided(observed * n_x * n_y, expected, why)
    return 1.0 - doubts.where(~shared, ratio, NO_OVERLAP)


def _relative(value: Floats, side: _Pool, totals: Floats, doubts: Doubts) -> Floats:
    """Divide by the root of one pool's alpha; two negative ones must not make a positive."""
    alpha = alpha_of(side.found, totals, Doubts())  # its doubts are told in other words below
    whose = f"Krippendorff's alpha of pool {side.name!r} on the items that both labelled is"
    value = doubts.where(np.isnan(alpha), value, f"{whose} undefined")
    low = alpha <= NO_RELIABILITY
    value = doubts.where(low, value, f"{whose} not positive, or only by rounding")
    return value / np.sqrt(np.where(low | np.isnan(alpha), 1.0, alpha))
