"""Every option of `evaluate` and of the commands changes something, and only that.

The tables below have one row for each option: a value that is not the default, and what changes.
A test compares the names in the tables with the signatures, so that no option is forgotten.
"""

from __future__ import annotations

import inspect
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import typer
from lean import LEAN
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli.app import app
from dissensus.data.hashing import data_hash

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
    found = {}
    for node in tree.subtree:
        group = node.path.strip("/").split("/")[0]
        content = found.setdefault(group, {})
        for name, values in node.to_dataset(inherit=False).variables.items():
            array = values.to_numpy()
            array = array.round(9) if array.dtype.kind == "f" else array
            content[f"{node.path}/{name}"] = (values.dims, array.tolist())
        attrs = {name: value for name, value in node.attrs.items() if name not in SETTINGS}
        content[f"{node.path}@"] = attrs
    return {group: repr(content) for group, content in found.items()}


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


# The command line. What reaches the functions behind a command is recorded, not computed.

ROWS = pd.DataFrame({
    "item": [1, 1, 2, 2, 3, 3], "case": [1, 1, 2, 2, 4, 4], "annotator": list("ababab"),
    "reader": list("cdcdcd"), "label": [1, 2, 2, 2, 1, 1], "grade": [2, 2, 1, 2, 1, 1],
    "rank": 1, "sure": 0.5, "repeat": 1, "team": list("xyxyxy"), "ward": list("uuvvww"),
    "type": list("ppqqqq"), "half": [0.5, 1.5, 1.5, 1.5, 0.5, 0.5],
})  # fmt: skip
ANSWERS = pd.DataFrame({
    "item": [1, 2, 3], "case": [1, 2, 4], "annotator": "a", "system": "s", "machine": "m",
    "label": [1, 2, 1], "grade": [2, 2, 1], "score": [0.5, 0.75, 0.25], "rank": 1,
    "half": [0.5, 1.5, 0.5],
})  # fmt: skip
BOTH = {"annotations", "predictions"}

# Option: what is typed, what changes, and what else is typed both times.
EVALUATE = {
    "predictions": (None, {"predictions"}, {}),
    "out": ("other", {"out"}, {}),
    "item": ("case", BOTH, {}),
    "annotator": ("reader", {"annotations"}, {}),
    "label": ("grade", BOTH, {}),
    "rank": ("rank", {"annotations"}, {}),
    "confidence": ("sure", {"annotations"}, {}),
    "trial": ("repeat", {"annotations"}, {}),
    "pool": ("team", {"annotations"}, {}),
    "cluster": ("ward", {"annotations"}, {}),
    "stratum": ("type", {"annotations"}, {}),
    "kind": ("nominal", BOTH, {"label": "half"}),
    "labels": ("1,2,3", {"annotations"}, {}),
    "format": ("any_table", {"error"}, {"annotations": "a.txt"}),
    "delimiter": (";", {"error"}, {"annotations": "semicolons.csv", "predictions": None}),
    "encoding": ("utf-16", {"error"}, {"annotations": "utf-16.csv", "predictions": None}),
    "system": ("machine", {"predictions"}, {}),
    "score": ("score", {"predictions"}, {}),
    "prediction_label": ("grade", {"predictions"}, {}),
    "prediction_rank": ("rank", {"predictions"}, {}),
    "predictions_format": ("any_table", {"error"}, {"predictions": "p.txt"}),
    "model": ("dirichlet", {"model"}, {}),
    "beside": ("inverse_rank", {"companion"}, {}),
    "reliability": ("1,2", {"reliability"}, {}),
    "threshold": ("2", {"threshold"}, {}),
    "risk": ("risk.json", {"risk"}, {}),
    "groups": ("risk.json", {"groups"}, {}),
    "distance": ("nominal", {"distance"}, {}),
    "margin": ("0.2", {"margin"}, {}),
    "components": ("none", {"components"}, {}),
    "reference": ("x", {"reference"}, {"pool": "team"}),
    "known": ("p.csv", {"truth"}, {}),
    "truth_model": ("none", {"truth_model"}, {}),
    "question": ("truth", {"question"}, {}),
    "ground_truth": ("0.8", {"ground_truth"}, {}),
    "on_missing": ("drop", {"on_missing"}, {}),
    "prior_count": ("2", {"prior_count"}, {}),
    "prior": ("0,1,2,3", {"prior"}, {}),
    "concentration": ("2", {"concentration"}, {}),
    "draws": ("30", {"draws"}, {}),
    "chunks": ("5", {"chunks"}, {}),
    "scheduler": ("local", {"error"}, {}),
    "seed": ("7", {"random_seed"}, {}),
    "store": ("zarr", {"store"}, {}),
    "progress": (False, {"progressbar"}, {}),
    "force": (True, {"error"}, {"out": "full"}),
    "as_json": (True, {"as_json", "progressbar"}, {}),
    "everything": (True, {"everything"}, {}),
}

READ = ("item", "annotator", "label", "trial", "pool", "kind", "labels", "format", "delimiter",
        "encoding")  # fmt: skip
"""Options of all commands that read annotations."""
CHECK = {
    **{name: EVALUATE[name] for name in (
        "predictions", *READ, "rank", "confidence", "cluster", "stratum", "system", "score",
        "prediction_label", "prediction_rank", "predictions_format",
    )},
    "on_missing": ("drop", {"error"}, {"predictions": "few.csv"}),
    "as_json": (True, {"json"}, {}),
}  # fmt: skip
PLAN = {
    **{
        name: (
            value,
            {"error"} if names == {"error"} else {"annotations"},
            {
                "pilot" if key == "annotations" else key: one
                for key, one in more.items()
                if key != "predictions"
            },
        )
        for name, (value, names, more) in EVALUATE.items()
        if name in READ
    },
    "pilot": (None, {"annotations"}, {"truth": True}),
    "annotators": ("1,3", {"annotators"}, {}),
    "items": ("50,60", {"items"}, {}),
    "target": ("0.7", {"target"}, {}),
    "width": ("0.2", {"width"}, {}),
    "panel": ("9", {"panel"}, {}),
    "family": ("ordinal", {"family"}, {}),
    "scale": ("latent", {"scale"}, {}),
    "truth": (True, {"function"}, {}),
    "kappa": ("0.3", {"kappa"}, {"truth": True}),
    "label_count": ("4", {"n_labels"}, {"truth": True}),
    "within": ("0.2", {"within"}, {"truth": True}),
    "violated": (True, {"violated"}, {"truth": True}),
    "accuracy": ("0.7", {"accuracy"}, {}),
    "assurance": ("0.7", {"assurance"}, {}),
    "studies": ("7", {"studies"}, {}),
    "reliability": ("2", {"reliability"}, {}),
    "prior_count": ("2", {"prior_count"}, {}),
    "plot": ("plan.svg", {"plot"}, {}),
    "seed": ("7", {"random_seed"}, {}),
    "progress": (False, {"progressbar"}, {}),
    "force": (True, {"force"}, {}),
    "as_json": (True, {"as_json", "progressbar"}, {}),
}
DEMO = {
    "seed": ("7", {*BOTH, "random_seed"}, {}),
    "draws": ("30", {"draws", "tune"}, {}),
    **{name: EVALUATE[name] for name in ("out", "progress", "force", "everything")},
}
COMMANDS = {
    "evaluate": ({"annotations": "a.csv", "predictions": "p.csv"}, EVALUATE),
    "check": ({"annotations": "a.csv", "predictions": "p.csv"}, CHECK),
    "plan": ({"pilot": "a.csv"}, PLAN),
    "demo": ({}, DEMO),
    "rerun": ({"evaluation": "e.nc"}, {
        "evaluation": ("f.nc", {"evaluation"}, {}), "progress": (False, {"progressbar"}, {}),
        "as_json": (True, {"json", "progressbar"}, {}),
    }),
    "models": ({}, {"as_json": (True, {"json"}, {})}),
    "warm-up": ({}, {
        "names": ("dirichlet", {"models"}, {}), "progress": (False, {"progressbar"}, {}),
    }),
}  # fmt: skip
"""Of each command: what is always typed, and its options."""
PARAMETERS = {name: one.params for name, one in typer.main.get_command(app).commands.items()}


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Return a function that calls a command and returns what it hands on."""
    monkeypatch.chdir(tmp_path)
    for name, table in (("a", ROWS), ("p", ANSWERS)):
        for suffix in ("csv", "txt"):
            table.to_csv(f"{name}.{suffix}", index=False)
    ANSWERS[:2].to_csv("few.csv", index=False)
    ROWS.to_csv("semicolons.csv", index=False, sep=";")
    ROWS.to_csv("utf-16.csv", index=False, encoding="utf-16")
    (tmp_path / "risk.json").write_text(json.dumps({"1": 0, "2": 1}))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "summary.csv").touch()
    handed = {}

    def keep(data, options):
        handed.update({name: one if one is None else data_hash(one) for name, one in data.items()})
        handed.update({name: repr(value) for name, value in options.items()})

    def evaluate(annotations, predictions, **options):
        keep({"annotations": annotations, "predictions": predictions}, options)
        return {}

    def planner(function):
        return lambda pilot, **options: keep({"annotations": pilot},
                                             {"function": function, **options})  # fmt: skip

    def reader(name):
        read = getattr(dx, f"read_{name}")

        def reading(*args, **options):
            found = read(*args, **options)
            keep({name: found}, {})
            return found

        return reading

    def finish(result, out, store, *, as_json=False, everything=False):
        del result
        handed.update(out=out, store=store, as_json=as_json, everything=everything)

    def again(evaluation, **options):
        keep({}, {"evaluation": evaluation, **options})
        return SimpleNamespace(differences=[], versions=[], compared=3)

    for name in BOTH:
        monkeypatch.setattr(dx, f"read_{name}", reader(name))
    for name in ("plan", "plan_accuracy"):
        monkeypatch.setattr(dx, name, planner(name))
    monkeypatch.setattr(dx, "evaluate", evaluate)
    monkeypatch.setattr(dx, "warm_up", lambda *names, **options: keep({}, {"models": names}
                                                                      | options))  # fmt: skip
    monkeypatch.setattr("dissensus.cli.output.finish", finish)
    monkeypatch.setattr("dissensus.evaluation.rerun.stored", lambda path: path)
    monkeypatch.setattr("dissensus.evaluation.rerun.rerun", again)
    monkeypatch.setattr("dissensus.cli.plan._show",
                        lambda _, plot, **options: keep({}, {"plot": plot} | options))  # fmt: skip

    def run(command, typed):
        typed = COMMANDS[command][0] | typed
        words = [command]
        for one in PARAMETERS[command]:
            value = typed.get(one.name)
            if isinstance(value, bool):
                words.append(one.opts[0] if value else one.secondary_opts[0])
            elif value is not None:
                words += [value] if one.param_type_name == "argument" else [one.opts[0], value]
        handed.clear()
        done = CliRunner().invoke(app, words)
        if done.exit_code:
            return {"error": f"{done.exception!r} {done.output}"}
        return {**handed, "json": done.stdout.startswith(("{", "["))}

    return run


def test_every_option_of_every_command_is_in_the_table():
    # Of the files that are read, `evaluate` and `check` cannot do without the first.
    assert {name: {one.name for one in found} - {"annotations"}
            for name, found in PARAMETERS.items()} == {
        name: set(options) for name, (_, options) in COMMANDS.items()
    }  # fmt: skip


OF_COMMANDS = [(name, option) for name, (_, options) in COMMANDS.items() for option in options]


@pytest.mark.unit(len(OF_COMMANDS))
@pytest.mark.parametrize(("command", "option"), OF_COMMANDS)
def test_an_option_of_a_command_changes_what_it_names(called, command, option):
    value, names, more = COMMANDS[command][1][option]
    first = called(command, more)
    assert changed(first, called(command, more | {option: value})) == names
    assert names == {"error"} or "error" not in first
