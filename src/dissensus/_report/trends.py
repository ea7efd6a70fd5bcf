"""What changes along reliability, and for how many items the labels settle anything, in words."""

from __future__ import annotations

from typing import Any

import xarray as xr

from dissensus._report import numbers as facts
from dissensus._report.language import Name, Sentence, joined, sentence
from dissensus._report.words import digits
from dissensus._wording import metric_title, number, share
from dissensus.dims import RELIABILITY, SCOPE, SYSTEM
from dissensus.plots._pieces import THESE


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
