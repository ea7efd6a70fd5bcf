"""Items that are alike: what their labels have to show, and how many items show the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dissensus.arrays.types import Floats, Ints


class Patterns(NamedTuple):
    """Distinct items, each a collection of cells, one for a label; which label is forgotten."""

    cells: Floats
    """(cell, column): all that is known of a label of an item; no two alike, in order."""
    rows: Ints
    """(pattern, label): numbers of cells, in order; no two patterns alike."""
    times: Ints
    """(pattern): of how many items it is the pattern."""

    def some(self, which: slice) -> Patterns:
        """Return some of the patterns."""
        return self._replace(rows=self.rows[which], times=self.times[which])


def find_patterns(columns: Sequence[Floats]) -> Patterns:
    """Find the distinct items.

    Parameters
    ----------
    columns : sequence of arrays (item, label)
        What is known of each label.

    Returns
    -------
    Patterns

    Examples
    --------
    >>> import numpy as np
    >>> find_patterns([np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])]).times.tolist()
    [1, 2]
    """
    code = np.zeros(columns[0].shape, dtype=np.int64)
    found = np.empty((1, 0))
    for column in columns:  # cells so far, each cut in as many as there are values beside it
        values, place = np.unique(column, return_inverse=True)
        used, code = np.unique(code * len(values) + place.reshape(code.shape), return_inverse=True)
        code = code.reshape(column.shape)
        before, last = np.divmod(used, len(values))
        found = np.column_stack([found[before], values[last]])
    return _counted(found, np.sort(code, axis=1), np.ones(len(code), dtype=np.int64))


def merged(parts: Iterable[Patterns]) -> Patterns:
    """Put the patterns of several lots of items together."""
    parts = list(parts)
    cells, place = np.unique(
        np.concatenate([one.cells for one in parts]), axis=0, return_inverse=True
    )
    starts = np.cumsum([0, *(len(one.cells) for one in parts)])
    place = place.ravel()
    rows = [place[one.rows + start] for one, start in zip(parts, starts[:-1], strict=True)]
    return _counted(
        cells, np.concatenate(rows), np.concatenate([one.times for one in parts])
    )  # cells keep their order, and so rows theirs


def _counted(cells: Floats, rows: Ints, times: Ints) -> Patterns:
    rows, which = np.unique(rows, axis=0, return_inverse=True)
    total = np.zeros(len(rows), dtype=np.int64)
    np.add.at(total, which.ravel(), times)
    return Patterns(cells, rows, total)


def distinct(patterns: Patterns, probability: Floats) -> tuple[Ints, Floats]:
    """Return each pattern's distinct cells, and the sum of the probabilities of its labels there.

    Parameters
    ----------
    patterns : Patterns
        Some.
    probability : array (pattern, label)
        Of what a label may do, and one of them does.

    Returns
    -------
    cell, probability : arrays (pattern, place)
        Filled up with cells of probability 0.
    """
    rows = patterns.rows
    place = np.cumsum(np.diff(rows, axis=1, prepend=rows[:, :1]) > 0, axis=1)
    pattern = np.arange(len(rows))[:, None]
    cell = np.zeros((len(rows), int(place.max()) + 1), dtype=np.int64)
    total = np.zeros(cell.shape)
    cell[pattern, place] = rows
    np.add.at(total, (pattern, place), probability)
    return cell, total
