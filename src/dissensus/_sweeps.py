"""Work that goes side by side in threads, lot by lot, and can be interrupted between lots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final

import numpy as np

from dissensus._interruption import before_any_draw, wants_all

_LOTS: Final = 50
"""Sweeps go in so many lots, for a smooth progress bar."""


def tracked[Step](
    steps: Iterable[Step], text: str, show: bool, total: int | None = None
) -> Iterable[Step]:
    """Go through the steps, under a progress bar if one is to be shown."""
    from rich.progress import track

    return track(steps, text, total=total) if show else steps


def mapped[Job, Result](
    work: Callable[[Job], Result], jobs: Sequence[Job], text: str, show: bool
) -> list[Result]:
    """Do jobs in as many threads as there are processors; none is begun after an interruption."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            return list(tracked(pool.map(work, jobs), text, show, total=len(jobs)))
        except BaseException:
            # Else leaving the pool would wait for all of them.
            pool.shutdown(cancel_futures=True)
            raise


def swept(
    advance: Sequence[Callable[[int, int], None]], draws: int, tune: int, text: str, show: bool
) -> int:
    """Run chains of sweeps side by side, each in a thread.

    Parameters
    ----------
    advance : sequence of callables (first, n)
        One for each chain: goes through n sweeps, the first of which is draw ``first``; before 0
        they are the warm-up.
    draws, tune : int
        Sweeps to keep, and before them.
    text : str
        Beside the progress bar.
    show : bool
        Whether there is to be one.

    Returns
    -------
    int
        How many draws every chain has made: all of them, or fewer after an interruption. Then the
        lot under way has been finished in all chains, so that they are of one length and no
        thread is left behind. A second Ctrl-C does not wait for that, and raises.

    Raises
    ------
    KeyboardInterrupt
        If interrupted before there are draws, or where only all of them are of use.
    """
    chains = _Chains(advance, min(-tune, -1))
    with ThreadPoolExecutor(min(len(advance), os.cpu_count() or 1)) as pool:
        try:
            for first, n in tracked([*_lots(tune, -tune), *_lots(draws, 0)], text, show):
                chains.go(pool, first, n)
        except KeyboardInterrupt:
            if chains.first < 0 or wants_all():
                pool.shutdown(cancel_futures=True)
                raise _stopped(chains.first, draws, tune) from None
            pool.shutdown()
            chains.catch_up()
            return chains.last
    return draws


class _Chains:
    """Chains, and how far each has come: known even if the interruption falls between two."""

    def __init__(self, advance: Sequence[Callable[[int, int], None]], first: int) -> None:
        self.advance = advance
        self.reached: list[int | None] = [None] * len(advance)
        self.jobs: list[Future[None]] = []
        self.first = self.last = first

    def go(self, pool: ThreadPoolExecutor, first: int, n: int) -> None:
        """Take all chains through a lot."""
        self.jobs = []
        self.first, self.last = first, first + n
        self.jobs.extend(pool.submit(self._one, chain) for chain in range(len(self.advance)))
        for job in self.jobs:
            job.result()

    def catch_up(self) -> None:
        """Take those through it that had not begun when the others were interrupted."""
        for job in self.jobs:
            job.result()
        for chain, reached in enumerate(self.reached):
            if reached != self.last:
                self._one(chain)

    def _one(self, chain: int) -> None:
        self.advance[chain](self.first, self.last - self.first)
        self.reached[chain] = self.last


def _stopped(first: int, draws: int, tune: int) -> KeyboardInterrupt:
    """Return what is raised at the lot that begins with this sweep."""
    if first < 0:
        return before_any_draw(f"after {max(first + tune, 0):,} of {tune:,} sweeps of the warm-up")
    return KeyboardInterrupt(f"Interrupted after {first:,} of {draws:,} draws")


def _lots(n: int, first: int) -> list[tuple[int, int]]:
    """Cut sweeps into lots: (first draw, how many)."""
    edges = np.unique(np.linspace(0, n, min(n, _LOTS) + 1).astype(int)).tolist()
    return [(first + low, high - low) for low, high in pairwise(edges)]


def first_draws(trace: Any, asked: int, drawn: int) -> Any:
    """Return a trace of the draws that were made, out of one with room for all.

    Parameters
    ----------
    trace : NamedTuple of arrays
        The draw in front, but in ``truth_mean``, a mean over all draws that were asked for.
    asked, drawn : int
    """
    if drawn == asked:
        return trace
    parts = {name: values[:drawn] for name, values in trace._asdict().items()}
    if "truth_mean" in parts:
        parts["truth_mean"] = trace.truth_mean * (asked / drawn)
    return trace._replace(**parts)
