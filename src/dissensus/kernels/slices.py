"""Random numbers from a density known up to a factor: slice sampling, and tangent envelopes.

Numbers with log-concave densities are drawn by rejection. Three tangents to the log density, one
near the mode and one on either side, lie above it and make an envelope of three exponential pieces.
A draw from the envelope is kept with probability density / envelope. Only the share of rejections
depends on where the tangents touch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dissensus.kernels.compiled import Inner, inner, named_after
from dissensus.kernels.random import State, uniform
from dissensus.kernels.types import Floats

_FLAT = 1e-12


TOUCH, HEIGHT, SLOPE, EDGE, AREA = range(5)
"""The rows of an array for three tangents, from left to right. The first three rows are where each
tangent touches, the log density there, and its slope. `join` writes the other two: the four ends of
the three pieces (in a piece, one tangent is the lowest), and the areas under the pieces'
exponentials. There is one array, because passing many arrays is slow in compiled code."""


@inner
def tangents() -> Floats:
    """Allocate the array for the tangents of a density on the whole line.

    The slope of the first tangent must be above 0, that of the last tangent below 0.
    """
    lines = np.zeros((5, 4))
    lines[EDGE, 0], lines[EDGE, 3] = -np.inf, np.inf
    return lines


@inner
def join(lines: Floats) -> None:
    """Write the points where neighbouring tangents intersect, and the areas between them."""
    for i in range(2):
        gap = lines[SLOPE, i] - lines[SLOPE, i + 1]
        lines[EDGE, i + 1] = lines[TOUCH, i + 1]  # stays if both tangents are the same line
        if gap > 0.0:
            intercept_gap = _at_zero(lines, i + 1) - _at_zero(lines, i)
            lines[EDGE, i + 1] = min(intercept_gap / gap, lines[TOUCH, i + 1])
    lines[EDGE, 2] = max(lines[EDGE, 2], lines[EDGE, 1])
    for i in range(3):
        end, sign = _near_end(i)
        start = lines[HEIGHT, i] + lines[SLOPE, i] * (lines[EDGE, end] - lines[TOUCH, i])
        width = lines[EDGE, i + 1] - lines[EDGE, i]
        lines[AREA, i] = _area(start, sign * lines[SLOPE, i], width)


@inner
def _at_zero(lines: Floats, i: int) -> float:
    return lines[HEIGHT, i] - lines[SLOPE, i] * lines[TOUCH, i]


@inner
def draw(state: State, lines: Floats) -> tuple[float, float]:
    """Draw a number from the envelope; return it, and the envelope's logarithm there."""
    pick, i = uniform(state) * (lines[AREA, 0] + lines[AREA, 1] + lines[AREA, 2]), 0
    while i < 2 and pick > lines[AREA, i]:
        pick -= lines[AREA, i]
        i += 1
    return draw_from(state, lines, i)


@inner
def draw_from(state: State, lines: Floats, i: int) -> tuple[float, float]:
    """Do as `draw`, from piece ``i`` of the envelope."""
    end, sign = _near_end(i)
    width = lines[EDGE, i + 1] - lines[EDGE, i]
    x = lines[EDGE, end] + sign * _inverse(uniform(state), sign * lines[SLOPE, i], width)
    return x, lines[HEIGHT, i] + lines[SLOPE, i] * (x - lines[TOUCH, i])


@inner
def _near_end(i: int) -> tuple[int, float]:
    """Return the index of a finite end of piece i, and the direction from it into the piece."""
    return (1, -1.0) if i == 0 else (i, 1.0)


@inner
def _area(start: float, slope: float, width: float) -> float:
    """Integrate exp(start + slope x) from 0 to width."""
    if abs(slope) * width < _FLAT:
        return math.exp(start) * width
    return math.exp(start) * math.expm1(slope * width) / slope


@inner
def _inverse(u: float, slope: float, width: float) -> float:
    """Draw x in (0, width) with density proportional to exp(slope x)."""
    if abs(slope) * width < _FLAT:
        return u * width
    if slope > 0.0:  # measured from the far end, where the density is large
        return width + math.log(u + (1.0 - u) * math.exp(-slope * width)) / slope
    return math.log1p(u * math.expm1(slope * width)) / slope


# Slice sampling of one number under any log density (Neal 2003): stepping out, then shrinking.


_STEPS = 60
"""Maximum number of stepping-out steps (Neal 2003, Fig. 3); bounds the loop for flat densities."""

_LEVEL, _LOW, _HIGH, _SHRINK = range(4)
"""Reasons for evaluating the density: the slice's level, its lower or upper end, or a proposal."""


def slicer(log_density: Callable[..., float]) -> Any:
    r"""Compile a slice sampler: a function (state, x, width, \*args) that returns a new x.

    ``log_density`` (x, \*args) is known up to a constant, and is minus infinity beyond the support.
    The sampler's last call of it is at the point that the sampler returns.
    """

    # The sampler is cached as part of its callers. One cache file for all samplers would contain
    # the types of every caller, and would be invalid after a change of one caller. The density is
    # called in one place only: otherwise it would be compiled four times.
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
