"""Which items to send back to the annotators, and how far that takes the ground truth."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import ITEM
from dissensus.errors import ArgumentError, brief
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import counted, digits_for, share

_NEEDED: Final = {"gain", "probability_right", "probability_right_after"}
_NARROW: Final = 5.5
_FEW: Final = 4
"""Of fewer items half has no point of its own."""
_ROW: Final = 0.27
"""Inches for an item's name."""


def items_to_review(source: Any, *, limit: int = 10, figsize: Size | None = None) -> Any:
    """Draw the items to send back first, and the expected accuracy along how many are sent back.

    On the left, from how probably an item's leading label is right (open) to how probably that is
    expected after further labels (filled). On the right, the share of all items on which the ground
    truth is then expected to be right; the dot is where half of what there is to gain is gained.

    Parameters
    ----------
    source : Dataset or DataTree
        What `dissensus.items_to_review` returns, or a DataTree with it as the group
        ``items_to_review``.
    limit : int
        At most so many items are named.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit. In a narrow figure one
        panel is below the other.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the source holds no gains of items, or the limit is no whole number from 1 on.

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = [["x", "x", "x"], ["y", "y", "y"]] * 8 + [["x", "x", "y"], ["y", None, None]]
    >>> fit = dx.models.symmetric_confusion.fit(
    ...     dx.from_matrix(votes), random_seed=1, progressbar=False)
    >>> figure = dx.plots.items_to_review(dx.items_to_review(fit, further=2))
    >>> [ax.get_xlabel() for ax in figure.axes]
    ['probability of being right', 'items sent back']
    """
    data = pieces.group(source, "items_to_review")
    if not set(data) >= _NEEDED or not data.sizes.get(ITEM):
        raise ArgumentError(
            "source", expected="gains of items, as dissensus.items_to_review returns",
            found=f"variables {list(data.data_vars)}",
        )  # fmt: skip
    if not isinstance(limit, int | np.integer) or isinstance(limit, bool) or limit < 1:
        raise ArgumentError("limit", expected="a whole number, 1 or more", found=brief(limit))
    data = data.isel({ITEM: np.argsort(-data["gain"].to_numpy(), kind="stable")})
    some = int((data["gain"] > 0).sum())
    shown = min(int(limit), max(some, 1))
    left, right = _axes(figsize, shown)
    _first(left, data.isel({ITEM: slice(shown)}))
    _along(right, data, max(some, 1))
    further = int(data.attrs.get("further", 1))
    gap = "\n" if look.width_of(figsize) < _NARROW else " "
    text = f"{_labels(further)} for each item that is sent back.{gap}{_rest(some, shown)}"
    look.note(left.figure, text)
    return left.figure


def _axes(figsize: Size | None, rows: int) -> tuple[Axes, Axes]:
    names = 0.95 + _ROW * rows
    narrow = look.width_of(figsize) < _NARROW
    height = names + 2.8 if narrow else max(names, 2.9)
    figure = look.Picture(figsize=look.fitted(figsize, look.WIDTH, height), layout="constrained")
    shape, ratios = (1, 2), {"width_ratios": [1.0, 1.1]}
    if narrow:
        shape, ratios = (2, 1), {"height_ratios": [names, 2.5]}
    left, right = figure.subplots(*shape, squeeze=False, gridspec_kw=ratios).flat
    return left, right


def _first(ax: Axes, data: xr.Dataset) -> None:
    """Draw the first items from now to after, one below the other."""
    before = data["probability_right"].to_numpy()
    after = data["probability_right_after"].to_numpy()
    row, color = np.arange(len(before)), look.style(0).color
    ax.hlines(row, before, after, color=color, linewidth=1.6, alpha=0.55)
    ax.plot(before, row, "o", markersize=5.5, markerfacecolor="white", color=color)
    ax.plot(after, row, "o", markersize=5.5, color=color)
    for place, (gain, end) in enumerate(zip(data["gain"].to_numpy(), after, strict=True)):
        ax.annotate(f"+{share(gain, 3 if gain < 0.05 else 2)}", (end, place), xytext=(6, 0),
                    textcoords="offset points", va="center", fontsize=look.SMALL)  # fmt: skip
    ax.set_yticks(row, look.labels(list(data[ITEM].to_numpy()), 18), fontsize=look.SMALL)
    look.tidy(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(row) - 0.4, -0.6)
    low, high = float(before.min()), float(after.max())
    room = max(high - low, 0.05)
    ax.set_xlim(low - 0.1 * room, min(high + 0.28 * room, 1 + 0.28 * room))
    look.share_axis(ax.xaxis)
    ax.set_xlabel("probability of being right")
    ax.set_title("The first items to send back", loc="left", fontsize=look.SMALL + 1)


def _along(ax: Axes, data: xr.Dataset, some: int) -> None:
    """Draw the expected accuracy along the items that have any gain."""
    gain = data["gain"].to_numpy()[:some]
    now = float(data["probability_right"].mean())
    along = now + np.concatenate([[0.0], np.cumsum(gain)]) / data.sizes[ITEM]
    color = look.style(0).color
    ax.axhline(now, color=look.ink(), linewidth=0.9, linestyle=(0, (4, 2)))
    ax.fill_between(np.arange(some + 1), now, along, color=color, alpha=0.14, linewidth=0)
    ax.plot(np.arange(some + 1), along, color=color, linewidth=1.6)
    places = digits_for([along[-1] - now])
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    look.count_axis(ax.xaxis)
    ax.set_xlim(0, 1.02 * some)
    room = max(float(along[-1]) - now, 0.004)
    ax.set_ylim(now - 0.14 * room, float(along[-1]) + 0.12 * room)
    ax.annotate(f"now {share(now, places)}", (1, now), xycoords=("axes fraction", "data"),
                xytext=(-2, -3), textcoords="offset points", ha="right", va="top",
                fontsize=look.SMALL)  # fmt: skip
    if gain.any():
        half = int(np.searchsorted(np.cumsum(gain), 0.5 * gain.sum())) + 1
        marks = {half: (7, -4, "left", "top"), some: (-2, -10, "right", "top")}
        if half > 0.7 * some or some < _FEW:  # no room between the two, or nothing
            del marks[half]
            marks[some] = (-2, -10, "right", "top")
        for at, (x, y, side, edge) in marks.items():
            ax.plot([at], [along[at]], "o", markersize=5.5, color=color, clip_on=False)
            ax.annotate(f"{counted(at, 'item')}: {share(float(along[at]), places)}",
                        (at, along[at]), xytext=(x, y), textcoords="offset points", ha=side,
                        va=edge, color=color, fontsize=look.SMALL)  # fmt: skip
    ax.set_xlabel("items sent back")
    ax.set_title("Expected accuracy of the ground truth", loc="left", fontsize=look.SMALL + 1)


def _labels(further: int) -> str:
    return "One further label" if further == 1 else f"{further} further labels"


def _rest(some: int, shown: int) -> str:
    if not some:
        return "No item gains anything by them."
    rest = some - shown
    return "All others gain nothing." if rest <= 0 else f"{counted(rest, 'more item')} gain too."
