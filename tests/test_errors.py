"""Complaints say where, what was expected and what was found."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dissensus.errors import (
    AnnotationError,
    ArgumentError,
    DissensusError,
    FormatError,
    PredictionError,
    shown,
)


def test_one_except_catches_all_complaints_about_data():
    assert issubclass(PredictionError, AnnotationError)
    assert issubclass(FormatError, AnnotationError)
    assert issubclass(AnnotationError, ValueError)
    assert not issubclass(ArgumentError, AnnotationError)


def test_message_has_all_parts():
    error = AnnotationError("x", where="row 1", expected="a", found="b", hint="Do this")
    assert str(error) == "x, row 1: expected a; found b. Do this"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("row 3", "line 5"),
        ("rows 3 and 10", "line 5 and line 12"),
        ("rows 3 and 3", "line 5"),
        ("row 3 (item 'row 4')", "line 5 (item 'row 4')"),
        ("item 'row 4'", "item 'row 4'"),
        ("", ""),
    ],
)
def test_rows_are_relocated_but_names_are_not(where, expected):
    error = PredictionError("x", where=where, expected="a", found="b", hint="Do this")
    moved = error.relocated(lambda row: f"line {row + 2}", "f.csv")
    assert type(moved) is PredictionError
    assert moved.where == expected
    assert (moved.subject, moved.hint) == ("f.csv: x", "Do this")


def test_names_are_shown_as_python_values_and_long_lists_are_cut():
    assert shown([np.int64(1), np.str_("a")]) == "1, 'a'"
    assert shown(list(range(7)), limit=2) == "0, 1 and 5 more"
    assert shown([]) == ""


def test_a_name_that_is_a_whole_document_is_cut():
    """An item named by 100,000 letters made a message of as many, as fuzzing found."""
    text = shown(["x" * 100_000, "y"])
    assert len(text) < 250
    assert text.startswith("'xxx")
    assert text.endswith("..., 'y'")


def test_errors_can_cross_processes():
    error = FormatError("x", where="row 1", expected="a", found="b", hint="Do this")
    back = pickle.loads(pickle.dumps(error))
    assert isinstance(back, DissensusError)
    assert str(back) == str(error)
    assert back.where == "row 1"
