"""Gamma variates from the small random streams of `stream`, also in logarithms.

By the rejection of Marsaglia & Tsang (2000), from ziggurat normals. A shape below 1 is raised by 1,
and the variate multiplied by U^(1/shape): in logarithms, since with a small shape it would
underflow.
"""

from __future__ import annotations

import math
from typing import Final

from dissensus.arrays.compiled import inner
from dissensus.arrays.normal_variates import normal
from dissensus.arrays.stream import State, uniform

SMALL: Final = 0.1
"""Below this shape a variate underflows often enough to matter: at 0.1 its logarithm passes
-708 with probability e^-70, at 0.01 already with probability e^-7."""

LEAST: Final = 1e-300
"""Smaller shapes count as this, so that logarithms stay finite; no result could tell."""


@inner
def gamma_variate(state: State, shape: float) -> float:
    """Draw a Gamma(shape, 1) variate, for a shape that is not below `SMALL`."""
    return gamma_of(state, shape, *constants(shape))


@inner
def constants(shape: float) -> tuple[float, float]:
    """Return two numbers that `gamma_of` needs, for those who draw from one shape many times."""
    d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    return d, 1.0 / math.sqrt(9.0 * d)


@inner
def gamma_of(state: State, shape: float, d: float, c: float) -> float:
    """Do what `gamma_variate` does, given the shape's constants."""
    if shape == 1.0:
        return -math.log(uniform(state))
    if shape < 1.0:
        return _above(state, d, c) * uniform(state) ** (1.0 / shape)
    return _above(state, d, c)


@inner
def log_gamma_variate(state: State, shape: float) -> float:
    """Draw the logarithm of a Gamma(shape, 1) variate, finite however small the shape is."""
    out = math.log(_above(state, *constants(shape)))
    if shape < 1.0:
        out += math.log(uniform(state)) / shape
    return out


@inner
def _above(state: State, d: float, c: float) -> float:
    """Draw a variate with a shape of 1 or more, d + 1/3."""
    while True:
        x = normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v *= v * v
        u, square = uniform(state), x * x
        if u < 1.0 - 0.0331 * square * square:
            return d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v
