"""All systems at one reliability: means, intervals of both scopes, and what one would have said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import xarray as xr

from dissensus.dims import SYSTEM
from dissensus.plots import _arviz as host
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import capital, metric_title


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
    """Draw `arviz_plots.plot_forest` of one or more metrics, with both scopes in one line.

    The thick interval is the uncertainty about the labels of these items, the thin one adds
    that of having seen only some items. A cross is the value against the point estimate, where
    the annotators' disagreement is ignored; a star is the truth, if known.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, its group ``metrics``, or draws (chain, draw, system), with or without
        ``scope`` and ``reliability``.
    metrics : str or sequence of str, optional
        Variables of the group; the first by default.
    reliability : float, optional
        By default the reference of the evaluation.
    naive, truth : xarray.DataArray (system), optional
        Of the first metric; taken from the evaluation by default.
    ci_kind, ci_prob : optional
        Kind and level of the intervals; ArviZ's settings by default.
    limit : int
        At most so many systems; the best by the first metric are shown.
    backend : str, optional
        "matplotlib", "bokeh" or "plotly"; ArviZ's setting by default.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit.
    **options
        Passed to `arviz_plots.plot_forest`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    ArgumentError
        If the source holds no such metric or reliability.

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

    group = pieces.group(source, "metrics").compute()  # draws in chunks may be yet to be made
    names = [metrics] if isinstance(metrics, str) else list(metrics or map(str, list(group)[:1]))
    chosen = [pieces.at_reliability(pieces.chosen(group, n), source, reliability)[0] for n in names]
    first, colors, text = host.prepared(chosen[0], limit)
    order = list(pieces.leading(pieces.with_systems(chosen[0]), limit)[0][SYSTEM].to_numpy())
    under = [first, *(_like(other, order, first) for other in chosen[1:])]
    titles = host.titled(names)
    draws = xr.Dataset(dict(zip(titles, under, strict=True)))
    rows = len(order) * len(names)
    columns = 1 if len(names) == 1 else 2
    size = look.fitted(figsize, look.WIDTH, 0.75 + 0.27 * rows)
    figure_kwargs = {"figsize": size, "figsize_units": "inches"}
    collection = plot_forest(
        xr.Dataset({name: pieces.at_scope(values, pieces.THESE) for name, values in draws.items()}),
        combined=True,
        labels=["__variable__", "system"][-columns:],
        stats=host.intervals(draws, ci_kind, ci_prob),
        aes={"color": [SYSTEM]},
        color=colors,
        visuals=_visuals(),
        backend=backend,
        figure_kwargs=figure_kwargs | host.layout(backend, columns),
        **options,
    )
    systems = (order, list(first[SYSTEM].to_numpy()))
    for name, title in zip(names, titles, strict=True):
        given = {"naive": naive, "truth": truth} if name == names[0] else {}
        _marks(collection, source, name, title, systems, given)
    scale = capital(metric_title(names[0])) if columns == 1 else "value of the metric"
    host.finish(collection, text, scale, columns, rows)
    return collection


def _like(draws: xr.DataArray, order: list[Any], first: xr.DataArray) -> xr.DataArray:
    """Bring another metric into the order and under the names of the first."""
    found = pieces.with_systems(draws).sel({SYSTEM: order})
    return found.assign_coords({SYSTEM: first[SYSTEM].to_numpy()})


def _visuals() -> dict[str, Any]:
    paper = mpl.rcParams["figure.facecolor"]
    return {
        "labels": {"horizontal_align": "right", "size": 10, "color": look.ink()},
        "twig": {"width": 1.4, "alpha": 0.7},
        "trunk": {"width": 5},
        "point_estimate": {"size": 36, "width": 1, "facecolor": paper},
        "ticklabels": False,
    }


def _marks(
    collection: Any,
    source: Any,
    metric: str,
    title: str,
    systems: tuple[list[Any], list[str]],
    given: dict[str, xr.DataArray | None],
) -> None:
    """Add a cross for the naive value and a star for the truth."""
    from arviz_plots.visuals import scatter_x

    places = {"naive": ("statistics", f"naive_{metric}"), "truth": ("truth", metric)}
    # In ink: a cross of the system's colour would vanish where it lies on its own bar.
    shapes: dict[str, dict[str, Any]] = {
        "naive": {"marker": "x", "size": 34, "width": 1.4, "color": look.ink(),
                  "ignore_aes": {"color"}},
        "truth": {"marker": "*", "size": 110, "width": 0.5, "edgecolor": look.ink()},
    }  # fmt: skip
    for kind, (group, name) in places.items():
        values = host.beside(pieces.per_system(source, group, name, given.get(kind)), *systems)
        if values is not None:
            collection.map(
                scatter_x, kind, data=values.to_dataset(name=title),
                coords={"column": "forest"}, **shapes[kind],
            )  # fmt: skip
