"""Agreement of the annotators beside that of a model's new annotators."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes

from dissensus.errors import ArgumentError, shown
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import coefficient_title, number, probability

_BINS = 24


class _Panel(NamedTuple):
    """One statistic."""

    name: str
    observed: float
    replicated: npt.NDArray[np.float64]
    tail: float


def agreement_check(
    source: Any,
    statistics: str | Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw statistics of replicated annotations as histograms, and the observed values as lines.

    Where the line stands in the middle of the histogram, the model reproduces how far annotators
    agree; where it stands outside, it does not.

    Parameters
    ----------
    source : DataTree or Dataset
        What `dissensus.agreement_check` returns, or a tree with it as group ``agreement_check``.
    statistics : str or sequence of str, optional
        Which to draw, one panel each; by default all that are checked.
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
        If the source holds no such statistic, or none that is checked.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "b"]] * 4)
    >>> fit = dx.models.dirichlet.fit(
    ...     ann, posterior_predictive=True, draws=50, random_seed=1, progressbar=False)
    >>> figure = dx.plots.agreement_check(dx.agreement_check(fit), "percent_agreement")
    >>> figure.axes[0].get_title(loc="left")
    'Agreement of two annotators'
    """
    data = pieces.group(source, "agreement_check")
    found = _panels(data, statistics, one=ax is not None)
    if ax is not None:
        _draw(ax, found[0], legend=True)
        return ax.figure
    width = look.width_of(figsize)
    columns = max(1, min(len(found), int(width // 2.1)))
    rows = -(-len(found) // columns)
    figure = look.Picture(figsize=look.fitted(figsize, width, 2.4 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for place, panel in enumerate(axes.flat):
        if place < len(found):
            _draw(panel, found[place], legend=place == 0)
        else:
            panel.set_axis_off()
    return figure


def _panels(data: xr.Dataset, statistics: str | Sequence[str] | None, one: bool) -> list[_Panel]:
    if not {"observed", "replicated", "tail_probability"} <= set(data):
        raise ArgumentError(
            "source",
            expected="what dissensus.agreement_check returns",
            found=f"variables {shown(list(data.data_vars)) or 'none'}",
        )
    known = [str(name) for name in data["statistic"].to_numpy()[data["checked"].to_numpy()]]
    if statistics is None:
        wanted = known[: 1 if one else None]
    else:
        wanted = [statistics] if isinstance(statistics, str) else list(statistics)
    if not wanted or set(wanted) - set(known) or (one and len(wanted) > 1):
        raise ArgumentError(
            "statistics",
            expected=f"{'one' if one else 'some'} of {shown(known, 12) or 'none'}",
            found=repr(statistics),
        )
    return [_panel(data.sel(statistic=name), name) for name in wanted]


def _panel(data: xr.Dataset, name: str) -> _Panel:
    values = data["replicated"].to_numpy().ravel()
    tail = float(data["tail_probability"])
    return _Panel(name, float(data["observed"]), values[np.isfinite(values)], tail)


def _draw(ax: Axes, panel: _Panel, *, legend: bool) -> None:
    values = panel.replicated
    if len(values):
        edges = np.histogram_bin_edges(values, bins="auto")
        if len(edges) > _BINS:
            edges = np.linspace(edges[0], edges[-1], _BINS + 1)
        ax.hist(values, bins=edges, color=look.DRAWS, alpha=0.55, label="replicated")  # type: ignore[arg-type]
    if np.isfinite(panel.observed):
        ax.axvline(panel.observed, color=look.ink(), linewidth=1.8, label="observed")
    look.tidy(ax, grid=None)
    look.share_axis(ax.xaxis)
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=5)
    ax.set_title(fill(coefficient_title(panel.name), 28), loc="left", fontsize=look.SMALL + 1)
    tail = probability(panel.tail) if np.isfinite(panel.tail) else "undefined"
    ax.set_xlabel(f"observed {number(float(f'{panel.observed:.3g}'))}\ntail probability {tail}",
                  fontsize=look.SMALL)  # fmt: skip
    if legend:
        ax.legend(loc="best", frameon=False, fontsize=look.SMALL, handlelength=1.2)
