"""Concordance and weighted reliability of each two annotators, as functions of sums over items."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus.dims import ANNOTATOR, ITEM, other
from dissensus.errors import AnnotationError, ArgumentError
from dissensus.kernels.labels import MOST
from dissensus.kernels.reliability import Pairs, both_right, right_by_pair
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.voices import pair_blocks
from dissensus.statistics._accuracies import Accuracies
from dissensus.statistics._confident import Confident
from dissensus.statistics._majority_credit import Credit
from dissensus.statistics._reliability_sums import (
    Prepared,
    Reliability,
    Total,
    anew,
    rows_paired,
    sums_of,
)
from dissensus.statistics._sums import Matrix, Sums, compact

NEVER_MET: Final = "no item has labels of both annotators"
FEWER: Final = "Pass the annotations of fewer annotators or items"

_CELLS: Final = 50_000_000
"""Numbers in the result: 0.4 gigabytes, and as many again on the way."""


def sums_by_pair(what: Reliability, annotations: xr.Dataset, attrs: dict[str, Any]) -> Sums:
    """Prepare it for each two annotators, the mean over the items both of them labelled.

    Raises
    ------
    AnnotationError
        If the pairs are more than memory holds.
    ArgumentError
        If the result is.
    """
    names = annotations[ANNOTATOR].to_numpy()
    n = len(names)
    n_draws = len(what.competence.values) if isinstance(what.competence, Accuracies) else 1
    if n_draws * n * n > _CELLS:
        raise ArgumentError(
            "per_pair",
            expected=f"up to {_CELLS:,} numbers: pairs of annotators, times draws of accuracies",
            found=f"{n:,} annotators and {n_draws:,} draws, {n_draws * n * n:,} numbers",
            hint="Thin the draws, or pass the annotations of fewer annotators",
        )
    met = _met(what.genuine.confident, n)
    parts, total = _from_weights(what, met) if _needs_weights(what) else _from_sums(what, met)
    prepared = Prepared(
        met.together, parts, total, NEVER_MET,
        dims=(ANNOTATOR, other(ANNOTATOR)),
        coords={ANNOTATOR: names, other(ANNOTATOR): names},
        called=np.array([f"{one} and {two}" for one, two in names[np.stack(met.who, axis=1)]]),
        spread=met.spread, lay_out=met.lay_out,
    )  # fmt: skip
    return sums_of(what, annotations[ITEM].to_numpy(), attrs, prepared)


class _Met(NamedTuple):
    """Pairs of annotators who labelled the same item."""

    n: int
    """How many annotators there are."""
    key: Ints
    """(pair): the one, who comes first, times n, plus the other; rising."""
    together: Matrix
    """(item, pair): 1 where both labelled it."""

    @property
    def who(self) -> tuple[Ints, Ints]:
        """(pair), (pair): the one and the other."""
        one, two = np.divmod(self.key, self.n)
        return one, two

    def column(self, said: Confident, pairs: Pairs) -> Ints:
        """Return the place of each pair of rows among the pairs of annotators."""
        key = said.annotator[pairs.left] * self.n + said.annotator[pairs.right]
        return np.searchsorted(self.key, key).astype(np.int64)

    def spread(self, found: Floats) -> Floats:
        """Bring sums to all pairs, also of annotators who never met: (n, one before other)."""
        square = np.zeros((len(found), self.n * self.n))
        square[:, self.key] = found
        one, two = np.triu_indices(self.n, 1)
        return square[:, one * self.n + two]

    def lay_out(self, found: Floats) -> Floats:
        """Write each pair's value twice: (n, annotator, annotator_); nobody is his own other."""
        square = np.full((len(found), self.n, self.n), np.nan)
        one, two = np.triu_indices(self.n, 1)
        square[:, one, two] = square[:, two, one] = found
        return square


def _met(said: Confident, n: int) -> _Met:
    """Find who met whom on which item."""
    if said.pairs.sum() > MOST:
        raise AnnotationError(
            "annotations",
            expected=f"up to {MOST:,} pairs of annotators of an item, with per_pair=True",
            found=f"{int(said.pairs.sum()):,}",
            hint=FEWER,
        )
    # Once for each annotator of an item, however many labels he gave it.
    first = np.r_[True, said.rows.own[:-1] == np.arange(1, len(said.said))]
    keys: list[Ints] = [np.zeros(0, dtype=np.int64)]
    items: list[Ints] = [np.zeros(0, dtype=np.int64)]
    for left, right in pair_blocks(said.rows):
        once = first[left] & first[right]
        keys.append(said.annotator[left[once]] * n + said.annotator[right[once]])
        items.append(said.item[left[once]])
    key, column = np.unique(np.concatenate(keys), return_inverse=True)
    where = np.concatenate(items), column
    shape = (len(said.rows.voices), len(key))
    together = sparse.csr_array((np.ones(len(column)), where), shape=shape)
    return _Met(n, key, compact(together))


def _needs_weights(what: Reliability) -> bool:
    """Whether sums of pairs will not do: guesses go with the weights, or accuracies with items."""
    by_item = isinstance(what.competence, Accuracies) and not (
        what.competence.by_annotator or what.competence.common
    )
    return what.genuine.guesses.moves or by_item


def _agreeing(what: Reliability) -> Pairs:
    """List the pairs of rows that agree; each counts what it would in an item of its own."""
    said, pairs = what.genuine.confident, rows_paired(what, FEWER)
    return pairs._replace(amount=pairs.amount * said.pairs[said.item[pairs.left]])


def _from_weights(what: Reliability, met: _Met) -> tuple[tuple[Matrix, ...], Total]:
    """Go through the pairs of rows for each set of weights."""
    pairs = _agreeing(what)
    column = met.column(what.genuine.confident, pairs)
    return anew(what, pairs, partial(right_by_pair, column=column, n_columns=len(met.key)))


def _from_sums(what: Reliability, met: _Met) -> tuple[tuple[Matrix, ...], Total]:
    """Sum what each pair of annotators agrees on."""
    said, pairs = what.genuine.confident, _agreeing(what)
    where = said.item[pairs.left], met.column(said, pairs)
    agreed = sparse.csr_array((pairs.amount, where), shape=met.together.shape)
    credit = what.competence if isinstance(what.competence, Credit) else None
    n_pairs, who = len(met.key), met.who

    def total(totals: Floats, which: Ints, draw: Ints) -> Floats:
        amount = totals[which, :n_pairs]
        if what.competence is None:
            return amount
        accuracy = what.given() if credit is None else credit.under(totals[:, n_pairs:])
        if accuracy.shape[1] == 1:  # one number for all
            accuracy = np.broadcast_to(accuracy, (len(accuracy), met.n))
        one, two = (accuracy[:, each].ravel() for each in who)
        right = both_right(one, two, what.errors).reshape(len(accuracy), n_pairs)
        both = right[draw if credit is None else which]
        # Who never agree need not be able to: one always right, the other never.
        return np.where(amount > 0.0, amount * both, 0.0)

    return (compact(agreed), *(() if credit is None else credit.parts())), total
