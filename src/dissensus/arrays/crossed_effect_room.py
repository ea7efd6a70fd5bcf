"""What the moves of logistic effects write to, and the directions items are moved along."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.arrays.crossed_covariance import effect_precisions
from dissensus.arrays.crossed_data import Crossed, longest
from dissensus.arrays.crossed_parameters import Parameters, correlations
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.special import factorised
from dissensus.kernels.types import Codes, Floats

QUARTER = 0.25
"""The most that a label says about an effect."""


class EffectRoom(NamedTuple):
    """The prior of items' effects, by design, and what is written to while it is computed."""

    second: Floats
    """(design, place, place): sums of products of effects."""
    precision: Floats
    """(design, place, place): of the prior."""
    log_det: Floats
    """(design): of its covariance."""
    direction: Floats
    """(design, place, place): rows along which items are moved."""
    matrix: Floats
    cells: Floats
    """(4, place + 1): of one item, see `_gather`."""
    others: Floats
    """(label): odds of the other side, of one item or one annotator."""


def effect_room(data: Crossed) -> EffectRoom:
    """Make room."""
    n, p = data.designs.pool.shape
    shape = (n, p, p)
    return EffectRoom(
        np.empty(shape), np.empty(shape), np.empty(n), np.empty(shape), np.empty((p, p)),
        np.empty((4, p + 1)), np.empty(longest(data)),
    )  # fmt: skip


def directions(data: Crossed, par: Parameters, room: EffectRoom) -> None:
    """Write, by design, the prior's precision and directions along which an item moves freely.

    Effects of one item in several pools are correlated. Along the columns of a factor of about
    their posterior covariance, one number after another is as good as all at once.
    """
    designs = data.designs
    _directions(
        designs.n_pools, designs.pool, designs.n_labels, par.sd_item, correlations(par),
        room.matrix, room.precision, room.log_det, room.direction,
    )  # fmt: skip


@kernel
def _directions(
    n_pools: Codes, pool: Codes, n_labels: Floats, sd_item: Floats,
    correlation: Floats | None, matrix: Floats, precision: Floats, log_det: Floats,
    direction: Floats,
) -> None:  # fmt: skip
    effect_precisions(n_pools, pool, sd_item, correlation, matrix, precision, log_det)
    for d in range(len(n_pools)):
        if correlation is None:
            direction[d, 0, 0] = 1.0 / math.sqrt(precision[d, 0, 0] + QUARTER * n_labels[d, 0])
        else:
            _along_columns(n_pools[d], n_labels[d], precision[d], matrix, direction[d])


@inner
def _along_columns(
    n: int, n_labels: Floats, precision: Floats, matrix: Floats, direction: Floats
) -> None:
    for i in range(n):
        for j in range(n):
            matrix[i, j] = precision[i, j]
        matrix[i, i] += QUARTER * n_labels[i]
    factorised(matrix, n)
    for k in range(n):  # L' x = e_k: covariances of the columns add up to the inverse
        for i in range(direction.shape[1]):
            direction[k, i] = 1.0 if i == k else 0.0
        for i in range(k, -1, -1):
            for j in range(i + 1, k + 1):
                direction[k, i] -= matrix[j, i] * direction[k, j]
            direction[k, i] /= matrix[i, i]
