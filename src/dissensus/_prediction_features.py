"""What predictions say of items' labels, as features that a learned prior can lean to."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import tables
from dissensus._prediction_schema import are_probabilities
from dissensus.dims import ITEM, LABEL, POSITION, SCORED_SYSTEM, SYSTEM
from dissensus.kernels.types import Floats
from dissensus.schema import checked_predictions

LEAST: Final = 1e-3
"""A smaller predicted probability counts as this: classifiers say 1e-9 of labels that a tenth of
all annotators give."""


class Features(NamedTuple):
    """One for each system's answers, and one for its probabilities where it gave these."""

    values: list[Floats]
    """(item, label) each: first answers, then logarithms of probabilities; 0 says nothing."""
    systems: list[Any]
    """Names of the systems with answers, in the order of the features."""
    with_probabilities: list[Any]
    """Names of the systems with probabilities, likewise."""

    def coords(self) -> dict[str, list[Any]]:
        """Return the names by dimension."""
        return {SYSTEM: self.systems, SCORED_SYSTEM: self.with_probabilities}


def features(
    predictions: xr.Dataset | None, items: npt.NDArray[Any], labels: npt.NDArray[Any],
    *, whole_lists: bool = False,
) -> Features:  # fmt: skip
    """Lay predictions out by items and labels.

    An item of which nothing was predicted has zeros, and so has a label that is not in the space.
    Of labels that are tied in the first place each has its part of a 1.

    Parameters
    ----------
    predictions : xarray.Dataset or None
        Labels, as `dissensus.predictions` reads them.
    items, labels : arrays
        Their names.
    whole_lists : bool
        Whether what a system lists further down speaks too, where it gave no probabilities: by
        1 / log2(1 + place), the discount of Jarvelin & Kekalainen (2002).
    """
    if predictions is None:
        return Features([], [], [])
    predictions = checked_predictions(predictions)
    names = list(predictions[SYSTEM].to_numpy())
    dims = (ITEM, SYSTEM, POSITION)
    code = predictions["label_code"].transpose(*dims).to_numpy()
    place = np.append(tables.match(predictions[LABEL].to_numpy(), labels), -1)[code]
    block = np.where(place >= 0, predictions["block"].transpose(*dims).to_numpy(), 0)
    row = tables.match(items, predictions[ITEM].to_numpy())
    answers, logs, scored = [], [], []
    for s, name in enumerate(names):
        first = block[:, s] == 1
        said = first / np.maximum(first.sum(axis=1, keepdims=True), 1)
        answers.append(_laid(said, place[:, s], row, len(labels)))
        probability = _probabilities(predictions, s, place[:, s], row, len(labels))
        if probability is None and whole_lists:
            later = np.where(block[:, s] > 1, 1 / np.log2(1 + np.maximum(block[:, s], 1)), 0.0)
            answers[s] += _laid(later, place[:, s], row, len(labels))
        elif probability is not None:
            logs.append(np.log(probability))
            scored.append(name)
    return Features(answers + logs, names, scored)


def _laid(
    value: Floats, place: npt.NDArray[np.int64], row: npt.NDArray[np.int64], n_labels: int
) -> Floats:
    """Put what stands in lists (item, position) at the labels."""
    out = np.zeros((len(value) + 1, n_labels))  # the last row is of items without predictions
    item, position = np.nonzero(place >= 0)
    out[item, place[item, position]] = value[item, position]
    return out[row]


def _probabilities(
    predictions: xr.Dataset, system: int, place: npt.NDArray[np.int64],
    row: npt.NDArray[np.int64], n_labels: int,
) -> Floats | None:  # fmt: skip
    """Return a system's probabilities (item, label), if its scores are such."""
    if "score" not in predictions:
        return None
    dims = (ITEM, SYSTEM, POSITION)
    score = predictions["score"].transpose(*dims).to_numpy()[:, system]
    if not are_probabilities(score).all():
        return None
    found = np.maximum(_laid(np.nan_to_num(score), place, row, n_labels), LEAST)
    return found / found.sum(axis=1, keepdims=True)
