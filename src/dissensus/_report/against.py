"""What the opening of a report says of the leading system and the average annotator."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus._report import numbers as facts
from dissensus._report.component_rows import interval
from dissensus._report.language import Name, Sentence, sentence
from dissensus._wording import digits_for, percent, share, spoken_probability
from dissensus.dims import SYSTEM
from dissensus.evaluation.summary import summary


def words(evaluation: xr.DataTree, leader: Any) -> list[Sentence]:
    """Say whether a system is closer to the annotators than they are to each other, how surely.

    Nothing where that is not known: no item has two annotators, or these always agree.
    """
    if "discrepancy" not in evaluation.children:
        return []
    data = evaluation["discrepancy"].to_dataset()
    if "discrepancy_ratio" not in data:
        return []
    frame = summary(evaluation, "statistics")
    rows = frame[frame["statistic"] == "discrepancy_ratio"].set_index(SYSTEM)
    row = rows.loc[leader]
    draws = data["discrepancy_ratio"].sel({SYSTEM: leader})
    if not np.isfinite(row["observed"]) or bool(draws.isnull().any()):
        return []
    digits = digits_for((rows["upper"] - rows["lower"]).to_list())
    closer = float((draws < 1).mean())
    what, sure = max(
        ("closer to the annotators than they are to each other", closer),
        ("farther from the annotators than they are from each other", float((draws > 1).mean())),
        ("as far from the annotators as they are from each other", float((draws == 1).mean())),
        key=lambda one: one[1],
    )
    _, prob = facts.settings()
    out = [sentence(
        "Against the average annotator: {name} is {what} with probability {p} (discrepancy ratio "
        "{ratio}, {level} interval {interval} on new items).",
        name=Name(str(leader)), what=what, p=spoken_probability(sure),
        ratio=share(row["observed"], digits), level=percent(prob), interval=interval(row, digits),
    )]  # fmt: skip
    margin = float(data.attrs["margin"])
    if closer < 0.95 and margin > 0 and "non_inferiority" in data:
        out.append(sentence(
            "It is farther by less than {margin}, if at all, with probability {p}.",
            margin=percent(margin),
            p=spoken_probability(float(data["non_inferiority"].sel({SYSTEM: leader}))),
        ))  # fmt: skip
    return out
