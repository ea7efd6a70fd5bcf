"""The share of annotators whom a system could replace."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, SYSTEM
from dissensus.kernels.types import Floats
from dissensus.statistics._pairwise import Distance
from dissensus.statistics._ratios import NO_ITEMS, advantages, too_few
from dissensus.statistics._read import proportion, whole
from dissensus.statistics._sums import Doubts, Sums

ROUNDING: Final = 1e-12


def winning_rate(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    epsilon: float = 0.1,
    distance: Distance | None = None,
    *,
    min_items: int = 30,
    per_annotator: bool = False,
    tolerance: float | None = None,
    depth: int | None = None,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Share of annotators against whom a system wins, up to a margin.

    .. math:: \omega_m = \frac{1}{|J|} \sum_{j \in J}
        \bigl[ \rho^f_{mj} - \rho^h_{mj} > -\varepsilon \bigr]

    :math:`\rho^f_{mj}` is how often system m is at least as close to the other annotators as j is
    (`advantage_probability`), :math:`\rho^h_{mj}` how often j is at least as close as m. A tie
    counts for both, so that the two add up to 1 and the share of ties: the difference is how often
    the system is strictly closer, less how often the annotator is. :math:`J` are the annotators
    with enough items.

    **With** `bayesian_bootstrap`. A draw of weights is a distribution of items, and in it both
    shares are known: there is nothing to test, the system wins or does not. So draws of this are
    the posterior of the winning rate. ``(draws >= 0.5).mean("draw")`` is the probability that the
    system passes the source's mark; the mean of draws with ``per_annotator=True`` is the
    probability that it wins against each. Declare wins where that is at least .95, and the share of
    false ones among them is expected to be .05 at most, without another correction.

    **By itself** it says against whom the system is ahead *in these items*, by however little.
    That is no evidence: `alt_test` counts significant wins only. With the same settings, and its
    ``q`` below .5, its winning rate is never above this one.

    Parameters
    ----------
    annotations, predictions, distance, tolerance, depth, on_missing
        As for `advantage_probability`.
    epsilon : float
        What the system may be behind, in shares of items: what it is worth that it costs less.
        The source takes .2 against experts, .15 against skilled people, .1 against crowd-workers.
    min_items : int
        Annotators with fewer items (weights do not matter) are left out: with a handful, the
        bootstrap is too sure of itself.
    per_annotator : bool
        Return 1 where the system wins, 0 where not, and NaN for annotators left out.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        (system), from 0 to 1; or ``win`` (system, annotator).

    Raises
    ------
    AnnotationError, PredictionError
        If annotations or predictions do not have that distance, or items differ.
    ArgumentError
        If epsilon is not in [0, 1), ``min_items`` below 1, or weights are none.

    Warns
    -----
    DissensusWarning
        If no annotator has enough items: NaN.

    Notes
    -----
    It falls apart into steps of 1/J; with two or three annotators look at ``per_annotator``.
    Whoever is farthest from the others is easiest to win against: a pool with careless annotators
    lets more systems pass.

    Source: Calderon, Reichart and Dror (2025), section 3, here with a posterior in place of t-tests
    and a correction for their number.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "b"]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "b"]})
    >>> dx.winning_rate(ann, pred, min_items=2).values
    array([1.])
    """
    found = sums(
        annotations, predictions, epsilon, distance,
        min_items=min_items, per_annotator=per_annotator, tolerance=tolerance, depth=depth,
        on_missing=on_missing,
    )  # fmt: skip
    return found.value(weights)


def sums(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    epsilon: float = 0.1,
    distance: Distance | None = None,
    *,
    min_items: int = 30,
    per_annotator: bool = False,
    tolerance: float | None = None,
    depth: int | None = None,
    on_missing: str = "raise",
) -> Sums:
    """Prepare it as a function of sums over items."""
    arguments.flags(per_annotator=per_annotator)
    margin, few = proportion("epsilon", epsilon), whole("min_items", min_items, 1)
    found = advantages(annotations, predictions, distance, on_missing, tolerance, depth)
    ahead = found.system_as_close.astype(np.int8) - found.annotator_as_close
    enough = found.n_items >= few
    shape = (-1, len(found.systems), len(found.annotators))

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        n, lead = totals[:, None, : shape[2]], totals[:, shape[2] :].reshape(shape)
        counted = enough & (n > 0)
        wins = counted & (lead / np.where(n > 0, n, 1.0) + margin > ROUNDING)
        won = wins.astype(np.float64)
        if not per_annotator:
            tested = counted.sum(axis=2).astype(np.float64)
            return doubts.divided(won.sum(axis=2), tested, nobody)
        out = doubts.where(np.broadcast_to(~enough, won.shape), won, too_few(few))
        return doubts.where(np.broadcast_to(n <= 0, won.shape), out, NO_ITEMS)

    nobody = f"of every annotator, {too_few(few)}"
    name, dims = ("win", (SYSTEM, ANNOTATOR)) if per_annotator else ("winning_rate", (SYSTEM,))
    coords = {SYSTEM: found.systems, ANNOTATOR: found.annotators}
    attrs = found.attrs | {"epsilon": margin, "min_items": few}
    parts = (found.counts(), found.laid_out(ahead))
    return Sums(name, parts, finish, found.items, {name: dims}, coords, attrs)
