"""Labels as crossed effects see them: sorted into cells, one for each item in each pool.

With one pool a cell is an item. Labels of a cell stand together, so that what a sweep must know of
a cell is one running sum; what it must know of an annotator is scattered into as many bins as there
are annotators.

Cells whose item was labelled equally often by the same pools share a *design*: given the
annotators' effects, all that the variances need to know of them are the sums and products of their
means. A balanced study has one design, whatever its size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.kernels.types import Codes, Floats, Indices


class Designs(NamedTuple):
    """How often which pools labelled an item (design, place), for each kind of item there is."""

    of_item: Codes
    """(item); -1 where nobody labelled it."""
    n_items: Floats
    """(design)"""
    n_pools: Codes
    """(design)"""
    pool: Codes
    """(design, place)"""
    n_labels: Floats
    """(design, place)"""


class Crossed(NamedTuple):
    """All labels of a study, in the order of items, pools, and rows."""

    row: Codes
    """(label): where it stood in the table."""
    value: Floats
    """(label): a number, or a code from 0."""
    annotator: Indices
    """(label): who gave it, an annotator in a pool."""
    cell: Indices
    """(label)"""
    cell_start: Codes
    """(cell + 1)"""
    cell_item: Codes
    """(cell)"""
    cell_pool: Codes
    """(cell)"""
    item_start: Codes
    """(item + 1): its cells."""
    annotator_pool: Codes
    """(annotator)"""
    annotator_start: Codes
    """(annotator + 1), into `annotator_cell`."""
    annotator_cell: Indices
    """(label), in the order of annotators."""
    designs: Designs
    annotator_designs: Designs
    """The same for annotators, each of whom is in one pool."""
    n_labels: Floats
    """(pool)"""
    n_cells: Floats
    """(pool)"""

    @property
    def n_pools(self) -> int:
        """How many pools there are."""
        return len(self.n_labels)


def crossed(
    value: Floats, item: Codes, annotator: Codes, pool: Codes, *,
    n_items: int, annotator_pool: Codes, n_pools: int,
) -> Crossed:  # fmt: skip
    """Lay out labels.

    Parameters
    ----------
    value : array (label)
        Numbers, or codes of labels from 0.
    item, annotator, pool : array (label)
        Codes; an annotator is in one pool.
    n_items : int
        Also those without a label.
    annotator_pool : array (annotator)
        The pool of each.
    n_pools : int

    Examples
    --------
    >>> codes = [np.array(x) for x in ([0, 0, 1], [0, 1, 0], [0, 0, 0])]
    >>> data = crossed(np.array([1.0, 2.0, 3.0]), *codes, n_items=2,
    ...                annotator_pool=np.zeros(2, dtype=int), n_pools=1)
    >>> data.cell_start, data.designs.n_labels.ravel()
    (array([0, 2, 3]), array([1., 2.]))
    """
    place = item * n_pools + pool
    row = np.argsort(place, kind="stable")
    used, cell, size = np.unique(place[row], return_inverse=True, return_counts=True)
    who = annotator[row]
    by_annotator = np.argsort(who, kind="stable")
    cell_item, cell_pool = used // n_pools, used % n_pools
    table = np.zeros((n_items, n_pools))
    table[cell_item, cell_pool] = size
    n_each = np.bincount(who, minlength=len(annotator_pool))
    of_annotators = np.zeros((len(annotator_pool), n_pools))
    of_annotators[np.arange(len(annotator_pool)), annotator_pool] = n_each
    return Crossed(
        row=row,
        value=np.ascontiguousarray(value[row], dtype=np.float64),
        annotator=who.astype(np.int32),
        cell=cell.astype(np.int32),
        cell_start=_starts(size),
        cell_item=cell_item,
        cell_pool=cell_pool,
        item_start=_starts(np.bincount(cell_item, minlength=n_items)),
        annotator_pool=np.asarray(annotator_pool, dtype=np.int64),
        annotator_start=_starts(n_each),
        annotator_cell=cell[by_annotator].astype(np.int32),
        designs=_designs(table),
        annotator_designs=_designs(of_annotators),
        n_labels=table.sum(axis=0),
        n_cells=(table > 0).sum(axis=0).astype(np.float64),
    )


def _starts(sizes: npt.ArrayLike) -> Codes:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _designs(table: Floats) -> Designs:
    """Find the distinct rows of a table (item, pool) of numbers of labels."""
    some = table.any(axis=1)
    distinct, of_some, n_items = np.unique(
        table[some], axis=0, return_inverse=True, return_counts=True
    )
    of_item = np.full(len(table), -1)
    of_item[some] = of_some.ravel()
    order = np.argsort(distinct == 0, axis=1, kind="stable")  # pools that labelled it come first
    return Designs(
        of_item=of_item,
        n_items=n_items.astype(np.float64),
        n_pools=(distinct > 0).sum(axis=1),
        pool=order,
        n_labels=np.take_along_axis(distinct, order, axis=1),
    )


def longest(data: Crossed) -> int:
    """Return the most labels that one item or one annotator has."""
    of_items = np.diff(data.cell_start[data.item_start])
    of_annotators = np.diff(data.annotator_start)
    return int(max(of_items.max(initial=0), of_annotators.max(initial=0)))
