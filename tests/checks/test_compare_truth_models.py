"""Variants of a model of the truth, fitted and ranked by LOO."""

from __future__ import annotations

import arviz as az
import numpy as np
import pytest

import dissensus as dx
from dissensus.checks import _comparison
from dissensus.checks._comparison import _log_likelihood_without, candidates_for

FEW = {"draws": 250, "chains": 2, "random_seed": 1, "progressbar": False}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_ranks_as_arviz_does_and_finds_what_the_labels_were_made_by():
    study = dx.simulate.confusion_study(
        400, 4, ipc=(0.4, 0.5, 0.7, 0.8), prevalence=[0.2] * 5, random_seed=1
    )
    wanted = {
        "plain": {}, "own": {"accuracy": "annotator"},
        "both": {"accuracy": "annotator", "difficulty": True},
        "one matrix": {"model": "dawid_skene", "pooling": "complete"},
    }  # fmt: skip
    actual = dx.compare_truth_models(study.annotations, study.predictions, wanted, **FEW)
    assert actual.simplest == "own"
    assert {actual.best, actual.table.index[0], actual.table.index[1]} <= {"own", "both"}
    assert list(actual.fits) == list(actual.settings) == list(wanted)
    assert actual.settings["one matrix"] == {"model": "dawid_skene", "pooling": "complete"}
    assert actual.fits["both"].attrs["hyper_difficulty"] == 1
    again = az.compare(actual.fits, var_name="labels", round_to="none")
    np.testing.assert_allclose(actual.table["elpd"], again["elpd"])
    assert (actual.table["k_high"] == 0).all()
    assert "'plain'" in actual.in_words or "'one matrix'" in actual.in_words
    assert "clearly worse" in actual.in_words


@pytest.mark.long
def test_loo_is_near_the_log_probability_of_items_left_out():
    study = dx.simulate.confusion_study(8, 3, 3, random_seed=1)
    options = {**FEW, "draws": 1500}
    actual = dx.compare_truth_models(
        study.annotations, None, {"plain": {}, "again": {"prior_count": 2.0}}, **options
    )
    whole = actual.fits["plain"]["log_likelihood"]["labels"]
    left_out = []
    for item in study.annotations["item"].to_numpy():
        keep = study.annotations["item_code"].to_numpy() != item - 1
        part = study.annotations.isel(annotation=np.flatnonzero(keep))
        code = part["item_code"].to_numpy()
        part = part.isel(item=np.unique(code)).assign(
            item_code=("annotation", code - (code >= item))
        )
        fit = dx.models.symmetric_confusion.fit(part, **options)["posterior"]
        p, share = fit["annotator_accuracy"], fit["prevalence"].to_numpy()[..., None, :]
        same = np.eye(3)[study.annotations["label_code"].to_numpy()[~keep]]
        right = p.to_numpy()[..., None, None]
        each = np.where(same > 0, right, (1 - right) / 2).prod(axis=-2)
        left_out.append(np.log((each * share[..., 0, :]).sum(axis=-1).mean()))
    assert float(actual.table.loc["plain", "elpd"]) == pytest.approx(sum(left_out), abs=0.15)
    assert whole.sizes["item"] == 8
    # The same by fits that leave the item's labels uncounted, as where Pareto k is too high.
    settings = {"model": "symmetric_confusion", "predictions": None, **options}
    for place, expected in enumerate(left_out):
        draws = _log_likelihood_without(study.annotations, settings, place)
        assert np.log(np.exp(draws).mean()) == pytest.approx(expected, abs=0.03)


def test_candidates_fit_the_labels():
    study = dx.simulate.confusion_study(100, 3, 5, system_accuracy=(0.9, 0.8), random_seed=1)
    result = candidates_for(study.annotations, study.predictions)
    assert list(result) == [
        "plain", "annotator", "graded", "difficulty", "annotator + graded",
        "annotator + difficulty", "graded + difficulty", "annotator + graded + difficulty",
        "related", "annotator + graded + difficulty + related",
    ]  # fmt: skip
    assert result["annotator + graded"] == {
        "model": "symmetric_confusion", "accuracy": "annotator", "errors": "graded",
    }  # fmt: skip
    many = dx.simulate.confusion_study(200, 3, 5, random_seed=1)
    assert "matrices" in candidates_for(many.annotations, None)
    unordered = many.annotations.assign_attrs(kind="nominal")
    assert candidates_for(unordered, None)["unequal"]["errors"] == "unequal"
    assert "related" not in candidates_for(many.annotations, many.predictions)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
def test_default_candidates_of_few_labels_all_run():
    study = dx.simulate.confusion_study(30, 3, 2, system_accuracy=(0.9, 0.8), random_seed=1)
    result = dx.compare_truth_models(
        study.annotations, study.predictions, draws=100, tune=100, chains=2, random_seed=1,
        progressbar=False,
    )  # fmt: skip
    assert set(result.table.index) == set(candidates_for(study.annotations, study.predictions))
    assert result.simplest in result.fits


@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_items_whose_pareto_k_is_too_high_are_left_out_by_a_fit_without_them(monkeypatch):
    # One item in which three annotators, right everywhere else, all say another thing.
    labels = [["a"] * 4] * 7 + [["b"] * 4] * 7 + [["c", "d", "d", "c"]]
    ann = dx.from_matrix(labels)
    wanted = {
        "plain": {}, "matrices": {"model": "dawid_skene", "pooling": "none", "prior_count": 0.02},
    }  # fmt: skip
    actual = dx.compare_truth_models(ann, None, wanted, **FEW)
    assert actual.table["k_high"].max() == 0
    monkeypatch.setattr(_comparison, "_REFITS", 0)
    with pytest.warns(dx.DissensusWarning, match="too many to fit without each"):
        rough = dx.compare_truth_models(ann, None, wanted, **FEW)
    assert rough.table["k_high"].max() > 0
    # Other labels say nothing of "c" and "d"; weights cannot know how improbable these are.
    assert actual.table.loc["matrices", "elpd"] < rough.table.loc["matrices", "elpd"] - 1.0
