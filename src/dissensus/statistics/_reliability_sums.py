"""Concordance and weighted reliability of each two annotators, as functions of sums over items.

Concordance and weighted reliability as functions of sums over items.
Where chance is fixed, what each pair of annotators (or all of them) agree on is a sum over items.
Where chance is how often labels were given, it goes with the weights, and confidence with it; and
accuracies of annotators on items belong to no pair of annotators. Then the sums are the weights
themselves, and the pairs are gone through anew for each set of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
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
    right_by_pair,
    right_under_weights,
)
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.kernels.voices import pair_blocks
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._majority_credit import Credit
from dissensus.statistics._reliability import ONE_FOR_ALL, Confident, Genuine
from dissensus.statistics._sums import Doubts, Matrix, Sums, compact
from dissensus.statistics._truth import Accuracies

CONTRADICTION: Final = (
    "two annotators agree of whom one is always right and the other never; accuracies just above 0 "
    "and below 1 have no such trouble"
)
NO_ERRORS: Final = "there is only one label to give, so that nobody can be wrong"
ALONE: Final = "fewer than two annotators"

Total = Callable[[Floats, Ints, Ints], Floats]
"""From totals (set of weights, sum), a set and a draw of accuracies (n), (n) to sums (n), or to
those of each two annotators (n, pair)."""
Under = Callable[..., Floats]
"""As `right_under_weights`."""


@dataclass(frozen=True)
class Reliability:
    """What to add up over pairs."""

    name: str
    genuine: Genuine
    among: Flags | None = None
    """(row): the rows whose pairs count, if not all do."""
    competence: Accuracies | Credit | None = None
    """How often annotators are right; None: always."""
    errors: float = 1.0
    """Ways to be wrong together; NaN if there is none."""

    @property
    def draws(self) -> Accuracies | None:
        """The accuracies, if they have draws."""
        found = self.competence
        return found if isinstance(found, Accuracies) and found.coords else None

    @property
    def why(self) -> str:
        """Why it may be undefined where there are pairs."""
        return NO_ERRORS if np.isnan(self.errors) else CONTRADICTION

    def given(self) -> Floats:
        """Return accuracies as numbers (draw, cell); those against the majority of all items."""
        if isinstance(self.competence, Accuracies):
            return self.competence.values
        if isinstance(self.competence, Credit):
            return self.competence.accuracy()
        return np.ones((1, 1))

    def cell(self) -> Ints:
        """Return which number is a row's (row)."""
        if isinstance(self.competence, Accuracies):
            return self.competence.cell
        if isinstance(self.competence, Credit):
            return self.genuine.confident.annotator
        return np.zeros(len(self.genuine.confident.said), dtype=np.int64)

    def common(self) -> Floats | None:
        """Return how probably any two are right (draw), if all annotators are alike."""
        if self.competence is None:
            return np.ones(1)
        if isinstance(self.competence, Accuracies) and self.competence.common:
            each = self.competence.values[:, 0]
            return both_right(each, each, self.errors)
        return None


def by_item(what: Reliability, items: npt.NDArray[Any], attrs: dict[str, Any]) -> xr.DataArray:
    """Return each item's own value; NaN where fewer than two annotators spoke, with a warning."""
    common = what.common()
    if common is not None:
        found = common[:, None] * what.genuine.concordance(what.among)
    else:
        pairs = what.genuine.pairs(what.among, meant=True)
        found = right_by_item(pairs, what.given(), what.cell(), what.errors)
    doubts = Doubts()
    unsound = np.isnan(found)
    found = doubts.where(unsound, np.nan_to_num(found), what.why)
    alone = np.broadcast_to(what.genuine.paired == 0, found.shape)
    found = doubts.where(alone, found, ALONE)
    doubts.say(what.name, draws=False, stacklevel=4)
    coords = {} if what.draws is None else what.draws.coords
    shape = () if what.draws is None else what.draws.shape
    return xr.DataArray(
        found.reshape(*shape, len(items)),
        dims=(*coords, ITEM),
        coords={**coords, ITEM: items},
        name=what.name,
        attrs={"better": "higher"} | attrs,
    )


@dataclass(frozen=True)
class Prepared:
    """Sums over items, what their totals are divided by, and how the quotients are laid out."""

    below: Matrix
    """(item) or (item, pair): 1 where a pair could agree."""
    parts: tuple[Matrix, ...]
    total: Total
    why: str
    """Why there may be nothing to divide by."""
    dims: tuple[str, ...] = ()
    coords: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    called: npt.NDArray[Any] | None = None
    """What a pair is called."""
    spread: Callable[[Floats], Floats] = lambda sums: sums
    """To what is divided, from the sums there are."""
    lay_out: Callable[[Floats], Floats] = lambda found: found
    """From quotients to the result's own dims."""

    def divisor(self, totals: Floats) -> Floats:
        """Return the first of the totals: (n), or (n, pair)."""
        return totals[:, 0] if self.below.ndim == 1 else totals[:, : self.width]

    @property
    def width(self) -> int:
        """How many of the totals are there to divide by."""
        return int(self.bearing.shape[1])

    @property
    def bearing(self) -> Matrix:
        """Return what each value rests on: (item, 1), or (item, pair)."""
        flat = isinstance(self.below, np.ndarray) and self.below.ndim == 1
        return np.asarray(self.below)[:, None] if flat else self.below


def sums_of(
    what: Reliability,
    items: npt.NDArray[Any],
    attrs: dict[str, Any],
    prepared: Prepared | None = None,
) -> Sums:
    """Prepare it as a function of sums over items: of all pairs together, unless they are kept."""
    made = _together(what) if prepared is None else prepared
    draws = what.draws
    shape = () if draws is None else draws.shape
    coords = {} if draws is None else draws.coords
    dims = (*coords, *made.dims)
    n = len(what.competence.values) if isinstance(what.competence, Accuracies) else 1

    def value(totals: Floats, which: Ints, draw: Ints, doubts: Doubts) -> Floats:
        found = made.spread(made.total(totals[:, made.width :], which, draw))
        unsound = np.isnan(found)
        below = made.spread(made.divisor(totals)[which])
        found = doubts.divided(np.nan_to_num(found), below, made.why)
        return made.lay_out(doubts.where(unsound, found, what.why))

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        which, draw = np.divmod(np.arange(len(totals) * n), n)
        found = value(totals, which, draw, doubts)
        return found.reshape(len(totals), *shape, *found.shape[1:])

    def level(totals: Floats, which: Ints, draw: Ints) -> Floats:
        found = value(totals, which, draw, Doubts()).reshape(len(which), -1)
        known = ~np.isnan(found)
        return np.nansum(found, axis=1) / np.maximum(known.sum(axis=1), 1)

    def one_of_draws(
        own: Floats, sets: Iterable[Floats], rng: np.random.Generator
    ) -> Callable[[Floats, Doubts], Floats]:
        by_draw = level(own, np.zeros(n, dtype=np.int64), np.arange(n))
        middle = np.argsort(by_draw)[n // 2]
        by_set = [level(one, np.arange(len(one)), np.full(len(one), middle)) for one in sets]
        order = iter(matched(by_draw, np.concatenate(by_set), rng).tolist())
        return lambda totals, doubts: value(
            totals, np.arange(len(totals)), np.array([*islice(order, len(totals))]), doubts
        )

    return Sums(
        what.name,
        (made.below, *made.parts),
        finish,
        items,
        {what.name: dims} if dims else {},
        {**coords, **made.coords},
        attrs,
        bearing=made.bearing,
        called=made.called,
        one_of_draws=None if draws is None else one_of_draws,
    )


def _together(what: Reliability) -> Prepared:
    """Prepare the sums of all pairs of annotators."""
    return Prepared(what.genuine.paired, *_prepared(what), NO_PAIRS)


def _prepared(what: Reliability) -> tuple[tuple[Matrix, ...], Total]:
    """Choose the sums: of items, of pairs of annotators, or the weights themselves."""
    if what.genuine.guesses.moves:
        return anew(what, rows_paired(what), right_under_weights)
    common = what.common()
    if common is not None:
        return (what.genuine.concordance(what.among),), (
            lambda totals, which, draw: totals[which, 0] * common[draw]
        )
    if isinstance(what.competence, Accuracies) and not what.competence.by_annotator:
        return anew(what, rows_paired(what), right_under_weights)
    return _by_annotators(what)


def _by_annotators(what: Reliability) -> tuple[tuple[Matrix, ...], Total]:
    """Sum what each pair of annotators agrees on."""
    said, pairs = what.genuine.confident, what.genuine.pairs(what.among, meant=True)
    n = 1 + int(said.annotator.max())
    one, two = said.annotator[pairs.left], said.annotator[pairs.right]
    key, column = np.unique(one * n + two, return_inverse=True)
    left, right = np.divmod(key, n)
    shape = (len(said.rows.voices), len(key))
    agreed = sparse.csr_array((pairs.amount, (said.item[pairs.left], column)), shape=shape)
    credit = what.competence if isinstance(what.competence, Credit) else None

    def total(totals: Floats, which: Ints, draw: Ints) -> Floats:
        accuracy = what.given() if credit is None else credit.under(totals[:, len(key) :])
        sums = np.ascontiguousarray(totals[:, : len(key)])
        how = which if credit is not None else draw
        return right_by_annotators(sums, left, right, accuracy, which, how, what.errors)

    return (compact(agreed), *(() if credit is None else credit.parts())), total


def rows_paired(what: Reliability, hint: str = ONE_FOR_ALL) -> Pairs:
    """List the pairs of rows that agree, with chance taken off unless it goes with the weights."""
    return what.genuine.pairs(what.among, meant=not what.genuine.guesses.moves, hint=hint)


def anew(what: Reliability, pairs: Pairs, under: Under) -> tuple[tuple[Matrix, ...], Total]:
    """Keep the weights of items, and go through the pairs for each set of them."""
    genuine, moves = what.genuine, what.genuine.guesses.moves
    said = genuine.confident
    confidence = said.confidence if moves else np.ones(len(said.said))
    n_items, n_labels = len(said.rows.voices), said.n_said
    parts: tuple[Matrix, ...] = (sparse.eye_array(n_items, format="csr"),)
    if moves:
        cells = (said.rows.share, (said.item, said.said))
        parts += (compact(sparse.csr_array(cells, shape=(n_items, n_labels))),)
    credit = what.competence if isinstance(what.competence, Credit) else None
    parts += () if credit is None else credit.parts()

    def total(totals: Floats, which: Ints, draw: Ints) -> Floats:
        weights = np.ascontiguousarray(totals[:, :n_items])
        chance, end = np.repeat(genuine.guesses.share[None], len(totals), axis=0), n_items
        if moves:
            end += n_labels
            amount = totals[:, n_items:end]
            chance = amount / amount.sum(axis=1, keepdims=True)
        accuracy = what.given() if credit is None else credit.under(totals[:, end:])
        return under(
            pairs, confidence, said.said, chance, weights, accuracy, what.cell(), which,
            draw if credit is None else which, what.errors,
        )  # fmt: skip

    return parts, total


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
