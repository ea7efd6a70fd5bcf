"""Looking a name up in one of the library's lists of models, metrics, plots or formats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from dissensus.errors import ArgumentError


class Named(Protocol):
    """An entry of a registry."""

    @property
    def name(self) -> str:
        """What it is called."""


def find[Entry: Named](entries: Iterable[Entry], name: str, what: str) -> Entry:
    """Return the entry of that name, or raise an error that lists the names there are.

    Examples
    --------
    >>> from dissensus.models import MODELS
    >>> find(MODELS, "dirichlet", "model").summary
    'one label from each annotator'
    """
    known = list(entries)
    for entry in known:
        if entry.name == name:
            return entry
    listed = ", ".join(entry.name for entry in known)
    raise ArgumentError(what, expected=f"one of {listed}", found=repr(name))
