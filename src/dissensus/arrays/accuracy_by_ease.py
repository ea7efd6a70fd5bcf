"""From accuracies over all items to those on items of one ease: of annotators on average."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner, kernel

Floats = npt.NDArray[np.float64]


@inner
def _right(eta: float) -> float:
    return 1.0 / (1.0 + math.exp(-eta)) if eta > 0.0 else math.exp(eta) / (1.0 + math.exp(eta))


@inner
def _skill(accuracy: float, spread: float, ease: Floats) -> float:
    """Find the logit that gives an accuracy over all items: Newton's steps, kept in bounds."""
    target = min(max(accuracy, 1e-12), 1.0 - 1e-12)
    plain, farthest = math.log(target / (1.0 - target)), 0.0
    for q in range(len(ease)):
        farthest = max(farthest, abs(ease[q]))
    reach = spread * farthest
    low, high = plain - reach, plain + reach
    eta = plain * math.sqrt(1.0 + 0.35 * spread * spread)  # about right, after a probit
    for _ in range(60):
        eta = min(max(eta, low), high)
        value = slope = 0.0
        for q in range(len(ease)):
            p = _right(eta + spread * ease[q])
            value += p / len(ease)
            slope += p * (1.0 - p) / len(ease)
        off = target - value
        low, high = (eta, high) if off > 0.0 else (low, eta)
        if abs(off) < 1e-12 or high - low < 1e-12:
            break
        new = eta + off / slope if slope > 0.0 else math.inf
        eta = new if low < new < high else 0.5 * (low + high)
    return eta


@kernel
def accuracy_by_ease(accuracy: Floats, weight: Floats, spread: Floats, ease: Floats) -> Floats:
    r"""Return how often a label is right on items of each ease (draw, ease).

    Parameters
    ----------
    accuracy : array (draw, annotator)
        Over items of all kinds, equally many of each.
    weight : array (annotator)
        The share of the labels that is each annotator's.
    spread : array (draw)
        How much items differ: :math:`p_{jq} = \operatorname{logistic}(a_j + s e_q)`.
    ease : array (ease)

    Examples
    --------
    >>> ease = np.array([-1.0, 1.0])
    >>> accuracy_by_ease(np.array([[0.75]]), np.ones(1), np.array([2.0]), ease).round(3)
    array([[0.517, 0.983]])
    """
    out = np.zeros((len(accuracy), len(ease)))
    for draw in range(len(accuracy)):
        for who in range(len(weight)):
            if weight[who] > 0.0:
                skill = _skill(accuracy[draw, who], spread[draw], ease)
                for q in range(len(ease)):
                    out[draw, q] += weight[who] * _right(skill + spread[draw] * ease[q])
    return out
