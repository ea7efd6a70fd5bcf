r"""The hyperparameters of Gamma strengths behind rankings, which all items share.

An item's prior favours its predicted labels, as in `dissensus.kernels.learned_prior`:

.. math::

    \lambda_{ik} \sim \mathrm{Gamma}(\kappa m_{ik}, 1), \qquad
    m_{ik} \propto \exp(a_k + \textstyle\sum_f w_f z_{ifk})

Strengths can be summed out of the likelihood of choices from nested sets
:math:`C_0 \supset C_1 \supset \dots`, where :math:`C_0` has all labels. Let :math:`n_{k}` be the
number of choices of label k, :math:`g_j` the number of choices from :math:`C_j`, :math:`f_j` the
number of choices of labels in :math:`C_j` from larger sets, and :math:`A_j` the sum of
:math:`\kappa m_k` over :math:`C_j`. The likelihood of each item is then

.. math::

    \prod_k \frac{\Gamma(\kappa m_k + n_k)}{\Gamma(\kappa m_k)}
        \prod_j \frac{\Gamma(A_j + f_j)}{\Gamma(A_j + f_j + g_j)}

The sets from which an item's annotators choose are nested if the annotators agree on their earlier
choices. For a choice from another set B, labels are drawn from the smallest :math:`C_j` that
contains B, until one is in B. The labels before it are *passed over*. All these draws count as
choices from :math:`C_j`.

A sweep draws the passed-over labels given strengths, hyperparameters given the counts (elliptical
slices), and strengths given both. The chain's state includes an order of tied labels, in which
neighbours are exchanged. `docs/derivations/plackett-luce-gibbs.md` has the reasons.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dissensus.families.rankings.kernels.nested_choices import (
    Choices,
    Counts,
    draw_counts,
    informative_choices,
    no_counts,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.ellipses import around_mode
from dissensus.kernels.learned_prior import (
    CONCENTRATION_SPREAD,
    FEATURE_SPREAD,
    LABEL_SPREAD,
)
from dissensus.kernels.random import State, uniform
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.special import log_plus, log_rising_of
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.variates import LEAST, log_gamma_variate, normal

_WIDER: Final = 1.3
"""Ratio of the standard deviations of the normal distribution that defines the ellipses to those
given counts."""
_LARGE: Final = 1e8
"""Larger counts use an expansion of log gamma, whose differences would have few correct digits."""
_LEAST_SWEEPS, _MOST_SWEEPS, _CELLS = 1, 4, 2000
"""Minimum and maximum number of sweeps for each draw. Between these limits, the sweeps of a draw
visit `_CELLS` cells. With few items, sweeps are cheap, but successive sweeps are more similar."""


class Leaning(NamedTuple):
    """Features that determine the prior of each cell's strength."""

    start: Ints
    """(item + 1): where each item's cells start."""
    size: Floats
    """(cell): number of its labels."""
    label: Ints
    """(cell): the label whose weight its prior has; -1 if there is none."""
    entry_start: Ints
    """(cell + 1): where each cell's entries start; entries are the features that are not 0."""
    feature: Ints
    """(entry)"""
    value: Floats
    """(entry): value of the feature for the label."""
    n_free: int
    """Number of labels with a weight."""
    n_features: int

    @property
    def n_hyper(self) -> int:
        """Number of hyperparameters: log concentration, labels' weights, features' weights."""
        return 1 + self.n_free + self.n_features

    def part(self, low: int, high: int) -> Leaning:
        """Return items `low` to `high` - 1."""
        cells = slice(*self.start[[low, high]])
        entries = self.entry_start[cells.start : cells.stop + 1]
        of = slice(entries[0], entries[-1])
        return Leaning(
            self.start[low : high + 1] - cells.start, self.size[cells], self.label[cells],
            entries - entries[0], self.feature[of], self.value[of], self.n_free, self.n_features,
        )  # fmt: skip

    def spreads(self) -> Floats:
        """Return the priors' standard deviations; all have mean 0."""
        spread = (CONCENTRATION_SPREAD, LABEL_SPREAD, FEATURE_SPREAD)
        return np.repeat(spread, (1, self.n_free, self.n_features))


class Chain(NamedTuple):
    """The state of a chain, and the normal distribution that defines its ellipses."""

    x: Floats
    """Hyperparameters."""
    mode: Floats
    root: Floats
    inverse: Floats
    order: Ints
    """(row): the listed cells, tied cells in their current order."""
    counts: Counts
    log_strength: Floats
    """(cell)"""


def around_first_counts(rankings: Rankings, leaning: Leaning) -> tuple[Floats, Floats]:
    """Return the mode given counts and a root of the inverse curvature, for all chains.

    The counts are drawn given strengths proportional to the counts of first places.
    """
    choices, spread, counts = informative_choices(rankings), leaning.spreads(), no_counts(rankings)
    state, log_strength = np.zeros(1, dtype=np.uint64), begun(choices, leaning)
    draw_counts(state, rankings, choices, rankings.place.copy(), log_strength, counts)

    def loss(x: Floats) -> float:
        return -log_density(x, spread, rankings, leaning, counts)

    mode, root = around_mode(loss, np.zeros(len(spread)), spread)
    return mode, _WIDER * root


def begun(choices: Choices, leaning: Leaning) -> Floats:
    """Return starting values of log strengths."""
    return np.asarray(np.log(choices.first + leaning.size / leaning.size.sum()))


def draw_hyperparameters(
    around: tuple[Floats, Floats], rankings: Rankings, leaning: Leaning, draws: int, tune: int,
    key: int,
) -> Floats:  # fmt: skip
    """Draw one chain (draw, hyperparameters and, last, their log density given the counts).

    `around` is the result of `around_first_counts`, `leaning` the features of the rankings' cells,
    and `key` the seed.
    """
    rng, state = np.random.default_rng(int(key)), np.array([key], dtype=np.uint64)
    choices, spread, (mode, root) = informative_choices(rankings), leaning.spreads(), around
    x, centre = mode + root @ rng.normal(size=len(mode)) / _WIDER, np.zeros(len(mode))
    chain = Chain(
        x=x, mode=mode.copy(), root=root, inverse=np.linalg.inv(root),
        order=rankings.place.copy(), counts=no_counts(rankings),
        log_strength=begun(choices, leaning),
    )  # fmt: skip
    out = np.empty((draws, len(mode) + 1))
    thin = int(np.clip(_CELLS // max(len(choices.first), 1), _LEAST_SWEEPS, _MOST_SWEEPS))
    half = tune // 2
    for sweep in range(-tune, draws * thin):
        high = sweep_all(state, chain, spread, rankings, choices, leaning)
        if -half <= sweep < 0:
            centre += x / half
        if sweep == -1 and half:
            chain.mode[:] = centre
        if sweep >= 0 and sweep % thin == thin - 1:
            out[sweep // thin, :-1], out[sweep // thin, -1] = x, high
    return out


@kernel
def sweep_all(
    state: State,
    chain: Chain,
    spread: Floats,
    rankings: Rankings,
    choices: Choices,
    leaning: Leaning,
) -> float:
    """Go through one sweep; return the log density of hyperparameters given counts."""
    draw_counts(state, rankings, choices, chain.order, chain.log_strength, chain.counts)
    high = _move(state, chain, spread, rankings, leaning)
    draw_strengths(state, chain.x, rankings, leaning, chain.counts, chain.log_strength)
    return high


@inner
def _move(
    state: State, chain: Chain, spread: Floats, rankings: Rankings, leaning: Leaning
) -> float:
    """Move the hyperparameters along an ellipse.

    See `dissensus.kernels.learned_prior`.
    """
    root, inverse, x = chain.root, chain.inverse, chain.x
    n = len(root)
    at, aside, trial, square = np.zeros(n), np.empty(n), np.empty(n), 0.0
    for j in range(n):
        for k in range(n):
            at[j] += inverse[j, k] * (x[k] - chain.mode[k])
        aside[j] = normal(state)
        square += at[j] * at[j]
    high = log_density(x, spread, rankings, leaning, chain.counts)
    level = high + 0.5 * square + math.log(uniform(state))
    if not math.isfinite(level):
        raise FloatingPointError("the log density is not finite")
    angle = 2.0 * math.pi * uniform(state)
    low, top = angle - 2.0 * math.pi, angle
    while True:
        square = 0.0
        for k in range(n):
            trial[k] = math.cos(angle) * at[k] + math.sin(angle) * aside[k]
            square += trial[k] * trial[k]
        for j in range(n):
            x[j] = chain.mode[j]
            for k in range(n):
                x[j] += root[j, k] * trial[k]
        high = log_density(x, spread, rankings, leaning, chain.counts)
        if high + 0.5 * square > level:
            return high
        low, top = (angle, top) if angle < 0.0 else (low, angle)
        angle = low + (top - low) * uniform(state)


@kernel
def log_density(
    x: Floats, spread: Floats, rankings: Rankings, leaning: Leaning, counts: Counts
) -> float:
    """Return the log density of hyperparameters given counts, up to a constant."""
    out, shape = _log_prior(x, spread), np.empty(len(leaning.size))
    inside = np.zeros(len(rankings.place) + 1)
    for item in range(len(leaning.start) - 1):
        low, high = leaning.start[item], leaning.start[item + 1]
        shapes_of(x, leaning, low, high, shape)
        first = rankings.ranking_start[rankings.item_start[item]] + item
        for cell in range(low, high):
            inside[counts.level[cell]] += shape[cell]
            if counts.given[cell] > 0.0:
                out += _log_rising(shape[cell], 0.0, counts.given[cell])
        total = 0.0
        for level in range(counts.n_levels[item], -1, -1):
            total += inside[level]
            inside[level] = 0.0
            if counts.drawn[first + level] > 0.0:
                out -= _log_rising(total, counts.passed[first + level], counts.drawn[first + level])
    return out


@inner
def _log_rising(shape: float, low: float, more: float) -> float:
    """Return log gamma(shape + low + more) / gamma(shape + low), up to a term without the shape.

    This term is left out if counts are large: its rounding error could exceed the other terms.
    """
    if low + more < _LARGE:
        return log_rising_of(shape + low, more)
    upper = _log_gamma_beyond(shape, low + more)
    return upper - (math.lgamma(shape + low) if low < _LARGE else _log_gamma_beyond(shape, low))


@inner
def _log_gamma_beyond(shape: float, count: float) -> float:
    """Return log gamma(count + shape) / gamma(count), of a large count."""
    return shape * math.log(count) + 0.5 * shape * (shape - 1.0) / count


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
        for entry in range(leaning.entry_start[cell], leaning.entry_start[cell + 1]):
            tilt += x[1 + n_free + leaning.feature[entry]] * leaning.value[entry]
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
def draw_strengths(
    state: State, x: Floats, rankings: Rankings, leaning: Leaning, counts: Counts,
    log_strength: Floats,
) -> None:  # fmt: skip
    """Draw the logarithms of all strengths given hyperparameters and counts.

    The shares of a set's own cells and of the next smaller set have a Dirichlet distribution.
    """
    shape = np.empty(len(leaning.size))
    for item in range(len(leaning.start) - 1):
        low, high = leaning.start[item], leaning.start[item + 1]
        shapes_of(x, leaning, low, high, shape)
        first = rankings.ranking_start[rankings.item_start[item]] + item
        for cell in range(low, high):
            log_strength[cell] = log_gamma_variate(state, shape[cell] + counts.given[cell])
        for level in range(counts.n_levels[item], -1, -1):
            total, whole = 0.0, -np.inf
            for cell in range(low, high):
                if counts.level[cell] >= level:
                    total += shape[cell]
                    whole = log_plus(whole, log_strength[cell])
            if level > 0:
                whole -= log_gamma_variate(state, total + counts.passed[first + level])
            for cell in range(low, high):
                if counts.level[cell] >= level:
                    log_strength[cell] -= whole
