r"""The hyperparameters of Gamma strengths behind rankings, which all items share.

An item's prior leans to what was predicted of it, as in `dissensus.kernels.learned_prior`:

.. math::

    \lambda_{ik} \sim \mathrm{Gamma}(\kappa m_{ik}, 1), \qquad
    m_{ik} \propto \exp(a_k + \textstyle\sum_f w_f z_{ifk})

Rankings have no likelihood with the strengths summed out, but with *times* they have one. What is
listed after the first place is chosen, from labels of strength Z, after an Exponential(Z) time;
where all labels could be chosen from, the first is an item's share, and needs no time. With
:math:`T_{ik}` the time that a label was waited for in all rankings together, :math:`n_{ik}` the
rankings that list it, and :math:`N_i` those whose first choice was from all,

.. math::

    p(n_i, T_i \mid \kappa, a, w) \propto \frac{\Gamma(\kappa)}{\Gamma(\kappa + N_i)}
        \prod_k \frac{\Gamma(\kappa m_{ik} + n_{ik})}{\Gamma(\kappa m_{ik})}
        (1 + T_{ik})^{-(\kappa m_{ik} + n_{ik})}

A sweep draws times given strengths, hyperparameters given times (an elliptical slice, strengths
summed out), strengths given both, and the concentration twice more: given the shares, and given the
strengths to the power of their shapes, of which small ones are nearly uniform variates whatever the
concentration is; the latter in one sweep of `_ROOTS_EVERY`. Each move is slow where another is not.
Labels that are level have an order of their own in the state, in which neighbours change places.
`docs/derivations/plackett-luce-gibbs.md` has the reasons.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.learned_prior import (
    CONCENTRATION_SPREAD,
    FEATURE_SPREAD,
    LABEL_SPREAD,
    around_mode,
)
from dissensus.kernels.random import State, uniform
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.special import log_plus, log_rising_of, log_total
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.variates import LEAST, log_gamma_variate, normal

_WIDER: Final = 1.3
"""How much wider than that given first choices the normal distribution is taken, around which
ellipses are laid."""
_LARGEST_LOG: Final = 700.0
_SMALL: Final = 1e-250
"""Sums of strengths that are smaller are taken in logarithms."""
_SMALL_LOG: Final = math.log(_SMALL)
_TIMES, _SHARES, _ROOTS = 0, 1, 2
"""What hyperparameters are drawn given."""
_FEW: Final = 1e-20
"""Products are multiplied further until they are below it, or as far above 1."""
_ROOTS_EVERY: Final = 4
"""In one sweep of so many the concentration moves given roots too: that takes longer than all the
rest."""
_LEAST_SWEEPS, _MOST_SWEEPS, _CELLS = 1, 4, 2000
"""Sweeps for each draw, and how many cells' are to be gone through: where there are few items, a
sweep costs little, and forgets less."""


class Leaning(NamedTuple):
    """What the prior of each cell's strength hangs on."""

    start: Ints
    """(item + 1): its first cell."""
    size: Floats
    """(cell): how many labels it stands for."""
    label: Ints
    """(cell): the label whose weight it has, -1 for none."""
    spoken: Ints
    """(cell + 1): its first word."""
    feature: Ints
    """(word)"""
    value: Floats
    """(word): what the feature says of the label."""
    n_free: int
    """Labels with a weight of their own."""
    n_features: int

    @property
    def n_hyper(self) -> int:
        """Hyperparameters: the log concentration, labels' weights, features' weights."""
        return 1 + self.n_free + self.n_features

    def part(self, low: int, high: int) -> Leaning:
        """Take the items from low to high, and nothing of the others."""
        cells = slice(*self.start[[low, high]])
        words = self.spoken[cells.start : cells.stop + 1]
        of = slice(words[0], words[-1])
        return Leaning(
            self.start[low : high + 1] - cells.start, self.size[cells], self.label[cells],
            words - words[0], self.feature[of], self.value[of], self.n_free, self.n_features,
        )  # fmt: skip

    def spreads(self) -> Floats:
        """Return the priors' standard deviations; all have mean 0."""
        spread = (CONCENTRATION_SPREAD, LABEL_SPREAD, FEATURE_SPREAD)
        return np.repeat(spread, (1, self.n_free, self.n_features))


class Chain(NamedTuple):
    """Where a chain is, and the normal distribution that it goes around."""

    x: Floats
    """Hyperparameters."""
    mode: Floats
    root: Floats
    inverse: Floats
    alone: Floats
    """The root of the concentration alone."""
    alone_inverse: Floats
    order: Ints
    """(row): the cells listed, tied ones in an order of their own."""
    log_rate: Floats
    """(cell): the log of 1 and the time that it was waited for."""
    log_strength: Floats
    """(cell)"""
    log_root: Floats
    """(cell): what `take_roots` writes."""


class Told(NamedTuple):
    """What rankings tell of strengths."""

    stop: Ints
    """(ranking): where it stops to tell anything."""
    over_start: Ints
    """(ranking + 1)"""
    over: Ints
    """Cells that could have been chosen after that, of one ranking after the other."""
    listed: Floats
    """(cell): how many rankings list it before that."""
    first: Floats
    """(cell): how many, from all cells, list it first; of tied ones, in part."""
    led: Floats
    """(item): how many rankings list any first, from all cells."""


def around_first_choices(rankings: Rankings, leaning: Leaning) -> tuple[Floats, Floats]:
    """Return the mode given first choices, and a root of the inverse curvature, of all chains."""
    told = telling(rankings)
    spread, none = leaning.spreads(), np.zeros(len(told.first))

    def loss(x: Floats) -> float:
        return -log_density(x, spread, leaning, told.first, told.led, none)

    mode, root = around_mode(loss, np.zeros(len(spread)), spread)
    return mode, _WIDER * root


def draw_hyperparameters(
    around: tuple[Floats, Floats], rankings: Rankings, leaning: Leaning, draws: int, tune: int,
    key: int,
) -> Floats:  # fmt: skip
    """Draw one chain.

    Parameters
    ----------
    around : array, array
        What `around_first_choices` returns.
    rankings : Rankings
        What the annotators said.
    leaning : Leaning
        Of the same cells.
    draws, tune : int
    key : int
        Where the random numbers start.

    Returns
    -------
    array (draw, hyperparameter)
        And behind them their log density given the times.
    """
    rng, state = np.random.default_rng(int(key)), np.array([key], dtype=np.uint64)
    told, spread, (mode, root) = telling(rankings), leaning.spreads(), around
    x, centre = mode + root @ rng.normal(size=len(mode)) / _WIDER, np.zeros(len(mode))
    n_cells, alone = len(told.first), np.sqrt(root[:1] @ root[:1].T)
    chain = Chain(
        x=x, mode=mode.copy(), root=root, inverse=np.linalg.inv(root), alone=alone,
        alone_inverse=1.0 / alone, order=rankings.place.copy(), log_rate=np.empty(n_cells),
        log_strength=np.log(told.first + leaning.size / leaning.size.sum()),
        log_root=np.empty(n_cells),
    )  # fmt: skip
    out = np.empty((draws, len(mode) + 1))
    thin = int(np.clip(_CELLS // max(n_cells, 1), _LEAST_SWEEPS, _MOST_SWEEPS))
    half = tune // 2
    for sweep in range(-tune, draws * thin):
        by_roots = sweep % _ROOTS_EVERY == 0
        high = _sweep(state, chain, spread, rankings, told, leaning, by_roots)
        if -half <= sweep < 0:
            centre += x / half
        if sweep == -1 and half:
            chain.mode[:] = centre
        if sweep >= 0 and sweep % thin == thin - 1:
            out[sweep // thin, :-1], out[sweep // thin, -1] = x, high
    return out


@kernel
def _sweep(
    state: State, chain: Chain, spread: Floats, rankings: Rankings, told: Told, leaning: Leaning,
    by_roots: bool,
) -> float:  # fmt: skip
    """Move everything once; return the log density of hyperparameters given times."""
    x, strength, alone = chain.x, chain.log_strength, (chain.alone, chain.alone_inverse)
    draw_times(state, rankings, told, chain.order, strength, chain.log_rate)
    whole = (chain.root, chain.inverse)
    high = _move(state, _TIMES, whole, chain, spread, rankings, told, leaning)
    draw_shares(state, x, leaning, told.listed, chain.log_rate, strength)
    _move(state, _SHARES, alone, chain, spread, rankings, told, leaning)
    take_roots(state, x, leaning, strength, chain.log_root)
    if by_roots:
        _move(state, _ROOTS, alone, chain, spread, rankings, told, leaning)
    give_roots(state, x, leaning, told.led, chain.log_root, strength)
    return high


@inner
def _move(
    state: State, given: int, around: tuple[Floats, Floats], chain: Chain, spread: Floats,
    rankings: Rankings, told: Told, leaning: Leaning,
) -> float:  # fmt: skip
    """Move the first hyperparameters, as many as the root has rows, along an ellipse.

    See `dissensus.kernels.learned_prior`.
    """
    (root, inverse), x = around, chain.x
    n = len(root)
    at, aside, there, square = np.zeros(n), np.empty(n), np.empty(n), 0.0
    for j in range(n):
        for k in range(n):
            at[j] += inverse[j, k] * (x[k] - chain.mode[k])
        aside[j] = normal(state)
        square += at[j] * at[j]
    high = _log_density_given(given, chain, spread, rankings, told, leaning)
    level = high + 0.5 * square + math.log(uniform(state))
    if not math.isfinite(level):
        raise FloatingPointError("a log density that is not finite")
    angle = 2.0 * math.pi * uniform(state)
    low, top = angle - 2.0 * math.pi, angle
    while True:
        square = 0.0
        for k in range(n):
            there[k] = math.cos(angle) * at[k] + math.sin(angle) * aside[k]
            square += there[k] * there[k]
        for j in range(n):
            x[j] = chain.mode[j]
            for k in range(n):
                x[j] += root[j, k] * there[k]
        high = _log_density_given(given, chain, spread, rankings, told, leaning)
        if high + 0.5 * square > level:
            return high
        low, top = (angle, top) if angle < 0.0 else (low, angle)
        angle = low + (top - low) * uniform(state)


@inner
def _log_density_given(
    given: int, chain: Chain, spread: Floats, rankings: Rankings, told: Told, leaning: Leaning
) -> float:
    if given == _TIMES:
        return log_density(chain.x, spread, leaning, told.listed, told.led, chain.log_rate)
    if given == _SHARES:
        return log_density_of_shares(chain.x, spread, leaning, chain.log_strength)
    return log_density_of_roots(
        chain.x, spread, leaning, rankings, told, chain.order, chain.log_root
    )


def telling(rankings: Rankings) -> Told:
    """Return what each ranking tells: a last block of all that is left is sure, and tells nothing.

    Examples
    --------
    x before y and z, of these three and of four:

    >>> both = [np.array(one) for one in ([0, 1, 2], [0, 3, 6], [0, 1, 2] * 2, [1, 2, 2] * 2)]
    >>> told = telling(Rankings(*both, np.array([0, 3, 7]), np.zeros(2, dtype=bool)))
    >>> told.stop.tolist(), told.over.tolist()
    ([1, 6], [1, 2, 6])
    """
    start, end, cell_start = (
        rankings.ranking_start[:-1],
        rankings.ranking_start[1:],
        rankings.cell_start,
    )
    n_rankings, n_cells, n_items = len(start), int(cell_start[-1]), len(cell_start) - 1
    item = np.repeat(np.arange(n_items), np.diff(rankings.item_start))
    ranking = np.repeat(np.arange(n_rankings), end - start)
    whole = (rankings.closed | (end - start == rankings.n_cells[item])) & (end > start)
    last = rankings.rank[np.maximum(end - 1, 0)] if len(ranking) else np.zeros(n_rankings)
    in_last = np.bincount(ranking, rankings.rank == last[ranking], n_rankings).astype(np.int64)
    stop = np.where(whole, end - in_last, end)
    cell, closed = cell_start[item[ranking]] + rankings.place, rankings.closed[ranking]
    tells = np.arange(len(ranking)) < stop[ranking]
    # All cells of an item can be chosen from, and of a closed ranking those that it lists.
    n_open = np.where(rankings.closed, 0, rankings.n_cells[item])
    chooser = np.repeat(np.arange(n_rankings), n_open)
    within = np.arange(len(chooser)) - np.repeat(np.cumsum(n_open) - n_open, n_open)
    every, named = chooser * n_cells + cell_start[item[chooser]] + within, ranking * n_cells + cell
    over = np.setdiff1d(np.concatenate([every, named[closed]]), named[tells])
    leads = tells & ~closed & (rankings.rank == 1)
    share = 1.0 / np.maximum(np.bincount(ranking[leads], minlength=n_rankings), 1)[ranking[leads]]
    return Told(
        stop,
        over_start=np.searchsorted(over, np.arange(n_rankings + 1) * n_cells),
        over=over % n_cells,
        listed=np.bincount(cell, tells, n_cells).astype(np.float64),
        first=np.bincount(cell[leads], share, n_cells),
        led=np.bincount(item[ranking[leads]], share, n_items),
    )


@kernel
def log_density(
    x: Floats, spread: Floats, leaning: Leaning, given: Floats, led: Floats, log_rate: Floats
) -> float:  # fmt: skip
    """Return the log density of hyperparameters given times, up to a constant."""
    out, shape = _log_prior(x, spread), np.empty(len(leaning.size))
    kappa = math.exp(x[0])
    for item in range(len(leaning.start) - 1):
        low, high = leaning.start[item], leaning.start[item + 1]
        shapes_of(x, leaning, low, high, shape)
        for cell in range(low, high):
            if given[cell] > 0.0:
                out += log_rising_of(shape[cell], given[cell])
            out -= (shape[cell] + given[cell]) * log_rate[cell]
        out -= log_rising_of(kappa, led[item])
    return out


@inner
def _log_prior(x: Floats, spread: Floats) -> float:
    out = 0.0
    for k in range(len(x)):
        out -= 0.5 * (x[k] / spread[k]) ** 2
    return out


@inner
def shapes_of(x: Floats, leaning: Leaning, low: int, high: int, shape: Floats) -> None:
    """Fill in the prior's shapes of an item's cells."""
    total, n_free, kappa = 0.0, leaning.n_free, math.exp(x[0])
    for cell in range(low, high):
        tilt = 0.0
        if n_free > 0 and leaning.label[cell] >= 0:
            tilt = x[1 + leaning.label[cell]]
        for word in range(leaning.spoken[cell], leaning.spoken[cell + 1]):
            tilt += x[1 + n_free + leaning.feature[word]] * leaning.value[word]
        shape[cell] = leaning.size[cell] * math.exp(tilt)
        total += shape[cell]
    for cell in range(low, high):
        shape[cell] = max(kappa * shape[cell] / total, LEAST)


@kernel
def prior_shapes(x: Floats, leaning: Leaning, low: int, high: int, out: Floats) -> None:
    """Write the shape of every cell of some items (draw, cell) for draws of hyperparameters."""
    first, shape = leaning.start[low], np.empty(len(leaning.size))
    for draw in range(len(x)):
        for item in range(low, high):
            begin, end = leaning.start[item], leaning.start[item + 1]
            shapes_of(x[draw], leaning, begin, end, shape)
            for cell in range(begin, end):
                out[draw, cell - first] = shape[cell]


@inner
def draw_times(
    state: State, rankings: Rankings, told: Told, order: Ints, log_strength: Floats,
    log_rate: Floats,
) -> None:  # fmt: skip
    """Draw all orders of tied labels and all times, and write the log of 1 and each cell's sum.

    Times are in units of the largest strength's. Of items on which all agree, strengths are farther
    apart than numbers go: there, times have logarithms alone.
    """
    log, part = np.empty(len(log_strength)), np.empty(len(log_strength))
    waited, left = np.empty(len(log_strength)), np.empty(len(order) + 1)
    for item in range(len(rankings.cell_start) - 1):
        low, high = rankings.cell_start[item], rankings.cell_start[item + 1]
        top = -np.inf
        for cell in range(low, high):
            top = max(top, log_strength[cell])
        for cell in range(low, high):
            log[cell] = log_strength[cell] - top
            part[cell], waited[cell], log_rate[cell] = math.exp(log[cell]), 0.0, -np.inf
        for ranking in range(rankings.item_start[item], rankings.item_start[item + 1]):
            begin, end = rankings.ranking_start[ranking], told.stop[ranking]
            left[end] = _log_left_over(told, ranking, log, part)
            for row in range(end - 1, begin - 1, -1):
                left[row] = log_plus(left[row + 1], log[low + order[row]])
            for row in range(begin, end - 1):
                if rankings.rank[row] == rankings.rank[row + 1]:
                    _swap(state, order, left, log, low, row)
            now, log_now = 0.0, -np.inf
            for row in range(begin if rankings.closed[ranking] else begin + 1, end):
                variate = -math.log(uniform(state))
                if left[row] > _SMALL_LOG:
                    now += variate * math.exp(-left[row])
                else:
                    log_now = log_plus(log_now, math.log(variate) - left[row])
                cell = low + order[row]
                waited[cell] += now
                log_rate[cell] = log_plus(log_rate[cell], log_now)
            for k in range(told.over_start[ranking], told.over_start[ranking + 1]):
                waited[told.over[k]] += now
                log_rate[told.over[k]] = log_plus(log_rate[told.over[k]], log_now)
        for cell in range(low, high):
            if waited[cell] > 0.0:
                log_rate[cell] = log_plus(log_rate[cell], math.log(waited[cell]))
            log_rate[cell] = log_plus(0.0, log_rate[cell] - top)


@inner
def _log_left_over(told: Told, ranking: int, log: Floats, part: Floats) -> float:
    """Return the log of what could be chosen from after the last row that tells anything."""
    out, log_out = 0.0, -np.inf
    for k in range(told.over_start[ranking], told.over_start[ranking + 1]):
        out += part[told.over[k]]
    if out > _SMALL:
        return math.log(out)
    for k in range(told.over_start[ranking], told.over_start[ranking + 1]):
        log_out = log_plus(log_out, log[told.over[k]])
    return log_out


@inner
def _swap(
    state: State, order: Ints, left: Floats, log_strength: Floats, low: int, row: int
) -> None:
    """Let two neighbours of a tied block change places, with the probability that they did.

    With R left after both and strengths a, b, in that order they have 1 / ((R + a + b) (R + b)).
    """
    one = log_plus(left[row + 2], log_strength[low + order[row]])
    other = log_plus(left[row + 2], log_strength[low + order[row + 1]])
    if math.log(uniform(state)) + log_plus(one, other) < other:
        order[row], order[row + 1] = order[row + 1], order[row]
        left[row + 1] = one


@inner
def draw_shares(
    state: State, x: Floats, leaning: Leaning, given: Floats, log_rate: Floats, log_share: Floats,
) -> None:  # fmt: skip
    """Draw the logarithms of all shares given hyperparameters and times."""
    shape = np.empty(len(leaning.size))
    for item in range(len(leaning.start) - 1):
        low, high = leaning.start[item], leaning.start[item + 1]
        shapes_of(x, leaning, low, high, shape)
        for cell in range(low, high):
            drawn = log_gamma_variate(state, shape[cell] + given[cell])
            log_share[cell] = drawn - log_rate[cell]
        whole = log_total(log_share[low:high])
        for cell in range(low, high):
            log_share[cell] -= whole


@inner
def log_density_of_shares(
    x: Floats, spread: Floats, leaning: Leaning, log_share: Floats,
) -> float:  # fmt: skip
    """Return the log density of hyperparameters given shares, up to a constant."""
    out, shape = _log_prior(x, spread), np.empty(len(leaning.size))
    whole = math.lgamma(math.exp(x[0]))
    for item in range(len(leaning.start) - 1):
        low, high = leaning.start[item], leaning.start[item + 1]
        shapes_of(x, leaning, low, high, shape)
        out += whole
        for cell in range(low, high):
            out += shape[cell] * log_share[cell] - math.lgamma(shape[cell])
    return out


@inner
def take_roots(
    state: State, x: Floats, leaning: Leaning, log_share: Floats, log_root: Floats,
) -> None:  # fmt: skip
    """Draw sums anew, and write each strength's logarithm times its shape."""
    shape = np.empty(len(leaning.size))
    for item in range(len(leaning.start) - 1):
        low, high = leaning.start[item], leaning.start[item + 1]
        shapes_of(x, leaning, low, high, shape)
        log_sum = log_gamma_variate(state, math.exp(x[0]))
        for cell in range(low, high):
            log_root[cell] = (log_share[cell] + log_sum) * shape[cell]


@inner
def log_density_of_roots(
    x: Floats, spread: Floats, leaning: Leaning, rankings: Rankings, told: Told, order: Ints,
    log_root: Floats,
) -> float:  # fmt: skip
    """Return the log density of hyperparameters given what `take_roots` writes, up to a constant.

    With v = lambda^s, of a Gamma(s) variate: of a small shape v is nearly uniform whatever it is.
    """
    out, shape = _log_prior(x, spread), np.empty(len(leaning.size))
    log, part, product = np.empty(len(leaning.size)), np.empty(len(leaning.size)), 1.0
    for item in range(len(leaning.start) - 1):
        low, high = leaning.start[item], leaning.start[item + 1]
        shapes_of(x, leaning, low, high, shape)
        top = -np.inf
        for cell in range(low, high):
            log[cell] = log_root[cell] / shape[cell]
            top = max(top, log[cell])
            out -= math.exp(min(log[cell], _LARGEST_LOG)) + math.lgamma(shape[cell] + 1.0)
        for cell in range(low, high):
            log[cell] -= top
            part[cell] = math.exp(log[cell])
            out += told.listed[cell] * log[cell]
        for ranking in range(rankings.item_start[item], rankings.item_start[item + 1]):
            log_left = _log_left_over(told, ranking, log, part)
            left = math.exp(log_left)
            for row in range(told.stop[ranking] - 1, rankings.ranking_start[ranking] - 1, -1):
                cell = low + order[row]
                if left > _SMALL:
                    left += part[cell]
                    product *= left
                    if not _FEW < product < 1.0 / _FEW:
                        out -= math.log(product)
                        product = 1.0
                else:
                    log_left = log_plus(log_left, log[cell])
                    left = math.exp(log_left)
                    out -= log_left
    return out - math.log(product)


@inner
def give_roots(
    state: State, x: Floats, leaning: Leaning, led: Floats, log_root: Floats, log_strength: Floats,
) -> None:  # fmt: skip
    """Write the logarithms of all strengths from what `take_roots` writes, with a fresh sum."""
    shape = np.empty(len(leaning.size))
    for item in range(len(leaning.start) - 1):
        low, high = leaning.start[item], leaning.start[item + 1]
        shapes_of(x, leaning, low, high, shape)
        for cell in range(low, high):
            log_strength[cell] = log_root[cell] / shape[cell]
        whole = log_total(log_strength[low:high])
        log_sum = log_gamma_variate(state, math.exp(x[0]) + led[item])
        for cell in range(low, high):
            log_strength[cell] += log_sum - whole
