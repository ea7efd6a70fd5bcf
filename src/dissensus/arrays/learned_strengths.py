r"""The hyperparameters of Gamma strengths behind rankings, which all items share.

An item's prior leans to what was predicted of it, as in `dissensus.arrays.learned_prior`:

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
concentration is. Each move is slow where another is not. Labels that are level have an order of
their own in the state, in which neighbours change places. `docs/derivations/plackett-luce-gibbs.md`
has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.elliptical import around_mode, elliptical
from dissensus.arrays.gamma import LEAST, log_gamma_variate
from dissensus.arrays.learned_prior import (
    CONCENTRATION_SPREAD,
    FEATURE_SPREAD,
    LABEL_SPREAD,
)
from dissensus.arrays.log_sums import log_plus, log_total
from dissensus.arrays.rankings import Rankings
from dissensus.arrays.rising_factorial import log_rising_of
from dissensus.arrays.stream import State, uniform

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_WIDER: Final = 1.3
"""How much wider than that given first choices the normal distribution is taken, around which
ellipses are laid."""
_LARGEST_LOG: Final = 700.0
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


def around_first_choices(rankings: Rankings, leaning: Leaning) -> tuple[Floats, Floats]:
    """Return the mode given first choices, and a root of the inverse curvature, of all chains."""
    _, first, led = _counts(rankings, telling(rankings))
    spread, none = leaning.spreads(), np.zeros(len(first))

    def loss(x: Floats) -> float:
        return -log_density(x, spread, leaning.n_free, *leaning[:-2], first, led, none)

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
    stop = telling(rankings)
    listed, first, led = _counts(rankings, stop)
    spread, fixed = leaning.spreads(), tuple(leaning[:-2])
    n_free, (mode, root) = leaning.n_free, around
    alone = np.sqrt([[root[0] @ root[0]]])
    x, centre = mode + root @ rng.normal(size=len(mode)) / _WIDER, np.zeros(len(mode))
    order, log_rate = rankings.place.copy(), np.empty(len(first))
    log_strength, log_root = np.log(first + leaning.size / leaning.size.sum()), np.empty(len(first))
    out = np.empty((draws, len(mode) + 1))

    def given_times(x: Floats) -> float:
        return float(log_density(x, spread, n_free, *fixed, listed, led, log_rate))

    def given_shares(x: Floats) -> float:
        return float(log_density_of_shares(x, spread, n_free, *fixed, log_strength))

    def given_roots(x: Floats) -> float:
        return float(
            log_density_of_roots(x, spread, n_free, *fixed, rankings, stop, order, log_root)
        )

    thin = int(np.clip(_CELLS // max(len(first), 1), _LEAST_SWEEPS, _MOST_SWEEPS))
    half = tune // 2
    for sweep in range(-tune, draws * thin):
        draw_times(state, rankings, stop, order, log_strength, log_rate)
        x, high = _moved(rng, x, given_times, mode, root)
        draw_shares(state, x, n_free, *fixed, listed, log_rate, log_strength)
        x, _ = _moved(rng, x, given_shares, mode[:1], alone)
        take_roots(state, x, n_free, *fixed, log_strength, log_root)
        x, _ = _moved(rng, x, given_roots, mode[:1], alone)
        give_roots(state, x, n_free, *fixed, led, log_root, log_strength)
        if -half <= sweep < 0:
            centre += x / half
        if sweep == -1 and half:
            mode = centre
        if sweep >= 0 and sweep % thin == thin - 1:
            out[sweep // thin, :-1], out[sweep // thin, -1] = x, high
    return out


def _moved(
    rng: np.random.Generator, x: Floats, density: Callable[[Floats], float], mode: Floats,
    root: Floats,
) -> tuple[Floats, float]:  # fmt: skip
    """Move the first hyperparameters, as many as there are in the mode."""
    n = len(mode)

    def at(place: Floats) -> Floats:
        return np.concatenate([mode + root @ place, x[n:]])

    start = np.linalg.solve(root, x[:n] - mode)
    place, high = elliptical(rng, start, lambda to: density(at(to)) + 0.5 * float(to @ to))
    return at(place), high - 0.5 * float(place @ place)


def telling(rankings: Rankings) -> Ints:
    """Return where each ranking stops to tell anything: a last block of all that is left is sure.

    Examples
    --------
    x before y and z, of these three and of four:

    >>> both = [np.array(one) for one in ([0, 1, 2], [0, 3, 6], [0, 1, 2] * 2, [1, 2, 2] * 2)]
    >>> telling(Rankings(*both, np.array([0, 3, 7]), np.zeros(2, dtype=bool))).tolist()
    [1, 6]
    """
    start, end = rankings.ranking_start[:-1], rankings.ranking_start[1:]
    item = np.repeat(np.arange(len(rankings.n_cells)), np.diff(rankings.item_start))
    whole = (rankings.closed | (end - start == rankings.n_cells[item])) & (end > start)
    ranking = np.repeat(np.arange(len(start)), end - start)
    last = rankings.rank[np.maximum(end - 1, 0)] if len(rankings.rank) else np.zeros(len(start))
    n_last = np.bincount(ranking, rankings.rank == last[ranking], len(start)).astype(np.int64)
    return np.where(whole, end - n_last, end)


def _counts(rankings: Rankings, stop: Ints) -> tuple[Floats, Floats, Floats]:
    """Return how many rankings list each cell and begin with it, tied ones in part, and led."""
    n_cells, n_rankings = rankings.cell_start[-1], len(rankings.closed)
    ranking = np.repeat(np.arange(n_rankings), np.diff(rankings.ranking_start))
    item = np.searchsorted(rankings.item_start, ranking, side="right") - 1
    cell = rankings.cell_start[item] + rankings.place
    tells = np.arange(len(cell)) < stop[ranking]
    leads = (rankings.rank == 1) & ~rankings.closed[ranking] & tells
    part = 1.0 / np.maximum(np.bincount(ranking[leads], minlength=n_rankings), 1)
    first = np.bincount(cell[leads], part[ranking[leads]], n_cells)
    led = np.bincount(item[leads], part[ranking[leads]], len(rankings.n_cells))
    return np.bincount(cell, tells, n_cells).astype(np.float64), first, led


@kernel
def log_density(
    x: Floats, spread: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, given: Floats, led: Floats, log_rate: Floats,
) -> float:  # fmt: skip
    """Return the log density of hyperparameters given times, up to a constant."""
    out, shape = _log_prior(x, spread), np.empty(len(size))
    kappa = math.exp(x[0])
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        shapes_of(x, n_free, low, high, size, label, spoken, feature, value, shape)
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
def shapes_of(
    x: Floats, n_free: int, low: int, high: int, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, shape: Floats,
) -> None:  # fmt: skip
    """Fill in the prior's shapes of an item's cells."""
    total = 0.0
    for cell in range(low, high):
        tilt = 0.0
        if n_free > 0 and label[cell] >= 0:
            tilt = x[1 + label[cell]]
        for word in range(spoken[cell], spoken[cell + 1]):
            tilt += x[1 + n_free + feature[word]] * value[word]
        shape[cell] = size[cell] * math.exp(tilt)
        total += shape[cell]
    for cell in range(low, high):
        shape[cell] = max(math.exp(x[0]) * shape[cell] / total, LEAST)


@kernel
def prior_shapes(
    x: Floats, n_free: int, low: int, high: int, start: Ints, size: Floats, label: Ints,
    spoken: Ints, feature: Ints, value: Floats, out: Floats,
) -> None:  # fmt: skip
    """Write the shape of every cell of some items (draw, cell) for draws of hyperparameters."""
    first, shape = start[low], np.empty(len(size))
    for draw in range(len(x)):
        for item in range(low, high):
            begin, end = start[item], start[item + 1]
            shapes_of(x[draw], n_free, begin, end, size, label, spoken, feature, value, shape)
            for cell in range(begin, end):
                out[draw, cell - first] = shape[cell]


@kernel
def draw_times(
    state: State, rankings: Rankings, stop: Ints, order: Ints, log_strength: Floats,
    log_rate: Floats,
) -> None:  # fmt: skip
    """Draw all orders of tied labels and all times, and write the log of 1 and each cell's sum.

    In logarithms: of items on which all agree, strengths are farther apart than numbers go.
    """
    left, left_over = np.empty(len(order) + 1), np.empty(len(log_strength), dtype=np.bool_)
    for item in range(len(rankings.cell_start) - 1):
        low, high = rankings.cell_start[item], rankings.cell_start[item + 1]
        for cell in range(low, high):
            log_rate[cell] = 0.0
        for ranking in range(rankings.item_start[item], rankings.item_start[item + 1]):
            begin, end = rankings.ranking_start[ranking], stop[ranking]
            closed = rankings.closed[ranking]
            left[end] = _log_left(rankings, ranking, end, order, log_strength, low, high, left_over)
            for row in range(end - 1, begin - 1, -1):
                left[row] = log_plus(left[row + 1], log_strength[low + order[row]])
            for row in range(begin, end - 1):
                if rankings.rank[row] == rankings.rank[row + 1]:
                    _swap(state, order, left, log_strength, low, row)
            now = -np.inf
            for row in range(begin if closed else begin + 1, end):
                now = log_plus(now, math.log(-math.log(uniform(state))) - left[row])
                cell = low + order[row]
                log_rate[cell] = log_plus(log_rate[cell], now)
            if now > -np.inf:
                for cell in range(low, high):
                    if left_over[cell]:
                        log_rate[cell] = log_plus(log_rate[cell], now)


@inner
def _log_left(
    rankings: Rankings, ranking: int, stop: int, order: Ints, log_strength: Floats, low: int,
    high: int, left_over: Flags,
) -> float:  # fmt: skip
    """Mark what could have been chosen after the last that tells anything, and return its log."""
    out = -np.inf
    for cell in range(low, high):
        left_over[cell] = not rankings.closed[ranking]
    for row in range(rankings.ranking_start[ranking], rankings.ranking_start[ranking + 1]):
        left_over[low + order[row]] = row >= stop
    for cell in range(low, high):
        if left_over[cell]:
            out = log_plus(out, log_strength[cell])
    return out


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


@kernel
def draw_shares(
    state: State, x: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, given: Floats, log_rate: Floats, log_share: Floats,
) -> None:  # fmt: skip
    """Draw the logarithms of all shares given hyperparameters and times."""
    shape = np.empty(len(size))
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        shapes_of(x, n_free, low, high, size, label, spoken, feature, value, shape)
        for cell in range(low, high):
            drawn = log_gamma_variate(state, shape[cell] + given[cell])
            log_share[cell] = drawn - log_rate[cell]
        whole = log_total(log_share[low:high])
        for cell in range(low, high):
            log_share[cell] -= whole


@kernel
def log_density_of_shares(
    x: Floats, spread: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, log_share: Floats,
) -> float:  # fmt: skip
    """Return the log density of hyperparameters given shares, up to a constant."""
    out, shape = _log_prior(x, spread), np.empty(len(size))
    whole = math.lgamma(math.exp(x[0]))
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        shapes_of(x, n_free, low, high, size, label, spoken, feature, value, shape)
        out += whole
        for cell in range(low, high):
            out += shape[cell] * log_share[cell] - math.lgamma(shape[cell])
    return out


@kernel
def take_roots(
    state: State, x: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, log_share: Floats, log_root: Floats,
) -> None:  # fmt: skip
    """Draw sums anew, and write each strength's logarithm times its shape."""
    shape = np.empty(len(size))
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        shapes_of(x, n_free, low, high, size, label, spoken, feature, value, shape)
        log_sum = log_gamma_variate(state, math.exp(x[0]))
        for cell in range(low, high):
            log_root[cell] = (log_share[cell] + log_sum) * shape[cell]


@kernel
def log_density_of_roots(
    x: Floats, spread: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, rankings: Rankings, stop: Ints, order: Ints, log_root: Floats,
) -> float:  # fmt: skip
    """Return the log density of hyperparameters given what `take_roots` writes, up to a constant.

    With v = lambda^s, of a Gamma(s) variate: of a small shape v is nearly uniform whatever it is.
    """
    out, shape = _log_prior(x, spread), np.empty(len(size))
    logs, left_over = np.empty(len(size)), np.empty(len(size), dtype=np.bool_)
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        shapes_of(x, n_free, low, high, size, label, spoken, feature, value, shape)
        for cell in range(low, high):
            logs[cell] = log_root[cell] / shape[cell]
            out -= math.exp(min(logs[cell], _LARGEST_LOG)) + math.lgamma(shape[cell] + 1.0)
        for ranking in range(rankings.item_start[item], rankings.item_start[item + 1]):
            end = stop[ranking]
            left = _log_left(rankings, ranking, end, order, logs, low, high, left_over)
            for row in range(end - 1, rankings.ranking_start[ranking] - 1, -1):
                own = logs[low + order[row]]
                left = log_plus(left, own)
                out += own - left
    return out


@kernel
def give_roots(
    state: State, x: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, led: Floats, log_root: Floats, log_strength: Floats,
) -> None:  # fmt: skip
    """Write the logarithms of all strengths from what `take_roots` writes, with a fresh sum."""
    shape = np.empty(len(size))
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        shapes_of(x, n_free, low, high, size, label, spoken, feature, value, shape)
        for cell in range(low, high):
            log_strength[cell] = log_root[cell] / shape[cell]
        whole = log_total(log_strength[low:high])
        log_sum = log_gamma_variate(state, math.exp(x[0]) + led[item])
        for cell in range(low, high):
            log_strength[cell] += log_sum - whole
