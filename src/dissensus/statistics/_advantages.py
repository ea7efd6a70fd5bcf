"""Who is closer to the other annotators of an item: one of them, or a system."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dissensus.data.alignment import Systems, systems_of
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.kernels.types import Flags, Ints
from dissensus.statistics._apart import Apart, Distance, apart, described
from dissensus.statistics._statements import read, rows_of
from dissensus.statistics._sums import Matrix, compact

RELATIVE: Final = 1e-9
ROUNDING: Final = 1e-12
"""Distances are equal if they differ by less: of the larger, or of all distances of the item."""

NO_ITEMS: Final = "an annotator has no item with another annotator and a prediction"


class Advantages(NamedTuple):
    """One row for each item and annotator that can be compared: others spoke, systems too."""

    item: Ints
    """(comparison)"""
    annotator: Ints
    """(comparison)"""
    system_as_close: Flags
    """(comparison, system): whether the system is at least as close to the others."""
    annotator_as_close: Flags
    """(comparison, system): whether the annotator is; both are true of a tie."""
    items: npt.NDArray[Any]
    """Names of all items, and so on."""
    annotators: npt.NDArray[Any]
    systems: npt.NDArray[Any]
    attrs: dict[str, Any]
    """The distance and its settings."""

    @property
    def n_items(self) -> Ints:
        """(annotator): how many items each annotator is compared on."""
        return np.bincount(self.annotator, minlength=len(self.annotators))

    def counts(self) -> Matrix:
        """Lay out comparisons as (item, annotator)."""
        ones = np.ones(len(self.item))
        shape = (len(self.items), len(self.annotators))
        return compact(sparse.csr_array((ones, (self.item, self.annotator)), shape=shape))

    def laid_out(self, values: npt.NDArray[Any]) -> Matrix:
        """Lay out values (comparison, system) as (item, system and annotator)."""
        row, system = np.nonzero(values)
        n = len(self.annotators)
        place = (self.item[row], system * n + self.annotator[row])
        shape = (len(self.items), len(self.systems) * n)
        data = values[row, system].astype(np.float64)
        return compact(sparse.csr_array((data, place), shape=shape))


def advantages(
    annotations: Any,
    predictions: Any,
    distance: Distance | None,
    on_missing: str,
    tolerance: float | None,
    depth: int | None,
) -> Advantages:
    """Compare each annotator with each system, item by item."""
    annotations = read(annotations, rankings=True)
    systems = systems_of(annotations, predictions, on_missing)
    found = apart(
        annotations, rows_of(annotations), distance, systems, tolerance=tolerance, depth=depth
    )
    item = found.voice_item
    kept = (found.voices[item] >= 2) & systems.present[item]
    system, human = _closer(found, systems, kept)
    return Advantages(
        item[kept],
        found.voice_annotator[kept],
        system,
        human,
        annotations[ITEM].to_numpy(),
        annotations[ANNOTATOR].to_numpy(),
        systems.names,
        described(annotations, distance, tolerance=tolerance, depth=depth),
    )


def _closer(found: Apart, systems: Systems, kept: Flags) -> tuple[Flags, Flags]:
    """Return (comparison, system) whether the system, and whether the annotator, is as close."""
    item = found.voice_item
    own = found.to_others[kept]
    others = found.voices[item][kept] - 1.0
    shape = (int(kept.sum()), len(systems.names))
    system, human = np.empty(shape, dtype=bool), np.empty(shape, dtype=bool)
    for place in range(len(systems.names)):
        each = found.to_system(place)
        total = np.bincount(item, each, len(found.voices))[item][kept]
        # The annotator is not among the others: what they said is taken off again.
        rest = np.maximum(total - each[kept], 0.0) / others
        slack = RELATIVE * np.maximum(own, rest) + ROUNDING * (own + total)
        system[:, place] = rest <= own + slack
        human[:, place] = own <= rest + slack
    return system, human


def too_few(min_items: int) -> str:
    """Say why an annotator is left out."""
    if min_items == 1:
        return NO_ITEMS
    return (
        f"fewer than {min_items} items of an annotator have another annotator and a prediction "
        "(min_items)"
    )
