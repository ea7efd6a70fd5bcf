r"""Elliptical slice sampling (Murray, Adams & MacKay 2010) around a normal approximation.

With many items the approximation is good: each draw takes about one evaluation, and hardly depends
on the draw before.

If items belong to several strata, each stratum g has its own weights. They vary around a mean, with
a learned standard deviation:

.. math::

    w_{gj} \sim \mathrm{Normal}(\mu_j, \sigma_{t(j)}), \qquad
    \log \sigma_t \sim \mathrm{Normal}(0, 1)

where t(j) is the kind of weight j, such as weights of labels or of predictions. Given the standard
deviations, ellipses are centred on the normal approximation of the likelihood times the prior. The
weights of each stratum move along one ellipse, given all other numbers. The other numbers move
along one ellipse together, and the weights move with them. Each standard deviation is drawn twice:
given the weights, and with :math:`(w_{gj} - \mu_j) / \sigma_t` held fixed, so that the weights
change too (Yu & Meng 2011). The first draw alone mixes slowly if strata are similar. The second
draw alone mixes slowly if the data determine the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import minimize

from dissensus.kernels.types import Floats, Ints

Density = Callable[[Floats], float]
ByStratum = Callable[[Floats], Floats]
"""Function of shared numbers and the weights of each stratum, in one array (`Strata.arguments`);
returns the log likelihood (stratum)."""

WIDER: Final = 1.1
"""Ellipses are wider than the approximation by this factor: otherwise chains stay long in tails."""
SD_SPREAD: Final = 1.0
"""Prior standard deviation of the log standard deviation between strata; its prior mean is 0."""
_STEPS: Final = 2
"""Number of steps per draw, so that successive draws are nearly independent."""
_SEARCH, _HALVINGS, _ENOUGH = 30, 12, 1e-4
"""Maximum number of Newton steps, and of halvings of a step; smallest gain in log density: a step
that gains less ends the search."""


def elliptical(rng: np.random.Generator, at: Floats, height: Density) -> tuple[Floats, float]:
    """Move along an ellipse; return the new point, and the height there.

    In the units of the points, the normal approximation is standard normal. ``height`` is the log
    density minus the log density of the approximation.

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
        proposal = math.cos(angle) * at + math.sin(angle) * aside
        new_height = height(proposal)
        if new_height > level:
            return proposal, new_height
        low, top = (angle, top) if angle < 0 else (low, angle)
        angle = rng.uniform(low, top)


def around_mode(loss: Density, start: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return the mode and a square root of the inverse curvature there.

    ``loss`` is minus the log density. The root is in no direction wider than the prior, whose
    standard deviations are ``spread``. The last digits of a search differ between processors:
    therefore a Newton step follows, and the result is rounded. Sampling is exact around any point.

    >>> mode, root = around_mode(lambda x: 2 * (x[0] - 1) ** 2, np.zeros(1), np.ones(1))
    >>> mode.round(3), root.round(3)
    (array([1.]), array([[0.5]]))
    """
    optimum = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 500}).x
    slope, curved = differences(loss, optimum, spread)
    # Eigenvalues of 1 or more keep the root at most as wide as the prior in every direction.
    size, direction = np.linalg.eigh(curved)
    size = np.maximum(size, 1.0)
    step = -direction @ ((direction.T @ slope) / size)
    mode = spread * np.round(optimum / spread + np.clip(step, -0.1, 0.1), 4)
    size, direction = np.linalg.eigh(differences(loss, mode, spread)[1])
    # The symmetric root does not depend on the signs of directions, which are arbitrary.
    root = np.round((direction / np.sqrt(np.maximum(size, 1.0))) @ direction.T, 5)
    return mode, np.ascontiguousarray(spread[:, None] * root)


def differences(loss: Density, at: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return gradient and curvature by finite differences, in units of the spreads.

    >>> slope, curved = differences(lambda x: x[0] * x[1] + x[1] ** 2, np.ones(2), np.ones(2))
    >>> np.allclose(slope, [1, 3]), np.allclose(curved, [[0, 1], [1, 2]], atol=1e-3)
    (True, True)
    """
    n, centre, steps = len(at), loss(at), 1e-3 * np.diag(spread)
    ahead = np.array([[loss(at + sign * offset) for sign in (1, -1)] for offset in steps])
    curved = np.diag(ahead.sum(1) - 2 * centre)
    for j in range(n):
        for k in range(j):
            both = loss(at + steps[j] + steps[k]) + loss(at - steps[j] - steps[k])
            curved[j, k] = (both - ahead[j].sum() - ahead[k].sum() + 2 * centre) / 2
            curved[k, j] = curved[j, k]
    return (ahead[:, 0] - ahead[:, 1]) / 2e-3, curved / 1e-6


class Strata(NamedTuple):
    """Priors of the numbers that all items share, and of the weights of each stratum."""

    centre: Floats
    """(number + weight): prior means of the shared numbers, and of the means of the weights."""
    spread: Floats
    """(number + weight): prior standard deviations."""
    kind: Ints
    """(weight): index of the weight's standard deviation between strata."""
    n_strata: int

    @property
    def n_shared(self) -> int:
        """How many numbers all items share."""
        return len(self.centre) - len(self.kind)

    def log_prior(self, y: Floats, sds: Floats) -> float:
        """Return the log prior density of ``y`` given the standard deviations, up to a constant."""
        first = len(self.centre)
        away = (y[:first] - self.centre) / self.spread
        apart = (self.own(y) - y[self.n_shared : first]) / sds[self.kind]
        return -0.5 * float(away @ away + np.sum(apart**2)) - self.n_strata * float(
            np.log(sds[self.kind]).sum()
        )

    def own(self, y: Floats) -> Floats:
        """Return the weights of the strata (stratum, weight)."""
        return y[len(self.centre) :].reshape(self.n_strata, len(self.kind))

    def arguments(self, y: Floats) -> Floats:
        """Return the arguments of the likelihood: shared numbers, and weights of each stratum."""
        return np.append(y[: self.n_shared], y[len(self.centre) :])


class Around(NamedTuple):
    """The normal approximation of a likelihood, in natural parameters.

    Given the shared numbers, the items of a stratum depend on this stratum's weights only. So each
    stratum has a separate small matrix.
    """

    shared: Floats
    """(number, number): precision."""
    cross: Floats
    """(stratum, number, weight): precision of shared numbers with weights."""
    own: Floats
    """(stratum, weight, weight): precision of weights."""
    shift: Floats
    """(number): precision times mean."""
    shift_own: Floats
    """(stratum, weight): precision times mean of weights."""


class Root(NamedTuple):
    """The mean, and a root of the precision, of a normal density of all numbers and weights."""

    mean: Floats
    mean_own: Floats
    inverse: Floats
    """Inverse root of the precision of shared numbers and means, with weights integrated out."""
    inverse_own: Floats
    """(stratum, weight, weight): inverse root of the precision of each stratum's weights."""
    cross: Floats
    """(stratum, weight, number + weight): precision of each stratum's weights with numbers and
    means, times ``inverse_own``."""

    def place(self, at: Floats) -> Floats:
        """Return the numbers and weights at a standardised point."""
        n, shape = len(self.mean), self.mean_own.shape
        first = self.inverse.T @ at[:n]
        own = at[n:].reshape(shape) - self.cross @ first
        own = self.mean_own + (self.inverse_own.transpose(0, 2, 1) @ own[..., None])[..., 0]
        return np.append(self.mean + first, own)

    def units(self, y: Floats) -> Floats:
        """Return the standardised point of numbers and weights, the inverse of `place`."""
        n, shape = len(self.mean), self.mean_own.shape
        first = y[:n] - self.mean
        own = np.linalg.solve(
            self.inverse_own.transpose(0, 2, 1), (y[n:].reshape(shape) - self.mean_own)[..., None]
        )[..., 0]
        return np.append(np.linalg.solve(self.inverse.T, first), own + self.cross @ first)


def rooted(around: Around, strata: Strata, sds: Floats) -> Root:
    """Return the normal density that is the approximation times the prior, given ``sds``.

    The weights of each stratum are eliminated, so that the largest matrix is of numbers and means.
    """
    n, m = strata.n_shared, len(strata.kind)
    precise = sds[strata.kind] ** -2.0
    whole = np.diag(strata.spread**-2.0)
    whole[:n, :n] += around.shared
    whole[n:, n:] += strata.n_strata * np.diag(precise)
    cross = np.concatenate(
        [around.cross, np.broadcast_to(-np.diag(precise), (strata.n_strata, m, m))], axis=1
    )
    inverse_own = np.linalg.inv(np.linalg.cholesky(around.own + np.diag(precise)))
    cross = inverse_own @ cross.transpose(0, 2, 1)
    whitened = (inverse_own @ around.shift_own[..., None])[..., 0]
    left = whole - np.einsum("gki,gkj->ij", cross, cross)
    shift = strata.centre / strata.spread**2
    shift[:n] += around.shift
    inverse = np.linalg.inv(np.linalg.cholesky(left))
    mean = inverse.T @ (inverse @ (shift - np.einsum("gki,gk->i", cross, whitened)))
    own = (inverse_own.transpose(0, 2, 1) @ (whitened - cross @ mean)[..., None])[..., 0]
    return Root(mean, own, inverse, inverse_own, cross)


def around_likelihood(log_likelihood: ByStratum, strata: Strata) -> Around:
    """Return the normal approximation of the likelihood at the posterior mode.

    The mode is for standard deviations of 1 between strata. It is rounded, because the last digits
    of the search differ between processors.
    """
    n, m = strata.n_shared, len(strata.kind)
    sds = np.ones(strata.kind.max() + 1)
    y = np.append(strata.centre, np.tile(strata.centre[n:], strata.n_strata))
    unit = np.ones(n + m)

    def height(y: Floats) -> float:
        return strata.log_prior(y, sds) + float(log_likelihood(strata.arguments(y)).sum())

    high = height(y)
    for _ in range(_SEARCH):
        around = _expanded(log_likelihood, strata, y, unit, search=True)
        root = rooted(around, strata, sds)
        step = np.append(root.mean, root.mean_own) - y
        gain = 0.0
        for shorter in range(_HALVINGS):
            proposal = y + step / 2.0**shorter
            gain = height(proposal) - high
            if gain > 0.0:
                y, high = proposal, high + gain
                break
        # Steps of finite differences must be smaller than the width of the posterior.
        size = np.append(np.diag(around.shared), np.diagonal(around.own, 0, 1, 2).max(axis=0))
        unit = 1.0 / np.sqrt(np.maximum(size, 1.0))
        if gain < _ENOUGH:
            break
    finest = np.append(unit, np.tile(unit[n:], strata.n_strata))
    return _expanded(log_likelihood, strata, np.round(y / finest, 2) * finest, unit)


def _expanded(
    log_likelihood: ByStratum, strata: Strata, y: Floats, unit: Floats, *, search: bool = False
) -> Around:
    """Return the approximation at a point, by finite differences with steps of .03 units.

    The weights of all strata are moved at once, because each stratum has a separate part of the
    likelihood. Directions in which the log likelihood curves upwards get precision 0; in a
    ``search``, their curvature is negated.
    """
    n, m, g = strata.n_shared, len(strata.kind), strata.n_strata
    numbers, step = strata.arguments(y), 0.03 * unit

    def moved(*signed: tuple[int, int]) -> Floats:
        x = numbers.copy()
        for k, sign in signed:
            if k < n:
                x[k] += sign * step[k]
            else:
                x[k::m] += sign * step[k]
        return log_likelihood(x)

    centre = log_likelihood(numbers)
    ahead = np.array([[moved((k, sign)) for sign in (1, -1)] for k in range(n + m)])
    slope = (ahead[:, 0] - ahead[:, 1]) / (2 * step[:, None])
    curved = np.empty((g, n + m, n + m))
    for j in range(n + m):
        curved[:, j, j] = (2 * centre - ahead[j].sum(axis=0)) / step[j] ** 2
        for k in range(j):
            both = moved((j, 1), (k, 1)) + moved((j, -1), (k, -1))
            mixed = (ahead[j].sum(axis=0) + ahead[k].sum(axis=0) - both - 2 * centre) / 2
            curved[:, j, k] = curved[:, k, j] = mixed / (step[j] * step[k])
    size, direction = np.linalg.eigh(curved * np.outer(unit, unit))
    size = np.round(np.abs(size) if search else np.maximum(size, 0.0), 6)
    curved = (direction * size[:, None]) @ direction.transpose(0, 2, 1) / np.outer(unit, unit)
    along = (direction.transpose(0, 2, 1) @ (slope.T * unit)[..., None]) * (size > 0)[..., None]
    slope_there = (direction @ along)[..., 0] / unit
    own = numbers[n:].reshape(g, m)
    at = np.concatenate([np.broadcast_to(numbers[:n], (g, n)), own], axis=1)
    shift = (curved @ at[..., None])[..., 0] + slope_there
    return Around(
        curved[:, :n, :n].sum(axis=0), curved[:, :n, n:], curved[:, n:, n:],
        shift[:, :n].sum(axis=0), shift[:, n:],
    )  # fmt: skip


def draw_strata(
    log_likelihood: ByStratum, strata: Strata, around: Around, draws: int, tune: int, key: int
) -> Floats:
    """Draw one chain (draw, column).

    Columns are shared numbers, means of weights, log standard deviations, the weights of each
    stratum, and the log density. ``key`` is the seed.

    >>> data = np.array([2.0, 2.2, -1.0])  # a number of each of three strata, with noise of sd 1
    >>> def log_likelihood(x):
    ...     return -0.5 * (data - x) ** 2
    >>> where = Strata(np.zeros(1), np.ones(1), np.zeros(1, dtype=np.int64), 3)
    >>> drawn = draw_strata(log_likelihood, where, around_likelihood(log_likelihood, where),
    ...                     1000, 200, 7)
    >>> drawn.shape, bool(-1.0 < drawn[:, 4].mean() < drawn[:, 0].mean() < drawn[:, 2].mean() < 2)
    ((1000, 6), True)
    """
    rng, first, n_sds = np.random.default_rng(int(key)), len(strata.centre), strata.kind.max() + 1
    log_sd = 0.5 * rng.normal(size=n_sds)
    y, out = None, np.empty((draws, first + n_sds + strata.n_strata * len(strata.kind) + 1))

    def likelihood(y: Floats) -> float:
        return float(log_likelihood(strata.arguments(y)).sum())

    for step in range(-tune, _STEPS * draws):
        y = _moved(rng, y, np.exp(log_sd), log_likelihood, strata, around)
        for kind in range(n_sds):
            _draw_sd(rng, kind, log_sd, y, likelihood, strata)
        if step >= 0 and step % _STEPS == _STEPS - 1:
            density = strata.log_prior(y, np.exp(log_sd)) + likelihood(y)
            density += sum(map(_log_prior_sd, log_sd.tolist()))
            out[step // _STEPS] = *y[:first], *log_sd, *y[first:], density
    return out


def _moved(
    rng: np.random.Generator, y: Floats | None, sds: Floats, log_likelihood: ByStratum,
    strata: Strata, around: Around,
) -> Floats:  # fmt: skip
    """Move the weights of each stratum along an ellipse, then all other numbers along another."""
    root = rooted(around, strata, sds)
    n, shape = len(root.mean), root.mean_own.shape
    first, own = rng.normal(size=n), rng.normal(size=shape)
    if y is not None:
        at = root.units(y) / WIDER
        first, own = at[:n], at[n:].reshape(shape)

    def heights(first: Floats, own: Floats) -> Floats:
        """Return each stratum's part of the log density, minus the approximation's part."""
        y = root.place(WIDER * np.append(first, own))
        apart = (strata.own(y) - y[strata.n_shared : n]) / sds[strata.kind]
        return log_likelihood(strata.arguments(y)) + 0.5 * np.sum(own**2 - apart**2, axis=1)

    for _ in range(_HALVINGS if y is None else 0):  # halve a start that is too far out
        if np.isfinite(heights(first, own)).all():
            break
        first, own = first / 2, own / 2
    own = _elliptical_each(rng, own, lambda own: heights(first, own))

    def height(first: Floats) -> float:
        away = (root.place(WIDER * np.append(first, own))[:n] - strata.centre) / strata.spread
        return float(heights(first, own).sum() + 0.5 * (first @ first - away @ away))

    return root.place(WIDER * np.append(elliptical(rng, first, height)[0], own))


def _elliptical_each(
    rng: np.random.Generator, at: Floats, heights: Callable[[Floats], Floats]
) -> Floats:
    """Move each row (stratum) along a separate ellipse, as `elliptical` does."""
    aside, level = rng.normal(size=at.shape), heights(at) - rng.exponential(size=len(at))
    if not np.isfinite(level).all():
        raise FloatingPointError(f"log densities that are not finite: {level}")
    angle = rng.uniform(0.0, 2 * math.pi, len(at))
    low, top = angle - 2 * math.pi, angle.copy()
    out, waiting = at, np.ones(len(at), dtype=np.bool_)
    while waiting.any():
        proposal = np.cos(angle)[:, np.newaxis] * at + np.sin(angle)[:, np.newaxis] * aside
        out = np.where(waiting[:, np.newaxis], proposal, out)
        waiting &= heights(out) <= level
        low, top = np.where(angle < 0, angle, low), np.where(angle < 0, top, angle)
        angle = np.where(waiting, rng.uniform(low, top), angle)
    return out


def _draw_sd(
    rng: np.random.Generator, kind: int, log_sd: Floats, y: Floats, likelihood: Density,
    strata: Strata,
) -> None:  # fmt: skip
    """Draw a standard deviation given the weights, then again given the standardised weights."""
    first = len(strata.centre)
    each = np.flatnonzero(strata.kind == kind)
    places = first + len(strata.kind) * np.arange(strata.n_strata)[:, np.newaxis] + each
    mean = y[strata.n_shared + each]
    apart = y[places] - mean
    squares, n = float(np.sum(apart**2)), apart.size

    def given_weights(x: float) -> float:
        return _log_prior_sd(x) - n * x - 0.5 * squares * math.exp(-2 * x)

    log_sd[kind] = sliced(rng, log_sd[kind], given_weights)
    apart /= math.exp(log_sd[kind])

    def with_weights(x: float) -> float:
        y[places] = mean + math.exp(x) * apart
        return _log_prior_sd(x) + likelihood(y)

    log_sd[kind] = sliced(rng, log_sd[kind], with_weights)
    y[places] = mean + math.exp(log_sd[kind]) * apart


def _log_prior_sd(x: float) -> float:
    return -0.5 * (x / SD_SPREAD) ** 2


def sliced(rng: np.random.Generator, x: float, log_density: Callable[[float], float]) -> float:
    """Draw a number by slice sampling with an interval that steps out by 1 (Neal 2003)."""
    level = log_density(x) - rng.exponential()
    low = x - rng.random()
    high = low + 1.0
    while log_density(low) > level:
        low -= 1.0
    while log_density(high) > level:
        high += 1.0
    while True:
        proposal = rng.uniform(low, high)
        if log_density(proposal) > level:
            return proposal
        low, high = (proposal, high) if proposal < x else (low, proposal)
