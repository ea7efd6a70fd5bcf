"""Common parts of the coefficients of agreement beyond chance."""

from __future__ import annotations

from typing import Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import LABEL
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._distances import Disagreement, disagreement, pairs_of
from dissensus.statistics._read import ordered_labels_of, refuse_kind
from dissensus.statistics._sums import Matrix, Undefined, times

NO_PAIRS: Final = "no item has labels of two annotators"
NO_SPREAD: Final = (
    "all labels are the same, and disagreement by chance is 0; the data do not show how well "
    "annotators distinguish items"
)
ROUNDED: Final = ", up to rounding errors of the largest numbers"
"""Added to `NO_SPREAD` if labels are numbers: small differences may be lost in rounding."""
ONE_LABEL: Final = (
    "there is only one label to give, and no disagreement is possible; if there are other labels "
    "that nobody used, read the annotations with labels=[...]"
)
TOO_LIGHT: Final = (
    "the labels of items with two annotators count as one label or less in total; a weight is how "
    "often an item counts (weights that are not whole numbers are divided by their mean)"
)


def no_spread(*, rounded: bool) -> str:
    """Return the reason that all labels are the same; if ``rounded``, up to rounding errors."""
    return NO_SPREAD.replace(" the same,", f" the same{ROUNDED},") if rounded else NO_SPREAD


def beyond_chance(observed: Floats, expected: Floats, undefined: Undefined, reason: str) -> Floats:
    """Return 1 - observed / expected disagreement, undefined where expected disagreement is 0.

    A value that is NaN in ``observed`` has already been counted as undefined.
    """
    known = ~np.isnan(observed)
    return 1.0 - undefined.divide(observed, np.where(known, expected, 1.0), reason)


# Krippendorff's alpha from distances, for all annotators or for one pool.


def alpha_parts(distances: Disagreement, n_annotators: Ints) -> tuple[Matrix, ...]:
    """Return sums by item for alpha: annotators, `within`, `own` and `margin` of distances."""
    pairable = (n_annotators >= 2).astype(np.float64)
    return (
        pairable * n_annotators,
        distances.within / np.maximum(n_annotators - 1, 1),
        pairable * distances.own,
        times(distances.margin, pairable),
    )


def alpha_of(distances: Disagreement, totals: Floats, undefined: Undefined) -> Floats:
    """Return alpha from the totals (set of weights, sum) of `alpha_parts`."""
    n, observed, own, margin = totals[:, 0], totals[:, 1], totals[:, 2], totals[:, 3:]
    cross = distances.cross(margin, margin) - own
    return alpha_from(n, observed, cross, undefined, rounded=distances.rounded)


def alpha_from(
    n: Floats, observed: Floats, cross: Floats, undefined: Undefined, *, rounded: bool = False
) -> Floats:
    """Return alpha from the number of labels n, n D_o, and n (n - 1) D_e."""
    reason = no_spread(rounded=rounded)
    ratio = undefined.divide((n - 1.0) * observed, np.where(n > 0, cross, 1.0), reason)
    ratio = undefined.where(n == 0, ratio, NO_PAIRS)
    return 1.0 - undefined.where(n <= 1.0, ratio, TOO_LIGHT)


# The weights of weighted kappas, Bennett's S and AC2: distances of places in the order of labels.


DISTANCES: Final = {None: "nominal", "linear": "absolute", "quadratic": "squared"}


def placed(annotations: xr.Dataset, weighting: str | None) -> tuple[xr.Dataset, str]:
    """Return annotations whose labels are places 0, 1, ..., and the name of the distance.

    Without weighting, the annotations are unchanged.
    """
    arguments.one_of("weighting", weighting, DISTANCES)
    if weighting is None:
        return annotations, DISTANCES[weighting]
    expected = f'labels with places in an order, with weighting="{weighting}"'
    hint = f'For numbers: iota(..., distance="{DISTANCES[weighting]}")'
    refuse_kind(annotations, "continuous", expected, hint)
    ordered_labels_of(annotations)
    places = np.arange(annotations.sizes[LABEL])
    return annotations.assign_coords({LABEL: places}), DISTANCES[weighting]


def described(weighting: str | None) -> dict[str, str]:
    """Return the weighting as an attribute: "none" for None, which files cannot store."""
    return {"weighting": "none" if weighting is None else str(weighting)}


def distance_by_item(annotations: xr.Dataset, rows: Grouped, weighting: str | None) -> Floats:
    """Return the mean distance between two annotators, from 0 to 1: (item); 0 without a pair."""
    annotations, distance = placed(annotations, weighting)
    within = disagreement(annotations, rows, distance).within
    last = max(annotations.sizes[LABEL] - 1.0, 1.0) if weighting is not None else 1.0
    largest = last**2 if weighting == "quadratic" else last
    return within / np.maximum(pairs_of(rows.n_annotators), 1.0) / largest


def label_space(annotations: xr.Dataset, name: str) -> int:
    """Return the size of the label space, or raise for continuous labels."""
    expected = f"labels: {name} depends on the size of the label space"
    refuse_kind(annotations, "continuous", expected, "For numbers: krippendorff_alpha or iota")
    return annotations.sizes[LABEL]


def chance_distance(n_labels: int, weighting: str | None) -> float:
    r"""Return the mean distance of two labels with equal probabilities, from 0 to 1.

    Closed forms of :math:`\frac{1}{K^2} \sum_{k, l} (1 - w_{kl})`.
    """
    if n_labels < 2:
        return 0.0
    if weighting is None:
        return (n_labels - 1) / n_labels
    if weighting == "linear":
        return (n_labels + 1) / (3 * n_labels)
    return (n_labels + 1) / (6 * (n_labels - 1))
