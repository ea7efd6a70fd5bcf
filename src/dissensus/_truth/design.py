"""What a design leaves to the priors of a latent truth, said before anything is sampled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dissensus._design import Ints, alone, islands, listed_islands
from dissensus.arrays.truth_parameters import COMPLETE
from dissensus.dims import ITEM
from dissensus.errors import DesignWarning, shown, warn_caller
from dissensus.schema import statements_per

if TYPE_CHECKING:
    from dissensus._truth.process import Process


def warn_of_design(what: Process) -> None:
    """Warn of all that the labels cannot tell, however many draws are taken of it."""
    for text in _said(what):
        warn_caller(text, DesignWarning)


def _said(what: Process) -> Iterator[str]:
    most = int(statements_per(what.annotations, ITEM).max())
    if most + (len(what.systems) if what.form.evidence == what.form.n_voices else 0) < 2:
        yield (
            "No item has two labels: nothing tells how accurate anybody is, and the posterior is "
            "the prior. Have some items labelled twice or more."
        )
        return
    own = what.form.own_accuracy or (what.form.rows and what.form.pooling != COMPLETE)
    if own and not what.shared:
        seen = what.voice < what.form.evidence
        names = np.concatenate([what.annotators, what.systems]).astype(object)
        yield from of_voices(what.item[seen], what.voice[seen], names, len(what.annotators))


def of_voices(item: Ints, voice: Ints, names: npt.NDArray[Any], n_annotators: int) -> Iterator[str]:
    """Say whose accuracy nothing tells, and who cannot be compared.

    Of an annotator who shares no item with anybody nothing tells how accurate he is. Of two who
    share items only with each other it is how often they agree that is known: one number for two
    accuracies. From three on agreement, pair by pair, tells them all.
    """
    lone = alone(item, voice, len(names))
    lone = lone[lone < n_annotators]
    if len(lone):
        yield (
            f"{len(lone)} of {n_annotators} annotators ({shown(list(names[lone]))}) share no item "
            "with anybody: nothing tells how accurate they are but the prior, and what others are "
            "like. Do not report their accuracy; have some of their items labelled by others."
        )
    group = islands(item, voice, len(names))
    size = np.bincount(group[group >= 0])
    twos = np.flatnonzero(size == 2)
    if len(twos):
        couples = [listed_islands(np.where(group == k, 0, -1), names) for k in twos[:3]]
        more = f" and {len(twos) - 3:,} more pairs" if len(twos) > 3 else ""
        yield (
            f"Annotators who share items with one other only ({' | '.join(couples)}{more}): how "
            "often the two agree is known, and not which of them errs; their accuracies are held "
            "apart by the prior. Have a third label some of the same items."
        )
    if (size > 1).sum() > 1:
        large = np.where((group >= 0) & (size[np.maximum(group, 0)] > 1), group, -1)
        yield (
            f"The annotators are in {int((size > 1).sum()):,} groups that share no item "
            f"({listed_islands(large, names)}). In each of them agreement tells accuracies only if "
            "most of its annotators are better than guessing, which the prior assumes and no "
            "other group can bear out; comparing them assumes that all groups had items alike. "
            "Have a few items labelled by all groups."
        )
