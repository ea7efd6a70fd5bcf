"""How often a system is as close to the other annotators as one of them is."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ANNOTATOR, SYSTEM
from dissensus.kernels.types import Floats
from dissensus.statistics._pairwise import Distance
from dissensus.statistics._ratios import NO_ITEMS, advantages, too_few
from dissensus.statistics._read import whole
from dissensus.statistics._sums import Doubts, Sums


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
    r"""Probability that a system represents the other annotators at least as well as one of them.

    .. math:: \rho_{mj} = \frac{1}{|I_j|} \sum_{i \in I_j} \Bigl[
        \sum_{r \neq j} \psi(m_i, Y_{ir}) \leq \sum_{r \neq j} \psi(Y_{ij}, Y_{ir}) \Bigr]

    for system m and annotator j, over the items :math:`I_j` that j and somebody else annotated.
    :math:`\psi` is the mean distance over pairs of labels; a tie counts for the system.

    Parameters
    ----------
    annotations : Dataset
        Annotations of any kind. An annotator with several labels for an item (``trial=``) is as
        far from the others as these are on average.
    predictions : Dataset
        What systems said of the same items.
    distance : str or callable, optional
        As for `discrepancy_ratio`. None is "nominal" for names, "squared" for numbers (also
        ordered ones), and "ranking" for rankings. Comparing by "nominal" is the source's
        accuracy, by "squared" its RMSE.
    min_items : int
        An annotator with fewer items in :math:`I_j` (weights do not matter) has no value.
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
        (system, annotator), from 0 to 1. Its mean over annotators is the source's average
        advantage probability, by which it compares systems.

    Raises
    ------
    AnnotationError, PredictionError
        If annotations or predictions do not have that distance, or items differ.
    ArgumentError
        On an unknown distance, a ``min_items`` below 1, or weights that are none.

    Warns
    -----
    DissensusWarning
        Where an annotator has too few items: NaN.

    Notes
    -----
    An annotator put in the system's place would score 1, not one half: where people agree most
    items are ties, and ties count for the system. So compare with what the annotator scores
    (`alt_test` reports both; `winning_rate` compares them), not with one half. It counts items, and
    does not see by how much the system is closer or farther: one error that no annotator would make
    weighs as little as a near miss. The discrepancy ratio does see that.

    Annotators who skip hard items are compared on easy ones, each with the system on the same
    items.

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
    found = sums(
        annotations, predictions, distance,
        min_items=min_items, tolerance=tolerance, depth=depth, on_missing=on_missing,
    )  # fmt: skip
    return found.value(weights)


def sums(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    distance: Distance | None = None,
    *,
    min_items: int = 1,
    tolerance: float | None = None,
    depth: int | None = None,
    on_missing: str = "raise",
) -> Sums:
    """Prepare it as a function of sums over items."""
    few = whole("min_items", min_items, 1)
    found = advantages(annotations, predictions, distance, on_missing, tolerance, depth)
    short = found.n_items < few
    shape = (-1, len(found.systems), len(found.annotators))

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        n, better = totals[:, None, : shape[2]], totals[:, shape[2] :].reshape(shape)
        share = better / np.where(n > 0, n, 1.0)
        out = doubts.where(np.broadcast_to(short, share.shape), share, too_few(few))
        return doubts.where(np.broadcast_to(n <= 0, share.shape), out, NO_ITEMS)

    name = "advantage_probability"
    parts = (found.counts(), found.laid_out(found.system_as_close))
    dims = {name: (SYSTEM, ANNOTATOR)}
    coords = {SYSTEM: found.systems, ANNOTATOR: found.annotators}
    attrs = found.attrs
    kept = ~short[found.annotator]  # the others have no value
    enough = found._replace(item=found.item[kept], annotator=found.annotator[kept])
    bearing = enough.counts()
    return Sums(name, parts, finish, found.items, dims, coords, attrs, bearing=bearing)
