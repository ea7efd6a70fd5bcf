"""Matching of predictions with annotations, by items and by labels."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import arguments
from dissensus.data import tables
from dissensus.data.predictions import predicted_numbers
from dissensus.data.schema import checked_predictions
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import PredictionError, misspelt, shown, warn_caller
from dissensus.kernels.types import Array, Flags, Floats, Ints
from dissensus.wording import counted


class Sources(NamedTuple):
    """Names of the two tables in messages, such as file names."""

    annotations: str
    predictions: str


SOURCES: Final = Sources("the annotations", "the predictions")


def unlike_items(
    items: Array,
    predicted: Array,
    on_missing: str,
    sources: Sources = SOURCES,
    *,
    kind: str = "",
) -> PredictionError | None:
    """Return the error if annotations and predictions have different items, else None.

    With ``on_missing="drop"`` they need only one item in common. Models of rankings, a ``kind`` of
    annotations, need annotations of all items.

    Examples
    --------
    >>> unlike_items(np.array(["007", "8"]), np.array(["7", "9"]), "raise").hint
    '007 in the annotations is 7 in the predictions: write them alike'
    """
    alone = items_on_one_side(items, predicted)
    if not alone:
        return None
    respelled = respelled_item(items, predicted, sources)
    if len(alone.annotated) == len(items):
        return PredictionError(
            "predictions",
            expected=f"items such as {shown(list(items), 3)}",
            found=f"no item in common, but {shown(list(predicted), 3)}",
            hint=respelled or "Write the names of items alike in annotations and predictions",
        )
    if on_missing == "drop":
        return None
    drop = 'Use on_missing="drop" to leave out these items'
    may_be_bare = sources is SOURCES and kind != "ranking"
    if not (respelled or len(alone.annotated)) and may_be_bare:
        drop += ', or keep the predicted items: dx.annotations(..., items=predictions["item"])'
    return PredictionError(
        "predictions",
        expected="the same items in annotations and predictions",
        found=str(alone),
        hint=". ".join(filter(None, (respelled, drop))),
    )


class OneSided(NamedTuple):
    """Items without predictions, and items without annotations."""

    annotated: Array
    predicted: Array

    def __bool__(self) -> bool:
        """Return whether some item is only in one of the two tables."""
        return bool(len(self.annotated) or len(self.predicted))

    def __str__(self) -> str:
        """Return the numbers and the names of the items as text."""
        sides = (
            ("annotated item", "without predictions", self.annotated),
            ("predicted item", "without annotations", self.predicted),
        )
        return "; ".join(
            f"{counted(len(names), noun)} {lack}: {shown(list(names))}"
            for noun, lack, names in sides
            if len(names)
        )


def items_on_one_side(items: Array, predicted: Array) -> OneSided:
    """Return the items without predictions, and the items without annotations."""
    place = tables.match(items, predicted)
    return OneSided(items[place < 0], np.delete(predicted, place[place >= 0]))


def respelled_item(items: Array, predicted: Array, sources: Sources = SOURCES) -> str:
    """Return a hint on an item that has different spellings in the two tables, or "".

    The spellings differ in leading zeros, ".0", blanks or capitals, which spreadsheets and other
    programs change when they save a table.

    Examples
    --------
    >>> respelled_item(np.array(["007", "B"]), np.array(["b ", "7.0"]))
    '007 in the annotations is 7.0 in the predictions: write them alike (such items: 2)'
    """
    alone = items_on_one_side(items, predicted)
    spelled: dict[str, list[Any]] = {}
    for name in alone.predicted:
        spelled.setdefault(_bare(name), []).append(name)
    near = ((name, spelled.get(_bare(name), [])) for name in alone.annotated)
    pairs = [(name, others[0]) for name, others in near if len(others) == 1]
    if not pairs:
        return ""
    left, right = (_quoted(name) for name in pairs[0])
    several = f" (such items: {len(pairs)})" if len(pairs) > 1 else ""
    return (
        f"{left} in {sources.annotations} is {right} in {sources.predictions}: write them "
        f"alike{several}"
    )


def _bare(name: Any) -> str:
    """Return a name without leading zeros, ".0", blanks and capitals."""
    text = str(name).strip().casefold()
    number = re.fullmatch(r"0*([0-9]+?)(\.0+)?", text)
    return number[1] if number else text


def _quoted(name: Any) -> str:
    text = str(name)
    return text if text == text.strip() else repr(text)


def no_common_label(predicted: Array, labels: Array) -> PredictionError:
    """Return the error that all predicted labels are outside the label space."""
    names, known = list(predicted), list(labels)
    scores = '; if they are scores, read both with kind="continuous"'
    return PredictionError(
        "predictions",
        expected=f"labels such as {shown(known, 3)}",
        found=f"no label in common, but {shown(names, 3)}",
        hint=f"{misspelt(names, known)}Write the labels alike, or give all of them with labels="
        + (scores if tables.are_fractions(predicted) or tables.are_fractions(labels) else ""),
    )


def between_labels(predicted: Array, labels: Array) -> PredictionError | None:
    """Return the error that numbers are predicted which lie between labels that are whole numbers.

    >>> print(between_labels(np.array([3.2, 4.0]), np.array([1, 2, 3, 4])))
    predictions: expected labels such as 1, 2, 3 and 1 more; found numbers between labels: 3.2. ...
    """
    if labels.dtype.kind not in "iu" or predicted.dtype.kind != "f":
        return None
    between = predicted[predicted != np.round(predicted)]
    return None if not len(between) else PredictionError(
        "predictions",
        expected=f"labels such as {shown(list(labels), 3)}",
        found=f"numbers between labels: {shown(between.tolist(), 3)}",
        hint='If they are scores, read both with kind="continuous". If labels should be compared, '
        "round the numbers",
    )  # fmt: skip


def unlike_labels(predicted: Array, labels: Array) -> PredictionError | None:
    """Return the error that no predicted label is in the label space, or some lie between."""
    if len(predicted) and (tables.match(predicted, labels) < 0).all():
        return no_common_label(predicted, labels)
    return between_labels(predicted, labels)


def check_labels(
    predictions: xr.Dataset, labels: Array, consequence: str = " count as wrong"
) -> Ints:
    """Return the codes of predicted labels that are outside the label space ``labels``.

    Warn if some predicted labels are outside, and raise the error of `unlike_labels`.
    ``consequence`` completes the sentence of the warning.
    """
    vocabulary, code = predictions[LABEL].to_numpy(), predictions["label_code"].to_numpy()
    times = np.bincount(code[code >= 0], minlength=len(vocabulary))
    used = np.flatnonzero(times)
    problem = unlike_labels(vocabulary[used], labels)
    if problem is not None:
        raise problem
    stray = used[tables.match(vocabulary[used], labels) < 0]
    if len(stray):
        names = list(vocabulary[stray])
        warn_caller(
            f"Labels outside the label space of the annotations{consequence}: {shown(names)} "
            f"(predictions with them: {times[stray].sum()}). {misspelt(names, list(labels))}If "
            "annotators could have given them, read the annotations with labels=."
        )
    return stray


def predicted_labels(predictions: xr.Dataset) -> Array:
    """Return the labels that at least one system predicts for some item."""
    code = predictions["label_code"].to_numpy()
    return np.asarray(predictions[LABEL].to_numpy()[np.unique(code[code >= 0])])


def common_items[Left: (xr.DataArray, xr.Dataset)](
    left: Left, predictions: xr.Dataset, on_missing: str
) -> tuple[Left, xr.Dataset]:
    """Select the items that ``left`` and the predictions share, in the order of ``left``.

    Raises the error of `unlike_items`, or an error if an item is twice in the predictions.
    """
    arguments.one_of("on_missing", on_missing, ("raise", "drop"))
    items = left[ITEM].to_numpy()
    predicted = tables.stored(predictions[ITEM].to_numpy(), items)
    repeated = pd.Index(predicted).duplicated()
    if repeated.any():
        raise PredictionError(
            "predictions",
            expected="each item once",
            found=f"{shown(list(predicted[repeated]))} again",
        )
    place = tables.match(items, predicted)
    if np.array_equal(place, np.arange(len(predicted))):
        return left, predictions
    problem = unlike_items(items, predicted, on_missing)
    if problem is not None:
        raise problem
    lacking = place < 0
    if lacking.any():  # a selection of all items would only copy the draws
        left = left.isel({ITEM: ~lacking})
    return left, predictions.isel({ITEM: place[~lacking]})


class Systems(NamedTuple):
    """Predictions on the items of the annotations."""

    names: Array
    """(system)"""
    present: Flags
    """(item): whether the item has predictions; always true unless ``on_missing="drop"``."""
    predictions: xr.Dataset
    """Predictions of the ``present`` items, in the order of the annotations."""


def systems_of(
    annotations: xr.Dataset, predictions: Any, on_missing: str = "raise", *, sets: bool = False
) -> Systems:
    """Align predictions with annotated items; predicted sets are an error unless ``sets``."""
    predictions = checked_predictions(predictions, sets=sets)
    places = xr.DataArray(
        np.arange(annotations.sizes[ITEM]), dims=ITEM, coords={ITEM: annotations[ITEM].to_numpy()}
    )
    common, predictions = common_items(places, predictions, on_missing)
    present = np.zeros(annotations.sizes[ITEM], dtype=bool)
    present[common.to_numpy()] = True
    return Systems(predictions[SYSTEM].to_numpy(), present, predictions)


def labels_by_systems(systems: Systems, labels: Array) -> Ints:
    """Return the code of each system's predicted label: (item, system).

    Predicted labels outside the label space get codes after the last label, so that they differ
    from all annotations. Items without predictions have the code -1.
    """
    predictions = systems.predictions
    if "label_code" not in predictions or predictions.sizes[POSITION] != 1:
        kind = predictions.attrs["kind"]
        raise PredictionError(
            "predictions",
            expected="one label from each system and item",
            found=f'numbers (kind "{kind}")' if kind == "continuous" else f"lists (kind {kind!r})",
            hint='For numbers use distance="squared", for lists distance="jaccard" or "ranking"',
        )
    vocabulary = predictions[LABEL].to_numpy()
    place = tables.match(vocabulary, labels)
    code = predictions["label_code"].transpose(ITEM, SYSTEM, POSITION).to_numpy()[..., 0]
    stray = check_labels(predictions, labels, " agree with nobody")
    place[stray] = len(labels) + np.arange(len(stray))
    out = np.full((len(systems.present), len(systems.names)), -1, dtype=np.int64)
    out[systems.present] = place[code]
    return out


def numbers_by_systems(systems: Systems) -> Floats:
    """Return the number that each system predicts: (item, system); NaN without predictions."""
    out = np.full((len(systems.present), len(systems.names)), np.nan)
    out[systems.present] = predicted_numbers(
        systems.predictions, hint='For labels without distances use distance="nominal"'
    ).to_numpy()
    return out
