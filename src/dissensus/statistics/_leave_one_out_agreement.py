"""How often annotators name the label that leads among the others."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.rows import ranking_code
from dissensus.dims import ANNOTATOR, ITEM, LABEL
from dissensus.errors import ArgumentError
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.labels import (
    leading_label_by_annotator,
    leading_label_named,
)
from dissensus.kernels.rankings import inverse_rank_weights
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._read import codes_in, read, rows_of
from dissensus.statistics._sums import SUMS, Sums, Undefined

NAME: Final = "leave_one_out_agreement"
TIES: Final = ("share", "any")


def leave_one_out_agreement(
    annotations: xr.Dataset, *, ties: str = "share", per_item: bool = False, weights: Any = None
) -> xr.DataArray:
    r"""Probability that an annotator names the label that leads among the others of the item.

    .. math:: o_i = \frac{1}{A_i} \sum_r \Bigl[ \arg\max_k \sum_{s \neq r} v_{is}(k)
        \in L_{ir} \Bigr]

    where :math:`L_{ir}` are the labels that annotator r gives item i. With single labels,
    :math:`v` counts votes. With rankings, :math:`v_{is}(k) = 1/(l\,|b_l|)` for a label in block l
    of :math:`|b_l|` tied labels (the inverse rank of `models.inverse_rank`), and
    :math:`L_{ir}` are all listed labels. The mean is over the items that have
    :math:`A_i \geq 2` annotators, each weighing the same.

    Parameters
    ----------
    annotations : Dataset
        Labels or rankings, not continuous numbers. An annotator with several labels or rankings
        for an item (``trial=``) counts once: with their mean votes, and all labels named in any.
    ties : {"share", "any"}
        The credit for naming one of n leading labels: 1/n, the mean over random breaks of the tie,
        or 1, which counts disagreement as agreement.
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
    Agreement without a model, for comparison with `annotation_certainty`, item by item (in the
    source they correlate .85; in the first 600 of its cases .85 with `models.inverse_rank` at
    reliability 20, and .82 with `models.plackett_luce` at 3). It includes agreement by chance, and
    is higher for long lists. With two annotators of single labels it is `percent_agreement`; with
    more annotators it is usually higher, since a plurality varies less than one person: do not
    compare studies with different numbers of annotators.

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
        alone = np.isnan(agreement)
        undefined.where(alone, np.nan_to_num(agreement), "fewer than two annotators")
        undefined.warn(NAME)
        attrs = {"better": "higher"} | attrs
        return xr.DataArray(agreement, dims=ITEM, coords={ITEM: items}, name=NAME, attrs=attrs)

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        return undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)

    parts = ((rows.voices >= 2).astype(np.float64), np.nan_to_num(agreement))
    return Sums(NAME, parts, finish, items, attrs=attrs).value(weights)


def check_per_item(per_item: Any, weights: Any) -> None:
    """Raise if ``per_item`` is given with weights, or in the bootstrap."""
    arguments.flags(per_item=per_item)
    if per_item and weights is SUMS:
        raise ArgumentError("per_item", expected="False: draws are of a mean", found="True")
    if per_item and weights is not None:
        raise ArgumentError(
            "weights", expected="None with per_item=True: items are kept apart", found="weights"
        )


def by_annotator(annotations: xr.Dataset) -> xr.DataArray:
    """Return how often each annotator names the label that leads among the others (annotator).

    NaN for annotators who share no item with others.
    """
    annotations = read(annotations, rankings=True, continuous=False)
    (annotator,) = codes_in(annotations, ANNOTATOR)
    names = annotations[ANNOTATOR].to_numpy()
    labels = _labels(annotations, rows_of(annotations))
    share = leading_label_by_annotator(*labels, annotator, len(names))
    return xr.DataArray(share, dims=ANNOTATOR, coords={ANNOTATOR: names})


def credit_by_statement(annotations: xr.Dataset) -> tuple[Ints, Ints, Floats]:
    """Return item, annotator and credit of each annotator with others on the item.

    The credit is 1/n for naming one of the n labels that lead among the others, and else 0.
    """
    annotations = read(annotations, rankings=True, continuous=False)
    rows = rows_of(annotations)
    _, credit = leading_label_named(*_labels(annotations, rows))
    judged = np.flatnonzero(np.isfinite(credit))
    item, annotator = codes_in(annotations, ITEM, ANNOTATOR)
    row = rows.order[judged]
    return item[row], annotator[row], credit[judged]


def _labels(annotations: xr.Dataset, rows: Grouped) -> tuple[Grouped, Floats, Ints, int]:
    """Return the rows, the votes of each row, its label, and the number of labels."""
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
