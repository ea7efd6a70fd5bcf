"""Distances from a callable, asked once for each distinct pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dissensus.errors import ArgumentError
from dissensus.kernels.types import Floats, Ints


class Asked:
    """A callable's distances between things, by their codes.

    Parameters
    ----------
    distance : callable
        Takes two of the things and returns how far apart they are.
    things : list
        What codes stand for.

    Raises
    ------
    ArgumentError
        When called, if a distance is none: negative, not finite, another one in the other
        direction, or not 0 from a thing to itself.

    Examples
    --------
    >>> asked = Asked(lambda a, b: abs(a - b), [1, 4, 6])
    >>> asked(np.array([0, 1, 0]), np.array([1, 0, 2]))
    array([3., 3., 5.])
    """

    def __init__(self, distance: Callable[[Any, Any], float], things: list[Any]) -> None:
        self._distance, self._things = distance, things
        self._known: dict[int, float] = {}

    def __call__(self, left: Ints, right: Ints) -> Floats:
        """Return the distance of each pair of codes."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        key, place = np.unique(low * len(self._things) + high, return_inverse=True)
        found = [self._of(pair) for pair in key.tolist()]
        return np.array(found, dtype=np.float64)[place]

    def _of(self, pair: int) -> float:
        if pair not in self._known:
            low, high = divmod(pair, len(self._things))
            self._known[pair] = self._measured(self._things[low], self._things[high])
        return self._known[pair]

    def _measured(self, one: Any, two: Any) -> float:
        try:
            there, back = float(self._distance(one, two)), float(self._distance(two, one))
        except Exception as problem:
            raise no_callable(problem, f"between {one!r} and {two!r}") from problem
        fits = np.isfinite(there) and there >= 0 and (there == 0 or one != two)
        if not (fits and np.isclose(there, back, rtol=1e-12, atol=0.0)):
            raise no_distance(one, two, there, back)
        return there


def no_callable(problem: Exception, where: str = "") -> ArgumentError:
    """Say that a callable cannot be asked for distances."""
    return ArgumentError(
        "distance",
        where=where,
        expected="a callable that takes two labels and returns a number",
        found=f"{type(problem).__name__}: {problem}",
    )


def no_distance(one: Any, two: Any, there: float, back: float) -> ArgumentError:
    """Say that what a callable returned for two things, in both directions, is no distance."""
    return ArgumentError(
        "distance",
        where=f"between {one!r} and {two!r}",
        expected="a finite number, 0 or more; the same in both directions; 0 from a label to "
        "itself",
        found=f"{there!r} (and {back!r} in the other direction)",
    )
