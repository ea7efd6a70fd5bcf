"""What pictures of plans share: panels beside each other, axes of sizes, lines with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from dissensus.plots import _style as look
from dissensus.plots._style import Size

_NARROW: Final = 5.0


def panels(count: int, figsize: Size | None) -> list[Axes]:
    """Return axes for so many panels, two beside each other where there is room."""
    columns = 1 if look.width_of(figsize) < _NARROW else min(2, count)
    rows = -(-count // columns)
    figure = look.Picture(
        figsize=look.fitted(figsize, look.WIDTH, 2.9 * rows), layout="constrained"
    )
    grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in grid[count:]:
        spare.remove()
    return grid[:count]


def names(ax: Axes, ends: Any, texts: Sequence[str]) -> None:
    """Write at the end of each line what it stands for."""
    to, back = ax.transAxes.inverted(), ax.transData
    low, high = 0.0, 1.0
    known = np.where(np.isfinite(ends), ends, ax.get_ylim()[0])
    heights = [to.transform(back.transform((ax.get_xlim()[1], end)))[1] for end in known]
    for row, (text, place) in enumerate(
        zip(texts, look.spread(heights, 0.085, low, high), strict=True)
    ):
        ax.annotate(text, (1.0, place), ha="left", va="center", xycoords="axes fraction",
                    fontsize=look.SMALL, color=look.style(row).color,
                    annotation_clip=False)  # fmt: skip


def target_line(ax: Axes, height: float) -> None:
    """Draw the broken line that is to be reached."""
    ax.axhline(height, color=look.ink(), linewidth=0.9, linestyle=(0, (4, 2)), zorder=0)


def sizes(ax: Axes, x: Any) -> None:
    """Lay out numbers of annotators or items, of which each more counts less than the last."""
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(x.tolist()))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([f"{value:,.0f}" for value in x])
    ax.set_xlim(x.min() / 1.25, x.max() * 1.25)


def lengths(ax: Axes, values: Any) -> None:
    """Lay out lengths by factors: a quarter of it takes sixteen times the items."""
    ax.set_yscale("log")
    low, high = values.min() / 1.25, values.max() * 1.25
    ax.set_ylim(low, high)
    ticks = [m * 10.0**e for e in range(-5, 1) for m in (1, 2, 5)]
    ax.yaxis.set_major_locator(FixedLocator([t for t in ticks if low <= t <= high]))
    ax.yaxis.set_minor_locator(NullLocator())
    look.share_axis(ax.yaxis)
