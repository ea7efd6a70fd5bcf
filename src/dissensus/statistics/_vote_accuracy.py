"""Accuracy against one annotator of each item, or the majority vote."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data.alignment import said_by_systems, systems_of
from dissensus.dims import ITEM, SYSTEM
from dissensus.kernels.grouped import LabelShares, label_shares
from dissensus.kernels.labels import amounts_at, leaders
from dissensus.kernels.types import Flags, Floats, Ints, Names
from dissensus.statistics._read import labels_of, read, rows_of
from dissensus.statistics._sums import Sums, Undefined


def naive_accuracy(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    *,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Accuracy of a system, taking one annotator of each item, drawn at random, for the truth.

    .. math:: \frac{1}{I} \sum_i \frac{1}{A_i} \sum_r [y_{ir} = m_i]

    The expectation over those draws, for system m on the :math:`I` annotated items.

    Parameters
    ----------
    annotations : Dataset
        Annotations: labels, not rankings or continuous numbers. An annotator with several labels
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
        (system), from 0 to 1. NaN, with a warning, if no item of positive weight has labels.
        Predicted labels that annotators could not give are wrong, with a warning.

    Notes
    -----
    It underrates systems: a system that is always right loses for each error of an annotator, in
    proportion to the annotators' noise, which one label an item does not reveal. It ranks systems
    correctly if annotators' errors are independent of the systems'. To ask whether a system is as
    good as an annotator: `discrepancy_ratio`, `advantage_probability`.

    Source: Lovchinsky et al. (2020), section 4.1.1 ("naive evaluation").

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "a"]})
    >>> dx.naive_accuracy(ann, pred).round(3).values
    array([0.333])
    """
    votes = votes_of(annotations, predictions, on_missing)
    shares = votes.shares
    share = shares.amount / np.repeat(votes.annotators, np.diff(shares.start))
    return accuracy_sums("naive_accuracy", votes, share).value(weights)


class Votes(NamedTuple):
    """The labels of annotators and systems for each item."""

    items: Names
    shares: LabelShares
    annotators: Ints
    """(item): how many annotators labelled it."""
    predicted: Ints
    """(item, system): label codes."""
    labels: Names
    systems: Names
    judged: Flags
    """(item): whether it has annotations and predictions."""


def votes_of(annotations: Any, predictions: Any, on_missing: str) -> Votes:
    """Read labels, and bring predictions onto their items."""
    annotations = read(annotations, continuous=False)
    rows = rows_of(annotations)
    codes, labels = labels_of(annotations)
    systems = systems_of(annotations, predictions, on_missing)
    predicted = said_by_systems(systems, labels)
    judged = systems.present & (rows.voices > 0)
    shares = label_shares(rows, codes, len(labels))
    items = annotations[ITEM].to_numpy()
    return Votes(items, shares, rows.voices, predicted, labels, systems.names, judged)


def accuracy_sums(name: str, votes: Votes, credit: Floats) -> Sums:
    """Prepare the mean over items of the credit for predicting a label."""
    values = amounts_at(
        votes.shares.start, votes.shares.label, credit, votes.predicted, len(votes.labels)
    )
    judged = votes.judged.astype(np.float64)

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        no_item = "no item has a label and a prediction"
        return undefined.divide(totals[:, 1:], totals[:, :1], no_item)

    dims, coords = {name: (SYSTEM,)}, {SYSTEM: votes.systems}
    return Sums(name, (judged, values * judged[:, None]), finish, votes.items, dims, coords)


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
    predictions, on_missing, weights
        As in `naive_accuracy`.

    Returns
    -------
    xarray.DataArray
        (system), from 0 to 1. NaN, with a warning, if no item of positive weight has labels.
        Predicted labels that annotators could not give are wrong, with a warning.

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
    return accuracy_sums(
        "majority_vote_accuracy", votes, leaders(votes.shares.start, votes.shares.amount)
    ).value(weights)
