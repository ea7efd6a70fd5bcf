"""How sure annotators are of items, against how difficult these are."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import ITEM, SAMPLE
from dissensus.errors import ArgumentError, shown
from dissensus.kernels.types import Floats
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.statistics._confidence import levels_of
from dissensus.wording import share

_NEEDED: Final = ("slope", "intercept", "confidence", "difficulty")
_TENTHS: Final = 10
_MANY: Final = 300
"""Of more items, intervals would be all one sees."""


def confidence_difficulty(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the difficulty of each item against the mean confidence of its annotators.

    Items in one place are one dot, the larger the more there are. Those whose difficulty has draws
    have an interval; of more than 300 items there are none, and rings are the means of tenths of
    the items, in the order of confidence. The line is the mean of all lines drawn, with the
    interval of these around it; above stands the correlation of ranks.

    Parameters
    ----------
    source : Dataset or DataTree
        What `dissensus.confidence_difficulty` returns, or a tree with it as group
        ``confidence_difficulty``.
    ci_kind, ci_prob : optional
        Kind and level of the intervals; ArviZ's settings by default.
    ax : matplotlib.axes.Axes, optional
        Draw into these.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the source holds no such draws.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({
    ...     "item": [i for i in range(40) for _ in "ab"], "annotator": ["a", "b"] * 40,
    ...     "label": [0, 0, 0, 1] * 20, "confidence": [1, 0.8, 0.6, 0.4] * 20},
    ...     confidence="confidence")
    >>> found = dx.confidence_difficulty(ann, dict.fromkeys(range(40), 0), random_seed=1)
    >>> dx.plots.confidence_difficulty(found).axes[0].get_ylabel()
    'share of wrong labels'
    """
    data = _checked(source)
    figure, ax = look.canvas(ax, figsize, look.width_of(figsize), 3.8)
    sure, hard = data["confidence"].to_numpy(), data["difficulty"]
    drawn = set(SAMPLE) <= set(hard.dims)
    if drawn and len(sure) <= _MANY:
        low, high = (one.to_numpy() for one in pieces.interval(hard, ci_kind, ci_prob))
        ax.vlines(sure, low, high, color=look.PALETTE[-1], linewidth=0.7, alpha=0.45, zorder=1)
    mean = hard.mean(list(SAMPLE)).to_numpy() if drawn else hard.to_numpy()
    _dots(ax, sure, mean)
    _line(ax, data, ci_kind, ci_prob)
    look.tidy(ax, grid="both")
    look.share_axis(ax.xaxis)
    look.share_axis(ax.yaxis)
    ax.set_xlabel("mean confidence")
    ax.set_ylabel(str(hard.attrs.get("long_name", data.attrs.get("difficulty", "difficulty"))))
    ax.set_title(_title(data, ci_kind, ci_prob), loc="left", fontsize=look.SMALL + 1)
    return figure


def _checked(source: Any) -> xr.Dataset:
    data = pieces.group(source, "confidence_difficulty")
    lacking = [name for name in _NEEDED if name not in data]
    if lacking or ITEM not in data["confidence"].dims:
        raise ArgumentError(
            "source", expected=f"draws of {shown(list(_NEEDED))}",
            found=f"the variables {shown(list(map(str, data.data_vars)))}",
            hint="dissensus.confidence_difficulty returns them",
        )  # fmt: skip
    return data


def _dots(ax: Axes, sure: Floats, hard: Floats) -> None:
    """Draw items, those in one place as a dot of their size; of many, means as well."""
    place, count = np.unique(np.stack([sure, hard], axis=1), axis=0, return_counts=True)
    size = 14.0 * count if len(sure) <= _MANY else 2000.0 * count / len(sure)
    strength = float(np.clip(60 / len(place), 0.25, 0.6))
    ax.scatter(place[:, 0], place[:, 1], np.clip(size, 2.0, 400.0), color=look.PALETTE[-1],
               alpha=strength, linewidths=0, zorder=2)  # fmt: skip
    if len(sure) > _MANY and sure.min() < sure.max():
        levels = levels_of(sure, _TENTHS)
        tenth = levels.level[levels.code]
        x, y = (np.bincount(tenth, one) / np.bincount(tenth) for one in (sure, hard))
        ax.plot(x, y, color=look.ink(), marker="o", markersize=5, markerfacecolor="none",
                linestyle="none", zorder=5)  # fmt: skip


def _line(ax: Axes, data: xr.Dataset, ci_kind: str | None, ci_prob: float | None) -> None:
    """Draw the line with its interval, if there is one."""
    if not bool(data["slope"].notnull().any()):
        return
    sure = data["confidence"].to_numpy()
    x = np.linspace(sure.min(), sure.max(), 60)
    lines = data["intercept"] + data["slope"] * xr.DataArray(x, dims="x")
    low, high = (one.to_numpy() for one in pieces.interval(lines, ci_kind, ci_prob))
    ax.fill_between(x, low, high, color=look.DRAWS, alpha=0.2, linewidth=0, zorder=3)
    ax.plot(x, lines.mean(list(SAMPLE)), color=look.DRAWS, linewidth=1.6, zorder=4)


def _title(data: xr.Dataset, ci_kind: str | None, ci_prob: float | None) -> str:
    draws = data.get("rank_correlation")
    if draws is None or not bool(draws.notnull().any()):
        return ""
    low, high = (float(one) for one in pieces.interval(draws, ci_kind, ci_prob))
    return f"Correlation of ranks {share(float(draws.mean()))} [{share(low)}, {share(high)}]"
