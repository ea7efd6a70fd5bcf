"""What the positions of a plausibility mean: its label space, read off and checked."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import tables
from dissensus.dims import CANDIDATE, ITEM, LABEL
from dissensus.errors import ArgumentError, shown

PADDING: Final = -1
REMAINDER: Final = -2
"""Codes of candidates that are no label."""


class Space(NamedTuple):
    """A plausibility's label space: what its positions mean.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["b"], ["a"]], [["b"]]]}, labels="abcd")
    >>> fit = dx.models.inverse_rank.fit(ann, random_seed=1)
    >>> found = dx.plausibility.space(fit["posterior"]["plausibility"])
    >>> found.dense, found.codes, found.sizes
    (False, array([[ 0,  1, -2]]), array([[1, 1, 2]]))
    """

    labels: npt.NDArray[Any]
    """All labels by name; a code is a place in this array."""
    codes: npt.NDArray[np.int64]
    """(item, candidate), or (label) for the dense form."""
    sizes: npt.NDArray[np.int64]
    """Of the same shape: labels per candidate."""
    concentration: float
    seed: int

    @property
    def dense(self) -> bool:
        """Whether each position is one label, the same for all items."""
        return self.codes.ndim == 1


def space(plausibility: xr.DataArray) -> Space:
    """Read the label space off a plausibility of either form.

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
    if known:  # NetCDF gives a list of one back as the one
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


def _names(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return names in the form that predictions have them in: text of any kind, True as 1."""
    if values.dtype.kind == "b":
        return values.astype(np.int64)
    return values.astype(object).astype(np.str_) if values.dtype.kind == "T" else values


def _check_distinct(labels: npt.NDArray[Any]) -> None:
    names, count = np.unique(labels, return_counts=True)
    if (count > 1).any():
        raise ArgumentError(
            "plausibility",
            expected="distinct labels",
            found=f"{shown(list(names[count > 1]))} more than once",
        )


def _check_candidates(
    codes: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    names: npt.NDArray[Any],
    n_labels: int | None,
) -> None:
    """Raise unless each item's candidates are distinct labels that add up to the label space."""
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
            "candidate_label", expected="each label once for an item", found="one of them twice"
        )
    total = np.unique(sizes.sum(axis=1))
    expected = total[0] if n_labels is None else n_labels
    if (sizes < 0).any() or (total != expected).any():
        raise ArgumentError(
            "candidate_size",
            expected=f"sizes that add up to the label space, {expected}, for every item",
            found=f"sums {shown(list(total))}",
        )
