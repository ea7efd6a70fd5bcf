"""Levels of confidence: those there are, or bins of many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dissensus.errors import AnnotationError
from dissensus.kernels.types import Floats, Ints


class Levels(NamedTuple):
    """How sure annotators said they were."""

    value: Floats
    """(value): the different confidences, ascending."""
    code: Ints
    """(row): place in ``value``."""
    level: Ints
    """(value): number of its level."""
    words: str
    """"levels", or how many bins there are."""

    @property
    def n(self) -> int:
        """How many levels there are."""
        return int(self.level[-1]) + 1

    def named(self) -> tuple[Floats, dict[str, Any]]:
        """Return the mean confidence of each level, and what else there is to say of levels."""
        total = np.bincount(self.code, minlength=len(self.value)).astype(np.float64)
        n = np.bincount(self.level, total)
        first = np.searchsorted(self.level, np.arange(self.n))
        last = np.append(first[1:], len(self.level)) - 1
        mean = np.bincount(self.level, total * self.value) / n
        single = first == last
        return np.where(single, self.value[first], mean), {
            "levels": self.words,
            "lowest": self.value[first],
            "highest": self.value[last],
            "n_labels": n.astype(np.int64),
        }


def given_confidence(annotations: xr.Dataset) -> Floats:
    """Return the confidence of each row, or raise if none was asked for."""
    if "confidence" not in annotations:
        raise AnnotationError(
            "annotations",
            expected="confidence: how sure annotators were of their labels",
            found="none",
            hint="Name the column when they are read: dissensus.annotations(..., confidence=)",
        )
    return annotations["confidence"].to_numpy().astype(np.float64)


def levels_of(confidence: Floats, bins: int) -> Levels:
    """Return the levels there are, or, of more than ``bins``, bins with about as many rows each.

    A value is in one bin as a whole. So a frequent one may be a bin by itself, and there may
    be fewer bins than asked for.

    Raises
    ------
    AnnotationError
        If all are equally sure.

    Examples
    --------
    >>> levels_of(np.array([0.1, 0.2, 0.3, 0.3]), 2).level
    array([0, 0, 1])
    """
    value, code, count = np.unique(confidence, return_inverse=True, return_counts=True)
    if len(value) < 2:
        raise AnnotationError(
            "confidence", expected="two levels at least", found=f"{value[0]:g} in every row"
        )
    if len(value) <= bins:
        return Levels(value, code, np.arange(len(value)), "levels")
    middle = np.cumsum(count) - count / 2.0
    place = np.minimum((middle * bins / len(confidence)).astype(np.int64), bins - 1)
    level = np.unique(place, return_inverse=True)[1]
    return Levels(value, code, level, f"{level[-1] + 1} bins of {len(value):,} values")
