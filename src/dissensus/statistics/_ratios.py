"""Discrepancies of annotators and systems as sums over items, in strata and pools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy import sparse

from dissensus.dims import ANNOTATION, POOL, STRATUM
from dissensus.errors import AnnotationError, shown
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._apart import Apart
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._doubts import Doubts
from dissensus.statistics._sums import Matrix, compact

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
