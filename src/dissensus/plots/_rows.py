"""Plots of intervals, one row each: accuracies, variance components, discrepancy ratios."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus import arguments
from dissensus.dims import ANNOTATOR, POOL, SAMPLE, SCALE, SCOPE, SYSTEM, other
from dissensus.errors import ArgumentError
from dissensus.evaluation.evidence import adjusted
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._names import tip, with_interval
from dissensus.plots._style import Size
from dissensus.wording import counted, listed, short_names


class Row(NamedTuple):
    """A row of a plot. A row that is a heading has only a label."""

    label: str
    color: str = ""
    middle: float = np.nan
    """The mean, or the median of ratios."""
    bars: tuple[tuple[float, float, float], ...] = ()
    """Lower and upper bound, and line width."""
    marks: tuple[tuple[str, float], ...] = ()
    """Markers of other values."""
    is_bold: bool = False
    is_small: bool = False

    @property
    def values(self) -> Iterator[float]:
        """All finite numbers of the row."""
        numbers = [*(end for low, high, _ in self.bars for end in (low, high)),
                *(value for _, value in self.marks)]  # fmt: skip
        return (value for value in numbers if np.isfinite(value))


def _draw_rows(ax: Axes, rows: list[Row], marker: str = "o") -> None:
    """Draw the rows from top to bottom; ``marker`` is the name of a marker in Matplotlib."""
    for height, row in enumerate(rows):
        if not np.isfinite(row.middle):
            continue
        for low, high, width in row.bars:
            ax.plot([low, high], [height, height], color=row.color, linewidth=width,
                    solid_capstyle="round", alpha=0.6 if row.is_small else 1.0)  # fmt: skip
        ax.plot(row.middle, height, color=row.color, marker="o" if row.is_small else marker,
                markersize=4 if row.is_small else 6, linestyle="none")  # fmt: skip
        for shape, value in row.marks:
            if np.isfinite(value):
                ax.plot(value, height, color=look.ink(), marker=shape, markersize=5,
                        markeredgewidth=1.2, markerfacecolor="none", linestyle="none")  # fmt: skip


def _frame(ax: Axes, rows: list[Row], names: list[str], title: str) -> None:
    look.rows_axis(ax, names)
    for text, row in zip(ax.get_yticklabels(), rows, strict=True):
        text.set_fontweight("bold" if row.is_bold else "normal")
    ax.set_xlabel(title)


def _shortened(rows: list[Row], width: float) -> list[Row]:
    """Shorten the names of rows; names that differ stay different."""
    names = short_names([row.label for row in rows], look.letters(width, 28))
    return [row._replace(label=name) for row, name in zip(rows, names, strict=True)]


# Accuracy, if every item has one true label.


def accuracies(
    source: Any,
    *,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 20,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw the accuracy of systems and annotators, if every item has one true label.

    Dots are posterior means. Thick bars are intervals for these items, thin bars for new items.
    Crosses are agreement with the majority label (for an annotator, the majority label of the other
    annotators). Diamonds are agreement with the panel.

    Parameters
    ----------
    source : DataTree or Dataset
        An evaluation, or its group ``accuracy``; the group alone has no diamonds.
    limit : int
        Maximum number of systems, and of annotators; the most accurate are shown.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.confusion_study(150, ipc=0.7, system_accuracy=[0.9], random_seed=1)
    >>> result = dx.evaluate(study.annotations, study.predictions, draws=50, random_seed=1,
    ...                      components=None, progressbar=False)
    >>> dx.plots.accuracies(result).axes[0].get_xlabel()
    'accuracy'
    """
    data = pieces.group(source, "accuracy")
    if "annotator_accuracy" not in data or not set(SAMPLE) <= set(data["annotator_accuracy"].dims):
        raise ArgumentError(
            "source", expected="draws of 'annotator_accuracy' (chain, draw)",
            found=f"variables {list(data.data_vars)}",
        )  # fmt: skip
    diamonds = adjusted(source) if isinstance(source, xr.DataTree) else None
    systems = list(_of_systems(data, diamonds, ci_kind, ci_prob))
    people = list(_of_annotators(data, ci_kind, ci_prob))
    left = {"system": len(systems) - limit, "annotator": len(people) - limit}
    width = look.width_of(figsize)
    systems, people = (_shortened(rows[:limit], width) for rows in (systems, people))
    rows = [*systems, *people]
    if systems and len(people) > 1:
        headings = [Row(name, is_bold=True) for name in ("systems", "annotators")]
        rows = [headings[0], *systems, headings[1], *people]
    figure, ax = look.canvas(ax, figsize, width, 0.8 + 0.24 * len(rows))
    _draw_rows(ax, rows)
    values = [value for row in rows for value in row.values]
    room = 0.05 * max(max(values) - min(values), 0.1)
    ax.set_xlim(max(min(values) - room, -0.02), min(max(values) + room, 1.02))
    _frame(ax, rows, [look.plain(row.label) for row in rows], "accuracy")
    bars = "Thick: these items, thin: new items. " if systems else ""
    has_diamonds = any(np.isfinite(value) for row in rows for m, value in row.marks if m == "D")
    diamond_text = ", diamond: agreement with the panel" if has_diamonds else ""
    text = f"{bars}Cross: majority vote{diamond_text}."
    counts = [counted(n, name) for name, n in left.items() if n > 0]
    look.note(
        figure, text + (f"\nThe most accurate; not shown: {listed(counts)}." if counts else "")
    )
    return figure


def _of_systems(
    data: xr.Dataset, diamonds: xr.DataArray | None, ci_kind: str | None, ci_prob: float | None
) -> Iterator[Row]:
    """Return the rows of systems, best first."""
    if "estimated_accuracy" not in data:
        return
    draws = data["estimated_accuracy"]
    low, high = pieces.interval(draws, ci_kind, ci_prob)
    mean = draws.sel({SCOPE: pieces.NEW}).mean(list(SAMPLE)).to_numpy()
    panel_agreement = np.full(len(mean), np.nan)
    if diamonds is not None:
        at_new = pieces.at_scope(diamonds, pieces.NEW)
        panel_agreement = at_new.reindex({SYSTEM: draws[SYSTEM]}).to_numpy()
    names = draws[SYSTEM].to_numpy().astype(str).tolist()
    for k in np.argsort(-mean, kind="stable"):
        bars = tuple(
            (float(low.sel({SCOPE: scope})[k]), float(high.sel({SCOPE: scope})[k]), width)
            for scope, width in ((pieces.NEW, 1.4), (pieces.THESE, 4.0))
        )
        marks = (("x", float(data["majority_accuracy"][k])), ("D", float(panel_agreement[k])))
        yield Row(names[k], look.style(int(k)).color, float(mean[k]), bars, marks)


def _of_annotators(data: xr.Dataset, ci_kind: str | None, ci_prob: float | None) -> Iterator[Row]:
    """Return the rows of annotators, best first; one row if all have the same accuracy."""
    draws, majority = data["annotator_accuracy"], data["annotator_majority"]
    if ANNOTATOR not in draws.dims:
        draws, majority = (
            values.expand_dims({ANNOTATOR: ["annotators"]}, -1)
            for values in (draws, majority.mean(skipna=True))
        )
    names = draws[ANNOTATOR].to_numpy().astype(str).tolist()
    low, high = (bound.to_numpy() for bound in pieces.interval(draws, ci_kind, ci_prob))
    mean = draws.mean(list(SAMPLE)).to_numpy()
    for k in np.argsort(-mean, kind="stable"):
        bars = ((float(low[k]), float(high[k]), 1.4),)
        yield Row(names[k], look.DRAWS, float(mean[k]), bars, (("x", float(majority[k])),))


# Variance components.


_COMPONENTS: Final = (
    ("icc", "ICC", "krippendorff_alpha"),
    ("annotator_icc", "annotator ICC", None),
    ("mean_reliability", "mean label", None),
    ("normalized_xcc", "normalised xCC", "normalized_cross_kappa"),
    ("xcc", "xCC", "cross_kappa"),
)
"""Variable, title, and the statistic that estimates the variable without a model."""


def components(
    source: Any,
    *,
    scale: str = "observed",
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 40,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw ICCs, the reliability of mean labels and, with pools, xCCs, with intervals.

    Crosses are statistics that need no model: Krippendorff's alpha and cross-kappa.

    Parameters
    ----------
    source : DataTree or Dataset
        An evaluation, or its group ``components``; the group alone has no crosses.
    scale : {"observed", "latent"}
        Scale of ICCs and xCCs. The reliability of mean labels is on the observed scale.
    limit : int
        Approximate maximum number of rows; xCCs are left out first.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(40, random_seed=1).annotations
    >>> result = dx.evaluate(ann, threshold=0, draws=50, random_seed=1, progressbar=False)
    >>> dx.plots.components(result).axes[0].get_xlabel()
    'reliability'
    """
    arguments.one_of("scale", scale, ("observed", "latent"))
    data = pieces.group(source, "components")
    if "icc" not in data or not {*SAMPLE, SCALE} <= set(data["icc"].dims):
        raise ArgumentError(
            "source", expected="draws of 'icc' (chain, draw, scale)",
            found=f"variables {list(data.data_vars)}",
        )  # fmt: skip
    statistics = _without_model(source) if scale == "observed" else xr.Dataset()
    rows: list[Row] = []
    left = 0
    for part, (name, title, statistic) in enumerate(_COMPONENTS):
        if name not in data:
            continue
        draws = data[name]
        draws = draws.sel({SCALE: scale}, drop=True) if SCALE in draws.dims else draws
        points = statistics.get(statistic)
        added = list(_of_component(draws, look.style(part).color, points, ci_kind, ci_prob))
        if len(added) == 1 and not added[0].label:
            rows.append(added[0]._replace(label=title))
        elif rows and len(rows) + len(added) > limit:
            left += len(added)
        else:
            rows += [Row(title, is_bold=True), *added]
    width = look.width_of(figsize)
    figure, ax = look.canvas(ax, figsize, width, 0.8 + 0.24 * len(rows))
    _draw_rows(ax, rows)
    values = [value for row in rows for value in row.values]
    low, high = min([0.0, *values]), max([1.0, *values])
    ax.set_xlim(low - 0.02, high + 0.02)
    for edge in {0.0, 1.0} if high > 1.0 or low < 0.0 else {0.0}:
        ax.axvline(edge, color=look.ink(), linewidth=0.8)
    names = [look.label(row.label, look.letters(width, 28)) for row in rows]
    _frame(ax, rows, names, "reliability")
    look.note(figure, f"{left:,} pairs of pools are left out." if left else "")
    return figure


def _without_model(source: Any) -> xr.Dataset:
    """Return statistics of the annotations that need no model, by name."""
    if not isinstance(source, xr.DataTree):
        return xr.Dataset()
    if "pools" in source.children:
        data = source["pools"].to_dataset()
        names = {str(name).removeprefix("observed_"): name for name in data.data_vars
                 if str(name).startswith("observed_")}  # fmt: skip
        return xr.Dataset({name: data[old] for name, old in names.items()})
    if "agreement" not in source.children:
        return xr.Dataset()
    alpha = next((name for name in source["agreement"].data_vars if "alpha" in str(name)), None)
    points = source["statistics"].to_dataset()
    return xr.Dataset({"krippendorff_alpha": points[alpha]}) if alpha in points else xr.Dataset()


def _of_component(
    draws: xr.DataArray, color: str, points: xr.DataArray | None, ci_kind: str | None,
    ci_prob: float | None,
) -> Iterator[Row]:  # fmt: skip
    """Return the rows of a variance component: of pools, of pairs of pools, or one row."""
    low, high = pieces.interval(draws, ci_kind, ci_prob)
    mean = draws.mean(list(SAMPLE))
    dims = [dim for dim in (POOL, other(POOL)) if dim in draws.dims]
    names = draws[POOL].to_numpy().tolist() if dims else []
    for place in combinations(range(len(names)), len(dims)):
        at = dict(zip(dims, place, strict=True))
        center, lower, upper = (float(values.isel(at)) for values in (mean, low, high))
        has_point = points is not None and set(at) == set(points.dims)
        point = float(points.isel(at)) if points is not None and has_point else np.nan
        label = " \N{EN DASH} ".join(str(names[k]) for k in place)
        if np.isfinite([center, lower, upper]).all():
            yield Row(label, color, center, ((lower, upper, 2.2),), (("x", point),))


# Discrepancy ratios.


_RATIOS: Final = {SYSTEM: "discrepancy_ratio", ANNOTATOR: "annotator_discrepancy_ratio"}


def discrepancy(
    source: Any,
    *,
    margin: float | None = None,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    limit: int = 30,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw discrepancy ratios of systems and of annotators, each annotator against the others.

    A ratio below 1 means that a system is closer to the annotators than they are to each other.

    Parameters
    ----------
    source : DataTree or Dataset
        An evaluation, its group ``discrepancy``, or draws of ``discrepancy_ratio`` (chain, draw,
        system), ``annotator_discrepancy_ratio`` (chain, draw, annotator), or both.
    margin : float, optional
        Margin of non-inferiority, drawn at 1 + margin; by default that of the evaluation.
    limit : int
        Maximum number of rows; annotators with the most items (``n_items``) are kept.

    Notes
    -----
    After Lovchinsky et al. (2020), Table 4.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.study(n_items=60, random_seed=1)
    >>> ratio = dx.bayesian_bootstrap(dx.discrepancy_ratio, study.annotations, study.predictions,
    ...                               draws=200, random_seed=1)
    >>> dx.plots.discrepancy(ratio).axes[0].get_xlabel()
    'discrepancy ratio'
    """
    data = pieces.group(source, "discrepancy")
    rows: list[Row] = []
    text = ""
    for dim, name in _RATIOS.items():
        if name in data:
            added, text = _of_ratio(data, dim, limit - len(rows), ci_kind, ci_prob)
            rows += added
    if not rows:
        raise ArgumentError(
            "source", expected=f"discrepancy ratios: {' or '.join(_RATIOS.values())}",
            found=f"variables {list(data.data_vars)}",
        )  # fmt: skip
    rows.sort(key=lambda row: row.middle)
    width = look.width_of(figsize)
    figure, ax = look.canvas(ax, figsize, width, 1.0 + 0.25 * len(rows))
    _draw_rows(ax, rows, "D")
    for height, row in enumerate(rows):
        tip(ax, row.middle, height, with_interval(row.label, row.middle, *row.bars[0][:2]))
    end = 1.0 + (data.attrs.get("margin") or 0.0 if margin is None else margin)
    ax.axvline(1.0, color=look.ink(), linewidth=1.0)
    if end != 1.0:
        ax.axvline(end, color=look.ink(), linewidth=0.8, linestyle=(0, (3, 2)))
    low, high = min(row.bars[0][0] for row in rows), max(row.bars[0][1] for row in rows)
    room = 0.06 * max(high - low, 0.1)
    ax.set_xlim(min(low, 1.0) - room, max(high, end) + room)
    names = look.labels([row.label for row in rows], look.letters(width))
    _frame(ax, rows, names, "discrepancy ratio")
    look.note(figure, text)
    return figure


def _of_ratio(
    data: xr.Dataset, dim: str, limit: int, ci_kind: str | None, ci_prob: float | None
) -> tuple[list[Row], str]:
    """Return the rows of systems or annotators, and a note on annotators that are left out."""
    draws = data[_RATIOS[dim]]
    if set(draws.dims) != {*SAMPLE, dim}:
        extra = sorted(map(str, set(draws.dims) - {*SAMPLE, dim}))
        raise ArgumentError(
            "source", expected=f"draws of {draws.name}, with dims {(*SAMPLE, dim)}",
            found=f"dims {draws.dims}",
            hint=f"Select one value along {', '.join(extra)}" if extra
            else "Pass the result of dissensus.bayesian_bootstrap",
        )  # fmt: skip
    middle = draws.median(list(SAMPLE)).to_numpy()  # draws are skewed if there are few annotators
    places = np.flatnonzero(draws.notnull().all(list(SAMPLE)))
    text = ""
    if dim == ANNOTATOR and len(places) > limit:
        total, limit = len(places), max(limit, 1)
        known = "n_items" in data
        weight = data["n_items"].to_numpy() if known else np.ones(len(middle))
        order = places[np.argsort(-weight[places], kind="stable")]
        fewer = known and weight[order[limit:]].max() < weight[order[:limit]].min()
        description = "annotators with fewer items" if fewer else f"of {total:,} annotators"
        text = f"{total - limit:,} {description} are left out."
        places = np.sort(order[:limit])
    low, high = (bound.to_numpy() for bound in pieces.interval(draws, ci_kind, ci_prob))
    names = draws[dim].to_numpy() if dim in draws.coords else np.arange(len(middle))
    is_system = dim == SYSTEM
    return [
        Row(str(names[k]), look.style(int(k)).color if is_system else look.ink(), float(middle[k]),
            ((float(low[k]), float(high[k]), 2.2 if is_system else 1.0),),
            is_bold=is_system, is_small=not is_system)
        for k in places
    ], text  # fmt: skip
