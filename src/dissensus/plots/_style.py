"""The style of all plots: colours, figures, axes, and names that are never read as markup."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
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

from dissensus.dims import SAMPLE
from dissensus.evaluation import doubts
from dissensus.plots._source import sides
from dissensus.wording import short, short_names

PALETTE: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7a7a7a")
"""Okabe and Ito's colours for colour-blind readers, without orange. Dark gold replaces yellow,
which is too light for thin lines; grey replaces black, which is the colour of text."""
DASHES: Final = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
BROKEN: Final = (0, (4, 2))
MARKERS: Final = "os^DvPX"
WIDTH: Final = 6.9
"""Inches: the width of a page's text."""
NARROW: Final = 5.0
"""Inches: in narrower figures, panels are below each other and names are shorter."""
SMALL: Final = 8.5
"""Points: the smallest text of a plot."""
WORSE, BETTER = PALETTE[1], PALETTE[0]
DRAWS: Final = "#8a63b8"
"""Colour of draws and of annotators; no system has it."""

type Size = tuple[float, float | None]
"""Width and height of a figure in inches; a height of None is chosen to fit."""


class Picture(Figure):
    """A Matplotlib figure that pyplot does not manage, so that a notebook shows it once."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", bbox_inches="tight")
        return buffer.getvalue()


@dataclass(frozen=True)
class Style:
    """Colour, line and marker of a system."""

    color: str
    dash: Any
    marker: str


def style(index: int) -> Style:
    """Return the style of the system at this place; colour and line repeat after 28 systems.

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
    """Return the colour of grid lines."""
    return str(mpl.rcParams["grid.color"])


def plain(text: str) -> str:
    r"""Escape dollar signs, which begin a formula in Matplotlib.

    Examples
    --------
    >>> print(plain("a$b"))
    a\$b
    """
    return text.replace("$", r"\$")


def label(name: object, width: int = 24) -> str:
    """Return a name from the data as safe, short text of a plot."""
    return plain(short(name, width))


def labels(names: Sequence[object], width: int = 24) -> list[str]:
    """Return names as text of a plot; names that differ stay different."""
    return [plain(text) for text in short_names(names, width)]


def entry(text: str) -> str:
    """Return text for a legend, from which Matplotlib omits entries that begin with ``_``.

    Examples
    --------
    >>> entry("_a").endswith("_a"), entry("a")
    (True, 'a')
    """
    return "\N{ZERO WIDTH SPACE}" + text if text.startswith("_") else text


def width_of(figsize: Size | None, default: float = WIDTH) -> float:
    """Return the width of a figure."""
    return default if figsize is None else figsize[0]


def letters(width: float, usual: int = 24) -> int:
    """Return the maximum number of letters of a name: fewer on a narrow figure.

    Examples
    --------
    >>> letters(7.0), letters(4.0), letters(4.0, 18)
    (24, 14, 10)
    """
    return usual if width >= NARROW else usual * 7 // 12


def fitted(figsize: Size | None, width: float, height: float) -> tuple[float, float]:
    """Return the given size, with defaults for missing values.

    Examples
    --------
    >>> fitted(None, 7, 3), fitted((4, None), 7, 3), fitted((4, 2), 7, 3)
    ((7, 3), (4, 3), (4, 2))
    """
    if figsize is None:
        return width, height
    return figsize[0], height if figsize[1] is None else figsize[1]


def canvas(ax: Axes | None, figsize: Size | None, width: float, height: float) -> tuple[Any, Axes]:
    """Return figure and axes: the given axes, or new ones."""
    if ax is not None:
        return ax.figure, ax
    figure = Picture(figsize=fitted(figsize, width, height), layout="constrained")
    return figure, figure.add_subplot()


def roc_canvas(ax: Axes | None, figsize: Size | None) -> tuple[Any, Axes]:
    """Return figure and axes of sensitivity against false positive rate, with the diagonal."""
    width = min(width_of(figsize), 5.6)
    figure, ax = canvas(ax, figsize, width, width + 0.2)
    ax.plot([0, 1], [0, 1], color=ink(), linewidth=0.9, linestyle=BROKEN, zorder=0)
    tidy(ax, grid="both")
    for axis in (ax.xaxis, ax.yaxis):
        share_axis(axis)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal",
           xlabel="false positive rate", ylabel="sensitivity")  # fmt: skip
    return figure, ax


def grid_of(
    count: int, figsize: Size | None, columns: int, height: float, **options: Any
) -> list[Axes]:
    """Return axes for ``count`` panels in rows of a ``height``; `subplots` gets the ``options``."""
    columns = max(1, min(count, columns))
    rows = -(-count // columns)
    size = fitted(figsize, WIDTH, height * rows)
    figure = Picture(figsize=size, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for place, spare in enumerate(axes[count:], count):
        spare.set_axis_off()
        # With shared axes, the panel above it is now the last of its column and needs tick labels.
        axes[place - columns].tick_params(labelbottom=True)
    return axes[:count]


def tidy(ax: Axes, *, grid: str | None = "y") -> None:
    """Remove the upper and right frame lines, and the ticks of each axis that has a grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    for name in ("x", "y"):
        if grid in (name, "both"):
            ax.grid(True, axis=name, color=faint(), linewidth=0.6, alpha=0.6)
            ax.tick_params(axis=name, length=0)


def titled(ax: Axes, text: str, **options: Any) -> None:
    """Write the title of a panel."""
    ax.set_title(text, loc="left", fontsize=SMALL + 1, **options)


def rows_axis(ax: Axes, names: Sequence[str]) -> None:
    """Name the rows of a plot; the first row is at the top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    tidy(ax, grid="x")
    share_axis(ax.xaxis)
    ax.tick_params(axis="y", length=0)


def share_axis(axis: Any, digits: int = 10) -> None:
    """Write ticks of shares as .8 or .85, with a maximum number of digits."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value, digits)))


def count_axis(axis: Any) -> None:
    """Write ticks of counts as 500 or 1,000, at whole numbers only."""
    axis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def size_axis(ax: Axes, x: npt.NDArray[np.float64]) -> None:
    """Make a logarithmic horizontal axis with a tick at each number of annotators or items."""
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(x.tolist()))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([f"{value:,.0f}" for value in x])
    ax.set_xlim(x.min() / 1.25, x.max() * 1.25)


def length_axis(ax: Axes, values: npt.NDArray[np.float64]) -> None:
    """Make a logarithmic vertical axis of lengths of intervals, with ticks as at .1, .2, .5."""
    ax.set_yscale("log")
    low, high = values.min() / 1.25, values.max() * 1.25
    ax.set_ylim(low, high)
    ticks = [m * 10.0**e for e in range(-5, 1) for m in (1, 2, 5)]
    ax.yaxis.set_major_locator(FixedLocator([t for t in ticks if low <= t <= high]))
    ax.yaxis.set_minor_locator(NullLocator())
    share_axis(ax.yaxis)


def _tick(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    if text in {"0", "-0"}:
        return "0"
    text = text.replace("-", "\N{MINUS SIGN}")
    return text.replace("0.", ".", 1) if text.startswith(("0.", "\N{MINUS SIGN}0.")) else text


def target_line(ax: Axes, height: float) -> None:
    """Draw a broken horizontal line."""
    ax.axhline(height, color=ink(), linewidth=0.9, linestyle=BROKEN, zorder=0)


def dots(ax: Axes, x: npt.ArrayLike, y: npt.ArrayLike, size: float, color: str) -> None:
    """Draw many small dots as one path, whose SVG has 2 % of the size of a scatter plot's."""
    start = np.stack(np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float)), axis=-1)
    # Dots are the round ends of very short lines; a line of length 0 has no ends.
    end = start + np.array([1e-3, 0.0])
    vertices = np.stack([start, end], axis=1).reshape(-1, 2)
    path = Path(vertices, [Path.MOVETO, Path.LINETO] * len(start))
    path.should_simplify = False
    ax.add_patch(
        PathPatch(path, facecolor="none", edgecolor=color, alpha=0.6, linewidth=size,
                  capstyle="round", snap=False)
    )  # fmt: skip


BOLD: Final = 0.86
"""Share of the letters that a line holds if they are bold."""


def wrapped(text: str, width: float, indent: str = "    ") -> list[str]:
    """Return small text as lines that are at most ``width`` inches long."""
    letters = max(24, int(width * 72 / (0.58 * SMALL)))
    return textwrap.wrap(text, letters, subsequent_indent=indent)


def note(figure: Any, text: str) -> None:
    """Write a note below a plot, unless the text is empty."""
    if text:
        width = figure.bbox.width / figure.dpi  # also of a subfigure
        lines = [line for part in text.splitlines() for line in wrapped(part, width, "")]
        figure.supxlabel("\n".join(lines), fontsize=SMALL, x=0.0, ha="left", style="italic")


_OF_MODEL: Final = ("metrics", "companion", "comparison", "certainty", "posterior", "expected_risk")


def _reason(source: Any, group: str) -> str:
    """Return the reason that a group of an evaluation is unreliable, or an empty text."""
    if not isinstance(source, xr.DataTree) or "statistics" not in source.children:
        return ""
    if group in _OF_MODEL:
        models = sides(source) if group == "companion" else [source]
        return doubts.reasons(
            [doubts.of_metrics(side) for side in models if "reference_reliability" in side.attrs]
        )
    if group in {"components", "accuracy"}:
        return doubts.of_group(source, group)
    if group == "discrepancy":
        drawn = source[group].to_dataset().data_vars.values()
        return doubts.of_bootstrap(next(array for array in drawn if set(SAMPLE) <= set(array.dims)))
    if group == "weighted_reliability":
        return doubts.of_ground_truth(source, "truth_accuracy")
    return ""


def warn_above(picture: Any, source: Any, group: str) -> None:
    """Write the reason that a plot is unreliable above the plot, if there is a reason."""
    reason = _reason(source, group)
    viz = getattr(picture, "viz", None)
    figure = picture if viz is None else viz["figure"].item() if "figure" in viz else None
    if reason and isinstance(figure, Figure):
        lines = wrapped(f"Do not rely on this: {reason}", BOLD * figure.get_figwidth(), "")
        figure.suptitle(
            plain("\n".join(lines)), color=WORSE, fontsize=SMALL,
            x=0.01, ha="left", fontweight="bold",
        )  # fmt: skip
