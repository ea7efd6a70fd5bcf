"""The page on calibration says when all was last run in full, and `make` keeps that up to date."""

from __future__ import annotations

import csv
import re
import time

import pytest
from calibration import page
from calibration.passes import FILE, passed
from calibration.saved import ROOT


def rows_of(file):
    with file.open(newline="", encoding="utf-8") as opened:
        return {row["in full"]: row for row in csv.DictReader(opened)}


def test_a_pass_is_written_and_the_others_are_left(tmp_path):
    file = tmp_path / "passes.csv"
    file.write_bytes(FILE.read_bytes())
    before = rows_of(file)
    passed("fuzzing", "0123abc", file)
    after = rows_of(file)
    assert after.pop("fuzzing") == {
        "in full": "fuzzing", "run by": "`make fuzz`", "last pass": time.strftime("%Y-%m-%d"),
        "commit": "0123abc",
    }  # fmt: skip
    assert after == {name: row for name, row in before.items() if name != "fuzzing"}


def test_a_pass_of_nothing_known_is_refused(tmp_path):
    file = tmp_path / "passes.csv"
    file.write_bytes(FILE.read_bytes())
    with pytest.raises(SystemExit, match="no row 'fuzz'"):
        passed("fuzz", "0123abc", file)
    assert file.read_bytes() == FILE.read_bytes()


def test_each_row_is_written_by_the_command_it_names():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    written = {}
    for target, recipe in re.findall(r"^(\w+):.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE):
        for names in re.findall(r"calibration\.passes (.*) \$\(COMMIT\)", recipe):
            # After everything else, which make ends with if anything fails.
            assert recipe.rstrip().endswith(f"{names} $(COMMIT)")
            written |= dict.fromkeys(re.findall("'([^']+)'", names), f"`make {target}`")
    assert written == {name: row["run by"] for name, row in rows_of(FILE).items()}


def test_the_page_shows_them_before_anything_that_was_found():
    text = page.PAGE.read_text(encoding="utf-8")
    shown = text.index(":file: calibration/passes.csv")
    assert shown < text.index("questions pass")
    assert page.head([], []).split("questions pass")[0].count(":file: calibration/passes.csv") == 1
