"""Random seeds and other cases: unit tests take the first, and long tests the rest."""

from __future__ import annotations

import pytest


def seeds(number, unit=6):
    """Return the seeds 0, 1, ... for `parametrize`: those from ``unit`` on are for long tests."""
    return rest_long(range(number), unit)


def rest_long(cases, unit=6):
    """Return cases for `parametrize`: those from place ``unit`` on are for long tests."""
    return [
        case if place < unit else pytest.param(*_values(case), marks=pytest.mark.long)
        for place, case in enumerate(cases)
    ]


def in_two_sizes(cases, reduced, full):
    """Return cases (id: values) for `parametrize`, each twice, with a size as its last value.

    The reduced size is that of long tests, which run in CI, and the full one that of slow tests.
    """
    return [
        pytest.param(*_values(case), size, id=f"{name}{word}", marks=mark)
        for name, case in cases.items()
        for size, word, mark in [
            (reduced, ", reduced", pytest.mark.long), (full, "", pytest.mark.slow)
        ]
    ]  # fmt: skip


def _values(case):
    return case if isinstance(case, tuple) else (case,)
