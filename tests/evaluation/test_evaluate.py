"""The whole: groups, dims, consistency with its parts, and what it refuses."""

from __future__ import annotations

import weakref
from functools import partial

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from lean import LEAN
from refusals import check_refused

import dissensus as dx
from dissensus.evaluation import runs, scoring
from dissensus.evaluation.recipes import Recipe, shares


def run(ann, pred=None, **options):
    options = {"draws": 200, "random_seed": 1, "progressbar": False, **options}
    return dx.evaluate(ann, pred, **options)


def test_groups_and_dims(votes):
    result = run(*votes, reliability=(1, 2))
    assert {"posterior", "metrics", "statistics", "comparison", "diagnostics"} <= set(
        result.children
    )
    accuracy = result["metrics"]["top_1_accuracy"]
    assert accuracy.dims == ("chain", "draw", "reliability", "scope", "system")
    assert accuracy.shape == (4, 200, 2, 2, 2)
    assert result.attrs["reference_reliability"] == 1


def test_the_metric_is_that_of_the_fit_with_bootstrap_weights_for_new_items(votes):
    ann, pred = votes
    result = run(ann, pred, reliability=(2.0,))
    fit = dx.models.dirichlet.fit(
        ann, predictions=pred, draws=200, random_seed=1, reliability=2.0, progressbar=False
    )
    for scope, weights in (("these items", None), ("new items", "bayesian-bootstrap")):
        direct = dx.top_k_accuracy(fit, pred, insight="learned", weights=weights, random_seed=1)
        actual = result["metrics"]["top_1_accuracy"].sel(reliability=2.0, scope=scope)
        np.testing.assert_allclose(actual, direct, rtol=1e-12)


def test_bad_input_is_refused_before_anything_is_fitted(votes, monkeypatch):
    monkeypatch.setattr("dissensus.evaluation.evaluate.results", lambda *_: pytest.fail("fitted"))
    ann, pred = votes
    scores = dx.from_matrix([[1.5, 2.5], [-1.5, -2.5]])
    numbers = dx.predictions({"item": ["i", "j", "k"], "system": ["s"] * 3, "label": [0.5] * 3})
    one_cluster = ann.assign(cluster_code=("item", np.zeros(3, int)))
    reliabilities = [(), (0,), (-1, 1), (1, 1), (np.nan,), "a", "5", "1,2", {1, 2}, [1, None],
                     [[1, 2], [3, 4]]]  # fmt: skip
    check_refused(dx.ArgumentError, [
        *((f"reliability {bad}", partial(run, ann, pred, reliability=bad), "reliability")
          for bad in reliabilities),
        *((f"threshold {bad}", partial(run, scores, threshold=bad),
           "threshold: expected a finite number") for bad in ("high", [3], np.nan)),
        ("risk of numbers", lambda: run(scores, risk={"above": 1}),
         "risk: expected None: scores have no labels.*threshold="),
        ("positive of numbers", lambda: run(scores, positive="above"), "positive: expected None"),
        ("positive label", lambda: run(ann, pred, positive="q"),
         "positive: expected one of the two labels, 'x', 'y'; found 'q'"),
        ("threshold of names", lambda: run(ann, pred, threshold=3), "threshold: expected None"),
        ("threshold of another model",
         lambda: run(dx.from_matrix([[1, 2], [3, 3]]), threshold=2, model="dirichlet"),
         "threshold: expected None"),
        ("model of another kind", lambda: run(ann, pred, model="normal_scores"),
         "model.*'dirichlet', 'inverse_rank'"),
        ("hyperparameter", lambda: run(ann, pred, prior=(1, 2, 3, 4)),
         "prior: .*of dirichlet: .*prior_count"),
        ("label without category", lambda: run(ann, pred, groups={"x": "low"}),
         "groups: .*none for 'y'"),
        ("categories of numbers", lambda: run(scores, threshold=0, groups={1: "low"}),
         "groups: expected None: scores"),
    ])  # fmt: skip
    check_refused(dx.AnnotationError, [
        ("swapped", lambda: run(pred, ann), "annotations: .* found predictions"),
        ("predictions alone", lambda: run(pred), "annotations: .* found predictions"),
        ("one cluster", lambda: run(one_cluster.assign_coords(cluster=["only"]), pred),
         "at least two clusters"),
    ])  # fmt: skip
    check_refused(dx.PredictionError, [
        ("annotations twice", lambda: run(ann, ann), "predictions: .*predictions of systems"),
        ("a table", lambda: run(ann, pd.DataFrame()), "found DataFrame"),
        ("numbers", lambda: run(ann, numbers), "expected labels.*found numbers such as 0.5"),
    ])  # fmt: skip


def test_without_predictions_there_are_no_metrics(votes):
    result = run(votes[0], groups={"x": 1, "y": 0})
    assert not any(result[group].data_vars for group in ("metrics", "comparison", "diagnostics"))
    assert result["certainty"]["annotation_certainty"].dims == ("reliability", "item")
    assert dx.summary(result).equals(dx.summary(result, "statistics"))
    assert dx.summary(result, "metrics").empty
    assert result["categories"]["label"].to_numpy().tolist() == [0, 1]
    assert set(result["categories"].data_vars) == {"annotation_certainty", "plausibility"}


def test_certainty_rises_with_reliability():
    ann = dx.annotations({"item": [1] * 3, "annotator": list("abc"), "label": list("xxy")})
    certainty = run(ann, reliability=(0.5, 2, 8, 32), draws=1000)["certainty"]
    assert (certainty["annotation_certainty"].diff("reliability") > 0).all()


RISK = dict(zip("abcdef", ["low", "high", "low", "high", "medium", "low"], strict=True))


@pytest.fixture
def of_rankings(rankings, evaluated):
    """Rankings with categories and risks under two models, at two reliabilities."""
    risk = dict(zip("abcdef", (0, 1, 2, 0, 1, 2), strict=True))
    return evaluated("rankings", *rankings, draws=50, reliability=(1, 3), groups=RISK, risk=risk,
                     concentration=2.0)  # fmt: skip


@pytest.mark.long
def test_rankings_get_the_metrics_of_lists(of_rankings):
    names = set(of_rankings["metrics"].data_vars)
    assert names == {
        "top_1_accuracy", "top_2_accuracy", "top_3_accuracy", "top_2_set_accuracy",
        "top_3_set_accuracy", "average_overlap_at_3",
    }  # fmt: skip
    assert "annotation_certainty_3" in of_rankings["certainty"]
    assert of_rankings["expected_risk"]["expected_risk"].dims == ("chain", "draw", "item")


def test_naive_is_the_metric_against_the_vote(votes):
    # Majorities: i -> x, j -> y, k -> a tie, which counts half. "good" says x, y, x.
    naive = run(*votes)["statistics"]["naive_top_1_accuracy"]
    np.testing.assert_allclose(naive.sel(system=["good", "bad"]), [5 / 6, 1 / 6])


@pytest.mark.long
def test_scores_are_cut_at_the_threshold():
    rng = np.random.default_rng(1)
    value = rng.normal([[-1.5]] * 10 + [[2.0]] * 10, 1, (20, 5))
    ann = dx.from_matrix(value)
    truth = np.repeat([-1.0, 1.0], 10)
    table = {"item": np.tile(np.arange(20), 2), "system": ["right"] * 20 + ["wrong"] * 20}
    table["label"] = np.concatenate([truth + 0.1, -truth + 0.1])
    pred = dx.predictions(table)
    result = run(ann, pred, threshold=0.0)
    mean = result["metrics"]["top_1_accuracy"].mean(("chain", "draw")).sel(scope="these items")
    assert result.attrs["model"] == "normal_scores"
    assert mean.sel(system="right").item() > 0.85
    np.testing.assert_allclose(mean.sel(system="right") + mean.sel(system="wrong"), 1)


def test_whole_numbers_are_cut_too():
    ann = dx.from_matrix([[1.5, 2.5], [-1.5, -2.5]])
    pred = dx.predictions({"item": [0, 1], "system": ["s", "s"], "label": [3, -3]})
    result = run(ann, pred, threshold=0, prior=(0, 1, 2, 2))  # two items teach no prior
    assert result["metrics"]["top_1_accuracy"].mean().item() > 0.8


def test_a_stray_label_is_warned_of_once(votes):
    ann, pred = votes
    odd = pred.assign_coords(label=["x", "none of these"])
    with pytest.warns(dx.DissensusWarning, match="none of these") as caught:
        run(ann, odd)
    assert len(caught) == 1


@pytest.mark.long
def test_items_that_only_one_side_has(votes):
    ann, pred = votes
    with pytest.raises(dx.PredictionError, match="'k'"):
        run(ann, pred.sel(item=["i", "j"]))
    result = run(ann, pred.sel(item=["i", "j"]), on_missing="drop")
    assert np.isfinite(result["metrics"]["top_1_accuracy"]).all()


def test_one_system_has_nobody_to_be_compared_with(votes):
    ann, pred = votes
    result = run(ann, pred.sel(system=["good"]))
    assert result["comparison"].to_dataset().sizes == {}
    assert dx.summary(result)["probability_best"].isna().all()


def test_arviz_takes_the_metrics(votes):
    metrics = run(*votes)["metrics"].to_dataset()
    assert len(az.summary(metrics)) == 2 * 2 * 5


def test_summary_is_tidy(votes):
    result = run(*votes, reliability=(1, 4))
    table = dx.summary(result)
    assert len(table) == 1 * 2 * 2 * 2
    assert table.attrs["probability"] == az.rcParams["stats.ci_prob"]
    row = table.query("system == 'good' and reliability == 4 and scope == 'these items'").iloc[0]
    draws = result["metrics"]["top_1_accuracy"].sel(
        system="good", reliability=4, scope="these items"
    )
    assert row["mean"] == pytest.approx(draws.mean().item())
    tail = (1 - az.rcParams["stats.ci_prob"]) / 2
    assert row["lower"] == pytest.approx(np.quantile(draws, tail), abs=0.02)
    assert row["naive"] == pytest.approx(5 / 6)


def test_summary_follows_arviz_settings(votes):
    result = run(*votes, reliability=(1,))
    draws = result["metrics"]["top_1_accuracy"].isel(reliability=0)
    for kind, find in (("hdi", az.hdi), ("eti", az.eti)):
        with az.rc_context({"stats.ci_prob": 0.5, "stats.ci_kind": kind}):
            table = dx.summary(result)
        assert table.attrs == {"interval": kind, "probability": 0.5}
        bounds = find(draws, prob=0.5, dim=["chain", "draw"]).transpose("scope", "system", ...)
        np.testing.assert_array_equal(table[["lower", "upper"]], bounds.to_numpy().reshape(-1, 2))


@pytest.mark.long
def test_simulated_judges():
    """Six systems, people who disagree, answers that nobody gave."""
    study = dx.simulate.confusion_study(
        150, 4, 3, ipc=0.6, system_accuracy=[0.9, 0.8, 0.75, 0.7, 0.6, 0.5], random_seed=3
    )
    pred = study.predictions
    frame = pd.DataFrame({
        role: pred[role].to_numpy()[codes] for role, codes in (
            ("item", np.repeat(np.arange(150), 6)), ("system", np.tile(np.arange(6), 150)),
            ("label", pred["label_code"].to_numpy()[..., 0].ravel()),
        )
    }).astype({"label": object})  # fmt: skip
    frame.loc[frame.index % 40 == 5, "label"] = "none of the above"  # of the last system
    with pytest.warns(dx.DissensusWarning, match="'none of the above'"):
        result = run(
            study.annotations, dx.predictions(frame), reliability=(1.0,), draws=100, **LEAN
        )
    table = dx.summary(result).query("scope == 'these items'")
    # A large panel of such annotators names the true label, four of them often another one.
    truth = study.truth["system_correct"].to_numpy()[:5]
    naive, mean = (np.abs(table[name].to_numpy()[:5] - truth) for name in ("naive", "mean"))
    assert mean[0] < 0.02 < 0.1 < naive[0]
    assert (mean < naive).all()


@pytest.mark.long
def test_real_rankings(shared):
    names = (shared / "dermatology" / "dermatology_conditions.txt").read_text().split("\n")[:419]
    table = pd.read_csv(shared / "dermatology" / "rankings.csv")
    ann = dx.annotations(table, label="class", rank="rank", labels=list(range(419)))
    assert len(names) == ann.sizes["label"]
    result = run(ann, draws=50, reliability=(1.0,), tune=100)
    for side in (result, result["companion"]):
        certainty = side["certainty"]["annotation_certainty"]
        assert certainty.sizes["item"] == 600
        assert ((certainty > 0) & (certainty <= 1)).all()


@pytest.mark.long
def test_a_range_of_reliabilities_is_nothing_to_scores():
    ann = dx.from_matrix([[1.5, 2.5], [-1.5, -2.5]])
    with pytest.warns(dx.DissensusWarning, match="no reliability"):
        run(ann, threshold=0, reliability=(1, 2))


@pytest.mark.long
def test_a_tie_counts_in_parts_however_labels_are_named():
    # Two of three labels lead in items 0 to 2, all three in item 3: 1/2, 1/2, 0 and 1/3.
    given = {0: "ab", 1: "ab", 2: "bc", 3: "abc"}
    item = [i for i, labels in given.items() for _ in labels]
    for names in ("abc", "cba", "bca"):
        new = dict(zip("abc", names, strict=True))
        label = [new[x] for labels in given.values() for x in labels]
        who = [k for labels in given.values() for k in range(len(labels))]
        ann = dx.annotations({"item": item, "annotator": who, "label": label}, labels=sorted(names))
        pred = dx.predictions({"item": [0, 1, 2, 3], "system": ["s"] * 4, "label": [new["a"]] * 4})
        result = scoring.score_point(shares(ann), pred, "raise")["naive_top_1_accuracy"].item()
        assert result == pytest.approx((1 / 2 + 1 / 2 + 0 + 1 / 3) / 4)
        assert result == pytest.approx(dx.majority_vote_accuracy(ann, pred).item())


def test_the_naive_value_leaves_out_items_without_annotations():
    # The vote is right on items 0 and 2; nobody voted on item 1.
    labels = dx.from_matrix([["x", "x"], [None, None], ["y", "y"]])
    pred = dx.predictions({"item": [0, 1, 2], "system": ["s"] * 3, "label": list("xxy")})
    assert run(labels, pred)["statistics"]["naive_top_1_accuracy"].item() == 1
    scores = dx.from_matrix([[1.5, 2.5], [np.nan, np.nan], [-1.0, -2.5]])
    pred = dx.predictions({"item": [0, 1, 2], "system": ["s"] * 3, "label": [0.5, 1.5, 2.5]})
    run_result = run(scores, pred, threshold=0, prior=(0, 1, 2, 2))["statistics"]
    assert run_result["naive_top_1_accuracy"].item() == 0.5


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_a_metric_that_cannot_vary_is_reported(tmp_path):
    # Both labels in the first place: half right, whatever the weights of the bootstrap.
    rows = [(i, label, rank) for i in range(6) for label, rank in (("x", 1), ("y", 1))]
    table = dict(zip(("item", "label", "rank"), zip(*rows, strict=True), strict=True))
    pred = dx.predictions({**table, "system": ["s"] * len(rows)}, rank="rank")
    result = run(dx.from_matrix([["x", "y"]] * 6), pred, draws=50, **LEAN)
    assert (result["metrics"]["top_1_accuracy"] == 0.5).all()
    assert list(result["metrics"].data_vars) == ["top_1_accuracy"]  # of two labels two are all
    assert dx.report(result, tmp_path / "report.html").exists()


@pytest.mark.long
def test_rankings_go_through_two_models(of_rankings):
    result, beside = of_rankings, of_rankings["companion"]
    assert (result.attrs["model"], beside.attrs["model"]) == ("plackett_luce", "inverse_rank")
    # Reliabilities and hyperparameters are the main model's: to the other they mean nothing.
    assert result["metrics"]["reliability"].to_numpy().tolist() == [1, 3]
    assert beside["metrics"]["reliability"].to_numpy().tolist() == [10, 30, 100]
    assert beside.attrs["reference_reliability"] == beside.attrs["hyper_reliability"] == 30
    assert result["posterior"].attrs["hyper_concentration"] == 2.0
    assert set(beside["metrics"].data_vars) == set(result["metrics"].data_vars)
    groups = {"posterior", "metrics", "certainty", "comparison", "diagnostics", "statistics",
              "categories"}  # fmt: skip
    assert set(beside.children) == groups
    assert list(beside["posterior"].data_vars) == ["plausibility_mean"]
    # Inverse rank normalisation is the point estimate of both.
    for name in beside["statistics"].data_vars:
        xr.testing.assert_identical(result["statistics"][name], beside["statistics"][name])


@pytest.mark.long
def test_the_companion_is_the_model_itself(rankings, of_rankings):
    both = of_rankings["companion"]
    alone = run(*rankings, draws=50, model="inverse_rank")
    for name in ("metrics", "certainty", "comparison"):
        xr.testing.assert_identical(both[name].to_dataset(), alone[name].to_dataset())
    mean = alone["posterior"]["plausibility"].mean(("chain", "draw"))
    np.testing.assert_allclose(both["posterior"]["plausibility_mean"], mean)


def test_a_hyperparameter_of_the_companion_is_refused(rankings):
    with pytest.raises(dx.ArgumentError, match=r"split_ties: .*of plackett_luce: .*concentration"):
        run(*rankings, split_ties=False)


@pytest.mark.long
def test_both_models_are_in_the_summary_and_a_companion_has_one_too(of_rankings):
    table = dx.summary(of_rankings)
    assert table["model"].unique().tolist() == ["plackett_luce", "inverse_rank"]
    alone = dx.summary(of_rankings["companion"])
    assert alone.equals(table[table["model"] == "inverse_rank"].reset_index(drop=True))
    assert table.attrs["probability"] == az.rcParams["stats.ci_prob"]


@pytest.mark.long
def test_chains_that_are_too_short_are_warned_of_once_with_their_reliabilities(
    rankings, monkeypatch
):
    monkeypatch.setattr("dissensus.sampling.convergence.ESS", 1e9)
    with pytest.warns(dx.ConvergenceWarning, match="not run long enough") as caught:
        result = run(*rankings, draws=100, reliability=(1, 3))
    of_prior, text = (str(record.message) for record in caught)
    assert "for 11 of 11 parameters ('concentration', 'label_weight[" in of_prior
    assert text.startswith("plackett_luce: the chains have not run long enough for some of 2 items")
    assert "(2 at reliability 1, 2 at reliability 3): as few as " in text
    assert result["convergence"]["n_items_poor"].to_numpy().tolist() == [2, 2]
    assert "convergence" not in result["companion"].children


def test_short_chains_of_a_learned_prior_are_not_said_to_be_of_items(votes, monkeypatch):
    monkeypatch.setattr("dissensus.sampling.convergence.ESS", 1e9)
    with pytest.warns(dx.ConvergenceWarning, match="not run long enough") as caught:
        run(*votes, draws=100, reliability=(1, 3))
    (text,) = (str(record.message) for record in caught if "dirichlet" in str(record.message))
    assert "enough for 5 parameters of the learned prior: as few as " in text
    assert "Do not trust this model's intervals; ask for more draws (draws=400)." in text


@pytest.mark.slow
def test_every_posterior_but_the_reference_is_dropped_before_the_next(rankings, monkeypatch):
    fits, alive = [], []
    original = Recipe.fit

    def fit(self, *args, **options):
        alive.append(sum(reference() is not None for reference in fits))
        result = original(self, *args, **options)
        fits.append(weakref.ref(result))
        return result

    monkeypatch.setattr(Recipe, "fit", fit)
    monkeypatch.setattr(runs, "_LARGE", 0)
    run(*rankings, draws=20, reliability=(1, 2), truth_model=None, ground_truth=None)
    assert len(fits) == 5  # three of them the companion's
    assert max(alive) == 0


@pytest.mark.long
def test_categories_of_labels(of_rankings):
    result, actual = of_rankings, of_rankings["categories"]
    theta = result["posterior"]["plausibility"]
    assert actual["label"].to_numpy().tolist() == ["low", "high", "medium"]
    expected = dx.group_labels(theta, RISK).sel(label=["low", "high", "medium"])
    np.testing.assert_allclose(actual["plausibility"], expected)
    certainty = dx.annotation_certainty(actual["plausibility"])
    np.testing.assert_allclose(actual["annotation_certainty"].sel(reliability=1), certainty)
    # System s puts a and d first: low, high. System t puts c and e first: low, medium.
    leads = expected.to_numpy().argmax(axis=-1)
    right = (leads[..., None] == np.array([[0, 0], [1, 2]])).mean(axis=2)
    accuracy = actual["top_1_accuracy"].sel(reliability=1, scope="these items")
    np.testing.assert_allclose(accuracy.sel(system=["s", "t"]), right)
    # The point estimate leads with a, a low risk, and with d, a high one.
    np.testing.assert_allclose(actual["naive_top_1_accuracy"].sel(system=["s", "t"]), [1, 0.5])
    beside = result["companion/categories"]
    assert beside["top_1_accuracy"].dims == actual["top_1_accuracy"].dims
    assert "plausibility" not in beside


def test_simulated_risk_categories():
    """Labels that are taken for one another are of one category.

    Categories are then more certain than labels, as in Stutz et al. (2023), Figure 8.
    """
    rng = np.random.default_rng(2)
    cases = {}
    for case in range(30):
        like = 20 * (case % 3) + rng.choice(20, 4, replace=False)  # of one third of 60 labels
        cases[case] = [
            [[int(k)] for k in rng.permutation(like)[: rng.integers(1, 4)]] for _ in range(4)
        ]
    ann = dx.from_rankings(cases, labels=range(60))
    groups = {label: label // 20 for label in range(60)}
    result = run(ann, draws=50, reliability=(1.0,), groups=groups, companion=None)
    assert result["categories"]["label"].to_numpy().tolist() == [0, 1, 2]
    share = result["categories"]["plausibility"]
    np.testing.assert_allclose(share.sum("label"), 1)
    best = share.mean(("chain", "draw")).argmax("label")
    assert best.to_numpy().tolist() == [case % 3 for case in range(30)]
    certainty = [
        result[name]["annotation_certainty"].mean() for name in ("categories", "certainty")
    ]
    assert certainty[0] > certainty[1] + 0.1


@pytest.mark.long
def test_new_items_are_new_clusters_where_the_annotations_name_them():
    """Four copies of each item are no more of a sample than one of each."""
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, (40, 3))
    item, copy, who = np.indices((40, 4, 3)).reshape(3, -1)
    table = {"item": 10 * item + copy, "annotator": 3 * item + who, "label": label[item, who],
             "doc": item}  # fmt: skip
    names = np.unique(table["item"])
    pred = dx.predictions(
        {"item": names, "system": ["s"] * len(names), "label": label[names // 10, 0]},
        kind="nominal",
    )
    sd = {}
    for cluster in (None, "doc"):
        ann = dx.annotations(table, cluster=cluster, kind="nominal")
        result = run(ann, pred, reliability=(50,), prior_count=0.01, **LEAN)
        actual = result["metrics"]["top_1_accuracy"]
        sd[cluster] = float(actual.sel(scope="new items").std())
    assert 1.6 < sd["doc"] / sd[None] < 2.4


@pytest.mark.parametrize(("wrong", "argument"), [
    ({"draws": 0}, "draws"), ({"draws": "many"}, "draws"), ({"chains": 0}, "chains"),
])  # fmt: skip
def test_numbers_of_draws_are_checked_first(votes, wrong, argument):
    with pytest.raises(dx.ArgumentError, match=f"^{argument}: expected"):
        dx.evaluate(*votes, **wrong)


@pytest.mark.long
def test_the_positive_label_may_be_true_where_labels_are():
    even = np.arange(30) % 2 == 0
    frame = {"item": np.repeat(np.arange(30), 3), "annotator": list("abc") * 30}
    ann = dx.annotations(frame | {"label": np.repeat(even, 3)})
    pred = dx.predictions({"item": range(30), "system": ["m"] * 30, "label": even})
    given, same = (run(ann, pred, positive=positive) for positive in (True, 1))
    assert given["metrics"].to_dataset().equals(same["metrics"].to_dataset())
    assert "sensitivity" in given["metrics"]


def test_probabilities_that_do_not_add_up_are_named():
    rng = np.random.default_rng(1)
    frame = {"item": np.repeat(np.arange(30), 2), "annotator": list("ab") * 30}
    ann = dx.annotations(frame | {"label": rng.choice(["x", "y"], 60)})
    share = rng.random(30)
    given = pd.DataFrame({
        "item": np.tile(np.arange(30), 2), "system": "m", "label": np.repeat(["x", "y"], 30),
        "score": np.concatenate([share, 1 - share]),
    })  # fmt: skip
    read = partial(dx.predictions, score="score")
    assert "log_score" in run(ann, read(given), **LEAN)["metrics"]
    given.loc[7, "score"] += 0.5
    with pytest.warns(
        dx.DissensusWarning, match=r"of 1 of 30 .* \(item 7, system 'm': the sum is 1.5"
    ):
        run_result = run(ann, read(given), **LEAN)
    assert "log_score" not in run_result["metrics"]


def test_rankings_of_some_predicted_items_are_evaluated_as_the_errors_say():
    lists = {k: {"r": [["a"], ["b"]], "q": [["b"]]} for k in range(4)}
    ann = dx.from_rankings(lists, labels="abc")
    pred = dx.predictions({"item": range(5), "system": ["s"] * 5, "label": list("aabba")})
    quick = {"draws": 20, "random_seed": 1, "progressbar": False}
    with pytest.raises(dx.PredictionError, match='on_missing="drop" to leave out these') as told:
        dx.evaluate(ann, pred, **quick)
    assert "items=" not in str(told.value)
    bare = dx.annotations(dx.to_dataframe(ann), rank="rank", labels="abc", items=range(5))
    with pytest.raises(dx.AnnotationError, match=r'without items=.*on_missing="drop"'):
        dx.evaluate(bare, pred, **quick)
