"""Interruptions by Ctrl-C, and the progress bar.

- Ctrl-C taken down where somebody else's code swallows it, and said in words.
- The bar above long work.
"""

from __future__ import annotations

import contextlib
import re
import signal
import threading

import numpy as np
import pytest
import xarray as xr
from numba import njit
from rich.progress import Progress

import dissensus as dx
from dissensus.sampling import interruption
from dissensus.sampling.chains import mapped, tracked
from dissensus.sampling.interruption import all_or_nothing, noticing, shortfall, wants_all


def drawn(chains, draws):
    return xr.Dataset({"x": (("chain", "draw"), np.zeros((chains, draws)))})


def test_a_swallowed_interruption_is_taken_down():
    with noticing() as seen, contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert seen == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_is_taken_down_where_nobody_interrupts():
    with noticing() as seen:
        pass
    assert not seen


def test_the_handler_is_put_back_after_an_error():
    with pytest.raises(KeyError), noticing():
        raise KeyError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_somebody_elses_handler_is_left_alone():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with noticing() as seen:
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (heard, seen) == ([signal.SIGINT], [])


def test_other_threads_may_ask_and_hear_nothing():
    result = []

    def ask():
        with noticing() as seen:
            result.append(seen)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert result == [[]]


def test_all_draws_are_no_news():
    assert shortfall(drawn(2, 10), (2, 10)) == {}


def test_fewer_draws_are_said_loudly():
    with pytest.warns(
        dx.DissensusWarning, match=r"holds 7 of the 1,000 draws asked for in each chain\."
    ):
        attrs = shortfall(drawn(2, 7), (2, 1000))
    assert attrs == {"interrupted": 1, "draws_asked": 1000, "draws_drawn": 7, "chains_asked": 2}


def test_chains_that_were_not_begun_are_said_too():
    with pytest.warns(dx.DissensusWarning, match="in each chain, and 1 of 4 chains"):
        shortfall(drawn(1, 7), (4, 10))


def test_who_wants_all_is_not_given_less():
    with all_or_nothing(), pytest.raises(KeyboardInterrupt, match="after 7 of 10 draws"):
        shortfall(drawn(2, 7), (2, 10))
    assert not wants_all()


@pytest.fixture
def texts(monkeypatch):
    """What a bar was told to say, update by update; None where its words were left alone."""
    words = []
    update = Progress.update

    def noted(self, task, **settings):
        words.append(settings.get("description"))
        update(self, task, **settings)

    monkeypatch.setattr(interruption.Progress, "update", noted)
    return words


def test_steps_go_by_as_they_are(capsys):
    assert list(tracked(iter("abc"), "Walking", show=True, total=3)) == list("abc")
    assert "Walking" in capsys.readouterr().err
    assert list(tracked("abc", "Walking", show=False)) == list("abc")
    assert capsys.readouterr().err == ""


def test_it_says_so_while_something_is_compiled(texts):
    @njit
    def inner(x):
        return x + 1

    @njit
    def outer(x):
        return inner(x) * 2

    for step in tracked(range(2), "Sampling", show=True):
        assert outer(np.float64(step)) == 2 * (step + 1)
    words = [text for text in texts if text is not None]
    assert words[0] == "Sampling (compiling, once on this machine)"
    assert words[-1] == "Sampling"
    assert texts.count("Sampling") == 1  # compiled once: the second step says nothing


def test_it_names_what_is_compiled_and_about_how_long_it_takes(texts):
    def swept(x):
        return x - 1

    swept.__module__ = "dissensus.families.latent_truth.kernels.states"
    kernel = njit(swept)
    for step in tracked(range(1), "Sampling", show=True):
        assert kernel(np.float64(step)) == -1
    words = [text for text in texts if text is not None]
    assert re.fullmatch(
        r"Sampling \(compiling a latent truth, about \d+ s in all, once on this machine\)", words[0]
    )


def test_an_interruption_ends_the_bar():
    steps = tracked(range(5), "Sampling", show=True)
    assert next(iter(steps)) == 0
    steps.close()
    assert list(tracked(range(2), "Again", show=True)) == [0, 1]  # rich allows one bar at a time


def test_threads_compile_too_and_the_bar_ends_with_its_own_words(texts):
    @njit
    def twice(x):
        return 2 * x

    assert mapped(twice, [1.0, 2.0, 3.0], "Mapping", show=True) == [2.0, 4.0, 6.0]
    words = [text for text in texts if text is not None]
    assert words[0].startswith("Mapping (compiling")
    assert words[-1] == "Mapping"
