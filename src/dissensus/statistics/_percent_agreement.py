"""How often two annotators give an item the same label."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ITEM
from dissensus.kernels.grouped import label_shares
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._distances import pairs_of
from dissensus.statistics._read import labels_of, read, rows_of
from dissensus.statistics._sums import Sums, Undefined


def percent_agreement(annotations: xr.Dataset, *, weights: Any = None) -> xr.DataArray:
    r"""Probability that two annotators give an item the same label.

    .. math:: p_o = \frac{1}{I} \sum_i \frac{1}{A_i (A_i - 1)} \sum_{r \neq s} [y_{ir} = y_{is}]

    over the :math:`I` items that have :math:`A_i \geq 2` annotators. Every item weighs the same.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once, with
        their shares.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number from 0 to 1.

    Raises
    ------
    AnnotationError
        If the annotations are rankings.
    ArgumentError
        If the weights are invalid.

    Warns
    -----
    DissensusWarning
        If no item has two annotators: the result is NaN.

    Notes
    -----
    It includes agreement by chance, which is high with few labels or one frequent label.
    `krippendorff_alpha` and `gwet_ac` correct for chance, each in its own way.

    Source: Fleiss (1971), Eq. 2 and 3, with any number of annotators per item.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    >>> round(float(dx.percent_agreement(ann)), 3)
    0.667
    """
    annotations = read(annotations)
    rows = rows_of(annotations)
    codes, labels = labels_of(annotations)
    agreement = label_shares(rows, codes, len(labels)).agreement
    paired = (rows.voices >= 2).astype(np.float64)
    parts = (paired, agreement / np.maximum(pairs_of(rows.voices), 1.0))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        return undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)

    items = annotations[ITEM].to_numpy()
    return Sums("percent_agreement", parts, finish, items).value(weights)
