"""Concordance and weighted reliability as functions of sums over items.

The agreement of a pair of annotators, and of all pairs, is a weighted sum over items. There are two
exceptions. If chance is the frequency of labels in the data, it depends on the weights, and so does
the agreement of each pair of labels. If accuracies are by item, they differ between the items of a
pair of annotators. In both cases the weights of items are used as the sums, and the agreement of
all pairs is computed for each set of weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus.dims import ANNOTATOR, ITEM, other
from dissensus.errors import AnnotationError, ArgumentError
from dissensus.kernels.grouped import matched
from dissensus.kernels.labels import MOST
from dissensus.kernels.reliability import (
    Pairs,
    both_right,
    right_by_annotators,
    right_by_item,
    right_under_weights,
)
from dissensus.kernels.statements import pair_blocks
from dissensus.kernels.types import Flags, Floats, Ints, Names
from dissensus.statistics._accuracies import Accuracies
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._reliability import ONE_FOR_ALL, Genuine, SureLabels
from dissensus.statistics._sums import Matrix, Sums, Undefined, compact, indicator

CONTRADICTION: Final = (
    "two annotators agree although one has accuracy 1 and the other 0; give accuracies above 0 and "
    "below 1"
)
NO_ERRORS: Final = "the label space has only one label, and no label can be wrong"
ONE_ANNOTATOR: Final = "fewer than two annotators"
NO_COMMON_ITEM: Final = "no item has labels of both annotators"
FEWER: Final = "Pass the annotations of fewer annotators or items"

CELLS: Final = 50_000_000
"""Maximum number of values by pair. They need .4 GB, and .8 GB while they are computed."""

Total = Callable[[Floats, Ints, Ints], Floats]
"""Takes totals (set of weights, sum), and for each of n results the index of its set of weights and
of its draw of accuracies. Returns sums (n), or sums for each pair of annotators (n, pair)."""
Kernel = Callable[..., Floats]
"""A function like `right_under_weights`."""


@dataclass(frozen=True)
class Reliability:
    """The quantity to sum over pairs of annotators."""

    name: str
    genuine: Genuine
    attrs: dict[str, Any]
    accuracy: Accuracies
    """The probability that an annotator is right."""
    among: Flags | None = None
    """(row): whether pairs with the row count. If None, all pairs count."""
    errors: float = 1.0
    """Number of equally frequent wrong labels; NaN if no label can be wrong."""

    @property
    def reason(self) -> str:
        """The reason why a value is undefined although there are pairs."""
        return NO_ERRORS if np.isnan(self.errors) else CONTRADICTION

    def common(self) -> Floats | None:
        """Return the probability (draw) that two annotators who agree are right.

        None, unless all annotators have the same accuracy.
        """
        if not self.accuracy.common:
            return None
        each = self.accuracy.values[:, 0]
        return both_right(each, each, self.errors)

    def pairs(self, hint: str = ONE_FOR_ALL) -> Pairs:
        """List the pairs of rows that agree.

        Amounts are corrected for chance, unless chance depends on the weights.
        """
        return self.genuine.pairs(self.among, not_guessed=not self.genuine.chance.varies, hint=hint)


def by_item(reliability: Reliability, items: Names) -> xr.DataArray:
    """Return the value of each item: NaN, with a warning, if it has fewer than two annotators."""
    common = reliability.common()
    if common is not None:
        values = common[:, None] * reliability.genuine.concordance(reliability.among)
    else:
        pairs = reliability.genuine.pairs(reliability.among, not_guessed=True)
        accuracy = reliability.accuracy
        values = right_by_item(*pairs, accuracy.values, accuracy.cell, reliability.errors)
    undefined = Undefined()
    values = undefined.where(np.isnan(values), np.nan_to_num(values), reliability.reason)
    unpaired = np.broadcast_to(reliability.genuine.paired == 0, values.shape)
    values = undefined.where(unpaired, values, ONE_ANNOTATOR)
    undefined.warn(reliability.name)
    coords = reliability.accuracy.coords
    return xr.DataArray(
        values.reshape(*reliability.accuracy.shape, len(items)),
        dims=(*coords, ITEM),
        coords={**coords, ITEM: items},
        name=reliability.name,
        attrs={"better": "higher"} | reliability.attrs,
    )


@dataclass(frozen=True)
class Prepared:
    """Sums over items, their divisors, and the layout of the quotients."""

    below: Matrix
    """(item, 1): 1 if the item has two or more annotators. Or (item, pair): 1 if both annotators
    labelled the item."""
    parts: tuple[Matrix, ...]
    total: Total
    reason: str
    """The reason why a value is undefined if its divisor is 0."""
    lay_out: Callable[[Floats], Floats]
    """Returns quotients with the dims of the result."""
    dims: tuple[str, ...] = ()
    coords: Mapping[str, Names] = field(default_factory=dict)
    pair_names: Names | None = None
    spread: Callable[[Floats], Floats] = lambda sums: sums
    """Returns values of all pairs of annotators: 0 for pairs without a common item."""


def sums_of(reliability: Reliability, annotations: xr.Dataset, *, per_pair: bool) -> Sums:
    """Return the sums for the mean over all pairs of annotators, or for the mean of each pair."""
    prepared = _by_pair(reliability, annotations) if per_pair else _together(reliability)
    coords, shape = reliability.accuracy.coords, reliability.accuracy.shape
    dims = (*coords, *prepared.dims)
    n, width = len(reliability.accuracy.values), prepared.below.shape[1]

    def value(totals: Floats, of_set: Ints, draw: Ints, undefined: Undefined) -> Floats:
        sums = prepared.spread(prepared.total(totals[:, width:], of_set, draw))
        unsound = np.isnan(sums)
        below = prepared.spread(totals[of_set, :width])
        values = undefined.divide(np.nan_to_num(sums), below, prepared.reason)
        return prepared.lay_out(undefined.where(unsound, values, reliability.reason))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        of_set, draw = np.divmod(np.arange(len(totals) * n), n)
        values = value(totals, of_set, draw, undefined)
        return values.reshape(len(totals), *shape, *values.shape[1:])

    def level(totals: Floats, of_set: Ints, draw: Ints) -> Floats:
        values = value(totals, of_set, draw, Undefined()).reshape(len(of_set), -1)
        known = ~np.isnan(values)
        return np.nansum(values, axis=1) / np.maximum(known.sum(axis=1), 1)

    def one_of_draws(
        own: Floats, sets: Iterable[Floats], rng: np.random.Generator
    ) -> Callable[[Floats, Undefined], Floats]:
        by_draw = level(own, np.zeros(n, dtype=np.int64), np.arange(n))
        middle = np.argsort(by_draw)[n // 2]
        by_set = [level(each, np.arange(len(each)), np.full(len(each), middle)) for each in sets]
        order = iter(matched(by_draw, np.concatenate(by_set), rng).tolist())
        return lambda totals, undefined: value(
            totals, np.arange(len(totals)), np.array([*islice(order, len(totals))]), undefined
        )

    return Sums(
        reliability.name,
        (prepared.below, *prepared.parts),
        finish,
        annotations[ITEM].to_numpy(),
        {reliability.name: dims} if dims else {},
        {**coords, **prepared.coords},
        reliability.attrs,
        bearing=prepared.below,
        value_names=prepared.pair_names,
        one_of_draws=one_of_draws if coords else None,
    )


def _needs_weights(reliability: Reliability) -> bool:
    """Return whether chance depends on the weights, or accuracies on the item."""
    accuracy = reliability.accuracy
    return reliability.genuine.chance.varies or not (accuracy.by_annotator or accuracy.common)


def _by_weights(
    reliability: Reliability, pairs: Pairs, kernel: Kernel
) -> tuple[tuple[Matrix, ...], Total]:
    """Return weights of items as sums, and a `Total` that computes all pairs for given weights."""
    chance, labels = reliability.genuine.chance, reliability.genuine.labels
    accuracy = reliability.accuracy
    confidence = labels.confidence if chance.varies else np.ones(len(labels.code))
    n_items, n_labels = len(labels.rows.n_annotators), labels.n_labels
    parts: tuple[Matrix, ...] = (sparse.eye_array(n_items, format="csr"),)
    if chance.varies:
        cells = (labels.rows.share, (labels.item, labels.code))
        parts += (compact(sparse.csr_array(cells, shape=(n_items, n_labels))),)
    parts += accuracy.sums

    def total(totals: Floats, of_set: Ints, draw: Ints) -> Floats:
        weights = np.ascontiguousarray(totals[:, :n_items])
        shares, end = np.repeat(chance.share[None], len(totals), axis=0), n_items
        if chance.varies:
            end += n_labels
            amount = totals[:, n_items:end]
            shares = amount / amount.sum(axis=1, keepdims=True)
        return kernel(
            pairs,
            confidence,
            labels.code,
            shares,
            weights,
            accuracy.under(totals[:, end:]),
            accuracy.cell,
            of_set,
            of_set if accuracy.sums else draw,
            reliability.errors,
        )

    return parts, total


# The mean over all pairs of annotators.


def _together(reliability: Reliability) -> Prepared:
    genuine = reliability.genuine
    if _needs_weights(reliability):
        parts, total = _by_weights(reliability, reliability.pairs(), right_under_weights)
    elif reliability.accuracy.common:
        parts, total = _in_common(reliability)
    else:
        parts, total = _by_annotators(reliability)

    def column(totals: Floats, of_set: Ints, draw: Ints) -> Floats:
        return total(totals, of_set, draw)[:, None]

    return Prepared(
        genuine.paired[:, None], parts, column, NO_PAIRS, lay_out=lambda values: values[:, 0]
    )


def _in_common(reliability: Reliability) -> tuple[tuple[Matrix, ...], Total]:
    """Return concordance as sums, and a `Total` that multiplies it by P(both are right)."""
    right = reliability.common()
    assert right is not None

    def total(totals: Floats, of_set: Ints, draw: Ints) -> Floats:
        return totals[of_set, 0] * right[draw]

    return (reliability.genuine.concordance(reliability.among),), total


def _by_annotators(reliability: Reliability) -> tuple[tuple[Matrix, ...], Total]:
    """Return the agreement of each pair of annotators as sums, and a `Total` over all pairs."""
    labels, pairs = reliability.genuine.labels, reliability.pairs()
    accuracy = reliability.accuracy
    n = 1 + int(labels.annotator.max())
    key, column = np.unique(
        labels.annotator[pairs.left] * n + labels.annotator[pairs.right], return_inverse=True
    )
    left, right = np.divmod(key, n)
    shape = (len(labels.rows.n_annotators), len(key))
    agreed = sparse.csr_array((pairs.amount, (labels.item[pairs.left], column)), shape=shape)

    def total(totals: Floats, of_set: Ints, draw: Ints) -> Floats:
        values = accuracy.under(totals[:, len(key) :])
        sums = np.ascontiguousarray(totals[:, : len(key)])
        row = of_set if accuracy.sums else draw
        return right_by_annotators(sums, left, right, values, of_set, row, reliability.errors)

    return (compact(agreed), *accuracy.sums), total


# Each pair of annotators, over the items that both labelled.


def _by_pair(reliability: Reliability, annotations: xr.Dataset) -> Prepared:
    names = annotations[ANNOTATOR].to_numpy()
    n = len(names)
    n_draws = len(reliability.accuracy.values)
    if n_draws * n * n > CELLS:
        raise ArgumentError(
            "per_pair",
            expected=f"at most {CELLS:,} numbers: pairs of annotators, times draws of accuracies",
            found=f"{n:,} annotators and {n_draws:,} draws, {n_draws * n * n:,} numbers",
            hint="Thin the draws, or pass the annotations of fewer annotators",
        )
    labels = reliability.genuine.labels
    common_pairs = _common_pairs(labels, n)
    pairs = reliability.pairs(FEWER)
    # Undo the division by the item's number of pairs: each pair of annotators has its own mean.
    pairs = pairs._replace(amount=pairs.amount * labels.pairs[labels.item[pairs.left]])
    column = common_pairs.column(labels, pairs)
    if _needs_weights(reliability):
        kernel = partial(right_under_weights, column=column, n_columns=len(common_pairs.key))
        parts, total = _by_weights(reliability, pairs, kernel)
    else:
        parts, total = _sums_by_pair(reliability, common_pairs, pairs, column)
    return Prepared(
        common_pairs.together,
        parts,
        total,
        NO_COMMON_ITEM,
        lay_out=common_pairs.lay_out,
        dims=(ANNOTATOR, other(ANNOTATOR)),
        coords={ANNOTATOR: names, other(ANNOTATOR): names},
        pair_names=np.array(
            [f"{a} and {b}" for a, b in names[np.stack(common_pairs.annotators, axis=1)]]
        ),
        spread=common_pairs.spread,
    )


class _CommonPairs(NamedTuple):
    """Pairs of annotators who labelled at least one item in common."""

    n: int
    """The number of annotators."""
    key: Ints
    """(pair): the first annotator times n, plus the second; ascending."""
    together: Matrix
    """(item, pair): 1 where both annotators labelled the item."""

    @property
    def annotators(self) -> tuple[Ints, Ints]:
        """(pair), (pair): codes of the first and of the second annotator."""
        first, second = np.divmod(self.key, self.n)
        return first, second

    def column(self, labels: SureLabels, pairs: Pairs) -> Ints:
        """Return the place in `key` of the two annotators of each pair of rows."""
        key = labels.annotator[pairs.left] * self.n + labels.annotator[pairs.right]
        return np.searchsorted(self.key, key).astype(np.int64)

    def spread(self, values: Floats) -> Floats:
        """Return values for all pairs of annotators (n, pair): 0 for pairs without common items."""
        square = np.zeros((len(values), self.n * self.n))
        square[:, self.key] = values
        first, second = np.triu_indices(self.n, 1)
        return square[:, first * self.n + second]

    def lay_out(self, values: Floats) -> Floats:
        """Return (n, annotator, annotator_), symmetric, NaN on the diagonal."""
        square = np.full((len(values), self.n, self.n), np.nan)
        first, second = np.triu_indices(self.n, 1)
        square[:, first, second] = square[:, second, first] = values
        return square


def _common_pairs(labels: SureLabels, n: int) -> _CommonPairs:
    if labels.pairs.sum() > MOST:
        raise AnnotationError(
            "annotations",
            expected=f"at most {MOST:,} pairs of annotators of the same item, over all items, with "
            "per_pair=True",
            found=f"{int(labels.pairs.sum()):,}",
            hint=FEWER,
        )
    # If an annotator has several labels for an item, use the first, so that a pair counts once.
    first = np.r_[True, labels.rows.own[:-1] == np.arange(1, len(labels.code))]
    keys: list[Ints] = [np.zeros(0, dtype=np.int64)]
    items: list[Ints] = [np.zeros(0, dtype=np.int64)]
    for left, right in pair_blocks(labels.rows):
        once = first[left] & first[right]
        keys.append(labels.annotator[left[once]] * n + labels.annotator[right[once]])
        items.append(labels.item[left[once]])
    key, column = np.unique(np.concatenate(keys), return_inverse=True)
    together = indicator(np.concatenate(items), column, (len(labels.rows.n_annotators), len(key)))
    return _CommonPairs(n, key, together)


def _sums_by_pair(
    reliability: Reliability, common_pairs: _CommonPairs, pairs: Pairs, column: Ints
) -> tuple[tuple[Matrix, ...], Total]:
    """Return the agreement of each pair of annotators as sums, and a `Total` for each pair."""
    item = reliability.genuine.labels.item[pairs.left]
    agreed = sparse.csr_array((pairs.amount, (item, column)), shape=common_pairs.together.shape)
    n_pairs, accuracy = len(common_pairs.key), reliability.accuracy

    def total(totals: Floats, of_set: Ints, draw: Ints) -> Floats:
        amount = totals[of_set, :n_pairs]
        values = accuracy.under(totals[:, n_pairs:])
        if values.shape[1] == 1:  # one accuracy for all annotators
            values = np.broadcast_to(values, (len(values), common_pairs.n))
        first, second = (values[:, each].ravel() for each in common_pairs.annotators)
        right = both_right(first, second, reliability.errors).reshape(len(values), n_pairs)
        both = right[of_set if accuracy.sums else draw]
        # `both` is NaN for accuracies of 0 and 1, which must not affect pairs that never agree.
        return np.where(amount > 0.0, amount * both, 0.0)

    return (compact(agreed), *accuracy.sums), total
