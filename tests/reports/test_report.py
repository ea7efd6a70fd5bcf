"""Writing the report: the same bytes every time, of a bounded size, and never over a file."""

from __future__ import annotations

from functools import partial

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from refusals import check_refused

import dissensus as dx
from dissensus.errors import ArgumentError


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nominal", pytest.param("ranking", marks=pytest.mark.slow)])
def test_the_same_evaluation_gives_the_same_bytes(kind, tmp_path):
    study = dx.simulate.study(n_items=8, n_labels=3, kind=kind, random_seed=1)
    options = {"draws": 40, "random_seed": 1, "progressbar": False, "reliability": (1, 5)}
    result = dx.evaluate(study.annotations, study.predictions, **options)
    first = dx.report(result, tmp_path / "a.html").read_bytes()
    with mpl.rc_context({"font.size": 20, "text.color": "red", "axes.grid": True}):
        again = dx.report(result, tmp_path / "b.html").read_bytes()
    assert first == again


@pytest.mark.slow
def test_hundreds_of_systems_and_items_stay_small(tmp_path):
    rng = np.random.default_rng(1)
    n_items, n_systems = 300, 104
    ann = dx.annotations(
        {
            "item": np.arange(n_items).repeat(3),
            "annotator": np.tile(list("abc"), n_items),
            "label": rng.choice(list("ABCD"), 3 * n_items),
        }
    )
    pred = dx.predictions(
        {
            "item": np.tile(np.arange(n_items), n_systems),
            "system": np.repeat([f"system {k}" for k in range(n_systems)], n_items),
            "label": rng.choice(list("ABCD"), n_items * n_systems),
        }
    )
    result = dx.evaluate(
        ann, pred, draws=10, chains=2, random_seed=1, progressbar=False, reliability=(1, 10),
        truth_model=None, prior_count=1.0,
    )  # fmt: skip
    path = dx.report(result, tmp_path / "r.html")
    assert path.stat().st_size < 3_000_000
    assert "4 further systems with a worse mean are left out." in path.read_text("utf-8")


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_never_overwrites_unless_told(evaluate, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(ArgumentError, match="overwrite=True"):
        dx.report(evaluate(), path)
    assert path.read_text() == "mine"
    assert dx.report(evaluate(), path, overwrite=True) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_a_failure_leaves_nothing_behind(evaluate, tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        dx.report(evaluate(), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_refuses_what_it_cannot_write(evaluate, tmp_path):
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset(), "statistics": xr.Dataset()})
    path = tmp_path / "r.html"
    check_refused(ArgumentError, [
        ("a folder", lambda: dx.report(evaluate(), tmp_path), "ends with .html"),
        ("another form", lambda: dx.report(evaluate(), tmp_path / "r.pdf"), "can print it to PDF"),
        ("no folder", lambda: dx.report(evaluate(), tmp_path / "no" / "r.html"), "no folder"),
        ("a path", lambda: dx.report("evaluation.nc", path), "DataTree"),
        ("a group", lambda: dx.report(tree, path), "no annotations"),
        *((f"level {level}", partial(dx.report, evaluate(), path, ci_prob=level),
           "^ci_prob: expected a number between 0 and 1") for level in (95, "eti")),
    ])  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cebab_aspects", "wax"])
def test_real_data(shared, parse, name, tmp_path):
    folder = shared / name
    if not folder.is_dir():
        pytest.skip(f"no {name} beside this checkout")
    pred = pd.read_csv(folder / "predictions.csv")
    frame = pd.read_csv(folder / "annotations.csv")
    labels = sorted({*frame["label"], *pred["label"]})  # systems use one that no annotator did
    result = dx.evaluate(
        dx.annotations(frame, labels=labels),
        dx.predictions(pred),
        draws=400,
        random_seed=1,
        progressbar=False,
    )
    path = dx.report(result, tmp_path / "r.html")
    parse(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < 3_000_000


@pytest.mark.usefixtures("no_pictures")
def test_a_prior_that_outweighs_the_annotators_is_pointed_out(tmp_path):
    ann = dx.annotations(
        {"item": ["i"] * 3, "annotator": list("abc"), "label": list("xyz")}, labels=list("tuvwxyz")
    )
    for prior_count, cautious in ((1.0, True), (0.1, False)):
        result = dx.evaluate(
            ann, draws=20, random_seed=1, progressbar=False, prior_count=prior_count
        )
        path = tmp_path / f"{prior_count}.html"
        dx.report(result, path)
        assert ("There are few annotators" in path.read_text(encoding="utf-8")) == cautious
