"""Tables and sentences of the report, and of plans, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from textwrap import wrap
from typing import Any, Final

import numpy as np
import rich.table
import xarray as xr
from rich.cells import cell_len
from rich.console import Group
from rich.markup import escape

from dissensus.dims import ANNOTATOR, ESTIMATOR, ITEM, SCOPE, SCOPES, SYSTEM
from dissensus.evaluation.sets import LABELS
from dissensus.evaluation.votes import LEADERBOARD
from dissensus.reports import evidence, tables, two_models
from dissensus.reports.evidence import Facts
from dissensus.reports.sentences import Name, paragraph, sentences
from dissensus.reports.tables import Body, Table
from dissensus.studies.planning.sentences import per_pool, quantities
from dissensus.studies.planning.unknown_truth import ESTIMATORS
from dissensus.wording import capital, probability, share, short

_ROWS: Final = 20
"""Maximum number of printed rows of a table; the report and the CSV files have all rows."""
_FEW_ROWS: Final = 8
"""Maximum number of rows of the verdict's table, so that the output fits on one screen."""
_COLUMNS: Final = 80
"""Width of a terminal. In wider tables, heads of columns are broken into lines."""
_WIDE: Final = frozenset({"Disagreement ignored", "Truth, new items"})
"""Columns of metrics that do not fit into the terminal; the report and the CSV files have them."""
_LEGEND: Final = "Intervals are {}s. P(best): probability of being the best on new items."


def laid_out(table: Table, reference: int = -1, most: int = _ROWS) -> Group:
    """Lay out a table: its title, its warning, and the rows for one reliability."""
    bodies = [body for body in table.bodies if body.at in (-1, reference)]
    shown = [[list(map(_cell, row)) for row in body.rows[:most]] for body in bodies]
    heads, widths = _columns(
        [str(name) for name in table.head], [row for rows in shown for row in rows]
    )
    out: list[Any] = [f"[bold]{escape(table.title)}[/bold]"]
    if table.warning:
        out.append(f"[red]{escape(table.warning)}[/red]")
    for place, (body, rows) in enumerate(zip(bodies, shown, strict=True)):
        if body.title:
            out += [""] * (place > 0) + [escape(body.title)]
        grid = rich.table.Table(
            box=None, show_header=place == 0, header_style="dim", pad_edge=False
        )
        for number, (head, width) in enumerate(zip(heads, widths, strict=True)):
            side: Any = "right" if number else "left"
            grid.add_column(escape(head), justify=side, overflow="fold", width=width)
        for row in rows:
            grid.add_row(*row)
        if len(body.rows) > most:
            grid.add_row(f"and {len(body.rows) - most:,} more")
        out.append(grid)
    return Group(*out, *([escape(table.note)] if table.note else []), "")


def _columns(heads: list[str], rows: list[list[str]]) -> tuple[list[str], list[int]]:
    """Return heads, broken into lines if necessary, and the widths of columns.

    All bodies of a table have these widths. Long names in the first column are folded.
    """
    gaps, columns = 2 * (len(heads) - 1), zip(heads, *rows, strict=True)
    widths = [max(map(cell_len, cells), default=0) for _, *cells in columns]
    if sum(map(max, widths, map(len, heads))) + gaps > _COLUMNS:
        heads = [
            "\n".join(wrap(head, max(width, 8), break_long_words=False))
            for head, width in zip(heads, widths, strict=True)
        ]
    lines = [max(map(len, head.split("\n"))) for head in heads]
    first, *numbers = map(max, widths, lines)
    return heads, [max(min(first, _COLUMNS - gaps - sum(numbers)), 8), *numbers]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return probability(value)
    return escape(short(value, 24) if isinstance(value, Name) else str(value))


def _without(table: Table, names: frozenset[str]) -> Table:
    """Return a table without the named columns."""
    places = [place for place, name in enumerate(table.head) if str(name) not in names]
    bodies = [
        replace(body, rows=[[row[place] for place in places] for row in body.rows])
        for body in table.bodies
    ]
    return replace(table, head=[table.head[place] for place in places], bodies=bodies)


# Evaluations.


def results(evaluation: xr.DataTree, *, everything: bool = False) -> Iterator[Group | str]:
    """Yield, as markup for Rich, the verdict, its table and warnings; and all else if asked."""
    # Imported here, because plans do not need Matplotlib.
    from dissensus.reports import checks, trust, verdict
    from dissensus.reports.sets_page import SOURCE, rare

    if LEADERBOARD in evaluation.children:
        yield from _of_votes(evaluation, everything=everything)
        return
    numbers = two_models.both(evaluation)
    lead = verdict.lead(evaluation, numbers[0] if numbers else None)
    checked, both = checks.checked(evaluation), two_models.compared(evaluation, numbers)
    for topic, facts in checked.troubles:
        yield f"[red]do not rely on these numbers[/red] {escape(paragraph(topic, facts))}"
    yield escape(paragraph("headline", verdict.headline(evaluation, lead)))
    yield ""
    table = verdict.table(evaluation, lead)
    if lead is not None and table is not None:
        most = _ROWS if everything else _FEW_ROWS
        table = table if everything else replace(table, note="")  # the report has the note
        yield laid_out(checks.marked(table, lead.reason), most=most)
    yield from filter(None, map(_reason_line, trust.boxes(evaluation, lead, both.facts, checked)))
    for topic, facts in trust.more_cautions(checked):
        yield f"[yellow]careful[/yellow] {escape(paragraph(topic, facts))}"
    if LABELS in evaluation.children:
        for words in sentences("rare", rare(evaluation), source=SOURCE):
            yield f"[yellow]careful[/yellow] {escape(words)}"
    if everything:
        yield ""
        yield from _rest(evaluation, numbers, both.facts)
    else:
        yield "[dim]Every metric, agreement, other models: report.html, or --all.[/dim]"


def _reason_line(box: Any) -> str:
    """Write a reason not to rely on the result, and its remedy; "" if there is no such reason."""
    if box.state == "fine":
        return ""
    color = "red" if box.state == "stop" else "yellow"
    words = escape(f"{box.reason} {box.remedy}".strip())
    return f"[{color}]{box.word.lower()}[/{color}] {words}"


def _of_votes(evaluation: xr.DataTree, *, everything: bool) -> Iterator[Group | str]:
    """Yield the verdict on votes, the leaderboard, warnings, and the votes to collect next."""
    from dissensus.reports import votes, votes_page

    yield from (f"[red]{escape(words)}[/red]" for words in votes.unreliable(evaluation))
    yield escape(" ".join(votes.vote_sentences("headline", votes.headline(evaluation))))
    yield ""
    n = evaluation[LEADERBOARD].sizes[SYSTEM]
    yield laid_out(votes.table(evaluation, n if everything else _ROWS), most=n)
    yield from filter(None, map(_reason_line, votes_page.boxes(evaluation)))
    yield from map(escape, votes.vote_sentences("judge", votes.judge(evaluation)))
    yield from map(escape, votes.vote_sentences("next", votes.next_facts(evaluation)))
    if everything:
        extra = (votes.judge_table(evaluation), votes.better_table(evaluation),
                votes.check_table(evaluation), votes.voter_table(evaluation))  # fmt: skip
        yield from (laid_out(table) for table in extra if table is not None)
    else:
        yield "[dim]All systems, pairs and voters: report.html, or --all.[/dim]"


def _rest(evaluation: xr.DataTree, numbers: list[xr.Dataset], both: Facts) -> Iterator[Group | str]:
    """Yield all metrics, the comparison of two models, and the sections of the report."""
    from dissensus.reports.page import parts
    from dissensus.reports.sets_page import label_tables

    yield from _metrics(evaluation, numbers, both)
    if LABELS in evaluation.children:
        yield from map(laid_out, label_tables(evaluation, narrow=True))
    for part in parts(evaluation, page=False).values():
        if part is not None:
            yield from map(laid_out, part.tables)
            yield from (f"[yellow]note[/yellow] {escape(note)}" for note in part.notes)
            yield from map(escape, part.words)


def _metrics(
    evaluation: xr.DataTree, numbers: list[xr.Dataset], both: Facts
) -> Iterator[Group | str]:
    """Yield metrics at the reference reliability (or certainties), then both models compared."""
    from dissensus.reports import checks

    reference = evaluation.attrs["reference_reliability"]
    if numbers:
        values = numbers[0]
        table = tables.metric_table(evaluation, values)
        table = replace(table, title=f"{table.title}: {evidence.named(evaluation)}")
        table = _without(table, _WIDE)
        place = evidence.reliabilities(evaluation).index(reference)
        yield laid_out(checks.marked(table, checks.of_model(evaluation, values)), place)
        yield f"[dim]{_LEGEND.format(evidence.interval_title())}[/dim]"
    else:
        reason = checks.along(evaluation, None)
        yield from map(laid_out, checks.marked(tables.certainty_tables(evaluation), reason))
    if both:
        table_of_both = tables.models_table(evaluation, numbers)
        if table_of_both is not None:
            yield laid_out(checks.marked(table_of_both, checks.of_both(evaluation, numbers)))
        yield from map(escape, sentences("verdict", both))


# Plans.


def plan_tables(plan: xr.Dataset) -> list[Table]:
    """Return the tables of a plan of any kind."""
    if "within_share" in plan:
        return [_closeness_table(plan)]
    if "items_alone" in plan:
        return [_judged_table(plan)]
    if "reliability" not in plan:
        return [_accuracy_table(plan)]
    return [_reliability_table(plan), *([_width_table(plan)] if "half_width" in plan else [])]


def _accuracy_table(plan: xr.Dataset) -> Table:
    """Return the table of a plan for a system's accuracy: certainties and half-widths."""
    rows = []
    for n in plan[ANNOTATOR].to_numpy():
        row = plan.sel({ANNOTATOR: n})
        cells = [row[name].item() for name in ("certainty", "certain_share", "shortfall")]
        cells += row["half_width"].to_numpy().tolist()
        rows.append([str(n), *(f"{cell:.3f}" for cell in cells)])
    head = ["annotators", "certainty", "items above .9", "shortfall"]
    head += [f"± at {n} items" for n in plan[ITEM].to_numpy()]
    level, accuracy = plan.attrs["probability"], plan.attrs["accuracy"]
    title = f"{level:.0%} interval of a system of accuracy {accuracy:g}"
    return Table("plan", title, head, [Body(-1, rows)])


def _judged_table(plan: xr.Dataset) -> Table:
    """Return half-widths with predictions of all items (or verdicts on all pairs), and without."""
    bodies = []
    for n in plan[ANNOTATOR].to_numpy():
        rows = []
        for k in plan[ITEM].to_numpy():
            row = plan.sel({ANNOTATOR: n, ITEM: k})
            widths = (f"{row[name].item():.3f}" for name in ("half_width", "half_width_alone"))
            rows.append([str(n), f"{k:,}", *widths, f"{row['items_alone'].item():,.0f}"])
        bodies.append(Body(-1, rows))
    head = ["annotators", "items", "±", "± alone", "items needed alone"]
    return Table("plan", f"{plan.attrs['probability']:.0%} intervals", head, bodies)


def _reliability_table(plan: xr.Dataset) -> Table:
    """Return the reliability of the mean label, for each number of annotators."""
    level, target = plan.attrs["probability"], share(plan.attrs["target"])
    bodies = []
    for name, part in per_pool(plan):
        rows = []
        for k in part[ANNOTATOR].to_numpy():
            row = part.sel({ANNOTATOR: k})
            low, middle, high = np.nanquantile(
                row["reliability"].to_numpy(), [(1 - level) / 2, 0.5, (1 + level) / 2]
            )
            chance = probability(row["probability_reached"].item())
            rows.append([str(k), share(middle), f"[{share(low)}, {share(high)}]", chance])
        bodies.append(Body(-1, rows, name))
    head = ["annotators", "median", f"{level:.0%} eti", f"P(≥ {target})"]
    return Table("plan", "Reliability of the mean label of an item", head, bodies)


def _width_table(plan: xr.Dataset) -> Table:
    """Return half-widths of intervals, and the shares of studies with an interval narrow enough."""
    bodies = []
    for name, part in quantities(plan):
        rows = []
        for k in part[ANNOTATOR].to_numpy():
            row = part.sel({ANNOTATOR: k})
            halves, narrow = (row[n].to_numpy() for n in ("half_width", "probability_narrow"))
            cells = [f"± {share(h, 3)} ({share(p)})" for h, p in zip(halves, narrow, strict=True)]
            rows.append([str(k), *cells])
        bodies.append(Body(-1, rows, capital(name.removeprefix("the ")) * (name != "the ICC")))
    level, width = plan.attrs["probability"], share(plan.attrs["width"])
    title = (
        f"Half the {level:.0%} interval (share of {plan.attrs['studies']} simulated\n"
        f"studies where the whole is {width} or shorter)"
    )
    head = ["annotators", *(f"{n:,} items" for n in plan[ITEM].to_numpy())]
    return Table("plan", title, head, bodies)


def _closeness_table(plan: xr.Dataset) -> Table:
    """Return the shares of simulated studies whose estimate is close to the system's accuracy."""
    new = plan.sel({SCOPE: SCOPES[1]})
    bodies = []
    for k in plan[ANNOTATOR].to_numpy():
        rows = []
        for name, title in zip(ESTIMATORS, ("model", "lehner"), strict=True):
            row = new.sel({ANNOTATOR: k, ESTIMATOR: name})
            cells = [share(p) for p in row["within_share"].to_numpy()]
            if name == ESTIMATORS[0]:
                halves = row["half_width"].to_numpy()
                cells = [f"{p} ± {share(h)}" for p, h in zip(cells, halves, strict=True)]
            rows.append([f"{k}, {title}", *cells, _enough(row["items_enough"].item(), plan)])
        bodies.append(Body(-1, rows))
    about = plan.attrs
    title = (
        f"Share of {about['studies']} simulated studies whose estimate is within "
        f"{share(about['within'])} of\nthe system's accuracy, {share(about['accuracy'])}; "
        f"± half the {about['probability']:.0%} interval; enough for {share(about['assurance'])}"
    )
    head = ["annotators", *(f"{n:,} items" for n in plan[ITEM].to_numpy()), "enough"]
    return Table("plan", title, head, bodies)


def _enough(items: float, plan: xr.Dataset) -> str:
    """Write the number of items that is enough, such as "300", "≤ 100" (fewest tried), "> 900"."""
    tried = plan[ITEM].to_numpy()
    if not np.isfinite(items):
        return f"> {tried[-1]:,}"
    at_most = "≤ " if items == tried[0] else ""
    return f"{at_most}{items:,.0f}"
