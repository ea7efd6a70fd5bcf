"""Sentences with names in them: what came with the data stays marked as such to the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Formatter
from typing import Any

from dissensus.wording import short


class Name(str):
    """A name that came with the data. Whoever writes it down must escape and may shorten it."""

    __slots__ = ()


class Link(Name):
    """A name that leads to a place on the page."""

    to: str

    @classmethod
    def at(cls, name: object, to: str) -> Link:
        """Return a name that leads to the element of that id."""
        link = cls(str(name))
        link.to = to
        return link


Sentence = tuple[str, ...]
"""Parts to be written one after the other; those that are a `Name` are from the data."""


def sentence(template: str, **values: Any) -> Sentence:
    """Fill a template; a value may be text, a `Name`, or parts of another sentence.

    Examples
    --------
    >>> sentence("{who} leads.", who=Name("<b>"))
    ('<b>', ' leads.')
    """
    parts: list[str] = []
    for literal, field, _, _ in Formatter().parse(template):
        if literal:
            parts.append(literal)
        if field:
            value = values[field]
            parts.extend([value] if isinstance(value, str) else value)
    return tuple(parts)


def joined(names: Sequence[object], last: str = "and", limit: int = 6) -> Sentence:
    """List names as a sentence does, and count those past the first few.

    Examples
    --------
    >>> text(joined(["a", "b", "c"])), text(joined(range(9), limit=2))
    ('a, b and c', '0, 1 and 7 more')
    """
    parts: list[str] = []
    kept = list(names[:limit])
    left = len(names) - len(kept)
    ends: list[str] = [Name(str(name)) for name in kept] + ([f"{left} more"] if left else [])
    for place, one in enumerate(ends):
        if place:
            parts.append(f" {last} " if place == len(ends) - 1 else ", ")
        parts.append(one)
    return tuple(parts)


def text(parts: Iterable[str]) -> str:
    """Write a sentence as plain text, names safe and shortened.

    Examples
    --------
    >>> text(("No ", Name("x" * 50), "."))
    'No xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx….'
    """
    return "".join(short(part) if isinstance(part, Name) else part for part in parts)
