"""Draws from Dirichlet distributions, also sparse and degenerate ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# Below this shape a Gamma variate underflows often enough to matter: at 0.1 its logarithm
# passes -708 with probability e^-70, at 0.01 with probability e^-7.
_SMALL = 0.1


def draw_dirichlet(
    alpha: npt.NDArray[np.float64], size: tuple[int, ...], rng: np.random.Generator
) -> npt.NDArray[np.float64]:
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
    array (*size, ..., k)
        Non-negative, summing to 1 along the last axis.

    Notes
    -----
    Small parameters make every Gamma variate of a row underflow to 0, and 0/0 follows. There
    the draw is made in logarithms, by :math:`\log G_a = \log G_{a+1} + \log(U)/a`.

    Examples
    --------
    >>> draw = draw_dirichlet(np.array([1.0, 0.0, 3.0]), (2,), np.random.default_rng(1))
    >>> draw.shape, draw[:, 1].tolist(), bool(np.allclose(draw.sum(-1), 1))
    ((2, 3), [0.0, 0.0], True)
    """
    shape = (*size, *alpha.shape)
    positive = alpha > 0
    if not (positive & (alpha < _SMALL)).any():
        out = rng.standard_gamma(np.broadcast_to(alpha, shape))
    else:
        out = np.log(rng.standard_gamma(np.broadcast_to(alpha + 1, shape)))
        out -= rng.standard_exponential(shape) / np.where(positive, alpha, 1)
        out[..., ~positive] = -np.inf
        out -= out.max(axis=-1, keepdims=True)
        np.exp(out, out=out)
    out /= out.sum(axis=-1, keepdims=True)
    return out


def log_density(
    theta: npt.NDArray[np.float64], alpha: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the Dirichlet log density of theta on its support (parameters of 0 are left out).

    Examples
    --------
    >>> log_density(np.array([0.5, 0.5]), np.array([1.0, 1.0]))
    array(0.)
    """
    from scipy.special import gammaln

    on = alpha > 0
    constant = gammaln(alpha.sum(-1)) - np.where(on, gammaln(np.where(on, alpha, 1)), 0).sum(-1)
    with np.errstate(divide="ignore"):
        logs = np.where(on, np.log(np.where(on, theta, 1)), 0)
    # A component that underflowed to 0 has density 0 or infinity; x log 0 with x = 0 is 0.
    terms = np.where(alpha == 1, 0, (alpha - 1) * logs)
    return np.asarray(constant + np.where(on, terms, 0).sum(-1))
