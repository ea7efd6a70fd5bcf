"""A study of one's own in the nomograms of a ground truth: where it is, and how surely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus._wording import number, share
from dissensus.dims import SAMPLE
from dissensus.errors import ArgumentError
from dissensus.plots import _pieces as pieces
from dissensus.plots import _style as look
from dissensus.sampling.intervals import whole

_LABEL, _TRUTH, _NEEDED = "label_accuracy", "truth_accuracy", "annotators_for_truth"


def study_of(source: Any, measure: str) -> xr.Dataset:
    """Return the draws of one reliability, and with it what else an evaluation says.

    Raises
    ------
    ArgumentError
        If there are no draws of one reliability.
    """
    found = pieces.group(source, "weighted_reliability")
    there = list(found.data_vars)
    if measure not in there and len(there) != 1:
        raise ArgumentError(
            "source",
            expected=f"draws of {measure}",
            found=f"variables {', '.join(map(str, there))}",
        )
    draws = found[measure if measure in there else there[0]]
    if set(draws.dims) != set(SAMPLE):
        raise ArgumentError(
            "source", expected=f"draws of one reliability, with dims {SAMPLE}",
            found=f"dims {draws.dims}",
        )  # fmt: skip
    return found.assign(reliability=draws)


def mark_majority(ax: Axes, study: xr.Dataset) -> None:
    """Mark how accurate a label and a majority are, and say so below the legend."""
    if {_LABEL, _TRUTH} <= set(study.data_vars):
        (x, *wide), (y, *high) = (_spread(study[name]) for name in (_LABEL, _TRUTH))
        _cross(ax, x, y, wide, high)
        _say(ax, f"these data: {_written(y, high)}", 0.03)
        # Not an entry of the legend: it is so long that all others would lie across the lines.
        ax.legend(frameon=False, fontsize=look.SMALL, loc="lower right", borderaxespad=0.0,
                  bbox_to_anchor=(1.0, 0.1), labelspacing=0.1, handlelength=1.2)  # fmt: skip


def mark_needed(ax: Axes, study: xr.Dataset) -> None:
    """Mark how many annotators it takes; off the picture, how accurate a label is."""
    if not {_LABEL, _NEEDED} <= set(study.data_vars):
        return
    (x, *wide), found = _spread(study[_LABEL]), whole(study[_NEEDED])
    bottom, top = ax.get_ylim()
    y, low, high = (min(found[name], top) for name in ("median", "lower", "upper"))
    _cross(ax, x, y, wide, [max(low, bottom), high])
    _say(ax, f"these data: {how_many(found)}", 0.97)


def how_many(found: Mapping[str, float]) -> str:
    """Write a number of annotators with its interval; infinity is that none will do.

    Examples
    --------
    >>> how_many({"median": 9.0, "lower": 7.0, "upper": float("inf")})
    '9 [7, ∞]'
    """
    middle, low, high = (
        number(found[name]) if np.isfinite(found[name]) else "∞"
        for name in ("median", "lower", "upper")
    )
    return f"{middle} [{low}, {high}]"


def mark_reliability(ax: Axes, study: xr.Dataset) -> None:
    """Draw the interval of a reliability as a band, with a line at its median."""
    middle, low, high = _spread(study["reliability"])
    ax.axvspan(low, high, color=look.DRAWS, alpha=0.15, linewidth=0, zorder=0)
    ax.axvline(middle, color=look.DRAWS, linewidth=1.2, zorder=1)
    _say(ax, f"these data: {_written(middle, [low, high])}", 0.03)


def _spread(draws: xr.DataArray) -> tuple[float, float, float]:
    """Return median and interval."""
    low, high = (float(bound) for bound in pieces.interval(draws, None, None))
    return float(draws.median()), low, high


def _cross(ax: Axes, x: float, y: float, wide: list[float], high: list[float]) -> None:
    ax.plot(wide, [y, y], color=look.DRAWS, linewidth=2, zorder=4, solid_capstyle="butt")
    ax.plot([x, x], high, color=look.DRAWS, linewidth=2, zorder=4, solid_capstyle="butt")
    ax.plot([x], [y], color=look.DRAWS, marker="o", markersize=5, zorder=5, linestyle="none")


def _written(middle: float, bounds: list[float]) -> str:
    return f"{share(middle)} [{', '.join(share(bound) for bound in bounds)}]"


def _say(ax: Axes, text: str, height: float) -> None:
    ax.annotate(text, (0.99, height), xycoords="axes fraction", ha="right", fontsize=look.SMALL,
                va="top" if height > 0.5 else "baseline", color=look.DRAWS)  # fmt: skip
