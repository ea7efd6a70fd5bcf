"""Names of points and of lines, and texts that a web page shows at a mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from dissensus.kernels.types import Floats
from dissensus.plots._style import SMALL, style
from dissensus.wording import clean, share, short

# Positions with a minimum distance.


def spread(
    positions: npt.ArrayLike, gap: float, low: float = -np.inf, high: float = np.inf
) -> npt.NDArray[np.float64]:
    """Move positions by the least sum of squares so that all are at least ``gap`` apart.

    Examples
    --------
    >>> spread([0.0, 0.1, 1.0], 0.5)
    array([-0.2,  0.3,  1. ])
    """
    values = np.asarray(positions, dtype=np.float64)
    if not len(values):
        return values
    from scipy.optimize import isotonic_regression

    order = np.argsort(values, kind="stable")
    offset = gap * np.arange(len(values))
    level = isotonic_regression(values[order] - offset).x
    top = max(high - float(offset[-1]), low)
    out = np.empty_like(values)
    out[order] = np.clip(level, low, top) + offset
    return out


def name_ends(ax: Axes, ends: Any, texts: Sequence[str]) -> None:
    """Write the name of each line at its end, without overlap."""
    to_axes, to_display = ax.transAxes.inverted(), ax.transData
    known = np.where(np.isfinite(ends), ends, ax.get_ylim()[0])
    heights = [to_axes.transform(to_display.transform((ax.get_xlim()[1], end)))[1] for end in known]
    for row, (text, place) in enumerate(zip(texts, spread(heights, 0.085, 0, 1), strict=True)):
        ax.annotate(text, (1.0, place), ha="left", va="center", xycoords="axes fraction",
                    fontsize=SMALL, color=style(row).color, annotation_clip=False)  # fmt: skip


# Names beside points.


Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points of a figure."""

_ANGLES: Final = np.deg2rad([0, 180, 90, 270, 45, 315, 135, 225, 20, 340, 160, 200, 70, 110])
_DISTANCES: Final = (6.0, 11.0, 18.0, 27.0, 38.0, 52.0, 70.0, 95.0)
"""Distances from a mark to its name, in points; beyond the second, a line leads to the mark."""
_ROOM: Final = 4.0
"""Minimum distance between two names side by side, in points."""
_MARK: Final = 3.5
"""Half the size of a mark, in points."""


def name_points(ax: Axes, xy: Floats, names: Sequence[str], color: str) -> None:
    """Write a name beside each point, at the nearest place without overlap.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes whose limits are final.
    xy : array (point, 2)
    names : sequence of str
        Names that Matplotlib does not read as formulas.
    color : str
    """
    figure: Any = ax.get_figure(root=True)
    figure.draw_without_rendering()  # settles the positions of the axes
    scale = 72.0 / figure.dpi
    at = ax.transData.transform(xy) * scale
    frame: Any = tuple(np.array(ax.get_window_extent().extents) * scale)
    taken = [(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in at]
    for k in np.argsort(xy[:, 0], kind="stable"):
        text = ax.text(float(xy[k, 0]), float(xy[k, 1]), names[k], fontsize=SMALL, color=color)
        extent = text.get_window_extent()
        text.remove()
        width, height = extent.width * scale + _ROOM, extent.height * scale
        offset, box = _place(at[k], width, height, frame, taken)
        taken.append(box)
        arrow = {"arrowstyle": "-", "color": color, "alpha": 0.45, "linewidth": 0.6, "shrinkB": 3}
        gap = max(abs(offset[0]) - width / 2, abs(offset[1]) - height / 2)
        ax.annotate(
            names[k], xy[k], xytext=offset, textcoords="offset points", fontsize=SMALL,
            color=color, ha="center", va="center", zorder=5,
            arrowprops=arrow if gap > _DISTANCES[1] else None,
        )  # fmt: skip


def _place(
    at: Floats, width: float, height: float, frame: Box, taken: list[Box]
) -> tuple[tuple[float, float], Box]:
    """Return the nearest free place of a name: the offset of its middle, and its box."""
    best: tuple[float, tuple[float, float], Box] | None = None
    for distance in _DISTANCES:
        for angle in _ANGLES:
            dx = float(np.cos(angle) * (distance + width / 2))
            dy = float(np.sin(angle) * (distance + height / 2))
            x, y = at[0] + dx, at[1] + dy
            box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            outside = _overlap(box, box) - _overlap(box, frame)
            cost = outside + sum(_overlap(box, other) for other in taken)
            if best is None or cost < best[0]:
                best = (cost, (dx, dy), box)
            if cost == 0:
                return (dx, dy), box
    assert best is not None
    return best[1:]


def _overlap(box: Box, other: Box) -> float:
    """Return the area that two boxes share."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


# Texts that a web page shows when the pointer is on a mark; other figures have no such texts.


PREFIX: Final = "tip:"
"""Start of the id of an invisible mark in SVG (Matplotlib's gid); the mark's text follows."""
_SIZE: Final = 12
"""Size of an invisible mark in points: larger than any visible mark, so that it is easy to hit."""
_WANTED: ContextVar[bool] = ContextVar("tips", default=False)


@contextmanager
def tips() -> Iterator[None]:
    """In this context, marks of plots have texts."""
    token = _WANTED.set(True)
    try:
        yield
    finally:
        _WANTED.reset(token)


def are_wanted() -> bool:
    """Return whether tooltips are wanted, as on web pages; if not, callers can skip their texts."""
    return _WANTED.get()


def tip(ax: Axes, x: float, y: float, text: str) -> None:
    """Put an invisible mark with a tooltip on a point, if tooltips are wanted."""
    if are_wanted():
        ax.plot([x], [y], marker="o", markersize=_SIZE, alpha=0.0, linestyle="",
                gid=f"{PREFIX}{clean(text)}")  # fmt: skip


def with_interval(name: object, mean: float, lower: float, upper: float) -> str:
    """Write a name, its mean and its interval.

    Examples
    --------
    >>> with_interval("system A", 0.886, 0.87, 0.903)
    'system A: .886 (.870 to .903)'
    """
    return f"{short(name)}: {share(mean, 3)} ({share(lower, 3)} to {share(upper, 3)})"
