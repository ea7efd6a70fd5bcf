"""Ctrl-C from a terminal, in a process of its own: a real signal while kernels run in threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

# After so many lots the child says that it is under way. Each chain then takes its time, so that
# the signal finds it at work.
_UNDER_WAY = """
import sys, threading, time
from dissensus import _sweeps

real = _sweeps._Chains._one

def slowly(self, chain):
    if self.first >= {first}:
        if chain == 0:
            print("under way", flush=True)
        time.sleep(0.2)
    real(self, chain)

_sweeps._Chains._one = slowly
"""
_FIT = """
import warnings
import dissensus as dx
ann = dx.simulate.replication_study(30, 5, 3, random_seed=1).annotations
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fit = dx.models.crossed_effects.fit(ann, draws=500, chains=2, random_seed=1, progressbar=False)
print(fit.attrs["interrupted"], fit.attrs["draws_drawn"], dict(fit["posterior"].sizes)["draw"])
print(threading.active_count())
print([str(one.message)[:24] for one in caught if "interrupted" in str(one.message)])
"""
_COMMAND = """
from dissensus.cli import main
sys.argv = ["dissensus", *sys.argv[1:]]
main()
"""


def interrupted(code, *arguments, first):
    """Run, press Ctrl-C when the child is under way, and return exit code, output and errors."""
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _UNDER_WAY.format(first=first) + code, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        for line in child.stdout:
            if line == "under way\n":
                break
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
    return child.returncode, out.replace("under way\n", ""), err


pytestmark = pytest.mark.skipif(os.name == "nt", reason="another kind of signals")


def test_a_fit_returns_what_was_drawn():
    code, out, err = interrupted(_FIT, first=100)
    assert code == 0, err
    attrs, threads, said = out.splitlines()
    one, drawn, size = map(int, attrs.split())
    assert one == 1
    assert 100 < drawn == size < 500
    assert threads == "1"
    assert said == "['The fit was interrupted:']"


def test_a_fit_in_its_warm_up_raises():
    code, _, err = interrupted(_FIT, first=-400)
    assert code == -signal.SIGINT  # as Python ends of a KeyboardInterrupt that nobody took
    assert "of 500 sweeps of the warm-up: there are no draws to return" in err


@pytest.mark.parametrize("first", [-100, 500])
def test_an_evaluation_ends_in_one_line_and_leaves_the_old_results(tmp_path, first):
    rows = "\n".join(f"i{i},{who},{i % 3 + k}" for i in range(12) for k, who in enumerate("abc"))
    table = tmp_path / "a.csv"
    table.write_text(f"item,annotator,label\n{rows}\n")
    out = tmp_path / "out"
    out.mkdir()
    (out / "evaluation.nc").write_text("of yesterday")
    code, said, err = interrupted(
        _COMMAND, "evaluate", str(table), "--kind", "ordinal", "--labels", "0,1,2,3,4",
        "--out", str(out), "--seed", "1", "--draws", "100", "--no-progress", "--force",
        first=first,
    )  # fmt: skip
    assert code == 130, err
    assert said == ""
    (line,) = err.strip().splitlines()
    assert line.startswith("Interrupted after ")
    assert line.endswith("No result was left half-written.")
    assert [path.name for path in out.iterdir()] == ["evaluation.nc"]
    assert (out / "evaluation.nc").read_text() == "of yesterday"
