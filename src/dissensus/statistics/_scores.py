"""Scores and votes in tasks with two labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.alignment import Systems, numbers_by_systems, said_by_systems, systems_of
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import AnnotationError, ArgumentError, PredictionError, brief, shown
from dissensus.kernels.grouped import LabelShares, label_shares
from dissensus.kernels.labels import amounts_at
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._read import code_of, labels_of, read, rows_of
from dissensus.statistics._sums import Doubts, Sums

# Scores of systems in tasks with two labels, and thresholds to decide at.


def positive_code(annotations: xr.Dataset, positive: Any) -> tuple[Ints, int, Any]:
    """Return label codes (row), the code of the positive label, and the label.

    Raises
    ------
    AnnotationError
        Unless there are two labels.
    ArgumentError
        If the positive label is neither of them.
    """
    codes, labels = labels_of(annotations)
    if len(labels) != 2:
        raise AnnotationError(
            "annotations",
            expected="two labels to decide between",
            found=f"{len(labels)}: {shown(list(labels))}",
            hint="If one of two was never used, read the annotations with labels=[...]",
        )
    if positive is None:
        code = 1
    else:
        code = code_of(positive, labels)
        if code < 0:
            raise ArgumentError(
                "positive", expected=f"one of {shown(list(labels))}", found=brief(positive)
            )
    return codes, code, labels[code]


def as_predictions(scores: Any) -> xr.Dataset:
    """Return scores as predictions of numbers: from predictions, an array, or a mapping.

    Raises
    ------
    PredictionError
        If scores have no items, or are not numbers.
    """
    if isinstance(scores, xr.Dataset | xr.DataTree):
        return scores  # type: ignore[return-value]  # checked where predictions are
    if isinstance(scores, pd.Series):
        _require_once(scores.index)
        scores = scores.to_dict()
    if isinstance(scores, Mapping):
        scores = xr.DataArray(
            list(scores.values()), dims=ITEM, coords={ITEM: list(scores)}, name="scores"
        )
    array = isinstance(scores, xr.DataArray)
    if not (array and ITEM in scores.coords and {ITEM} <= set(scores.dims) <= {ITEM, SYSTEM}):
        raise PredictionError(
            "scores",
            expected="predictions, a DataArray over (item, system) or (item) with their names, or "
            "a mapping from item to score",
            found=f"a DataArray with dims {scores.dims} and coordinates {list(scores.coords)}"
            if array
            else type(scores).__name__,
        )
    if SYSTEM not in scores.dims:
        name = scores.coords[SYSTEM].item() if SYSTEM in scores.coords else scores.name
        scores = scores.drop_vars(SYSTEM, errors="ignore").expand_dims({SYSTEM: [name or "scores"]})
    if SYSTEM not in scores.coords:
        scores = scores.assign_coords({SYSTEM: np.arange(scores.sizes[SYSTEM])})
    if scores.dtype.kind not in "iuf":
        raise PredictionError("scores", expected="numbers", found=str(scores.dtype))
    value = scores.astype(np.float64).transpose(ITEM, SYSTEM).reset_coords(drop=True)
    return xr.Dataset({"value": value}, attrs={"kind": "continuous"})


def _require_once(items: pd.Index[Any]) -> None:
    if items.has_duplicates:  # a mapping would keep the last without a word
        again = shown(list(items[items.duplicated()]))
        raise PredictionError("scores", expected="each item once", found=f"{again} again")


def scores_by_systems(found: Systems, label: Any) -> Floats:
    """Return the score that each system gave to the positive label (item, system).

    Raises
    ------
    PredictionError
        If predictions are labels without scores, or some list lacks the label.
    """
    predictions = found.predictions
    if "score" not in predictions:
        if "value" not in predictions and predictions[LABEL].dtype.kind not in "iuf":
            raise PredictionError(
                "scores",
                expected="numbers that say how strongly a system is for the positive label",
                found=f"labels such as {shown([predictions[LABEL].to_numpy()[0]])} without scores",
                hint='Read them with kind="continuous", or with score= beside the labels',
            )
        return numbers_by_systems(found)
    code = int(tables.match(np.array([label]), predictions[LABEL].to_numpy())[0])
    hit = (predictions["label_code"] == code) & (code >= 0)
    lacking = ~hit.any(POSITION).transpose(ITEM, SYSTEM).to_numpy()
    if lacking.any():
        item, system = np.argwhere(lacking)[0]
        raise PredictionError(
            "scores",
            where=f"item {shown([predictions[ITEM].to_numpy()[item]])}, "
            f"system {shown([found.names[system]])}",
            expected=f"a score of the positive label {shown([label])} in each list",
            found=f"none in {int(lacking.sum())} lists",
            hint='Or one number for each item and system, read with kind="continuous"',
        )
    values = predictions["score"].where(hit).sum(POSITION).transpose(ITEM, SYSTEM).to_numpy()
    out = np.full((len(found.present), len(found.names)), np.nan)
    out[found.present] = values
    return out


class Thresholds(NamedTuple):
    """Where to decide, for each system."""

    values: Floats
    """(system, threshold), each row rising."""
    place: Ints
    """(threshold): where each of those given stands among the rising ones."""
    given: Floats | None
    """(threshold), as given; None if each system has one of its own."""


def thresholds_of(given: Any, systems: npt.NDArray[Any]) -> Thresholds:
    """Return the thresholds of each system.

    Raises
    ------
    ArgumentError
        If they are not finite numbers, one stands twice, or a system has none.
    """
    if isinstance(given, xr.DataArray) and SYSTEM in given.dims:
        values = _by_system(given, systems)[:, None]
        return Thresholds(values, np.zeros(1, dtype=np.int64), None)
    try:
        values = np.asarray(given)
    except (TypeError, ValueError):  # a Dataset, or lists of different lengths
        values = np.empty(0)
    numbers = values.dtype.kind in "iuf" and values.size > 0 and values.ndim <= 1
    if not numbers or not np.isfinite(values).all():
        raise ArgumentError(
            "thresholds", expected="finite numbers, one or more, in a list", found=brief(given)
        )
    values = np.atleast_1d(values).astype(np.float64)
    rising, place = np.unique(values, return_inverse=True)
    if len(rising) < len(values):
        again = rising[np.bincount(place) > 1]
        raise ArgumentError(
            "thresholds", expected="each once", found=f"{shown(list(again))} more than once"
        )
    spread = np.broadcast_to(rising, (len(systems), len(rising)))
    return Thresholds(spread, place.astype(np.int64), values)


def _by_system(given: xr.DataArray, systems: npt.NDArray[Any]) -> Floats:
    names = given[SYSTEM].to_numpy() if SYSTEM in given.coords else np.empty(0, dtype=object)
    clear = len(names) > 0 and not pd.Index(names).has_duplicates
    place = tables.match(systems, names) if clear else np.full(len(systems), -1)
    if given.dims != (SYSTEM,) or (place < 0).any() or given.dtype.kind not in "iuf":
        named = shown(list(names)) or "none"
        raise ArgumentError(
            "thresholds",
            expected=f"a number for each of the systems {shown(list(systems))}",
            found=f"{given.dtype} with dims {given.dims}, names {named}",
        )
    values = given.to_numpy().astype(np.float64)[place]
    if not np.isfinite(values).all():
        raise ArgumentError("thresholds", expected="finite numbers", found=str(values))
    return values


# Annotators' labels as votes for the label of an item.


class Votes(NamedTuple):
    """What annotators and systems said of each item."""

    items: npt.NDArray[Any]
    shares: LabelShares
    voices: Ints
    """(item): how many annotators spoke."""
    said: Ints
    """(item, system): label codes."""
    labels: npt.NDArray[Any]
    systems: npt.NDArray[Any]
    judged: npt.NDArray[np.bool_]
    """(item): whether somebody annotated it and systems predicted it."""


def categories(annotations: Any, *, rankings: bool = False) -> xr.Dataset:
    """Return annotations with labels that several annotators can have in common.

    Raises
    ------
    AnnotationError
        If they are numbers on a scale: no two may be equal, and none then leads.
    """
    annotations = read(annotations, rankings=rankings)
    if annotations.attrs["kind"] == "continuous":
        raise AnnotationError(
            "annotations",
            expected="labels that annotators can have in common",
            found='numbers on a scale (kind "continuous")',
            hint='Read ratings with kind="ordinal"; for measurements take discrepancy_ratio',
        )
    return annotations


def votes(annotations: Any, predictions: Any, on_missing: str) -> Votes:
    """Read annotations, and bring predictions onto their items."""
    annotations = categories(annotations)
    rows = rows_of(annotations)
    codes, labels = labels_of(annotations)
    systems = systems_of(annotations, predictions, on_missing)
    said = said_by_systems(systems, labels)
    judged = systems.present & (rows.voices > 0)
    shares = label_shares(rows, codes, len(labels))
    items = annotations[ITEM].to_numpy()
    return Votes(items, shares, rows.voices, said, labels, systems.names, judged)


def accuracy_sums(name: str, found: Votes, credit: Floats) -> Sums:
    """Prepare the mean over items of what each label of an item is worth."""
    worth = amounts_at(found.shares, credit, found.said, len(found.labels))
    judged = found.judged.astype(np.float64)

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        return doubts.divided(totals[:, 1:], totals[:, :1], "no item has a label and a prediction")

    dims, coords = {name: (SYSTEM,)}, {SYSTEM: found.systems}
    return Sums(name, (judged, worth * judged[:, None]), finish, found.items, dims, coords)
