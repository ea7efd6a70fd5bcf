"""Slice sampling of one number under any log density (Neal 2003): stepping out, then shrinking."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba import njit

from dissensus.arrays.stream import State, uniform

_STEPS = 60
"""No curve worth drawing from is wider than so many widths; a flat one must end somewhere."""


def slicer(log_density: Callable[..., float]) -> Any:
    r"""Compile a slice sampler.

    Parameters
    ----------
    log_density : compiled function (x, \*args)
        Up to a constant; minus infinity beyond the support. What it writes elsewhere is left as
        at the point that is returned, since that is the last one it is asked of.

    Returns
    -------
    compiled function (state, x, width, \*args)
        Draws the next x.
    """

    # Cached as part of what calls it. One file for all slicers would name types of every caller,
    # and could not be read once one of these has changed.
    @njit
    def draw(state: State, x: float, width: float, *args: Any) -> float:
        level = log_density(x, *args) + math.log(uniform(state))
        low = x - width * uniform(state)
        high = low + width
        below = int(_STEPS * uniform(state))
        above = _STEPS - 1 - below
        while below > 0 and log_density(low, *args) > level:
            low -= width
            below -= 1
        while above > 0 and log_density(high, *args) > level:
            high += width
            above -= 1
        while True:
            new = low + uniform(state) * (high - low)
            if log_density(new, *args) >= level or new == x:
                return new
            if new < x:
                low = new
            else:
                high = new

    return draw
