"""Interruptions by Ctrl-C, the progress bar, and messages while kernels are compiled.

An interrupted fit returns its complete draws; code that needs a whole fit raises instead.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final

import xarray as xr
from numba.core.event import Listener, install_listener
from rich.console import Console
from rich.progress import Progress, TaskID

from dissensus.dims import CHAIN, DRAW
from dissensus.errors import warn_caller

_WHOLE: Final = ContextVar("_WHOLE", default=False)


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Make an interrupted fit raise, even if it has draws to return.

    Callers that fit internally cannot use a partial fit: the interruption must stop them too.
    """
    token = _WHOLE.set(True)
    try:
        yield
    finally:
        _WHOLE.reset(token)


def wants_all() -> bool:
    """Return whether `all_or_nothing` is active."""
    return _WHOLE.get()


@contextmanager
def noticing() -> Iterator[list[int]]:
    """Record every Ctrl-C, also those that other code swallows.

    PyMC ends its loops at a Ctrl-C and returns its arrays, filled or not. Nothing is recorded
    outside the main thread, or where a handler other than Python's is set.
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


def before_any_draw(progress: str, suffix: str = "") -> KeyboardInterrupt:
    """Return the interruption of a fit that has no draws yet.

    >>> str(before_any_draw("after 20 of 500 sweeps of the warm-up"))
    'Interrupted after 20 of 500 sweeps of the warm-up: there are no draws to return'
    """
    return KeyboardInterrupt(f"Interrupted {progress}: there are no draws to return{suffix}")


def shortfall(draws: xr.Dataset, requested: tuple[int, int]) -> dict[str, Any]:
    """Return attributes of a fit with fewer (chains, draws) than requested, and warn of it."""
    chains, n = requested
    drawn = draws.sizes[CHAIN], draws.sizes[DRAW]
    if drawn == requested:
        return {}
    if wants_all():
        raise KeyboardInterrupt(f"Interrupted after {drawn[1]:,} of {n:,} draws")
    fewer = f", and {drawn[0]} of {chains} chains" if drawn[0] < chains else ""
    warn_caller(
        f"The fit was interrupted: it holds {drawn[1]:,} of the {n:,} draws asked for in each "
        f"chain{fewer}. They are valid, but intervals are less precise. Fit again for final "
        "results."
    )
    return {
        "interrupted": 1, "draws_asked": n, "draws_drawn": drawn[1], "chains_asked": chains,
    }  # fmt: skip


_FAMILIES: Final = {
    "latent_truth": ("a latent truth", 12), "crossed": ("crossed effects", 8),
    "rasch": ("Rasch", 15), "rankings": ("rankings", 15),
    "pairs": ("votes on pairs", 13),
}  # fmt: skip
"""What the kernels of a family sample, and about how many seconds they take to compile together
(benchmarks/first_call.py)."""


def bar[Step](steps: Iterable[Step], text: str, total: float | None = None) -> Iterator[Step]:
    """Return the steps with a progress bar, which also shows the compilation by Numba."""
    with Progress(console=Console(stderr=True)) as progress:  # results can be piped
        task = progress.add_task(text, total=total)
        with install_listener("numba:compile", _Compiling(progress, task, text)):
            yield from progress.track(steps, total=total, task_id=task)


class _Compiling(Listener):  # type: ignore[misc]
    """Adds a note to the text of a progress bar while kernels are being compiled."""

    def __init__(self, progress: Progress, task: TaskID, text: str) -> None:
        self.progress, self.task, self.text = progress, task, text
        self.depth = 0  # kernels compile those that they call

    def on_start(self, event: Any) -> None:
        """Show the outermost kernel."""
        if self.depth == 0:
            subject = _subject(event.data["dispatcher"].py_func.__module__)
            self._show(f"{self.text} (compiling{subject}, once on this machine)")
        self.depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """Restore the text after the outermost kernel, whose compilation may predate the bar."""
        self.depth = max(0, self.depth - 1)
        if self.depth == 0:
            self._show(self.text)

    def _show(self, text: str) -> None:
        self.progress.update(self.task, description=text)


class LoggedCompilation(Listener):  # type: ignore[misc]
    """Logs once, where PyMC logs its steps, that kernels are being compiled."""

    def __init__(self, step: type) -> None:
        self.text = f"Compiling{_subject(step.__module__)}, once on this machine"
        self.is_logged = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """Log the message at the first kernel."""
        if not self.is_logged:
            logging.getLogger("pymc").info(self.text)
        self.is_logged = True

    def on_end(self, event: Any) -> None:
        """Log nothing."""


def _subject(module: str) -> str:
    """Return the family that a module samples, with the compile time of its kernels."""
    family = next((_FAMILIES[name] for name in module.split(".") if name in _FAMILIES), None)
    return f" {family[0]}, about {family[1]} s in all" if family else ""
