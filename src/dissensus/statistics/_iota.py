"""Cohen's kappa and iota: agreement beyond chance, given each annotator's label frequencies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import sparse

from dissensus.dims import ITEM
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._chance import NO_PAIRS, beyond_chance, described, no_spread, placed
from dissensus.statistics._distances import (
    Distance,
    centre_of_pairs,
    disagreement,
    distance_name,
    from_table,
    pairs_of,
    table_of,
)
from dissensus.statistics._read import labels_of, numbers_of, of_two, read, rows_of
from dissensus.statistics._sums import Matrix, Sums, Undefined, compact, times

NO_COMMON: Final = "no item has labels of both annotators"


def cohen_kappa(
    annotations: xr.Dataset,
    weighting: str | None = None,
    annotators: Sequence[Any] | None = None,
    *,
    weights: Any = None,
) -> xr.DataArray:
    r"""Cohen's kappa: agreement of two annotators beyond chance, given their label frequencies.

    .. math:: \kappa = 1 - \frac{\sum_{k, l} v_{kl} \, p_{kl}}{\sum_{k, l} v_{kl} \, p_{k+} p_{+l}}

    with :math:`p_{kl}` the share of items to which the first annotator gave label k and the second
    label l, and :math:`v_{kl} = [k \neq l]`, or :math:`|k - l|`, or :math:`(k - l)^2`, over the
    items that both labelled.

    Parameters
    ----------
    annotations, weights
        As in `percent_agreement`.
    weighting : None, "linear" or "quadratic"
        The weight of a disagreement, from the places of the two labels in the order of labels
        (unused labels have a place too). None: all disagreements have the same weight.
    annotators : sequence of two names, optional
        The two annotators. Not needed if there are only two annotators.

    Returns
    -------
    xarray.DataArray
        A number from -1 to 1; 0 for chance. ``attrs`` name the weighting and the two annotators.
        NaN, with a warning, if no item has labels of both, or all these labels are the same.

    Notes
    -----
    Where one label is frequent, chance agreement is high and kappa is low even with few
    disagreements (prevalence). Annotators who use labels with different frequencies get a *higher*
    kappa than annotators with equal frequencies and the same agreement (bias). Report
    `percent_agreement` and `gwet_ac` too. With quadratic weights kappa increases with the number of
    labels: do not compare it between scales.

    For more than two annotators use `krippendorff_alpha`, `fleiss_kappa`, or `iota`, which equals
    kappa for two annotators.

    Source: Cohen (1960), "A coefficient of agreement for nominal scales"; Cohen (1968), "Weighted
    kappa", *Psychological Bulletin* 70.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1, 1], [2, 2], [3, 2], [1, 1], [3, 3]], kind="ordinal")
    >>> round(float(dx.cohen_kappa(ann)), 3)
    0.706
    >>> round(float(dx.cohen_kappa(ann, weighting="quadratic")), 3)
    0.857
    """
    annotations, names = of_two(read(annotations), annotators)
    annotations, distance = placed(annotations, weighting)
    attrs = {**described(weighting), "annotators": names}
    sums = between_annotators("cohen_kappa", annotations, distance, NO_COMMON, attrs)
    return sums.value(weights)


ROUNDING: Final = 1e-12
"""A sum of distances between annotators is set to 0 if it is at most this share of the sum of all
distances: it may be a rounding error."""


def iota(
    annotations: xr.Dataset, distance: Distance | None = None, *, weights: Any = None
) -> xr.DataArray:
    r"""Iota: agreement beyond chance of two or more annotators, given their label frequencies.

    .. math:: \iota = 1 - \frac{d_o}{d_e}, \qquad
        d_o = \operatorname*{mean}_{i,\, r \neq s} D(y_{ir}, y_{is}), \quad
        d_e = \operatorname*{mean}_{i, j,\, r \neq s} D(y_{ir}, y_{js})

    over pairs of *different* annotators, within items in :math:`d_o` and across all items
    (including :math:`i = j`) in :math:`d_e`. Items with one annotator are left out of both means.

    Parameters
    ----------
    annotations, weights
        As in `percent_agreement`.
    distance : {"nominal", "squared" or "interval", "absolute"} or callable, optional
        The distance of labels. A callable takes two labels. None is "squared" for continuous
        annotations and "nominal" for all others.

    Returns
    -------
    xarray.DataArray
        A number: 1 for perfect agreement, 0 for chance, negative below chance. ``attrs`` name the
        distance. NaN, with a warning, if no item has two annotators, or all labels are the same.

    Notes
    -----
    With two annotators, "nominal" is Cohen's kappa, and "absolute" and "squared" are kappa with
    linear and quadratic weights on the numbers themselves. With more annotators and no missing
    labels, "nominal" is Conger's kappa. With missing labels, :math:`d_o` gives equal weights to
    pairs of annotators of an item, and :math:`d_e` to pairs of labels: items with many annotators,
    and annotators with many labels, have more weight.

    Iota is too high if annotators label different items: their label frequencies then differ
    because their items differ, and chance agreement is too low. Use `krippendorff_alpha` for items
    distributed over a crowd. A constant difference between annotators lowers iota, but less than it
    lowers `krippendorff_alpha`. Where one label is frequent, iota is low even with few
    disagreements: report `percent_agreement` too.

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
    annotations = read(annotations)
    if distance is None:
        distance = "squared" if annotations.attrs["kind"] == "continuous" else "nominal"
    attrs = {"distance": distance_name(distance)}
    return between_annotators("iota", annotations, distance, NO_PAIRS, attrs).value(weights)


def between_annotators(
    name: str,
    annotations: xr.Dataset,
    distance: Distance,
    no_pairs: str,
    attrs: Mapping[str, Any],
) -> Sums:
    """Return the sums for iota, which is Cohen's kappa for two annotators."""
    rows = rows_of(annotations)
    if callable(distance):
        codes, labels = labels_of(annotations)
        table = table_of(labels, distance)
        distances = from_table(rows, codes, table)
        margins = _tabled(_cells(annotations, rows, codes, len(labels)), table)
    else:
        distances = disagreement(annotations, rows, distance)
        margins = _margins(annotations, rows, distance_name(distance))
    paired = (rows.n_annotators >= 2).astype(np.float64)
    parts = (
        pairs_of(rows.n_annotators),
        distances.within,
        times(distances.margin, paired),
        times(margins.matrix, paired),
    )
    end = 2 + distances.margin.shape[1]

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        observed = undefined.divide(totals[:, 1], totals[:, 0], no_pairs)
        margin, each = totals[:, 2:end], totals[:, end:]
        labels = margins.labels(each)
        pairs = labels.sum(axis=1) ** 2 - (labels**2).sum(axis=1)
        everyone = distances.cross(margin, margin)
        between = everyone - margins.own(each)
        between = np.where((everyone > 0) & (between > ROUNDING * everyone), between, 0.0)
        expected = between / np.where(pairs > 0, pairs, 1.0)
        return beyond_chance(observed, expected, undefined, no_spread(rounded=distances.rounded))

    return Sums(name, parts, finish, annotations[ITEM].to_numpy(), attrs=attrs)


# Each annotator's labels over all items, for the chance agreement of different annotators.


class _Margins(NamedTuple):
    """Sums over items for each annotator."""

    matrix: Matrix
    """(item, sum): the sums of all annotators, side by side."""
    labels: Callable[[Floats], Floats]
    """Returns the number of items by annotator (..., annotator) from totals (..., sum)."""
    own: Callable[[Floats], Floats]
    """Returns the sum of distances over pairs of labels by the *same* annotator from totals."""


class _Cells(NamedTuple):
    """The pairs of annotator and label that occur, sorted by annotator and then by label."""

    matrix: Matrix
    """(item, cell): the share of the label in the annotator's labels of the item."""
    label: Ints
    """(cell): code of the label."""
    first: Ints
    """(annotator): the first cell of each annotator with labels."""
    size: Ints
    """(annotator): number of distinct labels used."""

    def labels(self, totals: Floats) -> Floats:
        """Return the sum of the cells of each annotator: (..., annotator)."""
        return np.add.reduceat(totals, self.first, axis=-1)


def _margins(annotations: xr.Dataset, rows: Grouped, distance: str) -> _Margins:
    if distance == "squared":
        return _squared(annotations, rows)
    if distance == "absolute":
        values, codes = np.unique(numbers_of(annotations), return_inverse=True)
        return _absolute(_cells(annotations, rows, codes, len(values)), values)
    codes, labels = labels_of(annotations)
    return _nominal(_cells(annotations, rows, codes, len(labels)))


def _annotators(annotations: xr.Dataset, rows: Grouped) -> tuple[Ints, int]:
    """Return the annotator of each row, numbered without gaps, and the number of annotators."""
    code = annotations["annotator_code"].to_numpy()[rows.order]
    code, known = pd.factorize(code, sort=True)
    return code.astype(np.int64), len(known)


def _cells(annotations: xr.Dataset, rows: Grouped, codes: Ints, n_labels: int) -> _Cells:
    annotator, n_annotators = _annotators(annotations, rows)
    column, cells = pd.factorize(annotator * n_labels + codes[rows.order], sort=True)
    shape = (annotations.sizes[ITEM], len(cells))
    matrix = compact(sparse.csr_array((rows.share, column, rows.start), shape=shape))
    owner, label = np.divmod(cells, max(n_labels, 1))
    first = np.searchsorted(owner, np.arange(n_annotators))
    return _Cells(matrix, label, first, np.bincount(owner, minlength=n_annotators))


def _nominal(cells: _Cells) -> _Margins:
    def own(totals: Floats) -> Floats:
        return np.asarray((cells.labels(totals) ** 2).sum(axis=-1) - (totals**2).sum(axis=-1))

    return _Margins(cells.matrix, cells.labels, own)


def _absolute(cells: _Cells, values: Floats) -> _Margins:
    owner = np.repeat(np.arange(len(cells.first)), cells.size)
    inside = owner[1:] == owner[:-1]
    step = np.where(inside, np.diff(values[cells.label]), 0.0)

    def own(totals: Floats) -> Floats:
        # As `_absolute` in `_distances`: multiply each step between two values by the number of
        # pairs of labels on opposite sides of it.
        up_to = np.cumsum(totals, axis=-1)
        before = up_to[..., cells.first] - totals[..., cells.first]
        below = (up_to - before[..., owner])[..., :-1]
        above = cells.labels(totals)[..., owner[:-1]] - below
        return np.asarray(2.0 * (below * above) @ step)

    return _Margins(cells.matrix, cells.labels, own)


def _tabled(cells: _Cells, table: Floats) -> _Margins:
    blocks = [slice(a, a + n) for a, n in zip(cells.first, cells.size, strict=True)]

    def own(totals: Floats) -> Floats:
        out = np.zeros(totals.shape[:-1])
        for block in blocks:  # the cells of one annotator
            used, amount = cells.label[block], totals[..., block]
            out += ((amount @ table[np.ix_(used, used)]) * amount).sum(axis=-1)
        return out

    return _Margins(cells.matrix, cells.labels, own)


def _squared(annotations: xr.Dataset, rows: Grouped) -> _Margins:
    values = numbers_of(annotations)
    values = (values - centre_of_pairs(rows, values))[rows.order]
    annotator, n_annotators = _annotators(annotations, rows)
    data = rows.share[:, None] * np.stack([np.ones_like(values), values, values**2], axis=1)
    column = 3 * annotator[:, None] + np.arange(3)
    shape = (annotations.sizes[ITEM], 3 * n_annotators)
    matrix = sparse.csr_array((data.ravel(), column.ravel(), 3 * rows.start), shape=shape)

    def labels(totals: Floats) -> Floats:
        return totals[..., 0::3]

    def own(totals: Floats) -> Floats:
        n, total, squares = (totals[..., place::3] for place in range(3))
        return np.asarray(2.0 * (n * squares - total**2).sum(axis=-1))

    return _Margins(compact(matrix), labels, own)
