"""Settings, warnings and plans, which all sections of an evaluation share.

A section is a module such as `components`. Before any fit, its function ``plan`` returns a `Plan`,
or a `Reason` why the section is left out. Its function ``draws`` turns the plan into groups of the
evaluation, and `evidence` turns groups into rows of tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import xarray as xr

from dissensus.data.rows import voices_per
from dissensus.dims import ITEM, LABEL
from dissensus.errors import (
    AnnotationError,
    ArgumentError,
    ConvergenceWarning,
    DissensusWarning,
    brief,
)
from dissensus.wording import capital

Groups = dict[str, xr.Dataset]

AUTO = "auto"
FEWEST = 5
"""Minimum number of items with two annotators; with fewer items, the prior dominates."""
NO_PAIR = "no item has two annotators"
NOT_WANTED = "not asked for"
NONE = "none: "
"""First characters of a section's status if the section is left out; the reason follows."""


class Notes:
    """Warnings of several steps. A warning that only one step raised begins with that step's name.

    Examples
    --------
    >>> notes = Notes()
    >>> for step in ("one", "two"):
    ...     with notes.of(step):
    ...         warnings.warn("always", DissensusWarning)
    >>> with notes.of("three"):
    ...     warnings.warn("just here", DissensusWarning)
    >>> notes.texts()
    ['always', 'three: just here']
    """

    def __init__(self) -> None:
        self._steps: set[str] = set()
        self._raised: dict[tuple[type[Warning], str], list[str]] = {}

    @contextmanager
    def of(self, step: str) -> Iterator[None]:
        """Collect the warnings raised during one step."""
        self._steps.add(step)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DissensusWarning)
            yield
        for warning in caught:
            steps = self._raised.setdefault((warning.category, str(warning.message)), [])
            if step not in steps:
                steps.append(step)

    def texts(self) -> list[str]:
        """Return the text of each warning once."""
        return [self._text(text, steps) for (_, text), steps in self._raised.items()]

    def say(self, stacklevel: int = 3) -> None:
        """Raise all warnings; by default they point two calls up, to the caller of the caller."""
        for (category, text), steps in self._raised.items():
            warnings.warn(self._text(text, steps), category, stacklevel=stacklevel)

    def _text(self, text: str, steps: list[str]) -> str:
        only_here = len(steps) == 1 and len(self._steps) > 1
        return f"{steps[0]}: {text}" if only_here else text


@dataclass(frozen=True)
class Settings:
    """Settings of an evaluation that all sections follow."""

    draws: int
    """Number of draws in all chains together."""
    random_seed: int | None
    distance: Any
    margin: float
    on_missing: str
    chains: int = 1
    progressbar: bool = False
    notes: Notes = field(default_factory=Notes)


@dataclass(frozen=True)
class Reason:
    """Why a section is left out."""

    text: str
    noted: bool = False
    """Whether the group ``agreement`` gets a note, because readers would expect the section."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The computations of a section, decided before any fit."""

    by_name: bool = False
    """Whether the caller named the model. If so, an error of the model is raised, not noted."""
    remarks: tuple[str, ...] = ()


class Section(Protocol):
    """A module that adds groups to an evaluation."""

    GROUP: str
    """Name of the section's main group."""
    SOURCE: str
    """Attribute of the main group that names the model."""
    NOTE: str
    """First words of the note if the section is left out."""

    def draws(self, groups: Groups, plan: Any, settings: Settings) -> Groups:
        """Return the groups of this section."""


def added(
    groups: Groups, section: Section, plan: Plan | Reason, settings: Settings
) -> tuple[Groups, str]:
    """Add the groups of a section, or note in ``agreement`` why there are none.

    The returned text is the status of the section: the name of the model, or `NONE` and the reason.
    """
    if isinstance(plan, Plan):
        try:
            groups = groups | section.draws(groups, plan, settings)
            return groups, str(groups[section.GROUP].attrs[section.SOURCE])
        except AnnotationError as problem:  # for example, if numbers have no residual variance
            if plan.by_name:
                raise
            plan = Reason(f"the model refuses {problem}", noted=True)
    if plan.noted and "agreement" in groups:
        attrs = groups["agreement"].attrs
        text = f"{section.NOTE}: {plan.text.removesuffix('.')}."
        attrs["notes"] = "\n".join(line for line in (attrs["notes"], text) if line)
    return groups, f"{NONE}{plan.text}"


def warn_of_chains(attrs: Mapping[Any, Any], start: str, advice: str) -> None:
    """Warn if a group's attributes have diagnostics of chains that are too short."""
    if not attrs.get("n_items_poor", 0):
        return
    r_hat = f", r-hat up to {attrs['r_hat_max']:.2f}" if "r_hat_max" in attrs else ""
    warnings.warn(
        f"{start}: as few as {attrs['ess_bulk_min']:.0f} effective draws "
        f"({attrs['ess_bulk_min_item']}){r_hat}. {advice}",
        ConvergenceWarning,
        stacklevel=3,
    )


def require_settings(
    given: Mapping[str, Any], defaults: Mapping[str, Any], known: tuple[str, ...], kind: str, *,
    model: str,
) -> None:  # fmt: skip
    """Raise one error that names all arguments of `evaluate` that do not apply to a kind of data.

    An argument that is not ``known`` must have its default or be None. The argument ``model`` may
    also name the only model of this kind of data.
    """
    odd = {
        name: value for name, value in given.items()
        if name not in known and value is not None and not (name == "model" and value == model)
        and not is_same(value, defaults.get(name, _UNKNOWN))
    }  # fmt: skip
    if odd:
        defaults_only = "the default" if len(odd) == 1 else "their defaults"
        raise ArgumentError(
            ", ".join(odd),
            expected=f"{defaults_only}, with {kind}" if odd.keys() <= defaults.keys()
            else f"arguments that {kind} have",
            found=", ".join(f"{name}={brief(value)}" for name, value in odd.items()),
            hint=f"{capital(kind)} take {', '.join((*known, 'progressbar'))}",
        )  # fmt: skip


_UNKNOWN = object()


def is_same(value: Any, default: Any) -> bool:
    """Return whether a setting has its default value."""
    alike = type(value) is type(default) and isinstance(value, bool | int | float | str)
    return value is default or (alike and bool(value == default))


_NO_TRUTH: Final = {"ranking": "rankings do not name one label",
                    "continuous": "numbers are not right or wrong"}  # fmt: skip


def no_one_label(annotations: xr.Dataset, threshold: float | None, *, alone: bool = False) -> str:
    """Return why labels cannot be right or wrong, or why annotators cannot be compared.

    The text is "" if there is no such reason. With ``alone``, items may have only one annotator.
    """
    kind = annotations.attrs["kind"]
    if kind in _NO_TRUTH:
        return _NO_TRUTH[kind]
    if threshold is not None:
        return "labels from a threshold are numbers, which are not right or wrong"
    if annotations.sizes[LABEL] < 2:
        return "there is one label only"
    return "" if alone or int(voices_per(annotations, ITEM).max()) > 1 else NO_PAIR


def too_few(annotations: xr.Dataset) -> str:
    """Return a text if too few items have two annotators, else ""."""
    several = int((voices_per(annotations, ITEM) > 1).sum())
    if several >= FEWEST:
        return ""
    items = "item has" if several == 1 else "items have"
    return f"only {several} {items} two annotators, and {FEWEST} are needed"
