"""Settings that both ways of planning share, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from dissensus.errors import ArgumentError
from dissensus.sampling import fitting


def counts(name: str, values: Any) -> list[int]:
    """Return whole numbers from 1 on, in order and each once, or raise naming the argument.

    Examples
    --------
    >>> counts("items", (300, 100, 100))
    [100, 300]
    """
    try:
        numbers = np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        numbers = np.array([])
    if not len(numbers) or not (numbers >= 1).all() or (numbers != np.rint(numbers)).any():
        raise ArgumentError(name, expected="whole numbers, 1 or more", found=repr(values))
    return sorted({int(number) for number in numbers})


def share(name: str, value: Any) -> float:
    """Return a number between 0 and 1, or raise naming the argument."""
    number = fitting.finite(name, value)
    if not 0 < number < 1:
        raise ArgumentError(name, expected="a number between 0 and 1", found=repr(value))
    return number


def level(prob: Any) -> float:
    """Return the probability of intervals: the one given, or that of ArviZ's settings."""
    from arviz_base import rcParams

    return float(rcParams["stats.ci_prob"]) if prob is None else share("prob", prob)
