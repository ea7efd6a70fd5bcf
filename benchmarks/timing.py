"""Timing two ways of doing one thing in turns, so that both see the same weather."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Row:
    """One line of the table; times in seconds."""

    label: str
    times: list[float]
    peer: str = ""
    peer_times: list[float] = field(default_factory=list)
    target: str = ""

    @staticmethod
    def header() -> str:
        """Name the columns, as a Markdown table."""
        return (
            "| what | median | range | peer | its median | its range | ratio | target |\n"
            "|---|--:|--:|---|--:|--:|--:|---|"
        )

    def __str__(self) -> str:
        """Write the row."""
        mine, peer = _spread(self.times), _spread(self.peer_times)
        ratio = ""
        if self.peer_times:
            ratio = f"{statistics.median(self.times) / statistics.median(self.peer_times):.3g}"
        cells = [self.label, *mine, self.peer, *peer, ratio, self.target]
        return f"| {' | '.join(cells)} |"


def _spread(times: list[float]) -> tuple[str, str]:
    if not times:
        return "", ""
    return shown(statistics.median(times)), f"{shown(min(times))} to {shown(max(times))}"


def shown(seconds: float) -> str:
    """Write a time, in the unit that suits it."""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def in_turns(
    repeats: int, *ways: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> list[list[float]]:
    """Time each way ``repeats`` times, one after the other; a first call each is not counted."""
    times: list[list[float]] = [[] for _ in ways]
    for way in ways:
        way()
    for _ in range(repeats):
        for way, result in zip(ways, times, strict=True):
            gc.collect()
            start = clock()
            way()
            result.append(clock() - start)
    return times
