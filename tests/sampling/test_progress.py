"""The bar above long work."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import njit
from rich.progress import Progress

from dissensus.sampling import interruption
from dissensus.sampling.chains import mapped, tracked


@pytest.fixture
def said(monkeypatch):
    """What a bar was told to say, update by update; None where its words were left alone."""
    words = []
    update = Progress.update

    def noted(self, task, **what):
        words.append(what.get("description"))
        update(self, task, **what)

    monkeypatch.setattr(interruption.Progress, "update", noted)
    return words


def test_steps_go_by_as_they_are(capsys):
    assert list(tracked(iter("abc"), "Walking", show=True, total=3)) == list("abc")
    assert "Walking" in capsys.readouterr().out
    assert list(tracked("abc", "Walking", show=False)) == list("abc")
    assert capsys.readouterr().out == ""


def test_it_says_so_while_something_is_compiled(said):
    @njit
    def inner(x):
        return x + 1

    @njit
    def outer(x):
        return inner(x) * 2

    for step in tracked(range(2), "Sampling", show=True):
        assert outer(np.float64(step)) == 2 * (step + 1)
    words = [one for one in said if one is not None]
    assert words[0] == "Sampling (compiling, once on this machine)"
    assert words[-1] == "Sampling"
    assert said.count("Sampling") == 1  # compiled once: the second step says nothing


def test_it_names_what_is_compiled_and_about_how_long_it_takes(said):
    def swept(x):
        return x - 1

    swept.__module__ = "dissensus.families.latent_truth.kernels.states"
    kernel = njit(swept)
    for step in tracked(range(1), "Sampling", show=True):
        assert kernel(np.float64(step)) == -1
    words = [one for one in said if one is not None]
    assert re.fullmatch(
        r"Sampling \(compiling a latent truth, about \d+ s in all, once on this machine\)", words[0]
    )


def test_an_interruption_ends_the_bar():
    steps = tracked(range(5), "Sampling", show=True)
    assert next(iter(steps)) == 0
    steps.close()
    assert list(tracked(range(2), "Again", show=True)) == [0, 1]  # rich allows one bar at a time


def test_threads_compile_too_and_the_bar_ends_with_its_own_words(said):
    @njit
    def twice(x):
        return 2 * x

    assert mapped(twice, [1.0, 2.0, 3.0], "Mapping", show=True) == [2.0, 4.0, 6.0]
    words = [one for one in said if one is not None]
    assert words[0].startswith("Mapping (compiling")
    assert words[-1] == "Mapping"
