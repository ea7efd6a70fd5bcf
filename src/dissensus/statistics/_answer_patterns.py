"""Items with the same labels, and what systems answer there: how often each comes, as sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dissensus.data.alignment import said_by_systems, systems_of
from dissensus.dims import ITEM
from dissensus.kernels.formulas import Answers
from dissensus.kernels.types import Ints
from dissensus.kernels.votes import Votes, votes
from dissensus.statistics._statements import labels_of, rows_of
from dissensus.statistics._sums import Matrix, compact
from dissensus.statistics._votes import categories


class AnswerPatterns(NamedTuple):
    """Labels by pattern, and the answers to each pattern."""

    items: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    systems: npt.NDArray[Any]
    votes: Votes
    """Labels by pattern, every row a vote."""
    pattern: Ints
    """(item)"""
    answers: Answers
    parts: tuple[Matrix, Matrix]
    """(item, pattern) and (item, answer): 1 where an item has it. Unlabelled items have none."""
    tallies: sparse.csr_array
    """(pattern, ordered pairs | pairs that differ | times each label): what a pattern tells."""


def answer_patterns(annotations: Any, predictions: Any, on_missing: str) -> AnswerPatterns:
    """Read annotations and predictions, and take together items with the same labels."""
    annotations = categories(annotations)
    rows_of(annotations)  # nobody may say two things of an item without a trial
    items = annotations[ITEM].to_numpy()
    codes, labels = labels_of(annotations)
    systems = systems_of(annotations, predictions, on_missing)
    said = said_by_systems(systems, labels)
    which = annotations["item_code"].to_numpy().astype(np.int64)
    found, pattern = votes(which, np.zeros_like(which), codes.astype(np.int64), len(items))
    n_patterns = len(found.start) - 1
    labelled = np.bincount(which, minlength=len(items)) > 0
    of_answer, answers, answered = _answers(pattern, labelled, said, n_patterns, len(labels))
    parts = (
        _indicator(np.flatnonzero(labelled), pattern[labelled], (len(items), n_patterns)),
        _indicator(answered, of_answer, (len(items), len(answers.label))),
    )
    tallies = _tallies(found, len(labels))
    return AnswerPatterns(items, labels, systems.names, found, pattern, answers, parts, tallies)


def _answers(
    pattern: Ints, labelled: npt.NDArray[np.bool_], said: Ints, n_patterns: int, n_labels: int
) -> tuple[Ints, Answers, Ints]:
    """Return which answer each system gave each labelled item, all answers, and those items."""
    item, system = np.nonzero(labelled[:, None] & (said >= 0))
    # All labels outside the label space are one: they agree with nobody.
    label = np.minimum(said[item, system], n_labels)
    n_systems = said.shape[1]
    key = (pattern[item] * n_systems + system) * (n_labels + 1) + label
    known, which = np.unique(key, return_inverse=True)
    rest, label = np.divmod(known, n_labels + 1)
    start = np.searchsorted(rest // n_systems, np.arange(n_patterns + 1))
    label = np.where(label == n_labels, -1, label)
    return which, Answers(start.astype(np.int64), rest % n_systems, label), item


def _indicator(row: Ints, column: Ints, shape: tuple[int, int]) -> Matrix:
    return compact(sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape))


def _tallies(found: Votes, n_labels: int) -> sparse.csr_array:
    n = len(found.start) - 1
    pattern = np.repeat(np.arange(n), np.diff(found.start))
    times = found.times.astype(np.float64)
    total = np.bincount(pattern, times, n)
    pairs = total * (total - 1.0)
    same = np.bincount(pattern, times * (times - 1.0), n)
    labels = sparse.csr_array((times, (pattern, found.label)), shape=(n, n_labels))
    apart = sparse.csr_array(np.stack([pairs, pairs - same], axis=1))
    return sparse.csr_array(sparse.hstack([apart, labels]))
