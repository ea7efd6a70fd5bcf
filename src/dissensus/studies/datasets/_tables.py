"""The data sets: published tables and figures, typed in, and public files that are downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pandas as pd

from dissensus import arguments
from dissensus.data import annotations as _annotations
from dissensus.data import nested, predictions
from dissensus.studies.datasets._entry import Data, Entry, Source, per_item

# Dawid and Skene's anaesthetists: seven ratings of each of 45 patients, four categories.


_RATINGS: Final = """
    1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223
    4444444 2223343 1111111 2223212 1211111 1112111 1111111 1111111 2222221 2221322
    2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111 1111111 1121121
    1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111
    1111111 1212111 2322222 1211111 2222222
""".split()  # noqa: SIM905 (as a table, which is easier to check than a list of words)
"""Each word is a patient: three ratings by observer 1, then one by each of observers 2 to 5."""

_OBSERVER: Final = ("1", "1", "1", "2", "3", "4", "5")
_TRIAL: Final = (1, 2, 3, 1, 1, 1, 1)
_DISPUTED: Final = 6
"""Place of patient 7, whose ratings differ between the two transcriptions in use."""


def _anaesthesia(transcription: str = "published") -> Data:
    """Return the ratings, in one of the two transcriptions in use."""
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
    title="Anaesthetists' ratings of patients' fitness for surgery",
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
        "The truth is unknown."
    ),
)


# Lehner's worked example: ten cases, four raters who agree little, one system.


_CASES: Final = "CDCCA BDCCC CCDCC BBDDB ABBBB CBDAA AAAAA ADBCC DBAAD ADABB".split()  # noqa: SIM905
"""Each word is a case: the labels of raters 1 to 4, then the system's."""


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
            "False (default): the label space is the 8 conditions that were named; True: all 419 "
            'that could be named, the others as "other condition 1", "other condition 2", ...'
        )
    },
    notes=(
        "The source prints that set A holds the top label with probability .7 (Plackett-Luce) "
        "and .52 (PrIRN), set B with 1 and .99, at a reliability it does not state."
    ),
)


# CIFAR-10H: about fifty people classify each of 10,000 small photographs.


_CLASSES: Final = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_COLUMNS: Final = {
    "cifar10_test_test_idx": "item",
    "annotator_id": "annotator",
    "chosen_category": "label",
    "true_category": "truth",
}


def _cifar10h(path: Path) -> Data:
    """Read the labels, without trials that only tested the annotators' attention."""
    with ZipFile(path) as archive, archive.open("cifar10h-raw.csv") as file:
        frame = pd.read_csv(file, usecols=[*_COLUMNS, "is_attn_check"])
    frame = frame[frame["is_attn_check"] == 0].rename(columns=_COLUMNS)
    ann = _annotations.annotations(frame, kind="nominal", labels=_CLASSES)
    return Data(ann, None, per_item(frame, "item", "truth", ann))


CIFAR10H: Final = Entry(
    name="cifar10h",
    title="CIFAR-10H: about 50 labels for each of the 10,000 test images of CIFAR-10",
    kind="nominal",
    counts={"items": 10_000, "annotators": 2571, "labels": 10, "annotations": 514_200},
    citation=(
        "Peterson, J. C., Battleday, R. M., Griffiths, T. L. and Russakovsky, O. (2019). Human "
        "uncertainty makes classification more robust. ICCV 2019, 9617-9626."
    ),
    licence="CC BY-NC-SA 4.0 (not for commercial use)",
    read=_cifar10h,
    source=Source(
        address=(
            "https://github.com/jcpeterson/cifar-10h/raw/"
            "389f22d9d300ec71a4c44735d46f550c94b957ab/data/cifar10h-raw.zip"
        ),
        file="cifar10h-raw.zip",
        # As recorded by TensorFlow Datasets (image_classification/cifar10_h/checksums.tsv, with
        # the size 11,272,560) and, for this commit, by the Item Response Warehouse.
        sha256="4b0283f9b2ae72a616eeb4a2a38474cc2a238eb041bfb8df5ead3a8a47f35aa3",
        megabytes=11.3,
    ),
    notes=(
        "The item is the image's number in the test set; the truth is CIFAR-10's own label. "
        "Attention checks are left out."
    ),
)


# DICES-350: 123 people judge the safety of the same 350 conversations with a chatbot.


_ANSWERS: Final = ("No", "Unsure", "Yes")
_GROUPS: Final = ("rater_gender", "rater_race", "rater_age", "rater_education")
_OVERALL: Final = (
    "Q_overall", "Q2_harmful_content_overall", "Q3_bias_overall", "Q4_misinformation",
    "Q5_political_affiliation", "Q6_policy_guidelines_overall",
)  # fmt: skip


def _dices350(path: Path, question: str = "Q_overall", pool: str | None = None) -> Data:
    """Read the answers to one question: Yes means that the rater found something unsafe."""
    arguments.one_of("question", question, _OVERALL)
    arguments.one_of("pool", pool, (None, *_GROUPS))
    columns = ["item_id", "rater_id", question, "safety_gold", *([pool] if pool else [])]
    frame = pd.read_csv(path, usecols=columns)
    ann = _annotations.annotations(
        frame, item="item_id", annotator="rater_id", label=question, pool=pool,
        kind="nominal", labels=_ANSWERS,
    )  # fmt: skip
    return Data(ann, None, per_item(frame, "item_id", "safety_gold", ann))


DICES350: Final = Entry(
    name="dices350",
    title="DICES-350: 123 raters on the safety of 350 conversations with a chatbot",
    kind="nominal",
    counts={"items": 350, "annotators": 123, "labels": 3, "annotations": 43_050},
    citation=(
        "Aroyo, L., Taylor, A. S., Diaz, M., Homan, C. M., Parrish, A., Serapio-Garcia, G., "
        "Prabhakaran, V. and Wang, D. (2023). DICES dataset: diversity in conversational AI "
        "evaluation for safety. NeurIPS 2023 Datasets and Benchmarks. arXiv:2306.11247"
    ),
    licence="CC BY 4.0",
    read=_dices350,
    source=Source(
        address=(
            "https://raw.githubusercontent.com/google-research-datasets/dices-dataset/"
            "b5596d9edd585361967991a591abc7b11fb1f7a3/350/diverse_safety_adversarial_dialog_350.csv"
        ),
        file="diverse_safety_adversarial_dialog_350.csv",
        # As recorded by TensorFlow Datasets (datasets/dices/checksums.tsv, with the size
        # 31,143,485) and, for this commit, by data sets derived from it.
        sha256="63cb8620eb04e64957f9e45b1f7cb3d079c4eed8e8b28909f46e0b7038ce4301",
        megabytes=31.1,
    ),
    options={
        "question": f"one of {', '.join(_OVERALL)}; the first is the default",
        "pool": f"group the raters by one of {', '.join(_GROUPS)}; none by default",
    },
    notes=(
        "The truth is the experts' label of the conversation. All 123 raters are kept; the "
        "source's own analyses leave out 19 that failed a quality check."
    ),
)
