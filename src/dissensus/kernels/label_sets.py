"""Draws of sets of labels that depend on each other, see `dissensus.metrics._dependence`."""

from __future__ import annotations

import math

import numpy as np

from dissensus.kernels.compiled import kernel
from dissensus.kernels.types import Flags, Floats

_LEAST = 1e-12
"""Probabilities are at least this, and at most 1 less this."""


@kernel
def draw_sets(
    p: Floats, sets: Flags, log_factor: Floats, log_rest: float, first: Floats, other: Floats,
    out: Flags,
) -> None:  # fmt: skip
    """Write which labels are in the set of each item, ``out`` (draw, item, label).

    ``p`` (draw, item, label) are the probabilities of labels alone. The random numbers ``first``
    (draw, item) choose one of the sets, or the rest, where labels are drawn alone by ``other``
    (draw, item, label).
    """
    n_sets, n_labels = sets.shape
    odds, weight = np.empty(n_labels), np.empty(n_sets)
    for draw in range(p.shape[0]):
        for item in range(p.shape[1]):
            none = 0.0
            for k in range(n_labels):
                one = min(max(p[draw, item, k], _LEAST), 1.0 - _LEAST)
                none += math.log1p(-one)
                odds[k] = math.log(one / (1.0 - one))
            top = log_rest
            for s in range(n_sets):
                weight[s] = none + log_factor[s]
                for k in range(n_labels):
                    if sets[s, k]:
                        weight[s] += odds[k]
                top = max(top, weight[s])
            total = math.exp(log_rest - top)
            for s in range(n_sets):
                weight[s] = math.exp(weight[s] - top)
                total += weight[s]
            left = first[draw, item] * total
            chosen = 0
            while chosen < n_sets and left >= weight[chosen]:
                left -= weight[chosen]
                chosen += 1
            for k in range(n_labels):
                if chosen < n_sets:
                    out[draw, item, k] = sets[chosen, k]
                else:
                    out[draw, item, k] = other[draw, item, k] < p[draw, item, k]
