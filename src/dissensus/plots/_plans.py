"""Plans of studies: accuracy without known labels, and reliability."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dissensus import arguments
from dissensus.dims import ANNOTATOR, ESTIMATOR, ITEM, SCOPE, SCOPES
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._names import name_ends
from dissensus.plots._style import Size
from dissensus.studies.planning.sentences import per_pool, quantities
from dissensus.studies.planning.unknown_truth import ESTIMATORS
from dissensus.wording import capital, counted, percent, share, short

_DOTTED: Any = (0, (1, 1.5))


def _panels(count: int, figsize: Size | None) -> list[Axes]:
    columns = 1 if look.width_of(figsize) < look.NARROW else 2
    return look.grid_of(count, figsize, columns, 2.9)


def accuracy_plan(source: Any, *, scope: str = SCOPES[1], figsize: Size | None = None) -> Any:
    """Draw the share of studies with an accurate estimate, and the length of intervals.

    The first panel shows the share of simulated studies whose estimate is within the required
    distance of the system's accuracy, against the number of items. Solid lines, one for each number
    of annotators, are for the posterior mean, with bars of one standard error; dotted lines are for
    `dissensus.lehner`. The second panel shows half the length of the model's interval. Broken lines
    are the targets.

    Parameters
    ----------
    source : DataTree or Dataset
        The result of `dissensus.plan_accuracy`, or a tree with the group ``accuracy_plan``.
    scope : {"new items", "these items"}
        Whether the accuracy is that on new items, or on the items of the study.

    Examples
    --------
    >>> import dissensus as dx
    >>> plan = dx.plan_accuracy(annotators=(3,), items=(30, 60), kappa=0.5, n_labels=4, studies=4,
    ...                         random_seed=1, progressbar=False)
    >>> [ax.get_xlabel() for ax in dx.plots.accuracy_plan(plan).axes]
    ['items', 'items']
    """
    needed = ("within_share", "half_width")
    data = pieces.returned(source, "plan_accuracy", needed, name="accuracy_plan")
    arguments.one_of("scope", scope, SCOPES)
    data = data.sel({SCOPE: scope})
    x = data[ITEM].to_numpy().astype(np.float64)
    shares, halves = _panels(2, figsize)
    _shares(shares, data, x)
    _lengths(halves, data["half_width"], float(data.attrs["within"]))
    look.titled(
        halves, f"Half the model's {percent(data.attrs['probability'])} interval;\n"
        f"broken line: {share(data.attrs['within'])}",
    )  # fmt: skip
    return shares.figure


def _shares(ax: Axes, data: xr.Dataset, x: npt.NDArray[np.float64]) -> None:
    model, algebra = (data.sel({ESTIMATOR: name}) for name in ESTIMATORS)
    for row, k in enumerate(data[ANNOTATOR].to_numpy()):
        style = look.style(row)
        part = model.sel({ANNOTATOR: k})
        y, error = (part[name].to_numpy() for name in ("within_share", "within_share_error"))
        at = x * np.exp(0.03 * (row - (data.sizes[ANNOTATOR] - 1) / 2))  # bars side by side
        ax.vlines(at, np.maximum(y - error, 0), np.minimum(y + error, 1), color=style.color,
                  linewidth=0.9)  # fmt: skip
        ax.plot(at, y, color=style.color, linewidth=1.4, marker=style.marker, markersize=4)
        ax.plot(x, algebra["within_share"].sel({ANNOTATOR: k}), color=style.color, linewidth=1.1,
                linestyle=_DOTTED, alpha=0.75)  # fmt: skip
    look.target_line(ax, data.attrs["assurance"])
    ax.set_ylim(0, 1.02)
    ax.set_yticks(np.linspace(0, 1, 6))
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    look.size_axis(ax, x)
    ax.set_xlabel("items")
    look.titled(
        ax, f"Studies with an estimate within {share(data.attrs['within'])}\nof the accuracy, "
        f"{share(data.attrs['accuracy'])}; broken line: target",
    )  # fmt: skip
    ways = [Line2D([], [], color=look.ink(), linewidth=1.4, label="model"),
            Line2D([], [], color=look.ink(), linewidth=1.1, linestyle=_DOTTED,
                   label="lehner")]  # fmt: skip
    ax.legend(handles=ways, frameon=False, fontsize=look.SMALL, loc="lower right")


def _lengths(ax: Axes, half_width: xr.DataArray, target: float) -> None:
    """Draw half the length of intervals against the number of items."""
    x = half_width[ITEM].to_numpy().astype(np.float64)
    half = half_width.transpose(ANNOTATOR, ITEM).to_numpy()
    for row, y in enumerate(half):
        style = look.style(row)
        ax.plot(x, y, color=style.color, linestyle=style.dash, linewidth=1.4,
                marker=style.marker, markersize=4)  # fmt: skip
    look.target_line(ax, target)
    look.tidy(ax, grid="y")
    look.length_axis(ax, np.append(half[np.isfinite(half)], target))
    look.size_axis(ax, x)
    ax.set_xlabel("items")
    texts = [counted(int(k), "annotator") for k in half_width[ANNOTATOR].to_numpy()]
    name_ends(ax, half[:, -1], texts)


def reliability_plan(source: Any, *, limit: int = 7, figsize: Size | None = None) -> Any:
    """Draw the reliability of mean labels, and the length of intervals in new studies.

    The first panel shows the reliability of the mean label against the number of annotators of an
    item: median and interval of each pool over the draws of the pilot study, and above each
    interval the probability of reaching the target. The other panels show half the length of the
    interval of the ICC of each pool, and of the normalised xCC of each pair, against the number of
    items. Broken lines are the targets.

    Parameters
    ----------
    source : DataTree or Dataset
        The result of `dissensus.plan_reliability`, or a tree with the group ``plan``.
    limit : int
        Maximum number of panels of intervals; pools come before pairs.

    Examples
    --------
    >>> import dissensus as dx
    >>> pilot = dx.simulate.replication_study(40, 8, 4, random_seed=1).annotations
    >>> plan = dx.plan_reliability(pilot, (1, 2, 4), width=None, random_seed=1, progressbar=False)
    >>> [ax.get_xlabel() for ax in dx.plots.reliability_plan(plan).axes]
    ['annotators of an item']
    """
    needed = ("reliability", "probability_reached")
    data = pieces.returned(source, "plan_reliability", needed, name="plan")
    all_intervals = list(quantities(data))
    axes = _panels(1 + len(all_intervals[:limit]), figsize)
    _of_annotators(axes[0], data)
    for ax, (name, part) in zip(axes[1:], all_intervals[:limit], strict=True):
        _lengths(ax, part["half_width"], part.attrs["width"] / 2)
        title = look.plain(capital(short(name.removeprefix("the "), 44)))
        look.titled(ax, f"{title}:\nhalf the interval; broken line: target")
    text = f"The first {limit} of {len(all_intervals)} intervals; the others are left out."
    look.note(axes[0].figure, text if len(all_intervals) > limit else "")
    return axes[0].figure


def _of_annotators(ax: Axes, data: xr.Dataset) -> None:
    level, target = data.attrs["probability"], data.attrs["target"]
    x = data[ANNOTATOR].to_numpy().astype(np.float64)
    pools = per_pool(data)
    shifts = np.exp(0.1 * (np.arange(len(pools)) - (len(pools) - 1) / 2))  # pools side by side
    for place, (name, part) in enumerate(pools):
        style = look.style(place)
        draws = part["reliability"].transpose(ANNOTATOR, ...).to_numpy().reshape(len(x), -1)
        low, middle, high = np.nanquantile(draws, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=1)
        at = x * shifts[place]
        ax.vlines(at, low, high, color=style.color, linewidth=1.6)
        ax.plot(at, middle, color=style.color, linestyle=style.dash, linewidth=1.0,
                marker=style.marker, markersize=4.5,
                label=look.entry(look.label(name)))  # fmt: skip
        if len(pools) == 1:
            _probabilities(ax, at, part["probability_reached"].to_numpy())
    look.target_line(ax, target)
    ax.set_ylim(0, 1.1 if len(pools) == 1 else 1.0)
    ax.set_yticks(np.linspace(0, 1, 6))
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    look.size_axis(ax, x)
    ax.set_xlabel("annotators of an item")
    look.titled(
        ax, f"Reliability of the mean label,\n{percent(level)} intervals; broken line: target "
        f"{share(target)}",
    )  # fmt: skip
    if len(pools) > 1:
        ax.legend(frameon=False, fontsize=look.SMALL, loc="lower right")


def _probabilities(ax: Axes, x: Any, values: Any) -> None:
    """Write the probabilities of reaching the target above the intervals."""
    how: dict[str, Any] = {"va": "bottom", "fontsize": look.SMALL, "color": look.ink()}
    for place, value in zip(x, values, strict=True):
        ax.annotate(share(value), (place, 1.03), ha="center", **how)
    ax.annotate("P:", (0, 1.03), xycoords=("axes fraction", "data"), ha="right", **how)
