"""Evaluations of sets of labels: scores, numbers of labels, refusals, summary and report."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from refusals import check_refused
from set_studies import NAMES, read, study, words
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli.app import app
from dissensus.data.contents import prediction_contents
from dissensus.evaluation.rerun import rerun
from dissensus.evaluation.sets import _worst, share_of_panel
from dissensus.reports.sets_page import label_tables, rare, steps
from dissensus.wording import share

QUICK = {"random_seed": 1, "progressbar": False, "draws": 250, "tune": 100}
SAMPLE = ("chain", "draw")
pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.fixture(scope="module")
def data():
    rows, predicted, _ = study()
    return read(rows, predicted)


@pytest.fixture(scope="module")
def result(data):
    return dx.evaluate(*data, **QUICK)


@pytest.fixture(scope="module")
def fits(data):
    ann, pred = data
    return dx.by_label(dx.models.dirichlet.fit, ann, predictions=pred, **QUICK)


def test_scores_are_those_of_set_score(result, data, fits):
    direct = dx.set_score(fits, data[1], insight="learned", random_seed=1)
    actual = result["metrics"].to_dataset().sel(reliability=1.0, scope="these items", drop=True)
    assert list(actual.data_vars) == ["jaccard", "exact_match", "micro_f1", "macro_f1"]
    for name, values in actual.data_vars.items():
        xr.testing.assert_allclose(values, direct[name], atol=1e-6)
    new = result["metrics"]["jaccard"].sel(scope="new items")
    assert (new.std(SAMPLE) > actual["jaccard"].std(SAMPLE)).all()


def test_scores_that_ignore_disagreement_are_those_of_majority_sets(result):
    rows, predicted, _ = study()
    frame = pd.DataFrame(rows)
    held = np.array([[name in label.split(";") for name in NAMES] for label in frame["label"]])
    half = pd.DataFrame(held).groupby(frame["item"]).mean().to_numpy() > 0.5
    for name, group in pd.DataFrame(predicted).groupby("system"):
        labels = np.array([[x in label.split(";") for x in NAMES] for label in group["label"]])
        both, either = (labels & half).sum(1), (labels | half).sum(1)
        jaccard = np.where(either > 0, both / np.maximum(either, 1), 1.0).mean()
        at = result["statistics"].to_dataset().sel(system=name)
        assert float(at["naive_jaccard"]) == pytest.approx(jaccard)
        assert float(at["naive_exact_match"]) == pytest.approx((labels == half).all(1).mean())
        f1 = 2 * both.sum() / (labels.sum() + half.sum())
        assert float(at["naive_micro_f1"]) == pytest.approx(f1)


def test_numbers_of_labels_are_those_of_their_fits(result, data, fits):
    ann, pred = data
    labels = result["labels"].to_dataset()
    for name, fit in fits.items():
        yes = fit["posterior"]["plausibility"].sel(label="yes")
        share = labels["share"].sel(element=name)
        assert float(share.mean()) == pytest.approx(float((yes > 0.5).mean()), abs=0.02)
        assert 1.1 < float(share.std() / (yes > 0.5).mean("item").std()) < 5
    alpha = dx.by_label(
        dx.bayesian_bootstrap, dx.krippendorff_alpha, ann, draws=1000, random_seed=1
    )
    np.testing.assert_array_equal(
        labels["krippendorff_alpha"].to_numpy().reshape(alpha.shape), alpha
    )
    rates = dx.by_label(
        dx.sensitivity_specificity, fits, pred, "yes", insight="learned", random_seed=1
    )
    for name in ("f1", "sensitivity", "specificity"):
        xr.testing.assert_allclose(labels[name], rates[name], atol=1e-6)
    mean = xr.concat(
        [fit["posterior"]["plausibility"].sel(label="yes").mean(SAMPLE) for fit in fits.values()],
        dim="element",
    )
    np.testing.assert_allclose(result["posterior"]["plausibility_mean"], mean.T, atol=1e-6)


def test_plausibilities_may_be_off_together_in_a_share():
    rng = np.random.default_rng(3)
    theta = rng.beta(2, 3, size=(2, 50, 7))
    result = share_of_panel(
        xr.DataArray(theta, dims=(*SAMPLE, "item")), np.random.default_rng(9), 2
    )
    z = np.random.default_rng(9).normal(size=(2, 50))
    for chain, draw in np.ndindex(2, 50):
        above = [theta[chain, draw, i] > 0.5 + 2 * z[chain, draw] * theta[..., i].std()
                 for i in range(7)]  # fmt: skip
        assert float(result[chain, draw]) == pytest.approx(sum(above) / 7)


def test_summaries_have_the_numbers_of_their_draws(result):
    table = dx.summary(result)
    assert set(table["metric"]) == {"jaccard", "exact_match", "micro_f1", "macro_f1"}
    row = table.query("metric == 'jaccard' and scope == 'these items' and system == 'good'")
    draws = result["metrics"]["jaccard"].sel(system="good", scope="these items")
    assert row["mean"].item() == pytest.approx(float(draws.mean()))
    labels = dx.summary(result, "labels").set_index(["quantity", "element", "system"])
    mean = result["labels"]["f1"].sel(element="love", system="poor").mean()
    assert labels.loc[("f1", "love", "poor"), "mean"] == pytest.approx(float(mean))
    of_all = labels.loc["share"].xs("joy")
    share_of = result["labels"]["share"].sel(element="joy")
    assert of_all["mean"].item() == pytest.approx(float(share_of.mean()))
    assert {"krippendorff_alpha_masi", "discrepancy_ratio"} <= set(
        dx.summary(result, "statistics")["statistic"]
    )


@pytest.mark.long
def test_a_distance_changes_discrepancies_and_nothing_else(data, result):
    other = dx.evaluate(*data, distance="jaccard", **QUICK)
    assert other["discrepancy"].attrs["distance"] == "jaccard"
    ratios = [evaluation["statistics"]["discrepancy_ratio"] for evaluation in (other, result)]
    assert not np.allclose(*ratios)
    xr.testing.assert_equal(other["metrics"].to_dataset(), result["metrics"].to_dataset())


@pytest.mark.long
def test_intervals_hold_the_scores_against_the_sets_that_annotators_tend_to():
    """Annotators are right about nine of ten labels: a large panel gives the right sets."""
    held = []
    for seed in range(12):
        rows, predicted, truth = study(n=80, seed=seed)
        evaluation = dx.evaluate(*read(rows, predicted), **QUICK)
        for name, group in pd.DataFrame(predicted).groupby("system"):
            labels = np.array([[x in label.split(";") for x in NAMES] for label in group["label"]])
            both, either = (labels & truth).sum(1), (labels | truth).sum(1)
            known = np.where(either > 0, both / np.maximum(either, 1), 1.0).mean()
            draws = evaluation["metrics"]["jaccard"].sel(system=name, scope="these items")
            low, high = np.quantile(draws, [0.055, 0.945])
            held.append(low <= known <= high)
    assert np.mean(held) >= 0.75


def test_what_sets_do_not_have_is_refused_all_at_once(data):
    ann, pred = data
    single = dx.predictions({"item": [0], "system": ["m"], "label": ["joy"]})
    lists = dx.predictions(
        {"item": [0, 0], "system": ["m"] * 2, "label": ["joy", "fear"], "score": [0.9, 0.2]},
        score="score",
    )
    short = pred.isel(item=slice(5))
    check_refused(dx.DissensusError, (
        ("settings", lambda: dx.evaluate(ann, pred, threshold=2.0, reliability=[1, 2]),
         "reliability, threshold: expected their defaults, with sets of labels"),
        ("truth of a panel", lambda: dx.evaluate(
            ann, pred, question="panel", truth={0: "joy"}, error_correlation=0.1
        ), 'truth, error_correlation: expected the default, unless question="truth"'),
        ("another model", lambda: dx.evaluate(ann, pred, model="dawid_skene"),
         "model: expected the default, with sets"),
        ("an unknown setting", lambda: dx.evaluate(ann, pred, side="both"),
         "side: expected arguments that sets of labels have"),
        ("single labels", lambda: dx.evaluate(ann, single), r'expected sets \(kind="set"\)'),
        ("lists", lambda: dx.evaluate(ann, lists), "dissensus.set_score takes lists"),
        ("items", lambda: dx.evaluate(ann, short), "items"),
        ("memory", lambda: dx.evaluate(ann, pred, draws=10**7), "GB of draws"),
        ("no number", lambda: dx.evaluate(ann, pred, draws="many"), "draws"),
        ("a distance", lambda: dx.evaluate(ann, pred, distance="ordinal"), "distance: expected"),
    ))  # fmt: skip


def test_a_label_that_says_nothing_is_asked_about():
    rows, _, _ = study(n=10)
    ann = dx.annotations(rows, kind="set", separator=";")
    with pytest.warns(dx.DissensusWarning, match="use none='none'"):
        dx.evaluate(ann, **QUICK)


def test_sets_of_one_label_are_asked_about():
    rows = {"item": np.repeat(np.arange(10), 2), "annotator": ["a", "b"] * 10,
            "label": ["joy", "love"] * 10}  # fmt: skip
    with pytest.warns(dx.DissensusWarning, match='100.% of the answers .* kind="nominal"'):
        dx.evaluate(dx.annotations(rows, kind="set"), **QUICK)


@pytest.mark.unit(0)
@pytest.mark.parametrize("case", ["no systems", "one annotator", "items without answers"])
def test_less_data_gives_fewer_groups(case, data, tmp_path):
    rows, predicted, _ = study(annotators=1 if case == "one annotator" else 4)
    if case == "items without answers":
        frame = pd.DataFrame(rows)
        rows = frame[frame["item"] > 4]
        pred = read(rows, predicted)[1]
        ann = dx.annotations(
            rows, kind="set", separator=";", none="none", labels=list(NAMES), items=pred["item"]
        )
    else:
        ann, pred = read(rows, predicted)
    evaluation = dx.evaluate(ann, None if case == "no systems" else pred, **QUICK)
    assert bool(evaluation["metrics"].data_vars) == (case != "no systems")
    assert ("agreement" in evaluation) == (case != "one annotator")
    assert evaluation["labels"].sizes["element"] == 3
    text = dx.report(evaluation, tmp_path / "report.html").read_text()
    assert "Which labels are hard?" in text
    assert "nan" not in text.split("<style")[0]


@pytest.mark.long
def test_too_few_draws_mark_every_number(data, tmp_path):
    evaluation = dx.evaluate(*data, **QUICK | {"draws": 4, "chains": 2})
    assert dx.summary(evaluation)["doubt"].str.len().gt(0).all()
    assert (
        dx.summary(evaluation, "labels")
        .query("quantity != 'krippendorff_alpha'")["doubt"]
        .ne("")
        .all()
    )
    assert "Do not rely on" in dx.report(evaluation, tmp_path / "r.html").read_text()


def test_the_page_has_the_numbers_of_labels(result, tmp_path):
    of_labels, f1 = label_tables(result)
    rows = {str(row[0]): row for row in of_labels.bodies[0].rows}
    draws = result["labels"]["share"].sel(element="joy")
    assert rows["joy"][2] == share(float(draws.mean()))
    given = sum("joy" in label.split(";") for label in study()[0]["label"])
    assert rows["joy"][1] == str(given)
    cells = {str(row[0]): row for row in f1.bodies[0].rows}["fear"]
    mean = result["labels"]["f1"].sel(element="fear", system=str(f1.head[1])).mean()
    assert cells[1].startswith(share(float(mean)))
    text = dx.report(result, tmp_path / "report.html").read_text()
    assert all(word in text for word in ("Jaccard similarity", "MASI distance", "Macro F1"))
    assert dx.report(result, tmp_path / "again.html").read_text() == text


@pytest.mark.long
def test_rare_labels_are_named_and_the_label_most_disagreed_on_comes_first():
    rows, predicted, _ = study(rare_share=0.0)
    evaluation = dx.evaluate(*read(rows, predicted), **QUICK)
    count = sum("fear" in label.split(";") for label in rows["label"])
    assert (rare(evaluation) != {}) == (count < 10)
    rows["label"] = [label.replace("fear", "joy") if "joy" not in label else label
                     for label in rows["label"]]  # fmt: skip
    evaluation = dx.evaluate(*read(rows, predicted), **QUICK)
    assert rare(evaluation)["names"] == ["fear"]
    alpha = dx.by_label(dx.krippendorff_alpha, evaluation["annotations"].to_dataset())
    assert steps(evaluation, None)["labels"][0][0] == str(
        alpha.sel(element=["joy", "love"]).idxmin().item()
    )


@pytest.mark.long
def test_it_is_made_again(result):
    assert rerun(result, progressbar=False).differences == []


@pytest.mark.long
def test_the_command_reads_sets(tmp_path):
    rows, predicted, _ = study(n=20)
    for name, table in (("ann", rows), ("pred", predicted)):
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    files = [str(tmp_path / "ann.csv"), "--predictions", str(tmp_path / "pred.csv")]
    how = ["--kind", "set", "--separator", ";", "--none", "none"]
    runner = CliRunner()
    checked = runner.invoke(app, ["check", *files, *how])
    assert checked.exit_code == 0
    assert "joy" in checked.output
    done = runner.invoke(app, ["evaluate", *files, *how, "--out", str(tmp_path / "out"),
                               "--draws", "50", "--no-progress", "--all"])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "F1 of each label" in done.output
    assert len(pd.read_csv(tmp_path / "out" / "labels.csv")) == 3 * (2 + 3 * 2)


@pytest.mark.long
def test_names_of_labels_and_systems_stay_text(tmp_path):
    rows, predicted, _ = study(n=20)
    evil = "<script>alert(1)</script>"
    rows["label"] = [label.replace("joy", evil) for label in rows["label"]]
    predicted["label"] = [label.replace("joy", evil) for label in predicted["label"]]
    predicted["system"] = np.where(predicted["system"] == "good", "<b>good</b>", "poor")
    how = {"kind": "set", "separator": ";", "none": "none"}
    ann, pred = dx.annotations(rows, **how), dx.predictions(predicted, **how)
    text = dx.report(dx.evaluate(ann, pred, **QUICK), tmp_path / "report.html").read_text()
    assert evil not in text
    assert "<b>good</b>" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.long
def test_a_label_that_only_a_system_gives_is_in_no_set_of_the_panel(data, tmp_path):
    _, predicted, _ = study()
    predicted["label"][0] = "anger"
    how = {"kind": "set", "separator": ";", "none": "none"}
    with pytest.warns(dx.DissensusWarning, match="anger"):
        evaluation = dx.evaluate(data[0], dx.predictions(predicted, **how), **QUICK)
    labels = evaluation["labels"].to_dataset().sel(element="anger")
    assert bool(labels["krippendorff_alpha"].isnull().all())
    assert float(labels["share"].mean()) < 0.1
    dx.report(evaluation, tmp_path / "report.html")


def silent_system():
    """A system that says nothing, beside one that finds what is seldom there."""
    rows = {"item": np.tile(np.arange(40), 3), "annotator": np.repeat(list("abc"), 40),
            "label": ["none"] * 120}  # fmt: skip
    rows["label"][0] = rows["label"][1] = "joy"
    labels = ["joy"] + ["none"] * 39
    predicted = {"item": np.tile(np.arange(40), 2), "system": np.repeat(["careful", "silent"], 40),
                 "label": labels + ["none"] * 40}  # fmt: skip
    return rows, predicted


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*:dissensus.DissensusWarning")
def test_a_score_that_is_undefined_in_some_draws_is_left_out_and_said(tmp_path):
    ann, pred = read(*silent_system())
    with pytest.warns(dx.DissensusWarning, match="Micro F1 is left out.*'silent'"):
        evaluation = dx.evaluate(ann, pred, **QUICK)
    assert set(evaluation["metrics"].data_vars) >= {"jaccard", "exact_match"}
    assert "micro_f1" not in evaluation["metrics"]
    assert "naive_micro_f1" not in evaluation["statistics"]
    dx.report(evaluation, tmp_path / "report.html")


@pytest.mark.long
def test_where_nobody_disagrees_all_scores_are_those_that_ignore_disagreement(tmp_path):
    rows, predicted, truth = study(n=60)
    rows["label"] = words(truth) * 4
    predicted["label"] = [label if k % 7 else "anger" for k, label in enumerate(predicted["label"])]
    ann = read(rows)[0]
    pred = dx.predictions(predicted, kind="set", separator=";", none="none")
    with pytest.warns(dx.DissensusWarning, match="anger"):
        evaluation = dx.evaluate(ann, pred, **QUICK)
    for name, values in evaluation["metrics"].to_dataset().data_vars.items():
        mean = values.sel(scope="these items", reliability=1.0).mean(SAMPLE)
        np.testing.assert_allclose(mean, evaluation["statistics"][f"naive_{name}"], atol=0.06)
    of_labels, f1 = label_tables(evaluation)
    for table in (of_labels, f1):
        assert "anger" in [str(row[0]) for row in table.bodies[0].rows]
    assert "anger" in rare(evaluation)["names"]
    assert steps(evaluation, None)["labels"] == []
    assert "No label" in dx.report(evaluation, tmp_path / "report.html").read_text()


def test_the_worst_diagnostics_of_all_labels_are_kept_each_with_its_label():
    poor = {"ess_bulk_min": 90.0, "ess_bulk_min_item": "weight", "r_hat_max": 1.01,
           "r_hat_max_item": "weight", "ess_tail_min": 300.0, "n_items_poor": 1}  # fmt: skip
    good = poor | {"ess_bulk_min": 400.0, "r_hat_max": 1.2, "ess_tail_min": 50.0}
    result = _worst({"joy": poor, "love": good})
    assert (result["ess_bulk_min"], result["r_hat_max"], result["ess_tail_min"]) == (
        90.0,
        1.2,
        50.0,
    )
    assert result["ess_bulk_min_item"] == "joy: weight"
    assert result["r_hat_max_item"] == "love: weight"
    assert result["n_items_poor"] == 2


def test_doubts_are_those_of_the_labels_fit(result):
    tree = result.copy()
    posterior = tree["posterior"].to_dataset()
    why = np.array(["", "chains too short", ""], dtype=object)
    tree["posterior"] = posterior.assign(doubt=("element", why.astype(str)))
    rows = dx.summary(tree, "labels").query("quantity == 'f1'").set_index("element")["doubt"]
    assert (rows["love"] == "chains too short").all()
    assert (rows["joy"] == "").all()


@pytest.mark.long
def test_known_labels_are_not_outside_and_pools_are_said_to_be_unused(data):
    rows, _, _ = study()
    assert prediction_contents(*data)["labels_outside"] == {}
    pooled = dx.annotations(
        rows | {"pool": np.where(rows["annotator"] > 1, "x", "y")}, kind="set", separator=";",
        none="none", pool="pool",
    )  # fmt: skip
    with pytest.warns(dx.DissensusWarning, match="Pools are not used"):
        dx.evaluate(pooled, **QUICK)
    fixed = dx.evaluate(*data, prior_count=1.0, **{k: QUICK[k] for k in QUICK if k != "tune"})
    assert "metrics" in fixed
    chunked = dx.evaluate(dx.chunked(data[0], 5), data[1], **QUICK)
    assert chunked["labels"]["share"].chunks is None


def test_a_column_that_says_nothing_holds_is_no_label():
    wide = {"item": [1, 2], "annotator": ["a", "a"], "joy": [1, 0], "love": [1, 0], "none": [0, 1]}
    ann = dx.annotations(wide, kind="set", none="none")
    assert ann["element"].values.tolist() == ["joy", "love"]
    with pytest.raises(dx.AnnotationError, match="row 0: expected 0 in rows with labels"):
        dx.annotations(wide | {"none": [1, 1]}, kind="set", none="none")
