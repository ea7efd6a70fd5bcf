"""Fuzzing: how many cases a run makes, and the count of them at its end."""

from __future__ import annotations

from collections import Counter

import matplotlib as mpl
import pymc  # noqa: F401  (PyTensor sets the recursion limit: not in the midst of a case)
import pytest
from fuzz.judging import TALLY

_ALL: Counter[tuple[str, str]] = Counter()


@pytest.fixture(autouse=True, scope="session")
def no_window():
    """Draw without a screen."""
    mpl.use("agg")


@pytest.fixture(autouse=True, scope="module")
def elsewhere(tmp_path_factory):
    """Work in a folder of one's own: what takes a path is given all kinds of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("fuzz"))
        yield


def pytest_sessionfinish(session):
    """Hand the count of a worker to the process that started it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["fuzz"] = [[*key, number] for key, number in TALLY.items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take the count of a worker that has ended."""
    for area, outcome, number in getattr(node, "workeroutput", {}).get("fuzz", []):
        _ALL[area, outcome] += number


def pytest_terminal_summary(terminalreporter):
    """Print how many cases were made, area by area, and how many got through."""
    total = _ALL + TALLY
    if not total:
        return
    terminalreporter.section("fuzzing: calls, and how many of them returned values")
    for area in sorted({area for area, _ in total}):
        got, refused = total[area, "returned"], total[area, "refused"]
        terminalreporter.line(f"{area:45} {got + refused:8}  {got / (got + refused):6.1%}")
    got = sum(number for (_, outcome), number in total.items() if outcome == "returned")
    terminalreporter.line(f"{'all':45} {total.total():8}  {got / total.total():6.1%}")
