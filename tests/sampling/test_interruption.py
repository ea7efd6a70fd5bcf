"""Ctrl-C taken down where somebody else's code swallows it, and said in words."""

from __future__ import annotations

import contextlib
import signal
import threading

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
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
    found = []

    def ask():
        with noticing() as seen:
            found.append(seen)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found == [[]]


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
