"""The least certain items: annotations, plausibilities and predictions of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import CHAIN, ITEM, LABEL, RELIABILITY, SYSTEM
from dissensus.kernels.types import Floats
from dissensus.plots._item import (
    Candidate,
    Statement,
    candidates_of,
    place_of,
    predictions_of,
    statements_of,
)
from dissensus.plots._source import interval
from dissensus.reports import evidence, two_models
from dissensus.reports.sentences import Link, Name
from dissensus.reports.sentences import interval as written
from dissensus.reports.tables import Body, Table
from dissensus.wording import counted, number, share

CARDS = 20
_LINES = 8
_LABELS = 6
_PEOPLE = 8


@dataclass(frozen=True)
class Bar:
    """The plausibility of a label."""

    label: str
    mean: str
    interval: str
    percent: float
    second_mean: str = ""
    """The mean under the second model."""


@dataclass(frozen=True)
class Line:
    """A statement, and the annotators or systems that made it."""

    blocks: list[list[str]]
    sources: list[Name]
    more: int
    hit: str = ""


@dataclass(frozen=True)
class Card:
    """An item."""

    name: Name
    certainty: str
    annotations: list[Line]
    left_out: int
    bars: list[Bar]
    predictions: list[Line]
    categories: list[tuple[Name, str]]
    """Categories with their plausibilities."""
    of_labels: bool = True
    """Whether there are plausibilities of labels; else the bar is the panel's mean score."""


def least_certain(evaluation: xr.DataTree) -> list[int]:
    """Return the places of the least certain items, the least certain first.

    For numbers, these are the items with the widest intervals of the panel's mean.
    """
    if evidence.is_of_numbers(evaluation):
        means = evidence.means_of_items(evaluation)
        width = (means["upper"] - means["lower"]).to_numpy()
        return [int(place) for place in np.argsort(-width, kind="stable")[:CARDS]]
    values = _certainty(evaluation).to_numpy()
    order = np.argsort(np.where(np.isnan(values), -1.0, values), kind="stable")
    return [int(place) for place in order[:CARDS]]


def _certainty(evaluation: xr.DataTree) -> xr.DataArray:
    values = evaluation["certainty"].to_dataset()["annotation_certainty"]
    return values.sel({RELIABILITY: evaluation.attrs["reference_reliability"]})


def overview(evaluation: xr.DataTree, uncertain: list[Card]) -> Table:
    """Return a table of the least certain items, with links to their cards."""
    numbers = evidence.is_of_numbers(evaluation)
    title, head = "Least certain items", ["Certainty", "Leading label", "Its plausibility"]
    if numbers:
        title = "Items with the widest intervals"
        head = ["Panel's mean", f"Interval, {evidence.level()}"]
    counts = evaluation["statistics"].to_dataset()["n_annotations"]
    places = {str(item): place for place, item in enumerate(counts[ITEM].to_numpy().tolist())}
    rows: list[list[Any]] = []
    for n, card in enumerate(uncertain, 1):
        # The remainder, which is not a single label, may have the largest plausibility.
        named = [bar for bar in card.bars if isinstance(bar.label, Name)]
        first = [*named, *card.bars][0]
        count = int(counts[places[card.name]])
        shown = [first.mean, first.interval] if numbers else [
            card.certainty, first.label, first.mean
        ]  # fmt: skip
        rows.append([Link.at(card.name, f"item-{n}"), *shown, f"{count:,}"])
    head = ["Item", *head, "Scores" if numbers else "Annotations"]
    return Table("table-items", title, head, [Body(-1, rows)])


def _cards_of_numbers(evaluation: xr.DataTree, places: list[int]) -> list[Card]:
    """Return the cards of items at these places: the panel's mean, the scores, the predictions."""
    means = evidence.means_of_items(evaluation)
    annotations, out = evaluation["annotations"].to_dataset(), []
    values = evidence.group(evaluation, "predictions").get("value")
    for place in places:
        panel_mean = means.isel({ITEM: place})
        item = panel_mean[ITEM].item()
        statements = statements_of(annotations, item)
        d = evidence.digits(panel_mean)
        ends = written({name: float(panel_mean[name]) for name in ("lower", "upper")}, d)
        predictions: list[Line] = []
        if values is not None and item in values.indexes[ITEM]:
            predictions = [
                Line([[number(float(value))]], [Name(value[SYSTEM].item())], 0)
                for value in values.sel({ITEM: item})
            ][:_LINES]
        out.append(Card(
            Name(item), ends, [_line(statement) for statement in statements[:_LINES]],
            max(0, len(statements) - _LINES),
            [Bar("mean", share(float(panel_mean["mean"]), d), ends, 0.0)], predictions, [],
            of_labels=False,
        ))  # fmt: skip
    return out


def cards(evaluation: xr.DataTree, places: list[int]) -> list[Card]:
    """Return the cards of the items at these places."""
    if evidence.is_of_numbers(evaluation):
        return _cards_of_numbers(evaluation, places)
    certainty = _certainty(evaluation)
    theta = evidence.draws_or_mean(evaluation)
    second_model = two_models.second_model_means(evaluation)
    annotations = evaluation["annotations"].to_dataset()
    predictions = None
    if "predictions" in evaluation.children:
        predictions = evaluation["predictions"].to_dataset()
    out = []
    for place in places:
        item = certainty[ITEM].to_numpy()[place].item()
        statements = statements_of(annotations, item)
        answers = [] if predictions is None else predictions_of(predictions, item, theta)
        own = None if second_model is None else second_model[place_of(theta, item)]
        out.append(Card(
            Name(item),
            share(float(certainty[place])),
            [_line(statement) for statement in statements[:_LINES]],
            max(0, len(statements) - _LINES),
            [_bar(theta, item, row, own) for row in candidates_of(theta, item, _LABELS)],
            _answers(answers),
            _categories(evaluation, item),
        ))  # fmt: skip
    return out


def _categories(evaluation: xr.DataTree, item: object) -> list[tuple[Name, str]]:
    if "categories" not in evaluation.children:
        return []
    mean = evidence.mean_plausibility(evaluation, "categories")
    mean = mean.isel({ITEM: place_of(mean, item)})
    pairs = zip(mean[LABEL].to_numpy().tolist(), mean.to_numpy(), strict=True)
    return [(Name(name), share(float(value))) for name, value in pairs]


def _line(statement: Statement, hit: str = "") -> Line:
    blocks = [[number(label) if isinstance(label, float) else Name(label) for label in block]
              for block in statement.blocks]  # fmt: skip
    sources = [Name(source) for source in statement.sources[:_PEOPLE]]
    return Line(blocks, sources, max(0, len(statement.sources) - _PEOPLE), hit)


def _answers(statements: list[Statement]) -> list[Line]:
    """Return distinct predictions with their systems, the most probable first."""
    same: dict[str, Statement] = {}
    for statement in statements:
        known = same.setdefault(
            repr(statement.blocks), Statement([], statement.blocks, statement.hit)
        )
        known.sources.extend(statement.sources)
    order = sorted(same.values(), key=lambda statement: -statement.hit)[:_LINES]
    return [_line(answer, share(answer.hit) if np.isfinite(answer.hit) else "") for answer in order]


def _bar(theta: xr.DataArray, item: object, row: Candidate, second_model: Floats | None) -> Bar:
    """Return a candidate's bar; ``second_model`` has the item's means under the second model."""
    mean = float(row.draws.mean())
    if row.label is not None:
        label: str = Name(row.label)
    else:
        label = counted(row.size, "other" if row.is_rest else "other label")
    ends = ""
    if CHAIN in theta.dims:
        draws = theta.isel({ITEM: place_of(theta, item)})
        draws = draws.isel({draws.dims[-1]: row.columns}).sum([draws.dims[-1]])
        ends = " to ".join(share(float(end)) for end in interval(draws.rename("plausibility")))
    other = "" if second_model is None else share(float(second_model[row.columns].sum()))
    return Bar(label, share(mean), ends, round(100 * mean, 1), other)
