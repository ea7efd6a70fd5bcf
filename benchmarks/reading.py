"""A million annotations: read from a file, coded and validated."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from timing import Row, in_turns

import dissensus as dx

ROWS, ITEMS, ANNOTATORS = 1_000_000, 200_000, 1000


def rows(repeats: int) -> Iterator[Row]:
    """Measure with text and with whole numbers as names; the peer only parses the file."""
    for spelling, prefix in (("names in words", True), ("names in numbers", False)):
        table = _table(prefix)
        with tempfile.TemporaryDirectory() as folder:
            csv, parquet = Path(folder) / "a.csv", Path(folder) / "a.parquet"
            table.to_csv(csv, index=False)
            table.to_parquet(parquet)
            repeat = max(3, repeats // 2)
            times, peer = in_turns(
                repeat, lambda csv=csv: dx.read_annotations(csv), lambda csv=csv: pd.read_csv(csv)
            )
            yield Row(f"read_annotations, a million rows of CSV, {spelling}", times,
                      "pandas.read_csv", peer, "seconds")  # fmt: skip
            times, peer = in_turns(
                repeat, lambda f=parquet: dx.read_annotations(f),
                lambda f=parquet: pd.read_parquet(f),
            )  # fmt: skip
            yield Row(f"read_annotations, a million rows of Parquet, {spelling}", times,
                      "pandas.read_parquet", peer)  # fmt: skip
        (times,) = in_turns(repeat, lambda table=table: dx.annotations(table))
        yield Row(f"annotations, a dataframe of a million rows, {spelling}", times)


def _table(words: bool) -> pd.DataFrame:
    """Five annotators for each item, in random order of rows."""
    rng = np.random.default_rng(1)
    each = ROWS // ITEMS
    item = np.repeat(np.arange(ITEMS), each)
    first = np.repeat(rng.integers(0, ANNOTATORS, ITEMS), each)
    annotator = (first + np.tile(np.arange(each), ITEMS)) % ANNOTATORS
    label = rng.choice(["negative", "neutral", "positive"], ROWS)
    if not words:
        label = rng.integers(1, 6, ROWS)
    table = pd.DataFrame({"item": item, "annotator": annotator, "label": label})
    if words:
        table["item"] = "item-" + table["item"].astype(str)
        table["annotator"] = "worker-" + table["annotator"].astype(str)
    return table.sample(frac=1.0, random_state=1, ignore_index=True)
