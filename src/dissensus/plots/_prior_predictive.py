"""What a model says before it has seen labels: which labels, and how reliable they are."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.checks._by_group import ENDS
from dissensus.checks._prior import BIN, pairs
from dissensus.dims import LABEL, SAMPLE
from dissensus.errors import ArgumentError, shown
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import percent, share

_NARROW: Final = 5.0
_BINS: Final = 20


def prior_predictive(source: Any, *, figsize: Size | None = None) -> Any:
    """Draw the labels that the prior expects beside those observed, and the ICC it expects.

    First the labels: bars are the means of the prior's draws, lines hold 90 % of these, marks are
    what was observed. Then, as histograms, the ICC on the latent scale (of all pools together) and,
    of `cross_replication`, the correlation of two pools (all pairs together).

    Parameters
    ----------
    source : DataTree or Dataset
        What `dissensus.prior_predictive` returns, or a tree with it as group
        ``prior_predictive``.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit. In a narrow figure one
        panel is below the other.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the source holds nothing of that kind.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(30, 6, 3, random_seed=1).annotations
    >>> found = dx.prior_predictive("crossed_effects", ann, draws=100, random_seed=1)
    >>> [ax.get_title(loc="left") for ax in dx.plots.prior_predictive(found).axes]
    ['Labels', 'ICC, latent scale']
    """
    found = pieces.group(source, "prior_predictive")
    if not {"observed", "replicated", "icc"} <= set(found.data_vars):
        raise ArgumentError(
            "source",
            expected="what dissensus.prior_predictive returns",
            found=f"variables {shown(list(found.data_vars)) or 'none'}",
        )
    count = 2 + ("correlation" in found)
    width = look.width_of(figsize)
    columns = 1 if width < _NARROW else count
    lines = -(-count // columns)
    size = look.fitted(figsize, width, 2.7 * lines)
    figure = look.Picture(figsize=size, layout="constrained")
    ratios = [1.3] + [1.0] * (count - 1) if columns > 1 else [1.0]
    axes = figure.subplots(lines, columns, squeeze=False, width_ratios=ratios).ravel()
    _labels(axes[0], found)
    _histogram(axes[1], found["icc"], "ICC, latent scale", 0.0)
    figure.legend(loc="outside upper left", ncols=3, frameon=False, fontsize=look.SMALL,
                  handlelength=1.2, columnspacing=1.0)  # fmt: skip
    if count > 2:
        _histogram(axes[2], pairs(found["correlation"]), "Correlation of two pools", -1.0)
    return figure


def _labels(ax: Axes, found: xr.Dataset) -> None:
    dim = LABEL if LABEL in found["observed"].dims else BIN
    drawn = found["replicated"].transpose(*SAMPLE, dim)
    low, high = (drawn.quantile(end, list(SAMPLE)).to_numpy() for end in ENDS)
    observed = found["observed"].to_numpy()
    if dim == LABEL:
        names = look.labels(found[LABEL].to_numpy().tolist(), 10)
        at, width = np.arange(len(names), dtype=np.float64), 0.8
        ax.set_xticks(at, names)
        if sum(map(len, names)) > 24:
            ax.tick_params(axis="x", rotation=90)
    else:
        lower, upper = found["bin_lower"].to_numpy(), found["bin_upper"].to_numpy()
        at, width = (lower + upper) / 2, float(upper[0] - lower[0])
    ax.bar(at, drawn.mean(list(SAMPLE)).to_numpy(), width, color=look.DRAWS, alpha=0.55,
           label="prior, mean")  # fmt: skip
    ax.vlines(at, low, high, color=look.DRAWS, linewidth=1.1,
              label=f"{percent(ENDS[1] - ENDS[0])} of draws")  # fmt: skip
    if dim == LABEL:
        ax.plot(at, observed, color=look.ink(), marker="o", markersize=4.5, linestyle="none",
                label="observed")  # fmt: skip
    else:
        ax.stairs(observed, np.append(lower, upper[-1]), color=look.ink(), linewidth=1.3,
                  label="observed")  # fmt: skip
    look.tidy(ax)
    look.share_axis(ax.yaxis)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("share")
    ax.set_title("Labels", loc="left", fontsize=look.SMALL + 1)


def _histogram(ax: Axes, draws: xr.DataArray, title: str, lowest: float) -> None:
    values = draws.to_numpy().ravel()
    values = values[np.isfinite(values)]
    edges = np.linspace(lowest, 1.0, _BINS + 1)
    ax.hist(np.clip(values, lowest, 1.0), bins=edges.tolist(), color=look.DRAWS, alpha=0.55)
    low, middle, high = np.quantile(values, [ENDS[0], 0.5, ENDS[1]])
    ax.axvline(middle, color=look.ink(), linewidth=1.3)
    look.tidy(ax, grid=None)
    look.share_axis(ax.xaxis)
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    ax.set_xlim(lowest, 1.0)
    ax.locator_params(axis="x", nbins=4)
    ax.set_title(title, loc="left", fontsize=look.SMALL + 1)
    ax.set_xlabel(f"a priori median {share(middle)},\n90 % from {share(low)} to {share(high)}",
                  fontsize=look.SMALL)  # fmt: skip
