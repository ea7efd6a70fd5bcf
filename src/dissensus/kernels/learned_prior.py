r"""The hyperparameters of a Dirichlet prior that all items share, plausibilities summed out.

An item's prior favours its predicted labels:

.. math::

    \theta_i \sim \mathrm{Dirichlet}(\kappa m_i), \qquad
    m_{ik} \propto \exp(a_k + \textstyle\sum_f w_f z_{ifk}), \qquad
    p(n_i \mid \kappa, a, w) = \frac{\Gamma(\kappa)}{\Gamma(\kappa + \gamma n_{i\cdot})}
        \prod_k \frac{\Gamma(\kappa m_{ik} + \gamma n_{ik})}{\Gamma(\kappa m_{ik})}

with :math:`z_{if}` the values of feature f for the labels: a 1 at the label that a system
predicted, or the logarithms of its probabilities. Most labels of an item have the same count and
features. The sum is therefore over *cells*, the labels with a count or feature that is not 0.

Drawn by elliptical slices (Murray, Adams & MacKay 2010) around a normal approximation at the mode.
With many items the approximation is good: each draw takes about one evaluation, and hardly depends
on the one before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import minimize

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, uniform
from dissensus.kernels.special import log_rising_of
from dissensus.kernels.types import Floats, Ints, Keys
from dissensus.kernels.variates import LEAST, constants, gamma_of, log_gamma_variate, normal

# Elliptical slices, and the normal approximation that they go around, of a few numbers.


def elliptical(
    rng: np.random.Generator, at: Floats, height: Callable[[Floats], float]
) -> tuple[Floats, float]:
    """Move along an ellipse; return the new point, and the height there.

    Points are in units in which the normal approximation is standard; ``height`` is the log density
    less that of the approximation.

    >>> rng, at, kept = np.random.default_rng(1), np.zeros(1), []
    >>> for _ in range(4000):  # the density is Normal(1, 1)
    ...     at, _ = elliptical(rng, at, lambda x: x[0])
    ...     kept.append(at[0])
    >>> round(np.mean(kept), 1), round(np.std(kept), 1)
    (np.float64(1.0), np.float64(1.0))
    """
    aside, level = rng.normal(size=len(at)), height(at) - rng.exponential()
    if not math.isfinite(level):
        raise FloatingPointError(f"a log density that is not finite: {level}")
    angle = rng.uniform(0.0, 2 * math.pi)
    low, top = angle - 2 * math.pi, angle
    while True:
        there = math.cos(angle) * at + math.sin(angle) * aside
        found = height(there)
        if found > level:
            return there, found
        low, top = (angle, top) if angle < 0 else (low, angle)
        angle = rng.uniform(low, top)


def around_mode(
    loss: Callable[[Floats], float], start: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """Return the mode and a square root of the inverse curvature there.

    ``loss`` is minus the log density; the root has no more ``spread`` in any direction than the
    prior. A search ends at different last bits on different processors: one Newton step follows,
    and the rest is rounded off. Slices are exact around any point.

    >>> mode, root = around_mode(lambda x: 2 * (x[0] - 1) ** 2, np.zeros(1), np.ones(1))
    >>> mode.round(3), root.round(3)
    (array([1.]), array([[0.5]]))
    """
    found = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 500}).x
    slope, size, direction = _shape(loss, found, spread)
    step = -direction @ ((direction.T @ slope) / size)
    mode = spread * np.round(found / spread + np.clip(step, -0.1, 0.1), 4)
    _, size, direction = _shape(loss, mode, spread)
    # Symmetric, because the sign of a direction is arbitrary.
    root = np.round((direction / np.sqrt(size)) @ direction.T, 5)
    return mode, np.ascontiguousarray(spread[:, None] * root)


def _shape(
    loss: Callable[[Floats], float], at: Floats, spread: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the slope, curvatures and their directions by differences, in units of the spreads."""
    n, here, steps = len(at), loss(at), 1e-3 * np.diag(spread)
    ahead = np.array([[loss(at + sign * one) for sign in (1, -1)] for one in steps])
    curved = np.diag(ahead.sum(1) - 2 * here)
    for j in range(n):
        for k in range(j):
            both = loss(at + steps[j] + steps[k]) + loss(at - steps[j] - steps[k])
            curved[j, k] = (both - ahead[j].sum() - ahead[k].sum() + 2 * here) / 2
            curved[k, j] = curved[j, k]
    # No direction is known less well than by the prior.
    size, direction = np.linalg.eigh(curved / 1e-6)
    return (ahead[:, 0] - ahead[:, 1]) / 2e-3, np.maximum(size, 1.0), direction


MOST_FREE: Final = 30
"""Maximum number of labels with separate weights; of more, most are hardly ever given."""
CONCENTRATION_SPREAD: Final = 1.5
"""Of the logarithm of the concentration, around that of the number of labels."""
LABEL_SPREAD: Final = 1.0
FEATURE_SPREAD: Final = 1.5
_WIDER: Final = 1.1
"""Than the normal approximation: else chains would stand still in tails that are longer."""


class Cells(NamedTuple):
    """Counts and features of items, for labels with a count or feature that is not 0."""

    n_labels: int
    times: Floats
    """(item): number of items like this one."""
    start: Ints
    """(item + 1): its first cell."""
    label: Ints
    """(cell)"""
    given: Floats
    """(cell): count of the label, times the reliability."""
    spoken: Ints
    """(cell + 1): its first word."""
    feature: Ints
    """(word)"""
    value: Floats
    """(word): value of the feature for the label."""


def cells_of(counts: Floats, features: list[Floats], times: Floats | None = None) -> Cells:
    """Return the cells of counts and features (item, label); a feature of 0 is not informative.

    ``counts`` are multiplied by the reliability. ``times`` (item) is the number of items like each,
    1 by default.

    >>> cells = cells_of(np.array([[2.0, 0, 0]]), [np.array([[0, 1.0, 0]])])
    >>> cells.label.tolist(), cells.given.tolist(), np.diff(cells.spoken).tolist()
    ([0, 1], [2.0, 0.0], [0, 1])
    """
    some = counts > 0
    for each in features:
        some |= each != 0
    item, label = map(np.ascontiguousarray, np.nonzero(some))
    said = np.empty((len(item), len(features)))
    for f, each in enumerate(features):
        said[:, f] = each[item, label]
    cell, feature = map(np.ascontiguousarray, np.nonzero(said))
    return Cells(
        counts.shape[1], np.ones(len(counts)) if times is None else times,
        np.searchsorted(item, np.arange(len(counts) + 1)), label, counts[item, label],
        np.searchsorted(cell, np.arange(len(item) + 1)), feature, said[cell, feature],
    )  # fmt: skip


def alike(
    counts: Floats, features: list[Floats], times: Floats | None = None
) -> tuple[Floats, list[Floats], Floats]:
    """Return each kind of item once, and its number of items; ``times`` of those given.

    >>> counts, _, times = alike(np.array([[1.0, 0], [0, 1.0], [1.0, 0]]), [])
    >>> counts.tolist(), times.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [1.0, 2.0])
    """
    whole = np.concatenate([counts, *features], axis=1)
    found, which = np.unique(whole, axis=0, return_inverse=True)
    parts = np.split(found, len(features) + 1, axis=1)
    return parts[0], parts[1:], np.bincount(which.ravel(), times).astype(np.float64)


class Layout(NamedTuple):
    """Where a vector of hyperparameters holds what: first the logarithm of the concentration."""

    n_free: int
    """Number of labels with a weight: all, or 0."""
    n_features: int

    @property
    def size(self) -> int:
        """Number of hyperparameters."""
        return 1 + self.n_free + self.n_features

    def spreads(self) -> Floats:
        """Return the standard deviations of the normal priors."""
        labels = np.full(self.n_free, LABEL_SPREAD)
        features = np.full(self.n_features, FEATURE_SPREAD)
        return np.concatenate([[CONCENTRATION_SPREAD], labels, features])


def layout(n_labels: int, n_features: int) -> Layout:
    """Decide whether labels have separate weights."""
    return Layout(n_labels if n_labels <= MOST_FREE else 0, n_features)


_STEPS: Final = 3
"""Steps for each draw, so that it hardly depends on the one before."""


def draw_hyperparameters(
    cells: Cells, n_features: int, draws: int, keys: Keys, tune: int,
    run: Callable[..., list[Floats]],
) -> Floats:  # fmt: skip
    """Draw hyperparameters as in `Layout`, and their log density: (chain, draw, hyperparameter).

    ``keys`` (chain) start the random numbers. ``run`` takes a job and the number of chains, and
    does the job for each chain.
    """
    where = layout(cells.n_labels, n_features)
    spread = where.spreads()
    centre = np.zeros(where.size)
    centre[0] = math.log(cells.n_labels)
    data = (*cells, centre, spread, where.n_free)

    def loss(x: Floats) -> float:
        return -log_density(x, *data)

    mode, root = around_mode(loss, centre, spread)

    def chain(number: int) -> Floats:
        out = np.empty((draws, where.size + 1))
        state = keys[number : number + 1].copy()
        _sliced(state, mode, root, tune, out, *data)
        return out

    return np.stack(run(chain, len(keys)))


@kernel
def log_density(
    x: Floats, n_labels: int, times: Floats, start: Ints, label: Ints, given: Floats, spoken: Ints,
    feature: Ints, value: Floats, centre: Floats, spread: Floats, n_free: int,
) -> float:  # fmt: skip
    """Return the log density of hyperparameters, priors included, up to a constant."""
    out, total, own = 0.0, float(n_labels), np.empty(n_labels)
    for k in range(len(x)):
        out -= 0.5 * ((x[k] - centre[k]) / spread[k]) ** 2
    if n_free > 0:
        total = 0.0
        for k in range(n_free):
            total += math.exp(x[1 + k])
    kappa = math.exp(x[0])
    for item in range(len(times)):
        first, last = start[item], start[item + 1]
        mass = _masses(x, own, total, n_labels, first, last, label, spoken, feature, value, n_free)
        term, said = 0.0, 0.0
        for cell in range(first, last):
            if given[cell] > 0.0:
                term += log_rising_of(max(kappa * own[cell - first] / mass, LEAST), given[cell])
                said += given[cell]
        out += times[item] * (term - log_rising_of(kappa, said))
    return out


@inner
def _masses(
    x: Floats, own: Floats, total: float, n_labels: int, first: int, last: int, label: Ints,
    spoken: Ints, feature: Ints, value: Floats, n_free: int,
) -> float:  # fmt: skip
    """Fill in each cell's share of the prior, and return what all of an item's add up to."""
    other, out = total, 0.0
    for cell in range(first, last):
        tilt = 0.0
        if n_free > 0:
            tilt = x[1 + label[cell]]
            other -= math.exp(tilt)
        else:
            other -= 1.0
        for word in range(spoken[cell], spoken[cell + 1]):
            tilt += x[1 + n_free + feature[word]] * value[word]
        own[cell - first] = math.exp(tilt)
        out += own[cell - first]
    if last - first == n_labels:  # nothing is left but what rounding leaves
        return out
    return out + max(other, 0.0)


@kernel
def _sliced(
    state: State, mode: Floats, root: Floats, tune: int, out: Floats, n_labels: int, times: Floats,
    start: Ints, label: Ints, given: Floats, spoken: Ints, feature: Ints, value: Floats,
    centre: Floats, spread: Floats, n_free: int,
) -> None:  # fmt: skip
    """Fill a chain with draws."""
    n = len(mode)
    at, aside, there, x = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        at[k] = _WIDER * normal(state)
    height = _height(at, mode, root, x, n_labels, times, start, label, given, spoken, feature,
                     value, centre, spread, n_free)  # fmt: skip
    for step in range(-tune, _STEPS * len(out)):
        for k in range(n):
            aside[k] = _WIDER * normal(state)
        level = height + math.log(uniform(state))
        angle = 2.0 * math.pi * uniform(state)
        low, high = angle - 2.0 * math.pi, angle
        while True:
            c, s = math.cos(angle), math.sin(angle)
            for k in range(n):
                there[k] = c * at[k] + s * aside[k]
            height = _height(there, mode, root, x, n_labels, times, start, label, given, spoken,
                             feature, value, centre, spread, n_free)  # fmt: skip
            if height > level:
                break
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * uniform(state)
        square = 0.0
        for k in range(n):
            at[k] = there[k]
            square += at[k] * at[k]
        if step >= 0 and step % _STEPS == _STEPS - 1:
            for k in range(n):
                out[step // _STEPS, k] = x[k]
            out[step // _STEPS, n] = height - 0.5 * square / (_WIDER * _WIDER)


@inner
def _height(
    at: Floats, mode: Floats, root: Floats, x: Floats, n_labels: int, times: Floats, start: Ints,
    label: Ints, given: Floats, spoken: Ints, feature: Ints, value: Floats, centre: Floats,
    spread: Floats, n_free: int,
) -> float:  # fmt: skip
    """Return the log ratio of the density to the normal density, at a place in its units."""
    square = 0.0
    for j in range(len(at)):
        x[j] = mode[j]
        square += at[j] * at[j]
        for k in range(len(at)):
            x[j] += root[j, k] * at[k]
    high = log_density(x, n_labels, times, start, label, given, spoken, feature, value, centre,
                       spread, n_free)  # fmt: skip
    return high + 0.5 * square / (_WIDER * _WIDER)


@kernel
def draw_plausibilities(
    x: Floats, states: Keys, theta: Floats, n_labels: int, start: Ints, label: Ints, given: Floats,
    spoken: Ints, feature: Ints, value: Floats, n_free: int,
) -> None:  # fmt: skip
    """Write each item's plausibilities, ``theta`` (draw, item, label), given hyperparameters ``x``.

    ``x`` (draw, hyperparameter); ``states`` (item) are streams of random numbers, and move on.
    """
    base, alpha, own = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels)
    for draw in range(len(x)):
        at, total = x[draw], 0.0
        kappa = math.exp(at[0])
        for k in range(n_labels):
            base[k] = math.exp(at[1 + k]) if n_free > 0 else 1.0
            total += base[k]
        for item in range(len(states)):
            first, last = start[item], start[item + 1]
            mass = _masses(
                at, own, total, n_labels, first, last, label, spoken, feature, value, n_free
            )
            for k in range(n_labels):
                alpha[k] = kappa * base[k] / mass
            for cell in range(first, last):
                alpha[label[cell]] = kappa * own[cell - first] / mass + given[cell]
            _one(states[item : item + 1], alpha, theta, draw, item)


@inner
def _one(state: State, alpha: Floats, theta: Floats, draw: int, item: int) -> None:
    """Draw one item's, in logarithms: shapes of a prior with many labels are small."""
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
