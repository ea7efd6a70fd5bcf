"""Fleiss' kappa."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ITEM
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import NO_PAIRS, NO_SPREAD, beyond_chance
from dissensus.statistics._distances import disagreement, pairs_of
from dissensus.statistics._read import read, rows_of
from dissensus.statistics._sums import Sums, Undefined, times


def fleiss_kappa(annotations: xr.Dataset, *, weights: Any = None) -> xr.DataArray:
    r"""Agreement beyond chance of any number of annotators, who may differ from item to item.

    .. math:: \kappa = \frac{p_a - p_e}{1 - p_e}, \qquad
        p_a = \operatorname*{mean}_{i:\, A_i \geq 2}
        \sum_k \frac{n_{ik} (n_{ik} - 1)}{A_i (A_i - 1)}, \quad
        p_e = \sum_k \pi_k^2, \quad \pi_k = \operatorname*{mean}_i \frac{n_{ik}}{A_i}

    where :math:`n_{ik}` of the :math:`A_i` annotators of item i gave label k. Items with one
    annotator enter the shares of labels :math:`\pi_k` only.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once, with
        their shares. Continuous numbers are compared as labels: equal or not.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number: 1 for perfect agreement, 0 for chance, negative below chance.

    Raises
    ------
    AnnotationError
        If the annotations are rankings.
    ArgumentError
        If the weights are invalid.

    Warns
    -----
    DissensusWarning
        If no item has two annotators, or all labels are the same: the result is NaN.

    Notes
    -----
    Where one label is frequent, chance agreement is high and kappa is low even with few
    disagreements (prevalence). Report `percent_agreement` and `gwet_ac` beside it. Annotators who
    use labels with different frequencies lower it, as in `krippendorff_alpha` and unlike
    `cohen_kappa` and `iota`. It ignores the order of labels, and is biased downwards with few
    items; `krippendorff_alpha` does neither. Each *item* weighs the same here, each *label* in
    `krippendorff_alpha`: with missing labels the two differ.

    With two annotators it is Scott's pi.

    Source: Fleiss (1971), "Measuring nominal scale agreement among many raters", *Psychological
    Bulletin* 76; Gwet (2014), *Handbook of Inter-Rater Reliability*, 4th ed., for numbers of
    annotators that vary.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "b"], ["a", "a", None]])
    >>> round(float(dx.fleiss_kappa(ann)), 3)
    0.55
    """
    annotations = read(annotations)
    rows = rows_of(annotations)
    distances = disagreement(annotations, rows, "nominal")
    paired = (rows.voices >= 2).astype(np.float64)
    parts = (
        paired,
        distances.within / np.maximum(pairs_of(rows.voices), 1.0),
        times(distances.margin, 1.0 / np.maximum(rows.voices, 1.0)),
    )

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        observed = undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)
        share = totals[:, 2:]
        n = share.sum(axis=1)
        expected = distances.cross(share, share) / np.where(n > 0, n, 1.0) ** 2
        return beyond_chance(observed, expected, undefined, NO_SPREAD)

    items = annotations[ITEM].to_numpy()
    return Sums("fleiss_kappa", parts, finish, items, bearing=paired[:, None]).value(weights)
