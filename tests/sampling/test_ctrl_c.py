"""Ctrl-C from a terminal, in a process of its own: a real signal while kernels run in threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

# After so many lots the child says that it is under way. Each chain then takes its time, so that
# the signal finds it at work. The child imports everything once, for two interruptions.
_UNDER_WAY = """
import sys, threading, time
from dissensus.sampling import chains

real, firsts = chains._Chains.advance_one, {firsts}

def slowly(self, chain):
    if self.first >= firsts[0]:
        if chain == 0:
            print("under way at", firsts[0], flush=True)
        time.sleep(0.2)
    real(self, chain)

chains._Chains.advance_one = slowly
"""
_FITS = """
import warnings
import dissensus as dx
ann = dx.simulate.replication_study(30, 5, 3, random_seed=1).annotations
options = {"draws": 500, "chains": 2, "random_seed": 1, "progressbar": False}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fit = dx.models.crossed_effects.fit(ann, **options)
print(fit.attrs["interrupted"], fit.attrs["draws_drawn"], dict(fit["posterior"].sizes)["draw"])
print(threading.active_count())
print([str(one.message)[:24] for one in caught if "interrupted" in str(one.message)])
del firsts[0]
dx.models.crossed_effects.fit(ann, **options)
"""
_COMMANDS = """
from dissensus.cli.app import main
table, *outs = sys.argv[1:]
for out in outs:
    sys.argv = [
        "dissensus", "evaluate", table, "--kind", "ordinal", "--labels", "0,1,2,3,4", "--out", out,
        "--seed", "1", "--draws", "100", "--no-progress", "--force",
    ]
    try:
        main()
    except SystemExit as end:
        if len(firsts) == 1:
            raise
        print("ended with", end.code, flush=True)
        print("and the other:", file=sys.stderr, flush=True)
        del firsts[0]
"""


def interrupted(code, *arguments, firsts):
    """Run, press Ctrl-C whenever the child is under way; return exit code, lines and errors."""
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _UNDER_WAY.format(firsts=firsts) + code, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHON_CPU_COUNT": "2"},  # unit tests have one thread otherwise
    )  # fmt: skip
    printed = []
    try:
        for first in firsts:
            for line in child.stdout:
                printed.append(line)
                if line == f"under way at {first}\n":
                    break
            child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
    lines = "".join([*printed, out]).splitlines()
    return child.returncode, [line for line in lines if not line.startswith("under way at ")], err


pytestmark = pytest.mark.skipif(os.name == "nt", reason="another kind of signals")


@pytest.fixture(scope="module")
def fits():
    """Exit code, output and errors of a fit stopped after its warm-up, and then one within it."""
    return interrupted(_FITS, firsts=[100, -400])


def test_a_fit_returns_what_was_drawn(fits):
    _, out, err = fits
    assert len(out) == 3, err
    attrs, threads, words = out
    is_interrupted, drawn, size = map(int, attrs.split())
    assert is_interrupted == 1
    assert 100 < drawn == size < 500
    assert threads == "1"
    assert words == "['The fit was interrupted:']"


def test_a_fit_in_its_warm_up_raises(fits):
    code, _, err = fits
    assert code == -signal.SIGINT  # as Python ends of a KeyboardInterrupt that nobody took
    assert "of 500 sweeps of the warm-up: there are no draws to return" in err


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """Exit code, output, errors and folder of an evaluation, by when it was stopped."""
    folder = tmp_path_factory.mktemp("commands")
    rows = "\n".join(f"i{i},{who},{i % 3 + k}" for i in range(12) for k, who in enumerate("abc"))
    table = folder / "a.csv"
    table.write_text(f"item,annotator,label\n{rows}\n")
    outs = [folder / "one", folder / "other"]
    for out in outs:
        out.mkdir()
        (out / "evaluation.nc").write_text("of yesterday")
    code, lines, err = interrupted(_COMMANDS, str(table), *map(str, outs), firsts=[-100, 500])
    assert "ended with 130" in lines, err
    end = lines.index("ended with 130")
    first, _, second = err.partition("and the other:\n")
    return {
        -100: (130, lines[:end], first, outs[0]),
        500: (code, lines[end + 1 :], second, outs[1]),
    }


@pytest.mark.long
@pytest.mark.parametrize("first", [-100, 500])
def test_an_evaluation_ends_in_one_line_and_leaves_the_old_results(commands, first):
    code, lines, err, out = commands[first]
    assert code == 130, err
    assert lines == []
    (line,) = err.strip().splitlines()
    assert line.startswith("Interrupted after ")
    assert line.endswith("No result was left half-written.")
    assert [path.name for path in out.iterdir()] == ["evaluation.nc"]
    assert (out / "evaluation.nc").read_text() == "of yesterday"
