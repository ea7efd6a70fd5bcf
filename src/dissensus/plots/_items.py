"""All items: certainty, plausibilities of three labels, expected risk, items to review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes

from dissensus.data.plausibility import plausibility_of
from dissensus.dims import ITEM, LABEL, RELIABILITY, SAMPLE
from dissensus.errors import ArgumentError, shown
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._names import are_wanted, tip
from dissensus.plots._style import Size
from dissensus.wording import counted, digits_for, number, share, short

# Certainty.


_POINTS: Final = 300
_LINES: Final = 6
_NAMED: Final = 40
"""Number of the least certain items that have a text on a web page."""


def certainty(
    source: Any,
    *,
    top: int | Sequence[int] | None = None,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw annotation certainty from the least to the most certain item.

    There is a line for each reliability, darker for a larger reliability, and a panel for each size
    of the top set.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, its group ``certainty``, or the result of `dissensus.annotation_certainty`:
        (item), or (reliability, item).
    top : int or sequence of int, optional
        Sizes of the top set; all in the source by default.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on, for one size only.

    Notes
    -----
    After Stutz et al. (2023), Figures 2 and 7.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")})
    >>> result = dx.evaluate(ann, draws=20, random_seed=1, progressbar=False)
    >>> dx.plots.certainty(result).axes[0].get_ylabel()
    'certainty of the top label'
    """
    sizes = _sizes(pieces.group(source, "certainty"), top, single=ax is not None)
    axes = [ax] if ax is not None else look.grid_of(
        len(sizes), figsize, int(look.width_of(figsize) // 2.1), 2.7, sharey=True
    )  # fmt: skip
    for panel, (size, values) in zip(axes, sizes.items(), strict=True):
        _certainties(panel, size, values, legend=panel is axes[-1])
    return axes[0].figure


def _sizes(data: xr.Dataset, top: Any, *, single: bool) -> dict[int, xr.DataArray]:
    """Return the certainties that ``top`` selects, by size of the top set."""
    known = {}
    for name, values in data.data_vars.items():
        stem, _, last = str(name).rpartition("_")
        if str(name) == "annotation_certainty":
            known[1] = values
        elif stem == "annotation_certainty" and last.isdigit():
            known[int(last)] = values
    chosen = list(known)[: 1 if single else None] if top is None else np.atleast_1d(top).tolist()
    if not chosen or not set(chosen) <= set(known) or (single and len(chosen) > 1):
        raise ArgumentError(
            "top",
            expected=f"{'one' if single else 'some'} of {shown(list(known)) or 'no sizes known'}",
            found=repr(top),
        )
    return {size: known[size] for size in chosen}


def _certainties(ax: Axes, size: int, values: xr.DataArray, *, legend: bool) -> None:
    if RELIABILITY not in values.dims:
        values = values.expand_dims(RELIABILITY)
    lines = pieces.thin(values.sizes[RELIABILITY], _LINES)
    known = values[RELIABILITY].to_numpy() if RELIABILITY in values.coords else None
    place = pieces.thin(values.sizes[ITEM], _POINTS)
    for rank, line in enumerate(lines, 1):
        ax.plot(
            place + 1,
            np.sort(values.isel({RELIABILITY: int(line)}).to_numpy())[place],
            color=look.ink(),
            alpha=0.3 + 0.7 * rank / len(lines),
            linewidth=1.0 + 0.8 * rank / len(lines),
            label="" if known is None else number(float(known[line])),
            marker="o" if len(place) == 1 else None,
            markersize=4,
        )
    _name_least_certain(ax, values.isel({RELIABILITY: int(lines[-1])}))
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    lowest = float(np.nanmin(values.to_numpy())) if values.size else 0.0
    ax.set_ylim(max(0.0, np.floor(10 * lowest - 0.5) / 10), 1.02)
    ax.set_xlim(0, values.sizes[ITEM] + 1)
    look.count_axis(ax.xaxis)
    ax.set_xlabel("items, least certain first")
    ax.set_ylabel(f"certainty of the top {'label' if size == 1 else f'{size} labels'}")
    if legend and known is not None and len(lines) > 1:
        ax.legend(title="reliability", loc="best", frameon=False, fontsize=look.SMALL,
                  title_fontsize=look.SMALL, labelspacing=0.2, handlelength=1.4)  # fmt: skip


def _name_least_certain(ax: Axes, values: xr.DataArray) -> None:
    """Add texts to the least certain items, if texts are wanted."""
    if ITEM not in values.coords or not are_wanted():
        return
    order = np.argsort(values.to_numpy(), kind="stable")[:_NAMED]
    for place, k in enumerate(order, 1):
        value = float(values[k])
        tip(ax, place, value, f"{short(values[ITEM].to_numpy()[k])}: certainty {share(value)}")


# Three labels in a triangle.


_CORNERS: Final = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
_DRAWS: Final = 300
_ITEMS: Final = 2000


def simplex(
    source: Any,
    items: Any = None,
    *,
    means: bool = True,
    limit: int = 5,
    figsize: Size | None = None,
) -> Any:
    """Draw plausibilities of three labels as points of a triangle, one panel for each item.

    At a corner, all plausibility is on one label; in the middle, all three are equal. Dotted lines
    separate the regions in which each label is the most plausible. Dots are draws, rings their
    means.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, a fit, or a dense plausibility (chain, draw, item, label) of 3 labels.
    items : item or sequence of items, optional
        Items to draw; by default a selection from the most to the least certain.
    means : bool
        Whether to draw a first panel with the means of all items.
    limit : int
        Maximum number of items.

    Notes
    -----
    After Stutz et al. (2023), Figure 2.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("abc")})
    >>> fit = dx.models.dirichlet.fit(ann, draws=50, random_seed=1)
    >>> len(dx.plots.simplex(fit, items=[1]).axes)  # the means, and item 1
    2
    """
    theta = plausibility_of(source)
    if LABEL not in theta.dims or theta.sizes[LABEL] != 3:
        labels = theta.sizes.get(LABEL, "another form, with candidates")
        raise ArgumentError("plausibility", expected="exactly 3 labels", found=str(labels))
    theta = theta.transpose(..., ITEM, LABEL)
    average = theta.mean([dim for dim in SAMPLE if dim in theta.dims])
    places = _selection(average, limit) if items is None else pieces.places(average, items, "items")
    places = places[:limit]
    panels = len(places) + bool(means)
    columns = max(1, min(panels, int(look.width_of(figsize) // 1.8)))
    width = look.width_of(figsize, min(look.WIDTH, 2.3 * columns))
    height = min(width / columns, 2.3) * 0.95 + 0.25
    size = (width, None if figsize is None else figsize[1])
    axes = look.grid_of(panels, size, columns, height)
    figure = axes[0].figure
    corners = look.labels(list(theta[LABEL].to_numpy()), 14)
    if means:
        _means(axes.pop(0), average, corners)
    for ax, place in zip(axes, places, strict=True):
        _draws_of(ax, theta.isel({ITEM: place}), average.isel({ITEM: place}), corners)
    if theta.sizes[ITEM] > len(places) and not means:
        look.note(figure, f"{len(places)} of {theta.sizes[ITEM]:,} items.")
    return figure


def _selection(average: xr.DataArray, limit: int) -> list[int]:
    """Return places of items from the most to the least certain, without items that look alike."""
    coarse = average.to_numpy().round(1)
    distinct = np.unique(coarse, axis=0, return_index=True)[1]
    order = distinct[np.argsort(-coarse[distinct].max(axis=1), kind="stable")]
    return [int(order[k]) for k in pieces.thin(len(order), limit)]


def _triangle(ax: Axes, corners: list[str], title: str) -> None:
    ax.set_axis_off()
    ax.plot(*np.vstack([_CORNERS, _CORNERS[:1]]).T, color=look.ink(), linewidth=1)
    middle = _CORNERS.mean(axis=0)
    for k in range(3):
        edge = (_CORNERS[k] + _CORNERS[(k + 1) % 3]) / 2
        ax.plot(*np.stack([middle, edge]).T, color=look.ink(), linewidth=0.8, alpha=0.5,
                linestyle=":")  # fmt: skip
    ax.text(-0.02, -0.04, corners[0], ha="left", va="top", fontsize=look.SMALL)
    ax.text(1.02, -0.04, corners[1], ha="right", va="top", fontsize=look.SMALL)
    ax.text(0.5, _CORNERS[2, 1] + 0.03, corners[2], ha="center", va="bottom", fontsize=look.SMALL)
    ax.set_aspect("equal")
    ax.set_xlim(-0.08, 1.08)
    ax.set_ylim(-0.16, 1.02)
    ax.set_title(title, fontsize=look.SMALL + 0.5)


def _points(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray((values @ _CORNERS).T)


def _means(ax: Axes, average: xr.DataArray, corners: list[str]) -> None:
    """Draw the mean plausibilities of each item; nearly equal means are one larger dot."""
    values = average.to_numpy()[pieces.thin(average.sizes[ITEM], _ITEMS)]
    cell, count = np.unique((values * 25).round() / 25, axis=0, return_counts=True)
    _triangle(ax, corners, f"means of all {average.sizes[ITEM]:,} items")
    size = 5 + 60 * np.sqrt(count / max(1, len(values)))
    x, y = _points(cell)
    ax.scatter(x, y, s=size, color=look.ink(), alpha=0.45, linewidths=0)


def _draws_of(ax: Axes, theta: xr.DataArray, mean: xr.DataArray, corners: list[str]) -> None:
    draws = theta.to_numpy().reshape(-1, 3)
    _triangle(ax, corners, f"item {look.label(mean[ITEM].item(), 18)}")
    if len(draws) > 1:
        x, y = _points(draws[pieces.thin(len(draws), _DRAWS)])
        look.dots(ax, x, y, 2.2, look.DRAWS)
    x, y = _points(mean.to_numpy()[None])
    ax.scatter(x, y, s=45, facecolors="none", edgecolors=look.ink(),
               linewidths=1.6)  # fmt: skip


# Expected risk.


def expected_risk(
    source: Any,
    *,
    bins: int = 20,
    ci_prob: float | None = None,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw a histogram of the items' expected risk, with intervals over the draws.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation with ``risk=``, or the result of `dissensus.expected_risk`.
    bins : int
        Number of bars.
    ci_prob : float, optional
        Probability of the equal-tailed intervals; ArviZ's setting by default.

    Notes
    -----
    After Stutz et al. (2023), Figure 8.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")})
    >>> fit = dx.models.dirichlet.fit(ann, draws=50, random_seed=1)
    >>> risk = dx.expected_risk(fit, {"a": 0, "b": 1})
    >>> dx.plots.expected_risk(risk).axes[0].get_xlabel()
    'expected risk'
    """
    values = pieces.chosen(pieces.group(source, "expected_risk"), None)
    if not {*SAMPLE, ITEM} <= set(values.dims):
        raise ArgumentError(
            "source", expected=f"dims {(*SAMPLE, ITEM)}", found=f"dims {values.dims}"
        )
    prob = pieces.interval_settings("eti", ci_prob)[1]
    flat = values.transpose(*SAMPLE, ITEM).to_numpy().reshape(-1, values.sizes[ITEM])
    low, high = float(flat.min()), float(flat.max())
    edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
    place = np.clip(np.searchsorted(edges, flat, side="right") - 1, 0, bins - 1)
    counts = np.stack([(place == k).sum(axis=1) for k in range(bins)])
    figure, ax = look.canvas(ax, figsize, look.WIDTH, 2.6)
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges) * 0.9
    ax.bar(middle, counts.mean(axis=1), width=width, color=look.DRAWS, alpha=0.75)
    bounds = np.quantile(counts, [(1 - prob) / 2, (1 + prob) / 2], axis=1)
    ax.vlines(middle, *bounds, color=look.ink(), linewidth=1.3)
    look.tidy(ax, grid="y")
    look.share_axis(ax.xaxis)
    ax.set_xlabel("expected risk")
    look.count_axis(ax.yaxis)
    ax.set_ylabel("items")
    return figure


# Items to review.


_NARROW: Final = 5.5
_FEW: Final = 4
"""With fewer items that have a gain, the dots of half and of all of the gain would overlap."""


def items_to_review(source: Any, *, limit: int = 10, figsize: Size | None = None) -> Any:
    """Draw the items to review first, and the expected accuracy against the number reviewed.

    Left: the probability that an item's most probable label is right, now (open dots) and after
    further labels (filled dots). Right: the expected share of items with a right label; dots are at
    half of the total gain and at all of it.

    Parameters
    ----------
    source : Dataset or DataTree
        The result of `dissensus.items_to_review`, or a tree with the group ``items_to_review``.
    limit : int
        Maximum number of items with names.

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = [["x", "x", "x"], ["y", "y", "y"]] * 8 + [["x", "x", "y"], ["y", None, None]]
    >>> fit = dx.models.symmetric_confusion.fit(
    ...     dx.from_matrix(votes), random_seed=1, progressbar=False)
    >>> figure = dx.plots.items_to_review(dx.items_to_review(fit, further=2))
    >>> [ax.get_xlabel() for ax in figure.axes]
    ['probability of being right', 'items reviewed']
    """
    needed = ("gain", "probability_right", "probability_right_after")
    data = pieces.returned(source, "items_to_review", needed, dims=(ITEM,))
    data = data.isel({ITEM: np.argsort(-data["gain"].to_numpy(), kind="stable")})
    gaining = int((data["gain"] > 0).sum())
    shown_items = min(limit, max(gaining, 1))
    left, right = _review_axes(figsize, shown_items)
    _before_and_after(left, data.isel({ITEM: slice(shown_items)}))
    _accuracy_along(right, data, max(gaining, 1))
    labels = counted(int(data.attrs.get("further", 1)), "further label")
    gap = "\n" if look.width_of(figsize) < _NARROW else " "
    rest = gaining - shown_items
    text = (
        f"{counted(rest, 'more item')} {'gains' if rest == 1 else 'gain'}, too."
        if rest > 0
        else "All other items have no gain." if gaining else "No item has a gain."
    )  # fmt: skip
    look.note(left.figure, f"Gain from {labels} per item.{gap}{text}")
    return left.figure


def _review_axes(figsize: Size | None, rows: int) -> tuple[Axes, Axes]:
    names = 0.95 + 0.27 * rows
    if look.width_of(figsize) < _NARROW:
        shape, height, ratios = (2, 1), names + 2.8, {"height_ratios": [names, 2.5]}
    else:
        shape, height, ratios = (1, 2), max(names, 2.9), {"width_ratios": [1.0, 1.1]}
    figure = look.Picture(figsize=look.fitted(figsize, look.WIDTH, height), layout="constrained")
    left, right = figure.subplots(*shape, squeeze=False, gridspec_kw=ratios).flat
    return left, right


def _before_and_after(ax: Axes, data: xr.Dataset) -> None:
    before = data["probability_right"].to_numpy()
    after = data["probability_right_after"].to_numpy()
    row, color = np.arange(len(before)), look.style(0).color
    ax.hlines(row, before, after, color=color, linewidth=1.6, alpha=0.55)
    ax.plot(before, row, "o", markersize=5.5, markerfacecolor="white", color=color)
    ax.plot(after, row, "o", markersize=5.5, color=color)
    for place, (gain, end) in enumerate(zip(data["gain"].to_numpy(), after, strict=True)):
        ax.annotate(f"+{share(gain, 3 if gain < 0.05 else 2)}", (end, place), xytext=(6, 0),
                    textcoords="offset points", va="center", fontsize=look.SMALL)  # fmt: skip
    look.rows_axis(ax, look.labels(list(data[ITEM].to_numpy()), 18))
    ax.tick_params(axis="y", labelsize=look.SMALL)
    low, high = float(before.min()), float(after.max())
    room = max(high - low, 0.05)
    ax.set_xlim(low - 0.1 * room, min(high + 0.28 * room, 1 + 0.28 * room))
    ax.set_xlabel("probability of being right")
    look.titled(ax, "Items to review first")


def _accuracy_along(ax: Axes, data: xr.Dataset, count: int) -> None:
    """Draw the expected accuracy along the items with a gain."""
    gain = data["gain"].to_numpy()[:count]
    now = float(data["probability_right"].mean())
    along = now + np.concatenate([[0.0], np.cumsum(gain)]) / data.sizes[ITEM]
    color = look.style(0).color
    ax.axhline(now, color=look.ink(), linewidth=0.9, linestyle=look.BROKEN)
    ax.fill_between(np.arange(count + 1), now, along, color=color, alpha=0.14, linewidth=0)
    ax.plot(np.arange(count + 1), along, color=color, linewidth=1.6)
    digits = digits_for([along[-1] - now])
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    look.count_axis(ax.xaxis)
    ax.set_xlim(0, 1.02 * count)
    room = max(float(along[-1]) - now, 0.004)
    ax.set_ylim(now - 0.14 * room, float(along[-1]) + 0.2 * room)
    ax.annotate(f"now {share(now, digits)}", (1, now), xycoords=("axes fraction", "data"),
                xytext=(-2, -3), textcoords="offset points", ha="right", va="top",
                fontsize=look.SMALL)  # fmt: skip
    if gain.any():
        half = int(np.searchsorted(np.cumsum(gain), 0.5 * gain.sum())) + 1
        # The curve is concave: the last text is above its end, the other below its middle.
        marks = {half: (7, -4, "left", "top"), count: (0, 5, "right", "bottom")}
        if half < count and (half > 0.7 * count or count < _FEW):  # no room for both texts
            del marks[half]
        for at, (x, y, side, edge) in marks.items():
            ax.plot([at], [along[at]], "o", markersize=5.5, color=color, clip_on=False)
            ax.annotate(f"{counted(at, 'item')}: {share(float(along[at]), digits)}",
                        (at, along[at]), xytext=(x, y), textcoords="offset points", ha=side,
                        va=edge, color=color, fontsize=look.SMALL)  # fmt: skip
    ax.set_xlabel("items reviewed")
    look.titled(ax, "Expected accuracy of the ground truth")
