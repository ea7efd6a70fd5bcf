"""Genuine agreement (Cabitza et al. 2020): agreement corrected for chance by confidence.

The common part of `concordance` and `weighted_reliability`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.known_labels import codes_of_all
from dissensus.data.rows import ranking_code
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL
from dissensus.errors import AnnotationError, ArgumentError, brief, shown
from dissensus.kernels.distances import Lists, rank_distance
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.labels import MOST
from dissensus.kernels.labels import slim_majority as is_slim
from dissensus.kernels.reliability import Pairs, agreeing, genuine
from dissensus.kernels.statements import Delta, pair_blocks
from dissensus.kernels.types import Flags, Floats, Ints, Names
from dissensus.statistics._distances import (
    CallableDistance,
    Distance,
    check_range,
    distance_name,
    table_of,
)
from dissensus.statistics._pairwise import default_depth, rankings_of
from dissensus.statistics._read import (
    codes_in,
    labels_of,
    numbers_of,
    plain_labels,
    read,
    real,
    rows_of,
)

NO_CONFIDENCE: Final = "none given: 1 everywhere"
GIVEN: Final = "as given"
"""Values of the attribute ``confidence``."""

NO_SLIM: Final = 1.0
ONE_FOR_ALL: Final = "Pass one accuracy for all annotators, or known labels (truth=)"


class SureLabels(NamedTuple):
    """Labels (or whole rankings) with confidence, sorted by item and annotator."""

    rows: Grouped
    item: Ints
    """(row): code of the item."""
    annotator: Ints
    """(row): code of the annotator."""
    code: Ints
    """(row): code of the label or number; 0 for rankings."""
    confidence: Floats
    """(row): confidence from 0 to 1; 1 if it is not given."""
    labels: Names
    """The label space."""
    lists: Lists | None
    """The rankings, if annotations are rankings."""

    @property
    def n_labels(self) -> int:
        """The number of possible values of `code`."""
        return 1 if self.lists is not None else len(self.labels)

    @property
    def pairs(self) -> Floats:
        """(item): number of pairs of annotators."""
        return self.rows.n_annotators * (self.rows.n_annotators - 1.0) / 2.0

    @property
    def depends_on_chance(self) -> bool:
        """Whether any confidence is neither 0 nor 1."""
        return bool(((self.confidence > 0.0) & (self.confidence < 1.0)).any())


def _sure_labels(annotations: xr.Dataset) -> SureLabels:
    n_items, lists = annotations.sizes[ITEM], None
    confidence = np.ones(annotations.sizes[ANNOTATION])
    if "confidence" in annotations:
        confidence = annotations["confidence"].to_numpy().astype(np.float64)
    (annotator,) = codes_in(annotations, ANNOTATOR)
    if annotations.attrs["kind"] == "ranking":
        rows, lists, labels = rankings_of(annotations, n_items)
        first = _first_rows(annotations, confidence)
        confidence, annotator = confidence[first], annotator[first]
        code = np.zeros(len(first), dtype=np.int64)
    else:
        rows = rows_of(annotations)
        code, labels = labels_of(annotations)
    return SureLabels(
        rows=rows,
        item=np.repeat(np.arange(n_items), np.diff(rows.start)),
        annotator=annotator[rows.order],
        code=code.astype(np.int64, copy=False)[rows.order],
        confidence=confidence[rows.order],
        labels=labels,
        lists=lists,
    )


def _first_rows(annotations: xr.Dataset, confidence: Floats) -> Ints:
    """Return the first row of each ranking, or raise if its rows differ in confidence."""
    number = ranking_code(annotations)
    first = np.unique(number, return_index=True)[1]
    differing = np.flatnonzero(confidence != confidence[first][number])
    if len(differing):
        row = int(differing[0])
        item = annotations[ITEM].to_numpy()[int(annotations["item_code"].to_numpy()[row])]
        raise AnnotationError(
            "confidence",
            where=f"row {row} (item {shown([item])})",
            expected="one confidence for all labels of a ranking",
            found=f"{confidence[first][number][row]} and {confidence[row]}",
        )
    return first.astype(np.int64)


# Graded agreement: from 1 for equal labels to 0 for the largest distance.


KNOWN: Final = ("nominal", "squared", "absolute", "ranking")


class Closeness(NamedTuple):
    """Agreement of labels."""

    distance: str
    largest: float
    """Labels at this distance or more do not agree at all."""
    delta: Delta | None
    """Returns the distances of pairs of rows; None: only equal labels agree."""

    def of(self, left: Ints, right: Ints, code: Ints) -> Floats:
        """Return the agreement of pairs of rows, 1 - distance / largest, at least 0: (pair)."""
        if self.delta is None:
            return (code[left] == code[right]).astype(np.float64)
        distance = self.delta(left, right)
        return (
            np.maximum(0.0, 1.0 - distance / self.largest)
            if self.largest
            else 1.0 * (distance == 0)
        )


def _closeness(
    annotations: xr.Dataset, labels: SureLabels, distance: Distance | None, max_distance: Any
) -> Closeness:
    ranked = annotations.attrs["kind"] == "ranking"
    default = "ranking" if ranked else "nominal"
    name = distance_name(default if distance is None else distance, KNOWN)
    if ranked != (name == "ranking"):
        raise ArgumentError(
            "distance",
            expected='None or "ranking", for rankings' if ranked else "a distance of labels",
            found=brief(distance),
        )
    graded = name != "nominal"
    if max_distance is not None and not (graded and 0 < real(max_distance) < np.inf):
        raise ArgumentError(
            "max_distance",
            expected="a number above 0: the distance at which labels do not agree at all"
            if graded
            else "None, except with a distance= of numbers",
            found=brief(max_distance),
        )
    if not graded:
        return Closeness(name, 1.0, None)
    delta, largest = _measure(annotations, labels, distance, name, max_distance)
    return Closeness(name, largest if max_distance is None else float(max_distance), delta)


def _measure(
    annotations: xr.Dataset,
    labels: SureLabels,
    distance: Distance | None,
    name: str,
    max_distance: float | None,
) -> tuple[Delta, float]:
    """Return a function of the distances of pairs of rows, and the largest distance."""
    lists, code, space = labels.lists, labels.code, labels.labels
    if lists is not None:
        options = (len(space), default_depth(annotations))
        return lambda a, b: rank_distance(lists, lists, a, b, *options), 1.0
    if callable(distance):
        if max_distance is not None:
            delta = CallableDistance(distance, plain_labels(space))
            return lambda a, b: delta(code[a], code[b]), float(max_distance)
        table = table_of(space, distance)
        return lambda a, b: table[code[a], code[b]], float(table.max())
    values = numbers_of(annotations)
    power = 2 if name == "squared" else 1
    check_range(values, power)
    numbers = values[labels.rows.order]
    # The largest difference in the label space; for continuous numbers, between annotations.
    scale = values if "value" in annotations else annotations[LABEL].to_numpy().astype(np.float64)
    largest = float(scale.max() - scale.min()) ** power
    return lambda a, b: abs(numbers[a] - numbers[b]) ** power, largest


# The probability of each label for an annotator who guesses.


CHANCES: Final = ("uniform", "empirical")
EXPECTED: Final = "'uniform', 'empirical', a number above 0 up to 1, or a share for each label"
ROUNDING: Final = 1e-6
"""Maximum excess of the sum of the shares over 1."""


class Chance(NamedTuple):
    """The distribution of guesses."""

    name: str
    """"uniform", "empirical", "mapping", or "number"."""
    share: Floats
    """(label): the probability that a guess is the label; if "empirical", without item weights."""
    varies: bool
    """Whether the distribution depends on weights over items."""


def _chance(annotations: xr.Dataset, labels: SureLabels, chance: Any) -> Chance:
    n = labels.n_labels
    if isinstance(chance, Mapping | pd.Series) and not isinstance(chance, xr.Dataset | xr.DataTree):
        _check_countable(annotations, "shares of labels", needed=True)
        return Chance("mapping", _mapped(labels, chance), varies=False)
    if isinstance(chance, str) and chance in CHANCES:
        _check_countable(annotations, repr(chance), needed=labels.depends_on_chance)
        if chance == "uniform":
            return Chance(chance, np.full(n, 1.0 / n), varies=False)
        amount = np.bincount(labels.code, labels.rows.share, n)
        return Chance(chance, amount / amount.sum(), varies=labels.depends_on_chance)
    if not 0 < real(chance) <= 1:
        raise ArgumentError("chance", expected=EXPECTED, found=brief(chance))
    return Chance("number", np.full(n, float(chance)), varies=False)


def _check_countable(annotations: xr.Dataset, chance: str, *, needed: bool) -> None:
    """Raise if the probability of each label is ``needed``, but labels cannot be counted."""
    kind = annotations.attrs["kind"]
    if needed and kind not in ("nominal", "ordinal"):
        raise ArgumentError(
            "chance",
            expected="a number: the probability that a guess counts as agreement",
            found=f"{chance}, with annotations of kind {kind!r}, whose labels cannot be counted",
            hint="chance=1 uses confidence as given",
        )


def _mapped(labels: SureLabels, chance: Any) -> Floats:
    """Return the shares in ``chance`` in the order of the labels."""
    names, values = (
        (list(each) for each in zip(*chance.items(), strict=True)) if len(chance) else ([], [])
    )
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
            "chance", expected="shares with a sum of at most 1", found=f"{share.sum():.6g}"
        )
    place = _places(labels.labels, names)
    shares = np.where(place < 0, 0.0, share[place]) if len(share) else np.zeros(len(place))
    used = np.unique(labels.code)
    lacking = used[shares[used] <= 0]
    if len(lacking):
        raise ArgumentError(
            "chance",
            expected="a share above 0 for every label that was given",
            found=f"none for {shown(list(labels.labels[lacking]))}",
        )
    return shares


def _places(labels: Names, names: list[Any]) -> Any:
    """Return the place of each label among ``names``; -1 for labels that are not among them."""
    text = any(isinstance(name, str) for name in names)
    keys = np.array([str(name) for name in names] if text else names)
    if keys.ndim != 1 or pd.Index(keys).has_duplicates or keys.dtype.kind not in "biufUO":
        raise ArgumentError("chance", expected=EXPECTED, found=f"shares of {shown(names)}")
    if not len(keys):
        return np.full(len(labels), -1)
    return tables.match(labels, keys.astype(int) if keys.dtype.kind == "b" else keys)


@dataclass(frozen=True)
class Genuine:
    """The labels, and the settings of genuine agreement."""

    labels: SureLabels
    close: Closeness
    chance: Chance
    factor: Floats
    """(item): 1 over the number of pairs of annotators; times ``slim_majority`` if the item has a
    slim majority."""
    attrs: dict[str, Any]

    @property
    def paired(self) -> Floats:
        """(item): 1 if the item has two annotators."""
        return (self.labels.rows.n_annotators >= 2).astype(np.float64)

    def not_guessed(self) -> Floats:
        """Return the probability that a label (row) was not a guess, without weights of items."""
        return genuine(self.labels.confidence, self.chance.share[self.labels.code])

    def concordance(self, among: Flags | None = None) -> Floats:
        r"""Return :math:`\sigma(x)` by item, over pairs of the rows ``among``; 0 without pairs."""
        rows, code = self.labels.rows, self.labels.code
        amount = rows.share * self.not_guessed() * (1.0 if among is None else among)
        if self.close.delta is None:
            return agreeing(rows.start, rows.own, code, amount, self.labels.n_labels) * self.factor
        total = np.zeros(len(rows.n_annotators))
        for left, right in pair_blocks(rows):
            both = amount[left] * amount[right] * self.close.of(left, right, code)
            total += np.bincount(self.labels.item[left], both, len(total))
        return total * self.factor

    def pairs(
        self, among: Flags | None = None, *, not_guessed: bool, hint: str = ONE_FOR_ALL
    ) -> Pairs:
        """List the pairs of the rows ``among`` that agree.

        With ``not_guessed``, amounts are multiplied by the probability that neither label is a
        guess. ``hint`` is the advice if there are too many pairs.
        """
        rows, code, item = self.labels.rows, self.labels.code, self.labels.item
        amount = (
            rows.share
            * (self.not_guessed() if not_guessed else 1.0)
            * (1.0 if among is None else among)
        )
        kept, n = [], 0
        for left, right in pair_blocks(rows):
            both = amount[left] * amount[right] * self.close.of(left, right, code)
            both *= self.factor[item[left]]
            agree = both > 0.0
            kept.append((left[agree], right[agree], both[agree]))
            n += int(agree.sum())
            if n > MOST:
                raise AnnotationError(
                    "annotations",
                    expected=f"at most {MOST:,} pairs of annotators who agree on an item",
                    found="more",
                    hint=hint,
                )
        left, right, both = (np.concatenate(part) for part in zip(*kept, strict=True))
        count = np.bincount(item[left], minlength=len(rows.n_annotators))
        return Pairs(np.concatenate([[0], np.cumsum(count)]), left, right, both)


def genuine_agreement(
    annotations: Any,
    *,
    chance: Any,
    distance: Distance | None,
    max_distance: Any,
    slim_majority: Any,
) -> tuple[xr.Dataset, Genuine]:
    """Read annotations and the settings of `dissensus.concordance`."""
    annotations = read(annotations, rankings=True)
    labels = _sure_labels(annotations)
    close = _closeness(annotations, labels, distance, max_distance)
    chances = _chance(annotations, labels, chance)
    slim = _slim(annotations, slim_majority)
    factor = 1.0 / np.maximum(labels.pairs, 1.0)
    attrs: dict[str, Any] = {
        "confidence": GIVEN if "confidence" in annotations else NO_CONFIDENCE,
        "chance": float(chance) if chances.name == "number" else chances.name,
        "distance": close.distance,
    }
    if close.delta is not None:
        attrs["max_distance"] = close.largest
    if slim != NO_SLIM:
        attrs["slim_majority"] = slim
        rows = labels.rows
        slim_items = is_slim(rows.start, rows.own, rows.share, labels.code, labels.n_labels)
        factor = np.where(slim_items, slim * factor, factor)
    return annotations, Genuine(labels, close, chances, factor, attrs)


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
            expected="1, since these labels have no majority",
            found=f"{value}, with annotations of kind {kind!r}",
        )
    return value


def correct_rows(annotations: xr.Dataset, labels: SureLabels, truth: Any) -> Flags:
    """Return whether each row has the true label, from known labels of all items."""
    if labels.lists is not None:
        raise ArgumentError(
            "truth",
            expected="None, for rankings: two correct rankings may differ",
            found=brief(truth),
            hint="Pass accuracy=",
        )
    items, closed = annotations[ITEM].to_numpy(), "value" not in annotations
    code = codes_of_all(truth, items, labels.labels, closed=closed)
    return np.asarray(code[labels.item] == labels.code)
