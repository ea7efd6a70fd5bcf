"""Annotators: their confidence, errors by confidence, and places in ROC space."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from scipy.ndimage import gaussian_filter1d
from scipy.special import expit, logit

from dissensus.dims import ANNOTATOR, ITEM, LEVEL, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.kernels.types import Floats
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._names import name_points
from dissensus.plots._style import Size
from dissensus.statistics._confidence_check import levels_of
from dissensus.wording import counted, percent, share

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
        Annotations with confidence, or an evaluation of such annotations.
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
            hint="Name the column: dissensus.annotations(..., confidence=)",
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
    bases = [*map(float, range(len(chosen))), len(chosen) + 0.4]
    colors = [look.DRAWS] * len(chosen) + [look.PALETTE[-1]]
    (_bars if len(levels) <= _FEW else _densities)(ax, groups, bases, colors, levels)
    for base, group, color in zip(bases, groups, colors, strict=True):
        ax.axhline(base, color=look.faint(), linewidth=0.6, zorder=0)
        ax.plot(group.mean(), base, color=look.ink(), marker="o", markersize=3.5, linestyle="none",
                markeredgecolor=color, zorder=100, clip_on=False)  # fmt: skip
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


def _bars(
    ax: Axes, groups: list[Floats], bases: list[float], colors: list[str], levels: Floats
) -> None:
    """Draw the share of each level as a bar."""
    width = 0.7 * np.diff(levels).min() if len(levels) > 1 else 0.05
    shares = np.array([[(group == level).mean() for level in levels] for group in groups])
    heights = 0.8 * shares / shares.max()
    for base, color, height in zip(bases, colors, heights, strict=True):
        ax.bar(levels, -height, width, bottom=base, color=color, alpha=0.5, linewidth=0)


def _densities(
    ax: Axes, groups: list[Floats], bases: list[float], colors: list[str], _: Floats
) -> None:
    """Draw a density for each annotator; lower rows are in front of higher rows."""
    middle = (np.arange(_GRID) + 0.5) / _GRID
    for row, (base, color, group) in enumerate(zip(bases, colors, groups, strict=True)):
        count = np.histogram(group, _GRID, (0.0, 1.0))[0].astype(np.float64)
        density = gaussian_filter1d(count, 0.025 * _GRID, mode="reflect")
        height = base - 0.95 * density / density.max()
        ax.fill_between(middle, height, base, color=color, alpha=0.3, linewidth=0, zorder=row)
        ax.plot(middle, height, color=color, linewidth=0.9, zorder=row)


def _level_ticks(ax: Axes, levels: npt.NDArray[np.float64]) -> None:
    """Write tick labels of levels, from the highest level; levels without room have none."""
    room = 0.06 * (levels[-1] - levels[0])
    named: list[float] = []
    for level in levels[::-1]:
        if not named or named[-1] - level >= room:
            named.append(float(level))
    ax.set_xticks(named[::-1])
    # Levels in equal steps, such as 1/3 or 1/11, are rounded to two digits.
    look.share_axis(ax.xaxis, 2 if np.diff(named[::-1]).min(initial=1.0) >= 0.01 else 4)


# Errors by confidence.


_NAMES: Final = ("error_rate", "level_share", "wrong_share")
_TITLES: Final = ("Share of labels", "Probability of being wrong", "Share of wrong labels")


def confidence_errors(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw, for each level of confidence, the share of labels and the share of wrong labels.

    The first panel shows each level's share of all labels, wrong labels in orange. The other panels
    show the probability that a label is wrong, and the level's share of all wrong labels, with
    intervals. Broken lines are the values expected if confidence had no relation to errors.

    Parameters
    ----------
    source : Dataset or DataTree
        The result of `dissensus.confidence_check`, or a tree with the group ``confidence_check``.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({
    ...     "item": range(60), "annotator": ["a"] * 60, "label": [0, 1, 1] * 20,
    ...     "confidence": [0.5, 0.5, 1, 1] * 15}, confidence="confidence")
    >>> check = dx.confidence_check(ann, dict.fromkeys(range(60), 1), random_seed=1)
    >>> [ax.get_title(loc="left") for ax in dx.plots.confidence_errors(check).axes]
    ['Share of labels', 'Probability of being wrong', 'Share of wrong labels']
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
    """Return a name for each level; a bin of levels is named by its lowest and highest level."""
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

    Items at the same point are one larger dot. Difficulties with draws have intervals. With more
    than 300 items, rings in place of intervals are means of tenths of the items, ordered by
    confidence. The line is the mean of the regression lines of all draws, with an interval. The
    title is the rank correlation.

    Parameters
    ----------
    source : Dataset or DataTree
        The result of `dissensus.confidence_difficulty`, or a tree with the group
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
    """Draw a dot for each item, larger for equal items; if items are many, also means of tenths."""
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


# Annotators in ROC space.


_RATES: Final = ("false_positive_rate", "sensitivity")
_INNER: Final = 0.5
_NEAREST: Final = 1e-9
"""Minimum distance of draws to 0 and 1, where logits are infinite."""
_CROWD: Final = 30
"""With more annotators, regions would cover each other."""
_TURN: Final = np.linspace(0, 2 * np.pi, 121)


def annotator_roc(
    source: Any,
    *,
    ci_prob: float | None = None,
    limit: int = 15,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the sensitivity of annotators against their false positive rate, with regions.

    Dots are posterior means. The filled region contains half of the draws, the line around it
    ``ci_prob`` of the draws. Regions are ellipses on the logit scale. The broken line is the result
    of guessing. Diamonds are systems.

    Parameters
    ----------
    source : Dataset or DataTree
        The result of `dissensus.annotator_roc`, or a tree with the group ``annotator_roc``.
    ci_prob : float, optional
        Probability of the outer region; ArviZ's setting by default.
    limit : int
        Maximum number of annotators for names. If there are more annotators, none is named, and all
        are grey. With more than 30 annotators there are no regions.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1, 1], [1, 0], [0, 0], [0, 1]] * 10)
    >>> roc = dx.annotator_roc(ann, dict(zip(range(40), [1, 1, 0, 0] * 10)), random_seed=1)
    >>> dx.plots.annotator_roc(roc).axes[0].get_ylabel()
    'sensitivity'
    """
    data = pieces.returned(source, "annotator_roc", _RATES, dims=(*SAMPLE, ANNOTATOR))
    people = data.sizes[ANNOTATOR]
    if ANNOTATOR not in data.coords:
        data = data.assign_coords({ANNOTATOR: np.arange(people)})
    outer = pieces.interval_settings(None, ci_prob)[1]
    figure, ax = look.roc_canvas(ax, figsize)
    points = _people(ax, data, outer, named=people <= limit)
    _systems(ax, data, outer)
    texts = [f"Positive: {look.label(data.attrs['positive'])}."] if "positive" in data.attrs else []
    if people <= _CROWD:
        texts.append(f"Regions: {percent(_INNER)} and {percent(outer)} of the draws.")
    look.note(figure, " ".join(texts))
    if people <= limit:
        names = look.labels(data[ANNOTATOR].to_numpy().tolist(), 16)
        name_points(ax, points, names, look.ink())
    return figure


def _people(ax: Axes, data: xr.Dataset, outer: float, *, named: bool) -> Floats:
    """Draw annotators, and return their points (annotator, 2)."""
    pairs = _pairs(data, "", ANNOTATOR)
    points = pairs.mean(axis=1)
    color = look.DRAWS if named else look.PALETTE[-1]
    if len(pairs) <= _CROWD:
        for pair in pairs:
            ax.fill(*region(pair, _INNER).T, color=color, alpha=0.13,
                    linewidth=0, zorder=1)  # fmt: skip
            ax.plot(*region(pair, outer).T, color=color, linewidth=0.8,
                    alpha=0.5, zorder=2)  # fmt: skip
    ax.plot(*points.T, color=color, marker="o", markersize=5 if named else 3.5, linestyle="none",
            alpha=float(np.clip(30 / len(pairs), 0.15, 1.0)), zorder=3)  # fmt: skip
    return points


def _systems(ax: Axes, data: xr.Dataset, outer: float) -> None:
    if f"system_{_RATES[0]}" not in data:
        return
    names = look.labels(data[SYSTEM].to_numpy().tolist(), 20)
    for place, pair in enumerate(_pairs(data, "system_", SYSTEM)):
        color = look.style(place).color
        ax.plot(*region(pair, outer).T, color=color, linewidth=1.0, zorder=3)
        ax.plot(*pair.mean(axis=0), color=color, marker="D", markersize=6, linestyle="none",
                label=look.entry(names[place]), zorder=4)  # fmt: skip
    ax.legend(frameon=False, fontsize=look.SMALL, loc="lower right")


def _pairs(data: xr.Dataset, prefix: str, dim: str) -> Floats:
    """Return draws of both rates (annotator or system, draw, 2)."""
    each = [data[f"{prefix}{name}"].transpose(dim, *SAMPLE).to_numpy() for name in _RATES]
    return np.stack([rates.reshape(len(rates), -1) for rates in each], axis=-1)


def region(pair: Floats, prob: float) -> Floats:
    """Return the border (point, 2) of a region that contains a share ``prob`` of the draws.

    The region is an ellipse on the logit scale. Its size is a quantile of the draws' Mahalanobis
    distances, without an assumption about their distribution.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> border = region(rng.beta(1, 30, size=(1000, 2)), 0.9)
    >>> bool((border > 0).all()), round(float(border.max()), 1)
    (True, 0.2)
    """
    values = logit(np.clip(pair, _NEAREST, 1 - _NEAREST))
    mean = values.mean(axis=0)
    size, axes = np.linalg.eigh(np.cov(values.T))
    half = np.sqrt(np.maximum(size, 1e-18))
    distance = np.square((values - mean) @ axes / half).sum(axis=1)
    reach = np.sqrt(np.quantile(distance, prob))
    circle = np.stack([np.cos(_TURN), np.sin(_TURN)], axis=-1)
    return np.asarray(expit(mean + reach * (circle * half) @ axes.T))
