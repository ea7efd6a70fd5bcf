"""Every option of `evaluate` changes something, and only that.

The tables below have one row for each option: a value that is not the default, and what changes.
A test compares the names in the tables with the signatures, so that no option is forgotten.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from lean import LEAN

import dissensus as dx

BASE = {"draws": 20, "chains": 2, "reliability": (1,), "random_seed": 1, "progressbar": False,
        **LEAN}  # fmt: skip
SETTINGS = {"arguments", "not_recorded"}
"""Attributes that repeat the arguments."""
TRUTH = dict.fromkeys(range(5), 1) | dict.fromkeys(range(5, 8), 2)
SCORED = {"posterior", "certainty", "metrics", "diagnostics", "comparison", "answers"}
"""Groups of the main model, and the answers that are read off them."""
OBSERVED = {"agreement", "discrepancy"}


@pytest.fixture(scope="module")
def study():
    """24 items of three grades, four annotators in two pools, and two systems."""
    rng = np.random.default_rng(1)
    item, annotator = np.indices((24, 4)).reshape(2, -1)
    grade = np.clip(item % 3 + 1 + rng.integers(-1, 2, item.size) * (rng.random(item.size) < 0.4),
                    1, 3)  # fmt: skip
    table = {"item": item, "annotator": annotator, "label": grade, "pool": annotator % 2}
    number = np.arange(24)
    right = number % 3 + 1  # of whom one is wrong on every fifth item, the other on every fourth
    given = [np.where(number % n == 1, right % 3 + 1, right) for n in (5, 4)]
    answers = {"item": np.tile(number, 2), "system": np.repeat(["s", "t"], 24),
               "label": np.concatenate(given)}  # fmt: skip
    ann = dx.annotations(table, kind="ordinal", pool="pool")
    return ann, dx.predictions(answers, kind="nominal")


def parts(tree):
    """Return the contents of each group, and the attributes of the tree, in comparable form."""
    result = {}
    for node in tree.subtree:
        group = node.path.strip("/").split("/")[0]
        content = result.setdefault(group, {})
        for name, values in node.to_dataset(inherit=False).variables.items():
            array = values.to_numpy()
            array = array.round(9) if array.dtype.kind == "f" else array
            content[f"{node.path}/{name}"] = (values.dims, array.tolist())
        attrs = {name: value for name, value in node.attrs.items() if name not in SETTINGS}
        content[f"{node.path}@"] = attrs
    return {group: repr(content) for group, content in result.items()}


def changed(before, after):
    if "error" in before or "error" in after:
        return {"error"} if before.get("error") != after.get("error") else set()
    names = before.keys() | after.keys()
    return {name for name in names if before.get(name) != after.get(name)}


# Option: a value, the groups that change, and what else is given both times.
# The empty name stands for the attributes of the evaluation.
OPTIONS = {
    "predictions": (None, {"predictions", *SCORED, "statistics", "discrepancy", ""}, {}),
    "reliability": ((1, 2), {"certainty", "metrics", "diagnostics", "comparison"}, {}),
    "draws": (30, {*SCORED, *OBSERVED, ""}, {}),
    "chains": (1, {*SCORED, *OBSERVED, ""}, {}),
    "random_seed": (2, {*SCORED, *OBSERVED, ""}, {}),
    "progressbar": (True, set(), {}),
    "model": ("inverse_rank", {*SCORED, ""}, {}),
    "threshold": (2.5, {*SCORED, "statistics", "predictions", "predictions_given", ""}, {}),
    "positive": ("below", {"metrics", "diagnostics", "comparison", "statistics", ""},
                 {"threshold": 2.5}),
    "risk": ({1: 0.0, 2: 0.5, 3: 1.0}, {"expected_risk"}, {}),
    "groups": ({1: "low", 2: "high", 3: "high"}, {"categories"}, {}),
    "companion": ("inverse_rank", {"companion"}, {}),
    "distance": ("absolute", {"discrepancy", "statistics"}, {}),
    "margin": (0.5, {"discrepancy"}, {}),
    "components": ("ordinal", {"components", "pools", ""}, {}),
    "reference": (1, {"components"}, {"components": "ordinal"}),
    "truth": (TRUTH, {"accuracy", "answers"}, {"truth_model": "symmetric_confusion"}),
    "truth_model": ("dawid_skene", {"accuracy", "answers", ""}, {}),
    "error_correlation": (0.1, {"accuracy", "answers"}, {"truth_model": "symmetric_confusion"}),
    "ground_truth": (0.8, {"weighted_reliability", ""}, {}),
    "question": ("truth", {"answers"}, {}),
    "new_items": (True, {"answers"}, {}),
    "on_missing": ("drop", {"error"}, {"predictions": 20}),
    "chunks": (24, {"posterior"}, {}),
    "hyper": ({"prior_count": 2.0}, {*SCORED, ""}, {}),
}  # fmt: skip

SLOW = {"components", "reference", "truth", "truth_model", "error_correlation", "chunks"}
"""Options that fit a model of their own, or use Dask."""


def evaluated(study, options):
    """Evaluate and return the parts; of what is refused, the error."""
    options = dict(options)
    options.update(options.pop("hyper", {}))
    ann, pred = study
    pred = options.pop("predictions", pred)
    if isinstance(pred, int):  # of so many items only
        pred = study[1].isel(item=slice(pred))
    try:
        return parts(dx.evaluate(ann, pred, **options))
    except dx.DissensusError as problem:
        return {"error": str(problem)}


@pytest.fixture(scope="module")
def before(study):
    """Return a function that evaluates without the option, once for what else is given."""
    known = {}

    def run(more):
        key = repr(more)
        if key not in known:
            known[key] = evaluated(study, BASE | more)
        return known[key]

    return run


def test_every_option_of_evaluate_is_in_the_table():
    assert set(OPTIONS) == set(inspect.signature(dx.evaluate).parameters) - {"annotations"}


@pytest.mark.unit(len(OPTIONS))
@pytest.mark.parametrize("option", [
    pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in OPTIONS
])  # fmt: skip
def test_an_option_of_evaluate_changes_its_groups_and_no_others(study, before, option, capsys):
    value, groups, more = OPTIONS[option]
    first = before(more)
    capsys.readouterr()
    second = evaluated(study, BASE | more | {option: value})
    written = "".join(capsys.readouterr())
    assert changed(first, second) == groups
    assert bool(written) == (option == "progressbar")
