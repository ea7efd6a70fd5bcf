"""How accurate systems are, by how often annotators are wrong together."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import ANNOTATOR, SAMPLE, SHARE, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.plots import _pieces as pieces
from dissensus.plots import _style as look
from dissensus.plots._reliability import names
from dissensus.plots._style import Size

_HARDLY: Final = 0.5
"""Where more of the draws are impossible nothing is drawn."""


def shared_mistakes(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 8,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the accuracy of every system against the share of mistakes that annotators share.

    A line is the mean, its band the interval. A line ends where no system could agree with the
    annotators so often, or so rarely, in most of the draws. The broken line is the annotators'
    accuracy on average.

    Parameters
    ----------
    source : DataTree or Dataset
        What `dissensus.shared_mistakes` returns for several shares, or a DataTree with it as the
        group ``shared_mistakes``.
    ci_kind, ci_prob : optional
        Kind and level of the band; ArviZ's settings by default.
    limit : int
        At most so many systems; the most accurate without such mistakes.
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
        If the source holds no accuracies of systems along shares.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.confusion_study(150, system_accuracy=[0.8], random_seed=1)
    >>> fit = dx.models.symmetric_confusion.fit(
    ...     study.annotations, predictions=study.predictions, random_seed=1, progressbar=False)
    >>> dx.plots.shared_mistakes(dx.shared_mistakes(fit)).axes[0].get_ylabel()
    'accuracy'
    """
    data = pieces.group(source, "shared_mistakes")
    needed = {SHARE, SYSTEM, *SAMPLE}
    if not {"system_accuracy", "impossible"} <= set(data) or not needed <= set(
        data["system_accuracy"].dims
    ):
        raise ArgumentError(
            "source", expected="accuracies of systems along several shares",
            found=f"dims {tuple(data.dims)}, variables {list(data.data_vars)}",
            hint="dissensus.shared_mistakes(fit, share=(0, 0.1, 0.2)) returns them",
        )  # fmt: skip
    data = data.sortby(SHARE)
    draws, text = _leading(data["system_accuracy"], limit)
    figure, ax = look.canvas(ax, figsize, look.WIDTH, 3.7)
    ends = _bands(ax, draws, data["impossible"], (ci_kind, ci_prob))
    _annotators(ax, data["annotator_accuracy"])
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    look.share_axis(ax.xaxis)
    ax.set_xlabel("share of items on which annotators are wrong together")
    ax.set_ylabel("accuracy")
    ax.margins(x=0.0)
    names(ax, draws, ends)
    look.note(figure, f"Broken line: annotators on average. {text}".strip())
    return figure


def _leading(draws: xr.DataArray, limit: int) -> tuple[xr.DataArray, str]:
    """Keep the systems that are the most accurate where annotators share the fewest mistakes."""
    kept, text = pieces.leading(draws.mean(SAMPLE).isel({SHARE: 0}), limit)
    place = kept["place"].to_numpy()
    return draws.isel({SYSTEM: place}).assign_coords(place=(SYSTEM, place)), text


def _bands(
    ax: Axes, draws: xr.DataArray, impossible: xr.DataArray, how: tuple[Any, Any]
) -> list[float]:
    """Draw all systems; return at what height each line ends."""
    x = draws[SHARE].to_numpy().astype(np.float64)
    lower, upper = pieces.interval(draws, *how)
    mean = draws.mean(SAMPLE)
    ends = []
    for k, system in enumerate(draws[SYSTEM].to_numpy()):
        one = look.style(int(draws["place"][k]))
        there = impossible.sel({SYSTEM: system}).to_numpy() <= _HARDLY
        low, high, middle = (
            np.where(there, part.isel({SYSTEM: k}).to_numpy(), np.nan)
            for part in (lower, upper, mean)
        )
        ax.fill_between(x, low, high, color=one.color, alpha=0.2, linewidth=0)
        ax.plot(x, middle, color=one.color, linestyle=one.dash, linewidth=1.6, marker=one.marker,
                markersize=3.5)  # fmt: skip
        known = middle[np.isfinite(middle)]
        ends.append(float(known[-1]) if len(known) else float(mean.isel({SYSTEM: k})[0]))
    return ends


def _annotators(ax: Axes, draws: xr.DataArray) -> None:
    over = [dim for dim in (*SAMPLE, ANNOTATOR) if dim in draws.dims]
    ax.plot(draws[SHARE].to_numpy(), draws.mean(over).to_numpy(), color=look.ink(), linewidth=0.9,
            linestyle=(0, (4, 2)))  # fmt: skip
