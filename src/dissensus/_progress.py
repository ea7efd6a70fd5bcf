"""A bar for work that takes its time, which says so where kernels are compiled first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from numba.core.event import Listener, install_listener
from rich.progress import Progress, TaskID

_TRUTH, _CROSSED, _RASCH = ("a latent truth", 12), ("crossed effects", 8), ("Rasch", 15)
_RANKINGS = ("rankings", 20)
_FAMILIES: Final = {
    "truth": _TRUTH, "crossed": _CROSSED, "rasch": _RASCH, "ranked": _RANKINGS,
    "time": _RANKINGS, "times": _RANKINGS, "exact": _RANKINGS, "plackett": _RANKINGS,
}  # fmt: skip
"""Kernels by how the names of their modules begin: what they sample, and about how many seconds all
of them together take to compile (benchmarks/first_call.py)."""


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
            name = event.data["dispatcher"].py_func.__module__.rpartition(".")[2]
            family = _FAMILIES.get(name.partition("_")[0])
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
