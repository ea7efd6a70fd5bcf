"""Where to decide: the discrepancy ratio along the threshold of a score."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import SAMPLE, SYSTEM, THRESHOLD
from dissensus.errors import ArgumentError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._reliability import names
from dissensus.plots._style import Size


def discrepancy_curve(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 8,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the discrepancy ratio of every system against the threshold at which it decides.

    Under the line at 1 a system is closer to the annotators than they are to each other. The dot
    is the lowest point of a system's mean: on other items the ratio there will be higher, since
    it was chosen for being low.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        Draws (chain, draw, system, threshold), from `dissensus.bayesian_bootstrap` of
        `dissensus.discrepancy_curve`; an evaluation that has them as a group
        ``discrepancy_curve``; or that group.
    ci_kind, ci_prob : optional
        Kind and level of the band; ArviZ's settings by default.
    limit : int
        At most so many systems; those with the lowest points are shown.
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
        If the source holds no draws along thresholds.

    Notes
    -----
    After Lovchinsky et al. (2020), Figure 3b.

    Examples
    --------
    >>> import numpy as np, dissensus as dx
    >>> rng = np.random.default_rng(1)
    >>> scores = dict(enumerate(rng.random(30)))
    >>> said = [[rng.random() < score for _ in range(3)] for score in scores.values()]
    >>> draws = dx.bayesian_bootstrap(dx.discrepancy_curve, dx.from_matrix(said), scores,
    ...                               np.linspace(0.1, 0.9, 9), draws=200, random_seed=1)
    >>> dx.plots.discrepancy_curve(draws).axes[0].get_ylabel()
    'Discrepancy ratio'
    """
    draws = pieces.chosen(pieces.group(source, "discrepancy_curve"), None)
    if not {THRESHOLD, *SAMPLE} <= set(draws.dims):
        raise ArgumentError(
            "source", expected=f"draws {SAMPLE} along 'threshold'", found=f"dims {draws.dims}",
            hint="dissensus.bayesian_bootstrap of dissensus.discrepancy_curve makes them",
        )  # fmt: skip
    draws = pieces.with_systems(draws)
    draws, text = _lowest(draws.sortby(THRESHOLD), limit)
    figure, ax = look.canvas(ax, figsize, look.WIDTH, 3.7)
    ends = _curves(ax, draws, ci_kind, ci_prob)
    ax.axhline(1.0, color=look.ink(), linewidth=0.9, linestyle=(0, (4, 2)))
    look.tidy(ax, grid="y")
    ax.set_xlabel("threshold: from this score on, yes")
    ax.set_ylabel("Discrepancy ratio")
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), ax.get_ylim()[1])
    names(ax, draws, ends)
    if text:
        look.note(figure, text)
    return figure


def _lowest(draws: xr.DataArray, limit: int) -> tuple[xr.DataArray, str]:
    """Put systems in the order of the lowest points of their curves, and keep the first few."""
    points = draws.mean(SAMPLE).min(THRESHOLD).assign_attrs(better="lower")
    kept, text = pieces.leading(points, limit)
    place = kept["place"].to_numpy()
    return draws.isel({SYSTEM: place}).assign_coords(place=(SYSTEM, place)), text


def _curves(
    ax: Axes, draws: xr.DataArray, ci_kind: str | None, ci_prob: float | None
) -> list[float]:
    """Draw all systems; return at what height each curve ends."""
    x = draws[THRESHOLD].to_numpy().astype(np.float64)
    lower, upper = pieces.interval(draws, ci_kind, ci_prob)
    ends = []
    for k in range(draws.sizes[SYSTEM]):
        one = look.style(int(draws["place"][k]))
        mean = draws.isel({SYSTEM: k}).mean(SAMPLE).to_numpy()
        low, high = (bound.isel({SYSTEM: k}).to_numpy() for bound in (lower, upper))
        ax.fill_between(x, low, high, color=one.color, alpha=0.2, linewidth=0)
        ax.plot(x, mean, color=one.color, linestyle=one.dash, linewidth=1.6)
        if np.isfinite(mean).any():
            best = int(np.nanargmin(mean))
            ax.plot([x[best]], [mean[best]], color=one.color, marker="o", markersize=6)
        ends.append(float(mean[-1]))
    return ends
