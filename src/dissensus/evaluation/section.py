"""What a model of its own adds to an evaluation, or why it adds nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import xarray as xr

from dissensus.errors import AnnotationError

Groups = dict[str, xr.Dataset]


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What is settled before anything is fitted."""

    why_not: str = ""
    """Empty where a model is fitted."""
    told: bool = False
    """Whether a reader would miss it, so that it must be said why not."""
    asked: bool = False
    """Whether it was asked for by name, so that what the model refuses is an error."""
    remarks: tuple[str, ...] = ()


def with_added(
    found: Groups, plan: Planned, name: str, made: Callable[[], Groups], *, missing: str
) -> tuple[Groups, str]:
    """Add to the groups of an evaluation those that a model makes, or beside agreement why none.

    Returned with the groups: the model's name, or the reason in words. An empty name says that
    nothing is to be fitted; ``missing`` is what a reader is told that there is not.
    """
    why_not, told = plan.why_not, plan.told
    if name:
        try:
            return found | made(), name
        except AnnotationError as problem:  # such as numbers without any residual
            if plan.asked:
                raise
            why_not, told = f"the model refuses {problem}", True
    if told and "agreement" in found:
        text = f"{missing}: {why_not.removesuffix('.')}."
        said = [line for line in (found["agreement"].attrs["notes"], text) if line]
        found["agreement"].attrs["notes"] = "\n".join(said)
    return found, f"none: {why_not}"
