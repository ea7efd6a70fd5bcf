"""Gamma variates, also in logarithms: small shapes underflow to 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SMALL = 0.1
"""Below this shape a variate underflows often enough to matter: at 0.1 its logarithm passes
-708 with probability e^-70, at 0.01 already with probability e^-7."""

LEAST = 1e-300
"""Smaller shapes count as this, so that logarithms stay finite; no result could tell."""

_MANY = 100
"""From so many draws on, NumPy is faster called once for each shape than once for all of them."""


def gamma_variates(shape: Floats, n: int, rng: np.random.Generator) -> Floats:
    r"""Draw :math:`G \sim \mathrm{Gamma}(a, 1)`.

    Parameters
    ----------
    shape : array (cell)
        The shapes a > 0.
    n : int
        How many draws of each.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array (cell, n)

    Examples
    --------
    >>> gamma_variates(np.array([2.0, 1.0]), 3, np.random.default_rng(1)).shape
    (2, 3)
    """
    if n < _MANY:
        return np.asarray(rng.standard_gamma(shape[:, None], size=(len(shape), n)))
    out = np.empty((len(shape), n))
    for a, row in zip(shape.tolist(), out, strict=True):
        rng.standard_gamma(a, out=row)
    return out


def log_gamma_variates(shape: Floats, n: int, rng: np.random.Generator) -> Floats:
    r"""Draw :math:`\log G` for :math:`G \sim \mathrm{Gamma}(a, 1)`, finite however small a is.

    Parameters
    ----------
    shape : array (cell)
        The shapes a > 0.
    n : int
        How many draws of each.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array (cell, n)

    Notes
    -----
    For small a, by :math:`\log G_a = \log G_{a+1} + \log(U)/a` with U uniform.

    Examples
    --------
    >>> draws = log_gamma_variates(np.array([2.0, 1e-6]), 3, np.random.default_rng(1))
    >>> draws.shape, bool(np.isfinite(draws).all())
    ((2, 3), True)
    """
    small = np.flatnonzero(shape < SMALL)
    raised = shape.copy()
    raised[small] += 1
    out = gamma_variates(raised, n, rng)
    np.log(out, out=out)
    if len(small):
        steps = rng.standard_exponential((len(small), n))
        steps /= np.maximum(shape[small, None], LEAST)
        out[small] -= steps
    return out
