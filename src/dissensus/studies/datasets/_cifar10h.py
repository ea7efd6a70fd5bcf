"""CIFAR-10H: what fifty people saw in each of 10,000 small photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pandas as pd

from dissensus.data import annotations as _annotations
from dissensus.studies.datasets._entry import Data, Entry, Source, per_item

_CLASSES: Final = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_COLUMNS: Final = {
    "cifar10_test_test_idx": "item",
    "annotator_id": "annotator",
    "chosen_category": "label",
    "true_category": "truth",
}


def read(path: Path) -> Data:
    """Read the trials, without those that only tested the annotators' attention."""
    with ZipFile(path) as archive, archive.open("cifar10h-raw.csv") as file:
        frame = pd.read_csv(file, usecols=[*_COLUMNS, "is_attn_check"])
    frame = frame[frame["is_attn_check"] == 0].rename(columns=_COLUMNS)
    ann = _annotations.annotations(frame, kind="nominal", labels=_CLASSES)
    return Data(ann, None, per_item(frame, "item", "truth", ann))


ENTRY: Final = Entry(
    name="cifar10h",
    title="CIFAR-10H: about 50 labels for each of the 10,000 test images of CIFAR-10",
    kind="nominal",
    counts={"items": 10_000, "annotators": 2571, "labels": 10, "annotations": 514_200},
    citation=(
        "Peterson, J. C., Battleday, R. M., Griffiths, T. L. and Russakovsky, O. (2019). Human "
        "uncertainty makes classification more robust. ICCV 2019, 9617-9626."
    ),
    licence="CC BY-NC-SA 4.0 (not for commercial use)",
    read=read,
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
