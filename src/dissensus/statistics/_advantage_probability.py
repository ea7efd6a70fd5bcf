"""How often a system is at least as close to the other annotators as an annotator is."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus.data.alignment import Systems, systems_of
from dissensus.dims import ANNOTATOR, ITEM, SYSTEM
from dissensus.kernels.types import Array, Flags, Floats, Ints, Names
from dissensus.statistics._distances import Distance
from dissensus.statistics._pairwise import StatementDistances, statement_distances
from dissensus.statistics._read import read, whole
from dissensus.statistics._sums import Matrix, Sums, Undefined, compact, indicator

RELATIVE: Final = 1e-9
ROUNDING: Final = 1e-12
"""Distances are equal if they differ by less: of the larger, or of all distances of the item."""

NO_ITEMS: Final = "an annotator has no item with another annotator and a prediction"


def advantage_probability(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    distance: Distance | None = None,
    *,
    min_items: int = 1,
    tolerance: float | None = None,
    depth: int | None = None,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Probability that a system represents the other annotators at least as well as an annotator.

    .. math:: \rho_{mj} = \frac{1}{|I_j|} \sum_{i \in I_j} \Bigl[
        \sum_{r \neq j} \psi(m_i, Y_{ir}) \leq \sum_{r \neq j} \psi(Y_{ij}, Y_{ir}) \Bigr]

    for system m and annotator j, over the items :math:`I_j` that j and another annotator labelled.
    :math:`\psi` is the mean distance over pairs of labels; a tie counts for the system.

    Parameters
    ----------
    annotations : Dataset
        Annotations of any kind. An annotator with several labels for an item (``trial=``) has
        their mean distance from the others.
    predictions : Dataset
        Predictions on the same items.
    distance : str or callable, optional
        As for `discrepancy_ratio`. None is "nominal" for names, "squared" for numbers (also
        ordered ones), and "ranking" for rankings. "nominal" is the source's accuracy, "squared"
        its RMSE.
    min_items : int
        An annotator with fewer items in :math:`I_j` (not counting weights) has no value.
    tolerance : float, optional
        For ``distance="hinge"``.
    depth : int, optional
        For ``distance="ranking"``.
    on_missing : {"raise", "drop"}
        What to do about items that only one side has.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        (system, annotator), from 0 to 1. The mean over annotators is the source's average
        advantage probability, by which it compares systems.

    Raises
    ------
    AnnotationError, PredictionError
        If annotations or predictions do not have the distance, or items differ.
    ArgumentError
        If the distance is unknown, ``min_items`` is below 1, or the weights are invalid.

    Warns
    -----
    DissensusWarning
        If an annotator has too few items: NaN.

    Notes
    -----
    An annotator in the system's place would score 1, not one half: where annotators agree most
    items are ties, which count for the system. Compare with the annotator's own score (`alt_test`
    reports both, `winning_rate` compares them), not with one half. It counts items and ignores the
    size of a difference: an error that no annotator would make counts like a near miss. The
    discrepancy ratio measures sizes.

    An annotator who skips hard items is compared with the system on the same, easier items.

    Source: Calderon, Reichart and Dror (2025), "The alternative annotator test for
    LLM-as-a-judge", section 3.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "b"]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "a"]})
    >>> dx.advantage_probability(ann, pred).values
    array([[0.5, 0.5, 0.5]])
    """
    least = whole("min_items", min_items, 1)
    pairs = comparisons(annotations, predictions, distance, on_missing, tolerance, depth)
    short = pairs.n_items < least
    shape = (-1, len(pairs.systems), len(pairs.annotators))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        n, better = totals[:, None, : shape[2]], totals[:, shape[2] :].reshape(shape)
        share = better / np.where(n > 0, n, 1.0)
        out = undefined.where(np.broadcast_to(short, share.shape), share, too_few(least))
        return undefined.where(np.broadcast_to(n <= 0, share.shape), out, NO_ITEMS)

    kept = ~short[pairs.annotator]  # the others have no value
    enough = pairs._replace(item=pairs.item[kept], annotator=pairs.annotator[kept])
    name = "advantage_probability"
    return Sums(
        name,
        (pairs.counts(), pairs.by_item(pairs.system_as_close)),
        finish,
        pairs.items,
        dims={name: (SYSTEM, ANNOTATOR)},
        coords={SYSTEM: pairs.systems, ANNOTATOR: pairs.annotators},
        attrs=pairs.attrs,
        bearing=enough.counts(),
    ).value(weights)


class Comparisons(NamedTuple):
    """One row for each item and annotator with another annotator and predictions."""

    item: Ints
    """(comparison)"""
    annotator: Ints
    """(comparison)"""
    system_as_close: Flags
    """(comparison, system): whether the system is at least as close to the others."""
    annotator_as_close: Flags
    """(comparison, system): whether the annotator is; a tie is both."""
    items: Names
    annotators: Names
    systems: Names
    attrs: dict[str, Any]
    """The distance and its settings."""

    @property
    def n_items(self) -> Ints:
        """(annotator): how many items each annotator is compared on."""
        return np.bincount(self.annotator, minlength=len(self.annotators))

    def counts(self) -> Matrix:
        """Return comparisons as (item, annotator)."""
        return indicator(self.item, self.annotator, (len(self.items), len(self.annotators)))

    def by_item(self, values: Array) -> Matrix:
        """Return values (comparison, system) as (item, system and annotator)."""
        row, system = np.nonzero(values)
        n = len(self.annotators)
        place = (self.item[row], system * n + self.annotator[row])
        shape = (len(self.items), len(self.systems) * n)
        data = values[row, system].astype(np.float64)
        return compact(sparse.csr_array((data, place), shape=shape))


def comparisons(
    annotations: Any,
    predictions: Any,
    distance: Distance | None,
    on_missing: str,
    tolerance: float | None,
    depth: int | None,
) -> Comparisons:
    """Compare each annotator with each system, item by item."""
    annotations = read(annotations, rankings=True)
    systems = systems_of(annotations, predictions, on_missing)
    distances = statement_distances(
        annotations, distance, systems, tolerance=tolerance, depth=depth
    )
    item = distances.item
    kept = (distances.counts[item] >= 2) & systems.present[item]
    system_as_close, annotator_as_close = _closer(distances, systems, kept)
    return Comparisons(
        item[kept],
        distances.annotator[kept],
        system_as_close,
        annotator_as_close,
        annotations[ITEM].to_numpy(),
        annotations[ANNOTATOR].to_numpy(),
        systems.names,
        distances.attrs,
    )


def _closer(distances: StatementDistances, systems: Systems, kept: Flags) -> tuple[Flags, Flags]:
    """Return (comparison, system) whether the system, and whether the annotator, is as close."""
    item = distances.item
    own = distances.to_others[kept]
    others = distances.counts[item][kept] - 1.0
    shape = (int(kept.sum()), len(systems.names))
    system, annotator = np.empty(shape, dtype=bool), np.empty(shape, dtype=bool)
    for place in range(len(systems.names)):
        each = distances.to_system(place)
        total = np.bincount(item, each, len(distances.counts))[item][kept]
        # Without the annotator's own distance from the system.
        rest = np.maximum(total - each[kept], 0.0) / others
        slack = RELATIVE * np.maximum(own, rest) + ROUNDING * (own + total)
        system[:, place] = rest <= own + slack
        annotator[:, place] = own <= rest + slack
    return system, annotator


def too_few(min_items: int) -> str:
    """Return the reason that an annotator is left out."""
    if min_items == 1:
        return NO_ITEMS
    return (
        f"fewer than {min_items} items of an annotator have another annotator and a prediction "
        "(min_items)"
    )
