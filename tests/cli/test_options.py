"""Every option of every command changes something, and only that.

What reaches the functions behind a command is recorded, not computed. The tables have one row for
each option: what is typed, and what changes. A test compares the names with the commands.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pandas as pd
import pytest
import typer
from evaluation.test_options import changed
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli.app import app
from dissensus.data.hashing import data_hash

ROWS = pd.DataFrame({
    "item": [1, 1, 2, 2, 3, 3], "case": [1, 1, 2, 2, 4, 4], "annotator": list("ababab"),
    "reader": list("cdcdcd"), "label": [1, 2, 2, 2, 1, 1], "grade": [2, 2, 1, 2, 1, 1],
    "rank": 1, "sure": 0.5, "repeat": 1, "team": list("xyxyxy"), "ward": list("uuvvww"),
    "type": list("ppqqqq"), "half": [0.5, 1.5, 1.5, 1.5, 0.5, 0.5],
    "several": ["x", "y,z", "y", "y,z", "x", "z"],
})  # fmt: skip
ANSWERS = pd.DataFrame({
    "item": [1, 2, 3], "case": [1, 2, 4], "annotator": "a", "system": "s", "machine": "m",
    "label": [1, 2, 1], "grade": [2, 2, 1], "score": [0.5, 0.75, 0.25], "rank": 1,
    "half": [0.5, 1.5, 0.5], "several": ["x", "y,z", "z"],
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
    "separator": (",", BOTH, {"kind": "set", "label": "several"}),
    "none": ("x", BOTH, {"kind": "set", "label": "several"}),
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
    "companion": ("inverse_rank", {"companion"}, {}),
    "reliability": ("1,2", {"reliability"}, {}),
    "threshold": ("2", {"threshold"}, {}),
    "positive": ("2", {"positive"}, {}),
    "risk": ("risk.json", {"risk"}, {}),
    "groups": ("risk.json", {"groups"}, {}),
    "distance": ("nominal", {"distance"}, {}),
    "margin": ("0.2", {"margin"}, {}),
    "components": ("none", {"components"}, {}),
    "reference": ("x", {"reference"}, {"pool": "team"}),
    "known": ("p.csv", {"truth"}, {}),
    "truth_model": ("none", {"truth_model"}, {}),
    "question": ("truth", {"question"}, {}),
    "new_items": (True, {"new_items"}, {}),
    "side": (True, {"side"}, {}),
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
        "predictions", *READ, "separator", "none", "rank", "confidence", "cluster", "stratum",
        "system", "score", "prediction_label", "prediction_rank", "predictions_format",
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
                "pilot" if key == "annotations" else key: setting
                for key, setting in more.items()
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
    "predictions": ("p.csv", {"predictions"}, {}),
    "system": ("machine", {"predictions"}, {"predictions": "p.csv"}),
    "prediction_label": ("grade", {"predictions"}, {"predictions": "p.csv"}),
    "predictions_format": ("any_table", {"error"}, {"predictions": "p.txt"}),
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
PARAMETERS = {
    name: command.params for name, command in typer.main.get_command(app).commands.items()
}


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
        handed.update(
            {name: part if part is None else data_hash(part) for name, part in data.items()}
        )
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
            result = read(*args, **options)
            keep({name: result}, {})
            return result

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
    study, small = dx.simulate.study, {"n_items": 6, "n_annotators": 3}
    monkeypatch.setattr(dx.simulate, "study", lambda **given: study(**given | small))
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
        for parameter in PARAMETERS[command]:
            value = typed.get(parameter.name)
            if isinstance(value, bool):
                words.append(parameter.opts[0] if value else parameter.secondary_opts[0])
            elif value is not None:
                words += (
                    [value]
                    if parameter.param_type_name == "argument"
                    else [parameter.opts[0], value]
                )
        if tuple(words) not in _FOUND:
            handed.clear()
            done = CliRunner().invoke(app, words)
            _FOUND[tuple(words)] = (
                {"error": f"{done.exception!r} {done.output}"} if done.exit_code
                else {**handed, "json": done.stdout.startswith(("{", "["))}
            )  # fmt: skip
        return _FOUND[tuple(words)]

    return run


_FOUND = {}
"""What words gave: most options are held against the same ones."""


def test_every_option_of_every_command_is_in_the_table():
    # Of the files that are read, `evaluate` and `check` cannot do without the first.
    assert {name: {row.name for row in result} - {"annotations"}
            for name, result in PARAMETERS.items()} == {
        name: set(options) for name, (_, options) in COMMANDS.items()
    }  # fmt: skip


OF_COMMANDS = [(name, option) for name, (_, options) in COMMANDS.items() for option in options]


@pytest.mark.unit(80, long="all")
@pytest.mark.parametrize(("command", "option"), OF_COMMANDS)
def test_an_option_of_a_command_changes_what_it_names(called, command, option):
    value, names, more = COMMANDS[command][1][option]
    first = called(command, more)
    assert changed(first, called(command, more | {option: value})) == names
    assert names == {"error"} or "error" not in first
