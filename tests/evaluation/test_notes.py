"""Warnings of many steps, each said once."""

from __future__ import annotations

import warnings

import pytest

import dissensus as dx
from dissensus.evaluation.notes import Notes


def collected(*steps):
    notes = Notes()
    for name, texts in steps:
        with notes.of(name):
            for text in texts:
                warnings.warn(text, dx.DissensusWarning, stacklevel=1)
    return notes


def test_said_everywhere_said_once_and_said_in_one_place_with_the_place():
    notes = collected(("a", ["x", "x", "y"]), ("b", ["x"]), ("a", ["x"]))
    assert notes.texts() == ["x", "a: y"]


def test_one_step_needs_no_name():
    assert collected(("a", ["x"])).texts() == ["x"]


def test_the_warning_points_at_the_callers_caller():
    def evaluate():
        collected(("a", ["x"])).say()

    with pytest.warns(dx.DissensusWarning, match="^x$") as caught:
        evaluate()
    assert caught[0].filename == __file__
