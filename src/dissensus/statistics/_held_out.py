"""Annotators held out, and how they and systems fare against the vote of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.data import tables
from dissensus.data.alignment import said_by_systems, systems_of
from dissensus.dims import ANNOTATOR, ITEM, LABEL
from dissensus.errors import ArgumentError, brief, shown, warn_caller
from dissensus.kernels.grouped import Grouped, grouped, label_shares
from dissensus.kernels.labels import leaders
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._distances import (
    Disagreement,
    Distance,
    called,
    centre_of_pairs,
    disagreement,
    from_table,
    table_of,
)
from dissensus.statistics._read import code_of, labels_of, names_in, numbers_of, rows_of, spelled
from dissensus.statistics._sums import Matrix, compact

# What each annotator said over all items, for chance agreement between *different* annotators.


class Margins(NamedTuple):
    """What annotators said, one by one, in sums over items."""

    matrix: Matrix
    """(item, sum): each annotator's sums beside those of the others, O(labels) of them."""
    labels: Callable[[Floats], Floats]
    """From totals (..., sum) to how many items each annotator labelled (..., annotator)."""
    own: Callable[[Floats], Floats]
    """From totals to the sum of distances over all pairs of labels by the *same* annotator (...):
    what has to be taken off the pairs of all labels."""


def with_margins(
    annotations: xr.Dataset, rows: Grouped, distance: Distance
) -> tuple[Disagreement, Margins]:
    """Prepare a distance for annotations, and what it depends on annotator by annotator.

    Raises
    ------
    ArgumentError
        If there is no such distance, or a callable returns nonsense.
    """
    if callable(distance):
        codes, labels = labels_of(annotations)
        apart = table_of(labels, distance)
        cells = _cells(annotations, rows, codes, len(labels))
        return from_table(rows, codes, apart), _tabled(cells, apart)
    parts = disagreement(annotations, rows, distance)
    name = called(distance)
    if name == "squared":
        return parts, _squared(annotations, rows)
    if name == "absolute":
        values, codes = np.unique(numbers_of(annotations), return_inverse=True)
        return parts, _absolute(_cells(annotations, rows, codes, len(values)), values)
    codes, labels = labels_of(annotations)
    return parts, _nominal(_cells(annotations, rows, codes, len(labels)))


class _Cells(NamedTuple):
    """The pairs of annotator and label that occur, by annotator and then by label."""

    matrix: Matrix
    """(item, cell)"""
    label: Ints
    """(cell)"""
    first: Ints
    """(annotator): the first cell of each annotator who said anything."""
    size: Ints
    """(annotator): how many labels each one used."""


def _who(annotations: xr.Dataset, rows: Grouped) -> tuple[Ints, int]:
    """Return the annotator of each row, in order, numbered without gaps; and how many there are."""
    who, seen = pd.factorize(annotations["annotator_code"].to_numpy()[rows.order], sort=True)
    return who.astype(np.int64), len(seen)


def _cells(
    annotations: xr.Dataset, rows: Grouped, codes: npt.NDArray[np.int64], n_labels: int
) -> _Cells:
    who, n_annotators = _who(annotations, rows)
    column, cells = pd.factorize(who * n_labels + codes[rows.order], sort=True)
    shape = (annotations.sizes[ITEM], len(cells))
    matrix = compact(sparse.csr_array((rows.share, column, rows.start), shape=shape))
    owner, label = np.divmod(cells, max(n_labels, 1))
    first = np.searchsorted(owner, np.arange(n_annotators))
    return _Cells(matrix, label, first, np.bincount(owner, minlength=n_annotators))


def _nominal(cells: _Cells) -> Margins:
    def labels(totals: Floats) -> Floats:
        return np.add.reduceat(totals, cells.first, axis=-1)

    def own(totals: Floats) -> Floats:
        return np.asarray((labels(totals) ** 2).sum(axis=-1) - (totals**2).sum(axis=-1))

    return Margins(cells.matrix, labels, own)


def _absolute(cells: _Cells, values: Floats) -> Margins:
    owner = np.repeat(np.arange(len(cells.first)), cells.size)
    inside = owner[1:] == owner[:-1]
    step = np.where(inside, np.diff(values[cells.label]), 0.0)

    def labels(totals: Floats) -> Floats:
        return np.add.reduceat(totals, cells.first, axis=-1)

    def own(totals: Floats) -> Floats:
        # As in `_distances`: count the pairs that each step between two values parts.
        up_to = np.cumsum(totals, axis=-1)
        before = up_to[..., cells.first] - totals[..., cells.first]
        below = (up_to - before[..., owner])[..., :-1]
        above = labels(totals)[..., owner[:-1]] - below
        return np.asarray(2.0 * (below * above) @ step)

    return Margins(cells.matrix, labels, own)


def _tabled(cells: _Cells, apart: Floats) -> Margins:
    blocks = [slice(a, a + n) for a, n in zip(cells.first, cells.size, strict=True)]

    def labels(totals: Floats) -> Floats:
        return np.add.reduceat(totals, cells.first, axis=-1)

    def own(totals: Floats) -> Floats:
        found = np.zeros(totals.shape[:-1])
        for block in blocks:  # a table of the labels one annotator used, and no larger one
            used, amount = cells.label[block], totals[..., block]
            found += ((amount @ apart[np.ix_(used, used)]) * amount).sum(axis=-1)
        return found

    return Margins(cells.matrix, labels, own)


def _squared(annotations: xr.Dataset, rows: Grouped) -> Margins:
    values = numbers_of(annotations)
    values = (values - centre_of_pairs(rows, values))[rows.order]
    who, n_annotators = _who(annotations, rows)
    data = rows.share[:, None] * np.stack([np.ones_like(values), values, values**2], axis=1)
    column = 3 * who[:, None] + np.arange(3)
    shape = (annotations.sizes[ITEM], 3 * n_annotators)
    matrix = sparse.csr_array((data.ravel(), column.ravel(), 3 * rows.start), shape=shape)

    def labels(totals: Floats) -> Floats:
        return totals[..., 0::3]

    def own(totals: Floats) -> Floats:
        n, total, squares = (totals[..., place::3] for place in range(3))
        return np.asarray(2.0 * (n * squares - total**2).sum(axis=-1))

    return Margins(compact(matrix), labels, own)


AVERAGES: Final = ("binary", "macro", "micro")
NO_GOLD: Final = "no annotator held out shares items with a vote on a positive label"


class Confusions(NamedTuple):
    """Sums by item from which each F1 follows."""

    parts: tuple[Matrix, ...]
    """(item, who and label): given rightly, and given; by the vote, for systems all the same."""
    n_labels: int
    items: npt.NDArray[Any]
    systems: npt.NDArray[Any]
    held_out: list[str]

    def split(self, totals: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what was given rightly, given at all, and voted for: (draw, who, label)."""
        n, systems = self.n_labels, len(self.systems)
        ends = np.cumsum([part.shape[1] for part in self.parts])[:-1]
        right, given, vote, votes = (
            part.reshape(len(totals), -1, n) for part in np.split(totals, ends, axis=1)
        )
        vote = np.broadcast_to(vote, (len(totals), systems, n))
        return right, given, np.concatenate([vote, votes], axis=1)

    def scored(self, average: str) -> Ints:
        """Return the annotators held out who have an F1, and warn of the others."""
        totals = np.concatenate([np.atleast_1d(part.sum(axis=0)) for part in self.parts])[None]
        _, given, voted = self.split(totals)
        there = (given + voted)[0, len(self.systems) :].sum(axis=1) > 0
        if not there.all():
            left = [name for name, fine in zip(self.held_out, there, strict=True) if not fine]
            what = "positive label" if average == "binary" else "label"
            warn_caller(
                f"relative_f1 leaves out {len(left)} of the annotators held out ({shown(left)}): "
                f"on their items neither they nor the vote gave a {what}."
            )
        return np.flatnonzero(there)


def confusions(
    annotations: xr.Dataset, predictions: Any, held: Ints, labels: Ints, on_missing: str
) -> Confusions:
    """Count right and given labels of systems, and of the annotators held out.

    Parameters
    ----------
    annotations, predictions : Dataset
        Labels.
    held : array of int
        Codes of the annotators held out.
    labels : array of int
        Codes of the labels to count.
    on_missing : {"raise", "drop"}
        As for `systems_of`.
    """
    rows_of(annotations)  # nobody may say two things of an item
    every = annotations[LABEL].to_numpy()
    systems = systems_of(annotations, predictions, on_missing)
    said = said_by_systems(systems, every)
    item, who, label = (
        annotations[f"{dim}_code"].to_numpy().astype(np.int64) for dim in (ITEM, ANNOTATOR, LABEL)
    )
    n = (len(said), len(every))
    seat = np.full(annotations.sizes[ANNOTATOR], -1)
    seat[held] = np.arange(len(held))
    voting = seat[who] < 0
    vote = _vote(item[voting], who[voting], label[voting], systems.present, n)
    decided = np.diff(vote.indptr) > 0
    own = ~voting & decided[item]
    rows = grouped(item[own], who[own], n[0])
    cells = (item[own][rows.order], seat[who[own][rows.order]], label[own][rows.order])
    right, given = _systems_right(said, vote, decided, labels)
    people_right, people_given, votes = _people_right(cells, rows, vote, labels, len(held))
    parts = (_beside(right, people_right), _beside(given, people_given), vote[:, labels], votes)
    names = spelled(annotations[ANNOTATOR].to_numpy()[held])
    return Confusions(
        tuple(compact(sparse.csr_array(part)) for part in parts),
        len(labels),
        annotations[ITEM].to_numpy(),
        systems.names,
        names,
    )


def _beside(left: sparse.csr_array, right: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(sparse.hstack([left, right]))


def _vote(
    item: Ints, who: Ints, label: Ints, present: npt.NDArray[np.bool_], shape: tuple[int, int]
) -> sparse.csr_array:
    """Return the label with most votes, or tied ones with equal shares: (item, label)."""
    shares = label_shares(grouped(item, who, shape[0]), label, shape[1])
    share = leaders(shares) * np.repeat(present, np.diff(shares.start))
    vote = sparse.csr_array((share, shares.label, shares.start), shape=shape)
    vote.eliminate_zeros()
    vote.sort_indices()
    return vote


def _at(vote: sparse.csr_array, item: Ints, label: Ints) -> Floats:
    """Look up shares of the vote: (row)."""
    n_labels = vote.shape[1]
    key = np.repeat(np.arange(vote.shape[0]), np.diff(vote.indptr)) * n_labels + vote.indices
    asked = item * n_labels + label
    place = np.searchsorted(key, asked)
    key, share = np.append(key, -1), np.append(vote.data, 0.0)
    return np.where(key[place] == asked, share[place], 0.0)


def _systems_right(
    said: Ints, vote: sparse.csr_array, decided: npt.NDArray[np.bool_], labels: Ints
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return what systems gave rightly, and gave, where there is a vote."""
    column = _columns(vote.shape[1], labels)
    counted = decided[:, None] & (said >= 0) & (said < vote.shape[1])
    row, system = np.nonzero(counted)
    code = said[row, system]
    worth = _at(vote, row, code)
    values = (worth, np.ones(len(row)))
    right, given = _laid_out(row, system, column[code], values, said, labels)
    return right, given


def _people_right(
    cells: tuple[Ints, Ints, Ints], rows: Grouped, vote: sparse.csr_array, labels: Ints, n: int
) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
    """Return the same of annotators held out, and the votes on the items of each."""
    item, seat, code = cells
    column = _columns(vote.shape[1], labels)
    worth = rows.share * _at(vote, item, code)
    shape = np.empty((vote.shape[0], n))
    right, given = _laid_out(item, seat, column[code], (worth, rows.share), shape, labels)
    first = np.ones(len(item), dtype=bool)  # of an annotator's rows of an item
    first[1:] = (np.diff(item) != 0) | (np.diff(seat) != 0)
    item, seat = item[first], seat[first]
    on = vote[item].tocoo()
    votes = _laid_out(item[on.row], seat[on.row], column[on.col], (on.data,), shape, labels)
    return right, given, votes[0]


def _columns(n_labels: int, labels: Ints) -> Ints:
    column = np.full(n_labels, -1)
    column[labels] = np.arange(len(labels))
    return column


def _laid_out(
    item: Ints,
    who: Ints,
    column: Ints,
    values: tuple[Floats, ...],
    like: npt.NDArray[Any],
    labels: Ints,
) -> tuple[sparse.csr_array, ...]:
    """Add values up as (item, who and label); labels that are not counted drop out."""
    shape = (like.shape[0], like.shape[1] * len(labels))
    kept = column >= 0
    place = (item[kept], who[kept] * len(labels) + column[kept])
    return tuple(sparse.csr_array((data[kept], place), shape=shape) for data in values)


def places_of(annotations: xr.Dataset, held_out: Any, random_seed: Any) -> Ints:
    """Return the codes of the annotators held out, by name or drawn.

    Raises
    ------
    ArgumentError
        If a name is unknown, or nobody is held out, or nobody left.
    """
    names = annotations[ANNOTATOR].to_numpy()
    if len(names) < 2:
        raise ArgumentError(
            "annotations",
            expected="two annotators at least: one to hold out, one to vote",
            found=str(len(names)),
        )
    if isinstance(held_out, float | np.floating):
        return _drawn(names, float(held_out), random_seed)
    expected = "a list of annotators, or a share between 0 and 1"
    asked = names_in("held_out", held_out, expected)
    if not len(asked):
        raise ArgumentError("held_out", expected=expected, found="nobody")
    place = tables.match(asked, names)
    if (place < 0).any():
        raise ArgumentError(
            "held_out",
            expected=f"annotators such as {shown(list(names), 3)}",
            found=shown(list(asked[place < 0])),
        )
    if len(np.unique(place)) < len(place) or len(place) == len(names):
        found = "all of them" if len(place) == len(names) else f"{shown(list(asked))}, one twice"
        raise ArgumentError("held_out", expected="some of the annotators, each once", found=found)
    return place


def _drawn(names: npt.NDArray[Any], share: float, random_seed: Any) -> Ints:
    if not 0 < share < 1:
        raise ArgumentError("held_out", expected="a share between 0 and 1", found=repr(share))
    n = min(max(round(share * len(names)), 1), len(names) - 1)
    # By name, so that the order of rows does not matter.
    order = np.argsort(names.astype(str), kind="stable")
    rng = generator(random_seed, "annotators held out")
    return order[np.sort(rng.permutation(len(names))[:n])]


def classes(annotations: xr.Dataset, positive: Any, average: str | None) -> tuple[Ints, str]:
    """Return the codes of the labels that count, and the average.

    Raises
    ------
    ArgumentError
        If there is no such average or label, or no label is the positive one.
    """
    labels = annotations[LABEL].to_numpy()
    if average is None:
        average = "binary" if positive is not None or len(labels) == 2 else "macro"
    arguments.one_of("average", average, AVERAGES)
    if average != "binary":
        if positive is not None:
            raise ArgumentError(
                "positive", expected=f'None, with average="{average}"', found=brief(positive)
            )
        return np.arange(len(labels)), average
    if positive is None and len(labels) == 2:
        return np.array([1]), average
    place = -1 if positive is None else code_of(positive, labels)
    if place < 0:
        raise ArgumentError(
            "positive", expected=f"a label, such as {shown(list(labels), 3)}", found=brief(positive)
        )
    return np.array([place]), average
