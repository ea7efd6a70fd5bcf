"""The checks that hold predictions to the schema that `dissensus.schema` writes down."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import PredictionError, shown

KINDS: Final = ("nominal", "ranking", "continuous")


_WHOLE: Final = 0.01
"""How far from 1 an item's probabilities may add up, which are often rounded."""


def are_probabilities(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Say of each item (the first dimension) whether its scores are probabilities; NaN is none."""
    total = np.nansum(scores, axis=1)
    return np.asarray(~(scores < 0).any(axis=1) & (np.abs(total - 1.0) <= _WHOLE))


def check_predictions(predictions: xr.Dataset) -> None:
    """Raise unless the predictions keep to the schema.

    Parameters
    ----------
    predictions : xarray.Dataset
        As made by `dissensus.predictions`, or by hand.

    Raises
    ------
    PredictionError
        Naming the variable, the item and system, what was expected and what was found.

    Examples
    --------
    >>> import dissensus as dx
    >>> pred = dx.predictions({"item": [1, 1], "system": ["m", "n"], "label": ["x", "y"]})
    >>> dx.schema.check_predictions(pred)
    >>> dx.schema.check_predictions(pred.assign(block=0 * pred["block"]))
    Traceback (most recent call last):
    ...
    dissensus.errors.PredictionError: block, item 1, system 'm': expected a block for each label...
    """
    kind = predictions.attrs.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise PredictionError("attrs['kind']", expected=f"one of {KINDS}", found=repr(kind))
    dims = (ITEM, SYSTEM) if kind == "continuous" else (ITEM, SYSTEM, POSITION)
    for name in ("value",) if kind == "continuous" else ("label_code", "block"):
        if name not in predictions or set(predictions[name].dims) != set(dims):
            found = f"dims {predictions[name].dims}" if name in predictions else "no such variable"
            raise PredictionError(name, expected=f"a variable with dims {dims}", found=found)
    for name in (ITEM, SYSTEM) if kind == "continuous" else (ITEM, SYSTEM, LABEL):
        _check_names(predictions, name)
    if predictions.sizes[ITEM] == 0 or predictions.sizes[SYSTEM] == 0:
        raise PredictionError(
            "predictions", expected="at least one item and one system",
            found=f"{predictions.sizes[ITEM]} items, {predictions.sizes[SYSTEM]} systems",
        )  # fmt: skip
    if kind == "continuous":
        values = predictions["value"].transpose(*dims).to_numpy()
        good = np.isfinite(values) if values.dtype.kind in "iuf" else np.zeros(values.shape, bool)
        _require(predictions, "value", good, "a finite number")
    else:
        _check_lists(predictions, dims)


def _check_names(predictions: xr.Dataset, name: str) -> None:
    names = predictions.indexes.get(name)
    if names is None or names.hasnans or names.has_duplicates:
        doubled = [] if names is None else list(names[names.duplicated()])
        raise PredictionError(
            f"coordinate {name!r}",
            expected="an index of distinct names, none missing",
            found=f"{shown(doubled)} more than once" if doubled else "none, or a missing name",
        )


def _check_lists(predictions: xr.Dataset, dims: tuple[str, ...]) -> None:
    code = predictions["label_code"].transpose(*dims).to_numpy()
    block = predictions["block"].transpose(*dims).to_numpy()
    for name, values in (("label_code", code), ("block", block)):
        if values.dtype.kind not in "iu":
            raise PredictionError(name, expected="whole numbers", found=str(values.dtype))
    listed, n_labels = code >= 0, predictions.sizes[LABEL]
    _require(predictions, "label_code", (code >= -1) & (code < n_labels),
             f"a code from 0 to {n_labels - 1}, or -1 past the end of a list")  # fmt: skip
    _require(predictions, "label_code", listed[..., 0], "at least one label in each list")
    _require(predictions, "block", (block > 0) == listed, "a block for each label, 0 past the end")
    step = np.diff(block, axis=-1, prepend=0)
    rising = (step == 0) | (step == 1) | ~listed
    rising[..., 1:] &= listed[..., :-1] | ~listed[..., 1:]  # no label after the end of a list
    rising[..., 0] &= block[..., 0] == 1
    _require(predictions, "block", rising, "blocks that count 1, 1, 2, ... along a list")
    ordered = np.sort(np.where(listed, code, -1 - np.arange(code.shape[-1])), axis=-1)
    again = (np.diff(ordered, axis=-1) == 0).any(axis=-1)
    _require(predictions, "label_code", ~again, "each label once in a list")
    if predictions.attrs["kind"] == "nominal":
        _require(predictions, "label_code", listed.sum(axis=-1) == 1, "one label in each list")


def _require(
    predictions: xr.Dataset, name: str, good: npt.NDArray[np.bool_], expected: str
) -> None:
    """Raise naming the first item and system for which something does not hold."""
    if good.all():
        return
    item, system = (int(place) for place in np.argwhere(~good)[0][:2])
    raise PredictionError(
        name,
        where=f"item {shown([predictions[ITEM].to_numpy()[item]])}, "
        f"system {shown([predictions[SYSTEM].to_numpy()[system]])}",
        expected=expected,
        found=str(predictions[name].transpose(ITEM, SYSTEM, ...).to_numpy()[item, system]),
    )
