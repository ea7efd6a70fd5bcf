"""Integration over three shares that sum to 1: trapezoidal sums on the scale of logits.

A density that is analytic and falls off on both sides is summed with an error that falls faster
than any power of the step; so are powers of shares that have no bound at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from reference.make.summaries import Statistics, of_grid
from scipy import special

STEP = 0.1


def shares(
    log_density: Callable[[Any], Any], concentration: float, step: float = STEP
) -> list[Statistics]:
    """Summarise the three shares; the density (..., 3) is against a Dirichlet distribution's.

    The prior is symmetric with this concentration, the function the logarithm of the likelihood.
    """
    reach = 25.0 / concentration
    t = np.arange(-reach, 40.0, step)
    s = np.arange(-reach, reach, step)
    out = []
    for own in range(3):
        others = [k for k in range(3) if k != own]
        mass = np.empty(len(t))
        peak = -np.inf
        for n, at in enumerate(t):
            logs = np.empty((len(s), 3))
            logs[:, own] = special.log_expit(at)
            logs[:, others[0]] = special.log_expit(-at) + special.log_expit(s)
            logs[:, others[1]] = special.log_expit(-at) + special.log_expit(-s)
            # d share = share (1 - share) dt, and with what is left of it so for the second.
            change = logs[:, own] + special.log_expit(-at)
            change = change + special.log_expit(-at) + special.log_expit(s) + special.log_expit(-s)
            log = (concentration - 1) * logs.sum(axis=1) + change + log_density(logs)
            mass[n] = special.logsumexp(log)
            peak = max(peak, mass[n])
        out.append(of_grid(special.expit, t, np.exp(mass - peak)))
    return out
