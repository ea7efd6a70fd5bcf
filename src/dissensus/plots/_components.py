"""How reliable labels are: intraclass correlations, and how alike pools of annotators are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus import arguments
from dissensus.dims import POOL, SAMPLE, SCALE, other
from dissensus.errors import ArgumentError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size

PARTS: Final = (
    ("icc", "ICC", "krippendorff_alpha"),
    ("annotator_icc", "annotator ICC", None),
    ("mean_reliability", "mean label", None),
    ("normalized_xcc", "normalised xCC", "normalized_cross_kappa"),
    ("xcc", "xCC", "cross_kappa"),
)
"""What is drawn: its name, its title, and what says the same without a model."""


class _Row(NamedTuple):
    """One line of the picture; a heading has no numbers."""

    label: str
    part: int
    mean: float = np.nan
    lower: float = np.nan
    upper: float = np.nan
    observed: float = np.nan


def components(
    source: Any,
    *,
    scale: str = "observed",
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 40,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw ICCs, the reliability of mean labels and, of pools, xCCs, with intervals.

    Parameters
    ----------
    source : DataTree or Dataset
        An evaluation, or its group ``components``. From an evaluation come the crosses too: the
        same as observed, without a model (Krippendorff's alpha, cross-kappa).
    scale : {"observed", "latent"}
        Of ICCs and xCCs; the reliability of mean labels is always of labels as they are given.
    ci_kind, ci_prob : optional
        Kind and level of the intervals; ArviZ's settings by default.
    limit : int
        At most about so many rows: xCCs are left out first.
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
        If there are no draws of ICCs, or there is no such scale.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(40, random_seed=1).annotations
    >>> result = dx.evaluate(ann, threshold=0, draws=50, random_seed=1, progressbar=False)
    >>> dx.plots.components(result).axes[0].get_xlabel()
    'reliability'
    """
    arguments.one_of("scale", scale, ("observed", "latent"))
    data = pieces.group(source, "components")
    if "icc" not in data or not {*SAMPLE, SCALE} <= set(data["icc"].dims):
        raise ArgumentError(
            "source", expected="draws of 'icc' (chain, draw, scale)",
            found=f"variables {list(data.data_vars)}",
        )  # fmt: skip
    beside = _without_model(source) if scale == "observed" else xr.Dataset()
    rows, note = _rows(data, beside, scale, (ci_kind, ci_prob), limit)
    width = look.width_of(figsize)
    figure, ax = look.canvas(ax, figsize, width, 0.8 + 0.24 * len(rows))
    for height, row in enumerate(rows):
        _draw(ax, height, row)
    _frame(ax, rows, width)
    if note:
        look.note(figure, note)
    return figure


def _without_model(source: Any) -> xr.Dataset:
    """Return what was observed, under the name of the statistic."""
    if not isinstance(source, xr.DataTree):
        return xr.Dataset()
    if "pools" in source.children:
        data = source["pools"].to_dataset()
        start = "observed_"
        found = {str(n): data[n] for n in data.data_vars if str(n).startswith(start)}
        return xr.Dataset({name.removeprefix(start): x for name, x in found.items()})
    if "agreement" not in source.children:
        return xr.Dataset()
    first = next((n for n in source["agreement"].data_vars if "alpha" in str(n)), None)
    points = source["statistics"].to_dataset()
    return xr.Dataset() if first not in points else points[[first]].rename(
        {first: "krippendorff_alpha"}
    )  # fmt: skip


def _rows(
    data: xr.Dataset, beside: xr.Dataset, scale: str, how: tuple[Any, Any], limit: int
) -> tuple[list[_Row], str]:
    """Return the rows part by part, each part of several under a heading."""
    rows: list[_Row] = []
    left = 0
    for part, (name, title, same) in enumerate(PARTS):
        if name not in data:
            continue
        draws = data[name]
        draws = draws.sel({SCALE: scale}, drop=True) if SCALE in draws.dims else draws
        found = list(_of(draws, part, beside.get(same), how))
        if len(found) == 1 and not found[0].label:
            rows.append(found[0]._replace(label=title))
        elif rows and len(rows) + len(found) > limit:
            left += len(found)
        else:
            rows += [_Row(title, part), *found]
    return rows, f"{left:,} pairs of pools are left out." if left else ""


def _of(
    draws: xr.DataArray, part: int, points: xr.DataArray | None, how: tuple[Any, Any]
) -> Iterator[_Row]:
    lower, upper = pieces.interval(draws, *how)
    mean = draws.mean(list(SAMPLE))
    names = draws[POOL].to_numpy().tolist() if POOL in draws.dims else [None]
    pairs = other(POOL) in draws.dims
    for place in combinations(range(len(names)), 2) if pairs else ((k,) for k in range(len(names))):
        at = dict(zip([d for d in (POOL, other(POOL)) if d in draws.dims], place, strict=False))
        shown = [float(one.isel(at)) for one in (mean, lower, upper)]
        known = points is not None and set(at) == set(points.dims)
        point = float(points.isel(at)) if points is not None and known else np.nan
        label = "" if names == [None] else " \N{EN DASH} ".join(str(names[k]) for k in place)
        if np.isfinite(shown).all():
            yield _Row(label, part, shown[0], shown[1], shown[2], point)


def _draw(ax: Axes, height: int, row: _Row) -> None:
    if not np.isfinite(row.mean):
        return
    color = look.style(row.part).color
    ax.plot([row.lower, row.upper], [height, height], color=color, linewidth=2.2,
            solid_capstyle="round")  # fmt: skip
    ax.plot(row.mean, height, color=color, marker="o", markersize=6, linestyle="none")
    if np.isfinite(row.observed):
        ax.plot(row.observed, height, color=look.ink(), marker="x", markersize=5,
                markeredgewidth=1.2, linestyle="none")  # fmt: skip


def _frame(ax: Axes, rows: list[_Row], width: float) -> None:
    values = [v for row in rows for v in (row.lower, row.upper, row.observed) if np.isfinite(v)]
    low, high = min([0.0, *values]), max([1.0, *values])
    ax.set_xlim(low - 0.02, high + 0.02)
    for edge in {0.0, 1.0} if high > 1.0 or low < 0.0 else {0.0}:
        ax.axvline(edge, color=look.ink(), linewidth=0.8)
    headed = any(np.isnan(row.mean) for row in rows)
    names = [look.label(row.label, 16 if width < 5 else 28) for row in rows]
    ax.set_yticks(range(len(rows)), names)
    for text, row in zip(ax.get_yticklabels(), rows, strict=True):
        text.set_fontweight("bold" if headed and np.isnan(row.mean) else "normal")
    ax.set_ylim(len(rows) - 0.4, -0.6)
    look.tidy(ax, grid="x")
    look.share_axis(ax.xaxis)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("reliability")
