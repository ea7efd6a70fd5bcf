"""The tables of a report, row by row, as the template wants them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import POOL, RELIABILITY, SCALE, SCOPE, SYSTEM, other
from dissensus.evaluation.doubts import DOUBT, marked
from dissensus.evaluation.rows import BOOTSTRAP, MODEL, PAIR
from dissensus.evaluation.summary import summary
from dissensus.plots import _source as pieces
from dissensus.plots._source import NEW, THESE
from dissensus.reports import numbers as facts
from dissensus.reports import two_models
from dissensus.reports.language import Name
from dissensus.reports.words import digits
from dissensus.wording import (
    capital,
    coefficient_title,
    metric_title,
    number,
    percent,
    probability,
    share,
    short,
)

# Rows of the summary of variance components, and how their intervals are written.


def row_of(frame: pd.DataFrame, quantity: str, pool: Any = None, pair: Any = None,
           scale: str | None = None, by: str = MODEL) -> Any:  # fmt: skip
    """Return one row of the summary, or None."""
    keep = (frame["quantity"] == quantity) & (frame["by"] == by)
    for column, value in ((POOL, pool), (PAIR, pair)):
        keep &= frame[column].isna() if value is None else frame[column] == value
    if scale is not None:
        keep &= frame[SCALE] == scale
    rows = frame[keep]
    return None if rows.empty else rows.iloc[0]


def interval(row: Any, digits: int = 2) -> str:
    """Write an interval, for a sentence: what is not to be relied on is said before it."""
    return f"{share(row['lower'], digits)} to {share(row['upper'], digits)}"


def between(row: Any, digits: int = 2) -> str:
    """Write an interval, for a table, with the mark of what is not to be relied on."""
    return marked(interval(row, digits), row[DOUBT])


_SYSTEMS = 100
_ROWS = 3000
"""Rows of all tables together, past which only the reference reliability is written out."""
_MATRIX = 20


@dataclass(frozen=True)
class Body:
    """The part of a table that belongs to one reliability."""

    at: int
    """Place of the reliability."""
    rows: list[list[Any]]
    title: str = ""
    """Heads the rows where one table holds several things."""


@dataclass(frozen=True)
class Table:
    """A table, with a body for each reliability (or only one)."""

    id: str
    title: str
    head: list[Any]
    bodies: list[Body]
    note: str = ""
    tinted: bool = False
    """Whether cells are probabilities, to be tinted."""
    doubt: str = ""
    """Why what is marked in it is not to be relied on."""


def places(evaluation: xr.DataTree, values: xr.Dataset) -> list[int]:
    """Return the places of the reliabilities to write out; the reference is among them."""
    trust = facts.reliabilities(evaluation)
    reference = trust.index(float(evaluation.attrs["reference_reliability"]))
    rows = min(values.sizes[SYSTEM], _SYSTEMS) * values.sizes["metric"] * len(trust)
    return list(range(len(trust))) if rows <= _ROWS else [reference]


def metric_table(evaluation: xr.DataTree, values: xr.Dataset) -> Table:
    """Return systems with their means and intervals, metric by metric."""
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
        one = values.sel(metric=name)
        for place in where:
            rows = _rows(one.isel({RELIABILITY: place}), digits(one), several=several, truth=truth)
            bodies.append(Body(place, rows, capital(metric_title(str(name)))))
    left = values.sizes[SYSTEM] - _SYSTEMS
    note = f"{left:,} further systems, with lower places, are left out." if left > 0 else ""
    return Table("table-metrics", "Metrics of the systems", head, bodies, note)


def _rows(here: xr.Dataset, d: int, *, several: bool, truth: bool) -> list[list[Any]]:
    """Return the rows of one metric at one reliability, best system first."""
    order = facts.ordered(here.sel({SCOPE: THESE}))[SYSTEM].to_numpy()[:_SYSTEMS]
    pairs = ((here.sel({SCOPE: scope, SYSTEM: one}) for scope in (THESE, NEW)) for one in order)
    return [_row(these, new, d, several=several, truth=truth) for these, new in pairs]


def _row(these: xr.Dataset, new: xr.Dataset, d: int, *, several: bool, truth: bool) -> list[Any]:
    row: list[Any] = [Name(str(these[SYSTEM].item())), share(float(these["mean"]), d)]
    row += [_between(x, d) for x in (these, new)]
    row += [probability(float(new["probability_best"]))] if several else []
    row += [share(float(these["naive"]), d)]
    return row + ([_truth(one, d) for one in (these, new)] if truth else [])


def _between(one: xr.Dataset, d: int) -> str:
    low, high = (share(float(one[name]), d) for name in ("lower", "upper"))
    return marked(f"{low} to {high}", str(one[DOUBT].item()))


def _truth(one: xr.Dataset, d: int) -> str:
    known, low, high = (float(one[name]) for name in ("truth", "lower", "upper"))
    if not np.isfinite(known):
        return "unknown"
    verdict = "inside" if low <= known <= high else "above" if known > high else "below"
    return f"{share(known, d)}, {verdict}"


def models_table(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> Table | None:
    """Return every metric of every system under both models, at their references."""
    if not numbers:
        return None
    values = two_models.pair(evaluation, numbers)
    level = percent(float(values.attrs["probability"]))
    head: list[Any] = ["System"]
    for side in pieces.sides(evaluation):
        head += [two_models.named(side), f"These items, {level}"]
    bodies = []
    for name in values["metric"].to_numpy():
        one = values.sel(metric=name)
        order = facts.ordered(one.isel({two_models.MODEL: 0}))[SYSTEM].to_numpy()[:_SYSTEMS]
        rows = [_model_row(one.sel({SYSTEM: system}), digits(one)) for system in order]
        bodies.append(Body(-1, rows, capital(metric_title(str(name)))))
    left = values.sizes[SYSTEM] - _SYSTEMS
    note = f"{left:,} further systems, with lower places, are left out." if left > 0 else ""
    title = "Metrics under both models"
    return Table("table-models", title, [*head, "Intervals"], bodies, note)


def _model_row(one: xr.Dataset, d: int) -> list[Any]:
    row: list[Any] = [Name(str(one[SYSTEM].item()))]
    for place in range(one.sizes[two_models.MODEL]):
        here = one.isel({two_models.MODEL: place})
        row += [share(float(here["mean"]), d), _between(here, d)]
    return [*row, "apart" if bool(one["apart"]) else "overlap"]


def better_table(evaluation: xr.DataTree, values: xr.Dataset) -> Table | None:
    """Return the probability that the system of a row is better than that of a column."""
    if values.sizes[SYSTEM] < 2:
        return None
    name = str(values["metric"].to_numpy()[0])
    pairs = evaluation["comparison"].to_dataset().sel(metric=name)
    reference = float(evaluation.attrs["reference_reliability"])
    best = pairs["probability_best"].sel({RELIABILITY: reference, SCOPE: NEW}).to_numpy()
    order = np.argsort(-best, kind="stable")[:_MATRIX]
    systems = [Name(str(one)) for one in pairs[SYSTEM].to_numpy()[order].tolist()]
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
    note = f"{left:,} further systems, less probably the best, are left out." if left > 0 else ""
    title = f"P(row better than column) in {metric_title(name)}, on new items"
    return Table("table-better", title, ["", *systems], bodies, note, tinted=True)


def certainty_tables(evaluation: xr.DataTree) -> list[Table]:
    """Return how many items are how certain, for each size of the top set."""
    shares, mean = facts.certainty_shares(evaluation), facts.mean_certainty(evaluation)
    known = facts.knows_reliability(evaluation)
    head = (["Reliability"] if known else []) + ["Mean certainty"]
    head += [f"Items below {share(step)}" for step in facts.CERTAINTY_STEPS]
    out = []
    for top in (int(value) for value in shares["top"].to_numpy()):
        rows = []
        for place, value in enumerate(facts.reliabilities(evaluation)):
            here = shares.sel(top=top).isel({RELIABILITY: place}).to_numpy()
            row = [number(value)] if known else []
            row += [share(float(mean.sel(top=top)[place])), *(share(float(x)) for x in here)]
            rows.append(row)
        title = "Certainty of the leading label" if top == 1 else f"… of the leading {top} labels"
        out.append(Table(f"table-certainty-{top}", title, head, [Body(-1, rows)]))
    return out


# The tables of variance components, with agreement as observed beside them.


NOTE: Final = (
    "The shares of item, annotator and the rest add up to 1. ICC: the correlation of two "
    "annotators' labels of one item, the squared correlation of one label with the item's true "
    "score. The lower the annotator ICC the better: above the ICC a label says more about who "
    "gave it."
)
LATENT: Final = (
    " Shares are on the latent scale; as given means of labels as they were, where 1 is perfect "
    "agreement, as of alpha."
)


def tables(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[Table]:
    """Return the table of shares and, of pools, that of pairs and of differences."""
    data = evaluation["components"].to_dataset()
    if POOL not in data.dims:
        return [_shares(evaluation, data, frame, [None])]
    out = [_shares(evaluation, data, frame, data[POOL].to_numpy().tolist()), _pairs(data, frame)]
    return out if "reference" not in data.attrs else [*out, _differences(data, frame)]


def _head(first: str) -> list[Any]:
    _, prob = facts.settings()
    return [first, "Mean", f"Interval, {percent(prob)}"]


def _line(title: Any, row: Any, value: str = "mean") -> list[Any]:
    return [title, share(row[value]), between(row)]


def _shares(
    evaluation: xr.DataTree, data: xr.Dataset, frame: pd.DataFrame, pools: list[Any]
) -> Table:
    bodies = []
    for pool in pools:
        title = "" if pool is None else short(pool)
        rows = _of_pool(data, frame, pool) + _observed(evaluation, frame, pool)
        bodies.append(Body(-1, rows, title))
    note = NOTE if data.attrs["hyper_family"] == "gaussian" else NOTE + LATENT
    title = "What a label's variance is made of, and how reliable labels are"
    return Table("table-components", title, _head("Quantity"), bodies, note)


def _of_pool(data: xr.Dataset, frame: pd.DataFrame, pool: Any) -> list[list[Any]]:
    gaussian = data.attrs["hyper_family"] == "gaussian"
    k = float(data["n_labels"].sel({POOL: pool}) if pool is not None else data["n_labels"])
    wanted: list[tuple[str, str, str | None]] = [
        ("Item (ICC)", "icc", "latent"),
        ("Annotator (annotator ICC)", "annotator_icc", "latent"),
        ("The rest", "residual_share", None),
    ]
    if not gaussian:
        wanted += [("ICC, as given", "icc", "observed"),
                   ("Annotator ICC, as given", "annotator_icc", "observed")]  # fmt: skip
    wanted.append((f"Reliability of the mean of {number(k)}", "mean_reliability", None))
    found = [(title, row_of(frame, name, pool, scale=scale)) for title, name, scale in wanted]
    rows = [_line(title, row) for title, row in found if row is not None]
    chance = row_of(frame, "annotators_outweigh_items", pool)
    if chance is not None:
        rows.append(["P(annotator ICC above ICC)", probability(chance["mean"]), ""])
    return rows


def _observed(evaluation: xr.DataTree, frame: pd.DataFrame, pool: Any) -> list[list[Any]]:
    """Return alpha, which asks for no model."""
    if pool is not None:
        row = row_of(frame, "krippendorff_alpha", pool, by=BOOTSTRAP)
        if row is None:
            return []
        level = str(evaluation["pools"].attrs["distance"])
        return [_line(f"Krippendorff's alpha, {level}, as observed", row, "observed")]
    rows = summary(evaluation, "statistics")
    rows = rows[rows["statistic"].str.startswith("krippendorff_alpha")].head(1)
    return [
        _line(f"{coefficient_title(row['statistic'])}, as observed", row, "observed")
        for _, row in rows.iterrows()
    ]


def _pairs(data: xr.Dataset, frame: pd.DataFrame) -> Table:
    """Return how alike pools are, by the model and as observed, pair by pair."""
    bodies = []
    pairs = frame[(frame["quantity"] == "xcc") & (frame[SCALE] == "observed")]
    wanted = [
        ("Normalised xCC", "normalized_xcc", "latent"),
        ("Normalised xCC, as given", "normalized_xcc", "observed"),
        ("xCC", "xcc", "latent"),
        ("xCC, as given", "xcc", "observed"),
    ]
    if data.attrs["hyper_family"] == "gaussian":
        wanted = wanted[::2]
    for _, pair in pairs.iterrows():
        a, b = pair[POOL], pair[PAIR]
        rows = [_line(title, row_of(frame, name, a, b, scale)) for title, name, scale in wanted]
        for title, name in (("Normalised cross-kappa, as observed", "normalized_cross_kappa"),
                            ("Cross-kappa, as observed", "cross_kappa")):  # fmt: skip
            row = row_of(frame, name, a, b, by=BOOTSTRAP)
            rows += [] if row is None else [_line(title, row, "observed")]
        both = int(data["n_items_shared"].sel({POOL: a, PAIR: b}))
        bodies.append(Body(-1, rows, f"{short(a)} and {short(b)}, {both:,} items in common"))
    note = (
        "Normalised xCC: how alike the pools' opinions of an item are, the noise of single labels "
        "set aside; 1 if they measure the same. xCC: the correlation of one label from each. A "
        "normalised cross-kappa is a ratio of estimates, and may exceed 1."
    )
    title = "How alike pools of annotators are"
    return Table("table-pools", title, _head("Quantity"), bodies, note)


def _differences(data: xr.Dataset, frame: pd.DataFrame) -> Table:
    """Return the pools beside the reference."""
    reference = str(data.attrs["reference"])
    titles = {
        "icc_difference": "ICC, less that of the reference",
        "normalized_xcc_difference": "Normalised xCC with the reference, first less second",
        "xcc_difference": "xCC with the reference, first less second",
    }
    bodies = []
    for name, title in titles.items():
        rows = frame[(frame["quantity"] == name) & (frame[SCALE] == "observed")]
        body = []
        for _, row in rows.iterrows():
            who = str(row[POOL]) if row[PAIR] is None else f"{row[POOL]} less {row[PAIR]}"
            chance = probability(row["probability_positive"])
            body.append([*_line(Name(who), row), chance])
        if body:
            bodies.append(Body(-1, body, title))
    head = [*_head("Pools"), "P(above 0)"]
    note = "Of labels as they are given." if data.attrs["hyper_family"] != "gaussian" else ""
    title = f"Pools beside {short(reference)}"
    return Table("table-differences", title, head, bodies, note)
