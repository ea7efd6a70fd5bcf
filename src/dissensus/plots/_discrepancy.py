"""Systems and annotators on one scale: how far each is from the other annotators."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes

from dissensus.dims import ANNOTATOR, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._style import Size, tip, with_interval

_FACES = {SYSTEM: "discrepancy_ratio", ANNOTATOR: "annotator_discrepancy_ratio"}


class _Row(NamedTuple):
    """One line of the picture."""

    name: object
    dim: str
    place: int
    """Among those of its dim, which decides a system's colour."""
    mean: float
    lower: float
    upper: float


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
    """Draw discrepancy ratios of systems among those of the annotators, each taken out in turn.

    Left of 1 a system is closer to the annotators than they are to each other. A system left of
    all annotators is closer to the panel than any of its members.

    Parameters
    ----------
    source : DataTree or Dataset
        An evaluation, its group ``discrepancy``, or a Dataset of draws of
        ``discrepancy_ratio`` (chain, draw, system), ``annotator_discrepancy_ratio`` (chain, draw,
        annotator), or both.
    margin : float, optional
        Draws the limit of non-inferiority, 1 + margin; by default that of the evaluation.
    ci_kind, ci_prob : optional
        Kind and level of the intervals; ArviZ's settings by default.
    limit : int
        At most so many rows; of the annotators, those with the most items (``n_items``) are kept.
    ax : matplotlib.axes.Axes, optional
        Draw into these.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If there are no ratios, or no draws of them.

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
    rows, note = _rows(data, ci_kind, ci_prob, limit)
    width = look.width_of(figsize)
    figure, ax = look.canvas(ax, figsize, width, 1.0 + 0.25 * len(rows))
    for height, row in enumerate(rows):
        _draw(ax, height, row)
        tip(ax, row.mean, height, with_interval(row.name, row.mean, row.lower, row.upper))
    if margin is None:
        margin = data.attrs.get("margin")
    _frame(ax, rows, margin, width)
    if note:
        look.note(figure, note)
    return figure


def _rows(
    data: xr.Dataset, ci_kind: str | None, ci_prob: float | None, limit: int
) -> tuple[list[_Row], str]:
    """Return the rows, smallest ratio first, and a note on annotators who are left out."""
    rows: list[_Row] = []
    note = ""
    for dim, name in _FACES.items():
        if name not in data:
            continue
        draws = data[name]
        if not {*SAMPLE, dim} <= set(draws.dims):
            raise ArgumentError(
                "source",
                expected=f"draws of {name}, with dims ('chain', 'draw', {dim!r})",
                found=f"dims {draws.dims}",
                hint="dissensus.bayesian_bootstrap makes them",
            )
        extra = set(draws.dims) - {*SAMPLE, dim}
        if extra:
            raise ArgumentError(
                "source",
                expected=f"draws of {name} with the dims {(*SAMPLE, dim)}",
                found=f"dims {draws.dims}",
                hint=f"Select one along {', '.join(sorted(map(str, extra)))}",
            )
        kept, note = _kept(data, draws, dim, limit - len(rows))
        rows += _of(draws.isel({dim: kept}), dim, kept, ci_kind, ci_prob)
    if not rows:
        raise ArgumentError(
            "source",
            expected=f"discrepancy ratios: {' or '.join(_FACES.values())}",
            found=f"variables {list(data.data_vars)}",
        )
    return sorted(rows, key=lambda row: row.mean), note


def _kept(
    data: xr.Dataset, draws: xr.DataArray, dim: str, limit: int
) -> tuple[npt.NDArray[np.int64], str]:
    """Return which to show, all systems and annotators with the most items, and who is not."""
    defined = np.flatnonzero(np.isfinite(draws.mean(list(SAMPLE)).to_numpy()))
    if dim == SYSTEM or len(defined) <= limit:
        return defined, ""
    known = "n_items" in data
    weight = data["n_items"].to_numpy() if known else np.ones(draws.sizes[dim])
    order = defined[np.argsort(-weight[defined], kind="stable")]
    kept, left = order[: max(limit, 1)], order[max(limit, 1) :]
    fewer = known and weight[left].max() < weight[kept].min()
    which = "annotators with fewer items" if fewer else f"of {len(defined):,} annotators"
    return np.sort(kept), f"{len(left):,} {which} are left out."


def _of(
    draws: xr.DataArray,
    dim: str,
    kept: npt.NDArray[np.int64],
    ci_kind: str | None,
    ci_prob: float | None,
) -> list[_Row]:
    lower, upper = (bound.to_numpy() for bound in pieces.interval(draws, ci_kind, ci_prob))
    mean = draws.mean(list(SAMPLE)).to_numpy()
    names = draws[dim].to_numpy().tolist() if dim in draws.coords else kept.tolist()
    return [
        _Row(names[k], dim, int(kept[k]), float(mean[k]), float(lower[k]), float(upper[k]))
        for k in range(len(kept))
    ]


def _draw(ax: Axes, height: int, row: _Row) -> None:
    system = row.dim == SYSTEM
    color = look.style(row.place).color if system else look.ink()
    ax.plot([row.lower, row.upper], [height, height], color=color, linewidth=2.2 if system else 1.0,
            solid_capstyle="round", alpha=1.0 if system else 0.6)  # fmt: skip
    ax.plot(row.mean, height, color=color, marker="D" if system else "o",
            markersize=6 if system else 4, linestyle="none")  # fmt: skip


def _frame(ax: Axes, rows: list[_Row], margin: float | None, width: float) -> None:
    low = min(row.lower for row in rows)
    high = max(row.upper for row in rows)
    ax.axvline(1.0, color=look.ink(), linewidth=1.0)
    if margin:
        ax.axvline(1.0 + margin, color=look.ink(), linewidth=0.8, linestyle=(0, (3, 2)))
    names = look.labels([row.name for row in rows], 14 if width < 5 else 24)
    ax.set_yticks(range(len(rows)), names)
    for text, row in zip(ax.get_yticklabels(), rows, strict=True):
        text.set_fontweight("bold" if row.dim == SYSTEM else "normal")
    ax.set_ylim(len(rows) - 0.4, -0.6)
    room = 0.06 * max(high - low, 0.1)
    ax.set_xlim(min(low, 1.0) - room, max(high, 1.0 + (margin or 0.0)) + room)
    look.tidy(ax, grid="x")
    look.share_axis(ax.xaxis)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("discrepancy ratio")
