"""Log-likelihoods of labels, and labels drawn anew, given the middle of each."""

from __future__ import annotations

import math

import numpy as np

from dissensus.kernels.compiled import kernel
from dissensus.kernels.special import interval
from dissensus.kernels.types import Codes, Floats


@kernel
def ordinal_log_likelihood(eta: Floats, code: Codes, cutpoint: Floats) -> Floats:
    """Return log P(label) (draw, label), for codes from 0 and cutpoints (draw, boundary).

    >>> found = ordinal_log_likelihood(np.zeros((1, 2)), np.array([0, 1]), np.array([[-1.0, 0.0]]))
    >>> np.exp(found).round(4)
    array([[0.1587, 0.3413]])
    """
    out = np.empty(eta.shape)
    last = cutpoint.shape[1]
    for s in range(eta.shape[0]):
        for n in range(eta.shape[1]):
            low = -math.inf if code[n] == 0 else cutpoint[s, code[n] - 1] - eta[s, n]
            high = math.inf if code[n] == last else cutpoint[s, code[n]] - eta[s, n]
            out[s, n] = interval(low, high)[0]
    return out


def bernoulli_log_likelihood(eta: Floats, code: Codes) -> Floats:
    """Return log P(label) of labels 0 and 1 whose logit of 1 is eta.

    >>> np.exp(bernoulli_log_likelihood(np.array([0.0, 1000.0]), np.array([1, 1])))
    array([0.5, 1. ])
    """
    return np.asarray(-np.logaddexp(0.0, np.where(code == 1, -eta, eta)))


def gaussian_log_likelihood(eta: Floats, value: Floats, sd: Floats) -> Floats:
    """Return the log density of numbers.

    >>> gaussian_log_likelihood(np.zeros(1), np.zeros(1), np.ones(1)).round(4)
    array([-0.9189])
    """
    z = (value - eta) / sd
    return np.asarray(-0.5 * z * z - np.log(sd) - 0.5 * math.log(2.0 * math.pi))
