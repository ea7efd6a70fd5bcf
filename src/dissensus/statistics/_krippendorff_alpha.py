"""Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.dims import ITEM
from dissensus.kernels.grouped import Grouped, label_shares
from dissensus.kernels.labels import LabelPairs, label_pairs
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._chance import alpha_from, alpha_of, alpha_parts
from dissensus.statistics._distances import disagreement, ratio_disagreement, shares_matrix
from dissensus.statistics._read import ordered_labels_of, read, rows_of
from dissensus.statistics._sums import Doubts, Matrix, Sums, compact, times

LEVELS: Final = ("nominal", "ordinal", "interval", "ratio")


def krippendorff_alpha(
    annotations: xr.Dataset, level: str | None = None, *, weights: Any = None
) -> xr.DataArray:
    r"""Agreement beyond chance of any number of annotators, with any labels missing.

    .. math:: \alpha = 1 - \frac{D_o}{D_e}, \qquad
        D_o = \frac{1}{n} \sum_i \frac{1}{A_i - 1} \sum_{r \neq s} \delta^2(y_{ir}, y_{is}), \quad
        D_e = \frac{1}{n (n - 1)} \sum_{c, k} n_c (n_k - [c = k]) \, \delta^2(c, k)

    over the items that have :math:`A_i \geq 2` annotators; :math:`n` labels in all, :math:`n_k`
    times label k.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once, with
        their shares.
    level : {"nominal", "ordinal", "interval", "ratio"}, optional
        How far labels are apart: by 0 or 1; by the number of labels given in between; squared
        differences; squared differences over squared sums. None is "interval" for continuous
        annotations and "nominal" for all else: whole numbers may be codes of classes.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items. Whole numbers say how often an item counts, which matters by the
        :math:`n - 1`: all items twice are not the same as once. Other weights are relative: they
        are scaled to a mean of 1 over the items of positive weight.

    Returns
    -------
    xarray.DataArray
        A number, 1 for perfect agreement, 0 for what chance would give, negative below that. Its
        ``attrs`` name the level.

    Raises
    ------
    AnnotationError
        If the labels do not have the level: an order, distances, or (for "ratio") no number
        below 0 and no more than 3,000 distinct ones.
    ArgumentError
        On an unknown level, or weights that are none.

    Warns
    -----
    DissensusWarning
        Where alpha is undefined, and NaN: no item with two annotators, one label used by all, or
        weights that come to no more than one label.

    Notes
    -----
    Where one label is much more frequent than the others, chance agreement is high and alpha low,
    however rarely annotators disagree: report `percent_agreement` and `gwet_ac` beside it. Few
    items with the rarer labels also make its interval wide: `bayesian_bootstrap`.

    Source: Krippendorff (2011), "Computing Krippendorff's alpha-reliability"; Krippendorff,
    *Content Analysis*, 4th ed., chapter 12.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1, 1, None], [2, 2, 3], [3, 3, 3], [1, 1, 2]])
    >>> round(float(dx.krippendorff_alpha(ann)), 3)
    0.5
    >>> round(float(dx.krippendorff_alpha(ann, level="ordinal")), 3)
    0.773
    """
    return sums(annotations, level).value(weights)


def sums(annotations: xr.Dataset, level: str | None = None) -> Sums:
    """Prepare alpha as a function of sums over items."""
    annotations = read(annotations)
    if level is None:
        level = "interval" if annotations.attrs["kind"] == "continuous" else "nominal"
    arguments.one_of("level", level, LEVELS)
    rows = rows_of(annotations)
    if level == "ordinal":
        return _ordinal(annotations, rows)
    if level == "ratio":
        parts = ratio_disagreement(annotations, rows)
    else:
        parts = disagreement(annotations, rows, level)

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        return alpha_of(parts, totals, doubts)

    items, attrs = annotations[ITEM].to_numpy(), {"level": str(level)}
    return Sums("krippendorff_alpha", alpha_parts(parts, rows.voices), finish, items, attrs=attrs)


def _ordinal(annotations: xr.Dataset, rows: Grouped) -> Sums:
    """Prepare the level whose distances depend on the totals: ranks among all labels given."""
    codes, labels = ordered_labels_of(annotations)
    shares = label_shares(rows, codes, len(labels))
    weight = 1.0 / np.maximum(rows.voices - 1.0, 1.0)
    found = label_pairs(rows, shares, codes, len(labels), weight)
    pairable = (rows.voices >= 2).astype(np.float64)
    amounts = times(shares_matrix(shares, len(labels)), pairable)
    low, high, cells = _cells(found, len(labels))
    parts = [amounts, cells(found.amount)]
    if int(rows.voices.sum()) < len(codes):  # somebody repeated themselves
        own = cells(np.maximum(-found.amount, 0.0))
        parts.append(times(own, pairable * (rows.voices - 1.0)))
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        amount, observed, *own = np.split(totals, ends, axis=1)
        n = amount.sum(axis=1)
        rank = np.cumsum(amount, axis=1) - amount / 2.0
        apart = (rank[:, low] - rank[:, high]) ** 2
        middle = np.einsum("mk,mk->m", amount, rank) / np.maximum(n, 1e-300)
        spread = 2.0 * n * np.einsum("mk,mk->m", amount, (rank - middle[:, None]) ** 2)
        spread[(amount > 0).sum(axis=1) < 2] = 0.0  # the middle is exact up to rounding only
        cross = spread - sum((one * apart).sum(axis=1) for one in own)
        return alpha_from(n, (observed * apart).sum(axis=1), cross, doubts)

    items, attrs = annotations[ITEM].to_numpy(), {"level": "ordinal"}
    return Sums("krippendorff_alpha", tuple(parts), finish, items, attrs=attrs)


_FEW = 64
"""With fewer labels than this, pairs need not be looked for: there is a column for each."""


def _cells(found: LabelPairs, n_labels: int) -> tuple[Ints, Ints, Callable[[Floats], Matrix]]:
    """Return the pairs of labels that occur, and a way to lay their amounts out by item."""
    if n_labels < _FEW:
        distinct, column = np.arange(n_labels**2), found.cell
    else:
        distinct, column = np.unique(found.cell, return_inverse=True)
    shape = (len(found.start) - 1, len(distinct))
    low, high = np.divmod(distinct, n_labels)
    return (
        low,
        high,
        lambda data: compact(sparse.csr_array((data, column, found.start), shape=shape)),
    )
