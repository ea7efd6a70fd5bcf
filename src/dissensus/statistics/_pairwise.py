r"""Distances of each annotator of an item from the other annotators, and from systems.

A *statement* is all labels that one annotator gives one item. The distance of two statements is the
mean over pairs of their labels, :math:`\psi(Y, Y')` (Lovchinsky et al. 2020, Eq. 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.arguments import is_whole
from dissensus.data import tables
from dissensus.data.alignment import (
    Systems,
    labels_by_systems,
    numbers_by_systems,
    predicted_labels,
)
from dissensus.data.predictions import has_numbers
from dissensus.data.rows import ranking_code, ranks
from dissensus.dims import ELEMENT, LABEL
from dissensus.errors import ArgumentError, PredictionError, brief, shown
from dissensus.kernels.distances import Lists, lists_of, rank_distance, set_distance
from dissensus.kernels.grouped import Grouped, grouped
from dissensus.kernels.statements import (
    Delta,
    Statements,
    excess_apart,
    excess_towards,
    name_towards,
    names_apart,
    pairs_apart,
    pairs_towards,
    square_towards,
    squares_apart,
    statements_of,
)
from dissensus.kernels.types import Floats, Ints, Names
from dissensus.statistics._distances import CallableDistance, Distance, check_range, distance_name
from dissensus.statistics._read import (
    labels_of,
    lists_by_systems,
    numbers_of,
    plain_labels,
    read,
    real,
    rows_of,
)
from dissensus.statistics._sets import SET_DISTANCES

NAMED: Final = ("squared", "absolute", "nominal", "hinge", *SET_DISTANCES, "ranking")

Measured = tuple[Floats, Floats | None, Callable[[int], Floats]]
"""`StatementDistances.to_others`, `without` (or None) and `to_system`."""


@dataclass(frozen=True)
class StatementDistances:
    r"""Distances of statements, in the order of `rows`.

    The disagreement of the annotators of an item is the mean of `to_others` over the item's
    statements (`by_item`). The distance of a system from an item's annotators is the mean of
    `to_system`.
    """

    rows: Grouped
    item: Ints
    """(statement): code of the item."""
    annotator: Ints
    """(statement): code of the annotator."""
    to_others: Floats
    r"""(statement): mean of :math:`\psi` to the item's other statements; NaN if there are none."""
    without: Floats
    r"""(statement): mean of :math:`\psi` over ordered pairs of the item's other statements; NaN
    without a pair."""
    to_system: Callable[[int], Floats]
    """Takes the place of a system; returns its distances (statement), NaN without predictions."""
    n_systems: int
    attrs: dict[str, Any]
    """The distance and its settings."""

    @property
    def counts(self) -> Ints:
        """(item): number of statements."""
        return self.rows.n_annotators

    def by_item(self, values: Floats) -> Floats:
        """Average over the statements of each item: (item); 0 for items with one statement."""
        return np.asarray(_sums(self.item, self.counts, values) / np.maximum(self.counts, 1))


def _sums(item: Ints, counts: Ints, values: Floats) -> Floats:
    return np.bincount(item, np.where(counts[item] < 2, 0.0, values), len(counts))


def statement_distances(
    annotations: xr.Dataset,
    distance: Distance | None = None,
    systems: Systems | None = None,
    *,
    tolerance: float | None = None,
    depth: int | None = None,
) -> StatementDistances:
    """Compute the distances of statements from each other, and from systems."""
    attrs = described(annotations, distance, tolerance=tolerance, depth=depth)
    name = attrs["distance"]
    of_sets = name in SET_DISTANCES
    read(annotations, rankings=of_sets or name in {"ranking", "callable"}, sets=of_sets)
    rows = rows_of(annotations)
    statements = statements_of(rows)
    if callable(distance):
        measured = _by_callable(annotations, rows, systems, distance)
    elif name == "ranking":
        measured = _by_ranking(annotations, rows, systems, attrs["depth"])
    elif of_sets:
        measured = _by_set(annotations, rows, statements, systems, name)
    elif name == "nominal":
        measured = _by_name(annotations, rows, statements, systems)
    else:
        measured = _by_number(annotations, rows, statements, systems, name, tolerance)
    to_others, without, to_system = measured
    annotator = annotations["annotator_code"].to_numpy()[rows.order[statements.start[:-1]]]
    return StatementDistances(
        rows=rows,
        item=statements.item,
        annotator=annotator.astype(np.int64),
        to_others=to_others,
        without=_without(rows.n_annotators, statements.item, to_others)
        if without is None
        else without,
        to_system=to_system,
        n_systems=0 if systems is None else len(systems.names),
        attrs=attrs,
    )


def _without(counts: Ints, item: Ints, to_others: Floats) -> Floats:
    """Return `StatementDistances.without`: the mean distance between the item's other statements.

    The sum over these is the sum over all pairs of the item minus the pairs with the statement. The
    difference loses digits if some distances are many times as large as others. Of the distances
    for which this function is used, only a callable's can differ so much.
    """
    others = counts[item] - 1.0
    within = (_sums(item, counts, to_others) * (counts - 1.0))[item]
    rest = within - 2.0 * others * to_others
    rest = np.where(rest > 1e-11 * within, rest, 0.0)  # smaller values are rounding errors
    pairs = others * (others - 1.0)
    return np.where(others < 2, np.nan, rest / np.where(others < 2, 1.0, pairs))


def described(
    annotations: xr.Dataset,
    distance: Distance | None,
    *,
    tolerance: float | None = None,
    depth: int | None = None,
) -> dict[str, Any]:
    """Return the name of the distance and its settings, for attributes."""
    name = _default(annotations) if distance is None else distance_name(distance, NAMED)
    _check_options(name, tolerance, depth)
    out: dict[str, Any] = {"distance": name}
    if tolerance is not None:
        out["tolerance"] = float(tolerance)
    if name == "ranking":
        out["depth"] = default_depth(annotations) if depth is None else int(depth)
    return out


def _default(annotations: xr.Dataset) -> str:
    kind = annotations.attrs["kind"]
    if kind in {"ranking", "set"}:
        return "ranking" if kind == "ranking" else SET_DISTANCES[0]
    words = kind != "continuous" and annotations[LABEL].dtype.kind not in "if"
    return "nominal" if kind == "nominal" or words else "squared"


def _check_options(name: str, tolerance: Any, depth: Any) -> None:
    fits = tolerance is None if name != "hinge" else 0 <= real(tolerance) < np.inf
    if not fits:
        raise ArgumentError(
            "tolerance",
            expected="a number, 0 or more: smaller differences count as 0"
            if name == "hinge"
            else 'None, unless distance="hinge"',
            found=brief(tolerance),
        )
    if depth is not None and not (is_whole(depth) and depth > 0 and name == "ranking"):
        raise ArgumentError(
            "depth",
            expected="None, or a positive whole number"
            if name == "ranking"
            else 'None, unless distance="ranking"',
            found=brief(depth),
        )


def default_depth(annotations: xr.Dataset) -> int:
    """Return the length of the longest ranking that any annotator gave."""
    return int(np.bincount(ranking_code(annotations)).max())


# Names and numbers.


def _by_name(
    annotations: xr.Dataset, rows: Grouped, statements: Statements, systems: Systems | None
) -> Measured:
    codes, labels = labels_of(annotations)
    n_labels, target = len(labels), None
    numeric = systems is not None and has_numbers(systems.predictions)
    if numeric and _as_numbers(annotations, systems):
        codes, target, numbers = _numbered(annotations, systems)
        n_labels = len(numbers)
    elif systems is not None:
        target = labels_by_systems(systems, labels)
    row_codes = codes.astype(np.int64, copy=False)[rows.order]

    def to_system(place: int) -> Floats:
        assert target is not None
        return name_towards(statements.start, row_codes, target[statements.item, place])

    return names_apart(statements.first, statements.start, row_codes, n_labels), None, to_system


def _by_number(
    annotations: xr.Dataset,
    rows: Grouped,
    statements: Statements,
    systems: Systems | None,
    name: str,
    tolerance: float | None,
) -> Measured:
    row_numbers = numbers_of(annotations).astype(np.float64, copy=False)[rows.order]
    power = 2 if name == "squared" else 1
    check_range(row_numbers, power)
    target = None if systems is None else numbers_by_systems(systems)
    if target is not None and np.isfinite(target).any():
        both = np.concatenate([row_numbers, target[np.isfinite(target)]])
        check_range(both, power, "annotations and predictions")
    slack = 0.0 if tolerance is None else float(tolerance)

    def to_system(place: int) -> Floats:
        assert target is not None
        number = target[statements.item, place]
        if name == "squared":
            return square_towards(statements.start, row_numbers, number)
        return excess_towards(statements.start, row_numbers, number, slack)

    bounds = statements.first, statements.start
    if name == "squared":
        return *squares_apart(*bounds, row_numbers), to_system
    return *excess_apart(*bounds, rows.share, row_numbers, slack), to_system


# Sets, rankings and callables: distances computed pair by pair.


def _pair_by_pair(
    units: Grouped, systems: Systems | None, delta: Delta, towards: Callable[[int], Delta]
) -> Measured:
    """Average the distances of units (labels, sets or rankings) by statement."""
    statements = statements_of(units)

    def to_system(place: int) -> Floats:
        assert systems is not None
        present = np.flatnonzero(systems.present[statements.item])
        return pairs_towards(units, statements, towards(place), present)

    return pairs_apart(units, statements, delta), None, to_system


def _by_set(
    annotations: xr.Dataset,
    rows: Grouped,
    statements: Statements,
    systems: Systems | None,
    name: str,
) -> Measured:
    """Return distances of sets: of answers of kind "set", or else of all labels of a statement."""
    is_set = annotations.attrs["kind"] == "set"
    if systems is not None:
        require_alike(annotations, systems.predictions)
    if is_set:
        units, labels = rows, annotations[ELEMENT].to_numpy()
        member = annotations["member"].transpose(LABEL, ELEMENT).to_numpy()
        number, code = np.nonzero(member[annotations["label_code"].to_numpy()[rows.order]])
    else:
        codes, labels = labels_of(annotations)
        units = grouped(statements.item, np.arange(len(statements.item)), len(rows.n_annotators))
        statement = np.repeat(np.arange(len(statements.item)), np.diff(statements.start))
        number, code = np.divmod(
            np.unique(statement * len(labels) + codes[rows.order]), len(labels)
        )
    sets = lists_of(number, code, np.ones_like(code), len(units.order))
    predicted = None if systems is None else lists_by_systems(systems, labels)

    def towards(place: int) -> Delta:
        assert predicted is not None
        lists = predicted.of(place)
        return lambda unit, item: set_distance(sets, lists, unit, item, name)

    return _pair_by_pair(units, systems, lambda a, b: set_distance(sets, sets, a, b, name), towards)


def require_alike(annotations: xr.Dataset, predictions: xr.Dataset) -> None:
    """Raise if annotations and predictions cannot be compared as sets.

    If annotations are sets, predictions must not be rankings or numbers. If one side has sets,
    labels of the other side must not contain the separator, or be the word for an empty set.
    """
    kinds = annotations.attrs["kind"], predictions.attrs["kind"]
    if kinds[0] == "set" and kinds[1] in {"ranking", "continuous"}:
        raise PredictionError(
            "predictions", expected="sets, as the annotations are, or one label each",
            found=f"kind {kinds[1]!r}",
            hint='Keep the labels that a system would give, and read them with kind="set"',
        )  # fmt: skip
    if "set" not in kinds or "label_code" not in predictions:  # `lists_by_systems` refuses numbers
        return
    labels = annotations[ELEMENT].to_numpy() if kinds[0] == "set" else labels_of(annotations)[1]
    predicted = predicted_labels(predictions)
    sides = (("annotations", annotations, predicted, "predictions"),
             ("predictions", predictions, labels, "annotations"))  # fmt: skip
    for name, data, others, where in sides:
        if data.attrs["kind"] != "set":
            continue
        separator, none = (str(data.attrs[word]) for word in ("separator", "none"))
        odd = [label for label in map(str, others.tolist()) if separator in label or label == none]
        if odd:
            raise PredictionError(
                "predictions", expected=f"labels in the {where} without {separator!r}, other than "
                f"{none!r}: in the {name} {separator!r} separates labels, and {none!r} means no "
                "label", found=shown(odd),
                hint=f'Read both with kind="set", separator={separator!r}, none={none!r}',
            )  # fmt: skip


def _by_ranking(
    annotations: xr.Dataset, rows: Grouped, systems: Systems | None, depth: int
) -> Measured:
    """Return distances of partial rankings; each trial of an annotator is a separate ranking."""
    units, rankings, labels = rankings_of(annotations, len(rows.n_annotators))
    predicted = None if systems is None else lists_by_systems(systems, labels)
    n_labels = len(labels) if predicted is None else len(predicted.labels)
    if depth > n_labels:
        raise ArgumentError("depth", expected=f"at most {n_labels} (labels)", found=brief(depth))

    def delta(other: Lists) -> Delta:
        return lambda a, b: rank_distance(rankings, other, a, b, n_labels, depth)

    def towards(place: int) -> Delta:
        assert predicted is not None
        return delta(predicted.of(place))

    return _pair_by_pair(units, systems, delta(rankings), towards)


def rankings_of(annotations: xr.Dataset, n_items: int) -> tuple[Grouped, Lists, Names]:
    """Return the grouping of rankings by item and annotator, rankings in this order, and labels."""
    codes, labels = labels_of(annotations)
    number = ranking_code(annotations)
    first = np.unique(number, return_index=True)[1]
    item, annotator = (
        annotations[name].to_numpy()[first] for name in ("item_code", "annotator_code")
    )
    units = grouped(item, annotator, n_items)
    place = np.argsort(units.order)
    block = ranks(annotations)
    lists = lists_of(place[number], codes.astype(np.int64), block.astype(np.int64), len(first))
    return units, lists, labels


def _by_callable(
    annotations: xr.Dataset,
    rows: Grouped,
    systems: Systems | None,
    distance: Callable[[Any, Any], float],
) -> Measured:
    """Return a callable's distances, computed once for each distinct pair that occurs."""
    target: Ints | None
    if annotations.attrs["kind"] == "ranking":
        rows, row_codes, target, labels = _as_blocks(annotations, rows, systems)
    elif _as_numbers(annotations, systems):
        row_codes, target, labels = _numbered(annotations, systems)
    else:
        codes, names = labels_of(annotations)
        target = None if systems is None else labels_by_systems(systems, names)
        row_codes, labels = codes.astype(np.int64), plain_labels(_with_strays(names, systems))
    row_codes, delta = row_codes[rows.order], CallableDistance(distance, labels)

    def towards(place: int) -> Delta:
        assert target is not None
        return lambda unit, item: delta(row_codes[unit], target[item, place])

    return _pair_by_pair(rows, systems, lambda a, b: delta(row_codes[a], row_codes[b]), towards)


def _as_numbers(annotations: xr.Dataset, systems: Systems | None) -> bool:
    if "value" in annotations:
        return True
    numeric = annotations.attrs["kind"] == "ordinal" and annotations[LABEL].dtype.kind in "if"
    return numeric and systems is not None and "value" in systems.predictions


def _numbered(
    annotations: xr.Dataset, systems: Systems | None
) -> tuple[Ints, Ints | None, list[Any]]:
    """Return codes of numbers by annotators (row) and systems (item, system), and the numbers."""
    row_numbers = numbers_of(annotations)
    if systems is None:
        codes, values = pd.factorize(row_numbers)
        return codes.astype(np.int64), None, values.tolist()
    numbers = numbers_by_systems(systems)
    codes, values = pd.factorize(np.concatenate([row_numbers, numbers.ravel()]))  # NaN is -1
    codes = codes.astype(np.int64)
    return (
        codes[: len(row_numbers)],
        codes[len(row_numbers) :].reshape(numbers.shape),
        values.tolist(),
    )


def _with_strays(labels: Names, systems: Systems | None) -> Names:
    """Return the label of each code of `labels_by_systems`; labels of systems only come last."""
    if systems is None:
        return labels
    vocabulary = systems.predictions[LABEL].to_numpy()
    used = np.unique(systems.predictions["label_code"].to_numpy())
    stray = used[tables.match(vocabulary, labels)[used] < 0]
    return np.concatenate([labels.astype(object), vocabulary[stray].astype(object)])


def _as_blocks(
    annotations: xr.Dataset, rows: Grouped, systems: Systems | None
) -> tuple[Grouped, Ints, Ints | None, list[Any]]:
    """Return the grouping of rankings, codes of annotators' and of systems' rankings, and rankings.

    Codes are (row) and (item, system). A ranking is a tuple of blocks, which are tuples of labels.
    """
    units, lists, labels = rankings_of(annotations, len(rows.n_annotators))
    known: dict[Any, int] = {}
    coded = _coded(lists, plain_labels(labels), known)
    row_codes = np.empty_like(coded)
    row_codes[units.order] = coded  # in the order of the data
    target = None
    if systems is not None:
        predicted = lists_by_systems(systems, labels)
        names = plain_labels(predicted.labels)
        columns = [_coded(predicted.of(place), names, known) for place in range(len(systems.names))]
        target = np.stack(columns, axis=1)
    return units, row_codes, target, list(known)


def _coded(lists: Lists, names: list[Any], known: dict[Any, int]) -> Ints:
    """Return the code of each list, the same for equal lists; -1 for empty lists.

    ``known`` has the codes of earlier rankings; codes of new rankings are added.
    """
    out = np.full(len(lists.start) - 1, -1, dtype=np.int64)
    for place, (low, high) in enumerate(zip(lists.start[:-1], lists.start[1:], strict=True)):
        blocks: dict[int, list[Any]] = {}
        for entry in range(low, high):
            blocks.setdefault(int(lists.ahead[entry]), []).append(names[lists.code[entry]])
        if blocks:
            ranking = tuple(tuple(blocks[ahead]) for ahead in sorted(blocks))
            out[place] = known.setdefault(ranking, len(known))
    return out
