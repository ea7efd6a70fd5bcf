"""Annotations in many versions: what was said, and what a model's new annotators would have said.

All versions have the same rows (item, annotator), and differ in what they say. Laid one after the
other, each with items of its own, they are one large set of annotations: what is a sum over items
is then computed for all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._resampling import over_units
from dissensus.statistics._sums import Doubts, Sums

ROWS: Final = 500_000
"""Rows laid one after the other at a time."""
_CELLS: Final = 20_000_000
"""Totals (version, sum) held at a time."""


@dataclass(frozen=True)
class Said:
    """Rows of annotations in one or many versions."""

    item: Ints
    """(row): code."""
    annotator: Ints
    """(row): code."""
    count: int
    """How many versions there are."""
    values: Callable[[slice], npt.NDArray[Any]]
    """(version, row) of some versions: label codes, or numbers."""
    rank: Ints | None = None
    """(row): 1 for the first block of a ranking."""
    trial: Ints | None = None
    """(row): which of several statements of one annotator about one item."""

    def first_choices(self) -> Said:
        """Return the first blocks of rankings; tied labels become statements of their own."""
        if self.rank is None:
            return self
        rows = np.flatnonzero(self.rank == 1)
        item, annotator = self.item[rows], self.annotator[rows]
        place = place_within(item * (annotator.max(initial=0) + 1) + annotator)
        trial = place if place.any() else None
        return Said(
            item, annotator, self.count, lambda some: self.values(some)[:, rows], None, trial
        )

    def blocks(self, width: int = 1) -> Iterator[slice]:
        """Go through the versions, so many at a time as rows and ``width`` totals each allow."""
        step = max(1, min(ROWS // max(len(self.item), 1), _CELLS // max(width, 1)))
        for start in range(0, self.count, step):
            yield slice(start, min(start + step, self.count))


@dataclass(frozen=True)
class Replicates:
    """What was said, and what new annotators of a fitted model would have said in its place."""

    form: str
    """"labels", "numbers", "rankings" or "first choices"."""
    items: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    """The label space; nothing for numbers."""
    observed: Said
    drawn: Said
    sample: dict[str, npt.NDArray[Any]]
    """Coordinates of chain and draw; the versions of ``drawn`` go through their product."""
    attrs: dict[str, Any]
    """How the fit was made."""
    kind: str = ""
    """Of the annotations, if they were given."""
    another: bool = False
    """Whether there is a code past the last label: one that nobody named, whichever it is."""


def place_within(group: Ints) -> Ints:
    """Count the rows of each group through: the place of each.

    Examples
    --------
    >>> place_within(np.array([7, 5, 7, 7]))
    array([0, 0, 1, 2])
    """
    return np.asarray(pd.Series(group).groupby(group).cumcount(), dtype=np.int64)


def stacked(
    said: Said, values: npt.NDArray[Any], n_items: int, kind: str, labels: npt.NDArray[Any]
) -> xr.Dataset:
    """Lay versions one after the other, as annotations whose items are numbered through.

    Parameters
    ----------
    said : Said
        The rows.
    values : array (version, row)
        What was said.
    n_items : int
        Items of one version.
    kind : str
        What the annotations are to be.
    labels : array
        The label space, which codes point into; not used for numbers.

    Examples
    --------
    >>> rows = Said(np.array([0, 0]), np.array([0, 1]), 2, lambda some: np.eye(2, dtype=int)[some])
    >>> both = stacked(rows, rows.values(slice(0, 2)), 1, "nominal", np.array(["x", "y"]))
    >>> both["item_code"].values.tolist(), both["label_code"].values.tolist()
    ([0, 0, 1, 1], [1, 0, 0, 1])
    """
    n = len(values)
    item = (said.item + n_items * np.arange(n)[:, None]).ravel()
    columns = {"item_code": item, "annotator_code": np.tile(said.annotator, n)}
    coords = {ITEM: np.arange(n * n_items), ANNOTATOR: np.arange(said.annotator.max() + 1)}
    if kind == "continuous":
        columns["value"] = values.ravel()
    else:
        columns["label_code"] = values.ravel()
        coords[LABEL] = labels
    for name, column in (("rank", said.rank), ("trial", said.trial)):
        if column is not None:
            columns[name] = np.tile(column, n)
    parts = {name: (ANNOTATION, column) for name, column in columns.items()}
    return xr.Dataset(parts, coords, {"kind": kind})


def evaluated(sums: Sums, n: int, doubts: Doubts) -> Any:
    """Finish a statistic of annotations laid one after the other, for each version by itself."""
    unit = np.repeat(np.arange(n), len(sums.items) // n)
    totals = [_dense(part, n) for part in over_units(sums, unit, n).parts]
    return sums.finish(np.concatenate(totals, axis=1), doubts)


def _dense(part: Any, n: int) -> Floats:
    found = part if isinstance(part, np.ndarray) else part.toarray()
    return np.asarray(found, dtype=np.float64).reshape(n, -1)
