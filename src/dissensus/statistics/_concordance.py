"""Concordance and weighted reliability: agreement that accounts for confidence and accuracy."""

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

    An annotator with confidence c knows the label y with probability c and guesses otherwise. The
    probability that a given label was not a guess (Eq. 1), and the genuine agreement of annotators
    r and s (Eq. 2), are

    .. math:: \hat c = \frac{c}{c + (1 - c)\, p(y)}, \qquad
        \mathrm{GA}_x(r, s) = [y_r = y_s]\, \hat c_r(x)\, \hat c_s(x)

    with p(y) the probability that a guess is that label. The mean over pairs of annotators, and
    over the items that have :math:`m_x \geq 2` annotators, is (Eq. 3 and 4)

    .. math:: \sigma(x) = \binom{m_x}{2}^{-1} \sum_{r < s} \mathrm{GA}_x(r, s), \qquad
        \sigma = \frac{1}{|S|} \sum_{x \in S} \sigma(x)

    Parameters
    ----------
    annotations : Dataset
        Annotations, with ``confidence=`` if annotators stated it. Otherwise confidence is 1 (see
        ``attrs["confidence"]``), and :math:`\sigma` is `percent_agreement`. An annotator with
        several labels for an item (``trial=``) counts once, with the mean over them.
    chance : {"uniform", "empirical"}, mapping or Series from label to share, or number
        The distribution of guesses. "uniform": any of n labels, p = 1/n. "empirical": the frequency
        of the labels over all items (with ``weights``, if given). A number is p for all labels;
        with 1, :math:`\hat c = c`. For continuous numbers and rankings with confidence, a number is
        required.
    distance : {"nominal", "squared" or "interval", "absolute", "ranking"} or callable, optional
        Graded agreement in place of equality: 1 minus the distance of two labels over the largest
        distance. A callable takes two labels. None is "ranking" for rankings, and "nominal"
        (equality) for all others.
    max_distance : float, optional
        Labels at this distance or more do not agree at all. None is the largest possible distance:
        between the first and the last of ordinal labels, used or not, and 1 for rankings. For
        continuous labels it is the largest distance of two annotations, whatever their weights: if
        the scale has a known range, pass it.
    slim_majority : float
        A factor from 0 to 1; with 1 there is no change. :math:`\sigma(x)` is multiplied by it if
        the majority label ties, or could lose or tie after one annotator changes the label.
    per_item : bool
        Return :math:`\sigma(x)`; not together with weights.
    per_pair : bool
        Return the mean of :math:`\mathrm{GA}_x(r, s)` for each pair of annotators, over the items
        that both labelled, weighted with ``weights`` if given. Chance "empirical" and slim
        majorities are still computed from all annotators.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number from 0 to 1; or (item), NaN for items with one annotator; or (``annotator``,
        ``annotator_``), symmetric, NaN for pairs that share no item and on the diagonal. Also NaN,
        with a warning, if no item has two annotators.

    Notes
    -----
    :math:`\sigma` is 0 if and only if no two annotators with positive confidence agree. It depends
    on the frequency of labels only with ``chance="empirical"``. So it is not low where one label is
    frequent, unlike `fleiss_kappa` and `krippendorff_alpha`. Without confidence it does not correct
    for chance: if annotators choose one of two labels at random, :math:`\sigma` is 1/2. Confidence
    is a self-report: in the source 57 % of wrong labels had the highest confidences.

    Confidence is a number from 0 (a guess) to 1 (certain). Map levels in words to numbers, such as
    ``frame["sure"].map({"guess": 0, "unsure": 0.5, "sure": 1})``, and report the mapping.

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Eq. 1 to 4.
    The source names graded agreement and slim majorities as open issues, without formulas. Its
    proof says :math:`\sigma = 0` only if all confidences are 0, but disagreement suffices.

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
    """Raise if ``per_item`` is combined with ``per_pair`` or with ``weights``."""
    arguments.flags(per_item=per_item, per_pair=per_pair)
    if per_item and per_pair:
        raise ArgumentError("per_pair", expected="False with per_item=True", found="True")
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

    with :math:`e = 1` as printed in the source, or :math:`e = n - 1` for n labels and equally
    frequent errors.

    Parameters
    ----------
    annotations, chance, weights
        As in `concordance`.
    accuracy : number, mapping, Series, array, DataArray, DataTree, Dataset, or "majority"
        The probability that an annotator is right, from 0 to 1: one number for all annotators, a
        number for each annotator, or an array (annotator, item). Values are matched by name if they
        have names, and else by place in ``annotations["annotator"]`` and ``annotations["item"]``.
        Keys of a mapping are annotators, or pairs ``(annotator, item)``. A DataArray may have
        ``chain`` and ``draw``; the result then has these dims too. A fit
        (DataTree) or its posterior (Dataset) has ``accuracy`` (annotator, item) from
        `models.rasch`, or ``annotator_accuracy`` from `models.dawid_skene` and
        `models.symmetric_confusion`. "majority": how often the annotator gives the majority label
        of the other annotators of the item, weighted with ``weights``. One of n tied labels counts
        1/n. If the annotator gives the item several labels, one of these suffices. With "majority",
        a pair that agrees counts half if the accuracies are 1 and 0.
    truth : array-like (item), mapping or Series from item to label, optional
        Known labels of all items, in place of ``accuracy``: a is 1 where a label is right, and 0
        where it is wrong. If only some labels are known, fit `models.rasch` with them and pass the
        fit as ``accuracy``.
    errors : {"printed", "uniform"}
        "printed", as in the source: two annotators who are wrong always agree, which is correct for
        two labels. "uniform": each of n - 1 wrong labels is equally frequent, and two annotators
        who are wrong agree if their labels are equal.
    distance, max_distance
        Graded agreement, as in `concordance`. The probability that both annotators are right is the
        same for close but unequal labels as for equal ones. With ``truth``, pairs of unequal labels
        do not count, as at most one label is right.
    slim_majority : float
        Factor for items with a slim majority, as in `concordance`.
    per_item : bool
        Return :math:`\varrho(x)`; not together with weights.
    per_pair : bool
        Return the mean for each pair of annotators, over the items that both labelled, as in
        `concordance`. The accuracies of "majority" are still computed with all annotators.

    Returns
    -------
    xarray.DataArray
        A number from 0 to `concordance`; or (item), NaN for items with one annotator; or
        (``annotator``, ``annotator_``), symmetric, NaN for pairs that share no item and on the
        diagonal. If the accuracies have draws, the dims chain and draw come first. Also NaN, with a
        warning, if no item has two annotators; if two agree although one is always right and the
        other never; or if errors are "uniform" and there is one label.

    Notes
    -----
    With accuracies of 1/2 and errors "printed", :math:`\varrho` is half the concordance. With more
    than two labels "printed" gives values that are too low, since wrong annotators rarely agree.

    `bayesian_bootstrap` adds the uncertainty of a sample of items. If the accuracies have draws,
    each draw of weights is paired with one draw of the accuracies.

    Eq. 6 assumes that annotators are independent given the truth. If many make the same mistake,
    agreement with the majority and weighted reliability are both too high. On hard items, where the
    other annotators are wrong too, "majority" does not estimate an accuracy.

    Weighted reliability describes pairs of annotators. The accuracy of the majority label, which
    increases with the number of annotators, is `majority_accuracy`.

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
            "accuracy", expected=f"{EXPECTED}; or truth=, the known labels", found="None"
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
        annotator_accuracies = majority_agreement(annotations, labels.annotator)
    else:
        annotator_accuracies = accuracies(accuracy, annotations, labels.annotator, labels.item)
    attrs = genuine.attrs | {"errors": errors, "accuracy": annotator_accuracies.description}
    return Reliability(name, genuine, attrs, annotator_accuracies, errors=n_errors)


def _number_of_errors(labels: SureLabels, errors: str, kind: str) -> float:
    """Return e of `weighted_reliability`; NaN if there is only one label, which cannot be wrong."""
    if errors == "printed":
        return 1.0
    if kind not in ("nominal", "ordinal"):
        raise ArgumentError(
            "errors",
            expected="'printed', since these labels cannot be counted",
            found=f"{errors!r}, with annotations of kind {kind!r}",
        )
    return labels.n_labels - 1.0 if labels.n_labels > 1 else np.nan
