"""Small studies that many tests share."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import hypothesis
import pytest
from quick_pages import empty_picture

import dissensus as dx

# The same examples in every run: a failure in CI is one that can be repeated.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")

# Where Python is told to keep no compiled modules, each process of a run, and each program that a
# test starts, would compile all libraries again. They are kept away from the sources instead.
if sys.dont_write_bytecode and sys.pycache_prefix is None:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).resolve().parents[1] / ".cache" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# A process that is started in the background ignores Ctrl-C, and so do all that it starts: tests of
# interruptions would interrupt nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A tenth of the time that compilers take would go into looking for cycles among what they hold.
gc.set_threshold(100_000, 20, 100)

_LONG = {"calibration", "fuzz", "reference", "steps"}
"""Folders of tests that draw many studies, cases or posteriors, or hold samplers to each other:
a run of their own in CI."""

_ALWAYS = {"calibration"}
"""Folders of long tests that every run of CI has; of the others it has one part."""
_PARTS = 20

_OF_DESIGNS = "ignore::dissensus.errors.DesignWarning"
_SMALL = _LONG | {
    "models", "sampling/test_convergence.py", "sampling/test_ctrl_c.py",
    *(f"checks/test_{check}.py" for check in (
        "agreement_check", "check_assumptions", "compare_truth_models", "label_check",
        "model_discrepancy_ratio", "prior_predictive", "refusals", "replicates",
    )),
    "evaluation/test_posterior_summary.py", "statistics/test_accuracies.py",
    "statistics/test_annotator_roc.py",
}  # fmt: skip
"""Tests of the smallest designs, of which an exact posterior can be had, and which leave much to
priors. Elsewhere a warning of a design is an error: ordinary studies are not warned of."""


_UNIT = "not slow and not long"
"""What pyproject.toml asks for."""


def pytest_configure(config):
    """Give each process of a run of unit tests one thread, as processes share the processors.

    Threads that take turns take longer than one. Long tests have them, as users do.
    """
    if config.option.markexpr.strip() == _UNIT:
        os.environ.setdefault("PYTHON_CPU_COUNT", "1")


def pytest_ignore_collect(collection_path, config):
    """Do not even read folders of long tests where none is to be run: it would take seconds."""
    if config.option.markexpr.strip() == _UNIT and collection_path.name in _LONG:
        return True if collection_path.is_dir() else None
    return None


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is marked
def pytest_collection_modifyitems(config, items):
    """Mark long folders, cases beyond those of a unit test, and where designs may be too small."""
    cases = defaultdict(list)
    for item in items:
        if _LONG.intersection(item.path.parts):
            item.add_marker("long")
        if not item.get_closest_marker("slow"):
            cases[item.nodeid.split("[")[0]].append(item)
        if _SMALL.intersection([*item.path.parts, "/".join(item.path.parts[-2:])]):
            item.add_marker(pytest.mark.filterwarnings(_OF_DESIGNS))
    words = set(re.findall(r"\w+", config.option.keyword.lower())) - {"and", "or", "not"}
    for name, every in cases.items():
        short = [item for item in every if not item.get_closest_marker("long")]
        mark = every[0].get_closest_marker("unit") or (
            _USUAL if short else pytest.mark.unit(0).mark
        )
        unit, _ = _spread(name, short, *mark.args)
        rest = [item for item in every if item not in unit]
        for item in rest:
            item.add_marker("long")
        number = mark.kwargs.get("long", _MORE if unit else _ALONE)
        for item in _spread(name, rest, len(rest) if number == "all" else number)[1]:
            if not _is_named(item, words):
                item.add_marker("slow")
    part = os.environ.get("DISSENSUS_LONG_PART")
    if part is not None:
        here, other = [], []
        for item in items:
            (other if _is_of_another_run(item, int(part)) else here).append(item)
        config.hook.pytest_deselected(items=other)
        items[:] = here


def _is_of_another_run(item, part):
    """Return whether a long test is left to other runs of CI, by the name of its function."""
    if not item.get_closest_marker("long") or _ALWAYS.intersection(item.path.parts):
        return False
    return crc32(item.nodeid.split("[")[0].encode()) % _PARTS != part


def _is_named(item, words):
    """Return whether `-k` has a word of a case's id: `-k <name>` runs all cases of a new model."""
    case = item.nodeid.partition("[")[2].lower()
    return any(word in case for word in words)


_USUAL = pytest.mark.unit(2, long=2).mark
"""Cases of a function among the unit tests, and beside them among the long tests, unless it says
otherwise. The others are slow."""
_MORE = 1
"""Cases among the long tests where a function says its unit tests only."""
_ALONE = 3
"""Cases among the long tests if none is a unit test."""


def _spread(name, every, number):
    """Part cases in so many, evenly spread, and the rest."""
    number = min(number, len(every))
    start = crc32(name.encode())  # so that tests side by side do not leave out the same cases
    chosen = {(start + place * len(every) // number) % len(every) for place in range(number)}
    return (
        [item for place, item in enumerate(every) if place in chosen],
        [item for place, item in enumerate(every) if place not in chosen],
    )


_SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def no_figures_left():
    """Close what a test has drawn: the next one may count the open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def no_pictures(request, monkeypatch):
    """Leave the pictures of reports empty, which take most of the time."""
    if request.node.get_closest_marker("pictures") is None:
        monkeypatch.setattr("dissensus.reports.svg.drawn", empty_picture)


@pytest.fixture
def shared() -> Path:
    """The folder of real annotation sets, which is not part of the repository."""
    if not _SHARED.is_dir():
        pytest.skip("the shared real data sets are not beside this checkout")
    return _SHARED


@pytest.fixture(scope="session")
def evaluated():
    """Return a function that evaluates as `dx.evaluate` does, but the same only once.

    What it returns is a copy, for a test to change as it likes. It is found again by the name of
    the study and the options, so that a name must always go with the same data.
    """
    known = {}

    def run(name, annotations, predictions=None, **options):
        options = {"random_seed": 1, "progressbar": False, **options}
        key = (name, predictions is None, repr(sorted(options.items())))
        if key not in known:
            known[key] = dx.evaluate(annotations, predictions, **options)
        return known[key].copy(deep=True)

    return run


@pytest.fixture
def votes():
    """Three items, three annotators, two labels, one system right where annotators agree."""
    ann = dx.annotations(
        {
            "item": ["i", "i", "i", "j", "j", "j", "k", "k"],
            "annotator": ["ann", "bob", "cat", "ann", "bob", "cat", "ann", "bob"],
            "label": ["x", "x", "y", "y", "y", "y", "x", "y"],
        }
    )
    pred = dx.predictions(
        {
            "item": ["i", "j", "k"] * 2,
            "system": ["good"] * 3 + ["bad"] * 3,
            "label": ["x", "y", "x", "y", "x", "y"],
        }
    )
    return ann, pred


@pytest.fixture
def rankings():
    """Two cases with partial rankings and two systems that list three labels each."""
    ann = dx.from_rankings(
        {
            "p": {"ann": [["a"], ["b", "c"]], "bob": [["b"], ["a"]]},
            "q": {"ann": [["d"]], "bob": [["d"], ["a"]], "cat": [["a", "d"]]},
        },
        labels=list("abcdef"),
    )
    rows = [
        (item, system, label, rank)
        for item, system, order in [
            ("p", "s", "abc"),
            ("q", "s", "dab"),
            ("p", "t", "cef"),
            ("q", "t", "efd"),
        ]
        for rank, label in enumerate(order, start=1)
    ]
    table = dict(zip(("item", "system", "label", "rank"), zip(*rows, strict=True), strict=True))
    return ann, dx.predictions(table, rank="rank")
