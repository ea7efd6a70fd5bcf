"""Graded agreement: how close two statements are, from 1 for equal ones to 0 for the farthest."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.dims import LABEL
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.distances import rank_distance
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.voices import Delta
from dissensus.statistics._apart_pairs import default_depth
from dissensus.statistics._asked import Asked
from dissensus.statistics._confident import Confident
from dissensus.statistics._distances import Distance, called, check_range, table_of
from dissensus.statistics._settings import plain_label, real
from dissensus.statistics._statements import numbers_of

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
