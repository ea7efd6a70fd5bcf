"""Evaluations whose draws are made and scored some items at a time."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from lean import LEAN
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli import app

pytestmark = pytest.mark.usefixtures("no_pictures")

RUN = {"draws": 20, "random_seed": 1, "progressbar": False, **LEAN}


@pytest.fixture(scope="module")
def study():
    result = dx.simulate.confusion_study(40, 4, 3, random_seed=1)
    return result.annotations, result.predictions


def rankings():
    rng = np.random.default_rng(1)
    names = list("abcdef")
    lists = {f"i{k}": [[[name] for name in rng.permutation(names)[:3]] for _ in range(3)]
             for k in range(12)}  # fmt: skip
    rows = [
        (f"i{k}", "s", str(name), rank)
        for k in range(12)
        for rank, name in enumerate(rng.permutation(names)[:3], 1)
    ]
    table = dict(zip(("item", "system", "label", "rank"), zip(*rows, strict=True), strict=True))
    return dx.from_rankings(lists, labels=names), dx.predictions(table, rank="rank")


def assert_same(actual, whole):
    """The same but for rounding, draws of items (means are kept), and their replicates."""
    without = [group for group in whole.children if group == "agreement_check"]
    whole = whole.drop_nodes(without)
    assert set(actual.children) == set(whole.children)
    assert not any(v.chunks for node in actual.subtree for v in node.variables.values())
    posterior = whole["posterior"].to_dataset()
    kept = actual["posterior"].to_dataset()
    mean = posterior["plausibility"].mean(("chain", "draw"))
    xr.testing.assert_allclose(kept["plausibility_mean"].drop_vars(kept.coords),
                               mean.rename("plausibility_mean").drop_vars(mean.coords))  # fmt: skip
    for node in whole.subtree:
        # Ranks, of which diagnostics are made, tell draws apart that differ by rounding alone.
        if node.name in {"posterior", "companion", "diagnostics"}:
            continue
        first, second = actual[node.path].to_dataset(), node.to_dataset()
        if node.name == "convergence":  # not which items are the worst
            second = second[list(first.data_vars)]
        if node.name == "categories":
            second = second.drop_vars("plausibility")
            first = first.drop_vars("plausibility_mean")
        assert set(first.data_vars) == set(second.data_vars)
        for name in first.data_vars:
            xr.testing.assert_allclose(first[name].variable, second[name].variable)


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("how", [
    {}, {"groups": {0: "low", 1: "low", 2: "high", 3: "high"}}, {"reliability": (1, 4)},
])  # fmt: skip
def test_the_same_as_at_once(study, how):
    ann, pred = study
    if "groups" in how:
        how = {"groups": dict(zip(ann["label"].values.tolist(), "uvuvuvuv", strict=False))}
    whole = dx.evaluate(ann, pred, **RUN, **how)
    assert_same(dx.evaluate(ann, pred, chunks=7, **RUN, **how), whole)


@pytest.mark.long
def test_of_annotations_that_are_in_chunks(study):
    ann, pred = study
    whole = dx.evaluate(ann, pred, **RUN)
    again = dx.evaluate(ann.chunk({"annotation": 30}), pred.chunk(), **RUN)
    assert_same(again, whole)
    assert again.attrs["annotations_hash"] == whole.attrs["annotations_hash"]
    assert "chunks" in again.attrs["arguments"]


@pytest.mark.slow
def test_rankings_through_two_models():
    ann, pred = rankings()
    run = RUN | {"draws": 120, "tune": 60, "reliability": (1.0,)}
    assert_same(dx.evaluate(ann, pred, chunks=5, **run), dx.evaluate(ann, pred, **run))


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("n_labels", [8, 40])
def test_rankings_of_which_systems_name_labels_that_no_annotator_did(n_labels):
    """Chunks differ in how many labels stand by themselves, and share how others are split."""
    study = dx.simulate.study(
        n_items=12, n_labels=n_labels, n_annotators=2, n_systems=1, random_seed=2
    )
    run = RUN | {"draws": 60, "tune": 50, "reliability": (1.0,), "companion": None}
    ann, pred = study.annotations, study.predictions
    whole = dx.evaluate(ann, pred, **run)
    assert_same(dx.evaluate(ann, pred, chunks=3, **run), whole)


@pytest.mark.long
def test_clusters_keep_their_weights():
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(20), 3)
    ann = dx.annotations({"item": item, "annotator": np.tile(range(3), 20),
                          "label": rng.choice(list("xy"), 60), "cluster": item // 4},
                         cluster="cluster")  # fmt: skip
    pred = dx.predictions(
        {"item": range(20), "system": ["s"] * 20, "label": rng.choice(list("xy"), 20)}
    )
    assert_same(dx.evaluate(ann, pred, chunks=3, **RUN), dx.evaluate(ann, pred, **RUN))


@pytest.mark.slow
def test_is_shown_reported_and_made_again(study, tmp_path):
    from dissensus.cli.output import write_evaluation
    from dissensus.evaluation import rerun

    ann, pred = study
    evaluation = dx.evaluate(ann, pred, chunks=9, **RUN)
    n_rows = 5 * 2 * pred.sizes["system"]  # reliabilities, scopes, systems
    assert len(dx.summary(evaluation)) == n_rows
    write_evaluation(evaluation, tmp_path / "out")
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    again = rerun.rerun(rerun.stored(tmp_path / "out" / "evaluation.nc"), progressbar=False)
    assert not again.differences


def test_what_needs_all_draws_is_refused(study):
    ann, pred = study
    with pytest.raises(dx.ArgumentError, match="risk: expected None with annotations in chunks"):
        dx.evaluate(ann, pred, chunks=9, risk={0: 1}, **RUN)
    with pytest.raises(dx.ArgumentError, match="chunks: expected a whole number"):
        dx.evaluate(ann, pred, chunks=0, **RUN)


def call(*arguments):
    return CliRunner().invoke(app.app, [str(argument) for argument in arguments])


@pytest.mark.long
def test_from_the_command_line(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"{k},{who},{'xy'[(k + who) % 3 == 0]}\n" for k in range(20) for who in range(2)]
    path.write_text("item,annotator,label\n" + "".join(rows))
    lean = "--truth-model none --ground-truth none --components none --no-progress"
    given = ("evaluate", path, "--draws", 20, "--seed", 1, *lean.split())
    done = call(*given, "--out", tmp_path / "out", "--chunks", 6)
    assert done.exit_code == 0, done.output
    with xr.open_datatree(tmp_path / "out" / "evaluation.nc", engine="h5netcdf") as tree:
        assert "plausibility_mean" in tree["posterior"]
    alone = call(*given, "--out", tmp_path / "b", "--scheduler", "local")
    assert "expected --chunks too" in str(alone.exception)
    nowhere = call(*given, "--out", tmp_path / "b", "--chunks", 6, "--scheduler", "nowhere")
    assert isinstance(nowhere.exception, dx.ArgumentError)


@pytest.mark.slow
def test_too_few_draws_to_tell_of_chains_say_nothing_in_chunks_either(tmp_path):
    study = dx.simulate.study(n_items=6, kind="ranking", random_seed=1)
    result = dx.evaluate(
        study.annotations, study.predictions, model="plackett_luce", chunks=3, draws=20, chains=2,
        random_seed=1, progressbar=False,
    )  # fmt: skip
    assert "convergence" not in result.children
    assert "it is unknown whether the chains" in dx.report(result, tmp_path / "r.html").read_text(
        "utf-8"
    )


@pytest.mark.long
def test_the_report_does_without_the_names_of_the_worst_items(tmp_path):
    options = RUN | {"draws": 400, "reliability": (1,)}
    result = dx.evaluate(*rankings(), chunks=6, **options)
    assert "ess_bulk_median" not in result["convergence"]
    page = dx.report(result, tmp_path / "one.html").read_text(encoding="utf-8")
    assert "effective draws, and r-hat is at most" in page
    result["convergence"] = (
        result["convergence"].to_dataset().assign(n_items_poor=("reliability", [3.0]))
    )
    page = dx.report(result, tmp_path / "two.html").read_text(encoding="utf-8")
    assert "too short for 3 of 12" in page.replace("\N{NO-BREAK SPACE}", " ")
