"""The draws of a replication study, as plain arrays: who labels what, and which label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from dissensus.kernels.types import Flags, Floats, Ints

_NO_PLACE: Final = -1


class Rows(NamedTuple):
    """One row per label: which item, which annotator (numbered through all pools), which pool."""

    item: Ints
    annotator: Ints
    pool: Ints


def seen_by(n_items: int, n_pools: int, overlap: float, rng: np.random.Generator) -> Flags:
    """Draw which pool sees which item (item, pool): a share sees all pools, the others one each.

    The others are dealt out in turn, so that no two pools differ by more than one of them.
    """
    seen = np.zeros((n_items, n_pools), dtype=bool)
    order = rng.permutation(n_items)
    n_shared = round(overlap * n_items)
    seen[order[:n_shared]] = True
    alone = order[n_shared:]
    seen[alone, np.arange(len(alone)) % n_pools] = True
    return seen


def who_labels(
    seen: Flags,
    n_annotators: Sequence[int],
    labels_per_item: Sequence[int],
    rng: np.random.Generator,
) -> Rows:
    """Draw the annotators of each item, without replacement, from each pool that sees it."""
    parts = []
    first = 0
    for pool, (size, each) in enumerate(zip(n_annotators, labels_per_item, strict=True)):
        items = np.flatnonzero(seen[:, pool])
        chosen = first + subsets(len(items), size, each, rng)
        rows = Rows(np.repeat(items, each), chosen.ravel(), np.full(chosen.size, pool))
        parts.append(rows)
        first += size
    item, annotator, pool_of = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(item, kind="stable")
    return Rows(item[order], annotator[order], pool_of[order])


def subsets(n_rows: int, size: int, each: int, rng: np.random.Generator) -> Ints:
    """Draw for each row a set of ``each`` numbers below ``size``: (row, each), in order.

    Floyd's algorithm, on all rows at once: the t-th step draws a number up to
    ``size - each + t`` and takes this bound itself where the number is there already. Every set
    is equally likely, and the cost is ``each`` squared a row, however large the pool.
    """
    if each == size:
        return np.tile(np.arange(size), (n_rows, 1))
    chosen = np.full((n_rows, each), _NO_PLACE)
    for step, bound in enumerate(range(size - each, size)):
        drawn = rng.integers(bound + 1, size=n_rows)
        there = (chosen[:, :step] == drawn[:, None]).any(axis=1)
        chosen[:, step] = np.where(there, bound, drawn)
    chosen.sort(axis=1)
    return chosen


def item_effects(
    n_items: int, sigma: Floats, correlation: Floats, rng: np.random.Generator
) -> Floats:
    """Draw correlated effects (item, pool).

    By the eigenvectors, because a correlation of 1 has no Cholesky factor that NumPy would give.
    """
    value, vector = np.linalg.eigh(correlation)
    root = vector * np.sqrt(np.maximum(value, 0))
    return np.asarray(rng.standard_normal((n_items, len(sigma))) @ root.T * sigma)


def numbers(eta: Floats, sigma: Floats, rng: np.random.Generator) -> Floats:
    """Draw a number around each predictor."""
    return eta + sigma * rng.standard_normal(len(eta))


def yes(eta: Floats, rng: np.random.Generator) -> Ints:
    """Draw 1 with the probability whose logit is the predictor, else 0."""
    return (eta + rng.logistic(size=len(eta)) > 0).astype(np.int64)


def grades(eta: Floats, cutpoint: Floats, rng: np.random.Generator) -> Ints:
    """Draw the number of cutpoints below a normal number around each predictor."""
    return np.searchsorted(cutpoint, eta + rng.standard_normal(len(eta)))
