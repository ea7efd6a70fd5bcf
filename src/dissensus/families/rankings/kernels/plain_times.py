r"""One Gibbs sweep by arrival times in plain numbers, for annotators of sharpness 1.

It draws from the same distribution as `times`, and is several times as fast: `times` works in
logarithms throughout, and for annotators of any sharpness. Let S be the sum of the strengths, a
Gamma variate, :math:`a_k` the prior shape of label k, :math:`n_k` the number of rankings that list
it in a block with something after it, and :math:`E_k` the total waiting time for it in units of
1 / S. Then, up to a common factor,

.. math:: \lambda_k \propto \frac{\mathrm{Gamma}(a_k + \mathrm{power}\, n_k)}{S + E_k},

and the only logarithms are those of the exponential variates.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dissensus.families.rankings.kernels.layout import (
    BEGIN,
    COMMON,
    EXACT,
    LAST,
    POSTERIOR,
    POWER,
    RANK,
    STOP,
    TOTAL_SHAPE,
    UNIT,
    ItemNumbers,
    RankedItems,
)
from dissensus.families.rankings.kernels.tied_times import draw_block
from dissensus.kernels.compiled import inner, part
from dissensus.kernels.random import State, uniform
from dissensus.kernels.types import Codes, Floats
from dissensus.kernels.variates import SMALL, constants, gamma_of, gamma_variate

SHARE, EXPOSURE, REST, RATIO, LOG_TIME, A, D, C = range(8)
"""The rows of a work array: the shares and exposures of units; for one ranking, the sum of shares
from each place on, and a tied block's ratios and times; the units' shapes, and the constants of
each that `dissensus.kernels.variates.gamma_of` needs."""

_LEAST = 1e-60
"""Minimum share: sums and quotients of a few larger shares neither over- nor underflow."""


def is_plain(items: RankedItems) -> npt.NDArray[np.bool_]:
    """Return (item) whether all annotators have sharpness 1, and no variate can underflow."""
    numbers, has_units = items.numbers, items.n_units > 0
    least = np.minimum(numbers[:, TOTAL_SHAPE], numbers[:, POWER])
    starts = items.unit_start[:-1][has_units]
    if len(starts):
        least[has_units] = np.minimum(
            least[has_units], np.minimum.reduceat(items.shape_of(POSTERIOR), starts)
        )
    out: npt.NDArray[np.bool_] = (
        (numbers[:, COMMON] == 1.0) & (numbers[:, EXACT] == 0.0) & (least >= SMALL) & has_units
    )
    return out


@inner
def plain_room(shapes: Floats) -> Floats:
    """Allocate the work array of one item's plain sweeps, see `SHARE`."""
    out = np.empty((C + 1, len(shapes)))
    take_shapes(shapes, out)
    return out


@inner
def take_shapes(shapes: Floats, plain: Floats) -> None:
    """Write the shapes of units, and the constants of `gamma_of` that depend on them."""
    for unit in range(plain.shape[1]):
        plain[A, unit] = shapes[unit, POSTERIOR]
        plain[D, unit], plain[C, unit] = constants(plain[A, unit])


@part
def plain_sweep(
    state: State, numbers: ItemNumbers, listed: Codes, spans: Codes, plain: Floats, lines: Floats
) -> bool:
    """Draw arrival times given shares, and then shares given arrival times.

    The item must satisfy `is_plain`; `plain`, from `plain_room`, holds the shares. Returns False,
    and draws nothing, if a share is too small.
    """
    n, summed = plain.shape[1], 0.0
    for unit in range(n):
        if plain[SHARE, unit] < _LEAST:
            return False
        summed += plain[SHARE, unit]
    whole = gamma_variate(state, numbers.total_shape)
    at_once = gamma_variate(state, numbers.shared) / summed if numbers.shared > 0.0 else 0.0
    for unit in range(n):
        plain[EXPOSURE, unit] = at_once
    for ranking in range(len(spans)):
        _wait(state, listed, spans, ranking, numbers.power, plain, lines)
    summed = 0.0
    for unit in range(n):
        drawn = gamma_of(state, plain[A, unit], plain[D, unit], plain[C, unit])
        plain[SHARE, unit] = drawn / (whole + plain[EXPOSURE, unit])
        summed += plain[SHARE, unit]
    for unit in range(n):
        plain[SHARE, unit] /= summed
    return True


@part
def _wait(
    state: State, listed: Codes, spans: Codes, ranking: int, power: float, plain: Floats,
    lines: Floats,
) -> None:  # fmt: skip
    """Draw one annotator's times, block after block, and add them to the exposures."""
    begin, stop, last = spans[ranking, BEGIN], spans[ranking, STOP], spans[ranking, LAST]
    total = 0.0
    for place in range(last - 1, begin - 1, -1):  # from the end: no differences of large sums
        total += plain[SHARE, listed[UNIT, place]]
        plain[REST, place - begin] = total
    now, low = 0.0, begin
    while low < stop:
        high = low + 1
        while high < stop and listed[RANK, high] == listed[RANK, low]:
            high += 1
        if high == low + 1:
            waited = -math.log(uniform(state)) if power == 1.0 else gamma_variate(state, power)
            now += waited / plain[REST, low - begin]
            plain[EXPOSURE, listed[UNIT, low]] += now
        else:
            now = _wait_for_tied(state, listed, low, high, power, now, high - begin, plain, lines)
        low = high
    for place in range(stop, last):
        plain[EXPOSURE, listed[UNIT, place]] += now


@part
def _wait_for_tied(
    state: State, listed: Codes, low: int, high: int, power: float, now: float, after: int,
    plain: Floats, lines: Floats,
) -> float:  # fmt: skip
    """Draw the times of a tied block, repeated `power` times; return when the last repeat ends."""
    n, rest, end = high - low, plain[REST, after], now
    for _ in range(int(power)):
        if n == 2:
            end += _wait_for_two(state, listed[UNIT, low], listed[UNIT, low + 1], rest, plain)
        else:
            ratio, log_time = plain[RATIO, :n], plain[LOG_TIME, :n]
            for k in range(n):
                ratio[k] = math.log(plain[SHARE, listed[UNIT, low + k]] / rest)
            end += math.exp(draw_block(state, ratio, log_time, lines)) / rest
            for k in range(n):
                plain[EXPOSURE, listed[UNIT, low + k]] += math.exp(log_time[k]) / rest
    for place in range(low, high):
        plain[EXPOSURE, listed[UNIT, place]] += now
    return end


@inner
def _wait_for_two(state: State, unit: int, other_unit: int, rest: float, plain: Floats) -> float:
    """Draw which of two units arrives first, and then both times; return the later one."""
    left, right = plain[SHARE, unit] + rest, plain[SHARE, other_unit] + rest
    if uniform(state) * (left + right) > left:  # the odds that `unit` is first are left : right
        unit, other_unit, left, right = other_unit, unit, right, left
    first = -math.log(uniform(state)) / (left + plain[SHARE, other_unit])
    second = first - math.log(uniform(state)) / right
    plain[EXPOSURE, unit] += first
    plain[EXPOSURE, other_unit] += second
    return second
