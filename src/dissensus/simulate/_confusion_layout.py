"""A confusion study that was drawn, laid out as tables: annotations, predictions, the truth."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.data import predictions
from dissensus.dims import ANNOTATOR, ITEM, LABEL, RESPONSE, SYSTEM
from dissensus.kernels.types import Floats, Ints
from dissensus.simulate._confusion_checks import Design
from dissensus.simulate._confusion_matrices import expected_accuracy, with_mistakes

_GROUP: Final = "group"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Process(NamedTuple):
    """By what labels come about."""

    prevalence: Floats
    confusion: Floats
    """(voice, group, label, response), of each voice by itself and about what it takes an item for:
    annotators, then systems."""


class Items(NamedTuple):
    """What items are, and what annotators take them for."""

    group: Ints
    truth: Ints
    apparent: Ints
    """The truth, but where annotators are wrong together."""


class Said(NamedTuple):
    """What was said of items."""

    people: Ints
    """(item, place): who labelled it."""
    labels: Ints
    """(item, place)"""
    answers: Ints
    """(item, system)"""


def names_of(design: Design) -> dict[str, npt.NDArray[Any]]:
    """Name everything: letters as far as they go, then numbers."""
    label: list[Any] = list(_LETTERS[: design.n_labels])
    if design.n_labels > len(_LETTERS):
        label = list(range(1, design.n_labels + 1))
    width = len(str(design.n_systems))
    system = [f"system {number:0{width}d}" for number in range(1, design.n_systems + 1)]
    if design.n_systems <= len(_LETTERS):
        system = [f"system {letter}" for letter in _LETTERS[: design.n_systems]]
    return {
        ITEM: np.arange(1, design.n_items + 1),
        ANNOTATOR: np.arange(1, design.n_annotators + 1),
        SYSTEM: np.array(system),
        LABEL: np.array(label),
        _GROUP: np.array(design.groups),
    }


def annotated(said: Said, names: dict[str, npt.NDArray[Any]]) -> xr.Dataset:
    """Write annotations as a user's table would be read."""
    item = np.repeat(names[ITEM], said.people.shape[1])
    table = {
        "item": item,
        "annotator": names[ANNOTATOR][said.people.ravel()],
        "label": names[LABEL][said.labels.ravel()],
    }
    return _annotations.annotations(table, kind="ordinal", labels=names[LABEL].tolist())


def predicted(said: Said, names: dict[str, npt.NDArray[Any]]) -> xr.Dataset:
    """Write systems' answers as predictions."""
    item, system = np.indices(said.answers.shape).reshape(2, -1)
    table = {
        "item": names[ITEM][item],
        "system": names[SYSTEM][system],
        "label": names[LABEL][said.answers.ravel()],
    }
    return predictions.predictions(table, kind="nominal")


def truth_of(
    design: Design, process: Process, items: Items, said: Said,
    names: dict[str, npt.NDArray[Any]],
) -> xr.Dataset:  # fmt: skip
    """Lay the truth out, with the mistakes and the source of answers that voices share."""
    misled = design.shared_mistakes * np.append(np.ones(design.n_annotators), design.repeated)
    whole = with_mistakes(process.confusion, misled)
    people, own = np.split(whole, [design.n_annotators])
    systems = (1 - design.related) * own + design.related * own[0]
    right = (said.labels == items.truth[:, None]).ravel()
    n_right, n_said = (
        np.bincount(said.people.ravel(), weight, design.n_annotators) for weight in (right, None)
    )
    matrix = (_GROUP, LABEL, RESPONSE)
    return xr.Dataset(
        {
            "truth_label": (ITEM, names[LABEL][items.truth]),
            "apparent_label": (ITEM, names[LABEL][items.apparent]),
            "item_group": (ITEM, names[_GROUP][items.group]),
            "accuracy_shift": (_GROUP, design.shift),
            "prevalence": (LABEL, process.prevalence),
            "confusion": ((ANNOTATOR, *matrix), people),
            "system_confusion": ((SYSTEM, *matrix), systems),
            "annotator_accuracy": (ANNOTATOR, expected_accuracy(people, process.prevalence)),
            "system_accuracy": (SYSTEM, expected_accuracy(systems, process.prevalence)),
            "annotator_correct": (
                ANNOTATOR,
                np.divide(n_right, n_said, out=np.full(len(n_said), np.nan), where=n_said > 0),
            ),
            "system_correct": (SYSTEM, (said.answers == items.truth[:, None]).mean(axis=0)),
        },
        coords=names | {RESPONSE: names[LABEL]},
        attrs={"related": design.related, "shared_mistakes": design.shared_mistakes},
    )
