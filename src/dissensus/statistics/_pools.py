"""Two pools of annotators, on the items that both labelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data import tables
from dissensus.data.schema import check_annotations
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, POOL
from dissensus.errors import AnnotationError, ArgumentError, shown
from dissensus.kernels.grouped import Grouped, grouped
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._distances import (
    Disagreement,
    Distance,
    disagreement,
    from_table,
    table_of,
)
from dissensus.statistics._read import labels_of, names_in
from dissensus.statistics._sums import Matrix


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
