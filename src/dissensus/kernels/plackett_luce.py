r"""The exact log-likelihood of a partial ranking under Plackett-Luce, and its gradient.

.. math:: p(b \mid \lambda) = \prod_{l < L} P(b_l \text{ before all later blocks})

The last block, :math:`b_L`, holds the labels that are not listed; if all are listed, it is the last
listed block. The last block adds nothing to the likelihood. Let the labels of a block have the
strengths :math:`\lambda_k`, let Z be the sum of the strengths of all later labels, and
:math:`r_k = \lambda_k / Z`. The probability that the block comes first is

.. math:: P = \int_0^\infty e^{-x} \prod_k \bigl(1 - e^{-r_k x}\bigr)\, dx

(all arrival times of the block's labels are below the first arrival time of later labels). For
small blocks, P is computed by a recursion over subsets, whose cost doubles with every label; for
larger blocks, by the integral, whose cost is linear. `docs/derivations/partial-rankings.md` derives
both, and the quadrature's error.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.special import log_plus, log_total
from dissensus.kernels.types import Floats, Ints

LARGEST_RECURSION = 7
"""Up to this block size, the recursion is faster than the integral; both are exact to rounding."""

_DROP = 37.0
"""The quadrature ends where the integrand is below e^-37 of its largest value."""

_WIDEST = 0.5
"""Largest first step in log x; even for the factor e^-x alone, a larger one is too coarse."""

_SDS = 0.75
"""The first step, in standard deviations of the normal curve that fits the integrand's top."""

_AGREEMENT = 1e-10
"""Largest relative difference between the sums over old and new nodes. The error with all nodes is
about the square of the error with either half of the nodes, so that 1e-7 would suffice. But two
inaccurate sums can agree by chance."""

_MOST_HALVINGS = 10
"""Maximum number of halvings, reached only with infinite or undefined strengths."""

_FACE_VALUE = -20.0
"""Below this log y, log(1 - e^-y) is log y - y/2 in double precision: no logarithm is needed."""

SATURATED = 6.5
"""Above this log y, e^-y is below 1e-288: 1 - e^-y is 1 in double precision."""


@inner
def log_before_rest(log_ratio: Floats, share: Floats) -> float:
    r"""Return log P, and write its gradient.

    ``log_ratio`` (label): :math:`\log(\lambda_k / Z)` of the labels in the block.
    ``share`` (label) is written: the derivative with respect to each log ratio, which is also the
    derivative with respect to :math:`\log \lambda_k`. The derivative with respect to log Z is minus
    the sum of these. If the length of ``share`` is 0, no derivatives are computed.
    """
    if len(log_ratio) == 1:
        return _of_single(log_ratio[0], share)
    if len(log_ratio) <= LARGEST_RECURSION:
        value = by_recursion(log_ratio, share)
    else:
        value = by_integral(log_ratio, share)
    return 0.0 if value > 0 else value  # above 0 by rounding only


@inner
def _of_single(log_ratio: float, share: Floats) -> float:
    """Return log(r / (1 + r)), without overflow."""
    away = math.log1p(math.exp(-abs(log_ratio)))
    if len(share):
        share[0] = math.exp(-away - max(log_ratio, 0.0))
    return min(log_ratio, 0.0) - away


@inner
def by_recursion(log_ratio: Floats, share: Floats) -> float:
    """Return log P by the recursion over subsets; 2^n steps for n labels.

    Subsets are bit patterns. Removing a label gives a smaller number, so that counting up computes
    smaller subsets first.
    """
    n = len(log_ratio)
    total = np.zeros(1 << n)
    chance = np.zeros(1 << n)
    terms = np.empty(n)
    for left in range(1, 1 << n):
        top = -np.inf
        fresh = True
        for label in range(n):
            if left >> label & 1:
                if fresh:
                    total[left] = log_plus(total[left ^ 1 << label], log_ratio[label])
                    fresh = False
                terms[label] = log_ratio[label] + chance[left ^ 1 << label]
                top = max(top, terms[label])
        summed = 0.0
        for label in range(n):
            if left >> label & 1:
                summed += math.exp(terms[label] - top)
        chance[left] = top + math.log(summed) - total[left]
    if len(share):
        _recursion_gradient(log_ratio, total, chance, share)
    return chance[-1]


@inner
def _recursion_gradient(log_ratio: Floats, total: Floats, chance: Floats, share: Floats) -> None:
    """Write the gradient of log P (label).

    It is 1 minus the label's expected shares of the totals from which labels are chosen.
    ``visited`` (subset) is the probability, given that the block comes first, that at some point
    exactly this subset of the block is left to be chosen.
    """
    n = len(log_ratio)
    share[:] = 1.0
    visited = np.zeros(1 << n)
    visited[-1] = 1.0
    for left in range((1 << n) - 1, 0, -1):
        for label in range(n):
            if left >> label & 1:
                log_part = log_ratio[label] - total[left]
                share[label] -= visited[left] * math.exp(log_part)
                smaller = left ^ 1 << label
                # One exponential: the second part may overflow where the first is 0.
                log_next = log_part + chance[smaller] - chance[left]
                visited[smaller] += visited[left] * math.exp(log_next)


@inner
def by_integral(log_ratio: Floats, share: Floats) -> float:
    """Return log P by the trapezoidal rule in s = log x; linear in the size of the block.

    The integrand is entire in s and falls off exponentially on both sides, so that the rule
    converges faster than any power of the step: halving the step about squares the error. New nodes
    are added halfway between the old nodes, until the sums over old and new nodes are nearly equal.
    """
    mode, curvature = top_of_integrand(log_ratio)
    step = min(_WIDEST, _SDS / math.sqrt(curvature))
    highest = log_integrand(mode, log_ratio)
    for label in range(len(share)):
        share[label] = 0.0
    nodes = _sum(mode, step, highest, log_ratio, share)
    for _ in range(_MOST_HALVINGS):
        between = _sum(mode + step / 2, step, highest, log_ratio, share)
        apart = abs(between - nodes)
        nodes += between
        step /= 2
        if apart <= _AGREEMENT * nodes:
            break
    for label in range(len(share)):
        share[label] /= nodes
    return highest + math.log(step * nodes)


@inner
def top_of_integrand(log_ratio: Floats) -> tuple[float, float]:
    r"""Return the approximate mode of the integrand over s, and minus the curvature of its log.

    At the mode :math:`x = 1 + \sum_k \phi(r_k x)` with :math:`\phi(y) = y / (e^y - 1)`. The right
    hand side is convex and falling, so that Newton's method from x = 1 converges from one side.
    """
    x = 1.0
    for _ in range(50):
        summed, bend = 1.0, 0.0
        for log_r in log_ratio:
            y = math.exp(min(log_r + math.log(x), SATURATED))
            fall = phi(y)
            summed += fall
            bend += fall * (fall + y - 1)
        if summed - x < 0.01 * x:
            break
        x += (summed - x) / (1 + bend / x)
    return math.log(x), x + bend


@inner
def phi(y: float) -> float:
    r"""Return :math:`y / (e^y - 1)`: how fast the logarithm of 1 - e^-y grows with log y.

    >>> phi(0.0), round(phi(1.0), 6)
    (1.0, 0.581977)
    """
    return y / math.expm1(y) if y > 1e-300 else 1.0


@inner
def log_integrand(s: float, log_ratio: Floats) -> float:
    """Return the logarithm of the integrand over s, finite even if the integrand underflows."""
    logs, product = s - math.exp(s), 1.0
    for log_r in log_ratio:
        log_y = s + log_r
        if log_y < _FACE_VALUE:
            logs += log_y - 0.5 * math.exp(log_y)
        elif log_y < SATURATED:
            product *= -math.expm1(-math.exp(log_y))
            if product < 1e-250:
                logs += math.log(product)
                product = 1.0
    return logs + math.log(product)


@inner
def _sum(start: float, step: float, highest: float, log_ratio: Floats, share: Floats) -> float:
    """Return the sum over evenly spaced nodes; add each label's part to ``share`` (label)."""
    summed = 0.0
    for side in range(2):
        s, move = (start, step) if side == 0 else (start - step, -step)
        log_height = log_integrand(s, log_ratio) - highest
        while log_height > -_DROP:
            height = math.exp(log_height)
            summed += height
            for label in range(len(share)):
                log_y = s + log_ratio[label]
                if log_y < SATURATED:
                    share[label] += height * phi(math.exp(log_y))
            s += move
            log_height = log_integrand(s, log_ratio) - highest
    return summed


@kernel
def log_likelihood(log_strength: Floats, codes: Ints, ends: Ints) -> float:
    r"""Return :math:`\log p(b \mid \lambda)`.

    ``log_strength`` (label): :math:`\log \lambda_k`, finite; of any scale.
    ``codes`` (listed): the listed labels, best block first, each once; without any the result is 0.
    ``ends`` (block): where in `codes` each block ends.
    """
    return _walk(log_strength, codes, ends, np.empty(0))


@inner
def log_likelihood_and_gradient(
    log_strength: Floats, codes: Ints, ends: Ints
) -> tuple[float, Floats]:
    r"""Return :math:`\log p(b \mid \lambda)` and its gradient in :math:`\log \lambda`.

    The sum of the gradient (label) is 0, as the scale of the strengths does not matter.
    """
    gradient = np.zeros(len(log_strength))
    return _walk(log_strength, codes, ends, gradient), gradient


@inner
def _walk(log_strength: Floats, codes: Ints, ends: Ints, gradient: Floats) -> float:
    r"""Sum the log probabilities of the blocks; write the gradient unless its length is 0.

    For every block l before its own, the derivative of label k is reduced by
    :math:`\lambda_k / Z_l` times the summed shares of block l. The sum of these reductions over
    blocks is :math:`\lambda_k` times `lost` times :math:`e^{-\mathrm{scale}}`.
    """
    later, last = _later(log_strength, codes, ends)
    with_gradient = len(gradient) > 0
    summed, lost, scale = 0.0, 0.0, log_strength.max()
    for block in range(len(ends)):
        members = codes[_start(ends, block) : ends[block]]
        share = np.zeros(len(members) if with_gradient else 0)
        log_rest = later[block]
        if log_rest > -np.inf:
            summed += log_before_rest(log_strength[members] - log_rest, share)
        if with_gradient:
            for place, label in enumerate(members):
                gradient[label] = share[place] - lost * math.exp(log_strength[label] - scale)
            if log_rest > -np.inf:
                lost = lost * math.exp(log_rest - scale) + share.sum()
                scale = log_rest
    if with_gradient:
        for label in last:
            gradient[label] = -lost * math.exp(log_strength[label] - scale)
    return summed


@inner
def _later(log_strength: Floats, codes: Ints, ends: Ints) -> tuple[Floats, Ints]:
    """Return the log total strength after each block, and the labels that are not listed.

    Strengths are added from the last block to the first. If they were subtracted from a total, the
    digits of small strengths would be lost.
    """
    unlisted = np.ones(len(log_strength), dtype=np.bool_)
    unlisted[codes] = False
    last = np.flatnonzero(unlisted)
    later = np.empty(len(ends))
    log_rest = log_total(log_strength[last])
    for block in range(len(ends) - 1, -1, -1):
        later[block] = log_rest
        members = codes[_start(ends, block) : ends[block]]
        log_rest = log_plus(log_rest, log_total(log_strength[members]))
    return later, last


@inner
def _start(ends: Ints, block: int) -> int:
    return ends[block - 1] if block > 0 else 0


@kernel
def of_ranks(log_strength: Floats, rank: Ints) -> tuple[float, Floats]:
    r"""Return the log-likelihood and its gradient for a ranking given as the block of each label.

    ``log_strength`` (label): :math:`\log \lambda_k`; minus infinity for a label that could
    not be ranked.
    ``rank`` (label): the number of the label's block, from 1; 0 for unlisted.
    The result is minus infinity if a label that could not be ranked is listed, or if a rank
    is negative.

    >>> logp, gradient = of_ranks(np.log([2.0, 1.0, 1.0]), np.array([1, 0, 0]))
    >>> round(math.exp(logp), 12), gradient.round(12)
    (0.5, array([ 0.5 , -0.25, -0.25]))
    """
    gradient = np.zeros(len(log_strength))
    possible = np.flatnonzero(log_strength > -np.inf)
    if np.any(rank > 0) and np.all(rank[possible] == 0):
        return -np.inf, gradient
    for label in range(len(rank)):
        if rank[label] < 0 or (rank[label] > 0 and log_strength[label] == -np.inf):
            return -np.inf, gradient
    order = np.argsort(rank[possible])
    n_unlisted = int((rank[possible] == 0).sum())
    listed = order[n_unlisted:]
    blocks = rank[possible][listed]
    is_end = np.ones(len(listed), dtype=np.bool_)
    is_end[:-1] = blocks[1:] > blocks[:-1]
    value, part = log_likelihood_and_gradient(
        log_strength[possible], listed, np.flatnonzero(is_end) + 1
    )
    gradient[possible] = part
    return value, gradient


# A faster `log_before_rest` without gradient, for kernels that call it millions of times.


MOST = 6
"""Largest block whose probability is computed without logarithms."""

_MODERATE = 100.0
"""Products of six numbers between e^-100 and e^100 neither over- nor underflow."""

RATIO, _PLAIN, _TOTAL, _CHANCE = range(4)
"""The rows of the work table."""


@inner
def table_for(n: int) -> Floats:
    """Allocate the work table for blocks of up to n members."""
    return np.zeros((4, max(n, 1 << MOST)))


@inner
def log_block(table: Floats, n: int) -> float:
    """Return the log probability that a block comes first, without logarithms if possible.

    ``table`` is from `table_for`; its row `RATIO` holds log strengths relative to the rest.
    """
    plain = n <= MOST
    for k in range(n):
        plain = plain and abs(table[RATIO, k]) < _MODERATE
        if plain:
            table[_PLAIN, k] = math.exp(table[RATIO, k])
    if not plain:
        return log_before_rest(table[RATIO, :n], table[RATIO, :0])
    table[_TOTAL, 0] = table[_CHANCE, 0] = 1.0
    for left in range(1, 1 << n):
        summed, total = 0.0, 1.0
        for k in range(n):
            if left >> k & 1:
                summed += table[_PLAIN, k] * table[_CHANCE, left ^ 1 << k]
                total = table[_TOTAL, left ^ 1 << k] + table[_PLAIN, k]
        table[_TOTAL, left], table[_CHANCE, left] = total, summed / total
    return math.log(table[_CHANCE, (1 << n) - 1])
