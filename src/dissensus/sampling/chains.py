"""Parallel work in threads, in lots; it can be interrupted between lots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise, product
from typing import Any, Final

import numpy as np

from dissensus.kernels.rowwise import no_threads
from dissensus.sampling.checkpoints import Chain, Checkpoint, Progress
from dissensus.sampling.interruption import bar, before_any_draw, wants_all

_LOTS: Final = 50
"""Number of lots of sweeps or items, for a smooth progress bar and even work."""


def tracked[Step](
    steps: Iterable[Step], text: str, show: bool, total: int | None = None
) -> Iterable[Step]:
    """Return the steps, with a progress bar if ``show``."""
    return bar(steps, text, total) if show else steps


def mapped[Job, Result](
    work: Callable[[Job], Result], jobs: Sequence[Job], text: str, show: bool
) -> list[Result]:
    """Do jobs in parallel, one thread a processor; start no job after an interruption."""
    if no_threads():
        return [work(job) for job in tracked(jobs, text, show)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:

        def results() -> Iterator[Result]:
            # A generator, so that jobs begin after the bar, which shows the compilation.
            yield from pool.map(work, jobs)

        try:
            return list(tracked(results(), text, show, total=len(jobs)))
        except BaseException:
            # The pool would wait for all jobs otherwise.
            pool.shutdown(cancel_futures=True)
            raise


def by_lots[Result](
    work: Callable[[int, int, int], Result], chains: int, n_items: int, text: str = "",
    show: bool = False,
) -> list[list[Result]]:  # fmt: skip
    """Do work for every chain and every lot of items; return the results of each chain's lots.

    ``work`` takes the chain, the first item of the lot, and the first item after it.
    """
    edges = np.unique(np.linspace(0, n_items, _LOTS + 1).astype(int)).tolist()
    jobs = list(product(range(chains), pairwise(edges)))
    results = mapped(lambda job: work(job[0], *job[1]), jobs, text, show)
    n_lots = len(edges) - 1
    return [results[chain * n_lots : (chain + 1) * n_lots] for chain in range(chains)]


def swept(
    runs: Sequence[Chain], draws: int, tune: int, text: str, show: bool,
    checkpoint: Checkpoint | None = None,
) -> int:  # fmt: skip
    """Run chains of sweeps, each in a thread; return the number of draws of every chain.

    Chains have room for all draws; their traces are cut to the draws made. After an interruption
    the current lot is finished in all chains, so that they are of one length and no thread is left
    behind. A second Ctrl-C does not wait for that. If there are no draws yet, or within
    `interruption.all_or_nothing`, a KeyboardInterrupt is raised.
    """
    progress = None if checkpoint is None else Progress(runs, checkpoint, -tune)
    lots, drawn = [*_lots(tune, -tune), *_lots(draws, 0)], draws
    if progress is None:
        chains = _Chains(runs, min(-tune, -1))
    else:
        chains = _Chains(runs, progress.reached or -1)
        lots = [(first, n) for first, n in lots if first >= progress.reached]
    with ThreadPoolExecutor(min(len(runs), os.cpu_count() or 1)) as pool:
        try:
            for first, n in tracked(lots, text, show):
                chains.to(first, n)
                for chain in range(len(runs)):
                    chains.jobs.append(pool.submit(chains.advance_one, chain))
                for job in chains.jobs:
                    job.result()
                if progress is not None:
                    progress.after(chains.last, now=chains.last == draws)
        except KeyboardInterrupt:
            whole = chains.first < 0 or wants_all()
            if whole and progress is None:
                pool.shutdown(cancel_futures=True)
            else:
                pool.shutdown()
                chains.catch_up()
            if progress is not None:
                progress.after(chains.last, now=True)
            if whole:
                raise _stopped(chains.first, draws, tune, progress) from None
            drawn = chains.last
    for run in runs:
        run.trace = first_draws(run.trace, draws, drawn)
    return drawn


class _Chains:
    """Chains, and the progress of each: an interruption can come between two chains."""

    def __init__(self, runs: Sequence[Chain], first: int) -> None:
        self.runs = runs
        self.reached: list[int | None] = [None] * len(runs)
        self.jobs: list[Future[None]] = []
        self.first = self.last = first

    def to(self, first: int, n: int) -> None:
        """Begin the next lot, which no chain has run yet."""
        self.jobs = []
        self.first, self.last = first, first + n

    def advance_one(self, chain: int) -> None:
        """Advance one chain by the lot."""
        self.runs[chain].advance(self.first, self.last - self.first)
        self.reached[chain] = self.last

    def catch_up(self) -> None:
        """Advance the chains that had not begun the lot when the others were interrupted."""
        for job in self.jobs:
            job.result()
        for chain, reached in enumerate(self.reached):
            if reached != self.last:
                self.advance_one(chain)


def _stopped(first: int, draws: int, tune: int, progress: Progress | None) -> KeyboardInterrupt:
    """Return the KeyboardInterrupt for the lot that begins with sweep ``first``."""
    suffix = "" if progress is None else progress.checkpoint.in_words
    if first < 0:
        done = f"after {max(first + tune, 0):,} of {tune:,} sweeps of the warm-up"
        return before_any_draw(done, suffix)
    return KeyboardInterrupt(f"Interrupted after {first:,} of {draws:,} draws{suffix}")


def _lots(n: int, first: int) -> list[tuple[int, int]]:
    """Cut sweeps into lots: (first draw, number)."""
    edges = np.unique(np.linspace(0, n, min(n, _LOTS) + 1).astype(int)).tolist()
    return [(first + low, high - low) for low, high in pairwise(edges)]


def first_draws(trace: Any, requested: int, drawn: int) -> Any:
    """Return the trace of the draws that were made, out of one with room for those requested.

    The draw is the first dim, except of ``truth_mean``, a mean over the requested draws.
    """
    if drawn == requested:
        return trace
    parts = {name: values[:drawn] for name, values in trace._asdict().items()}
    if "truth_mean" in parts:
        parts["truth_mean"] = trace.truth_mean * (requested / drawn)
    return trace._replace(**parts)
