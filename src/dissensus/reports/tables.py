"""The tables of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.dims import RELIABILITY, SCOPE, SYSTEM, other
from dissensus.evaluation.doubts import DOUBT, MARK, marked, of_metrics
from dissensus.plots._source import NEW, THESE, sides
from dissensus.reports import evidence, two_models
from dissensus.reports.sentences import Name, interval
from dissensus.wording import (
    capital,
    left_out_note,
    metric_title,
    number,
    percent,
    probability,
    share,
    short,
)


def between(row: Any, digits: int = 2) -> str:
    """Write the interval of a row, with a mark if the number is unreliable."""
    return marked(interval(row, digits), row[DOUBT])


_SYSTEMS = 100
_ROWS = 3000
"""If all reliabilities need more rows than this, only the reference reliability is written."""
_MATRIX = 20


@dataclass(frozen=True)
class Body:
    """The rows of a table at one reliability."""

    at: int
    """Index of the reliability; -1 if the rows are the same at every reliability."""
    rows: list[list[Any]]
    title: str = ""
    """Heading of the rows."""


@dataclass(frozen=True)
class Table:
    """A table, with a body for each reliability (or only one)."""

    id: str
    title: str
    head: list[Any]
    bodies: list[Body]
    note: str = ""
    tinted: bool = False
    """Whether cells are probabilities with a background colour."""
    stacked: bool = False
    """Whether rows become blocks on a narrow screen that has no room for the columns."""
    reason: str = ""
    """Reason not to rely on marked numbers, or on all numbers if none is marked."""

    @property
    def warning(self) -> str:
        """A sentence with the reason, or ""."""
        cells = (cell for body in self.bodies for row in body.rows for cell in row)
        is_marked = any(str(cell).endswith(f" {MARK}") for cell in cells)
        subject = "the marked numbers" if is_marked else "these numbers"
        return f"! Do not rely on {subject}: {self.reason}" if self.reason else ""


def places(evaluation: xr.DataTree, values: xr.Dataset) -> list[int]:
    """Return the positions of the reliabilities to write; the reference is one of them."""
    trust = evidence.reliabilities(evaluation)
    reference = trust.index(float(evaluation.attrs["reference_reliability"]))
    rows = min(values.sizes[SYSTEM], _SYSTEMS) * values.sizes["metric"] * len(trust)
    return list(range(len(trust))) if rows <= _ROWS else [reference]


def metric_table(evaluation: xr.DataTree, values: xr.Dataset) -> Table:
    """Return means and intervals of systems for each metric."""
    truth = bool(values["truth"].notnull().any())
    several = values.sizes[SYSTEM] > 1
    level = percent(float(values.attrs["probability"]))
    head = ["System", "Mean", f"These items, {level}", f"New items, {level}"]
    head += ["P(best)"] if several else []
    head += ["Disagreement ignored"]
    head += ["Truth, these items", "Truth, new items"] if truth else []
    where = places(evaluation, values)
    bodies = []
    for name in values["metric"].to_numpy():
        part = values.sel(metric=name)
        for place in where:
            rows = _rows(
                part.isel({RELIABILITY: place}), evidence.digits(part), several=several, truth=truth
            )
            bodies.append(Body(place, rows, _title(str(name), evaluation.attrs.get("positive"))))
    note = left_out_note(values.sizes[SYSTEM] - _SYSTEMS, "further system", "with a worse mean")
    whole = any(str(name).endswith(_OF_LISTS) for name in values["metric"].to_numpy())
    if whole and evaluation["annotations"].attrs["kind"] == "ranking":
        note = " ".join(filter(None, (note, _BEYOND)))
    return Table("table-metrics", "Metrics of the systems", head, bodies, note)


_OF_LISTS: Final = ("set_accuracy", "kendall_tau")
_BEYOND: Final = (
    "For systems that err less than single annotators, accuracies of sets and correlations of "
    "orders are too low: by .1 to .3 in simulated studies, and their intervals missed the true "
    "values in half of them."
)
"""Studies of 60 to 80 items with three or four rankings each (decision 33)."""


def _title(metric: str, positive: Any = None) -> str:
    """Return the title of a metric, with its positive label or the name of its function."""
    title = capital(metric_title(metric))
    if metric in {"sensitivity", "specificity"} and positive is not None:
        return f"{title}, against the panel (positive: {short(positive, 24)})"
    return f"{title} (top-1 accuracy)" if metric == "top_1_accuracy" else title


def _rows(here: xr.Dataset, d: int, *, several: bool, truth: bool) -> list[list[Any]]:
    """Return the rows of a metric at a reliability, best system first."""
    order = evidence.ordered(here.sel({SCOPE: THESE}))[SYSTEM].to_numpy()[:_SYSTEMS]
    pairs = ((here.sel({SCOPE: scope, SYSTEM: name}) for scope in (THESE, NEW)) for name in order)
    return [_row(these, new, d, several=several, truth=truth) for these, new in pairs]


def _row(these: xr.Dataset, new: xr.Dataset, d: int, *, several: bool, truth: bool) -> list[Any]:
    row: list[Any] = [Name(str(these[SYSTEM].item())), share(float(these["mean"]), d)]
    row += [_between(x, d) for x in (these, new)]
    row += [probability(float(new["probability_best"]))] if several else []
    row += [share(float(these["naive"]), d)]
    return row + ([_truth(part, d) for part in (these, new)] if truth else [])


def _between(values: xr.Dataset, d: int) -> str:
    parts = {name: values[name].item() for name in ("lower", "upper", DOUBT)}
    return between(parts, d)


def _truth(values: xr.Dataset, d: int) -> str:
    known, low, high = (float(values[name]) for name in ("truth", "lower", "upper"))
    if not np.isfinite(known):
        return "unknown"
    verdict = "inside" if low <= known <= high else "above" if known > high else "below"
    return f"{share(known, d)}, {verdict}"


def models_table(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> Table | None:
    """Return every metric under both models, at their reference reliabilities."""
    if not numbers:
        return None
    values = two_models.pair(evaluation, numbers)
    level = percent(float(values.attrs["probability"]))
    head: list[Any] = ["System"]
    for side in sides(evaluation):
        head += [evidence.named(side), f"These items, {level}"]
    bodies = []
    for name in values["metric"].to_numpy():
        part = values.sel(metric=name)
        order = evidence.ordered(part.isel({two_models.MODEL: 0}))[SYSTEM].to_numpy()[:_SYSTEMS]
        rows = [_model_row(part.sel({SYSTEM: system}), evidence.digits(part)) for system in order]
        bodies.append(Body(-1, rows, capital(metric_title(str(name)))))
    note = left_out_note(values.sizes[SYSTEM] - _SYSTEMS, "further system", "with a worse mean")
    title = "Metrics under both models"
    return Table("table-models", title, [*head, "Results"], bodies, note)


def _model_row(values: xr.Dataset, d: int) -> list[Any]:
    row: list[Any] = [Name(str(values[SYSTEM].item()))]
    for place in range(values.sizes[two_models.MODEL]):
        here = values.isel({two_models.MODEL: place})
        row += [share(float(here["mean"]), d), _between(here, d)]
    return [*row, "apart" if bool(values["apart"]) else "close"]


def better_table(evaluation: xr.DataTree, values: xr.Dataset) -> Table | None:
    """Return the probability that the system of a row is better than that of a column."""
    if values.sizes[SYSTEM] < 2:
        return None
    metric = str(values["metric"].to_numpy()[0])
    pairs = evaluation["comparison"].to_dataset().sel(metric=metric)
    reference = float(evaluation.attrs["reference_reliability"])
    best = pairs["probability_best"].sel({RELIABILITY: reference, SCOPE: NEW}).to_numpy()
    order = np.argsort(-best, kind="stable")[:_MATRIX]
    systems = [Name(str(name)) for name in pairs[SYSTEM].to_numpy()[order].tolist()]
    bodies = []
    for place in places(evaluation, values):
        each = pairs["probability_better"].isel({RELIABILITY: place}).sel({SCOPE: NEW})
        matrix = each.transpose(SYSTEM, other(SYSTEM)).to_numpy()[np.ix_(order, order)]
        rows = [
            [systems[i], *("" if i == j else float(matrix[i, j]) for j in range(len(order)))]
            for i in range(len(order))
        ]
        bodies.append(Body(place, rows))
    left = values.sizes[SYSTEM] - len(order)
    note = left_out_note(left, "further system", "with a lower probability of being best")
    title = f"P(row better than column) in {metric_title(metric)}, on new items"
    return Table("table-better", title, ["", *systems], bodies, note, tinted=True)


def certainty_tables(evaluation: xr.DataTree) -> list[Table]:
    """Return the shares of items below steps of certainty, for each size of the top set.

    The list is empty for numbers, because they have no certainties.
    """
    if evidence.is_of_numbers(evaluation):
        return []
    shares, mean = evidence.certainty_shares(evaluation), evidence.mean_certainty(evaluation)
    known = evidence.knows_reliability(evaluation)
    head = (["Reliability"] if known else []) + ["Mean certainty"]
    head += [f"Items below {share(step)}" for step in evidence.CERTAINTY_STEPS]
    out = []
    for top in (int(value) for value in shares["top"].to_numpy()):
        rows = []
        for place, value in enumerate(evidence.reliabilities(evaluation)):
            here = shares.sel(top=top).isel({RELIABILITY: place}).to_numpy()
            row = [number(value)] if known else []
            certainty = share(float(mean.sel(top=top)[place]))
            row += [marked(certainty, of_metrics(evaluation, value))]
            row += [share(float(x)) for x in here]
            rows.append(row)
        title = (
            "Certainty of the leading label"
            if top == 1
            else f"Certainty of the leading {top} labels"
        )
        out.append(Table(f"table-certainty-{top}", title, head, [Body(-1, rows)]))
    return out
