"""Saying that a Gibbs step would not be exact for a model, and the reason that all steps share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytensor.graph.traversal import ancestors

from dissensus.errors import ArgumentError


def unfit(expected: str, found: str) -> ArgumentError:
    """Make the error for a model that a step does not fit."""
    return ArgumentError(
        "model", expected=expected, found=found,
        hint="The Gibbs step would not be exact; sample in `with dissensus.steps.without_gibbs():`",
    )  # fmt: skip


def refuse_other_uses(model: Any, ours: Iterable[Any], observed: Any) -> None:
    """Raise if anything but the labels hangs on what a step moves."""
    moved = set(ours)
    for one in [*model.basic_RVs, *model.potentials]:
        if one not in moved and one is not observed and moved & set(ancestors([one])):
            raise unfit("nothing but the labels to hang on these variables", one.name)
