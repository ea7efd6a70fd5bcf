"""Agreement of two annotators that is not by guessing, and their joint accuracy."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ITEM
from dissensus.errors import ArgumentError, brief
from dissensus.statistics._accuracies import (
    EXPECTED,
    MAJORITY,
    accuracies,
    always_right,
    majority_agreement,
)
from dissensus.statistics._distances import Distance
from dissensus.statistics._reliability import Genuine, SureLabels, correct_rows, genuine_agreement
from dissensus.statistics._reliability_sums import Reliability, by_item, sums_of
from dissensus.statistics._votes import check_per_item


def concordance(
    annotations: xr.Dataset,
    *,
    chance: Any = "uniform",
    distance: Distance | None = None,
    max_distance: float | None = None,
    slim_majority: float = 1.0,
    per_item: bool = False,
    per_pair: bool = False,
    weights: Any = None,
) -> xr.DataArray:
    r"""Degree of concordance: probability that two annotators agree and neither guesses.

    An annotator with confidence c means the label y with probability c and guesses otherwise. Given
    the label (Eq. 1), and for two annotators r and s (Eq. 2),

    .. math:: \hat c = \frac{c}{c + (1 - c)\, p(y)}, \qquad
        \mathrm{GA}_x(r, s) = [y_r = y_s]\, \hat c_r(x)\, \hat c_s(x)

    with p(y) the probability that a guess is that label. The mean over pairs of annotators, and
    over the items that have :math:`m_x \geq 2` annotators, is (Eq. 3 and 4)

    .. math:: \sigma(x) = \binom{m_x}{2}^{-1} \sum_{r < s} \mathrm{GA}_x(r, s), \qquad
        \sigma = \frac{1}{|S|} \sum_{x \in S} \sigma(x)

    Parameters
    ----------
    annotations : Dataset
        Annotations, with ``confidence=`` if there is any. Without, confidence is 1, as
        ``attrs["confidence"]`` says, and :math:`\sigma` is `percent_agreement`. An annotator with
        several labels for an item (``trial=``) counts once, with the mean over them.
    chance : {"uniform", "empirical"}, mapping or Series from label to share, or number
        The distribution of guesses. "uniform": any of n labels, p = 1/n. "empirical": the frequency
        of the labels over all items (weighted, with ``weights``). A number is p for all labels; 1
        takes confidence as it is. Continuous numbers and rankings with confidence need a number.
    distance : {"nominal", "squared" or "interval", "absolute", "ranking"} or callable, optional
        Graded agreement in place of equality: 1 minus the distance of two labels over the largest
        distance. A callable takes two labels. None is "ranking" for rankings and "nominal", which
        is equality, for all others.
    max_distance : float, optional
        The distance from which on two labels do not agree at all. None is the largest possible:
        between the first and the last of ordinal labels, used or not, and 1 for rankings. On a
        continuous scale it is the largest between any two numbers given, whatever their weights:
        pass the range of the scale, if it has one.
    slim_majority : float
        From 0 to 1: a factor of :math:`\sigma(x)` for items where one annotator could, with another
        label, make the leading label lose or tie. 1 makes no difference.
    per_item : bool
        Return :math:`\sigma(x)`; not together with weights.
    per_pair : bool
        Return the mean of :math:`\mathrm{GA}_x(r, s)` for each pair of annotators, over the items
        that both labelled, each with the same weight (or its weight in ``weights``). Chance
        "empirical" and slim majorities are still those of all annotators.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number from 0 to 1; or (item), NaN for items with one annotator; or (``annotator``,
        ``annotator_``), symmetric, NaN for two who share no item and on the diagonal. Also NaN,
        with a warning, if no item has two annotators.

    Notes
    -----
    It is 0 if and only if no pair agrees with positive confidence of both. It depends on the
    frequency of labels only through ``chance="empirical"``: where one label is frequent, it does
    not fall as `fleiss_kappa` and `krippendorff_alpha` do. Without confidence it does not correct
    for chance: two random labels have a concordance of 1/2. It relies on self-reports: in the
    source 57 % of wrong labels had the highest confidences.

    Confidence is a number from 0 (a guess) to 1 (certain). Map levels in words to numbers, such as
    ``frame["sure"].map({"guess": 0, "unsure": 0.5, "sure": 1})``, and report the mapping.

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Eq. 1 to 4.
    Graded agreement and slim majorities are open issues there, not its formulas. Its proof says
    :math:`\sigma = 0` only if all confidences are 0; disagreement suffices.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({
    ...     "item": ["i", "i", "j", "j"], "annotator": ["ann", "bob", "ann", "bob"],
    ...     "label": ["yes", "yes", "no", "no"], "sure": [1.0, 0.5, 1.0, 1.0]}, confidence="sure")
    >>> dx.concordance(ann, per_item=True).round(3).values
    array([0.667, 1.   ])
    >>> round(float(dx.concordance(ann)), 3)
    0.833
    >>> dx.concordance(ann, per_pair=True).round(3).values
    array([[  nan, 0.833],
           [0.833,   nan]])
    """
    check_layout(per_item, per_pair, weights)
    annotations, genuine = genuine_agreement(
        annotations,
        chance=chance,
        distance=distance,
        max_distance=max_distance,
        slim_majority=slim_majority,
    )
    certain = always_right(len(genuine.labels.code))
    reliability = Reliability("concordance", genuine, genuine.attrs, certain)
    if per_item:
        return by_item(reliability, annotations[ITEM].to_numpy())
    return sums_of(reliability, annotations, per_pair=per_pair).value(weights)


def check_layout(per_item: Any, per_pair: Any, weights: Any) -> None:
    """Raise if ``per_item`` and ``per_pair`` exclude each other, or the weights."""
    arguments.flags(per_item=per_item, per_pair=per_pair)
    if per_item and per_pair:
        raise ArgumentError(
            "per_pair", expected="False with per_item=True: one or the other", found="True"
        )
    check_per_item(per_item, weights)


ERRORS: Final = ("printed", "uniform")


def weighted_reliability(
    annotations: xr.Dataset,
    *,
    accuracy: Any = None,
    truth: Any = None,
    chance: Any = "uniform",
    errors: str = "printed",
    distance: Distance | None = None,
    max_distance: float | None = None,
    slim_majority: float = 1.0,
    per_item: bool = False,
    per_pair: bool = False,
    weights: Any = None,
) -> xr.DataArray:
    r"""Weighted reliability: probability that two annotators agree, do not guess, and are right.

    The genuine agreement of each pair, as in `concordance`, is multiplied by the probability that
    both are right, given their accuracies a and b on the item (Eq. 6 to 8):

    .. math:: \varrho(x) = \binom{m_x}{2}^{-1} \sum_{r < s} \mathrm{GA}_x(r, s)\,
        \frac{a_r a_s}{a_r a_s + (1 - a_r)(1 - a_s) / e}, \qquad
        \varrho = \frac{1}{|S|} \sum_{x \in S} \varrho(x)

    with :math:`e = 1` as printed, or :math:`n - 1` for n labels and equally frequent errors.

    Parameters
    ----------
    annotations, chance, weights
        As in `concordance`.
    accuracy : number, mapping, Series, array, DataArray, DataTree, Dataset, or "majority"
        How often annotators are right, from 0 to 1. One number for all; by annotator; or by
        annotator and item (an array of these dims). Names are matched if there are any, and else
        places in ``annotations["annotator"]`` and ``annotations["item"]``. A DataArray may have
        ``chain`` and ``draw``; the result then has them too. A fit (DataTree) or its posterior
        (Dataset) has ``accuracy`` (annotator, item) from `models.rasch`, or ``annotator_accuracy``
        from `models.dawid_skene` and `models.symmetric_confusion`.
        "majority": how often the annotator's label leads among the others of the item (one of n
        tied leaders counts 1/n; of several labels given, one that leads suffices), weighted with
        ``weights``. If one of two who agree always led and the other never, the pair counts half.
    truth : array-like (item), mapping or Series from item to label, optional
        Known labels of all items, in place of ``accuracy``: a is 1 where a label is right, and 0
        where not. If only some are known: ``accuracy`` of `models.rasch` fitted with them.
    errors : {"printed", "uniform"}
        Whether two who are wrong always agree, which is correct for two labels and printed in the
        source; or only if they make the same of n - 1 errors.
    distance, max_distance
        Graded agreement, as in `concordance`. Close but unequal labels count as if both were right
        with the same probability; with ``truth``, not at all.
    slim_majority : float
        The factor of items with a slim majority, as in `concordance`.
    per_item : bool
        Return :math:`\varrho(x)`; not together with weights.
    per_pair : bool
        Return the mean for each pair of annotators, over the items that both labelled, as in
        `concordance`. Accuracies against the "majority" are still those against all others.

    Returns
    -------
    xarray.DataArray
        A number from 0 to `concordance`; or (item), NaN for items with one annotator; or
        (``annotator``, ``annotator_``), symmetric, NaN for two who share no item and on the
        diagonal. With the dims chain and draw of the accuracies in front, if they have draws. Also
        NaN, with a warning, if no item has two annotators; if two agree although one is always
        right and the other never; or if errors are "uniform" and there is one label.

    Notes
    -----
    With accuracies of 1/2 and errors as printed it is half the concordance. With more than two
    labels "printed" is too low, since wrong annotators rarely agree.

    `bayesian_bootstrap` adds the uncertainty of a sample of items; if the accuracies have draws,
    each of its draws uses one of them.

    Eq. 6 assumes that annotators are independent given the truth. If many make the same mistake,
    agreement with the majority and this are both too high. On hard items, where the others are
    wrong too, "majority" is no accuracy.

    It describes pairs of annotators, and not how often the label of the majority is right, which
    grows with the number of annotators: `majority_accuracy`.

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Eq. 5 to 8.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    >>> round(float(dx.weighted_reliability(ann, accuracy=0.8)), 3)
    0.627
    >>> by_name = {0: 0.8, 1: 0.9, 2: 0.6}
    >>> round(float(dx.weighted_reliability(ann, accuracy=by_name)), 3)
    0.649
    >>> dx.weighted_reliability(ann, truth=["a", "a"], per_item=True).round(3).values
    array([0.333, 0.   ])
    >>> dx.weighted_reliability(ann, accuracy=0.8, per_pair=True).sel(annotator=0).round(3).values
    array([  nan, 0.941, 0.   ])
    """
    check_layout(per_item, per_pair, weights)
    annotations, genuine = genuine_agreement(
        annotations,
        chance=chance,
        distance=distance,
        max_distance=max_distance,
        slim_majority=slim_majority,
    )
    arguments.one_of("errors", errors, ERRORS)
    if accuracy is None and truth is None:
        raise ArgumentError(
            "accuracy", expected=f"{EXPECTED}; or known labels, truth=", found="None"
        )
    if accuracy is not None and truth is not None:
        raise ArgumentError("truth", expected="None, or no accuracy=", found=brief(truth))
    reliability = _reliability(annotations, genuine, accuracy, truth, errors)
    if per_item:
        return by_item(reliability, annotations[ITEM].to_numpy())
    return sums_of(reliability, annotations, per_pair=per_pair).value(weights)


def _reliability(
    annotations: xr.Dataset, genuine: Genuine, accuracy: Any, truth: Any, errors: str
) -> Reliability:
    name, labels = "weighted_reliability", genuine.labels
    n_errors = _number_of_errors(labels, errors, annotations.attrs["kind"])
    if truth is not None:
        attrs = genuine.attrs | {"accuracy": "known labels"}
        correct = correct_rows(annotations, labels, truth)
        return Reliability(name, genuine, attrs, always_right(len(correct)), among=correct)
    if isinstance(accuracy, str) and accuracy == MAJORITY:
        given = majority_agreement(annotations, labels.annotator)
    else:
        given = accuracies(accuracy, annotations, labels.annotator, labels.item)
    attrs = genuine.attrs | {"errors": errors, "accuracy": given.description}
    return Reliability(name, genuine, attrs, given, errors=n_errors)


def _number_of_errors(labels: SureLabels, errors: str, kind: str) -> float:
    """Return the number of equally frequent errors; NaN if there is none."""
    if errors == "printed":
        return 1.0
    if kind not in ("nominal", "ordinal"):
        raise ArgumentError(
            "errors",
            expected="'printed', where there are no labels to count",
            found=f"{errors!r}, with annotations of kind {kind!r}",
        )
    return labels.n_labels - 1.0 if labels.n_labels > 1 else np.nan
