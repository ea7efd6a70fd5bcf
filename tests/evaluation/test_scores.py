"""Evaluations of numbers, of probabilities, and of two labels: the metrics are those of the fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from lean import LEAN

import dissensus as dx
from dissensus.reports import evidence, tables

QUIET = {"draws": 400, "random_seed": 1, "progressbar": False, **LEAN}
ERRORS = ["mean_absolute_error", "mean_squared_error", "correlation"]


@pytest.fixture(scope="module")
def scores():
    """Forty items of three scores and two systems, of which one is better; the means are known."""
    rng = np.random.default_rng(3)
    mu = rng.normal(60, 10, 40)
    ann = dx.from_matrix(rng.normal(mu[:, None], 8, (40, 3)))
    table = {"item": np.tile(np.arange(40), 2), "system": np.repeat(["good", "bad"], 40),
             "label": np.concatenate([rng.normal(mu, 3), rng.normal(mu, 12)])}  # fmt: skip
    return ann, dx.predictions(table), mu


@pytest.fixture(scope="module")
def result(scores):
    return dx.evaluate(*scores[:2], **QUIET)


@pytest.mark.long
def test_the_errors_are_those_of_the_fit_with_the_predictions(scores, result):
    ann, pred, _ = scores
    fit = dx.models.normal_scores.fit(
        ann, predictions=pred, draws=400, random_seed=1, progressbar=False
    )
    for scope, weights in (("these items", None), ("new items", "bayesian-bootstrap")):
        direct = dx.score_error(fit, pred, weights=weights, random_seed=1)
        for name in ERRORS:
            actual = result["metrics"][name].sel(scope=scope, reliability=1.0)
            np.testing.assert_allclose(actual, direct[name], rtol=1e-9)
    assert list(result["metrics"].data_vars) == ERRORS
    assert "certainty" not in result.children


def test_what_is_naive_is_against_the_mean_score(scores, result):
    ann, pred, _ = scores
    mean = xr.DataArray(
        [ann["value"][ann["item_code"] == i].mean() for i in range(40)], dims="item",
        coords={"item": np.arange(40)},
    )  # fmt: skip
    direct = dx.score_error(mean, pred)
    for name in ERRORS:
        np.testing.assert_allclose(result["statistics"][f"naive_{name}"], direct[name])


def test_smaller_errors_are_better(result):
    best = result["comparison"]["probability_best"].sel(scope="new items", reliability=1.0)
    assert (best.sel(system="good") > 0.9).all()
    rows = dx.summary(result)
    assert set(rows["metric"]) == set(ERRORS)


def test_the_truth_is_inside_where_the_mean_score_misses(scores, result):
    _, pred, mu = scores
    number = pred["value"].sel(system="good").to_numpy()
    true = ((number - mu) ** 2).mean()
    draws = result["metrics"]["mean_squared_error"].sel(system="good", scope="these items")
    low, high = draws.quantile([0.055, 0.945])
    assert low < true < high
    assert result["statistics"]["naive_mean_squared_error"].sel(system="good") > high


@pytest.mark.long
def test_numbers_in_another_unit_have_a_correlation_only(scores):
    ann, pred, _ = scores
    moved = pred.assign(value=-0.1 * pred["value"])
    with pytest.warns(dx.DissensusWarning, match="'bad' seem to be in another unit.*correlations"):
        evaluation = dx.evaluate(ann, moved, **QUIET)
    assert list(evaluation["metrics"].data_vars) == ["correlation"]
    assert (evaluation["metrics"]["correlation"].mean(("chain", "draw")) < 0).all()
    assert "discrepancy_ratio" not in evaluation["discrepancy"]


@pytest.mark.long
def test_a_constant_system_leaves_the_correlation_out(scores):
    ann, pred, _ = scores
    flat = pred.assign(
        value=xr.where(pred["system"] == "bad", 61.0, pred["value"]).transpose("item", "system")
    )
    with pytest.warns(dx.DissensusWarning, match="correlation is left out.*'bad'"):
        evaluation = dx.evaluate(ann, flat, **QUIET)
    assert list(evaluation["metrics"].data_vars) == ERRORS[:2]
    assert "naive_correlation" not in evaluation["statistics"]


@pytest.mark.long
def test_scores_alone_are_described(scores):
    evaluation = dx.evaluate(scores[0], **QUIET)
    assert not evaluation["metrics"].data_vars
    assert evaluation["posterior"]["mean"].dims == ("chain", "draw", "item")


def test_labels_are_no_predictions_of_numbers(scores):
    ann, _, _ = scores
    pred = dx.predictions({"item": range(40), "system": ["s"] * 40, "label": ["below"] * 40})
    with pytest.raises(dx.PredictionError, match=r"one number from each system.*threshold="):
        dx.evaluate(ann, pred, **QUIET)


# Probabilities, and two labels.


@pytest.fixture(scope="module")
def votes():
    """Thirty items, four annotators, two labels; two systems with probabilities."""
    rng = np.random.default_rng(4)
    share = rng.beta(1, 1, 30)
    item, who = np.indices((30, 4)).reshape(2, -1)
    labels = np.where(rng.uniform(size=item.size) < share[item], "yes", "no")
    ann = dx.annotations({"item": item, "annotator": who, "label": labels}, labels=["no", "yes"])
    near = np.concatenate([np.clip(share, 0.02, 0.98), rng.uniform(0.1, 0.9, 30)]).round(3)
    table = {"item": np.tile(np.arange(30), 2), "system": np.repeat(["near", "far"], 30),
             "no": 1 - near, "yes": near}  # fmt: skip
    return ann, dx.predictions(table)


@pytest.fixture(scope="module")
def judged(votes):
    return dx.evaluate(*votes, positive="yes", reliability=(1.0,), **QUIET)


def test_probabilities_have_scores_and_a_curve(votes, judged):
    ann, pred = votes
    fit = dx.models.dirichlet.fit(
        ann, predictions=pred, draws=400, random_seed=1, progressbar=False
    )
    direct = dx.probability_score(fit, pred)
    for name in ("log_score", "brier_score", "total_variation", "calibration_error"):
        result = judged["metrics"][name].sel(scope="these items", reliability=1.0)
        np.testing.assert_allclose(result, direct[name], rtol=1e-9)
    for name in ("calibration", "mean_probability", "n_items"):
        np.testing.assert_allclose(judged["calibration"][name], direct[name])
    best = judged["comparison"]["probability_best"].sel(scope="these items", reliability=1.0)
    assert (best.sel(system="near", metric=["log_score", "brier_score"]) > 0.9).all()


def test_the_positive_label_gives_rates_that_average_to_the_accuracy(votes, judged):
    ann, pred = votes
    draws = judged["metrics"].sel(scope="these items", reliability=1.0)
    fit = dx.models.dirichlet.fit(
        ann, predictions=pred, draws=400, random_seed=1, progressbar=False
    )
    direct = dx.sensitivity_specificity(fit, pred, "yes", insight="learned", random_seed=1)
    for name in ("sensitivity", "specificity"):
        np.testing.assert_allclose(draws[name], direct[name], rtol=1e-9)
    assert judged.attrs["positive"] == "yes"
    titles = [body.title for body in tables.metric_table(judged, evidence.numbers(judged)).bodies]
    assert "Sensitivity, against the panel (positive: yes)" in titles
    low, high = (np.minimum, np.maximum)
    both = (draws["sensitivity"].to_numpy(), draws["specificity"].to_numpy())
    accuracy = draws["top_1_accuracy"].to_numpy()
    assert (accuracy >= low(*both) - 1e-9).all()
    assert (accuracy <= high(*both) + 1e-9).all()


@pytest.mark.long
def test_labels_without_an_order_have_no_positive_one(votes):
    ann, pred = votes
    evaluation = dx.evaluate(ann, pred, reliability=(1.0,), **QUIET)
    assert "sensitivity" not in evaluation["metrics"]


@pytest.mark.long
def test_scores_of_lists_are_no_probabilities(votes):
    ann, pred = votes
    evaluation = dx.evaluate(ann, pred.assign(score=3 * pred["score"]), reliability=(1.0,), **QUIET)
    assert "log_score" not in evaluation["metrics"]
    assert "calibration" not in evaluation.children


@pytest.mark.unit(0)
@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"]])
@pytest.mark.parametrize("model", ["inverse_rank", "plackett_luce"])
def test_probabilities_for_few_labels_suit_models_of_candidates(model, labels):
    """Draws over candidates count as many leading labels as the point estimate."""
    rng = np.random.default_rng(1)
    item, who = np.indices((20, 3)).reshape(2, -1)
    ann = dx.annotations({"item": item, "annotator": who, "label": rng.choice(labels, 60)})
    shares = dict(zip(labels, rng.dirichlet(np.ones(len(labels)), 20).T, strict=True))
    pred = dx.predictions({"item": range(20), "system": ["s"] * 20, **shares})
    evaluation = dx.evaluate(ann, pred, model=model, reliability=(1.0,), **QUIET)
    last = len(labels) - 1
    assert f"top_{last}_accuracy" in evaluation["metrics"]
    assert f"top_{last + 1}_accuracy" not in evaluation["metrics"]


@pytest.mark.slow
def test_chunks_give_the_same_errors_and_a_report(scores, result, tmp_path):
    ann, pred, _ = scores
    evaluation = dx.evaluate(ann, pred, chunks=15, **QUIET)
    for name in ERRORS:
        np.testing.assert_allclose(evaluation["metrics"][name], result["metrics"][name], rtol=1e-9)
    draws = result["posterior"]["mean"]
    np.testing.assert_allclose(
        evaluation["posterior"]["mean_sd"], draws.std(("chain", "draw"), ddof=1), rtol=1e-9
    )
    dx.report(evaluation, tmp_path / "chunks.html")


@pytest.mark.long
def test_no_metric_at_all_is_an_error(scores):
    ann, pred, _ = scores
    flat = pred.sel(system=["bad"]).assign(value=0 * pred["value"].sel(system=["bad"]) - 500.0)
    with (
        pytest.warns(dx.DissensusWarning, match="in another unit"),
        pytest.raises(dx.PredictionError, match="no metric is defined"),
    ):
        dx.evaluate(ann, flat, **QUIET)


@pytest.mark.slow
def test_grades_as_numbers_have_errors_and_no_answers(scores, tmp_path):
    ann, pred, _ = scores
    value = ann["value"].to_numpy()
    table = {"item": ann["item_code"].to_numpy(), "annotator": ann["annotator_code"].to_numpy(),
             "label": (value / 10).round().astype(int)}  # fmt: skip
    grades = dx.annotations(table, kind="ordinal")
    how = {**QUIET, "truth_model": "auto"}
    evaluation = dx.evaluate(grades, pred / 10, model="normal_scores", **how)
    assert list(evaluation["metrics"].data_vars) == ERRORS
    assert "answers" not in evaluation.children
    assert evaluation.attrs["truth_model"] == "none: numbers are not right or wrong"
    dx.report(evaluation, tmp_path / "grades.html")


@pytest.mark.slow
def test_several_reliabilities_of_numbers_have_a_report(scores, tmp_path):
    with pytest.warns(dx.DissensusWarning, match="no reliability"):
        evaluation = dx.evaluate(*scores[:2], reliability=(1.0, 2.0), **QUIET)
    dx.report(evaluation, tmp_path / "reliabilities.html")


# Real panels, of which a part is seen.


def scores_hold(ann, pred, whole):
    """Return draws of scores; at least seven of eight intervals contain the scores against all."""
    known = dx.probability_score(whole, pred)
    fit = dx.models.dirichlet.fit(
        ann, predictions=pred, draws=300, random_seed=1, progressbar=False
    )
    actual, inside = dx.probability_score(fit, pred), []
    for name in ("log_score", "brier_score", "total_variation", "calibration_error"):
        low, high = actual[name].quantile([0.01, 0.99], ("chain", "draw"))
        inside += ((low <= known[name]) & (known[name] <= high)).to_numpy().tolist()
    assert sum(inside) >= 7, inside
    return actual


@pytest.mark.long
def test_probabilities_beside_a_hundred_labels(shared, tmp_path):
    """Five of 100 labels are seen; the scores against all 100 are inside the intervals."""
    folder = shared / "chaosnli_snli"
    if not folder.is_dir():
        pytest.skip("no chaosnli_snli beside this checkout")
    votes = pd.read_csv(folder / "votes100.csv.gz").set_index("item").iloc[:300]
    answers = pd.read_csv(folder / "predictions.csv.gz").query("item in @votes.index")
    names = ["entailment", "neutral", "contradiction"]
    rng = np.random.default_rng(0)
    seen = [rng.multivariate_hypergeometric(row, 5) for row in votes[names].to_numpy()]
    table = pd.DataFrame(seen, columns=names).assign(item=votes.index)
    table[["item", *names]].to_csv(tmp_path / "votes.csv", index=False)
    ann = dx.read_annotations(tmp_path / "votes.csv", format="counts")
    pred = dx.predictions(answers)
    shares = votes[names].div(votes[names].sum(axis=1), axis=0)
    whole = xr.DataArray(
        shares.to_numpy(), dims=("item", "label"), coords={"item": shares.index, "label": names}
    )
    scores_hold(ann, pred, whole)


@pytest.mark.long
def test_probabilities_beside_a_simulated_hundred():
    """Five of a hundred votes are seen, of 200 items; one system is near the hundred, one far."""
    rng = np.random.default_rng(0)
    names = ["no", "perhaps", "yes"]
    theta = rng.dirichlet([1.2, 0.6, 0.9], 200)
    votes = np.array([rng.multinomial(100, row) for row in theta])
    seen = np.array([rng.multivariate_hypergeometric(row, 5) for row in votes])
    item, label = (np.repeat(code, seen[seen > 0]) for code in np.nonzero(seen))
    frame = pd.DataFrame({"item": item, "label": np.array(names)[label]})
    frame["annotator"] = frame.groupby("item").cumcount()
    ann = dx.annotations(frame, labels=names)
    labels = [np.array([rng.dirichlet(size * row + 0.2) for row in theta]) for size in (20, 2)]
    table = dict(zip(names, np.concatenate(labels).T.round(4) + 1e-4, strict=True))
    pred = dx.predictions(
        {"item": np.tile(np.arange(200), 2), "system": np.repeat(["near", "far"], 200), **table}
    )
    whole = xr.DataArray(votes / 100, {"item": np.arange(200), "label": names}, ("item", "label"))
    actual = scores_hold(ann, pred, whole)
    few = dx.probability_score(whole.copy(data=seen / 5), pred)["total_variation"]
    assert (few > actual["total_variation"].quantile(0.99, ("chain", "draw"))).all()


@pytest.mark.long
def test_numbers_beside_all_raters_of_videos(shared):
    """Four of 26 raters are seen. The error against the mean of the others is inside, or nearly.

    Against the mean of the four it is 1.5 times too large.
    """
    table = pd.read_csv(shared / "nflx_video_quality" / "ratings.csv")
    seen = table["annotator"].isin(["s01", "s02", "s03", "s04"])
    panel = table[~seen].groupby("item")["label"].mean()
    ann = dx.annotations(table[seen], kind="continuous")
    number = panel.to_numpy() + np.random.default_rng(0).normal(0, 0.3, len(panel))
    pred = dx.predictions({"item": panel.index, "system": ["s"] * len(panel), "label": number})
    evaluation = dx.evaluate(ann, pred, **QUIET)
    true = np.abs(number - panel).mean()
    draws = evaluation["metrics"]["mean_absolute_error"].sel(scope="these items")
    low, high = draws.quantile([0.01, 0.99])
    assert low < true < high
    assert evaluation["statistics"]["naive_mean_absolute_error"].item() > 1.5 * true


@pytest.mark.long
def test_what_positive_cannot_be_is_said(votes):
    ann, pred = votes
    with pytest.raises(dx.ArgumentError, match="positive: expected one of the two labels"):
        dx.evaluate(ann, pred, positive=np.array(["yes"]), reliability=(1.0,), **QUIET)
    with pytest.warns(dx.DissensusWarning, match=r"inverse_rank does not give.*dirichlet"):
        dx.evaluate(ann, pred, positive="yes", model="inverse_rank", reliability=(1.0,), **QUIET)
