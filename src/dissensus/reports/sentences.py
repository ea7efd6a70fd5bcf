"""Sentences of reports and of the command line, from templates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dissensus.reports.evidence import Facts
from dissensus.wording import (
    capital,
    counted,
    number,
    percent,
    probability,
    share,
    short,
    spoken_probability,
)

_NAME, _TITLE = 40, 1000
"""Maximum length of a name on the page, and in its tooltip."""


class Name(str):
    """A name from the data; the HTML page escapes and shortens it."""

    __slots__ = ()


class Link(Name):
    """A name that leads to an element of the page."""

    to: str

    @classmethod
    def at(cls, name: object, to: str) -> Link:
        """Return a name that leads to the element of that id."""
        link = cls(str(name))
        link.to = to
        return link


def sentences(
    topic: str, facts: Facts, *, page: bool = False, source: str = "sentences.html"
) -> list[str]:
    """Return the sentences of a topic as plain text, or as HTML for a page; none without facts.

    Examples
    --------
    >>> sentences("unreliable", {"reason": "only 20 draws"})
    ['Do not rely on the following numbers: only 20 draws.']
    """
    if not facts:
        return []
    macro = getattr(environment(page=page).get_template(source).module, topic)
    text = str(macro(facts)).strip()
    parts = (re.sub(r"[ \n]+", " ", part) for part in re.split(r"\n *\n\s*", text))
    return [Markup(part) if page else part for part in parts if part]  # noqa: S704 (escaped)


def paragraph(
    topic: str, facts: Facts, *, page: bool = False, source: str = "sentences.html"
) -> str:
    """Return the sentences of a topic as one text."""
    return joined(sentences(topic, facts, page=page, source=source), page=page)


def joined(parts: Sequence[str], *, page: bool = False) -> str:
    """Return sentences as one text, or as HTML for a page."""
    return Markup(" ").join(parts) if page else " ".join(parts)


class _Templates(Environment):
    """Templates in which ``e.items`` is the fact of this name, not the method of a dict."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a fact, or an attribute."""
        known = isinstance(obj, Mapping) and attribute in obj
        return obj[attribute] if known else super().getattr(obj, attribute)


@cache
def environment(*, page: bool) -> Environment:
    """Return the templates, with names as HTML for a page, or as plain text."""
    out = _Templates(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    out.autoescape = page  # plain text for a terminal needs no HTML escapes
    write = _html if page else short
    out.filters |= {
        "name": write,
        "names": lambda names: listed([write(name) for name in names], page=page),
        "share": share,
        "percent": percent,
        "number": number,
        "counted": counted,
        "capital": capital,
        "probability": probability,
        "probability_words": spoken_probability,
        "whole_percent": _whole_percent,
        "in_percent": _in_percent,
        "bracketed": lambda row, digits=2: (
            f"{share(row['mean'], digits)} [{interval(row, digits)}]"
        ),
        "tint": _tint,
        "code": Markup("<code>{}</code>").format if page else str,
        "breakable": lambda name: Markup("_<wbr>").join(name.split("_")),
    }
    out.tests |= {
        "finite": isfinite,
        "link": lambda value: isinstance(value, Link),
        "from_data": lambda value: isinstance(value, Name),
    }
    return out


def _html(value: object) -> Markup:
    """Write a name as HTML: short, with the full name as a tooltip, isolated from the sentence."""
    full = str(value)
    text = short(full, _NAME)
    if text == full:
        return Markup("<bdi>{}</bdi>").format(text)
    return Markup('<bdi title="{}">{}</bdi>').format(short(full, _TITLE), text)


def listed(names: Sequence[str], limit: int = 6, *, page: bool = False) -> str:
    """Join names with commas and "and"; names after the first few are only counted.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(list("abcdefghi"), 2)
    ('a, b and c', 'a, b and 7 more')
    """
    first_names = list(names[:limit])
    if len(names) > limit:
        first_names.append(f"{len(names) - limit} more")
    text = Markup if page else str
    start = text(", ").join(first_names[:-1])
    return text(" and ").join([start, first_names[-1]]) if start else first_names[-1]


def interval(row: Any, digits: int = 2) -> str:
    """Write the interval of a row of a summary."""
    return f"{share(row['lower'], digits)} to {share(row['upper'], digits)}"


def _whole_percent(value: float) -> str:
    return percent(round(float(value), 2))


def _in_percent(row: Any) -> str:
    """Write mean and interval of a row in percent."""
    low, high = (f"{100 * row[name]:.0f}" for name in ("lower", "upper"))
    return f"{_whole_percent(row['mean'])} [{low} to {high}]"


_TINTS: Final = ((0.95, "sure"), (0.8, "likely"), (0.2, "open"), (0.05, "unlikely"))


def _tint(value: float) -> str:
    """Return the class of a cell that shows a probability."""
    return next((name for limit, name in _TINTS if value >= limit), "surely-not")
