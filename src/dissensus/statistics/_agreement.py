"""Percent agreement, and agreement beyond chance with one label distribution for all annotators."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ITEM
from dissensus.kernels.grouped import label_shares
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import (
    NO_PAIRS,
    NO_SPREAD,
    ONE_LABEL,
    beyond_chance,
    chance_distance,
    described,
    distance_by_item,
    label_space,
)
from dissensus.statistics._distances import disagreement, pairs_of, shares_matrix
from dissensus.statistics._read import labels_of, read, rows_of
from dissensus.statistics._sums import Sums, Undefined, times


def percent_agreement(annotations: xr.Dataset, *, weights: Any = None) -> xr.DataArray:
    r"""Probability that two annotators give an item the same label.

    .. math:: p_o = \frac{1}{I} \sum_i \frac{1}{A_i (A_i - 1)} \sum_{r \neq s} [y_{ir} = y_{is}]

    over the :math:`I` items that have :math:`A_i \geq 2` annotators. All items have equal weights.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once: each
        label counts as its share of that annotator's labels.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number from 0 to 1. NaN, with a warning, if no item has two annotators.

    Notes
    -----
    The value includes agreement by chance, which is high with few labels or one frequent label.
    `krippendorff_alpha` and `gwet_ac` correct for chance in different ways.

    Source: Fleiss (1971), Eq. 2 and 3, with any number of annotators per item.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    >>> round(float(dx.percent_agreement(ann)), 3)
    0.667
    """
    annotations = read(annotations)
    rows = rows_of(annotations)
    codes, labels = labels_of(annotations)
    agreement = label_shares(rows, codes, len(labels)).agreement
    paired = (rows.n_annotators >= 2).astype(np.float64)
    parts = (paired, agreement / np.maximum(pairs_of(rows.n_annotators), 1.0))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        return undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)

    items = annotations[ITEM].to_numpy()
    return Sums("percent_agreement", parts, finish, items).value(weights)


def fleiss_kappa(annotations: xr.Dataset, *, weights: Any = None) -> xr.DataArray:
    r"""Fleiss' kappa: agreement beyond chance; each item may have different annotators.

    .. math:: \kappa = \frac{p_a - p_e}{1 - p_e}, \qquad
        p_a = \operatorname*{mean}_{i:\, A_i \geq 2}
        \sum_k \frac{n_{ik} (n_{ik} - 1)}{A_i (A_i - 1)}, \quad
        p_e = \sum_k \pi_k^2, \quad \pi_k = \operatorname*{mean}_i \frac{n_{ik}}{A_i}

    where :math:`n_{ik}` of the :math:`A_i` annotators of item i gave label k. Items with one
    annotator are used for the shares of labels :math:`\pi_k` only.

    Parameters
    ----------
    annotations, weights
        As in `percent_agreement`. Continuous numbers are compared as labels: equal or not.

    Returns
    -------
    xarray.DataArray
        A number: 1 for perfect agreement, 0 for chance, negative below chance. NaN, with a warning,
        if no item has two annotators, or all labels are the same.

    Notes
    -----
    Where one label is frequent, chance agreement is high and kappa is low even with few
    disagreements (prevalence). Report `percent_agreement` and `gwet_ac` too.

    If annotators use labels with different frequencies, this lowers Fleiss' kappa and
    `krippendorff_alpha`, but not `cohen_kappa` and `iota`. Fleiss' kappa ignores the order of
    labels, and is too low on average with few items; `krippendorff_alpha` can use the order, and
    corrects this bias. Fleiss' kappa gives all *items* equal weights, `krippendorff_alpha` all
    *labels*: the two differ if labels are missing.

    With two annotators this is Scott's pi.

    Source: Fleiss (1971), "Measuring nominal scale agreement among many raters", *Psychological
    Bulletin* 76; Gwet (2014), *Handbook of Inter-Rater Reliability*, 4th ed., for items with
    different numbers of annotators.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "b"], ["a", "a", None]])
    >>> round(float(dx.fleiss_kappa(ann)), 3)
    0.55
    """
    annotations = read(annotations)
    rows = rows_of(annotations)
    distances = disagreement(annotations, rows, "nominal")
    paired = (rows.n_annotators >= 2).astype(np.float64)
    parts = (
        paired,
        distances.within / np.maximum(pairs_of(rows.n_annotators), 1.0),
        times(distances.margin, 1.0 / np.maximum(rows.n_annotators, 1.0)),
    )

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        observed = undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)
        share = totals[:, 2:]
        n = share.sum(axis=1)
        expected = distances.cross(share, share) / np.where(n > 0, n, 1.0) ** 2
        return beyond_chance(observed, expected, undefined, NO_SPREAD)

    items = annotations[ITEM].to_numpy()
    return Sums("fleiss_kappa", parts, finish, items, bearing=paired[:, None]).value(weights)


def bennett_s(
    annotations: xr.Dataset, weighting: str | None = None, *, weights: Any = None
) -> xr.DataArray:
    r"""Bennett's S: agreement beyond chance, if chance gives all labels the same probability.

    .. math:: S = \frac{p_a - p_e}{1 - p_e}, \qquad
        p_a = \operatorname*{mean}_{i:\, A_i \geq 2}
        \operatorname*{mean}_{r \neq s} w(y_{ir}, y_{is}), \quad
        p_e = \frac{1}{K^2} \sum_{k, l} w_{kl}

    with :math:`A_i` annotators of item i and :math:`w_{kl} = [k = l]`, so that :math:`p_e = 1/K`;
    or :math:`1 - |k - l| / (K - 1)`, or :math:`1 - (k - l)^2 / (K - 1)^2`.

    Parameters
    ----------
    annotations, weights
        As in `percent_agreement`.
    weighting : None, "linear" or "quadratic"
        How much two labels agree, by their places in the order of labels. None: unequal labels do
        not agree.

    Returns
    -------
    xarray.DataArray
        A number: 1 for perfect agreement, 0 for chance, negative below chance. ``attrs`` name the
        weighting. NaN, with a warning, if no item has two annotators, or there is only one label.

    Notes
    -----
    :math:`K` is the size of the label space: pass ``labels=[...]`` when reading the annotations, so
    that unused labels count. If all annotators give the same label although other labels are
    possible, S is 1, while kappas are undefined.

    S rescales `percent_agreement` and has the same flaw: where one label is frequent, annotators
    who guess that label agree often. S is higher if unused labels are declared.
    `krippendorff_alpha` does not depend on unused labels. Without weights, `fleiss_kappa` <= S <=
    `gwet_ac` for any data.

    Other names: Brennan-Prediger coefficient; with several annotators, Randolph's free-marginal
    kappa.

    Source: Bennett, Alpert & Goldstein (1954), *Public Opinion Quarterly* 18; Brennan & Prediger
    (1981), *Educational and Psychological Measurement* 41; Gwet (2014), *Handbook of Inter-Rater
    Reliability*, 4th ed., for weights, more annotators and missing labels.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    >>> round(float(dx.bennett_s(ann)), 3)
    0.333
    """
    annotations = read(annotations)
    n_labels = label_space(annotations, "bennett_s")
    rows = rows_of(annotations)
    parts = (
        (rows.n_annotators >= 2).astype(np.float64),
        distance_by_item(annotations, rows, weighting),
    )
    by_chance = chance_distance(n_labels, weighting)

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        observed = undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)
        return beyond_chance(observed, np.full_like(observed, by_chance), undefined, ONE_LABEL)

    items = annotations[ITEM].to_numpy()
    return Sums("bennett_s", parts, finish, items, attrs=described(weighting)).value(weights)


def gwet_ac(
    annotations: xr.Dataset, weighting: str | None = None, *, weights: Any = None
) -> xr.DataArray:
    r"""Gwet's AC1 and AC2: agreement beyond chance that stays high where one label is frequent.

    .. math:: \mathrm{AC} = \frac{p_a - p_e}{1 - p_e}, \qquad
        p_a = \operatorname*{mean}_{i:\, A_i \geq 2}
        \operatorname*{mean}_{r \neq s} w(y_{ir}, y_{is}), \quad
        p_e = \frac{\sum_{k, l} w_{kl}}{K (K - 1)} \sum_k \pi_k (1 - \pi_k), \quad
        \pi_k = \operatorname*{mean}_i \frac{n_{ik}}{A_i}

    where :math:`n_{ik}` of the :math:`A_i` annotators of item i gave label k, and
    :math:`w_{kl} = [k = l]` for AC1; for AC2 :math:`1 - |k - l| / (K - 1)` or
    :math:`1 - (k - l)^2 / (K - 1)^2`.

    Parameters
    ----------
    annotations, weights
        As in `percent_agreement`.
    weighting : None, "linear" or "quadratic"
        How much two labels agree, by their places in the order of labels. None: AC1.

    Returns
    -------
    xarray.DataArray
        A number: 1 for perfect agreement, 0 for chance, negative below chance. ``attrs`` name the
        weighting. NaN, with a warning, if no item has two annotators, or there is only one label.

    Notes
    -----
    :math:`K` is the size of the label space, as in `bennett_s`. If all annotators give the same
    label although other labels are possible, AC is 1, while kappas are undefined.

    Chance agreement is at most :math:`1/K` for AC1, and *small* where one label is frequent. So AC
    is then close to 1 even if annotators cannot distinguish the rare label from the frequent one.
    AC is higher if unused labels are declared. A high AC does not show that the labels contain
    information about the items: report `krippendorff_alpha` too.

    Source: Gwet (2008), "Computing inter-rater reliability and its variance in the presence of
    high agreement", *British Journal of Mathematical and Statistical Psychology* 61; Gwet (2014),
    *Handbook of Inter-Rater Reliability*, 4th ed., for AC2 and missing labels.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["a", "a", "a"], ["a", "a", None]])
    >>> round(float(dx.gwet_ac(ann)), 3), round(float(dx.fleiss_kappa(ann)), 3)
    (0.723, -0.125)
    """
    annotations = read(annotations)
    n_labels = label_space(annotations, "gwet_ac")
    rows = rows_of(annotations)
    shares = label_shares(rows, labels_of(annotations)[0], n_labels)
    paired = (rows.n_annotators >= 2).astype(np.float64)
    parts = (
        paired,
        distance_by_item(annotations, rows, weighting),
        times(shares_matrix(shares, n_labels), 1.0 / np.maximum(rows.n_annotators, 1.0)),
    )
    # The first factor of p_e: the mean weight of two labels times K / (K - 1).
    factor = (1.0 - chance_distance(n_labels, weighting)) * n_labels / max(n_labels - 1, 1)

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        observed = undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)
        n = totals[:, 2:].sum(axis=1, keepdims=True)
        share = totals[:, 2:] / np.where(n > 0, n, 1.0)
        expected = 1.0 - factor * (share * (1.0 - share)).sum(axis=1)
        if n_labels < 2:
            expected = np.zeros_like(expected)
        return beyond_chance(observed, expected, undefined, ONE_LABEL)

    items, attrs = annotations[ITEM].to_numpy(), described(weighting)
    sums = Sums("gwet_ac", parts, finish, items, attrs=attrs, bearing=paired[:, None])
    return sums.value(weights)
