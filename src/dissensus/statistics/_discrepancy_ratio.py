"""How far systems are from the annotators, compared with how far these are from each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.alignment import systems_of
from dissensus.dims import ITEM, POOL, SYSTEM
from dissensus.kernels.types import Floats
from dissensus.statistics._pairwise import Distance, apart, described
from dissensus.statistics._ratios import (
    REASONS,
    Strata,
    discrepancies,
    finished,
    pools_of,
    strata_of,
)
from dissensus.statistics._read import read, rows_of
from dissensus.statistics._sums import Doubts, Finish, Sums


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
    mean distance over all pairs of labels, :math:`m_i` what the system says. At 0.8 the system
    is a fifth closer to the annotators than they are to each other; above 1 it is further away.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once.
    predictions : Dataset
        Predictions on the same items.
    distance : str or callable, optional
        "squared" (or "interval"), "absolute", or "hinge" differences of numbers; "nominal", 0 or
        1; "jaccard", of sets: all that an annotator names of an item, over all trials, is one
        set, and so is a system's list; "ranking", 1 minus the mean average overlap. Or a callable
        of two labels, symmetric and 0 between equal ones, called once for each distinct pair that
        occurs; of two rankings it gets tuples of blocks, best first, each a tuple of labels. None
        is "ranking" for rankings, "squared" for numbers (also ordered ones), "nominal" for names.
    tolerance : float, optional
        For "hinge", :math:`\max(0, |y - y'| - \lambda)`: differences up to it count nothing.
    depth : int, optional
        For "ranking": how far down rankings are compared; by default the length of the longest
        one of an annotator. Kept in ``attrs["depth"]``.
    stratified : bool
        Take means over strata (``stratum=`` of the annotations), of their discrepancies and of
        their ratios: every stratum weighs the same.
    by_pool : bool
        Each pool of annotators by itself, such as schools of thought, along the dim ``pool``.
    on_missing : {"raise", "drop"}
        What to do about items that only annotations or only predictions have. Those dropped count
        for the annotators' discrepancy neither.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.Dataset
        ``annotator_discrepancy``, ``system_discrepancy`` (system) and ``discrepancy_ratio``
        (system); with ``by_pool``, (pool) as well, last.

    Raises
    ------
    AnnotationError, PredictionError
        If annotations or predictions do not have the distance, or items differ.
    ArgumentError
        On an unknown distance, one without its tolerance, or a callable that is no distance.

    Warns
    -----
    DissensusWarning
        Where something is undefined, and NaN: no item with two annotators, or annotators who
        agree on all items (then there is no ratio).

    Notes
    -----
    It depends neither on the number of annotators nor on who labelled what, but it is no better
    than the annotators: among poor ones a poor system has a ratio of 1. A distance with few
    large values (squared) makes it hinge on a few items: look at another one too. Where items with
    fewer labels are the harder ones, it speaks of the easier.

    Hinge and Jaccard are distances here: the source prints the hinge with the opposite sign, and
    calls the Jaccard index and kappa measures of agreement; enter those as 1 minus their value.

    Source: Lovchinsky et al. (2020), "Discrepancy ratio", Eq. 1 to 4 and appendix E.

    Examples
    --------
    Two annotators who disagree on one of two items, and a system that sides with one of them:

    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "b"], ["b", "b"]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "b"]})
    >>> found = dx.discrepancy_ratio(ann, pred)
    >>> found["discrepancy_ratio"].sel(system="m").item()
    0.5
    """
    return sums(
        annotations,
        predictions,
        distance,
        tolerance=tolerance,
        depth=depth,
        stratified=stratified,
        by_pool=by_pool,
        on_missing=on_missing,
    ).value(weights)


def sums(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    distance: Distance | None = None,
    *,
    tolerance: float | None = None,
    depth: int | None = None,
    stratified: bool = False,
    by_pool: bool = False,
    on_missing: str = "raise",
) -> Sums:
    """Prepare the ratio as a function of sums over items."""
    arguments.flags(stratified=stratified, by_pool=by_pool)
    annotations = read(annotations, rankings=True)
    attrs = described(annotations, distance, tolerance=tolerance, depth=depth)
    how: dict[str, Any] = {"tolerance": tolerance, "depth": attrs.get("depth")}
    systems = systems_of(annotations, predictions, on_missing)
    strata = strata_of(annotations) if stratified else None
    found = [
        discrepancies(apart(group, rows_of(group), distance, systems, **how), systems.present)
        for group in (pools_of(annotations) if by_pool else [annotations])
    ]
    last, names = ((POOL,), {POOL: annotations[POOL].to_numpy()}) if by_pool else ((), {})
    return Sums(
        "discrepancy_ratio",
        tuple(found if strata is None else map(strata.spread, found)),
        _finish(len(found), 2 + len(systems.names), strata, found, by_pool=by_pool),
        annotations[ITEM].to_numpy(),
        dims={
            "annotator_discrepancy": last,
            "system_discrepancy": (SYSTEM, *last),
            "discrepancy_ratio": (SYSTEM, *last),
        },
        coords={SYSTEM: systems.names, **names},
        attrs=attrs,
        better="lower",
        bearing=np.stack([one[:, 0] for one in found], axis=1) if by_pool else None,
    )


def _finish(
    n_pools: int, width: int, strata: Strata | None, found: list[Floats], *, by_pool: bool
) -> Finish:
    """Return what makes discrepancies and ratios of totals, by pool and stratum."""
    reasons = REASONS if strata is None else strata.reasons(found)

    def finish(totals: Floats, doubts: Doubts) -> dict[str, Floats]:
        ready = finished(totals.reshape(len(totals), n_pools, -1, width), doubts, reasons)
        annotators, systems, ratio = (values.mean(axis=2) for values in ready)
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
