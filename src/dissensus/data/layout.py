"""Labels in arrays (item, place), as in PyMC models of a latent truth.

An item's labels are at places 0, 1, ...; the places after its last label are empty.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dissensus.errors import ArgumentError
from dissensus.kernels.types import Array, Ints

PLACE: Final = "place"
"""The name of the dimension along the labels of an item."""
RESPONDENTS: Final = "respondent_code"
LABELS: Final = "label_code"
"""The name of the labels in a PyMC model, for `pymc.set_data`."""
EMPTY: Final = -1
"""The code at a place without a label."""
EVERYBODY: Final = "all annotators"
"""The name of the only respondent, in models that do not distinguish annotators."""
PAIRED: Final = "a label and its respondent, or -1 for both, at each place of an item"


def by_place(item: Ints, n_items: int, values: Array, empty: float = EMPTY) -> Array:
    """Return values of rows (row, ...) as (item, place, ...), in the order of the rows.

    ``item`` (row) is the code of each row's item; ``empty`` fills the places without a row.
    """
    count = np.bincount(item, minlength=n_items)
    taken = np.arange(count.max(initial=0)) < count[:, None]
    out = np.full((*taken.shape, *values.shape[1:]), empty, dtype=values.dtype)
    out[taken] = values[np.argsort(item, kind="stable")]
    return out


def filled(respondents: Ints, labels: Ints) -> tuple[Ints, Ints]:
    """Return the item and the place of each label.

    Raise if a label has no respondent, or a respondent no label.
    """
    if ((respondents < 0) != (labels < 0)).any():
        raise ArgumentError("labels", expected=PAIRED, found="one without the other")
    item, place = np.nonzero(respondents >= 0)
    return item, place
