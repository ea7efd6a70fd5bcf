"""A bar for work that takes its time, which says so where kernels are compiled first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final

import xarray as xr
from numba.core.event import Listener, install_listener
from rich.progress import Progress, TaskID

from dissensus.dims import CHAIN, DRAW
from dissensus.errors import warn_caller

# What Ctrl-C does to a fit: whole draws are given back, halves of anything are not.


_WHOLE: Final = ContextVar("_WHOLE", default=False)


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Let an interrupted fit raise within, though it has draws to give back.

    Who fits on the way to something else has no use for half a fit: he would go on with it to the
    next step, where the person at the keyboard wants all of it to stop.

    Examples
    --------
    >>> with all_or_nothing():
    ...     wants_all()
    True
    """
    token = _WHOLE.set(True)
    try:
        yield
    finally:
        _WHOLE.reset(token)


def wants_all() -> bool:
    """Say whether half a fit is of no use to who asked for it."""
    return _WHOLE.get()


@contextmanager
def noticing() -> Iterator[list[int]]:
    """Take down every Ctrl-C within, also those that somebody else's code swallows.

    PyMC ends its loops at one and returns what arrays it has, filled or not. Handlers belong to
    the main thread, and somebody else's handler is left alone: then nothing is taken down.
    """
    seen: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield seen
        return

    def handler(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, handler)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def before_any_draw(what: str, kept: str = "") -> KeyboardInterrupt:
    """Return what is raised where there is nothing to give back.

    Examples
    --------
    >>> str(before_any_draw("after 20 of 500 sweeps of the warm-up"))
    'Interrupted after 20 of 500 sweeps of the warm-up: there are no draws to return'
    """
    return KeyboardInterrupt(f"Interrupted {what}: there are no draws to return{kept}")


def shortfall(draws: xr.Dataset, asked: tuple[int, int]) -> dict[str, Any]:
    """Say in attributes, and loudly in words, that there are fewer draws than were asked for.

    Parameters
    ----------
    draws : Dataset
        With (chain, draw).
    asked : (chains, draws)

    Returns
    -------
    dict
        ``interrupted``, ``draws_asked`` and ``draws_drawn`` of a chain, ``chains_asked``; nothing
        if all are there.
    """
    chains, n = asked
    found = draws.sizes[CHAIN], draws.sizes[DRAW]
    if found == asked:
        return {}
    if wants_all():
        raise KeyboardInterrupt(f"Interrupted after {found[1]:,} of {n:,} draws")
    fewer = f", and {found[0]} of {chains} chains" if found[0] < chains else ""
    warn_caller(
        f"The fit was interrupted: it holds {found[1]:,} of the {n:,} draws asked for in each "
        f"chain{fewer}. They are sound, but fewer: intervals are rougher. Fit again, undisturbed, "
        "for what is to be kept."
    )
    return {
        "interrupted": 1, "draws_asked": n, "draws_drawn": found[1], "chains_asked": chains,
    }  # fmt: skip


_FAMILIES: Final = {
    "latent_truth": ("a latent truth", 12), "crossed": ("crossed effects", 8),
    "rasch": ("Rasch", 15), "rankings": ("rankings", 20),
}  # fmt: skip
"""What the kernels of a family sample, and about how many seconds all of them together take to
compile (benchmarks/first_call.py)."""


def bar[Step](steps: Iterable[Step], text: str, total: float | None = None) -> Iterator[Step]:
    """Go through the steps under a bar.

    The first fit of a model on a machine waits for Numba: the bar stands still, and says why.
    """
    with Progress() as progress:
        task = progress.add_task(text, total=total)
        with install_listener("numba:compile", _Compiling(progress, task, text)):
            yield from progress.track(steps, total=total, task_id=task)


class _Compiling(Listener):  # type: ignore[misc]
    """Says beside the text what is being compiled, as long as it is."""

    def __init__(self, progress: Progress, task: TaskID, text: str) -> None:
        self.progress, self.task, self.text = progress, task, text
        self.depth = 0  # kernels compile those that they call

    def on_start(self, event: Any) -> None:
        """Say so, of the outermost kernel."""
        if self.depth == 0:
            rooms = event.data["dispatcher"].py_func.__module__.split(".")
            family = next((_FAMILIES[name] for name in rooms if name in _FAMILIES), None)
            subject = f" {family[0]}, about {family[1]} s in all" if family else ""
            self._show(f"{self.text} (compiling{subject}, once on this machine)")
        self.depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """Say so no longer, if it was the outermost; its beginning may be from before the bar."""
        self.depth = max(0, self.depth - 1)
        if self.depth == 0:
            self._show(self.text)

    def _show(self, text: str) -> None:
        self.progress.update(self.task, description=text)
