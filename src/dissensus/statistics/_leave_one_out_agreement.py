"""Whether annotators name what the others favour."""

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
    leading_label_by_voice,
    leading_label_named,
)
from dissensus.kernels.rankings import inverse_rank_weights
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._read import rows_of
from dissensus.statistics._scores import categories
from dissensus.statistics._sums import Doubts, Sums

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
    :math:`L_{ir}` are all labels listed, in whatever place. The mean is over the items that have
    :math:`A_i \geq 2` annotators, each weighing the same.

    Parameters
    ----------
    annotations : Dataset
        Labels or rankings, not numbers on a scale. An annotator with several labels or rankings
        for an item (``trial=``) counts once: with their mean votes, and all labels named in any.
    ties : {"share", "any"}
        What naming one of n leading labels counts: 1/n, as if ties were broken at random, or 1.
        "any" counts people who disagree with each other for agreeing more.
    per_item : bool
        Return :math:`o_i`; not together with weights.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number from 0 to 1; or (item), NaN for items with one annotator.

    Raises
    ------
    AnnotationError
        If the annotations are numbers on a scale.
    ArgumentError
        On another word for ``ties``, weights that are none, or weights with ``per_item``.

    Warns
    -----
    DissensusWarning
        If no item has two annotators or, with ``per_item``, some item has not: NaN.

    Notes
    -----
    Agreement that needs no model, to compare `annotation_certainty` with, item by item (in the
    source they correlate .85; in the first 600 of its cases .85 with `models.inverse_rank` at
    reliability 20, and .82 with `models.plackett_luce` at 3). Chance is
    not taken off, and long lists agree more easily than short ones. With two annotators of single
    labels it is `percent_agreement`; with more it is usually higher the more there are, since a
    plurality is steadier than one person: do not compare studies of different size.

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
    arguments.flags(per_item=per_item)
    if per_item and weights is not None:
        raise ArgumentError(
            "weights", expected="None with per_item=True: items are kept apart", found="weights"
        )
    if not per_item:
        return sums(annotations, ties=ties).value(weights)
    annotations, _, agreement = _by_item(annotations, ties)
    doubts = Doubts()
    doubts.where(np.isnan(agreement), np.nan_to_num(agreement), "fewer than two annotators")
    doubts.say(NAME, draws=False)
    coords = {ITEM: annotations[ITEM].to_numpy()}
    attrs = {"better": "higher", "ties": str(ties)}
    return xr.DataArray(agreement, dims=ITEM, coords=coords, name=NAME, attrs=attrs)


def sums(annotations: xr.Dataset, *, ties: str = "share", per_item: bool = False) -> Sums:
    """Prepare it as a function of sums over items."""
    arguments.flags(per_item=per_item)
    if per_item:
        raise ArgumentError("per_item", expected="False: draws are of a mean", found="True")
    annotations, rows, agreement = _by_item(annotations, ties)
    paired = (rows.voices >= 2).astype(np.float64)

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        return doubts.divided(totals[:, 1], totals[:, 0], NO_PAIRS)

    parts = (paired, np.nan_to_num(agreement))
    attrs = {"ties": str(ties)}
    return Sums(NAME, parts, finish, annotations[ITEM].to_numpy(), attrs=attrs)


def by_annotator(annotations: xr.Dataset) -> xr.DataArray:
    """Return how often each annotator gives the label that leads among the others (annotator).

    Of n tied leaders naming one counts 1/n; NaN for annotators who share no item with anybody.
    """
    annotations = categories(annotations, rankings=True)
    rows = rows_of(annotations)
    n = annotations.sizes[ANNOTATOR]
    found = leading_label_by_annotator(
        rows, _votes(annotations, rows), annotations["label_code"].to_numpy(),
        annotations.sizes[LABEL], annotations["annotator_code"].to_numpy(), n,
    )  # fmt: skip
    return xr.DataArray(
        found, dims=ANNOTATOR, coords={ANNOTATOR: annotations[ANNOTATOR].to_numpy()}
    )


def credit_by_annotator(annotations: xr.Dataset) -> tuple[Ints, Ints, Floats]:
    """Return who names the label that leads among the others of an item, one by one.

    Items, annotators and the credit (pair of both): of n tied leaders naming one counts 1/n. Only
    of annotators who are not alone with an item.
    """
    annotations = categories(annotations, rankings=True)
    rows = rows_of(annotations)
    each = leading_label_by_voice(
        rows, _votes(annotations, rows), annotations["label_code"].to_numpy(),
        annotations.sizes[LABEL],
    )  # fmt: skip
    judged = np.flatnonzero(np.isfinite(each))
    item, annotator = (
        annotations[name].to_numpy().astype(np.int64)[rows.order[judged]]
        for name in ("item_code", "annotator_code")
    )
    return item, annotator, each[judged]


def _by_item(annotations: Any, ties: str) -> tuple[xr.Dataset, Grouped, Floats]:
    arguments.one_of("ties", ties, TIES)
    annotations = categories(annotations, rankings=True)
    rows = rows_of(annotations)
    found = leading_label_named(
        rows,
        _votes(annotations, rows),
        annotations["label_code"].to_numpy(),
        annotations.sizes[LABEL],
        any_tied=ties == "any",
    )
    return annotations, rows, found


def _votes(annotations: xr.Dataset, rows: Grouped) -> Floats:
    """Return what each row counts for its label (row)."""
    if annotations.attrs["kind"] != "ranking":
        vote = np.empty(len(rows.order))
        vote[rows.order] = rows.share
        return vote
    ranking = ranking_code(annotations)
    vote = inverse_rank_weights(annotations["rank"].to_numpy(), ranking, split_ties=True)
    if "trial" not in annotations:
        return vote
    return vote / _trials(annotations, ranking)


def _trials(annotations: xr.Dataset, ranking: Ints) -> Floats:
    """Return how many rankings the annotator of a row gave its item (row)."""
    pair = annotations["item_code"].to_numpy().astype(np.int64) * annotations.sizes[ANNOTATOR]
    _, pair = np.unique(pair + annotations["annotator_code"].to_numpy(), return_inverse=True)
    _, first = np.unique(ranking, return_index=True)
    return np.bincount(pair[first])[pair].astype(np.float64)
