"""Which label it was, where a new annotator chose one that nobody had named for the item."""

from __future__ import annotations

import numpy as np

from dissensus._replication.replicates import place_within
from dissensus.data.plausibility import REMAINDER, Space
from dissensus.kernels.types import Ints


def with_names(codes: Ints, item: Ints, space: Space, start: int) -> Ints:
    r"""Draw which label it was where an annotator chose one of those that nobody named.

    Given a draw's masses, the remainder's is split by a symmetric Dirichlet distribution: those
    who choose from it draw from Pólya's urn. The t-th takes the label of an earlier one with
    probability :math:`t / (t + aU)`, else any of the U.
    """
    version, row = np.nonzero(codes == REMAINDER)
    if not len(row):
        return codes
    rng = np.random.default_rng((20_05, space.seed, start))
    unnamed = space.sizes[item[row], -1]
    turn = place_within(version * len(space.codes) + item[row])
    first = np.arange(len(row)) - turn  # remainders of an item stand side by side, at its end
    weight = space.concentration * unnamed
    chance = np.zeros(len(row)) if np.isinf(space.concentration) else turn / (turn + weight)
    copies = rng.random(len(row)) < chance
    member = (rng.random(len(row)) * unnamed).astype(np.int64)
    copied = first + (rng.random(len(row)) * turn).astype(np.int64)
    for now in range(1, int(turn.max()) + 1):
        some = np.flatnonzero(copies & (turn == now))
        member[some] = member[copied[some]]
    out = codes.copy()
    out[version, row] = beside(space.codes[:, :-1], len(space.labels))[item[row], member]
    return out


def beside(named: Ints, n_labels: int) -> Ints:
    """List each item's labels that nobody named, in order: (item, place).

    Examples
    --------
    >>> beside(np.array([[1, -1], [0, 2]]), 4).tolist()
    [[0, 2, 3, 1], [1, 3, 0, 2]]
    """
    used = np.zeros((len(named), n_labels + 1), dtype=bool)
    np.put_along_axis(used, np.where(named < 0, n_labels, named), True, axis=1)
    return np.argsort(used[:, :n_labels], axis=1, kind="stable")
