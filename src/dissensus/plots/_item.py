"""One item: its annotations, its plausibilities, and its predictions."""

from __future__ import annotations

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
from dissensus.plots._style import Size
from dissensus.wording import counted, number, share, short

# Annotations and predictions of an item.


class Statement(NamedTuple):
    """A label or ranking that annotators or systems gave an item."""

    sources: list[object]
    """Names of the annotators or systems."""
    blocks: list[list[object]]
    """Labels in order, tied labels together; a single label is one block."""
    hit: float = float("nan")
    """Probability that a prediction contains the item's most plausible label."""


def place_of(data: xr.DataArray | xr.Dataset, item: object) -> int:
    """Return the place of an item, or raise an error that names the argument ``item``."""
    return pieces.places(data, [item], "item")[0]


def statements_of(annotations: xr.Dataset, item: object) -> list[Statement]:
    """Return the annotations of an item; equal annotations are one statement."""
    rows = np.flatnonzero(annotations["item_code"].to_numpy() == place_of(annotations, item))
    item_rows = annotations.isel({ANNOTATION: rows})
    people = item_rows[ANNOTATOR].to_numpy()[item_rows["annotator_code"].to_numpy()].tolist()
    if "label_code" in item_rows:
        labels = item_rows[LABEL].to_numpy()[item_rows["label_code"].to_numpy()].tolist()
    else:
        labels = item_rows["value"].to_numpy().tolist()
    trial = item_rows["trial"].to_numpy() if "trial" in item_rows else np.zeros(len(rows))
    frame = pd.DataFrame({
        "person": pd.factorize(item_rows["annotator_code"].to_numpy())[0],
        "trial": pd.factorize(trial)[0], "rank": ranks(item_rows), "row": np.arange(len(rows)),
    })  # fmt: skip
    same: dict[str, Statement] = {}
    for _, part in frame.groupby(["person", "trial"], sort=True):
        blocks = [[labels[row] for row in block["row"]] for _, block in part.groupby("rank")]
        blocks = [sorted(block, key=str) for block in blocks]
        statement = same.setdefault(repr(blocks), Statement([], blocks))
        statement.sources.append(people[part["row"].iloc[0]])
    return sorted(same.values(), key=lambda statement: -len(statement.sources))


def predictions_of(
    predictions: xr.Dataset, item: object, plausibility: xr.DataArray
) -> list[Statement]:
    """Return systems' predictions, with probabilities that they contain the most plausible label.

    The list is empty for predictions that are numbers, and for an item without predictions.
    """
    if "label_code" not in predictions or item not in predictions[ITEM].to_numpy():
        return []
    item_predictions = predictions.isel({ITEM: [place_of(predictions, item)]}).transpose(
        ITEM, SYSTEM, ...
    )
    names, systems = (
        item_predictions[LABEL].to_numpy(),
        item_predictions[SYSTEM].to_numpy().tolist(),
    )
    lists = np.stack(
        [item_predictions[name].to_numpy()[0] for name in ("label_code", "block")], axis=1
    )
    # Distinct predictions are evaluated once: hundreds of systems give few distinct ones.
    _, first, same = np.unique(lists, axis=0, return_index=True, return_inverse=True)
    plausibility = plausibility.isel({ITEM: [place_of(plausibility, item)]})
    hits = _hits(item_predictions.isel({SYSTEM: first}), plausibility)[same.ravel()]
    return [
        Statement([system], [names[code[block == k]].tolist() for k in np.unique(block[block > 0])],
                  float(hit))
        for system, (code, block), hit in zip(systems, lists, hits, strict=True)
    ]  # fmt: skip


def _hits(item_predictions: xr.Dataset, plausibility: xr.DataArray) -> npt.NDArray[np.float64]:
    if CHAIN not in plausibility.dims:
        return np.full(item_predictions.sizes[SYSTEM], np.nan)
    longest = int((item_predictions["block"] > 0).sum("position").max())
    accuracy = metrics.get("top_k_accuracy").function
    with warnings.catch_warnings():
        # `evaluate` has warned of labels outside the label space, for all items at once.
        warnings.simplefilter("ignore", DissensusWarning)
        try:
            draws = accuracy(plausibility, item_predictions, k=longest)
        except PredictionError:  # all labels are outside
            return np.zeros(item_predictions.sizes[SYSTEM])
    return np.asarray(draws.mean(SAMPLE).to_numpy())


def spelled(blocks: Sequence[Sequence[object]], width: int = 40) -> str:
    """Write a ranking as in Stutz et al. (2023): {a, b} > c.

    Examples
    --------
    >>> spelled([["a"], ["b", "c"]]), spelled([[0.5]])
    ('a > {b, c}', '.5')
    """

    def name(label: object) -> str:
        return number(label) if isinstance(label, float) else short(label, width)

    texts = [
        name(block[0]) if len(block) == 1 else "{" + ", ".join(map(name, block)) + "}"
        for block in blocks
    ]
    return " > ".join(texts)


# Plausibilities of an item.


class Candidate(NamedTuple):
    """A label of an item, or several labels together."""

    label: object
    """None for several labels."""
    size: int
    """Number of labels."""
    draws: npt.NDArray[np.float64]
    columns: list[int]
    """Places along the last dim of the plausibility."""
    is_rest: bool = False
    """Whether these are all labels beyond the limit, together."""


def candidates_of(theta: xr.DataArray, item: object, limit: int) -> list[Candidate]:
    """Return the most plausible labels of an item, and its other labels as one candidate."""
    label_space = space(theta)
    place = place_of(theta, item)
    item_theta = theta.isel({ITEM: place})
    core = item_theta.dims[-1]
    draws = item_theta.transpose(
        *[dim for dim in SAMPLE if dim in item_theta.dims], core
    ).to_numpy()
    draws = draws.reshape(-1, item_theta.sizes[core])
    codes = label_space.codes if label_space.dense else label_space.codes[place]
    sizes = label_space.sizes if label_space.dense else label_space.sizes[place]
    mean = draws.mean(axis=0)
    is_candidate = (sizes > 0) & ((codes >= 0) | (mean > 0))
    order = [int(k) for k in np.argsort(-mean, kind="stable") if is_candidate[k]]
    out = [
        Candidate(label_space.labels[codes[k]] if codes[k] >= 0 else None, int(sizes[k]),
                  draws[:, k], [k])
        for k in order[:limit]
    ]  # fmt: skip
    left = order[limit:]
    if left:
        rest = draws[:, left].sum(axis=1)
        out.append(Candidate(None, len(left), rest, left, is_rest=True))
    return out


_DRAWS = 150
_LINE = 0.205
"""Inches: the height of a line of text."""


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

    Tied labels are in braces. Dots are draws, bars their means, crosses a point estimate that
    ignores uncertainty. Beside each prediction is the probability that it contains the most
    plausible label.

    Parameters
    ----------
    source : DataTree, Dataset or DataArray
        An evaluation, a fit, or a plausibility, dense or in candidate form.
    item : object
        Name of the item.
    annotations, predictions : xarray.Dataset, optional
        By default those of the evaluation.
    point : xarray.DataArray, optional
        A plausibility without draws; by default the point estimate of the evaluation.
    candidates : int
        Maximum number of labels; the most plausible are shown.
    limit : int
        Maximum number of lines of annotations, and of predictions.

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
        groups = {name: source[name].to_dataset() for name in source.children}
        annotations = groups.get("annotations") if annotations is None else annotations
        predictions = groups.get("predictions") if predictions is None else predictions
        if point is None and "statistics" in groups:
            point = groups["statistics"].get("point_estimate")
    rows = candidates_of(theta, item, candidates)
    width = look.width_of(figsize)
    above = [] if annotations is None else statements_of(annotations, item)
    below = [] if predictions is None else predictions_of(predictions, item, theta)
    top = _annotation_lines(above, limit, width)
    bottom = _prediction_lines(below, limit, width)
    titles = [
        look.wrapped(words, look.BOLD * width)
        for words in (
            f"Annotations of item {short(item, 30)}",
            "Predictions, with the probability that they contain the most plausible label",
        )
    ]
    heights = [
        _LINE * (len(top) + len(titles[0]) + 0.4) if top else 0.01,
        0.27 * len(rows) + 0.5,
        _LINE * (len(bottom) + len(titles[1]) + 0.4) if bottom else 0.01,
    ]
    size = look.fitted(figsize, width, sum(heights) + 0.2)
    figure = look.Picture(figsize=size, layout="constrained")
    # In subfigures, text uses the whole width, whatever the length of the labels' names.
    parts: Any = figure.subfigures(3, 1, height_ratios=heights)
    _text(parts[0], titles[0], top)
    _plausibilities(parts[1].subplots(), rows, point, item)
    _text(parts[2], titles[1], bottom)
    return figure


def _annotation_lines(statements: list[Statement], limit: int, width: float) -> list[str]:
    lines: list[str] = []
    for blocks, people in ((s.blocks, s.sources) for s in statements[:limit]):
        names = ", ".join(short(person, 16) for person in people[:6])
        rest = f" and {len(people) - 6} more" if len(people) > 6 else ""
        lines += look.wrapped(f"{spelled(blocks)}   ({names}{rest})", width)
    if len(statements) > limit:
        lines.append(f"… and {counted(len(statements) - limit, 'other statement')}")
    return lines


def _prediction_lines(statements: list[Statement], limit: int, width: float) -> list[str]:
    ordered = sorted(statements, key=lambda statement: -statement.hit)
    lines: list[str] = []
    for systems, blocks, value in ordered[:limit]:
        hit = f"{share(value)}  " if np.isfinite(value) else ""
        lines += look.wrapped(f"{hit}{short(systems[0], 24)}: {spelled(blocks)}", width)
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


def _plausibilities(
    ax: Axes, rows: list[Candidate], point: xr.DataArray | None, item: object
) -> None:
    for y, row in enumerate(rows):
        mean = row.draws.mean()
        ax.barh(y, mean, height=0.62, color=look.ink(), alpha=0.13, linewidth=0)
        if len(row.draws) > 1:
            shown_draws = row.draws[pieces.thin(len(row.draws), _DRAWS)]
            # A golden-ratio sequence spreads the dots evenly, without random numbers.
            jitter = (np.arange(len(shown_draws)) * 0.6180339887) % 1 - 0.5
            look.dots(ax, shown_draws, y + 0.5 * jitter, 2.2, look.DRAWS)
        ax.vlines(mean, y - 0.31, y + 0.31, color=look.ink(), linewidth=1.8)
        if point is not None and row.label is not None:
            ax.plot(_point(point, item, row.label), y, marker="x", color=look.ink(),
                    markersize=6, markeredgewidth=1.8)  # fmt: skip
    look.rows_axis(ax, [look.plain(_candidate_name(row)) for row in rows])
    ax.tick_params(axis="y", labelsize=look.SMALL)
    highest = max(float(row.draws.max()) for row in rows)
    ax.set_xlim(-0.01, min(1.01, max(0.2, 1.05 * highest)))
    ax.set_xlabel("plausibility", fontsize=look.SMALL + 0.5)


def _candidate_name(row: Candidate) -> str:
    if row.is_rest:
        return f"{row.size} less plausible labels"
    return counted(row.size, "other label") if row.label is None else short(row.label, 30)


def _point(point: xr.DataArray, item: object, label: object) -> float:
    """Return the point estimate of a label; 0 if the label was not a candidate, NaN for draws."""
    if CHAIN in point.dims or SYSTEM in point.dims:
        return float("nan")
    label_space = space(point)
    place = place_of(point, item)
    codes = label_space.codes if label_space.dense else label_space.codes[place]
    values = point.isel({ITEM: place}).to_numpy()
    hits = [k for k, code in enumerate(codes) if code >= 0 and label_space.labels[code] == label]
    return float(values[hits[0]]) if hits else 0.0
