"""Which accuracy annotators must have who are all alike, to be so reliable pair by pair."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dissensus.arrays.spearman_brown import _ROUNDING
from dissensus.arrays.types import Floats


def accuracy_from_rho(rho: npt.ArrayLike, genuine: float) -> Floats:
    """Return p where two annotators agree and are right with probability p^2.

    The share of pairs that agree, times the probability that those are right, is the share of
    pairs who are both right. ``genuine`` is the chance that a label was not a guess, squared for a
    pair. NaN where p would be above 1.

    Examples
    --------
    >>> accuracy_from_rho([0.64, 0.9], 0.9).round(3)
    array([0.889,   nan])
    """
    return _within(np.sqrt(np.asarray(rho, dtype=np.float64)) / genuine)


def accuracy_from_concordance(concordance: npt.ArrayLike, genuine: float, n_labels: int) -> Floats:
    """Return p where two annotators agree, right or wrong, with p^2 + (1 - p)^2 / (L - 1).

    The larger of two solutions, 1 / L or more. NaN where there is none.

    Examples
    --------
    >>> accuracy_from_concordance([0.68, 0.5, 0.4], 1.0, 2)
    array([0.8, 0.5, nan])
    """
    agreement = np.asarray(concordance, dtype=np.float64) / genuine**2
    beyond = (n_labels - 1) * (n_labels * agreement - 1)
    beyond = np.where((beyond < 0) & (beyond > -_ROUNDING), 0.0, beyond)
    with np.errstate(invalid="ignore"):
        return _within((1 + np.sqrt(beyond)) / n_labels)


def _within(accuracy: Floats) -> Floats:
    return np.where(accuracy <= 1 + _ROUNDING, np.minimum(accuracy, 1.0), np.nan)
