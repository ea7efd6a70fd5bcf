"""Which statistics of agreement are compared for which form of data, and how they are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import statistics
from dissensus._replication.replicates import Replicates, Said, evaluated, stacked
from dissensus.dims import ITEM
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.distances import far_pairs
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._distances import pairs_of
from dissensus.statistics._read import numbers_of, rows_of
from dissensus.statistics._sums import Doubts, Sums

_LEVELS: Final = {
    "labels": ("nominal", "ordinal", "interval", "ratio"),
    "numbers": ("interval",),
    "rankings": ("nominal",),
    "first choices": ("nominal",),
}
"""Levels of Krippendorff's alpha by form of the data; the first is the default."""


class Check(NamedTuple):
    """How a statistic is computed of annotations laid one after the other."""

    name: str
    meaning: str
    kind: str
    sums: Callable[[xr.Dataset], Sums]
    firsts: bool = False
    """Whether of first choices."""
    width: int = 1
    """Totals that it needs of each version, about."""


def checks(both: Replicates, level: str) -> list[Check]:
    """List what is checked for this form of data."""
    if both.form == "numbers":
        alpha = f"Krippendorff's alpha ({level})"
        return [
            Check("krippendorff_alpha", alpha, "continuous", _alpha(level)),
            Check(
                "mean_absolute_difference", "absolute difference of two annotators of an item",
                "continuous", _absolute_difference,
            ),
        ]  # fmt: skip
    named = both.form == "labels" and both.kind
    kind = named or ("nominal" if level == "nominal" else "ordinal")
    n_labels = len(both.labels) + both.another
    width = n_labels**2 if level == "ordinal" else n_labels
    firsts = both.form != "labels"
    of = " of their first choices (of tied ones, one at random)" if firsts else ""
    out = [
        Check(
            "percent_agreement", f"probability that two annotators of an item agree{of}",
            kind, statistics.get("percent_agreement").sums, firsts, n_labels,
        ),
        Check(
            "krippendorff_alpha", f"Krippendorff's alpha ({level}){of}", kind, _alpha(level),
            firsts, width,
        ),
    ]  # fmt: skip
    if both.form == "first choices":
        return out
    leading = Check(
        "leave_one_out_agreement",
        "probability that an annotator names the label that leads among the others of the item",
        "ranking" if both.form == "rankings" else kind,
        statistics.get("leave_one_out_agreement").sums,
    )
    return [*out, leading]


def _alpha(level: str) -> Callable[[xr.Dataset], Sums]:
    sums = statistics.get("krippendorff_alpha").sums
    return lambda annotations: sums(annotations, level)


def checked_level(both: Replicates, level: str | None) -> str:
    """Return the level asked for, or the default, or raise if the data do not have it."""
    known = _LEVELS[both.form]
    if both.another:
        known = known[:1]
    if level is None:
        return known[0]
    if not isinstance(level, str) or level not in known:  # an array has an idea of its own of `in`
        raise ArgumentError(
            "level",
            expected=f"{' or '.join(map(repr, known))} for replicates that are {both.form}",
            found=brief(level),
        )
    return level


def values_of(check: Check, both: Replicates, said: Said, doubts: Doubts) -> Floats:
    """Compute a statistic of every version (version), block by block."""
    said = said.first_choices() if check.firsts else said
    labels = np.arange(len(both.labels) + 1) if both.another else both.labels
    found = []
    for some in said.blocks(check.width):
        ann = stacked(said, said.values(some), len(both.items), check.kind, labels)
        found.append(evaluated(check.sums(ann), some.stop - some.start, doubts))
    return np.concatenate(found)


def _absolute_difference(annotations: xr.Dataset) -> Sums:
    """Prepare the mean over items of the mean absolute difference of two annotators."""
    rows = rows_of(annotations)
    within, _ = far_pairs(rows, numbers_of(annotations), tolerance=0.0)
    pairs = pairs_of(rows.voices)
    parts = ((pairs > 0).astype(np.float64), within / np.maximum(pairs, 1.0))

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        return doubts.divided(totals[:, 1], totals[:, 0], NO_PAIRS)

    return Sums("mean_absolute_difference", parts, finish, annotations[ITEM].to_numpy())


def given_of(both: Replicates) -> list[tuple[str, str, float]]:
    """Return name, meaning and value of what replicates share with the data by construction."""
    if both.form != "rankings":
        return []
    said = both.observed
    columns = {"item": said.item, "annotator": said.annotator, "rank": said.rank}
    if said.trial is not None:
        columns["trial"] = said.trial
    frame = pd.DataFrame(columns)
    blocks = frame.value_counts().to_numpy()
    lists = frame.drop(columns="rank").value_counts().to_numpy()
    tied, pairs = ((n * (n - 1)).sum() for n in (blocks, lists))
    return [
        ("tie_rate", "share of tied pairs among labels that an annotator lists", tied / pairs),
        ("list_length", "labels that an annotator lists", lists.mean()),
    ]
