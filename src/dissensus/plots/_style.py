"""Pictures of draws that are not to be relied on, which say so themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from dissensus.evaluation import doubts
from dissensus.kernels.types import Floats
from dissensus.plots import _source as pieces
from dissensus.wording import clean, share, short, short_names

# One look for all pictures: colours, canvases, names beside points, shared axes.


# One look for all pictures: colours, canvases, and text that cannot be misread as markup.


PALETTE: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7a7a7a")
"""Okabe and Ito's colours, which the colour-blind tell apart; yellow, too light for thin
lines, became a dark gold, and grey stands for black, which is the ink."""
DASHES: Final = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
MARKERS: Final = "os^DvPX"
WIDTH: Final = 6.9
"""Inches: the width of a page's text."""
SMALL: Final = 8.5
"""Points: the smallest text in any picture."""
WORSE, BETTER = PALETTE[1], PALETTE[0]
DRAWS: Final = "#8a63b8"
"""Draws about items: a colour that no system has."""


type Size = tuple[float, float | None]
"""Width and height of a figure in inches; None for a height that fits."""


class Picture(Figure):
    """A Matplotlib figure that no global list holds: shown once in a notebook, closed by nobody."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()


@dataclass(frozen=True)
class Style:
    """How one system looks in every picture: its place among all systems decides."""

    color: str
    dash: Any
    marker: str


def style(index: int) -> Style:
    """Return the look of the system at this place; looks repeat only after 28.

    Examples
    --------
    >>> style(0).color
    '#0072b2'
    """
    return Style(
        PALETTE[index % len(PALETTE)],
        DASHES[index // len(PALETTE) % len(DASHES)],
        MARKERS[(index + index // len(PALETTE)) % len(MARKERS)],
    )


def ink() -> str:
    """Return the colour of text, from Matplotlib's settings at the time of drawing."""
    return str(mpl.rcParams["text.color"])


def faint() -> str:
    """Return the colour of grid lines and other things to look past."""
    return str(mpl.rcParams["grid.color"])


def plain(text: str) -> str:
    r"""Keep Matplotlib from reading a dollar sign as the beginning of a formula.

    Examples
    --------
    >>> print(plain("a$b"))
    a\$b
    """
    return text.replace("$", r"\$")


def label(name: object, width: int = 24) -> str:
    """Write a name from the data for a picture: safe, short, and no formula."""
    return plain(short(name, width))


def labels(names: Sequence[object], width: int = 24) -> list[str]:
    """Write several names for a picture, and keep different ones different."""
    return [plain(text) for text in short_names(names, width)]


def entry(text: str) -> str:
    """Make text an entry of a legend, from which Matplotlib leaves out what begins with ``_``.

    Examples
    --------
    >>> entry("_a").endswith("_a"), entry("a")
    (True, 'a')
    """
    return "\N{ZERO WIDTH SPACE}" + text if text.startswith("_") else text


def width_of(figsize: Size | None, default: float = WIDTH) -> float:
    """Return the width asked for, or the default."""
    return default if figsize is None else figsize[0]


def fitted(figsize: Size | None, width: float, height: float) -> tuple[float, float]:
    """Return the size asked for, or what fits in its place.

    Examples
    --------
    >>> fitted(None, 7, 3), fitted((4, None), 7, 3), fitted((4, 2), 7, 3)
    ((7, 3), (4, 3), (4, 2))
    """
    if figsize is None:
        return width, height
    return figsize[0], height if figsize[1] is None else figsize[1]


def canvas(ax: Axes | None, figsize: Size | None, width: float, height: float) -> tuple[Any, Axes]:
    """Return the figure and the axes to draw on: the caller's, or new ones."""
    if ax is not None:
        return ax.figure, ax
    figure = Picture(figsize=fitted(figsize, width, height), layout="constrained")
    return figure, figure.add_subplot()


def tidy(ax: Axes, *, grid: str | None = "y") -> None:
    """Take away what tells nothing: two of four frame lines, ticks where a grid is."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    for name in ("x", "y"):
        if grid in (name, "both"):
            ax.grid(True, axis=name, color=faint(), linewidth=0.6, alpha=0.6)
            ax.tick_params(axis=name, length=0)


def share_axis(axis: Any, digits: int = 10) -> None:
    """Write the ticks of an axis of shares as .8, .85, with so many digits at most."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value, digits)))


def count_axis(axis: Any) -> None:
    """Write the ticks of an axis of counts as 500, 1,000; no ticks between whole numbers."""
    axis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _tick(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    if text in {"0", "-0"}:
        return "0"
    text = text.replace("-", "\N{MINUS SIGN}")
    return text.replace("0.", ".", 1) if text.startswith(("0.", "\N{MINUS SIGN}0.")) else text


def dots(ax: Axes, x: npt.ArrayLike, y: npt.ArrayLike, size: float, color: str) -> None:
    """Draw many small dots as one path: a fiftieth of the size of a scatter plot in SVG."""
    start = np.stack(np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float)), axis=-1)
    # Hardly any line: its round ends are all we want of it, but without it they are not drawn.
    end = start + np.array([1e-3, 0.0])
    vertices = np.stack([start, end], axis=1).reshape(-1, 2)
    path = Path(vertices, [Path.MOVETO, Path.LINETO] * len(start))
    path.should_simplify = False
    ax.add_patch(
        PathPatch(path, facecolor="none", edgecolor=color, alpha=0.6, linewidth=size,
                  capstyle="round", snap=False)
    )  # fmt: skip


def spread(
    positions: npt.ArrayLike, gap: float, low: float = -np.inf, high: float = np.inf
) -> npt.NDArray[np.float64]:
    """Move positions as little as needed (in squares) so that all are at least ``gap`` apart.

    Examples
    --------
    >>> spread([0.0, 0.1, 1.0], 0.5)
    array([-0.2,  0.3,  1. ])
    """
    found = np.asarray(positions, dtype=np.float64)
    order = np.argsort(found, kind="stable")
    offset = gap * np.arange(len(found))
    # Isotonic regression of what is left after taking the gaps out: pools of equal means.
    pools: list[tuple[float, int]] = []
    for value in found[order] - offset:
        total, count = float(value), 1
        while pools and pools[-1][0] / pools[-1][1] >= total / count:
            before = pools.pop()
            total, count = total + before[0], count + before[1]
        pools.append((total, count))
    if not pools:
        return found
    level = np.concatenate([np.full(count, total / count) for total, count in pools])
    top = max(high - float(offset[-1]), low)
    out = np.empty_like(found)
    out[order] = np.clip(level, low, top) + offset
    return out


def note(figure: Any, text: str) -> None:
    """Say under a picture what it leaves out."""
    figure.supxlabel(text, fontsize=SMALL, x=0.0, ha="left", style="italic")


# Names beside points, where they cover neither each other nor other points.


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
        text = ax.text(float(xy[k, 0]), float(xy[k, 1]), names[k], fontsize=SMALL, color=color)
        extent = text.get_window_extent()
        text.remove()
        offset, box = _place(
            at[k], extent.width * scale + _ROOM, extent.height * scale, frame, taken
        )
        taken.append(box)
        arrow = {"arrowstyle": "-", "color": color, "alpha": 0.45, "linewidth": 0.6, "shrinkB": 3}
        ax.annotate(
            names[k], xy[k], xytext=offset, textcoords="offset points", fontsize=SMALL,
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


# What pictures of plans share: panels beside each other, axes of sizes, lines with names.


_NARROW: Final = 5.0


def panels(count: int, figsize: Size | None) -> list[Axes]:
    """Return axes for so many panels, two beside each other where there is room."""
    columns = 1 if width_of(figsize) < _NARROW else min(2, count)
    rows = -(-count // columns)
    figure = Picture(figsize=fitted(figsize, WIDTH, 2.9 * rows), layout="constrained")
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
    for row, (text, place) in enumerate(zip(texts, spread(heights, 0.085, low, high), strict=True)):
        ax.annotate(text, (1.0, place), ha="left", va="center", xycoords="axes fraction",
                    fontsize=SMALL, color=style(row).color,
                    annotation_clip=False)  # fmt: skip


def target_line(ax: Axes, height: float) -> None:
    """Draw the broken line that is to be reached."""
    ax.axhline(height, color=ink(), linewidth=0.9, linestyle=(0, (4, 2)), zorder=0)


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
    share_axis(ax.yaxis)


# What a page says of a mark when the pointer rests on it; pictures of their own have none.


PREFIX: Final = "tip:"
"""Begins the gid of what is there to be pointed at; after it the text."""
_SIZE: Final = 12
"""Points: larger than any mark, for fingers and unsteady hands."""
_WANTED: ContextVar[bool] = ContextVar("tips", default=False)


@contextmanager
def wanted() -> Iterator[None]:
    """Have what is drawn within carry its texts."""
    token = _WANTED.set(True)
    try:
        yield
    finally:
        _WANTED.reset(token)


def are_wanted() -> bool:
    """Say whether anybody would read them, before they are put together."""
    return _WANTED.get()


def tip(ax: Axes, x: float, y: float, text: str) -> None:
    """Lay something unseen over a mark, which says a text; nothing where no page asks for it."""
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


def doubtful_note(picture: Any, source: Any, group: str) -> None:
    """Say above a picture why it is not to be relied on."""
    why = doubt(source, group)
    viz = getattr(picture, "viz", None)
    figure = picture if viz is None else viz["figure"].item() if "figure" in viz else None
    if why and isinstance(figure, Figure):
        figure.suptitle(
            plain(f"Do not rely on this: {why}"), color=WORSE, fontsize=SMALL,
            x=0.01, ha="left", fontweight="bold",
        )  # fmt: skip
