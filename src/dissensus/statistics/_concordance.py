"""How much annotators agree without guessing, from their confidence."""

from __future__ import annotations

from typing import Any, Final

import xarray as xr

from dissensus import arguments
from dissensus.dims import ITEM
from dissensus.errors import ArgumentError
from dissensus.statistics._distances import Distance
from dissensus.statistics._read import read
from dissensus.statistics._reliability import Genuine, genuine_agreement
from dissensus.statistics._reliability_sums import Reliability, by_item, sums_by_pair, sums_of
from dissensus.statistics._sums import Sums

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
    r"""Degree of concordance: probability that two annotators agree, and neither of them guessed.

    An annotator who is sure to a degree c meant his label y with probability c and guessed
    otherwise. Given the label (Eq. 1), and of two annotators r and s (Eq. 2),

    .. math:: \hat c = \frac{c}{c + (1 - c)\, p(y)}, \qquad
        \mathrm{GA}_x(r, s) = [y_r = y_s]\, \hat c_r(x)\, \hat c_s(x)

    with p(y) how often a guess would be that label. The mean of it over pairs of annotators, and
    over the items that have :math:`m_x \geq 2` annotators, is (Eq. 3 and 4)

    .. math:: \sigma(x) = \binom{m_x}{2}^{-1} \sum_{r < s} \mathrm{GA}_x(r, s), \qquad
        \sigma = \frac{1}{|S|} \sum_{x \in S} \sigma(x)

    Parameters
    ----------
    annotations : Dataset
        Annotations, with ``confidence=`` if there is any. Without, everybody is taken to be sure,
        which ``attrs["confidence"]`` says; :math:`\sigma` is then `percent_agreement`. An annotator
        with several labels for an item (``trial=``) counts once, with the mean over them.
    chance : {"uniform", "empirical"}, mapping or Series from label to share, or number
        What a guess is. "uniform": any of n labels, p = 1/n. "empirical": as often as labels were
        given, over all items (with ``weights``, so weighted). A number is p for all labels alike;
        1 takes confidence as it is. Numbers on a scale and rankings with confidence need a number.
    distance : {"nominal", "squared" or "interval", "absolute", "ranking"} or callable, optional
        Graded agreement: in place of equality, 1 minus the share that the distance of two labels
        has of the largest. A callable takes two labels. None is "ranking" for rankings and
        "nominal", which is equality, for all else.
    max_distance : float, optional
        The distance from which on two labels do not agree at all. None is the largest there can
        be: between the first and the last of ordinal labels, used or not, and 1 for rankings. On a
        continuous scale it is the largest between any two numbers given, whatever their weights:
        pass the range of the scale, if it has one.
    slim_majority : float
        From 0 to 1: what :math:`\sigma(x)` is multiplied with where one annotator, changing his
        label, could have the leading label beaten or tied. 1 makes no difference.
    per_item : bool
        Return :math:`\sigma(x)`; not together with weights.
    per_pair : bool
        Return the mean of :math:`\mathrm{GA}_x(r, s)` for each two annotators, over the items that
        both labelled, each of which counts alike (or its weight). What is taken of all labels, as
        ``chance="empirical"`` and slim majorities, stays that of all annotators.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number from 0 to 1; or (item), NaN for items with one annotator; or
        (``annotator``, ``annotator_``), the same in either order, NaN for two who share no item,
        and on the diagonal.

    Raises
    ------
    AnnotationError
        If labels are no numbers where the distance needs them, or confidence varies in a ranking.
    ArgumentError
        If a setting makes no sense, a share of a label given is lacking, weights are none, or come
        with ``per_item``; or with ``per_pair`` there are more annotators than memory holds pairs.

    Warns
    -----
    DissensusWarning
        If no item has two annotators or, with ``per_item``, some item has not: NaN. With
        ``per_pair``, if two annotators share no item.

    Notes
    -----
    It is 1 if all agree and are sure, and 0 if and only if in no pair that agrees both are sure to
    any degree. It can be had for a single item, and depends on how often labels are given only
    through ``chance="empirical"``: where one label is much more frequent than all others, it does
    not fall as `fleiss_kappa` and `krippendorff_alpha` do.

    It rests on what annotators say of themselves. In the source 57 % of wrong labels had the
    highest confidences. Without confidence it takes nothing off for chance: two labels given at
    random then have a concordance of 1/2.

    Confidence has to be a number from 0 (a guess) to 1 (certain). Levels in words need a map, which
    is a choice to state, such as ``frame["sure"].map({"guess": 0, "unsure": 0.5, "sure": 1})``;
    of k levels in equal steps, ``(level - 1) / (k - 1)``.

    Graded agreement and the discount of slim majorities are the source's open issues, and not its
    formulas.

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Eq. 1 to 4.
    Its proof says :math:`\sigma = 0` only if all confidences are 0; that nobody agrees will do.

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
    arguments.flags(per_item=per_item)
    settings: dict[str, Any] = {
        "chance": chance, "distance": distance, "max_distance": max_distance,
        "slim_majority": slim_majority,
    }  # fmt: skip
    if not per_item:
        return sums(annotations, per_pair=per_pair, **settings).value(weights)
    kept_apart(weights, per_pair)
    annotations, genuine = _read(annotations, **settings)
    return by_item(Reliability(NAME, genuine), annotations[ITEM].to_numpy(), genuine.attrs)


def sums(
    annotations: xr.Dataset,
    *,
    chance: Any = "uniform",
    distance: Distance | None = None,
    max_distance: float | None = None,
    slim_majority: float = 1.0,
    per_item: bool = False,
    per_pair: bool = False,
) -> Sums:
    """Prepare it as a function of sums over items."""
    of_all_items(per_item)
    arguments.flags(per_pair=per_pair)
    annotations, genuine = _read(
        annotations, chance=chance, distance=distance, max_distance=max_distance,
        slim_majority=slim_majority,
    )  # fmt: skip
    what = Reliability(NAME, genuine)
    if per_pair:
        return sums_by_pair(what, annotations, genuine.attrs)
    return sums_of(what, annotations[ITEM].to_numpy(), genuine.attrs)


def kept_apart(weights: Any, per_pair: Any) -> None:
    """Raise if there are weights where items are kept apart, or annotators are to be, too."""
    arguments.flags(per_pair=per_pair)
    if per_pair:
        raise ArgumentError(
            "per_pair", expected="False with per_item=True: one or the other", found="True"
        )
    if weights is not None:
        raise ArgumentError(
            "weights", expected="None with per_item=True: items are kept apart", found="weights"
        )


def of_all_items(per_item: Any) -> None:
    """Raise if items are to be kept apart where a mean over them is asked for."""
    arguments.flags(per_item=per_item)
    if per_item:
        raise ArgumentError("per_item", expected="False: draws are of a mean", found="True")


def _read(annotations: Any, **settings: Any) -> tuple[xr.Dataset, Genuine]:
    annotations = read(annotations, rankings=True)
    return annotations, genuine_agreement(annotations, **settings)
