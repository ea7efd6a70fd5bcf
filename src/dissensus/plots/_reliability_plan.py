"""A plan of reliability: annotators for a reliable mean, items for a narrow interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import ANNOTATOR, ITEM
from dissensus.errors import ArgumentError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size, lengths, names, panels, sizes, target_line
from dissensus.studies.planning.sentences import per_pool, quantities
from dissensus.wording import capital, counted, share, short


def reliability_plan(source: Any, *, limit: int = 7, figsize: Size | None = None) -> Any:
    """Draw how reliable mean labels would be, and how wide the intervals of new studies.

    First the reliability of the mean label against the number of annotators of an item: its median
    and interval over the draws of the pilot, pool by pool, with the target as a broken line, and
    above the axis the probability that it is reached. Then, for the ICC of every pool and the
    normalised xCC of every pair, half the interval's length in new studies against the number of
    items, a line for each number of annotators; the broken line is half the target width.

    Parameters
    ----------
    source : DataTree or Dataset
        What `dissensus.plan_reliability` returns, or a DataTree with it as the group ``plan``.
    limit : int
        At most so many panels of intervals; pools come before pairs.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit. In a narrow figure one
        panel is below the other.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the source holds no plan of reliability.

    Examples
    --------
    >>> import dissensus as dx
    >>> pilot = dx.simulate.replication_study(40, 8, 4, random_seed=1).annotations
    >>> found = dx.plan_reliability(pilot, (1, 2, 4), width=None, random_seed=1, progressbar=False)
    >>> [ax.get_xlabel() for ax in dx.plots.reliability_plan(found).axes]
    ['annotators of an item']
    """
    found = pieces.group(source, "plan")
    if not {"reliability", "probability_reached"} <= set(found.data_vars):
        raise ArgumentError(
            "source", expected="what dissensus.plan_reliability returns",
            found=f"the variables {', '.join(map(str, found.data_vars))}",
        )  # fmt: skip
    every = list(quantities(found))
    parts = every[:limit]
    axes = panels(1 + len(parts), figsize)
    _of_annotators(axes[0], found)
    for ax, (name, part) in zip(axes[1:], parts, strict=True):
        _of_items(ax, name, part)
    if len(every) > limit:
        look.note(axes[0].figure, f"The first {limit} of {len(every)} intervals; others left out.")
    return axes[0].figure


def _of_annotators(ax: Axes, found: xr.Dataset) -> None:
    level, target = found.attrs["probability"], found.attrs["target"]
    x = found[ANNOTATOR].to_numpy().astype(np.float64)
    pools = per_pool(found)
    # Pools beside each other: on a logarithmic axis by factors.
    shifts = np.exp(0.1 * (np.arange(len(pools)) - (len(pools) - 1) / 2))
    for p, (name, part) in enumerate(pools):
        one = look.style(p)
        draws = part["reliability"].transpose(ANNOTATOR, ...).to_numpy().reshape(len(x), -1)
        low, middle, high = np.nanquantile(draws, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=1)
        at = x * shifts[p]
        ax.vlines(at, low, high, color=one.color, linewidth=1.6)
        ax.plot(at, middle, color=one.color, linestyle=one.dash, linewidth=1.0,
                marker=one.marker, markersize=4.5, label=look.entry(look.label(name)))  # fmt: skip
        if len(pools) == 1:
            _chances(ax, at, part["probability_reached"].to_numpy())
    target_line(ax, target)
    ax.annotate(f"target {share(target)}", (0, target), xycoords=("axes fraction", "data"),
                xytext=(3, 2), textcoords="offset points", fontsize=look.SMALL)  # fmt: skip
    ax.set_ylim(0, 1.1 if len(pools) == 1 else 1.0)
    ax.set_yticks(np.linspace(0, 1, 6))
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    sizes(ax, x)
    ax.set_xlabel("annotators of an item")
    ax.set_title(f"Reliability of the mean label,\n{level:.0%} intervals", loc="left",
                 fontsize=look.SMALL + 1)  # fmt: skip
    if len(pools) > 1:
        ax.legend(frameon=False, fontsize=look.SMALL, loc="lower right")


def _chances(ax: Axes, x: Any, chances: Any) -> None:
    """Write the probabilities of reaching the target above the intervals."""
    for place, chance in zip(x, chances, strict=True):
        ax.annotate(share(chance), (place, 1.03), ha="center", va="bottom",
                    fontsize=look.SMALL, color=look.ink())  # fmt: skip
    ax.annotate("P:", (0, 1.03), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                fontsize=look.SMALL, color=look.ink())  # fmt: skip


def _of_items(ax: Axes, name: str, part: xr.Dataset) -> None:
    x = part[ITEM].to_numpy().astype(np.float64)
    half = part["half_width"].transpose(ANNOTATOR, ITEM).to_numpy()
    annotators = part[ANNOTATOR].to_numpy()
    for row in range(len(annotators)):
        one = look.style(row)
        ax.plot(x, half[row], color=one.color, linestyle=one.dash, linewidth=1.4,
                marker=one.marker, markersize=4)  # fmt: skip
    target_line(ax, part.attrs["width"] / 2)
    look.tidy(ax, grid="y")
    lengths(ax, np.append(half[np.isfinite(half)], part.attrs["width"] / 2))
    sizes(ax, x)
    ax.set_xlabel("items")
    names(ax, half[:, -1], [counted(int(k), "annotator") for k in annotators])
    title = look.plain(capital(short(name.removeprefix("the "), 44)))
    ax.set_title(f"{title}:\nhalf the interval; broken line: target", loc="left",
                 fontsize=look.SMALL + 1)  # fmt: skip
