"""Tables for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any, Final

import numpy as np
import xarray as xr
from rich.markup import escape
from rich.table import Table

from dissensus.dims import ANNOTATOR, ESTIMATOR, ITEM, SCOPE, SCOPES, SYSTEM
from dissensus.evaluation.doubts import DOUBT, marked, of_metrics, reasons
from dissensus.studies.planning.sentences import per_pool, quantities
from dissensus.studies.planning.unknown_truth import ESTIMATORS
from dissensus.wording import (
    capital,
    coefficient_title,
    metric_title,
    probability,
    share,
    short,
)

# Tables of plans for a terminal of 80 columns.


def plan_tables(found: xr.Dataset) -> list[Table]:
    """Lay out a plan, of whichever kind."""
    if "within_share" in found:
        return [_closeness_table(found)]
    if "reliability" not in found:
        return [_accuracy_table(found)]
    return [_reliability_table(found), *([_width_table(found)] if "half_width" in found else [])]


def _accuracy_table(found: xr.Dataset) -> Table:
    """Lay out how well the accuracy of a system would be known."""
    accuracy = found.attrs["accuracy"]
    table = Table(
        "annotators", "certainty", "items above .9", "shortfall",
        *(f"± at {n} items" for n in found[ITEM].to_numpy()),
        title=f"{found.attrs['probability']:.0%} interval of a system of accuracy {accuracy:g}",
        title_justify="left",
    )  # fmt: skip
    for n in found[ANNOTATOR].to_numpy():
        row = found.sel({ANNOTATOR: n})
        cells = [row["certainty"].item(), row["certain_share"].item(), row["shortfall"].item()]
        cells += row["half_width"].to_numpy().tolist()
        table.add_row(str(n), *(f"{cell:.3f}" for cell in cells))
    return table


def _reliability_table(found: xr.Dataset) -> Table:
    """Lay out what the mean of so many labels is worth."""
    level, target = found.attrs["probability"], share(found.attrs["target"])
    table = Table(title="Reliability of the mean label of an item", title_justify="left")
    for name in ("annotators", "median", f"{level:.0%} eti", f"P(≥ {target})"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, part in per_pool(found):
        _section(table, name)
        for k in part[ANNOTATOR].to_numpy():
            row = part.sel({ANNOTATOR: k})
            low, middle, high = np.nanquantile(
                row["reliability"].to_numpy(), [(1 - level) / 2, 0.5, (1 + level) / 2]
            )
            bounds = escape(f"[{share(low)}, {share(high)}]")
            chance = probability(row["probability_reached"].item())
            table.add_row(str(k), share(middle), bounds, chance)
    return table


def _width_table(found: xr.Dataset) -> Table:
    """Lay out how wide intervals would be, and how often they are short enough."""
    level, width = found.attrs["probability"], share(found.attrs["width"])
    title = (
        f"Half the {level:.0%} interval (share of {found.attrs['studies']} simulated\n"
        f"studies where the whole is {width} or shorter)"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("annotators", justify="right", no_wrap=True)
    for n in found[ITEM].to_numpy():
        table.add_column(f"{n:,} items", justify="right")
    for name, part in quantities(found):
        _section(table, capital(name.removeprefix("the ")) if name != "the ICC" else "")
        for k in part[ANNOTATOR].to_numpy():
            row = part.sel({ANNOTATOR: k})
            pairs = zip(
                row["half_width"].to_numpy(), row["probability_narrow"].to_numpy(), strict=True
            )
            table.add_row(str(k), *(f"± {share(half, 3)} ({share(p)})" for half, p in pairs))
    return table


def _closeness_table(found: xr.Dataset) -> Table:
    """Lay out how often estimates come near a system's accuracy, the truth being unknown."""
    about = found.attrs
    title = (
        f"Share of {about['studies']} simulated studies whose estimate is within "
        f"{share(about['within'])} of\nthe system's accuracy, {share(about['accuracy'])}; "
        f"± half the {about['probability']:.0%} interval; enough for {share(about['assurance'])}"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("annotators", no_wrap=True)
    for n in [*(f"{n:,} items" for n in found[ITEM].to_numpy()), "enough"]:
        table.add_column(n, justify="right")
    new = found.sel({SCOPE: SCOPES[1]})
    for k in found[ANNOTATOR].to_numpy():
        table.add_section()
        for name, title in zip(ESTIMATORS, ("model", "lehner"), strict=True):
            row = new.sel({ANNOTATOR: k, ESTIMATOR: name})
            cells = [share(p) for p in row["within_share"].to_numpy()]
            if name == ESTIMATORS[0]:
                halves = row["half_width"].to_numpy()
                cells = [f"{p} ± {share(h)}" for p, h in zip(cells, halves, strict=True)]
            table.add_row(f"{k}, {title}", *cells, _enough(row["items_enough"].item(), found))
    return table


def _enough(items: float, found: xr.Dataset) -> str:
    """Write how many items it takes: exactly, at most, or more than were tried."""
    tried = found[ITEM].to_numpy()
    if not np.isfinite(items):
        return f"> {tried[-1]:,}"
    at_most = "≤ " if items == tried[0] else ""
    return f"{at_most}{items:,.0f}"


def _section(table: Table, name: str) -> None:
    """Begin a part of a table, under its name."""
    if name:
        table.add_section()
        table.add_row(f"[bold]{escape(short(name, 40))}[/bold]")


# Tables for a terminal of 80 columns.


def _warned(title: str, doubts: Any) -> str:
    """Say in a title why some of what is below it is not to be relied on."""
    why = reasons(doubts)
    return f"{title}\n[red]! do not rely on what is marked: {escape(why)}[/red]" if why else title


def _unreliable(rows: Any) -> Iterator[str]:
    """Say before words that the numbers in them are not to be relied on."""
    why = reasons(rows[DOUBT])
    if why:
        yield f"[red]do not rely on the numbers that follow[/red] {escape(why)}"


def summary_table(summary: Any, reference: float) -> Table:
    """Lay out the summary of one model at one reliability for a terminal of 80 columns."""
    level = f"{summary.attrs['probability']:.0%} {summary.attrs['interval']}"
    model = f"{summary['model'].iloc[0]}, " if summary["model"].iloc[0] else ""
    title = f"{model}reliability {reference:g}: mean, {level} interval"
    shown = summary[summary["reliability"] == reference]
    table = Table(title=_warned(title, shown[DOUBT]), title_justify="left")
    for name in ("", "these items", "new items", "best", "naive"):
        table.add_column(name, justify="left" if name == "" else "right", no_wrap=name != "")
    for metric, of_metric in shown.groupby("metric", sort=False):
        table.add_section()
        table.add_row(f"[bold]{metric_title(str(metric))}[/bold]")
        for system, rows in of_metric.groupby("system", sort=False):
            new = rows.iloc[-1]
            spread = [_interval(row) for _, row in rows.iterrows()]
            cells = [escape(part) for part in (short(system, 24), *spread)]
            table.add_row(*cells, probability(new["probability_best"]), share(new["naive"], 3))
    return table


def models_table(evaluation: Any, summary: Any) -> Table:
    """Lay out the first metric under both models, for the items at hand."""
    first = summary["metric"].iloc[0]
    shown = summary[(summary["metric"] == first) & (summary["scope"] == SCOPES[0])]
    sides = (evaluation, evaluation["companion"])
    doubts = [row[DOUBT] for side in sides for row in _of_side(shown, side)]
    title = _warned(f"Under both models: {metric_title(first)}", doubts)
    table = Table(title=title, title_justify="left")
    table.add_column("")
    columns = []
    for side in sides:
        reference = side.attrs["reference_reliability"]
        table.add_column(f"{side.attrs['model']} at {reference:g}", justify="right", no_wrap=True)
        columns.append({row["system"]: row for row in _of_side(shown, side)})
    for system in columns[0]:
        cells = [short(system, 24), *(_interval(column[system]) for column in columns)]
        table.add_row(*(escape(cell) for cell in cells))
    return table


def _of_side(rows: Any, side: Any) -> list[Any]:
    """Return the rows of one model at its reference."""
    own = (rows["model"] == side.attrs["model"]) & (
        rows["reliability"] == side.attrs["reference_reliability"]
    )
    return [row for _, row in rows[own].iterrows()]


def _interval(row: Any) -> str:
    text = f"{share(row['mean'], 3)} [{share(row['lower'], 3)}, {share(row['upper'], 3)}]"
    return marked(text, row[DOUBT])


def _bounds(row: Any) -> str:
    return escape(marked(f"[{share(row['lower'], 3)}, {share(row['upper'], 3)}]", row[DOUBT]))


def certainty_table(evaluation: Any) -> Table:
    """Lay out how certain the annotations leave us of the items, along reliability."""
    values = evaluation["certainty"].to_dataset()["annotation_certainty"]
    trust = values["reliability"].to_numpy()
    doubts = {gamma: of_metrics(evaluation, gamma) for gamma in trust}
    title = _warned("Annotation certainty of the most plausible label", doubts.values())
    table = Table(title=title, title_justify="left")
    for name in ("reliability", "mean", "items below .9", "below .5"):
        table.add_column(name, justify="right")
    for gamma in trust:
        one = values.sel(reliability=gamma)
        below = [share((one < cut).mean().item(), 3) for cut in (0.9, 0.5)]
        table.add_row(f"{gamma:g}", marked(share(one.mean().item(), 3), doubts[gamma]), *below)
    return table


def sections(evaluation: Any) -> Iterator[Table | str]:
    """Go through what an evaluation says beside its metrics: tables, and lines about them."""
    from dissensus.evaluation.summary import summary
    from dissensus.reports import words
    from dissensus.reports.language import text

    yield from (escape(text(one)) for one in words.true_label_words(evaluation))
    if "agreement" in evaluation.children:
        yield from _agreement(evaluation, summary(evaluation, "statistics"))
    if "components" in evaluation.children:
        rows = summary(evaluation, "components")
        yield components_table(rows)
        yield from components_lines(evaluation, rows)
    if "accuracy" in evaluation.children:
        rows = summary(evaluation, "accuracy")
        yield accuracy_table(rows)
        yield from accuracy_lines(evaluation, rows)
    if "weighted_reliability" in evaluation.children:
        rows = summary(evaluation, "weighted_reliability")
        yield ground_truth_table(evaluation, rows)
        yield from ground_truth_lines(evaluation, rows)


def _agreement(evaluation: Any, statistics: Any) -> Iterator[Table | str]:
    yield agreement_table(statistics)
    groups = [name for name in ("agreement", "discrepancy") if name in evaluation.children]
    if "discrepancy" in groups and "discrepancy_ratio" in evaluation["discrepancy"]:
        yield discrepancy_table(evaluation, statistics)
    for line in (line for name in groups for line in evaluation[name].attrs["notes"].splitlines()):
        yield f"[yellow]note[/yellow] {escape(line)}"


def agreement_table(statistics: Any) -> Table:
    """Lay out the coefficients of agreement."""
    level = f"{statistics.attrs['probability']:.0%} {statistics.attrs['interval']}"
    title = _warned(f"The annotators among themselves: observed, {level}", statistics[DOUBT])
    table = Table(title=title, title_justify="left")
    table.add_column("")
    table.add_column("observed", justify="right")
    table.add_column("new items", justify="right", no_wrap=True)
    for _, row in statistics[statistics[SYSTEM].isna() & statistics[ANNOTATOR].isna()].iterrows():
        if row["statistic"] != "annotator_discrepancy":  # a distance, not a coefficient
            table.add_row(
                coefficient_title(row["statistic"]), share(row["observed"], 3), _bounds(row)
            )
    return table


def discrepancy_table(evaluation: Any, statistics: Any) -> Table:
    """Lay out how far systems are from the annotators, who are at 1 from each other."""
    data = evaluation["discrepancy"].to_dataset()
    title = (
        "Discrepancy ratio: below 1, closer to annotators than they are to each other"
        f"\n(distance: {data.attrs['distance']})"
    )
    rows = statistics[statistics["statistic"] == "discrepancy_ratio"]
    table = Table(title=_warned(title, rows[DOUBT]), title_justify="left")
    for name in ("", "ratio", "new items", "P(< 1)", f"P(< {1 + data.attrs['margin']:g})"):
        table.add_column(name, justify="left" if name == "" else "right", no_wrap=name != "")
    for _, row in rows.sort_values("observed", kind="stable").iterrows():
        one = {SYSTEM: row[SYSTEM]}
        below = float((data["discrepancy_ratio"].sel(one) < 1).mean())
        table.add_row(
            escape(short(row[SYSTEM], 24)), share(row["observed"], 3),
            _bounds(row),
            probability(below), probability(float(data["non_inferiority"].sel(one))),
        )  # fmt: skip
    return table


_PEOPLE: Final = 5
"""Annotators whose accuracy is shown; the others are in the table that is written."""

COMPONENTS: Final = {
    ("icc", "latent"): "ICC, latent",
    ("icc", "observed"): "ICC, as given",
    ("annotator_icc", "observed"): "annotator ICC, as given",
    ("mean_reliability", "observed"): "mean label",
    ("normalized_xcc", "latent"): "normalised xCC",
    ("xcc", "observed"): "xCC, as given",
}


def components_table(rows: Any) -> Table:
    """Lay out ICCs and xCCs; those of chains that are too short say so."""
    level = f"{rows.attrs['probability']:.0%} {rows.attrs['interval']}"
    title = f"How reliable labels are: mean, {level}"
    table = Table(title=_warned(title, rows[DOUBT]), title_justify="left")
    table.add_column("")
    table.add_column("mean", justify="right")
    table.add_column("interval", justify="right", no_wrap=True)
    for (quantity, scale), name in COMPONENTS.items():
        shown = rows[(rows["quantity"] == quantity) & (rows["scale"] == scale)]
        for _, row in shown.iterrows():
            pools = [short(row[dim], 16) for dim in ("pool", "pool_") if row[dim] is not None]
            label = ", ".join([name, " and ".join(pools)] if pools else [name])
            table.add_row(escape(label), share(row["mean"], 3), _bounds(row))
    return table


def components_lines(evaluation: Any, rows: Any) -> Iterator[str]:
    """Say what the components mean, warnings and notes first."""
    from dissensus.reports import checks, components
    from dissensus.reports.language import text

    yield from _unreliable(rows)
    for one in checks.outweighed(evaluation):
        yield f"[red]warning[/red] {escape(text(one))}"
    for line in components.notes(evaluation):
        yield f"[yellow]note[/yellow] {escape(line)}"
    for one in components.words(evaluation, rows):
        yield escape(text(one))


def accuracy_table(rows: Any) -> Table:
    """Lay out estimated accuracies of systems with what else is called accuracy."""
    level = f"{rows.attrs['probability']:.0%} {rows.attrs['interval']}"
    shown = rows[rows["scope"] == SCOPES[1]].sort_values(
        ["of", "mean"], ascending=False, kind="stable"
    )
    title = f"Accuracy, if every item has one true label: mean, {level}"
    table = Table(title=_warned(title, shown[DOUBT]), title_justify="left")
    for name in ("", "estimated, new items", "majority vote", "adjusted"):
        table.add_column(name, justify="left" if name == "" else "right", no_wrap=name != "")
    people = shown[shown["of"] == "annotator"]
    for _, row in shown[shown["of"] == "system"].iterrows():
        _add_accuracy(table, short(row["name"], 24), row)
    table.add_section()
    for _, row in people.head(_PEOPLE).iterrows():
        name = "annotators" if row["name"] is None else f"annotator {short(row['name'], 20)}"
        _add_accuracy(table, name, row)
    if len(people) > _PEOPLE:
        table.add_row(f"and {len(people) - _PEOPLE:,} more annotators in accuracy.csv")
    return table


def _add_accuracy(table: Table, name: str, row: Any) -> None:
    beside = [share(row[column], 3) if isfinite(row[column]) else ""
              for column in ("majority", "uncertainty_adjusted")]  # fmt: skip
    table.add_row(escape(name), escape(_interval(row)), *beside)


def accuracy_lines(evaluation: Any, rows: Any) -> Iterator[str]:
    """Say what the accuracies mean, notes first."""
    from dissensus.reports import accuracy
    from dissensus.reports.language import text

    yield from _unreliable(rows)
    for line in accuracy.notes(evaluation):
        yield f"[yellow]note[/yellow] {escape(line)}"
    for one in accuracy.words(evaluation, rows):
        yield escape(text(one))


def ground_truth_table(evaluation: Any, rows: Any) -> Table:
    """Lay out what the label of most annotators is worth."""
    from dissensus.reports import ground_truth

    level = f"{rows.attrs['probability']:.0%} {rows.attrs['interval']}"
    title = _warned(f"Can this ground truth be trusted? Mean, {level}", rows[DOUBT])
    table = Table(title=title, title_justify="left")
    for name in ("", "mean", "interval"):
        table.add_column(name, justify="left" if name == "" else "right", no_wrap=name != "")
    for title, *cells in ground_truth.table_rows(evaluation, rows):
        table.add_row(escape(short(title, 60)), *cells)
    return table


def ground_truth_lines(evaluation: Any, rows: Any) -> Iterator[str]:
    """Say what the ground truth is worth, notes first."""
    from dissensus.reports import ground_truth
    from dissensus.reports.language import text

    yield from _unreliable(rows)
    for line in ground_truth.notes(evaluation):
        yield f"[yellow]note[/yellow] {escape(line)}"
    for one in ground_truth.words(evaluation, rows):
        yield escape(text(one))
