"""What the report says of the annotations as they are: agreement, and systems among annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import plots
from dissensus.dims import ANNOTATOR, SYSTEM
from dissensus.evaluation.summary import summary
from dissensus.reports import numbers as facts
from dissensus.reports.language import Name, Sentence, joined, sentence, text
from dissensus.reports.pictures import Shown, picture
from dissensus.reports.tables import Body, Table, between, interval
from dissensus.wording import (
    coefficient_title,
    counted,
    digits_for,
    interval_name,
    percent,
    probability,
    share,
    spoken_probability,
)

_ROWS = 100
_DISTANCES: Final = {
    "nominal": "0 for the same label and 1 for another",
    "squared": "squared differences",
    "absolute": "absolute differences",
    "jaccard": "the share of labels that two sets do not have in common",
    "ranking": "1 less the average overlap of two rankings",
}
_APART = 0.2
"""Alpha and AC1 that differ by more than this tell of one label that is given most of the time."""

READING: Final = {
    "percent_agreement": "Two annotators: how often they say the same of an item, chance included.",
    "krippendorff_alpha": "Alpha: 1 is perfect, 0 as by chance, in between the share of the "
    "disagreement expected by chance that is not there.",
    "gwet_ac": "AC1 and AC2: the same question, with a chance that does not grow as one label "
    "takes over.",
    "leave_one_out_agreement": "Other annotators: how often an annotator names, in whatever place, "
    "what the others say most.",
}


@dataclass(frozen=True)
class Section:
    """All that is said of the annotations as they are."""

    words: list[Sentence]
    notes: list[str]
    picture: Shown | None
    tables: list[Table]


def section(evaluation: xr.DataTree) -> Section | None:
    """Return words, picture and tables; nothing where no item has two annotators."""
    if not facts.has(evaluation, "agreement"):
        return None
    frame = summary(evaluation, "statistics")
    words = [*_agreement_words(frame), *_system_words(evaluation, frame)]
    notes = [
        line
        for group in ("agreement", "discrepancy")
        if group in evaluation.children
        for line in str(evaluation[group].attrs.get("notes", "")).splitlines()
        if line
    ]
    tables = [_agreement_table(frame)]
    if _has(evaluation, "discrepancy_ratio"):
        tables.append(_system_table(evaluation, frame))
    if _has(evaluation, "annotator_discrepancy_ratio"):
        tables.append(_annotator_table(evaluation, frame))
    return Section(words, notes, _picture(evaluation, frame), tables)


def _has(evaluation: xr.DataTree, name: str) -> bool:
    return "discrepancy" in evaluation.children and name in evaluation["discrepancy"]


def _digits(rows: Any) -> int:
    return digits_for((rows["upper"] - rows["lower"]).to_list())


def _agreement_words(frame: Any) -> list[Sentence]:
    """Say how far annotators agree, and what one coefficient alone would hide."""
    rows = frame.set_index("statistic")
    out: list[Sentence] = []
    _, prob = facts.settings()
    for name in rows.index.unique():
        if str(name).startswith("krippendorff_alpha"):
            row = rows.loc[name]
            if not np.isfinite(row["observed"]):
                continue
            out.append(sentence(
                "{title} is {value} ({level} interval {interval}): {meaning}.",
                title=coefficient_title(str(name)), value=share(row["observed"]),
                level=percent(prob), interval=interval(row), meaning=_meaning(row["observed"]),
            ))  # fmt: skip
            break
    chance = rows.loc["gwet_ac1", "observed"] if "gwet_ac1" in rows.index else np.nan
    alpha = "krippendorff_alpha"
    if alpha in rows.index and chance - rows.loc[alpha, "observed"] > _APART:
        out.append(sentence(
            "Gwet's AC1 is {ac}, much more. One label is given most of the time, so that chance "
            "alone makes annotators agree, and alpha asks for more than that: read both, and "
            "the share of pairs that agree ({agree}).",
            ac=share(chance), agree=share(rows.loc["percent_agreement", "observed"]),
        ))  # fmt: skip
    return out


def _meaning(alpha: float) -> str:
    if alpha <= 0:
        return "annotators disagree as much as chance would make them, or more"
    return (
        f"{share(alpha)} of the disagreement that chance would bring is absent (Krippendorff asks "
        "for .80, and for .667 where conclusions may be tentative)"
    )


def _system_words(evaluation: xr.DataTree, frame: Any) -> list[Sentence]:
    """Say which systems are closer to the annotators than these are to each other."""
    rows = frame[frame["statistic"] == "discrepancy_ratio"].set_index(SYSTEM)
    rows = rows[np.isfinite(rows["observed"])].sort_values("observed", kind="stable")
    if not len(rows):
        return []
    data = evaluation["discrepancy"].to_dataset()
    ratio = data["discrepancy_ratio"]
    best = rows.index[0]
    d = _digits(rows)
    below = float((ratio.sel({SYSTEM: best}) < 1).mean())
    distance = str(data.attrs["distance"])
    out = [sentence(
        "The discrepancy ratio compares how far a system is from an annotator with how far two "
        "annotators are from each other; the distance is {distance}. {name} has {value} "
        "({interval}): it is closer to the annotators than they are to each other with "
        "probability {p}.",
        name=Name(str(best)), value=share(rows.loc[best, "observed"], d),
        distance=_DISTANCES.get(distance, distance), interval=interval(rows.loc[best], d),
        p=spoken_probability(below),
    )]  # fmt: skip
    margin = percent(float(data.attrs["margin"]))
    safe = data["non_inferiority"]
    names = [str(name) for name, p in zip(safe[SYSTEM].to_numpy(), safe.to_numpy(), strict=True)
             if p >= 0.95]  # fmt: skip
    who = sentence(
        "{who} {verb} not inferior to an annotator", who=joined(names),
        verb="is" if len(names) == 1 else "are",
    ) if names else sentence("no system is shown not to be inferior to an annotator")  # fmt: skip
    out.append(sentence("With a margin of {margin}, {who} (probability .95 or more).",
                        margin=margin, who=who))  # fmt: skip
    return [*out, *_beaten(data, best, rows.loc[best, "observed"], frame)]


def _beaten(data: xr.Dataset, best: Any, mine: float, frame: Any) -> list[Sentence]:
    """Say how many annotators the best system is closer than."""
    rows = frame[(frame["statistic"] == "annotator_discrepancy_ratio") & frame["mean"].notna()]
    each = rows["observed"][np.isfinite(rows["observed"])]
    if not len(each):
        return []
    worse = int((each > mine).sum())
    people = counted(len(each), "annotator")
    what = f"than every one of the {people}" if worse == len(each) else f"than {worse} of {people}"
    least = int(data["n_items"].where(data["n_items"] > 0).min())
    enough = f" with at least {least:,} items"
    return [sentence(
        "{name} is closer to the others {what}{enough}, each taken out in turn.",
        name=Name(str(best)), what=what, enough=enough,
    )]  # fmt: skip


def _picture(evaluation: xr.DataTree, frame: Any) -> Shown | None:
    if not _has(evaluation, "discrepancy_ratio"):
        return None
    data = evaluation["discrepancy"].to_dataset()
    if not bool(np.isfinite(data["discrepancy_ratio"]).any()):
        return None
    kind, prob = facts.settings()
    caption = sentence(
        "{people}Left of the line: closer to the annotators than they are to each other. Dots: "
        "means; bars: {interval}s over items; the dotted line is the margin of non-inferiority.",
        interval=interval_name(prob, kind), people=(
            "Each annotator taken out in turn and judged by the others, as the systems are. "
            if _has(evaluation, "annotator_discrepancy_ratio") else ""
        ),
    )  # fmt: skip
    rows = frame[frame["statistic"] == "discrepancy_ratio"].sort_values("observed")
    said: list[str] = []
    for _, row in rows.head(8).iterrows():
        said += [Name(str(row[SYSTEM])), f" {share(row['observed'])}, "]
    words = text(("Discrepancy ratios. ", *said, "and the annotators."))
    return picture(
        "discrepancy", "Systems among the annotators", caption, words,
        lambda figsize: plots.discrepancy(evaluation, figsize=figsize),
    )  # fmt: skip


def _agreement_table(frame: Any) -> Table:
    _, prob = facts.settings()
    rows: list[list[Any]] = []
    notes: dict[str, None] = {}
    for _, row in frame[frame[SYSTEM].isna() & frame[ANNOTATOR].isna()].iterrows():
        name = str(row["statistic"])
        reading = next((text for stem, text in READING.items() if name.startswith(stem)), None)
        if reading is not None:
            rows.append([coefficient_title(name), share(row["observed"]), between(row, 2)])
            notes[reading] = None
    head = ["Coefficient", "Observed", f"New items, {percent(prob)}"]
    title = "Agreement of the annotators"
    return Table("table-agreement", title, head, [Body(-1, rows)], " ".join(notes))


def _system_table(evaluation: xr.DataTree, frame: Any) -> Table:
    """Return the systems with their ratios and what follows from them."""
    data = evaluation["discrepancy"].to_dataset()
    margin = float(data.attrs["margin"])
    rows = frame[frame["statistic"] == "discrepancy_ratio"].sort_values("observed", kind="stable")
    d = _digits(rows)
    body = []
    tested = int(data["winning_rate"].attrs["n_annotators"]) if "winning_rate" in data else 0
    for _, row in rows.head(_ROWS).iterrows():
        one = {SYSTEM: row[SYSTEM]}
        ratio = data["discrepancy_ratio"].sel(one)
        wins = data["winning_rate"].sel(one) if tested else None
        body.append([
            Name(str(row[SYSTEM])), share(row["observed"], d), between(row, d),
            probability(float((ratio < 1).mean())),
            probability(float(data["non_inferiority"].sel(one))),
            "n/a" if wins is None else share(_observed(frame, "winning_rate", row[SYSTEM])),
            "n/a" if wins is None else probability(float((wins >= 0.5).mean())),
        ])  # fmt: skip
    _, prob = facts.settings()
    head = ["System", "Discrepancy ratio", f"New items, {percent(prob)}", "P(below 1)",
            f"P(below {1 + margin:g})", "Winning rate", "P(half or more)"]  # fmt: skip
    note = (
        f"Winning rate: the share of annotators ({tested:,} with 30 items or more) whom the system "
        "could replace, being closer to the others on at least as many items as the annotator is, "
        "less a tenth of them (Calderon, Reichart and Dror 2025)."
    )
    return Table("table-discrepancy", "Systems beside annotators", head, [Body(-1, body)], note)


def _observed(frame: Any, statistic: str, system: Any) -> float:
    rows = frame[(frame["statistic"] == statistic) & (frame[SYSTEM] == system)]
    return float(rows["observed"].iloc[0])


def _annotator_table(evaluation: xr.DataTree, frame: Any) -> Table:
    """Return the annotators, those with the most items first."""
    items = evaluation["discrepancy"]["n_items"].to_series()
    rows = frame[(frame["statistic"] == "annotator_discrepancy_ratio") & frame["mean"].notna()]
    rows = rows.assign(n=items.reindex(rows[ANNOTATOR]).to_numpy())
    rows = rows.sort_values("n", ascending=False, kind="stable")
    d = _digits(rows)
    body = [
        [
            Name(str(row[ANNOTATOR])),
            f"{int(row['n']):,}",
            share(row["observed"], d),
            between(row, d),
        ]
        for _, row in rows.head(_ROWS).iterrows()
    ]
    _, prob = facts.settings()
    head = [
        "Annotator",
        "Items with two others",
        "Discrepancy ratio",
        f"New items, {percent(prob)}",
    ]
    left = len(rows) - _ROWS
    note = f"{left:,} annotators with fewer items are left out." if left > 0 else ""
    return Table("table-taken-out", "Annotators, each taken out in turn", head,
                 [Body(-1, body)], note)  # fmt: skip
