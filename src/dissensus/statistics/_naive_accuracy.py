"""Accuracy against one annotator of each item."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.statistics._scores import accuracy_sums, votes
from dissensus.statistics._sums import Sums


def naive_accuracy(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    *,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Accuracy of a system when one annotator of each item, drawn at random, is the truth.

    .. math:: \frac{1}{I} \sum_i \frac{1}{A_i} \sum_r [y_{ir} = m_i]

    The expectation over those draws, for system m on the :math:`I` items that were annotated.

    Parameters
    ----------
    annotations : Dataset
        Annotations: labels, not rankings or numbers on a scale. An annotator with several labels
        for an item (``trial=``) counts once, with their shares.
    predictions : Dataset
        One label from each system and item.
    on_missing : {"raise", "drop"}
        What to do about items that only one side has.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        (system), from 0 to 1.

    Raises
    ------
    AnnotationError, PredictionError
        If these are no labels, or items differ.
    ArgumentError
        If the weights are none.

    Warns
    -----
    DissensusWarning
        If systems predict labels that annotators could not give, or all weighted items lack
        labels.

    Notes
    -----
    It misleads as to how good a system is: a system that is always right is marked down for each
    error of an annotator, the more the noisier they are, in proportion. One label an item does
    not tell how noisy they are. It ranks systems correctly as long as annotators' errors have
    nothing to do with the systems'. For whether a system is as good as an annotator:
    `discrepancy_ratio`, `advantage_probability`.

    Source: Lovchinsky et al. (2020), section 4.1.1 ("naive evaluation").

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "a"]})
    >>> dx.naive_accuracy(ann, pred).round(3).values
    array([0.333])
    """
    return sums(annotations, predictions, on_missing=on_missing).value(weights)


def sums(annotations: xr.Dataset, predictions: xr.Dataset, *, on_missing: str = "raise") -> Sums:
    """Prepare it as a function of sums over items."""
    found = votes(annotations, predictions, on_missing)
    shares = found.shares
    share = shares.amount / np.repeat(found.voices, np.diff(shares.start))
    return accuracy_sums("naive_accuracy", found, share)
