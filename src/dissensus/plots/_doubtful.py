"""Pictures of draws that are not to be relied on, which say so themselves."""

from __future__ import annotations

from typing import Any, Final

import xarray as xr
from matplotlib.figure import Figure

from dissensus.evaluation import doubts
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look

_OF_MODEL: Final = ("metrics", "companion", "comparison", "certainty", "posterior", "expected_risk")
_ADDED: Final = ("components", "accuracy")
_TRUTH: Final = "weighted_reliability"
_BOOTSTRAPPED: Final = "discrepancy"


def doubt(source: Any, group: str) -> str:
    """Say why a picture of a group of an evaluation is not to be relied on; nothing if it is.

    Of a group alone, without its evaluation, nothing is known.
    """
    if not isinstance(source, xr.DataTree) or "statistics" not in source.children:
        return ""
    if group in _OF_MODEL:
        both = pieces.sides(source) if group == "companion" else [source]
        return doubts.reasons([_of_model(side) for side in both])
    if group in _ADDED:
        return doubts.of_group(source, group)
    if group == _BOOTSTRAPPED:
        return doubts.of_bootstrap(source[group].to_dataset()["discrepancy_ratio"])
    return doubts.of_ground_truth(source, "truth_accuracy") if group == _TRUTH else ""


def _of_model(side: xr.DataTree) -> str:
    return doubts.of_metrics(side) if "reference_reliability" in side.attrs else ""


def note(picture: Any, source: Any, group: str) -> None:
    """Say above a picture why it is not to be relied on."""
    why = doubt(source, group)
    viz = getattr(picture, "viz", None)
    figure = picture if viz is None else viz["figure"].item() if "figure" in viz else None
    if why and isinstance(figure, Figure):
        figure.suptitle(
            look.plain(f"Do not rely on this: {why}"), color=look.WORSE, fontsize=look.SMALL,
            x=0.01, ha="left", fontweight="bold",
        )  # fmt: skip
