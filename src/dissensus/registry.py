"""Looking a name up: in a list of models, metrics, plots or formats, or of settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

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


def one_of(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise unless a setting is one of the names there are; ``name`` is that of the setting.

    Examples
    --------
    >>> one_of("sampler", "hmc", ("gibbs", "nuts"))
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: sampler: expected 'gibbs' or 'nuts'; found 'hmc'
    """
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise ArgumentError(name, expected=" or ".join(map(repr, known)), found=repr(value))
