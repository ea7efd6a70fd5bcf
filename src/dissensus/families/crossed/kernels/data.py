"""Labels of crossed effects, the parameters that a sweep moves, and the sums that it needs.

A *cell* has the labels of one item by one pool; with one pool, a cell is an item. Items with the
same number of labels from each pool have the same *design*. A *place* is a position among the pools
of a design. Given the annotators' effects, the density of variances needs only each design's
sums of cell means and of their products. A balanced study of any size has one design.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Codes, Floats, Indices

if TYPE_CHECKING:
    from dissensus.families.crossed.kernels.regression import Regression


class Designs(NamedTuple):
    """The designs: the pools that label an item, and their numbers of labels."""

    of_item: Codes  # (item); -1 for an item without labels
    n_items: Floats  # (design)
    n_pools: Codes  # (design)
    pool: Codes  # (design, place)
    n_labels: Floats  # (design, place): of one item


class Crossed(NamedTuple):
    """All labels of a study, in the order of items, pools, and rows."""

    row: Codes  # (label): its row in the table
    value: Floats  # (label): a number, or a code from 0
    annotator: Indices  # (label): its annotator; one person in two pools is two annotators
    cell: Indices  # (label)
    cell_start: Codes  # (cell + 1): where the labels of each cell start
    cell_item: Codes  # (cell)
    cell_pool: Codes  # (cell)
    item_start: Codes  # (item + 1): where the cells of each item start
    annotator_pool: Codes  # (annotator)
    annotator_start: Codes  # (annotator + 1), into `annotator_cell`
    annotator_cell: Indices  # (label), in the order of annotators
    designs: Designs
    annotator_designs: Designs  # With annotators in place of items; each is in one pool
    n_labels: Floats  # (pool)
    n_cells: Floats  # (pool)
    regression: Regression | None = None  # The covariates of labels

    @property
    def n_pools(self) -> int:
        """Number of pools."""
        return len(self.n_labels)

    @property
    def n_terms(self) -> int:
        """Number of covariates."""
        return 0 if self.regression is None else self.regression.value[0].shape[1]


def crossed(
    value: Floats, item: Codes, annotator: Codes, pool: Codes, *,
    n_items: int, annotator_pool: Codes, n_pools: int,
) -> Crossed:  # fmt: skip
    """Lay out labels, which are numbers or codes from 0; each annotator is in one pool."""
    place = item * n_pools + pool
    row = np.argsort(place, kind="stable")
    used, cell, size = np.unique(place[row], return_inverse=True, return_counts=True)
    label_annotator = annotator[row]
    by_annotator = np.argsort(label_annotator, kind="stable")
    cell_item, cell_pool = used // n_pools, used % n_pools
    table = np.zeros((n_items, n_pools))
    table[cell_item, cell_pool] = size
    n_each = np.bincount(label_annotator, minlength=len(annotator_pool))
    of_annotators = np.zeros((len(annotator_pool), n_pools))
    of_annotators[np.arange(len(annotator_pool)), annotator_pool] = n_each
    return Crossed(
        row=row,
        value=np.ascontiguousarray(value[row], dtype=np.float64),
        annotator=label_annotator.astype(np.int32),
        cell=cell.astype(np.int32),
        cell_start=_starts(size),
        cell_item=cell_item,
        cell_pool=cell_pool,
        item_start=_starts(np.bincount(cell_item, minlength=n_items)),
        annotator_pool=np.asarray(annotator_pool, dtype=np.int64),
        annotator_start=_starts(n_each),
        annotator_cell=cell[by_annotator].astype(np.int32),
        designs=_designs(table),
        annotator_designs=_designs(of_annotators),
        n_labels=table.sum(axis=0),
        n_cells=(table > 0).sum(axis=0).astype(np.float64),
    )


def _starts(sizes: npt.ArrayLike) -> Codes:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _designs(table: Floats) -> Designs:
    """Return the distinct rows of a table of numbers of labels (item, pool)."""
    labelled = table.any(axis=1)
    distinct, of_labelled, n_items = np.unique(
        table[labelled], axis=0, return_inverse=True, return_counts=True
    )
    of_item = np.full(len(table), -1)
    of_item[labelled] = of_labelled.ravel()
    order = np.argsort(distinct == 0, axis=1, kind="stable")  # pools with labels come first
    return Designs(
        of_item=of_item,
        n_items=n_items.astype(np.float64),
        n_pools=(distinct > 0).sum(axis=1),
        pool=order,
        n_labels=np.take_along_axis(distinct, order, axis=1),
    )


def longest(data: Crossed) -> int:
    """Return the largest number of labels of one item or one annotator."""
    of_items = np.diff(data.cell_start[data.item_start])
    of_annotators = np.diff(data.annotator_start)
    return int(max(of_items.max(initial=0), of_annotators.max(initial=0)))


HALF_NORMAL, HALF_T, EXPONENTIAL = 0.0, 1.0, 2.0
"""Codes of the priors of standard deviations, for compiled code."""


_NONE: Final = np.empty(0)


class Parameters(NamedTuple):
    """State of a chain; each sweep overwrites it."""

    mu: Floats  # (pool)
    sd_item: Floats  # (pool)
    sd_annotator: Floats  # (pool); 0 where annotators have no effects
    sd: Floats  # (1) or (pool): of the residual
    correlation: Floats  # (pool, pool): of an item's effects in the pools
    gap: Floats  # (label - 2): between neighbouring cutpoints of ordered labels
    item: Floats  # (cell)
    annotator: Floats  # (annotator)
    latent: Floats  # (label): latent numbers of ordered labels; for "gaussian", the labels
    coefficient: Floats = _NONE  # (term): of covariates


def correlations(par: Parameters) -> Floats | None:
    """Return the correlations of an item's effects between pools, None with one pool."""
    return par.correlation if len(par.mu) > 1 else None


class Priors(NamedTuple):
    """Priors; rows of standard deviations and gaps are (code of the form, scale, degrees)."""

    mu: Floats  # (pool, 2): mean and standard deviation
    least: Floats  # (pool): lower bound of the mean; used only for two labels
    sd_item: Floats  # (pool, 3)
    sd_annotator: Floats  # (pool, 3)
    sd: Floats  # (1 or pool, 3)
    gap: Floats  # (3)
    lkj: float  # 1: uniform over correlation matrices
    coefficient: Floats = _NONE.reshape(0, 2)  # (term, 2): mean and standard deviation


class Tuning(NamedTuple):
    """Widths of slices and typical values that a chain learns in the warm-up."""

    sd_item: Floats  # (pool): width of the slice of its logarithm
    sd_annotator: Floats  # (pool); empty where annotators have no effects
    sd: Floats  # (1 or pool); empty if it is fixed
    correlation: Floats  # (pool, pool)
    log_sd_item: Floats  # (pool): typical value
    log_sd_annotator: Floats  # (pool): typical value
    sweep: Floats  # (2): number of sweeps, and their number at the next update of paths
    rate: float  # Learning rate of these values; 0 after the warm-up


@inner
def log_scale_prior(x: float, prior: Floats) -> float:
    """Return the log prior density of a positive parameter, up to a constant."""
    form, z = prior[0], x / prior[1]
    if form == HALF_NORMAL:
        return -0.5 * z * z
    if form == HALF_T:
        return -0.5 * (prior[2] + 1.0) * math.log1p(z * z / prior[2])
    return -z


@inner
def cutpoints(gap: Floats) -> Floats:
    """Return cutpoints with these gaps and mean 0."""
    out = np.empty(len(gap) + 1)
    out[0] = 0.0
    total = 0.0
    for k in range(len(gap)):
        out[k + 1] = out[k] + gap[k]
        total += out[k + 1]
    mean = total / len(out)
    for k in range(len(out)):
        out[k] -= mean
    return out


_LEAST_SD = 1e-140
"""Smallest residual standard deviation: its square does not underflow."""


class ItemSums(NamedTuple):
    """Sums of labels less annotators' effects, on which the density of variances depends."""

    mean: Floats  # (cell)
    first: Floats  # (design, place): sums of cell means over the items of a design
    second: Floats  # (design, place, place): sums of products of cell means
    within: Floats  # (pool): squares of labels about the mean of their cell


class ItemRoom(NamedTuple):
    """Work space for the density of variances, and for draws of means and effects."""

    matrix: Floats
    inverse: Floats
    precision: Floats  # (pool, pool): of the means of the pools; then its Cholesky factor
    linear: Floats  # (pool)
    gain: Floats  # (design, place, place)
    root: Floats  # (design, place, place): Cholesky factor of the prior of an item's effects


class LabelSums(NamedTuple):
    """Sums of latent numbers (for "gaussian", of labels) over cells and over annotators."""

    cell: Floats
    annotator: Floats
    square: Floats  # (pool): of squares
    covariate: Floats = _NONE  # (pool, term): of covariates times latent numbers


def item_room(data: Crossed) -> tuple[ItemSums, ItemRoom]:
    """Allocate the sums and the work space."""
    n, p = data.designs.pool.shape
    sums = ItemSums(
        np.empty(len(data.cell_pool)), np.empty((n, p)), np.empty((n, p, p)), np.empty(p)
    )
    room = ItemRoom(
        np.empty((p, p)), np.empty((p, p)), np.empty((p, p)), np.empty(p), np.empty((n, p, p)),
        np.empty((n, p, p)),
    )  # fmt: skip
    return sums, room


def label_sums(data: Crossed, latent: Floats) -> LabelSums:
    """Sum latent numbers over cells and over annotators."""
    pool = data.cell_pool[data.cell]
    return LabelSums(
        np.bincount(data.cell, latent, len(data.cell_pool)),
        np.bincount(data.annotator, latent, len(data.annotator_pool)),
        np.bincount(pool, latent * latent, data.n_pools),
        np.zeros((data.n_pools, data.n_terms)),
    )


def sum_items(data: Crossed, sums: LabelSums, annotator: Floats, out: ItemSums) -> None:
    """Subtract annotators' effects from the labels, and sum the rest by design."""
    _sum_items(
        data.annotator, data.annotator_start, data.annotator_pool, data.cell_start, data.cell_pool,
        sums.cell, sums.annotator, sums.square, annotator, out.mean, out.within,
    )  # fmt: skip
    sum_designs(data.designs.of_item, data.item_start, out.mean, out.first, out.second)


@kernel
def _sum_items(
    label_annotator: Indices, annotator_start: Codes, annotator_pool: Codes, cell_start: Codes,
    cell_pool: Codes, cell_sum: Floats, annotator_sum: Floats, square: Floats, annotator: Floats,
    mean: Floats, within: Floats,
) -> None:  # fmt: skip
    for p in range(len(within)):
        within[p] = square[p]
    for j in range(len(annotator)):
        n = annotator_start[j + 1] - annotator_start[j]
        within[annotator_pool[j]] += annotator[j] * (n * annotator[j] - 2.0 * annotator_sum[j])
    for c in range(len(mean)):
        total = cell_sum[c]
        for n in range(cell_start[c], cell_start[c + 1]):
            total -= annotator[label_annotator[n]]
        mean[c] = total / (cell_start[c + 1] - cell_start[c])
        within[cell_pool[c]] -= total * mean[c]


@kernel
def sum_designs(
    of_item: Codes, item_start: Codes, mean: Floats, first: Floats, second: Floats
) -> None:
    """Sum means of cells, and their products, by design."""
    for d in range(first.shape[0]):
        for k in range(first.shape[1]):
            first[d, k] = 0.0
            for other in range(first.shape[1]):
                second[d, k, other] = 0.0
    for i in range(len(of_item)):
        d, start = of_item[i], item_start[i]
        for c in range(start, item_start[i + 1]):
            first[d, c - start] += mean[c]
            for other in range(start, c + 1):
                second[d, c - start, other - start] += mean[c] * mean[other]


@inner
def residual_sd(sd: Floats, pool: int) -> float:
    """Return the residual standard deviation of a pool."""
    return sd[pool if len(sd) > 1 else 0]


@inner
def log_within(n_labels: Floats, n_means: Floats, sd: Floats, within: Floats) -> float:
    """Return the log density of labels about the means of their groups, up to a constant."""
    total = 0.0
    for p in range(len(within)):
        rest = residual_sd(sd, p)
        if rest < _LEAST_SD:
            return -np.inf
        total -= (n_labels[p] - n_means[p]) * math.log(rest)
        total -= 0.5 * max(within[p], 0.0) / (rest * rest)
    return total
