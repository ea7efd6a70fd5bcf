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
from numba.core.dispatcher import Dispatcher

import dissensus as dx
from dissensus.kernels.compiled import Inner

warnings.simplefilter("ignore")
name, ahead = sys.argv[1:]
few = {"draws": 10, "random_seed": 2, "progressbar": False}
rows = {"item": list("iijjkkll"), "annotator": list("abababab"), "label": list("xyxxyyyx")}
labels = dx.annotations(rows)
grades = dx.annotations({**rows, "label": [1, 2, 1, 1, 3, 3, 2, 1]}, kind="ordinal")
numbers = dx.annotations({**rows, "label": [1.0, 2.5, 3, 4, 2, 1, 0, 2]}, kind="continuous")
orders = dx.from_rankings({"i": {"a": [["x"], ["y"]], "b": [["y", "z"]]}}, labels="xyz")
votes = dx.pairs(
    {"left": list("xyzxyz"), "right": list("yzxyzx"), "winner": ["left", "right", "tie"] * 2,
     "item": list("iijjkk"), "annotator": list("ababab")}, item="item", annotator="annotator",
)
places = {"item": list("ijkl") * 2, "system": list("ssssuuuu")}
answers = {
    "labels": {**places, "label": list("xyxyyyxx")}, "grades": {**places, "label": [1, 2] * 4},
    "numbers": {**places, "label": [1.0, 2.5] * 4},
    "orders": {"item": ["i"] * 3, "system": ["s"] * 3, "label": list("zxy"), "rank": [1, 2, 3]},
}


def fit():
    study = {
        "bradley_terry": votes, "inverse_rank": orders, "plackett_luce": orders,
        "crossed_effects": numbers, "normal_scores": numbers,
        "cross_replication": dx.annotations(
            {**rows, "label": [1.0, 2.5, 3, 4, 2, 1, 0, 2], "pool": list("pqpqpqpq")},
            kind="continuous", pool="pool",
        ),
    }.get(name, labels)
    options = {} if name in {"dirichlet", "inverse_rank"} else {"tune": 5, "chains": 1}
    dx.models.get(name).module.fit(study, draws=10, progressbar=False, **options)


def evaluations():
    for kind, study in (("labels", labels), ("grades", grades), ("numbers", numbers)):
        options = {"threshold": 1.7} if kind == "numbers" else {}
        for predictions in (None, dx.predictions(answers[kind])):
            dx.evaluate(study, predictions, **few, **options)
    dx.evaluate(orders, dx.predictions(answers["orders"], rank="rank"), **few)
    dx.evaluate(votes, **few)


if ahead == "ahead":
    dx.warm_up(*([] if name == "everything" else [name]), progressbar=False)
with event.install_recorder("numba:compile") as compiled:
    (evaluations if name == "everything" else fit)()
print(len(compiled.buffer))
functions = {}
for module in [module for key, module in sys.modules.items() if key.startswith("dissensus")]:
    for value in vars(module).values():
        one = value.compiled if isinstance(value, Inner) else value
        if isinstance(one, Dispatcher) and one.py_func.__module__.startswith("dissensus"):
            functions[one] = len(one.signatures)
print(sum(functions.values()))
print(*sorted(one.py_func.__name__ for one, number in functions.items() if number > 1))
"""


def compiled(name, ahead, cache):
    done = subprocess.run(
        [sys.executable, "-c", CODE, name, ahead], check=True, capture_output=True, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )  # fmt: skip
    number, specialisations, more = done.stdout.split("\n")[:3]
    return int(number), int(specialisations), set(more.split())


QUICK = {"normal_scores"}  # the others take up to a minute each


@pytest.mark.long
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])
    for name in dx.models.names()
])  # fmt: skip
def test_a_first_fit_in_a_second_process_compiles_nothing(name, tmp_path):
    assert compiled(name, "ahead", tmp_path)[0] == 0  # in the same process
    assert compiled(name, "after", tmp_path)[0] == 0  # from the disk


TWICE = {
    "_merge", "_sort_run", "sort_with", "sorted_with_order",  # of numbers and of whole numbers
    "_masses",  # of a whole array, and of one of its columns
    "_draw", "_draw_in_logs", "_fill",  # draws of one item, and of several
    # Parts of draws, which are not copied for it:
    "_autocovariance", "_sorted_top", "_times", "falling_with_order",
}  # fmt: skip


@pytest.mark.slow
def test_nothing_is_compiled_for_evaluations_after_all_was_and_hardly_a_function_twice(tmp_path):
    number, specialisations, more = compiled("everything", "ahead", tmp_path)
    assert number == 0
    assert specialisations > 300  # cached ones are not counted: the cache was empty
    assert more <= TWICE


@pytest.mark.slow
def test_hardly_a_kernel_is_compiled_for_two_kinds_of_arguments():
    """Of those that Python calls; the cache is that of the other tests."""
    assert compiled("everything", "ahead", os.environ.get("NUMBA_CACHE_DIR", ""))[2] <= TWICE


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
