"""A move of a block of parameters along an ellipse about its mode.

A block is all strengths with the tendency to ties, the side's advantage and the coefficients; or
the numbers of one prompt; or the tastes of one voter; or the three numbers of one annotator.
Newton's method finds the mode m and the curvature of a block given all other blocks, from a fixed
starting value. The block then moves by elliptical slice sampling about m (Murray, Adams & MacKay
2010): the ratio of its density to that of the normal approximation defines the slice. Draws are
exact even if the approximation is poor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dissensus.kernels.compiled import Inner, named_after
from dissensus.kernels.random import State, uniform
from dissensus.kernels.special import backwards, factorised, forwards
from dissensus.kernels.types import Floats
from dissensus.kernels.variates import normal


class Room(NamedTuple):
    """Work space of a block."""

    matrix: Floats
    slope: Floats
    mode: Floats
    point: Floats
    other: Floats
    trial: Floats


def room(n: int) -> Room:
    """Allocate the work space for blocks of at most `n` numbers."""
    return Room(np.empty((n, n)), *(np.empty(n) for _ in range(5)))


_STEPS = 6
"""Maximum number of Newton's steps."""
_NEAR = 0.05, 0.3
"""Newton's method stops if a step is expected to add at most half of this, for each number, to the
log density. The first value is for up to `_SMALL` numbers, such as a voter's: their density may be
skew, and they stay in place for long if the mode is not exact. The second is for larger blocks,
where one more step costs more time than it saves."""
_SMALL = 3
_WIDER = 1.05
"""The standard deviations of the normal approximation are this many times those at the mode. In
tails that are heavier than the approximation's, a chain arrives rarely and stays for long."""
_FAR = 3.0
"""Maximum change of a number in one step of Newton's method."""


KEEP, LEARN, JUMP = range(3)
"""How a block is moved. `KEEP` has a fixed reference. `LEARN`, in the warm-up, makes each mode that
is found the next reference. `JUMP`, in the first sweeps, does so too and draws from the normal
approximation: exact moves would hardly leave starting values that are far from the mode."""


def mover(slopes: Callable[..., None], log_density: Callable[..., float]) -> Any:
    r"""Compile a move of the leading n numbers of ``at``.

    ``slopes`` (x, n, matrix, slope, \*args) writes the curvature and the slope of the log density,
    ``log_density`` (x, n, \*args) returns it. Newton's method begins at ``reference``; unless
    ``how`` is `KEEP`, the mode that it finds is the next reference.
    """

    def move(
        state: State, at: Floats, reference: Floats, n: int, how: int, work: Room, *args: Any
    ) -> None:
        mode, slope, matrix = work.mode, work.slope, work.matrix
        for k in range(n):
            mode[k] = reference[k]
        for _ in range(_STEPS):
            slopes(mode, n, matrix, slope, *args)
            if not factorised(matrix, n):
                return
            forwards(matrix, n, slope)
            gain, farthest = 0.0, 0.0
            for k in range(n):
                gain += slope[k] * slope[k]
            backwards(matrix, n, slope)
            for k in range(n):
                farthest = max(farthest, abs(slope[k]))
            part = _FAR / farthest if farthest > _FAR else 1.0
            for k in range(n):
                mode[k] += part * slope[k]
            if gain < (_NEAR[0] if n <= _SMALL else _NEAR[1]) * n:
                break
        point, other, trial = work.point, work.other, work.trial
        for k in range(n):
            total = 0.0
            for j in range(k, n):
                total += matrix[j, k] * (at[j] - mode[j])
            point[k], other[k], trial[k] = total, _WIDER * normal(state), at[k]
        height, angle, low, high = 0.0, 0.0, 0.0, 0.0
        first = True
        if how == JUMP:
            backwards(matrix, n, other)
            for k in range(n):
                trial[k] = mode[k] + other[k]
        while how != JUMP:
            square = 0.0
            if not first:
                for k in range(n):
                    trial[k] = point[k] * math.cos(angle) + other[k] * math.sin(angle)
                    square += trial[k] * trial[k]
                backwards(matrix, n, trial)
                for k in range(n):
                    trial[k] += mode[k]
            else:
                for k in range(n):
                    square += point[k] * point[k]
            now = log_density(trial, n, *args) + 0.5 * square / _WIDER**2
            if first:
                height = now + math.log(uniform(state))
                angle = 2.0 * math.pi * uniform(state)
                low, high = angle - 2.0 * math.pi, angle
                first = False
                continue
            if now >= height or high - low < 1e-12:
                break
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + uniform(state) * (high - low)
        for k in range(n):
            at[k] = trial[k]
            if how != KEEP:
                reference[k] = mode[k]

    return Inner(named_after(move, slopes), cache=False)
