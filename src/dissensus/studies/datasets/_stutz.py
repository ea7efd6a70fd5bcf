"""Figure 5 of Stutz et al.: six differential diagnoses of one skin condition, two models."""

from __future__ import annotations

from typing import Final

from dissensus.data import nested, predictions
from dissensus.studies.datasets._entry import Data, Entry, one_of

_ITEM: Final = "figure 5"
_CONDITIONS: Final = 419

_ANGIOKERATOMA: Final = "Angiokeratoma of skin"
_ATYPICAL: Final = "Atypical Nevus"
_HEMANGIOMA: Final = "Hemangioma"
_MELANOCYTIC: Final = "Melanocytic Nevus"
_MELANOMA: Final = "Melanoma"
_ECCHYMOSES: Final = "O/E - ecchymoses present"
_GRANULOMA: Final = "Pyogenic granuloma"
_TAG: Final = "Skin Tag"
_NAMED: Final = (
    _ANGIOKERATOMA, _ATYPICAL, _HEMANGIOMA, _MELANOCYTIC, _MELANOMA, _ECCHYMOSES, _GRANULOMA, _TAG,
)  # fmt: skip

_DIAGNOSES: Final = {
    "A0": [[_GRANULOMA], [_HEMANGIOMA], [_MELANOMA]],
    "A1": [[_ANGIOKERATOMA], [_ATYPICAL]],
    "A2": [[_HEMANGIOMA], [_MELANOCYTIC, _MELANOMA, _ECCHYMOSES]],
    "A3": [[_HEMANGIOMA, _MELANOMA, _TAG]],
    "A4": [[_MELANOMA]],
    "A5": [[_HEMANGIOMA], [_MELANOMA], [_MELANOCYTIC]],
}
_SETS: Final = {
    "A": (_ATYPICAL, _HEMANGIOMA, _MELANOCYTIC),
    "B": (_HEMANGIOMA, _MELANOCYTIC, _MELANOMA),
}


def read(whole_space: bool = False) -> Data:
    """Return the diagnoses and the two models' sets, which have no order: three ties."""
    one_of("whole_space", whole_space, (False, True))
    labels = list(_NAMED)
    if whole_space:
        others = range(1, _CONDITIONS - len(labels) + 1)
        labels += [f"other condition {number}" for number in others]
    rows = [(_ITEM, system, label, 1) for system, members in _SETS.items() for label in members]
    columns = zip(("item", "system", "label", "rank"), zip(*rows, strict=True), strict=True)
    ann = nested.from_rankings({_ITEM: _DIAGNOSES}, labels=labels)
    return Data(ann, predictions.predictions(dict(columns), rank="rank"), None)


ENTRY: Final = Entry(
    name="stutz_figure5",
    title="Six dermatologists' differential diagnoses of one case, and two models' top-3 sets",
    kind="ranking",
    counts={"items": 1, "annotators": 6, "labels": 8, "annotations": 16, "systems": 2},
    citation=(
        "Stutz, D. et al. (2023). Evaluating AI systems under uncertain ground truth: a case "
        "study in dermatology. arXiv:2307.02191. Figure 5."
    ),
    licence="a published figure, typed in as facts",
    read=read,
    options={
        "whole_space": (
            "False (default): the label space is the 8 conditions somebody named; True: all 419 "
            'that could have been named, the rest as "other condition 1", "other condition 2", ...'
        )
    },
    notes=(
        "The source prints that set A holds the top label with probability .7 (Plackett-Luce) "
        "and .52 (PrIRN), set B with 1 and .99, at a reliability it does not state."
    ),
)
