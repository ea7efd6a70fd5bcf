"""The distance of systems from the annotators, relative to the annotators' own distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.data.alignment import systems_of
from dissensus.dims import ANNOTATION, ITEM, POOL, STRATUM, SYSTEM
from dissensus.errors import AnnotationError, shown
from dissensus.kernels.types import Flags, Floats, Ints, Names
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._distances import Distance
from dissensus.statistics._pairwise import StatementDistances, described, statement_distances
from dissensus.statistics._read import read
from dissensus.statistics._sums import Finish, Matrix, Sums, Undefined, compact

NO_DISAGREEMENT: Final = (
    "annotators agree on every item that two of them labelled, and there is no disagreement to "
    "compare with"
)
REASONS: Final = (NO_PAIRS, NO_DISAGREEMENT)


def discrepancy_ratio(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    distance: Distance | None = None,
    *,
    tolerance: float | None = None,
    depth: int | None = None,
    stratified: bool = False,
    by_pool: bool = False,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.Dataset:
    r"""Distance of systems from annotators over the distance of annotators from each other.

    .. math:: \Delta = \frac{\mu}{\alpha}, \qquad
        \alpha = \frac{1}{I} \sum_i \frac{1}{A_i (A_i - 1)} \sum_{r \neq s} \psi(Y_{ir}, Y_{is}),
        \quad \mu = \frac{1}{I} \sum_i \frac{1}{A_i} \sum_r \psi(m_i, Y_{ir})

    over the :math:`I` items that have :math:`A_i \geq 2` annotators; :math:`\psi(Y, Y')` is the
    mean distance over all pairs of labels, :math:`m_i` the system's prediction. At 0.8 the system
    is a fifth closer to the annotators than they are to each other; above 1 it is farther away.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once.
    predictions : Dataset
        Predictions on the same items.
    distance : str or callable, optional
        "squared" (or "interval"), "absolute", or "hinge" differences of numbers; "nominal", 0 or
        1; "jaccard", of sets: all labels of an annotator for an item, over all trials, are one
        set, and so is a system's list; "ranking", 1 minus the mean average overlap. Or a callable
        of two labels, symmetric and 0 between equal ones, called once for each distinct pair that
        occurs; rankings are passed as tuples of blocks, best first, each a tuple of labels. None
        is "ranking" for rankings, "squared" for numbers (also ordered ones), "nominal" for names.
    tolerance : float, optional
        For "hinge", :math:`\max(0, |y - y'| - \lambda)`: differences up to it count nothing.
    depth : int, optional
        For "ranking": the depth to which rankings are compared. Default: the length of the longest
        ranking of an annotator. Kept in ``attrs["depth"]``.
    stratified : bool
        Average discrepancies and ratios over strata (``stratum=`` of the annotations): every
        stratum weighs the same.
    by_pool : bool
        Return a result for each pool of annotators, along the dim ``pool``.
    on_missing : {"raise", "drop"}
        What to do about items that only annotations or only predictions have. Dropped items do not
        enter the annotators' discrepancy either.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.Dataset
        ``annotator_discrepancy``, ``system_discrepancy`` (system) and ``discrepancy_ratio``
        (system); with ``by_pool``, (pool) as the last dim. NaN, with a warning, if no item has two
        annotators; the ratio also if annotators agree on all items.

    Notes
    -----
    It depends neither on the number of annotators nor on who labelled which items. It is relative
    to the annotators: among poor annotators a poor system has a ratio of 1. With a distance that
    has few large values (squared) it depends on few items: compute it with another distance too.
    Where items with fewer labels are harder, it describes the easier items.

    Hinge and Jaccard are distances here. The source prints the hinge with the opposite sign, and
    calls the Jaccard index and kappa measures of agreement; pass those as 1 minus their value.

    Source: Lovchinsky et al. (2020), "Discrepancy ratio", Eq. 1 to 4 and appendix E.

    Examples
    --------
    Two annotators who disagree on one of two items, and a system that agrees with one of them:

    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "b"], ["b", "b"]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "b"]})
    >>> ratio = dx.discrepancy_ratio(ann, pred)
    >>> ratio["discrepancy_ratio"].sel(system="m").item()
    0.5
    """
    arguments.flags(stratified=stratified, by_pool=by_pool)
    annotations = read(annotations, rankings=True)
    attrs = described(annotations, distance, tolerance=tolerance, depth=depth)
    options: dict[str, Any] = {"tolerance": tolerance, "depth": attrs.get("depth")}
    systems = systems_of(annotations, predictions, on_missing)
    strata = _strata_of(annotations) if stratified else None
    sums = [
        _discrepancies(statement_distances(group, distance, systems, **options), systems.present)
        for group in (_pools_of(annotations) if by_pool else [annotations])
    ]
    last, names = ((POOL,), {POOL: annotations[POOL].to_numpy()}) if by_pool else ((), {})
    return Sums(
        "discrepancy_ratio",
        tuple(sums if strata is None else map(strata.spread, sums)),
        _finish(len(sums), 2 + len(systems.names), strata, sums, by_pool=by_pool),
        annotations[ITEM].to_numpy(),
        dims={
            "annotator_discrepancy": last,
            "system_discrepancy": (SYSTEM, *last),
            "discrepancy_ratio": (SYSTEM, *last),
        },
        coords={SYSTEM: systems.names, **names},
        attrs=attrs,
        better="lower",
        bearing=np.stack([each[:, 0] for each in sums], axis=1) if by_pool else None,
    ).value(weights)


def _discrepancies(distances: StatementDistances, present: Flags) -> Floats:
    """Return sums by item: whether it counts, the annotators' discrepancy, and each system's."""
    counts = present & (distances.counts >= 2)
    columns = [counts.astype(np.float64), distances.by_item(distances.to_others)]
    columns += [distances.by_item(distances.to_system(k)) for k in range(distances.n_systems)]
    return np.where(counts[:, None], np.stack(columns, axis=1), 0.0)


class Discrepancies(NamedTuple):
    """Means over items, for some sets of weights."""

    annotators: Floats
    """(set of weights, group)"""
    systems: Floats
    """(set of weights, group, system)"""
    ratio: Floats
    """(set of weights, group, system)"""


def discrepancies_from(
    totals: Floats, undefined: Undefined, reasons: tuple[str, str] = REASONS
) -> Discrepancies:
    """Divide totals (set of weights, group, sum): count, annotators' distance, each system's."""
    no_pairs, no_disagreement = reasons
    weight = totals[..., :1]
    empty = weight <= 0
    means = totals[..., 1:] / np.where(empty, 1.0, weight)
    between, systems = means[..., :1], means[..., 1:]
    agree = ~empty & (between <= 0)
    ratio = systems / np.where(empty | agree, 1.0, between)
    ratio = undefined.where(np.broadcast_to(agree, ratio.shape), ratio, no_disagreement)
    between, systems, ratio = (
        undefined.where(np.broadcast_to(empty, values.shape), values, no_pairs)
        for values in (between, systems, ratio)
    )
    return Discrepancies(between[..., 0], systems, ratio)


def _finish(
    n_pools: int, width: int, strata: _Strata | None, sums: list[Floats], *, by_pool: bool
) -> Finish:
    """Return the function from totals to discrepancies and ratios, by pool and stratum."""
    reasons = REASONS if strata is None else strata.reasons(sums)

    def finish(totals: Floats, undefined: Undefined) -> dict[str, Floats]:
        by_group = totals.reshape(len(totals), n_pools, -1, width)
        values = discrepancies_from(by_group, undefined, reasons)
        annotators, systems, ratio = (each.mean(axis=2) for each in values)
        if not by_pool:
            annotators, systems, ratio = annotators[:, 0], systems[:, 0], ratio[:, 0]
        else:
            systems, ratio = systems.swapaxes(1, 2), ratio.swapaxes(1, 2)
        return {
            "annotator_discrepancy": annotators,
            "system_discrepancy": systems,
            "discrepancy_ratio": ratio,
        }

    return finish


def _pools_of(annotations: xr.Dataset) -> Iterator[xr.Dataset]:
    """Yield the annotations of each pool, over all items."""
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


class _Strata(NamedTuple):
    """Groups of items with results of their own."""

    code: Ints
    """(item)"""
    names: Names

    def spread(self, sums: Floats) -> Matrix:
        """Give the sums (item, sum) of each stratum their own columns."""
        n_items, width = sums.shape
        column = self.code[:, None] * width + np.arange(width)
        start = np.arange(n_items + 1) * width
        shape = (n_items, len(self.names) * width)
        return compact(sparse.csr_array((sums.ravel(), column.ravel(), start), shape=shape))

    def reasons(self, sums: list[Floats]) -> tuple[str, str]:
        """Return both reasons, with the names of the strata that are undefined in some pool."""
        lacking, agreeing = set[int](), set[int]()
        for each in sums:
            counted, apart = (
                np.bincount(self.code, each[:, column], len(self.names)) for column in (0, 1)
            )
            lacking |= set(np.flatnonzero(counted <= 0).tolist())
            agreeing |= set(np.flatnonzero((counted > 0) & (apart <= 0)).tolist())
        return NO_PAIRS + self._named(lacking), NO_DISAGREEMENT + self._named(agreeing)

    def _named(self, codes: set[int]) -> str:
        if not codes:
            return ", in some stratum"
        noun = "strata" if len(codes) > 1 else "stratum"
        return f", in {noun} {shown(list(self.names[sorted(codes)]))}"


def _strata_of(annotations: xr.Dataset) -> _Strata:
    if "stratum_code" not in annotations:
        raise AnnotationError(
            "annotations",
            expected="a stratum for each item, with stratified=True",
            found="none",
            hint="Name the column of strata when the annotations are read, with stratum=; for "
            "balanced classes, the label that most annotators gave",
        )
    code = annotations["stratum_code"].to_numpy().astype(np.int64)
    return _Strata(code, annotations[STRATUM].to_numpy())
