"""What is known of draws that do not change, while an evaluation goes from metric to metric."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import xarray as xr


class _Looks(NamedTuple):
    """What is remembered of draws that do not change."""

    depth: int
    """How many of the top labels will be asked for."""
    seen: dict[Any, dict[Any, Any]]


_LOOKS: Final[ContextVar[_Looks | None]] = ContextVar("looks", default=None)


@contextmanager
def looked_at_once(depth: int) -> Iterator[None]:
    """Check the same draws once, and look for their top labels once, however many metrics ask.

    To draw the share of each of hundreds of labels that nobody named takes longer than all else
    that a metric does. Only for draws that stay as they are meanwhile.
    """
    token = _LOOKS.set(_Looks(depth, {}))
    try:
        yield
    finally:
        _LOOKS.reset(token)


def remembered(plausibility: xr.DataArray) -> tuple[int, dict[Any, Any]]:
    """Return how many top labels will be asked for, and what is known of these draws so far."""
    looks = _LOOKS.get()
    if looks is None or plausibility.chunks is not None:
        return 0, {}
    values = plausibility.data
    place = (values.ctypes.data, values.shape, values.strides)
    # The values are held, so that nothing else comes to stand there.
    return looks.depth, looks.seen.setdefault(place, {"values": values})
