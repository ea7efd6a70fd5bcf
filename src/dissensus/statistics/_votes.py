"""Annotators' labels as votes for the label of an item."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.alignment import said_by_systems, systems_of
from dissensus.dims import ITEM, SYSTEM
from dissensus.errors import AnnotationError
from dissensus.kernels.grouped import LabelShares, label_shares
from dissensus.kernels.labels import amounts_at
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._doubts import Doubts
from dissensus.statistics._statements import labels_of, read, rows_of
from dissensus.statistics._sums import Sums


class Votes(NamedTuple):
    """What annotators and systems said of each item."""

    items: npt.NDArray[Any]
    shares: LabelShares
    voices: Ints
    """(item): how many annotators spoke."""
    said: Ints
    """(item, system): label codes."""
    labels: npt.NDArray[Any]
    systems: npt.NDArray[Any]
    judged: npt.NDArray[np.bool_]
    """(item): whether somebody annotated it and systems predicted it."""


def categories(annotations: Any, *, rankings: bool = False) -> xr.Dataset:
    """Return annotations with labels that several annotators can have in common.

    Raises
    ------
    AnnotationError
        If they are numbers on a scale: no two may be equal, and none then leads.
    """
    annotations = read(annotations, rankings=rankings)
    if annotations.attrs["kind"] == "continuous":
        raise AnnotationError(
            "annotations",
            expected="labels that annotators can have in common",
            found='numbers on a scale (kind "continuous")',
            hint='Read ratings with kind="ordinal"; for measurements take discrepancy_ratio',
        )
    return annotations


def votes(annotations: Any, predictions: Any, on_missing: str) -> Votes:
    """Read annotations, and bring predictions onto their items."""
    annotations = categories(annotations)
    rows = rows_of(annotations)
    codes, labels = labels_of(annotations)
    systems = systems_of(annotations, predictions, on_missing)
    said = said_by_systems(systems, labels)
    judged = systems.present & (rows.voices > 0)
    shares = label_shares(rows, codes, len(labels))
    items = annotations[ITEM].to_numpy()
    return Votes(items, shares, rows.voices, said, labels, systems.names, judged)


def accuracy_sums(name: str, found: Votes, credit: Floats) -> Sums:
    """Prepare the mean over items of what each label of an item is worth."""
    worth = amounts_at(found.shares, credit, found.said, len(found.labels))
    judged = found.judged.astype(np.float64)

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        return doubts.divided(totals[:, 1:], totals[:, :1], "no item has a label and a prediction")

    dims, coords = {name: (SYSTEM,)}, {SYSTEM: found.systems}
    return Sums(name, (judged, worth * judged[:, None]), finish, found.items, dims, coords)
