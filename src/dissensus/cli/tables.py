"""Tables for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from dissensus.wording import capital, coefficient_title, metric_title, probability, share, short


def _table(title: str, *columns: str, wrap: bool = False) -> Table:
    """Return an empty table; all columns but the first are aligned to the right."""
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(columns):
        side = "right" if place or name else "left"
        table.add_column(name, justify=side, no_wrap=not wrap and name != "")  # type: ignore[arg-type]
    return table


def plan_tables(plan: xr.Dataset) -> list[Table]:
    """Lay out a plan, of whichever kind."""
    if "within_share" in plan:
        return [_closeness_table(plan)]
    if "reliability" not in plan:
        return [_accuracy_table(plan)]
    return [_reliability_table(plan), *([_width_table(plan)] if "half_width" in plan else [])]


def _accuracy_table(plan: xr.Dataset) -> Table:
    """Lay out how well the accuracy of a system would be known."""
    level, accuracy = plan.attrs["probability"], plan.attrs["accuracy"]
    table = Table(
        *("annotators", "certainty", "items above .9", "shortfall"),
        *(f"± at {n} items" for n in plan[ITEM].to_numpy()),
        title=f"{level:.0%} interval of a system of accuracy {accuracy:g}",
        title_justify="left",
    )
    for n in plan[ANNOTATOR].to_numpy():
        row = plan.sel({ANNOTATOR: n})
        cells = [row[name].item() for name in ("certainty", "certain_share", "shortfall")]
        cells += row["half_width"].to_numpy().tolist()
        table.add_row(str(n), *(f"{cell:.3f}" for cell in cells))
    return table


def _reliability_table(plan: xr.Dataset) -> Table:
    """Lay out the reliability of the mean of so many labels."""
    level, target = plan.attrs["probability"], share(plan.attrs["target"])
    columns = ("annotators", "median", f"{level:.0%} eti", f"P(≥ {target})")
    table = _table("Reliability of the mean label of an item", *columns)
    for name, part in per_pool(plan):
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


def _width_table(plan: xr.Dataset) -> Table:
    """Lay out the widths of intervals, and how often they are narrow enough."""
    level, width = plan.attrs["probability"], share(plan.attrs["width"])
    title = (
        f"Half the {level:.0%} interval (share of {plan.attrs['studies']} simulated\n"
        f"studies where the whole is {width} or shorter)"
    )
    items = [f"{n:,} items" for n in plan[ITEM].to_numpy()]
    table = _table(title, "annotators", *items, wrap=True)
    for name, part in quantities(plan):
        _section(table, capital(name.removeprefix("the ")) if name != "the ICC" else "")
        for k in part[ANNOTATOR].to_numpy():
            row = part.sel({ANNOTATOR: k})
            halves, narrow = (row[n].to_numpy() for n in ("half_width", "probability_narrow"))
            cells = [f"± {share(h, 3)} ({share(p)})" for h, p in zip(halves, narrow, strict=True)]
            table.add_row(str(k), *cells)
    return table


def _closeness_table(plan: xr.Dataset) -> Table:
    """Lay out how often estimates of an accuracy are close to it, without known labels."""
    about = plan.attrs
    title = (
        f"Share of {about['studies']} simulated studies whose estimate is within "
        f"{share(about['within'])} of\nthe system's accuracy, {share(about['accuracy'])}; "
        f"± half the {about['probability']:.0%} interval; enough for {share(about['assurance'])}"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("annotators", no_wrap=True)
    for n in [*(f"{n:,} items" for n in plan[ITEM].to_numpy()), "enough"]:
        table.add_column(n, justify="right")
    new = plan.sel({SCOPE: SCOPES[1]})
    for k in plan[ANNOTATOR].to_numpy():
        table.add_section()
        for name, title in zip(ESTIMATORS, ("model", "lehner"), strict=True):
            row = new.sel({ANNOTATOR: k, ESTIMATOR: name})
            cells = [share(p) for p in row["within_share"].to_numpy()]
            if name == ESTIMATORS[0]:
                halves = row["half_width"].to_numpy()
                cells = [f"{p} ± {share(h)}" for p, h in zip(cells, halves, strict=True)]
            table.add_row(f"{k}, {title}", *cells, _enough(row["items_enough"].item(), plan))
    return table


def _enough(items: float, plan: xr.Dataset) -> str:
    """Write how many items are enough: exactly, at most, or more than were tried."""
    tried = plan[ITEM].to_numpy()
    if not np.isfinite(items):
        return f"> {tried[-1]:,}"
    at_most = "≤ " if items == tried[0] else ""
    return f"{at_most}{items:,.0f}"


def _section(table: Table, name: str) -> None:
    """Begin a part of a table, under its name."""
    if name:
        table.add_section()
        table.add_row(f"[bold]{escape(short(name, 40))}[/bold]")


def _warned(title: str, doubts: Any) -> str:
    """Add to a title why numbers below it are unreliable, if some are."""
    why = reasons(doubts)
    return f"{title}\n[red]! do not rely on what is marked: {escape(why)}[/red]" if why else title


def _level(rows: Any) -> str:
    return f"{rows.attrs['probability']:.0%} {rows.attrs['interval']}"


def summary_table(summary: Any, reference: float) -> Table:
    """Lay out the summary of one model at one reliability."""
    model = f"{summary['model'].iloc[0]}, " if summary["model"].iloc[0] else ""
    title = f"{model}reliability {reference:g}: mean, {_level(summary)} interval"
    shown = summary[summary["reliability"] == reference]
    title = _warned(title, shown[DOUBT])
    table = _table(title, "", "these items", "new items", "best", "naive")
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
    names, columns = [], []
    for side in (evaluation, evaluation["companion"]):
        model, reference = (side.attrs[name] for name in ("model", "reference_reliability"))
        names.append(f"{model} at {reference:g}")
        own = shown[(shown["model"] == model) & (shown["reliability"] == reference)]
        columns.append({row["system"]: row for _, row in own.iterrows()})
    doubts = [row[DOUBT] for column in columns for row in column.values()]
    table = _table(_warned(f"Under both models: {metric_title(first)}", doubts), "", *names)
    for system in columns[0]:
        cells = [short(system, 24), *(_interval(column[system]) for column in columns)]
        table.add_row(*(escape(cell) for cell in cells))
    return table


def _interval(row: Any) -> str:
    text = f"{share(row['mean'], 3)} [{share(row['lower'], 3)}, {share(row['upper'], 3)}]"
    return marked(text, row[DOUBT])


def _bounds(row: Any) -> str:
    return escape(marked(f"[{share(row['lower'], 3)}, {share(row['upper'], 3)}]", row[DOUBT]))


def certainty_table(evaluation: Any) -> Table:
    """Lay out the certainty of the items' labels by reliability."""
    values = evaluation["certainty"].to_dataset()["annotation_certainty"]
    reliabilities = values["reliability"].to_numpy()
    doubts = {gamma: of_metrics(evaluation, gamma) for gamma in reliabilities}
    title = _warned("Annotation certainty of the most plausible label", doubts.values())
    columns = ("reliability", "mean", "items below .9", "below .5")
    table = _table(title, *columns, wrap=True)
    for gamma in reliabilities:
        own = values.sel(reliability=gamma)
        below = [share((own < cut).mean().item(), 3) for cut in (0.9, 0.5)]
        table.add_row(f"{gamma:g}", marked(share(own.mean().item(), 3), doubts[gamma]), *below)
    return table


def sections(evaluation: Any) -> Iterator[Table | str]:
    """Go through the parts of an evaluation beside its metrics: tables, and lines about them."""
    from dissensus.evaluation.evidence import summary
    from dissensus.reports import components, opening
    from dissensus.reports.sections import accuracy_facts, ground_truth_facts
    from dissensus.reports.sentences import paragraph, sentences

    yield from map(escape, sentences("true_label", opening.true_label(evaluation)))
    if "agreement" in evaluation.children:
        yield from _agreement(evaluation, summary(evaluation, "statistics"))
    if "components" in evaluation.children:
        rows = summary(evaluation, "components")
        yield components_table(rows)
        warnings = [paragraph("outweighed", facts) for facts in components.outweighed(evaluation)]
        lines = sentences("components", components.component_facts(evaluation))
        yield from _lines(evaluation, rows, ("components", "pools"), lines, warnings)
    if "accuracy" in evaluation.children:
        rows = summary(evaluation, "accuracy")
        yield accuracy_table(rows)
        lines = sentences("accuracy", accuracy_facts(evaluation))
        yield from _lines(evaluation, rows, ("accuracy",), lines)
    if "weighted_reliability" in evaluation.children:
        rows = summary(evaluation, "weighted_reliability")
        yield ground_truth_table(evaluation, rows)
        lines = sentences("ground_truth", ground_truth_facts(evaluation))
        yield from _lines(evaluation, rows, ("weighted_reliability",), lines)


def _lines(
    evaluation: Any, rows: Any, groups: tuple[str, ...], lines: Iterable[str],
    warnings: Iterable[str] = (),
) -> Iterator[str]:  # fmt: skip
    """Yield warnings, notes of groups, and sentences about a table."""
    from dissensus.reports.evidence import notes

    if why := reasons(rows[DOUBT]):
        yield f"[red]do not rely on the numbers that follow[/red] {escape(why)}"
    yield from (f"[red]warning[/red] {escape(line)}" for line in warnings)
    yield from (f"[yellow]note[/yellow] {escape(line)}" for line in notes(evaluation, *groups))
    yield from map(escape, lines)


def _agreement(evaluation: Any, statistics: Any) -> Iterator[Table | str]:
    yield agreement_table(statistics)
    groups = [name for name in ("agreement", "discrepancy") if name in evaluation.children]
    if "discrepancy" in groups and "discrepancy_ratio" in evaluation["discrepancy"]:
        yield discrepancy_table(evaluation, statistics)
    for line in (line for name in groups for line in evaluation[name].attrs["notes"].splitlines()):
        yield f"[yellow]note[/yellow] {escape(line)}"


def agreement_table(statistics: Any) -> Table:
    """Lay out the coefficients of agreement."""
    title = f"The annotators among themselves: observed, {_level(statistics)}"
    table = _table(_warned(title, statistics[DOUBT]), "", "observed", "new items")
    for _, row in statistics[statistics[SYSTEM].isna() & statistics[ANNOTATOR].isna()].iterrows():
        if row["statistic"] != "annotator_discrepancy":  # a distance, not a coefficient
            name = coefficient_title(row["statistic"])
            table.add_row(name, share(row["observed"], 3), _bounds(row))
    return table


def discrepancy_table(evaluation: Any, statistics: Any) -> Table:
    """Lay out the distance of systems from annotators, relative to that between annotators."""
    data = evaluation["discrepancy"].to_dataset()
    title = (
        "Discrepancy ratio: below 1, closer to annotators than they are to each other"
        f"\n(distance: {data.attrs['distance']})"
    )
    rows = statistics[statistics["statistic"] == "discrepancy_ratio"]
    columns = ("", "ratio", "new items", "P(< 1)", f"P(< {1 + data.attrs['margin']:g})")
    table = _table(_warned(title, rows[DOUBT]), *columns)
    for _, row in rows.sort_values("observed", kind="stable").iterrows():
        draws = data.sel({SYSTEM: row[SYSTEM]})
        chances = (draws["discrepancy_ratio"] < 1).mean(), draws["non_inferiority"]
        cells = [share(row["observed"], 3), _bounds(row)]
        cells += [probability(float(chance)) for chance in chances]
        table.add_row(escape(short(row[SYSTEM], 24)), *cells)
    return table


_PEOPLE: Final = 5
"""Annotators whose accuracy is shown; accuracy.csv has the others."""

COMPONENTS: Final = {
    ("icc", "latent"): "ICC, latent",
    ("icc", "observed"): "ICC, as given",
    ("annotator_icc", "observed"): "annotator ICC, as given",
    ("mean_reliability", "observed"): "mean label",
    ("normalized_xcc", "latent"): "normalised xCC",
    ("xcc", "observed"): "xCC, as given",
}


def components_table(rows: Any) -> Table:
    """Lay out ICCs and xCCs; those of chains that are too short are marked."""
    title = f"How reliable labels are: mean, {_level(rows)}"
    table = _table(_warned(title, rows[DOUBT]), "", "mean", "interval")
    for (quantity, scale), name in COMPONENTS.items():
        shown = rows[(rows["quantity"] == quantity) & (rows["scale"] == scale)]
        for _, row in shown.iterrows():
            pools = [short(row[dim], 16) for dim in ("pool", "pool_") if row[dim] is not None]
            label = ", ".join([name, " and ".join(pools)] if pools else [name])
            table.add_row(escape(label), share(row["mean"], 3), _bounds(row))
    return table


def accuracy_table(rows: Any) -> Table:
    """Lay out estimated accuracies, beside agreement with the majority and adjusted accuracies."""
    shown = rows[rows["scope"] == SCOPES[1]].sort_values(
        ["of", "mean"], ascending=False, kind="stable"
    )
    title = f"Accuracy, if every item has one true label: mean, {_level(rows)}"
    columns = ("", "estimated, new items", "majority vote", "adjusted")
    table = _table(_warned(title, shown[DOUBT]), *columns)
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
    beside = [row["majority"], row["uncertainty_adjusted"]]
    cells = [share(value, 3) if isfinite(value) else "" for value in beside]
    table.add_row(escape(name), escape(_interval(row)), *cells)


def ground_truth_table(evaluation: Any, rows: Any) -> Table:
    """Lay out how reliable the majority label is."""
    from dissensus.reports import sections as of_report

    title = f"Can this ground truth be trusted? Mean, {_level(rows)}"
    table = _table(_warned(title, rows[DOUBT]), "", "mean", "interval")
    facts = of_report.ground_truth_facts(evaluation)
    for name, *cells in of_report.ground_truth_table(facts).bodies[0].rows:
        table.add_row(escape(short(name, 60)), *cells)
    return table
