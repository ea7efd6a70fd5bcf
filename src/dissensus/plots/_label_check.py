"""How each annotator uses the labels, beside how the model has them use these."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import ANNOTATOR, LABEL
from dissensus.plots import _replicates as parts
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import capital

_PANEL = 1.4
"""Inches: the least width of a panel."""


def label_check(source: Any, *, limit: int = 20, figsize: Size | None = None) -> Any:
    """Draw every annotator's share of each label, with the interval of replicates.

    One panel for each label, or, of numbers, for their mean and their standard deviation; one row
    for each annotator. A row of marks outside their intervals is somebody whom the model
    does not describe.

    Parameters
    ----------
    source : DataTree or Dataset
        What `dissensus.label_check` returns, or a tree with it as group ``label_check``.
    limit : int
        At most so many annotators: those furthest from their replicates.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit.

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
    >>> ann = dx.simulate.replication_study(40, 6, 4, family="ordinal", random_seed=1).annotations
    >>> fit = dx.models.crossed_effects.fit(ann, family="ordinal", draws=50, random_seed=1,
    ...     posterior_predictive=True, progressbar=False)
    >>> figure = dx.plots.label_check(dx.label_check(fit))
    >>> [ax.get_title(loc="left") for ax in figure.axes][:2]
    ['Share of 1', 'Share of 2']
    """
    every = parts.checked(source, "label_check", ANNOTATOR)
    found = _furthest(every, limit)
    dim = LABEL if LABEL in found["observed"].dims else "statistic"
    count, rows = found.sizes[dim], found.sizes[ANNOTATOR]
    width = look.width_of(figsize)
    lines = -(-count // max(1, int((width - 0.8) // _PANEL)))
    columns = -(-count // lines)
    size = look.fitted(figsize, width, 0.5 + lines * (0.6 + 0.19 * rows))
    figure = look.Picture(figsize=size, layout="constrained")
    # Shares are of one scale, a mean and a standard deviation are not.
    axes = figure.subplots(lines, columns, squeeze=False, sharey=True, sharex=dim == LABEL)
    for place, ax in enumerate(axes.flat):
        if place < count:
            _panel(ax, found.isel({dim: place}), dim)
        else:
            ax.set_axis_off()
            # Its neighbour above is the last of its column, and shows the ticks.
            axes.flat[place - columns].tick_params(labelbottom=True)
    parts.legend(figure)
    if rows < every.sizes[ANNOTATOR]:
        look.note(figure, f"The {rows} of {every.sizes[ANNOTATOR]:,} annotators furthest off.")
    return figure


def _furthest(found: xr.Dataset, limit: int) -> xr.Dataset:
    """Return the annotators with most in the tails, in the order they had."""
    far = parts.outside(found).sum([d for d in found["tail_probability"].dims if d != ANNOTATOR])
    from_half = abs(found["tail_probability"] - 0.5).fillna(0.0)
    how_far = from_half.mean([d for d in from_half.dims if d != ANNOTATOR])
    order = np.lexsort((-how_far.to_numpy(), -far.to_numpy()))
    return found.isel({ANNOTATOR: np.sort(order[:limit])})


def _panel(ax: Axes, found: xr.Dataset, dim: str) -> None:
    names = look.labels(found[ANNOTATOR].to_numpy().tolist(), 16)
    places = np.arange(len(names))
    parts.draw(ax, found, places, flat=True, size=4.0, thick=5.0)
    ax.set_yticks(places, names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    look.tidy(ax, grid="x")
    look.share_axis(ax.xaxis)
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=4)
    name = found[dim].item()
    title = f"Share of {look.label(name, 16)}" if dim == LABEL else look.plain(capital(str(name)))
    ax.set_title(title, loc="left", fontsize=look.SMALL + 1)
