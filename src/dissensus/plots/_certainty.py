"""Annotation certainty of every item, sorted: how much of the data leaves no doubt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import ITEM, RELIABILITY
from dissensus.errors import ArgumentError, shown
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size, are_wanted, tip
from dissensus.wording import number, share, short

_POINTS = 300
_LINES = 6
_NAMED = 40
"""Items that a page names."""


def certainty(
    source: Any,
    *,
    top: int | Sequence[int] | None = None,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw annotation certainty from the least to the most certain item.

    One line for each reliability, the darker the more the annotators are trusted; one panel for
    each size of the top set. Where the line stays at 1, the annotations leave no doubt.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, its group ``certainty``, or what `dissensus.annotation_certainty` returns:
        (item), or (reliability, item).
    top : int or sequence of int, optional
        Sizes of the top set, one panel each; all there are by default.
    ax : matplotlib.axes.Axes, optional
        Draw into these, one panel only.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the source holds no certainty of that size.

    Notes
    -----
    After Stutz et al. (2023), Figures 2 and 7.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")})
    >>> result = dx.evaluate(ann, draws=20, random_seed=1, progressbar=False)
    >>> dx.plots.certainty(result).axes[0].get_ylabel()
    'certainty of the leading label'
    """
    found = _panels(pieces.group(source, "certainty"), top, one=ax is not None)
    if ax is not None:
        _draw(ax, *found[0], legend=True)
        return ax.figure
    width = look.width_of(figsize)
    columns = max(1, min(len(found), int(width // 2.1)))
    rows = -(-len(found) // columns)
    figure = look.Picture(figsize=look.fitted(figsize, width, 2.7 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for place, panel in enumerate(axes.flat):
        if place < len(found):
            _draw(panel, *found[place], legend=place == len(found) - 1)
        else:
            panel.set_axis_off()
    return figure


def _panels(
    data: xr.Dataset, top: int | Sequence[int] | None, one: bool
) -> list[tuple[int, xr.DataArray]]:
    """Return the size of the top set and the certainties, panel by panel."""
    known = {}
    for name, values in data.data_vars.items():
        stem, _, last = str(name).rpartition("_")
        if str(name) == "annotation_certainty":
            known[1] = values
        elif stem == "annotation_certainty" and last.isdigit():
            known[int(last)] = values
    wanted = list(known)[: 1 if one else None] if top is None else np.atleast_1d(top).tolist()
    lacking = [size for size in wanted if size not in known]
    if lacking or not wanted or (one and len(wanted) > 1):
        raise ArgumentError(
            "top",
            expected=f"{'one' if one else 'some'} of {shown(list(known)) or 'no sizes known'}",
            found=repr(top),
        )
    return [(size, known[size]) for size in wanted]


def _draw(ax: Axes, size: int, values: xr.DataArray, *, legend: bool) -> None:
    if RELIABILITY not in values.dims:
        values = values.expand_dims(RELIABILITY)
    lines = pieces.thin(values.sizes[RELIABILITY], _LINES)
    known = values[RELIABILITY].to_numpy() if RELIABILITY in values.coords else None
    place = pieces.thin(values.sizes[ITEM], _POINTS)
    for rank, line in enumerate(lines):
        sorted_values = np.sort(values.isel({RELIABILITY: int(line)}).to_numpy())
        ax.plot(
            place + 1,
            sorted_values[place],
            color=look.ink(),
            alpha=0.3 + 0.7 * (rank + 1) / len(lines),
            linewidth=1.0 + 0.8 * (rank + 1) / len(lines),
            label="" if known is None else number(float(known[line])),
            marker="o" if len(place) == 1 else None,
            markersize=4,
        )
    _tips(ax, values.isel({RELIABILITY: int(lines[-1])}))
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    lowest = float(np.nanmin(values.to_numpy())) if values.size else 0.0
    ax.set_ylim(max(0.0, np.floor(10 * lowest - 0.5) / 10), 1.02)
    ax.set_xlim(0, values.sizes[ITEM] + 1)
    look.count_axis(ax.xaxis)
    ax.set_xlabel("items, least certain first")
    what = "leading label" if size == 1 else f"leading {size} labels"
    ax.set_ylabel(f"certainty of the {what}")
    if legend and known is not None and len(lines) > 1:
        ax.legend(title="reliability", loc="best", frameon=False, fontsize=look.SMALL,
                  title_fontsize=look.SMALL, labelspacing=0.2, handlelength=1.4)  # fmt: skip


def _tips(ax: Axes, values: xr.DataArray) -> None:
    """Have the least certain items say their names."""
    if ITEM not in values.coords or not are_wanted():
        return
    order = np.argsort(values.to_numpy(), kind="stable")[:_NAMED]
    for place, k in enumerate(order):
        value = float(values[k])
        tip(ax, place + 1, value, f"{short(values[ITEM].to_numpy()[k])}: certainty {share(value)}")
