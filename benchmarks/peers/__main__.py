"""Beside the peers, question by question: `uv run python benchmarks/peers`.

Each tool runs in an environment of its own, which uv makes, and in a process of its own, on the
same simulated studies whose truth is known: so what is compared is time, memory, and how far an
answer is from the truth. irrCAC needs NumPy 1.26 and hence Python 3.12; `--python312` says where
that is, if uv does not know.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import studies

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from machine import described  # noqa: E402
from timing import shown  # noqa: E402


class Tool(NamedTuple):
    """One way to an answer."""

    name: str
    """What the table calls it."""
    function: str
    """In `tools.py`."""
    packages: tuple[str, ...] = ()
    """What its environment holds; none: this one's."""
    studies: int | None = None
    """How many it is given, if not all."""


class Question(NamedTuple):
    """What is asked of all."""

    title: str
    answers: tuple[str, ...]
    """What tools say, in the table's order."""
    make: Any
    """Makes the studies: from a number of these, arrays."""
    n_studies: int
    tools: tuple[Tool, ...]


_CROWDKIT = ("crowd-kit",)
_IRRCAC = ("irrCAC", "numpy==1.26.4")
QUESTIONS = {
    "truth": Question(
        "Which label is right, and how good is each annotator? 4,000 items, 5 labels each by 200 "
        "annotators who err each in their own way, 4 labels",
        ("items wrong", "log loss", "RMSE of accuracies", "90 % intervals that cover"),
        studies.crowds, 5,
        (
            Tool("dissensus: dawid_skene, 4 x 1,000 draws", "ours_truth"),
            Tool("dissensus: dawid_skene, 2 x 100 draws", "ours_truth_short"),
            Tool("dissensus: symmetric_confusion, an accuracy each", "ours_symmetric"),
            Tool("dissensus: the same, 2 x 100 draws", "ours_symmetric_short"),
            Tool("crowd-kit: DawidSkene", "crowdkit_dawid_skene", _CROWDKIT),
            Tool("crowd-kit: OneCoinDawidSkene", "crowdkit_one_coin", _CROWDKIT),
            Tool("crowd-kit: MACE", "crowdkit_mace", _CROWDKIT),
            Tool("crowd-kit: MajorityVote", "crowdkit_majority", _CROWDKIT),
        ),
    ),
    "agreement": Question(
        "Krippendorff's alpha of 100,000 items, 5 labels each by 5 annotators, 4 labels",
        ("alpha", "its standard error"),
        studies.large_panels, 5,
        (
            Tool("dissensus: krippendorff_alpha", "ours_alpha"),
            Tool("dissensus: the same, 1,000 bootstrap draws", "ours_alpha_draws"),
            Tool("krippendorff: alpha", "krippendorff_alpha", ("krippendorff",)),
            Tool("statsmodels: fleiss_kappa (another statistic)", "statsmodels_fleiss",
                 ("statsmodels",)),
            Tool("irrCAC: krippendorff, with its interval", "irrcac_alpha", _IRRCAC, 1),
        ),
    ),
    "interval": Question(
        "Krippendorff's alpha of 50 items, 5 labels each by 5 annotators, 4 labels: does the 95 % "
        "interval contain that of all items?",
        ("RMSE", "intervals that cover", "mean width"),
        studies.small_panels, 400,
        (
            Tool("dissensus: Bayesian bootstrap, 4,000 draws", "ours_interval"),
            Tool("irrCAC: from a variance over items", "irrcac_interval", _IRRCAC),
        ),
    ),
    "components": Question(
        "ICC of one label, absolute agreement: 40 items, each of 8 annotators labels all; does the "
        "95 % interval contain it?",
        ("RMSE", "intervals that cover", "mean width", "effective draws a second"),
        studies.matrices, 200,
        (
            Tool("dissensus: crossed_effects, 4 x 1,000 draws", "ours_icc"),
            Tool("pingouin: intraclass_corr, F distribution", "pingouin_icc", ("pingouin",)),
            Tool("statsmodels: MixedLM, REML", "statsmodels_icc", ("statsmodels",), 20),
            Tool("Bambi: PyMC's NUTS, 4 x 1,000 draws", "bambi_icc", ("bambi",), 5),
        ),
    ),
}  # fmt: skip


def main() -> None:
    """Print a table for each question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(QUESTIONS), choices=list(QUESTIONS))
    parser.add_argument("--python312", default="3.12", help="for irrCAC")
    options = parser.parse_args()
    print(described())
    for name in options.only:
        question = QUESTIONS[name]
        print(f"\n{question.title}; {question.n_studies} studies.\n")
        print(f"| tool | seconds a study | range | peak memory | {' | '.join(question.answers)} |")
        print("|---|--:|--:|--:|" + "--:|" * len(question.answers))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "studies.npz"
            np.savez(path, **question.make(question.n_studies))
            for tool in question.tools:
                print(_row(tool, question, path, options.python312), flush=True)


def _row(tool: Tool, question: Question, path: Path, python312: str) -> str:
    result = _run(tool, path, python312)
    if "failed" in result:
        return f"| {tool.name} | {result['failed']} |"
    seconds = result["seconds"]
    spread = f"{shown(min(seconds))} to {shown(max(seconds))}"
    cells = [tool.name, shown(statistics.median(seconds)), spread, f"{result['peak'] / 1e6:.0f} MB"]
    cells += [_number(result["answers"].get(name)) for name in question.answers]
    return f"| {' | '.join(cells)} |"


def _run(tool: Tool, path: Path, python312: str) -> dict[str, Any]:
    """Run a tool in its environment, which is there before anything is timed."""
    command = [sys.executable]
    if tool.packages:
        python = python312 if "numpy==1.26.4" in tool.packages else sys.executable
        with_them = [word for package in tool.packages for word in ("--with", package)]
        command = ["uv", "run", "-q", "--no-project", "--isolated", "--python", python, *with_them]
        command.append("python")
    n = [] if tool.studies is None else [str(tool.studies)]
    done = subprocess.run(
        [*command, str(HERE / "tools.py"), tool.function, str(path), *n],
        capture_output=True, text=True, check=False, cwd=HERE,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1][:120] or "no word why"}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


if __name__ == "__main__":
    main()
