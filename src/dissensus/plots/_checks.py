"""Predictive checks of fits: statistics of the data and of replicated annotations."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dissensus.checks._by_group import ENDS, in_tails
from dissensus.checks._prior import BIN, pairs
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SAMPLE
from dissensus.errors import ArgumentError, shown
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._names import spread
from dissensus.plots._style import Size
from dissensus.wording import capital, coefficient_title, number, percent, probability, share

_BINS: Final = 24

# Statistics of all annotations: a histogram of replicates, and a line at the observed value.


def agreement_check(
    source: Any,
    statistics: str | Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    figsize: Size | None = None,
) -> Any:
    """Draw histograms of statistics of agreement in replicates, with the observed values.

    Lines are observed values. If a line is outside the histogram, the model does not reproduce the
    agreement.

    Parameters
    ----------
    source : DataTree or Dataset
        The result of `dissensus.agreement_check`, or a tree with the group ``agreement_check``.
    statistics : str or sequence of str, optional
        Statistics to draw, one panel each; by default all checked statistics.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on, for one statistic only.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "b"]] * 4)
    >>> fit = dx.models.dirichlet.fit(
    ...     ann, posterior_predictive=True, draws=50, random_seed=1, progressbar=False)
    >>> figure = dx.plots.agreement_check(dx.agreement_check(fit), "percent_agreement")
    >>> figure.axes[0].get_title(loc="left")
    'Agreement of two annotators'
    """
    needed = ("observed", "replicated", "tail_probability")
    data = pieces.returned(source, "agreement_check", needed)
    single = ax is not None
    known = [str(name) for name in data["statistic"].to_numpy()[data["checked"].to_numpy()]]
    if statistics is None:
        chosen = known[: 1 if single else None]
    else:
        chosen = [statistics] if isinstance(statistics, str) else list(statistics)
    if not chosen or set(chosen) - set(known) or (single and len(chosen) > 1):
        raise ArgumentError(
            "statistics",
            expected=f"{'one' if single else 'some'} of {shown(known, 12) or 'none'}",
            found=repr(statistics),
        )
    axes = [ax] if ax is not None else look.grid_of(
        len(chosen), figsize, int(look.width_of(figsize) // 2.1), 2.4
    )  # fmt: skip
    for panel, name in zip(axes, chosen, strict=True):
        part = data.sel(statistic=name)
        tail = float(part["tail_probability"])
        text = probability(tail) if np.isfinite(tail) else "undefined"
        _replicates(panel, part, "observed ", f"tail probability {text}", legend=panel is axes[0])
        look.titled(panel, fill(coefficient_title(name), 28))
    return axes[0].figure


def assumptions(source: Any, *, figsize: Size | None = None) -> Any:
    r"""Draw histograms of replicated statistics, one for each assumption of a latent truth model.

    The line is the statistic of the data. The title is bold if the p value is below .01.

    Parameters
    ----------
    source : DataTree or Dataset
        The result of `dissensus.check_assumptions`, or a tree with the group ``assumptions``.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.confusion_study(100, random_seed=1).annotations
    >>> fit = dx.models.symmetric_confusion.fit(ann, posterior_predictive=True, draws=400,
    ...     random_seed=1, progressbar=False)
    >>> figure = dx.plots.assumptions(dx.check_assumptions(fit))
    >>> figure.axes[0].get_title(loc="left")
    'All errors are equally\nfrequent'
    """
    needed = ("observed", "replicated", "p_value")
    data = pieces.returned(
        source, "check_assumptions", needed, name="assumptions", along="check"
    )  # fmt: skip
    data = data.isel(check=np.flatnonzero(np.isfinite(data["p_value"])))
    if not data.sizes["check"]:
        raise ArgumentError(
            "source", expected="a check with a p-value", found="none: the labels allow no check"
        )
    axes = look.grid_of(data.sizes["check"], figsize, int(look.width_of(figsize) // 1.8), 2.2)
    for k, ax in enumerate(axes):
        part = data.isel(check=k)
        p = float(part["p_value"])
        title = fill(capital(str(part["assumption"].item())), 24)
        look.titled(ax, title, fontweight="bold" if p < 0.01 else "normal")
        text = "p < .001" if p < 0.001 else f"p {number(float(f'{p:.2g}'))}"
        name = str(part["check"].item()).replace("_", " ")
        _replicates(ax, part, f"{name}: ", text, legend=k == 0)
    return axes[0].figure


def _replicates(ax: Axes, part: xr.Dataset, name: str, text: str, *, legend: bool) -> None:
    """Draw the histogram of a replicated statistic, and a line at the observed value."""
    values = part["replicated"].to_numpy().ravel()
    values = values[np.isfinite(values)]
    if len(values):
        edges = np.histogram_bin_edges(values, bins="auto")
        if len(edges) > _BINS:
            edges = np.linspace(edges[0], edges[-1], _BINS + 1)
        _histogram(ax, values, edges, label="replicated")
    observed = float(part["observed"])
    if np.isfinite(observed):
        ax.axvline(observed, color=look.ink(), linewidth=1.8, label="observed")
    ax.set_xlabel(f"{name}{number(float(f'{observed:.3g}'))}\n{text}", fontsize=look.SMALL)
    if legend:
        ax.legend(loc="best", frameon=False, fontsize=look.SMALL, handlelength=1.2)


def _histogram(ax: Axes, values: Any, edges: Any, label: str = "") -> None:
    """Draw a histogram without a vertical axis."""
    ax.hist(values, bins=edges, color=look.DRAWS, alpha=0.55, label=label)
    look.tidy(ax, grid=None)
    look.share_axis(ax.xaxis)
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=4)


# Statistics of each annotator or item: intervals of replicates, and marks.


_OF_GROUP: Final = ("observed", "lower", "upper", "tail_probability")


def label_check(source: Any, *, limit: int = 20, figsize: Size | None = None) -> Any:
    """Draw every annotator's share of each label, with the intervals of replicates.

    There is a panel for each label or, if labels are numbers, for their mean and standard
    deviation. Diamonds are values outside the intervals: the model does not describe these
    annotators.

    Parameters
    ----------
    source : DataTree or Dataset
        The result of `dissensus.label_check`, or a tree with the group ``label_check``.
    limit : int
        Maximum number of annotators; those furthest from their replicates are shown.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(40, 6, 4, family="ordinal", random_seed=1).annotations
    >>> fit = dx.models.crossed_effects.fit(ann, family="ordinal", draws=50, random_seed=1,
    ...     posterior_predictive=True, progressbar=False)
    >>> figure = dx.plots.label_check(dx.label_check(fit))
    >>> [ax.get_title(loc="left") for ax in figure.axes][:2]
    ['Share of 1', 'Share of 2']
    """
    all_annotators = pieces.returned(source, "label_check", _OF_GROUP, along=ANNOTATOR)
    data = _furthest(all_annotators.transpose(ANNOTATOR, ...), limit)
    dim = LABEL if LABEL in data["observed"].dims else "statistic"
    count, rows = data.sizes[dim], data.sizes[ANNOTATOR]
    lines = -(-count // max(1, int((look.width_of(figsize) - 0.8) // 1.4)))
    # Shares have one scale; a mean and a standard deviation do not.
    axes = look.grid_of(count, figsize, -(-count // lines), 0.6 + 0.19 * rows + 0.5 / lines,
                        sharey=True, sharex=dim == LABEL)  # fmt: skip
    names = look.labels(data[ANNOTATOR].to_numpy().tolist(), 16)
    for k, ax in enumerate(axes):
        part = data.isel({dim: k})
        _intervals(ax, part, np.arange(rows), horizontal=True, size=4.0, width=5.0)
        look.rows_axis(ax, names)
        ax.locator_params(axis="x", nbins=4)
        name = part[dim].item()
        look.titled(
            ax, f"Share of {look.label(name, 16)}" if dim == LABEL
            else look.plain(capital(str(name))),
        )  # fmt: skip
    figure = axes[0].figure
    _legend(figure)
    total = all_annotators.sizes[ANNOTATOR]
    text = f"The {rows} of {total:,} annotators furthest from their replicates."
    look.note(figure, text if rows < total else "")
    return figure


def residual_check(source: Any, *, limit: int = 1000, figsize: Size | None = None) -> Any:
    """Draw mean and spread of each item's residuals, with the intervals of replicates.

    Items are ordered by their observed values. The items furthest outside their intervals are
    named. Spreads below their intervals are not named: small spreads are likely, because item
    effects were fitted to the same labels.

    Parameters
    ----------
    source : DataTree or Dataset
        The result of `dissensus.residual_check`, or a tree with the group ``residual_check``.
    limit : int
        Approximate maximum number of items; all items outside their intervals are shown.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(40, 6, 4, random_seed=1).annotations
    >>> fit = dx.models.crossed_effects.fit(ann, draws=50, random_seed=1,
    ...     posterior_predictive=True, progressbar=False)
    >>> figure = dx.plots.residual_check(dx.residual_check(fit))
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['Mean of residuals', 'Spread of residuals']
    """
    data = pieces.returned(source, "residual_check", _OF_GROUP, along=ITEM).transpose(ITEM, ...)
    names = [str(name) for name in data["statistic"].to_numpy()]
    narrow = look.width_of(figsize) < look.NARROW
    axes = look.grid_of(len(names), figsize, 1 if narrow else len(names), 3.0)
    left = sum(_residuals(ax, data.sel(statistic=name), name, limit)
               for ax, name in zip(axes, names, strict=True))  # fmt: skip
    _legend(axes[0].figure)
    look.note(axes[0].figure, "Some items inside their intervals are left out." if left else "")
    return axes[0].figure


def _furthest(data: xr.Dataset, limit: int) -> xr.Dataset:
    """Return the annotators with the most statistics in the tails, in the order of the data."""
    others = [dim for dim in data["tail_probability"].dims if dim != ANNOTATOR]
    count = in_tails(data).sum(others).to_numpy()
    distance = abs(data["tail_probability"] - 0.5).fillna(0.0).mean(others).to_numpy()
    order = np.lexsort((-distance, -count))
    return data.isel({ANNOTATOR: np.sort(order[:limit])})


def _intervals(
    ax: Axes, data: xr.Dataset, places: npt.ArrayLike, *, horizontal: bool, size: float,
    width: float,
) -> None:  # fmt: skip
    """Draw intervals of replicates and marks of observed values, in rows or in columns."""
    at = np.asarray(places, dtype=np.float64)
    lower, upper, observed = (data[name].to_numpy() for name in ("lower", "upper", "observed"))
    lines = ax.hlines if horizontal else ax.vlines
    lines(at, lower, upper, color=look.DRAWS, alpha=0.55, linewidth=width)
    outside = in_tails(data).to_numpy()
    for chosen, is_outside in ((~outside, False), (outside, True)):
        x, y = observed[chosen], at[chosen]
        x, y = (x, y) if horizontal else (y, x)
        ax.plot(x, y, markersize=size, linestyle="none", **_mark(is_outside))


def _mark(is_outside: int) -> dict[str, Any]:
    color, marker = (look.WORSE, "D") if is_outside else (look.ink(), "o")
    return {"color": color, "marker": marker}


def _legend(figure: Any) -> None:
    low, high = ENDS
    marks = [Line2D([], [], color=look.DRAWS, alpha=0.55, linewidth=5)]
    marks += [Line2D([], [], markersize=4.5, linestyle="none", **_mark(far)) for far in (0, 1)]
    figure.legend(
        marks, [f"{percent(high - low)} of replicates", "observed", "outside"],
        loc="outside upper left", ncols=3, frameon=False, fontsize=look.SMALL,
        handlelength=1.0, columnspacing=1.0, handletextpad=0.5,
    )  # fmt: skip


def _residuals(ax: Axes, data: xr.Dataset, name: str, limit: int) -> int:
    """Draw a statistic of all items, and return the number of items left out."""
    data = data.isel({ITEM: np.flatnonzero(data["observed"].notnull().to_numpy())})
    data = data.isel({ITEM: np.argsort(data["observed"].to_numpy(), kind="stable")})
    count = data.sizes[ITEM]
    outside = in_tails(data).to_numpy()
    places = np.arange(count)
    if count > limit:
        inside = np.flatnonzero(~outside)
        room = max(limit - int(outside.sum()), 2)
        places = np.union1d(np.flatnonzero(outside), inside[pieces.thin(len(inside), room)])
    _intervals(ax, data.isel({ITEM: places}), places, horizontal=False,
               size=3.0 if count > 60 else 4.0,
               width=min(5.0, max(0.5, 150 / max(count, 1))))  # fmt: skip
    lower, upper, observed = (data[n].to_numpy() for n in ("lower", "upper", "observed"))
    beyond = np.maximum(lower - observed, observed - upper) / np.maximum(upper - lower, 1e-12)
    far = np.flatnonzero(outside & (observed > upper) if name == "spread" else outside)
    _name_items(ax, data.isel({ITEM: far[np.argsort(-beyond[far], kind="stable")][:3]}))
    look.tidy(ax, grid="y")
    look.share_axis(ax.yaxis)
    look.count_axis(ax.xaxis)
    ax.set_xlim(-0.02 * count - 0.5, 1.02 * count - 0.5)
    ax.set_xlabel(f"items, in order: {outside.sum():,} of {count:,} outside", fontsize=look.SMALL)
    look.titled(ax, f"{capital(name)} of residuals" if name in {"mean", "spread"} else name)
    return count - len(places)


def _name_items(ax: Axes, named: xr.Dataset) -> None:
    """Write names of items: at the right for high values, at the left for low values."""
    low, high = ax.get_ylim()
    observed = named["observed"].to_numpy()
    right = observed > (low + high) / 2
    gap = 0.1 * (high - low)
    for side, at in ((True, 0.9), (False, 0.1)):
        chosen = np.flatnonzero(right == side)
        heights = spread(observed[chosen], gap, low + gap / 2, high - gap / 2)
        for k, height in zip(chosen, heights, strict=True):
            ax.text(at, height, look.label(named[ITEM].to_numpy()[k], 14), va="center",
                    ha="right" if side else "left", fontsize=look.SMALL, color=look.WORSE,
                    transform=ax.get_yaxis_transform())  # fmt: skip


# The prior.


def prior_predictive(source: Any, *, figsize: Size | None = None) -> Any:
    """Draw prior predictive distributions of labels and of the ICC.

    Bars are means of the shares of labels, lines contain 90 % of the draws, marks are observed
    shares. Histograms show the ICC on the latent scale, of all pools together. For
    `cross_replication` they also show the correlation of two pools, of all pairs together.

    Parameters
    ----------
    source : DataTree or Dataset
        The result of `dissensus.prior_predictive`, or a tree with the group
        ``prior_predictive``.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(30, 6, 3, random_seed=1).annotations
    >>> data = dx.prior_predictive("crossed_effects", ann, draws=100, random_seed=1)
    >>> [ax.get_title(loc="left") for ax in dx.plots.prior_predictive(data).axes]
    ['Labels', 'ICC, latent scale']
    """
    data = pieces.returned(source, "prior_predictive", ("observed", "replicated", "icc"))
    count = 2 + ("correlation" in data)
    columns = 1 if look.width_of(figsize) < look.NARROW else count
    ratios = [1.3] + [1.0] * (columns - 1)
    axes = look.grid_of(count, figsize, columns, 2.7, width_ratios=ratios)
    _prior_labels(axes[0], data)
    axes[0].figure.legend(loc="outside upper left", ncols=3, frameon=False,
                          fontsize=look.SMALL, handlelength=1.2, columnspacing=1.0)  # fmt: skip
    _prior_histogram(axes[1], data["icc"], "ICC, latent scale", 0.0)
    if count > 2:
        _prior_histogram(axes[2], pairs(data["correlation"]), "Correlation of two pools", -1.0)
    return axes[0].figure


def _prior_labels(ax: Axes, data: xr.Dataset) -> None:
    dim = LABEL if LABEL in data["observed"].dims else BIN
    draws = data["replicated"].transpose(*SAMPLE, dim)
    low, high = (draws.quantile(end, list(SAMPLE)).to_numpy() for end in ENDS)
    observed = data["observed"].to_numpy()
    is_label = dim == LABEL
    edges = np.zeros(0)
    if is_label:
        names = look.labels(data[LABEL].to_numpy().tolist(), 10)
        at, width = np.arange(len(names), dtype=np.float64), 0.8
        ax.set_xticks(at, names)
        if sum(map(len, names)) > 24:
            ax.tick_params(axis="x", rotation=90)
    else:
        edges = np.append(data["bin_lower"], data["bin_upper"][-1])
        at, width = (edges[1:] + edges[:-1]) / 2, float(edges[1] - edges[0])
    ax.bar(at, draws.mean(list(SAMPLE)).to_numpy(), width, color=look.DRAWS, alpha=0.55,
           label="prior, mean")  # fmt: skip
    ax.vlines(at, low, high, color=look.DRAWS, linewidth=1.1,
              label=f"{percent(ENDS[1] - ENDS[0])} of draws")  # fmt: skip
    if is_label:
        ax.plot(at, observed, color=look.ink(), marker="o", markersize=4.5, linestyle="none",
                label="observed")  # fmt: skip
    else:
        ax.stairs(observed, edges, color=look.ink(), linewidth=1.3, label="observed")
    look.tidy(ax)
    look.share_axis(ax.yaxis)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("share")
    look.titled(ax, "Labels")


def _prior_histogram(ax: Axes, draws: xr.DataArray, title: str, lowest: float) -> None:
    values = draws.to_numpy().ravel()
    values = np.clip(values[np.isfinite(values)], lowest, 1.0)
    _histogram(ax, values, np.linspace(lowest, 1.0, 21).tolist())
    low, middle, high = np.quantile(values, [ENDS[0], 0.5, ENDS[1]])
    ax.axvline(middle, color=look.ink(), linewidth=1.3)
    ax.set_xlim(lowest, 1.0)
    look.titled(ax, title)
    ax.set_xlabel(
        f"prior median {share(middle)},\n{percent(ENDS[1] - ENDS[0])} from {share(low)} to "
        f"{share(high)}", fontsize=look.SMALL,
    )  # fmt: skip
