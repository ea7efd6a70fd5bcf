"""Categories of labels, such as low and high risk: plausibilities, and accuracy of systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus import arguments, metrics
from dissensus.data import tables
from dissensus.data.alignment import common_items
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import AnnotationError, ArgumentError, shown
from dissensus.metrics._insight import leans
from dissensus.metrics._items import over_items, weights_for

_PROBABILITY = "probability"


@dataclass(frozen=True)
class Categories:
    """Categories in order, and the category of each label."""

    names: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    """Labels of the annotations, and other labels that systems put first."""
    codes: npt.NDArray[np.int64]
    """(label): position of the label's category in ``names``."""

    def plausibility(self, theta: xr.DataArray) -> xr.DataArray:
        """Return the plausibility of each category: the sum of the plausibilities of its labels."""
        mapping = dict(zip(self.labels.tolist(), self.codes.tolist(), strict=True))
        grouped = metrics.get("group_labels").function(theta, mapping)
        # Categories of which only systems gave labels have plausibility 0.
        grouped = grouped.reindex({LABEL: np.arange(len(self.names))}, fill_value=0.0)
        return grouped.assign_coords({LABEL: self.names})

    def predictions(self, predictions: xr.Dataset) -> list[xr.Dataset]:
        """Return the category of each system's first label, as predictions of single labels.

        If up to n labels share the first place, there are n Datasets. Each has the probability
        (item, system) that a random order of the tied labels puts its label first.
        """
        place = tables.match(predictions[LABEL].to_numpy(), self.labels)
        code = np.where(place < 0, -1, self.codes[place])[predictions["label_code"].to_numpy()]
        category = predictions["label_code"].copy(data=code)
        first = predictions["block"] == 1
        out = []
        for k in range(int(first.sum(POSITION).max())):
            in_block = first.isel({POSITION: [k]})
            # Systems with fewer tied labels get any valid label here, with probability 0.
            code = category.isel({POSITION: [k]}).where(in_block, category.isel({POSITION: [0]}))
            probability = in_block.isel({POSITION: 0}) / first.sum(POSITION)
            data = xr.Dataset(
                {"label_code": code, "block": xr.ones_like(code), _PROBABILITY: probability}
            ).drop_vars(LABEL, errors="ignore")
            out.append(data.assign_coords({LABEL: self.names}).assign_attrs(kind="nominal"))
        return out


def categories(
    groups: Mapping[Any, Any], annotations: xr.Dataset, predictions: xr.Dataset | None
) -> Categories:
    """Look up the category of every label.

    ``groups`` has a name or a number for every label of the annotations, and for every label that
    a system puts first. Numbers are ordered by size, and names by their first use in ``groups``.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({1: [[["b"], ["a"]]], 2: [[["c"]]]}, labels="abc")
    >>> categories({"c": "high", "a": "low", "b": "low"}, ann, None).names
    array(['high', 'low'], dtype='<U4')
    """
    if not isinstance(groups, Mapping) or not groups:
        raise ArgumentError(
            "groups",
            expected="a mapping with a category for every label",
            found="an empty mapping" if isinstance(groups, Mapping) else type(groups).__name__,
        )
    labels = _labels(annotations, predictions)
    place = tables.match(labels, _keys(groups))
    if (place < 0).any():
        raise ArgumentError(
            "groups",
            expected="a category for every label",
            found=f"none for {shown(list(labels[place < 0]))}",
        )
    values = list(groups.values())
    by_label = [values[k] for k in place]
    _check(by_label, labels.tolist())
    names = [name for name in dict.fromkeys(values) if name in set(by_label)]
    if not isinstance(names[0], str):
        names = sorted(names)
    if len(names) < 2:
        raise ArgumentError("groups", expected="two categories or more", found=shown(names))
    codes = np.array([names.index(name) for name in by_label], dtype=np.int64)
    return Categories(np.array(names), labels, codes)


def _labels(annotations: xr.Dataset, predictions: xr.Dataset | None) -> npt.NDArray[Any]:
    """Return the label space, followed by labels outside it that systems put first."""
    labels = annotations[LABEL].to_numpy()
    if predictions is None:
        return labels
    first = predictions["label_code"].to_numpy()[(predictions["block"] == 1).to_numpy()]
    predicted = predictions[LABEL].to_numpy()[np.unique(first)]
    beyond = predicted[tables.match(predicted, labels) < 0]
    if not len(beyond):
        return labels
    text = {labels.dtype.kind, beyond.dtype.kind} & set("UOT")
    return np.concatenate([part.astype(np.str_) if text else part for part in (labels, beyond)])


def _keys(groups: Mapping[Any, Any]) -> npt.NDArray[Any]:
    """Return the keys of ``groups``, encoded like the labels of annotations."""
    keys = list(groups)
    try:
        encoded = tables.encode(pd.Series(keys, dtype=object).infer_objects(), "groups").values
    except AnnotationError as problem:
        relocated = problem.relocated(lambda row: f"label {shown([keys[row]])}")
        raise ArgumentError(
            "groups", where=relocated.where, expected=relocated.expected, found=relocated.found
        ) from problem
    if len(encoded) < len(keys):
        raise ArgumentError("groups", expected="each label once", found="two keys for one label")
    return encoded


def _check(by_label: list[Any], labels: list[Any]) -> None:
    """Raise unless all categories are names, or all are finite numbers."""
    for label, category in zip(labels, by_label, strict=True):
        text = isinstance(category, str)
        number = isinstance(category, Real) and isfinite(arguments.real(category))
        expected = ""
        if not (category.strip() if text else number):
            expected = "the name or the number of a category"
        elif text != isinstance(by_label[0], str):
            expected = f"a {'number' if text else 'name'}, as {shown([labels[0]])} has"
        if expected:
            raise ArgumentError(
                "groups", where=f"label {shown([label])}", expected=expected, found=repr(category)
            )


def accuracy(
    theta: xr.DataArray, lists: list[xr.Dataset], weights: xr.DataArray | None, on_missing: str,
    insight: xr.DataArray | None = None, random_seed: Any = None,
) -> xr.DataArray:  # fmt: skip
    """Return the rate at which a system's first label is in the most plausible category.

    ``theta`` and ``lists`` are from `Categories.plausibility` and `Categories.predictions`.
    """
    function = metrics.get("top_k_accuracy").function
    if len(lists) == 1:
        rate: xr.DataArray = function(
            theta, lists[0], weights=weights, on_missing=on_missing, insight=insight,
            random_seed=random_seed,
        )  # fmt: skip
        return rate
    common = [common_items(theta, predictions, on_missing) for predictions in lists]
    theta = common[0][0]
    lists = [predictions.assign_coords({ITEM: theta[ITEM]}) for _, predictions in common]
    parts, lean = [], None if insight is None else leans(theta, insight, random_seed)
    for system in range(lists[0].sizes[SYSTEM]):  # one system at a time, to save memory
        of_system = [predictions.isel({SYSTEM: [system]}) for predictions in lists]
        hits = [
            function(theta, predictions, per_item=True) * predictions[_PROBABILITY]
            for predictions in of_system
        ]
        score = sum(hits[1:], hits[0])
        if lean is not None:
            name = score[SYSTEM].item()
            score = lean(score.squeeze(SYSTEM, drop=True), name).expand_dims({SYSTEM: [name]})
        parts.append(over_items(score, weights_for(score, weights)))
    out = xr.concat(parts, dim=SYSTEM)
    return out.rename("top_1_accuracy").assign_attrs(better="higher")
