"""Drawing weights over items (or clusters), and all totals as one matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import batched
from typing import Any

import numpy as np
from scipy import sparse

from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.weighted import weighted_sums
from dissensus.statistics._sums import Matrix, Sums

_CELLS = 400_000
"""Weights and totals held at a time."""

_AHEAD = 16
"""Blocks drawn before the first of them is used: all at once might not fit into memory."""

_FEW = 64
"""With fewer units than this it is not worth looking for equal ones."""


_SMALLEST = 1e-300
"""What is divided by less might pass the range of floats."""


def over_units(sums: Sums, unit: Ints, n_units: int) -> Sums:
    """Add up the sums of the items of each unit, such as the images of a patient."""
    shape = (n_units, len(unit))
    gather = sparse.csr_array((np.ones(len(unit)), (unit, np.arange(len(unit)))), shape=shape)
    parts = tuple(_product(gather, part) for part in sums.parts)
    return replace(sums, parts=parts)


def _product(gather: sparse.csr_array, part: Matrix) -> Matrix:
    found = gather @ part
    return found if isinstance(found, np.ndarray) else sparse.csr_array(found)


def patterns(parts: tuple[Matrix, ...]) -> tuple[Ints, Ints]:
    """Return the first unit of each pattern of sums, and how many units share it.

    Units with equal sums need no weights of their own: Dirichlet weights add up to Dirichlet
    weights, so that one Gamma variate with their number for its shape stands for all of them,
    exactly. Two random projections tell patterns apart.

    Examples
    --------
    >>> first, size = patterns((np.array([1.0, 2.0, 1.0]),))
    >>> first.tolist(), size.tolist()
    ([0, 1], [2, 1])
    """
    rng = np.random.default_rng(20_05)
    key = np.zeros((parts[0].shape[0], 2))
    for part in parts:
        columns = part.reshape(len(part), -1) if isinstance(part, np.ndarray) else part
        key += columns @ (rng.normal(size=(columns.shape[1], 2)) / _size(columns)[:, None])
    seen = np.ascontiguousarray(key).view(np.complex128).ravel()
    _, first, size = np.unique(seen, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order].astype(np.int64), size[order].astype(np.int64)


def _size(part: Matrix) -> Floats:
    """Return the scale of each sum: beside a large one, a small one would be rounded off.

    The largest, since squares pass the range of floats long before their roots do.
    """
    most: Any = np.abs(part).max(axis=0) if isinstance(part, np.ndarray) else _largest(part)
    size = np.asarray(most)
    return np.where(size > 0, np.maximum(size, _SMALLEST), 1.0)


def _largest(part: Any) -> Floats:
    """Do the same for a sparse matrix, whose methods have no types."""
    return np.asarray(abs(part).max(axis=0).toarray()).ravel()


def replicated(sums: Sums, rng: np.random.Generator, draws: int) -> Iterator[Floats]:
    """Yield blocks of totals (draw, sum) under Dirichlet(1, ..., 1) weights times the units."""
    parts = sums.parts
    n_units = parts[0].shape[0]
    size = np.ones(n_units, dtype=np.int64)
    if n_units >= _FEW:
        first, found = patterns(parts)
        if 2 * len(first) <= n_units:
            parts, size = tuple(part[first] for part in parts), found
    parts = _side_by_side(parts)
    widest = max(len(size), *(part.shape[1] for part in parts))
    jobs = rng.spawn(-(-draws // _block(widest, draws)))
    share = np.diff(np.linspace(0, draws, len(jobs) + 1).astype(np.int64))
    # A stream for each block: the draws do not depend on how many threads there are.
    work = partial(_totals, parts=parts, size=size)
    with ThreadPoolExecutor() as threads:
        for some in batched(zip(jobs, share.tolist(), strict=True), _AHEAD):
            yield from threads.map(work, *zip(*some, strict=True))


def _block(widest: int, draws: int) -> int:
    return max(1, min(draws, _CELLS // widest))


def _totals(rng: np.random.Generator, draws: int, parts: tuple[Matrix, ...], size: Ints) -> Floats:
    """Return the totals of one block (draw, sum)."""
    shape = (draws, len(size))
    ones = bool((size == 1).all())
    weights = rng.standard_exponential(shape) if ones else rng.standard_gamma(size, shape)
    found = np.concatenate([_weighted(weights, part) for part in parts], axis=1)
    return np.asarray(found * (size.sum() / weights.sum(axis=1, keepdims=True)))


def _side_by_side(parts: tuple[Matrix, ...]) -> tuple[Matrix, ...]:
    """Join arrays that stand next to each other, so that there are fewer products."""
    out: list[Matrix] = []
    for part in parts:
        if not isinstance(part, np.ndarray):
            out.append(part)
            continue
        tall = part.reshape(len(part), -1)
        if out and isinstance(out[-1], np.ndarray):
            out[-1] = np.concatenate([out[-1], tall], axis=1)
        else:
            out.append(np.ascontiguousarray(tall))
    return tuple(out)


def _weighted(weights: Floats, part: Matrix) -> Floats:
    if isinstance(part, np.ndarray):
        return weighted_sums(weights, part)
    return np.asarray((part.T @ weights.T).T)
