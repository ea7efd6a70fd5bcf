"""Studies and toys: their shape, and that their truth is true."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx


@pytest.fixture(scope="module")
def ranked():
    return dx.simulate.study(random_seed=1)


def test_defaults_are_a_few_hundred_messages(ranked):
    ann, pred, truth = ranked
    dx.validate(ann)
    assert (ann.attrs["kind"], ann.sizes["item"], ann.sizes["annotator"]) == ("ranking", 300, 8)
    assert dict(pred.sizes) == {"item": 300, "system": 4, "position": 3, "label": 6}
    assert pred["system"].values.tolist() == ["system A", "system B", "system C", "system D"]
    assert sorted(ann["item"].values) == ann["item"].values.tolist()
    np.testing.assert_array_equal(truth["item"], ann["item"])
    np.testing.assert_array_equal(truth["label"], ann["label"])
    per_item = len(np.unique(ann["item_code"] * 8 + ann["annotator_code"])) / 300
    assert per_item == pytest.approx(8 * 0.8, abs=0.3)
    assert (pred["score"].diff("position") < 0).all()
    top = truth["label"].values[truth["plausibility"].argmax("label")]
    np.testing.assert_array_equal(truth["top_label"], top)


def test_nominal_studies_have_single_labels():
    study = dx.simulate.study(40, kind="nominal", random_seed=1)
    assert study.annotations.attrs["kind"] == "nominal"
    assert "rank" not in study.annotations
    assert study.predictions.sizes["position"] == 1
    assert study.predictions.attrs["kind"] == "nominal"
    assert "top_2_accuracy" not in study.truth


@pytest.mark.unit(0, long=1)
@pytest.mark.long
@pytest.mark.parametrize("kind", ["ranking", "nominal"])
def test_truth_over_these_items_is_the_metric_itself(kind):
    """Under the names, scopes and numbers of an evaluation, against the true plausibility."""
    study = dx.simulate.study(50, kind=kind, random_seed=2)
    result = dx.evaluate(
        study.annotations, study.predictions, draws=20, random_seed=1, progressbar=False
    )
    metrics = result["metrics"].to_dataset()
    assert set(metrics.data_vars) <= set(study.truth.data_vars)
    np.testing.assert_array_equal(metrics["scope"], study.truth["scope"])
    np.testing.assert_array_equal(metrics["system"], study.truth["system"])
    theta = study.truth["plausibility"]
    direct = [dx.top_k_accuracy(theta, study.predictions, k=1)]
    if kind == "ranking":
        direct += [dx.top_k_accuracy(theta, study.predictions, k=k) for k in (2, 3)]
        direct += [dx.set_accuracy(theta, study.predictions, k=k) for k in (2, 3)]
        direct += [dx.average_overlap(theta, study.predictions, depth=3)]
    assert {str(value.name) for value in direct} == set(metrics.data_vars)
    for value in direct:
        known = study.truth[value.name].sel(scope="these items")
        np.testing.assert_allclose(value.sel(system=known["system"]), known)


@pytest.mark.long
def test_new_items_are_what_a_large_study_shows():
    small = dx.simulate.study(30, random_seed=3).truth.sel(scope="new items")
    large = dx.simulate.study(20_000, 2, random_seed=4).truth.sel(scope="these items")
    assert small["top_1_accuracy"].values == pytest.approx([0.9, 0.8, 0.7, 0.6])
    for name in ("top_1_accuracy", "top_3_accuracy", "top_2_set_accuracy", "average_overlap_at_3"):
        # Both sides are means over 20,000 items of numbers in [0, 1].
        error = np.sqrt(2 * 0.25 / 20_000)
        np.testing.assert_allclose(small[name], large[name], atol=4.5 * error)


def test_quality_may_be_anything_from_guessing_to_perfect():
    study = dx.simulate.study(4000, 2, 5, 3, quality=[1.0, 0.2, 0.5], random_seed=5)
    here = study.truth["top_1_accuracy"].sel(scope="these items").values
    assert here[0] > 0.999  # all but items with a tie to six digits
    np.testing.assert_allclose(here[1:], [0.2, 0.5], atol=4.5 * np.sqrt(0.25 / 4000))


@pytest.mark.long
def test_the_order_of_systems_is_found(ranked):
    result = dx.evaluate(
        ranked.annotations, ranked.predictions, reliability=(1, 3), draws=80, tune=100,
        random_seed=1, progressbar=False, companion=None,
    )  # fmt: skip
    mean = result["metrics"]["top_1_accuracy"].mean(("chain", "draw"))
    assert (mean.diff("system") < 0).all()


@pytest.mark.long
def test_same_seed_same_study(ranked):
    for one, two in zip(ranked, dx.simulate.study(random_seed=1), strict=True):
        xr.testing.assert_identical(one, two)
    other = dx.simulate.study(random_seed=2)
    assert not other.truth["plausibility"].equals(ranked.truth["plausibility"])


def test_systems_do_not_touch_the_annotations(ranked):
    changed = dx.simulate.study(quality=[0.5] * 4, random_seed=1)
    xr.testing.assert_identical(changed.annotations, ranked.annotations)
    xr.testing.assert_identical(changed.truth["plausibility"], ranked.truth["plausibility"])


@pytest.mark.long
def test_a_generator_is_a_seed_too():
    one, two = (
        dx.simulate.study(5, random_seed=np.random.default_rng(3)).annotations for _ in range(2)
    )
    xr.testing.assert_identical(one, two)


@pytest.mark.long
@pytest.mark.unit(6)
@pytest.mark.parametrize(
    "arguments",
    [
        {"n_items": 1, "n_annotators": 1, "n_labels": 2, "n_systems": 1},
        {"n_items": 3, "n_systems": 30},
        {"n_items": 5, "n_labels": 419, "prior_count": 0.002},
        {"n_items": 20, "prior_count": 1e-4},
        {"n_items": 20, "prior_count": 1000.0, "quality": [0.9, 0.8, 0.7, 0.6]},
        {"n_items": 9, "missing": 0.99, "ties": 1.0},
        {"n_items": 9, "missing": 0, "ties": 0, "max_ranked": 99},
    ],
)
@pytest.mark.parametrize("kind", ["ranking", "nominal"])
def test_odd_sizes(arguments, kind):
    study = dx.simulate.study(**arguments, kind=kind, random_seed=1)
    dx.validate(study.annotations)
    assert study.annotations.sizes["item"] == arguments["n_items"]
    assert study.predictions.sizes["item"] == arguments["n_items"]
    assert bool(np.isfinite(study.truth["top_1_accuracy"]).all())


def test_a_study_can_be_saved(ranked, tmp_path):
    ranked.truth.to_netcdf(tmp_path / "truth.nc")
    xr.testing.assert_equal(xr.load_dataset(tmp_path / "truth.nc"), ranked.truth)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"n_items": 0}, "n_items: expected a whole number, 1 or more; found 0"),
        ({"n_annotators": "six"}, "n_annotators: expected a whole number, 1 or more; found 'six'"),
        ({"n_labels": 1}, "n_labels: expected a whole number, 2 or more; found 1"),
        ({"n_systems": None}, "n_systems: expected a whole number"),
        ({"kind": "ordinal"}, "kind: expected 'ranking' or .*found 'ordinal'"),
        ({"kind": ["ranking"]}, "kind: expected 'ranking' or"),
        ({"quality": [0.9]}, "quality: expected for each of 4 systems a probability"),
        ({"quality": [0.9, 0.8, 0.7, 0.1]}, r"from 0.167 \(guessing among 6 labels\) to 1"),
        ({"quality": [0.9, 0.8, 0.7, 1.1]}, "quality: expected for each"),
        ({"quality": 0.9}, "quality: expected a sequence"),
        ({"quality": ["a"] * 4}, "quality: expected a sequence"),
        ({"prior_count": 0}, "prior_count: expected a finite number > 0; found 0"),
        ({"prior_count": float("inf")}, "prior_count: expected a finite number > 0; found inf"),
        ({"missing": 1.0}, r"missing: expected a number from 0 to below 1; found 1.0"),
        ({"missing": -0.1}, r"missing: expected a number from 0 to below 1"),
        ({"ties": 1.5}, r"ties: expected a number from 0 to 1; found 1.5"),
        ({"max_ranked": 0}, "max_ranked: expected a whole number, 1 or more"),
    ],
)
def test_senseless_arguments(arguments, complaint):
    with pytest.raises(dx.ArgumentError, match=complaint):
        dx.simulate.study(**arguments)


# The toy: its true shares, and annotators who draw from them.


def shares(toy):
    ann = toy.annotations
    counts = np.zeros((ann.sizes["item"], ann.sizes["label"]))
    np.add.at(counts, (ann["item_code"], ann["label_code"]), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def test_true_shares_are_bayes_rule():
    x = [-5.0, -1.0, 0.3, 2.0]
    toy = dx.simulate.toy(x=x, overlap=0.8, random_seed=1)
    density = stats.norm.pdf(np.array(x)[:, None], [-2, 0, 2], 0.8)
    np.testing.assert_allclose(toy.plausibility, density / density.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(toy.x, x)


def test_far_out_nothing_underflows():
    toy = dx.simulate.toy(x=[-1000.0, 1000.0], overlap=0.01, random_seed=1)
    np.testing.assert_array_equal(toy.plausibility, [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(toy.annotations["label_code"], [0] * 5 + [2] * 5)


def test_annotators_draw_from_the_true_shares():
    n = 20_000
    toy = dx.simulate.toy(n_annotators=n, x=[-2.5, -1.0, 0.0, 0.9], random_seed=2)
    true = toy.plausibility.values
    assert (abs(shares(toy) - true) < 4.5 * np.sqrt(true * (1 - true) / n) + 1e-12).all()


def test_items_come_from_the_mixture_in_order():
    toy = dx.simulate.toy(n_items=20_000, n_annotators=1, random_seed=3)
    x = toy.x.values
    assert (np.diff(x) >= 0).all()

    def mixture(v):
        return stats.norm.cdf(v[:, None], [-2, 0, 2], 1).mean(axis=1)

    assert stats.kstest(x, mixture).pvalue > 1e-3


@pytest.mark.long
def test_it_is_the_dirichlet_model_at_reliability_1():
    """Its posterior mean tends to the true shares, and certainty rises with reliability."""
    toy = dx.simulate.toy(n_annotators=3000, x=[-2.0, -0.7, 0.5], random_seed=4)
    fit = dx.models.dirichlet.fit(toy.annotations, draws=500, chains=1, random_seed=1)
    mean = fit["posterior"]["plausibility"].mean(("chain", "draw"))
    np.testing.assert_allclose(mean, toy.plausibility, atol=0.04)
    few = dx.simulate.toy(n_annotators=5, x=np.linspace(-3, 3, 30), random_seed=4)
    certainty = [
        float(
            dx.annotation_certainty(
                dx.models.dirichlet.fit(few.annotations, reliability=trust, random_seed=1)
            ).mean()
        )
        for trust in (0.5, 2, 8)
    ]
    assert certainty == sorted(certainty)


def test_same_seed_same_toy():
    one, two = (dx.simulate.toy(random_seed=5) for _ in range(2))
    xr.testing.assert_identical(one.annotations, two.annotations)
    assert not dx.simulate.toy(random_seed=6).x.equals(one.x)


def test_the_parts_fit_together():
    toy = dx.simulate.toy(n_items=7, n_annotators=2, random_seed=1)
    dx.validate(toy.annotations)
    assert toy.annotations.attrs["kind"] == "nominal"
    assert toy.annotations["label"].values.tolist() == ["Benign1", "Benign2", "Cancer"]
    for part in (toy.plausibility, toy.x):
        np.testing.assert_array_equal(part["item"], toy.annotations["item"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"n_items": 0}, "n_items: expected a whole number, 1 or more; found 0"),
        ({"n_items": 2.5}, "n_items: expected a whole number, 1 or more; found 2.5"),
        ({"n_annotators": True}, "n_annotators: expected a whole number"),
        ({"overlap": 0}, "overlap: expected a finite number > 0; found 0"),
        ({"overlap": float("nan")}, "overlap: expected a finite number > 0; found nan"),
        ({"overlap": 10**400}, "overlap: expected a finite number"),
        ({"x": []}, "x: expected a sequence of one or more finite numbers"),
        ({"x": 3}, "x: expected a sequence"),
        ({"x": "abc"}, "x: expected a sequence"),
        ({"x": [0, float("inf")]}, "x: expected a sequence of one or more finite numbers"),
    ],
)
def test_senseless_arguments_of_a_toy(arguments, complaint):
    with pytest.raises(dx.ArgumentError, match=complaint):
        dx.simulate.toy(**arguments)
