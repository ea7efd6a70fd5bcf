"""Janson and Olsson's iota."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ITEM
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import NO_PAIRS, beyond_chance, no_spread
from dissensus.statistics._distances import Distance, called, pairs_of
from dissensus.statistics._held_out import with_margins
from dissensus.statistics._read import read, rows_of
from dissensus.statistics._sums import Doubts, Sums, times

ROUNDING = 1e-12
"""Share of all distances below which those between annotators are none: they are a difference."""


def iota(
    annotations: xr.Dataset, distance: Distance | None = None, *, weights: Any = None
) -> xr.DataArray:
    r"""Agreement beyond what annotators would reach who keep their habits but not their items.

    .. math:: \iota = 1 - \frac{d_o}{d_e}, \qquad
        d_o = \operatorname*{mean}_{i,\, r \neq s} D(y_{ir}, y_{is}), \quad
        d_e = \operatorname*{mean}_{i, j,\, r \neq s} D(y_{ir}, y_{js})

    over pairs of *different* annotators, within items in :math:`d_o` and across all items
    (:math:`i = j` too) in :math:`d_e`, so that each annotator keeps their own shares of labels.
    Items with labels of one annotator only are left out of both.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once, with
        their shares.
    distance : {"nominal", "squared" or "interval", "absolute"} or callable, optional
        How far labels are apart. A callable takes two labels. None is "squared" for continuous
        annotations and "nominal" for all else.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number, 1 for perfect agreement, 0 for what chance would give, negative below that. Its
        ``attrs`` name the distance.

    Raises
    ------
    AnnotationError
        If the annotations are rankings, or their labels no numbers where the distance needs them.
    ArgumentError
        On an unknown distance, or weights that are none.

    Warns
    -----
    DissensusWarning
        Where iota is undefined, and NaN: no item with two annotators, or one label used by all.

    Notes
    -----
    With two annotators, "nominal" is Cohen's kappa, and "absolute" and "squared" are kappa with
    linear and quadratic weights on the numbers themselves. With more annotators and all labels
    there, "nominal" is Conger's kappa. Where labels are missing, every pair of annotators weighs
    the same in :math:`d_o` and every pair of labels the same in :math:`d_e`: an item with many
    annotators weighs more than one with few, and so does who labelled much.

    It misleads where annotators label different items: then their own shares of labels differ
    because their items do, chance agreement comes out too low, and iota too high. With items
    handed out to a crowd, take `krippendorff_alpha`. What is systematic between annotators (one
    always a point higher) counts as disagreement here too, but less than in `krippendorff_alpha`.
    And where one label is much more frequent than the others it is low, however rarely annotators
    disagree: report `percent_agreement` beside it.

    Source: Janson & Olsson (2001), "A measure of agreement for interval or nominal multivariate
    observations", *Educational and Psychological Measurement* 61; Conger (1980) for nominal labels.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1, 1, 2], [2, 2, 3], [3, 3, 3], [1, 1, 2]])
    >>> round(float(dx.iota(ann)), 3)
    0.294
    >>> round(float(dx.iota(ann, distance="squared")), 3)
    0.657
    """
    return sums(annotations, distance).value(weights)


def sums(annotations: xr.Dataset, distance: Distance | None = None) -> Sums:
    """Prepare iota as a function of sums over items."""
    annotations = read(annotations)
    if distance is None:
        distance = "squared" if annotations.attrs["kind"] == "continuous" else "nominal"
    attrs = {"distance": called(distance)}
    return between_annotators("iota", annotations, distance, NO_PAIRS, attrs)


def between_annotators(
    name: str,
    annotations: xr.Dataset,
    distance: Distance,
    no_pairs: str,
    attrs: Mapping[str, Any],
) -> Sums:
    """Prepare what iota of two annotators and Cohen's kappa are, under either name."""
    rows = rows_of(annotations)
    parts, margins = with_margins(annotations, rows, distance)
    paired = (rows.voices >= 2).astype(np.float64)
    matrices = (
        pairs_of(rows.voices),
        parts.within,
        times(parts.margin, paired),
        times(margins.matrix, paired),
    )
    end = 2 + parts.margin.shape[1]

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        observed = doubts.divided(totals[:, 1], totals[:, 0], no_pairs)
        margin, each = totals[:, 2:end], totals[:, end:]
        labels = margins.labels(each)
        pairs = labels.sum(axis=1) ** 2 - (labels**2).sum(axis=1)
        everyone = parts.cross(margin, margin)
        apart = everyone - margins.own(each)
        apart = np.where((everyone > 0) & (apart > ROUNDING * everyone), apart, 0.0)
        expected = apart / np.where(pairs > 0, pairs, 1.0)
        return beyond_chance(observed, expected, doubts, no_spread(rounded=parts.rounded))

    return Sums(name, matrices, finish, annotations[ITEM].to_numpy(), attrs=attrs)
