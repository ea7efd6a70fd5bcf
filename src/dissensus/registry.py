"""Looking a name up in a list of models, metrics, plots or formats, and checking of settings."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Protocol

import numpy as np

from dissensus.errors import ArgumentError, brief


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
    names = [entry.name for entry in known]
    near = get_close_matches(name, names, n=1) if isinstance(name, str) else []
    raise ArgumentError(
        what,
        expected=f"one of {', '.join(names)}",
        found=repr(name),
        hint=f"Did you mean {near[0]!r}?" if near else "",
    )


def one_of(name: str, value: Any, choices: Iterable[str | None]) -> None:
    """Raise unless a setting is one of the names there are; ``name`` is that of the setting.

    Only text is compared: arrays and Datasets have an idea of their own of what is equal.

    Examples
    --------
    >>> one_of("sampler", "hmc", ("gibbs", "nuts"))
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: sampler: expected 'gibbs' or 'nuts'; found 'hmc'
    """
    known = tuple(choices)
    if not (value is None or isinstance(value, str)) or value not in known:
        raise ArgumentError(name, expected=" or ".join(map(repr, known)), found=brief(value))


def check_flag(name: str, value: Any) -> None:
    """Raise unless an argument is True or False: the text "False" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(name, expected="True or False", found=brief(value))


def check_flags(**flags: Any) -> None:
    """Raise unless all are True or False."""
    for name, flag in flags.items():
        check_flag(name, flag)
