"""What annotators said and how sure they were, in the order of items and annotators."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.rows import ranking_code
from dissensus.dims import ANNOTATION, ITEM
from dissensus.errors import AnnotationError, shown
from dissensus.kernels.distances import Lists
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._apart_pairs import rankings_of
from dissensus.statistics._statements import labels_of, rows_of

UNSAID: Final = "none given: 1 everywhere"
GIVEN: Final = "as given"
"""What attributes say of confidence."""


class Confident(NamedTuple):
    """Statements: labels, or whole rankings."""

    rows: Grouped
    item: Ints
    """(row, in the order of ``rows``, as all that follows): code of the item."""
    annotator: Ints
    """(row): code of the annotator."""
    said: Ints
    """(row): code of the label, or number; 0 for rankings."""
    confidence: Floats
    """(row): from 0 to 1; 1 where none was asked for."""
    labels: npt.NDArray[np.generic]
    """What codes stand for; of rankings the label space."""
    lists: Lists | None
    """The rankings, if these are rankings."""
    words: str
    """Where confidence is from."""

    @property
    def n_said(self) -> int:
        """How many different things can be said, by their codes."""
        return 1 if self.lists is not None else len(self.labels)

    @property
    def pairs(self) -> Floats:
        """(item): pairs of annotators."""
        return self.rows.voices * (self.rows.voices - 1.0) / 2.0

    @property
    def guessed(self) -> bool:
        """Whether it matters how probable a guess is: not if all are sure, or not sure at all."""
        return bool(((self.confidence > 0.0) & (self.confidence < 1.0)).any())


def confident(annotations: xr.Dataset) -> Confident:
    """Bring labels or rankings, and confidence, into the order of items and annotators.

    Raises
    ------
    AnnotationError
        If somebody gave an item two labels without ``trial=``, or labels of one ranking have
        different confidences.
    """
    n_items, lists = annotations.sizes[ITEM], None
    sure = np.ones(annotations.sizes[ANNOTATION])
    if "confidence" in annotations:
        sure = annotations["confidence"].to_numpy().astype(np.float64)
    annotator = annotations["annotator_code"].to_numpy().astype(np.int64)
    if annotations.attrs["kind"] == "ranking":
        rows, lists, labels = rankings_of(annotations, n_items)
        first = _first_rows(annotations, sure)
        sure, annotator, said = sure[first], annotator[first], np.zeros(len(first), dtype=np.int64)
    else:
        rows = rows_of(annotations)
        said, labels = labels_of(annotations)
    return Confident(
        rows=rows,
        item=np.repeat(np.arange(n_items), np.diff(rows.start)),
        annotator=annotator[rows.order],
        said=said.astype(np.int64, copy=False)[rows.order],
        confidence=sure[rows.order],
        labels=labels,
        lists=lists,
        words=GIVEN if "confidence" in annotations else UNSAID,
    )


def _first_rows(annotations: xr.Dataset, sure: Floats) -> Ints:
    """Return the first row of each ranking, or raise if its rows are not equally sure."""
    number = ranking_code(annotations)
    first = np.unique(number, return_index=True)[1]
    other = np.flatnonzero(sure != sure[first][number])
    if len(other):
        row = int(other[0])
        item = annotations[ITEM].to_numpy()[int(annotations["item_code"].to_numpy()[row])]
        raise AnnotationError(
            "confidence",
            where=f"row {row} (item {shown([item])})",
            expected="one confidence for all labels of a ranking: it is of the whole",
            found=f"{sure[first][number][row]} and {sure[row]}",
        )
    return first.astype(np.int64)
