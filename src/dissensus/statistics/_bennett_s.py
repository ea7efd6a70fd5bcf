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
from dissensus.statistics._sums import Sums, Undefined


def bennett_s(
    annotations: xr.Dataset, weighting: str | None = None, *, weights: Any = None
) -> xr.DataArray:
    r"""Agreement beyond chance, where chance draws every label with the same probability.

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
        How much two labels agree, by their places in the order of labels. None: only if equal.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number: 1 for perfect agreement, 0 for chance, negative below chance. ``attrs`` name the
        weighting.

    Raises
    ------
    AnnotationError
        If the annotations are rankings or continuous, or ``weighting`` needs an order of labels
        and there is none.
    ArgumentError
        If the weighting is unknown or the weights are invalid.

    Warns
    -----
    DissensusWarning
        If no item has two annotators, or there is only one label: the result is NaN.

    Notes
    -----
    :math:`K` counts all labels that the annotations declare, used or not: pass ``labels=[...]``
    when reading them. If all annotators use one of several labels, S is 1, where kappas are
    undefined.

    It rescales `percent_agreement` and shares its flaw: where one label is frequent, annotators who
    guess that label agree often. Declaring labels that nobody uses raises it.
    `krippendorff_alpha` uses the labels that were given. Without weights, `fleiss_kappa` <= S <=
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
    parts = ((rows.voices >= 2).astype(np.float64), apart_by_item(annotations, rows, weighting))
    by_chance = blind_distance(n_labels, weighting)

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        observed = undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)
        return beyond_chance(observed, np.full_like(observed, by_chance), undefined, ONE_LABEL)

    items = annotations[ITEM].to_numpy()
    return Sums("bennett_s", parts, finish, items, attrs=described(weighting)).value(weights)
