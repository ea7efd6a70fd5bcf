"""Whether work may be parted among threads, or others are at work on other items already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_ALONE: Final[ContextVar[bool]] = ContextVar("no threads are started", default=False)


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Start no threads: others are at work on other items already."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def no_threads() -> bool:
    """Return whether none are to be started."""
    return _ALONE.get()
