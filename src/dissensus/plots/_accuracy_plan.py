"""A plan of accuracy without the truth: how many items bring an estimate near enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dissensus import arguments
from dissensus.dims import ANNOTATOR, ESTIMATOR, ITEM, SCOPE, SCOPES
from dissensus.errors import ArgumentError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size, lengths, names, panels, sizes, target_line
from dissensus.studies.planning.unknown_truth import ESTIMATORS
from dissensus.wording import counted, percent, share


def accuracy_plan(
    source: Any, *, scope: str = SCOPES[1], figsize: Size | None = None
) -> Any:  # fmt: skip
    """Draw in how many studies estimates come near a system's accuracy, and how wide intervals are.

    First the share of simulated studies whose estimate is near enough, against the number of
    items: the posterior mean's as a line for each number of annotators, with bars of one standard
    error up and down, `dissensus.lehner`'s faint and dotted; the share to reach is a broken line.
    Then half the length of the model's interval; there the broken line is how far off an estimate
    may be.

    Parameters
    ----------
    source : DataTree or Dataset
        What `dissensus.plan_accuracy` returns, or a DataTree with it as the group
        ``accuracy_plan``.
    scope : {"new items", "these items"}
        Whether it is the accuracy on items like these, or the share of the study's own items.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit. In a narrow figure one
        panel is below the other.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the source holds no plan of accuracy, or there is no such scope.

    Examples
    --------
    >>> import dissensus as dx
    >>> found = dx.plan_accuracy(annotators=(3,), items=(30, 60), kappa=0.5, n_labels=4, studies=4,
    ...                          random_seed=1, progressbar=False)
    >>> [ax.get_xlabel() for ax in dx.plots.accuracy_plan(found).axes]
    ['items', 'items']
    """
    found = pieces.group(source, "accuracy_plan")
    if not {"within_share", "half_width"} <= set(found.data_vars):
        raise ArgumentError(
            "source", expected="what dissensus.plan_accuracy returns",
            found=f"the variables {', '.join(map(str, found.data_vars))}",
        )  # fmt: skip
    arguments.one_of("scope", scope, SCOPES)
    one = found.sel({SCOPE: scope})
    shares, halves = panels(2, figsize)
    _shares(shares, one)
    _halves(halves, one)
    return shares.figure


def _shares(ax: Axes, one: xr.Dataset) -> None:
    x = one[ITEM].to_numpy().astype(np.float64)
    model, algebra = (one.sel({ESTIMATOR: name}) for name in ESTIMATORS)
    for row, k in enumerate(one[ANNOTATOR].to_numpy()):
        how = look.style(row)
        part = model.sel({ANNOTATOR: k})
        y, error = (part[name].to_numpy() for name in ("within_share", "within_share_error"))
        at = x * np.exp(0.03 * (row - (one.sizes[ANNOTATOR] - 1) / 2))  # else bars hide bars
        ax.vlines(at, np.maximum(y - error, 0), np.minimum(y + error, 1), color=how.color,
                  linewidth=0.9)  # fmt: skip
        ax.plot(at, y, color=how.color, linewidth=1.4, marker=how.marker, markersize=4)
        ax.plot(x, algebra["within_share"].sel({ANNOTATOR: k}), color=how.color, linewidth=1.1,
                linestyle=(0, (1, 1.5)), alpha=0.75)  # fmt: skip
    target_line(ax, one.attrs["assurance"])
    ax.set_ylim(0, 1.02)
    ax.set_yticks(np.linspace(0, 1, 6))
    _finish(ax, x)
    look.share_axis(ax.yaxis)
    about = one.attrs
    ax.set_title(
        f"Studies whose estimate is within {share(about['within'])}\nof the accuracy, "
        f"{share(about['accuracy'])}; broken line: wanted",
        loc="left", fontsize=look.SMALL + 1,
    )  # fmt: skip
    ways = [Line2D([], [], color=look.ink(), linewidth=1.4, label="model"),
            Line2D([], [], color=look.ink(), linewidth=1.1, linestyle=(0, (1, 1.5)),
                   label="lehner")]  # fmt: skip
    ax.legend(handles=ways, frameon=False, fontsize=look.SMALL, loc="lower right")


def _halves(ax: Axes, one: xr.Dataset) -> None:
    x = one[ITEM].to_numpy().astype(np.float64)
    half = one["half_width"].transpose(ANNOTATOR, ITEM).to_numpy()
    for row in range(len(half)):
        how = look.style(row)
        ax.plot(x, half[row], color=how.color, linewidth=1.4, marker=how.marker, markersize=4)
    target_line(ax, one.attrs["within"])
    lengths(ax, np.append(half, one.attrs["within"]))
    _finish(ax, x)
    names(ax, half[:, -1], [counted(int(k), "annotator") for k in one[ANNOTATOR].to_numpy()])
    ax.set_title(
        f"Half the model's {percent(one.attrs['probability'])} interval;\n"
        f"broken line: {share(one.attrs['within'])}",
        loc="left", fontsize=look.SMALL + 1,
    )  # fmt: skip


def _finish(ax: Axes, x: Any) -> None:
    look.tidy(ax, grid="y")
    sizes(ax, x)
    ax.set_xlabel("items")
