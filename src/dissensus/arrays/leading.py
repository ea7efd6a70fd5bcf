"""Which place of a Dirichlet variate is its largest: the probabilities, by quadrature."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaincinv, gammaln

from dissensus.arrays.types import Floats

_TAIL: Final = 1e-18
"""Of the largest gamma variate's distribution: what is left out at either end."""
_LEAST: Final = -28.0
"""Logarithm of a variate below which its distribution function is a power, to 1e-12."""
_AT_ONCE: Final = 1000
"""Rows, by some thousand nodes of the grid."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def leading_probabilities(alpha: npt.ArrayLike) -> Floats:
    r"""Return the probability of each place to be the largest of a Dirichlet variate.

    .. math:: P(k) = \int \frac{f_k(x)}{F_k(x)} \prod_j F_j(x) \, dx

    with :math:`f_k, F_k` density and distribution function of a Gamma(alpha_k) variate, on the
    scale of log x, where the first factor is smooth. Below some x all :math:`F` are powers of
    x, and the rest of the integral is :math:`\alpha_k / \sum_j \alpha_j \prod_j F_j(x)`.

    Parameters
    ----------
    alpha : array (rows, places)
        Parameters, all positive.

    Returns
    -------
    array (rows, places)
        Sums to 1 along places, correct to about 1e-10.

    Examples
    --------
    >>> leading_probabilities([[1.0, 1.0, 2.0]]).round(4).tolist()
    [[0.1944, 0.1944, 0.6111]]
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    out = np.empty_like(alpha)
    for largest in np.unique(alpha.max(axis=1)):
        rows = alpha.max(axis=1) == largest
        out[rows] = _alike(alpha[rows], largest)
    return out


def _alike(alpha: Floats, largest: float) -> Floats:
    """Return the probabilities of rows that share their largest parameter, and so a grid."""
    low, t, step = _grid(largest)
    values, place = np.unique(alpha, return_inverse=True)
    place = place.reshape(alpha.shape)
    below = np.log(gammainc(values[:, None], np.exp(np.append(low, t))))
    rate = np.exp(values[:, None] * t - np.exp(t) - gammaln(values)[:, None] - below[:, 1:])
    out = np.empty_like(alpha)
    for first in range(0, len(alpha), _AT_ONCE):
        here = slice(first, first + _AT_ONCE)
        times = np.stack([(place[here] == value).sum(axis=1) for value in range(len(values))], 1)
        all_below = np.exp(times @ below)
        rest = all_below[:, :1] * values / (times @ values)[:, None]
        each = (all_below[:, 1:] * step) @ rate.T + rest
        out[here] = np.take_along_axis(each, place[here], axis=1)
    return out / out.sum(axis=1, keepdims=True)


def _grid(largest: float) -> tuple[float, Floats, Floats]:
    """Return where the grid of log x begins, its nodes, and the weight of each.

    The largest of the variates lies below it with a probability that is next to nothing, or,
    where the parameters are small, known.
    """
    first: Any = gammaincinv(largest, _TAIL)
    low = max(np.log(first) if first > 0 else -np.inf, _LEAST)
    high = np.log(largest + 12 * np.sqrt(largest) + 60)
    panels = int(np.ceil((high - low) * np.sqrt(largest + 1) / 2))
    half = (high - low) / panels / 2
    middle = low + half * (2 * np.arange(panels) + 1)
    return low, (middle[:, None] + half * _NODES).ravel(), np.tile(half * _WEIGHTS, panels)
