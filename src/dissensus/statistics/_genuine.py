"""Genuine agreement of annotators by item: what concordance and weighted reliability share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.errors import AnnotationError, ArgumentError, brief
from dissensus.kernels.labels import MOST
from dissensus.kernels.labels import slim_majority as is_slim
from dissensus.kernels.reliability import Pairs, agreeing, genuine
from dissensus.kernels.types import Floats
from dissensus.kernels.voices import pair_blocks
from dissensus.statistics._closeness import Closeness, closeness
from dissensus.statistics._confident import Confident, confident
from dissensus.statistics._distances import Distance
from dissensus.statistics._guesses import Guesses, guesses
from dissensus.statistics._settings import real

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
