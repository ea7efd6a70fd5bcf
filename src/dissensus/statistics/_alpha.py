"""Krippendorff's alpha from distances: of all annotators, or of each pool."""

from __future__ import annotations

from typing import Final

import numpy as np

from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._chance import NO_PAIRS, no_spread
from dissensus.statistics._distances import Disagreement
from dissensus.statistics._doubts import Doubts
from dissensus.statistics._sums import Matrix, times

TOO_LIGHT: Final = (
    "the items with two annotators weigh one label or less together; a weight says how often an "
    "item counts (if not a whole number: relative to the mean)"
)


def alpha_parts(found: Disagreement, voices: Ints) -> tuple[Matrix, ...]:
    """Return what alpha needs by item: labels, their disagreement, their own, and margins.

    Only items with two annotators or more count.
    """
    pairable = (voices >= 2).astype(np.float64)
    return (
        pairable * voices,
        found.within / np.maximum(voices - 1, 1),
        pairable * found.own,
        times(found.margin, pairable),
    )


def alpha_of(found: Disagreement, totals: Floats, doubts: Doubts) -> Floats:
    """Return alpha from the totals (set of weights, sum) of `alpha_parts`."""
    n, observed, own, margin = totals[:, 0], totals[:, 1], totals[:, 2], totals[:, 3:]
    cross = found.cross(margin, margin) - own
    return alpha_from(n, observed, cross, doubts, rounded=found.rounded)


def alpha_from(
    n: Floats, observed: Floats, cross: Floats, doubts: Doubts, *, rounded: bool = False
) -> Floats:
    """Return alpha from the labels n, n D_o, and n (n - 1) D_e."""
    why = no_spread(rounded=rounded)
    ratio = doubts.divided((n - 1.0) * observed, np.where(n > 0, cross, 1.0), why)
    ratio = doubts.where(n == 0, ratio, NO_PAIRS)
    return 1.0 - doubts.where(n <= 1.0, ratio, TOO_LIGHT)
