"""How many labels are wrong, by how sure annotators were."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import LEVEL, SAMPLE
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import share

_NAMES: Final = ("error_rate", "level_share", "wrong_share")
_NARROW: Final = 5.0
_MARKS: Final = "Orange: wrong labels. Broken: what it would be if confidence told nothing."


def confidence_errors(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw, for each level of confidence, how many labels have it and how many of them are wrong.

    First the share of all labels, the wrong part of it on the left. Then the probability of a
    label to be wrong, and the share that the level has of all wrong labels, with intervals; the
    broken line is what it would be if being sure told nothing.

    Parameters
    ----------
    source : Dataset or DataTree
        What `dissensus.confidence_check` returns, or a tree with it as group ``confidence_check``.
    ci_kind, ci_prob : optional
        Kind and level of the intervals; ArviZ's settings by default.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit. In a narrow figure panels
        are below each other.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the source holds no such draws.

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
    data = pieces.draws_of(source, "confidence_check", _NAMES, LEVEL)
    bounds = {name: pieces.interval(data[name], ci_kind, ci_prob) for name in _NAMES}
    width = look.width_of(figsize)
    narrow, rows = width < _NARROW, data.sizes[LEVEL]
    tall = 0.75 + 0.26 * rows
    size = look.fitted(figsize, width, 0.3 + (3 if narrow else 1) * tall)
    figure = look.Picture(figsize=size, layout="constrained")
    lines = (3, 1) if narrow else (1, 3)
    axes: list[Axes] = list(figure.subplots(*lines, sharey=True, squeeze=False).flat)
    _shares(axes[0], data)
    overall = float((data["error_rate"] * data["level_share"]).sum(LEVEL).mean())
    _rates(axes[1], data["error_rate"], bounds["error_rate"], look.WORSE)
    axes[1].axvline(overall, color=look.ink(), linewidth=0.9, linestyle=(0, (4, 2)), zorder=0)
    _rates(axes[2], data["wrong_share"], bounds["wrong_share"], look.WORSE)
    _as_all(axes[2], data["level_share"].mean(list(SAMPLE)).to_numpy())
    titles = ("Share of labels", "Probability to be wrong", "Share of wrong labels")
    for ax, title in zip(axes, titles, strict=True):
        _frame(ax, title)
    _levels(axes[0], data)
    figure.supylabel("confidence", fontsize=look.SMALL + 1)
    found = str(data.attrs.get("in_words", "")).split("\n")[0]
    look.note(figure, f"{found}\n{_MARKS}".strip())
    return figure


def _shares(ax: Axes, data: xr.Dataset) -> None:
    """Draw how many labels there are of each level, and how many of them are wrong."""
    of_all = data["level_share"].mean(list(SAMPLE)).to_numpy()
    wrong = (data["level_share"] * data["error_rate"]).mean(list(SAMPLE)).to_numpy()
    at = np.arange(len(of_all))
    ax.barh(at, wrong, 0.7, color=look.WORSE, alpha=0.85)
    ax.barh(at, of_all - wrong, 0.7, left=wrong, color=look.BETTER, alpha=0.35)
    for height, value in zip(at, of_all, strict=True):
        ax.annotate(share(value), (value, height), xytext=(3, 0), textcoords="offset points",
                    va="center", fontsize=look.SMALL)  # fmt: skip
    ax.set_xlim(0, 1.22 * of_all.max())


def _rates(ax: Axes, draws: xr.DataArray, bounds: tuple[xr.DataArray, xr.DataArray],
           color: str) -> None:  # fmt: skip
    """Draw a mean and an interval for each level."""
    at, mean = np.arange(draws.sizes[LEVEL]), draws.mean(list(SAMPLE)).to_numpy()
    low, high = (one.to_numpy() for one in bounds)
    ax.hlines(at, low, high, color=color, linewidth=2.2)
    ax.plot(mean, at, color=color, marker="o", markersize=5, linestyle="none")
    ax.set_xlim(0, min(1.02, 1.12 * max(np.nanmax(high, initial=0.0), 0.1)))


def _as_all(ax: Axes, of_all: np.ndarray[Any, Any]) -> None:
    """Mark what share of the wrong labels each level had if being sure told nothing."""
    for height, value in enumerate(of_all):
        ax.plot([value] * 2, [height - 0.35, height + 0.35], color=look.ink(), linewidth=0.9,
                linestyle=(0, (2.4, 1.2)), zorder=0)  # fmt: skip
    ax.set_xlim(0, max(ax.get_xlim()[1], min(1.02, 1.08 * of_all.max())))


def _frame(ax: Axes, title: str) -> None:
    look.tidy(ax, grid="x")
    look.share_axis(ax.xaxis)
    ax.locator_params(axis="x", nbins=4)
    ax.tick_params(axis="y", length=0)
    ax.set_title(title, loc="left", fontsize=look.SMALL + 1)


def _levels(ax: Axes, data: xr.Dataset) -> None:
    """Name levels, the highest on top: bins by their ends."""
    low, high = (np.atleast_1d(data.attrs.get(name, data[LEVEL].to_numpy()))
                 for name in ("lowest", "highest"))  # fmt: skip
    names = [_plain(a) if a == b else f"{_plain(a)}–{_plain(b)}"  # noqa: RUF001 (from, to)
             for a, b in zip(low, high, strict=True)]  # fmt: skip
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_ylim(-0.6, len(names) - 0.4)


def _plain(value: float) -> str:
    """Write a confidence with two digits that matter."""
    text = f"{value:.2g}"
    return text.removeprefix("0") or "0"
