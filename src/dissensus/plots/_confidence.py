"""Confidence of annotators: its distribution, errors by confidence, and difficulty of items."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from scipy.ndimage import gaussian_filter1d

from dissensus.dims import ANNOTATOR, ITEM, LEVEL, SAMPLE
from dissensus.errors import ArgumentError
from dissensus.kernels.types import Floats
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.statistics._confidence_check import levels_of
from dissensus.wording import counted, share

# The distribution of each annotator.


_FEW: Final = 12
"""Up to this number of levels, each level has a bar."""
_GRID: Final = 400


def confidence_ridges(
    source: Any,
    *,
    limit: int = 30,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the distribution of each annotator's confidence, ordered by the means.

    With up to 12 levels, bars are the shares of the levels, on one scale. With more, ridges are
    densities under a Gaussian kernel (standard deviation .025, reflected at 0 and 1), of equal
    height. Dots are means. The last row is the distribution of all labels.

    Parameters
    ----------
    source : Dataset or DataTree
        Annotations with confidence, or an evaluation of such.
    limit : int
        Maximum number of annotators, evenly spread over the order of their means.

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
    code, confidence = (annotations[n].to_numpy() for n in ("annotator_code", "confidence"))
    count = np.bincount(code)
    mean = np.bincount(code, confidence) / np.maximum(count, 1)
    present = np.flatnonzero(count)
    order = present[np.argsort(-mean[present], kind="stable")]
    chosen = order[pieces.thin(len(order), limit)]
    groups = [confidence[code == k] for k in chosen] + [confidence]
    names = look.labels(annotations[ANNOTATOR].to_numpy()[chosen].tolist(), 20)
    figure, ax = look.canvas(ax, figsize, look.width_of(figsize), 0.9 + 0.3 * (len(chosen) + 2))
    levels = np.unique(confidence)
    bases = [float(row) for row in range(len(chosen))] + [len(chosen) + 0.4]
    (_bars if len(levels) <= _FEW else _densities)(ax, groups, bases, levels)
    ax.set_yticks(bases, [*names, "all annotators"])
    ax.set_ylim(bases[-1] + 0.15, -1.05)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    look.share_axis(ax.xaxis)
    if len(levels) <= _FEW:
        _level_ticks(ax, levels)
    ax.set_xlabel("confidence")
    text = f"{len(chosen)} of {counted(len(order), 'annotator')}, evenly spread over their means."
    look.note(figure, text if len(order) > len(chosen) else "")
    return figure


def _color(row: int, rows: int) -> str:
    return look.PALETTE[-1] if row == rows - 1 else look.DRAWS


def _bars(ax: Axes, groups: list[Floats], bases: list[float], levels: Floats) -> None:
    """Draw the share of each level as a bar."""
    width = 0.7 * np.diff(levels).min() if len(levels) > 1 else 0.05
    shares = [np.array([(group == level).mean() for level in levels]) for group in groups]
    scale = 0.8 / max(values.max() for values in shares)
    for row, (base, group, values) in enumerate(zip(bases, groups, shares, strict=True)):
        color = _color(row, len(bases))
        ax.bar(levels, -scale * values, width, bottom=base, color=color, alpha=0.5, linewidth=0)
        _base(ax, base, group, color)


def _densities(ax: Axes, groups: list[Floats], bases: list[float], _: Floats) -> None:
    """Draw a density of each, those below in front."""
    middle = (np.arange(_GRID) + 0.5) / _GRID
    for row, (base, group) in enumerate(zip(bases, groups, strict=True)):
        color = _color(row, len(bases))
        count = np.histogram(group, _GRID, (0.0, 1.0))[0].astype(np.float64)
        density = gaussian_filter1d(count, 0.025 * _GRID, mode="reflect")
        height = base - 0.95 * density / density.max()
        ax.fill_between(middle, height, base, color=color, alpha=0.3, linewidth=0, zorder=row)
        ax.plot(middle, height, color=color, linewidth=0.9, zorder=row)
        _base(ax, base, group, color)


def _base(ax: Axes, base: float, group: Floats, color: str) -> None:
    ax.axhline(base, color=look.faint(), linewidth=0.6, zorder=0)
    ax.plot(group.mean(), base, color=look.ink(), marker="o", markersize=3.5, linestyle="none",
            markeredgecolor=color, zorder=100, clip_on=False)  # fmt: skip


def _level_ticks(ax: Axes, levels: npt.NDArray[np.float64]) -> None:
    """Name the levels from the highest down, where there is room for a name."""
    room = 0.06 * (levels[-1] - levels[0])
    named: list[float] = []
    for level in levels[::-1]:
        if not named or named[-1] - level >= room:
            named.append(float(level))
    ax.set_xticks(named[::-1])
    # Levels in equal steps, such as 1/3 or 1/11, are cut to two digits.
    look.share_axis(ax.xaxis, 2 if np.diff(named[::-1]).min(initial=1.0) >= 0.01 else 4)


# Errors by confidence.


_NAMES: Final = ("error_rate", "level_share", "wrong_share")
_TITLES: Final = ("Share of labels", "Probability to be wrong", "Share of wrong labels")


def confidence_errors(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw, for each level of confidence, the share of labels and the share of wrong labels.

    The first panel shows each level's share of all labels, wrong labels in orange. The others show
    the probability that a label is wrong, and the level's share of all wrong labels, with
    intervals. Broken lines are the values expected if confidence had no relation to errors.

    Parameters
    ----------
    source : Dataset or DataTree
        What `dissensus.confidence_check` returns, or a tree with it as group ``confidence_check``.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({
    ...     "item": range(60), "annotator": ["a"] * 60, "label": [0, 1, 1] * 20,
    ...     "confidence": [0.5, 0.5, 1, 1] * 15}, confidence="confidence")
    >>> check = dx.confidence_check(ann, dict.fromkeys(range(60), 1), random_seed=1)
    >>> [ax.get_title(loc="left") for ax in dx.plots.confidence_errors(check).axes]
    ['Share of labels', 'Probability to be wrong', 'Share of wrong labels']
    """
    data = pieces.returned(source, "confidence_check", _NAMES, dims=(*SAMPLE, LEVEL))
    narrow, rows = look.width_of(figsize) < look.NARROW, data.sizes[LEVEL]
    columns = 1 if narrow else 3
    height = 0.75 + 0.26 * rows + (0.1 if narrow else 0.3)
    axes = look.grid_of(3, figsize, columns, height, sharey=True)
    at = np.arange(rows)
    of_all = data["level_share"].mean(list(SAMPLE)).to_numpy()
    wrong = (data["level_share"] * data["error_rate"]).mean(list(SAMPLE)).to_numpy()
    axes[0].barh(at, wrong, 0.7, color=look.WORSE, alpha=0.85)
    axes[0].barh(at, of_all - wrong, 0.7, left=wrong, color=look.BETTER, alpha=0.35)
    for row, value in enumerate(of_all):
        axes[0].annotate(share(value), (value, row), xytext=(3, 0), textcoords="offset points",
                         va="center", fontsize=look.SMALL)  # fmt: skip
    axes[0].set_xlim(0, 1.22 * of_all.max())
    broken: dict[str, Any] = {"color": look.ink(), "linewidth": 0.9, "zorder": 0}
    for ax, name in zip(axes[1:], ("error_rate", "wrong_share"), strict=True):
        low, high = (end.to_numpy() for end in pieces.interval(data[name], ci_kind, ci_prob))
        mean = data[name].mean(list(SAMPLE)).to_numpy()
        ax.hlines(at, low, high, color=look.WORSE, linewidth=2.2)
        ax.plot(mean, at, color=look.WORSE, marker="o", markersize=5, linestyle="none")
        ax.set_xlim(0, min(1.02, 1.12 * max(np.nanmax(high, initial=0.0), 0.1)))
    axes[1].axvline(wrong.sum(), linestyle=look.BROKEN, **broken)
    for row, value in enumerate(of_all):
        axes[2].plot([value] * 2, [row - 0.35, row + 0.35], linestyle=(0, (2.4, 1.2)), **broken)
    axes[2].set_xlim(0, max(axes[2].get_xlim()[1], min(1.02, 1.08 * of_all.max())))
    for ax, title in zip(axes, _TITLES, strict=True):
        look.rows_axis(ax, _level_names(data))
        ax.invert_yaxis()  # the highest level at the top
        ax.locator_params(axis="x", nbins=4)
        look.titled(ax, title)
    figure: Any = axes[0].figure
    figure.supylabel("confidence", fontsize=look.SMALL + 1)
    result = str(data.attrs.get("in_words", "")).split("\n")[0]
    marks = "Orange: wrong labels. Broken lines: expected if confidence had no relation to errors."
    look.note(figure, f"{result}\n{marks}".strip())
    return figure


def _level_names(data: xr.Dataset) -> list[str]:
    """Return the names of levels, and of bins by their ends."""
    low, high = (np.atleast_1d(data.attrs.get(name, data[LEVEL].to_numpy()))
                 for name in ("lowest", "highest"))  # fmt: skip
    return [_two_digits(a) if a == b else f"{_two_digits(a)}–{_two_digits(b)}"  # noqa: RUF001
            for a, b in zip(low, high, strict=True)]  # fmt: skip


def _two_digits(value: float) -> str:
    return f"{value:.2g}".removeprefix("0") or "0"


# Confidence against difficulty.


_MANY: Final = 300
"""With more items, intervals would cover each other."""


def confidence_difficulty(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the difficulty of each item against the mean confidence of its annotators.

    Items at the same point are one larger dot. Difficulties that have draws have intervals; with
    more than 300 items, rings are means of tenths of the items instead, ordered by confidence. The
    line is the mean of the regression lines of all draws, with their interval. The title is the
    rank correlation.

    Parameters
    ----------
    source : Dataset or DataTree
        What `dissensus.confidence_difficulty` returns, or a tree with it as group
        ``confidence_difficulty``.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({
    ...     "item": [i for i in range(40) for _ in "ab"], "annotator": ["a", "b"] * 40,
    ...     "label": [0, 0, 0, 1] * 20, "confidence": [1, 0.8, 0.6, 0.4] * 20},
    ...     confidence="confidence")
    >>> data = dx.confidence_difficulty(ann, dict.fromkeys(range(40), 0), random_seed=1)
    >>> dx.plots.confidence_difficulty(data).axes[0].get_ylabel()
    'share of wrong labels'
    """
    data = pieces.returned(source, "confidence_difficulty", ("slope", "intercept"))
    pieces.returned(data, "confidence_difficulty", ("confidence", "difficulty"), along=ITEM)
    figure, ax = look.canvas(ax, figsize, look.width_of(figsize), 3.8)
    confidence, difficulty = data["confidence"].to_numpy(), data["difficulty"]
    has_draws = set(SAMPLE) <= set(difficulty.dims)
    if has_draws and len(confidence) <= _MANY:
        low, high = (end.to_numpy() for end in pieces.interval(difficulty, ci_kind, ci_prob))
        color = look.PALETTE[-1]
        ax.vlines(confidence, low, high, color=color, linewidth=0.7, alpha=0.45, zorder=1)
    mean = difficulty.mean(list(SAMPLE)) if has_draws else difficulty
    _item_dots(ax, confidence, mean.to_numpy())
    if bool(data["slope"].notnull().any()):
        x = np.linspace(confidence.min(), confidence.max(), 60)
        lines = data["intercept"] + data["slope"] * xr.DataArray(x, dims="x")
        low, high = (end.to_numpy() for end in pieces.interval(lines, ci_kind, ci_prob))
        ax.fill_between(x, low, high, color=look.DRAWS, alpha=0.2, linewidth=0, zorder=3)
        ax.plot(x, lines.mean(list(SAMPLE)), color=look.DRAWS, linewidth=1.6, zorder=4)
    look.tidy(ax, grid="both")
    look.share_axis(ax.xaxis)
    look.share_axis(ax.yaxis)
    ax.set_xlabel("mean confidence")
    name = difficulty.attrs.get("long_name", data.attrs.get("difficulty", "difficulty"))
    ax.set_ylabel(str(name))
    draws = data.get("rank_correlation")
    if draws is not None and bool(draws.notnull().any()):
        bounds = ", ".join(share(float(end)) for end in pieces.interval(draws, ci_kind, ci_prob))
        look.titled(ax, f"Correlation of ranks {share(float(draws.mean()))} [{bounds}]")
    return figure


def _item_dots(ax: Axes, confidence: Floats, difficulty: Floats) -> None:
    """Draw items, equal ones as a dot of their size, and of many items means of tenths."""
    points = np.stack([confidence, difficulty], axis=1)
    place, count = np.unique(points, axis=0, return_counts=True)
    n_items = len(confidence)
    size = 14.0 * count if n_items <= _MANY else 2000.0 * count / n_items
    strength = float(np.clip(60 / len(place), 0.25, 0.6))
    ax.scatter(place[:, 0], place[:, 1], np.clip(size, 2.0, 400.0), color=look.PALETTE[-1],
               alpha=strength, linewidths=0, zorder=2)  # fmt: skip
    if n_items > _MANY and confidence.min() < confidence.max():
        levels = levels_of(confidence, 10)
        tenth = levels.level[levels.code]
        x, y = (np.bincount(tenth, v) / np.bincount(tenth) for v in (confidence, difficulty))
        ax.plot(x, y, color=look.ink(), marker="o", markersize=5, markerfacecolor="none",
                linestyle="none", zorder=5)  # fmt: skip
