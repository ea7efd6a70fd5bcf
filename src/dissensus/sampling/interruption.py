"""Interruptions by Ctrl-C, the progress bar, and messages while kernels are compiled.

An interrupted fit returns the draws made so far. Inside `all_or_nothing` it raises instead.
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
    """Record every Ctrl-C in a list, also if other code catches the KeyboardInterrupt.

    PyMC catches it, and returns arrays that may be only partly filled. Nothing is recorded outside
    the main thread, or if SIGINT has a handler other than Python's default.
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
    """Return the KeyboardInterrupt for a fit that has no draws yet.

    >>> str(before_any_draw("after 20 of 500 sweeps of the warm-up"))
    'Interrupted after 20 of 500 sweeps of the warm-up: there are no draws to return'
    """
    return KeyboardInterrupt(f"Interrupted {progress}: there are no draws to return{suffix}")


def shortfall(draws: xr.Dataset, requested: tuple[int, int]) -> dict[str, Any]:
    """Return attributes of a fit that has fewer (chains, draws) than requested, and warn.

    Returns no attributes if the fit is complete. Raises inside `all_or_nothing`.
    """
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
"""For each family: the name of its models, and about how many seconds the compilation of all its
kernels takes (benchmarks/first_call.py)."""


def bar[Step](steps: Iterable[Step], text: str, total: float | None = None) -> Iterator[Step]:
    """Return the steps with a progress bar, which also shows the compilation by Numba."""
    with Progress(console=Console(stderr=True)) as progress:  # stdout has only results
        task = progress.add_task(text, total=total)
        with install_listener("numba:compile", _Compiling(progress, task, text)):
            yield from progress.track(steps, total=total, task_id=task)


class _Compiling(Listener):  # type: ignore[misc]
    """Shows in the text of a progress bar that kernels are being compiled."""

    def __init__(self, progress: Progress, task: TaskID, text: str) -> None:
        self.progress, self.task, self.text = progress, task, text
        self.depth = 0  # compiling a kernel also compiles the kernels that it calls

    def on_start(self, event: Any) -> None:
        """Show the note, if this kernel is the outermost one."""
        if self.depth == 0:
            subject = _subject(event.data["dispatcher"].py_func.__module__)
            self._show(f"{self.text} (compiling{subject}, once on this machine)")
        self.depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """Restore the text after the outermost kernel.

        The compilation may have started before the bar: the depth is then 0 already.
        """
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
        """Log the message when the first kernel is compiled."""
        if not self.is_logged:
            logging.getLogger("pymc").info(self.text)
        self.is_logged = True

    def on_end(self, event: Any) -> None:
        """Log nothing."""


def _subject(module: str) -> str:
    """Return the family of a module and the compile time of its kernels as text, or ""."""
    family = next((_FAMILIES[name] for name in module.split(".") if name in _FAMILIES), None)
    return f" {family[0]}, about {family[1]} s in all" if family else ""
