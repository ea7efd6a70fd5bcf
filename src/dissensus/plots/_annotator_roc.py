"""Annotators in ROC space, each with a region that holds most of its posterior."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from scipy.special import expit, logit

from dissensus.dims import ANNOTATOR, SAMPLE, SYSTEM
from dissensus.kernels.types import Floats
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size, name_points

_RATES: Final = ("false_positive_rate", "sensitivity")
_INNER: Final = 0.5
_NEAREST: Final = 1e-9
"""Draws no nearer to 0 and 1, where a logit is infinite."""
_CROWD: Final = 30
"""With more annotators than this, regions would be all one sees."""
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

    A dot is the posterior mean. The filled region holds half of the draws, the line around it
    ``ci_prob`` of them: ellipses around the mean of the logits, drawn on the scale of
    probabilities, where they cannot leave the square. The broken line is guessing. Systems, if
    there are any, have marks of their own.

    Parameters
    ----------
    source : Dataset or DataTree
        What `dissensus.annotator_roc` returns, or a tree with it as group ``annotator_roc``.
    ci_prob : float, optional
        Level of the outer region; ArviZ's setting by default.
    limit : int
        Annotators are named if there are so many at most; more are grey, and of more than 30 only
        the dots are drawn.
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
        If the source holds no such draws.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1, 1], [1, 0], [0, 0], [0, 1]] * 10)
    >>> roc = dx.annotator_roc(ann, dict(zip(range(40), [1, 1, 0, 0] * 10)), random_seed=1)
    >>> dx.plots.annotator_roc(roc).axes[0].get_ylabel()
    'sensitivity'
    """
    data = _checked(source)
    outer = pieces.interval_settings(None, ci_prob)[1]
    width = min(look.width_of(figsize), 5.6)
    figure, ax = look.canvas(ax, figsize, width, width + 0.2)
    ax.plot([0, 1], [0, 1], color=look.ink(), linewidth=0.9, linestyle=(0, (4, 2)), zorder=0)
    _frame(ax)
    named = data.sizes[ANNOTATOR] <= limit
    points = _people(ax, data, outer, named)
    _systems(ax, data, outer)
    regions = (
        f"Regions: {_INNER:.0%} and {outer:.0%} of the draws."
        if data.sizes[ANNOTATOR] <= _CROWD
        else ""
    )
    looked_for = (
        f"Positive: {look.label(data.attrs['positive'])}." if "positive" in data.attrs else ""
    )
    look.note(figure, " ".join(filter(None, (looked_for, regions))))
    if named:
        names = look.labels(data[ANNOTATOR].to_numpy().tolist(), 16)
        name_points(ax, points, names, look.ink())
    return figure


def _checked(source: Any) -> xr.Dataset:
    """Return draws of both rates, of annotators with names or numbers, or raise."""
    data = pieces.draws_of(source, "annotator_roc", _RATES, ANNOTATOR)
    if ANNOTATOR in data.coords:
        return data
    return data.assign_coords({ANNOTATOR: np.arange(data.sizes[ANNOTATOR])})


def _frame(ax: Axes) -> None:
    look.tidy(ax, grid="both")
    look.share_axis(ax.xaxis)
    look.share_axis(ax.yaxis)
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_aspect("equal")
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("sensitivity")


def _people(ax: Axes, data: xr.Dataset, outer: float, named: bool) -> Floats:
    """Draw annotators, and return where (annotator, 2)."""
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
        one = look.style(place)
        ax.plot(*region(pair, outer).T, color=one.color, linewidth=1.0, zorder=3)
        ax.plot(*pair.mean(axis=0), color=one.color, marker="D", markersize=6, linestyle="none",
                label=look.entry(names[place]), zorder=4)  # fmt: skip
    ax.legend(frameon=False, fontsize=look.SMALL, loc="lower right")


def _pairs(data: xr.Dataset, prefix: str, dim: str) -> Floats:
    """Return draws of both rates (who, draw, 2)."""
    each = [data[f"{prefix}{name}"].transpose(dim, *SAMPLE).to_numpy() for name in _RATES]
    return np.stack([one.reshape(len(one), -1) for one in each], axis=-1)


def region(pair: Floats, prob: float) -> Floats:
    """Return the border of the ellipse in logits that holds a share of the draws (point, 2).

    As large as it has to be to hold them, whatever the draws' distribution.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> border = region(rng.beta(1, 30, size=(1000, 2)), 0.9)
    >>> bool((border > 0).all()), round(float(border.max()), 1)
    (True, 0.2)
    """
    seen = logit(np.clip(pair, _NEAREST, 1 - _NEAREST))
    mean = seen.mean(axis=0)
    size, axes = np.linalg.eigh(np.cov(seen.T))
    half = np.sqrt(np.maximum(size, 1e-18))
    distance = np.square((seen - mean) @ axes / half).sum(axis=1)
    reach = np.sqrt(np.quantile(distance, prob))
    circle = np.stack([np.cos(_TURN), np.sin(_TURN)], axis=-1)
    return np.asarray(expit(mean + reach * (circle * half) @ axes.T))
