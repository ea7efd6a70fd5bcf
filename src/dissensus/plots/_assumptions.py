"""What a model of the truth assumes, checked: statistics of labels beside those of replicates."""

from __future__ import annotations

from textwrap import fill
from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.errors import ArgumentError, shown
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import capital, number

_BINS: Final = 24
_AGAINST: Final = 0.01


def assumptions(source: Any, *, figsize: Size | None = None) -> Any:
    r"""Draw statistics of replicates as histograms, and those of the data as lines.

    One panel for each assumption that the data can show. Where the line stands within the
    histogram, nothing speaks against the model; where it stands outside, the title is bold.

    Parameters
    ----------
    source : DataTree or Dataset
        What `dissensus.check_assumptions` returns, or a tree with it as group ``assumptions``.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the source holds no such checks, or none that the data could show.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.confusion_study(100, random_seed=1).annotations
    >>> fit = dx.models.symmetric_confusion.fit(ann, posterior_predictive=True, draws=400,
    ...     random_seed=1, progressbar=False)
    >>> figure = dx.plots.assumptions(dx.check_assumptions(fit))
    >>> figure.axes[0].get_title(loc="left")
    'All errors are equally\nfrequent'
    """
    found = _checked(source)
    width = look.width_of(figsize)
    columns = max(1, min(found.sizes["check"], int(width // 1.8)))
    rows = -(-found.sizes["check"] // columns)
    figure = look.Picture(figsize=look.fitted(figsize, width, 2.2 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for place, ax in enumerate(axes.flat):
        if place < found.sizes["check"]:
            _draw(ax, found.isel(check=place), legend=place == 0)
        else:
            ax.set_axis_off()
    return figure


def _checked(source: Any) -> xr.Dataset:
    """Return the checks that there is something to draw of."""
    found = pieces.group(source, "assumptions")
    if not {"observed", "replicated", "p_value"} <= set(found) or "check" not in found.dims:
        raise ArgumentError(
            "source", expected="what dissensus.check_assumptions returns",
            found=f"variables {shown(list(found.data_vars)) or 'none'}",
        )  # fmt: skip
    found = found.isel(check=np.flatnonzero(np.isfinite(found["p_value"])))
    if not found.sizes["check"]:
        raise ArgumentError(
            "source", expected="a check of something", found="labels that can show nothing"
        )
    return found


def _draw(ax: Axes, found: xr.Dataset, *, legend: bool) -> None:
    values = found["replicated"].to_numpy().ravel()
    values = values[np.isfinite(values)]
    edges = np.histogram_bin_edges(values, bins="auto")
    if len(edges) > _BINS:
        edges = np.linspace(edges[0], edges[-1], _BINS + 1)
    ax.hist(values, bins=edges, color=look.DRAWS, alpha=0.55, label="replicated")  # type: ignore[arg-type]
    observed, p = float(found["observed"]), float(found["p_value"])
    ax.axvline(observed, color=look.ink(), linewidth=1.8, label="observed")
    look.tidy(ax, grid=None)
    look.share_axis(ax.xaxis)
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=4)
    ax.set_title(
        fill(capital(str(found["assumption"].item())), 24), loc="left", fontsize=look.SMALL + 1,
        fontweight="bold" if p < _AGAINST else "normal",
    )  # fmt: skip
    said = "p < .001" if p < 0.001 else f"p {number(float(f'{p:.2g}'))}"
    name = str(found["check"].item()).replace("_", " ")
    ax.set_xlabel(
        f"{name}: {number(float(f'{observed:.3g}'))}\n{said}", fontsize=look.SMALL
    )  # fmt: skip
    if legend:
        ax.legend(loc="best", frameon=False, fontsize=look.SMALL, handlelength=1.2)
