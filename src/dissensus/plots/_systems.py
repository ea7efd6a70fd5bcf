"""Systems at one reliability: forest, distributions, and probabilities of being better.

`forest` and `distribution` are drawn by ArviZ, in any of its backends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from dissensus.dims import SAMPLE, SCOPE, SYSTEM, other
from dissensus.errors import ArgumentError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._names import tip
from dissensus.plots._style import Size
from dissensus.wording import capital, metric_title, probability, short, short_names


def forest(
    source: Any,
    metrics: str | Sequence[str] | None = None,
    *,
    reliability: float | None = None,
    naive: xr.DataArray | None = None,
    truth: xr.DataArray | None = None,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 20,
    backend: str | None = None,
    figsize: Size | None = None,
    **options: Any,
) -> Any:
    """Draw `arviz_plots.plot_forest` of metrics, with the intervals of both scopes in one row.

    Thick intervals are for these items, thin intervals for new items. A cross is the value against
    a point estimate of the labels, which ignores disagreement. A star is the known value.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, its group ``metrics``, or draws (chain, draw, system), with or without
        ``scope`` and ``reliability``.
    metrics : str or sequence of str, optional
        Variables of the group; the first by default. Systems are ordered by the first variable.
    naive, truth : xarray.DataArray (system), optional
        Values of the first metric; by default those of the evaluation.
    **options
        Passed to `arviz_plots.plot_forest`.

    Returns
    -------
    arviz_plots.PlotCollection

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["a", "a"]})
    >>> result = dx.evaluate(ann, pred, draws=20, random_seed=1, progressbar=False)
    >>> dx.plots.forest(result, backend="none").backend
    'none'
    """
    from arviz_plots import plot_forest

    group = pieces.group(source, "metrics").compute()  # loads draws in chunks
    names = [metrics] if isinstance(metrics, str) else list(metrics or map(str, list(group)[:1]))
    chosen = [pieces.at_reliability(pieces.chosen(group, n), source, reliability)[0] for n in names]
    width = look.width_of(figsize)
    first, colors, text, order = _prepared(chosen[0], limit, width)
    systems = first[SYSTEM].to_numpy()
    titles = short_names([metric_title(name) for name in names], 40)
    draws = xr.Dataset({titles[0]: first})
    for title, values in zip(titles[1:], chosen[1:], strict=True):
        same = pieces.with_systems(values).sel({SYSTEM: order})
        draws[title] = same.assign_coords({SYSTEM: systems})
    columns = 1 if len(names) == 1 else 2
    size = look.fitted(figsize, look.WIDTH, 0.75 + 0.27 * len(order) * len(names))
    collection = plot_forest(
        xr.Dataset({name: pieces.at_scope(values, pieces.THESE) for name, values in draws.items()}),
        combined=True,
        labels=["__variable__", "system"][-columns:],
        stats=_intervals(draws, ci_kind, ci_prob),
        aes={"color": [SYSTEM]},
        color=colors,
        visuals=_labels() | {
            "twig": {"width": 1.4, "alpha": 0.7},
            "trunk": {"width": 5},
            "point_estimate": {
                "size": 36, "width": 1, "facecolor": mpl.rcParams["figure.facecolor"],
            },
        },
        backend=backend,
        figure_kwargs=_figure(size, backend, _room(size[0], titles, systems) if columns > 1 else 0),
        **options,
    )  # fmt: skip
    for name, title in zip(names, titles, strict=True):
        given_values = (naive, truth) if name == names[0] else (None, None)
        _marks(
            collection, source, name, title, dict(zip(order, systems, strict=True)), given_values
        )
    scale = capital(metric_title(names[0])) if columns == 1 else "value of the metric"
    _finish(collection, text, scale, columns, len(order) * len(names))
    return collection


def distribution(
    source: Any,
    metric: str | None = None,
    *,
    reliability: float | None = None,
    scope: str = pieces.NEW,
    limit: int = 12,
    backend: str | None = None,
    figsize: Size | None = None,
    **options: Any,
) -> Any:
    """Draw `arviz_plots.plot_ridge` of a metric, with a ridge for each system.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, its group ``metrics``, or draws (chain, draw, system), with or without
        ``scope`` and ``reliability``.
    **options
        Passed to `arviz_plots.plot_ridge`.

    Returns
    -------
    arviz_plots.PlotCollection
        A forest if the draws of no system vary.

    Notes
    -----
    After Stutz et al. (2023), Figure 7 right.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["a", "a"]})
    >>> result = dx.evaluate(ann, pred, draws=20, random_seed=1, progressbar=False)
    >>> dx.plots.distribution(result, backend="none").backend
    'none'
    """
    from arviz_plots import plot_ridge

    draws = pieces.chosen(pieces.group(source, "metrics"), metric)
    title = metric_title(str(draws.name))
    draws, _ = pieces.at_reliability(draws, source, reliability)
    draws, colors, text, _ = _prepared(pieces.at_scope(draws, scope), limit, look.width_of(figsize))
    # The density is unbounded if values differ only by rounding.
    varies = (draws.max(SAMPLE) - draws.min(SAMPLE) > 1e-9).to_numpy()
    if not varies.any():
        return forest(draws, backend=backend, figsize=figsize, limit=limit)
    if not varies.all():
        constant = ", ".join(draws[SYSTEM].to_numpy()[~varies])
        text = f"{text} Equal in all draws: {constant}.".strip()
    colors = [color for color, keep in zip(colors, varies, strict=True) if keep]
    size = look.fitted(figsize, look.WIDTH, 0.9 + 0.36 * len(colors))
    collection = plot_ridge(
        draws.isel({SYSTEM: varies}).to_dataset(name=title),
        labels=["system"],
        aes={"color": [SYSTEM]},
        color=colors,
        visuals=_labels(),
        backend=backend,
        figure_kwargs=_figure(size, backend),
        **options,
    )
    _finish(collection, text, capital(title))
    return collection


def _prepared(
    draws: xr.DataArray, limit: int, width: float
) -> tuple[xr.DataArray, list[str], str, list[Any]]:
    """Return the best systems' draws (with short names), colours, a note, and their full names."""
    draws, text = pieces.leading(pieces.with_systems(draws), limit)
    colors = [look.style(int(place)).color for place in draws["place"].to_numpy()]
    names = list(draws[SYSTEM].to_numpy())
    keep = draws.drop_vars([name for name in draws.coords if name not in draws.dims])
    keep = keep.assign_coords({SYSTEM: look.labels(names, look.letters(width))})
    return keep, colors, text, names


def _intervals(
    draws: xr.Dataset, ci_kind: str | None, ci_prob: float | None
) -> dict[str, xr.Dataset]:
    """Return the statistics of `plot_forest`: inner interval, outer interval, mean.

    With scopes, the inner interval is for these items and the outer interval for new items. Without
    scopes, the inner interval has half the probability.
    """
    kind, prob = pieces.interval_settings(ci_kind, ci_prob)
    has_scopes = all(SCOPE in values.dims for values in draws.values())
    these = draws.map(pieces.at_scope, args=(pieces.THESE,))
    new = draws.map(pieces.at_scope, args=(pieces.NEW,))

    def bounds(values: xr.DataArray, level: float) -> xr.DataArray:
        dim = xr.IndexVariable("ci_bound", ["lower", "upper"])
        return xr.concat(pieces.interval(values, kind, level), dim=dim)

    return {
        "trunk": these.map(bounds, level=prob if has_scopes else prob / 2),
        "twig": new.map(bounds, level=prob),
        "point_estimate": these.mean(list(SAMPLE)),
    }


def _labels() -> dict[str, Any]:
    labels = {"horizontal_align": "right", "size": 10, "color": look.ink()}
    return {"labels": labels, "ticklabels": False}


_LETTER: Final = 0.08
"""Width of a letter of a label in inches, on average."""


def _room(width: float, titles: list[str], systems: Any) -> float:
    """Return the width of the column of systems beside that of their metrics, in units of marks."""
    metrics, names = (_LETTER * max(map(len, map(str, column))) for column in (titles, systems))
    part = min((names + 3 * _LETTER) / max(width - metrics, 1.0), 0.5)
    return part / (1.0 - part)


def _figure(size: tuple[float, float], backend: str | None, room: float = 0.0) -> dict[str, Any]:
    """Return settings of a figure; with Matplotlib, the layout makes room for long names.

    ``room`` is the width of a column of labels, as a share of that of the marks, if there are two.
    """
    from arviz_base import rcParams

    chosen = rcParams["plot.backend"] if backend is None else backend
    out: dict[str, Any] = {"figsize": size, "figsize_units": "inches"}
    if chosen != "matplotlib":
        return out | {"width_ratios": [2 if room else 1, 3]}
    return out | {"width_ratios": [0.007 + room, 1], "layout": "constrained"}


def _finish(
    collection: Any, text: str, scale: str, columns: int = 1, rows: int | None = None
) -> None:
    """Name the axis and write the note; with ``rows``, all rows get the same height."""
    if collection.backend != "matplotlib":
        if text and collection.backend != "none":
            collection.add_title(text)
        return
    figure = collection.viz["figure"].item()
    names, marks = figure.axes[:2]
    names.set_axis_off()
    names.set_xlim(-0.02, columns - 0.98)
    if rows is not None:
        marks.set_ylim(-0.6, rows - 0.4)
    look.share_axis(marks.xaxis)
    look.tidy(marks, grid="x")
    marks.set_xlabel(scale)
    look.note(figure, text)


def _marks(
    collection: Any,
    source: Any,
    metric: str,
    title: str,
    names: dict[Any, str],
    given_values: tuple[xr.DataArray | None, xr.DataArray | None],
) -> None:
    """Add a cross at the naive value and a star at the known value."""
    from arviz_plots.visuals import scatter_x

    # Crosses have the colour of text: in the system's colour they would be invisible on its bar.
    naive: dict[str, Any] = {"marker": "x", "size": 34, "width": 1.4, "color": look.ink(),
                             "ignore_aes": {"color"}}  # fmt: skip
    truth = {"marker": "*", "size": 110, "width": 0.5, "edgecolor": look.ink()}
    for kind, group, name, override, shape in (
        ("naive", "statistics", f"naive_{metric}", given_values[0], naive),
        ("truth", "truth", metric, given_values[1], truth),
    ):
        values = pieces.per_system(source, group, name, override)
        system_values = [pieces.value_of(values, system) for system in names]
        if np.isfinite(system_values).any():
            data = xr.DataArray(system_values, {SYSTEM: list(names.values())}, SYSTEM, name=title)
            collection.map(
                scatter_x, kind, data=data.to_dataset(), coords={"column": "forest"}, **shape
            )


def better(
    source: Any,
    metric: str | None = None,
    *,
    reliability: float | None = None,
    scope: str = pieces.NEW,
    limit: int = 12,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the probability that the system of a row is better than the system of a column.

    Blue means better, orange means worse; pale cells are less certain.

    Parameters
    ----------
    source : DataTree or Dataset
        An evaluation, its group ``comparison``, or the result of `dissensus.compare`.
    metric : str, optional
        A coordinate of ``metric``; the first by default.
    limit : int
        Maximum number of systems; those with the highest probability of being best are shown.

    Examples
    --------
    >>> import xarray as xr, dissensus as dx
    >>> draws = xr.DataArray([[[0.7, 0.6], [0.8, 0.6], [0.5, 0.6]]], name="accuracy",
    ...     dims=("chain", "draw", "system"), coords={"system": ["a", "b"]})
    >>> figure = dx.plots.better(dx.compare(draws))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['.67', '.33']
    """
    data = pieces.group(source, "comparison")
    if "probability_better" not in data:
        raise ArgumentError(
            "source",
            expected="a comparison of two or more systems, from dissensus.compare",
            found=f"variables {list(data.data_vars)}",
        )
    pairs, best = (
        _compared(data[name], source, metric, reliability, scope)
        for name in ("probability_better", "probability_best")
    )
    order = np.argsort(-best.to_numpy(), kind="stable")
    if figsize is not None:  # the minimum width of a cell with a number
        limit = min(limit, max(2, int((figsize[0] - 1.1) / 0.33)))
    text = f"The {limit} best of {len(order):,} systems; other systems are left out."
    text = text if len(order) > limit else ""
    order = order[:limit]
    values = pairs.transpose(SYSTEM, other(SYSTEM)).to_numpy()[np.ix_(order, order)]
    names = pairs[SYSTEM].to_numpy()[order]
    width = look.width_of(figsize, min(look.WIDTH, 2.8 + 0.55 * len(order)))
    figure, ax = look.canvas(ax, figsize, width, 1.0 + 0.3 * len(order))
    for (row, column), value in np.ndenumerate(values):
        if row != column:
            _cell(ax, row, column, float(value))
            pair = f"{short(names[row])} better than {short(names[column])}"
            tip(ax, column, row, f"{pair}: {probability(float(value))}")
    _matrix_axes(ax, look.labels(list(names), look.letters(width, 18)))
    look.note(figure, text)
    return figure


def _compared(
    values: xr.DataArray, source: Any, metric: str | None, reliability: float | None, scope: str
) -> xr.DataArray:
    if "metric" in values.dims:
        known = [str(name) for name in values["metric"].to_numpy()]
        if metric is not None and metric not in known:
            raise ArgumentError("metric", expected=f"one of {known}", found=repr(metric))
        values = values.sel(metric=metric or known[0], drop=True)
    return pieces.at_scope(pieces.at_reliability(values, source, reliability)[0], scope)


def _cell(ax: Axes, row: int, column: int, value: float) -> None:
    color = look.BETTER if value >= 0.5 else look.WORSE
    strength = 0.06 + 0.56 * min(1.0, 2 * abs(value - 0.5)) ** 1.5
    ax.add_patch(
        Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, facecolor=color, alpha=strength, lw=0)
    )
    ax.text(column, row, probability(value), ha="center", va="center", fontsize=9)


def _matrix_axes(ax: Axes, names: list[str]) -> None:
    count = len(names)
    ax.set_xlim(-0.5, count - 0.5)
    ax.set_ylim(count - 0.5, -0.5)
    ax.set_xticks(range(count), names, rotation=40 if count > 3 else 0,
                  ha="left" if count > 3 else "center", rotation_mode="anchor")  # fmt: skip
    ax.set_yticks(range(count), names)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("P(row better than column)")
    ax.xaxis.set_label_position("top")
