"""Random seeds and other cases: unit tests take the first, and long tests the rest."""

from __future__ import annotations

import pytest


def seeds(number, unit=6):
    """Return the seeds 0, 1, ... for `parametrize`: those from ``unit`` on are for long tests."""
    return rest_long(range(number), unit)


def over_seeds(number, unit=10):
    """Give a test that loops the ``seeds`` to go over: the first few, and in a long test all."""
    every = pytest.param(range(number), marks=pytest.mark.long)
    return pytest.mark.parametrize("seeds", [range(unit), every], ids=["first", "all"])


def rest_long(cases, unit=6):
    """Return cases for `parametrize`: those from place ``unit`` on are for long tests."""
    return [
        case if place < unit else pytest.param(*_values(case), marks=pytest.mark.long)
        for place, case in enumerate(cases)
    ]


def _values(case):
    return case if isinstance(case, tuple) else (case,)
