r"""Elliptical slices (Murray, Adams & MacKay 2010) around a normal approximation of a few numbers.

With many items the approximation is good: each draw takes about one evaluation, and hardly depends
on the one before.

If items are of several strata, each stratum g has weights of its own around their mean, with a
learned standard deviation:

.. math::

    w_{gj} \sim \mathrm{Normal}(\mu_j, \sigma_{t(j)}), \qquad
    \log \sigma_t \sim \mathrm{Normal}(0, 1)

for kinds t of weights, such as those of labels and of predictions. Given the standard deviations,
the numbers are drawn around the normal approximation of the likelihood times the prior, which then
has these standard deviations. Each standard deviation is drawn twice: given the weights, and with
:math:`(w_{gj} - \mu_j) / \sigma_t` held fixed, when the weights move with it (Yu & Meng 2011). The
first alone hardly moves where strata are alike, the second where the data show their weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from dissensus.kernels.types import Floats, Ints

Density = Callable[[Floats], float]

WIDER: Final = 1.1
"""Than the normal approximation: else chains would stand still in tails that are longer."""
TYPICAL_SD: Final = 1.0
"""Of the weights of strata around their mean."""
SD_SPREAD: Final = 1.0
"""Of the logarithm of that standard deviation."""
_STEPS: Final = 2
"""Steps per draw, so that successive draws are nearly independent."""


def elliptical(rng: np.random.Generator, at: Floats, height: Density) -> tuple[Floats, float]:
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


def around_mode(loss: Density, start: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return the mode and a square root of the inverse curvature there.

    ``loss`` is minus the log density; the root has no more ``spread`` in any direction than the
    prior. A search ends at different last bits on different processors: one Newton step follows,
    and the rest is rounded off. Slices are exact around any point.

    >>> mode, root = around_mode(lambda x: 2 * (x[0] - 1) ** 2, np.zeros(1), np.ones(1))
    >>> mode.round(3), root.round(3)
    (array([1.]), array([[0.5]]))
    """
    found = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 500}).x
    slope, curved = differences(loss, found, spread)
    # No direction is known less well than by the prior.
    size, direction = np.linalg.eigh(curved)
    size = np.maximum(size, 1.0)
    step = -direction @ ((direction.T @ slope) / size)
    mode = spread * np.round(found / spread + np.clip(step, -0.1, 0.1), 4)
    size, direction = np.linalg.eigh(differences(loss, mode, spread)[1])
    # Symmetric, because the sign of a direction is arbitrary.
    root = np.round((direction / np.sqrt(np.maximum(size, 1.0))) @ direction.T, 5)
    return mode, np.ascontiguousarray(spread[:, None] * root)


def differences(
    loss: Density, at: Floats, spread: Floats, apart: Callable[[int, int], bool] | None = None
) -> tuple[Floats, Floats]:
    """Return the slope and curvature of a function by differences, in units of the spreads.

    ``apart`` says of which two numbers the mixed derivative is known to be 0.

    >>> slope, curved = differences(lambda x: x[0] * x[1] + x[1] ** 2, np.ones(2), np.ones(2))
    >>> slope.round(3), curved.round(3)
    (array([1., 3.]), array([[-0.,  1.],
           [ 1.,  2.]]))
    """
    n, here, steps = len(at), loss(at), 1e-3 * np.diag(spread)
    ahead = np.array([[loss(at + sign * one) for sign in (1, -1)] for one in steps])
    curved = np.diag(ahead.sum(1) - 2 * here)
    for j in range(n):
        for k in range(j):
            if apart is not None and apart(j, k):
                continue
            both = loss(at + steps[j] + steps[k]) + loss(at - steps[j] - steps[k])
            curved[j, k] = (both - ahead[j].sum() - ahead[k].sum() + 2 * here) / 2
            curved[k, j] = curved[j, k]
    return (ahead[:, 0] - ahead[:, 1]) / 2e-3, curved / 1e-6


class Strata(NamedTuple):
    """Numbers that all items share, then weights that each stratum has, and their priors."""

    centre: Floats
    """(number + weight): prior means, of the weights' means too."""
    spread: Floats
    """(number + weight): prior standard deviations."""
    kind: Ints
    """(weight): place of its standard deviation among these."""
    n_strata: int

    @property
    def n_shared(self) -> int:
        """Number of numbers that all items share."""
        return len(self.centre) - len(self.kind)

    def precision(self, sds: Floats) -> Floats:
        """Return the prior precision of shared numbers, means, and the weights of each stratum."""
        n, m, g = self.n_shared, len(self.kind), self.n_strata
        out, own = np.diag(np.append(self.spread**-2.0, np.zeros(g * m))), sds[self.kind] ** -2.0
        mean = np.arange(n, n + m)
        out[mean, mean] += g * own
        for first in range(n + m, len(out), m):
            each = np.arange(first, first + m)
            out[each, each] = own
            out[each, mean] = out[mean, each] = -own
        return out

    def log_prior(self, y: Floats, sds: Floats) -> float:
        """Return the log density of all but the standard deviations, up to a constant."""
        first = len(self.centre)
        away = (y[:first] - self.centre) / self.spread
        apart = (y[first:].reshape(self.n_strata, -1) - y[self.n_shared : first]) / sds[self.kind]
        return -0.5 * float(away @ away + np.sum(apart**2)) - self.n_strata * float(
            np.log(sds[self.kind]).sum()
        )

    def told(self, y: Floats) -> Floats:
        """Return what the likelihood reads: shared numbers, and the weights of each stratum."""
        return np.append(y[: self.n_shared], y[len(self.centre) :])


class Around(NamedTuple):
    """The normal approximation of a likelihood, in natural parameters."""

    precision: Floats
    shift: Floats
    """Precision times mean."""


def around_likelihood(log_likelihood: Density, where: Strata) -> Around:
    """Return the normal approximation at the mode for typical standard deviations."""
    n, first, m = where.n_shared, len(where.centre), len(where.kind)
    sds = np.full(where.kind.max() + 1, TYPICAL_SD)
    start = np.append(where.centre, np.tile(where.centre[n:], where.n_strata))

    def loss(y: Floats) -> float:
        return -where.log_prior(y, sds) - log_likelihood(where.told(y))

    mode = np.round(minimize(loss, start, method="L-BFGS-B", options={"maxiter": 500}).x, 3)

    def apart(j: int, k: int) -> bool:  # items of one stratum do not have the weights of another
        return min(j, k) >= n and (j - n) // m != (k - n) // m

    told = where.told(mode)
    slope, curved = differences(lambda x: -log_likelihood(x), told, np.ones(len(told)), apart)
    size, direction = np.linalg.eigh(curved)
    curved = np.round((direction * np.maximum(size, 0.0)) @ direction.T, 4)
    places = where.told(np.arange(len(mode)).astype(np.float64)).astype(np.int64)
    precision, shift = np.zeros((len(mode), len(mode))), np.zeros(len(mode))
    precision[np.ix_(places, places)] = curved
    shift[places] = curved @ told - np.round(slope, 4)
    shift[:first] += where.centre / where.spread**2
    return Around(precision, shift)


def draw_strata(
    log_likelihood: Density, where: Strata, around: Around, draws: int, tune: int, key: int
) -> Floats:
    """Draw one chain: shared numbers, means, log standard deviations, weights, log density.

    ``log_likelihood`` takes shared numbers and the weights of each stratum; ``key`` is the seed.

    >>> data = np.array([2.0, 2.2, -1.0])  # one number with noise 1 of each of three strata
    >>> def log_likelihood(x):
    ...     return -0.5 * float(np.sum((data - x) ** 2))
    >>> where = Strata(np.zeros(1), np.ones(1), np.zeros(1, dtype=np.int64), 3)
    >>> drawn = draw_strata(log_likelihood, where, around_likelihood(log_likelihood, where),
    ...                     1000, 200, 7)
    >>> drawn.shape, bool(-1.0 < drawn[:, 4].mean() < drawn[:, 0].mean() < drawn[:, 2].mean() < 2)
    ((1000, 6), True)
    """
    rng, first, n_sds = np.random.default_rng(int(key)), len(where.centre), where.kind.max() + 1
    log_sd = math.log(TYPICAL_SD) + 0.5 * rng.normal(size=n_sds)
    y, out = None, np.empty((draws, first + n_sds + where.n_strata * len(where.kind) + 1))
    for step in range(-tune, _STEPS * draws):
        y = _moved(rng, y, np.exp(log_sd), log_likelihood, where, around)
        for kind in range(n_sds):
            _draw_sd(rng, kind, log_sd, y, log_likelihood, where)
        if step >= 0 and step % _STEPS == _STEPS - 1:
            density = where.log_prior(y, np.exp(log_sd)) + log_likelihood(where.told(y))
            density += sum(map(_log_prior_sd, log_sd.tolist()))
            out[step // _STEPS] = *y[:first], *log_sd, *y[first:], density
    return out


def _moved(
    rng: np.random.Generator, y: Floats | None, sds: Floats, log_likelihood: Density,
    where: Strata, around: Around,
) -> Floats:  # fmt: skip
    """Move along an ellipse that fits these standard deviations."""
    lower = np.linalg.cholesky(around.precision + where.precision(sds))
    mean = solve_triangular(lower.T, solve_triangular(lower, around.shift, lower=True))

    def place(at: Floats) -> Floats:
        return mean + WIDER * solve_triangular(lower.T, at)

    def height(at: Floats) -> float:
        y = place(at)
        return where.log_prior(y, sds) + log_likelihood(where.told(y)) + 0.5 * float(at @ at)

    at = rng.normal(size=len(mean)) if y is None else lower.T @ (y - mean) / WIDER
    return place(elliptical(rng, at, height)[0])


def _draw_sd(
    rng: np.random.Generator, kind: int, log_sd: Floats, y: Floats, log_likelihood: Density,
    where: Strata,
) -> None:  # fmt: skip
    """Draw a standard deviation given the weights, then together with them."""
    first = len(where.centre)
    each = np.flatnonzero(where.kind == kind)
    places = first + len(where.kind) * np.arange(where.n_strata)[:, np.newaxis] + each
    mean = y[where.n_shared + each]
    apart = y[places] - mean
    squares, n = float(np.sum(apart**2)), apart.size

    def given_weights(x: float) -> float:
        return _log_prior_sd(x) - n * x - 0.5 * squares * math.exp(-2 * x)

    log_sd[kind] = sliced(rng, log_sd[kind], given_weights)
    apart /= math.exp(log_sd[kind])

    def with_weights(x: float) -> float:
        y[places] = mean + math.exp(x) * apart
        return _log_prior_sd(x) + log_likelihood(where.told(y))

    log_sd[kind] = sliced(rng, log_sd[kind], with_weights)
    y[places] = mean + math.exp(log_sd[kind]) * apart


def _log_prior_sd(x: float) -> float:
    return -0.5 * ((x - math.log(TYPICAL_SD)) / SD_SPREAD) ** 2


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
        there = rng.uniform(low, high)
        if log_density(there) > level:
            return there
        low, high = (there, high) if there < x else (low, there)
