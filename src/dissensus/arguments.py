"""Checks of settings: each returns the value, or raises an error that names the argument.

Checks of data (annotations, predictions, a fit) are in `dissensus.data`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import ArgumentError, brief

LARGEST: Final = 2**63 - 1
"""The largest integer of NumPy."""


def one_of(name: str, value: Any, choices: Iterable[str | None]) -> Any:
    """Return a setting, or raise unless it is one of the given names.

    Only text is compared: ``array == "name"`` would be an array.

    >>> one_of("sampler", "hmc", ("gibbs", "nuts"))
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: sampler: expected 'gibbs' or 'nuts'; found 'hmc'
    """
    known = tuple(choices)
    if not (value is None or isinstance(value, str)) or value not in known:
        raise ArgumentError(name, expected=" or ".join(map(repr, known)), found=brief(value))
    return value


def flags(**given: Any) -> None:
    """Raise unless all are True or False: the text "False" would count as true."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise ArgumentError(name, expected="True or False", found=brief(value))


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer; a truth value and a duration are not integers.

    >>> is_whole(3), is_whole(np.int8(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    fits = isinstance(value, int | np.integer)
    return fits and not isinstance(value, bool | np.timedelta64)


def real(value: Any) -> float:
    """Return the value as a float: NaN if it is not a number, inf if it is beyond all floats.

    >>> real(1), real(0.5), real("0.5"), real(True), real(10**400)
    (1.0, 0.5, nan, nan, inf)
    """
    if isinstance(value, bool | np.bool_ | str | bytes | np.timedelta64 | np.datetime64):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


_HUGE: Final = 10**12
"""Messages leave out bounds above this number, which users do not reach."""


def whole(name: str, value: Any, least: int = 1, most: int = LARGEST) -> int:
    """Return a whole number between two bounds, both included.

    >>> whole("draws", 1000.0)
    1000
    >>> whole("draws", 0)
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: draws: expected a whole number, 1 or more; found 0
    """
    number = real(value)
    # Compare the given value, since an integer near 2**63 is rounded as a float.
    if not number.is_integer() or not least <= value <= most:
        bounds = f" from {least} to {most:,}" if most < _HUGE else f", {least} or more"
        expected = f"a whole number{bounds}"
        raise ArgumentError(name, expected=expected, found=brief(value))
    return int(value)


def sample_shape(draws: Any, chains: Any) -> tuple[int, int]:
    """Return (chains, draws)."""
    n_draws = whole("draws", draws)
    return whole("chains", chains), n_draws


def finite(name: str, value: Any, least: float = -math.inf) -> float:
    """Return a finite number of at least ``least``."""
    number = real(value)
    if not math.isfinite(number) or number < least:
        bound = "" if least == -math.inf else f" >= {least:g}"
        raise ArgumentError(name, expected=f"a finite number{bound}", found=brief(value))
    return number


def positive(name: str, value: Any, *, other: str = "") -> float:
    """Return a finite number above 0. Messages also name ``other``, a word that callers allow."""
    number = real(value)
    if not math.isfinite(number) or number <= 0:
        either = f"{other!r} or " if other else ""
        raise ArgumentError(name, expected=f"{either}a finite number > 0", found=brief(value))
    return number


def within(name: str, value: Any, low: float, high: float) -> float:
    """Return a positive number in a range, outside of which sampling is not reliable.

    >>> within("scale", 1e300, 1e-6, 1e6)
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: scale: expected a number from 1e-06 to 1e+06; found 1e+300
    """
    number = positive(name, value)
    if not low <= number <= high:
        raise ArgumentError(name, expected=f"a number from {low:g} to {high:g}", found=brief(value))
    return number


def probability(name: str, value: Any, *, allow_zero: bool = True, allow_one: bool = True) -> float:
    """Return a number from 0 to 1; ``allow_zero`` and ``allow_one`` include the ends.

    >>> probability("margin", 1, allow_one=False)
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: margin: expected a number from 0 to below 1; found 1
    """
    number = real(value)
    if not 0 <= number <= 1 or (number == 0 and not allow_zero) or (number == 1 and not allow_one):
        expected = {
            (True, True): "a number from 0 to 1",
            (True, False): "a number from 0 to below 1",
            (False, True): "a number above 0, to 1",
            (False, False): "a number between 0 and 1",
        }[allow_zero, allow_one]
        raise ArgumentError(name, expected=expected, found=brief(value))
    return number


def is_listed(value: Any) -> bool:
    """Return whether a value is a sequence or flat array; text, sets and mappings are not."""
    several = np.iterable(value) and not isinstance(value, str | bytes | set | frozenset | Mapping)
    return bool(several) and getattr(value, "ndim", 1) == 1


def finite_row(name: str, values: Any, expected: str = "") -> npt.NDArray[np.float64]:
    """Return one or more finite numbers as a flat array."""
    try:
        array = np.asarray(values if is_listed(values) else [], dtype=np.float64)
    except (TypeError, ValueError):  # text; a ragged list
        array = np.empty(0)
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all():
        expected = expected or "a sequence of one or more finite numbers"
        raise ArgumentError(name, expected=expected, found=brief(values))
    return array
