r"""How much oftener two correlated normal numbers are both small than two independent ones.

.. math:: \Phi_2(h, k; \rho) - \Phi(h)\,\Phi(k) = \int_0^\rho \varphi_2(h, k; r)\,dr

(Plackett 1954). The integrand is positive, so that nothing cancels, in the tails neither. It is
integrated in two parts. Up to ``_TURN`` with :math:`r = \sin\theta`, which takes the singularity at
1 away. Beyond, with :math:`x = \sqrt{1 - r^2}`, where

.. math:: 2\pi\,\varphi_2(h, k; r)\,|dr| =
    e^{-(h - k)^2 / (2 x^2)}\; \frac{e^{-h k / (1 + r)}}{r}\,dx:

the first factor rises where x is about :math:`|h - k|`, however small that is, and is followed in
panels whose ends are in a fixed ratio; the second is smooth.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.compiled import inner

_TURN = 0.9
"""The correlation where the second part begins."""
_WIDEST = math.sqrt(1.0 - _TURN**2)
_REACH = 9.0
"""So many times smaller than the difference of the bounds, x adds e^-40 of the whole."""
_RATIO = 3.0
"""Of the ends of a panel."""
_SAME = 1e-10
"""So close to each other, two bounds are one: what lies below in x adds no more than this."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(18)
_FEW_NODES, _FEW_WEIGHTS = np.polynomial.legendre.leggauss(12)


@inner
def excess(h: float, k: float, correlation: float) -> float:
    r"""Return :math:`P(X \le h, Y \le k) - P(X \le h) P(Y \le k)`, both standard normal.

    Right to about 1e-10 of itself for bounds within 8 of the mean, whatever the correlation.

    Examples
    --------
    Both below the mean, at correlation 1/2: one third rather than one quarter.

    >>> round(excess(0.0, 0.0, 0.5), 12), round(excess(0.0, 0.0, -1.0), 12)
    (0.083333333333, -0.25)
    """
    # Turned round, a negative correlation is a positive one.
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
    """Integrate from correlation 0 on, times 2 pi."""
    half = 0.5 * math.asin(correlation)
    apart, product = 0.5 * (h - k) ** 2, h * k
    total = 0.0
    for i in range(len(_NODES)):
        r = math.sin(half * (1.0 + _NODES[i]))
        total += _WEIGHTS[i] * math.exp(-apart / (1.0 - r * r) - product / (1.0 + r))
    return half * total


@inner
def _near_identity(h: float, k: float, low: float) -> float:
    """Integrate from x = low to the turn, times 2 pi."""
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
    """Integrate over one panel of x, ``apart`` being half the squared difference of the bounds."""
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    total = 0.0
    for i in range(len(_FEW_NODES)):
        square = (middle + half * _FEW_NODES[i]) ** 2
        r = math.sqrt(1.0 - square)
        total += _FEW_WEIGHTS[i] * math.exp(-apart / square - product / (1.0 + r)) / r
    return half * total
