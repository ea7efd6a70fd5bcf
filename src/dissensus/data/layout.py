"""Labels laid out by item and place, as in PyMC models of a latent truth."""

from __future__ import annotations

from typing import Final

import numpy as np

from dissensus.errors import ArgumentError
from dissensus.kernels.types import Array, Ints

PLACE: Final = "place"
"""The dimension of an item's labels."""
RESPONDENTS: Final = "respondent_code"
LABELS: Final = "label_code"
"""The name of the labels in a PyMC model, for `pymc.set_data`."""
EMPTY: Final = -1
"""The code at a place without a label."""
EVERYBODY: Final = "all annotators"
"""The name of the respondent in models in which all annotators are one respondent."""
PAIRED: Final = "a label and its respondent, or -1 for both, at each place of an item"


def by_place(item: Ints, n_items: int, values: Array, empty: float = EMPTY) -> Array:
    """Lay out rows (row, ...) by item and place, in the order of the rows (item, place, ...)."""
    count = np.bincount(item, minlength=n_items)
    taken = np.arange(count.max(initial=0)) < count[:, None]
    out = np.full((*taken.shape, *values.shape[1:]), empty, dtype=values.dtype)
    out[taken] = values[np.argsort(item, kind="stable")]
    return out


def filled(respondents: Ints, labels: Ints) -> tuple[Ints, Ints]:
    """Return the item and place of each label; raise if it has no respondent, or the reverse."""
    if ((respondents < 0) != (labels < 0)).any():
        raise ArgumentError("labels", expected=PAIRED, found="one without the other")
    item, place = np.nonzero(respondents >= 0)
    return item, place
