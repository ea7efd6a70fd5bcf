"""Planning how many items show the accuracy of a system that is better than its annotators."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx

QUICK = {"progressbar": False, "random_seed": 1}
SMALL = {"annotators": (3,), "items": (40,), "studies": 3, **QUICK}


@pytest.fixture(scope="module")
def plan():
    return dx.plan_accuracy(
        annotators=(2, 5), items=(40, 400), kappa=0.4, n_labels=4, studies=8, prob=0.9, **QUICK
    )


def test_annotators_are_as_accurate_as_the_source_says():
    # Lehner (2015), Eq. 2, by hand: with N = 4 and disagreement 40 / 60 (Table 2) annotators are
    # right half of the time, and kappa = 1 - (2/3) / (3/4) = 1/9, printed as .11.
    plan = dx.plan_accuracy(kappa=1 / 9, n_labels=4, **SMALL)
    assert plan.attrs["annotator_accuracy"] == 0.5


@pytest.mark.long
def test_more_items_and_more_annotators_tell_more(plan):
    new = plan.sel(scope="new items")
    assert (new["half_width"].diff("item") < 0).all()
    assert (new["half_width"].diff("annotator") < 0).all()
    assert (plan["rmse"].sel(item=400) < plan["rmse"].sel(item=40)).all()
    assert (plan["within_share"].sel(item=400) >= plan["within_share"].sel(item=40)).all()


@pytest.mark.long
def test_with_many_items_the_interval_is_that_of_coin_flips():
    # Five annotators of .98 all but show the truth: half the interval of a share of 400 flips.
    plan = dx.plan_accuracy(
        annotators=(5,), items=(400,), kappa=0.95, n_labels=4, accuracy=0.8, studies=8, prob=0.9,
        **QUICK,
    )  # fmt: skip
    new = plan.sel(scope="new items")
    expected = 1.6449 * np.sqrt(0.8 * 0.2 / 400)
    np.testing.assert_allclose(new["half_width"].item(), expected, rtol=0.1)
    # And the share of these very items is known nearly exactly.
    assert plan["rmse"].sel(scope="these items", estimator="symmetric_confusion").item() < 0.01


@pytest.mark.long
def test_intervals_cover_and_kappa_comes_out_as_it_was_put_in(plan):
    # 48 intervals of 90 %: fewer than 36 of them in one of 100,000 studies (binomial).
    assert plan["coverage"].sel(scope="new items").mean() >= 0.75
    assert (abs(plan["observed_kappa"].sel(item=400) - 0.4) < 0.05).all()
    assert (plan["poor_share"] == 0).all()


def test_an_estimate_is_that_of_a_study_simulated_and_fitted_by_hand():
    """The first study of a cell, done again step by step with the public functions."""
    from dissensus.studies.planning.unknown_truth import Setting, studied

    estimate = studied(Setting(0.3, 5, 0.9, False, 0.9, 250), 3, 60, np.random.default_rng(7))
    by_truth, by_fit = np.random.default_rng(7).spawn(2)
    study = dx.simulate.confusion_study(
        60, 3, 5, ipc=0.2 + 0.8 * np.sqrt(0.3), system_accuracy=(0.9,), random_seed=by_truth
    )
    fit = dx.models.symmetric_confusion.fit(
        study.annotations, predictions=study.predictions, draws=250, tune=250, chains=2,
        random_seed=by_fit.spawn(3)[0], progressbar=False,
    )  # fmt: skip
    assert not estimate.poor
    draws = fit["posterior"]["system_accuracy"]
    np.testing.assert_allclose(estimate.error[0, 1], draws.mean() - 0.9)
    low, high = draws.quantile([0.05, 0.95]).to_numpy()
    np.testing.assert_allclose(estimate.half_width[1], (high - low) / 2)
    algebra = dx.lehner(study.annotations, study.predictions)["system_accuracy"].item()
    correct = study.truth["system_correct"].item()
    np.testing.assert_allclose(estimate.error[1], [algebra - correct, algebra - 0.9])
    np.testing.assert_allclose(estimate.kappa, dx.bennett_s(study.annotations))


@pytest.mark.long
def test_violations_are_the_sources_and_the_extended_model_is_fitted(monkeypatch):
    seen = []
    real = dx.models.symmetric_confusion.fit

    def noted(annotations, **options):
        seen.append(options)
        return real(annotations, **options)

    monkeypatch.setattr(dx.models.symmetric_confusion, "fit", noted)
    plan = dx.plan_accuracy(kappa=0.5, n_labels=5, violated=True,
                             **{**SMALL, "studies": 2, "items": (150,)})  # fmt: skip
    wanted = {"accuracy": "annotator", "errors": "graded", "difficulty": True}
    assert all(wanted.items() <= options.items() for options in seen)
    assert "agree with kappa" in plan.attrs["in_words"]
    assert plan["observed_kappa"].item() > 0.5  # near errors and easy items make them coincide


@pytest.mark.parametrize("kappa", [0.01, 0.3, 0.99, 1.0])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_unequal_annotators_are_right_so_often_on_average(kappa, k):
    from dissensus.studies.planning.unknown_truth import Setting

    setting = Setting(kappa, 5, 0.9, True, 0.9, 100)
    people = setting.accuracies(k)
    np.testing.assert_allclose(np.mean(people), setting.annotator_accuracy)
    assert min(people) >= 0.2 - 1e-9
    assert max(people) <= 1
    if kappa == 0.3:
        np.testing.assert_allclose(people[-1] - people[0], 0.2)
    assert np.ptp(setting._replace(violated=False).accuracies(k)) == 0


@pytest.mark.long
def test_two_labels_can_be_planned_with_and_without_violations():
    for violated in (False, True):
        plan = dx.plan_accuracy(
            kappa=0.6, n_labels=2, violated=violated, draws=1000, **{**SMALL, "items": (80,)}
        )
        assert np.isfinite(plan["rmse"]).all()


@pytest.mark.long
def test_a_pilot_tells_kappa_and_labels_and_how_well_it_knows():
    study = dx.simulate.confusion_study(60, 4, 5, ipc=0.7, random_seed=3)
    plan = dx.plan_accuracy(study.annotations, **SMALL)
    assert plan.attrs["kappa"] == pytest.approx(float(dx.bennett_s(study.annotations)))
    assert plan.attrs["n_labels"] == 5
    low, high = plan.attrs["kappa_interval"]
    assert low < plan.attrs["kappa"] < high
    assert "is itself known only to be between" in plan.attrs["in_words"]
    given = dx.plan_accuracy(kappa=plan.attrs["kappa"], n_labels=5, **SMALL)
    xr.testing.assert_equal(plan, given)


@pytest.mark.long
def test_same_seed_same_plan_whatever_else_is_tried():
    first = dx.plan_accuracy(kappa=0.4, n_labels=3, **SMALL)
    second = dx.plan_accuracy(kappa=0.4, n_labels=3, **{**SMALL, "items": (20, 40)})
    assert first.identical(dx.plan_accuracy(kappa=0.4, n_labels=3, **SMALL))
    xr.testing.assert_equal(first["rmse"], second["rmse"].sel(item=[40]))
    other = dx.plan_accuracy(kappa=0.4, n_labels=3, **{**SMALL, "random_seed": 2})
    assert other["rmse"].values.ravel()[0] != first["rmse"].values.ravel()[0]


@pytest.mark.long
def test_studies_without_an_estimate_are_counted_and_not_as_near():
    # Two annotators who all but guess, twelve items: agreement is often below that of guesses.
    plan = dx.plan_accuracy(
        annotators=(2,), items=(12,), kappa=0.02, n_labels=4, studies=8, **QUICK
    )
    algebra = plan.sel(estimator="lehner", scope="new items")
    assert 0 < algebra["undefined_share"].item() < 1
    assert algebra["within_share"].item() <= 1 - algebra["undefined_share"].item()
    assert plan["undefined_share"].sel(estimator="symmetric_confusion").max() == 0


def test_chains_that_are_too_short_are_run_again_and_said():
    with pytest.warns(dx.ConvergenceWarning, match=r"^In \d+ of 3 simulated studies the chains"):
        plan = dx.plan_accuracy(kappa=0.2, n_labels=4, draws=4, **SMALL)
    assert plan["poor_share"].item() > 0


@pytest.mark.parametrize(
    "bad",
    [
        {"kappa": 0}, {"kappa": 1.1}, {"kappa": "high"}, {"kappa": None}, {"n_labels": None},
        {"n_labels": 1}, {"annotators": (1, 2)}, {"annotators": ()}, {"items": (0,)},
        {"accuracy": 1}, {"within": 0}, {"assurance": 2}, {"studies": 1}, {"draws": 0},
        {"prob": 2}, {"random_seed": "x"}, {"violated": "no"},
    ],
    ids=str,
)  # fmt: skip
def test_nonsense_is_refused_by_name(bad):
    options = {"kappa": 0.3, "n_labels": 5, **SMALL} | bad
    with pytest.raises(dx.ArgumentError, match=f"^{next(iter(bad))}: "):
        dx.plan_accuracy(**options)


def test_a_pilot_that_cannot_tell_is_refused():
    rows = {"item": [1, 1, 2, 2], "annotator": list("abab")}
    apart = dx.annotations({**rows, "label": list("xyyx")})
    with pytest.raises(dx.AnnotationError, match=r"^pilot: expected annotators who agree more"):
        dx.plan_accuracy(apart, **SMALL)
    alone = dx.annotations({"item": [1, 2], "annotator": list("aa"), "label": list("xy")})
    with pytest.raises(dx.AnnotationError, match=r"items with two labels$"):
        dx.plan_accuracy(alone, **SMALL)
    with pytest.raises(dx.AnnotationError, match=r"^pilot: expected two labels or more"):
        dx.plan_accuracy(dx.annotations({**rows, "label": [0.5, 1.5, 2.5, 0.1]}), **SMALL)
    pilot = dx.annotations({**rows, "label": list("xxxx")})
    with pytest.raises(dx.AnnotationError, match=r"^pilot: expected two labels or more"):
        dx.plan_accuracy(pilot, **SMALL)
    alike = dx.annotations({**rows, "label": list("xxyy")})
    for name, value in (("kappa", 0.3), ("n_labels", 2)):
        with pytest.raises(dx.ArgumentError, match=f"^{name}: expected none, since the pilot"):
            dx.plan_accuracy(alike, **{name: value}, **SMALL)
    assert dx.plan_accuracy(alike, **SMALL).attrs["kappa"] == 1


@pytest.mark.long
def test_a_plan_can_be_stored(plan, tmp_path):
    plan.to_netcdf(tmp_path / "plan.nc", engine="h5netcdf")
    again = xr.open_dataset(tmp_path / "plan.nc", engine="h5netcdf")
    xr.testing.assert_equal(again.load(), plan)
    assert again.attrs["in_words"] == plan.attrs["in_words"]
    again.close()
