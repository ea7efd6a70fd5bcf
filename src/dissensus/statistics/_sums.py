"""A statistic as a function of sums over items, which is what makes its posterior cheap.

Every registered statistic is prepared once as a matrix (item, sum) and a function of the sums'
totals. Weights over items then enter as one matrix product, whether there is one set of them or
four thousand (`bayesian_bootstrap`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy import sparse

from dissensus.data.weights import item_weights
from dissensus.dims import SAMPLE
from dissensus.errors import DissensusWarning
from dissensus.kernels.types import Floats

# Values that are not defined: NaN, and the reason in words.


class Doubts:
    """Collects why values are undefined while they are computed, and says so once.

    Examples
    --------
    >>> doubts = Doubts()
    >>> doubts.divided(np.array([1.0, 1.0]), np.array([2.0, 0.0]), "nothing to divide by")
    array([0.5, nan])
    >>> doubts.words("alpha", draws=False)
    'alpha is undefined (NaN) in 1 of 2 values: nothing to divide by.'
    """

    def __init__(self) -> None:
        self._found: dict[str, int] = {}
        self._asked: dict[str, int] = {}

    def where(self, undefined: npt.NDArray[np.bool_], values: Floats, why: str) -> Floats:
        """Return values with NaN where they are undefined; NaN stays what it was."""
        new = undefined & ~np.isnan(values)
        self._found[why] = self._found.get(why, 0) + int(new.sum())
        self._asked[why] = self._asked.get(why, 0) + undefined.size
        return np.where(undefined, np.nan, values)

    def divided(self, above: Floats, below: Floats, why: str) -> Floats:
        """Divide by what is positive; elsewhere the quotient is undefined."""
        above, below = np.broadcast_arrays(above, below)
        bad = ~(below > 0)
        quotient = np.where(bad, 0.0, above) / np.where(bad, 1.0, below)
        return self.where(bad, quotient, why)

    def words(self, name: str, draws: bool) -> str:
        """Say how much is undefined and why, or nothing if nothing is."""
        parts = []
        for why, n in self._found.items():
            if n == 0:
                continue
            asked = self._asked[why]
            share = "" if asked == 1 else f" in {n:,} of {asked:,} {'draws' if draws else 'values'}"
            parts.append(f"{name} is undefined (NaN){share}: {why}.")
        return " ".join(parts)

    def say(self, name: str, *, draws: bool, stacklevel: int = 3) -> None:
        """Warn of what is undefined."""
        text = self.words(name, draws)
        if text:
            warnings.warn(text, DissensusWarning, stacklevel=stacklevel)


Matrix = Floats | sparse.csr_array
Finish = Callable[[Floats, Doubts], Floats | Mapping[str, Floats]]


AS_COUNTS: Final = "as_counts"
"""Attribute of weights that say how often items count, whole or not, as a bootstrap's do."""


@dataclass(frozen=True)
class Sums:
    """What a statistic needs of the data, item by item."""

    name: str
    parts: tuple[Matrix, ...]
    """(item, sum), side by side; a vector is one sum."""
    finish: Finish
    """From totals (set of weights, sum) to values (set of weights, \\*dims), or several by name."""
    items: npt.NDArray[Any]
    """The items' names."""
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The dims of each variable that has any."""
    coords: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)
    better: str = "higher"
    """"higher" or "lower", as `dissensus.compare` and the plots want to know."""
    bearing: Matrix | None = None
    """(item, value along the last dim), not zero where a value rests on an item; one column for a
    statistic without dims. None if all rest on the items that have a sum that is not zero."""
    called: npt.NDArray[Any] | None = None
    """(value): what its columns are called, if they are no places along the last dim."""
    one_of_draws: Callable[[Floats, Iterable[Floats], np.random.Generator], Finish] | None = None
    """If values have draws of their own: how to finish totals with one of these for each, from the
    totals of the data and, block by block, those that will be finished."""

    @property
    def bears(self) -> npt.NDArray[np.bool_]:
        """(item): whether it tells of the statistic at all."""
        out = np.zeros(len(self.items), dtype=bool)
        for part in self.parts if self.bearing is None else (self.bearing,):
            if isinstance(part, np.ndarray):
                out |= (part.reshape(len(part), -1) != 0).any(axis=1)
            else:
                out[part.nonzero()[0]] = True
        return out

    def weighted(self, weights: Any) -> Sums:
        """Return the sums with each item's multiplied by how often it counts, from ``weights=``."""
        if weights is None:
            return self
        factor = item_weights(weights, self.items, "weights")
        if not getattr(weights, "attrs", {}).get(AS_COUNTS):
            factor = counts_of(factor)
        bearing = None if self.bearing is None else times(self.bearing, factor)
        parts = tuple(times(part, factor) for part in self.parts)
        return replace(self, parts=parts, bearing=bearing)

    def resampled(self, sets: Iterable[Floats], rng: np.random.Generator) -> Sums:
        """Return the sums as drawn weights need them: with one draw for each set of weights.

        The sets are those that will be finished, block by block; gone through only if need be.
        """
        if self.one_of_draws is None:
            return self
        finish = self.one_of_draws(self.totals(), sets, rng)
        dims = {
            name: tuple(dim for dim in dims if dim not in SAMPLE)
            for name, dims in self.dims.items()
        }
        dims = {name: kept for name, kept in dims.items() if kept}
        return replace(self, finish=finish, dims=dims, one_of_draws=None)

    def totals(self) -> Floats:
        """Sum over items: (1, sum)."""
        sums = [np.atleast_1d(part.sum(axis=0)) for part in self.parts]
        return np.concatenate(sums)[None, :]

    def value(self, weights: Any = None) -> Any:
        """Return the statistic of the data as they are: a DataArray, or a Dataset."""
        doubts = Doubts()
        found = self.finish(self.weighted(weights).totals(), doubts)
        doubts.say(self.name, draws=False, stacklevel=4)
        return self.labelled(found, ())

    def labelled(self, found: Floats | Mapping[str, Floats], sample: tuple[str, ...]) -> Any:
        """Name dims and coordinates; ``sample`` is () or ("chain", "draw")."""
        if isinstance(found, Mapping):
            parts = {name: self._array(name, values, sample) for name, values in found.items()}
            return xr.Dataset(parts, attrs=dict(self.attrs))
        return self._array(self.name, found, sample).assign_attrs(self.attrs)

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


def counts_of(weights: Floats) -> Floats:
    """Return how often each item counts.

    Whole numbers say so themselves. All others are relative, with a mean of 1 over the items that
    have any: if they came to 1 in all, next to none of Krippendorff's n - 1 labels would be left.
    So are whole numbers past those that a float can tell apart.

    Examples
    --------
    >>> counts_of(np.array([2.0, 0.0, 1.0])), counts_of(np.array([0.2, 0.0, 0.6]))
    (array([2., 0., 1.]), array([0.5, 0. , 1.5]))
    """
    shares = weights / weights.max()  # whose sum is never too large to hold
    if (weights == np.round(weights)).all() and shares.sum() <= 2.0**53 / weights.max():
        return weights
    return np.asarray(shares / shares[shares > 0].mean())


def times(matrix: Matrix, factor: Floats) -> Matrix:
    """Multiply each item's sums by a number."""
    if isinstance(matrix, np.ndarray):
        return matrix * (factor if matrix.ndim == 1 else factor[:, None])
    # A whole copy: SciPy sorts indices in place when it likes, under all matrices that share them.
    out = matrix.copy()
    out.data = matrix.data * np.repeat(factor, np.diff(matrix.indptr))
    return out


def compact(matrix: sparse.csr_array) -> Matrix:
    """Return a sparse matrix as an array, unless that took much more room."""
    items, sums = matrix.shape
    return matrix.toarray() if items * sums <= 4 * matrix.nnz + 10_000 else matrix
