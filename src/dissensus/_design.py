"""Who shares items with whom: what a design lets the data say, and what it leaves to priors.

All of it is told before anything is sampled, in time that grows with the number of labels.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dissensus.errors import shown

Ints = npt.NDArray[np.int64]

_GROUPS: Final = 3
"""Groups that are named."""
_NAMES: Final = 3
"""Annotators of each that are."""


class Pairs(NamedTuple):
    """Which pairs of labels there are: covariances of such pairs are what tells variances."""

    of_item: bool
    """By two annotators, of one item: what they have in common is the item."""
    of_annotator: bool
    """By one annotator, of two items: what they have in common is the annotator."""
    repeated: bool
    """By one annotator, of one item: both in common, and the residual is what parts them."""


def pairs(item: Ints, annotator: Ints) -> Pairs:
    """Look at which pairs of labels there are.

    Examples
    --------
    >>> pairs(np.array([0, 0, 1]), np.array([0, 1, 1]))
    Pairs(of_item=True, of_annotator=True, repeated=False)
    """
    if not len(item):
        return Pairs(of_item=False, of_annotator=False, repeated=False)
    n = int(annotator.max()) + 1
    both = np.unique(item.astype(np.int64) * n + annotator)
    items, annotators = both // n, both % n
    return Pairs(
        of_item=len(np.unique(items)) < len(both),
        of_annotator=len(np.unique(annotators)) < len(both),
        repeated=len(both) < len(item),
    )


def islands(item: Ints, annotator: Ints, n_annotators: int) -> Ints:
    """Give annotators that items join one number; -1 is for who labelled nothing.

    Parameters
    ----------
    item, annotator : array (label)
        Codes.
    n_annotators : int
        How many there are.

    Returns
    -------
    array (annotator)
        Groups are numbered from 0, the largest first.

    Examples
    --------
    >>> islands(np.array([0, 0, 1, 1, 2]), np.array([3, 4, 1, 1, 1]), 5)
    array([-1,  1, -1,  0,  0])
    """
    of = np.full(n_annotators, -1, dtype=np.int64)
    if not len(item):
        return of
    n = n_annotators + int(item.max()) + 1
    links = coo_array((np.ones(len(item)), (annotator, n_annotators + item)), shape=(n, n))
    group = connected_components(links, directed=False)[1][:n_annotators]
    there = np.unique(annotator)
    _, first, code, size = np.unique(
        group[there], return_index=True, return_inverse=True, return_counts=True
    )
    place = np.empty(len(size), dtype=np.int64)
    place[np.lexsort((first, -size))] = np.arange(len(size))
    of[there] = place[code]
    return of


def listed_islands(group: Ints, names: npt.NDArray[Any]) -> str:
    """Name groups of annotators that share no item.

    Examples
    --------
    >>> listed_islands(np.array([0, 0, 1]), np.array(["a", "b", "c"]))
    "'a', 'b' | 'c'"
    """
    n = int(group.max()) + 1
    said = [shown(list(names[group == k]), _NAMES) for k in range(min(n, _GROUPS))]
    return " | ".join(said) + (f" | and {n - _GROUPS:,} more groups" if n > _GROUPS else "")


def alone(item: Ints, annotator: Ints, n_annotators: int) -> Ints:
    """Return the codes of annotators who labelled something, but no item with anybody else.

    Examples
    --------
    >>> alone(np.array([0, 0, 1]), np.array([0, 1, 2]), 4)
    array([2])
    """
    group = islands(item, annotator, n_annotators)
    size = np.bincount(group[group >= 0], minlength=1)
    return np.flatnonzero((group >= 0) & (size[np.maximum(group, 0)] == 1))
