"""Discrepancies of annotators and systems as sums over items, in strata and pools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy import sparse

from dissensus.data.alignment import Systems, systems_of
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, POOL, STRATUM
from dissensus.errors import AnnotationError, shown
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._pairwise import Apart, Distance, apart, described
from dissensus.statistics._read import read, rows_of
from dissensus.statistics._sums import Doubts, Matrix, compact

# Who is closer to the other annotators of an item: one of them, or a system.


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


NO_DISAGREEMENT: Final = (
    "annotators agree on every item that two of them labelled, and there is no disagreement to "
    "compare with"
)
REASONS: Final = (NO_PAIRS, NO_DISAGREEMENT)


def discrepancies(found: Apart, present: npt.NDArray[np.bool_]) -> Floats:
    """Return sums by item: whether it counts, the annotators' discrepancy, and each system's.

    Items with fewer than two annotators, or without predictions, count for neither.
    """
    counts = present & (found.voices >= 2)
    columns = [counts.astype(np.float64), found.by_item(found.to_others)]
    columns += [found.by_item(found.to_system(place)) for place in range(found.n_systems)]
    return np.where(counts[:, None], np.stack(columns, axis=1), 0.0)


class Discrepancies(NamedTuple):
    """Means over items, for some sets of weights."""

    annotators: Floats
    """(set of weights, group)"""
    systems: Floats
    """(set of weights, group, system)"""
    ratio: Floats
    """(set of weights, group, system)"""


def finished(totals: Floats, doubts: Doubts, reasons: tuple[str, str] = REASONS) -> Discrepancies:
    """Divide the totals (set of weights, group, sum) of `discrepancies`."""
    no_pairs, no_disagreement = reasons
    weight = totals[..., :1]
    none = weight <= 0
    means = totals[..., 1:] / np.where(none, 1.0, weight)
    between, systems = means[..., :1], means[..., 1:]
    agree = ~none & (between <= 0)
    ratio = systems / np.where(none | agree, 1.0, between)
    ratio = doubts.where(np.broadcast_to(agree, ratio.shape), ratio, no_disagreement)
    between, systems, ratio = (
        doubts.where(np.broadcast_to(none, values.shape), values, no_pairs)
        for values in (between, systems, ratio)
    )
    return Discrepancies(between[..., 0], systems, ratio)


def pools_of(annotations: xr.Dataset) -> Iterator[xr.Dataset]:
    """Yield what the annotators of each pool said, of the same items."""
    if "pool_code" not in annotations:
        raise AnnotationError(
            "annotations",
            expected="a pool for each annotator, with by_pool=True",
            found="none",
            hint="Name the column of pools when the annotations are read, with pool=",
        )
    pool = annotations["pool_code"].to_numpy()
    for code in range(annotations.sizes[POOL]):
        yield annotations.isel({ANNOTATION: np.flatnonzero(pool == code)})


class Strata(NamedTuple):
    """Groups of items that are looked at one by one."""

    code: Ints
    """(item)"""
    names: npt.NDArray[Any]

    def spread(self, sums: Floats) -> Matrix:
        """Give the sums (item, sum) of each stratum columns of their own.

        Examples
        --------
        >>> Strata(np.array([1, 0]), np.array(["x", "y"])).spread(np.array([[1.0], [2.0]]))
        array([[0., 1.],
               [2., 0.]])
        """
        n_items, width = sums.shape
        column = self.code[:, None] * width + np.arange(width)
        start = np.arange(n_items + 1) * width
        shape = (n_items, len(self.names) * width)
        return compact(sparse.csr_array((sums.ravel(), column.ravel(), start), shape=shape))

    def reasons(self, sums: list[Floats]) -> tuple[str, str]:
        """Say in which strata, of some pools' sums, what is undefined."""
        lacking, agreeing = set[int](), set[int]()
        for one in sums:
            counted, apart = (
                np.bincount(self.code, one[:, column], len(self.names)) for column in (0, 1)
            )
            lacking |= set(np.flatnonzero(counted <= 0).tolist())
            agreeing |= set(np.flatnonzero((counted > 0) & (apart <= 0)).tolist())
        first, second = (self._within(found) for found in (lacking, agreeing))
        return NO_PAIRS + first, NO_DISAGREEMENT + second

    def _within(self, found: set[int]) -> str:
        if not found:
            return ", in some stratum"
        many = "strata" if len(found) > 1 else "stratum"
        return f", in {many} {shown(list(self.names[sorted(found)]))}"


def strata_of(annotations: xr.Dataset) -> Strata:
    """Return the strata of the items, or raise if there are none."""
    if "stratum_code" not in annotations:
        raise AnnotationError(
            "annotations",
            expected="a stratum for each item, with stratified=True",
            found="none",
            hint="Name the column of strata when the annotations are read, with stratum=; for "
            "balanced classes, the label that most annotators gave",
        )
    code = annotations["stratum_code"].to_numpy().astype(np.int64)
    return Strata(code, annotations[STRATUM].to_numpy())
