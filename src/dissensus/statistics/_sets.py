"""Distances between answers that are sets of labels."""

from __future__ import annotations

from typing import Final

import numpy as np
import xarray as xr

from dissensus.kernels.distances import distance_of_sets
from dissensus.kernels.grouped import Grouped, label_shares
from dissensus.kernels.labels import label_pairs
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.statistics._distances import Disagreement, shares_matrix

SET_DISTANCES: Final = ("jaccard", "masi")
_ENTRIES: Final = 4_000_000
"""Maximum number of distances in memory at a time."""


def of_sets(rows: Grouped, annotations: xr.Dataset, name: str) -> Disagreement:
    """Return a `Disagreement` by the distance of sets.

    Distances within items are computed for the pairs of answers that occur in an item. Distances
    across items are computed between all distinct answers, in blocks.
    """
    codes = annotations["label_code"].to_numpy()
    member: Flags = annotations["member"].to_numpy()
    number, size = member.astype(np.float64), member.sum(axis=1).astype(np.float64)
    n = len(member)
    shares = label_shares(rows, codes, n)
    pairs = label_pairs(rows, shares, codes, n, np.ones(len(rows.n_annotators)))
    cell, place = np.unique(pairs.cell, return_inverse=True)
    amount = pairs.amount * _of_pairs(member, size, cell, name)[place]
    item = np.repeat(np.arange(len(rows.n_annotators)), np.diff(pairs.start))
    within = np.bincount(item, amount, len(rows.n_annotators))
    own = np.bincount(item, np.maximum(-amount, 0.0), len(rows.n_annotators))
    step = max(1, _ENTRIES // n)

    def cross(left: Floats, right: Floats) -> Floats:
        out = np.zeros(np.broadcast_shapes(left.shape[:-1], right.shape[:-1]))
        for start in range(0, n, step):
            part = slice(start, start + step)
            distance = distance_of_sets(number[part] @ number.T, size[part, None], size, name)
            out = out + ((right @ distance.T) * left[..., part]).sum(axis=-1)
        return np.asarray(out)

    return Disagreement(within, own, shares_matrix(shares, n), cross)


def _of_pairs(member: Flags, size: Floats, cell: Ints, name: str) -> Floats:
    """Return the distance of each pair of answers; answers a and b of n have the cell a n + b."""
    left, right = np.divmod(cell, len(member))
    out = np.empty(len(cell))
    step = max(1, _ENTRIES // member.shape[1])
    for start in range(0, len(cell), step):
        a, b = left[start : start + step], right[start : start + step]
        common = (member[a] & member[b]).sum(axis=1).astype(np.float64)
        out[start : start + step] = distance_of_sets(common, size[a], size[b], name)
    return out
