"""The share of annotators whom a system could replace."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, SYSTEM
from dissensus.kernels.types import Floats
from dissensus.statistics._advantage_probability import NO_ITEMS, comparisons, too_few
from dissensus.statistics._distances import Distance
from dissensus.statistics._read import proportion, whole
from dissensus.statistics._sums import Sums, Undefined

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
    counts for both, so their difference is how often the system is strictly closer, less how often
    the annotator is. :math:`J` are the annotators with enough items.

    **With** `bayesian_bootstrap`, draws of this are the posterior of the winning rate: given a
    draw of weights both shares are known, and nothing is left to test. ``(draws >=
    0.5).mean("draw")`` is the probability that the system passes the source's criterion; the mean
    of draws with ``per_annotator=True`` is the probability that it wins against each annotator. If
    wins are declared where that is at least .95, the expected share of false ones is at most .05,
    without further correction.

    **By itself** it says against whom the system is ahead *in these items*, by however little.
    That is no evidence: `alt_test` counts significant wins only, and with the same settings and
    ``q`` below .5 its winning rate is never above this one.

    Parameters
    ----------
    annotations, predictions, distance, tolerance, depth, on_missing
        As for `advantage_probability`.
    epsilon : float
        How far the system may be behind, in shares of items: the value of its lower cost. The
        source uses .2 against experts, .15 against skilled people, .1 against crowd-workers.
    min_items : int
        Annotators with fewer items (not counting weights) are left out: the bootstrap's intervals
        are too narrow with few items.
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
        If annotations or predictions do not have the distance, or items differ.
    ArgumentError
        If epsilon is not in [0, 1), ``min_items`` is below 1, or the weights are invalid.

    Warns
    -----
    DissensusWarning
        If no annotator has enough items: NaN.

    Notes
    -----
    It changes in steps of 1/J; with two or three annotators use ``per_annotator``. The annotator
    farthest from the others is easiest to win against: careless annotators let more systems pass.

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
    arguments.flags(per_annotator=per_annotator)
    margin, least = proportion("epsilon", epsilon), whole("min_items", min_items, 1)
    pairs = comparisons(annotations, predictions, distance, on_missing, tolerance, depth)
    ahead = pairs.system_as_close.astype(np.int8) - pairs.annotator_as_close
    enough = pairs.n_items >= least
    shape = (-1, len(pairs.systems), len(pairs.annotators))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        n, lead = totals[:, None, : shape[2]], totals[:, shape[2] :].reshape(shape)
        counted = enough & (n > 0)
        wins = counted & (lead / np.where(n > 0, n, 1.0) + margin > ROUNDING)
        won = wins.astype(np.float64)
        if not per_annotator:
            tested = counted.sum(axis=2).astype(np.float64)
            return undefined.divide(
                won.sum(axis=2), tested, f"of every annotator, {too_few(least)}"
            )
        out = undefined.where(np.broadcast_to(~enough, won.shape), won, too_few(least))
        return undefined.where(np.broadcast_to(n <= 0, won.shape), out, NO_ITEMS)

    name, dims = ("win", (SYSTEM, ANNOTATOR)) if per_annotator else ("winning_rate", (SYSTEM,))
    return Sums(
        name,
        (pairs.counts(), pairs.by_item(ahead)),
        finish,
        pairs.items,
        dims={name: dims},
        coords={SYSTEM: pairs.systems, ANNOTATOR: pairs.annotators},
        attrs=pairs.attrs | {"epsilon": margin, "min_items": least},
    ).value(weights)
