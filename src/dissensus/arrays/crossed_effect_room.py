"""What the moves of logistic effects write to, and the directions items are moved along."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_covariance import effect_precisions
from dissensus.arrays.crossed_data import Crossed, longest
from dissensus.arrays.crossed_parameters import Parameters
from dissensus.arrays.small_matrices import factorised

Floats = npt.NDArray[np.float64]


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
    inverse: Floats
    cells: Floats
    """(4, place + 1): of one item, see `_gather`."""
    others: Floats
    """(label): odds of the other side, of one item or one annotator."""


@njit(cache=True)
def effect_room(data: Crossed) -> EffectRoom:
    """Make room."""
    n, p = data.designs.pool.shape
    shape = (n, p, p)
    return EffectRoom(
        np.empty(shape), np.empty(shape), np.empty(n), np.empty(shape), np.empty((p, p)),
        np.empty((p, p)),
        np.empty((4, p + 1)), np.empty(longest(data)),
    )  # fmt: skip


@njit(cache=True)
def directions(data: Crossed, par: Parameters, room: EffectRoom) -> None:
    """Write, by design, the prior's precision and directions along which an item moves freely.

    Effects of one item in several pools are correlated. Along the columns of a factor of about
    their posterior covariance, one number after another is as good as all at once.
    """
    designs = data.designs
    effect_precisions(designs, par, room.matrix, room.precision, room.log_det)
    for d in range(len(designs.n_items)):
        n = designs.n_pools[d]
        room.matrix[:] = room.precision[d]
        for k in range(n):
            room.matrix[k, k] += QUARTER * designs.n_labels[d, k]
        factorised(room.matrix, n)
        for k in range(n):  # L' x = e_k: covariances of the columns add up to the inverse
            room.direction[d, k] = 0.0
            room.direction[d, k, k] = 1.0
            for i in range(k, -1, -1):
                for j in range(i + 1, k + 1):
                    room.direction[d, k, i] -= room.matrix[j, i] * room.direction[d, k, j]
                room.direction[d, k, i] /= room.matrix[i, i]
