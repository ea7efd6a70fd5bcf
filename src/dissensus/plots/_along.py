"""Curves of systems: metrics by reliability, discrepancy ratios by threshold, and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dissensus.dims import RELIABILITY, SAMPLE, SCOPE, SYSTEM, THRESHOLD
from dissensus.errors import ArgumentError, shown
from dissensus.metrics._probabilities import BIN, CURVE
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._names import are_wanted, spread, tip, with_interval
from dissensus.plots._style import Size
from dissensus.wording import capital, metric_title, number

_INFINITE, _CROSS = "∞", "\N{MULTIPLICATION SIGN}"
"""Tick labels of crosses: the limit of increasing reliability, or another point estimate."""


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

    Lines are posterior means. Dark bands are intervals for these items, pale bands for new items. A
    cross at the right edge is the value against a point estimate of the labels, with ∞ below if the
    estimate is the limit of increasing reliability. A star is the known value.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, its group ``metrics``, or draws (chain, draw, reliability, system) with or
        without ``scope``.

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
    'Agreement with the panel'
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
    ends = _curves(ax, draws, naive, truth, _is_limit(source), (ci_kind, ci_prob), marks=True)
    sign = _INFINITE if _is_limit(source) else _CROSS
    crosses = "" if naive is None else f" ({sign}: disagreement ignored)"
    ax.set_xlabel(f"reliability of the annotators{crosses}")
    _metric_axis(ax, name)
    _name_curves(ax, draws, ends)
    look.note(figure, text)
    return figure


def models(
    source: xr.DataTree,
    metric: str | None = None,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 8,
    figsize: Size | None = None,
) -> Any:
    """Draw a metric against reliability under the main model and under its companion.

    Each panel is as in `reliability`, with the same systems. The horizontal axes differ, because
    reliabilities of different models cannot be compared.

    Parameters
    ----------
    source : DataTree
        An evaluation with a companion.
    limit : int
        Maximum number of systems; those with the best means under the main model are shown.

    Notes
    -----
    After Stutz et al. (2023), Figure 6.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> pred = dx.predictions({"item": ["case"], "system": ["m"], "label": ["a"]})
    >>> result = dx.evaluate(ann, pred, model="inverse_rank", companion="plackett_luce", draws=20,
    ...                      random_seed=1, progressbar=False)
    >>> [ax.get_title(loc="left") for ax in dx.plots.models(result).axes]
    ['inverse_rank', 'plackett_luce']
    """
    if not isinstance(source, xr.DataTree) or len(pieces.sides(source)) < 2:
        groups = shown(list(getattr(source, "children", [])), 12)
        raise ArgumentError(
            "source", expected="an evaluation with a group 'companion', as rankings have",
            found=f"{type(source).__name__} with groups {groups}",
        )  # fmt: skip
    draws = pieces.with_systems(pieces.chosen(pieces.group(source, "metrics"), metric))
    draws, text = pieces.leading(draws, limit)
    name = str(draws.name)
    narrow = look.width_of(figsize) < look.NARROW
    axes = look.grid_of(2, figsize, 1 if narrow else 2, 2.8 if narrow else 3.5, sharey=True)
    truth = pieces.per_system(source, "truth", name)
    ends = []
    for ax, side in zip(axes, pieces.sides(source), strict=True):
        side_draws = pieces.with_systems(pieces.chosen(pieces.group(side, "metrics"), name))
        side_draws = side_draws.sel({SYSTEM: draws[SYSTEM]}).assign_coords(place=draws["place"])
        naive = pieces.per_system(side, "statistics", f"naive_{name}")
        ends.append(_curves(ax, side_draws, naive, truth, _is_limit(side), (ci_kind, ci_prob)))
        look.titled(ax, str(side.attrs["model"]))
        ax.set_xlabel("reliability")
        _mark_reference(ax, side)
    # A second loop: the limits of the shared axis are final after the curves of both panels.
    for ax, heights in zip(axes, ends, strict=True):
        _metric_axis(ax, name)
        if narrow or ax is axes[-1]:
            _name_curves(ax, draws, heights)
    if not narrow:
        axes[1].set_ylabel("")
    look.note(axes[0].figure, text)
    return axes[0].figure


def discrepancy_curve(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 8,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the discrepancy ratio of every system against the decision threshold.

    A ratio below 1 means that a system is closer to the annotators than they are to each other. The
    dot is at the minimum of the mean ratio. This minimum is optimistic for new items, since it was
    selected on the same items.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        Draws (chain, draw, system, threshold), from `dissensus.bayesian_bootstrap` of
        `dissensus.discrepancy_curve`, or an evaluation with a group ``discrepancy_curve``.
    limit : int
        Maximum number of systems; those with the lowest minima are shown.

    Notes
    -----
    After Lovchinsky et al. (2020), Figure 3b.

    Examples
    --------
    >>> import numpy as np, dissensus as dx
    >>> rng = np.random.default_rng(1)
    >>> scores = dict(enumerate(rng.random(30)))
    >>> labels = [[rng.random() < score for _ in range(3)] for score in scores.values()]
    >>> draws = dx.bayesian_bootstrap(dx.discrepancy_curve, dx.from_matrix(labels), scores,
    ...                               np.linspace(0.1, 0.9, 9), draws=200, random_seed=1)
    >>> dx.plots.discrepancy_curve(draws).axes[0].get_ylabel()
    'Discrepancy ratio'
    """
    draws = pieces.chosen(pieces.group(source, "discrepancy_curve"), None)
    if not {THRESHOLD, *SAMPLE} <= set(draws.dims):
        raise ArgumentError(
            "source", expected=f"draws {SAMPLE} along 'threshold'", found=f"dims {draws.dims}",
            hint="Pass dissensus.bayesian_bootstrap of dissensus.discrepancy_curve",
        )  # fmt: skip
    draws = pieces.with_systems(draws).sortby(THRESHOLD)
    minima = draws.mean(SAMPLE).min(THRESHOLD).assign_attrs(better="lower")
    best_minima, text = pieces.leading(minima, limit)
    place = best_minima["place"].to_numpy()
    draws = draws.isel({SYSTEM: place}).assign_coords(place=(SYSTEM, place))
    figure, ax = look.canvas(ax, figsize, look.WIDTH, 3.7)
    x = draws[THRESHOLD].to_numpy().astype(np.float64)
    lower, upper = pieces.interval(draws, ci_kind, ci_prob)
    means = draws.mean(SAMPLE).transpose(SYSTEM, THRESHOLD).to_numpy()
    for k, mean in enumerate(means):
        style = look.style(int(place[k]))
        low, high = (bound.isel({SYSTEM: k}).to_numpy() for bound in (lower, upper))
        ax.fill_between(x, low, high, color=style.color, alpha=0.2, linewidth=0)
        ax.plot(x, mean, color=style.color, linestyle=style.dash, linewidth=1.6)
        if np.isfinite(mean).any():
            best = int(np.nanargmin(mean))
            ax.plot([x[best]], [mean[best]], color=style.color, marker="o", markersize=6)
    ax.axhline(1.0, color=look.ink(), linewidth=0.9, linestyle=look.BROKEN)
    look.tidy(ax, grid="y")
    ax.set_xlabel("threshold: scores of at least this are positive")
    ax.set_ylabel("Discrepancy ratio")
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), ax.get_ylim()[1])
    _name_curves(ax, draws, means[:, -1].tolist())
    look.note(figure, text)
    return figure


def calibration(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 4,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw how often annotators give a system's most probable label, against its probability.

    Items are sorted by that probability into bins. On the dashed line probabilities are right;
    below this line the system is overconfident. Bars are intervals for these items, and the area of
    a dot shows its number of items.

    Parameters
    ----------
    source : DataTree or Dataset
        An evaluation with probabilities, its group ``calibration``, or the result of
        `dissensus.probability_score`.
    limit : int
        Maximum number of systems; the first ones are shown.

    Notes
    -----
    After Guo et al. (2017), Figure 4, with the share of annotators in the place of the accuracy.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "a": [0.9, 0.4],
    ...                        "b": [0.1, 0.6]})
    >>> result = dx.evaluate(ann, pred, draws=20, random_seed=1, progressbar=False)
    >>> dx.plots.calibration(result).axes[0].get_xlabel()
    'probability of the most probable label'
    """
    data = pieces.group(source, CURVE)
    draws, place, size = data[CURVE], data["mean_probability"], data["n_items"]
    if set(draws.dims) != {*SAMPLE, SYSTEM, BIN}:
        raise ArgumentError(
            "source",
            expected="the result of dissensus.probability_score for draws, without scopes",
            found=f"dims {draws.dims}",
        )  # fmt: skip
    shown_systems = draws[SYSTEM].to_numpy()[:limit].tolist()
    n_left = draws.sizes[SYSTEM] - len(shown_systems)
    figure, ax = look.canvas(ax, figsize, look.WIDTH, 4.2)
    ax.plot([0, 1], [0, 1], color=look.ink(), linewidth=0.9, linestyle=look.BROKEN)
    lower, upper = pieces.interval(draws, ci_kind, ci_prob)
    mean, most = draws.mean(SAMPLE), float(size.max())
    for k, name in enumerate(shown_systems):
        style = look.style(k)
        x, y, low, high, n = (
            values.sel({SYSTEM: name}).to_numpy() for values in (place, mean, lower, upper, size)
        )
        has_items = n > 0
        ax.vlines(x[has_items], low[has_items], high[has_items], color=style.color, linewidth=1.4)
        ax.plot(x[has_items], y[has_items], color=style.color, linestyle=style.dash, linewidth=1.2,
                label=look.label(name))  # fmt: skip
        ax.scatter(x[has_items], y[has_items], s=8 + 60 * n[has_items] / most, color=style.color)
    look.tidy(ax, grid="y")
    for axis in (ax.xaxis, ax.yaxis):
        look.share_axis(axis)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xlabel("probability of the most probable label")
    ax.set_ylabel("Share of annotators who give it")
    if len(shown_systems) > 1:
        ax.legend(loc="upper left", frameon=False)
    look.note(figure, f"{n_left:,} more systems are left out." if n_left else "")
    return figure


def _is_limit(source: Any) -> bool:
    """Return whether the point estimate is the limit of increasing reliability."""
    return not isinstance(source, xr.DataTree) or bool(source.attrs.get("point_is_limit", 1))


def _curves(
    ax: Axes,
    draws: xr.DataArray,
    naive: xr.DataArray | None,
    truth: xr.DataArray | None,
    limit: bool,
    ci: tuple[str | None, float | None],
    *,
    marks: bool = False,
) -> list[float]:
    """Draw bands and means of all systems, and return the height of each curve's end.

    With ``marks`` there is an invisible line at each reliability, which a web page can show.
    """
    x = draws[RELIABILITY].to_numpy().astype(float)
    edge = _reliability_axis(ax, x, _INFINITE if limit else _CROSS, marks=marks)
    lower, upper = pieces.interval(draws, *ci)
    _bands(ax, draws, x, lower, upper)
    ends = []
    these_items = _of_these(draws)
    means = these_items.mean(SAMPLE).transpose(SYSTEM, RELIABILITY).to_numpy()
    for system, place, mean in zip(draws[SYSTEM].to_numpy(), draws["place"], means, strict=True):
        style = look.style(int(place))
        ax.plot(x, mean, color=style.color, linestyle=style.dash, marker=style.marker,
                markersize=4.5, linewidth=1.6)  # fmt: skip
        point = pieces.value_of(naive, system)
        if np.isfinite(point):
            if limit:
                ax.plot([x[-1], edge], [mean[-1], point], color=style.color, linewidth=0.7,
                        linestyle=":")  # fmt: skip
            ax.plot([edge], [point], color=style.color, marker="x", markersize=6.5,
                    markeredgewidth=1.8, linestyle="")  # fmt: skip
        known = pieces.value_of(truth, system)
        if np.isfinite(known):
            ax.axhline(known, color=style.color, linewidth=0.7, linestyle=(0, (1, 3)))
            ax.plot([x[0]], [known], color=style.color, marker="*", markersize=11,
                    linestyle="", markeredgecolor=look.ink(), markeredgewidth=0.5)  # fmt: skip
        ends.append(point if np.isfinite(point) else float(mean[-1]))
    if are_wanted():
        _tips(ax, these_items, x, means, _of_these(lower), _of_these(upper))
    return ends


def _of_these(values: xr.DataArray) -> xr.DataArray:
    """Return the values for these items; means for new items differ from them only by noise."""
    return pieces.at_scope(values, pieces.THESE)


def _tips(
    ax: Axes, draws: xr.DataArray, x: npt.NDArray[np.float64], means: npt.NDArray[np.float64],
    lower: xr.DataArray, upper: xr.DataArray,
) -> None:  # fmt: skip
    low, high = (bound.transpose(SYSTEM, RELIABILITY).to_numpy() for bound in (lower, upper))
    names = draws[SYSTEM].to_numpy()
    for (row, column), mean in np.ndenumerate(means):
        ends = float(low[row, column]), float(high[row, column])
        text = with_interval(names[row], float(mean), *ends)
        value = float(x[column])
        tip(ax, value, float(mean), f"{text} at reliability {number(value)}")


def _reliability_axis(ax: Axes, x: npt.NDArray[np.float64], sign: str, *, marks: bool) -> float:
    """Make a logarithmic axis with ticks at reliabilities; return the place of its crosses."""
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
    ax: Axes, draws: xr.DataArray, x: npt.NDArray[np.float64], lower: xr.DataArray,
    upper: xr.DataArray,
) -> None:  # fmt: skip
    scopes = [pieces.NEW, pieces.THESE] if SCOPE in draws.dims else [""]
    for alpha, scope in zip((0.10, 0.22) if len(scopes) > 1 else (0.2,), scopes, strict=True):
        low, high = (pieces.at_scope(bound, scope) for bound in (lower, upper))
        for k, place in enumerate(draws["place"]):
            bottom, top = (bound.isel({SYSTEM: k}).to_numpy() for bound in (low, high))
            color = look.style(int(place)).color
            ax.fill_between(x, bottom, top, color=color, alpha=alpha, linewidth=0)


def _metric_axis(ax: Axes, metric: str) -> None:
    """Name the vertical axis, and fix its limits."""
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    ax.set_ylabel(capital(metric_title(metric)))
    ax.set_ylim(*ax.get_ylim())


def _name_curves(ax: Axes, draws: xr.DataArray, ends: list[float]) -> None:
    """Write systems' names at the ends of curves; at the lower limit if an end is undefined."""
    low, high = ax.get_ylim()
    figure = ax.get_figure(root=True)
    assert figure is not None
    # An estimate: the final height of the axes is known only when the figure is drawn.
    inches = figure.get_figheight() * ax.get_position().height
    gap = (high - low) * 1.45 * look.SMALL / (inches * 72)
    width = 12 if figure.get_figwidth() < look.NARROW else 22
    texts = look.labels(list(draws[SYSTEM].to_numpy()), width)
    ends = [end if np.isfinite(end) else low for end in ends]
    heights = spread(ends, gap, low, high)
    for text, place, end, height in zip(texts, draws["place"], ends, heights, strict=True):
        ax.annotate(
            text,
            xy=(1.01, end), xycoords=("axes fraction", "data"),
            xytext=(1.045, height), textcoords=("axes fraction", "data"),
            fontsize=look.SMALL, va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": look.style(int(place)).color,
                        "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)},
        )  # fmt: skip


def _mark_reference(ax: Axes, side: xr.DataTree) -> None:
    """Mark the reliability at which the models are compared."""
    value = float(side.attrs["reference_reliability"])
    if side["metrics"].sizes[RELIABILITY] > 1:
        ax.axvline(value, color=look.ink(), linewidth=0.8, alpha=0.45, zorder=0)
        ax.annotate(f"at {number(value)}", (value, 1), xycoords=("data", "axes fraction"),
                    xytext=(3, -2), textcoords="offset points", va="top",
                    fontsize=look.SMALL, color=look.ink(), alpha=0.8)  # fmt: skip
