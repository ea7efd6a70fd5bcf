"""What the report says of accuracy if every item has one true label, and why others differ."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import plots
from dissensus.dims import SCOPE, SCOPES, SYSTEM
from dissensus.evaluation.rows import OF_ANNOTATOR, OF_SYSTEM
from dissensus.evaluation.summary import summary
from dissensus.reports import numbers as facts
from dissensus.reports.language import Name, Sentence, sentence, text
from dissensus.reports.pictures import Shown, picture
from dissensus.reports.tables import Body, Table, between
from dissensus.wording import counted, interval_name, number, percent, share, spoken_probability

THESE, NEW = SCOPES
_IN_WORDS: Final = 4
_PEOPLE: Final = 30
"""Annotators in the table; one who wants all of them reads the file."""
_SETTINGS: Final = {
    ("accuracy", "common"): "one accuracy for all annotators",
    ("accuracy", "annotator"): "an accuracy for each annotator",
    ("errors", "equal"): "errors that fall on any other label alike",
    ("errors", "graded"): "errors that fall near the truth more often than far from it",
    ("pooling", "none"): "a confusion matrix for each annotator",
    ("pooling", "complete"): "one confusion matrix for all annotators",
}
WHY: Final = (
    "Majority vote takes what most annotators said for the truth, and so charges a system with "
    "their errors. Agreement with the panel takes no label for the truth. Estimated accuracy "
    "assumes that an item has one true label, and that annotators may be wrong about it together: "
    "how often {source}{known}.{systems}"
)
_SYSTEMS: Final = (
    " How much a system knows that annotators do not is not known without known labels, which is "
    "most of the width of its interval."
)


@dataclass(frozen=True)
class Part:
    """All that is said of accuracy."""

    intro: str
    words: list[Sentence]
    notes: list[str]
    picture: Shown
    tables: list[Table]


def section(evaluation: xr.DataTree) -> Part | None:
    """Return words, picture and tables; nothing where no accuracy was estimated."""
    if not facts.has(evaluation, "accuracy"):
        return None
    frame = summary(evaluation, "accuracy")
    return Part(_intro(evaluation), words(evaluation, frame), notes(evaluation),
                _picture(evaluation, frame), _tables(frame))  # fmt: skip


def _intro(evaluation: xr.DataTree) -> str:
    attrs = evaluation["accuracy"].attrs
    given = json.loads(attrs["settings"]).items()
    parts = [_SETTINGS[name, value] for name, value in given if (name, value) in _SETTINGS]
    known = int(attrs["n_known"])
    truth = f"The truth of {counted(known, 'item')} is known" if known else "The truth is not known"
    return (
        f"Under the model {attrs['model']}, with {'; '.join(parts)}. {truth}: accuracies follow "
        f"from who agrees with whom{' and with it' if known else ''}."
    )


def notes(evaluation: xr.DataTree) -> list[str]:
    """Return what there is to note about the fit."""
    return [line for line in str(evaluation["accuracy"].attrs["notes"]).splitlines() if line]


def words(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[Sentence]:
    """Say how often systems and annotators are right, and why other accuracies differ."""
    rows = _best_first(frame, OF_SYSTEM)
    out = [_of_system(row, first=place == 0) for place, row in enumerate(rows[:_IN_WORDS])]
    if len(rows) > _IN_WORDS:
        left = len(rows) - _IN_WORDS
        more = f"{counted(left, 'more system')} {'is' if left == 1 else 'are'}"
        out.append(sentence("{more} in the table.", more=more))
    out.append(_of_annotators(frame))
    if rows:
        out.append(_against_annotators(evaluation, rows[0]))
        out += _settling(evaluation, rows[0])
    return [*out, why(evaluation)]


def why(evaluation: xr.DataTree) -> Sentence:
    """Say why the three accuracies differ, and what the estimated one rests on."""
    attrs = evaluation["accuracy"].attrs
    known = int(attrs["n_known"])
    systems = "estimated_accuracy" in evaluation["accuracy"]
    return sentence(
        WHY, known=f" and from {counted(known, 'known label')}" if known else "",
        source="was given" if int(attrs["correlation_given"]) else "is known from other sets",
        systems=_SYSTEMS if systems else "",
    )  # fmt: skip


def _best_first(frame: pd.DataFrame, of: str) -> list[Any]:
    rows = frame[(frame["of"] == of) & (frame[SCOPE] == NEW)]
    rows = rows.sort_values("mean", ascending=False, kind="stable")
    return [row for _, row in rows.iterrows()]


def _percent(row: Any) -> str:
    """Write an accuracy with its interval, in percent."""
    low, high = (f"{100 * row[name]:.0f}" for name in ("lower", "upper"))
    return f"{percent(round(row['mean'], 2))} [{low} to {high}]"


def _of_system(row: Any, *, first: bool) -> Sentence:
    _, prob = facts.settings()
    level = f" (in brackets: {percent(prob)} intervals)" if first else ""
    adjusted = row["uncertainty_adjusted"]
    return sentence(
        "{name} is right on {own} of items like these{level}, where majority vote says "
        "{majority}{adjusted}.",
        name=Name(str(row["name"])), own=_percent(row), level=level,
        majority=percent(round(row["majority"], 2)),
        adjusted=f" and uncertainty-adjusted accuracy {percent(round(adjusted, 2))}"
        if np.isfinite(adjusted) else "",
    )  # fmt: skip


def _of_annotators(frame: pd.DataFrame) -> Sentence:
    rows = _best_first(frame, OF_ANNOTATOR)
    if rows[0]["name"] is None:
        return sentence("An annotator is right on {own}.", own=_percent(rows[0]))
    majority = np.nanmean([row["majority"] for row in rows])
    return sentence(
        "The annotators are right on {mean} on average, from {low} ({worst}) to {high} ({best}); "
        "they say the same as most of the others on {majority}.",
        mean=percent(round(float(np.mean([row["mean"] for row in rows])), 2)),
        low=_percent(rows[-1]), worst=Name(str(rows[-1]["name"])),
        high=_percent(rows[0]), best=Name(str(rows[0]["name"])),
        majority=percent(round(float(majority), 2)),
    )  # fmt: skip


def _against_annotators(evaluation: xr.DataTree, row: Any) -> Sentence:
    """Say how probably the best system is right more often than an annotator is on average."""
    p = evaluation["accuracy"]["above_annotators"].sel({SYSTEM: row["name"]})
    return sentence(
        "{name} is right more often than the annotators are on average with probability {p}.",
        name=Name(str(row["name"])), p=spoken_probability(float(p)),
    )  # fmt: skip


def _settling(evaluation: xr.DataTree, row: Any) -> list[Sentence]:
    """Say of how many items the truth would have to be known, for an interval of some width."""
    needed = evaluation["accuracy"]["known_items"]
    known = int(evaluation["accuracy"]["n_known"].sel({SYSTEM: row["name"]}))
    n = int(needed.sel({SYSTEM: row["name"]}))
    if known >= n:
        return []
    return [sentence(
        "An interval of {width} for {name} on these items takes the true labels of about {n}"
        "{known}: check such a sample, drawn at random, and give them (truth=, --known).",
        width=percent(needed.attrs["width"]), name=Name(str(row["name"])), n=counted(n, "item"),
        known=f", of which {number(known)} are known" if known else "",
    )]  # fmt: skip


def _picture(evaluation: xr.DataTree, frame: pd.DataFrame) -> Shown:
    kind, prob = facts.settings()
    systems = _best_first(frame, OF_SYSTEM)
    if systems:
        caption = (
            "Dots: estimated accuracy; thick bars: {interval}s of these items, thin ones of new "
            "items. Crosses: majority vote (of annotators: of the others). Diamonds: "
            "uncertainty-adjusted accuracy."
        )
    else:
        caption = (
            "Dots: estimated accuracy; bars: {interval}s. Crosses: how often an annotator says "
            "what most of the others say."
        )
    said: list[str] = []
    for row in systems[:_IN_WORDS]:
        said += [Name(str(row["name"])), f" {share(row['mean'])}, "]
    return picture(
        "accuracies", "Accuracy, if every item has one true label",
        sentence(caption, interval=interval_name(prob, kind)),
        text(("Estimated accuracies with intervals, best first: ", *said, "and more.")),
        lambda figsize: plots.accuracies(evaluation, figsize=figsize),
    )  # fmt: skip


def _tables(frame: pd.DataFrame) -> list[Table]:
    """Return systems and annotators, best first."""
    _, prob = facts.settings()
    level = f"Interval, {percent(prob)}"
    out = []
    these = frame[frame[SCOPE] == THESE]
    rows = [_row_of_system(row, these) for row in _best_first(frame, OF_SYSTEM)]
    if rows:
        head = ["System", "New items", level, "These items", level, "Majority vote",
                "Uncertainty-adjusted"]  # fmt: skip
        out.append(Table(
            "table-accuracy", "Accuracy of systems, three ways", head, [Body(-1, rows)],
            "Estimated accuracy on new items and on these; agreement with the majority vote; mean "
            "top-1 accuracy under the model of the plausibilities.",
        ))  # fmt: skip
    people = _best_first(frame, OF_ANNOTATOR)
    head = ["Annotator", "Estimated", level, "Majority of the others"]
    body = [[Name("all" if row["name"] is None else str(row["name"])), share(row["mean"]),
             between(row), share(row["majority"])] for row in people[:_PEOPLE]]  # fmt: skip
    left = len(people) - _PEOPLE
    note = (
        f"The {_PEOPLE} most accurate; {number(left)} more are in accuracy.csv." if left > 0 else ""
    )
    out.append(Table("table-annotators", "Accuracy of annotators", head, [Body(-1, body)], note))
    return out


def _row_of_system(row: Any, these: pd.DataFrame) -> list[Any]:
    here = these[(these["of"] == OF_SYSTEM) & (these["name"] == row["name"])].iloc[0]
    return [
        Name(str(row["name"])), share(row["mean"]), between(row), share(here["mean"]),
        between(here), share(row["majority"]), share(row["uncertainty_adjusted"]),
    ]  # fmt: skip
