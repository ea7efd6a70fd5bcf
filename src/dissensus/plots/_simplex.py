"""Plausibilities over three labels, in a triangle: where an item lies, and how surely."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes

from dissensus.data.plausibility import plausibility_of
from dissensus.dims import ITEM, LABEL, SAMPLE
from dissensus.errors import ArgumentError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
_DRAWS = 300
_ITEMS = 2000


def simplex(
    source: Any,
    items: Any = None,
    *,
    means: bool = True,
    limit: int = 5,
    figsize: Size | None = None,
) -> Any:
    """Draw plausibilities of three labels as points of a triangle, one panel for each item.

    A corner says that all the mass is on one label, the middle that all three are as plausible;
    dotted lines part the regions where each label leads. Points are draws, the ring is their
    mean.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, a fit, or a dense plausibility (chain, draw, item, label) of 3 labels.
    items : item or sequence of items, optional
        Which to draw; by default some from the most to the least clear.
    means : bool
        Draw a first panel with the means of all items.
    limit : int
        At most so many items.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If there are not three labels, or an item is unknown.

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
    theta = _three(plausibility_of(source))
    average = theta.mean([dim for dim in SAMPLE if dim in theta.dims])
    places = _places(average, items, limit)
    panels = len(places) + bool(means)
    columns = max(1, min(panels, int(look.width_of(figsize) // 1.8)))
    rows = -(-panels // columns)
    width = look.width_of(figsize, min(look.WIDTH, 2.3 * columns))
    height = rows * (min(width / columns, 2.3) * 0.95 + 0.25)
    figure = look.Picture(figsize=look.fitted(figsize, width, height), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    corners = look.labels(list(theta[LABEL].to_numpy()), 14)
    for ax in axes:
        ax.set_axis_off()
    if means:
        _all_items(axes.pop(0), average, corners)
    for ax, place in zip(axes, places, strict=False):
        _one_item(ax, theta.isel({ITEM: place}), average.isel({ITEM: place}), corners)
    if theta.sizes[ITEM] > len(places) and not means:
        look.note(figure, f"{len(places)} of {theta.sizes[ITEM]:,} items.")
    return figure


def _three(theta: xr.DataArray) -> xr.DataArray:
    if LABEL not in theta.dims or theta.sizes[LABEL] != 3:
        found = theta.sizes.get(LABEL, "another form, with candidates")
        raise ArgumentError("plausibility", expected="exactly 3 labels", found=str(found))
    return theta.transpose(..., ITEM, LABEL)


def _places(average: xr.DataArray, items: Any, limit: int) -> list[int]:
    """Return places of the items asked for, or of some from the clearest to the least clear."""
    if items is None:
        coarse = average.to_numpy().round(1)
        each = np.unique(coarse, axis=0, return_index=True)[1]  # no two that look the same
        order = each[np.argsort(-coarse[each].max(axis=1), kind="stable")]
        return [int(order[k]) for k in pieces.thin(len(order), limit)]
    return pieces.places(average, items, "items")[:limit]


def _triangle(ax: Axes, corners: list[str], title: str) -> None:
    outline = np.vstack([_CORNERS, _CORNERS[:1]])
    ax.plot(*outline.T, color=look.ink(), linewidth=1)
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


def _all_items(ax: Axes, average: xr.DataArray, corners: list[str]) -> None:
    """Draw the mean of each item; equal means make a larger dot."""
    values = average.to_numpy()[pieces.thin(average.sizes[ITEM], _ITEMS)]
    cell, count = np.unique((values * 25).round() / 25, axis=0, return_counts=True)
    _triangle(ax, corners, f"means of all {average.sizes[ITEM]:,} items")
    x, y = _points(cell)
    size = 5 + 60 * np.sqrt(count / max(1, len(values)))
    ax.scatter(x, y, s=size, color=look.ink(), alpha=0.45, linewidths=0)


def _one_item(ax: Axes, theta: xr.DataArray, mean: xr.DataArray, corners: list[str]) -> None:
    draws = theta.to_numpy().reshape(-1, 3)
    _triangle(ax, corners, f"item {look.label(mean[ITEM].item(), 18)}")
    if len(draws) > 1:
        shown_draws = draws[pieces.thin(len(draws), _DRAWS)]
        x, y = _points(shown_draws)
        look.dots(ax, x, y, 2.2, look.DRAWS)
    x, y = _points(mean.to_numpy()[None])
    ax.scatter(x, y, s=45, facecolors="none", edgecolors=look.ink(),
               linewidths=1.6)  # fmt: skip
