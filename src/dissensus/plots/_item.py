"""One item in full: what the annotators said, what follows from it, what the systems said."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from dissensus import metrics
from dissensus.data.plausibility import plausibility_of, space
from dissensus.data.rows import ranks
from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.errors import DissensusWarning, PredictionError
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._source import places
from dissensus.plots._style import Size
from dissensus.wording import counted, number, share, short

# What was said about one item, as lines of text: by annotators, and by systems.


class Statement(NamedTuple):
    """Something said about an item, and by whom."""

    who: list[object]
    blocks: list[list[object]]
    """Labels in order, tied ones together; a single label is one block of one."""
    hit: float = float("nan")
    """How probably the item's leading label is among them (predictions only)."""


def place_of(data: xr.DataArray | xr.Dataset, item: object) -> int:
    """Find an item, or say which there are.

    Raises
    ------
    ArgumentError
        If there is no such item.
    """
    return places(data, [item], "item")[0]


def said(annotations: xr.Dataset, item: object) -> list[Statement]:
    """Return what the annotators said about an item, the same statements together."""
    rows = np.flatnonzero(annotations["item_code"].to_numpy() == place_of(annotations, item))
    here = annotations.isel({ANNOTATION: rows})
    who = here[ANNOTATOR].to_numpy()[here["annotator_code"].to_numpy()]
    if "label_code" in here:
        what = here[LABEL].to_numpy()[here["label_code"].to_numpy()].tolist()
    else:
        what = here["value"].to_numpy().tolist()
    trial = here["trial"].to_numpy() if "trial" in here else np.zeros(len(rows))
    frame = pd.DataFrame({"who": pd.factorize(who)[0], "trial": pd.factorize(trial)[0],
                          "rank": ranks(here), "row": np.arange(len(rows))})  # fmt: skip
    same: dict[str, Statement] = {}
    for _, one in frame.groupby(["who", "trial"], sort=True):
        blocks = [[what[row] for row in block["row"]] for _, block in one.groupby("rank")]
        blocks = [sorted(block, key=str) for block in blocks]
        person = np.asarray(who)[one["row"].iloc[0]]
        statement = same.setdefault(repr(blocks), Statement([], blocks))
        statement.who.append(getattr(person, "item", lambda person=person: person)())
    return sorted(same.values(), key=lambda one: -len(one.who))


def predicted(predictions: xr.Dataset, item: object, plausibility: xr.DataArray) -> list[Statement]:
    """Return what the systems said, and how probably it holds the item's leading label."""
    if "label_code" not in predictions or item not in predictions[ITEM].to_numpy():
        return []
    here = predictions.isel({ITEM: [place_of(predictions, item)]}).transpose(ITEM, SYSTEM, ...)
    names, systems = here[LABEL].to_numpy(), here[SYSTEM].to_numpy().tolist()
    lists = np.stack([here[name].to_numpy()[0] for name in ("label_code", "block")], axis=1)
    # Hundreds of systems say only a few different things about one item.
    _, one_of, same = np.unique(lists, axis=0, return_index=True, return_inverse=True)
    plausibility = plausibility.isel({ITEM: [place_of(plausibility, item)]})
    hits = _hits(here.isel({SYSTEM: one_of}), plausibility)[same.ravel()]
    out = []
    for system, (code, block), hit in zip(systems, lists, hits, strict=True):
        blocks = [names[code[block == k]].tolist() for k in np.unique(block[block > 0])]
        out.append(Statement([system], blocks, float(hit)))
    return out


def _hits(here: xr.Dataset, plausibility: xr.DataArray) -> npt.NDArray[np.float64]:
    if CHAIN not in plausibility.dims:
        return np.full(here.sizes[SYSTEM], np.nan)
    longest = int((here["block"] > 0).sum("position").max())
    accuracy = metrics.get("top_k_accuracy").function
    with warnings.catch_warnings():
        # Labels outside the label space: `evaluate` has warned of them for all items at once.
        warnings.simplefilter("ignore", DissensusWarning)
        try:
            found = accuracy(plausibility, here, k=longest)
        except PredictionError:  # here even all of them are outside
            return np.zeros(here.sizes[SYSTEM])
    return np.asarray(found.mean(SAMPLE).to_numpy())


def spelled(blocks: Sequence[Sequence[object]], width: int = 40) -> str:
    """Write blocks as the source does: {a, b} > c.

    Examples
    --------
    >>> spelled([["a"], ["b", "c"]]), spelled([[0.5]])
    ('a > {b, c}', '.5')
    """

    def name(one: object) -> str:
        return number(one) if isinstance(one, float) else short(one, width)

    texts = [
        name(block[0]) if len(block) == 1 else "{" + ", ".join(map(name, block)) + "}"
        for block in blocks
    ]
    return " > ".join(texts)


_DRAWS = 150
_LINE = 0.205
"""Inches: the height of a line of text."""
_PREDICTIONS = "Predictions, and how probably the leading label is among them"


def item(
    source: Any,
    item: object,
    *,
    annotations: xr.Dataset | None = None,
    predictions: xr.Dataset | None = None,
    point: xr.DataArray | None = None,
    candidates: int = 10,
    limit: int = 12,
    figsize: Size | None = None,
) -> Any:
    """Draw one item: its annotations, its plausibilities, and the predictions.

    Above, what each annotator said, tied labels in braces. In the middle, the plausibility of
    each label: dots are draws, the bar is their mean, the cross is the point estimate that
    ignores the uncertainty. Below, what each system said, and how probably its list holds the
    label that leads.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, a fit, or a plausibility, dense or in candidate form.
    item : object
        Which item.
    annotations, predictions : xarray.Dataset, optional
        Taken from the evaluation by default.
    point : xarray.DataArray, optional
        The point estimate, a plausibility without draws; taken from the evaluation by default.
    candidates : int
        At most so many labels, the most plausible ones.
    limit : int
        At most so many lines of annotations, and of predictions.
    figsize : (float, float), optional
        Width and height in inches; a height of None is chosen to fit.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If there is no such item.

    Notes
    -----
    After Stutz et al. (2023), Figure 5.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings(
    ...     {"case": [[["nevus"], ["melanoma"]], [["nevus", "melanoma"], ["wart"]]]})
    >>> fit = dx.models.inverse_rank.fit(ann, draws=50, random_seed=1)
    >>> figure = dx.plots.item(fit, "case", annotations=ann)
    >>> [tick.get_text() for tick in figure.axes[-1].get_yticklabels()]
    ['nevus', 'melanoma', 'wart']
    """
    theta = plausibility_of(source)
    if isinstance(source, xr.DataTree):
        annotations = _group(source, "annotations") if annotations is None else annotations
        predictions = _group(source, "predictions") if predictions is None else predictions
        statistics = _group(source, "statistics")
        if point is None and statistics is not None and "point_estimate" in statistics:
            point = statistics["point_estimate"]
    here = theta.isel({ITEM: place_of(theta, item)})
    width = look.width_of(figsize)
    above = [] if annotations is None else said(annotations, item)
    below = [] if predictions is None else predicted(predictions, item, theta)
    top = _annotation_lines(above, limit, width)
    bottom = _prediction_lines(below, limit, width)
    rows = _rows(here, theta, item, candidates)
    titles = [
        _wrapped(words, 0.86 * width)  # bold letters are wider
        for words in (f"Annotations of item {short(item, 30)}", _PREDICTIONS)
    ]
    heights = [
        _LINE * (len(top) + len(titles[0]) + 0.4) if top else 0.01,
        0.27 * len(rows) + 0.5,
        _LINE * (len(bottom) + len(titles[1]) + 0.4) if bottom else 0.01,
    ]
    size = look.fitted(figsize, width, sum(heights) + 0.2)
    figure = look.Picture(figsize=size, layout="constrained")
    # Subfigures: text may use the whole width, however long the names of the labels are.
    parts: Any = figure.subfigures(3, 1, height_ratios=heights)
    _text(parts[0], titles[0], top)
    _plausibilities(parts[1].subplots(), rows, point, item)
    _text(parts[2], titles[1], bottom)
    return figure


def _group(source: xr.DataTree, name: str) -> xr.Dataset | None:
    return source[name].to_dataset() if name in source.children else None


def _wrapped(text: str, width: float) -> list[str]:
    letters = max(24, int(width * 72 / (0.58 * look.SMALL)))
    return textwrap.wrap(text, letters, subsequent_indent="    ")


def _annotation_lines(statements: list[Statement], limit: int, width: float) -> list[str]:
    lines: list[str] = []
    for one in statements[:limit]:
        names = [short(who, 16) for who in one.who[:6]]
        more = f" and {len(one.who) - 6} more" if len(one.who) > 6 else ""
        lines += _wrapped(f"{spelled(one.blocks)}   ({', '.join(names)}{more})", width)
    if len(statements) > limit:
        lines.append(f"… and {counted(len(statements) - limit, 'other statement')}")
    return lines


def _prediction_lines(statements: list[Statement], limit: int, width: float) -> list[str]:
    ordered = sorted(statements, key=lambda one: -one.hit)
    lines: list[str] = []
    for one in ordered[:limit]:
        hit = f"{share(one.hit)}  " if np.isfinite(one.hit) else ""
        lines += _wrapped(f"{hit}{short(one.who[0], 24)}: {spelled(one.blocks)}", width)
    if len(ordered) > limit:
        lines.append(f"… and {counted(len(ordered) - limit, 'other system')}")
    return lines


def _text(part: Any, titles: list[str], lines: list[str]) -> None:
    if not lines:
        return
    ax = part.subplots()
    ax.set_axis_off()
    ax.set_ylim(len(titles) + len(lines) + 0.4, 0)
    ax.set_xlim(0, 1)
    for row, line in enumerate([*titles, *lines]):
        bold = row < len(titles)
        y = row + (0.6 if bold else 0.7)
        ax.text(0, y, look.plain(line), va="center", fontsize=look.SMALL + 0.5 * bold,
                weight="bold" if bold else "normal")  # fmt: skip


def _rows(
    here: xr.DataArray, theta: xr.DataArray, item: object, limit: int
) -> list[tuple[str, object, Any]]:
    """Return label text, label and draws of the candidates worth a row, most plausible first."""
    where = space(theta)
    core = here.dims[-1]
    draws = here.transpose(*[dim for dim in SAMPLE if dim in here.dims], core).to_numpy()
    draws = draws.reshape(-1, here.sizes[core])
    place = place_of(theta, item)
    codes = where.codes if where.dense else where.codes[place]
    sizes = where.sizes if where.dense else where.sizes[place]
    mean = draws.mean(axis=0)
    out: list[tuple[str, object, Any]] = []
    order = [k for k in np.argsort(-mean, kind="stable") if sizes[k] > 0]
    order = [k for k in order if codes[k] >= 0 or mean[k] > 0]
    for k in order[:limit]:
        known = where.labels[codes[k]] if codes[k] >= 0 else None
        name = counted(int(sizes[k]), "other label") if known is None else short(known, 30)
        out.append((name, known, draws[:, k]))
    left = order[limit:]
    if left:
        out.append((f"{len(left)} less plausible ones", None, draws[:, left].sum(axis=1)))
    return out


def _plausibilities(
    ax: Axes, rows: list[tuple[str, object, Any]], point: xr.DataArray | None, item: object
) -> None:
    height = np.arange(len(rows))
    for y, (_, known, draws) in zip(height, rows, strict=True):
        ax.barh(y, draws.mean(), height=0.62, color=look.ink(), alpha=0.13, linewidth=0)
        if len(draws) > 1:
            some = draws[pieces.thin(len(draws), _DRAWS)]
            # A golden-ratio sequence spreads the dots evenly and is the same every time.
            jitter = (np.arange(len(some)) * 0.6180339887) % 1 - 0.5
            look.dots(ax, some, y + 0.5 * jitter, 2.2, look.DRAWS)
        ax.vlines(draws.mean(), y - 0.31, y + 0.31, color=look.ink(), linewidth=1.8)
        if point is not None and known is not None:
            ax.plot(_point(point, item, known), y, marker="x", color=look.ink(),
                    markersize=6, markeredgewidth=1.8)  # fmt: skip
    ax.set_yticks(height, [look.plain(name) for name, *_ in rows], fontsize=look.SMALL)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    highest = max(float(draws.max()) for *_, draws in rows)
    ax.set_xlim(-0.01, min(1.01, max(0.2, 1.05 * highest)))
    look.tidy(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    look.share_axis(ax.xaxis)
    ax.set_xlabel("plausibility", fontsize=look.SMALL + 0.5)


def _point(point: xr.DataArray, item: object, known: object) -> float:
    """Return the point estimate of one label; 0 where it was not even a candidate."""
    if CHAIN in point.dims or SYSTEM in point.dims:
        return float("nan")
    where = space(point)
    place = place_of(point, item)
    codes = where.codes if where.dense else where.codes[place]
    values = point.isel({ITEM: place}).to_numpy()
    hit = [k for k, code in enumerate(codes) if code >= 0 and where.labels[code] == known]
    return float(values[hit[0]]) if hit else 0.0
