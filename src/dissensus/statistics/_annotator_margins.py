"""What each annotator said over all items, for chance agreement between *different* annotators."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from scipy import sparse

from dissensus.dims import ITEM
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._distances import (
    Disagreement,
    Distance,
    called,
    centre_of_pairs,
    disagreement,
    from_table,
    table_of,
)
from dissensus.statistics._statements import labels_of, numbers_of
from dissensus.statistics._sums import Matrix, compact


class Margins(NamedTuple):
    """What annotators said, one by one, in sums over items."""

    matrix: Matrix
    """(item, sum): each annotator's sums beside those of the others, O(labels) of them."""
    labels: Callable[[Floats], Floats]
    """From totals (..., sum) to how many items each annotator labelled (..., annotator)."""
    own: Callable[[Floats], Floats]
    """From totals to the sum of distances over all pairs of labels by the *same* annotator (...):
    what has to be taken off the pairs of all labels."""


def with_margins(
    annotations: xr.Dataset, rows: Grouped, distance: Distance
) -> tuple[Disagreement, Margins]:
    """Prepare a distance for annotations, and what it depends on annotator by annotator.

    Raises
    ------
    ArgumentError
        If there is no such distance, or a callable returns nonsense.
    """
    if callable(distance):
        codes, labels = labels_of(annotations)
        apart = table_of(labels, distance)
        cells = _cells(annotations, rows, codes, len(labels))
        return from_table(rows, codes, apart), _tabled(cells, apart)
    parts = disagreement(annotations, rows, distance)
    name = called(distance)
    if name == "squared":
        return parts, _squared(annotations, rows)
    if name == "absolute":
        values, codes = np.unique(numbers_of(annotations), return_inverse=True)
        return parts, _absolute(_cells(annotations, rows, codes, len(values)), values)
    codes, labels = labels_of(annotations)
    return parts, _nominal(_cells(annotations, rows, codes, len(labels)))


class _Cells(NamedTuple):
    """The pairs of annotator and label that occur, by annotator and then by label."""

    matrix: Matrix
    """(item, cell)"""
    label: Ints
    """(cell)"""
    first: Ints
    """(annotator): the first cell of each annotator who said anything."""
    size: Ints
    """(annotator): how many labels each one used."""


def _who(annotations: xr.Dataset, rows: Grouped) -> tuple[Ints, int]:
    """Return the annotator of each row, in order, numbered without gaps; and how many there are."""
    who, seen = pd.factorize(annotations["annotator_code"].to_numpy()[rows.order], sort=True)
    return who.astype(np.int64), len(seen)


def _cells(
    annotations: xr.Dataset, rows: Grouped, codes: npt.NDArray[np.int64], n_labels: int
) -> _Cells:
    who, n_annotators = _who(annotations, rows)
    column, cells = pd.factorize(who * n_labels + codes[rows.order], sort=True)
    shape = (annotations.sizes[ITEM], len(cells))
    matrix = compact(sparse.csr_array((rows.share, column, rows.start), shape=shape))
    owner, label = np.divmod(cells, max(n_labels, 1))
    first = np.searchsorted(owner, np.arange(n_annotators))
    return _Cells(matrix, label, first, np.bincount(owner, minlength=n_annotators))


def _nominal(cells: _Cells) -> Margins:
    def labels(totals: Floats) -> Floats:
        return np.add.reduceat(totals, cells.first, axis=-1)

    def own(totals: Floats) -> Floats:
        return np.asarray((labels(totals) ** 2).sum(axis=-1) - (totals**2).sum(axis=-1))

    return Margins(cells.matrix, labels, own)


def _absolute(cells: _Cells, values: Floats) -> Margins:
    owner = np.repeat(np.arange(len(cells.first)), cells.size)
    inside = owner[1:] == owner[:-1]
    step = np.where(inside, np.diff(values[cells.label]), 0.0)

    def labels(totals: Floats) -> Floats:
        return np.add.reduceat(totals, cells.first, axis=-1)

    def own(totals: Floats) -> Floats:
        # As in `_distances`: count the pairs that each step between two values parts.
        up_to = np.cumsum(totals, axis=-1)
        before = up_to[..., cells.first] - totals[..., cells.first]
        below = (up_to - before[..., owner])[..., :-1]
        above = labels(totals)[..., owner[:-1]] - below
        return np.asarray(2.0 * (below * above) @ step)

    return Margins(cells.matrix, labels, own)


def _tabled(cells: _Cells, apart: Floats) -> Margins:
    blocks = [slice(a, a + n) for a, n in zip(cells.first, cells.size, strict=True)]

    def labels(totals: Floats) -> Floats:
        return np.add.reduceat(totals, cells.first, axis=-1)

    def own(totals: Floats) -> Floats:
        found = np.zeros(totals.shape[:-1])
        for block in blocks:  # a table of the labels one annotator used, and no larger one
            used, amount = cells.label[block], totals[..., block]
            found += ((amount @ apart[np.ix_(used, used)]) * amount).sum(axis=-1)
        return found

    return Margins(cells.matrix, labels, own)


def _squared(annotations: xr.Dataset, rows: Grouped) -> Margins:
    values = numbers_of(annotations)
    values = (values - centre_of_pairs(rows, values))[rows.order]
    who, n_annotators = _who(annotations, rows)
    data = rows.share[:, None] * np.stack([np.ones_like(values), values, values**2], axis=1)
    column = 3 * who[:, None] + np.arange(3)
    shape = (annotations.sizes[ITEM], 3 * n_annotators)
    matrix = sparse.csr_array((data.ravel(), column.ravel(), 3 * rows.start), shape=shape)

    def labels(totals: Floats) -> Floats:
        return totals[..., 0::3]

    def own(totals: Floats) -> Floats:
        n, total, squares = (totals[..., place::3] for place in range(3))
        return np.asarray(2.0 * (n * squares - total**2).sum(axis=-1))

    return Margins(compact(matrix), labels, own)
