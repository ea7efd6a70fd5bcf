"""Tables and figures from the literature, typed in."""

from __future__ import annotations

from typing import Final

from dissensus import arguments
from dissensus.data import annotations as _annotations
from dissensus.data import nested, predictions
from dissensus.studies.datasets._entry import Data, Entry

# Dawid and Skene's anaesthetists: seven ratings of each of 45 patients, four categories.


_RATINGS: Final = """
    1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223
    4444444 2223343 1111111 2223212 1211111 1112111 1111111 1111111 2222221 2221322
    2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111 1111111 1121121
    1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111
    1111111 1212111 2322222 1211111 2222222
""".split()  # noqa: SIM905 (a table; 45 quoted words are none)
"""A patient each: the three ratings by observer 1, then one by each of observers 2 to 5."""

_OBSERVER: Final = ("1", "1", "1", "2", "3", "4", "5")
_TRIAL: Final = (1, 2, 3, 1, 1, 1, 1)
_DISPUTED: Final = 6
"""Patient 7, whom the two transcriptions in circulation rate differently."""


def _anaesthesia(transcription: str = "published") -> Data:
    """Return the ratings in one of the two transcriptions that circulate."""
    arguments.one_of("transcription", transcription, ("published", "rater"))
    ratings = list(_RATINGS)
    if transcription == "rater":
        ratings[_DISPUTED] = "112" + ratings[_DISPUTED][3:]
    rows = [
        (patient, f"observer {observer}", int(label), trial)
        for patient, row in enumerate(ratings, start=1)
        for label, observer, trial in zip(row, _OBSERVER, _TRIAL, strict=True)
    ]
    columns = zip(("item", "annotator", "label", "trial"), zip(*rows, strict=True), strict=True)
    ann = _annotations.annotations(
        dict(columns), trial="trial", kind="ordinal", labels=(1, 2, 3, 4)
    )
    return Data(ann, None, None)


ANAESTHESIA: Final = Entry(
    name="anaesthesia",
    title="Anaesthetists' ratings of patients' fitness for surgery, from their forms",
    kind="ordinal",
    counts={"items": 45, "annotators": 5, "labels": 4, "annotations": 315},
    citation=(
        "Dawid, A. P. and Skene, A. M. (1979). Maximum likelihood estimation of observer "
        "error-rates using the EM algorithm. Applied Statistics 28(1), 20-28. Table 1."
    ),
    licence="a published table, typed in as facts",
    read=_anaesthesia,
    options={
        "transcription": (
            '"published" (default): patient 7 was rated 1, 2, 2 by observer 1, which goes with '
            'the published error rates; "rater": 1, 1, 2, as in the R package rater'
        )
    },
    notes=(
        "Observer 1 rated every patient three times, weeks apart (trial 1 to 3), the others once. "
        "Nobody knows the truth."
    ),
)


# Lehner's worked example: ten cases, four raters who agree little, one system.


_CASES: Final = "CDCCA BDCCC CCDCC BBDDB ABBBB CBDAA AAAAA ADBCC DBAAD ADABB".split()  # noqa: SIM905
"""A case each: what raters 1 to 4 said, then the system."""


def _lehner() -> Data:
    """Return the raters' labels and the system's answers."""
    rows = [
        (case, f"rater {rater}", label)
        for case, row in enumerate(_CASES, start=1)
        for rater, label in enumerate(row[:4], start=1)
    ]
    columns = zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True)
    answers = {
        "item": list(range(1, len(_CASES) + 1)),
        "system": ["system"] * len(_CASES),
        "label": [row[4] for row in _CASES],
    }
    return Data(
        _annotations.annotations(dict(columns), labels="ABCD"),
        predictions.predictions(answers),
        None,
    )


LEHNER: Final = Entry(
    name="lehner_table2",
    title="A worked example: four raters and a system on ten made-up cases",
    kind="nominal",
    counts={"items": 10, "annotators": 4, "labels": 4, "annotations": 40, "systems": 1},
    citation=(
        "Lehner, P. E. (2015). Estimating the accuracy of automated classification systems using "
        "only expert ratings that are less accurate than the system. Journal of Modern Applied "
        "Statistical Methods 14(1), article 13. Table 2. doi:10.22237/jmasm/1430453520"
    ),
    licence="a published table, typed in as facts",
    read=_lehner,
    notes=(
        "20 of 60 pairs of raters agree. The labels A, B, C and D were given 11, 10, 10 and 9 "
        'times; the source\'s text says "11 instances of each" (its base rates use the right '
        "counts)."
    ),
)


# Figure 5 of Stutz et al.: six differential diagnoses of one skin condition, two models.


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


def _figure5(whole_space: bool = False) -> Data:
    """Return the diagnoses and the sets of the two models; a set is three tied labels."""
    arguments.flags(whole_space=whole_space)
    labels = list(_NAMED)
    if whole_space:
        others = range(1, _CONDITIONS - len(labels) + 1)
        labels += [f"other condition {number}" for number in others]
    rows = [(_ITEM, system, label, 1) for system, members in _SETS.items() for label in members]
    columns = zip(("item", "system", "label", "rank"), zip(*rows, strict=True), strict=True)
    ann = nested.from_rankings({_ITEM: _DIAGNOSES}, labels=labels)
    return Data(ann, predictions.predictions(dict(columns), rank="rank"), None)


FIGURE5: Final = Entry(
    name="stutz_figure5",
    title="Six dermatologists' differential diagnoses of one case, and two models' top-3 sets",
    kind="ranking",
    counts={"items": 1, "annotators": 6, "labels": 8, "annotations": 16, "systems": 2},
    citation=(
        "Stutz, D. et al. (2023). Evaluating AI systems under uncertain ground truth: a case "
        "study in dermatology. arXiv:2307.02191. Figure 5."
    ),
    licence="a published figure, typed in as facts",
    read=_figure5,
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
