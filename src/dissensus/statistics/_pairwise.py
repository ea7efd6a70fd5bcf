r"""How far each annotator is from the others of an item, and from systems, for any distance.

A *voice* is what one annotator said of one item, once or several times. The distance of two
voices is the mean over pairs of their labels, :math:`\psi(Y, Y')` (Lovchinsky et al. 2020, Eq. 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

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
from dissensus.kernels.voices import (
    Delta,
    Voices,
    excess_apart,
    excess_towards,
    name_towards,
    names_apart,
    pairs_apart,
    pairs_towards,
    square_towards,
    squares_apart,
    voices_of,
)
from dissensus.statistics._distances import Asked, called, check_range
from dissensus.statistics._read import (
    SystemLists,
    is_whole,
    labels_of,
    lists_by_systems,
    numbers_of,
    read,
    real,
)

# Distances that have to be taken pair by pair: of sets, of rankings, and a callable's.


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


Distance = str | Callable[[Any, Any], float]

NAMED: Final = ("squared", "absolute", "nominal", "hinge", "jaccard", "ranking")


@dataclass(frozen=True)
class Apart:
    r"""Distances by voice: the distinct pairs (item, annotator), in the order of `Grouped`.

    All else follows: the annotators' disagreement about an item is the mean of `to_others` over
    its voices (`by_item`), a system's the mean of `to_system`.
    """

    voices: Ints
    """(item): how many voices it has."""
    voice_item: Ints
    """(voice): code of the item."""
    voice_annotator: Ints
    """(voice): code of the annotator."""
    to_others: Floats
    r"""(voice): mean of :math:`\psi` to the other voices of the item; NaN if it is alone."""
    without: Floats
    r"""(voice): mean of :math:`\psi` over ordered pairs of the others; NaN if fewer than two."""
    to_system: Callable[[int], Floats]
    """From the place of a system to its distances (voice); NaN for items without predictions."""
    n_systems: int
    distance: str
    """What the distance is called."""

    @property
    def to_systems(self) -> Floats:
        """(voice, system): all of them at once."""
        found = [self.to_system(place) for place in range(self.n_systems)]
        return np.stack(found, axis=1) if found else np.empty((len(self.voice_item), 0))

    @property
    def within(self) -> Floats:
        r"""(item): :math:`\sum_{r \neq s} \psi(Y_r, Y_s)` over ordered pairs; 0 without pairs."""
        return _by_item(self.voice_item, self.voices, self.to_others) * (self.voices - 1.0)

    def by_item(self, values: Floats) -> Floats:
        """Average over the voices of each item: (item). Voices that are alone count nothing.

        NaN of other voices is NaN of the item.
        """
        total = _by_item(self.voice_item, self.voices, values)
        return np.asarray(total / np.maximum(self.voices, 1))


def _by_item(item: Ints, voices: Ints, values: Floats) -> Floats:
    values = np.where(voices[item] < 2, 0.0, values)
    return np.bincount(item, values, len(voices))


def apart(
    annotations: xr.Dataset,
    rows: Grouped,
    distance: Distance | None = None,
    systems: Systems | None = None,
    *,
    tolerance: float | None = None,
    depth: int | None = None,
) -> Apart:
    """Measure how far voices are from each other, and from systems.

    Parameters
    ----------
    annotations : Dataset
        Annotations.
    rows : Grouped
        Their rows.
    distance : {"squared" or "interval", "absolute", "nominal", "hinge", "jaccard", "ranking"} or \
callable, optional
        None is "ranking" for rankings, "squared" for numbers, "nominal" for names.
    systems : Systems, optional
        Predictions on the same items.
    tolerance : float
        For "hinge": differences up to it count nothing.
    depth : int, optional
        For "ranking".

    Raises
    ------
    ArgumentError
        If there is no such distance, or it lacks, or has no use for, ``tolerance`` or ``depth``.
    AnnotationError, PredictionError
        If annotations or predictions do not have that distance.
    """
    name = named(annotations, distance)
    _check_options(name, tolerance, depth)
    read(annotations, rankings=callable(distance) or name in {"jaccard", "ranking"})
    voices = voices_of(rows)
    if callable(distance):
        found = by_callable(annotations, rows, systems, distance)
    elif name == "ranking":
        found = by_ranking(annotations, rows, systems, depth)
    elif name == "jaccard":
        found = by_set(annotations, rows, voices, systems)
    elif name == "nominal":
        found = _by_name(annotations, rows, voices, systems)
    else:
        found = _by_number(annotations, rows, voices, systems, name, tolerance)
    to_others, without, to_system = found
    speaker = annotations["annotator_code"].to_numpy()[rows.order[voices.start[:-1]]]
    return Apart(
        voices=rows.voices,
        voice_item=voices.item,
        voice_annotator=speaker.astype(np.int64),
        to_others=to_others,
        without=_left(rows.voices, voices.item, to_others) if without is None else without,
        to_system=to_system,
        n_systems=0 if systems is None else len(systems.names),
        distance=name,
    )


def _left(voices: Ints, item: Ints, to_others: Floats) -> Floats:
    """Take each voice off the sum over all pairs of its item.

    For distances that are never many times as large as others: digits would be lost. A callable's
    may be.
    """
    others = voices[item] - 1.0
    within = (_by_item(item, voices, to_others) * (voices - 1.0))[item]
    rest = within - 2.0 * others * to_others
    rest = np.where(rest > 1e-11 * within, rest, 0.0)  # less than that is rounding
    pairs = others * (others - 1.0)
    return np.where(others < 2, np.nan, rest / np.where(others < 2, 1.0, pairs))


def named(annotations: xr.Dataset, distance: Distance | None) -> str:
    """Return what a distance is called, or raise if there is none of that name."""
    if distance is None:
        kind = annotations.attrs["kind"]
        if kind == "ranking":
            return "ranking"
        words = kind != "continuous" and annotations[LABEL].dtype.kind not in "if"
        return "nominal" if kind == "nominal" or words else "squared"
    return called(distance, NAMED)


def described(
    annotations: xr.Dataset,
    distance: Distance | None,
    *,
    tolerance: float | None = None,
    depth: int | None = None,
) -> dict[str, Any]:
    """Return the distance that is taken and its settings, in full, for attributes.

    Examples
    --------
    >>> import dissensus as dx
    >>> described(dx.from_rankings({1: {"ann": [["x"], ["y"]], "bob": [["x"]]}}), None)
    {'distance': 'ranking', 'depth': 2}
    """
    name = named(annotations, distance)
    _check_options(name, tolerance, depth)
    out: dict[str, Any] = {"distance": name}
    if tolerance is not None:
        out["tolerance"] = float(tolerance)
    if name == "ranking":
        out["depth"] = default_depth(annotations) if depth is None else int(depth)
    return out


def _check_options(name: str, tolerance: Any, depth: Any) -> None:
    fits = tolerance is None if name != "hinge" else 0 <= real(tolerance) < np.inf
    if not fits:
        raise ArgumentError(
            "tolerance",
            expected="a number, 0 or more: differences up to it count nothing"
            if name == "hinge"
            else 'None, unless distance="hinge"',
            found=brief(tolerance),
        )
    whole = is_whole(depth) and depth > 0
    if depth is not None and not (whole and name == "ranking"):
        raise ArgumentError(
            "depth",
            expected="None, or a positive whole number"
            if name == "ranking"
            else 'None, unless distance="ranking"',
            found=brief(depth),
        )


def _by_name(
    annotations: xr.Dataset, rows: Grouped, voices: Voices, systems: Systems | None
) -> Found:
    codes, labels = labels_of(annotations)
    said = codes.astype(np.int64, copy=False)[rows.order]
    target = None if systems is None else said_by_systems(systems, labels)

    def to_system(place: int) -> Floats:
        assert target is not None
        return name_towards(voices.start, said, target[voices.item, place])

    return names_apart(voices, said, len(labels)), None, to_system


def _by_number(
    annotations: xr.Dataset,
    rows: Grouped,
    voices: Voices,
    systems: Systems | None,
    name: str,
    tolerance: float | None,
) -> Found:
    given = numbers_of(annotations).astype(np.float64, copy=False)[rows.order]
    power = 2 if name == "squared" else 1
    check_range(given, power)
    target = None if systems is None else numbers_by_systems(systems)
    if target is not None and np.isfinite(target).any():
        both = np.concatenate([given, target[np.isfinite(target)]])
        check_range(both, power, "annotations and predictions")
    slack = 0.0 if tolerance is None else float(tolerance)

    def to_system(place: int) -> Floats:
        assert target is not None
        number = target[voices.item, place]
        if name == "squared":
            return square_towards(voices.start, given, number)
        return excess_towards(voices.start, given, number, slack)

    if name == "squared":
        return *squares_apart(voices, given), to_system
    return *excess_apart(voices, rows.share, given, slack), to_system
