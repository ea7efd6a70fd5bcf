"""Warnings, before sampling, of parameters of a latent truth that depend on priors only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import DesignWarning, shown, warn_caller
from dissensus.families.latent_truth.kernels.data import COMPLETE, NO_ANSWER
from dissensus.families.latent_truth.kernels.true_labels import agreement_groups, distinct
from dissensus.kernels.types import Ints
from dissensus.sampling.design import anchored, islands, listed_islands, scattered, two_sided

if TYPE_CHECKING:
    from dissensus.families.latent_truth.process import Process

ENOUGH: Final = 100
"""Fewest annotations for each label of the label space with which matrices can be learned."""
_FOR_MATRICES: Final = 3
"""Fewest labels of an item that identify matrices. Two labels have fewer frequencies than two
matrices have numbers. If all items have two, a rotation of all matrices changes no frequency."""


_FEW: Final = 0.1
"""Share of the items without labels that may be unlike all labelled items without a warning."""


def warn_of_design(process: Process) -> None:
    """Warn of parameters that the labels do not identify, whatever the number of draws."""
    for text in _warnings(process):
        warn_caller(text, DesignWarning)


def _warnings(process: Process) -> Iterator[str]:
    if process.errors is not None:
        yield from _unlike_labelled(process)
    form = process.form
    seen = process.respondent < form.evidence
    item, respondent = process.item[seen], process.respondent[seen]
    most = int(np.bincount(item).max())
    if most < 2 and (process.known >= 0).any():
        yield "No item has two labels: accuracies are estimated from the known labels only."
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
    elif alike and not form.rows:  # only systems have an accuracy of their own
        told = anchored(item, respondent, len(names))
        two = two_sided(islands(item, respondent, len(names)), told, names)
        if two:
            yield two


def _unlike_labelled(process: Process) -> Iterator[str]:
    """Warn of systems whose agreement with others on many items occurs on no labelled item."""
    told = process.known >= 0
    told[process.item] = True
    if told.all() or not len(process.systems):
        return
    first, _ = distinct(process.answers)  # copies are one system
    answers = process.answers[:, first]
    groups = agreement_groups(np.minimum(answers, process.form.n_labels), NO_ANSWER)
    bare = (answers != NO_ANSWER) & ~told[:, None]
    for s, name in enumerate(process.systems[first].tolist()):
        known = np.unique(groups[told & (answers[:, s] != NO_ANSWER), s])
        alone = int((bare[:, s] & ~np.isin(groups[:, s], known)).sum())
        if alone > _FEW * bare[:, s].sum():
            yield (
                f"How often {name!r} is right is a guess on {alone:,} of "
                f"{bare[:, s].sum():,} items without labels: there, the share of other systems "
                "that agree with it (none, at most half, more, or all) is one that no labelled "
                "item has. Let annotators label some of these items, drawn at random."
            )


def _of_each(
    item: Ints, respondent: Ints, names: npt.NDArray[Any], n_annotators: int, *, matrices: bool
) -> Iterator[str]:
    """Name annotators whose accuracy is not identified, and those who cannot be compared.

    The accuracy of an annotator who shares no item with others, and repeats no label, is not
    identified. If two annotators share items only with each other, one number (how often they
    agree) has to determine two accuracies. Matrices need three labels of an item.
    """
    n = len(names)
    group = islands(item, respondent, n)
    size = np.bincount(group[group >= 0])
    each = np.bincount(item)
    told = anchored(item, respondent, n)
    if matrices:
        identified = np.unique(group[respondent[each[item] >= _FOR_MATRICES]])
        told = np.isin(group, identified)
    alone = (group >= 0) & (size[np.maximum(group, 0)] == 1) & ~told
    lone = np.flatnonzero(alone[:n_annotators])
    if len(lone):
        yield (
            f"{len(lone)} of {n_annotators} annotators ({shown(list(names[lone]))}) share no item "
            "with other annotators: their accuracy depends only on the prior and on the "
            "population. Do not report it; let others label some of their items."
        )
    if not matrices or each.max() >= _FOR_MATRICES:  # otherwise the first warning covers all
        two = two_sided(group, told, names)
        if two:
            yield two
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
