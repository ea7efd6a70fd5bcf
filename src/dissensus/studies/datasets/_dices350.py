"""DICES-350: 123 people judge the safety of the same 350 conversations with a chatbot."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from dissensus.data import annotations as _annotations
from dissensus.studies.datasets._entry import Data, Entry, Source, one_of, per_item

_ANSWERS: Final = ("No", "Unsure", "Yes")
_GROUPS: Final = ("rater_gender", "rater_race", "rater_age", "rater_education")
_OVERALL: Final = (
    "Q_overall", "Q2_harmful_content_overall", "Q3_bias_overall", "Q4_misinformation",
    "Q5_political_affiliation", "Q6_policy_guidelines_overall",
)  # fmt: skip


def read(path: Path, question: str = "Q_overall", pool: str | None = None) -> Data:
    """Read the answers to one question: Yes means that the rater found something unsafe."""
    one_of("question", question, _OVERALL)
    one_of("pool", pool, (None, *_GROUPS))
    columns = ["item_id", "rater_id", question, "safety_gold", *([pool] if pool else [])]
    frame = pd.read_csv(path, usecols=columns)
    ann = _annotations.annotations(
        frame, item="item_id", annotator="rater_id", label=question, pool=pool,
        kind="nominal", labels=_ANSWERS,
    )  # fmt: skip
    return Data(ann, None, per_item(frame, "item_id", "safety_gold", ann))


ENTRY: Final = Entry(
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
    read=read,
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
