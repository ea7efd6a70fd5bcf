"""The checks of the schema of predictions, see `dissensus.data.schema`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import AnnotationError, PredictionError, brief, shown
from dissensus.kernels.types import Array, Flags, Floats

PREDICTION_KINDS: Final = ("nominal", "ranking", "continuous", "set")
WHOLE: Final = 0.01 + 1e-9
"""Tolerance of the sum of probabilities, because they are often rounded: .33, .33 and .33."""


def are_probabilities(scores: Floats) -> Flags:
    """Return whether the scores (item, label) of each item are probabilities; NaN counts as 0."""
    total = np.nansum(scores, axis=1)
    return np.asarray(~(scores < 0).any(axis=1) & (np.abs(total - 1.0) <= WHOLE))


def rows_of_probabilities(predictions: xr.Dataset) -> Flags:
    """Return whether the scores of each prediction are probabilities: (item, system)."""
    score = predictions["score"].transpose(ITEM, SYSTEM, POSITION).to_numpy()
    rows = are_probabilities(score.reshape(-1, score.shape[-1]))
    return np.asarray(rows.reshape(score.shape[:2]))


def check_predictions(predictions: xr.Dataset) -> None:
    """Raise unless the predictions follow the schema.

    Parameters
    ----------
    predictions : xarray.Dataset
        From `dissensus.predictions`, or made without it.

    Raises
    ------
    PredictionError
        The error names the variable, the item and system, what was expected and what was found.

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
    if not isinstance(kind, str) or kind not in PREDICTION_KINDS:
        raise PredictionError(
            "attrs['kind']", expected=f"one of {PREDICTION_KINDS}", found=repr(kind)
        )
    dims = (ITEM, SYSTEM) if kind == "continuous" else (ITEM, SYSTEM, POSITION)
    for name in ("value",) if kind == "continuous" else ("label_code", "block"):
        if name not in predictions or set(predictions[name].dims) != set(dims):
            description = (
                f"dims {predictions[name].dims}" if name in predictions else "no such variable"
            )
            raise PredictionError(name, expected=f"a variable with dims {dims}", found=description)
    for name in (ITEM, SYSTEM) if kind == "continuous" else (ITEM, SYSTEM, LABEL):
        checked_names(predictions, name, PredictionError)
    if predictions.sizes[ITEM] == 0 or predictions.sizes[SYSTEM] == 0:
        description = f"{predictions.sizes[ITEM]} items, {predictions.sizes[SYSTEM]} systems"
        raise PredictionError(
            "predictions", expected="at least one item and one system", found=description
        )
    if kind == "continuous":
        values = predictions["value"].transpose(*dims).to_numpy()
        good = np.isfinite(values) if values.dtype.kind in "iuf" else np.zeros(values.shape, bool)
        _require(predictions, "value", good, "a finite number")
    else:
        _check_lists(predictions, dims)


def checked_names(data: xr.Dataset, name: str, error: type[AnnotationError]) -> pd.Index[Any]:
    """Return the names of a coordinate, or raise unless they are distinct."""
    names = data.indexes.get(name)
    if names is None or names.hasnans or names.has_duplicates:
        doubled = [] if names is None or names.hasnans else list(names[names.duplicated()])
        raise error(
            f"coordinate {name!r}",
            expected="an index of distinct names, none missing",
            found=f"{shown(doubled)} more than once" if doubled else "no index, or a missing name",
        )
    return names


def _check_lists(predictions: xr.Dataset, dims: tuple[str, ...]) -> None:
    code = predictions["label_code"].transpose(*dims).to_numpy()
    block = predictions["block"].transpose(*dims).to_numpy()
    for name, values in (("label_code", code), ("block", block)):
        if values.dtype.kind not in "iu":
            raise PredictionError(name, expected="whole numbers", found=str(values.dtype))
    listed, n_labels = code >= 0, predictions.sizes[LABEL]
    _require(predictions, "label_code", (code >= -1) & (code < n_labels),
             f"a code from 0 to {n_labels - 1}, or -1 past the end of a list")  # fmt: skip
    if predictions.attrs["kind"] == "set":
        _check_sets(predictions, block)
    else:
        _require(predictions, "label_code", listed[..., 0], "at least one label in each list")
    _require(predictions, "block", (block > 0) == listed, "a block for each label, 0 past the end")
    step = np.diff(block, axis=-1, prepend=0)
    rising = (step == 0) | (step == 1) | ~listed
    rising[..., 1:] &= listed[..., :-1] | ~listed[..., 1:]  # no label after the end of a list
    rising[..., 0] &= (block[..., 0] == 1) | ~listed[..., 0]
    _require(predictions, "block", rising, "blocks that count 1, 1, 2, ... along a list")
    ordered = np.sort(np.where(listed, code, -1 - np.arange(code.shape[-1])), axis=-1)
    repeated = (np.diff(ordered, axis=-1) == 0).any(axis=-1)
    _require(predictions, "label_code", ~repeated, "each label once in a list")
    if predictions.attrs["kind"] == "nominal":
        _require(predictions, "label_code", listed.sum(axis=-1) == 1, "one label in each list")


def _check_sets(predictions: xr.Dataset, block: Array) -> None:
    """Raise unless sets have one block, and the attributes that write them as text are valid."""
    _require(predictions, "block", block <= 1, "one block in each set")
    words = {name: predictions.attrs.get(name) for name in ("separator", "none")}
    for name, word in words.items():
        if not isinstance(word, str) or not word:
            raise PredictionError(
                f"attrs[{name!r}]", expected="text, as dissensus.predictions writes it",
                found=brief(word),
            )  # fmt: skip
    labels = [str(label) for label in predictions[LABEL].to_numpy().tolist()]
    odd = [label for label in labels if str(words["separator"]) in label or label == words["none"]]
    if odd:
        raise PredictionError(
            f"coordinate {LABEL!r}", expected=f"labels without {words['separator']!r}, and other "
            f"than {words['none']!r}", found=shown(odd),
        )  # fmt: skip


def _require(predictions: xr.Dataset, name: str, good: Flags, expected: str) -> None:
    """Raise unless ``good`` (item, system, ...) is always true.

    The error names the first item and system for which it is false.
    """
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
