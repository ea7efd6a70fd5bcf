"""Accuracies of annotators: given by the user, or from agreement with the majority."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import sparse, special

from dissensus.data import tables
from dissensus.data.layout import RESPONDENTS
from dissensus.dims import ANNOTATOR, ITEM, SAMPLE
from dissensus.errors import ArgumentError, brief, shown
from dissensus.kernels.types import Floats, Ints, Names
from dissensus.statistics._read import plain_label, real
from dissensus.statistics._sums import Matrix, compact
from dissensus.statistics._votes import credit_by_statement

NAME: Final = "accuracy"
MAJORITY: Final = "majority"
EXPECTED: Final = (
    'a number from 0 to 1, numbers by annotator, "majority", or a fit with accuracies of annotators'
)
IN_FITS: Final = (NAME, "annotator_accuracy")
"""Names of variables in posteriors: accuracies by annotator and item (rasch), or by annotator."""

_ABILITIES: Final = frozenset({"ability", "difficulty"})
OF_RASCH: Final = _ABILITIES | {
    "mean_ability", "ability_spread", "difficulty_spread", "coefficient", "confidence_if_right",
    "confidence_if_wrong", "prevalence", "truth",
}  # fmt: skip
"""All variables that a trace of the PyMC model of `models.rasch` can have."""
_ROOM: Final = 2**32
"""Maximum size of the accuracies of a trace, in bytes."""


class Accuracies(NamedTuple):
    """Accuracies of annotators."""

    values: Floats
    """(draw, cell): the accuracy in each cell. A cell is all annotators, one annotator, or one
    row."""
    cell: Ints
    """(row): the cell of each row."""
    coords: dict[str, Names]
    """Coordinates of the dims chain and draw; empty if accuracies have no draws."""
    description: str
    by_annotator: bool
    """Whether cells are annotators, in the order of ``annotations["annotator"]``."""
    sums: tuple[Matrix, ...] = ()
    """For the accuracy "majority", which depends on weights of items, two matrices (item,
    annotator): the credit for giving the majority label, and 1 where the annotator and another one
    labelled the item. Empty for other accuracies."""

    @property
    def common(self) -> bool:
        """Whether all annotators have the same accuracy (in each draw)."""
        return self.values.shape[1] == 1 and not self.sums

    def under(self, totals: Floats) -> Floats:
        """Return accuracies (draw, cell); for "majority" from totals of `sums`: (set, annotator).

        ``totals`` has one row for each set of weights.
        """
        return _shares_named(totals) if self.sums else self.values

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of chain and draw; empty without draws."""
        return tuple(len(values) for values in self.coords.values())


def accuracy_of_abilities(posterior: xr.Dataset, data: xr.Dataset, name: str) -> xr.DataArray:
    """Return accuracies (chain, draw, annotator, item) from a trace of the model of `models.rasch`.

    ``name`` is the name of the argument in error messages.
    """
    if "covariates" in data:
        raise ArgumentError(
            name, expected="covariates of all annotators on all items",
            found="a trace of pymc.sample, which has covariates only for pairs with a label",
            hint="Type dissensus.models.rasch.fit(annotations, formula=...)",
        )  # fmt: skip
    for dim in (ANNOTATOR, ITEM):
        if dim not in posterior.dims:
            raise ArgumentError(
                name, expected=f"draws with the dimension {dim!r}",
                found="draws without it, as after isel or sel with a single value",
            )  # fmt: skip
    size = posterior["ability"].size * posterior["difficulty"].sizes[ITEM]
    if 8.0 * size > _ROOM:
        raise ArgumentError(
            name, expected=f"accuracies of {_ROOM / 2**30:.0f} GB or less (annotator, item, draw)",
            found=f"{8.0 * size / 2**30:.0f} GB",
            hint="Keep fewer draws: trace.isel(draw=slice(None, None, 10))",
        )  # fmt: skip
    logit = (posterior["ability"] - posterior["difficulty"]).transpose(..., ANNOTATOR, ITEM)
    if "guess_odds" in data:  # the odds of a right guess add to the odds of knowing the label
        logit = xr.apply_ufunc(np.logaddexp, logit, np.log(data["guess_odds"]))
    return xr.apply_ufunc(special.expit, logit)


def accuracies(accuracy: Any, annotations: xr.Dataset, annotator: Ints, item: Ints) -> Accuracies:
    """Read accuracies, in any form that `weighted_reliability` takes except "majority".

    ``annotator`` and ``item`` (row) are the codes of each row that needs an accuracy.
    """
    array = _array(accuracy, annotations)
    known = {*SAMPLE, ANNOTATOR, ITEM}
    if not known.issuperset(array.dims) or len(set(array.dims)) < array.ndim:
        raise ArgumentError(
            NAME,
            expected=f"the dims {ANNOTATOR!r}, {ITEM!r}, 'chain' and 'draw', or some of them",
            found=f"{tuple(map(str, array.dims))}",
        )
    sample: list[str] = [dim for dim in SAMPLE if dim in array.dims]
    dims: list[str] = [dim for dim in (ANNOTATOR, ITEM) if dim in array.dims]
    array = array.transpose(*sample, *dims)
    values, cell = _cells(array, dims, annotations, {ANNOTATOR: annotator, ITEM: item})
    if not len(values):
        raise ArgumentError(NAME, expected="at least one draw", found="none")
    coords = {
        dim: array[dim].to_numpy() if dim in array.coords else np.arange(array.sizes[dim])
        for dim in sample
    }
    description = f"by {' and '.join(dims)}" if dims else "one number"
    return Accuracies(values, cell, coords, description, dims == [ANNOTATOR])


def _cells(
    array: xr.DataArray, dims: list[str], annotations: xr.Dataset, codes: dict[str, Ints]
) -> tuple[Floats, Ints]:
    """Return the required accuracies (draw, cell), and the cell of each row.

    Of accuracies by annotator and item, only those of pairs with a label are read: in crowdsourced
    data most pairs of annotator and item have no label.
    """
    place: list[Any] = [_places(array, dim, annotations[dim].to_numpy()) for dim in dims]
    if len(dims) == 2:
        place = [each[codes[dim]] for dim, each in zip(dims, place, strict=True)]
        code, cell = codes, np.arange(len(codes[ITEM]))
    else:
        code = {dim: np.arange(len(each)) for dim, each in zip(dims, place, strict=True)}
        cell = codes[dims[0]] if dims else np.zeros(len(codes[ITEM]), dtype=np.int64)
    values = array.to_numpy().reshape(-1, *(array.sizes[dim] for dim in dims))
    needed = values[slice(None), *place] if dims else values[:, None]

    def name(at: int) -> str:
        return ", ".join(
            f"{dim} {shown([annotations[dim].to_numpy()[code[dim][at]]])}" for dim in dims
        )

    return np.ascontiguousarray(_numbers(needed, name)), cell


def _array(accuracy: Any, annotations: xr.Dataset) -> xr.DataArray:
    """Return accuracies as a DataArray, with coordinates if ``accuracy`` has names."""
    if isinstance(accuracy, xr.DataTree):
        fitted = "posterior" in accuracy.children
        if not fitted and not accuracy.data_vars:
            raise ArgumentError(NAME, expected=EXPECTED, found="a DataTree without posterior")
        if fitted and "constant_data" in accuracy.children:
            posterior, data = (
                accuracy[name].to_dataset() for name in ("posterior", "constant_data")
            )
            if _ABILITIES <= set(posterior) <= OF_RASCH and RESPONDENTS in data:
                return accuracy_of_abilities(posterior, data, NAME)
        accuracy = (accuracy["posterior"] if fitted else accuracy).to_dataset()
    if isinstance(accuracy, xr.Dataset):
        name = next((name for name in IN_FITS if name in accuracy.data_vars), None)
        if name is None:
            raise ArgumentError(
                NAME,
                expected=f"a posterior with {' or '.join(IN_FITS)}",
                found=f"the variables {shown(list(map(str, accuracy.data_vars)))}"
                if accuracy.data_vars
                else "no variables",
                hint="Pass a fit of a model of a latent truth; fit rasch with keep_items=True",
            )
        return accuracy[name]
    if isinstance(accuracy, xr.DataArray):
        return accuracy
    if isinstance(accuracy, Mapping | pd.Series):
        return _by_name(list(accuracy.keys()), [value for _, value in accuracy.items()])
    if isinstance(accuracy, list | tuple | np.ndarray) and not np.ma.is_masked(accuracy):
        return _by_place(accuracy, annotations)
    if np.isnan(real(accuracy)):
        raise ArgumentError(NAME, expected=EXPECTED, found=brief(accuracy))
    return xr.DataArray(real(accuracy))


def _by_name(names: list[Any], cells: list[Any]) -> xr.DataArray:
    """Read a mapping from annotators, or from pairs of annotator and item, to numbers or arrays."""
    if any(isinstance(cell, xr.DataArray) for cell in cells):  # draws, or a number for each item
        each = (xr.DataArray(cell).drop_vars(ANNOTATOR, errors="ignore") for cell in cells)
        arrays = xr.broadcast(*each)
        return xr.concat(arrays, pd.Index(tables.named(names), name=ANNOTATOR))
    values = np.fromiter(cells, dtype=object, count=len(cells))
    if not names or not all(isinstance(name, tuple) and len(name) == 2 for name in names):
        return xr.DataArray(values, dims=ANNOTATOR, coords={ANNOTATOR: tables.named(names)})
    pairs = (pd.factorize(tables.named(part)) for part in zip(*names, strict=True))
    (row, annotators), (column, items) = pairs
    table = np.full((len(annotators), len(items)), np.nan, dtype=object)
    table[row, column] = values
    return xr.DataArray(table, coords={ANNOTATOR: annotators, ITEM: items})


def _by_place(accuracy: Any, annotations: xr.Dataset) -> xr.DataArray:
    """Read an array without names: one number, one per annotator, or one per annotator and item."""
    try:
        values = np.asarray(accuracy)
    except ValueError as problem:  # rows of different length
        raise ArgumentError(NAME, expected=EXPECTED, found="a ragged list") from problem
    n, items = annotations.sizes[ANNOTATOR], annotations.sizes[ITEM]
    if values.shape not in ((), (n,), (n, items)):
        raise ArgumentError(
            NAME,
            expected=f"an array with a number for each of {n} annotators, or for each of them on "
            f"each of {items} items",
            found=f"an array of shape {values.shape}",
            hint="Draws need names: pass a DataArray with the dims chain and draw",
        )
    return xr.DataArray(values, dims=(ANNOTATOR, ITEM)[: values.ndim])


def _places(array: xr.DataArray, dim: str, names: Names) -> Ints:
    """Return the place of each annotator (or item) along a dim, or raise if one is missing."""
    if dim not in array.coords:
        if array.sizes[dim] != len(names):
            raise ArgumentError(
                NAME,
                expected=f"a number for each of {len(names)} {dim}s, or names of the {dim}s",
                found=f"{array.sizes[dim]} without names",
            )
        return np.arange(len(names))
    known = tables.stored(array[dim].to_numpy(), names)
    doubled = pd.Index(known).duplicated()
    if doubled.any():
        raise ArgumentError(
            NAME, expected=f"each {dim} once", found=f"{shown(list(known[doubled]))} more than once"
        )
    place = tables.match(names, known) if len(known) else np.full(len(names), -1)
    lacking = names[place < 0]
    if len(lacking):
        raise ArgumentError(
            NAME,
            expected=f"a number for every {dim}",
            found=f"none for {len(lacking)} of them: {shown(list(lacking))}",
        )
    return place


def _numbers(entries: Names, name: Callable[[int], str]) -> Floats:
    """Return entries (draw, cell) as numbers, or raise if one is not from 0 to 1.

    ``name`` returns the name of a cell, for the error message.
    """
    values = entries
    if entries.dtype.kind == "O":
        values = np.array([real(value) for value in entries.ravel()]).reshape(entries.shape)
    if values.dtype.kind not in "iuf":
        raise ArgumentError(NAME, expected=EXPECTED, found=f"values of type {entries.dtype}")
    values = values.astype(np.float64, copy=False)
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        draw, cell = np.argwhere(~((values >= 0) & (values <= 1)))[0].tolist()
        raise ArgumentError(
            NAME,
            where=name(cell),
            expected="numbers from 0 to 1",
            found=brief(plain_label(entries[draw, cell])),
        )
    return values


_NEVER: Final = 1e-13
"""Minimum distance of agreement with the majority from 0 and 1.

If annotators with accuracies 0 and 1 agreed, the probability that both are right would be 0 / 0;
with this bound it is 1/2.
"""


def majority_agreement(annotations: xr.Dataset, annotator: Ints) -> Accuracies:
    """Return each annotator's agreement with the majority label of the other annotators.

    Annotators who share no item with others are in no pair, so that their value has no effect.
    """
    item, annotator_code, credit = credit_by_statement(annotations)
    shape = (annotations.sizes[ITEM], annotations.sizes[ANNOTATOR])
    named, judged = (
        sparse.csr_array((values, (item, annotator_code)), shape=shape)
        for values in (credit, np.ones_like(credit))
    )
    totals = np.concatenate([named.sum(axis=0), judged.sum(axis=0)])[None]
    sums = compact(named), compact(judged)
    return Accuracies(_shares_named(totals), annotator, {}, MAJORITY, by_annotator=True, sums=sums)


def _shares_named(totals: Floats) -> Floats:
    """Return accuracies (set of weights, annotator) from totals of `Accuracies.sums`."""
    named, judged = np.split(totals, 2, axis=1)
    shares = named / np.where(judged > 0, judged, 1.0)
    return np.ascontiguousarray(np.clip(shares, _NEVER, 1.0 - _NEVER))


def always_right(n_rows: int) -> Accuracies:
    """Return an accuracy of 1 for all annotators."""
    return Accuracies(np.ones((1, 1)), np.zeros(n_rows, dtype=np.int64), {}, "1", False)
