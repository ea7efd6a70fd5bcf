"""How many items with a known truth tell an accuracy closely enough, by themselves."""

from __future__ import annotations

import numpy as np
from scipy import stats


def known_items(accuracy: float, within: float, assurance: float) -> int:
    """Return the least number from which on the share right is near enough, often enough.

    Examples
    --------
    >>> known_items(0.9, 0.1, 0.9), known_items(0.9, 0.05, 0.9)
    (20, 107)
    """
    # By Chebyshev's inequality no number above this one is too small.
    most = int(np.ceil(accuracy * (1 - accuracy) / (within**2 * (1 - assurance)))) + 1
    n = np.arange(1, most + 1)
    low = np.ceil(n * (accuracy - within) - 1e-9)
    high = np.floor(n * (accuracy + within) + 1e-9)
    near = stats.binom.cdf(high, n, accuracy) - stats.binom.cdf(low - 1, n, accuracy)
    short = np.flatnonzero(near < assurance)
    return int(n[short[-1]]) + 1 if len(short) else 1
