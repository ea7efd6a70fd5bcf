"""What a design leaves to the priors of abilities and difficulties, said before sampling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dissensus.errors import DesignWarning, shown, warn_caller
from dissensus.kernels.types import UNKNOWN
from dissensus.sampling.design import anchored, islands, listed_islands, pairs, scattered, two_sided

if TYPE_CHECKING:
    from dissensus.families.rasch.process import Process


def warn_of_design(what: Process) -> None:
    """Warn of all that the labels cannot tell, however many draws are taken of it."""
    for text in _said(what):
        warn_caller(text, DesignWarning)


def _said(what: Process) -> Iterator[str]:
    found = pairs(what.item, what.annotator)
    nothing_known = bool((what.truth == UNKNOWN).all())
    if nothing_known and int(np.bincount(what.item).max()) < 2:
        yield (
            "No item has two labels, and no truth is known: nothing tells how able anybody is, "
            "and the posterior is the prior. Have some items labelled twice or more."
        )
        return
    if not (found.of_item or found.repeated):
        yield (
            "No item has two labels: nothing tells how hard single items are, and "
            "difficulty_spread comes from its prior alone. An ability is then of typical items, "
            "whatever these are. Have some items labelled by several annotators."
        )
    if not (found.of_annotator or found.repeated):
        yield (
            "No annotator labelled two items: nothing tells how able single annotators are, and "
            "ability_spread comes from its prior alone. Let annotators label several items."
        )
    else:
        yield from _of_single(what)
        if found.of_item:
            yield from _of_groups(what)


def _of_single(what: Process) -> Iterator[str]:
    """Name annotators of whom neither a truth nor others tell how able they are."""
    n = len(what.annotators)
    knows = what.annotator[what.truth[what.item] != UNKNOWN]
    told = anchored(what.item, what.annotator, n, np.unique(knows))
    group = islands(what.item, what.annotator, n)
    size = np.bincount(group[group >= 0])
    lone = np.flatnonzero((group >= 0) & (size[np.maximum(group, 0)] == 1) & ~told)
    if len(lone):
        yield (
            f"{len(lone)} of {n} annotators ({shown(list(what.annotators[lone]))}) share no item "
            "with anybody, and no truth of theirs is known: nothing tells how able they are but "
            "the prior, and what others are like. Do not report their ability; have some of "
            "their items labelled by others."
        )
    two = two_sided(group, told, what.annotators)
    if two:
        yield two


def _of_groups(what: Process) -> Iterator[str]:
    """Name annotators who cannot be compared."""
    group = islands(what.item, what.annotator, len(what.annotators))
    if scattered(group, what.annotator):
        yield (
            f"The annotators are in {int(group.max()) + 1:,} groups that share no item "
            f"({listed_islands(group, what.annotators)}). Within a group abilities, and "
            "difficulties, can be compared; between groups able annotators look like easy items, "
            "and the prior that all groups are alike parts them. Have a few items labelled by all."
        )
