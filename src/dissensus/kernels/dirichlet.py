"""Draws from Dirichlet distributions, and the probability that a component is the largest."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaincinv, gammaln

from dissensus.errors import ArgumentError
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.types import Floats, Keys
from dissensus.kernels.variates import LEAST, SMALL, constants, gamma_of, log_gamma_variate


class Draws(NamedTuple):
    """Draws, and the log density of each."""

    theta: Floats
    """(draw, row, k)"""
    log_density: Floats
    """(draw), summed over all rows; components whose parameter is 0 are left out."""


def draw_dirichlet(
    alpha: npt.NDArray[np.floating[Any]], keys: Keys, draws: int, out: Floats | None = None
) -> Draws:
    r"""Draw :math:`\theta \sim \mathrm{Dirichlet}(\alpha)` as normalised Gamma variates.

    If parameters are small, logarithms of Gamma variates are drawn, because all variates of a row
    may underflow to 0. The density is computed from the logarithms too, and is finite where a
    component underflows.

    ``alpha`` (row, k): at least one positive in each row. Where alpha is 0, theta is exactly 0.
    ``keys`` (row): start of each row's stream of random numbers. The draws of a row depend only on
    its key and its parameters; a shorter run gives the first draws of a longer run.
    ``out`` (draw, row, k): where to write theta.
    """
    _check(alpha)
    theta = np.empty((draws, *alpha.shape)) if out is None else out
    density = np.zeros(draws)
    _fill(np.where(alpha > 0, np.maximum(alpha, LEAST), 0.0), keys.copy(), theta, density)
    return Draws(theta, density)


@kernel
def _fill(alpha: Floats, states: Keys, theta: Floats, density: Floats) -> None:
    """Write all draws and log densities; the outer loop is over draws, as in memory."""
    n_rows, n = alpha.shape
    constant, logs, of_shape = 0.0, np.empty(n), np.empty((n_rows, n, 2))
    in_logs = np.zeros(n_rows, dtype=np.bool_)
    for row in range(n_rows):
        constant += _log_constant(alpha[row])
        for k in range(n):
            in_logs[row] |= 0.0 < alpha[row, k] < SMALL
            of_shape[row, k, 0], of_shape[row, k, 1] = constants(alpha[row, k])
    for draw in range(len(theta)):
        total = constant
        for row in range(n_rows):
            if in_logs[row]:
                state = states[row : row + 1]
                total += _draw_in_logs(state, alpha[row], logs, theta[draw, row])
            else:
                total += _draw(states, alpha, of_shape, theta, draw, row)
        density[draw] = total


@inner
def _log_constant(alpha: Floats) -> float:
    """Return the logarithm of the Dirichlet density's constant, from the positive parameters."""
    total, out = 0.0, 0.0
    for a in alpha:
        if a > 0.0:
            total += a
            out -= math.lgamma(a)
    return out + math.lgamma(total)


@inner
def _draw(
    states: Keys, alpha: Floats, of_shape: Floats, theta: Floats, draw: int, row: int
) -> float:
    """Draw one row, and return its log density without the constant.

    Whole arrays are passed, because slicing out each row would take a fifth of the time.
    """
    state = states[row : row + 1]
    mass, excess, out = 0.0, 0.0, 0.0
    for k in range(alpha.shape[1]):
        a, g = alpha[row, k], 0.0
        if a > 0.0:
            g = gamma_of(state, a, of_shape[row, k, 0], of_shape[row, k, 1])
            mass += g
            excess += a - 1.0
            if a != 1.0:  # 1, by far the commonest parameter, adds nothing
                out += (a - 1.0) * math.log(g)
        theta[draw, row, k] = g
    for k in range(alpha.shape[1]):
        theta[draw, row, k] /= mass
    return out - excess * math.log(mass)


@inner
def _draw_in_logs(state: Keys, alpha: Floats, logs: Floats, theta: Floats) -> float:
    """Do as `_draw` by logarithms, for parameters whose variates may underflow."""
    top, mass, excess, out = -math.inf, 0.0, 0.0, 0.0
    for k in range(len(alpha)):
        if alpha[k] > 0.0:
            logs[k] = log_gamma_variate(state, alpha[k])
            top = max(top, logs[k])
    for k in range(len(alpha)):
        theta[k] = 0.0
        if alpha[k] > 0.0:
            theta[k] = math.exp(logs[k] - top)
            mass += theta[k]
            excess += alpha[k] - 1.0
            out += (alpha[k] - 1.0) * (logs[k] - top)
    for k in range(len(alpha)):
        theta[k] /= mass
    return out - excess * math.log(mass)


def _check(alpha: npt.NDArray[np.floating[Any]]) -> None:
    proper = np.isfinite(alpha).all(axis=-1) & (alpha >= 0).all(axis=-1) & (alpha > 0).any(axis=-1)
    if not proper.all():
        raise ArgumentError(
            "alpha",
            expected="finite parameters >= 0, one or more of them positive in each row",
            found=f"rows such as {alpha[~proper][0]}",
        )


@inner
def draw_log_row(state: State, shape: Floats, skipped: int, out: Floats) -> None:
    """Draw the logarithms of a Dirichlet variate without component ``skipped``.

    Logarithms do not underflow.
    """
    high = -math.inf
    for y in range(len(shape)):
        out[y] = -math.inf if y == skipped else log_gamma_variate(state, shape[y])
        high = max(high, out[y])
    total = 0.0
    for y in range(len(shape)):
        if y != skipped:
            total += math.exp(out[y] - high)
    for y in range(len(shape)):
        if y != skipped:
            out[y] -= high + math.log(total)


_TAIL: Final = 1e-18
"""Probability that the Gamma variate of the largest parameter lies below the grid."""
_LEAST: Final = -28.0
"""Below this log x, the distribution function of a Gamma variate is a power of x, up to 1e-12."""
_AT_ONCE: Final = 1000
"""Number of rows computed at once; each takes memory for some thousand nodes of the grid."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def leading_probabilities(alpha: npt.ArrayLike) -> Floats:
    r"""Return the probability that each component of a Dirichlet variate is the largest.

    .. math:: P(k) = \int \frac{f_k(x)}{F_k(x)} \prod_j F_j(x) \, dx

    with :math:`f_k, F_k` the density and distribution function of a Gamma(alpha_k) variate. The
    integral is over log x, where the first factor is smooth. Below the first node x all :math:`F`
    are powers of x, and that part of the integral is
    :math:`\alpha_k / \sum_j \alpha_j \prod_j F_j(x)`.

    ``alpha`` (rows, places) is positive. The result (rows, places) is correct to about 1e-10.
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    out = np.empty_like(alpha)
    for largest in np.unique(alpha.max(axis=1)):
        rows = alpha.max(axis=1) == largest
        out[rows] = _alike(alpha[rows], largest)
    return out


def _alike(alpha: Floats, largest: float) -> Floats:
    """Return the probabilities of rows with the same largest parameter, which share a grid."""
    low, t, step = _grid(largest)
    values, place = np.unique(alpha, return_inverse=True)
    place = place.reshape(alpha.shape)
    below = np.log(gammainc(values[:, None], np.exp(np.append(low, t))))
    rate = np.exp(values[:, None] * t - np.exp(t) - gammaln(values)[:, None] - below[:, 1:])
    out = np.empty_like(alpha)
    for first in range(0, len(alpha), _AT_ONCE):
        lot = slice(first, first + _AT_ONCE)
        times = np.stack([(place[lot] == value).sum(axis=1) for value in range(len(values))], 1)
        all_below = np.exp(times @ below)
        rest = all_below[:, :1] * values / (times @ values)[:, None]
        each = (all_below[:, 1:] * step) @ rate.T + rest
        out[lot] = np.take_along_axis(each, place[lot], axis=1)
    return out / out.sum(axis=1, keepdims=True)


def _grid(largest: float) -> tuple[float, Floats, Floats]:
    """Return where the grid of log x begins, its nodes, and their weights.

    The probability that the largest variate lies below the grid is negligible or, where the
    parameters are small, known in closed form.
    """
    first: Any = gammaincinv(largest, _TAIL)
    low = max(np.log(first) if first > 0 else -np.inf, _LEAST)
    high = np.log(largest + 12 * np.sqrt(largest) + 60)
    panels = int(np.ceil((high - low) * np.sqrt(largest + 1) / 2))
    half = (high - low) / panels / 2
    middle = low + half * (2 * np.arange(panels) + 1)
    return low, (middle[:, None] + half * _NODES).ravel(), np.tile(half * _WEIGHTS, panels)
