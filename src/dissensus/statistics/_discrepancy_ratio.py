"""Discrepancy ratios of systems, and of each annotator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.data.alignment import systems_of
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, POOL, STRATUM, SYSTEM
from dissensus.errors import AnnotationError, shown
from dissensus.kernels.types import Flags, Floats, Ints, Names
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._distances import Distance
from dissensus.statistics._pairwise import StatementDistances, described, statement_distances
from dissensus.statistics._read import read
from dissensus.statistics._sets import SET_DISTANCES
from dissensus.statistics._sums import Finish, Matrix, Sums, Undefined, compact

NO_DISAGREEMENT: Final = (
    "annotators agree on every item that has two annotators: there is no disagreement to compare "
    "with"
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
    r"""Distance of systems from annotators, divided by the distance of annotators from each other.

    .. math:: \Delta = \frac{\mu}{\alpha}, \qquad
        \alpha = \frac{1}{I} \sum_i \frac{1}{A_i (A_i - 1)} \sum_{r \neq s} \psi(Y_{ir}, Y_{is}),
        \quad \mu = \frac{1}{I} \sum_i \frac{1}{A_i} \sum_r \psi(m_i, Y_{ir})

    over the :math:`I` items that have :math:`A_i \geq 2` annotators; :math:`\psi(Y, Y')` is the
    mean distance over all pairs of labels, :math:`m_i` the system's prediction. If the ratio is
    0.8, the system is a fifth closer to the annotators than they are to each other. If it is above
    1, the system is farther away.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once.
    predictions : Dataset
        Predictions on the same items.
    distance : str or callable, optional
        "squared" (or "interval"), "absolute", or "hinge": differences of numbers. "nominal": 0 if
        labels or numbers are equal, else 1. "jaccard" or "masi": distance of sets, see
        `krippendorff_alpha`. In annotations of kind "set" each answer is a set. In other kinds, all
        labels that an annotator gave an item are one set. A prediction is the set of its labels.
        "ranking": 1 minus the mean average overlap. Or a callable of two labels, which must be
        symmetric and 0 for equal labels, and is called once in each order for each distinct pair
        that occurs; rankings are passed as tuples of blocks, best first, and a block is a tuple of
        labels. None is "ranking" for rankings, "jaccard" for sets, "squared" for numbers (also
        ordinal ones), "nominal" for names.
    tolerance : float, optional
        For "hinge", :math:`\max(0, |y - y'| - \lambda)`: differences up to the tolerance
        :math:`\lambda` count as 0.
    depth : int, optional
        For "ranking": the depth to which rankings are compared. Default: the length of the longest
        ranking that any annotator gave. Stored in ``attrs["depth"]``.
    stratified : bool
        Average discrepancies and ratios over strata (``stratum=`` of the annotations), with equal
        weights of strata.
    by_pool : bool
        Return a result for each pool of annotators, along the dim ``pool``.
    on_missing : {"raise", "drop"}
        What to do about items that only annotations or only predictions have. Dropped items are
        left out of the annotators' discrepancy too.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.Dataset
        ``annotator_discrepancy``, ``system_discrepancy`` (system) and ``discrepancy_ratio``
        (system); with ``by_pool``, (pool) as the last dim. NaN, with a warning, if no item has two
        annotators; the ratio is also NaN if annotators agree on all items.

    Notes
    -----
    The expected discrepancies depend neither on the number of annotators nor on which annotator
    labelled which items. With few annotators the ratio is too high on average, since the
    discrepancy between annotators may be small by chance: in simulated studies of three annotators
    who use the scale differently, a ratio of 1.15 was .1 too high.

    The ratio is relative to the annotators: a system that is as poor as poor annotators has a ratio
    of 1. If only a few distances are large, as is common with "squared", the ratio depends on few
    items: compute it with another distance too. Items with one annotator are left out: if these are
    harder, the ratio describes the easier items.

    Hinge and Jaccard are distances here. The source prints the hinge with the opposite sign, and
    uses the Jaccard index and kappa, which measure agreement. For a measure of agreement, pass a
    callable that returns 1 minus its value.

    Source: Lovchinsky et al. (2020), "Discrepancy ratio", Eq. 1 to 4 and appendix E.

    Examples
    --------
    Two annotators disagree on one of two items, and a system agrees with one of them:

    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "b"], ["b", "b"]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "b"]})
    >>> ratio = dx.discrepancy_ratio(ann, pred)
    >>> ratio["discrepancy_ratio"].sel(system="m").item()
    0.5
    """
    arguments.flags(stratified=stratified, by_pool=by_pool)
    annotations = read(annotations, rankings=True, sets=True)
    attrs = described(annotations, distance, tolerance=tolerance, depth=depth)
    options: dict[str, Any] = {"tolerance": tolerance, "depth": attrs.get("depth")}
    systems = systems_of(
        annotations, predictions, on_missing, sets=attrs["distance"] in SET_DISTANCES
    )
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
    """Return the sums of each item for `discrepancies_from`: (item, sum)."""
    counts = present & (distances.counts >= 2)
    columns = [counts.astype(np.float64), distances.by_item(distances.to_others)]
    columns += [distances.by_item(distances.to_system(k)) for k in range(distances.n_systems)]
    return np.where(counts[:, None], np.stack(columns, axis=1), 0.0)


def discrepancies_from(
    totals: Floats, undefined: Undefined, reasons: tuple[str, str] = REASONS
) -> tuple[Floats, Floats, Floats]:
    """Return discrepancies and ratios from totals (set of weights, group, sum).

    A group has its own sums, such as a pool on the items of a stratum. The sums are the number of
    items, the distance between annotators, and the distance of each system. Returns the mean
    distance between annotators (set of weights, group), and the mean distance and the ratio of each
    system (set of weights, group, system).
    """
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
    return between[..., 0], systems, ratio


def _finish(
    n_pools: int, width: int, strata: _Strata | None, sums: list[Floats], *, by_pool: bool
) -> Finish:
    """Return the function from totals to discrepancies and ratios, which are means over strata."""
    reasons = REASONS if strata is None else strata.reasons(sums)

    def finish(totals: Floats, undefined: Undefined) -> dict[str, Floats]:
        by_group = totals.reshape(len(totals), n_pools, -1, width)
        values = discrepancies_from(by_group, undefined, reasons)
        annotators, systems, ratio = (each.mean(axis=2) for each in values)
        if by_pool:
            systems, ratio = systems.swapaxes(1, 2), ratio.swapaxes(1, 2)
        else:
            annotators, systems, ratio = annotators[:, 0], systems[:, 0], ratio[:, 0]
        return {
            "annotator_discrepancy": annotators,
            "system_discrepancy": systems,
            "discrepancy_ratio": ratio,
        }

    return finish


def _pools_of(annotations: xr.Dataset) -> Iterator[xr.Dataset]:
    """Yield the annotations of each pool; each Dataset has the coordinates of all items."""
    if "pool_code" not in annotations:
        raise AnnotationError(
            "annotations",
            expected="a pool for each annotator, with by_pool=True",
            found="none",
            hint="Name the column of pools with pool= when reading annotations",
        )
    pool = annotations["pool_code"].to_numpy()
    for code in range(annotations.sizes[POOL]):
        yield annotations.isel({ANNOTATION: np.flatnonzero(pool == code)})


class _Strata(NamedTuple):
    """The strata of items."""

    code: Ints
    """(item): code of the stratum."""
    names: Names

    def spread(self, sums: Floats) -> Matrix:
        """Return sums (item, sum) with separate columns for each stratum."""
        n_items, width = sums.shape
        column = self.code[:, None] * width + np.arange(width)
        start = np.arange(n_items + 1) * width
        shape = (n_items, len(self.names) * width)
        return compact(sparse.csr_array((sums.ravel(), column.ravel(), start), shape=shape))

    def reasons(self, sums: list[Floats]) -> tuple[str, str]:
        """Return `REASONS`, each with the names of the strata to which it applies in any pool."""
        lacking, agreeing = set[int](), set[int]()
        for each in sums:
            counted, distance = (
                np.bincount(self.code, each[:, column], len(self.names)) for column in (0, 1)
            )
            lacking |= set(np.flatnonzero(counted <= 0).tolist())
            agreeing |= set(np.flatnonzero((counted > 0) & (distance <= 0)).tolist())
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
            hint="Name the column of strata with stratum= when reading annotations; for "
            "balanced classes, use the majority label",
        )
    code = annotations["stratum_code"].to_numpy().astype(np.int64)
    return _Strata(code, annotations[STRATUM].to_numpy())


ALPHA_ITEMS: Final = ("same", "all")
NO_OTHERS: Final = "no item of the annotator has labels of two others"
OTHERS_AGREE: Final = (
    "the other annotators agree on all compared items{rounded}: there is no disagreement to "
    "compare with"
)
ROUNDED: Final = ", up to rounding errors of the annotator's own distances"

_LEVEL: Final = 8
"""Two distances in one level of magnitude differ by a factor below 2 to this power."""


def annotator_discrepancy_ratio(
    annotations: xr.Dataset,
    distance: Distance | None = None,
    *,
    alpha_items: str = "same",
    tolerance: float | None = None,
    depth: int | None = None,
    weights: Any = None,
) -> xr.DataArray:
    r"""Discrepancy ratio of each annotator, who is treated as a system.

    .. math:: \Delta_r = \frac{\mu_r}{\alpha_{-r}}, \qquad
        \mu_r = \frac{1}{I_r} \sum_i \frac{1}{A_i - 1} \sum_{s \neq r} \psi(Y_{ir}, Y_{is}), \quad
        \alpha_{-r} = \frac{1}{I_r} \sum_i \frac{1}{(A_i - 1) (A_i - 2)}
        \sum_{s, t \neq r, s \neq t} \psi(Y_{is}, Y_{it})

    over the :math:`I_r` items that the annotator and two others labelled. If the ratio is above 1,
    the annotator is farther from the others than they are from each other.

    Parameters
    ----------
    annotations, distance, tolerance, depth, weights
        As in `discrepancy_ratio`.
    alpha_items : {"same", "all"}
        The items of :math:`\alpha_{-r}`: the same as for :math:`\mu_r`, or all items that at least
        two others labelled. With "all" the denominator is nearly the same for all annotators, but
        an annotator who labels only easy items gets a lower ratio.

    Returns
    -------
    xarray.DataArray (annotator)
        NaN, with a warning, if an annotator has no item that two others labelled, or the others
        agree on all these items.

    Notes
    -----
    A high ratio does not prove poor work: an annotator who is right against a majority also has a
    high ratio. With "same", avoiding hard items does not lower an annotator's ratio, but annotators
    of different items have different denominators. The source does not say which items it uses.

    Source: Lovchinsky et al. (2020), section 4.2.1 and Table 4.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["a", "b", "b"], ["a", "a", "b"]])
    >>> dx.annotator_discrepancy_ratio(ann).round(2).to_series().to_dict()
    {0: 1.0, 1: 0.5, 2: 2.5}
    """
    arguments.one_of("alpha_items", alpha_items, ALPHA_ITEMS)
    annotations = read(annotations, rankings=True, sets=True)
    distances = statement_distances(annotations, distance, tolerance=tolerance, depth=depth)
    n_annotators = annotations.sizes[ANNOTATOR]
    parts = _same_items(distances, n_annotators)
    n_levels = None
    if alpha_items == "all":
        other_parts, n_levels = _other_items(distances, n_annotators)
        parts += other_parts
    # For a callable, distances between the others are a difference of sums, with rounding errors.
    by_callable = distances.attrs["distance"] == "callable"
    reason = OTHERS_AGREE.format(rounded=ROUNDED if by_callable else "")
    name = "annotator_discrepancy_ratio"
    return Sums(
        name,
        parts,
        _ratio_of_each(n_annotators, n_levels, reason),
        annotations[ITEM].to_numpy(),
        dims={name: (ANNOTATOR,)},
        coords={ANNOTATOR: annotations[ANNOTATOR].to_numpy()},
        attrs=distances.attrs | {"alpha_items": str(alpha_items)},
        better="lower",
        bearing=parts[0],
    ).value(weights)


def _same_items(distances: StatementDistances, n_annotators: int) -> tuple[Matrix, ...]:
    """Return three matrices (item, annotator), 0 unless annotator and two others labelled the item.

    Else they are 1, the annotator's distance from the others, and the distance between the others.
    """
    counts = distances.counts[distances.item] >= 3
    columns = (
        counts.astype(np.float64),
        np.where(counts, distances.to_others, 0.0),
        np.where(counts, distances.without, 0.0),
    )
    return tuple(_by_annotator(distances, values, n_annotators) for values in columns)


def _by_annotator(distances: StatementDistances, values: Floats, n_annotators: int) -> Matrix:
    shape = (len(distances.counts), n_annotators)
    start = np.concatenate([[0], np.cumsum(distances.counts)])
    return compact(sparse.csr_array((values, distances.annotator, start), shape=shape))


def _other_items(
    distances: StatementDistances, n_annotators: int
) -> tuple[tuple[Matrix, ...], int]:
    """Return matrices for sums over the items that an annotator skipped, and the number of levels.

    These sums are differences: sums over all items (the last matrix), minus sums over the items
    that the annotator labelled (the other matrices). They are the number of items, and the
    distances in each level. A level is all items whose distances have similar magnitudes. Without
    levels, small distances would be lost in the rounding errors of large ones.
    """
    paired = (distances.counts >= 2).astype(np.float64)
    between = distances.by_item(distances.to_others)
    exponent = np.frexp(between)[1] // _LEVEL
    levels = np.unique(exponent[between > 0])
    parts = [_by_annotator(distances, paired[distances.item], n_annotators)]
    whole = [paired]
    for level in levels:
        whole.append(np.where((between > 0) & (exponent == level), between, 0.0))
        parts.append(_by_annotator(distances, whole[-1][distances.item], n_annotators))
    return (*parts, np.stack(whole, axis=1)), len(levels)


def _ratio_of_each(n_annotators: int, n_levels: int | None, reason: str) -> Finish:
    def finish(totals: Floats, undefined: Undefined) -> Floats:
        n_blocks = 3 if n_levels is None else 4 + n_levels
        blocks = totals[:, : n_blocks * n_annotators].reshape(len(totals), -1, n_annotators)
        n_items, towards, between = blocks[:, 0], blocks[:, 1], blocks[:, 2]
        n_between = n_items
        if n_levels is not None:
            whole = totals[:, n_blocks * n_annotators :, None]
            rest = whole - blocks[:, 3:]
            # If an annotator labelled all items, the difference is a rounding error.
            rest = np.where(rest > 1e-12 * whole, rest, 0.0)
            n_between = n_items + rest[:, 0]
            between = between + rest[:, 1:].sum(axis=1)
        empty = n_items <= 0
        agree = ~empty & (between <= 0)
        own = np.where(empty, 1.0, towards) / np.where(empty, 1.0, n_items)
        others = np.where(empty, 1.0, between) / np.where(empty, 1.0, n_between)
        ratio = undefined.where(agree, own / np.where(agree, 1.0, others), reason)
        return undefined.where(empty, ratio, NO_OTHERS)

    return finish
