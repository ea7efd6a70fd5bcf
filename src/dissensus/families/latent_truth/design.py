"""Warnings before sampling: parameters of a latent truth that depend only on their priors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import DesignWarning, shown, warn_caller
from dissensus.families.latent_truth.kernels.data import COMPLETE, NO_ANSWER
from dissensus.families.latent_truth.kernels.true_labels import agreement_groups
from dissensus.kernels.types import Ints
from dissensus.sampling.design import anchored, islands, listed_islands, scattered, two_sided

if TYPE_CHECKING:
    from dissensus.families.latent_truth.process import Process

ENOUGH: Final = 100
"""Confusion matrices need this number of annotations for each label of the label space, or more."""
_FOR_MATRICES: Final = 3
"""An item with this number of labels, or more, informs confusion matrices. If all items have two
labels, the matrices are not identified: the frequencies of pairs of labels are fewer numbers than
the entries of two matrices, and rotated matrices give the same frequencies."""
_FEW: Final = 0.1
"""A warning follows if more than this share of a system's unlabelled items differs from all
labelled items."""


def warn_of_design(process: Process) -> None:
    """Warn of parameters that the labels do not identify; more draws would not help."""
    for text in _warnings(process):
        warn_caller(text, DesignWarning)


def _warnings(process: Process) -> Iterator[str]:
    if process.errors is not None:
        yield from _unlike_labelled(process)
    form = process.form
    seen = process.respondent < form.evidence
    item, respondent = process.item[seen], process.respondent[seen]
    most = process.most_labels
    if most < 2 and (process.known >= 0).any():
        yield (
            "No item has two labels: accuracies are estimated only from items whose true label is "
            "known. Get two or more labels for some of the other items."
        )
        return
    if most < 2:
        yield (
            "No item has two labels: the data do not inform accuracies, and the posterior is the "
            "prior. Get two or more labels for some items."
        )
        return
    if form.rows and most < _FOR_MATRICES:
        yield (
            "No item has three labels: two labels show how often pairs of labels occur, but not "
            "how often each label is true or which errors an annotator makes. Prevalence and "
            "confusion are separated only by their priors. Get three labels for some items, or use "
            "symmetric_confusion."
        )
    alike = process.interchangeable
    people = np.array(["the annotators"]) if alike else process.annotators
    names = np.concatenate([people.astype(object), process.systems.astype(object)])
    if form.own_accuracy or (form.rows and form.pooling != COMPLETE):
        yield from _of_each(item, respondent, names, len(people), matrices=bool(form.rows))
    elif alike and not form.rows:  # only systems have their own accuracies
        identified = anchored(item, respondent, len(names))
        warning = two_sided(islands(item, respondent, len(names)), identified, names)
        if warning:
            yield warning


def _unlike_labelled(process: Process) -> Iterator[str]:
    """Warn of systems whose accuracy on many items without labels is an extrapolation."""
    labelled = process.known >= 0
    labelled[process.item] = True
    if labelled.all() or not len(process.systems):
        return
    first, _ = distinct(process.answers)  # systems with the same answers are one system
    answers = process.answers[:, first]
    groups = agreement_groups(np.minimum(answers, process.form.n_labels), NO_ANSWER)
    unlabelled = (answers != NO_ANSWER) & ~labelled[:, None]
    for s, name in enumerate(process.systems[first].tolist()):
        known = np.unique(groups[labelled & (answers[:, s] != NO_ANSWER), s])
        n_unlike = int((unlabelled[:, s] & ~np.isin(groups[:, s], known)).sum())
        if n_unlike > _FEW * unlabelled[:, s].sum():
            yield (
                f"The accuracy of {name!r} on {n_unlike:,} of {unlabelled[:, s].sum():,} items "
                "without labels is a guess: no labelled item has the same share of other systems "
                "that agree with it (none, at most half, more, or all). Let annotators label some "
                "of these items, drawn at random."
            )


def _of_each(
    item: Ints, respondent: Ints, names: npt.NDArray[Any], n_annotators: int, *, matrices: bool
) -> Iterator[str]:
    """Yield warnings of annotators whose accuracy is not identified or cannot be compared.

    The accuracy of an annotator is not identified if the annotator shares no item with others, and
    labels no item twice. If two annotators share items only with each other, one number (how often
    they agree) has to determine two accuracies. Matrices are identified by items with three labels.
    """
    n = len(names)
    group = islands(item, respondent, n)
    size = np.bincount(group[group >= 0])
    each = np.bincount(item)
    identified = anchored(item, respondent, n)
    if matrices:
        identified_groups = np.unique(group[respondent[each[item] >= _FOR_MATRICES]])
        identified = np.isin(group, identified_groups)
    is_isolated = (group >= 0) & (size[np.maximum(group, 0)] == 1) & ~identified
    isolated = np.flatnonzero(is_isolated[:n_annotators])
    if len(isolated):
        yield (
            f"{len(isolated)} of {n_annotators} annotators ({shown(list(names[isolated]))}) share "
            "no item with other annotators: their accuracy depends only on the prior and on the "
            "population. Do not report it; let others label some of their items."
        )
    # With matrices and at most two labels per item, `_warnings` has warned of all annotators.
    if not matrices or each.max() >= _FOR_MATRICES:
        warning = two_sided(group, identified, names)
        if warning:
            yield warning
    joined = np.where((group >= 0) & (size[np.maximum(group, 0)] > 1), group, -1)
    several = int((size > 1).sum())
    if several > 1 and scattered(joined, respondent[joined[respondent] >= 0]):
        yield (
            f"The annotators are in {several:,} groups that share no item "
            f"({listed_islands(joined, names)}). Within a group, agreement determines accuracies "
            "only if most of its annotators are better than guessing. The prior assumes this, and "
            "other groups cannot confirm it. Comparisons between groups assume that all groups "
            "had similar items. Let all groups label a few common items."
        )


def distinct(answers: Ints) -> tuple[Ints, Ints]:
    """Return the first system with each distinct column, and the index of every system's column.

    >>> first, same = distinct(np.array([[2, 2, 0], [1, 1, 0]]))
    >>> first, same
    (array([0, 2]), array([0, 0, 1]))
    """
    columns = [column.tobytes() for column in np.ascontiguousarray(answers.T)]
    places = {column: columns.index(column) for column in dict.fromkeys(columns)}
    rank = {column: k for k, column in enumerate(places)}
    same = np.array([rank[column] for column in columns], dtype=np.int64)
    return np.array(list(places.values()), dtype=np.int64), same
