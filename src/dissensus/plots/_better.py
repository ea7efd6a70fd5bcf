"""Who is better than whom, and how surely."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from dissensus.dims import SYSTEM, other
from dissensus.errors import ArgumentError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size, tip
from dissensus.wording import probability, short


def better(
    source: Any,
    metric: str | None = None,
    *,
    reliability: float | None = None,
    scope: str = pieces.NEW,
    limit: int = 12,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the probability that the system of a row is better than that of a column.

    Blue says better, red worse, pale undecided.

    Parameters
    ----------
    source : DataTree or Dataset
        An evaluation, its group ``comparison``, or what `dissensus.compare` returns.
    metric : str, optional
        One of the coordinate ``metric``; the first by default.
    reliability : float, optional
        By default the reference of the evaluation.
    scope : {"new items", "these items"}
        Whether the uncertainty of having seen only some items is included.
    limit : int
        At most so many systems; those that are most probably the best are shown.
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
        If there is nothing to compare.

    Examples
    --------
    >>> import xarray as xr, dissensus as dx
    >>> draws = xr.DataArray([[[0.7, 0.6], [0.8, 0.6], [0.5, 0.6]]], name="accuracy",
    ...     dims=("chain", "draw", "system"), coords={"system": ["a", "b"]})
    >>> figure = dx.plots.better(dx.compare(draws))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['.67', '.33']
    """
    pairs, best = _pairs(pieces.group(source, "comparison"), source, metric, reliability, scope)
    order = np.argsort(-best, kind="stable")
    names = pairs[SYSTEM].to_numpy()
    if figsize is not None:  # a number needs its room
        limit = min(limit, max(2, int((figsize[0] - 1.1) / 0.33)))
    text = ""
    if len(order) > limit:
        text = f"The {limit} best of {len(order):,} systems; the others are left out."
        order = order[:limit]
    values = pairs.to_numpy()[np.ix_(order, order)]
    width = look.width_of(figsize, min(look.WIDTH, 2.8 + 0.55 * len(order)))
    figure, ax = look.canvas(ax, figsize, width, 1.0 + 0.3 * len(order))
    for (row, column), value in np.ndenumerate(values):
        if row != column:
            _cell(ax, row, column, float(value))
            pair = [short(names[order[one]]) for one in (row, column)]
            tip(ax, column, row, f"{pair[0]} better than {pair[1]}: {probability(float(value))}")
    _frame(ax, look.labels(list(names[order]), 12 if width < 5 else 18))
    if text:
        look.note(figure, text)
    return figure


def _pairs(
    data: xr.Dataset, source: Any, metric: str | None, reliability: float | None, scope: str
) -> tuple[xr.DataArray, Any]:
    """Return probabilities over (system, system_), and each system's of being the best."""
    if "probability_better" not in data:
        raise ArgumentError(
            "source",
            expected="a comparison of two or more systems, as dissensus.compare returns",
            found=f"variables {list(data.data_vars)}",
        )
    found = []
    for name in ("probability_better", "probability_best"):
        values = data[name]
        if "metric" in values.dims:
            known = [str(one) for one in values["metric"].to_numpy()]
            if metric is not None and metric not in known:
                raise ArgumentError("metric", expected=f"one of {known}", found=repr(metric))
            values = values.sel(metric=metric or known[0], drop=True)
        values = pieces.at_reliability(values, source, reliability)[0]
        found.append(pieces.at_scope(values, scope))
    return found[0].transpose(SYSTEM, other(SYSTEM)), found[1].to_numpy()


def _cell(ax: Axes, row: int, column: int, value: float) -> None:
    color = look.BETTER if value >= 0.5 else look.WORSE
    strength = 0.06 + 0.56 * min(1.0, 2 * abs(value - 0.5)) ** 1.5
    ax.add_patch(
        Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, facecolor=color, alpha=strength, lw=0)
    )
    ax.text(column, row, probability(value), ha="center", va="center", fontsize=9)


def _frame(ax: Axes, names: list[str]) -> None:
    count = len(names)
    ax.set_xlim(-0.5, count - 0.5)
    ax.set_ylim(count - 0.5, -0.5)
    ax.set_xticks(range(count), names, rotation=40 if count > 3 else 0,
                  ha="left" if count > 3 else "center", rotation_mode="anchor")  # fmt: skip
    ax.set_yticks(range(count), names)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("P(row better than column)")
    ax.xaxis.set_label_position("top")
