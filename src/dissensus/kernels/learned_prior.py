r"""Hyperparameters of a Dirichlet prior that all items share, with plausibilities integrated out.

An item's prior favours its predicted labels:

.. math::

    \theta_i \sim \mathrm{Dirichlet}(\kappa m_i), \qquad
    m_{ik} \propto \exp(a_k + \textstyle\sum_f w_f z_{ifk}), \qquad
    p(n_i \mid \kappa, a, w) = \frac{\Gamma(\kappa)}{\Gamma(\kappa + \gamma n_{i\cdot})}
        \prod_k \frac{\Gamma(\kappa m_{ik} + \gamma n_{ik})}{\Gamma(\kappa m_{ik})}

with counts :math:`n_i` of the item's labels and the reliability :math:`\gamma`. A feature
:math:`z_{if}` has a value for each label: 1 for the label that a system predicted and 0 for others,
discounts of the later labels of a list, or the logarithms of a system's probabilities. Most labels
of an item have count 0 and features 0. Loops are therefore over *cells*, the labels with a count or
feature that is not 0.

If items belong to several strata, each stratum has separate weights, which vary around :math:`(a,
w)`. The standard deviations between strata are learned too: one for weights of labels, and one for
weights of each kind of feature: first labels, later labels, and log probabilities.

The hyperparameters are drawn by elliptical slice sampling, see `dissensus.kernels.ellipses`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.ellipses import (
    WIDER,
    Strata,
    around_likelihood,
    around_mode,
    draw_strata,
)
from dissensus.kernels.random import State, uniform
from dissensus.kernels.special import log_rising_of
from dissensus.kernels.types import Floats, Ints, Keys
from dissensus.kernels.variates import LEAST, constants, gamma_of, log_gamma_variate, normal

MOST_FREE: Final = 30
"""Largest label space with a weight for each label: in larger ones, most labels are rare."""
CONCENTRATION_SPREAD: Final = 1.5
"""Prior standard deviation of the log concentration; the prior mean is the log number of labels."""
LABEL_SPREAD: Final = 1.0
FEATURE_SPREAD: Final = 1.5


class Cells(NamedTuple):
    """Counts and features of items. A *cell* is a label with a count or feature that is not 0.

    An *entry* is a feature of a cell that is not 0.
    """

    n_labels: int
    times: Floats
    """(item): number of items like this one."""
    start: Ints
    """(item + 1): the first cell of each item."""
    label: Ints
    """(cell)"""
    given: Floats
    """(cell): count of the label, times the reliability."""
    bounds: Ints
    """(cell + 1): the first entry of each cell; the last number is the number of entries."""
    feature: Ints
    """(entry)"""
    value: Floats
    """(entry): value of the feature for the label."""
    stratum: Ints
    """(item)"""


def cells_of(
    counts: Floats, features: list[Floats], times: Floats | None = None, stratum: Ints | None = None
) -> Cells:
    """Return the cells of counts and features (item, label).

    ``counts`` are already multiplied by the reliability. ``times`` (item) is the number of items
    like each, 1 by default; ``stratum`` (item) is 0 by default.

    >>> cells = cells_of(np.array([[2.0, 0, 0]]), [np.array([[0, 1.0, 0]])])
    >>> cells.label.tolist(), cells.given.tolist(), np.diff(cells.bounds).tolist()
    ([0, 1], [2.0, 0.0], [0, 1])
    """
    informative = counts > 0
    for each in features:
        informative |= each != 0
    item, label = map(np.ascontiguousarray, np.nonzero(informative))
    values = np.empty((len(item), len(features)))
    for f, each in enumerate(features):
        values[:, f] = each[item, label]
    cell, feature = map(np.ascontiguousarray, np.nonzero(values))
    return Cells(
        counts.shape[1], np.ones(len(counts)) if times is None else times,
        np.searchsorted(item, np.arange(len(counts) + 1)), label, counts[item, label],
        np.searchsorted(cell, np.arange(len(item) + 1)), feature, values[cell, feature],
        np.zeros(len(counts), dtype=np.int64) if stratum is None else stratum,
    )  # fmt: skip


def alike(
    counts: Floats, features: list[Floats], times: Floats | None = None, stratum: Ints | None = None
) -> tuple[Floats, list[Floats], Floats, Ints]:
    """Return the counts and features of distinct items, the number of each, and its stratum.

    ``times`` and ``stratum`` (item) are of the items that are passed, by default 1 and 0.

    >>> counts, _, times, _ = alike(np.array([[1.0, 0], [0, 1.0], [1.0, 0]]), [])
    >>> counts.tolist(), times.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [1.0, 2.0])
    """
    stratum = np.zeros(len(counts), dtype=np.int64) if stratum is None else stratum
    whole = np.concatenate([counts, *features, stratum[:, np.newaxis]], axis=1)
    distinct, inverse = np.unique(whole, axis=0, return_inverse=True)
    parts = np.split(distinct[:, :-1], len(features) + 1, axis=1)
    times = np.bincount(inverse.ravel(), times).astype(np.float64)
    return parts[0], parts[1:], times, distinct[:, -1].astype(np.int64)


class Layout(NamedTuple):
    """The order of hyperparameters in a vector.

    The logarithm of the concentration is the first. The weights of labels and of features follow.
    If there are strata, the logarithms of the standard deviations between strata come next, and
    then each stratum's weights.
    """

    n_free: int
    """Number of labels with a weight: all, or 0."""
    kinds: tuple[int, ...] = ()
    """Number of features of each kind: first labels, later labels, and log probabilities."""
    n_strata: int = 0
    """Number of strata; 0 if there is only one."""

    @property
    def sizes(self) -> list[int]:
        """How many weights share each standard deviation."""
        return [size for size in (self.n_free, *self.kinds) if size]

    @property
    def n_weights(self) -> int:
        """Number of weights of labels and features."""
        return sum(self.sizes)

    @property
    def size(self) -> int:
        """Number of hyperparameters."""
        return 1 + self.n_weights * (1 + self.n_strata) + bool(self.n_strata) * len(self.sizes)

    def spreads(self) -> Floats:
        """Return the standard deviations of the normal priors, without strata."""
        sizes = 1, self.n_free, sum(self.kinds)
        return np.repeat([CONCENTRATION_SPREAD, LABEL_SPREAD, FEATURE_SPREAD], sizes)

    def centre(self, n_labels: int) -> Floats:
        """Return the means of the normal priors, without strata."""
        out = np.zeros(1 + self.n_weights)
        out[0] = math.log(n_labels)
        return out

    def strata(self, n_labels: int) -> Strata:
        """Return the priors of shared hyperparameters and of each stratum's weights."""
        kind = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return Strata(self.centre(n_labels), self.spreads(), kind, self.n_strata)

    def of_strata(self, values: Floats) -> Floats:
        """Return the weights (..., stratum, weight) in vectors of hyperparameters."""
        if not self.n_strata:
            return values[..., np.newaxis, 1:]
        last = 1 + self.n_weights + len(self.sizes)
        return values[..., last:].reshape(*values.shape[:-1], self.n_strata, self.n_weights)


def layout(n_labels: int, kinds: tuple[int, ...] = (), n_strata: int = 0) -> Layout:
    """Return the layout of hyperparameters; labels of a large label space have no weights."""
    full_layout = Layout(
        n_labels if n_labels <= MOST_FREE else 0, kinds, n_strata if n_strata > 1 else 0
    )
    return full_layout if full_layout.n_weights else full_layout._replace(n_strata=0)


_STEPS: Final = 3
"""Number of steps for each draw, so that successive draws are nearly independent."""


def draw_hyperparameters(
    cells: Cells, layout: Layout, draws: int, keys: Keys, tune: int,
    run: Callable[..., list[Floats]],
) -> Floats:  # fmt: skip
    """Draw hyperparameters as in `Layout`, and their log density: (chain, draw, hyperparameter).

    ``keys`` (chain) start the random numbers. ``run`` takes a function of a chain's number, and the
    number of chains; it returns the results of all chains.
    """
    if layout.n_strata:
        return _of_strata(cells, layout, draws, keys, tune, run)
    spread, centre = layout.spreads(), layout.centre(cells.n_labels)
    data = (*cells, centre, spread, layout.n_free)

    def loss(x: Floats) -> float:
        return -log_density(x, *data)

    mode, root = around_mode(loss, centre, spread)

    def chain(number: int) -> Floats:
        out = np.empty((draws, len(centre) + 1))
        state = keys[number : number + 1].copy()
        _sliced(state, mode, root, tune, out, *data)
        return out

    return np.stack(run(chain, len(keys)))


def _of_strata(
    cells: Cells, layout: Layout, draws: int, keys: Keys, tune: int,
    run: Callable[..., list[Floats]],
) -> Floats:  # fmt: skip
    strata = layout.strata(cells.n_labels)

    def likelihood(x: Floats) -> Floats:
        return log_likelihood(x, *cells, layout.n_strata, layout.n_free)

    around = around_likelihood(likelihood, strata)

    def chain(number: int) -> Floats:
        return draw_strata(likelihood, strata, around, draws, tune, int(keys[number]))

    return np.stack(run(chain, len(keys)))


@kernel
def log_density(
    x: Floats, n_labels: int, times: Floats, start: Ints, label: Ints, given: Floats, bounds: Ints,
    feature: Ints, value: Floats, stratum: Ints, centre: Floats, spread: Floats, n_free: int,
) -> float:  # fmt: skip
    """Return the log density of hyperparameters, priors included, up to a constant."""
    out = 0.0
    for k in range(len(x)):
        out -= 0.5 * ((x[k] - centre[k]) / spread[k]) ** 2
    return out + log_likelihood(x, n_labels, times, start, label, given, bounds, feature, value,
                                stratum, 1, n_free)[0]  # fmt: skip


@kernel
def log_likelihood(
    x: Floats, n_labels: int, times: Floats, start: Ints, label: Ints, given: Floats, bounds: Ints,
    feature: Ints, value: Floats, stratum: Ints, n_strata: int, n_free: int,
) -> Floats:  # fmt: skip
    """Return the log likelihood (stratum).

    ``x`` is the log concentration, followed by the weights of each stratum.
    """
    out, own, kappa = np.zeros(n_strata), np.empty(n_labels), math.exp(x[0])
    n_weights, totals = (len(x) - 1) // n_strata, np.full(n_strata, float(n_labels))
    if n_free > 0:
        for g in range(n_strata):
            totals[g] = 0.0
            for k in range(n_free):
                totals[g] += math.exp(x[1 + g * n_weights + k])
    for item in range(len(times)):
        first, last, g = start[item], start[item + 1], stratum[item]
        mass = _masses(
            x[1 + g * n_weights : 1 + (g + 1) * n_weights], own, totals[g], n_labels, first, last,
            label, bounds, feature, value, n_free,
        )  # fmt: skip
        term, given_total = 0.0, 0.0
        for cell in range(first, last):
            if given[cell] > 0.0:
                term += log_rising_of(max(kappa * own[cell - first] / mass, LEAST), given[cell])
                given_total += given[cell]
        out[g] += times[item] * (term - log_rising_of(kappa, given_total))
    return out


@inner
def _masses(
    weights: Floats, own: Floats, total: float, n_labels: int, first: int, last: int, label: Ints,
    bounds: Ints, feature: Ints, value: Floats, n_free: int,
) -> float:  # fmt: skip
    """Write the unnormalised prior mean of each cell; return the sum over all the item's labels."""
    rest, out = total, 0.0
    for cell in range(first, last):
        tilt = 0.0
        if n_free > 0:
            tilt = weights[label[cell]]
            rest -= math.exp(tilt)
        else:
            rest -= 1.0
        for entry in range(bounds[cell], bounds[cell + 1]):
            tilt += weights[n_free + feature[entry]] * value[entry]
        own[cell - first] = math.exp(tilt)
        out += own[cell - first]
    if last - first == n_labels:  # no other labels: the rest is rounding error
        return out
    return out + max(rest, 0.0)


@kernel
def _sliced(
    state: State, mode: Floats, root: Floats, tune: int, out: Floats, n_labels: int, times: Floats,
    start: Ints, label: Ints, given: Floats, bounds: Ints, feature: Ints, value: Floats,
    stratum: Ints, centre: Floats, spread: Floats, n_free: int,
) -> None:  # fmt: skip
    """Write the draws of a chain, and their log densities."""
    n = len(mode)
    at, aside, proposal, x = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        at[k] = WIDER * normal(state)
    height = _height(at, mode, root, x, n_labels, times, start, label, given, bounds, feature,
                     value, stratum, centre, spread, n_free)  # fmt: skip
    for step in range(-tune, _STEPS * len(out)):
        for k in range(n):
            aside[k] = WIDER * normal(state)
        level = height + math.log(uniform(state))
        angle = 2.0 * math.pi * uniform(state)
        low, high = angle - 2.0 * math.pi, angle
        while True:
            c, s = math.cos(angle), math.sin(angle)
            for k in range(n):
                proposal[k] = c * at[k] + s * aside[k]
            height = _height(proposal, mode, root, x, n_labels, times, start, label, given, bounds,
                             feature, value, stratum, centre, spread, n_free)  # fmt: skip
            if height > level:
                break
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * uniform(state)
        square = 0.0
        for k in range(n):
            at[k] = proposal[k]
            square += at[k] * at[k]
        if step >= 0 and step % _STEPS == _STEPS - 1:
            for k in range(n):
                out[step // _STEPS, k] = x[k]
            out[step // _STEPS, n] = height - 0.5 * square / (WIDER * WIDER)


@inner
def _height(
    at: Floats, mode: Floats, root: Floats, x: Floats, n_labels: int, times: Floats, start: Ints,
    label: Ints, given: Floats, bounds: Ints, feature: Ints, value: Floats, stratum: Ints,
    centre: Floats, spread: Floats, n_free: int,
) -> float:  # fmt: skip
    """Return the log density minus the approximation's log density, at a standardised point."""
    square = 0.0
    for j in range(len(at)):
        x[j] = mode[j]
        square += at[j] * at[j]
        for k in range(len(at)):
            x[j] += root[j, k] * at[k]
    high = log_density(x, n_labels, times, start, label, given, bounds, feature, value, stratum,
                       centre, spread, n_free)  # fmt: skip
    return high + 0.5 * square / (WIDER * WIDER)


@kernel
def draw_plausibilities(
    log_kappa: Floats, weights: Floats, states: Keys, theta: Floats, n_labels: int, start: Ints,
    label: Ints, given: Floats, bounds: Ints, feature: Ints, value: Floats, stratum: Ints,
    n_free: int,
) -> None:  # fmt: skip
    """Write each item's plausibilities, ``theta`` (draw, item, label), given hyperparameters.

    ``log_kappa`` (draw) and ``weights`` (draw, stratum, weight) are the hyperparameters. ``states``
    (item) are the states of streams of random numbers; they change.
    """
    n_strata = weights.shape[1]
    base, totals = np.ones((n_strata, n_labels)), np.empty(n_strata)
    alpha, own = np.empty(n_labels), np.empty(n_labels)
    for draw in range(len(log_kappa)):
        kappa = math.exp(log_kappa[draw])
        for g in range(n_strata):
            totals[g] = 0.0
            for k in range(n_labels):
                if n_free > 0:
                    base[g, k] = math.exp(weights[draw, g, k])
                totals[g] += base[g, k]
        for item in range(len(states)):
            first, last, g = start[item], start[item + 1], stratum[item]
            mass = _masses(
                weights[draw, g], own, totals[g], n_labels, first, last, label, bounds, feature,
                value, n_free,
            )  # fmt: skip
            for k in range(n_labels):
                alpha[k] = kappa * base[g, k] / mass
            for cell in range(first, last):
                alpha[label[cell]] = kappa * own[cell - first] / mass + given[cell]
            _draw_item(states[item : item + 1], alpha, theta, draw, item)


@inner
def _draw_item(state: State, alpha: Floats, theta: Floats, draw: int, item: int) -> None:
    """Draw one item's plausibilities by logarithms: with many labels, prior shapes are small."""
    top, mass = -math.inf, 0.0
    for k in range(len(alpha)):
        shape = max(alpha[k], LEAST)
        if shape >= 1.0:
            alpha[k] = math.log(gamma_of(state, shape, *constants(shape)))
        else:
            alpha[k] = log_gamma_variate(state, shape)
        top = max(top, alpha[k])
    for k in range(len(alpha)):
        theta[draw, item, k] = math.exp(alpha[k] - top)
        mass += theta[draw, item, k]
    for k in range(len(alpha)):
        theta[draw, item, k] /= mass
