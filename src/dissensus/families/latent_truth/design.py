"""What a design leaves to the priors of a latent truth, said before anything is sampled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import DesignWarning, shown, warn_caller
from dissensus.families.latent_truth.kernels.data import COMPLETE
from dissensus.kernels.types import Ints
from dissensus.sampling.design import anchored, islands, listed_islands, scattered, two_sided

if TYPE_CHECKING:
    from dissensus.families.latent_truth.process import Process

ENOUGH: Final = 100
"""Labels that annotators gave, for each label there is, before matrices are worth learning."""
_FOR_MATRICES: Final = 3
"""Labels of an item that tell confusion and prevalence apart: of two labels there are fewer
frequencies than numbers in two matrices, and if items have two each, whoever gave them, a turn of
all matrices at once changes none of them."""


def warn_of_design(what: Process) -> None:
    """Warn of all that the labels cannot tell, however many draws are taken of it."""
    for text in _said(what):
        warn_caller(text, DesignWarning)


def _said(what: Process) -> Iterator[str]:
    form = what.form
    seen = what.voice < form.evidence
    item, voice = what.item[seen], what.voice[seen]
    most = int(np.bincount(item).max())
    if most < 2 and (what.known >= 0).any():
        yield (
            "No item has two labels: the labels known to be true are all that tells how accurate "
            "anybody is."
        )
        return
    if most < 2:
        yield (
            "No item has two labels: nothing tells how accurate anybody is, and the posterior is "
            "the prior. Have some items labelled twice or more."
        )
        return
    if form.rows and most < _FOR_MATRICES:
        yield (
            "No item has three labels: two tell how often labels meet, and not how often each is "
            "true and who errs how; prevalence and confusion are held apart by their priors. Have "
            "some items labelled three times, or use symmetric_confusion."
        )
    people = np.array(["the annotators"]) if what.shared else what.annotators
    names = np.concatenate([people.astype(object), what.systems.astype(object)])
    if form.own_accuracy or (form.rows and form.pooling != COMPLETE):
        yield from _of_voices(item, voice, names, len(people), matrices=bool(form.rows))
    elif what.shared and not form.rows:  # nobody's own, but that of a system is
        told = anchored(item, voice, len(names))
        two = two_sided(islands(item, voice, len(names)), told, names)
        if two:
            yield two


def _of_voices(
    item: Ints, voice: Ints, names: npt.NDArray[Any], n_annotators: int, *, matrices: bool
) -> Iterator[str]:
    """Say whose accuracy nothing tells, and who cannot be compared.

    Of an annotator who shares no item with anybody, and said nothing twice, nothing tells how
    accurate he is. Of two who share items only with each other it is how often they agree that is
    known: one number for two accuracies. Matrices need three labels of an item.
    """
    n = len(names)
    group = islands(item, voice, n)
    size = np.bincount(group[group >= 0])
    each = np.bincount(item)
    told = anchored(item, voice, n)
    if matrices:
        thick = np.unique(group[voice[each[item] >= _FOR_MATRICES]])
        told = np.isin(group, thick)
    alone = (group >= 0) & (size[np.maximum(group, 0)] == 1) & ~told
    lone = np.flatnonzero(alone[:n_annotators])
    if len(lone):
        yield (
            f"{len(lone)} of {n_annotators} annotators ({shown(list(names[lone]))}) share no item "
            "with anybody: nothing tells how accurate they are but the prior, and what others are "
            "like. Do not report their accuracy; have some of their items labelled by others."
        )
    if not matrices or each.max() >= _FOR_MATRICES:  # else it has been said of all
        two = two_sided(group, told, names)
        if two:
            yield two
    joined = np.where((group >= 0) & (size[np.maximum(group, 0)] > 1), group, -1)
    several = int((size > 1).sum())
    own = joined[voice] >= 0
    if several > 1 and scattered(joined, voice[own]):
        yield (
            f"The annotators are in {several:,} groups that share no item "
            f"({listed_islands(joined, names)}). In each of them agreement tells accuracies only "
            "if most of its annotators are better than guessing, which the prior assumes and no "
            "other group can bear out; comparing them assumes that all groups had items alike. "
            "Have a few items labelled by all groups."
        )
