"""What on the page is not to be relied on: said in each section, under each picture and table."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import xarray as xr

from dissensus._report import numbers as facts
from dissensus._report.language import Sentence, sentence
from dissensus._report.pictures import Shown
from dissensus._report.tables import Table
from dissensus.dims import RELIABILITY
from dissensus.evaluation import doubts
from dissensus.evaluation.doubts import DOUBT
from dissensus.evaluation.summary import summary
from dissensus.plots import _pieces as pieces


def in_words(why: str) -> list[Sentence]:
    """Return the sentence that stands before words that are not to be relied on."""
    if not why:
        return []
    return [sentence("Do not rely on the numbers that follow: {why}.", why=why)]


def of_model(side: xr.DataTree, values: xr.Dataset | None, at: float | None = None) -> str:
    """Say what is wrong with one model's numbers at a reliability, or at its reference."""
    if values is None:
        return doubts.of_metrics(side, at)
    place = float(side.attrs["reference_reliability"]) if at is None else at
    return doubts.reasons(values[DOUBT].sel({RELIABILITY: place}).to_numpy().ravel())


def along(side: xr.DataTree, values: xr.Dataset | None) -> str:
    """Say what is wrong with one model's numbers at any reliability."""
    if values is None:
        each = [doubts.of_metrics(side, at) for at in facts.reliabilities(side)]
        return doubts.reasons(each)
    return doubts.reasons(values[DOUBT].to_numpy().ravel())


def of_both(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> str:
    """Say what is wrong with the numbers of two models, at their references."""
    sides = pieces.sides(evaluation)
    each = [of_model(side, numbers[k] if numbers else None) for k, side in enumerate(sides)]
    return doubts.reasons(each)


def pictures(drawn: list[Shown], here: str, everywhere: str) -> list[Shown]:
    """Mark pictures of one reliability for what is wrong there, and those of all for the rest."""
    return [
        marked(one, everywhere if one.id.startswith(("reliability", "certainty")) else here)
        for one in drawn
    ]


def of_group(evaluation: xr.DataTree, of: str, by: str | None = None) -> str:
    """Say what is wrong with the rows of a summary."""
    rows = summary(evaluation, of)
    return doubts.reasons(rows[DOUBT] if by is None else rows[rows["by"] == by][DOUBT])


def marked(thing: Any, why: str) -> Any:
    """Return a table, a picture, a list of these, or a section with them, that says so.

    Words of a section have a sentence in front.
    """
    if not why or thing is None:
        return thing
    if isinstance(thing, list):
        return [marked(one, why) for one in thing]
    if isinstance(thing, Table | Shown):
        return replace(thing, doubt=why)
    parts = {field.name: getattr(thing, field.name) for field in fields(thing)}
    new = {name: marked(parts[name], why) for name in ("picture", "tables") if name in parts}
    return replace(thing, words=[*in_words(why), *parts["words"]], **new)
