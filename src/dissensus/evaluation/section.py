"""A section of an evaluation that has its own model: whether it is fitted, and its groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import xarray as xr

from dissensus.errors import AnnotationError

Groups = dict[str, xr.Dataset]


@dataclass(frozen=True, kw_only=True)
class Planned:
    """Decisions taken before any model is fitted."""

    why_not: str = ""
    """Reason for fitting no model; empty if one is fitted."""
    told: bool = False
    """Whether the reason is reported, because a reader would expect the section."""
    asked: bool = False
    """Whether the caller named the model; data that it cannot take are then an error."""
    remarks: tuple[str, ...] = ()


def with_added(
    found: Groups, plan: Planned, name: str, made: Callable[[], Groups], *, missing: str
) -> tuple[Groups, str]:
    """Add the groups that a model makes, or note beside the agreement why there are none.

    Parameters
    ----------
    found : dict of Dataset
        Groups of the evaluation so far.
    plan : Planned
        Whether a model is fitted.
    name : str
        Name of the model; empty if none is fitted.
    made : callable
        Fits the model and returns its groups.
    missing : str
        First words of the note, which name what is missing.

    Returns
    -------
    groups : dict of Dataset
    status : str
        Name of the model, or "none: " and the reason.
    """
    why_not, told = plan.why_not, plan.told
    if name:
        try:
            return found | made(), name
        except AnnotationError as problem:  # for example, numbers without residual variance
            if plan.asked:
                raise
            why_not, told = f"the model refuses {problem}", True
    if told and "agreement" in found:
        text = f"{missing}: {why_not.removesuffix('.')}."
        said = [line for line in (found["agreement"].attrs["notes"], text) if line]
        found["agreement"].attrs["notes"] = "\n".join(said)
    return found, f"none: {why_not}"
