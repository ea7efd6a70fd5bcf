"""Kernels compiled ahead."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli.app import app

CODE = """
import sys
import warnings

import numba.core.event as event

import dissensus as dx

warnings.simplefilter("ignore")
name, ahead = sys.argv[1:]
if ahead == "ahead":
    dx.warm_up(name, progressbar=False)
rows = {"item": list("iijjkkll"), "annotator": list("abababab"), "label": list("xyxxyyyx")}
if name in {"crossed_effects", "normal_scores"}:
    ann = dx.annotations({**rows, "label": [1.0, 2.5, 3, 4, 2, 1, 0, 2]}, kind="continuous")
elif name == "plackett_luce":
    ann = dx.from_rankings({"i": {"a": [["x"], ["y"]], "b": [["y", "z"]]}}, labels="xyz")
else:
    ann = dx.annotations(rows)
with event.install_recorder("numba:compile") as compiled:
    dx.models.get(name).module.fit(ann, draws=10, tune=5, chains=1, progressbar=False)
print(len(compiled.buffer))
"""


@pytest.mark.long
@pytest.mark.parametrize("name", [
    "normal_scores",  # the others take up to a minute each
    *(pytest.param(name, marks=pytest.mark.slow)
      for name in ("crossed_effects", "dawid_skene", "plackett_luce", "rasch")),
])  # fmt: skip
def test_a_first_fit_in_a_second_process_compiles_nothing(name, tmp_path):
    def compiled(ahead):
        done = subprocess.run(
            [sys.executable, "-c", CODE, name, ahead], check=True, capture_output=True, text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        return int(done.stdout)

    assert compiled("ahead") == 0  # in the same process
    assert compiled("after") == 0  # from the disk


def test_models_that_are_not_there_are_refused():
    with pytest.raises(dx.ArgumentError, match=r"dawid_skene.*; found 'dawid', 'skene'"):
        dx.warm_up("dawid", "rasch", "skene")


@pytest.mark.parametrize("name", [None, 3, ["rasch"], {"rasch": 1}, "", "rasch "])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(dx.ArgumentError, match="names: expected models of this library"):
        dx.warm_up(name)


def test_the_command_says_what_was_compiled():
    done = CliRunner().invoke(app, ["warm-up", "dirichlet", "--no-progress"])
    assert done.exit_code == 0
    assert done.output.startswith("compiled in ")
    assert done.output.strip().endswith("s: dirichlet")
