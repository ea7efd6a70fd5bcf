"""What the annotations say at the level of categories, such as low, medium and high risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ITEM, LABEL, RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.plots import _source as pieces
from dissensus.reports import numbers as facts
from dissensus.reports.language import Name, Sentence, joined, sentence
from dissensus.reports.tables import Body, Table
from dissensus.wording import counted, digits_for, number, percent, share

_IN_DOUBT = 0.9


@dataclass(frozen=True)
class Section:
    """All that is said of categories."""

    words: list[Sentence]
    tables: list[Table]


def section(evaluation: xr.DataTree) -> Section | None:
    """Return words and tables of the categories; nothing where labels were put into none."""
    if not facts.has(evaluation, "categories"):
        return None
    words = [_level(evaluation), *_doubt(evaluation), *_leader(evaluation)]
    tables = [_share_table(evaluation), _certainty_table(evaluation)]
    if "top_1_accuracy" in evaluation["categories"]:
        tables.append(_accuracy_table(evaluation))
    return Section(words, tables)


def _names(evaluation: xr.DataTree) -> list[Any]:
    names: list[Any] = evaluation["categories"][LABEL].to_numpy().tolist()
    return names


def _certainty(side: xr.DataTree, group: str) -> xr.DataArray:
    """Return the certainty of the leading category, or label, of each item."""
    return side[group].to_dataset()["annotation_certainty"]


def _level(evaluation: xr.DataTree) -> Sentence:
    labels = evaluation["annotations"].sizes[LABEL]
    return sentence(
        "The {labels} are put into {n}: {names}. The plausibility of a category is the sum of "
        "those of its labels; a system's category is that of the label it puts first.",
        labels=counted(labels, "label"), names=joined(_names(evaluation)),
        n=counted(len(_names(evaluation)), "category", "categories"),
    )  # fmt: skip


def _doubt(evaluation: xr.DataTree) -> list[Sentence]:
    """Say for how many items the leading category is open, beside the leading label."""
    out = []
    sides = pieces.sides(evaluation)
    for side in sides:
        here = {RELIABILITY: side.attrs["reference_reliability"]}
        each = [_certainty(side, group).sel(here) for group in ("categories", "certainty")]
        doubt = [float((one < _IN_DOUBT).mean()) for one in each]
        out.append(sentence(
            "{who} the annotations leave the leading category in doubt (certainty below .90) for "
            "{a} of the items, and the leading label for {b}.",
            who=_who(side) + "," if len(sides) > 1 else "Here", a=share(doubt[0]),
            b=share(doubt[1]),
        ))  # fmt: skip
    return out


def _who(side: xr.DataTree) -> str:
    return f"Under {side.attrs['model']} at {number(side.attrs['reference_reliability'])}"


def _leader(evaluation: xr.DataTree) -> list[Sentence]:
    """Say which system names the leading category most often."""
    out = []
    sides = pieces.sides(evaluation)
    for side in sides:
        if "top_1_accuracy" not in side["categories"]:
            continue
        values = _numbers(side)
        here = values.sel({RELIABILITY: side.attrs["reference_reliability"]})
        best = here.isel({SYSTEM: int(np.nanargmax(here["mean"].sel({SCOPE: pieces.THESE})))})
        d = _digits(values)
        mean = float(best["mean"].sel({SCOPE: pieces.THESE}))
        out.append(sentence(
            "{who} {name} is right about the category of {value} of the items{most}.",
            who=_who(side) + "," if len(sides) > 1 else "System",
            name=Name(str(best[SYSTEM].item())), value=share(mean, d),
            most=", more than any other system" if here.sizes[SYSTEM] > 1 else "",
        ))  # fmt: skip
    return out


def _numbers(side: xr.DataTree) -> xr.Dataset:
    """Return means and intervals of the systems' accuracy (reliability, scope, system)."""
    draws = side["categories"].to_dataset()["top_1_accuracy"]
    lower, upper = pieces.interval(draws, None, None)
    found = {"mean": draws.mean(list(SAMPLE)), "lower": lower, "upper": upper}
    return xr.Dataset(found)


def _digits(values: xr.Dataset) -> int:
    return digits_for((values["upper"] - values["lower"]).to_numpy().ravel().tolist())


def _share_table(evaluation: xr.DataTree) -> Table:
    """Return what share of the plausibility, and of the items, each category has."""
    mean = facts.mean_plausibility(evaluation, "categories").transpose(ITEM, LABEL)
    led = np.bincount(mean.to_numpy().argmax(axis=1), minlength=mean.sizes[LABEL])
    rows: list[list[Any]] = [
        [Name(str(name)), share(float(mass)), f"{int(count):,}"]
        for name, mass, count in zip(_names(evaluation), mean.mean(ITEM), led, strict=True)
    ]
    title = "Categories"
    head = ["Category", "Mean plausibility", "Items it leads"]
    return Table("table-categories", title, head, [Body(-1, rows)])


def _certainty_table(evaluation: xr.DataTree) -> Table:
    """Return how sure the annotations are of categories and of labels, along reliability."""
    bodies = []
    sides = pieces.sides(evaluation)
    for side in sides:
        rows = []
        for gamma in facts.reliabilities(side):
            row = [number(gamma)]
            for group in ("categories", "certainty"):
                one = _certainty(side, group).sel({RELIABILITY: gamma})
                row += [share(float(one.mean())), share(float((one < _IN_DOUBT).mean()))]
            rows.append(row)
        bodies.append(Body(-1, rows, str(side.attrs["model"]) if len(sides) > 1 else ""))
    head = ["Reliability", "Mean certainty, category", "Items below .90", "Mean certainty, label",
            "Items below .90"]  # fmt: skip
    title = "Certainty of the leading category and of the leading label"
    return Table("table-category-certainty", title, head, bodies)


def _accuracy_table(evaluation: xr.DataTree) -> Table:
    """Return how often each system is right about the category, at the reference."""
    bodies = []
    sides = pieces.sides(evaluation)
    for side in sides:
        values = _numbers(side)
        d = _digits(values)
        naive = side["categories"]["naive_top_1_accuracy"]
        here = values.sel({RELIABILITY: side.attrs["reference_reliability"]})
        mean = here["mean"].sel({SCOPE: pieces.THESE})
        order = np.argsort(-mean.to_numpy(), kind="stable")[:100]
        rows = [
            _row(here.isel({SYSTEM: int(k)}), float(naive.isel({SYSTEM: int(k)})), d) for k in order
        ]
        bodies.append(Body(-1, rows, _who(side) if len(sides) > 1 else ""))
    _, prob = facts.settings()
    head = ["System", "Mean", f"These items, {percent(prob)}", f"New items, {percent(prob)}",
            "Disagreement ignored"]  # fmt: skip
    title = "How often systems are right about the category"
    return Table("table-category-accuracy", title, head, bodies)


def _row(here: xr.Dataset, naive: float, d: int) -> list[Any]:
    row: list[Any] = [Name(str(here[SYSTEM].item()))]
    row.append(share(float(here["mean"].sel({SCOPE: pieces.THESE})), d))
    for scope in (pieces.THESE, pieces.NEW):
        one = here.sel({SCOPE: scope})
        row.append(f"{share(float(one['lower']), d)} to {share(float(one['upper']), d)}")
    return [*row, share(naive, d)]
