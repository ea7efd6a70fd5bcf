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
from dissensus.statistics._sums import Doubts, Sums, times


def fleiss_kappa(annotations: xr.Dataset, *, weights: Any = None) -> xr.DataArray:
    r"""Agreement beyond chance of any number of annotators, who may differ from item to item.

    .. math:: \kappa = \frac{p_a - p_e}{1 - p_e}, \qquad
        p_a = \operatorname*{mean}_{i:\, A_i \geq 2}
        \sum_k \frac{n_{ik} (n_{ik} - 1)}{A_i (A_i - 1)}, \quad
        p_e = \sum_k \pi_k^2, \quad \pi_k = \operatorname*{mean}_i \frac{n_{ik}}{A_i}

    with :math:`n_{ik}` of the :math:`A_i` annotators of item i giving it label k. Items with one
    annotator say nothing about agreement, but count among the shares of labels :math:`\pi_k`.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once, with
        their shares. Numbers on a continuous scale count as labels: equal or not.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number, 1 for perfect agreement, 0 for what chance would give, negative below that.

    Raises
    ------
    AnnotationError
        If the annotations are rankings.
    ArgumentError
        If the weights are none.

    Warns
    -----
    DissensusWarning
        Where kappa is undefined, and NaN: no item with two annotators, or one label used by all.

    Notes
    -----
    It misleads where one label is much more frequent than the others: chance agreement is high
    then, and kappa low with few disagreements (prevalence). Report `percent_agreement` and
    `gwet_ac` beside it. Two annotators who differ in how often they use a label are charged for
    it, as in `krippendorff_alpha` and unlike `cohen_kappa` and `iota`. It knows no order of labels,
    and with few items it is biased downwards: `krippendorff_alpha` mends both. Each *item* weighs
    the same here, and each *label* in `krippendorff_alpha`: with labels missing, they part.

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
    return sums(annotations).value(weights)


def sums(annotations: xr.Dataset) -> Sums:
    """Prepare kappa as a function of sums over items."""
    annotations = read(annotations)
    rows = rows_of(annotations)
    found = disagreement(annotations, rows, "nominal")
    matrices = (
        (rows.voices >= 2).astype(np.float64),
        found.within / np.maximum(pairs_of(rows.voices), 1.0),
        times(found.margin, 1.0 / np.maximum(rows.voices, 1.0)),
    )

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        observed = doubts.divided(totals[:, 1], totals[:, 0], NO_PAIRS)
        share = totals[:, 2:]
        items = share.sum(axis=1)
        expected = found.cross(share, share) / np.where(items > 0, items, 1.0) ** 2
        return beyond_chance(observed, expected, doubts, NO_SPREAD)

    items = annotations[ITEM].to_numpy()
    return Sums("fleiss_kappa", matrices, finish, items, bearing=matrices[0][:, None])
