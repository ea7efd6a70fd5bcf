"""A statistic as a function of sums over items.

A statistic is prepared once, as a matrix (item, sum) and a function of the totals of its columns.
Weights over items are then applied by one matrix product, both for one set of weights and for the
thousands of sets of `bayesian_bootstrap`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy import sparse

from dissensus.data.weights import item_weights
from dissensus.dims import SAMPLE
from dissensus.errors import warn_caller
from dissensus.kernels.types import Flags, Floats, Names


class Undefined:
    """Counts of undefined values by reason, for one warning at the end of a computation."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._total: dict[str, int] = {}

    def where(self, undefined: Flags, values: Floats, reason: str) -> Floats:
        """Return the values, NaN where they are undefined. Existing NaNs are not counted."""
        new = undefined & ~np.isnan(values)
        self._count[reason] = self._count.get(reason, 0) + int(new.sum())
        self._total[reason] = self._total.get(reason, 0) + undefined.size
        return np.where(undefined, np.nan, values)

    def divide(self, above: Floats, below: Floats, reason: str) -> Floats:
        """Return the quotient, undefined unless the divisor is positive."""
        above, below = np.broadcast_arrays(above, below)
        bad = ~(below > 0)
        return self.where(bad, np.where(bad, 0.0, above) / np.where(bad, 1.0, below), reason)

    def message(self, name: str, unit: str = "values") -> str:
        """Return a text with reasons and numbers of undefined values; empty if all are defined."""
        parts = []
        for reason, count in self._count.items():
            total = self._total[reason]
            share = "" if total == 1 else f" in {count:,} of {total:,} {unit}"
            if count:
                parts.append(f"{name} is undefined (NaN){share}: {reason}.")
        return " ".join(parts)

    def warn(self, name: str, unit: str = "values") -> None:
        """Warn if any value is undefined."""
        if text := self.message(name, unit):
            warn_caller(text)


Matrix = Floats | sparse.csr_array
Finish = Callable[[Floats, Undefined], Floats | Mapping[str, Floats]]

SUMS: Final = object()
"""``weights=SUMS`` makes a statistic return its `Sums` in place of its value."""

AS_COUNTS: Final = "as_counts"
"""Attribute of weights that are counts of items, even if they are not whole numbers."""


@dataclass(frozen=True)
class Sums:
    """The sums over items that a statistic depends on, and the function of their totals."""

    name: str
    parts: tuple[Matrix, ...]
    """Matrices (item, sum), side by side; a vector is one sum."""
    finish: Finish
    """Returns values (set of weights, \\*dims), or a dict of these, from totals (set, sum)."""
    items: Names
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The dims of each variable that has dims."""
    coords: Mapping[str, Names] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)
    better: str = "higher"
    """"higher" or "lower"."""
    bearing: Matrix | None = None
    """(item, value along the last dim): not zero where a value depends on an item. A statistic
    without dims has one column. None: all values depend on every item with a nonzero sum."""
    value_names: Names | None = None
    """(value): the names of the columns of ``bearing``, if they differ from the last dim's."""
    one_of_draws: Callable[[Floats, Iterable[Floats], np.random.Generator], Finish] | None = None
    """For statistics that have draws themselves. Takes the totals of the data, the blocks of totals
    of all sets of weights, and a generator. Returns the `Finish` that uses one draw of the
    statistic for each set of weights."""

    @property
    def bears(self) -> Flags:
        """(item): whether any value of the statistic depends on the item."""
        out = np.zeros(len(self.items), dtype=bool)
        for part in self.parts if self.bearing is None else (self.bearing,):
            if isinstance(part, np.ndarray):
                out |= (part.reshape(len(part), -1) != 0).any(axis=1)
            else:
                out[part.nonzero()[0]] = True
        return out

    def weighted(self, weights: Any) -> Sums:
        """Return the sums, multiplied by the count of each item (from ``weights=``)."""
        if weights is None:
            return self
        factor = item_weights(weights, self.items, "weights")
        if not getattr(weights, "attrs", {}).get(AS_COUNTS):
            factor = counts_of(factor, self.bears)
        bearing = None if self.bearing is None else times(self.bearing, factor)
        parts = tuple(times(part, factor) for part in self.parts)
        return replace(self, parts=parts, bearing=bearing)

    def resampled(self, sets: Iterable[Floats], rng: np.random.Generator) -> Sums:
        """Return sums that use one draw of the statistic for each set of weights.

        They are unchanged if the statistic has no draws.
        """
        if self.one_of_draws is None:
            return self
        finish = self.one_of_draws(self.totals(), sets, rng)
        own = {name: tuple(d for d in dims if d not in SAMPLE) for name, dims in self.dims.items()}
        own = {name: dims for name, dims in own.items() if dims}
        return replace(self, finish=finish, dims=own, one_of_draws=None)

    def totals(self) -> Floats:
        """Sum over items: (1, sum)."""
        return np.concatenate([np.atleast_1d(part.sum(axis=0)) for part in self.parts])[None, :]

    def value(self, weights: Any = None) -> Any:
        """Return the statistic (DataArray or Dataset), or self if ``weights`` is `SUMS`."""
        if weights is SUMS:
            return self
        undefined = Undefined()
        values = self.finish(self.weighted(weights).totals(), undefined)
        undefined.warn(self.name)
        return self.labelled(values, ())

    def labelled(self, values: Floats | Mapping[str, Floats], sample: tuple[str, ...]) -> Any:
        """Return values with dims and coordinates; ``sample`` is () or ("chain", "draw")."""
        if isinstance(values, Mapping):
            arrays = {name: self._array(name, each, sample) for name, each in values.items()}
            return xr.Dataset(arrays, attrs=dict(self.attrs))
        return self._array(self.name, values, sample).assign_attrs(self.attrs)

    def _array(self, name: str, values: Floats, sample: tuple[str, ...]) -> xr.DataArray:
        dims = self.dims.get(name, ())
        coords: dict[str, Any] = {dim: self.coords[dim] for dim in dims if dim in self.coords}
        if sample:
            values = values[None]
            coords |= dict(zip(SAMPLE, (np.arange(1), np.arange(values.shape[1])), strict=True))
        else:
            values = values[0]
        attrs = {"better": self.better}
        return xr.DataArray(values, dims=(*sample, *dims), coords=coords, name=name, attrs=attrs)


def counts_of(weights: Floats, bears: Flags | None = None) -> Floats:
    """Return weights of items as counts of items.

    Whole numbers are counts. Other weights are relative: they are scaled to a mean of 1 over the
    items of positive weight (of those that the statistic depends on, if ``bears`` marks them),
    since the factor n - 1 in Krippendorff's alpha requires counts. Whole numbers whose sum is too
    large to be exact as a float are scaled too.

    Examples
    --------
    >>> counts_of(np.array([2.0, 0.0, 1.0])), counts_of(np.array([0.2, 0.0, 0.6]))
    (array([2., 0., 1.]), array([0.5, 0. , 1.5]))
    >>> counts_of(np.array([0.5, 0.5, 9.5]), np.array([True, True, False]))
    array([ 1.,  1., 19.])
    """
    shares = weights / weights.max()  # the sum of the weights could overflow
    if (weights == np.round(weights)).all() and shares.sum() <= 2.0**53 / weights.max():
        return weights
    used = shares > 0
    if bears is not None and (used & bears).any():
        used &= bears
    return np.asarray(shares / shares[used].mean())


def times(matrix: Matrix, factor: Floats) -> Matrix:
    """Multiply each item's sums by a number."""
    if isinstance(matrix, np.ndarray):
        return matrix * (factor if matrix.ndim == 1 else factor[:, None])
    # A full copy, since SciPy may sort indices in place, which changes matrices that share them.
    out = matrix.copy()
    out.data = matrix.data * np.repeat(factor, np.diff(matrix.indptr))
    return out


def compact(matrix: sparse.csr_array) -> Matrix:
    """Return a sparse matrix as an array, unless that takes much more memory."""
    items, sums = matrix.shape
    return matrix.toarray() if items * sums <= 4 * matrix.nnz + 10_000 else matrix


def indicator(row: npt.NDArray[Any], column: npt.NDArray[Any], shape: tuple[int, int]) -> Matrix:
    """Return the number of occurrences of each (row, column)."""
    return compact(sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape))
