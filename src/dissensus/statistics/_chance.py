"""What coefficients of agreement corrected for chance have in common."""

from __future__ import annotations

from typing import Final

import numpy as np

from dissensus.kernels.types import Floats
from dissensus.statistics._doubts import Doubts

NO_PAIRS: Final = "no item has labels of two annotators"
NO_SPREAD: Final = (
    "all labels are the same, so that none could have disagreed by chance; the data do not say how "
    "well annotators tell items apart"
)
ROUNDED: Final = ", up to rounding beside the largest"
"""What numbers are the same by, where they are added up around a number far away."""
ONE_LABEL: Final = (
    "there is only one label to give, so that none could have disagreed; if there were others that "
    "nobody used, read the annotations with labels=[...]"
)


def no_spread(*, rounded: bool) -> str:
    """Say that all labels are the same, and how closely this can be told.

    Examples
    --------
    >>> no_spread(rounded=True)[:56]
    'all labels are the same, up to rounding beside the large'
    """
    return NO_SPREAD.replace(" the same,", f" the same{ROUNDED},") if rounded else NO_SPREAD


def beyond_chance(observed: Floats, expected: Floats, doubts: Doubts, why: str) -> Floats:
    """Return 1 - observed / expected disagreement, undefined where none was to be expected.

    Where nothing was observed (NaN), the reason has been given, and is not given again.
    """
    known = ~np.isnan(observed)
    return 1.0 - doubts.divided(observed, np.where(known, expected, 1.0), why)
