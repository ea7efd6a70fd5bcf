"""Nomograms of a ground truth by majority vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from dissensus import arguments
from dissensus.dims import SAMPLE
from dissensus.errors import ArgumentError
from dissensus.kernels.types import Floats
from dissensus.metrics._actual_accuracy import actual_accuracy, label_count, numbers
from dissensus.metrics._majority_accuracy import (
    annotators_for_truth,
    majority_accuracy,
    truth_accuracy,
)
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._names import name_ends
from dissensus.plots._style import Size, target_line
from dissensus.sampling.intervals import whole
from dissensus.wording import counted, number, share

# Marks of an evaluation in the nomograms.


_LABEL, _TRUTH, _NEEDED = "label_accuracy", "truth_accuracy", "annotators_for_truth"


def _study_of(source: Any, measure: str) -> xr.Dataset:
    """Return the group ``weighted_reliability``; its variable ``reliability`` has the draws."""
    data = pieces.group(source, "weighted_reliability")
    names = list(data.data_vars)
    if measure not in names and len(names) != 1:
        variables = f"variables {', '.join(map(str, names))}"
        raise ArgumentError("source", expected=f"draws of {measure}", found=variables)
    draws = data[measure if measure in names else names[0]]
    if set(draws.dims) != set(SAMPLE):
        raise ArgumentError(
            "source", expected=f"draws of one reliability, with dims {SAMPLE}",
            found=f"dims {draws.dims}",
        )  # fmt: skip
    return data.assign(reliability=draws)


def _mark_majority(ax: Axes, study: xr.Dataset) -> None:
    """Mark the accuracy of a label and of the majority."""
    if {_LABEL, _TRUTH} <= set(study.data_vars):
        (x, *wide), (y, *high) = (_spread(study[name]) for name in (_LABEL, _TRUTH))
        _cross(ax, x, y, wide, high)
        _annotate(ax, f"these data: {_written(y, high)}", 0.03)
        # In the legend, this text would make the legend cover the lines.
        ax.legend(frameon=False, fontsize=look.SMALL, loc="lower right", borderaxespad=0.0,
                  bbox_to_anchor=(1.0, 0.1), labelspacing=0.1, handlelength=1.2)  # fmt: skip


def _mark_needed(ax: Axes, study: xr.Dataset) -> None:
    """Mark the number of annotators needed; at the upper edge if the number is off the axis."""
    if not {_LABEL, _NEEDED} <= set(study.data_vars):
        return
    (x, *wide), needed = _spread(study[_LABEL]), whole(study[_NEEDED])
    bottom, top = ax.get_ylim()
    y, low, high = (min(needed[name], top) for name in ("median", "lower", "upper"))
    _cross(ax, x, y, wide, [max(low, bottom), high])
    _annotate(ax, f"these data: {_number_needed(needed)}", 0.97)


def _number_needed(values: Mapping[str, float]) -> str:
    """Write a number of annotators with its interval; ∞ means that no number suffices.

    Examples
    --------
    >>> _number_needed({"median": 9.0, "lower": 7.0, "upper": float("inf")})
    '9 [7, ∞]'
    """
    middle, low, high = (
        number(values[name]) if np.isfinite(values[name]) else "∞"
        for name in ("median", "lower", "upper")
    )
    return f"{middle} [{low}, {high}]"


def _mark_reliability(ax: Axes, study: xr.Dataset) -> None:
    """Draw the interval of a reliability as a band, with a line at its median."""
    middle, low, high = _spread(study["reliability"])
    ax.axvspan(low, high, color=look.DRAWS, alpha=0.15, linewidth=0, zorder=0)
    ax.axvline(middle, color=look.DRAWS, linewidth=1.2, zorder=1)
    _annotate(ax, f"these data: {_written(middle, [low, high])}", 0.03)


def _spread(draws: xr.DataArray) -> tuple[float, float, float]:
    """Return the median and the ends of the interval."""
    low, high = (float(bound) for bound in pieces.interval(draws, None, None))
    return float(draws.median()), low, high


def _cross(ax: Axes, x: float, y: float, wide: list[float], high: list[float]) -> None:
    ax.plot(wide, [y, y], color=look.DRAWS, linewidth=2, zorder=4, solid_capstyle="butt")
    ax.plot([x, x], high, color=look.DRAWS, linewidth=2, zorder=4, solid_capstyle="butt")
    ax.plot([x], [y], color=look.DRAWS, marker="o", markersize=5, zorder=5, linestyle="none")


def _written(middle: float, bounds: list[float]) -> str:
    return f"{share(middle)} [{', '.join(share(bound) for bound in bounds)}]"


def _annotate(ax: Axes, text: str, height: float) -> None:
    ax.annotate(text, (0.99, height), xycoords="axes fraction", ha="right", fontsize=look.SMALL,
                va="top" if height > 0.5 else "baseline", color=look.DRAWS)  # fmt: skip


_PANELS: Final = (1, 3, 5, 7, 9)
_COUNTS: Final = (1, 3, 5, 9, 15, 25, 51, 99)
_TRUTHS: Final = (0.95, 0.9, 0.8, 0.99, 0.98, 0.7, 0.6, 0.5)
_GAP: Final = 0.4
"""Minimum distance between numbers on an axis, in inches."""
_POINTS: Final = 301
_NARROW: Final = 5.0


def truth_nomogram(
    source: Any = None,
    *,
    n_annotators: int | None = None,
    n_labels: int | None = None,
    accuracies: Sequence[float] = (0.95, 0.9, 0.85),
    target: float = 0.95,
    threshold: float = 2 / 3,
    confidence: float | None = None,
    measure: str = "weighted_reliability",
    errors: str = "product",
    figsize: Size | None = None,
) -> Any:
    """Draw the accuracy of a majority, the annotators needed, and systems' actual accuracies.

    The first panel shows the accuracy of the majority of 1, 3, 5, 7 and 9 annotators against the
    accuracy of one annotator (`dissensus.majority_accuracy`). The second shows the number of
    annotators that reaches the target (`dissensus.annotators_for_truth`). The last shows the actual
    accuracy of systems against the reliability of the labels, with the accuracy of the ground truth
    on the upper axis (`dissensus.actual_accuracy` of `dissensus.truth_accuracy`). Broken lines
    mark the target and the threshold.

    Draws of a reliability are shown as a line at the median with a band. Dots with bars are
    accuracies and the number of annotators from an evaluation. Dots are off the lines if items
    differ in difficulty, or in their number of annotators.

    Parameters
    ----------
    source : DataArray, Dataset or DataTree, optional
        Draws of `dissensus.weighted_reliability`, or a tree that contains them as group
        ``weighted_reliability``, such as an evaluation.
    n_annotators : int, optional
        Number of annotators of the ground truth in the last panel; by default that of a typical
        item of the evaluation, or 5.
    n_labels : int, optional
        Number of labels; by default that of the evaluation, or 2.
    accuracies : sequence of float
        Accuracies of systems against the ground truth, in the last panel.
    target : float
        Target of the accuracy of the ground truth.
    threshold : float
        Minimum acceptable reliability; the default is Krippendorff's.
    confidence : float, optional
        As in `dissensus.truth_accuracy`; by default the typical confidence of the evaluation, or 1.
    measure : str
        As in `dissensus.truth_accuracy`.
    errors : {"product", "independent"}
        As in `dissensus.actual_accuracy`.

    Examples
    --------
    >>> import dissensus as dx
    >>> figure = dx.plots.truth_nomogram(n_annotators=3)
    >>> [ax.get_xlabel() for ax in figure.axes][:3]
    ['accuracy of one annotator', 'accuracy of one annotator', 'weighted reliability']
    """
    study = xr.Dataset() if source is None else _study_of(source, measure)
    known = {"n_annotators": 5, "n_labels": 2, "typical_confidence": 1.0} | study.attrs
    n_annotators = known["n_annotators"] if n_annotators is None else n_annotators
    n_labels = known["n_labels"] if n_labels is None else n_labels
    confidence = known["typical_confidence"] if confidence is None else confidence
    labels, scores = label_count(n_labels), _scores(accuracies)
    arguments.probability("target", target, allow_zero=False, allow_one=False)
    mark = arguments.probability("threshold", threshold)
    size = arguments.whole("n_annotators", n_annotators)
    link = {"n_annotators": size, "n_labels": labels, "confidence": confidence,
            "measure": measure}  # fmt: skip
    worth = _worth(scores, mark, link, errors)
    first, second, third = _axes(figsize)
    _majorities(first, labels, target)
    _needed(second, labels, target)
    _actual(third, scores, worth, measure, look.width_of(figsize))
    if source is not None:
        _mark_majority(first, study)
        _mark_needed(second, study)
        _mark_reliability(third, study)
    sure = "" if confidence == 1 else f", with the confidence {share(confidence)}"
    look.note(
        first.figure,
        "All panels: annotators are equally accurate and err independently.\n"
        f"Last panel: the majority of {counted(size, 'annotator')}{sure}.",
    )
    return first.figure


def _scores(accuracies: Any) -> Floats:
    expected = "one or several accuracies of systems, from 0 to 1"
    values = numbers("accuracies", accuracies, expected, lambda x: (x >= 0) & (x <= 1))
    if values.ndim > 1 or not values.size:
        raise ArgumentError("accuracies", expected=expected, found=f"shape {values.shape}")
    return np.atleast_1d(np.asarray(values))


def _worth(scores: Floats, mark: float, link: dict[str, Any], errors: str) -> xr.Dataset:
    """Return the accuracies of the ground truth and of systems for all reliabilities."""
    reliability = np.linspace(0, 1, _POINTS)
    truth = truth_accuracy(xr.DataArray(reliability, {"reliability": reliability}), **link)
    # Smaller reliabilities are those of annotators worse than chance.
    truth = truth.where(truth >= 1 / link["n_labels"], drop=True)
    at = truth_accuracy(xr.DataArray([mark], {"mark": [mark]}, "mark"), **link)
    systems = xr.DataArray(scores, dims="system")
    actual = (actual_accuracy(systems, g, errors, link["n_labels"]) for g in (truth, at))
    return xr.Dataset(
        {"truth": truth, **dict(zip(("actual", "actual_at_mark"), actual, strict=True))}
    )


def _axes(figsize: Size | None) -> list[Axes]:
    narrow = look.width_of(figsize) < _NARROW
    layout = "a;b;c" if narrow else "ab;cc"
    figure = look.Picture(
        figsize=look.fitted(figsize, look.WIDTH, 8.4 if narrow else 6.2), layout="constrained"
    )
    return list(figure.subplot_mosaic(layout).values())


def _majorities(ax: Axes, n_labels: int, target: float) -> None:
    x = np.linspace(1 / n_labels, 1, _POINTS)
    accuracy = xr.DataArray(x, dims="x")
    for row, size in reversed(list(enumerate(_PANELS))):
        style = look.style(row)
        y = majority_accuracy(size, accuracy, n_labels)
        ax.plot(x, y, color=style.color, linewidth=1.4, label=counted(size, "annotator"))
    target_line(ax, target)
    ax.legend(frameon=False, fontsize=look.SMALL, loc="lower right")
    ax.set_ylim(1 / n_labels, 1.005)
    _accuracy_axis(ax, n_labels)
    look.share_axis(ax.yaxis)
    look.titled(ax, f"Accuracy of the majority;\nbroken line: {share(target)}")


def _needed(ax: Axes, n_labels: int, target: float) -> None:
    x = np.linspace(1 / n_labels, 1, 2 * _POINTS)
    # Near chance the needed number of annotators is unbounded: leave out accuracies that need more
    # than the axis shows.
    x = x[majority_accuracy(_COUNTS[-1], xr.DataArray(x, dims="x"), n_labels).to_numpy() >= target]
    y = annotators_for_truth(x, target, n_labels)
    ax.step(x, y, where="post", color=look.style(0).color, linewidth=1.4)
    ax.set_yscale("log")
    ax.set_ylim(0.9, _COUNTS[-1] * 1.15)
    ax.yaxis.set_major_locator(FixedLocator(_COUNTS))
    ax.yaxis.set_major_formatter(FixedFormatter([str(count) for count in _COUNTS]))
    ax.yaxis.set_minor_locator(NullLocator())
    _accuracy_axis(ax, n_labels)
    look.titled(ax, f"Annotators for a majority that is\nright on {share(target)} of the items")


def _accuracy_axis(ax: Axes, n_labels: int) -> None:
    look.tidy(ax, grid="both")
    look.share_axis(ax.xaxis)
    ax.set_xlim(1 / n_labels, 1)
    ax.set_xlabel("accuracy of one annotator")


def _actual(ax: Axes, scores: Floats, worth: xr.Dataset, measure: str, width: float) -> None:
    x = worth["reliability"].to_numpy()
    mark = float(worth["mark"][0])
    left = mark < x[0] + 0.75 * (x[-1] - x[0])
    for row in range(len(scores)):
        style, part = look.style(row), worth.isel(system=row)
        ax.plot(x, part["actual"], color=style.color, linewidth=1.4)
        actual = float(part["actual_at_mark"][0])
        if x[0] <= mark <= x[-1]:
            ax.plot([mark], [actual], color=style.color, marker=style.marker, markersize=4.5)
            ax.annotate(f"scored {share(scores[row])}: {share(actual)}", (mark, 0.36 - 0.08 * row),
                        xycoords=("data", "axes fraction"), xytext=(6 if left else -6, 0),
                        textcoords="offset points", ha="left" if left else "right",
                        color=style.color, fontsize=look.SMALL)  # fmt: skip
    ax.axvline(mark, color=look.ink(), linewidth=0.9, linestyle=(0, (4, 2)), zorder=0)
    look.tidy(ax, grid="both")
    look.share_axis(ax.xaxis)
    look.share_axis(ax.yaxis)
    ax.set_xlim(x[0], x[-1])
    ax.set_xlabel(measure.replace("_", " "))
    ax.set_ylabel("actual accuracy")
    name_ends(ax, worth["actual"].transpose(..., "reliability").to_numpy()[:, -1],
          [f"scored {share(score)}" for score in scores])  # fmt: skip
    _truth_axis(ax, x, worth["truth"].to_numpy(), width)
    look.titled(ax, f"Actual accuracy of systems;\nbroken line: reliability {share(mark)}")


def _truth_axis(ax: Axes, x: Floats, truth: Floats, width: float) -> None:
    """Write the accuracy of the ground truth above the panel."""
    known: list[float] = []
    places: list[float] = []
    gap = _GAP / width * (x[-1] - x[0])
    for value in _TRUTHS:
        place = float(np.interp(value, truth, x))
        # The first values have precedence; the other values are written only where there is room.
        if truth[0] <= value <= truth[-1] and all(abs(place - other) > gap for other in places):
            known.append(value)
            places.append(place)
    above = ax.secondary_xaxis("top")
    above.xaxis.set_major_locator(FixedLocator(places))
    above.xaxis.set_major_formatter(FixedFormatter([share(value) for value in known]))
    above.spines["top"].set_visible(False)
    above.tick_params(length=3, labelsize=look.SMALL)
    above.set_xlabel("accuracy of the ground truth", fontsize=look.SMALL)
