"""What is known of pairs beside people's votes: judges' verdicts, and covariates of answers."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data import frames, tables
from dissensus.data.pairs import checked_pairs
from dissensus.dims import ANNOTATOR, ITEM, SYSTEM, VOTE
from dissensus.errors import AnnotationError, ArgumentError, shown
from dissensus.kernels.types import Array, Floats, Ints

_ONLY: Final = "judge"
"""The name of a judge whose verdicts have no column of annotators."""


class Evidence(NamedTuple):
    """Pairs of answers to a prompt, each once, and what is known of them."""

    judges: Array  # (judge)
    terms: Array  # (term)
    item: Ints  # (pair)
    left: Ints  # (pair): the system with the lower code
    right: Ints
    verdict: Floats  # (pair, judge): 1 left, 0 tie, -1 right; the mean of several
    tied: Floats  # (pair, judge): 1 where the verdict is a tie
    leaning: Floats  # (judge, system): place in the verdicts on all pairs, by least squares
    answer: Floats  # (pair, term): left less right, in standard deviations of answers
    place: Ints  # (vote): its pair
    turn: Floats  # (vote): -1 where its sides are those of the pair exchanged

    @property
    def along(self) -> Floats:
        """All covariates of the difference of a pair (pair, covariate)."""
        return np.concatenate([self.verdict, self.apart, self.answer], axis=1)

    @property
    def apart(self) -> Floats:
        """How far apart the two systems are in all verdicts (pair, judge)."""
        return (self.leaning[:, self.left] - self.leaning[:, self.right]).T


def with_evidence(
    pairs: xr.Dataset, predictions: Any, answers: Any
) -> tuple[xr.Dataset, Evidence | None]:
    """Return votes with the names of verdicts among theirs, and what is known of their pairs."""
    if predictions is None and answers is None:
        return pairs, None
    argument = "predictions" if predictions is not None else "answers"
    if ITEM not in pairs.coords:
        raise ArgumentError(
            argument, expected="None, since the votes do not say on which prompts they are",
            found=type(predictions if answers is None else answers).__name__,
            hint='Name the column of prompts: dx.pairs(frame, item="...")',
        )  # fmt: skip
    verdicts = pairs
    if predictions is not None:
        verdicts = _verdicts(predictions)
        pairs, verdicts = _alike(pairs, verdicts)
    n, key, turn = pairs.sizes[SYSTEM], _keys(pairs), _turns(pairs)
    pair, place_of_verdict = np.unique(_keys(verdicts), return_inverse=True)
    item, left, right = pair // n**2, pair // n % n, pair % n
    place = np.searchsorted(pair, key)
    unknown = pair[np.minimum(place, len(pair) - 1)] != key
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ArgumentError(
            "predictions", expected="a verdict on every pair of answers with votes",
            found=f"none on {unknown.sum():,} votes, such as row {row}: "
            f"{_pair(pairs, key[row])}",
            hint="Get verdicts on these, or leave the votes out with pairs.isel(vote=...)",
        )  # fmt: skip
    judges = np.empty(0, dtype=np.str_)
    verdict = tied = np.empty((len(pair), 0))
    if predictions is not None:
        judges, verdict, tied = _by_pair(verdicts, pair, place_of_verdict)
    terms, answer = _covariates(answers, pairs, item, left, right)
    return pairs, Evidence(
        judges, terms, item, left, right, verdict, tied, _leaning(left, right, verdict, n), answer,
        place, turn,
    )  # fmt: skip


def _leaning(left: Ints, right: Ints, verdict: Floats, n_systems: int) -> Floats:
    """Return each system's place in the verdicts (judge, system), by least squares."""
    sides = np.zeros((n_systems, n_systems))
    total = np.zeros((n_systems, verdict.shape[1]))
    for one, two, sign in ((left, right, 1.0), (right, left, -1.0)):
        np.add.at(sides, (one, one), 1.0)
        np.add.at(sides, (one, two), -1.0)
        np.add.at(total, one, sign * verdict)
    return np.ascontiguousarray((np.linalg.pinv(sides, hermitian=True) @ total).T)


def _verdicts(predictions: Any) -> xr.Dataset:
    """Return judges' verdicts, or raise."""
    try:
        found = checked_pairs(predictions)
    except AnnotationError as problem:
        raise ArgumentError(
            "predictions", expected="judges' verdicts on pairs, from dissensus.pairs",
            found=str(problem.found),
            hint='Type predictions=dx.pairs(table, annotator="judge", item="...")',
        ) from None  # fmt: skip
    if ITEM not in found.coords:
        raise ArgumentError(
            "predictions", expected="prompts, as the votes have", found="verdicts without prompts",
            hint='Name their column: dx.pairs(table, item="...")',
        )  # fmt: skip
    return found


def _alike(pairs: xr.Dataset, verdicts: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Give both the same systems and prompts: those of the votes first."""
    for dim, columns in ((SYSTEM, ("left_code", "right_code")), (ITEM, ("item_code",))):
        ours, theirs = pairs[dim].to_numpy(), verdicts[dim].to_numpy()
        place = tables.match(theirs, ours)
        new = theirs[place < 0]
        if len(new) == len(theirs):
            raise ArgumentError(
                "predictions", expected=f"{dim}s such as {shown(list(ours), 3)}",
                found=f"none in common, but {shown(list(theirs), 3)}",
                hint=f"Write the names of {dim}s alike in votes and verdicts",
            )  # fmt: skip
        if len(new) and (new.dtype.kind in "if") != (ours.dtype.kind in "if"):
            new = tables.as_text([str(name) for name in new.tolist()])
            ours = tables.as_text([str(name) for name in ours.tolist()])
        place[place < 0] = len(ours) + np.arange(len(new))
        names = np.concatenate([ours, new])
        pairs = pairs.drop_vars(dim).assign_coords({dim: names})
        codes = {name: (VOTE, place[verdicts[name].to_numpy()]) for name in columns}
        verdicts = verdicts.drop_vars(dim).assign(codes).assign_coords({dim: names})
    return pairs, verdicts


def _keys(pairs: xr.Dataset) -> Ints:
    """Return a number for each pair of answers to a prompt, whichever side they stand on."""
    n = pairs.sizes[SYSTEM]
    sides = np.sort([pairs["left_code"].to_numpy(), pairs["right_code"].to_numpy()], axis=0)
    out: Ints = pairs["item_code"].to_numpy().astype(np.int64) * n**2 + sides[0] * n + sides[1]
    return out


def _turns(pairs: xr.Dataset) -> Floats:
    ordered = pairs["left_code"].to_numpy() < pairs["right_code"].to_numpy()
    return np.where(ordered, 1.0, -1.0)


def _pair(pairs: xr.Dataset, key: int) -> str:
    """Describe a pair in words."""
    n = pairs.sizes[SYSTEM]
    one, two = (pairs[SYSTEM].to_numpy()[code].item() for code in (key // n % n, key % n))
    return f"{one!r} and {two!r} on {pairs[ITEM].to_numpy()[key // n**2].item()!r}"


def _by_pair(verdicts: xr.Dataset, pair: Ints, place: Ints) -> tuple[Array, Floats, Floats]:
    """Return the judges, and their verdicts and ties by pair; every judge judges every pair."""
    judges = np.array([_ONLY])
    who = np.zeros(len(place), dtype=np.int64)
    if ANNOTATOR in verdicts.coords:
        judges, who = verdicts[ANNOTATOR].to_numpy(), verdicts["annotator_code"].to_numpy()
    outcome = verdicts["outcome"].to_numpy()
    count, verdict, tied = (np.zeros((len(pair), len(judges))) for _ in range(3))
    np.add.at(count, (place, who), 1.0)
    if (count == 0).any():
        row, judge = np.argwhere(count == 0)[0]
        raise ArgumentError(
            "predictions", expected="a verdict of every judge on every pair",
            found=f"{(count == 0).sum():,} of {count.size:,} missing, such as that of "
            f"{judges[judge].item()!r} on {_pair(verdicts, pair[row])}",
            hint="Leave out the judge, or the pairs that not all have judged",
        )  # fmt: skip
    np.add.at(verdict, (place, who), (1.0 - outcome) * _turns(verdicts))
    np.add.at(tied, (place, who), (outcome == 1).astype(np.float64))
    return judges, verdict / count, tied / count


def _covariates(
    answers: Any, pairs: xr.Dataset, item: Ints, left: Ints, right: Ints
) -> tuple[Array, Floats]:
    """Return the terms of a table of answers, and their differences by pair."""
    if answers is None:
        return np.empty(0, dtype=np.str_), np.empty((len(item), 0))
    table = frames.opened(answers, AnnotationError)
    frames.require_columns({"item": ITEM, "system": SYSTEM}, list(table), AnnotationError)
    terms = [name for name in table if name not in (ITEM, SYSTEM)]
    if not terms:
        raise AnnotationError(
            "answers", expected="columns of numbers beside item and system, such as the length",
            found="none",
        )  # fmt: skip
    n = pairs.sizes[SYSTEM]
    codes = []
    for dim in (ITEM, SYSTEM):
        names = tables.encode(table[dim], dim)
        codes.append(tables.match(names.values, pairs[dim].to_numpy())[names.codes])
    cell = np.where((codes[0] < 0) | (codes[1] < 0), -1, codes[0] * n + codes[1])
    _, first, times = np.unique(cell[cell >= 0], return_index=True, return_counts=True)
    if (times > 1).any():
        again = np.flatnonzero(cell >= 0)[first[np.argmax(times > 1)]]
        raise AnnotationError(
            "answers", where=f"row {again}", expected="each item and system once",
            found=f"{int((times > 1).sum()):,} of them again",
        )  # fmt: skip
    where = np.full(pairs.sizes[ITEM] * n, -1)
    where[cell[cell >= 0]] = np.flatnonzero(cell >= 0)
    rows = where[item * n + left], where[item * n + right]
    lacking = (rows[0] < 0) | (rows[1] < 0)
    if lacking.any():
        row = int(np.argmax(lacking))
        raise AnnotationError(
            "answers", expected="a row for each answer in the pairs",
            found=f"none for one of {_pair(pairs, (item[row] * n + left[row]) * n + right[row])} "
            f"(such pairs: {lacking.sum():,})",
        )  # fmt: skip
    values = np.stack([tables.numbers(table[name], name) for name in terms], axis=1)
    spread = values.std(axis=0)
    if not (spread > 0).all():
        raise AnnotationError(
            "answers", expected="columns whose numbers differ",
            found=f"one number only in {shown([terms[k] for k in np.flatnonzero(spread == 0)])}",
        )  # fmt: skip
    values = values / spread
    return tables.as_text(terms), values[rows[0]] - values[rows[1]]
