"""The alternative annotator test: t-tests of whether a system may replace annotators."""

from __future__ import annotations

from typing import Final

import numpy as np
import xarray as xr
from scipy import stats

from dissensus.dims import ANNOTATOR, SYSTEM
from dissensus.errors import shown, warn_caller
from dissensus.kernels.types import Flags, Floats
from dissensus.statistics._advantage_probability import Comparisons, comparisons, too_few
from dissensus.statistics._distances import Distance
from dissensus.statistics._read import proportion, whole

PASS: Final = 0.5
"""A system passes if it wins against this share of the annotators."""


def alt_test(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    epsilon: float,
    distance: Distance | None = None,
    *,
    q: float = 0.05,
    min_items: int = 30,
    tolerance: float | None = None,
    depth: int | None = None,
    on_missing: str = "raise",
) -> xr.Dataset:
    r"""Test against each annotator whether a system represents the others better, up to a margin.

    For system m and annotator j, :math:`d_i` is 1 on items where j is strictly closer to the other
    annotators, -1 where the system is, 0 on ties. A one-sided t-test of
    :math:`\mathrm{H}_0: \mathrm{E}\, d \geq \varepsilon` gives a p-value, adjusted for the number
    of annotators by the procedure of Benjamini and Yekutieli. The system wins against annotators
    with an adjusted p-value of at most ``q``, and passes if it wins against half of those tested
    or more.

    Parameters
    ----------
    annotations, predictions, distance, tolerance, depth, on_missing
        As for `advantage_probability`.
    epsilon : float
        How far the system may be behind, in shares of items. The source uses .2 against experts,
        .15 against skilled people, .1 against crowd-workers. Choose it before seeing the result.
    q : float
        The accepted rate of false wins among the wins.
    min_items : int
        Annotators who share fewer items with others are not tested; 2 or more.

    Returns
    -------
    xarray.Dataset
        ``winning_rate``, ``advantage_probability`` (the mean over those tested), and ``passes``, by
        system; ``system_advantage``, ``annotator_advantage`` (how often each is at least as close),
        ``p_value``, ``adjusted_p_value`` and ``win``, by system and annotator; ``items`` by
        annotator. NaN (and no win) for annotators not tested.

    Raises
    ------
    AnnotationError, PredictionError
        If annotations or predictions do not have the distance, or items differ.
    ArgumentError
        If epsilon or q is not in [0, 1), or ``min_items`` is below 2.

    Warns
    -----
    DissensusWarning
        If annotators are not tested. If none is, rates are NaN.

    Notes
    -----
    If all :math:`d_i` are equal the variance is 0, and the p-value is 0 (below epsilon) or 1.
    Failing is no evidence of being worse: with few items no system wins. `winning_rate` with
    `bayesian_bootstrap` gives the probability of each win instead, and allows for clusters of
    items, which a t-test takes for independent.

    Source: Calderon, Reichart and Dror (2025), "The alternative annotator test for
    LLM-as-a-judge", ACL, section 3.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]] * 20)
    >>> pred = dx.predictions({"item": range(60), "system": ["m"] * 60, "label": list("aba") * 20})
    >>> test = dx.alt_test(ann, pred, epsilon=0.2)
    >>> test["winning_rate"].item(), test["passes"].item()
    (1.0, True)
    """
    margin, least = proportion("epsilon", epsilon), whole("min_items", min_items, 2)
    rate = proportion("q", q)
    pairs = comparisons(annotations, predictions, distance, on_missing, tolerance, depth)
    tested = pairs.n_items >= least
    if not tested.all():
        warn_caller(
            f"{(~tested).sum()} of {len(tested)} annotators are not tested "
            f"({shown(list(pairs.annotators[~tested]))}): {too_few(least)}."
        )
    system, annotator, p = _by_annotator(pairs, tested, margin)
    adjusted = np.full_like(p, np.nan)
    if tested.any():
        adjusted[:, tested] = stats.false_discovery_control(p[:, tested], axis=1, method="by")
    win = adjusted <= rate
    rates = _mean(win.astype(np.float64), tested)
    by_system = {
        "winning_rate": rates,
        "advantage_probability": _mean(system, tested),
        "passes": rates >= PASS,
    }
    by_both = {
        "system_advantage": system,
        "annotator_advantage": annotator,
        "p_value": p,
        "adjusted_p_value": adjusted,
        "win": win,
    }
    return xr.Dataset(
        {name: (SYSTEM, values) for name, values in by_system.items()}
        | {name: ((SYSTEM, ANNOTATOR), values) for name, values in by_both.items()}
        | {"items": (ANNOTATOR, pairs.n_items)},
        coords={SYSTEM: pairs.systems, ANNOTATOR: pairs.annotators},
        attrs=pairs.attrs | {"epsilon": margin, "q": rate, "min_items": least},
    )


def _mean(values: Floats, tested: Flags) -> Floats:
    """Average over the annotators tested, NaN if there are none: (system)."""
    if not tested.any():
        return np.full(len(values), np.nan)
    return np.asarray(values[:, tested].mean(axis=1))


def _by_annotator(
    pairs: Comparisons, tested: Flags, margin: float
) -> tuple[Floats, Floats, Floats]:
    """Return both advantages and the p-value: (system, annotator)."""
    shape = (len(pairs.systems), len(pairs.annotators))
    system, annotator, p = (np.full(shape, np.nan) for _ in range(3))
    n = pairs.n_items[tested].astype(np.float64)
    for place in range(shape[0]):
        first, second = pairs.system_as_close[:, place], pairs.annotator_as_close[:, place]
        a, b, ahead, parted = (
            np.bincount(pairs.annotator, values, shape[1])[tested]
            for values in (first, second, second * 1.0 - first, second != first)
        )
        system[place, tested], annotator[place, tested] = a / n, b / n
        p[place, tested] = p_values(n, ahead, parted, margin)
    return system, annotator, p


def p_values(n: Floats, total: Floats, squares: Floats, margin: float) -> Floats:
    """Return p-values of t-tests that the mean of n whole numbers is below a margin.

    ``total`` and ``squares`` are the sums of the numbers and of their squares.

    Examples
    --------
    >>> p_values(np.array([4.0, 4.0]), np.array([0.0, 4.0]), np.array([2.0, 4.0]), 0.5).round(4)
    array([0.154, 1.   ])
    """
    mean = total / n
    variance = (squares - total * mean) / (n - 1)
    spread = n * squares > total**2  # exact: these are whole numbers
    error = np.sqrt(np.where(spread, variance, 1.0) / n)
    p = stats.t.cdf((mean - margin) / error, n - 1)
    return np.asarray(np.where(spread, p, np.where(mean < margin, 0.0, 1.0)))
