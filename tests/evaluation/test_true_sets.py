"""Evaluations against true sets of labels: scores, known sets, items without answers, words."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from refusals import check_refused
from set_studies import NAMES, read, study, words
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli.app import app
from dissensus.evaluation.rerun import rerun
from dissensus.reports.sets_page import steps

SAMPLE = ("chain", "draw")
QUICK = {"random_seed": 1, "progressbar": False, "draws": 400, "tune": 200}
pytestmark = [
    pytest.mark.usefixtures("no_pictures"),
    pytest.mark.filterwarnings("ignore::dissensus.ConvergenceWarning"),  # chains are short here
]


@pytest.fixture(scope="module")
def data():
    rows, predicted, _ = study()
    return read(rows, predicted)


@pytest.fixture(scope="module")
def result(data):
    return dx.evaluate(*data, question="truth", **QUICK)


@pytest.fixture(scope="module")
def fits(data):
    ann, pred = data
    return dx.by_label(
        dx.models.dawid_skene.fit, ann, predictions=pred, error_correlation="learned", **QUICK
    )


def test_scores_are_those_of_set_score_of_fits_to_the_truth(result, data, fits):
    direct = dx.set_score(fits, data[1], random_seed=1)
    actual = result["metrics"].to_dataset().sel(reliability=1.0, scope="these items", drop=True)
    for name, values in actual.data_vars.items():
        xr.testing.assert_allclose(values, direct[name])
    for name, fit in fits.items():
        mean = fit["posterior"]["truth"].sel(label="yes").mean(SAMPLE)
        np.testing.assert_allclose(result["posterior"]["truth_mean"].sel(element=name), mean)
    assert result.attrs["model"] == "dawid_skene"
    assert result.attrs["question"] == "truth"
    assert result.attrs["correlated_errors"] == 1


def test_macro_f1_is_the_mean_of_f1_of_labels_in_each_draw(result):
    at = {"reliability": 1.0, "scope": "these items"}
    macro = result["metrics"]["macro_f1"].sel(at)
    each = result["labels"]["f1"]
    np.testing.assert_allclose(each.mean("element").transpose(*macro.dims), macro)


@pytest.mark.long
def test_rates_of_labels_are_counts_of_items(data):
    """Of the sets of one draw, in which labels are certain."""
    ann, pred = data
    _, predicted, truth = study()
    known = dict(enumerate(words(truth)))
    evaluation = dx.evaluate(ann, pred, truth=known, **QUICK | {"draws": 4, "chains": 1})
    frame = pd.DataFrame(predicted)
    for system, group in frame.groupby("system"):
        for k, name in enumerate(NAMES):
            labels = np.array([name in label.split(";") for label in group["label"]])
            true = truth[group["item"].to_numpy(), k]
            here = evaluation["labels"].to_dataset().sel(element=name, system=system)
            both = (labels & true).sum()
            assert np.allclose(here["f1"], 2 * both / (labels.sum() + true.sum()))
            assert np.allclose(here["sensitivity"], both / true.sum())
            assert np.allclose(here["specificity"], (~labels & ~true).sum() / (~true).sum())
            assert np.allclose(evaluation["labels"]["share"].sel(element=name), truth[:, k].mean())
    assert evaluation.attrs["n_known"] == len(truth)


@pytest.mark.long
def test_known_sets_come_in_several_forms_and_narrow_the_interval(data, result):
    *_, truth = study()
    some = words(truth[:25])
    table = pd.DataFrame({"item": range(25), "label": some})
    as_annotations = dx.annotations(
        {"item": range(25), "annotator": ["gold"] * 25, "label": some},
        kind="set", separator=";", none="none", labels=list(NAMES),
    )  # fmt: skip
    each = [dx.evaluate(*data, truth=known, **QUICK)
            for known in (dict(enumerate(some)), table, as_annotations)]  # fmt: skip
    for actual in each:
        xr.testing.assert_equal(actual["metrics"].to_dataset(), each[0]["metrics"].to_dataset())
        assert actual.attrs["n_known"] == 25
        assert "not_recorded" not in actual.attrs
        assert (actual["posterior"]["truth_mean"].sel(item=3) == truth[3]).all()
    at = {"scope": "these items", "system": "good"}
    draws = [actual["metrics"]["jaccard"].sel(at) for actual in (each[0], result)]
    assert draws[0].std() < 0.8 * draws[1].std()


@pytest.mark.long
def test_errors_that_are_independent_are_another_model(data, result):
    evaluation = dx.evaluate(*data, question="truth", error_correlation=0.0, **QUICK)
    assert "correlated_errors" not in evaluation.attrs
    at = {"scope": "these items", "system": "good"}
    wide, narrow = (x["metrics"]["jaccard"].sel(at).std() for x in (result, evaluation))
    assert narrow < wide


def unanswered(rows, predicted):
    """Nobody answered on the first five items."""
    frame, pred = pd.DataFrame(rows), read(rows, predicted)[1]
    ann = dx.annotations(
        frame[frame["item"] > 4], kind="set", separator=";", none="none", labels=list(NAMES),
        items=pred["item"],
    )  # fmt: skip
    return ann, pred


@pytest.mark.long
def test_items_without_answers_are_left_out_aloud(tmp_path):
    ann, pred = unanswered(*study()[:2])
    with pytest.warns(dx.DissensusWarning, match="5 items without answers and without known"):
        evaluation = dx.evaluate(ann, pred, question="truth", **QUICK)
    assert evaluation.attrs["n_left_out"] == 5
    page = dx.report(evaluation, tmp_path / "r.html").read_text()
    assert "5 items that no annotator labelled are left out" in page
    known = dict.fromkeys(range(5), "joy")
    evaluation = dx.evaluate(ann, pred, truth=known, **QUICK)
    assert "n_left_out" not in evaluation.attrs


@pytest.mark.long
def test_scores_are_of_items_that_have_answers():
    rows, predicted, _ = study()
    frame, given = pd.DataFrame(rows), pd.DataFrame(predicted)
    bare = read(frame[frame["item"] > 4], predicted)[0]
    all_items, pred = unanswered(rows, predicted)
    with pytest.warns(dx.DissensusWarning, match="left out"):
        evaluation = dx.evaluate(all_items, pred, question="truth", **QUICK)
    alone = dx.evaluate(
        bare, read(rows, given[given["item"] > 4])[1], question="truth", **QUICK
    )  # fmt: skip
    mean = [x["metrics"]["jaccard"].mean(SAMPLE).to_numpy() for x in (evaluation, alone)]
    np.testing.assert_allclose(*mean, atol=0.03)


@pytest.mark.long
@pytest.mark.parametrize("case", ["no systems", "one annotator"])
def test_less_data_gives_fewer_groups(case, tmp_path):
    rows, predicted, _ = study(annotators=1 if case == "one annotator" else 4)
    ann, pred = read(rows, predicted)
    if case == "no systems":
        evaluation = dx.evaluate(ann, question="truth", **QUICK)
        assert not evaluation["metrics"].data_vars
    else:
        with pytest.warns(dx.DissensusWarning):
            evaluation = dx.evaluate(ann, pred, question="truth", **QUICK)
        assert "agreement" not in evaluation
    text = dx.report(evaluation, tmp_path / "report.html").read_text()
    assert "the label is true" in text
    assert "nan" not in text.split("<style")[0]


def copied(result, **attrs):
    out = result.copy()
    out.attrs = result.attrs | attrs
    return out


@pytest.mark.long
def test_the_page_is_about_true_sets(result, tmp_path):
    text = dx.report(result, tmp_path / "report.html").read_text()
    assert "gives sets whose Jaccard similarity to the true ones is" in text
    assert "annotators may be wrong together on an item" in text
    assert "The panel is" not in text
    assert "Fits of labels have at least" in text
    assert "Get the true sets of about 30 items" in text
    assert steps(result, None)["know"] == 30
    assert steps(copied(result, n_known=30), None)["know"] == 0


@pytest.mark.long
def test_it_is_made_again(data):
    known = dx.annotations({"item": [3], "annotator": ["gold"], "label": ["joy;love"]},
                           kind="set", separator=";", none="none")  # fmt: skip
    evaluation = dx.evaluate(*data, truth=known, **QUICK | {"draws": 100})
    assert rerun(evaluation, progressbar=False).differences == []


@pytest.mark.long
def test_certain_sets_are_not_known_ones():
    """25 annotators agree, and errors are independent: truths are certain."""
    rows, predicted, _ = study(n=20, annotators=25)
    evaluation = dx.evaluate(
        *read(rows, predicted), question="truth", error_correlation=0.0, **QUICK
    )  # fmt: skip
    assert float(evaluation["posterior"]["truth_mean"].max()) > 0.999999
    assert "n_known" not in evaluation.attrs


def test_known_sets_that_make_no_sense_are_refused(data):
    stray = dx.annotations({"item": [0], "annotator": ["g"], "label": ["hate"]}, kind="set")
    check_refused(dx.DissensusError, (
        ("a label", lambda: dx.evaluate(*data, truth={3: None, 7: "joy, love"}),
         "truth: .*item 7.*'joy, love'"),
        ("a label of annotations", lambda: dx.evaluate(*data, truth=stray), "truth: .*also 'hate'"),
        ("an item", lambda: dx.evaluate(*data, truth={99: "joy"}), "truth: .*other items: 99"),
        ("a number", lambda: dx.evaluate(*data, truth=3), "truth: expected"),
        ("two sets", lambda: dx.evaluate(*data, truth=pd.DataFrame(
            {"item": [0, 0], "label": ["joy", "love"]})), "truth: .*several for 0"),
    ))  # fmt: skip


@pytest.mark.long
def test_the_command_takes_known_sets(tmp_path):
    rows, predicted, truth = study(n=20)
    sets = [word.split(";") for word in words(truth[:10])]
    known = {
        "item": np.repeat(range(10), [len(labels) for labels in sets]),
        "label": np.concatenate(sets),
    }  # a row for each label
    for name, table in (("ann", rows), ("pred", predicted), ("known", known)):
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    done = CliRunner().invoke(app, [
        "evaluate", str(tmp_path / "ann.csv"), "--predictions", str(tmp_path / "pred.csv"),
        "--known", str(tmp_path / "known.csv"), "--kind", "set", "--separator", ";", "--none",
        "none", "--out", str(tmp_path / "out"), "--draws", "300", "--no-progress", "--json",
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    with xr.open_datatree(tmp_path / "out" / "evaluation.nc") as result:
        assert result.attrs["n_known"] == 10
        assert json.loads(result.attrs["arguments"])["truth"]
        mean = result["posterior"]["truth_mean"].sel(item=range(10), element=list(NAMES))
        np.testing.assert_array_equal(mean, truth[:10])
    assert json.loads(done.output)["question"] == "truth"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Label 'fear'.*:dissensus.DesignWarning")  # accuracy .63
@pytest.mark.parametrize(("hard", "width"), [(False, 0.5), (True, 0.65)])
def test_intervals_hold_the_scores_against_the_true_sets(hard, width):
    """Annotators differ, err together on hard items, and labels occur together.

    The dependence of errors is learned, and labels say little about it: .41 and .55 wide.
    """
    held, wide = [], []
    for seed in range(20):
        rng = np.random.default_rng([3, seed])
        own = rng.normal(0, 1.5, size=(120, 1))
        truth = rng.random((120, 3)) < 1 / (1 + np.exp(-own - np.array([0.2, -0.5, -1.0])))
        skill = rng.normal(1.8, 0.6, size=(5, 1, 1))
        ease = np.exp(-rng.exponential(0.5 if hard else 0.0, size=(120, 1)))
        right = rng.random((5, 120, 3)) < 1 / (1 + np.exp(-ease * skill))
        labels = np.where(right, truth, ~truth)
        rows = {"item": np.tile(np.arange(120), 5), "annotator": np.repeat(np.arange(5), 120),
                "label": [label for names in labels for label in words(names)]}  # fmt: skip
        system = truth ^ (rng.random(truth.shape) < 0.1)
        predicted = {"item": np.arange(120), "system": ["m"] * 120, "label": words(system)}
        evaluation = dx.evaluate(*read(rows, predicted), question="truth", **QUICK)
        both, either = (system & truth).sum(1), (system | truth).sum(1)
        known = np.where(either > 0, both / np.maximum(either, 1), 1.0).mean()
        draws = evaluation["metrics"]["jaccard"].sel(system="m", scope="these items")
        low, high = np.quantile(draws, [0.055, 0.945])
        held.append(low <= known <= high)
        wide.append(high - low)
    assert np.mean(held) >= 0.75
    assert np.mean(wide) < width
