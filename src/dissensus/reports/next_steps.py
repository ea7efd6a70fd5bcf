"""What to do next: items and annotators to look at, items to add, true labels to get."""

from __future__ import annotations

from typing import Any, Final

import xarray as xr

from dissensus.dims import ANNOTATOR, ITEM, LABEL
from dissensus.evaluation.answers import TRUTH
from dissensus.evaluation.evidence import summary
from dissensus.reports import evidence
from dissensus.reports.evidence import Facts
from dissensus.reports.opening import ACCURACY
from dissensus.reports.sections import accuracy_facts, ratios_of
from dissensus.reports.sentences import Name, interval
from dissensus.reports.trust import items_to_add
from dissensus.reports.verdict import Lead
from dissensus.wording import counted, share

_ITEMS: Final = 10
_PEOPLE: Final = 5
_SURE: Final = 0.995
"""Items with at least this certainty are not listed as a next step."""


def steps(evaluation: xr.DataTree, lead: Lead | None, uncertain: list[Any]) -> Facts:
    """Return items to look at, annotators who differ, items to add, and true labels to get."""
    more = items_to_add(evaluation, lead)
    numbers = evidence.is_of_numbers(evaluation)
    of_truth = lead is not None and lead.name == ACCURACY
    settled = _settled_truths(evaluation) if of_truth else frozenset()
    items = [(place, card.name, card.certainty) for place, card in enumerate(uncertain, 1)
             if str(card.name) not in settled
             and (numbers or float(card.certainty) < _SURE)]  # fmt: skip
    return {
        "known": known_labels(evaluation),
        "items": items[:_ITEMS],
        "of_truth": of_truth,
        "numbers": numbers,
        "people": differing(evaluation),
        "more": more,
    }  # fmt: skip


def _settled_truths(evaluation: xr.DataTree) -> frozenset[str]:
    """Return the items whose true label is known, or nearly certain."""
    most = evaluation["accuracy"].to_dataset()["truth_mean"].max(LABEL)
    return frozenset(map(str, most[ITEM].to_numpy()[most.to_numpy() >= _SURE].tolist()))


def known_labels(evaluation: xr.DataTree) -> Facts:
    """Return how many true labels narrow the interval of the best system's accuracy, or {}."""
    if not evidence.has(evaluation, "accuracy"):
        return {}
    facts = accuracy_facts(evaluation)
    if not facts.get("needed") or facts["now"] <= facts["width"]:
        return {}
    known = facts["known_of_system"]
    return {
        "n": counted(facts["needed"] - known, "more item" if known else "item"),
        "known": counted(known, "item") if known else "",
        "name": facts["systems"][0]["name"],
        "of_panel": evidence.group(evaluation, "answers").attrs.get("question") != TRUTH,
        "now": share(facts["now"]), "width": share(facts["width"]),
    }  # fmt: skip


def differing(evaluation: xr.DataTree) -> list[tuple[Any, str]]:
    """Return annotators with an interval of the discrepancy ratio above 1, largest ratios first."""
    if not evidence.has(evaluation, "discrepancy"):
        return []
    rows = ratios_of(summary(evaluation, "statistics"), "annotator_discrepancy_ratio")
    rows = rows[(rows["lower"] > 1) & rows["mean"].notna()]
    rows = rows.sort_values("observed", ascending=False, kind="stable")[:_PEOPLE]
    d = evidence.digits(rows)
    return [(Name(row[ANNOTATOR]), f"{share(row['observed'], d)} ({interval(row, d)})")
            for row in rows.to_dict("records")]  # fmt: skip
