"""Votes on pairs on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli.app import app

from .conftest import write

pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.fixture
def votes(tmp_path):
    rng = np.random.default_rng(1)
    rows = [(*rng.permutation(list("abc"))[:2], f"v{k % 3}", k % 4) for k in range(60)]
    rows = [(*row, row[0] if k % 5 else "tie") for k, row in enumerate(rows)]
    header = ("left", "right", "annotator", "item", "winner")
    verdicts = [(x, y, item, x) for item in range(4) for x, y in ("ab", "ac", "bc")]
    beside = write(tmp_path / "verdicts.csv", verdicts, ("left", "right", "item", "winner"))
    return write(tmp_path / "votes.csv", rows, header), beside


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def test_check_describes_votes(votes):
    out = run("check", votes[0], "--format", "pairs", "--predictions", votes[1])
    for words in ("votes │ 60", "3: 'a', 'b', 'c'", "ties │ 12 (20%)", "voters │ 3"):
        assert words in out
    result = json.loads(run("check", votes[0], "--format", "pairs", "--json"))
    assert result["valid"]
    assert result["annotations"]["groups"] == [["a", "b", "c"]]
    assert "--format pairs" in run("check", votes[0], code=2)


def test_check_refuses_verdicts_that_lack_a_pair(votes, tmp_path):
    few = write(tmp_path / "few.csv", [("a", "b", 0, "a")], ("left", "right", "item", "winner"))
    out = run("check", votes[0], "--format", "pairs", "--predictions", few, code=2)
    assert "a verdict on every pair of answers with votes" in out


@pytest.mark.long
def test_evaluate_prints_the_verdict_and_the_leaderboard(votes, tmp_path):
    out = run("evaluate", votes[0], "--format", "pairs", "--out", tmp_path / "r", "--draws", "20",
              "--seed", "1", "--no-progress")  # fmt: skip
    with xr.open_datatree(tmp_path / "r" / "evaluation.nc", engine="h5netcdf") as tree:
        stored = tree.load()
    assert dx.describe(stored).split(":")[0] in out
    assert "System Win rate Interval, 89 % Rank, 89 % P(best) Votes" in out.replace("\xa0", " ")
    assert {path.name for path in (tmp_path / "r").iterdir()} == {
        "evaluation.nc", "summary.csv", "report.html",
    }  # fmt: skip


def test_settings_of_labels_are_refused(votes, tmp_path):
    result = CliRunner().invoke(
        app, ["evaluate", str(votes[0]), "--format", "pairs", "--out", str(tmp_path / "r"),
              "--threshold", "2", "--margin", ".3"],
    )  # fmt: skip
    assert isinstance(result.exception, dx.ArgumentError)
    assert "threshold, margin" in str(result.exception)
