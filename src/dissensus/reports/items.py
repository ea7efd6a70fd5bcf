"""The items the annotations settle least: what was said about each, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.plausibility import space
from dissensus.dims import CHAIN, ITEM, LABEL, RELIABILITY
from dissensus.plots import _source as pieces
from dissensus.plots._item import Statement, place_of, predicted, said
from dissensus.reports import numbers as facts
from dissensus.reports import two_models
from dissensus.reports.language import Link, Name
from dissensus.reports.tables import Body, Table
from dissensus.wording import counted, number, share

CARDS = 20
_LINES = 8
_LABELS = 6
_PEOPLE = 8


@dataclass(frozen=True)
class Bar:
    """One label's plausibility."""

    label: str
    mean: str
    interval: str
    percent: float
    beside: str = ""
    """Its mean in the companion model."""


@dataclass(frozen=True)
class Line:
    """One statement, and who made it."""

    blocks: list[list[str]]
    who: list[Name]
    more: int
    hit: str = ""


@dataclass(frozen=True)
class Card:
    """All about one item."""

    name: Name
    certainty: str
    annotations: list[Line]
    left_out: int
    bars: list[Bar]
    predictions: list[Line]
    categories: list[tuple[Name, str]]
    """With their plausibilities."""


def least_certain(evaluation: xr.DataTree) -> list[int]:
    """Return the places of the least certain items, least certain first."""
    values = _certainty(evaluation).to_numpy()
    order = np.argsort(np.where(np.isnan(values), -1.0, values), kind="stable")
    return [int(place) for place in order[:CARDS]]


def overview(evaluation: xr.DataTree, unclear: list[Card]) -> Table:
    """List the least certain items, each with a link to what was said of it."""
    head = ["Item", "Certainty", "Leading label", "Its plausibility", "Annotations"]
    said = evaluation["statistics"].to_dataset()["n_annotations"]
    places = {str(item): place for place, item in enumerate(said[ITEM].to_numpy().tolist())}
    rows: list[list[Any]] = [
        [Link.at(one.name, f"item-{n}"), one.certainty, first.label, first.mean,
         f"{int(said[places[one.name]]):,}"]
        for n, one in enumerate(unclear, 1)
        # Labels that nobody named may come first, all together.
        for first in [next((bar for bar in one.bars if isinstance(bar.label, Name)), one.bars[0])]
    ]  # fmt: skip
    return Table("table-items", "Where to look first", head, [Body(-1, rows)])


def _certainty(evaluation: xr.DataTree) -> xr.DataArray:
    found: xr.DataArray = evaluation["certainty"].to_dataset()["annotation_certainty"]
    return found.sel({RELIABILITY: evaluation.attrs["reference_reliability"]})


def cards(evaluation: xr.DataTree, places: list[int]) -> list[Card]:
    """Return all about some items, by their places."""
    certainty = _certainty(evaluation)
    theta = facts.draws_or_mean(evaluation)
    rows = {item: row for row, item in enumerate(theta[ITEM].to_numpy().tolist())}
    beside = two_models.beside(evaluation)
    annotations = evaluation["annotations"].to_dataset()
    predictions = None
    if "predictions" in evaluation.children:
        predictions = evaluation["predictions"].to_dataset()
    out = []
    for place in places:
        item = certainty[ITEM].to_numpy()[place].item()
        statements = said(annotations, item)
        answers = [] if predictions is None else predicted(predictions, item, theta)
        out.append(Card(
            Name(str(item)),
            share(float(certainty[place])),
            [_line(one) for one in statements[:_LINES]],
            max(0, len(statements) - _LINES),
            _bars(theta, rows[item], None if beside is None else beside[rows[item]]),
            _answers(answers),
            _categories(evaluation, item),
        ))  # fmt: skip
    return out


def _categories(evaluation: xr.DataTree, item: object) -> list[tuple[Name, str]]:
    """Return the mean plausibility of each category, where labels have been put into some."""
    if "categories" not in evaluation.children:
        return []
    mean = facts.mean_plausibility(evaluation, "categories")
    mean = mean.isel({ITEM: place_of(mean, item)})
    names = mean[LABEL].to_numpy().tolist()
    return [(Name(str(n)), share(float(x))) for n, x in zip(names, mean.to_numpy(), strict=True)]


def _line(one: Statement, hit: str = "") -> Line:
    blocks = [[_spelled(label) for label in block] for block in one.blocks]
    who = [Name(str(person)) for person in one.who[:_PEOPLE]]
    return Line(blocks, who, max(0, len(one.who) - _PEOPLE), hit)


def _spelled(label: object) -> str:
    return number(label) if isinstance(label, float) else Name(str(label))


def _answers(statements: list[Statement]) -> list[Line]:
    """Put systems that said the same together, the most probable answer first."""
    same: dict[str, Statement] = {}
    for one in statements:
        known = same.setdefault(repr(one.blocks), Statement([], one.blocks, one.hit))
        known.who.extend(one.who)
    order = sorted(same.values(), key=lambda one: -one.hit)[:_LINES]
    return [_line(one, share(one.hit) if np.isfinite(one.hit) else "") for one in order]


def _bars(theta: xr.DataArray, place: int, beside: npt.NDArray[np.float64] | None) -> list[Bar]:
    """Return the most plausible labels of an item, with the remainder if it has any mass.

    ``beside`` are the same item's means in the companion model.
    """
    where = space(theta)
    codes = where.codes if where.dense else where.codes[place]
    sizes = where.sizes if where.dense else where.sizes[place]
    here = theta.isel({ITEM: place}).rename("plausibility")
    core = here.dims[-1]
    mean = facts.mean_of_draws(here).to_numpy()
    wanted = (sizes > 0) & ((codes >= 0) | (mean > 0))
    order = [k for k in np.argsort(-mean, kind="stable") if wanted[k]]
    out = [
        Bar(
            _named(where.labels, int(codes[k]), int(sizes[k])),
            share(float(mean[k])),
            _interval(here.isel({core: k})),
            round(100 * float(mean[k]), 1),
            "" if beside is None else share(float(beside[k])),
        )
        for k in order[:_LABELS]
    ]
    left = order[_LABELS:]
    if left:
        rest = here.isel({core: left}).sum([core])
        total = float(mean[left].sum())
        out.append(Bar(
            counted(len(left), "other"), share(total), _interval(rest),
            round(100 * total, 1), "" if beside is None else share(float(beside[left].sum())),
        ))  # fmt: skip
    return out


def _interval(draws: xr.DataArray) -> str:
    """Write an interval; nothing where of the draws their mean was kept."""
    if CHAIN not in draws.dims:
        return ""
    low, high = (float(end) for end in pieces.interval(draws.rename("plausibility"), None, None))
    return f"{share(low)} to {share(high)}"


def _named(labels: Any, code: int, size: int) -> str:
    return Name(str(labels[code])) if code >= 0 else counted(size, "other label")
