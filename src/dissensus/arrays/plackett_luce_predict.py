r"""Rankings that new annotators with the same plausibilities would give, shaped like the data.

A new annotator fills the places of an old one's list, as long and tied in the same way: label
after label is chosen with probability proportional to its plausibility (to the power of the
sharpness) among those left, and places tied with each other are a set. All new annotators of an
item look at the same draw of the plausibilities, the split of its remainder included.

`plackett_luce_urn` says how the remainder's labels are found without laying them
out. Their shares come from the stream by which metrics split the remainder
(`dissensus.kernels.remainder`), so that, started with the metrics' keys, both see the same labels
hold the same.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dissensus.arrays.plackett_luce_draws import listed_cell, per_ranking
from dissensus.arrays.plackett_luce_urn import choose, log_hidden, look, next_log_share
from dissensus.errors import ArgumentError
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, row_keys, started
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.types import Codes, Flags, Floats, Keys

_CHOICES, _SPLIT = 1, 2
"""Seeds that keep the two streams of a draw and an item apart."""


def predicted(
    rankings: Rankings,
    theta: Floats,
    candidate: Codes,
    n_unnamed: Codes,
    concentration: Floats,
    keys: Keys,
    *,
    sharpness: npt.ArrayLike | None = None,
    split_keys: Keys | None = None,
    first_draw: int = 0,
) -> npt.NDArray[np.int32]:
    r"""Draw one new ranking for each draw and ranking, with its length and its ties.

    Parameters
    ----------
    rankings : Rankings
        Whose shape is to be met. In the place of a closed ranking only its own labels are put.
    theta : array (draw, item, column)
        The named labels' masses, padding, and last the remainder's; of any scale.
    candidate : array (cell)
        Which column is a cell's own; an item's unnamed cells, if any, come last.
    n_unnamed : array (item)
        How many labels the remainder stands for. 0: it is no label, and its mass does not count.
    concentration : array (item)
        The Dirichlet parameter a by which the remainder is split; infinity: evenly.
    keys : array (item)
        Starts each item's own random stream, so that items may be split in any way. They should
        differ from chain to chain.
    sharpness : float or array, broadcast to (draw, ranking)
        Labels are chosen with theta to this power, > 0. None: 1.
    split_keys : array (draw, item), optional
        Keys of the streams that say which label of the remainder holds how much, such as those
        of the metrics. Else they follow from `keys`.
    first_draw : int
        The number of the first draw given, so that draws may be split in any way too.

    Returns
    -------
    array (draw, row)
        The chosen label's column; for the remainder's, ``column - 1 + j``, where ``column`` is
        how many there are, and j = 0, ..., U - 1 says which of the item's unnamed labels in the
        order of their codes. In ascending order where places are tied.

    Raises
    ------
    ArgumentError
        If shapes do not fit, or a number is out of its range.

    Notes
    -----
    If a list is longer than there are labels of positive mass, labels of mass 0 fill its last
    places, each as likely as any other: the limit of equal strengths that go to 0.

    At sharpness 1 a Dirichlet split is the posterior's own. At sharpness g, strengths of labels
    that nobody listed have a density proportional to
    :math:`\lambda^{a-1} e^{-\lambda - E \lambda^g}`, whose split is another: then this is the
    approximation that the candidate form makes for all metrics. Where those strengths are known,
    each may have a column of its own.

    Examples
    --------
    Two places tied, then one; labels 0 to 2 are named, and 4 more are not:

    >>> one = Rankings(*map(np.array, ([0, 1], [0, 3], [0, 1, 2], [1, 1, 2], [0, 4], [False])))
    >>> theta = np.tile([0.5, 0.2, 0.1, 0.2], (3, 1, 1))
    >>> counts, keys = np.array([4]), np.array([5], dtype=np.uint64)
    >>> predicted(one, theta, np.arange(4), counts, np.array([1.0]), keys)
    array([[0, 1, 5],
           [0, 6, 1],
           [0, 2, 1]], dtype=int32)
    """
    _check(rankings, theta, candidate, n_unnamed, concentration, keys)
    n_draws, n_items, n_columns = theta.shape
    sharp = per_ranking(
        "sharpness", 1.0 if sharpness is None else sharpness, (n_draws, len(rankings.closed))
    )
    draw = np.arange(first_draw, first_draw + n_draws, dtype=np.uint64)[:, None]
    if split_keys is None:
        split_keys = row_keys(draw, keys, seed=_SPLIT)
    if split_keys.shape != (n_draws, n_items):
        raise ArgumentError(
            "split_keys", expected=f"shape {(n_draws, n_items)}", found=f"{split_keys.shape}"
        )
    named = candidate < n_columns - 1
    owner = np.repeat(np.arange(n_items), rankings.n_cells)
    column_start = np.searchsorted(owner[named], np.arange(n_items + 1))
    out = np.empty((n_draws, len(rankings.place)), dtype=np.int32)
    _predicted(
        *rankings[:4], rankings.closed, column_start, candidate[named], n_unnamed,
        concentration, theta, sharp, row_keys(draw, keys, seed=_CHOICES), split_keys, out,
    )  # fmt: skip
    return out


def _check(
    rankings: Rankings, theta: Floats, candidate: Codes, n_unnamed: Codes, concentration: Floats,
    keys: Keys,
) -> None:  # fmt: skip
    """Raise on what would be read past its end, or have no meaning."""
    n_items, n_cells = len(rankings.n_cells), int(rankings.cell_start[-1])
    if theta.ndim != 3 or theta.shape[1] != n_items:
        raise ArgumentError(
            "theta", expected=f"shape (draw, {n_items}, column)", found=f"{theta.shape}"
        )
    for name, array, length in (
        ("candidate", candidate, n_cells),
        ("n_unnamed", n_unnamed, n_items),
        ("concentration", concentration, n_items),
        ("keys", keys, n_items),
    ):
        if array.shape != (length,):
            raise ArgumentError(name, expected=f"shape ({length},)", found=f"{array.shape}")
    n_columns = theta.shape[2]
    inside = (candidate >= 0) & (candidate < n_columns)
    for name, array, right, words in (
        ("candidate", candidate, inside, f"columns 0 to {n_columns - 1}"),
        ("theta", theta, (theta >= 0) & (theta < np.inf), "finite numbers >= 0"),
        ("n_unnamed", n_unnamed, n_unnamed >= 0, "numbers >= 0"),
        ("concentration", concentration, concentration > 0, "numbers > 0"),
    ):
        if not right.all():
            raise ArgumentError(name, expected=words, found=str(array[~right][0]))
    _check_listed(rankings, candidate < n_columns - 1)


def _check_listed(rankings: Rankings, named: Flags) -> None:
    """Raise unless each ranking lists named labels, each once, and these are an item's first."""
    cell, n_items = listed_cell(rankings), len(rankings.n_cells)
    if not named[cell].all():
        raise ArgumentError(
            "candidate",
            expected="columns of named labels, all but the last, for what is listed",
            found="a listed label in the remainder",
        )
    owner = np.repeat(np.arange(n_items), rankings.n_cells)
    if (np.diff(named.astype(np.int64))[owner[1:] == owner[:-1]] > 0).any():
        raise ArgumentError(
            "candidate", expected="an item's named labels first", found="one after the remainder"
        )
    ranking = np.repeat(np.arange(len(rankings.closed)), np.diff(rankings.ranking_start))
    if len(np.unique(ranking * len(named) + cell)) < len(cell):
        raise ArgumentError(
            "rankings", expected="each label once in a ranking", found="a label listed twice"
        )


@kernel
def _predicted(
    item_start: Codes, ranking_start: Codes, place: Codes, rank: Codes, closed: Flags,
    column_start: Codes, column: Codes, n_unnamed: Codes, concentration: Floats, theta: Floats,
    sharpness: Floats, keys: Keys, split_keys: Keys, out: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    most = 0
    for item in range(len(n_unnamed)):
        most = max(most, n_unnamed[item])
    members, room = np.empty(most, np.int64), theta.shape[2] + most
    log_mass, taken, weight = np.empty(room), np.empty(room, np.bool_), np.empty(room + 1)
    for draw in range(len(theta)):
        for item in range(len(n_unnamed)):
            low, high = item_start[item], item_start[item + 1]
            columns = column[column_start[item] : column_start[item + 1]]
            for k in range(len(columns)):
                log_mass[k] = _log(theta[draw, item, columns[k]])
            _item(
                started(keys[draw, item]), started(split_keys[draw, item]),
                ranking_start[low : high + 1], place, rank, closed[low:high], columns,
                theta.shape[2] - 1, _log(theta[draw, item, -1]), members[: n_unnamed[item]],
                concentration[item], sharpness[draw, low:high], log_mass, taken, weight, out[draw],
            )  # fmt: skip


@inner
def _log(mass: float) -> float:
    return math.log(mass) if mass > 0.0 else -np.inf


@inner
def _item(
    state: State, split: State, starts: Codes, place: Codes, rank: Codes, closed: Flags,
    columns: Codes, last: int, log_rest: float, members: Codes, a: float, sharpness: Floats,
    log_mass: Floats, taken: Flags, weight: Floats, out: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Write the lists of one item's annotators under one draw."""
    n_named, n_seen = len(columns), 0
    for ranking in range(len(closed)):
        sharp, shut = sharpness[ranking], closed[ranking]
        taken[: n_named + n_seen] = shut
        if shut:
            for row in range(starts[ranking], starts[ranking + 1]):
                taken[place[row]] = False
        for row in range(starts[ranking], starts[ranking + 1]):
            n_hidden, log_other = 0, -np.inf
            if not shut:
                n_seen, log_rest = look(
                    split, log_mass, taken, n_named, n_seen, log_rest, members, a, sharp
                )
                n_hidden = len(members) - n_seen
                log_other = log_hidden(log_rest, n_hidden, a, sharp)
            n_known = n_named + n_seen
            pick = choose(state, log_mass, taken, n_known, log_other, n_hidden, sharp, weight)
            if pick == n_known:
                log_mass[pick], log_rest = next_log_share(split, log_rest, n_seen, members, a)
                n_seen += 1
            taken[pick] = True
            label = columns[pick] if pick < n_named else last + members[pick - n_named]
            _insert(out, rank, starts[ranking], row, label)


@inner
def _insert(out: npt.NDArray[np.int32], rank: Codes, start: int, row: int, label: int) -> None:
    """Put a label in the next row, or before larger ones that it is tied with."""
    while row > start and rank[row - 1] == rank[row] and out[row - 1] > label:
        out[row] = out[row - 1]
        row -= 1
    out[row] = label
