"""How a metric is distributed over the draws, system by system."""

from __future__ import annotations

from typing import Any

import xarray as xr

from dissensus.dims import SAMPLE, SYSTEM
from dissensus.plots import _arviz as host
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import capital, metric_title


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
    """Draw `arviz_plots.plot_ridge` of a metric, a ridge for each system.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, its group ``metrics``, or draws (chain, draw, system), with or without
        ``scope`` and ``reliability``.
    metric : str, optional
        A variable of the group; the first by default.
    reliability : float, optional
        By default the reference of the evaluation.
    scope : {"new items", "these items"}
        Whether the uncertainty of having seen only some items is included.
    limit : int
        At most so many systems; the best are shown.
    backend : str, optional
        "matplotlib", "bokeh" or "plotly"; ArviZ's setting by default.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit.
    **options
        Passed to `arviz_plots.plot_ridge`.

    Returns
    -------
    arviz_plots.PlotCollection
        A forest instead where the metric is the same in all draws of all systems.

    Raises
    ------
    ArgumentError
        If the source holds no such metric, reliability or scope.

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
    draws = pieces.chosen(pieces.group(source, "metrics"), metric)
    name = str(draws.name)
    draws, reliability = pieces.at_reliability(draws, source, reliability)
    draws, colors, text = host.prepared(pieces.at_scope(draws, scope), limit)
    # A density of values that differ by rounding only is a division by almost nothing.
    varies = (draws.max(SAMPLE) - draws.min(SAMPLE) > 1e-9).to_numpy()
    if not varies.any():
        from dissensus.plots._forest import forest

        return forest(draws, backend=backend, figsize=figsize, limit=limit)
    if not varies.all():
        fixed = draws[SYSTEM].to_numpy()[~varies]
        text = f"{text} The same in all draws: {', '.join(fixed)}.".strip()
    draws = draws.isel({SYSTEM: varies})
    colors = [color for color, keep in zip(colors, varies, strict=True) if keep]
    size = look.fitted(figsize, look.WIDTH, 0.9 + 0.36 * len(colors))
    named = draws.to_dataset(name=metric_title(name))
    return _ridges(named, colors, text, backend, size, options)


def _ridges(
    draws: xr.Dataset,
    colors: list[str],
    text: str,
    backend: str | None,
    figsize: tuple[float, float],
    options: dict[str, Any],
) -> Any:
    from arviz_plots import plot_ridge

    collection = plot_ridge(
        draws,
        labels=["system"],
        aes={"color": [SYSTEM]},
        color=colors,
        visuals={
            "labels": {"horizontal_align": "right", "size": 10, "color": look.ink()},
            "ticklabels": False,
        },
        backend=backend,
        figure_kwargs={"figsize": figsize, "figsize_units": "inches"} | host.layout(backend),
        **options,
    )
    host.finish(collection, text, capital(str(next(iter(draws)))))
    return collection
