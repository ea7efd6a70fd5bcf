"""Distances that have to be taken pair by pair: of sets, of rankings, and a callable's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.alignment import Systems, numbers_by_systems, said_by_systems
from dissensus.data.rows import ranking_code, ranks
from dissensus.dims import LABEL
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.distances import Lists, jaccard, lists_of, rank_distance
from dissensus.kernels.grouped import Grouped, grouped
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.voices import Delta, Voices, pairs_apart, pairs_towards, voices_of
from dissensus.statistics._asked import Asked
from dissensus.statistics._statements import labels_of, numbers_of
from dissensus.statistics._system_lists import SystemLists, lists_by_systems

Found = tuple[Floats, Floats | None, Callable[[int], Floats]]


def by_set(
    annotations: xr.Dataset, rows: Grouped, voices: Voices, systems: Systems | None
) -> Found:
    """Compare what annotators named of an item, over all trials, as sets."""
    codes, labels = labels_of(annotations)
    voice = np.repeat(np.arange(len(voices.item)), np.diff(voices.start))
    key = np.unique(voice * len(labels) + codes[rows.order])
    number, code = np.divmod(key, len(labels))
    lists = lists_of(number, code, np.ones_like(code), len(voices.item))
    sets = grouped(voices.item, np.arange(len(voices.item)), len(rows.voices))
    listed = None if systems is None else lists_by_systems(systems, labels)
    return _found(
        sets,
        systems,
        lambda one, two: jaccard(lists, lists, one, two),
        lambda place: _against(listed, place, lambda it, one, two: jaccard(lists, it, one, two)),
    )


def by_ranking(
    annotations: xr.Dataset, rows: Grouped, systems: Systems | None, depth: int | None
) -> Found:
    """Compare partial rankings; those that an annotator gave in several trials one by one."""
    statements, lists, labels = rankings_of(annotations, len(rows.voices))
    listed = None if systems is None else lists_by_systems(systems, labels)
    n_labels = len(labels) if listed is None else len(listed.labels)
    if depth is None:
        depth = default_depth(annotations)
    if depth > n_labels:
        raise ArgumentError("depth", expected=f"at most {n_labels}, the labels", found=brief(depth))
    how = (n_labels, int(depth))
    return _found(
        statements,
        systems,
        lambda one, two: rank_distance(lists, lists, one, two, *how),
        lambda place: _against(
            listed, place, lambda it, one, two: rank_distance(lists, it, one, two, *how)
        ),
    )


def default_depth(annotations: xr.Dataset) -> int:
    """Return the length of the longest ranking of an annotator.

    Examples
    --------
    >>> import dissensus as dx
    >>> default_depth(dx.from_rankings({1: {"ann": [["x"], ["y", "z"]], "bob": [["x"]]}}))
    3
    """
    return int(np.bincount(ranking_code(annotations)).max())


def rankings_of(annotations: xr.Dataset, n_items: int) -> tuple[Grouped, Lists, npt.NDArray[Any]]:
    """Return rankings by item and annotator, laid out in that order, and the label space."""
    codes, labels = labels_of(annotations)
    number = ranking_code(annotations)
    first = np.unique(number, return_index=True)[1]
    item, annotator = (
        annotations[name].to_numpy()[first] for name in ("item_code", "annotator_code")
    )
    statements = grouped(item, annotator, n_items)
    place = np.argsort(statements.order)
    block = ranks(annotations)
    lists = lists_of(place[number], codes.astype(np.int64), block.astype(np.int64), len(first))
    return statements, lists, labels


def by_callable(
    annotations: xr.Dataset,
    rows: Grouped,
    systems: Systems | None,
    distance: Callable[[Any, Any], float],
) -> Found:
    """Ask a callable once for each distinct pair that occurs."""
    target: Ints | None
    if annotations.attrs["kind"] == "ranking":
        rows, said, target, things = _as_blocks(annotations, rows, systems)
    elif _as_numbers(annotations, systems):
        said, target, things = _numbered(annotations, systems)
    else:
        codes, labels = labels_of(annotations)
        target = None if systems is None else said_by_systems(systems, labels)
        said, things = codes.astype(np.int64), _plain(_with_strays(labels, systems))
    said, asked = said[rows.order], Asked(distance, things)

    def to_system(place: int) -> Delta:
        assert target is not None
        return lambda one, item: asked(said[one], target[item, place])

    return _found(rows, systems, lambda one, two: asked(said[one], said[two]), to_system)


def _as_numbers(annotations: xr.Dataset, systems: Systems | None) -> bool:
    if "value" in annotations:
        return True
    numeric = annotations.attrs["kind"] == "ordinal" and annotations[LABEL].dtype.kind in "if"
    return numeric and systems is not None and "value" in systems.predictions


def _numbered(
    annotations: xr.Dataset, systems: Systems | None
) -> tuple[Ints, Ints | None, list[Any]]:
    """Return codes of numbers, of annotators (row) and systems (item, system), and the numbers."""
    given = numbers_of(annotations)
    if systems is None:
        codes, values = pd.factorize(given)
        return codes.astype(np.int64), None, values.tolist()
    numbers = numbers_by_systems(systems)
    codes, values = pd.factorize(np.concatenate([given, numbers.ravel()]))  # NaN is -1
    codes = codes.astype(np.int64)
    return codes[: len(given)], codes[len(given) :].reshape(numbers.shape), values.tolist()


def _with_strays(labels: npt.NDArray[Any], systems: Systems | None) -> npt.NDArray[Any]:
    """Return the labels, and those only systems use, by the codes of `said_by_systems`."""
    if systems is None:
        return labels
    predictions = systems.predictions
    vocabulary = predictions[LABEL].to_numpy()
    used = np.unique(predictions["label_code"].to_numpy())
    stray = used[tables.match(vocabulary, labels)[used] < 0]
    return np.concatenate([labels.astype(object), vocabulary[stray].astype(object)])


def _plain(labels: npt.NDArray[Any]) -> list[Any]:
    return [getattr(label, "item", lambda label=label: label)() for label in labels]


def _as_blocks(
    annotations: xr.Dataset, rows: Grouped, systems: Systems | None
) -> tuple[Grouped, Ints, Ints | None, list[Any]]:
    """Spell out rankings as tuples of blocks, each a tuple of labels, and code these."""
    statements, lists, labels = rankings_of(annotations, len(rows.voices))
    known: dict[Any, int] = {}
    names = _plain(labels)
    spelled = _coded(lists, names, known)
    said = np.empty_like(spelled)
    said[statements.order] = spelled  # as the statements stand in the data
    target = None
    if systems is not None:
        listed = lists_by_systems(systems, labels)
        names = _plain(listed.labels)
        columns = [_coded(listed.of(place), names, known) for place in range(len(systems.names))]
        target = np.stack(columns, axis=1)
    return statements, said, target, list(known)


def _coded(lists: Lists, names: list[Any], known: dict[Any, int]) -> Ints:
    """Return a number for each list, the same for equal ones; -1 for empty ones."""
    out = np.full(len(lists.start) - 1, -1, dtype=np.int64)
    for place, (low, high) in enumerate(zip(lists.start[:-1], lists.start[1:], strict=True)):
        blocks: dict[int, list[Any]] = {}
        for entry in range(low, high):
            blocks.setdefault(int(lists.ahead[entry]), []).append(names[lists.code[entry]])
        if blocks:
            ranking = tuple(tuple(blocks[ahead]) for ahead in sorted(blocks))
            out[place] = known.setdefault(ranking, len(known))
    return out


def _against(
    listed: SystemLists | None, place: int, delta: Callable[[Lists, Ints, Ints], Floats]
) -> Delta:
    assert listed is not None
    lists = listed.of(place)
    return lambda one, item: delta(lists, one, item)


def _found(
    statements: Grouped,
    systems: Systems | None,
    delta: Delta,
    towards: Callable[[int], Delta],
) -> Found:
    """Average distances of statements by voice."""
    voices = voices_of(statements)

    def to_system(place: int) -> Floats:
        assert systems is not None
        asked = np.flatnonzero(systems.present[voices.item])
        return pairs_towards(statements, voices, towards(place), asked)

    return pairs_apart(statements, voices, delta), None, to_system
