"""What coefficients of agreement corrected for chance have in common."""

from __future__ import annotations

from typing import Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import LABEL
from dissensus.errors import AnnotationError
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._distances import Disagreement, disagreement, pairs_of
from dissensus.statistics._read import ordered_labels_of
from dissensus.statistics._sums import Doubts, Matrix, times

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


# Krippendorff's alpha from distances: of all annotators, or of each pool.


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


# Labels apart by their places in an order: the weights of weighted kappas and of AC2.


DISTANCES: Final = {None: "nominal", "linear": "absolute", "quadratic": "squared"}


def placed(annotations: xr.Dataset, weighting: str | None) -> tuple[xr.Dataset, str]:
    """Return annotations with places 0, 1, ... for labels, and the distance to take of them.

    Weights need not be scaled: as a share of what chance gives, they are the same in any unit.

    Raises
    ------
    AnnotationError
        If the labels have no order, or are numbers on a continuous scale.
    ArgumentError
        If there is no such weighting.
    """
    arguments.one_of("weighting", weighting, DISTANCES)
    if weighting is None:
        return annotations, DISTANCES[weighting]
    if annotations.attrs["kind"] == "continuous":
        raise AnnotationError(
            "annotations",
            expected=f'labels with places in an order, with weighting="{weighting}"',
            found='numbers on a continuous scale (kind "continuous")',
            hint=f'For numbers: iota(..., distance="{DISTANCES[weighting]}")',
        )
    ordered_labels_of(annotations)
    places = np.arange(annotations.sizes[LABEL])
    return annotations.assign_coords({LABEL: places}), DISTANCES[weighting]


def described(weighting: str | None) -> dict[str, str]:
    """Return the weighting for attributes, which cannot be None in a file.

    Examples
    --------
    >>> described(None), described("linear")
    ({'weighting': 'none'}, {'weighting': 'linear'})
    """
    return {"weighting": "none" if weighting is None else str(weighting)}


def apart_by_item(annotations: xr.Dataset, rows: Grouped, weighting: str | None) -> Floats:
    """Return the mean distance of two annotators (item), from 0 to 1; 0 where there are not two."""
    annotations, distance = placed(annotations, weighting)
    within = disagreement(annotations, rows, distance).within
    return within / np.maximum(pairs_of(rows.voices), 1.0) / _farthest(annotations, weighting)


def _farthest(annotations: xr.Dataset, weighting: str | None) -> float:
    """Return the distance from the first to the last label, the unit that weights are in."""
    if weighting is None:
        return 1.0
    last = max(annotations.sizes[LABEL] - 1.0, 1.0)
    return last if weighting == "linear" else last**2


def label_space(annotations: xr.Dataset, name: str) -> int:
    """Return how many labels could have been given, or raise if they cannot be counted."""
    if annotations.attrs["kind"] == "continuous":
        raise AnnotationError(
            "annotations",
            expected=f"labels: {name} depends on how many there are to choose from",
            found='numbers on a continuous scale (kind "continuous")',
            hint="For numbers: krippendorff_alpha or iota",
        )
    return annotations.sizes[LABEL]


def blind_distance(n_labels: int, weighting: str | None) -> float:
    r"""Return the mean distance of two labels drawn from all with equal chances, from 0 to 1.

    Closed forms of :math:`\frac{1}{K^2} \sum_{k, l} (1 - w_{kl})`.

    Examples
    --------
    >>> blind_distance(2, None), blind_distance(3, "linear"), blind_distance(3, "quadratic")
    (0.5, 0.4444444444444444, 0.3333333333333333)
    """
    if n_labels < 2:
        return 0.0
    if weighting is None:
        return (n_labels - 1) / n_labels
    if weighting == "linear":
        return (n_labels + 1) / (3 * n_labels)
    return (n_labels + 1) / (6 * (n_labels - 1))
