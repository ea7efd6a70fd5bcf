"""The page of an evaluation of sets of labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.contents import answers_with
from dissensus.dims import ELEMENT, ITEM, SYSTEM
from dissensus.evaluation.answers import TRUTH
from dissensus.evaluation.evidence import summary
from dissensus.evaluation.sets import ALPHA, LABELS, SHARE
from dissensus.reports import checks, evidence, opening, pictures, sections, tables, trust, verdict
from dissensus.reports.checks import marked
from dissensus.reports.contents import describe_annotations
from dissensus.reports.evidence import Facts
from dissensus.reports.next_steps import differing
from dissensus.reports.page import bounded, frame, model_facts, provenance
from dissensus.reports.sections import Part, Section
from dissensus.reports.sentences import Name, environment, interval, paragraph, sentences
from dissensus.reports.tables import Body, Table, between
from dissensus.reports.verdict import Lead
from dissensus.wording import counted, left_out_note, metric_title, share, short_names

SOURCE: Final = "set_sentences.html"
FEW: Final = 10
"""Minimum number of answers with a label; with fewer, results for the label depend on the prior."""
_LABELS: Final = 100
_SYSTEMS: Final = 8
_NARROW: Final = 5
_HEAD: Final = 11
"""In a terminal: maximum number of systems, and of letters of a name."""
_KNOWN: Final = 30
"""Number of known sets that halves intervals of scores against the truth (`benchmarks/sets.py`)."""
_UNDEFINED: Final = 0.05
"""Share of undefined draws above which a number is not shown."""


def page(evaluation: xr.DataTree, title: str | None = None) -> str:
    """Return the page as HTML."""
    has_systems = evidence.has(evaluation, "metrics")
    values = evidence.numbers(evaluation) if has_systems else None
    lead = verdict.lead(evaluation, values)
    checked = checks.checked(evaluation)
    reason = lead.reason if lead else ""
    unreliable = sentences("unreliable", {"reason": reason} if reason else {}, page=True)
    picture = pictures.lead(evaluation, values, lead)
    return (
        environment(page=True)
        .get_template("sections.html")
        .render(
            **frame(),
            title=title or _title(evaluation, values),
            troubles=[paragraph(topic, facts, page=True) for topic, facts in checked.troubles],
            verdict=unreliable
            + sentences("headline", verdict.headline(evaluation, lead), page=True),
            lead_picture=picture and marked(picture, reason),
            lead_table=marked(verdict.table(evaluation, lead), reason),
            boxes=trust.boxes(evaluation, lead, {}, checked, page=True),
            cautions=[
                *(paragraph(topic, facts, page=True)
                  for topic, facts in trust.more_cautions(checked)),
                *_sentences("rare", rare(evaluation)),
            ],
            steps=_sentences("steps", steps(evaluation, lead)),
            next_table=None,
            opening={
                "data": sentences("data", opening.data(evaluation), page=True),
                "intervals": sentences(
                    "intervals", opening.intervals(evaluation, scopes=has_systems), page=True
                ) + _sentences("panel", {"systems": has_systems} | _question(evaluation)),
            },
            sections=list(_parts(evaluation, values, reason)),
            control={"reference": 0, "wanted": False, "values": []},
            data=[(name, bounded(value)) for name, value in
                  describe_annotations(evaluation["annotations"].to_dataset())],
            cards_of=[_card(evaluation)],
            diagnosis=[paragraph(topic, facts, page=True)
                       for topic, facts in checks.diagnosis(evaluation)],
            chains=[],
            provenance=provenance(evaluation),
        )
    )  # fmt: skip


def _card(evaluation: xr.DataTree) -> dict[str, Any]:
    """Return the card of the model, which is fitted to each label."""
    card = model_facts(evaluation)
    words = "Fitted once for each label, to whether an answer contains it (yes) or not (no)."
    return card | {"paragraphs": [words, *card["paragraphs"]]}


def _question(evaluation: xr.DataTree) -> Facts:
    """Return whether sets are compared with true sets, and whether errors are correlated."""
    return {
        "truth": evaluation.attrs.get("question") == TRUTH,
        "correlated": bool(evaluation.attrs.get("correlated_errors", 0)),
    }  # fmt: skip


def _sentences(topic: str, facts: Facts) -> list[str]:
    return sentences(topic, facts, page=True, source=SOURCE)


def _title(evaluation: xr.DataTree, values: xr.Dataset | None) -> str:
    n_items = counted(evaluation["annotations"].sizes[ITEM], "item")
    if values is None:
        return f"Sets of labels of {n_items}"
    return f"{counted(values.sizes[SYSTEM], 'system')}: sets of labels on {n_items}"


def answers(evaluation: xr.DataTree) -> dict[Any, int]:
    """Return how many answers contain each label; 0 for labels that only systems give."""
    given = answers_with(evaluation["annotations"].to_dataset())
    return {label: given.get(label, 0) for label in evaluation[LABELS][ELEMENT].to_numpy().tolist()}


def rare(evaluation: xr.DataTree) -> Facts:
    """Return the labels that few answers contain."""
    names = [name for name, n in answers(evaluation).items() if n < FEW]
    has_macro = "macro_f1" in evidence.group(evaluation, "metrics")
    return {"names": names, "few": FEW, "macro": has_macro} if names else {}


def steps(evaluation: xr.DataTree, lead: Lead | None) -> Facts:
    """Return labels on which annotators disagree, annotators who differ, and items to add."""
    more = trust.items_to_add(evaluation, lead)
    worst: list[Any] = []
    if ALPHA in evaluation[LABELS]:
        frame, count = summary(evaluation, LABELS), answers(evaluation)
        rows = frame[(frame["quantity"] == ALPHA) & (frame["mean"] < trust.TENTATIVE)]
        rows = rows[rows[ELEMENT].map(count) >= FEW].sort_values("mean")[:3]
        worst = [(row[ELEMENT], f"{share(row['mean'])} ({interval(row)})")
                 for row in rows.to_dict("records")]  # fmt: skip
    return {
        "labels": worst, "people": differing(evaluation), "more": more,
        "know": _to_know(evaluation),
        "shared": opening.has_shared_items(evaluation["annotations"].to_dataset()),
    }  # fmt: skip


def _to_know(evaluation: xr.DataTree) -> int:
    """Return how many true sets to get; 0 if enough are known or the question is not the truth."""
    if not _question(evaluation)["truth"] or not evidence.has(evaluation, "metrics"):
        return 0
    n_items = evaluation["annotations"].sizes[ITEM]
    return min(_KNOWN, n_items) if evaluation.attrs.get("n_known", 0) < min(_KNOWN, n_items) else 0


def _parts(evaluation: xr.DataTree, values: xr.Dataset | None, reason: str) -> Iterator[Part]:
    """Yield the collapsed sections."""
    if values is not None:
        made = [tables.metric_table(evaluation, values), tables.better_table(evaluation, values)]
        yield Part("systems", "How do the systems compare?",
                   Section(_sentences("metrics", {"point": evaluation.attrs["point_estimate"]}),
                           [marked(table, reason) for table in made if table]))  # fmt: skip
    yield Part("labels", "Which labels are hard?", Section(
        _sentences("labels", {"alpha": ALPHA in evaluation[LABELS], "systems": values is not None}
              | _question(evaluation)),
        label_tables(evaluation),
    ))  # fmt: skip
    agreement = sections.agreement(evaluation)
    if agreement is not None:
        agreement = marked(agreement, checks.of_group(evaluation, "statistics"))
        yield Part("agreement", "Do the annotators agree, and is a system like one of them?",
                   agreement)  # fmt: skip


def label_tables(evaluation: xr.DataTree, *, narrow: bool = False) -> list[Table]:
    """Return a table of the labels and, with systems, a table of the systems' F1 for each label.

    A ``narrow`` table of F1 has means only.
    """
    frame, count = summary(evaluation, LABELS), answers(evaluation)
    level = evidence.level()
    order = sorted(count, key=lambda name: -count[name])[:_LABELS]
    rows = {(row["quantity"], row[ELEMENT]): row
            for row in frame[frame[SYSTEM].isna()].to_dict("records")}  # fmt: skip
    body = []
    for name in order:
        cells: list[Any] = [Name(name), f"{count[name]:,}", *_cells(rows.get((SHARE, name)))]
        if ALPHA in evaluation[LABELS]:
            cells += _cells(rows.get((ALPHA, name)))
        body.append(cells)
    head = ["Label", "Answers", "Share of items", f"Interval, {level}"]
    head += ["Alpha", f"Interval, {level}"] * (ALPHA in evaluation[LABELS])
    left = len(count) - len(order)
    note = left_out_note(left, "label", "with fewer answers")
    out = [Table("table-labels", "Labels", list(head), [Body(-1, body)], note)]
    if "f1" in evaluation[LABELS]:
        out.append(_f1_table(evaluation, frame[frame["quantity"] == "f1"], order, narrow))
    return out


def _f1_table(evaluation: xr.DataTree, frame: Any, order: list[Any], narrow: bool) -> Table:
    """Return F1 by label: a column for each of the first systems."""
    lead = verdict.lead(evaluation, evidence.numbers(evaluation))
    assert lead is not None  # there are systems
    systems, level = lead.systems[: _NARROW if narrow else _SYSTEMS], evidence.level()
    rows = {(row[ELEMENT], row[SYSTEM]): row for row in frame.to_dict("records")}
    body = []
    for name in order:
        cells = [_cells(rows.get((name, system)), brackets=True) for system in systems]
        body.append([Name(name), *(cell[0] if narrow else " ".join(cell) for cell in cells)])
    left = len(lead.systems) - len(systems)
    note = "Means of F1 over the draws." if narrow else f"Means of F1, with {level} intervals."
    if left:
        note += " " + left_out_note(left, "system", f"with lower {metric_title(lead.name)}")
    heads = map(Name, short_names(systems, _HEAD) if narrow else systems)
    return Table("table-f1", "F1 of each label", ["Label", *heads], [Body(-1, body)], note)


def _cells(row: Any, *, brackets: bool = False) -> list[str]:
    if row is None or not np.isfinite(row["mean"]) or row["undefined"] > _UNDEFINED:
        return ["n/a"] if brackets else ["n/a", ""]
    ends = between(row)
    return [share(row["mean"]), f"({ends})" if brackets else ends]
