"""How many items have which expected risk."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dissensus.dims import ITEM, SAMPLE
from dissensus.errors import ArgumentError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size


def expected_risk(
    source: Any,
    *,
    bins: int = 20,
    ci_prob: float | None = None,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw a histogram of the items' expected risk, with its uncertainty over the draws.

    A bar is the number of items in a bin, averaged over the draws; the line on it holds the
    number in the stated share of the draws. Mass between the risk levels is items for which the
    annotations speak for more than one.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation that was given ``risk=``, or what `dissensus.expected_risk` returns.
    bins : int
        Number of bars.
    ci_prob : float, optional
        Level of the (equal-tailed) interval; ArviZ's setting by default.
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
        If the source holds no expected risk.

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
    if ITEM not in values.dims or any(dim not in values.dims for dim in SAMPLE):
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
