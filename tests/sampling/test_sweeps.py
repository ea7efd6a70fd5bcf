"""Chains side by side: all of the draws, or the same number from each after an interruption."""

from __future__ import annotations

import gc
import os
import signal
import threading
from typing import NamedTuple

import numpy as np
import pytest

from dissensus.kernels.rowwise import in_one_thread
from dissensus.sampling.chains import first_draws, mapped, swept
from dissensus.sampling.interruption import all_or_nothing


class Rows(NamedTuple):
    sweep: np.ndarray


class Chain:
    """Writes down every sweep; at one of them somebody presses Ctrl-C."""

    def __init__(self, at=None):
        self.sweeps, self.at = [], at
        self.trace = Rows(np.arange(100))

    def advance(self, first, n):
        for sweep in range(first, first + n):
            self.sweeps.append(sweep)
            if sweep == self.at:
                # The kernel delivers signals to the main thread, as it does those of a terminal.
                os.kill(os.getpid(), signal.SIGINT)


def swept_until(at, draws=100, tune=50, n_chains=3):
    chains = [Chain(at if k == 1 else None) for k in range(n_chains)]
    return chains, lambda: swept(chains, draws, tune, "", False)


@pytest.fixture(autouse=True)
def several_threads(monkeypatch):
    """Unit tests have one thread otherwise (tests/conftest.py)."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)


@pytest.fixture(autouse=True)
def no_collection():
    """Hypothesis is called back at every garbage collection; a Ctrl-C that falls there is lost."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def no_thread_left():
    before = threading.active_count()
    yield
    assert threading.active_count() <= before  # a bar's own thread may end in between


def test_all_sweeps_are_made_in_order():
    chains, run = swept_until(None)
    assert run() == 100
    for chain in chains:
        assert chain.sweeps == list(range(-50, 100))


@pytest.mark.parametrize("at", [0, 1, 37, 99])
@pytest.mark.parametrize("n_chains", [1, 2, 7])
def test_interrupted_chains_are_of_one_length(at, n_chains):
    chains = [Chain(at if k == n_chains - 1 else None) for k in range(n_chains)]
    drawn = swept(chains, 100, 50, "", False)
    assert at < drawn <= 100
    # The lot under way is finished: two sweeps, with a hundred in fifty lots. The signal may reach
    # the main thread when it is about to begin with another.
    assert drawn <= at + 4
    for chain in chains:
        assert chain.sweeps == list(range(-50, drawn))
        assert len(chain.trace.sweep) == drawn


def test_an_interruption_of_the_warm_up_raises_and_says_so():
    _, run = swept_until(-30)
    with pytest.raises(
        KeyboardInterrupt, match=r"after 2\d of 50 sweeps of the warm-up: there are"
    ):
        run()


def test_half_a_fit_is_of_no_use_to_who_wants_all():
    _, run = swept_until(30)
    with all_or_nothing(), pytest.raises(KeyboardInterrupt, match=r"after 3\d of 100 draws"):
        run()
    _, run = swept_until(30)
    assert run() < 100


def test_the_interruption_of_a_bar_is_one_too(monkeypatch):
    def track(steps, text, total):
        for place, step in enumerate(steps):
            if place == 60:  # ten lots of two draws after fifty lots of warm-up
                raise KeyboardInterrupt
            yield step

    monkeypatch.setattr("dissensus.sampling.chains.bar", track)
    chains = [Chain(), Chain()]
    assert swept(chains, 100, 50, "", True) == 20
    assert all(chain.sweeps == list(range(-50, 20)) for chain in chains)


def test_what_a_chain_raises_is_raised():
    class Failing(Chain):
        def advance(self, first, n):
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        swept([Failing(), Chain()], 10, 0, "", False)


class Announced:
    """Jobs that say when the last of them was handed over."""

    def __init__(self, n):
        self.n, self.handed_over = n, threading.Event()

    def __len__(self):
        return self.n

    def __iter__(self):
        yield from range(self.n)
        self.handed_over.set()


def test_no_job_is_begun_after_an_interruption():
    begun, jobs = [], Announced(10_000)

    def work(job):
        begun.append(job)
        # An interruption of the handing over may fall into Python's own locks, which then complain.
        jobs.handed_over.wait(30)
        if job == 3:
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.05)  # for the main thread to wake up
        threading.Event().wait(0.001)

    with pytest.raises(KeyboardInterrupt):
        mapped(work, jobs, "", False)
    assert len(begun) < 9_000


def test_where_others_are_at_work_jobs_stay_in_one_thread():
    with in_one_thread():
        result = mapped(lambda _: threading.get_ident(), range(50), "", False)
    assert set(result) == {threading.get_ident()}


def test_jobs_keep_their_order():
    assert mapped(lambda job: -job, range(100), "", False) == [-job for job in range(100)]


class Trace(NamedTuple):
    mu: np.ndarray
    kept: np.ndarray
    truth_mean: np.ndarray


def test_a_trace_is_cut_and_its_mean_is_one_over_what_is_left():
    # Each draw adds its share of all 10 draws; 4 were made.
    trace = Trace(np.arange(10.0), np.empty((0, 3)), np.full(2, 4 / 10 * 0.5))
    cut = first_draws(trace, 10, 4)
    assert cut.mu.tolist() == [0, 1, 2, 3]
    assert cut.kept.shape == (0, 3)
    np.testing.assert_allclose(cut.truth_mean, 0.5)
    assert first_draws(trace, 10, 10) is trace
