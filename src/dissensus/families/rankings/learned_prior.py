"""Learning the prior of the strengths behind rankings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.data.plausibility import Layout
from dissensus.data.predictions import Features
from dissensus.families.rankings.kernels.learned_prior import (
    Leaning,
    around_first_counts,
    draw_hyperparameters,
    prior_shapes,
)
from dissensus.families.rankings.layout import LaidOut
from dissensus.kernels.learned_prior import layout as free_of
from dissensus.kernels.random import row_keys
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.types import Floats, Ints
from dissensus.sampling import fitting
from dissensus.sampling.chains import mapped
from dissensus.sampling.learned_prior import LearnedPrior, Size


class Taught(NamedTuple):
    """Items from which the prior is learned: their rankings, and the features of their prior."""

    rankings: Rankings
    leaning: Leaning


def has_own_prior(item_features: Features, n_items: int, n_labels: int) -> npt.NDArray[np.bool_]:
    """Return (item, label) whether a label has a prior of its own."""
    if free_of(n_labels).n_free:
        return np.ones((n_items, n_labels), dtype=np.bool_)
    out = np.zeros((n_items, n_labels), dtype=np.bool_)
    for each in item_features.values:
        out |= each != floor(each)
    return out


class PriorCells(NamedTuple):
    """The features of the prior of each cell's strength."""

    item: Ints
    """(cell): its item."""
    label: Ints
    """(cell): the label whose weight its prior has; negative if there is none."""
    size: Floats
    """(cell): number of its labels."""
    features: Floats
    """(cell, feature): the value minus the minimum over the item's labels."""

    def leaning(self, n_labels: int) -> Leaning:
        """Return the features in the form that kernels read; cells must be sorted by item."""
        cell, feature = map(np.ascontiguousarray, np.nonzero(self.features))
        return Leaning(
            np.searchsorted(self.item, np.arange(self.item[-1] + 2)), self.size, self.label,
            np.searchsorted(cell, np.arange(len(self.item) + 1)), feature,
            self.features[cell, feature], free_of(n_labels).n_free, self.features.shape[1],
        )  # fmt: skip


def prior_cells(laid: LaidOut, where: Layout, item_features: Features) -> PriorCells:
    """Return the features of each cell's prior."""
    n_cells = laid.rankings.n_cells
    item = np.repeat(np.arange(len(n_cells)), n_cells)
    code = where.codes[item, laid.candidate]
    differences = np.zeros((len(code), len(item_features.values)))
    for f, each in enumerate(item_features.values):
        differences[:, f] = np.where(code >= 0, (each - floor(each))[item, code], 0.0)
    return PriorCells(item, code, laid.n_labels.astype(np.float64), differences)


def floor(each: Floats) -> Floats:
    """Return the minimum of a feature over labels (item, 1).

    Only differences between labels matter. With hundreds of labels, most predicted probabilities
    are at the minimum, so that most differences are 0.
    """
    return each.min(axis=1, keepdims=True)


def taught(laid: LaidOut, lean: Leaning, teaches: npt.NDArray[np.bool_]) -> Taught:
    """Select the items from which the prior is learned."""
    if teaches.all():
        return Taught(laid.rankings, lean)
    teachers = np.flatnonzero(teaches)
    return joined(
        Taught(laid.rankings.part(i, i + 1), lean.part(i, i + 1)) for i in teachers.tolist()
    )


def joined(parts: Iterable[Taught]) -> Taught:
    """Concatenate items that were read separately."""
    parts = list(parts)

    def row(values: Callable[[Taught], Any]) -> Any:
        return np.concatenate([values(items) for items in parts])

    def starts(values: Callable[[Taught], Any]) -> Any:
        lengths = np.concatenate([np.diff(values(items)) for items in parts])
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    cell_start, last = starts(lambda items: items.rankings.cell_start), parts[-1].leaning
    return Taught(
        Rankings(
            item_start=starts(lambda items: items.rankings.item_start),
            ranking_start=starts(lambda items: items.rankings.ranking_start),
            place=row(lambda items: items.rankings.place),
            rank=row(lambda items: items.rankings.rank),
            cell_start=cell_start,
            closed=row(lambda items: items.rankings.closed),
        ),
        last._replace(
            start=cell_start,
            size=row(lambda items: items.leaning.size),
            label=row(lambda items: items.leaning.label),
            entry_start=starts(lambda items: items.leaning.entry_start),
            feature=row(lambda items: items.leaning.feature),
            value=row(lambda items: items.leaning.value),
        ),
    )


def learned(
    from_items: Taught, n_labels: int, size: Size, tune: int, rng: np.random.Generator,
    *, progressbar: bool = False,
) -> LearnedPrior:  # fmt: skip
    """Draw the hyperparameters, each chain in its own thread."""
    keys = row_keys(np.arange(size[0], dtype=np.uint64), seed=fitting.stream_seed(rng))
    around = around_first_counts(*from_items)
    draws = np.stack(
        mapped(
            lambda chain: draw_hyperparameters(around, *from_items, size[1], tune, keys[chain]),
            range(size[0]), "Learning the prior, chain", progressbar,
        )
    )  # fmt: skip
    values, n_items = draws[..., :-1], len(from_items.rankings.n_cells)
    unnamed = of_unnamed(from_items.leaning, values)
    return LearnedPrior(values, draws[..., -1], n_labels, n_items, unnamed=unnamed)


def of_unnamed(lean: Leaning, values: Floats) -> float:
    """Return the mean shape of an unnamed label, at the mean of the hyperparameters.

    It is infinite if no item has an unnamed label.
    """
    shape = shapes(lean, values.mean(axis=(0, 1))[None], 0, len(lean.start) - 1)[0]
    unnamed = lean.label < 0
    return float((shape / lean.size)[unnamed].mean()) if unnamed.any() else np.inf


def shapes(lean: Leaning, values: Floats, low: int, high: int) -> Floats:
    """Return the Gamma shapes of some items' cells (draw, cell) for draws of hyperparameters."""
    out = np.empty((len(values), int(lean.start[high] - lean.start[low])))
    prior_shapes(np.ascontiguousarray(values), lean, low, high, out)
    return out
