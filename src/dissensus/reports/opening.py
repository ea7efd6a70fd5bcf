"""The opening of a report: leading system, average annotator, and trends."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import RELIABILITY, SCOPE, SYSTEM
from dissensus.evaluation.summary import summary
from dissensus.plots._source import THESE
from dissensus.reports import numbers as facts
from dissensus.reports.language import Name, Sentence, joined, sentence
from dissensus.reports.tables import interval
from dissensus.reports.words import digits
from dissensus.wording import digits_for, metric_title, number, percent, share, spoken_probability

# What the opening of a report says of the leading system and the average annotator.


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


# What changes along reliability, and for how many items the labels settle anything, in words.


def along_words(values: xr.Dataset) -> list[Sentence]:
    """Say what changes along reliability: who leads, the order, the level.

    ``values`` are the `numbers` of one metric.
    """
    here = values.sel({SCOPE: THESE})
    trust = [float(value) for value in here[RELIABILITY].to_numpy()]
    if len(trust) < 2:
        return []
    ends = f"from {number(trust[0])} to {number(trust[-1])}"
    found = facts.leaders(here)
    several = here.sizes[SYSTEM] > 1
    d = digits(values)
    last = found[-1][0]
    level = here["mean"].sel({SYSTEM: last})
    low, high = float(level[0]), float(level[-1])
    moves = sentence(
        "the {metric} of {name} goes from {low} to {high}",
        metric=metric_title(str(here["metric"].item())), name=Name(str(last)),
        low=share(low, d), high=share(high, d),
    )  # fmt: skip
    along = sentence("Along reliability {ends}, {moves}.", ends=ends, moves=moves)
    if not several:
        return [along]
    if len(set(found)) == 1:
        verb = "leads" if len(found[0]) == 1 else "share the lead"
        who = sentence("{who} {verb} at every reliability {ends}",
                       who=joined(found[0]), verb=verb, ends=ends)  # fmt: skip
        if here.sizes[SYSTEM] == 2:
            return [(*who, "."), along]
        order = (
            "the order of the systems does not change"
            if facts.same_order(here)
            else "further down the order changes"
        )
        return [sentence("{who}; {order}.", who=who, order=order), along]
    return [(*sentence("Which system leads depends on how far the annotators are trusted: "),
             *_segments(found, trust), "."), along]  # fmt: skip


def _segments(found: list[tuple[Any, ...]], trust: list[float]) -> Sentence:
    """Write runs of the same leader with the reliabilities they cover."""
    runs: list[tuple[tuple[Any, ...], float, float]] = []
    for who, value in zip(found, trust, strict=True):
        if runs and runs[-1][0] == who:
            runs[-1] = (who, runs[-1][1], value)
        else:
            runs.append((who, value, value))
    parts: list[str] = []
    for place, (who, start, end) in enumerate(runs):
        if place:
            parts.append(", ")
        parts.extend(joined(who))
        span = f"{number(start)} to {number(end)}" if end > start else number(start)
        parts.append(f" at {span}")
    return tuple(parts)


def certainty_words(evaluation: xr.DataTree, reliability: float) -> list[Sentence]:
    """Say for how many items the annotations settle the leading label."""
    doubt = facts.certainty_shares(evaluation).sel(top=1, below=0.9)
    here = share(float(doubt.sel({RELIABILITY: reliability})))
    alone = not facts.has(evaluation, "metrics")
    where = "The"
    if facts.knows_reliability(evaluation) and alone:
        where = f"At reliability {number(reliability)}, the"
    out = [sentence(
        "{where} annotations leave the leading label in doubt (certainty below .90) for {share} of "
        "the items.", where=where, share=here,
    )]  # fmt: skip
    if alone:
        mean = facts.mean_certainty(evaluation).sel({"top": 1, RELIABILITY: reliability})
        out.append(sentence("Averaged over items, its certainty is {mean}.",
                            mean=share(float(mean))))  # fmt: skip
    return out


def doubt_words(evaluation: xr.DataTree) -> list[Sentence]:
    """Say how the items in doubt become fewer along reliability."""
    trust = facts.reliabilities(evaluation)
    if len(trust) < 2:
        return []
    doubt = facts.certainty_shares(evaluation).sel(top=1, below=0.9)
    low, high = (share(float(doubt.sel({RELIABILITY: trust[k]}))) for k in (0, -1))
    return [sentence(
        "The share of items in doubt goes from {low} at reliability {a} to {high} at {b}.",
        low=low, high=high, a=number(trust[0]), b=number(trust[-1]),
    )]  # fmt: skip
