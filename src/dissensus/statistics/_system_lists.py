"""The lists of labels that systems gave, in the codes of the annotations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.data import tables
from dissensus.data.alignment import Systems
from dissensus.data.predictions import warn_of_outside
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import PredictionError, shown
from dissensus.kernels.distances import Lists, lists_of
from dissensus.kernels.types import Ints


class SystemLists(NamedTuple):
    """What systems listed; a single label is a list of one."""

    labels: npt.NDArray[Any]
    """Those of the annotations, and after them those that only systems use."""
    code: Ints
    """(item, system, position): -1 past the end of a list, and for items without one."""
    block: Ints
    """(item, system, position): small comes first, equal is tied."""

    def of(self, system: int) -> Lists:
        """Return one system's lists, one for each item."""
        code, block = self.code[:, system], self.block[:, system]
        item, position = np.nonzero(code >= 0)
        return lists_of(item, code[item, position], block[item, position], len(code))


def lists_by_systems(found: Systems, labels: npt.NDArray[Any]) -> SystemLists:
    """Return the labels that each system listed for each item.

    Raises
    ------
    PredictionError
        If the predictions are numbers, or no predicted label is known.

    Warns
    -----
    DissensusWarning
        If some predicted labels are outside the label space.
    """
    predictions = found.predictions
    if "label_code" not in predictions:
        raise PredictionError(
            "predictions",
            expected="labels from each system and item",
            found='numbers (kind "continuous")',
            hint='For numbers, distance="squared"',
        )
    vocabulary = predictions[LABEL].to_numpy()
    place = tables.match(vocabulary, labels)
    code, block = (
        predictions[name].transpose(ITEM, SYSTEM, POSITION).to_numpy()
        for name in ("label_code", "block")
    )
    used = np.unique(code[code >= 0])
    stray = used[place[used] < 0]
    if len(stray) == len(used):
        raise PredictionError(
            "predictions",
            expected=f"labels such as {shown(list(labels), 3)}",
            found=f"no label in common, but {shown(list(vocabulary[stray]), 3)}",
        )
    if len(stray):
        warn_of_outside(", which no annotator names", list(vocabulary[stray]), list(labels))
    place[stray] = len(labels) + np.arange(len(stray))
    shape = (len(found.present), *code.shape[1:])
    out = SystemLists(
        np.concatenate([labels.astype(object), vocabulary[stray].astype(object)]),
        np.full(shape, -1, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
    )
    out.code[found.present] = np.where(code < 0, -1, place[code])
    out.block[found.present] = block
    return out
