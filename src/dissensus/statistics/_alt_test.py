"""The alternative annotator test: t-tests of whether a system may replace annotators."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
import xarray as xr
from scipy import stats

from dissensus.dims import ANNOTATOR, SYSTEM
from dissensus.errors import DissensusWarning, shown
from dissensus.kernels.types import Floats
from dissensus.statistics._pairwise import Distance
from dissensus.statistics._ratios import Advantages, advantages, too_few
from dissensus.statistics._read import proportion, whole

PASS: Final = 0.5
"""A system passes that wins against half of the annotators."""


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
    :math:`\mathrm{H}_0: \mathrm{E}\, d \geq \varepsilon` gives a p-value; those of all annotators
    are adjusted for their number by the procedure of Benjamini and Yekutieli. The system wins
    against annotators with an adjusted p-value of at most ``q``, and passes if these are half of
    those tested or more.

    Parameters
    ----------
    annotations, predictions, distance, tolerance, depth, on_missing
        As for `advantage_probability`.
    epsilon : float
        What the system may be behind, in shares of items. The source takes .2 against experts, .15
        against skilled people, .1 against crowd-workers; it has to be chosen before the result.
    q : float
        The rate of false wins among the wins that is accepted.
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
        If annotations or predictions do not have that distance, or items differ.
    ArgumentError
        If epsilon or q is not in [0, 1), or ``min_items`` below 2.

    Warns
    -----
    DissensusWarning
        If annotators are not tested. If none is, rates are NaN.

    Notes
    -----
    Where all :math:`d_i` are equal there is no variance, and the p-value is 0 (below epsilon) or 1.
    Failing is no evidence of being worse: with few items nobody wins. `winning_rate` with
    `bayesian_bootstrap` gives the probability of each win instead, and takes clusters of items,
    which a t-test holds for independent.

    Source: Calderon, Reichart and Dror (2025), "The alternative annotator test for
    LLM-as-a-judge", ACL, section 3.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]] * 20)
    >>> pred = dx.predictions({"item": range(60), "system": ["m"] * 60, "label": list("aba") * 20})
    >>> found = dx.alt_test(ann, pred, epsilon=0.2)
    >>> found["winning_rate"].item(), found["passes"].item()
    (1.0, True)
    """
    margin, few = proportion("epsilon", epsilon), whole("min_items", min_items, 2)
    rate = proportion("q", q)
    found = advantages(annotations, predictions, distance, on_missing, tolerance, depth)
    tested = found.n_items >= few
    _warn(found, few)
    system, human, p = _by_annotator(found, tested, margin)
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
        "annotator_advantage": human,
        "p_value": p,
        "adjusted_p_value": adjusted,
        "win": win,
    }
    return xr.Dataset(
        {name: (SYSTEM, values) for name, values in by_system.items()}
        | {name: ((SYSTEM, ANNOTATOR), values) for name, values in by_both.items()}
        | {"items": (ANNOTATOR, found.n_items)},
        coords={SYSTEM: found.systems, ANNOTATOR: found.annotators},
        attrs=found.attrs | {"epsilon": margin, "q": rate, "min_items": few},
    )


def _warn(found: Advantages, few: int) -> None:
    left = found.annotators[found.n_items < few]
    if len(left):
        warnings.warn(
            f"{len(left)} of {len(found.annotators)} annotators are not tested "
            f"({shown(list(left))}): {too_few(few)}.",
            DissensusWarning,
            stacklevel=3,
        )


def _mean(values: Floats, tested: Any) -> Floats:
    """Average over annotators tested, if there are any: (system)."""
    if not tested.any():
        return np.full(len(values), np.nan)
    return np.asarray(values[:, tested].mean(axis=1))


def _by_annotator(found: Advantages, tested: Any, margin: float) -> tuple[Floats, Floats, Floats]:
    """Return both advantages and the p-value: (system, annotator)."""
    shape = (len(found.systems), len(found.annotators))
    system, human, p = (np.full(shape, np.nan) for _ in range(3))
    n = found.n_items[tested].astype(np.float64)
    for place in range(shape[0]):
        machine, person = found.system_as_close[:, place], found.annotator_as_close[:, place]
        a, b, ahead, parted = (
            np.bincount(found.annotator, values, shape[1])[tested]
            for values in (machine, person, person * 1.0 - machine, person != machine)
        )
        system[place, tested], human[place, tested] = a / n, b / n
        p[place, tested] = p_values(n, ahead, parted, margin)
    return system, human, p


def p_values(n: Floats, total: Floats, squares: Floats, margin: float) -> Floats:
    """Return p-values of t-tests that a mean is below a margin.

    Parameters
    ----------
    n, total, squares : array
        How many whole numbers, their sums, and the sums of their squares.
    margin : float
        What the mean is compared with.

    Examples
    --------
    >>> p_values(np.array([4.0, 4.0]), np.array([0.0, 4.0]), np.array([2.0, 4.0]), 0.5).round(4)
    array([0.154, 1.   ])
    """
    mean = total / n
    variance = (squares - total * mean) / (n - 1)
    spread = n * squares > total**2  # whole numbers: exact
    error = np.sqrt(np.where(spread, variance, 1.0) / n)
    p = stats.t.cdf((mean - margin) / error, n - 1)
    return np.asarray(np.where(spread, p, np.where(mean < margin, 0.0, 1.0)))
