"""Parallel work in threads. The work is cut into lots, and can be interrupted between lots."""

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
"""Number of lots: enough for a smooth progress bar, and for all threads to finish together."""


def tracked[Step](
    steps: Iterable[Step], text: str, show: bool, total: int | None = None
) -> Iterable[Step]:
    """Return the steps, with a progress bar if ``show``."""
    return bar(steps, text, total) if show else steps


def mapped[Job, Result](
    work: Callable[[Job], Result], jobs: Sequence[Job], text: str, show: bool
) -> list[Result]:
    """Return the results of jobs, done in parallel with one thread for each processor.

    After an interruption no further job starts.
    """
    if no_threads():
        return [work(job) for job in tracked(jobs, text, show)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:

        def results() -> Iterator[Result]:
            # As this is a generator, jobs start after the progress bar, which shows compilation.
            yield from pool.map(work, jobs)

        try:
            return list(tracked(results(), text, show, total=len(jobs)))
        except BaseException:
            # Without this, the pool would first finish all jobs.
            pool.shutdown(cancel_futures=True)
            raise


def by_lots[Result](
    work: Callable[[int, int, int], Result], chains: int, n_items: int, text: str = "",
    show: bool = False,
) -> list[list[Result]]:  # fmt: skip
    """Do work for every chain and every lot of items; return a list of results for each chain.

    ``work`` takes the chain, the first item of a lot, and the first item after the lot.
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
    """Run Gibbs chains, each in a thread; return the number of draws that every chain made.

    Traces have room for all draws, and are cut to the draws made. After Ctrl-C all chains finish
    the current lot, so that they have the same length; a second Ctrl-C interrupts this too. A
    KeyboardInterrupt is raised if there are no draws yet, or inside `interruption.all_or_nothing`.
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
    """Chains, and how far each has run: some may not have run the lot when Ctrl-C comes."""

    def __init__(self, runs: Sequence[Chain], first: int) -> None:
        self.runs = runs
        self.reached: list[int | None] = [None] * len(runs)
        self.jobs: list[Future[None]] = []
        self.first = self.last = first

    def to(self, first: int, n: int) -> None:
        """Begin the next lot: ``n`` sweeps from sweep ``first``."""
        self.jobs = []
        self.first, self.last = first, first + n

    def advance_one(self, chain: int) -> None:
        """Run the current lot in one chain."""
        self.runs[chain].advance(self.first, self.last - self.first)
        self.reached[chain] = self.last

    def catch_up(self) -> None:
        """Run the current lot in the chains that had not started it before the interruption."""
        for job in self.jobs:
            job.result()
        for chain, reached in enumerate(self.reached):
            if reached != self.last:
                self.advance_one(chain)


def _stopped(first: int, draws: int, tune: int, progress: Progress | None) -> KeyboardInterrupt:
    """Return the KeyboardInterrupt for an interruption in the lot that begins at ``first``."""
    suffix = "" if progress is None else progress.checkpoint.in_words
    if first < 0:
        done = f"after {max(first + tune, 0):,} of {tune:,} sweeps of the warm-up"
        return before_any_draw(done, suffix)
    return KeyboardInterrupt(f"Interrupted after {first:,} of {draws:,} draws{suffix}")


def _lots(n: int, first: int) -> list[tuple[int, int]]:
    """Cut n sweeps, numbered from ``first``, into lots: (first sweep, number of sweeps)."""
    edges = np.unique(np.linspace(0, n, min(n, _LOTS) + 1).astype(int)).tolist()
    return [(first + low, high - low) for low, high in pairwise(edges)]


def first_draws(trace: Any, requested: int, drawn: int) -> Any:
    """Return a trace with only the ``drawn`` first of the ``requested`` draws.

    The draw is the first dim of all fields except ``truth_mean``. ``truth_mean`` is a sum over
    draws, divided by the requested number; it is rescaled to the mean over the draws made.
    """
    if drawn == requested:
        return trace
    parts = {name: values[:drawn] for name, values in trace._asdict().items()}
    if "truth_mean" in parts:
        parts["truth_mean"] = trace.truth_mean * (requested / drawn)
    return trace._replace(**parts)
