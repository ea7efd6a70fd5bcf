"""Bennett's S, the coefficient of Brennan and Prediger."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ITEM
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import (
    NO_PAIRS,
    ONE_LABEL,
    apart_by_item,
    beyond_chance,
    blind_distance,
    described,
    label_space,
)
from dissensus.statistics._read import read, rows_of
from dissensus.statistics._sums import Doubts, Sums


def bennett_s(
    annotations: xr.Dataset, weighting: str | None = None, *, weights: Any = None
) -> xr.DataArray:
    r"""Agreement beyond that of annotators who draw any label with equal chances.

    .. math:: S = \frac{p_a - p_e}{1 - p_e}, \qquad
        p_a = \operatorname*{mean}_{i:\, A_i \geq 2}
        \operatorname*{mean}_{r \neq s} w(y_{ir}, y_{is}), \quad
        p_e = \frac{1}{K^2} \sum_{k, l} w_{kl}

    with :math:`A_i` annotators of item i and :math:`w_{kl} = [k = l]`, so that :math:`p_e = 1/K`;
    or :math:`1 - |k - l| / (K - 1)`, or :math:`1 - (k - l)^2 / (K - 1)^2`.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once, with
        their shares.
    weighting : None, "linear" or "quadratic"
        How much two labels agree, by their places in the order of labels. None: if equal only.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number, 1 for perfect agreement, 0 for what chance would give, negative below that. Its
        ``attrs`` name the weighting.

    Raises
    ------
    AnnotationError
        If the annotations are rankings or numbers on a continuous scale, or labels have no order
        and ``weighting`` needs one.
    ArgumentError
        On an unknown weighting, or weights that are none.

    Warns
    -----
    DissensusWarning
        Where it is undefined, and NaN: no item with two annotators, or only one label to give.

    Notes
    -----
    :math:`K` counts all labels the annotations declare, also those that nobody used: say
    ``labels=[...]`` when reading them. If one of several labels is used by all, S is 1, where
    kappas are undefined.

    It is `percent_agreement` on another scale, so it shares its flaw: where one label prevails,
    annotators who guess that label agree often. And it can be raised by declaring labels that
    nobody needs. `krippendorff_alpha` judges by the labels that were used. Without weights,
    `fleiss_kappa` <= S <= `gwet_ac` for any data.

    Also known as the Brennan-Prediger coefficient, and, with several annotators, as Randolph's
    free-marginal kappa.

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
    return sums(annotations, weighting).value(weights)


def sums(annotations: xr.Dataset, weighting: str | None = None) -> Sums:
    """Prepare S as a function of sums over items."""
    annotations = read(annotations)
    n_labels = label_space(annotations, "bennett_s")
    rows = rows_of(annotations)
    parts = ((rows.voices >= 2).astype(np.float64), apart_by_item(annotations, rows, weighting))
    by_chance = blind_distance(n_labels, weighting)

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        observed = doubts.divided(totals[:, 1], totals[:, 0], NO_PAIRS)
        return beyond_chance(observed, np.full_like(observed, by_chance), doubts, ONE_LABEL)

    items = annotations[ITEM].to_numpy()
    return Sums("bennett_s", parts, finish, items, attrs=described(weighting))
