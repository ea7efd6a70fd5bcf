"""How often two annotators say the same."""

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
from dissensus.statistics._sums import Doubts, Sums


def percent_agreement(annotations: xr.Dataset, *, weights: Any = None) -> xr.DataArray:
    r"""Probability that two annotators of one item say the same.

    .. math:: p_o = \frac{1}{I} \sum_i \frac{1}{A_i (A_i - 1)} \sum_{r \neq s} [y_{ir} = y_{is}]

    over the :math:`I` items that have :math:`A_i \geq 2` annotators: every item weighs the same.

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
        If the weights are none.

    Warns
    -----
    DissensusWarning
        If no item has two annotators: then it is NaN.

    Notes
    -----
    Annotators who guess agree too, the more often the fewer labels there are and the more
    frequent one of them is. `krippendorff_alpha` and `gwet_ac` take that off, each in its own way.

    Source: Fleiss (1971), Eq. 2 and 3, with any number of annotators per item.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    >>> round(float(dx.percent_agreement(ann)), 3)
    0.667
    """
    return sums(annotations).value(weights)


def sums(annotations: xr.Dataset) -> Sums:
    """Prepare it as a function of sums over items."""
    annotations = read(annotations)
    rows = rows_of(annotations)
    codes, labels = labels_of(annotations)
    agreement = label_shares(rows, codes, len(labels)).agreement
    paired = (rows.voices >= 2).astype(np.float64)
    parts = (paired, agreement / np.maximum(pairs_of(rows.voices), 1.0))

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        return doubts.divided(totals[:, 1], totals[:, 0], NO_PAIRS)

    return Sums("percent_agreement", parts, finish, annotations[ITEM].to_numpy())
