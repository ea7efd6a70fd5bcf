"""The items the annotations settle least: what was said about each, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from dissensus._report.language import Name
from dissensus._wording import counted, number, share
from dissensus.dims import ITEM, RELIABILITY, SAMPLE
from dissensus.plausibility import plausibility_of, space
from dissensus.plots import _pieces as pieces
from dissensus.plots._statements import Statement, predicted, said

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


def cards(evaluation: xr.DataTree) -> list[Card]:
    """Return the least certain items, least certain first."""
    certainty = (
        evaluation["certainty"]
        .to_dataset()["annotation_certainty"]
        .sel({RELIABILITY: evaluation.attrs["reference_reliability"]})
    )
    values = certainty.to_numpy()
    order = np.argsort(np.where(np.isnan(values), -1.0, values), kind="stable")[:CARDS]
    items = certainty[ITEM].to_numpy()[order].tolist()
    theta = plausibility_of(evaluation)
    annotations = evaluation["annotations"].to_dataset()
    predictions = None
    if "predictions" in evaluation.children:
        predictions = evaluation["predictions"].to_dataset()
    out = []
    for place, item in zip(order, items, strict=True):
        statements = said(annotations, item)
        answers = [] if predictions is None else predicted(predictions, item, theta)
        out.append(Card(
            Name(str(item)),
            share(float(values[place])),
            [_line(one) for one in statements[:_LINES]],
            max(0, len(statements) - _LINES),
            _bars(theta, int(np.flatnonzero(theta[ITEM].to_numpy() == item)[0])),
            _answers(answers),
        ))  # fmt: skip
    return out


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


def _bars(theta: xr.DataArray, place: int) -> list[Bar]:
    """Return the most plausible labels of an item, with the remainder if it has any mass."""
    where = space(theta)
    codes = where.codes if where.dense else where.codes[place]
    sizes = where.sizes if where.dense else where.sizes[place]
    here = theta.isel({ITEM: place}).rename("plausibility")
    core = here.dims[-1]
    mean = here.mean(list(SAMPLE)).to_numpy()
    low, high = (bound.to_numpy() for bound in pieces.interval(here, None, None))
    wanted = (sizes > 0) & ((codes >= 0) | (mean > 0))
    order = [k for k in np.argsort(-mean, kind="stable") if wanted[k]]
    out = [
        Bar(
            _named(where.labels, int(codes[k]), int(sizes[k])),
            share(float(mean[k])),
            f"{share(float(low[k]))} to {share(float(high[k]))}",
            round(100 * float(mean[k]), 1),
        )
        for k in order[:_LABELS]
    ]
    left = order[_LABELS:]
    if left:
        rest = here.isel({core: left}).sum([core]).rename("plausibility")
        a, b = (float(bound) for bound in pieces.interval(rest, None, None))
        total = float(mean[left].sum())
        out.append(Bar(counted(len(left), "other"), share(total), f"{share(a)} to {share(b)}",
                       round(100 * total, 1)))  # fmt: skip
    return out


def _named(labels: Any, code: int, size: int) -> str:
    return Name(str(labels[code])) if code >= 0 else counted(size, "other label")
