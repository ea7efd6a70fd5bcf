"""Weights of the Bayesian bootstrap, over items or clusters of items."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from itertools import batched
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import sparse

from dissensus.data.rows import voices_per
from dissensus.data.weights import by_item
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM
from dissensus.errors import ArgumentError, shown, warn_caller
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.kernels.weighted import weighted_sums
from dissensus.statistics._read import read
from dissensus.statistics._sums import Matrix, Sums

CELLS: Final = 400_000
"""Number of weights and totals in memory at a time."""

_AHEAD: Final = 16
"""Number of blocks drawn in advance; not all blocks, since these may not fit into memory."""

_FEW: Final = 64
"""With fewer units than this, equal units are not merged."""

_SAME: Final[ContextVar[bool]] = ContextVar("same weights", default=False)
"""See `same_weights`."""
_SMALLEST: Final = 1e-300
"""Division by a smaller number could overflow."""


@contextmanager
def same_weights() -> Iterator[None]:
    """Make weights depend only on the seed and on the numbers of units and draws.

    Outside this context equal units are merged, and the size of blocks depends on the statistic.
    """
    token = _SAME.set(True)
    try:
        yield
    finally:
        _SAME.reset(token)


def over_units(sums: Sums, unit: Ints, n_units: int) -> Sums:
    """Return sums by unit: the sums over its items, such as the images of a patient."""
    shape = (n_units, len(unit))
    gather = sparse.csr_array((np.ones(len(unit)), (unit, np.arange(len(unit)))), shape=shape)
    products = (gather @ part for part in sums.parts)
    parts = (p if isinstance(p, np.ndarray) else sparse.csr_array(p) for p in products)
    return replace(sums, parts=tuple(parts))


def patterns(parts: tuple[Matrix, ...]) -> tuple[Ints, Ints]:
    """Return the first unit of each pattern, and the number of units with the pattern.

    Units with equal sums have the same pattern. Their weights are exponential variables before they
    are divided by the sum of all weights. So the total weight of a pattern is exactly a gamma
    variable whose shape is the number of units. Two random projections identify the patterns.
    """
    rng = np.random.default_rng(20_05)
    key = np.zeros((parts[0].shape[0], 2))
    for part in parts:
        columns = part.reshape(len(part), -1) if isinstance(part, np.ndarray) else part
        key += columns @ (rng.normal(size=(columns.shape[1], 2)) / _scale(columns)[:, None])
    joined = np.ascontiguousarray(key).view(np.complex128).ravel()
    _, first, size = np.unique(joined, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order].astype(np.int64), size[order].astype(np.int64)


def _scale(part: Any) -> Floats:
    """Return the largest absolute value of each sum (column), by which the sums are divided.

    Otherwise small sums would be lost in rounding. A root mean square is not used, as it could
    overflow.
    """
    largest = abs(part).max(axis=0)
    dense = largest if isinstance(part, np.ndarray) else largest.toarray().ravel()
    return np.where(dense > 0, np.maximum(dense, _SMALLEST), 1.0)


def replicated(sums: Sums, rng: np.random.Generator, draws: int) -> Iterator[Floats]:
    """Yield blocks of totals (draw, sum) for Dirichlet(1, ..., 1) weights times the unit count."""
    parts = sums.parts
    n_units = parts[0].shape[0]
    size = np.ones(n_units, dtype=np.int64)
    same = _SAME.get()
    if n_units >= _FEW and not same:
        first, counts = patterns(parts)
        if 2 * len(first) <= n_units:
            parts, size = tuple(part[first] for part in parts), counts
    parts = _side_by_side(parts)
    columns = 0 if same else max(part.shape[1] for part in parts)
    widest = max(len(size), columns)
    jobs = rng.spawn(-(-draws // max(1, min(draws, CELLS // widest))))
    share = np.diff(np.linspace(0, draws, len(jobs) + 1).astype(np.int64))
    # Each block has its own random stream, so that draws do not depend on the number of threads.
    work = partial(_totals, parts=parts, size=size)
    with ThreadPoolExecutor() as threads:
        for batch in batched(zip(jobs, share.tolist(), strict=True), _AHEAD):
            yield from threads.map(work, *zip(*batch, strict=True))


def _totals(rng: np.random.Generator, draws: int, parts: tuple[Matrix, ...], size: Ints) -> Floats:
    """Return the totals of one block (draw, sum); ``size`` is the number of units by pattern."""
    shape = (draws, len(size))
    single = bool((size == 1).all())
    weights = rng.standard_exponential(shape) if single else rng.standard_gamma(size, shape)
    products = [
        weighted_sums(weights, part)
        if isinstance(part, np.ndarray)
        else np.asarray((part.T @ weights.T).T)
        for part in parts
    ]
    totals = np.concatenate(products, axis=1)
    return np.asarray(totals * (size.sum() / weights.sum(axis=1, keepdims=True)))


def _side_by_side(parts: tuple[Matrix, ...]) -> tuple[Matrix, ...]:
    """Concatenate adjacent arrays to reduce the number of matrix products."""
    out: list[Matrix] = []
    for part in parts:
        if not isinstance(part, np.ndarray):
            out.append(part)
            continue
        columns = part.reshape(len(part), -1)
        if out and isinstance(out[-1], np.ndarray):
            out[-1] = np.concatenate([out[-1], columns], axis=1)
        else:
            out.append(np.ascontiguousarray(columns))
    return tuple(out)


# The sampled units (items or clusters), and the number of units on which a value depends.


FEW_UNITS: Final = 20
"""With fewer items (or clusters) the intervals of the bootstrap are known to be too narrow."""
ARE_FEW: Final = "are few:"
OF_FEW_ITEMS: Final = r"depends on [\d,]+ of"
OF_FEW: Final = "depends on fewer than"
"""Words of the three warnings below, by which callers recognise and ignore them."""


class Units(NamedTuple):
    """The units that were sampled."""

    of_item: Ints
    """(item): code of the item's unit."""
    n: int
    plural: str
    """"items" or "clusters"."""

    @property
    def are_items(self) -> bool:
        """Whether every unit is one item."""
        return self.n == len(self.of_item)

    def counted(self, n: int) -> str:
        """Return a number of units in words."""
        return f"{n} {self.plural}" if n != 1 else f"1 {self.plural[:-1]}"

    @property
    def too_few(self) -> str:
        """The consequence of few units, in words.

        No model has effects of clusters. So a model is suggested only if the units are items.
        """
        other = ", or fit a model" if self.plural == "items" else ""
        return (
            "the intervals of the bootstrap are too narrow. Use them as a lower bound of the "
            f"uncertainty{other}."
        )


def units_of(annotations: Any, cluster: Any) -> Units:
    """Return the units, or raise if an item has no unit or there are fewer than two units."""
    annotations = read(annotations, rankings=True, sets=True)
    units = _units(annotations, cluster)
    if units.n < 2:
        raise ArgumentError(
            "annotations",
            expected="a sample of at least two items or clusters",
            found=str(units.n),
        )
    return units


def _units(annotations: xr.Dataset, cluster: Any) -> Units:
    items = annotations[ITEM].to_numpy()
    named = "cluster_code" in annotations
    if isinstance(cluster, str) and cluster not in ((ITEM, CLUSTER) if named else (ITEM,)):
        raise ArgumentError(
            "cluster",
            expected=f'None, "{ITEM}", or the cluster of each item'
            + (f', or "{CLUSTER}"' if named else ""),
            found=repr(cluster),
            hint="Name the column of clusters with cluster= when reading annotations",
        )
    if (cluster is None and not named) or (isinstance(cluster, str) and cluster == ITEM):
        return Units(np.arange(len(items)), len(items), "items")
    if cluster is None or isinstance(cluster, str):
        cluster = annotations["cluster_code"].to_numpy()
    try:
        codes, names = pd.factorize(by_item(cluster, items, "cluster", "cluster"))
    except TypeError as problem:  # such as lists, which are not hashable
        raise ArgumentError(
            "cluster", expected="a name or number for each item", found=str(problem)
        ) from problem
    if (codes < 0).any():
        lacking = items[codes < 0]
        raise ArgumentError(
            "cluster", expected="a cluster for each item", found=f"none for {shown(list(lacking))}"
        )
    return Units(codes.astype(np.int64), len(names), "clusters")


def warn_of_few(name: str, bears: Flags, units: Units) -> bool:
    """Warn if a statistic depends on few units, and return whether they are few.

    ``bears`` (item) marks the items on which the statistic depends. If there are none, the
    statistic is undefined, and another function warns of this.
    """
    n = len(np.unique(units.of_item[bears]))
    if n >= FEW_UNITS:
        return False
    if units.n < FEW_UNITS and n in (0, units.n):
        warn_caller(f"{n or units.n} {units.plural} {ARE_FEW} {units.too_few}")
    elif n:
        warn_caller(
            f"{name} depends on {n:,} of {units.n:,} {units.plural}: with fewer than {FEW_UNITS}, "
            f"{units.too_few}"
        )
    return True


def warn_of_few_each(sums: Sums, units: Units) -> None:
    """Warn of values of a statistic that depend on few units, such as those of an annotator."""
    if sums.bearing is None or not sums.dims:
        return
    dim = next(dims[-1] for dims in sums.dims.values())
    names = sums.coords[dim] if sums.value_names is None else sums.value_names
    item, value = sums.bearing.nonzero()
    n_values = sums.bearing.shape[1]
    pair = units.of_item[item] * n_values + value
    pair = pair if units.are_items else np.unique(pair)
    counts = np.bincount(pair % n_values, minlength=n_values)
    few = np.flatnonzero((counts > 0) & (counts < FEW_UNITS))
    if len(few):
        few = few[np.argsort(counts[few], kind="stable")]
        cells = [f"{shown([names[k]])} ({units.counted(counts[k])})" for k in few[:5]]
        rest = f" and {len(few) - 5} more" if len(few) > 5 else ""
        warn_caller(
            f"{sums.name} of {', '.join(cells)}{rest} {OF_FEW} {FEW_UNITS} "
            f"{units.plural}: {units.too_few}"
        )


# Whether the same few annotators labelled most items.


_FEWEST, _MOST = 2.5, 20.0
"""Limits of the effective number of annotators. With fewer, one annotator gave most labels, and
nothing shows how others would label. With more, other annotators hardly change the agreement."""
_PART: Final = 0.4
"""Minimum number of labels per item, divided by the effective number of annotators. If each item is
labelled by other annotators, intervals of labels' posterior are right. Those of numbers are too
narrow, because the mean leniency of all annotators is in the mean error (docs/validation.md)."""
_ALONE: Final = 0.1
"""Maximum share of items with one annotator: left out, this annotator would leave no label."""


def are_same(annotations: xr.Dataset, *, most: bool = True) -> bool:
    r"""Return whether the same few annotators labelled the items: ``most`` of them, or some.

    The effective number of annotators is :math:`N^2 / \sum_k n_k^2`, if annotator k labelled
    :math:`n_k` items, N in total.
    """
    of_item = voices_per(annotations, ITEM)
    n_items, n_alone = int((of_item > 0).sum()), int((of_item == 1).sum())
    n_each = voices_per(annotations, ANNOTATOR).astype(np.float64)
    effective = n_each.sum() ** 2 / (n_each**2).sum()
    per_item = n_each.sum() / n_items
    few = _FEWEST <= effective <= _MOST and n_items >= FEW_UNITS
    part = _PART if most else 0.0
    return bool(few and per_item >= part * effective and n_alone <= _ALONE * n_items)
