"""Sections of a report on accuracy, ground truth, agreement and categories."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import plots
from dissensus.dims import ANNOTATOR, ITEM, LABEL, RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.evaluation.doubts import DOUBT, marked, of_metrics
from dissensus.evaluation.evidence import COUNT, OF_ANNOTATOR, OF_SYSTEM, TRUE_RATES, summary
from dissensus.evaluation.ground_truth import GROUP
from dissensus.plots._source import NEW, THESE, interval, interval_settings, sides
from dissensus.reports import evidence
from dissensus.reports.evidence import Facts, interval_title
from dissensus.reports.sentences import Name, paragraph, sentences
from dissensus.reports.sentences import interval as written_interval
from dissensus.reports.svg import Shown, picture
from dissensus.reports.tables import Body, Table, between
from dissensus.statistics._reliability import NO_CONFIDENCE
from dissensus.wording import (
    capital,
    coefficient_title,
    counted,
    left_out_note,
    number,
    percent,
    probability,
    share,
    short,
)

_ROWS: Final = 100
_PEOPLE: Final = 30


@dataclass(frozen=True)
class Section:
    """A part of the page: sentences, picture and tables."""

    words: list[str]
    tables: list[Table]
    intro: str = ""
    notes: tuple[str, ...] = ()
    picture: Shown | None = None


class Part(NamedTuple):
    """A collapsed section of a page."""

    id: str
    title: str
    part: Section


def _interval_head() -> str:
    return f"Interval, {evidence.level()}"


def means_of(rows: list[Any], name: str = "name", value: str = "mean") -> str:
    """Return names with their numbers, as the description of a picture."""
    return ", ".join(f"{short(row[name])} {share(row[value])}" for row in rows)


# Accuracy, if every item has one true label.


_SETTINGS: Final = {
    ("accuracy", "common"): "one accuracy for all annotators",
    ("accuracy", "annotator"): "an accuracy for each annotator",
    ("errors", "equal"): "errors equally frequent for all other labels",
    ("errors", "graded"): "errors more frequent for labels near the true one",
    ("pooling", "none"): "a confusion matrix for each annotator",
    ("pooling", "complete"): "one confusion matrix for all annotators",
}


def accuracy_facts(evaluation: xr.DataTree) -> Facts:
    """Return estimated accuracies of systems and annotators, best first."""
    data = evaluation["accuracy"].to_dataset()
    given = json.loads(data.attrs["settings"]).items()
    systems, annotators = (_best_first(evaluation, of) for of in (OF_SYSTEM, OF_ANNOTATOR))
    facts: Facts = {
        "systems": systems, "annotators": annotators, "level": interval_settings()[1],
        "annotator_mean": np.mean([row["mean"] for row in annotators]),
        "annotator_majority": np.nanmean([row["majority"] for row in annotators]),
        "is_given": int(data.attrs["correlation_given"]), "n_known": int(data.attrs["n_known"]),
        "model": data.attrs["model"], "of_panel": None, "rates": [],
        "bare": bool((evaluation["statistics"]["n_annotations"] == 0).any()),
        "settings": [_SETTINGS[pair] for pair in given if pair in _SETTINGS],
    }  # fmt: skip
    if systems:
        first = data.sel({SYSTEM: systems[0]["name"]})
        by_panel = [row for row in systems if np.isfinite(row["uncertainty_adjusted"])]
        of_panel = max(by_panel, key=lambda row: row["uncertainty_adjusted"], default=systems[0])
        needed, known = int(first["known_items"]), int(first["n_known"])
        lower, upper = interval(data["estimated_accuracy"].sel({SCOPE: THESE}))
        at = {SYSTEM: systems[0]["name"]}
        if "positive" in data.attrs:
            named = {row["of"]: row for rate in TRUE_RATES
                     for row in _best_first(evaluation, f"{OF_SYSTEM} {rate}")
                     if row["name"] == systems[0]["name"]}  # fmt: skip
            facts |= {"positive": data.attrs["positive"],
                      "rates": [named[f"{OF_SYSTEM} {rate}"] for rate in TRUE_RATES]}  # fmt: skip
        facts |= {
            "above": float(first["above_annotators"]), "width": data["known_items"].attrs["width"],
            "needed": needed if known < needed else 0,
            "known_of_system": known, "now": float(upper.sel(at) - lower.sel(at)),
            "of_panel": of_panel if of_panel["name"] != systems[0]["name"] else None,
        }  # fmt: skip
    return facts


def _best_first(evaluation: xr.DataTree, of: str, scope: str = NEW) -> list[dict[str, Any]]:
    frame = summary(evaluation, "accuracy")
    rows = frame[(frame["of"] == of) & (frame[SCOPE] == scope)]
    rows = rows.sort_values("mean", ascending=False, kind="stable").astype(object)
    return rows.to_dict("records")  # type: ignore[return-value]


def accuracy(evaluation: xr.DataTree, *, page: bool = True) -> Section | None:
    """Return the section on accuracy, if it was estimated; without ``page`` as plain text."""
    if not evidence.has(evaluation, "accuracy"):
        return None
    facts = accuracy_facts(evaluation)
    return Section(
        sentences("accuracy", facts, page=page),
        accuracy_tables(evaluation, facts),
        paragraph("accuracy_intro", facts, source="captions.html"),
        tuple(evidence.notes(evaluation, "accuracy")),
        accuracies(evaluation) if page else None,
    )


def accuracies(evaluation: xr.DataTree, name: str = "accuracies", **options: Any) -> Shown:
    """Draw the accuracies of systems and annotators."""
    rows = _best_first(evaluation, OF_SYSTEM)
    facts = {"interval": interval_title(), "means": means_of(rows[:4]), "systems": rows}
    return picture("accuracies", facts, partial(plots.accuracies, evaluation, **options), name=name)


def accuracy_tables(evaluation: xr.DataTree, facts: Facts) -> list[Table]:
    """Return the accuracies of systems, if there are any, and of annotators."""
    out = []
    these = {row["name"]: row for row in _best_first(evaluation, OF_SYSTEM, THESE)}
    rows = [
        [Name(row["name"]), share(row["mean"]), between(row), share(here["mean"]), between(here),
         share(row["majority"]), share(row["uncertainty_adjusted"])]
        for row in facts["systems"] for here in [these[row["name"]]]
    ]  # fmt: skip
    if rows:
        head = ["System", "New items", _interval_head(), "These items", _interval_head(),
                "Majority vote", "Agreement with the panel"]  # fmt: skip
        note = (
            "Estimated accuracy on new items and on these; agreement with the majority label; mean "
            "agreement with the panel under the model of the plausibilities."
        )
        out.append(Table("table-accuracy", "Accuracy of systems", head, [Body(-1, rows)], note))
    out += _table_of_rates(evaluation)
    people = facts["annotators"]
    rows = [
        ["all" if row["name"] is None else Name(row["name"]), share(row["mean"]), between(row),
         share(row["majority"])]
        for row in people[:_PEOPLE]
    ]  # fmt: skip
    head = ["Annotator", "Estimated", _interval_head(), "Majority of the others"]
    note = left_out_note(len(people) - _PEOPLE, "further annotator", "with a lower accuracy")
    title = "Accuracy of annotators"
    return [*out, Table("table-annotators", title, head, [Body(-1, rows)], note)]


def _table_of_rates(evaluation: xr.DataTree) -> list[Table]:
    """Return [the table of systems' rates against the true labels]; [] without a positive label."""
    bodies = []
    for rate in TRUE_RATES:
        of = f"{OF_SYSTEM} {rate}"
        these = {row["name"]: row for row in _best_first(evaluation, of, THESE)}
        rows = [
            [Name(row["name"]), share(row["mean"]), between(row), share(here["mean"]),
             between(here)]
            for row in _best_first(evaluation, of) for here in [these[row["name"]]]
        ]  # fmt: skip
        if rows:
            bodies.append(Body(-1, rows, capital(rate)))
    head = ["System", "New items", _interval_head(), "These items", _interval_head()]
    title = "Sensitivity and specificity of systems"
    note = "Against the true labels. The rates among the other metrics are against the panel."
    return [Table("table-true-rates", title, head, bodies, note)] if bodies else []


# The ground truth of majority labels.


_QUANTITIES: Final = {
    "label_accuracy": "One label is right",
    "truth_accuracy": "The majority label is right",
    "concordance": "Two annotators agree{guessing} (concordance)",
    "weighted_reliability": "Two annotators agree and are right (weighted reliability, rho)",
    COUNT: "Annotators per item for a majority right on {target}",
}


def ground_truth_facts(evaluation: xr.DataTree) -> Facts:
    """Return the accuracies of labels and majorities, and the assumptions about errors."""
    frame = summary(evaluation, GROUP)
    rows = {str(row["quantity"]): row for row in frame.to_dict("records")}
    data = evaluation[GROUP].to_dataset()
    attrs = data.attrs
    fewest, most = int(attrs["fewest_annotators"]), int(attrs["most_annotators"])
    facts: Facts = {
        **rows, "count": rows[COUNT], "target": attrs["target"], "correlation": None,
        "people": counted(most, "annotator") if fewest == most
        else f"{fewest:,} to {most:,} annotators",
        "reached": float((data["truth_accuracy"] >= attrs["target"]).mean(list(SAMPLE))),
        "guessing": "" if attrs["confidence"] == NO_CONFIDENCE else " without guessing",
        "accuracy": str(attrs["accuracy"]), "interval": interval_title(),
    }  # fmt: skip
    fitted = evaluation["accuracy"].attrs if evidence.has(evaluation, "accuracy") else {}
    if fitted and str(attrs["accuracy"]) == str(fitted["model"]):
        n, correlation = int(attrs["n_annotators"]), evaluation["accuracy"]["error_correlation"]
        is_given = bool(fitted["correlation_given"])
        # Known labels do not change a correlation that is given as a number.
        is_fixed = is_given and bool(correlation.min() == correlation.max())
        facts |= {
            "correlation": float(correlation.median()), "n_annotators": n,
            "is_given": is_given, "n_known": 0 if is_fixed else int(fitted["n_known"]),
            "worth": f"{float((n / (1 + (n - 1) * correlation)).median()):.1f}",
        }  # fmt: skip
    return facts


def ground_truth_table(facts: Facts) -> Table:
    """Return mean and interval of each quantity of the ground truth."""
    rows = []
    for name, title in _QUANTITIES.items():
        row = facts[name]
        cells = [share(row["mean"]), between(row)]
        if name == COUNT:
            each = (row[part] for part in ("median", "lower", "upper"))
            median, low, high = (number(n) if np.isfinite(n) else "∞" for n in each)
            cells = [median, marked(f"{low} to {high}", row[DOUBT])]
            if low == "∞":
                cells = ["none", marked("no number is sufficient", row[DOUBT])]
        title = title.format(target=percent(facts["target"]), guessing=facts["guessing"])
        rows.append([title, *cells])
    return Table(
        "table-ground-truth", "The ground truth", ["", "Mean", _interval_head()], [Body(-1, rows)],
        "The value for the number of annotators is a median, not a mean.",
    )  # fmt: skip


def ground_truth(evaluation: xr.DataTree, *, page: bool = True) -> Section | None:
    """Return the section on the ground truth, if it was estimated."""
    if not evidence.has(evaluation, GROUP):
        return None
    facts = ground_truth_facts(evaluation)
    return Section(
        sentences("ground_truth", facts, page=page),
        [ground_truth_table(facts)],
        paragraph("ground_truth_intro", facts, source="captions.html"),
        tuple(evidence.notes(evaluation, GROUP)),
        picture("truth-nomogram", facts, partial(plots.truth_nomogram, evaluation))
        if page else None,
    )  # fmt: skip


# Agreement.


_DISTANCES: Final = {
    "nominal": "0 for the same label and 1 for another",
    "squared": "the squared difference",
    "absolute": "the absolute difference",
    "jaccard": "the share of labels that two sets do not have in common",
    "masi": "the MASI distance of sets: 0 for equal sets and 1 for sets without a common label",
    "ranking": "1 minus the average overlap of two rankings",
}
_COEFFICIENTS: Final = {
    "percent_agreement": "Two annotators: how often they give an item the same label, including by "
    "chance.",
    "krippendorff_alpha": "Alpha: 1 is perfect agreement, 0 is agreement by chance.",
    "gwet_ac": "AC1 and AC2: like alpha, but less dependent on the prevalence of the labels.",
    "leave_one_out_agreement": "Other annotators: how often an annotator gives the most frequent "
    "label of the others.",
}
_AT_ANY_RANK: Final = (
    "Other annotators: how often an annotator gives, at any rank, the most frequent label of the "
    "others."
)


def distance_title(attrs: Mapping[Any, Any]) -> str:
    """Return the distance of a discrepancy in words."""
    name = str(attrs["distance"])
    if name == "ranking" and attrs.get("depth") == 1:
        return "0 for the same first label and 1 for another (in between for ties)"
    return _DISTANCES.get(name, name)


def alpha_of(frame: pd.DataFrame) -> dict[Any, Any] | None:
    """Return the row of the first Krippendorff's alpha that is defined, or None."""
    is_alpha = frame["statistic"].str.startswith("krippendorff_alpha")
    rows = frame[is_alpha & np.isfinite(frame["observed"])].to_dict("records")
    return rows[0] if rows else None


def agreement_facts(evaluation: xr.DataTree) -> Facts:
    """Return coefficients of agreement, and the discrepancy ratio of the best system."""
    frame = summary(evaluation, "statistics")
    facts: Facts = {"alpha": None, "ac": None, "best": None, "level": interval_settings()[1]}
    rows = {str(row["statistic"]): row for row in frame.to_dict("records")}
    alpha = alpha_of(frame)
    if alpha:
        title = _bracketed(coefficient_title(str(alpha["statistic"])))
        facts["alpha"] = {
            "title": title, "value": alpha["observed"],
            "interval": written_interval(alpha),
        }  # fmt: skip
    # If AC1 is much larger than alpha, one label is much more frequent than the others.
    if {"gwet_ac1", "krippendorff_alpha"} <= set(rows):
        ac, alpha = (rows[name]["observed"] for name in ("gwet_ac1", "krippendorff_alpha"))
        if ac - alpha > 0.2:
            facts |= {"ac": ac, "percent_agreement": rows["percent_agreement"]["observed"]}
    ratios = ratios_of(frame)
    ratios = ratios[np.isfinite(ratios["observed"])]
    return facts | (_best_ratio(evaluation, frame, ratios) if len(ratios) else {})


def _bracketed(title: str) -> str:
    """Put what follows a comma into brackets, for a title inside a sentence."""
    name, comma, level = title.partition(", ")
    return f"{name} ({level})" if comma else name


def ratios_of(frame: pd.DataFrame, of: str = "discrepancy_ratio") -> pd.DataFrame:
    """Return the ratios of systems, or of annotators, the smallest first."""
    rows = frame[frame["statistic"] == of]
    return rows.sort_values("observed", kind="stable")


def _best_ratio(evaluation: xr.DataTree, frame: pd.DataFrame, ratios: pd.DataFrame) -> Facts:
    data = evaluation["discrepancy"].to_dataset()
    best, d = ratios.iloc[0], evidence.digits(ratios)
    safe = data["non_inferiority"]
    people = ratios_of(frame, "annotator_discrepancy_ratio")
    each = people["observed"][np.isfinite(people["observed"]) & people["mean"].notna()]
    facts: Facts = {
        "best": {
            "name": best[SYSTEM], "value": share(best["observed"], d),
            "interval": written_interval(best, d),
            "below": float((data["discrepancy_ratio"].sel({SYSTEM: best[SYSTEM]}) < 1).mean()),
        },
        "distance": distance_title(data.attrs), "margin": float(data.attrs["margin"]),
        "safe": safe[SYSTEM].to_numpy()[safe.to_numpy() >= 0.95].tolist(), "people": len(each),
    }  # fmt: skip
    if len(each):
        least = int(data["n_items"].where(data["n_items"] > 0).min())
        facts |= {"beaten": int((each > best["observed"]).sum()), "least": least}
    return facts


def agreement(evaluation: xr.DataTree, *, page: bool = True) -> Section | None:
    """Return the section on agreement, if any item has two annotators."""
    if not evidence.has(evaluation, "agreement"):
        return None
    ratios = ratios_of(summary(evaluation, "statistics"))
    people = annotator_table(evaluation)
    shown = None
    if page and np.isfinite(ratios["observed"]).any():
        facts = {
            "interval": interval_title(), "people": people is not None,
            "wider": evidence.allows_for_others(evaluation, "agreement"),
            "ratios": means_of(ratios.head(8).to_dict("records"), SYSTEM, "observed"),
        }  # fmt: skip
        shown = picture("discrepancy", facts, partial(plots.discrepancy, evaluation))
    return Section(
        sentences("agreement", agreement_facts(evaluation), page=page),
        [table for table in (*agreement_tables(evaluation), people) if table], "",
        tuple(evidence.notes(evaluation, "agreement", "discrepancy")), shown,
    )  # fmt: skip


def agreement_tables(evaluation: xr.DataTree) -> list[Table]:
    """Return the coefficients of agreement, and discrepancy ratios of systems if there are any."""
    frame = summary(evaluation, "statistics")
    ratios = ratios_of(frame)
    scope = (
        "New items and annotators"
        if evidence.allows_for_others(evaluation, "agreement")
        else "New items"
    )
    more = [_ratio_table(evaluation, frame, ratios, scope)] if len(ratios) else []
    ranked = evaluation["annotations"].attrs["kind"] == "ranking"
    return [_coefficient_table(frame, scope, ranked=ranked), *more]


def _coefficient_table(frame: pd.DataFrame, scope: str, *, ranked: bool) -> Table:
    coefficients = _COEFFICIENTS
    if ranked:
        coefficients = coefficients | {"leave_one_out_agreement": _AT_ANY_RANK}
    rows: list[list[Any]] = []
    notes: dict[str, None] = {}
    for row in frame[frame[SYSTEM].isna() & frame[ANNOTATOR].isna()].to_dict("records"):
        name = str(row["statistic"])
        meaning = next((text for stem, text in coefficients.items() if name.startswith(stem)), "")
        if meaning:
            rows.append([coefficient_title(name), share(row["observed"]), between(row)])
            notes[meaning] = None
    head = ["Coefficient", "Observed", f"{scope}, {evidence.level()}"]
    title = "Agreement of the annotators"
    return Table("table-agreement", title, head, [Body(-1, rows)], " ".join(notes))


def _ratio_table(
    evaluation: xr.DataTree, frame: pd.DataFrame, ratios: pd.DataFrame, scope: str
) -> Table:
    data = evaluation["discrepancy"].to_dataset()
    d, margin = evidence.digits(ratios), float(data.attrs["margin"])
    tested = int(data["winning_rate"].attrs["n_annotators"]) if "winning_rate" in data else 0
    observed = ratios_of(frame, "winning_rate").set_index(SYSTEM)["observed"]
    body = []
    for row in ratios.head(_ROWS).to_dict("records"):
        draws = data.sel({SYSTEM: row[SYSTEM]})
        wins = []
        if tested:
            half = float((draws["winning_rate"] >= 0.5).mean())
            wins = [share(float(observed[row[SYSTEM]])), probability(half)]
        body.append([
            Name(row[SYSTEM]), share(row["observed"], d), between(row, d),
            probability(float((draws["discrepancy_ratio"] < 1).mean())),
            probability(float(draws["non_inferiority"])), *wins,
        ])  # fmt: skip
    head = ["System", "Discrepancy ratio", f"{scope}, {evidence.level()}",
            "P(below 1)", f"P(below {1 + margin:g})"]  # fmt: skip
    head += ["Winning rate", "P(half or more)"] if tested else []
    note = ""
    if tested:
        note = (
            f"Winning rate: the share of annotators ({tested:,} with 30 items or more) that the "
            "system could replace. It could replace an annotator if it is closer to the others on "
            "at least as many items as the annotator, with a margin of 10 % of the items "
            "(Calderon, Reichart and Dror 2025)."
        )
    return Table("table-discrepancy", "Systems and annotators", head, [Body(-1, body)], note)


def annotator_table(evaluation: xr.DataTree) -> Table | None:
    """Return the discrepancy ratios of annotators: most items first, then largest ratios."""
    people = ratios_of(summary(evaluation, "statistics"), "annotator_discrepancy_ratio")
    if not len(people):
        return None
    people = people[people["mean"].notna()]
    items = evaluation["discrepancy"]["n_items"].to_series()
    people = people.sort_index().assign(n=items.reindex(people.sort_index()[ANNOTATOR]).to_numpy())
    people = people.sort_values(["n", "mean"], ascending=False, kind="stable")
    d = evidence.digits(people)
    body = [
        [Name(row[ANNOTATOR]), f"{int(row['n']):,}", share(row["observed"], d), between(row, d)]
        for row in people.head(_ROWS).to_dict("records")
    ]
    head = ["Annotator", "Items with two others", "Discrepancy ratio",
            f"New items, {evidence.level()}"]  # fmt: skip
    note, left = "", people["n"][_ROWS:]
    if len(left):
        fewer = left.max() < people["n"].iloc[_ROWS - 1]
        order = "with fewer items" if fewer else "with fewer items or smaller ratios"
        note = left_out_note(len(left), "annotator", order)
    title = "Annotators, each compared with the others"
    return Table("table-taken-out", title, head, [Body(-1, body)], note)


# Categories of labels.


def categories(evaluation: xr.DataTree) -> Section | None:
    """Return the section on categories, if labels were put into categories."""
    if not evidence.has(evaluation, "categories"):
        return None
    names = evaluation["categories"][LABEL].to_numpy().tolist()
    models = sides(evaluation)
    facts = {
        "labels": evaluation["annotations"].sizes[LABEL], "names": names,
        "sides": [_category_facts(side, named=len(models) > 1) for side in models],
    }  # fmt: skip
    tables = [_share_table(evaluation, names), _certainty_table(models)]
    if "top_1_accuracy" in evaluation["categories"]:
        tables.append(_accuracy_table(models))
    return Section(sentences("categories", facts, page=True), tables)


def _uncertain(side: xr.DataTree, reliability: float) -> list[tuple[float, float]]:
    """Return pairs of mean certainty and share of uncertain items: of categories and of labels."""
    each = (side[group].to_dataset()["annotation_certainty"].sel({RELIABILITY: reliability})
            for group in ("categories", "certainty"))  # fmt: skip
    return [(float(values.mean()), float((values < 0.9).mean())) for values in each]


def _category_facts(side: xr.DataTree, *, named: bool) -> Facts:
    at = side.attrs["reference_reliability"]
    facts: Facts = {"model": evidence.named(side) if named else "", "leader": None,
                    "below": [below for _, below in _uncertain(side, at)]}  # fmt: skip
    if "top_1_accuracy" in side["categories"]:
        here = _category_accuracy(side).sel({RELIABILITY: at, SCOPE: THESE})
        best = here.isel({SYSTEM: int(np.nanargmax(here["mean"]))})
        d = evidence.digits(_category_accuracy(side))
        facts |= {"leader": best[SYSTEM].item(), "value": share(float(best["mean"]), d),
                  "several": here.sizes[SYSTEM] > 1}  # fmt: skip
    return facts


def _category_accuracy(side: xr.DataTree) -> xr.Dataset:
    """Return mean and interval of the systems' accuracy (reliability, scope, system)."""
    draws = side["categories"].to_dataset()["top_1_accuracy"]
    lower, upper = interval(draws)
    return xr.Dataset({"mean": draws.mean(list(SAMPLE)), "lower": lower, "upper": upper})


def _share_table(evaluation: xr.DataTree, names: list[Any]) -> Table:
    mean = evidence.mean_plausibility(evaluation, "categories").transpose(ITEM, LABEL)
    led = np.bincount(mean.to_numpy().argmax(axis=1), minlength=mean.sizes[LABEL])
    rows: list[list[Any]] = [
        [Name(name), share(float(mass)), f"{int(count):,}"]
        for name, mass, count in zip(names, mean.mean(ITEM), led, strict=True)
    ]
    head = ["Category", "Mean plausibility", "Items it leads"]
    return Table("table-categories", "Categories", head, [Body(-1, rows)])


def _certainty_table(models: list[xr.DataTree]) -> Table:
    bodies = []
    for side in models:
        rows = []
        for trust in evidence.reliabilities(side):
            reason = of_metrics(side, trust)
            cells = [share(value) for pair in _uncertain(side, trust) for value in pair]
            rows.append([number(trust), *(marked(cell, reason) for cell in cells)])
        bodies.append(Body(-1, rows, str(side.attrs["model"]) if len(models) > 1 else ""))
    head = ["Reliability", "Mean certainty, category", "Items below .90", "Mean certainty, label",
            "Items below .90"]  # fmt: skip
    title = "Certainty of the leading category and of the leading label"
    return Table("table-category-certainty", title, head, bodies)


def _accuracy_table(models: list[xr.DataTree]) -> Table:
    bodies = []
    for side in models:
        values = _category_accuracy(side)
        d = evidence.digits(values)
        values["naive"] = side["categories"]["naive_top_1_accuracy"]
        here = values.sel({RELIABILITY: side.attrs["reference_reliability"]})
        order = np.argsort(-here["mean"].sel({SCOPE: THESE}).to_numpy(), kind="stable")[:_ROWS]
        rows: list[list[Any]] = []
        for system in (here.isel({SYSTEM: int(k)}) for k in order):
            each = [system.sel({SCOPE: scope}) for scope in (THESE, NEW)]
            ends = [written_interval(part, d) for part in each]
            rows.append([Name(system[SYSTEM].item()), share(float(each[0]["mean"]), d), *ends,
                         share(float(system["naive"]), d)])  # fmt: skip
        bodies.append(Body(-1, rows, f"Under {evidence.named(side)}" if len(models) > 1 else ""))
    level = evidence.level()
    head = ["System", "Mean", f"These items, {level}", f"New items, {level}",
            "Disagreement ignored"]  # fmt: skip
    title = "How often systems give the most plausible category"
    return Table("table-category-accuracy", title, head, bodies)
