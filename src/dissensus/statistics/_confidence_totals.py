"""Right and wrong labels by annotator and confidence, under drawn weights and drawn truths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._confidence_levels import Levels
from dissensus.statistics._sampled_units import Units
from dissensus.statistics._true_labels import TrueLabels

_CELLS = 400_000
"""Weights and totals held at a time."""


class Cells(NamedTuple):
    """Labels counted by what a draw does not part: item and label, annotator and confidence."""

    item: Ints
    """(answer): an answer is an item with a label."""
    label: Ints
    tally: sparse.csr_array
    """(answer, column): a column is an annotator with a confidence."""
    annotator: Ints
    """(column): ascending."""
    value: Ints
    """(column): ascending for each annotator."""


def cells_of(annotations: xr.Dataset, levels: Levels) -> Cells:
    """Count the labels."""
    item, label, annotator = (
        annotations[f"{name}_code"].to_numpy().astype(np.int64)
        for name in ("item", "label", "annotator")
    )
    answer, row = _numbered(item, label)
    column, place = _numbered(annotator, levels.code)
    tally = sparse.csr_array(
        (np.ones(len(row)), (row, place)), shape=(len(answer[0]), len(column[0]))
    )
    return Cells(*answer, tally, *column)


def _numbered(first: Ints, second: Ints) -> tuple[tuple[Ints, Ints], Ints]:
    """Return the different pairs, ascending, and the number of each row's."""
    width = int(second.max(initial=0)) + 1
    pair, number = np.unique(first * width + second, return_inverse=True)
    return (pair // width, pair % width), number


def totals(
    cells: Cells, truth: TrueLabels, units: Units, rng: np.random.Generator, draws: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yield right and wrong labels (draw, column) for blocks of draws.

    Each draw gives all labels of a unit one exponential weight, as the Bayesian bootstrap does, and
    takes one draw of the truth.
    """
    block = max(1, _CELLS // max(units.n, *cells.tally.shape))
    by_column = cells.tally.T.tocsr()
    for first in range(0, draws, block):
        size = min(block, draws - first)
        weight = rng.standard_exponential((size, units.n))[:, units.of_item[cells.item]]
        code = truth.code[first : first + size] if truth.drawn else truth.code
        is_right = code[:, cells.item] == cells.label
        right, wrong = ((by_column @ (weight * side).T).T for side in (is_right, ~is_right))
        yield right, wrong
