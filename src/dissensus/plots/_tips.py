"""What a page says of a mark when the pointer rests on it; pictures of their own have none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from matplotlib.axes import Axes

from dissensus._wording import clean, share, short

PREFIX: Final = "tip:"
"""Begins the gid of what is there to be pointed at; after it the text."""
_SIZE: Final = 12
"""Points: larger than any mark, for fingers and unsteady hands."""
_WANTED: ContextVar[bool] = ContextVar("tips", default=False)


@contextmanager
def wanted() -> Iterator[None]:
    """Have what is drawn within carry its texts."""
    token = _WANTED.set(True)
    try:
        yield
    finally:
        _WANTED.reset(token)


def are_wanted() -> bool:
    """Say whether anybody would read them, before they are put together."""
    return _WANTED.get()


def tip(ax: Axes, x: float, y: float, text: str) -> None:
    """Lay something unseen over a mark, which says a text; nothing where no page asks for it."""
    if are_wanted():
        ax.plot([x], [y], marker="o", markersize=_SIZE, alpha=0.0, linestyle="",
                gid=f"{PREFIX}{clean(text)}")  # fmt: skip


def with_interval(name: object, mean: float, lower: float, upper: float) -> str:
    """Write a name, its mean and its interval.

    Examples
    --------
    >>> with_interval("system A", 0.886, 0.87, 0.903)
    'system A: .886 (.870 to .903)'
    """
    return f"{short(name)}: {share(mean, 3)} ({share(lower, 3)} to {share(upper, 3)})"
