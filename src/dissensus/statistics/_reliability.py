"""Rows that say what is known to be right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.known_labels import codes_of_all
from dissensus.data.rows import ranking_code
from dissensus.dims import ANNOTATION, ITEM, LABEL
from dissensus.errors import AnnotationError, ArgumentError, brief, shown
from dissensus.kernels.distances import Lists, rank_distance
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.labels import MOST
from dissensus.kernels.labels import slim_majority as is_slim
from dissensus.kernels.reliability import Pairs, agreeing, genuine
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.voices import Delta, pair_blocks
from dissensus.statistics._distances import Asked, Distance, called, check_range, table_of
from dissensus.statistics._pairwise import default_depth, rankings_of
from dissensus.statistics._read import labels_of, numbers_of, plain_label, real, rows_of

# What annotators said and how sure they were, in the order of items and annotators.


UNSAID: Final = "none given: 1 everywhere"
GIVEN: Final = "as given"
"""What attributes say of confidence."""


class Confident(NamedTuple):
    """Statements: labels, or whole rankings."""

    rows: Grouped
    item: Ints
    """(row, in the order of ``rows``, as all that follows): code of the item."""
    annotator: Ints
    """(row): code of the annotator."""
    said: Ints
    """(row): code of the label, or number; 0 for rankings."""
    confidence: Floats
    """(row): from 0 to 1; 1 where none was asked for."""
    labels: npt.NDArray[np.generic]
    """What codes stand for; of rankings the label space."""
    lists: Lists | None
    """The rankings, if these are rankings."""
    words: str
    """Where confidence is from."""

    @property
    def n_said(self) -> int:
        """How many different things can be said, by their codes."""
        return 1 if self.lists is not None else len(self.labels)

    @property
    def pairs(self) -> Floats:
        """(item): pairs of annotators."""
        return self.rows.voices * (self.rows.voices - 1.0) / 2.0

    @property
    def guessed(self) -> bool:
        """Whether it matters how probable a guess is: not if all are sure, or not sure at all."""
        return bool(((self.confidence > 0.0) & (self.confidence < 1.0)).any())


def confident(annotations: xr.Dataset) -> Confident:
    """Bring labels or rankings, and confidence, into the order of items and annotators.

    Raises
    ------
    AnnotationError
        If somebody gave an item two labels without ``trial=``, or labels of one ranking have
        different confidences.
    """
    n_items, lists = annotations.sizes[ITEM], None
    sure = np.ones(annotations.sizes[ANNOTATION])
    if "confidence" in annotations:
        sure = annotations["confidence"].to_numpy().astype(np.float64)
    annotator = annotations["annotator_code"].to_numpy().astype(np.int64)
    if annotations.attrs["kind"] == "ranking":
        rows, lists, labels = rankings_of(annotations, n_items)
        first = _first_rows(annotations, sure)
        sure, annotator, said = sure[first], annotator[first], np.zeros(len(first), dtype=np.int64)
    else:
        rows = rows_of(annotations)
        said, labels = labels_of(annotations)
    return Confident(
        rows=rows,
        item=np.repeat(np.arange(n_items), np.diff(rows.start)),
        annotator=annotator[rows.order],
        said=said.astype(np.int64, copy=False)[rows.order],
        confidence=sure[rows.order],
        labels=labels,
        lists=lists,
        words=GIVEN if "confidence" in annotations else UNSAID,
    )


def _first_rows(annotations: xr.Dataset, sure: Floats) -> Ints:
    """Return the first row of each ranking, or raise if its rows are not equally sure."""
    number = ranking_code(annotations)
    first = np.unique(number, return_index=True)[1]
    other = np.flatnonzero(sure != sure[first][number])
    if len(other):
        row = int(other[0])
        item = annotations[ITEM].to_numpy()[int(annotations["item_code"].to_numpy()[row])]
        raise AnnotationError(
            "confidence",
            where=f"row {row} (item {shown([item])})",
            expected="one confidence for all labels of a ranking: it is of the whole",
            found=f"{sure[first][number][row]} and {sure[row]}",
        )
    return first.astype(np.int64)


# Graded agreement: how close two statements are, from 1 for equal ones to 0 for the farthest.


KNOWN: Final = ("nominal", "squared", "absolute", "ranking")


class Closeness(NamedTuple):
    """How close statements are."""

    distance: str
    """What the distance is called."""
    farthest: float
    """The distance from which on two statements do not agree at all."""
    apart: Delta | None
    """From places of rows (pair), (pair) to distances; None: equal labels agree, others do not."""

    def of(self, left: Ints, right: Ints, said: Ints) -> Floats:
        """Return 1 - distance / farthest, 0 beyond that: (pair)."""
        if self.apart is None:
            return (said[left] == said[right]).astype(np.float64)
        apart = self.apart(left, right)
        return np.maximum(0.0, 1.0 - apart / self.farthest) if self.farthest else 1.0 * (apart == 0)


def closeness(
    annotations: xr.Dataset,
    confident: Confident,
    distance: Distance | None,
    max_distance: float | None,
) -> Closeness:
    """Prepare agreement as the arguments ask for it.

    Raises
    ------
    ArgumentError
        If there is no such distance, it does not suit the annotations, or ``max_distance`` is no
        positive number, or of no use.
    AnnotationError
        If labels are no numbers where the distance needs them.
    """
    ranked = annotations.attrs["kind"] == "ranking"
    default = "ranking" if ranked else "nominal"
    name = called(default if distance is None else distance, KNOWN)
    if ranked != (name == "ranking"):
        raise ArgumentError(
            "distance",
            expected='None or "ranking", of rankings' if ranked else "a distance of labels",
            found=brief(distance),
        )
    if name == "nominal":
        _check_farthest(max_distance, wanted=False)
        return Closeness(name, 1.0, None)
    _check_farthest(max_distance, wanted=True)
    apart, farthest = _measure(annotations, confident, distance, name, max_distance)
    return Closeness(name, farthest if max_distance is None else float(max_distance), apart)


def _check_farthest(max_distance: Any, *, wanted: bool) -> None:
    fits = max_distance is None or (wanted and 0 < real(max_distance) < np.inf)
    if not fits:
        raise ArgumentError(
            "max_distance",
            expected="a number above 0: the distance from which on labels do not agree at all"
            if wanted
            else "None, where labels agree or do not: only a distance= of numbers needs it",
            found=brief(max_distance),
        )


def _measure(
    annotations: xr.Dataset,
    confident: Confident,
    distance: Distance | None,
    name: str,
    max_distance: float | None,
) -> tuple[Delta, float]:
    """Return a distance, and the largest one there is."""
    if confident.lists is not None:
        lists, how = confident.lists, (len(confident.labels), default_depth(annotations))
        return lambda one, two: rank_distance(lists, lists, one, two, *how), 1.0
    said, labels = confident.said, confident.labels
    if callable(distance):
        if max_distance is not None:
            asked = Asked(distance, [plain_label(label) for label in labels])
            return lambda one, two: asked(said[one], said[two]), float(max_distance)
        table = table_of(labels, distance)
        return lambda one, two: table[said[one], said[two]], float(table.max())
    values = numbers_of(annotations)
    check_range(values, power=2 if name == "squared" else 1)
    given, space = values[confident.rows.order], _space(annotations, values)
    power = 2 if name == "squared" else 1
    farthest = float(space.max() - space.min()) ** power
    return lambda one, two: abs(given[one] - given[two]) ** power, farthest


def _space(annotations: xr.Dataset, values: Floats) -> Floats:
    """Return the numbers that could be given; on a continuous scale those that were."""
    if "value" in annotations:
        return values
    return annotations[LABEL].to_numpy().astype(np.float64)


# How probably somebody who guesses gives each label.


CHANCES: Final = ("uniform", "empirical")
EXPECTED: Final = "'uniform', 'empirical', a number above 0 up to 1, or a share for each label"
ROUNDING: Final = 1e-6
"""By how much shares of all labels may come to more than 1."""


class Guesses(NamedTuple):
    """Chance, as it was asked for."""

    name: str
    """"uniform", "empirical", "mapping", or "number"."""
    share: Floats
    """(label): how probable a guess is to be that label; of "empirical" with all items alike."""
    moves: bool
    """Whether weights over items change it, and that matters."""


def guesses(annotations: xr.Dataset, confident: Confident, chance: Any) -> Guesses:
    """Read what chance is taken to be.

    Raises
    ------
    ArgumentError
        If it is none of the words, no number and no share of each label, or none of these where
        only a number will do.
    """
    n = confident.n_said
    if isinstance(chance, Mapping | pd.Series) and not isinstance(chance, xr.Dataset | xr.DataTree):
        _check_counted(annotations, confident, "shares of labels", always=True)
        return Guesses("mapping", _mapped(confident, chance), moves=False)
    if isinstance(chance, str) and chance in CHANCES:
        _check_counted(annotations, confident, repr(chance), always=False)
        if chance == "uniform":
            return Guesses(chance, np.full(n, 1.0 / n), moves=False)
        amount = np.bincount(confident.said, confident.rows.share, n)
        return Guesses(chance, amount / amount.sum(), moves=confident.guessed)
    if not 0 < real(chance) <= 1:
        raise ArgumentError("chance", expected=EXPECTED, found=brief(chance))
    return Guesses("number", np.full(n, float(chance)), moves=False)


def _check_counted(
    annotations: xr.Dataset, confident: Confident, found: str, *, always: bool
) -> None:
    """Raise where there are no labels to count, if it matters how probable each is."""
    kind = annotations.attrs["kind"]
    if kind in ("nominal", "ordinal") or not (always or confident.guessed):
        return
    raise ArgumentError(
        "chance",
        expected="a number: how probably a guess would pass for what was said",
        found=f"{found}, with annotations of kind {kind!r}, which have no labels to count",
        hint="chance=1 takes confidence as it was given",
    )


def _mapped(confident: Confident, chance: Any) -> Floats:
    """Return shares in the order of the labels."""
    names, values = list(chance.keys()), list(chance.values if hasattr(chance, "iloc") else
                                              chance.values())  # fmt: skip
    share = np.array([real(value) for value in values])
    bad = np.flatnonzero(~((share >= 0) & (share <= 1)))
    if len(bad):
        raise ArgumentError(
            "chance",
            where=f"label {shown([names[bad[0]]])}",
            expected="a share from 0 to 1",
            found=brief(values[bad[0]]),
        )
    if share.sum() > 1 + ROUNDING:
        raise ArgumentError(
            "chance", expected="shares that come to 1 at most", found=f"{share.sum():.6g}"
        )
    used = np.unique(confident.said)
    place = _places(confident, names)
    found = np.where(place < 0, 0.0, share[place]) if len(share) else np.zeros(len(place))
    lacking = used[found[used] <= 0]
    if len(lacking):
        raise ArgumentError(
            "chance",
            expected="a share above 0 for every label that was given",
            found=f"none for {shown(list(confident.labels[lacking]))}",
        )
    return found


def _places(confident: Confident, names: list[Any]) -> Any:
    """Find each label among the names."""
    text = any(isinstance(name, str) for name in names)
    keys = np.array([str(name) for name in names] if text else names)
    if keys.ndim != 1 or pd.Index(keys).has_duplicates or keys.dtype.kind not in "biufUO":
        raise ArgumentError("chance", expected=EXPECTED, found=f"shares of {shown(names)}")
    if not len(keys):
        return np.full(len(confident.labels), -1)
    return tables.match(confident.labels, keys.astype(int) if keys.dtype.kind == "b" else keys)


# Genuine agreement of annotators by item: what concordance and weighted reliability share.


NO_SLIM: Final = 1.0
ONE_FOR_ALL: Final = "Pass one accuracy for all, or known labels (truth=): these need no list"


@dataclass(frozen=True)
class Genuine:
    """What of the annotations an agreement that is not by chance depends on."""

    confident: Confident
    close: Closeness
    guesses: Guesses
    slim_majority: float
    factor: Floats
    """(item): 1 over the number of pairs; times ``slim_majority``, where the majority is slim."""
    attrs: dict[str, Any]

    @property
    def paired(self) -> Floats:
        """(item): 1 where there are two annotators."""
        return (self.confident.rows.voices >= 2).astype(np.float64)

    def meant(self) -> Floats:
        """Return how probably each row was no guess (row), with all items alike."""
        said = self.confident.said
        return genuine(self.confident.confidence, self.guesses.share[said])

    def concordance(self, among: npt.NDArray[np.bool_] | None = None) -> Floats:
        r"""Return :math:`\sigma(x)` by item, of pairs of some rows only; 0 where there is none."""
        rows, said = self.confident.rows, self.confident.said
        amount = rows.share * self.meant() * (1.0 if among is None else among)
        if self.close.apart is None:
            return agreeing(rows, said, amount, self.confident.n_said) * self.factor
        total = np.zeros(len(rows.voices))
        for left, right in pair_blocks(rows):
            both = amount[left] * amount[right] * self.close.of(left, right, said)
            total += np.bincount(self.confident.item[left], both, len(total))
        return total * self.factor

    def pairs(
        self, among: npt.NDArray[np.bool_] | None = None, *, meant: bool, hint: str = ONE_FOR_ALL
    ) -> Pairs:
        """List the pairs that agree, with or without chance taken off what they count.

        Raises
        ------
        AnnotationError
            If they are more than memory holds.
        """
        rows, said, item = self.confident.rows, self.confident.said, self.confident.item
        amount = rows.share * (self.meant() if meant else 1.0) * (1.0 if among is None else among)
        kept, n = [], 0
        for left, right in pair_blocks(rows):
            both = amount[left] * amount[right] * self.close.of(left, right, said)
            both *= self.factor[item[left]]
            some = both > 0.0
            kept.append((left[some], right[some], both[some]))
            n += int(some.sum())
            if n > MOST:
                raise AnnotationError(
                    "annotations",
                    expected=f"up to {MOST:,} pairs of annotators who agree about an item",
                    found="more",
                    hint=hint,
                )
        left, right, both = (np.concatenate(part) for part in zip(*kept, strict=True))
        count = np.bincount(item[left], minlength=len(rows.voices))
        return Pairs(np.concatenate([[0], np.cumsum(count)]), left, right, both)


def genuine_agreement(
    annotations: xr.Dataset,
    *,
    chance: Any,
    distance: Distance | None,
    max_distance: Any,
    slim_majority: Any,
) -> Genuine:
    """Read annotations, and the settings of `dissensus.concordance`.

    Raises
    ------
    AnnotationError, ArgumentError
        As there.
    """
    said = confident(annotations)
    close = closeness(annotations, said, distance, max_distance)
    chances = guesses(annotations, said, chance)
    slim = _slim(annotations, slim_majority)
    factor = 1.0 / np.maximum(said.pairs, 1.0)
    if slim != NO_SLIM:
        factor = np.where(is_slim(said.rows, said.said, said.n_said), slim * factor, factor)
    attrs: dict[str, Any] = {
        "confidence": said.words,
        "chance": float(chance) if chances.name == "number" else chances.name,
        "distance": close.distance,
    }
    if close.apart is not None:
        attrs["max_distance"] = close.farthest
    if slim != NO_SLIM:
        attrs["slim_majority"] = slim
    return Genuine(said, close, chances, slim, factor, attrs)


def _slim(annotations: xr.Dataset, slim_majority: Any) -> float:
    value = real(slim_majority)
    if not 0 <= value <= 1:
        raise ArgumentError(
            "slim_majority", expected="a number from 0 to 1", found=brief(slim_majority)
        )
    kind = annotations.attrs["kind"]
    if value != NO_SLIM and kind not in ("nominal", "ordinal"):
        raise ArgumentError(
            "slim_majority",
            expected="1, where no label can lead",
            found=f"{value}, with annotations of kind {kind!r}",
        )
    return value


def right(annotations: xr.Dataset, confident: Confident, truth: Any) -> npt.NDArray[np.bool_]:
    """Return which rows say what is true (row, in the order of ``confident``).

    Raises
    ------
    ArgumentError
        If an item has no known label, or one that could not have been given; and for rankings.
    """
    if confident.lists is not None:
        raise ArgumentError(
            "truth",
            expected="None, of rankings: no two need be right in the same way",
            found=brief(truth),
            hint="Pass accuracy=",
        )
    items, closed = annotations[ITEM].to_numpy(), "value" not in annotations
    code = codes_of_all(truth, items, confident.labels, closed=closed)
    return np.asarray(code[confident.item] == confident.said)
