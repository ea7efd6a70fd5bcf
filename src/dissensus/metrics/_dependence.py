r"""Labels that are given together, or that exclude each other, in draws of sets.

Fits by label know nothing of other labels. With :math:`p_k` the probability that label k is in the
set T of an item, drawn alone, sets have in a draw the probability

.. math::

    P(T) &\propto r(T) \prod_{k \in T} p_k \prod_{k \notin T} (1 - p_k) \\
    r(T) &= \frac{c_T / q_T + a}{n + a}, \qquad
        q_T = \prod_{k \in T} f_k \prod_{k \notin T} (1 - f_k)

where :math:`c_T` of n answers are the set T, and :math:`f_k` contain label k: labels are given
together in the sets of items as often as in answers. The shares of answers have the prior
Dirichlet(:math:`a\,q`), whose weight a maximises the Dirichlet-multinomial likelihood of the
counts. If answers do not show that labels depend on each other, r is 1.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, gammaln, logit

from dissensus.kernels.types import Flags, Floats

MOST: Final = 500
"""Most different sets whose factor is stored: the most frequent ones. Others have a / (n + a)."""
_SHOWN: Final = 3.0
"""Gain of log likelihood from which on answers show a dependence."""
_LARGEST: Final = 1e6
"""Largest weight of the prior: labels are independent."""
_FARTHEST: Final = 3.0
"""Largest common shift of log odds in a draw."""


class Dependence(NamedTuple):
    """The factor r of sets."""

    sets: Flags
    """(set, label)"""
    log_factor: Floats
    """(set): log of r - rest."""
    log_rest: float
    """Log of a / (n + a), which is r of sets that nobody gave."""


def dependence(answers: Flags) -> Dependence | None:
    """Return how labels depend on each other in answers (answer, label); None if they do not.

    Examples
    --------
    >>> found = dependence(np.eye(3, dtype=bool)[[0, 1, 2] * 20])  # one label each
    >>> found.sets.sum(axis=1).tolist(), found.log_rest < -3
    ([1, 1, 1], True)
    >>> dependence(np.random.default_rng(1).random((100, 3)) < 0.5) is None
    True
    """
    n, n_labels = answers.shape
    if n == 0 or n_labels < 2:
        return None
    sets, count = np.unique(answers, axis=0, return_counts=True)
    share = (answers.sum(axis=0) + 0.5) / (n + 1.0)
    log_alone = np.log1p(-share).sum() + sets @ logit(share)

    def loss(log_weight: float) -> float:
        weight = np.exp(log_weight)
        prior = weight * np.exp(log_alone)
        each = gammaln(count + prior) - gammaln(prior)
        return float(-each.sum() - gammaln(weight) + gammaln(n + weight))

    ends = (np.log(0.1), np.log(_LARGEST))
    best = minimize_scalar(loss, bounds=ends, method="bounded")
    if loss(ends[1]) - best.fun < _SHOWN:
        return None
    weight = float(np.exp(best.x))
    order = np.argsort(-count, kind="stable")[:MOST]
    log_factor = np.log(count[order]) - log_alone[order] - np.log(n + weight)
    return Dependence(sets[order], log_factor, float(np.log(weight / (n + weight))))


def chances(member: Flags, claim: Flags | None = None) -> Floats:
    """Return the probability that a label is in the set of an item, in each draw, from draws.

    ``member`` (chain, draw, item). An item's probability is its share of draws. Log odds have a
    common shift in each draw, whose variance is the part of the variance of the number of members
    that independent items do not explain: the uncertainty of the prior. Items that a system
    ``claim`` s have another shift than the rest.
    """
    n = member.shape[0] * member.shape[1]
    share = member.mean(axis=(0, 1)).clip(0.5 / n, 1 - 0.5 / n)
    out = np.broadcast_to(logit(share), member.shape).copy()
    for group in (None,) if claim is None else (claim, ~claim):
        some = slice(None) if group is None else np.flatnonzero(group)
        alone = float((share * (1 - share))[some].sum())
        total = member[..., some].sum(axis=-1)
        spread = float(total.var())
        if alone == 0.0 or spread <= alone:
            continue
        shift = np.sqrt(1 - alone / spread) * (total - total.mean()) / alone
        out[..., some] += shift.clip(-_FARTHEST, _FARTHEST)[..., None]
    return np.asarray(expit(out))
