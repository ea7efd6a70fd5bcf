"""ROC curves of readers with each modality."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes

from dissensus.dims import FALSE_POSITIVE_RATE, MODALITY, READER, SAMPLE, SYSTEM, THRESHOLD
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size
from dissensus.statistics._reader_scores import ONE
from dissensus.wording import percent, share

_MARKS: Final = "osD^vPX*"


def reader_study(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the ROC curves of readers with each modality, and of systems.

    Thick lines are means over readers, with intervals for these readers, on new cases unless the
    study has ``new_cases=False``. Thin lines are single readers on these cases. Marks are mean
    sensitivities and specificities over draws, at the thresholds; small marks are of readers, large
    marks of systems. Dashed lines are systems; the thin broken diagonal is chance. The legend has
    average areas with intervals, and areas of systems without intervals.

    Parameters
    ----------
    source : Dataset or DataTree
        The result of `dissensus.reader_study`, or a tree with the group ``reader_study``.

    Examples
    --------
    >>> import dissensus as dx
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> rows = [
    ...     {"reader": r, "case": c, "modality": m, "score": c % 2 * d + rng.normal(), "ill": c % 2}
    ...     for r in range(4) for c in range(60) for m, d in (("MRI", 2.0), ("CT", 1.5))
    ... ]
    >>> study = dx.reader_study(rows, truth="ill", draws=500, random_seed=1)
    >>> dx.plots.reader_study(study).axes[0].get_ylabel()
    'sensitivity'
    """
    data = pieces.returned(source, "reader_study", ("curve",), along=FALSE_POSITIVE_RATE)
    figure, ax = look.roc_canvas(ax, figsize)
    x = data[FALSE_POSITIVE_RATE].to_numpy()
    names = look.labels(data[MODALITY].to_numpy().tolist(), 20)
    if names == [ONE]:
        names = ["readers"]
    low, high = pieces.interval(data["curve"], ci_kind, ci_prob)
    bounds = pieces.interval(data["average_auc"], ci_kind, ci_prob)
    for k, name in enumerate(names):
        color, at_modality = look.style(k).color, {MODALITY: k}
        ax.fill_between(
            x, low.isel(at_modality), high.isel(at_modality), color=color, alpha=0.2, linewidth=0
        )
        for curve in data["observed_curve"].isel(at_modality).transpose(READER, ...).to_numpy():
            ax.plot(x, curve, color=color, linewidth=0.6, alpha=0.6)
        average = share(float(data["average_auc"].isel(at_modality).mean()))
        between = " to ".join(share(float(bound.isel(at_modality))) for bound in bounds)
        ax.plot(x, data["curve"].isel(at_modality).mean(SAMPLE), color=color, linewidth=2.2,
                label=look.entry(f"{name}: {average} ({between})"))  # fmt: skip
        _points(ax, data.isel(at_modality), "", color, 4)
    _systems(ax, data, len(names))
    ax.legend(frameon=False, fontsize=look.SMALL, loc="lower right", title="area under the curve",
              title_fontsize=look.SMALL)  # fmt: skip
    prob = pieces.interval_settings(ci_kind, ci_prob)[1]
    text = f"Intervals: {percent(prob)}."
    if data.attrs.get("new_cases", 1):
        text = f"Intervals: {percent(prob)}; bands: these readers on new cases."
    if THRESHOLD in data:
        values = data[THRESHOLD].to_numpy().tolist()
        marks = ", ".join(f"{v:g}" if isinstance(v, float) else look.label(v) for v in values)
        text += f" Marks: scores of at least {marks}."
        if "system_threshold" in data:
            text += "\nLarge marks: systems at their thresholds."
    look.note(figure, text)
    return figure


def _systems(ax: Axes, data: Any, used: int) -> None:
    """Draw the curves and points of systems; nothing without systems."""
    if "system_auc" not in data:
        return
    x = data[FALSE_POSITIVE_RATE].to_numpy()
    for k, name in enumerate(look.labels(data[SYSTEM].to_numpy().tolist(), 20)):
        at_system = {SYSTEM: k}
        area = share(float(np.mean(data["system_auc"].isel(at_system))))
        ax.plot(x, data["observed_system_curve"].isel(at_system), color=look.style(used + k).color,
                linestyle="--", linewidth=1.6, label=look.entry(f"{name}: {area}"))  # fmt: skip
        _points(ax, data.isel(at_system), "system_", look.style(used + k).color, 7)


def _points(ax: Axes, data: Any, prefix: str, color: Any, size: float) -> None:
    """Mark the mean sensitivity and specificity at each threshold; nothing without thresholds."""
    names = [f"{prefix}sensitivity", f"{prefix}specificity"]
    for t in range(data.sizes[THRESHOLD] if names[0] in data else 0):
        at = data[names].isel({THRESHOLD: t}).mean(SAMPLE)
        ax.plot(1 - at[names[1]], at[names[0]], color=color, linestyle="none",
                marker=_MARKS[t % len(_MARKS)], markersize=size)  # fmt: skip
