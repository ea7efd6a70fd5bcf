"""Krippendorff's alpha."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.dims import ITEM
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.grouped import Grouped, label_shares
from dissensus.kernels.labels import label_pairs
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import alpha_from, alpha_of, alpha_parts
from dissensus.statistics._distances import disagreement, ratio_disagreement, shares_matrix
from dissensus.statistics._read import ordered_labels_of, read, rows_of
from dissensus.statistics._sets import SET_DISTANCES, of_sets
from dissensus.statistics._sums import Matrix, Sums, Undefined, compact, times

LEVELS: Final = ("nominal", "ordinal", "interval", "ratio")
_FEW: Final = 64
"""With fewer labels than this, each pair of labels has a column, even if it never occurs."""


def krippendorff_alpha(
    annotations: xr.Dataset,
    level: str | None = None,
    *,
    distance: str | None = None,
    weights: Any = None,
) -> xr.DataArray:
    r"""Krippendorff's alpha: agreement beyond chance of two or more annotators with missing labels.

    .. math:: \alpha = 1 - \frac{D_o}{D_e}, \qquad
        D_o = \frac{1}{n} \sum_i \frac{1}{A_i - 1} \sum_{r \neq s} \delta^2(y_{ir}, y_{is}), \quad
        D_e = \frac{1}{n (n - 1)} \sum_{c, k} n_c (n_k - [c = k]) \, \delta^2(c, k)

    over the items that have :math:`A_i \geq 2` annotators. These items have :math:`n` annotations,
    of which :math:`n_k` are label k.

    If annotators have several labels for an item (``trial=``), :math:`n_k` is a sum of shares, and
    :math:`\delta^2(y_{ir}, y_{is})` is the mean over all pairs of a label of r and a label of s.
    :math:`D_e` leaves out pairs of labels of the same annotator on the same item:
    :math:`\sum_i \sum_r \delta^2(y_{ir}, y_{ir})` is subtracted from its sum.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once: each
        label counts as its share of that annotator's labels.
    level : {"nominal", "ordinal", "interval", "ratio"}, optional
        The distance of labels. "nominal": 0 or 1. "ordinal": the number of annotations between the
        two labels, squared. "interval": squared differences. "ratio": squared differences over
        squared sums, for at most 3,000 distinct numbers, all 0 or more. None is "interval" for
        continuous annotations, and "nominal" for all others, since whole numbers may be codes of
        classes.
    distance : {"jaccard", "masi"}, optional
        :math:`\delta^2` for annotations of kind "set", where I is the intersection and U the union
        of two sets. "jaccard" (default): :math:`1 - |I| / |U|`. "masi": :math:`1 - m |I| / |U|`,
        where m is 1 for equal sets, 2/3 if one contains the other, 1/3 if they only overlap, and 0
        if they have no label in common. The distance of two empty sets is 0.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items. Whole numbers are counts of items: because of the factor :math:`n - 1`,
        alpha changes if all counts are doubled. Other weights are relative: they are scaled to a
        mean of 1 over the items of positive weight with two annotators or more.

    Returns
    -------
    xarray.DataArray
        A number: 1 for perfect agreement, 0 for chance, negative below chance. ``attrs`` name the
        level, or the distance of sets. NaN, with a warning, if no item has two annotators, all
        labels are the same, or the weights sum to one label or less.

    Notes
    -----
    Where one label is frequent, chance agreement is high and alpha is low even with few
    disagreements: report `percent_agreement` and `gwet_ac` too. If few items have rare labels,
    alpha is uncertain: `bayesian_bootstrap` gives an interval.

    Source: Krippendorff (2011), "Computing Krippendorff's alpha-reliability"; Krippendorff,
    *Content Analysis*, 4th ed., chapter 12. MASI: Passonneau (2006), "Measuring agreement on
    set-valued items".

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1, 1, None], [2, 2, 3], [3, 3, 3], [1, 1, 2]])
    >>> round(float(dx.krippendorff_alpha(ann)), 3)
    0.5
    >>> round(float(dx.krippendorff_alpha(ann, level="ordinal")), 3)
    0.773

    Sets of labels:

    >>> rows = {"item": [1, 1, 2, 2], "annotator": list("abab"), "label": ["x;y", "x", "z", "z"]}
    >>> sets = dx.annotations(rows, kind="set", separator=";")
    >>> round(float(dx.krippendorff_alpha(sets, distance="masi")), 3)
    0.571
    """
    annotations = read(annotations, sets=True)
    rows = rows_of(annotations)
    if annotations.attrs["kind"] == "set":
        if level is not None:
            raise ArgumentError(
                "level", expected="None for sets", found=brief(level), hint="Choose distance="
            )
        distance = "jaccard" if distance is None else distance
        arguments.one_of("distance", distance, SET_DISTANCES)
        distances, attrs = of_sets(rows, annotations, distance), {"distance": distance}
    else:
        if distance is not None:
            raise ArgumentError(
                "distance", expected="None, unless annotations are sets", found=brief(distance),
                hint="Read sets with dissensus.annotations(..., kind='set'); other distances: "
                "level=",
            )  # fmt: skip
        if level is None:
            level = "interval" if annotations.attrs["kind"] == "continuous" else "nominal"
        arguments.one_of("level", level, LEVELS)
        if level == "ordinal":
            return _ordinal(annotations, rows).value(weights)
        if level == "ratio":
            distances = ratio_disagreement(annotations, rows)
        else:
            distances = disagreement(annotations, rows, level)
        attrs = {"level": str(level)}

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        return alpha_of(distances, totals, undefined)

    items, parts = annotations[ITEM].to_numpy(), alpha_parts(distances, rows.n_annotators)
    return Sums("krippendorff_alpha", parts, finish, items, attrs=attrs).value(weights)


def _ordinal(annotations: xr.Dataset, rows: Grouped) -> Sums:
    """Return the sums for the level "ordinal", whose distances depend on all annotations."""
    codes, labels = ordered_labels_of(annotations)
    n_labels = len(labels)
    shares = label_shares(rows, codes, n_labels)
    weight = 1.0 / np.maximum(rows.n_annotators - 1.0, 1.0)
    pairs = label_pairs(rows, shares, codes, n_labels, weight)
    pairable = (rows.n_annotators >= 2).astype(np.float64)
    if n_labels < _FEW:
        distinct, column = np.arange(n_labels**2), pairs.cell
    else:
        distinct, column = np.unique(pairs.cell, return_inverse=True)
    low, high = np.divmod(distinct, n_labels)

    def by_pair(data: Floats) -> Matrix:
        shape = (len(pairs.start) - 1, len(distinct))
        return compact(sparse.csr_array((data, column, pairs.start), shape=shape))

    parts = [times(shares_matrix(shares, n_labels), pairable), by_pair(pairs.amount)]
    if int(rows.n_annotators.sum()) < len(codes):  # an annotator labelled an item several times
        own = by_pair(np.maximum(-pairs.amount, 0.0))
        parts.append(times(own, pairable * (rows.n_annotators - 1.0)))
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        amount, observed, *own = np.split(totals, ends, axis=1)
        n = amount.sum(axis=1)
        rank = np.cumsum(amount, axis=1) - amount / 2.0
        squared_distance = (rank[:, low] - rank[:, high]) ** 2
        middle = np.einsum("mk,mk->m", amount, rank) / np.maximum(n, 1e-300)
        spread = 2.0 * n * np.einsum("mk,mk->m", amount, (rank - middle[:, None]) ** 2)
        spread[(amount > 0).sum(axis=1) < 2] = 0.0  # otherwise a rounding error of `middle`
        cross = spread - sum((part * squared_distance).sum(axis=1) for part in own)
        return alpha_from(n, (observed * squared_distance).sum(axis=1), cross, undefined)

    items, attrs = annotations[ITEM].to_numpy(), {"level": "ordinal"}
    return Sums("krippendorff_alpha", tuple(parts), finish, items, attrs=attrs)
