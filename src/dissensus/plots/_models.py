"""A metric along reliability under two models, beside each other."""

from __future__ import annotations

from typing import Any

import xarray as xr

from dissensus.dims import RELIABILITY, SYSTEM
from dissensus.errors import ArgumentError, shown
from dissensus.plots import _reliability as along
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.wording import number

_NARROW = 5.0


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

    Two panels with one vertical axis and horizontal ones of their own, as the reliabilities of
    different models cannot be compared. Each as in `reliability`, with the same systems in both.

    Parameters
    ----------
    source : DataTree
        An evaluation with a companion.
    metric : str, optional
        A variable of the group ``metrics``; the first by default.
    ci_kind, ci_prob : optional
        Kind and level of the interval; ArviZ's settings by default.
    limit : int
        At most so many systems; the best in the main model are shown.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit. In a narrow figure one
        panel is below the other.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the source has no companion, or holds no such metric.

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
        raise ArgumentError(
            "source",
            expected="an evaluation with a group 'companion', as rankings have by default",
            found=f"groups {shown(list(source.children), 12)}"
            if isinstance(source, xr.DataTree)
            else type(source).__name__,
        )
    draws = pieces.with_systems(pieces.chosen(pieces.group(source, "metrics"), metric))
    draws, text = pieces.leading(draws, limit)
    width = look.width_of(figsize)
    narrow = width < _NARROW
    size = look.fitted(figsize, width, 5.6 if narrow else 3.5)
    figure = look.Picture(figsize=size, layout="constrained")
    axes: list[Any] = list(figure.subplots(*((2, 1) if narrow else (1, 2)), sharey=True))
    named = axes if narrow else axes[-1:]
    ends = [
        _panel(ax, side, draws, truth=_truth(source, draws), ci=(ci_kind, ci_prob))
        for ax, side in zip(axes, pieces.sides(source), strict=True)
    ]
    for ax, heights in zip(axes, ends, strict=True):  # once both have settled how high they are
        along.frame(ax, str(draws.name))
        if ax in named:
            along.names(ax, draws, heights)
    if not narrow:
        axes[1].set_ylabel("")
    if text:
        look.note(figure, text)
    return figure


def _truth(source: xr.DataTree, draws: xr.DataArray) -> xr.DataArray | None:
    return pieces.per_system(source, "truth", str(draws.name), None)


def _panel(ax: Any, side: xr.DataTree, draws: xr.DataArray, *, truth: Any, ci: Any) -> list[float]:
    """Draw one model: the same systems in the same order and colours as in ``draws``."""
    name = str(draws.name)
    found = pieces.with_systems(pieces.chosen(pieces.group(side, "metrics"), name))
    found = found.sel({SYSTEM: draws[SYSTEM]}).assign_coords(place=draws["place"])
    naive = pieces.per_system(side, "statistics", f"naive_{name}", None)
    ends = along.curves(ax, found, naive, truth, limit=along.is_limit(side), ci=ci, marks=False)
    ax.set_title(str(side.attrs["model"]), loc="left", fontsize=look.SMALL + 1)
    ax.set_xlabel("reliability")
    _mark(ax, side)
    return ends


def _mark(ax: Any, side: xr.DataTree) -> None:
    """Point out the reliability at which the models are compared."""
    value = float(side.attrs["reference_reliability"])
    known = side["metrics"][RELIABILITY].to_numpy()
    if len(known) > 1:
        ax.axvline(value, color=look.ink(), linewidth=0.8, alpha=0.45, zorder=0)
        ax.annotate(f"at {number(value)}", (value, 1), xycoords=("data", "axes fraction"),
                    xytext=(3, -2), textcoords="offset points", va="top",
                    fontsize=look.SMALL, color=look.ink(), alpha=0.8)  # fmt: skip
