"""What the pictures that ArviZ draws share: data in its form, colours, marks, and a backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import SCOPE, SYSTEM
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.wording import metric_title, short_names


def prepared(draws: xr.DataArray, limit: int) -> tuple[xr.DataArray, list[str], str]:
    """Return draws of the best systems under short names, their colours, and a note."""
    draws, text = pieces.leading(pieces.with_systems(draws), limit)
    colors = [look.style(int(place)).color for place in draws["place"].to_numpy()]
    names = look.labels(list(draws[SYSTEM].to_numpy()), 24)
    keep = draws.drop_vars([name for name in draws.coords if name not in draws.dims])
    return keep.assign_coords({SYSTEM: names}), colors, text


def intervals(
    draws: xr.Dataset, ci_kind: str | None, ci_prob: float | None
) -> dict[str, xr.Dataset]:
    """Return what `plot_forest` draws: a thick inner and a thin outer interval, and the mean.

    With two scopes the inner one is for the items at hand and the outer one for new items;
    without, the inner one is the half of the outer.
    """
    kind, prob = pieces.interval_settings(ci_kind, ci_prob)
    scoped = all(SCOPE in values.dims for values in draws.values())

    def bounds(scope: str, level: float) -> xr.Dataset:
        found = {}
        for name, values in draws.items():
            low, high = pieces.interval(pieces.at_scope(values, scope), kind, level)
            found[name] = xr.concat(
                [low, high], dim=xr.IndexVariable("ci_bound", ["lower", "upper"])
            )
        return xr.Dataset(found)

    inner = bounds(pieces.THESE, prob) if scoped else bounds(pieces.THESE, prob / 2)
    these = xr.Dataset({k: pieces.at_scope(v, pieces.THESE) for k, v in draws.items()})
    return {
        "trunk": inner,
        "twig": bounds(pieces.NEW, prob),
        "point_estimate": these.mean(["chain", "draw"]),
    }


def beside(values: xr.DataArray | None, order: list[Any], names: list[str]) -> xr.DataArray | None:
    """Bring one number per system under the short names, in the order of the picture."""
    if values is None:
        return None
    found = [pieces.value_of(values, system) for system in order]
    return (
        xr.DataArray(found, dims=SYSTEM, coords={SYSTEM: names})
        if any(np.isfinite(found))
        else None
    )


def titled(names: list[str]) -> list[str]:
    """Write metrics in words, short, and different ones differently."""
    return short_names([metric_title(name) for name in names], 40)


def layout(backend: str | None, columns: int = 1) -> dict[str, Any]:
    """Return how a figure is arranged: Matplotlib itself makes room for names of any length."""
    from arviz_base import rcParams

    chosen = rcParams["plot.backend"] if backend is None else backend
    if chosen != "matplotlib":
        return {"width_ratios": [columns, 3]}
    return {"width_ratios": [0.02 + 0.8 * (columns - 1), 3], "layout": "constrained"}


def finish(
    collection: Any, text: str, scale: str, columns: int = 1, rows: int | None = None
) -> None:
    """Name the scale and say what was left out, as far as the backend lets us.

    With ``rows`` the first and the last one get as much room as the others.
    """
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
    if text:
        look.note(figure, text)
