"""Sensitivity and false positive rate: conjugate posteriors, and draws of fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx

SAMPLE = ("chain", "draw")
TRUTH = dict(zip(range(12), "aabbbcaabbbc", strict=True))
SAID = [["a", "b"], ["b", "b"], ["b", "b"], ["a", "b"], ["c", "b"], ["c", "b"]] * 2


@pytest.fixture
def ann():
    return dx.from_matrix(SAID)


def test_rates_are_beta_with_the_prior_that_is_stated(ann):
    roc = dx.annotator_roc(ann, TRUTH, positive="b", prior=(2, 0.5), random_seed=1)
    # By hand: of 6 items that are b, annotator 0 says b of 2, annotator 1 of all; of 6 others, 2
    # and 6.
    counts = {"sensitivity": [2, 6], "false_positive_rate": [2, 6]}
    for name, hits in counts.items():
        assert roc[name].dims == (*SAMPLE, "annotator")
        assert roc[name].shape == (1, 4000, 2)
        for k, hit in enumerate(hits):
            exact = stats.beta(2 + hit, 0.5 + 6 - hit)
            assert stats.kstest(roc[name][0, :, k], exact.cdf).pvalue > 1e-3
    assert roc.attrs["positive"] == "b"
    np.testing.assert_array_equal(roc.attrs["n_positive"], [6, 6])
    np.testing.assert_array_equal(roc.attrs["n_negative"], [6, 6])


def test_both_rates_are_independent_of_each_other(ann):
    roc = dx.annotator_roc(ann, TRUTH, positive="b", random_seed=1).isel(chain=0, annotator=0)
    assert abs(np.corrcoef(roc["sensitivity"], roc["false_positive_rate"])[0, 1]) < 0.05


def test_positive_is_the_second_of_two_in_order():
    numbers = dx.from_matrix([[0, 1], [1, 1]])
    assert dx.annotator_roc(numbers, {0: 0, 1: 1}).attrs["positive"] == 1
    ordered = dx.annotations(
        {"item": [1, 2], "annotator": ["a", "a"], "label": ["high", "low"]},
        kind="ordinal", labels=["low", "high"],
    )  # fmt: skip
    assert dx.annotator_roc(ordered, {1: "high", 2: "low"}).attrs["positive"] == "high"
    named = dx.from_matrix([["no", "yes"], ["yes", "yes"]])
    with pytest.raises(
        dx.ArgumentError, match=r"positive: expected the positive label.* found None"
    ):
        dx.annotator_roc(named, {0: "no", 1: "yes"})


def test_who_never_saw_a_positive_item_has_the_prior():
    ann = dx.from_matrix([[1, 1], [None, 1], [0, 0]])
    text = r"labelled no item that is positive: their sensitivity is drawn from the"
    with pytest.warns(dx.DissensusWarning, match=text):
        roc = dx.annotator_roc(ann, {0: 0, 1: 1, 2: 0}, random_seed=1)
    prior = roc["sensitivity"].sel(annotator=0).to_numpy().ravel()
    assert stats.kstest(prior, "uniform").pvalue > 1e-3


def test_items_without_truth_are_named_or_left_out_with_a_warning(ann):
    some = {k: v for k, v in TRUTH.items() if k < 6}
    with pytest.raises(dx.ArgumentError, match=r"truth: .* found none for 6 of 12.*on_missing"):
        dx.annotator_roc(ann, some, positive="b")
    with pytest.warns(
        dx.DissensusWarning, match="6 of 12 items have no known label and are left out"
    ):
        roc = dx.annotator_roc(ann, some, positive="b", on_missing="drop")
    np.testing.assert_array_equal(roc.attrs["n_positive"], [3, 3])


def test_systems_stand_beside():
    ann = dx.from_matrix([[1, 1], [0, 1]] * 20)
    truth = dict(zip(range(40), [1, 0] * 20, strict=True))
    pred = dx.predictions(
        {"item": list(range(40)), "system": ["m"] * 40, "label": [1, 0, 0, 0] * 10}
    )
    roc = dx.annotator_roc(ann, truth, predictions=pred, random_seed=1)
    exact = stats.beta(1 + 10, 1 + 10), stats.beta(1, 1 + 20)
    for name, distribution in zip(("sensitivity", "false_positive_rate"), exact, strict=True):
        draws = roc[f"system_{name}"].sel(system="m").to_numpy().ravel()
        assert stats.kstest(draws, distribution.cdf).pvalue > 1e-3


def posterior(**variables):
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(variables, attrs={"model": "test"}),
            "observed_data": xr.Dataset({"label_code": ("annotation", [0])}),
        }
    )


def test_confusion_matrices_are_averaged_over_what_is_not_positive():
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(3), (2, 5, 4, 3))
    prevalence = rng.dirichlet(np.ones(3), (2, 5))
    coords = {"label": list("abc"), "response": list("abc"), "annotator": list("wxyz")}
    fit = posterior(
        confusion=xr.DataArray(matrix, coords, (*SAMPLE, "annotator", "label", "response")),
        prevalence=xr.DataArray(prevalence, {"label": list("abc")}, (*SAMPLE, "label")),
    )
    roc = dx.annotator_roc(fit, positive="b")
    np.testing.assert_allclose(roc["sensitivity"], matrix[..., 1, 1])
    a, c = prevalence[..., [0]], prevalence[..., [2]]
    expected = (a * matrix[..., 0, 1] + c * matrix[..., 2, 1]) / (a + c)
    np.testing.assert_allclose(roc["false_positive_rate"], expected)
    assert roc.attrs["positive"] == "b"
    assert "draws of test" in roc.attrs["truth"]


def test_one_accuracy_for_all_is_one_point():
    p = np.random.default_rng(1).random((2, 5))
    coords = {"label": [0, 1, 2, 3]}
    prevalence = xr.DataArray(np.full((2, 5, 4), 0.25), coords, (*SAMPLE, "label"))
    fit = posterior(annotator_accuracy=(SAMPLE, p), prevalence=prevalence)
    roc = dx.annotator_roc(fit, positive=3)
    assert roc["annotator"].to_numpy().tolist() == ["all annotators"]
    np.testing.assert_allclose(roc["false_positive_rate"][..., 0], (1 - p) / 3)


@pytest.mark.long
def test_real_fits_are_read_and_give_what_their_truth_gives():
    study = dx.simulate.confusion_study(300, 5, 2, ipc=0.8, system_accuracy=(0.9,), random_seed=1)
    fit = dx.models.dawid_skene.fit(
        study.annotations, predictions=study.predictions, draws=400, chains=4, random_seed=1,
        progressbar=False,
    )  # fmt: skip
    alone = dx.annotator_roc(fit, positive="A")
    through = dx.annotator_roc(study.annotations, fit, positive="A", random_seed=1)
    assert alone["sensitivity"].sizes == through["sensitivity"].sizes
    assert "system_sensitivity" in alone
    for name in ("sensitivity", "false_positive_rate"):
        gap = abs(alone[name] - through[name].mean(SAMPLE)).mean(SAMPLE)
        assert gap.max() < 0.12
    with pytest.raises(dx.ArgumentError, match="draws: expected None"):
        dx.annotator_roc(fit, positive="A", draws=10)


def test_what_has_no_confusion_is_refused():
    with pytest.raises(dx.ArgumentError, match=r"annotations: .*confusion matrices"):
        prevalence = xr.DataArray(np.full((1, 3, 2), 0.5), {"label": [0, 1]}, (*SAMPLE, "label"))
        dx.annotator_roc(posterior(prevalence=prevalence))
    with pytest.raises(dx.AnnotationError, match="labels, which are right or wrong"):
        dx.annotator_roc(dx.from_matrix([[1.5, 2.5], [0.1, 0.2]], kind="continuous"), {})


@pytest.mark.parametrize(
    ("name", "bad"),
    [("positive", "z"), ("prior", (0, 1)), ("prior", 1), ("draws", 0), ("on_missing", "skip"),
     ("truth", None), ("truth", {0: "z"})],
)  # fmt: skip
def test_bad_settings_are_named(ann, name, bad):
    settings = {"positive": "b", "truth": TRUTH} | {name: bad}
    with pytest.raises(dx.ArgumentError, match=rf"^{name}"):
        dx.annotator_roc(ann, **settings)


def test_the_same_seed_gives_the_same_draws(ann):
    first, second = (dx.annotator_roc(ann, TRUTH, positive="b", random_seed=3) for _ in range(2))
    xr.testing.assert_identical(first, second)


def test_readers_of_scans_are_where_their_counts_put_them(shared):
    # Van Dyke et al.: five readers, first technique, disease if 3 or more of 5.
    frame = pd.read_csv(shared / "mrmc_readers" / "vandyke_ratings.csv").query("group == 1")
    frame = frame.assign(yes=(frame["label"] >= 3).astype(int))
    ann = dx.annotations(frame, label="yes")
    roc = dx.annotator_roc(ann, frame.groupby("item")["gold"].first(), random_seed=1)
    share = frame.groupby(["annotator", "gold"])["yes"].agg(["sum", "count"])
    exact = (share["sum"] + 1) / (share["count"] + 2)
    mean = roc[["sensitivity", "false_positive_rate"]].mean(SAMPLE)
    people = roc["annotator"].to_numpy()
    np.testing.assert_allclose(mean["sensitivity"], [exact[(p, 1)] for p in people], atol=0.005)
    np.testing.assert_allclose(
        mean["false_positive_rate"], [exact[(p, 0)] for p in people], atol=0.005
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The chains have not run long enough")
@pytest.mark.parametrize("systems", ["independent", "related"])
def test_matrices_of_answers_that_are_not_shared_are_no_rates_of_systems(systems):
    study = dx.simulate.confusion_study(30, 4, 3, system_accuracy=[0.9, 0.7], random_seed=1)
    fit = dx.models.dawid_skene.fit(
        study.annotations, predictions=study.predictions, systems=systems, difficulty=True,
        draws=20, tune=20, chains=2, random_seed=1, progressbar=False,
    )  # fmt: skip
    result = dx.annotator_roc(fit, positive="A")
    assert result["sensitivity"].sizes["annotator"] == 4
    assert ("system_sensitivity" in result) == (systems == "independent")


@pytest.mark.long
@pytest.mark.parametrize("model", ["dawid_skene", "symmetric_confusion"])
def test_rates_against_the_label_pointed_to_are_not_given(model):
    """With correlated errors, matrices are of a label that may be wrong: not of the truth."""
    study = dx.simulate.study(n_items=20, n_labels=2, kind="nominal", random_seed=1)
    module, settings = dx.models.get(model).module, {"error_correlation": 0.5}
    fit = module.fit(study.annotations, draws=20, chains=2, random_seed=1, progressbar=False,
                     **settings)  # fmt: skip
    with module.build(study.annotations, **settings):
        trace = pm.sample(20, tune=20, chains=1, progressbar=False, random_seed=1)
    for each in (fit, trace):
        with pytest.raises(dx.ArgumentError, match=r"annotator_roc\(annotations, fit\)"):
            dx.annotator_roc(each, positive=study.annotations["label"].to_numpy()[1])
    rates = dx.annotator_roc(study.annotations, fit, random_seed=1,
                             positive=study.annotations["label"].to_numpy()[1])  # fmt: skip
    assert rates["sensitivity"].dims == ("chain", "draw", "annotator")


@pytest.mark.filterwarnings("ignore:The chains have not run long enough")
def test_with_correlated_errors_a_system_may_know_more_than_the_labels():
    """The rates agree with the fit's `system_correct`: predictions are evidence of the truth."""
    study = dx.simulate.confusion_study(
        100, 4, 2, ipc=0.75, system_accuracy=[0.95, 0.7], random_seed=2
    )
    quick = {"draws": 200, "chains": 2, "random_seed": 1, "progressbar": False}
    fit = dx.models.symmetric_confusion.fit(
        study.annotations, predictions=study.predictions, error_correlation=0.5,
        truth=study.truth["truth_label"][:30],
        **quick,
    )  # fmt: skip
    posterior, roc = fit["posterior"], dx.annotator_roc(
        study.annotations, fit, positive="B", predictions=study.predictions, random_seed=1
    )  # fmt: skip
    share = posterior["truth"].sel(label="B").mean("item")
    right = share * roc["system_sensitivity"] + (1 - share) * (
        1 - roc["system_false_positive_rate"]
    )
    gap = (right - posterior["system_correct"]).mean(("chain", "draw"))
    # Without the predictions as evidence, gaps were -.17 and -.09.
    np.testing.assert_allclose(gap, 0, atol=0.03)
    stray = study.predictions.assign_coords(label=["A", "C"])  # nobody could answer C
    with pytest.warns(dx.DissensusWarning, match="agree with nobody"):
        wrong = dx.annotator_roc(
            study.annotations, fit, positive="B", predictions=stray, random_seed=1
        )
    assert float(wrong["system_sensitivity"].max()) < 0.2
    alone = dx.models.symmetric_confusion.fit(study.annotations, error_correlation=0.5, **quick)
    with pytest.raises(dx.ArgumentError, match="truth: expected a fit in which predictions of"):
        dx.annotator_roc(study.annotations, alone, positive="B", predictions=study.predictions)
