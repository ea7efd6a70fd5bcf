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
    assert (
        page.head({}, [], []).split("questions pass")[0].count(":file: calibration/passes.csv") == 1
    )


def test_forms_that_did_not_run_here_stay_on_the_page(monkeypatch, tmp_path):
    """Without results nothing changes but the head, whose numbers are those of the sections."""
    before = page.sections()
    text = page.PAGE.read_text("utf-8")
    copy, pictures = tmp_path / "calibration.md", tmp_path / "calibration"
    copy.write_text(text, encoding="utf-8")
    pictures.mkdir()
    gone = list(before)[-1]
    for name in before:
        (pictures / page.file_of(name).with_suffix(".png").name).write_bytes(b"")
    for attribute, value in (("PAGE", copy), ("PICTURES", pictures), ("ROOT", tmp_path)):
        monkeypatch.setattr(page, attribute, value)
    page.write([], [name for name in before if name != gone])
    assert page.sections() == {name: section for name, section in before.items() if name != gone}
    assert len(list(pictures.iterdir())) == len(before) - 1
    page.write([], list(before))
    assert f"Not run yet, of {len(before)} forms: {gone}." in copy.read_text("utf-8")
    copy.write_text(text, encoding="utf-8")
    page.write([], list(before))
    counts = re.findall(r"\d+ of \d+ questions pass\*\* in \d+ forms of \d+ models", text)
    assert counts
    assert counts[0] in copy.read_text("utf-8")
