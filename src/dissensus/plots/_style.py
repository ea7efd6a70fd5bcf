"""One look for all pictures: colours, canvases, and text that cannot be misread as markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, MaxNLocator

from dissensus._wording import short, short_names

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
