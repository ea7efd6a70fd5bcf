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
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.elliptical import elliptical
from dissensus.arrays.gamma import LEAST, log_gamma_variate
from dissensus.arrays.learned_prior import (
    CONCENTRATION_SPREAD,
    FEATURE_SPREAD,
    LABEL_SPREAD,
    root_of,
)
from dissensus.arrays.log_sums import log_total
from dissensus.arrays.rankings import Rankings
from dissensus.arrays.rising_factorial import log_rising_of
from dissensus.arrays.stream import State, uniform

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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


def draw_hyperparameters(
    rankings: Rankings, leaning: Leaning, draws: int, tune: int, key: int, step: Any = None
) -> Floats:
    """Draw one chain.

    Parameters
    ----------
    rankings : Rankings
        What the annotators said.
    leaning : Leaning
        Of the same cells.
    draws, tune : int
    key : int
        Where the random numbers start.
    step : callable, optional
        Called after each sweep.

    Returns
    -------
    array (draw, hyperparameter)
        And behind them their log density given the times.
    """
    rng, state = np.random.default_rng(int(key)), np.array([key], dtype=np.uint64)
    listed, first, led = _counts(rankings)
    spread, fixed = leaning.spreads(), tuple(leaning[:-2])
    none, n_free = np.zeros(len(first)), leaning.n_free

    def loss(x: Floats) -> float:
        return -log_density(x, spread, n_free, *fixed, first, led, none)

    mode = minimize(loss, np.zeros(len(spread)), method="L-BFGS-B", options={"maxiter": 500}).x
    root = _WIDER * root_of(loss, mode, spread)
    alone = np.sqrt([[root[0] @ root[0]]])
    x, centre = mode + root @ rng.normal(size=len(mode)) / _WIDER, np.zeros(len(mode))
    order = rankings.place.copy()
    strength, exposure = first + leaning.size / leaning.size.sum(), np.empty(len(first))
    log_share, log_root = np.empty(len(first)), np.empty(len(first))
    out = np.empty((draws, len(mode) + 1))

    def given_times(x: Floats) -> float:
        return float(log_density(x, spread, n_free, *fixed, listed, led, exposure))

    def given_shares(x: Floats) -> float:
        return float(log_density_of_shares(x, spread, n_free, *fixed, log_share))

    def given_roots(x: Floats) -> float:
        return float(log_density_of_roots(x, spread, n_free, *fixed, rankings, order, log_root))

    thin = int(np.clip(_CELLS // max(len(first), 1), _LEAST_SWEEPS, _MOST_SWEEPS))
    half = tune // 2
    for sweep in range(-tune, draws * thin):
        draw_times(state, rankings, order, strength, exposure)
        x, high = _moved(rng, x, given_times, mode, root)
        draw_strengths(state, x, n_free, *fixed, listed, exposure, log_share)
        x, _ = _moved(rng, x, given_shares, mode[:1], alone)
        take_roots(state, x, n_free, *fixed, log_share, log_root)
        x, _ = _moved(rng, x, given_roots, mode[:1], alone)
        give_roots(x, n_free, *fixed, log_root, log_share)
        draw_sums(state, math.exp(x[0]), fixed[0], led, log_share, strength)
        if -half <= sweep < 0:
            centre += x / half
        if sweep == -1 and half:
            mode = centre
        if sweep >= 0 and sweep % thin == thin - 1:
            out[sweep // thin, :-1], out[sweep // thin, -1] = x, high
        if step is not None:
            step()
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


def _counts(rankings: Rankings) -> tuple[Floats, Floats, Floats]:
    """Return how many rankings list each cell, and begin with it: of tied ones each its part."""
    n_cells = rankings.cell_start[-1]
    ranking = np.repeat(np.arange(len(rankings.closed)), np.diff(rankings.ranking_start))
    item = np.searchsorted(rankings.item_start, ranking, side="right") - 1
    cell = rankings.cell_start[item] + rankings.place
    leads = (rankings.rank == 1) & ~rankings.closed[ranking]
    part = 1.0 / np.maximum(np.bincount(ranking[leads], minlength=len(rankings.closed)), 1)
    first = np.bincount(cell[leads], part[ranking[leads]], n_cells)
    led = np.bincount(item[leads], part[ranking[leads]], len(rankings.n_cells))
    return np.bincount(cell, minlength=n_cells).astype(np.float64), first, led


@kernel
def log_density(
    x: Floats, spread: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, given: Floats, led: Floats, exposure: Floats,
) -> float:  # fmt: skip
    """Return the log density of hyperparameters given times, up to a constant."""
    out, own = 0.0, np.empty(len(size))
    for k in range(len(x)):
        out -= 0.5 * (x[k] / spread[k]) ** 2
    kappa = math.exp(x[0])
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        mass = masses(x, n_free, low, high, size, label, spoken, feature, value, own)
        for cell in range(low, high):
            shape = max(kappa * own[cell] / mass, LEAST)
            if given[cell] > 0.0:
                out += log_rising_of(shape, given[cell])
            if exposure[cell] > 0.0:
                out -= (shape + given[cell]) * math.log1p(exposure[cell])
        out -= log_rising_of(kappa, led[item])
    return out


@inner
def masses(
    x: Floats, n_free: int, low: int, high: int, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, own: Floats,
) -> float:  # fmt: skip
    """Fill in each cell's share of the prior, and return what all of an item's add up to."""
    total = 0.0
    for cell in range(low, high):
        tilt = 0.0
        if n_free > 0 and label[cell] >= 0:
            tilt = x[1 + label[cell]]
        for word in range(spoken[cell], spoken[cell + 1]):
            tilt += x[1 + n_free + feature[word]] * value[word]
        own[cell] = size[cell] * math.exp(tilt)
        total += own[cell]
    return total


@kernel
def prior_shapes(
    x: Floats, n_free: int, low: int, high: int, start: Ints, size: Floats, label: Ints,
    spoken: Ints, feature: Ints, value: Floats, out: Floats,
) -> None:  # fmt: skip
    """Write the shape of every cell of some items (draw, cell) for draws of hyperparameters."""
    first, own = start[low], np.empty(len(size))
    for draw in range(len(x)):
        kappa = math.exp(x[draw, 0])
        for item in range(low, high):
            mass = masses(
                x[draw], n_free, start[item], start[item + 1], size, label, spoken, feature, value,
                own,
            )  # fmt: skip
            for cell in range(start[item], start[item + 1]):
                out[draw, cell - first] = max(kappa * own[cell] / mass, LEAST)


@kernel
def draw_times(
    state: State, rankings: Rankings, order: Ints, strength: Floats, exposure: Floats
) -> None:
    """Draw all orders of tied labels and all times, and add up what each cell was waited for."""
    left, listed = np.empty(len(order) + 1), np.zeros(len(strength), dtype=np.bool_)
    for item in range(len(rankings.cell_start) - 1):
        low, high = rankings.cell_start[item], rankings.cell_start[item + 1]
        for cell in range(low, high):
            exposure[cell] = 0.0
        for ranking in range(rankings.item_start[item], rankings.item_start[item + 1]):
            begin, end = rankings.ranking_start[ranking], rankings.ranking_start[ranking + 1]
            rest, closed = 0.0, rankings.closed[ranking]
            for row in range(begin, end):
                listed[low + order[row]] = True
            for cell in range(low, high):
                if not (closed or listed[cell]):
                    rest += strength[cell]
            left[end] = rest
            for row in range(end - 1, begin - 1, -1):
                left[row] = left[row + 1] + strength[low + order[row]]
            for row in range(begin, end - 1):
                if rankings.rank[row] == rankings.rank[row + 1]:
                    _swap(state, order, left, strength, low, row)
            now = 0.0
            for row in range(begin if closed else begin + 1, end):
                now -= math.log(uniform(state)) / left[row]
                exposure[low + order[row]] += now
            for cell in range(low, high):
                if not (closed or listed[cell]):
                    exposure[cell] += now
                listed[cell] = False


@inner
def _swap(state: State, order: Ints, left: Floats, strength: Floats, low: int, row: int) -> None:
    """Let two neighbours of a tied block change places, with the probability that they did.

    With R left after both and strengths a, b, in that order they have 1 / ((R + a + b) (R + b)).
    """
    rest = left[row + 2]
    one, other = strength[low + order[row]], strength[low + order[row + 1]]
    if uniform(state) * (2.0 * rest + one + other) < rest + other:
        order[row], order[row + 1] = order[row + 1], order[row]
        left[row + 1] = rest + one


@kernel
def draw_strengths(
    state: State, x: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, given: Floats, exposure: Floats, log_share: Floats,
) -> None:  # fmt: skip
    """Draw the logarithms of all shares given hyperparameters and times."""
    kappa, own = math.exp(x[0]), np.empty(len(size))
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        mass = masses(x, n_free, low, high, size, label, spoken, feature, value, own)
        for cell in range(low, high):
            shape = max(kappa * own[cell] / mass, LEAST) + given[cell]
            log_share[cell] = log_gamma_variate(state, shape) - math.log1p(exposure[cell])
        whole = log_total(log_share[low:high])
        for cell in range(low, high):
            log_share[cell] -= whole


@kernel
def log_density_of_shares(
    x: Floats, spread: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, log_share: Floats,
) -> float:  # fmt: skip
    """Return the log density of hyperparameters given shares, up to a constant."""
    out, own = 0.0, np.empty(len(size))
    for k in range(len(x)):
        out -= 0.5 * (x[k] / spread[k]) ** 2
    kappa = math.exp(x[0])
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        mass = masses(x, n_free, low, high, size, label, spoken, feature, value, own)
        out += math.lgamma(kappa)
        for cell in range(low, high):
            shape = max(kappa * own[cell] / mass, LEAST)
            out += shape * log_share[cell] - math.lgamma(shape)
    return out


@kernel
def take_roots(
    state: State, x: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, log_share: Floats, log_root: Floats,
) -> None:  # fmt: skip
    """Draw sums anew, and write each strength's logarithm times its shape."""
    kappa, own = math.exp(x[0]), np.empty(len(size))
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        mass = masses(x, n_free, low, high, size, label, spoken, feature, value, own)
        log_sum = log_gamma_variate(state, kappa)
        for cell in range(low, high):
            shape = max(kappa * own[cell] / mass, LEAST)
            log_root[cell] = (log_share[cell] + log_sum) * shape


@kernel
def give_roots(
    x: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, log_root: Floats, log_share: Floats,
) -> None:  # fmt: skip
    """Write the logarithms of all shares, from what `take_roots` writes."""
    kappa, own = math.exp(x[0]), np.empty(len(size))
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        mass = masses(x, n_free, low, high, size, label, spoken, feature, value, own)
        for cell in range(low, high):
            log_share[cell] = log_root[cell] / max(kappa * own[cell] / mass, LEAST)
        whole = log_total(log_share[low:high])
        for cell in range(low, high):
            log_share[cell] -= whole


@kernel
def log_density_of_roots(
    x: Floats, spread: Floats, n_free: int, start: Ints, size: Floats, label: Ints, spoken: Ints,
    feature: Ints, value: Floats, rankings: Rankings, order: Ints, log_root: Floats,
) -> float:  # fmt: skip
    """Return the log density of hyperparameters given `take_roots`, up to a constant.

    With v = lambda^s, of a Gamma(s) variate: of a small shape v is nearly uniform whatever it is.
    """
    out, own, strength = 0.0, np.empty(len(size)), np.empty(len(size))
    listed = np.zeros(len(size), dtype=np.bool_)
    for k in range(len(x)):
        out -= 0.5 * (x[k] / spread[k]) ** 2
    kappa = math.exp(x[0])
    for item in range(len(start) - 1):
        low, high = start[item], start[item + 1]
        mass = masses(x, n_free, low, high, size, label, spoken, feature, value, own)
        for cell in range(low, high):
            shape = max(kappa * own[cell] / mass, LEAST)
            strength[cell] = math.exp(min(log_root[cell] / shape, _LARGEST_LOG))
            out -= strength[cell] + math.lgamma(shape + 1.0)
        for ranking in range(rankings.item_start[item], rankings.item_start[item + 1]):
            begin, end = rankings.ranking_start[ranking], rankings.ranking_start[ranking + 1]
            left = 0.0
            for row in range(begin, end):
                listed[low + order[row]] = True
            for cell in range(low, high):
                if not (rankings.closed[ranking] or listed[cell]):
                    left += strength[cell]
                listed[cell] = False
            for row in range(end - 1, begin - 1, -1):
                own_strength = strength[low + order[row]]
                left += own_strength
                if own_strength <= 0.0:
                    return -np.inf
                out += math.log(own_strength / left)
    return out


@kernel
def draw_sums(
    state: State, kappa: float, start: Ints, led: Floats, log_share: Floats, strength: Floats
) -> None:
    """Draw the sum of each item's strengths, and write these.

    In plain numbers: what was listed has a shape of 1 and more, and what was not may be 0.
    """
    for item in range(len(start) - 1):
        log_sum = log_gamma_variate(state, kappa + led[item])
        for cell in range(start[item], start[item + 1]):
            strength[cell] = math.exp(log_share[cell] + log_sum)
