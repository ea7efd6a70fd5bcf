"""Public data sets that are downloaded when they are first loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pandas as pd

from dissensus import arguments
from dissensus.data import annotations as _annotations
from dissensus.studies.datasets._entry import Data, Entry, Source, per_item

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
    """Read the trials, without those that only tested the annotators' attention."""
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
