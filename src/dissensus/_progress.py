"""A bar for work that takes its time, which says so where kernels are compiled first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from numba.core.event import Listener, install_listener
from rich.progress import Progress, TaskID

_COMPILING: Final = "compiling, once on this machine"


def bar[Step](steps: Iterable[Step], text: str, total: float | None = None) -> Iterator[Step]:
    """Go through the steps under a bar.

    The first fit of a model waits for Numba, up to a minute: the bar would stand still, and nobody
    would know why.
    """
    with Progress() as progress:
        task = progress.add_task(text, total=total)
        with install_listener("numba:compile", _Compiling(progress, task, text)):
            yield from progress.track(steps, total=total, task_id=task)


class _Compiling(Listener):  # type: ignore[misc]
    """Says beside the text that something is compiled, as long as it is."""

    def __init__(self, progress: Progress, task: TaskID, text: str) -> None:
        self.progress, self.task, self.text = progress, task, text
        self.depth = 0  # kernels compile those that they call

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """Say so."""
        self._now(self.depth + 1)

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        """Say so no longer, if it was the outermost; its beginning may be from before the bar."""
        self._now(max(0, self.depth - 1))

    def _now(self, depth: int) -> None:
        self.depth = depth
        said = f"{self.text} ({_COMPILING})" if depth else self.text
        self.progress.update(self.task, description=said)
