"""Names beside points, where they cover neither each other nor other points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes

from dissensus.kernels.types import Floats
from dissensus.plots import _style as look

Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points of a figure."""

_ANGLES: Final = np.deg2rad([0, 180, 90, 270, 45, 315, 135, 225, 20, 340, 160, 200, 70, 110])
_REACH: Final = (6.0, 11.0, 18.0, 27.0, 38.0, 52.0, 70.0, 95.0)
"""Points from the middle of a mark to a name; further than the second, with a line to it."""
_ROOM: Final = 4.0
"""Points between two names in a line."""
_MARK: Final = 3.5
"""Points: half the size of a mark."""


def name_points(ax: Axes, xy: Floats, names: Sequence[str], color: str) -> None:
    """Write a name beside each point, as near as there is room, from the left to the right.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        With its final limits: places are those on the paper.
    xy : array (point, 2)
    names : sequence of str
        Safe ones.
    color : str
    """
    figure: Any = ax.get_figure(root=True)
    figure.draw_without_rendering()  # so that the axes are where they are going to be
    scale = 72.0 / figure.dpi
    at = ax.transData.transform(xy) * scale
    frame = tuple(np.array(ax.get_window_extent().extents) * scale)
    taken = [(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in at]
    for k in np.argsort(xy[:, 0], kind="stable"):
        text = ax.text(float(xy[k, 0]), float(xy[k, 1]), names[k], fontsize=look.SMALL, color=color)
        extent = text.get_window_extent()
        text.remove()
        offset, box = _place(
            at[k], extent.width * scale + _ROOM, extent.height * scale, frame, taken
        )
        taken.append(box)
        arrow = {"arrowstyle": "-", "color": color, "alpha": 0.45, "linewidth": 0.6, "shrinkB": 3}
        ax.annotate(
            names[k], xy[k], xytext=offset, textcoords="offset points", fontsize=look.SMALL,
            color=color, ha="center", va="center", zorder=5,
            arrowprops=arrow if _gap(offset, box) > _REACH[1] else None,
        )  # fmt: skip


def _gap(offset: tuple[float, float], box: Box) -> float:
    """Return how far a name's nearest edge is from its point."""
    half = (box[2] - box[0]) / 2, (box[3] - box[1]) / 2
    return max(abs(offset[0]) - half[0], abs(offset[1]) - half[1])


def _place(
    at: Floats, width: float, height: float, frame: Any, taken: list[Box]
) -> tuple[tuple[float, float], Box]:
    """Return the nearest free place of a name: its middle from the point, and its box."""
    best: tuple[float, tuple[float, float], Box] | None = None
    for reach in _REACH:
        for angle in _ANGLES:
            dx = np.cos(angle) * (reach + width / 2)
            dy = np.sin(angle) * (reach + height / 2)
            x, y = at[0] + dx, at[1] + dy
            box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            cost = sum(_shared(box, other) for other in taken) + _outside(box, frame)
            if best is None or cost < best[0]:
                best = (cost, (float(dx), float(dy)), box)
            if cost == 0:
                return (float(dx), float(dy)), box
    assert best is not None
    return best[1], best[2]


def _shared(one: Box, other: Box) -> float:
    """Return the area that two boxes share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def _outside(box: Box, frame: Any) -> float:
    """Return how much of a box is outside the axes."""
    return (box[2] - box[0]) * (box[3] - box[1]) - _shared(box, frame)
