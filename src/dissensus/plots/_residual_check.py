"""The residuals of every item, beside those of replicates."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import ITEM
from dissensus.plots import _replicates as parts
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size

_NARROW: Final = 5.0
_MANY: Final = 60
_POINTS: Final = 150.0
"""About the width of a panel: with more items, intervals are thinner, and stay apart."""
_NAMED: Final = 3
"""So many items at most are named, those furthest out: more names would lie on each other."""
_TITLES: Final = {"mean": "Mean of residuals", "spread": "Spread of residuals"}


def residual_check(source: Any, *, limit: int = 1000, figsize: Size | None = None) -> Any:
    """Draw mean and spread of each item's residuals, with the intervals of replicates.

    Items stand in the order of what was observed. Named are the items furthest outside; of
    spreads those above their intervals only, since items' effects are fitted to the labels, and
    this leaves small spreads to a true model too.

    Parameters
    ----------
    source : DataTree or Dataset
        What `dissensus.residual_check` returns, or a tree with it as group ``residual_check``.
    limit : int
        At most about so many items in a panel: of more, all that are outside, and of the others
        some, evenly spread.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit. In a narrow figure one
        panel is below the other.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the source holds no such check.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(40, 6, 4, random_seed=1).annotations
    >>> fit = dx.models.crossed_effects.fit(ann, draws=50, random_seed=1,
    ...     posterior_predictive=True, progressbar=False)
    >>> figure = dx.plots.residual_check(dx.residual_check(fit))
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['Mean of residuals', 'Spread of residuals']
    """
    found = parts.checked(source, "residual_check", ITEM)
    names = [str(name) for name in found["statistic"].to_numpy()]
    width = look.width_of(figsize)
    columns = 1 if width < _NARROW else len(names)
    lines = -(-len(names) // columns)
    size = look.fitted(figsize, width, 0.4 + 2.6 * lines)
    figure = look.Picture(figsize=size, layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False)
    left_out = 0
    for ax, name in zip(axes.flat, names, strict=True):
        left_out += _panel(ax, found.sel(statistic=name), _TITLES.get(name, name), limit)
    parts.legend(figure)
    if left_out:
        look.note(figure, "Some items inside their intervals are left out.")
    return figure


def _panel(ax: Axes, one: xr.Dataset, title: str, limit: int) -> int:
    """Draw one statistic, and return how many items are left out."""
    one = one.isel({ITEM: np.flatnonzero(one["observed"].notnull().to_numpy())})
    one = one.isel({ITEM: np.argsort(one["observed"].to_numpy(), kind="stable")})
    count = one.sizes[ITEM]
    far = parts.outside(one).to_numpy()
    places = _some(far, limit)
    many = count > _MANY
    parts.draw(ax, one.isel({ITEM: places}), places, flat=False, size=3.0 if many else 4.0,
               thick=min(5.0, max(0.5, _POINTS / max(count, 1))))  # fmt: skip
    _names(ax, one.isel({ITEM: _named(one, far, above_only=title == _TITLES["spread"])}))
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    look.count_axis(ax.xaxis)
    ax.set_xlim(-0.02 * count - 0.5, 1.02 * count - 0.5)
    ax.set_xlabel(f"items, in order: {far.sum():,} of {count:,} outside", fontsize=look.SMALL)
    ax.set_title(title, loc="left", fontsize=look.SMALL + 1)
    return count - len(places)


def _names(ax: Axes, named: xr.Dataset) -> None:
    """Write items' names in the corners next to them: low ones on the left, high on the right."""
    low, high = ax.get_ylim()
    observed = named["observed"].to_numpy()
    # The marks stand in ascending order, so that the room is beside the ends of the row.
    right = observed > (low + high) / 2
    gap = 0.1 * (high - low)
    for side, at in ((True, 0.9), (False, 0.1)):
        these = np.flatnonzero(right == side)
        heights = look.spread(observed[these], gap, low + gap / 2, high - gap / 2)
        for k, height in zip(these, heights, strict=True):
            ax.text(at, height, look.label(named[ITEM].to_numpy()[k], 14), va="center",
                    ha="right" if side else "left", fontsize=look.SMALL, color=look.WORSE,
                    transform=ax.get_yaxis_transform())  # fmt: skip


def _some(far: npt.NDArray[np.bool_], limit: int) -> npt.NDArray[np.intp]:
    """Return the places of all items outside, and of as many others as there is room for."""
    if len(far) <= limit:
        return np.arange(len(far))
    inside = np.flatnonzero(~far)
    room = max(limit - int(far.sum()), 2)
    return np.sort(np.concatenate([np.flatnonzero(far), inside[pieces.thin(len(inside), room)]]))


def _named(
    one: xr.Dataset, far: npt.NDArray[np.bool_], *, above_only: bool
) -> npt.NDArray[np.intp]:
    """Return the places of the items furthest outside, in lengths of their intervals."""
    lower, upper, observed = (one[n].to_numpy() for n in ("lower", "upper", "observed"))
    beyond = np.maximum(lower - observed, observed - upper) / np.maximum(upper - lower, 1e-12)
    out = np.flatnonzero(far & (observed > upper) if above_only else far)
    return out[np.argsort(-beyond[out], kind="stable")][:_NAMED]
