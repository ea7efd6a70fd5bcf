"""The scorer for scikit-learn: the metric's own number, wherever scikit-learn asks for one."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, cross_val_score

import dissensus as dx


@pytest.fixture(scope="module")
def study():
    """Two labels that hang on a number; three annotators of whom each errs in a quarter."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 1))
    truth = (x[:, 0] > 0).astype(int)
    item = np.repeat(np.arange(80), 3)
    label = np.where(rng.random(240) < 0.75, truth[item], 1 - truth[item])
    ann = dx.annotations({"item": [f"i{n}" for n in item], "annotator": list("abc") * 80,
                          "label": np.array(["no", "yes"])[label]})  # fmt: skip
    fit = dx.models.dirichlet.fit(ann, draws=250, random_seed=1)
    X = pd.DataFrame(x, index=[f"i{n}" for n in range(80)], columns=["size"])
    share = label.reshape(80, 3).mean(axis=1)
    return fit, X, np.where(share > 0.5, "yes", "no")


def test_it_is_the_posterior_mean_of_the_metric(study):
    fit, X, y = study
    model = LogisticRegression().fit(X, y)
    pred = dx.predictions({"item": X.index, "system": ["m"] * len(X), "label": model.predict(X)})
    wanted = dx.top_k_accuracy(fit, pred)
    score = dx.scorer(fit)
    assert score(model, X) == pytest.approx(float(wanted.mean()))
    draws = score.draws(model, X, name="m")
    np.testing.assert_array_equal(draws, wanted)
    assert draws.dims == ("chain", "draw", "system")
    assert "top_k_accuracy" in repr(score)


def test_cross_validation_scores_the_items_of_each_fold(study):
    fit, X, y = study
    scores = cross_val_score(LogisticRegression(), X, y, scoring=dx.scorer(fit), cv=4)
    assert scores.shape == (4,)
    assert ((scores > 0.5) & (scores < 1)).all()
    check_scoring(LogisticRegression(), scoring=dx.scorer(fit))


def test_a_search_chooses_the_better_one(study):
    fit, X, y = study
    search = GridSearchCV(
        DummyClassifier(), {"strategy": ["prior", "stratified"]}, scoring=dx.scorer(fit), cv=2
    )
    search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_less_is_better_changes_the_sign(study):
    fit, X, y = study
    model = LogisticRegression().fit(X, y)
    score = dx.scorer(fit, "spearman_footrule", ranked=True)
    draws = score.draws(model, X)
    assert draws.attrs["better"] == "lower"
    assert score(model, X) == pytest.approx(-float(draws.mean()))


def test_ranked_labels_are_in_the_order_of_their_probability(study):
    fit, X, y = study
    model = LogisticRegression().fit(X, y)
    assert dx.scorer(fit, k=2, ranked=True)(model, X) == 1.0  # of two labels
    assert dx.scorer(fit, k=1, ranked=True)(model, X) == pytest.approx(dx.scorer(fit)(model, X))
    with pytest.raises(dx.ArgumentError, match="with predict_proba"):
        dx.scorer(fit, ranked=True)(object(), X)


def test_arrays_want_to_be_told_their_items(study):
    fit, X, y = study
    model = LogisticRegression().fit(X.to_numpy(), y)
    with pytest.raises(dx.ArgumentError, match="a DataFrame whose index names the items"):
        dx.scorer(fit)(model, X.to_numpy())
    names = {round(value, 9): name for name, value in zip(X.index, X["size"], strict=True)}
    score = dx.scorer(fit, items=lambda rows: [names[round(one, 9)] for one in rows[:, 0]])
    assert score(model, X.to_numpy()) == pytest.approx(dx.scorer(fit)(model.fit(X, y), X))


def test_items_nobody_annotated_and_doubles_are_named(study):
    fit, X, y = study
    model = LogisticRegression().fit(X, y)
    with pytest.raises(dx.ArgumentError, match="found 'other'"):
        dx.scorer(fit)(model, X.rename(index={"i3": "other"}))
    with pytest.raises(dx.ArgumentError, match="each item once; found 'i3' again"):
        dx.scorer(fit)(model, X.loc[["i3", "i4", "i3"]])
    with pytest.raises(dx.ArgumentError, match="1 names of 80 rows"):
        dx.scorer(fit, items=lambda rows: ["i1"])(model, X)


@pytest.mark.parametrize("metric", ["icc", "certainty", "accuracy"])
def test_what_is_no_metric_of_predictions_is_refused(study, metric):
    with pytest.raises(dx.ArgumentError, match="metric: expected one of"):
        dx.scorer(study[0], metric)
    with pytest.raises(dx.ArgumentError, match="items"):
        dx.scorer(study[0], items="index")


def test_it_goes_to_other_processes(study):
    fit, X, y = study
    model = LogisticRegression().fit(X, y)
    score = dx.scorer(fit)
    assert pickle.loads(pickle.dumps(score))(model, X) == score(model, X)
