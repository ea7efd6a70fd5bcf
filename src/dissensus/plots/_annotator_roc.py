"""Annotators in ROC space, with regions of their posteriors."""

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
from dissensus.plots._names import name_points
from dissensus.plots._style import Size
from dissensus.wording import percent

_RATES: Final = ("false_positive_rate", "sensitivity")
_INNER: Final = 0.5
_NEAREST: Final = 1e-9
"""Least distance of draws to 0 and 1, where logits are infinite."""
_CROWD: Final = 30
"""With more annotators, regions would cover each other."""
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

    Dots are posterior means. The filled region holds half of the draws, the line ``ci_prob`` of
    them: ellipses on the scale of logits, drawn on that of probabilities. The broken line is
    guessing. Diamonds are systems.

    Parameters
    ----------
    source : Dataset or DataTree
        What `dissensus.annotator_roc` returns, or a tree with it as group ``annotator_roc``.
    ci_prob : float, optional
        Probability of the outer region; ArviZ's setting by default.
    limit : int
        Maximum number of annotators with names; more are grey, and more than 30 have no regions.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1, 1], [1, 0], [0, 0], [0, 1]] * 10)
    >>> roc = dx.annotator_roc(ann, dict(zip(range(40), [1, 1, 0, 0] * 10)), random_seed=1)
    >>> dx.plots.annotator_roc(roc).axes[0].get_ylabel()
    'sensitivity'
    """
    data = pieces.returned(source, "annotator_roc", _RATES, dims=(*SAMPLE, ANNOTATOR))
    people = data.sizes[ANNOTATOR]
    if ANNOTATOR not in data.coords:
        data = data.assign_coords({ANNOTATOR: np.arange(people)})
    outer = pieces.interval_settings(None, ci_prob)[1]
    width = min(look.width_of(figsize), 5.6)
    figure, ax = look.canvas(ax, figsize, width, width + 0.2)
    ax.plot([0, 1], [0, 1], color=look.ink(), linewidth=0.9, linestyle=look.BROKEN, zorder=0)
    look.tidy(ax, grid="both")
    for axis in (ax.xaxis, ax.yaxis):
        look.share_axis(axis)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal",
           xlabel="false positive rate", ylabel="sensitivity")  # fmt: skip
    points = _people(ax, data, outer, named=people <= limit)
    _systems(ax, data, outer)
    texts = [f"Positive: {look.label(data.attrs['positive'])}."] if "positive" in data.attrs else []
    if people <= _CROWD:
        texts.append(f"Regions: {percent(_INNER)} and {percent(outer)} of the draws.")
    look.note(figure, " ".join(texts))
    if people <= limit:
        names = look.labels(data[ANNOTATOR].to_numpy().tolist(), 16)
        name_points(ax, points, names, look.ink())
    return figure


def _people(ax: Axes, data: xr.Dataset, outer: float, *, named: bool) -> Floats:
    """Draw annotators, and return their points (annotator, 2)."""
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
        color = look.style(place).color
        ax.plot(*region(pair, outer).T, color=color, linewidth=1.0, zorder=3)
        ax.plot(*pair.mean(axis=0), color=color, marker="D", markersize=6, linestyle="none",
                label=look.entry(names[place]), zorder=4)  # fmt: skip
    ax.legend(frameon=False, fontsize=look.SMALL, loc="lower right")


def _pairs(data: xr.Dataset, prefix: str, dim: str) -> Floats:
    """Return draws of both rates (annotator or system, draw, 2)."""
    each = [data[f"{prefix}{name}"].transpose(dim, *SAMPLE).to_numpy() for name in _RATES]
    return np.stack([rates.reshape(len(rates), -1) for rates in each], axis=-1)


def region(pair: Floats, prob: float) -> Floats:
    """Return the border of the ellipse in logits that holds a share of the draws (point, 2).

    Its size is a quantile of the draws' Mahalanobis distances, and assumes no distribution.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> border = region(rng.beta(1, 30, size=(1000, 2)), 0.9)
    >>> bool((border > 0).all()), round(float(border.max()), 1)
    (True, 0.2)
    """
    values = logit(np.clip(pair, _NEAREST, 1 - _NEAREST))
    mean = values.mean(axis=0)
    size, axes = np.linalg.eigh(np.cov(values.T))
    half = np.sqrt(np.maximum(size, 1e-18))
    distance = np.square((values - mean) @ axes / half).sum(axis=1)
    reach = np.sqrt(np.quantile(distance, prob))
    circle = np.stack([np.cos(_TURN), np.sin(_TURN)], axis=-1)
    return np.asarray(expit(mean + reach * (circle * half) @ axes.T))
