"""Slice sampling of one number under any log density (Neal 2003): stepping out, then shrinking."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dissensus.arrays.compiled import Inner, named_after
from dissensus.arrays.stream import State, uniform

_STEPS = 60
"""Maximum number of steps out (Neal 2003, Fig. 3): bounds the loop for flat densities."""

_LEVEL, _LOW, _HIGH, _SHRINK = range(4)
"""What the density is asked for: the level of the slice, either end of it, or a point within."""


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
    # and could not be read once one of these has changed. The density is asked in one place, or
    # it would be compiled into each of four.
    def draw(state: State, x: float, width: float, *args: Any) -> float:
        at, doing, level, low, high, below, above = x, _LEVEL, 0.0, 0.0, 0.0, 0, 0
        while True:
            height = log_density(at, *args)
            if doing == _LEVEL:
                level = height + math.log(uniform(state))
                low = x - width * uniform(state)
                high = low + width
                below = int(_STEPS * uniform(state))
                above = _STEPS - 1 - below
                doing = _LOW
            elif doing == _LOW:
                if height > level:
                    low -= width
                    below -= 1
                else:
                    doing = _HIGH
            elif doing == _HIGH:
                if height > level:
                    high += width
                    above -= 1
                else:
                    doing = _SHRINK
            elif height >= level or at == x:
                return at
            elif at < x:
                low = at
            else:
                high = at
            if doing == _LOW and below == 0:
                doing = _HIGH
            if doing == _HIGH and above == 0:
                doing = _SHRINK
            if doing == _LOW:
                at = low
            elif doing == _HIGH:
                at = high
            else:
                at = low + uniform(state) * (high - low)

    return Inner(named_after(draw, log_density), cache=False)
