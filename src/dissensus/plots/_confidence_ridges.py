"""How each annotator uses the levels of confidence: one ridge above the other."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from scipy.ndimage import gaussian_filter1d

from dissensus.dims import ANNOTATOR
from dissensus.errors import ArgumentError
from dissensus.kernels.types import Floats
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import counted

_FEW: Final = 12
"""Up to so many different confidences, each has a bar."""
_GRID: Final = 400
_SMOOTH: Final = 0.025
"""Standard deviation of the kernel."""
_ROOM: Final = 0.06
"""Of the axis, from one name of a level to the next."""
_ALL: Final = "all annotators"


def confidence_ridges(
    source: Any,
    *,
    limit: int = 30,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the distribution of each annotator's confidence, in the order of the means.

    Bars, if there are up to 12 different confidences: the share of each among the annotator's
    labels, all on one scale. Of more, a density under a Gaussian kernel (standard deviation .025,
    reflected at 0 and 1), each ridge up to the same height. The dot is the mean. At the bottom
    stands the distribution of all labels.

    Parameters
    ----------
    source : Dataset or DataTree
        Annotations with confidence, or an evaluation of such.
    limit : int
        At most so many annotators: of more, some evenly spread over the order of their means.
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
        If there is no confidence.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({
    ...     "item": [1, 1, 2, 2], "annotator": ["a", "b"] * 2, "label": ["x", "y", "x", "x"],
    ...     "confidence": [0.5, 1, 0.5, 0.75]}, confidence="confidence")
    >>> [text.get_text() for text in dx.plots.confidence_ridges(ann).axes[0].get_yticklabels()]
    ['b', 'a', 'all annotators']
    """
    annotations = pieces.group(source, "annotations")
    if not {"confidence", "annotator_code"} <= set(annotations.data_vars):
        raise ArgumentError(
            "source", expected="annotations with confidence", found="none",
            hint="Name the column when they are read: dissensus.annotations(..., confidence=)",
        )  # fmt: skip
    who, sure = (annotations[name].to_numpy() for name in ("annotator_code", "confidence"))
    values = np.unique(sure)
    order, total = _by_mean(who, sure)
    shown = order[pieces.thin(len(order), limit)]
    groups = [sure[who == k] for k in shown] + [sure]
    heading = [*look.labels(annotations[ANNOTATOR].to_numpy()[shown].tolist(), 20), _ALL]
    figure, ax = look.canvas(ax, figsize, look.width_of(figsize), 0.9 + 0.3 * (len(shown) + 2))
    (_bars if len(values) <= _FEW else _densities)(ax, groups, values)
    _frame(ax, heading, values)
    if total > len(shown):
        look.note(figure, f"{len(shown)} of {counted(total, 'annotator')}, "
                          "evenly spread over their means.")  # fmt: skip
    return figure


def _by_mean(who: npt.NDArray[np.integer], sure: Floats) -> tuple[npt.NDArray[np.intp], int]:
    """Return annotators, the surest first, and how many there are."""
    count = np.bincount(who)
    mean = np.bincount(who, sure) / np.maximum(count, 1)
    there = np.flatnonzero(count)
    return there[np.argsort(-mean[there], kind="stable")], len(there)


def _color(row: int, rows: int) -> str:
    """All labels are no annotator."""
    return look.PALETTE[-1] if row == rows - 1 else look.DRAWS


def _heights(row: int, rows: int) -> float:
    """Return where a ridge stands; that of all a little apart."""
    return row + (0.4 if row == rows - 1 else 0.0)


def _bars(ax: Axes, groups: list[Floats], values: Floats) -> None:
    """Draw the share of each level as a bar."""
    wide = 0.7 * np.diff(values).min() if len(values) > 1 else 0.05
    shares = [np.array([(one == value).mean() for value in values]) for one in groups]
    most = max(share.max() for share in shares)
    for row, (one, share) in enumerate(zip(groups, shares, strict=True)):
        base, color = _heights(row, len(groups)), _color(row, len(groups))
        ax.bar(values, -0.8 * share / most, wide, bottom=base, color=color, alpha=0.5, linewidth=0)
        _foot(ax, base, one, color)


def _densities(ax: Axes, groups: list[Floats], _: Floats) -> None:
    """Draw a density for each, those in front over those behind."""
    middle = (np.arange(_GRID) + 0.5) / _GRID
    for row, one in enumerate(groups):
        base, color = _heights(row, len(groups)), _color(row, len(groups))
        count = np.histogram(one, _GRID, (0.0, 1.0))[0].astype(np.float64)
        ridge = gaussian_filter1d(count, _SMOOTH * _GRID, mode="reflect")
        ridge = base - 0.95 * ridge / ridge.max()
        ax.fill_between(middle, ridge, base, color=color, alpha=0.3, linewidth=0, zorder=row)
        ax.plot(middle, ridge, color=color, linewidth=0.9, zorder=row)
        _foot(ax, base, one, color)


def _foot(ax: Axes, base: float, one: Floats, color: str) -> None:
    ax.axhline(base, color=look.faint(), linewidth=0.6, zorder=0)
    ax.plot(one.mean(), base, color=look.ink(), marker="o", markersize=3.5, linestyle="none",
            markeredgecolor=color, zorder=100, clip_on=False)  # fmt: skip


def _frame(ax: Axes, names: list[str], values: Floats) -> None:
    rows = len(names)
    ax.set_yticks([_heights(row, rows) for row in range(rows)], names)
    ax.set_ylim(_heights(rows - 1, rows) + 0.15, -1.05)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if len(values) <= _FEW:
        named = _with_room(values)
        ax.set_xticks(values[named])
        # Levels in equal steps are as a rule no round numbers: 1/3, 1/11.
        look.share_axis(ax.xaxis, 2 if np.diff(values[named]).min(initial=1.0) >= 0.01 else 4)
    else:
        look.share_axis(ax.xaxis)
    ax.set_xlabel("confidence")


def _with_room(values: Floats) -> list[int]:
    """Return which levels are named: from the highest down, those with room for a name."""
    room = _ROOM * (values[-1] - values[0])
    named: list[int] = []
    for place in reversed(range(len(values))):
        if not named or values[named[-1]] - values[place] >= room:
            named.append(place)
    return named[::-1]
