"""What the report says of the ground truth: how far the label of most annotators can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import plots
from dissensus.dims import SAMPLE
from dissensus.evaluation.doubts import DOUBT, marked
from dissensus.evaluation.ground_truth import GROUP, MAJORITY
from dissensus.evaluation.rows import COUNT
from dissensus.evaluation.summary import summary
from dissensus.reports import numbers as facts
from dissensus.reports.language import Sentence, sentence, text
from dissensus.reports.pictures import Shown, picture
from dissensus.reports.tables import Body, Table, between
from dissensus.statistics._reliability import UNSAID
from dissensus.wording import counted, interval_name, number, percent, share, spoken_probability

TITLES: Final = {
    "label_accuracy": "One label is right",
    "truth_accuracy": "The majority label is right",
    "concordance": "Two annotators agree{sure} (concordance)",
    "weighted_reliability": "... and are right (weighted reliability, rho)",
    COUNT: "Annotators an item for a majority right on {target}",
}
_FROM_MAJORITY: Final = (
    "Annotators are taken to be right as often as they say what most of the others say, which is "
    "too often where many are wrong together."
)


@dataclass(frozen=True)
class Part:
    """All that is said of the ground truth."""

    intro: str
    words: list[Sentence]
    notes: list[str]
    picture: Shown
    tables: list[Table]


def section(evaluation: xr.DataTree) -> Part | None:
    """Return words, picture and tables; nothing where the ground truth was not judged."""
    if not facts.has(evaluation, GROUP):
        return None
    frame = summary(evaluation, GROUP)
    return Part(_intro(evaluation), words(evaluation, frame), notes(evaluation),
                _picture(evaluation, frame), _tables(evaluation, frame))  # fmt: skip


def _intro(evaluation: xr.DataTree) -> str:
    attrs = evaluation[GROUP].attrs
    source = {
        MAJORITY: _FROM_MAJORITY,
        "given": "The accuracies of annotators are those that were given.",
    }
    own = f"How often annotators are right is what the model {attrs['accuracy']} says."
    sure = (
        "Nobody was asked how sure they were: all are taken to be certain."
        if attrs["confidence"] == UNSAID
        else "How sure they said they were is taken at its word."
    )
    return (
        "Often the label that most annotators gave an item is taken for its truth. "
        f"{source.get(attrs['accuracy'], own)} {sure}"
    )


def notes(evaluation: xr.DataTree) -> list[str]:
    """Return what there is to note."""
    return [line for line in str(evaluation[GROUP].attrs["notes"]).splitlines() if line]


def words(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[Sentence]:
    """Say how often the majority is right, and what that rests on."""
    rows = _by_quantity(frame)
    return [
        _of_majority(evaluation, rows), _what_it_rests_on(evaluation),
        _of_pairs(evaluation, rows), _needed(evaluation, rows[COUNT]),
    ]  # fmt: skip


def _of_majority(evaluation: xr.DataTree, rows: dict[str, Any]) -> Sentence:
    attrs = evaluation[GROUP].attrs
    fewest, most = int(attrs["fewest_annotators"]), int(attrs["most_annotators"])
    who = counted(most, "annotator") if fewest == most else f"{fewest:,} to {most:,} annotators"
    reached = evaluation[GROUP]["truth_accuracy"] >= attrs["target"]
    return sentence(
        "A single label is right on {label} of the items, and the label of most, with {who} an "
        "item, on {truth}; on {target} or more with probability {p}.",
        label=_percent(rows["label_accuracy"]), truth=_percent(rows["truth_accuracy"]),
        who=who, target=percent(attrs["target"]),
        p=spoken_probability(float(reached.mean(list(SAMPLE)))),
    )  # fmt: skip


def _what_it_rests_on(evaluation: xr.DataTree) -> Sentence:
    if not is_fitted(evaluation):
        return sentence(
            "That is the best it can be: annotators are taken to err independently, and mistakes "
            "that several share make the label of most worse, however many they are."
        )
    correlation = evaluation["accuracy"]["error_correlation"]
    attrs = evaluation["accuracy"].attrs
    known, n = int(attrs["n_known"]), int(evaluation[GROUP].attrs["n_annotators"])
    source = "as was given" if int(attrs["correlation_given"]) else "by sets with a known truth"
    source += f" and {counted(known, 'item')} whose truth is known" if known else ""
    worth = f", so that {n} labels are worth about {_worth(evaluation)} independent ones"
    return sentence(
        "That counts mistakes that annotators share: the errors of an item's labels have the "
        "correlation {r}, {source}{worth}.",
        r=share(float(correlation.mean())), source=source, worth=worth if n > 1 else "",
    )  # fmt: skip


def is_fitted(evaluation: xr.DataTree) -> bool:
    """Say whether the ground truth is judged by the fit that accuracies are from."""
    if not facts.has(evaluation, "accuracy"):
        return False
    return str(evaluation[GROUP].attrs["accuracy"]) == str(evaluation["accuracy"].attrs["model"])


def _worth(evaluation: xr.DataTree) -> str:
    """Say how many independent labels those of a typical item are worth."""
    n = int(evaluation[GROUP].attrs["n_annotators"])
    correlation = evaluation["accuracy"]["error_correlation"]
    return f"{float((n / (1 + (n - 1) * correlation)).median()):.1f}"


def _of_pairs(evaluation: xr.DataTree, rows: dict[str, Any]) -> Sentence:
    if not np.isfinite(rows[GROUP]["mean"]):
        return sentence(
            "Two annotators agree{sure} on {sigma}. How often they are right as well, the weighted "
            "reliability rho (Cabitza et al. 2020), is undefined here: see the notes.",
            sure=_sure(evaluation), sigma=_percent(rows["concordance"]),
        )  # fmt: skip
    return sentence(
        "Two annotators agree{sure} on {sigma}, and are right as well on {rho}: this is the "
        "weighted reliability rho (Cabitza et al. 2020). It is of two, and does not grow with the "
        "number of annotators.",
        sure=_sure(evaluation), sigma=_percent(rows["concordance"]),
        rho=_percent(rows["weighted_reliability"]),
    )  # fmt: skip


def _sure(evaluation: xr.DataTree) -> str:
    """Say that chance is taken off, where it is: if annotators said how sure they were."""
    unsaid = evaluation[GROUP].attrs["confidence"] == UNSAID
    return "" if unsaid else " without guessing"


def _needed(evaluation: xr.DataTree, row: Any) -> Sentence:
    target = percent(evaluation[GROUP].attrs["target"])
    if not np.isfinite(row["median"]):
        return sentence(
            "No number of such annotators makes a majority that is right on {target}, as far as "
            "can be told: {why}.", target=target,
            why="they err together" if is_fitted(evaluation) else "they are too seldom right",
        )  # fmt: skip
    return sentence(
        "For a majority that is right on {target} it takes {n} [{low}{high}] such annotators an "
        "item.",
        target=target, n=number(row["median"]), low=number(row["lower"]),
        high=f" to {number(row['upper'])}" if np.isfinite(row["upper"])
        else ", or no number will do",
    )  # fmt: skip


def _by_quantity(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the rows by quantity."""
    return {str(row["quantity"]): row for _, row in frame.iterrows()}


def _percent(row: Any) -> str:
    """Write a share with its interval, in percent."""
    low, high = (f"{100 * row[name]:.0f}" for name in ("lower", "upper"))
    return f"{percent(round(row['mean'], 2))} [{low} to {high}]"


def _picture(evaluation: xr.DataTree, frame: pd.DataFrame) -> Shown:
    kind, prob = facts.settings()
    rows = _by_quantity(frame)
    caption = sentence(
        "Lines: annotators who are all alike and err independently. Dots and the band: these data, "
        "with {interval}s. A dot is below its line where annotators err together. Last panel: what "
        "a system's score is worth, by "
        "rho; above it, the accuracy of the ground truth that goes with rho if all are alike.",
        interval=interval_name(prob, kind),
    )  # fmt: skip
    said = (
        f"A label is right on {share(rows['label_accuracy']['mean'])}, the majority on "
        f"{share(rows['truth_accuracy']['mean'])}; weighted reliability "
        f"{share(rows[GROUP]['mean'])}."
    )
    return picture(
        "truth-nomogram", "What a majority of annotators is worth", caption, text((said,)),
        lambda figsize: plots.truth_nomogram(evaluation, figsize=figsize),
    )  # fmt: skip


def _tables(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[Table]:
    _, prob = facts.settings()
    level = f"Interval, {percent(prob)}"
    body = table_rows(evaluation, frame)
    return [Table("table-ground-truth", "The ground truth", ["", "Mean", level], [Body(-1, body)],
                  "Of the number of annotators the median.")]  # fmt: skip


def table_rows(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[list[str]]:
    """Return title, mean and interval, in the order of reading."""
    rows = _by_quantity(frame)
    target = percent(evaluation[GROUP].attrs["target"])
    out = []
    for name, title in TITLES.items():
        cells = _cells(rows[name])
        if name == COUNT:
            each = (rows[name][part] for part in ("median", "lower", "upper"))
            median, low, high = (number(n) if np.isfinite(n) else "∞" for n in each)
            cells = [median, marked(f"{low} to {high}", rows[name][DOUBT])]
        out.append([title.format(target=target, sure=_sure(evaluation)), *cells])
    return out


def _cells(row: Any) -> list[str]:
    return [share(row["mean"]), between(row)]
