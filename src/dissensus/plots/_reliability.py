"""A metric along reliability: what one would conclude, by how far one trusts the annotators."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dissensus.dims import RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size, are_wanted, tip, with_interval
from dissensus.wording import capital, metric_title, number

_INFINITE, _CROSS = "∞", "\N{MULTIPLICATION SIGN}"
"""Under the crosses: where a growing reliability leads to them, and where it does not."""


def reliability(
    source: Any,
    metric: str | None = None,
    *,
    naive: xr.DataArray | None = None,
    truth: xr.DataArray | None = None,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 8,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw a metric of every system against the reliability of the annotators.

    A line for each system's mean; around it a band for the uncertainty of the labels of these
    items and a wider, lighter one for new items. A cross at the right edge is the value against
    the point estimate, which is where trust without bounds leads if the sign there is ∞; a star
    is the truth, if known.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, its group ``metrics``, or draws (chain, draw, reliability, system) with or
        without ``scope``.
    metric : str, optional
        A variable of the group; the first by default.
    naive, truth : xarray.DataArray (system), optional
        Taken from the evaluation by default.
    ci_kind, ci_prob : optional
        Kind and level of the interval; ArviZ's settings by default.
    limit : int
        At most so many systems; the best are shown.
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
        If the source holds no such metric.

    Notes
    -----
    After Stutz et al. (2023), Figure 6.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["a", "a"]})
    >>> result = dx.evaluate(ann, pred, draws=20, random_seed=1, progressbar=False)
    >>> dx.plots.reliability(result).axes[0].get_ylabel()
    'Top-1 accuracy'
    """
    draws = pieces.with_systems(pieces.chosen(pieces.group(source, "metrics"), metric))
    if RELIABILITY not in draws.dims:
        raise ArgumentError(
            "source", expected="draws along 'reliability'", found=f"dims {draws.dims}"
        )
    name = str(draws.name)
    naive = pieces.per_system(source, "statistics", f"naive_{name}", naive)
    truth = pieces.per_system(source, "truth", name, truth)
    draws, text = pieces.leading(draws, limit)
    figure, ax = look.canvas(ax, figsize, look.WIDTH, 3.7)
    ends = curves(ax, draws, naive, truth, limit=is_limit(source), ci=(ci_kind, ci_prob))
    ax.set_xlabel("reliability of the annotators" + edge_words(source, naive))
    frame(ax, str(draws.name))
    names(ax, draws, ends)
    if text:
        look.note(figure, text)
    return figure


def is_limit(source: Any) -> bool:
    """Say whether the point estimate is what a growing reliability leads to."""
    return not isinstance(source, xr.DataTree) or bool(source.attrs.get("point_is_limit", 1))


def edge_words(source: Any, naive: Any) -> str:
    """Say what the crosses at the right edge are."""
    if naive is None:
        return ""
    return f" ({_INFINITE if is_limit(source) else _CROSS}: their disagreement ignored)"


def curves(
    ax: Axes,
    draws: xr.DataArray,
    naive: xr.DataArray | None,
    truth: xr.DataArray | None,
    *,
    limit: bool,
    ci: tuple[str | None, float | None],
    marks: bool = True,
) -> list[float]:
    """Draw bands and means of all systems; return at what height each curve ends.

    With ``marks`` each reliability has a line that a page may show when it is chosen.
    """
    x = draws[RELIABILITY].to_numpy().astype(float)
    edge = _axis(ax, x, _INFINITE if limit else _CROSS, marks=marks)
    _bands(ax, draws, x, *ci)
    ends = []
    for one in draws.transpose(SYSTEM, ...):
        look_of = look.style(int(one["place"]))
        mean = _of_scope(one).mean(SAMPLE).to_numpy()
        ax.plot(x, mean, color=look_of.color, linestyle=look_of.dash, marker=look_of.marker,
                markersize=4.5, linewidth=1.6)  # fmt: skip
        point = pieces.value_of(naive, one[SYSTEM].item())
        if np.isfinite(point):
            if limit:
                ax.plot([x[-1], edge], [mean[-1], point], color=look_of.color, linewidth=0.7,
                        linestyle=":")  # fmt: skip
            ax.plot([edge], [point], color=look_of.color, marker="x", markersize=6.5,
                    markeredgewidth=1.8, linestyle="")  # fmt: skip
        known = pieces.value_of(truth, one[SYSTEM].item())
        if np.isfinite(known):
            ax.axhline(known, color=look_of.color, linewidth=0.7, linestyle=(0, (1, 3)))
            ax.plot([x[0]], [known], color=look_of.color, marker="*", markersize=11,
                    linestyle="", markeredgecolor=look.ink(), markeredgewidth=0.5)  # fmt: skip
        ends.append(point if np.isfinite(point) else float(mean[-1]))
    _tips(ax, draws, x, *ci)
    return ends


def _tips(
    ax: Axes, draws: xr.DataArray, x: npt.NDArray[np.float64], ci_kind: Any, ci_prob: Any
) -> None:
    """Have each mark say its numbers, of the items at hand."""
    if not are_wanted():
        return
    here = _of_scope(draws)
    lower, upper = pieces.interval(here, ci_kind, ci_prob)
    parts = [one.transpose(SYSTEM, RELIABILITY).to_numpy()
             for one in (here.mean(SAMPLE), lower, upper)]  # fmt: skip
    for row, name in enumerate(here[SYSTEM].to_numpy()):
        for column, value in enumerate(x):
            mean, low, high = (float(part[row, column]) for part in parts)
            words = f"{with_interval(name, mean, low, high)} at reliability {number(float(value))}"
            tip(ax, float(value), mean, words)


def _of_scope(draws: xr.DataArray) -> xr.DataArray:
    """Means are those of the items at hand: weighting new items adds spread, not a shift."""
    return pieces.at_scope(draws, str(draws[SCOPE].to_numpy()[0])) if SCOPE in draws.dims else draws


def _axis(ax: Axes, x: npt.NDArray[np.float64], sign: str, *, marks: bool) -> float:
    """Make a logarithmic axis with the reliabilities as its ticks; return where the crosses go."""
    step = (x[-1] / x[0]) ** (1 / max(1, len(x) - 1)) if len(x) > 1 else 2.0
    edge = float(x[-1] * step**0.75)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator([*x[pieces.thin(len(x), 8)], edge]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: sign if np.isclose(value, edge) else number(float(value)))
    )
    ax.set_xlim(x[0] / step**0.15, edge * step**0.12)
    for place, value in enumerate(x if marks else []):
        ax.axvline(value, color=look.ink(), linewidth=1.0, alpha=0.0, gid=f"at-{place}")
    return edge


def _bands(
    ax: Axes,
    draws: xr.DataArray,
    x: npt.NDArray[np.float64],
    ci_kind: str | None,
    ci_prob: float | None,
) -> None:
    lower, upper = pieces.interval(draws, ci_kind, ci_prob)
    scopes = [None] if SCOPE not in draws.dims else list(draws[SCOPE].to_numpy())[::-1]
    for alpha, scope in zip((0.10, 0.22) if len(scopes) > 1 else (0.2,), scopes, strict=False):
        for k in range(draws.sizes[SYSTEM]):
            low, high = (
                (bound if scope is None else bound.sel({SCOPE: scope})).isel({SYSTEM: k}).to_numpy()
                for bound in (lower, upper)
            )
            color = look.style(int(draws["place"][k])).color
            ax.fill_between(x, low, high, color=color, alpha=alpha, linewidth=0)


def frame(ax: Axes, metric: str) -> None:
    """Say what is on the vertical axis, and settle its ends."""
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    ax.set_ylabel(capital(metric_title(metric)))
    ax.set_ylim(*ax.get_ylim())


def names(ax: Axes, draws: xr.DataArray, ends: list[float]) -> None:
    """Put names at the line ends, apart from each other."""
    low, high = ax.get_ylim()
    figure = ax.get_figure(root=True)
    assert figure is not None
    # What the axes get of the figure is settled only when it is drawn; three quarters or so.
    inches = figure.get_figheight() * ax.get_position().height
    gap = (high - low) * 1.45 * look.SMALL / (inches * 72)
    width = 12 if figure.get_figwidth() < 5 else 22
    texts = look.labels(list(draws[SYSTEM].to_numpy()), width)
    places = look.spread(ends, gap, low, high)
    for k, text in enumerate(texts):
        color = look.style(int(draws["place"][k])).color
        ax.annotate(
            text,
            xy=(1.01, ends[k]), xycoords=("axes fraction", "data"),
            xytext=(1.045, places[k]), textcoords=("axes fraction", "data"),
            fontsize=look.SMALL, va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 1.3,
                        "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)},
        )  # fmt: skip
