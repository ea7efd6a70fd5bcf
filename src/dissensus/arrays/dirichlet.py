"""Draws from Dirichlet distributions, also sparse and degenerate ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dissensus.arrays.gamma import LEAST, SMALL, gamma_variates, log_gamma_variates
from dissensus.errors import ArgumentError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

_BLOCK = 1 << 16
"""Numbers worked on at once: few enough to stay near the processor."""


class Draws(NamedTuple):
    """Draws, and how dense the distribution is there."""

    theta: Floats
    """(*size, ..., k)"""
    log_density: Floats
    """(*size), summed over all rows; on the support, so without the parameters that are 0."""


def draw_dirichlet(
    alpha: npt.NDArray[np.floating[Any]], size: tuple[int, ...], rng: np.random.Generator
) -> Draws:
    r"""Draw :math:`\theta \sim \mathrm{Dirichlet}(\alpha)` as normalised Gamma variates.

    Parameters
    ----------
    alpha : array (..., k)
        Parameters, at least one positive in each row. Where one is 0, theta is exactly 0
        (the distribution degenerates to the face of the simplex that the others span).
    size : tuple of int
        Leading shape of the draws.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Draws
        ``theta``, non-negative and summing to 1 along the last axis, and its ``log_density``.

    Raises
    ------
    ArgumentError
        If a row has no positive parameter, or a parameter is negative or not finite.

    Notes
    -----
    Where parameters are small it is done in logarithms: there every Gamma variate of a row may
    underflow to 0, and 0/0 would follow. The density is taken from the logarithms too, and so is
    finite where a component is below the smallest number.

    Examples
    --------
    >>> draw = draw_dirichlet(np.array([1.0, 0.0, 3.0]), (2,), np.random.default_rng(1)).theta
    >>> draw.shape, draw[:, 1].tolist(), bool(np.allclose(draw.sum(-1), 1))
    ((2, 3), [0.0, 0.0], True)
    """
    _check(alpha)
    n, k = math.prod(size), alpha.shape[-1]
    cell = np.flatnonzero(alpha)
    a = np.maximum(alpha.ravel()[cell], LEAST)
    last = np.cumsum(np.bincount(cell // k, minlength=alpha.size // k))
    theta, density = np.zeros((n, alpha.size)), np.zeros(n)
    for first, end in _blocks(last, n):
        low = last[first - 1] if first else 0
        per_row = np.diff(last[first:end], prepend=low)
        part = slice(low, last[end - 1])
        density += _fill(theta, cell[part], a[part], per_row, rng)
    return Draws(theta.reshape(*size, *alpha.shape), density.reshape(size))


def _blocks(last: Codes, n: int) -> Iterator[tuple[int, int]]:
    """Cut rows into blocks of about `_BLOCK` numbers; ``last`` counts cells up to each row."""
    first = 0
    while first < len(last):
        done = last[first - 1] if first else 0
        end = int(np.searchsorted(last, done + _BLOCK // n, side="right"))
        end = max(end, first + 1)
        yield first, end
        first = end


def _fill(
    theta: Floats, cell: Codes, a: Floats, per_row: Codes, rng: np.random.Generator
) -> Floats:
    """Draw some rows into theta, and return their log density, summed over them."""
    start = np.cumsum(per_row) - per_row
    if a.min() < SMALL:
        logs = log_gamma_variates(a, len(theta), rng)
        logs -= np.repeat(np.maximum.reduceat(logs, start), per_row, axis=0)
        mass = np.exp(logs)
    else:
        mass = gamma_variates(a, len(theta), rng)
        logs = np.log(mass)
    total = np.add.reduceat(mass, start)
    mass /= np.repeat(total, per_row, axis=0)
    theta[:, cell if len(cell) <= cell[-1] - cell[0] else slice(cell[0], cell[-1] + 1)] = mass.T
    # sum of (a - 1) log(mass / total), with the sum over a row of a - 1 taken out
    row = np.add.reduceat(a, start)
    constant = gammaln(row).sum() - gammaln(a).sum()
    return np.asarray(constant + (a - 1) @ logs - (row - per_row) @ np.log(total))


def _check(alpha: npt.NDArray[np.floating[Any]]) -> None:
    proper = np.isfinite(alpha).all(axis=-1) & (alpha >= 0).all(axis=-1) & (alpha > 0).any(axis=-1)
    if not proper.all():
        raise ArgumentError(
            "alpha",
            expected="finite parameters >= 0, one or more of them positive in each row",
            found=f"rows such as {alpha[~proper][0]}",
        )
