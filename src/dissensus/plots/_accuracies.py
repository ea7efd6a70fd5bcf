"""Accuracy if every item has one true label, with what majority vote and uncertainty make of it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import ANNOTATOR, SAMPLE, SCOPE, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.evaluation.rows import adjusted
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import counted, listed, short_names

_PEOPLE: Final = look.DRAWS
"""Annotators have a colour that no system has."""


class _Row(NamedTuple):
    """One line of the picture; a heading has no numbers."""

    label: str
    color: str = ""
    mean: float = np.nan
    new: tuple[float, float] = (np.nan, np.nan)
    these: tuple[float, float] = (np.nan, np.nan)
    majority: float = np.nan
    adjusted: float = np.nan


def accuracies(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 20,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the accuracy of systems and annotators if every item has one true label.

    A dot is the mean; the thick bar is the interval of the share of these items that a system got
    right, the thin one that of how often it is right on items like these. A cross is the share of
    items on which it says what most annotators (most others) said, a diamond its
    uncertainty-adjusted accuracy.

    Parameters
    ----------
    source : DataTree or Dataset
        An evaluation, or its group ``accuracy``, which knows no diamonds.
    ci_kind, ci_prob : optional
        Kind and level of the intervals; ArviZ's settings by default.
    limit : int
        At most so many systems, and as many annotators: the most accurate.
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
        If there are no draws of accuracies.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.confusion_study(150, ipc=0.7, system_accuracy=[0.9], random_seed=1)
    >>> result = dx.evaluate(study.annotations, study.predictions, draws=50, random_seed=1,
    ...                      components=None, progressbar=False)
    >>> dx.plots.accuracies(result).axes[0].get_xlabel()
    'accuracy'
    """
    data = pieces.group(source, "accuracy")
    if "annotator_accuracy" not in data or not set(SAMPLE) <= set(data["annotator_accuracy"].dims):
        raise ArgumentError(
            "source", expected="draws of 'annotator_accuracy' (chain, draw)",
            found=f"variables {list(data.data_vars)}",
        )  # fmt: skip
    beside = adjusted(source) if isinstance(source, xr.DataTree) else None
    how = (ci_kind, ci_prob)
    systems, left = _systems(data, beside, how, limit)
    people, more = _people(data, how, limit)
    rows = [_Row("systems"), *systems, _Row("annotators"), *people] if systems else people
    if len(people) == 1 and systems:
        rows = [*systems, *people]
    width = look.width_of(figsize)
    figure, ax = look.canvas(ax, figsize, width, 0.8 + 0.24 * len(rows))
    for height, row in enumerate(rows):
        _draw(ax, height, row)
    _frame(ax, rows, width)
    look.note(figure, "\n".join(filter(None, (_marks(rows), _left_out(left, more)))))
    return figure


def _marks(rows: list[_Row]) -> str:
    """Say what the marks are, as far as there are any."""
    thick = np.isfinite([row.these for row in rows]).any()
    diamond = np.isfinite([row.adjusted for row in rows]).any()
    bars = "Thick: these items, thin: new items. " if thick else ""
    return f"{bars}Cross: majority vote{', diamond: uncertainty-adjusted' if diamond else ''}."


def _left_out(systems: int, people: int) -> str:
    each = ((systems, "system"), (people, "annotator"))
    parts = [counted(n, name) for n, name in each if n]
    return f"The most accurate; not shown: {listed(parts)}." if parts else ""


def _systems(
    data: xr.Dataset, beside: xr.DataArray | None, how: tuple[Any, Any], limit: int
) -> tuple[list[_Row], int]:
    """Return the rows of systems, best first, and how many are left out."""
    if "estimated_accuracy" not in data:
        return [], 0
    draws = data["estimated_accuracy"]
    new, these = (draws.sel({SCOPE: one}, drop=True) for one in (pieces.NEW, pieces.THESE))
    ends = [np.stack([x.to_numpy() for x in pieces.interval(one, *how)]) for one in (new, these)]
    mean = new.mean(list(SAMPLE)).to_numpy()
    majority = data["majority_accuracy"].to_numpy()
    diamonds = np.full(len(mean), np.nan)
    if beside is not None:
        diamonds = pieces.at_scope(beside, pieces.NEW).reindex({SYSTEM: draws[SYSTEM]}).to_numpy()
    names = short_names(draws[SYSTEM].to_numpy().tolist(), 28)
    order = np.argsort(-mean, kind="stable")
    rows = [
        _Row(names[k], look.style(int(k)).color, float(mean[k]),
             (float(ends[0][0, k]), float(ends[0][1, k])),
             (float(ends[1][0, k]), float(ends[1][1, k])),
             float(majority[k]), float(diamonds[k]))
        for k in order[:limit]
    ]  # fmt: skip
    return rows, max(len(mean) - limit, 0)


def _people(data: xr.Dataset, how: tuple[Any, Any], limit: int) -> tuple[list[_Row], int]:
    """Return the rows of annotators, best first, and how many are left out."""
    draws, majority = data["annotator_accuracy"], data["annotator_majority"]
    names = ["annotators"]
    if ANNOTATOR in draws.dims:
        names = short_names(draws[ANNOTATOR].to_numpy().tolist(), 28)
    else:
        majority = majority.mean(skipna=True)
    low, high = (np.atleast_1d(one.to_numpy()) for one in pieces.interval(draws, *how))
    mean, beside = (np.atleast_1d(one.to_numpy()) for one in (draws.mean(list(SAMPLE)), majority))
    rows = [
        _Row(names[k], _PEOPLE, float(mean[k]), (float(low[k]), float(high[k])),
             majority=float(beside[k]))
        for k in np.argsort(-mean, kind="stable")[:limit]
    ]  # fmt: skip
    return rows, max(len(mean) - limit, 0)


def _draw(ax: Axes, height: int, row: _Row) -> None:
    if not np.isfinite(row.mean):
        return
    for ends, wide in ((row.new, 1.4), (row.these, 4.0)):
        if np.isfinite(ends).all():
            ax.plot(ends, [height, height], color=row.color, linewidth=wide,
                    solid_capstyle="round")  # fmt: skip
    ax.plot(row.mean, height, color=row.color, marker="o", markersize=6, linestyle="none")
    for value, marker in ((row.majority, "x"), (row.adjusted, "D")):
        if np.isfinite(value):
            ax.plot(value, height, color=look.ink(), marker=marker, markersize=5,
                    markeredgewidth=1.2, markerfacecolor="none", linestyle="none")  # fmt: skip


def _frame(ax: Axes, rows: list[_Row], width: float) -> None:
    values = [v for row in rows for v in (*row.new, *row.these, row.majority, row.adjusted)
              if np.isfinite(v)]  # fmt: skip
    low, high = min(values), max(values)
    room = 0.05 * max(high - low, 0.1)
    ax.set_xlim(max(low - room, -0.02), min(high + room, 1.02))
    headed = any(np.isnan(row.mean) for row in rows)
    ax.set_yticks(
        range(len(rows)), [look.label(row.label, 16 if width < 5 else 28) for row in rows]
    )
    for text, row in zip(ax.get_yticklabels(), rows, strict=True):
        text.set_fontweight("bold" if headed and np.isnan(row.mean) else "normal")
    ax.set_ylim(len(rows) - 0.4, -0.6)
    look.tidy(ax, grid="x")
    look.share_axis(ax.xaxis)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("accuracy")
