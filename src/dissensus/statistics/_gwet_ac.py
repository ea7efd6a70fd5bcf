"""Gwet's AC1 and AC2."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ITEM
from dissensus.kernels.grouped import label_shares
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import (
    NO_PAIRS,
    ONE_LABEL,
    apart_by_item,
    beyond_chance,
    blind_distance,
    described,
    label_space,
)
from dissensus.statistics._distances import shares_matrix
from dissensus.statistics._read import labels_of, read, rows_of
from dissensus.statistics._sums import Sums, Undefined, times


def gwet_ac(
    annotations: xr.Dataset, weighting: str | None = None, *, weights: Any = None
) -> xr.DataArray:
    r"""Agreement beyond chance that stays high where one label is frequent: AC1 and AC2.

    .. math:: \mathrm{AC} = \frac{p_a - p_e}{1 - p_e}, \qquad
        p_a = \operatorname*{mean}_{i:\, A_i \geq 2}
        \operatorname*{mean}_{r \neq s} w(y_{ir}, y_{is}), \quad
        p_e = \frac{\sum_{k, l} w_{kl}}{K (K - 1)} \sum_k \pi_k (1 - \pi_k), \quad
        \pi_k = \operatorname*{mean}_i \frac{n_{ik}}{A_i}

    where :math:`n_{ik}` of the :math:`A_i` annotators of item i gave label k, and
    :math:`w_{kl} = [k = l]` for AC1; for AC2 :math:`1 - |k - l| / (K - 1)` or
    :math:`1 - (k - l)^2 / (K - 1)^2`.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once, with
        their shares.
    weighting : None, "linear" or "quadratic"
        How much two labels agree, by their places in the order of labels. None: AC1.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number: 1 for perfect agreement, 0 for chance, negative below chance. ``attrs`` name the
        weighting.

    Raises
    ------
    AnnotationError
        If the annotations are rankings or continuous, or ``weighting`` needs an order of labels
        and there is none.
    ArgumentError
        If the weighting is unknown or the weights are invalid.

    Warns
    -----
    DissensusWarning
        If no item has two annotators, or there is only one label: the result is NaN.

    Notes
    -----
    :math:`K` counts all labels that the annotations declare, used or not: pass ``labels=[...]``
    when reading them. If all annotators use one of several labels, AC is 1, where kappas are
    undefined.

    Chance agreement is *small* where one label is frequent, at most :math:`1/K` for AC1. So
    annotators who never tell the rare label from the frequent one score close to 1, and declaring
    labels that nobody uses raises AC. It does not show that the labels inform about the items:
    report `krippendorff_alpha` beside it.

    Source: Gwet (2008), "Computing inter-rater reliability and its variance in the presence of
    high agreement", *British Journal of Mathematical and Statistical Psychology* 61; Gwet (2014),
    *Handbook of Inter-Rater Reliability*, 4th ed., for AC2 and missing labels.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["a", "a", "a"], ["a", "a", None]])
    >>> round(float(dx.gwet_ac(ann)), 3), round(float(dx.fleiss_kappa(ann)), 3)
    (0.723, -0.125)
    """
    annotations = read(annotations)
    n_labels = label_space(annotations, "gwet_ac")
    rows = rows_of(annotations)
    shares = label_shares(rows, labels_of(annotations)[0], n_labels)
    paired = (rows.voices >= 2).astype(np.float64)
    parts = (
        paired,
        apart_by_item(annotations, rows, weighting),
        times(shares_matrix(shares, n_labels), 1.0 / np.maximum(rows.voices, 1.0)),
    )
    # The front factor of p_e: the mean weight of two labels times K / (K - 1).
    factor = (1.0 - blind_distance(n_labels, weighting)) * n_labels / max(n_labels - 1, 1)

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        observed = undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)
        n = totals[:, 2:].sum(axis=1, keepdims=True)
        share = totals[:, 2:] / np.where(n > 0, n, 1.0)
        expected = 1.0 - factor * (share * (1.0 - share)).sum(axis=1)
        if n_labels < 2:
            expected = np.zeros_like(expected)
        return beyond_chance(observed, expected, undefined, ONE_LABEL)

    items, attrs = annotations[ITEM].to_numpy(), described(weighting)
    sums = Sums("gwet_ac", parts, finish, items, attrs=attrs, bearing=paired[:, None])
    return sums.value(weights)
