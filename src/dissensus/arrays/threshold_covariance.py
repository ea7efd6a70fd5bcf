r"""Variances and covariances of labels that come about by thresholds on a normal scale.

A label here is a sum over parts, :math:`y = \sum_a w_a\, 1[X_a \le h_a]` with standard normal X.
Two labels that share a latent variance c have :math:`\mathrm{Corr}(X_a, X'_b) = c / (t_a t'_b)`, t
being the total standard deviations on the latent scale. An ordered label has a part for each
cutpoint, which weighs the step to the next label; a yes of the logistic model has a part for each
normal distribution that the logistic one is mixed of (`dissensus.arrays.logistic_mixture`), and is
the mean over them. Hence

.. math:: \mathrm{Cov}(y, y') = \sum_{a, b} w_a w'_b \left[
    \Phi_2\!\left(h_a, h'_b; \tfrac{c}{t_a t'_b}\right) - \Phi(h_a)\,\Phi(h'_b)\right].
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from dissensus.arrays.bivariate_normal import excess
from dissensus.arrays.rowwise import rowwise
from dissensus.arrays.types import Floats


@rowwise("void(float64[:], float64[:], float64[:], float64, float64[:])", "(a),(a),(a),()->()")
def covariance_within(
    weight: Floats, bound: Floats, sd: Floats, shared: float, out: Floats
) -> None:
    """Return the covariance of two labels of the same distribution.

    Parameters
    ----------
    weight, bound, sd : array (part)
        w, h and t.
    shared : float
        The latent variance c that the two have in common.
    """
    out[0] = 0.0
    for a in range(len(weight)):
        both = weight[a] * weight[a] * excess(bound[a], bound[a], shared / (sd[a] * sd[a]))
        for b in range(a):
            pair = excess(bound[a], bound[b], shared / (sd[a] * sd[b]))
            both += 2.0 * weight[a] * weight[b] * pair
        out[0] += both


@rowwise(
    "void(float64[:], float64[:], float64[:], float64[:], float64[:], float64[:], float64, "
    "float64[:])",
    "(a),(a),(a),(b),(b),(b),()->()",
)
def covariance_between(
    weight: Floats,
    bound: Floats,
    sd: Floats,
    other_weight: Floats,
    other_bound: Floats,
    other_sd: Floats,
    shared: float,
    out: Floats,
) -> None:
    """Return the covariance of two labels of different distributions, see `covariance_within`."""
    out[0] = 0.0
    for a in range(len(weight)):
        for b in range(len(other_weight)):
            pair = excess(bound[a], other_bound[b], shared / (sd[a] * other_sd[b]))
            out[0] += weight[a] * other_weight[b] * pair


def step_variance(weight: Floats, bound: Floats) -> Floats:
    r"""Return the variance of a label with one part for each of several cutpoints, in order.

    .. math:: \sum_{a, b} w_a w_b\, \Phi(\min(h_a, h_b))\, \Phi(-\max(h_a, h_b))

    Parameters
    ----------
    weight, bound : array (..., part)
        Bounds in falling order, as rising cutpoints have them.

    Examples
    --------
    Three labels, 0, 1 and 2, a third each:

    >>> step_variance(np.ones(2), np.array([0.4307272993, -0.4307272993])).round(6).item()
    0.666667
    """
    below, above = weight * ndtr(bound), weight * ndtr(-bound)
    # The parts before the present one have larger bounds: their sum is over Phi(-max).
    before = np.cumsum(above, axis=-1) - above
    return np.asarray((below * (above + 2 * before)).sum(axis=-1))


def mixture_variance(weight: Floats, bound: Floats) -> Floats:
    r"""Return the variance :math:`p (1 - p)` of a yes, :math:`p = \sum_a w_a \Phi(h_a)`.

    Examples
    --------
    >>> mixture_variance(np.array([0.5, 0.5]), np.array([0.0, 0.0])).item()
    0.25
    """
    return np.asarray((weight * ndtr(bound)).sum(axis=-1) * (weight * ndtr(-bound)).sum(axis=-1))
