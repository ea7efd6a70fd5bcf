"""Accuracy against the majority vote of the annotators."""

from __future__ import annotations

from typing import Any

import xarray as xr

from dissensus.kernels.labels import leaders
from dissensus.statistics._naive_accuracy import accuracy_sums, votes_of


def majority_vote_accuracy(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    *,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Accuracy of a system, taking the label that most annotators gave for the truth.

    .. math:: \frac{1}{I} \sum_i \frac{[m_i \in T_i]}{|T_i|}, \qquad
        T_i = \arg\max_k \sum_r [y_{ir} = k]

    for system m on the :math:`I` annotated items. Predicting one of n tied labels counts 1/n, the
    mean over random breaks of the tie.

    Parameters
    ----------
    annotations : Dataset
        Annotations: labels, not rankings or continuous numbers. An annotator with several labels
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
        If the weights are invalid.

    Warns
    -----
    DissensusWarning
        If systems predict labels that annotators could not give, or no item of positive weight has
        labels.

    Notes
    -----
    The vote removes noise, and more of it with more annotators: do not compare values from studies
    with different numbers of annotators. It ignores how close the vote was (3 to 2 counts like 5 to
    0); draws of a plausibility do not (`top_k_accuracy`). It does not say whether a system is as
    good as an annotator: `discrepancy_ratio`, `advantage_probability`.

    Source: Lovchinsky et al. (2020), section 4.1.2, which has no rule for ties.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["a", "b", None]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "a"]})
    >>> dx.majority_vote_accuracy(ann, pred).values
    array([0.75])
    """
    votes = votes_of(annotations, predictions, on_missing)
    return accuracy_sums("majority_vote_accuracy", votes, leaders(votes.shares)).value(weights)
