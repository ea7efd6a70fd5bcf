"""How often annotators agree without guessing, from their confidence."""

from __future__ import annotations

from typing import Any, Final

import xarray as xr

from dissensus import arguments
from dissensus.dims import ITEM
from dissensus.errors import ArgumentError
from dissensus.statistics._distances import Distance
from dissensus.statistics._leave_one_out_agreement import check_per_item
from dissensus.statistics._reliability import genuine_agreement
from dissensus.statistics._reliability_sums import Reliability, by_item, sums_of

NAME: Final = "concordance"


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
        A number from 0 to 1; or (item), NaN for items with one annotator; or
        (``annotator``, ``annotator_``), symmetric, NaN for two who share no item and on the
        diagonal.

    Raises
    ------
    AnnotationError
        If the distance needs numbers and labels are names, or confidence varies in a ranking.
    ArgumentError
        If a setting is invalid, a label has no share, weights are invalid or given with
        ``per_item``; or with ``per_pair`` there are more pairs than memory holds.

    Warns
    -----
    DissensusWarning
        If no item has two annotators or, with ``per_item``, some item has fewer, or, with
        ``per_pair``, two annotators share no item: NaN.

    Notes
    -----
    It is 1 if all agree with confidence 1, and 0 if and only if no pair agrees with positive
    confidence of both. It is defined for a single item, and depends on the frequency of labels only
    through ``chance="empirical"``: where one label is frequent, it does not fall as `fleiss_kappa`
    and `krippendorff_alpha` do.

    It relies on self-reports: in the source 57 % of wrong labels had the highest confidences.
    Without confidence it does not correct for chance: two random labels have a concordance of 1/2.

    Confidence is a number from 0 (a guess) to 1 (certain). Map levels in words to numbers, such as
    ``frame["sure"].map({"guess": 0, "unsure": 0.5, "sure": 1})``, and report the mapping; k levels
    in equal steps are ``(level - 1) / (k - 1)``.

    Graded agreement and slim majorities are open issues in the source, not its formulas.

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Eq. 1 to 4.
    Its proof says :math:`\sigma = 0` only if all confidences are 0; disagreement suffices.

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
    reliability = Reliability(NAME, genuine, genuine.attrs)
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
