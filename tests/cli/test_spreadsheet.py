"""Names that a spreadsheet would run are disarmed in tables, by apostrophes only."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.cli.output import disarmed, disarmed_table

# Prefixes after OWASP, "CSV Injection": = + - @ tab, carriage return, line feed, and the full
# width forms; separators of cells for programs that take ";" or a tab for one.
FORMULAS = [
    "=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\N{FULLWIDTH EQUALS SIGN}1", " =1",
    '"=1', "'=1", "''=1", "a;=1", 'a;"=1', "a\t@b", "a\n-b", "=cmd|' /C calc'!A0", "\x00=1",
]  # fmt: skip
PLAIN = ["a", "a-b", "a=b", "x@y", "it's", "'tis", "low, -5", "a+b", "1-2", "", " a", "\u05d0"]
DANGER = "=+-@\uff1d\uff0b\uff0d\uff20"


def cells(text):
    """Split as a program does that takes tabs and semicolons for separators."""
    return re.split("[;\t\r\n]", text)


def runs(cell):
    return cell.strip('"\x00 \x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0')[:1] in tuple(DANGER)


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_disarmed(name):
    assert name != disarmed(name)
    assert not any(runs(cell) for cell in cells(disarmed(name)))
    assert not disarmed(name).startswith(("\t", "\r", "\n"))


@pytest.mark.parametrize("name", PLAIN)
def test_other_text_stays(name):
    assert disarmed(name) == name


@given(st.text(st.sampled_from("=+-@\t\r\n;'\" a\x00\uff1d") | st.characters(), max_size=12))
def test_what_is_disarmed_runs_nowhere_and_has_more_apostrophes_only(name):
    assert not any(runs(cell) for cell in cells(disarmed(name)))
    assert disarmed(name).replace("'", "") == name.replace("'", "")


def test_numbers_are_not_text():
    frame = pd.DataFrame(
        {"mean": [-0.5, np.nan], "count": [-1, 2], "sure": [True, False],
         "system": pd.Series([-7, "-7"], dtype=object), "pool": ["@a", None]}
    )  # fmt: skip
    out = disarmed_table(frame)
    for name in ("mean", "count", "sure"):
        pd.testing.assert_series_equal(out[name], frame[name])
    assert out["system"].tolist() == [-7, "'-7"]
    assert out["pool"].tolist() == ["'@a", frame["pool"].tolist()[1]]
    assert frame["pool"].tolist()[0] == "@a"
