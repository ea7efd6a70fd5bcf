r"""Special functions: of normal, logistic and Beta variates, of logarithms and small matrices.

Correlated normal numbers (`excess`):

.. math:: \Phi_2(h, k; \rho) - \Phi(h)\,\Phi(k) = \int_0^\rho \varphi_2(h, k; r)\,dr

(Plackett 1954). The integrand is positive, so that no terms cancel, even in the tails. It is
integrated in two parts. Up to ``_TURN``, the variable is :math:`\theta` with
:math:`r = \sin\theta`, which removes the singularity at 1. Beyond ``_TURN``, it is
:math:`x = \sqrt{1 - r^2}`, and

.. math:: 2\pi\,\varphi_2(h, k; r)\,|dr| =
    e^{-(h - k)^2 / (2 x^2)}\; \frac{e^{-h k / (1 + r)}}{r}\,dx.

The first factor rises where x is about :math:`|h - k|`, which may be very small. Therefore the
integral is over panels whose ends have a fixed ratio. The second factor is smooth.

The logistic distribution as a mixture of normal distributions: a logistic number is :math:`2 K Z`,
with Z standard normal and K of Kolmogorov's distribution (Andrews & Mallows 1974). The density of
the variance :math:`V = 4 K^2`, as a function of log V, falls off doubly exponentially on both
sides. A sum over equal steps of log V therefore integrates the density, times any smooth function,
to the last digits.

Normal intervals (`interval`) are exact to rounding in the far tails too: both ends are mirrored to
the side on which the distribution functions are small.

Labels by thresholds on a normal scale: a label is a sum over parts,
:math:`y = \sum_a w_a\, 1[X_a \le h_a]` with standard normal X.
Two labels that share a latent variance c have :math:`\mathrm{Corr}(X_a, X'_b) = c / (t_a t'_b)`,
where t are total standard deviations on the latent scale. An ordered label has a part for each
cutpoint; the part's weight is the step to the next label. A binary label of the logistic model has
a part for each normal distribution in the mixture above, with its weight in the mixture. Hence

.. math:: \mathrm{Cov}(y, y') = \sum_{a, b} w_a w'_b \left[
    \Phi_2\!\left(h_a, h'_b; \tfrac{c}{t_a t'_b}\right) - \Phi(h_a)\,\Phi(h'_b)\right].
"""

from __future__ import annotations

import functools
import math
from typing import Final

import numpy as np
from scipy.special import ndtr

from dissensus.kernels.compiled import inner
from dissensus.kernels.rowwise import rowwise
from dissensus.kernels.types import Floats

_TURN = 0.9
"""The correlation where the second part of the integral begins."""
_WIDEST = math.sqrt(1.0 - _TURN**2)
_REACH = 9.0
"""Values of x below the difference of the bounds divided by this add only e^-40 of the total."""
_RATIO = 3.0
"""Ratio of the ends of a panel."""
_SAME = 1e-10
"""Bounds that differ by less than this count as equal: smaller values of x add at most this."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(18)
_FEW_NODES, _FEW_WEIGHTS = np.polynomial.legendre.leggauss(12)


@inner
def excess(h: float, k: float, correlation: float) -> float:
    r"""Return :math:`P(X \le h, Y \le k) - P(X \le h) P(Y \le k)` for standard normal X and Y.

    The relative error is about 1e-10 for bounds from -8 to 8, at any correlation.

    For h = k = 0 and correlation 1/2 the result is 1/3 - 1/4.
    """
    # With one variable negated, a negative correlation becomes positive.
    sign = -1.0 if correlation < 0 else 1.0
    k *= sign
    correlation = min(abs(correlation), 1.0)
    if not (math.isfinite(h) and math.isfinite(k) and correlation <= 1.0):
        return math.nan
    total = _near_independence(h, k, min(correlation, _TURN))
    if correlation > _TURN:
        total += _near_identity(h, k, math.sqrt((1.0 - correlation) * (1.0 + correlation)))
    return sign * total / (2.0 * math.pi)


@inner
def _near_independence(h: float, k: float, correlation: float) -> float:
    """Return 2 pi times the integral from correlation 0 to ``correlation``."""
    half = 0.5 * math.asin(correlation)
    apart, product = 0.5 * (h - k) ** 2, h * k
    total = 0.0
    for i in range(len(_NODES)):
        r = math.sin(half * (1.0 + _NODES[i]))
        total += _WEIGHTS[i] * math.exp(-apart / (1.0 - r * r) - product / (1.0 + r))
    return half * total


@inner
def _near_identity(h: float, k: float, low: float) -> float:
    """Return 2 pi times the integral from x = low to the x of correlation `_TURN`."""
    apart = abs(h - k)
    one_panel = apart < _SAME
    low = max(low, apart / _REACH)
    total = 0.0
    while low < _WIDEST:
        high = _WIDEST if one_panel else min(_WIDEST, low * _RATIO)
        total += _panel(0.0 if one_panel else 0.5 * apart * apart, h * k, low, high)
        low = high
    return total


@inner
def _panel(apart: float, product: float, low: float, high: float) -> float:
    """Return 2 pi times the integral over a panel of x; ``apart`` is half (h - k)^2."""
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    total = 0.0
    for i in range(len(_FEW_NODES)):
        square = (middle + half * _FEW_NODES[i]) ** 2
        r = math.sqrt(1.0 - square)
        total += _FEW_WEIGHTS[i] * math.exp(-apart / square - product / (1.0 + r)) / r
    return half * total


_LOST = 40.0
"""If two logarithms differ by more than this, the smaller number does not change the sum in double
precision."""


@inner
def log_plus(log_a: float, log_b: float) -> float:
    """Return the logarithm of the sum of two numbers, given their logarithms."""
    high, low = (log_a, log_b) if log_a > log_b else (log_b, log_a)
    if not high - low < _LOST:  # also if both are -inf, so that the difference is NaN
        return high
    return high + math.log1p(math.exp(low - high))


@inner
def log_total(logs: Floats) -> float:
    """Return the logarithm of the sum of numbers, given their logarithms; -inf without numbers."""
    top = -np.inf
    for log_term in logs:
        top = max(top, log_term)
    if top == -np.inf:
        return top
    summed = 0.0
    for log_term in logs:
        summed += math.exp(log_term - top)
    return top + math.log(summed)


_STEP = 0.25
_LEAST = 1e-22
"""Smaller weights of the mixture are left out."""
_TERMS = 40


@functools.cache
def logistic_mixture() -> tuple[Floats, Floats]:
    r"""Return weights and variances of normal distributions whose mixture is the logistic one.

    The mixture's distribution function has an error of 1e-15, and a relative error of about 1e-6 at
    25 scale units from the mean.
    """
    variances = np.exp(_STEP * np.arange(-30, 41))
    weights = _STEP * variances * _density(variances)
    kept = weights > _LEAST
    weights, variances = weights[kept] / weights[kept].sum(), variances[kept]
    weights.flags.writeable = variances.flags.writeable = False
    return weights, variances


def _density(variance: Floats) -> Floats:
    """Return the density of V = 4 K^2, by the one of two series for K that converges faster."""
    k = np.sqrt(variance) / 2
    j = np.arange(1, _TERMS)[:, None]
    sign = np.where(j % 2 == 1, 1.0, -1.0)
    far = 8 * k * (sign * j**2 * np.exp(-2 * (j * k) ** 2)).sum(axis=0)
    ratio = ((2 * j - 1) * np.pi) ** 2 / (8 * k**2)
    near = np.sqrt(2 * np.pi) / k**2 * (np.exp(-ratio) * (2 * ratio - 1)).sum(axis=0)
    return np.asarray(np.where(k < 1, near, far) / (8 * k))


_ROOT_HALF: Final = math.sqrt(0.5)
_DENSITY: Final = 1.0 / math.sqrt(2.0 * math.pi)
_FAR: Final = 25.0
"""Beyond this many standard deviations, probabilities are computed as logarithms."""


@inner
def _scaled_tail(x: float) -> float:
    """Return Phi(-x) / phi(x) for large x: the asymptotic series, good to 1e-13 at 25."""
    y = 1.0 / (x * x)
    return (1.0 - y * (1.0 - y * (3.0 - y * (15.0 - y * (105.0 - y * 945.0))))) / x


@inner
def _far(low: float, high: float) -> tuple[float, float, float]:
    """Do as `interval`, if both ends are far below 0."""
    width = high - low
    drop = 0.5 * width * (high + low)  # the density at low is exp(drop) of that at high
    relative = math.exp(drop) if drop > -700.0 else 0.0
    if width * -high < 1e-4:  # the difference of tails has lost its digits
        scaled = width * math.exp(0.5 * drop)
    else:
        scaled = _scaled_tail(-high)
        if low > -math.inf and relative > 0.0:
            scaled -= _scaled_tail(-low) * relative
    if not scaled > 0.0:
        return -math.inf, 0.0, 0.0
    log_p = math.log(_DENSITY) - 0.5 * high * high + math.log(scaled)
    return log_p, relative / scaled, 1.0 / scaled


@inner
def interval(low: float, high: float) -> tuple[float, float, float]:
    """Return log P(low < x < high) for standard normal x, and both ends' densities divided by P."""
    if low > -high:
        log_p, at_high, at_low = _below(-high, -low)
        return log_p, at_low, at_high
    return _below(low, high)


@inner
def _below(low: float, high: float) -> tuple[float, float, float]:
    if high < -_FAR:
        return _far(low, high)
    p = 0.5 * (math.erfc(-high * _ROOT_HALF) - math.erfc(-low * _ROOT_HALF))
    width = high - low
    if width < 1e-5:  # the difference has lost its digits; the density is nearly constant
        p = width * _DENSITY * math.exp(-0.5 * (0.5 * (low + high)) ** 2)
    if p <= 0.0:
        return -math.inf, 0.0, 0.0
    at_low = _DENSITY * math.exp(-0.5 * low * low) / p
    return math.log(p), at_low, _DENSITY * math.exp(-0.5 * high * high) / p


# The logarithm of a rising factorial, as in likelihoods of counts with Beta and Dirichlet priors.


_FEW = 32
"""Up to this many factors are multiplied, which is faster than two gamma functions."""
_LARGE = 1e8
"""The product of `_FEW` factors up to this size does not overflow."""


@inner
def log_rising(a: float, n: float) -> float:
    """Return log(gamma(a + n) / gamma(a)), for a whole number n and a > 0."""
    if n > _FEW:
        return math.lgamma(a + n) - math.lgamma(a)
    if a > _LARGE:  # gamma functions would lose the digits of their ratio
        return n * math.log(a) + 0.5 * n * (n - 1.0) / a
    out = 1.0
    for k in range(int(n)):
        out *= a + k
    return math.log(out)


@inner
def log_rising_of(a: float, n: float) -> float:
    """Return log(gamma(a + n) / gamma(a)), for any n >= 0 and a > 0."""
    if n == math.floor(n):
        return log_rising(a, n)
    return math.lgamma(a + n) - math.lgamma(a)


# Cholesky factors of small matrices.


@inner
def factorised(matrix: Floats, n: int) -> bool:
    """Turn the leading n rows of a symmetric matrix into its lower Cholesky factor, in place.

    Returns whether the matrix is positive definite; if not, its content is undefined.
    """
    for j in range(n):
        for i in range(j, n):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i > j:
                matrix[i, j] = total / matrix[j, j]
            elif total > 0.0:
                matrix[j, j] = math.sqrt(total)
            else:
                return False
    return True


@inner
def forwards(factor: Floats, n: int, vector: Floats) -> None:
    """Solve L x = v for a lower triangular L, in place."""
    for i in range(n):
        for k in range(i):
            vector[i] -= factor[i, k] * vector[k]
        vector[i] /= factor[i, i]


@inner
def backwards(factor: Floats, n: int, vector: Floats) -> None:
    """Solve L' x = v for a lower triangular L, in place."""
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            vector[i] -= factor[k, i] * vector[k]
        vector[i] /= factor[i, i]


@inner
def inverted(factor: Floats, n: int, out: Floats) -> float:
    """Write the inverse of L L', given L; return the logarithm of the determinant of L L'."""
    log_det = 0.0
    for column in range(n):
        log_det += 2.0 * math.log(factor[column, column])
        for i in range(n):
            out[column, i] = 1.0 if i == column else 0.0
        forwards(factor, n, out[column])
        backwards(factor, n, out[column])
    return log_det


@rowwise("void(float64, float64, float64, float64[:])", "(),(),()->()")
def both_below(h: float, k: float, correlation: float, out: Floats) -> None:
    """Return P(X <= h, Y <= k) for standard normal X and Y."""
    apart = 0.25 * math.erfc(-h * _ROOT_HALF) * math.erfc(-k * _ROOT_HALF)
    out[0] = apart + excess(h, k, correlation)


@rowwise("void(float64[:], float64[:], float64[:], float64, float64[:])", "(a),(a),(a),()->()")
def covariance_within(
    weight: Floats, bound: Floats, sd: Floats, shared: float, out: Floats
) -> None:
    """Return the covariance of two labels that have the same w, h and t (part); ``shared`` is c."""
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
    """Do as `covariance_within`, for two labels with different w, h and t (part)."""
    out[0] = 0.0
    for a in range(len(weight)):
        for b in range(len(other_weight)):
            pair = excess(bound[a], other_bound[b], shared / (sd[a] * other_sd[b]))
            out[0] += weight[a] * other_weight[b] * pair


def step_variance(weight: Floats, bound: Floats) -> Floats:
    r"""Return the variance of an ordered label, with one part for each cutpoint.

    .. math:: \sum_{a, b} w_a w_b\, \Phi(\min(h_a, h_b))\, \Phi(-\max(h_a, h_b))

    Bounds (..., part) are in descending order, because cutpoints are in ascending order.
    """
    below, above = weight * ndtr(bound), weight * ndtr(-bound)
    # The parts before part a have larger bounds: ``before`` sums w_b Phi(-max) over them.
    before = np.cumsum(above, axis=-1) - above
    return np.asarray((below * (above + 2 * before)).sum(axis=-1))


def mixture_variance(weight: Floats, bound: Floats) -> Floats:
    r"""Return the variance p (1 - p) of a binary label, :math:`p = \sum_a w_a \Phi(h_a)`."""
    return np.asarray((weight * ndtr(bound)).sum(axis=-1) * (weight * ndtr(-bound)).sum(axis=-1))
