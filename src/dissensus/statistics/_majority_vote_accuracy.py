"""Accuracy against the majority vote of the annotators."""

from __future__ import annotations

from typing import Any

import xarray as xr

from dissensus.kernels.labels import leaders
from dissensus.statistics._scores import accuracy_sums, votes
from dissensus.statistics._sums import Sums


def majority_vote_accuracy(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    *,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Accuracy of a system when the label that most annotators gave is the truth.

    .. math:: \frac{1}{I} \sum_i \frac{[m_i \in T_i]}{|T_i|}, \qquad
        T_i = \arg\max_k \sum_r [y_{ir} = k]

    for system m on the :math:`I` items that were annotated. A system that gives one of n tied
    labels counts 1/n: what it would count on average if ties were broken at random.

    Parameters
    ----------
    annotations : Dataset
        Annotations: labels, not rankings or numbers on a scale. An annotator with several labels
        for an item (``trial=``) has one vote, split among them.
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
    The vote removes much of the annotators' noise, the more of them there are: its values from
    studies with different numbers of annotators do not compare. It hides how sure the vote was
    (3 to 2 counts like 5 to 0), which makes items that nobody can decide look decided; draws of a
    plausibility keep that (`top_k_accuracy`). And it does not say whether a system is as good as an
    annotator: `discrepancy_ratio`, `advantage_probability`.

    Source: Lovchinsky et al. (2020), section 4.1.2, which names no rule for ties.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["a", "b", None]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "a"]})
    >>> dx.majority_vote_accuracy(ann, pred).values
    array([0.75])
    """
    return sums(annotations, predictions, on_missing=on_missing).value(weights)


def sums(annotations: xr.Dataset, predictions: xr.Dataset, *, on_missing: str = "raise") -> Sums:
    """Prepare it as a function of sums over items."""
    found = votes(annotations, predictions, on_missing)
    return accuracy_sums("majority_vote_accuracy", found, leaders(found.shares))
