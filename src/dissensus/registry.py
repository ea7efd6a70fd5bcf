"""Find models, metrics, plots and formats by name; load models of other packages."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol

from dissensus.errors import ArgumentError, DissensusWarning

# Models of other packages: found by their entry points, loaded on first use.


GROUP: Final = "dissensus.models"
_FIT_ARGUMENTS: Final = ("draws", "chains", "random_seed", "progressbar")
"""Keyword arguments that every ``fit`` must take."""


@cache
def _entries(path: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of models, cached by search path: reading them takes 12 ms."""
    del path
    return tuple(entry_points(group=GROUP))


def _search_path() -> tuple[tuple[str, int], ...]:
    """Return folders and modification times: packages may be installed during a session."""
    return tuple((folder, _changed(folder)) for folder in sys.path)


def _changed(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0


def plugin_entries(taken: Collection[str]) -> dict[str, EntryPoint]:
    """Return the entry points by name; names that exist already are left out with a warning."""
    out: dict[str, EntryPoint] = {}
    for entry in _entries(_search_path()):
        if entry.name in taken or entry.name in out:
            warnings.warn(
                f"{_package(entry)} provides a model {entry.name!r}, but a model of that name "
                "exists. The provided model is left out.",
                DissensusWarning,
                stacklevel=3,
            )
            continue
        out[entry.name] = entry
    return out


def package_of(name: str) -> tuple[str, str] | None:
    """Return name and version of the package that provides a model; None if no package does."""
    for entry in _entries(_search_path()):
        if entry.name == name and entry.dist is not None:
            return entry.dist.name, entry.dist.version
    return None


def loaded(entry: EntryPoint, kind: type) -> ModuleType:
    """Load the module of a model; raise unless it has ``build``, ``fit`` and a valid ``MODEL``."""
    try:
        module = entry.load()
    except Exception as problem:
        raise _wrong(entry, "a module that can be loaded", f"{type(problem).__name__}: {problem}"
                     ) from problem  # fmt: skip
    model = getattr(module, "MODEL", None)
    if not isinstance(module, ModuleType):
        raise _wrong(entry, "a module", f"{type(module).__name__}, as {entry.value}")
    if not isinstance(model, kind):
        raise _wrong(entry, "MODEL, a dissensus.models.Model", repr(model))
    if model.name != entry.name:  # type: ignore[attr-defined]
        raise _wrong(entry, f"MODEL to be named {entry.name!r}", repr(model.name))  # type: ignore[attr-defined]
    for name in ("build", "fit"):
        if not callable(getattr(module, name, None)):
            raise _wrong(entry, f"a function {name!r}", f"none in {module.__name__}")
    known = signature(module.fit).parameters
    lacking = [name for name in _FIT_ARGUMENTS if name not in known]
    if lacking and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        raise _wrong(entry, f"fit to take {', '.join(_FIT_ARGUMENTS)}", f"no {', '.join(lacking)}")
    return module


def _wrong(entry: EntryPoint, expected: str, found: str) -> ArgumentError:
    where = f"the model {entry.name!r} of {_package(entry)}"
    return ArgumentError("model", where=where, expected=expected, found=found)


def _package(entry: EntryPoint) -> Any:
    return entry.dist.name if entry.dist is not None else "a package"


# Models, metrics, plots and formats by name.


class Named(Protocol):
    """An entry of a registry."""

    @property
    def name(self) -> str:
        """The name of the entry."""


def find[Entry: Named](entries: Iterable[Entry], name: str, argument: str) -> Entry:
    """Return the entry of that name, or raise an error that lists all names.

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
        argument,
        expected=f"one of {', '.join(names)}",
        found=repr(name),
        hint=f"Did you mean {near[0]!r}?" if near else "",
    )
