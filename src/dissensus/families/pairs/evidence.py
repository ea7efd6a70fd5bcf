"""Evidence on pairs in addition to people's votes: judges' verdicts and answers' covariates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy.sparse import coo_array, hstack
from scipy.sparse.linalg import lsqr

from dissensus.data import frames, tables
from dissensus.data.pairs import checked_pairs
from dissensus.dims import ANNOTATOR, ITEM, SYSTEM, VOTE
from dissensus.errors import AnnotationError, ArgumentError, shown
from dissensus.kernels.types import Array, Floats, Ints
from dissensus.wording import counted

_ONLY: Final = "judge"
"""Name of the judge if the verdicts have no column of annotators."""
_UNEXPLAINED: Final = 1e-9
"""A covariate is linear in others if they leave at most this share of its squares unexplained."""


class Evidence(NamedTuple):
    """Distinct pairs of answers to a prompt, and their verdicts and covariates."""

    judges: Array  # (judge): names
    terms: Array  # (term): names of covariates
    item: Ints  # (pair): prompt codes; prompts with votes have lower codes than others
    left: Ints  # (pair): the system with the lower code
    right: Ints
    verdict: Floats  # (pair, judge): 1 left, 0 tie, -1 right; the mean if there are several
    tied: Floats  # (pair, judge): 1 if the verdict is a tie; the share of ties of several
    leaning: Floats  # (judge, system): the system's score in all verdicts, by least squares
    answer: Floats  # (pair, term): left minus right, in standard deviations of answers
    place: Ints  # (vote): index of its pair
    turn: Floats  # (vote): 1; -1 if the vote's left side is the pair's right side

    @property
    def along(self) -> Floats:
        """All covariates of the difference between a pair's answers (pair, covariate)."""
        return np.concatenate([self.verdict, self.apart, self.answer], axis=1)

    @property
    def apart(self) -> Floats:
        """Difference between the scores (`leaning`) of a pair's two systems (pair, judge)."""
        return (self.leaning[:, self.left] - self.leaning[:, self.right]).T


def with_evidence(
    pairs: xr.Dataset, predictions: Any, answers: Any
) -> tuple[xr.Dataset, Evidence | None]:
    """Return votes whose systems include those of the verdicts, and the evidence on their pairs."""
    if predictions is None and answers is None:
        return pairs, None
    if ITEM not in pairs.coords:
        evidence = {"predictions": predictions, "answers": answers}
        argument = next(name for name, value in evidence.items() if value is not None)
        raise ArgumentError(
            argument, expected="None, since the votes have no prompts",
            found=type(evidence[argument]).__name__,
            hint='Name the column of prompts: dx.pairs(frame, item="...")',
        )  # fmt: skip
    verdicts = pairs if predictions is None else _verdicts(predictions)
    pairs, verdicts, prompts = _aligned(pairs, verdicts)
    n, key = pairs.sizes[SYSTEM], _keys(pairs)
    names = pairs[SYSTEM].to_numpy(), prompts
    pair, place_of_verdict = np.unique(_keys(verdicts), return_inverse=True)
    item, left, right = pair // n**2, pair // n % n, pair % n
    place = np.searchsorted(pair, key)
    unknown = pair[np.minimum(place, len(pair) - 1)] != key
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ArgumentError(
            "predictions", expected="a verdict on every pair of answers with votes",
            found=f"none on {unknown.sum():,} votes, such as row {row}: {_pair(names, key[row])}",
            hint="Get verdicts on these pairs, or leave the votes out with pairs.isel(vote=...)",
        )  # fmt: skip
    judges = np.empty(0, dtype=np.str_)
    verdict = tied = np.empty((len(pair), 0))
    if predictions is not None:
        judges, verdict, tied = _by_pair(verdicts, names, pair, place_of_verdict)
    terms, answer = _covariates(answers, names, item, left, right)
    return pairs, Evidence(
        judges, terms, item, left, right, verdict, tied, _leaning(left, right, verdict, n), answer,
        place, _turns(pairs),
    )  # fmt: skip


def _leaning(left: Ints, right: Ints, verdict: Floats, n_systems: int) -> Floats:
    """Return each system's score in the verdicts (judge, system), by least squares."""
    sides = np.zeros((n_systems, n_systems))
    total = np.zeros((n_systems, verdict.shape[1]))
    for system, opponent, sign in ((left, right, 1.0), (right, left, -1.0)):
        np.add.at(sides, (system, system), 1.0)
        np.add.at(sides, (system, opponent), -1.0)
        np.add.at(total, system, sign * verdict)
    return np.ascontiguousarray((np.linalg.pinv(sides, hermitian=True) @ total).T)


def remarks(known: Evidence, n_systems: int) -> Iterator[str]:
    """Yield warnings about weights that only the priors determine."""
    if len(known.judges) and n_systems - 1 <= len(known.judges):
        yield (
            f"The verdicts of {counted(len(known.judges), 'judge')} on {n_systems} systems cannot "
            "separate beyond_judge and judge_system_weight: only their sum is estimated, and the "
            "priors divide it. Strengths and win rates are not affected."
        )
    for name in _in_span(known, n_systems):
        yield (
            f"The votes cannot separate the covariate {name!r} of answers from systems or other "
            "covariates: only their sum is estimated, and the priors divide it. Leave this "
            "covariate out, or get votes on answers of one system that differ in it."
        )


def _in_span(known: Evidence, n_systems: int) -> Iterator[str]:
    """Yield the names of covariates that are linear in systems and other covariates.

    Only pairs with votes are considered.
    """
    seen = np.unique(known.place)
    left, right, answer = known.left[seen], known.right[seen], known.answer[seen]
    n, n_terms = len(seen), answer.shape[1]
    rows = np.tile(np.arange(n), 2)
    signs = np.repeat([1.0, -1.0], n)
    systems = coo_array((signs, (rows, np.concatenate([left, right]))), shape=(n, n_systems))
    for place in range(n_terms):
        own, others = answer[:, place], np.delete(answer, place, axis=1)
        design = hstack([systems, coo_array(others)]).tocsr()
        fitted = design @ lsqr(design, own, atol=1e-12, btol=1e-12)[0]
        if ((own - fitted) ** 2).sum() <= _UNEXPLAINED * (own**2).sum():
            yield str(known.terms[place])


def _verdicts(predictions: Any) -> xr.Dataset:
    """Return judges' verdicts; raise if they are not on pairs of answers to prompts."""
    try:
        verdicts = checked_pairs(predictions)
    except AnnotationError as problem:
        raise ArgumentError(
            "predictions", expected="judges' verdicts on pairs, from dissensus.pairs",
            found=str(problem.found),
            hint='Type predictions=dx.pairs(table, annotator="judge", item="...")',
        ) from None  # fmt: skip
    if ITEM not in verdicts.coords:
        raise ArgumentError(
            "predictions", expected="prompts, as the votes have", found="verdicts without prompts",
            hint='Name their column with item="..."',
        )  # fmt: skip
    return verdicts


def _aligned(pairs: xr.Dataset, verdicts: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset, Array]:
    """Return votes and verdicts with the same codes of systems and prompts, and prompts' names.

    Names in the votes come first. Systems with neither votes nor verdicts are left out.
    """
    sides = ("left_code", "right_code")
    ours, theirs = (
        data[SYSTEM].to_numpy()[np.unique([data[name].to_numpy() for name in sides])]
        for data in (pairs, verdicts)
    )
    systems = _joined(ours, theirs, SYSTEM)
    prompts = _joined(pairs[ITEM].to_numpy(), verdicts[ITEM].to_numpy(), ITEM)
    pairs, verdicts = (
        data.drop_vars(SYSTEM).assign({
            name: (VOTE, tables.match(data[SYSTEM].to_numpy(), systems)[data[name].to_numpy()])
            for name in sides
        }).assign_coords({SYSTEM: systems})
        for data in (pairs, verdicts)
    )  # fmt: skip
    place = tables.match(verdicts[ITEM].to_numpy(), prompts)
    verdicts = verdicts.assign(item_code=(VOTE, place[verdicts["item_code"].to_numpy()]))
    return pairs, verdicts, prompts


def prompts_of(pairs: xr.Dataset, predictions: Any) -> Array:
    """Return the names of the prompts that `Evidence.item` refers to."""
    return _aligned(pairs, _verdicts(predictions))[2]


def _joined(ours: Array, theirs: Array, dim: str) -> Array:
    """Return the names in votes, then new names in verdicts; raise if they have none in common."""
    new = theirs[tables.match(theirs, ours) < 0]
    if len(new) == len(theirs):
        raise ArgumentError(
            "predictions", expected=f"{dim}s such as {shown(list(ours), 3)}",
            found=f"none in common, but {shown(list(theirs), 3)}",
            hint=f"Use the same names of {dim}s in votes and verdicts",
        )  # fmt: skip
    if len(new) and (new.dtype.kind in "if") != (ours.dtype.kind in "if"):
        new, ours = (tables.as_text([str(x) for x in part.tolist()]) for part in (new, ours))
    return np.concatenate([ours, new])


def _keys(pairs: xr.Dataset) -> Ints:
    """Return a number for each pair of answers to a prompt, the same if sides are exchanged."""
    n = pairs.sizes[SYSTEM]
    names = ("left_code", "right_code", "item_code")
    left, right, item = (pairs[name].to_numpy().astype(np.int64) for name in names)
    out: Ints = (item * n + np.minimum(left, right)) * n + np.maximum(left, right)
    return out


def _turns(pairs: xr.Dataset) -> Floats:
    ordered = pairs["left_code"].to_numpy() < pairs["right_code"].to_numpy()
    return np.where(ordered, 1.0, -1.0)


def _pair(names: tuple[Array, Array], key: int) -> str:
    """Describe a pair in words, from the names of systems and prompts."""
    systems, prompts = names
    n = len(systems)
    left, right = (systems[code].item() for code in (key // n % n, key % n))
    return f"{left!r} and {right!r} on {prompts[key // n**2].item()!r}"


def _by_pair(
    verdicts: xr.Dataset, names: tuple[Array, Array], pair: Ints, place: Ints
) -> tuple[Array, Floats, Floats]:
    """Return judges' names, and verdicts and ties (pair, judge); raise if a verdict is missing."""
    turn, outcome = _turns(verdicts), verdicts["outcome"].to_numpy()
    if ANNOTATOR in verdicts.coords:
        codes, judge = np.unique(verdicts["annotator_code"].to_numpy(), return_inverse=True)
        judges = verdicts[ANNOTATOR].to_numpy()[codes]
    else:
        judges, judge = np.array([_ONLY]), np.zeros(len(place), dtype=np.int64)
        _, first, times = np.unique(
            np.stack([place, turn > 0]), axis=1, return_index=True, return_counts=True
        )
        if (times > 1).any():
            repeated = pair[place[first[np.argmax(times > 1)]]]
            raise ArgumentError(
                "predictions", expected="one verdict on each pair and order of its sides, as no "
                "judge is named", found=f"{times.max()} on {_pair(names, repeated)}",
                hint='Name the column of judges with annotator="..."',
            )  # fmt: skip
    count, verdict, tied = (np.zeros((len(pair), len(judges))) for _ in range(3))
    np.add.at(count, (place, judge), 1.0)
    if (count == 0).any():
        row, column = np.argwhere(count == 0)[0]
        raise ArgumentError(
            "predictions", expected="a verdict of every judge on every pair",
            found=f"{(count == 0).sum():,} of {count.size:,} missing, such as that of "
            f"{judges[column].item()!r} on {_pair(names, pair[row])}",
            hint="Leave out the judge, or the pairs that not all judges have judged",
        )  # fmt: skip
    np.add.at(verdict, (place, judge), (1.0 - outcome) * turn)
    np.add.at(tied, (place, judge), (outcome == 1).astype(np.float64))
    return judges, verdict / count, tied / count


def _covariates(
    answers: Any, names: tuple[Array, Array], item: Ints, left: Ints, right: Ints
) -> tuple[Array, Floats]:
    """Return the names of covariates, and the differences between answers (pair, term)."""
    if answers is None:
        return np.empty(0, dtype=np.str_), np.empty((len(item), 0))
    table = frames.opened(answers, AnnotationError)
    terms = [name for name in table if name not in (ITEM, SYSTEM)]
    if not terms or len(terms) + 2 != len(table):
        raise AnnotationError(
            "answers", expected=f"the columns {ITEM!r} and {SYSTEM!r}, and columns of numbers, "
            "such as the length", found=f"the columns {shown(list(table))}",
            hint="Rename the columns: answers.rename(columns=...)",
        )  # fmt: skip
    systems, prompts = names
    n = len(systems)
    codes = []
    for dim, known in ((ITEM, prompts), (SYSTEM, systems)):
        encoded = tables.encode(table[dim], dim)
        codes.append(tables.match(encoded.values, known)[encoded.codes])
    needed, rows = np.unique([item * n + left, item * n + right], return_inverse=True)
    key = np.where((codes[0] < 0) | (codes[1] < 0), -1, codes[0] * n + codes[1])
    used = np.flatnonzero(np.isin(key, needed))
    used = used[np.argsort(key[used], kind="stable")]
    repeated = np.flatnonzero(np.diff(key[used]) == 0)
    if len(repeated):
        raise AnnotationError(
            "answers", where=f"row {used[repeated[0] + 1]}", expected="each item and system once",
            found=f"{len(np.unique(key[used][repeated])):,} of them more than once",
        )  # fmt: skip
    if len(used) < len(needed):
        lacking = ~np.isin(needed, key[used])
        lost = int(np.argmax(lacking[rows.reshape(2, -1)].any(axis=0)))
        raise AnnotationError(
            "answers", expected="a row for each answer in the pairs",
            found=f"none for one of {_pair(names, (item[lost] * n + left[lost]) * n + right[lost])}"
            f" (such answers: {lacking.sum():,})",
        )  # fmt: skip
    values = np.stack(
        [tables.numbers(table[name].iloc[used].reset_index(drop=True), name) for name in terms],
        axis=1,
    )
    left_row, right_row = rows.reshape(2, -1)
    difference = values[left_row] - values[right_row]
    constant = [terms[k] for k in np.flatnonzero(~difference.any(axis=0))]
    if constant:
        raise AnnotationError(
            "answers", expected="columns that differ between the two answers of some pair",
            found=f"no difference in {shown(constant)}",
        )  # fmt: skip
    return tables.as_text(terms), difference / values.std(axis=0)
