"""Agreement of annotators and systems with the majority label, and naive accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.alignment import labels_by_systems, systems_of
from dissensus.data.rows import ranking_code
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.kernels.grouped import Grouped, LabelShares, label_shares
from dissensus.kernels.labels import (
    amounts_at,
    leaders,
    leading_label_by_annotator,
    leading_label_named,
)
from dissensus.kernels.rankings import inverse_rank_weights
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._read import codes_in, labels_of, read, rows_of
from dissensus.statistics._sums import SUMS, Sums, Undefined

NAME: Final = "leave_one_out_agreement"
TIES: Final = ("share", "any")


def leave_one_out_agreement(
    annotations: xr.Dataset, *, ties: str = "share", per_item: bool = False, weights: Any = None
) -> xr.DataArray:
    r"""Probability that an annotator gives the majority label of the other annotators of the item.

    .. math:: o_i = \frac{1}{A_i} \sum_r \Bigl[ \arg\max_k \sum_{s \neq r} v_{is}(k)
        \in L_{ir} \Bigr]

    where :math:`L_{ir}` are the labels that annotator r gives item i. With single labels,
    :math:`v` counts votes. With rankings, :math:`v_{is}(k) = 1/(l\,|b_l|)` for a label in block l
    of :math:`|b_l|` tied labels (the inverse rank of `models.inverse_rank`), and :math:`L_{ir}` are
    all listed labels. The result is the mean of :math:`o_i` over the items with
    :math:`A_i \geq 2` annotators.

    Parameters
    ----------
    annotations : Dataset
        Labels or rankings, not continuous numbers. An annotator with several labels or rankings
        for an item (``trial=``) counts once: votes are averaged over trials, and :math:`L_{ir}` are
        the labels of all trials.
    ties : {"share", "any"}
        The credit for giving one of n tied labels. "share": 1/n, the mean over random breaks of the
        tie. "any": 1, which counts disagreement as agreement.
    per_item : bool
        Return :math:`o_i`; not together with weights.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number from 0 to 1; or (item), NaN for items with one annotator. Also NaN, with a warning,
        if no item has two annotators.

    Notes
    -----
    This is agreement without a model, for comparison with `annotation_certainty`, item by item. In
    the source their correlation is .85. In the first 600 cases of the source it is .85 with
    `models.inverse_rank` and ``reliability=20``, and .82 with `models.plackett_luce` and
    ``reliability=3``. The value includes agreement by chance, and is higher for long rankings.

    With two annotators and single labels the value is equal to `percent_agreement`. With more
    annotators it is usually higher, since a majority vote varies less than the labels of one
    annotator: do not compare studies with different numbers of annotators.

    Source: Stutz et al. (2023), appendix D. The text has no rule for ties; the published code
    (google-deepmind/uncertain_ground_truth, ``agreement.py``) has ``ties="any"``.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    >>> round(float(dx.leave_one_out_agreement(ann)), 3)
    0.667
    >>> dx.leave_one_out_agreement(ann, per_item=True).round(3).values
    array([0.333, 1.   ])
    """
    check_per_item(per_item, weights)
    arguments.one_of("ties", ties, TIES)
    annotations = read(annotations, rankings=True, continuous=False)
    rows, items = rows_of(annotations), annotations[ITEM].to_numpy()
    agreement, _ = leading_label_named(*_labels(annotations, rows), any_tied=ties == "any")
    attrs = {"ties": str(ties)}
    if per_item:
        undefined = Undefined()
        unpaired = np.isnan(agreement)
        undefined.where(unpaired, np.nan_to_num(agreement), "fewer than two annotators")
        undefined.warn(NAME)
        attrs = {"better": "higher"} | attrs
        return xr.DataArray(agreement, dims=ITEM, coords={ITEM: items}, name=NAME, attrs=attrs)

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        return undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)

    parts = ((rows.n_annotators >= 2).astype(np.float64), np.nan_to_num(agreement))
    return Sums(NAME, parts, finish, items, attrs=attrs).value(weights)


def check_per_item(per_item: Any, weights: Any) -> None:
    """Raise if ``per_item`` is given with weights, or in the bootstrap."""
    arguments.flags(per_item=per_item)
    if per_item and weights is SUMS:
        raise ArgumentError("per_item", expected="False in bayesian_bootstrap", found="True")
    if per_item and weights is not None:
        raise ArgumentError("weights", expected="None with per_item=True", found="weights")


def by_annotator(annotations: xr.Dataset) -> xr.DataArray:
    """Return each annotator's agreement with the majority label of the others: (annotator).

    NaN for annotators who share no item with others.
    """
    annotations = read(annotations, rankings=True, continuous=False)
    (annotator,) = codes_in(annotations, ANNOTATOR)
    names = annotations[ANNOTATOR].to_numpy()
    labels = _labels(annotations, rows_of(annotations))
    share = leading_label_by_annotator(*labels, annotator, len(names))
    return xr.DataArray(share, dims=ANNOTATOR, coords={ANNOTATOR: names})


def credit_by_statement(annotations: xr.Dataset) -> tuple[Ints, Ints, Floats]:
    """Return the item code, annotator code and credit of each statement: (statement).

    A statement is all labels that one annotator gave one item with two or more annotators. The
    credit is 1/n for giving one of the n tied majority labels of the others, and else 0.
    """
    annotations = read(annotations, rankings=True, continuous=False)
    rows = rows_of(annotations)
    _, credit = leading_label_named(*_labels(annotations, rows))
    judged = np.flatnonzero(np.isfinite(credit))
    item, annotator = codes_in(annotations, ITEM, ANNOTATOR)
    row = rows.order[judged]
    return item[row], annotator[row], credit[judged]


def _labels(annotations: xr.Dataset, rows: Grouped) -> tuple[Grouped, Floats, Ints, int]:
    """Return the rows, the votes and the label of each row, and the number of labels."""
    codes = annotations["label_code"].to_numpy()
    return rows, _votes(annotations, rows), codes, annotations.sizes[LABEL]


def _votes(annotations: xr.Dataset, rows: Grouped) -> Floats:
    if annotations.attrs["kind"] != "ranking":
        vote = np.empty(len(rows.order))
        vote[rows.order] = rows.share
        return vote
    ranking = ranking_code(annotations)
    vote = inverse_rank_weights(annotations["rank"].to_numpy(), ranking, split_ties=True)
    if "trial" not in annotations:
        return vote
    # Divide by the number of rankings that the annotator gave the item.
    item, annotator = codes_in(annotations, ITEM, ANNOTATOR)
    pair = np.unique(item * annotations.sizes[ANNOTATOR] + annotator, return_inverse=True)[1]
    first = np.unique(ranking, return_index=True)[1]
    return vote / np.bincount(pair[first])[pair]


# Accuracy of systems against one annotator of each item, or against the majority label.


def naive_accuracy(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    *,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Accuracy of a system if the truth is the label of one random annotator of each item.

    .. math:: \frac{1}{I} \sum_i \frac{1}{A_i} \sum_r [y_{ir} = m_i]

    for system m, over the :math:`I` annotated items: the expectation over random annotators.

    Parameters
    ----------
    annotations : Dataset
        Annotations: labels, not rankings or continuous numbers. An annotator with several labels
        for an item (``trial=``) counts once: each label counts as its share of that annotator's
        labels.
    predictions : Dataset
        One label from each system and item.
    on_missing : {"raise", "drop"}
        What to do about items without annotations or predictions.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        (system), from 0 to 1. NaN, with a warning, if no item of positive weight has labels.
        Predicted labels that annotators could not give are wrong, with a warning.

    Notes
    -----
    The accuracy of systems is underestimated: even a system that is always right counts as wrong
    where the annotator errs, and one label per item does not show how often annotators err.
    Systems are ranked correctly if their errors are independent of the annotators' errors. To judge
    whether a system is as good as an annotator, use `discrepancy_ratio` and
    `advantage_probability`.

    Source: Lovchinsky et al. (2020), section 4.1.1 ("naive evaluation").

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "a"]})
    >>> dx.naive_accuracy(ann, pred).round(3).values
    array([0.333])
    """
    sums = _accuracy("naive_accuracy", annotations, predictions, on_missing, _shares)
    return sums.value(weights)


def _shares(votes: LabelShares, annotators: Ints) -> Floats:
    """Return the share of an item's annotators who gave each label."""
    return votes.amount / np.repeat(annotators, np.diff(votes.start))


def _accuracy(
    name: str,
    annotations: Any,
    predictions: Any,
    on_missing: str,
    credit: Callable[[LabelShares, Ints], Floats],
) -> Sums:
    """Return the sums for the mean credit over items.

    ``credit`` takes votes by item and label, and the number of annotators by item. It returns the
    credit of a system for predicting each label.
    """
    annotations = read(annotations, continuous=False)
    rows = rows_of(annotations)
    codes, labels = labels_of(annotations)
    systems = systems_of(annotations, predictions, on_missing)
    predicted = labels_by_systems(systems, labels)
    votes = label_shares(rows, codes, len(labels))
    share = credit(votes, rows.n_annotators)
    values = amounts_at(votes.start, votes.label, share, predicted, len(labels))
    judged = (systems.present & (rows.n_annotators > 0)).astype(np.float64)

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        no_item = "no item has a label and a prediction"
        return undefined.divide(totals[:, 1:], totals[:, :1], no_item)

    items, parts = annotations[ITEM].to_numpy(), (judged, values * judged[:, None])
    return Sums(name, parts, finish, items, {name: (SYSTEM,)}, {SYSTEM: systems.names})


def majority_vote_accuracy(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    *,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Accuracy of a system if the truth is the majority label of the annotators.

    .. math:: \frac{1}{I} \sum_i \frac{[m_i \in T_i]}{|T_i|}, \qquad
        T_i = \arg\max_k \sum_r [y_{ir} = k]

    for system m, over the :math:`I` annotated items. Predicting one of n tied labels counts 1/n,
    the mean over random breaks of the tie.

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
    A vote has less noise with more annotators: do not compare values from studies with different
    numbers of annotators. The size of the majority is ignored: a vote of 3 to 2 counts like a vote
    of 5 to 0. `top_k_accuracy`, which uses draws of a plausibility, depends on this size. To judge
    whether a system is as good as an annotator, use `discrepancy_ratio` and
    `advantage_probability`.

    Source: Lovchinsky et al. (2020), section 4.1.2, which has no rule for ties.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["a", "b", None]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "a"]})
    >>> dx.majority_vote_accuracy(ann, pred).values
    array([0.75])
    """
    name = "majority_vote_accuracy"
    sums = _accuracy(name, annotations, predictions, on_missing, _leading)
    return sums.value(weights)


def _leading(votes: LabelShares, _: Ints) -> Floats:
    """Return 1 for an item's majority label, split equally among tied labels."""
    return leaders(votes.start, votes.amount)
