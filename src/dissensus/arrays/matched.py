"""Which draw goes with which, where two kinds of uncertainty come from the same data."""

from __future__ import annotations

import numpy as np

from dissensus.arrays.types import Floats, Ints


def matched(draws: Floats, sets: Floats, rng: np.random.Generator) -> Ints:
    """Return for each set the draw of the same rank; none is used twice before all are.

    Of all ways to pair them it makes their sum vary most. Ties are paired at random.

    Parameters
    ----------
    draws : array (draw)
    sets : array (set)

    Returns
    -------
    array of int (set)

    Examples
    --------
    >>> matched(np.array([0.5, 0.9, 0.7]), np.array([3.0, 1.0, 2.0]), np.random.default_rng(1))
    array([1, 0, 2])
    """
    of_draws, of_sets = _ascending(draws, rng), _ascending(sets, rng)
    out = np.empty(len(sets), dtype=np.int64)
    out[of_sets] = of_draws[(2 * np.arange(len(sets)) + 1) * len(draws) // (2 * len(sets))]
    return out


def _ascending(values: Floats, rng: np.random.Generator) -> Ints:
    """Return the places of values from the least on, equal ones in any order."""
    mixed = rng.permutation(len(values))
    return np.asarray(mixed[np.argsort(values[mixed], kind="stable")])
