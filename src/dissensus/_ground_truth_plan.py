"""Whether an evaluation says what its ground truth is worth, settled before anything is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus._accuracy_model import no_one_label, too_few
from dissensus._added_groups import Planned
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.types import Floats
from dissensus.statistics._truth import Accuracies, accuracies

AUTO: Final = "auto"
MAJORITY: Final = "majority"
GROUP: Final = "weighted_reliability"
"""What an evaluation calls it."""
_KNOWN: Final = (
    "Labels that are known to be true go to dissensus.weighted_reliability(annotations, truth=...)"
)


@dataclass(frozen=True, kw_only=True)
class Plan(Planned):
    """What it is judged by, or why it is not judged."""

    accuracy: Any = None
    """Of annotators: "auto", "majority", or as given."""


def planned(annotations: xr.Dataset, ground_truth: Any, threshold: float | None) -> Plan:
    """Settle what is said of the ground truth, before anything is fitted.

    Raises
    ------
    ArgumentError
        If accuracies are given that are none, or to annotations that have no ground truth.
    """
    if ground_truth is None:
        return Plan(why_not="not asked for")
    named = isinstance(ground_truth, str)
    asked = not (named and ground_truth == AUTO)
    why_not = no_one_label(annotations, threshold) or ("" if asked else too_few(annotations))
    if why_not and asked:
        raise ArgumentError(
            "ground_truth", expected=f"None or {AUTO!r}: {why_not}", found=brief(ground_truth)
        )
    if why_not:
        return Plan(why_not=why_not)
    if asked and not (named and ground_truth == MAJORITY):
        by_annotator(ground_truth, annotations)
    return Plan(accuracy=ground_truth, asked=asked)


def by_annotator(given: Any, annotations: xr.Dataset) -> tuple[Accuracies, Floats]:
    """Read accuracies of annotators (draw, cell), with the share of the labels that is each cell's.

    Raises
    ------
    ArgumentError
        If they are none, or are by item.
    """
    codes = (annotations[f"{dim}_code"].to_numpy() for dim in ("annotator", "item"))
    try:
        found = accuracies(given, annotations, *codes)
    except ArgumentError as problem:
        raise ArgumentError(
            "ground_truth", where=problem.where, hint=problem.hint or _KNOWN,
            expected=f"{AUTO!r}, None, or accuracies of annotators: {problem.expected}",
            found=problem.found,
        ) from problem  # fmt: skip
    if not (found.common or found.by_annotator):
        raise ArgumentError(
            "ground_truth", expected="accuracies by annotator", found="accuracies by item",
            hint="dissensus.weighted_reliability takes them",
        )  # fmt: skip
    n = found.values.shape[1]
    return found, np.bincount(found.cell, minlength=n) / len(found.cell)
