"""The two forms of a plausibility, dense and with candidates.

A *plausibility* is a distribution over labels, one per draw and item. With few labels it is dense,
with the dims ``(chain, draw, item, label)``. With many labels, such as 419 conditions in a
differential diagnosis, dense draws would not fit in memory. The dims are then ``(chain, draw, item,
candidate)``. The candidates of an item are the labels that annotators named for it and, last, the
*remainder*, one candidate for all other labels. Two coordinates describe the candidates:

``candidate_label`` (item, candidate)
    The name of the label, valid only where ``candidate_size`` is 1.
``candidate_size`` (item, candidate)
    1 for a named label, the number of labels for the remainder, 0 for padding.

The attribute ``labels`` is the whole label space. A symmetric Dirichlet distribution with the
parameter ``remainder_concentration`` splits the mass of the remainder among its labels; infinity,
the default, is an even split. ``remainder_seed`` is the seed of this split. These attributes
determine the mass of each label of the remainder in each draw. The mass is the same for every
metric, also in a selection of draws or items.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data import tables
from dissensus.data.prediction_schema import WHOLE
from dissensus.dims import CANDIDATE, CHAIN, DRAW, ITEM, LABEL
from dissensus.errors import ArgumentError, shown
from dissensus.kernels.types import Array, Flags, Floats, Ints

__all__ = [
    "NAME",
    "Layout",
    "Space",
    "candidate_form",
    "layout",
    "plausibility_of",
    "space",
    "widened",
    "with_candidates",
]


PADDING: Final = -1
REMAINDER: Final = -2
"""Codes of the two kinds of candidates that are not labels."""


class Space(NamedTuple):
    """The label space of a plausibility, and the label of each position in it.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["b"], ["a"]], [["b"]]]}, labels="abcd")
    >>> fit = dx.models.inverse_rank.fit(ann, random_seed=1)
    >>> found = dx.plausibility.space(fit["posterior"]["plausibility"])
    >>> found.dense, found.codes, found.sizes
    (False, array([[ 0,  1, -2]]), array([[1, 1, 2]]))
    """

    labels: Array
    """Names of all labels; a code is a place in this array."""
    codes: Ints
    """(item, candidate): code of the label, `PADDING` or `REMAINDER`; (label) if dense."""
    sizes: Ints
    """Number of labels of each candidate, in the shape of ``codes``."""
    concentration: float
    seed: int

    @property
    def dense(self) -> bool:
        """Whether the form is dense, so that each position is one label, the same for all items."""
        return self.codes.ndim == 1


def space(plausibility: xr.DataArray) -> Space:
    """Return the label space of a plausibility, dense or with candidates.

    Examples
    --------
    >>> import xarray as xr
    >>> import dissensus as dx
    >>> array = xr.DataArray([[0.2, 0.8]], dims=("item", "label"), coords={"label": ["a", "b"]})
    >>> dx.plausibility.space(array).labels
    array(['a', 'b'], dtype='<U1')
    """
    if LABEL in plausibility.dims:
        n_labels = plausibility.sizes[LABEL]
        labels = np.arange(n_labels)
        if LABEL in plausibility.coords:
            labels = _names(plausibility[LABEL].to_numpy())
        _check_distinct(labels)
        return Space(labels, np.arange(n_labels), np.ones(n_labels, np.int64), np.inf, 0)
    sizes = plausibility["candidate_size"].transpose(ITEM, CANDIDATE).to_numpy().astype(np.int64)
    names = plausibility["candidate_label"].transpose(ITEM, CANDIDATE).to_numpy()
    named = sizes == 1
    known = "labels" in plausibility.attrs
    if known:  # NetCDF returns a list of length 1 as a scalar
        labels = _names(np.atleast_1d(np.asarray(plausibility.attrs["labels"])))
    else:
        labels = np.unique(_names(names[named]))
    _check_distinct(labels)
    codes = np.where(sizes == 0, PADDING, REMAINDER)
    codes[named] = tables.match(_names(names[named]), labels)
    _check_candidates(codes, sizes, names, len(labels) if known else None)
    return Space(
        labels,
        codes,
        sizes,
        float(plausibility.attrs.get("remainder_concentration", np.inf)),
        int(plausibility.attrs.get("remainder_seed", 0)),
    )


def _names(values: Array) -> Array:
    """Return names in the types that predictions have: text of fixed width, and 1 for True."""
    if values.dtype.kind == "b":
        return values.astype(np.int64)
    return values.astype(object).astype(np.str_) if values.dtype.kind == "T" else values


def _check_distinct(labels: Array) -> None:
    names, count = np.unique(labels, return_counts=True)
    if (count > 1).any():
        raise ArgumentError(
            "plausibility",
            expected="distinct labels",
            found=f"{shown(list(names[count > 1]))} more than once",
        )


def _check_candidates(codes: Ints, sizes: Ints, names: Array, n_labels: int | None) -> None:
    """Raise unless each item's labels are distinct and its sizes add up to the label space."""
    stray = (sizes == 1) & (codes < 0)
    if stray.any():
        raise ArgumentError(
            "candidate_label",
            expected="labels of attrs['labels'] where candidate_size is 1",
            found=shown(list(np.unique(names[stray]))),
        )
    ordered = np.sort(codes, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise ArgumentError(
            "candidate_label", expected="each label once for an item", found="a label twice"
        )
    total = np.unique(sizes.sum(axis=1))
    expected = total[0] if n_labels is None else n_labels
    if (sizes < 0).any() or (total != expected).any():
        raise ArgumentError(
            "candidate_size",
            expected=f"sizes that add up to the label space, {expected}, for every item",
            found=f"sums {shown(list(total))}",
        )


class _Cache(NamedTuple):
    """Results that were computed from draws, for draws that do not change."""

    depth: int
    """Largest number of top labels that a metric will need."""
    results: dict[Any, dict[Any, Any]]
    """By the place of the draws in memory, then by name."""


_CACHE: Final[ContextVar[_Cache | None]] = ContextVar("cache", default=None)


@contextmanager
def cached_draws(depth: int) -> Iterator[None]:
    """Inside this context, check draws and find their top labels only once for all metrics.

    Splitting the remainder among hundreds of labels takes most of the time of a metric. The draws
    must not be changed inside the context.
    """
    token = _CACHE.set(_Cache(depth, {}))
    try:
        yield
    finally:
        _CACHE.reset(token)


def remembered(plausibility: xr.DataArray) -> tuple[int, dict[Any, Any]]:
    """Return the cache's ``depth``, and its results for these draws; 0 and {} without a cache."""
    cache = _CACHE.get()
    if cache is None or plausibility.chunks is not None:
        return 0, {}
    values = plausibility.data
    place = (values.ctypes.data, values.shape, values.strides)
    # The cache keeps the values themselves: otherwise other draws could get the same address.
    return cache.depth, cache.results.setdefault(place, {"values": values})


NAME = "plausibility"


class Layout(NamedTuple):
    """The candidates of each item in the candidate form, and the place of each row's label.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["b"], ["a"]], [["b"]]]}, labels="abcd")
    >>> dx.plausibility.layout(ann).place  # b, a, b; the candidates are a, b and the remainder
    array([1, 0, 1])
    """

    codes: Ints
    """(item, candidate): a label code, `PADDING`, or `REMAINDER` in the last column."""
    sizes: Ints
    """(item, candidate): number of labels of each candidate."""
    place: Ints
    """(annotation): the place of the row's label among the candidates of its item."""


def layout(annotations: xr.Dataset, also: Flags | None = None) -> Layout:
    """Return the candidates of each item: its named labels in label order, then the remainder.

    Parameters
    ----------
    annotations : xarray.Dataset
        Annotations with labels.
    also : array (item, label), optional
        Whether a label is a candidate of an item although no annotator named it.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({1: [[["b"], ["a"]]], 2: [[["c"]]]}, labels="abcd")
    >>> dx.plausibility.layout(ann).codes
    array([[ 0,  1, -2],
           [ 2, -1, -2]])
    >>> dx.plausibility.layout(ann).sizes
    array([[1, 1, 2],
           [1, 0, 3]])
    """
    n_items, n_labels = annotations.sizes[ITEM], annotations.sizes[LABEL]
    key = annotations["item_code"].to_numpy() * n_labels + annotations["label_code"].to_numpy()
    named = np.unique(key)
    if also is not None:
        named = np.union1d(named, np.flatnonzero(also))
    row = np.searchsorted(named, key)
    item, label = np.divmod(named, n_labels)
    count = np.bincount(item, minlength=n_items)
    start = np.concatenate([[0], np.cumsum(count)[:-1]])
    place = np.arange(len(named)) - start[item]
    shape = (n_items, int(count.max()) + 1)
    codes = np.full(shape, PADDING, dtype=np.int64)
    sizes = np.zeros(shape, dtype=np.int64)
    codes[item, place], sizes[item, place] = label, 1
    codes[:, -1], sizes[:, -1] = REMAINDER, n_labels - count
    return Layout(codes, sizes, place[row])


def candidate_form(
    values: Floats, layout: Layout, items: Array, labels: Array, *, concentration: float, seed: int
) -> xr.DataArray:
    """Return draws (..., item, candidate) with coordinates and attributes that name the labels.

    Parameters
    ----------
    values : array (chain, draw, item, candidate) or (item, candidate)
        Masses.
    layout : Layout
        The candidates of each item.
    items, labels : array
        The names of the items, and the whole label space.
    concentration : float
        The attribute ``remainder_concentration``, see the module.
    seed : int
        The attribute ``remainder_seed``, see the module.

    Returns
    -------
    xarray.DataArray

    Examples
    --------
    >>> import numpy as np
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["b"], ["a"]]]}, labels="abcd")
    >>> form = dx.plausibility.candidate_form(
    ...     np.array([[0.3, 0.6, 0.1]]), dx.plausibility.layout(ann), ann["item"].values,
    ...     ann["label"].values, concentration=np.inf, seed=0)
    >>> form["candidate_label"].values, form["candidate_size"].values
    (array([['a', 'b', '']], dtype='<U1'), array([[1, 1, 2]]))
    """
    named = layout.sizes == 1
    nothing = _no_label(labels.dtype)
    names = np.where(named & (layout.codes >= 0), labels[np.maximum(layout.codes, 0)], nothing)
    lone = (layout.codes == REMAINDER) & named
    if lone.any():  # a remainder of one label is that label
        names[lone] = labels[_unnamed(layout, len(labels))[lone.any(axis=1)]]
    return xr.DataArray(
        values,
        dims=(CHAIN, DRAW, ITEM, CANDIDATE)[-values.ndim :],
        coords={
            ITEM: items,
            "candidate_label": ((ITEM, CANDIDATE), names),
            "candidate_size": ((ITEM, CANDIDATE), layout.sizes),
        },
        name=NAME,
        attrs={
            "labels": labels.tolist(),
            "remainder_concentration": concentration,
            "remainder_seed": seed,
        },
    )


def _no_label(dtype: np.dtype[Any]) -> Any:
    """Return the value that stands for no label in an array of this type."""
    return "" if dtype.kind in "UO" else -1


def widened(name: str, values: xr.Variable, width: int) -> xr.Variable:
    """Return a variable padded to ``width`` candidates; the remainder stays last.

    Examples
    --------
    >>> import xarray as xr
    >>> import dissensus as dx
    >>> masses = xr.Variable(("item", "candidate"), [[0.7, 0.3]])
    >>> dx.plausibility.widened("plausibility", masses, 4).values
    array([[0.7, 0. , 0. , 0.3]])
    """
    n_candidates = values.sizes[CANDIDATE]
    if n_candidates >= width:
        return values
    filler = _no_label(values.dtype) if name == "candidate_label" else 0
    pad = values.isel({CANDIDATE: [0] * (width - n_candidates)})
    pad = pad.copy(data=np.full(pad.shape, filler, dtype=values.dtype))
    named, remainder = (
        values.isel({CANDIDATE: slice(-1)}),
        values.isel({CANDIDATE: slice(-1, None)}),
    )
    return xr.Variable.concat([named, pad, remainder], CANDIDATE).transpose(*values.dims)


def _laid_out(codes: Ints, annotations: xr.Dataset) -> Layout:
    """Return the layout of a PyMC model, from its candidate codes (item, candidate)."""
    sizes = (codes >= 0).astype(np.int64)
    sizes[:, -1] = annotations.sizes[LABEL] - sizes.sum(axis=1)
    return Layout(codes, sizes, np.empty(0, dtype=np.int64))


def _unnamed(layout: Layout, n_labels: int) -> Ints:
    """Return the code of the first label that is not a named candidate, for each item (item)."""
    used = np.zeros((len(layout.codes), n_labels + 1), dtype=bool)
    np.put_along_axis(used, np.where(layout.codes < 0, n_labels, layout.codes), True, axis=1)
    return np.argmin(used[:, :n_labels], axis=1)


def plausibility_of(source: xr.DataTree | xr.Dataset | xr.DataArray) -> xr.DataArray:
    """Return the plausibility in a fit or a posterior; an array of draws is returned itself.

    Raises
    ------
    ArgumentError
        If there is no plausibility, its dims are those of neither form, or a mass is invalid.

    Examples
    --------
    >>> import xarray as xr
    >>> import dissensus as dx
    >>> array = xr.DataArray([[0.2, 0.8]], dims=("item", "label"), coords={"label": ["a", "b"]})
    >>> dx.plausibility.plausibility_of(array).name
    'plausibility'
    """
    if isinstance(source, xr.DataTree):
        source = _candidates_named(source)
    if isinstance(source, xr.Dataset):
        if NAME not in source:
            raise ArgumentError(
                "plausibility",
                expected=f"a fit or Dataset with a variable {NAME!r}",
                found=f"the variables {shown(list(source.data_vars)) or 'none'}",
            )
        source = source[NAME]
    if not isinstance(source, xr.DataArray):
        raise ArgumentError(
            "plausibility",
            expected="a DataTree from fit, a Dataset, or a DataArray",
            found=type(source).__name__,
            hint="For fits by label use dissensus.set_score(fits, predictions), or "
            "dissensus.by_label(metric, fits, predictions)"
            if isinstance(source, dict)
            else "",
        )
    if ITEM not in source.dims or (LABEL in source.dims) == (CANDIDATE in source.dims):
        raise ArgumentError(
            "plausibility",
            expected="dims (chain, draw, item, label) or (chain, draw, item, candidate)",
            found=str(source.dims),
        )
    if CANDIDATE in source.dims and not {"candidate_label", "candidate_size"} <= set(source.coords):
        raise ArgumentError(
            "plausibility",
            expected="the coordinates candidate_label and candidate_size with dim 'candidate'",
            found=str(list(source.coords)),
            hint="Pass the whole trace of pymc.sample: its constant data name the candidates",
        )
    core = CANDIDATE if CANDIDATE in source.dims else LABEL
    out = source.rename(NAME).transpose(..., ITEM, core)
    _check_values(out)
    return out


def _candidates_named(tree: xr.DataTree) -> xr.DataArray | xr.Dataset:
    """Return the posterior; a trace of `pymc.sample` gets the names of the candidates.

    The names are made from the constant data of the model: codes of candidates, names of labels,
    and the concentration.
    """
    group = tree["posterior"] if "posterior" in tree.children else tree
    posterior = group.to_dataset()
    if "constant_data" not in tree.children or "candidate_label" in posterior.coords:
        return posterior
    carried = tree["constant_data"].to_dataset()
    if NAME not in posterior or not {"candidate_code", "label_number"} <= set(carried):
        return posterior
    values = posterior[NAME].transpose(..., ITEM, CANDIDATE)
    labels = carried["label_number"]
    return candidate_form(
        values.to_numpy(), _laid_out(carried["candidate_code"].to_numpy(), labels.to_dataset()),
        values[ITEM].to_numpy(), labels[LABEL].to_numpy(),
        concentration=float(carried.get("remainder_concentration", np.inf)), seed=0,
    )  # fmt: skip


_ROUNDING: Final = 1e-5
"""Masses may exceed 1 by this rounding error, for example in single precision."""


def _check_values(plausibility: xr.DataArray) -> None:
    """Raise unless masses are shares of 1; metrics would give wrong results silently."""
    if plausibility.chunks is not None:  # do not compute draws only for this check
        return
    values, (_, known) = plausibility.to_numpy(), remembered(plausibility)
    if "checked" in known:
        return
    if values.dtype.kind not in "fiub" or values.size == 0:
        raise ArgumentError(
            NAME, expected="numbers", found=f"an array of {values.dtype}, shape {values.shape}"
        )
    if values.min() >= 0 and values.max() <= 1 + _ROUNDING:  # a NaN fails this too
        total = values.sum(axis=-1, dtype=np.float64)
        bad = np.abs(total - 1.0) > WHOLE
        if not bad.any():
            known["checked"] = True
            return
        expected, value = "shares that add up to 1", f"the sum {total[bad][0]:.4g}"
    else:
        outside = ~((values >= 0) & (values <= 1 + _ROUNDING))
        bad = outside.any(axis=-1)
        expected, value = "shares, from 0 to 1", str(values[outside][0])
    items = np.flatnonzero(bad.reshape(-1, values.shape[-2]).any(axis=0))
    raise ArgumentError(
        NAME,
        where=f"items {shown(list(plausibility[ITEM].to_numpy()[items]))}",
        expected=expected,
        found=value,
    )


def with_candidates(
    draws: xr.DataTree | xr.Dataset | xr.DataArray,
    annotations: xr.Dataset,
    *,
    concentration: float = float("inf"),
    seed: int = 0,
) -> xr.DataArray:
    """Add the names of candidates, which metrics need, to draws of a ranking model.

    Use this function for draws that `pymc.sample` made from the model of ``build``: a `pymc.Model`
    can name dims, but not the label of a candidate. The result of ``fit`` has these names already.

    Parameters
    ----------
    draws : DataTree, Dataset or DataArray
        With a plausibility (..., item, candidate). If the prior was learned, pass the DataTree: it
        also contains the candidates that no annotator named.
    annotations : xarray.Dataset
        The annotations from which the model was built.
    concentration, seed : float, int
        As in `candidate_form`; use the model's ``prior_count`` as concentration, if positive.

    Returns
    -------
    xarray.DataArray

    Raises
    ------
    ArgumentError
        If the shape of the draws does not match the annotations.

    Examples
    --------
    >>> import xarray as xr
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> raw = xr.DataArray([[[[0.4, 0.6, 0.0]]]], dims=("chain", "draw", "item", "candidate"))
    >>> dx.plausibility.with_candidates(raw, ann)["candidate_label"].values
    array([['a', 'b', 'c']], dtype='<U1')
    """
    where = layout(annotations)
    if isinstance(draws, xr.DataTree):
        if "constant_data" in draws.children and "candidate_code" in draws["constant_data"]:
            where = _laid_out(draws["constant_data"]["candidate_code"].to_numpy(), annotations)
        draws = draws["posterior"].to_dataset()
    values = draws[NAME] if isinstance(draws, xr.Dataset) else draws
    if values.shape[-2:] != where.codes.shape:
        raise ArgumentError(
            "draws",
            expected=f"last dims (item, candidate) of shape {where.codes.shape}, as in annotations",
            found=f"shape {values.shape}",
        )
    items, labels = (annotations[dim].to_numpy() for dim in (ITEM, LABEL))
    return candidate_form(
        values.to_numpy(), where, items, labels, concentration=concentration, seed=seed
    )
