"""Studies and toys: their shape, that their truth is true, and the frequencies of their draws."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx
from dissensus.studies.simulate._study import answers, present, rankings, sharpness_of, true_metrics


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


def test_systems_do_not_touch_the_annotations(ranked):
    changed = dx.simulate.study(quality=[0.5] * 4, random_seed=1)
    xr.testing.assert_identical(changed.annotations, ranked.annotations)
    xr.testing.assert_identical(changed.truth["plausibility"], ranked.truth["plausibility"])


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


def test_the_parts_fit_together():
    toy = dx.simulate.toy(n_items=7, n_annotators=2, random_seed=1)
    dx.validate(toy.annotations)
    assert toy.annotations.attrs["kind"] == "nominal"
    assert toy.annotations["label"].values.tolist() == ["Benign1", "Benign2", "Cancer"]
    for part in (toy.plausibility, toy.x):
        np.testing.assert_array_equal(part["item"], toy.annotations["item"])


THETA = np.array([0.5, 0.3, 0.2])


def plackett_luce(weights):
    """Probabilities of all orders, by their definition."""
    out = {}
    for order in permutations(range(len(weights))):
        left, p = sum(weights), 1.0
        for label in order:
            p *= weights[label] / left
            left -= weights[label]
        out[order] = p
    return out


def test_annotators_rank_by_plackett_luce():
    n = 40_000
    theta = np.broadcast_to(THETA, (n, 3))
    labels = rankings(theta, np.ones((n, 1), bool), 3, 0.0, np.random.default_rng(1))
    length = np.bincount(labels.item, minlength=n)
    # Lengths 1, 2, 3 with weights 3, 2, 1.
    np.testing.assert_allclose(np.bincount(length)[1:] / n, [1 / 2, 1 / 3, 1 / 6], atol=0.012)
    full = labels.label[np.isin(labels.item, np.flatnonzero(length == 3))].reshape(-1, 3)
    for order, p in plackett_luce(THETA).items():
        share = (full == order).all(axis=1).mean()
        assert share == pytest.approx(p, abs=4.5 * np.sqrt(p * (1 - p) / len(full)))


def test_ties_hide_the_order_of_neighbours_only():
    n = 20_000
    theta = np.broadcast_to(THETA, (n, 3))
    labels = rankings(theta, np.ones((n, 1), bool), 3, 0.3, np.random.default_rng(2))
    later = np.diff(labels.item, prepend=-1) == 0
    step = np.diff(labels.rank, prepend=0)
    assert set(np.unique(step[later])) == {0, 1}
    assert (labels.rank[~later] == 1).all()
    assert (step[later] == 0).mean() == pytest.approx(0.3, abs=0.015)
    # Whether a neighbour is tied tells nothing of what was drawn first.
    tied_next = np.append(step[1:] == 0, False) & ~later
    tied_next &= np.append(later[1:], False)
    first = np.bincount(labels.label[tied_next], minlength=3) / tied_next.sum()
    np.testing.assert_allclose(first, THETA, atol=0.03)


def test_missing_at_random_but_for_two():
    kept = present(50_000, 6, 0.4, np.random.default_rng(3))
    count = kept.sum(axis=1)
    assert count.min() == 2
    chance = stats.binom.pmf(np.arange(7), 6, 0.6)
    expected = [0, 0, chance[:3].sum(), *chance[3:]]
    np.testing.assert_allclose(np.bincount(count) / len(count), expected, atol=0.01)
    np.testing.assert_allclose(kept.mean(axis=0), kept.mean(), atol=0.01)
    assert present(10, 1, 0.9, np.random.default_rng(3)).all()


def test_systems_draw_from_sharpened_plausibilities():
    n, sharpness = 40_000, np.array([1.0, 2.0])
    result = answers(np.broadcast_to(THETA, (n, 3)), sharpness, 3, np.random.default_rng(4))
    for system, power in enumerate(sharpness):
        for order, p in plackett_luce(THETA**power).items():
            share = (result[:, system] == order).all(axis=1).mean()
            assert share == pytest.approx(p, abs=4.5 * np.sqrt(p * (1 - p) / n))


def test_sharpness_inverts_quality():
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.full(4, 0.3), 2000)
    quality = np.array([0.25, 0.4, 0.7, 0.95, 1.0])
    sharpness = sharpness_of(quality, theta)
    assert (np.diff(sharpness) > 0).all()
    first = answers(theta, sharpness, 1, rng)[..., 0]
    hit = (first == theta.argmax(axis=1)[:, None]).mean(axis=0)
    np.testing.assert_allclose(hit, quality, atol=4.5 * np.sqrt(0.25 / 2000))
    # One more annotator is a system of sharpness 1, and its quality the mean top share.
    assert sharpness_of(theta.max(axis=1).mean()[None], theta) == pytest.approx(1.0, abs=1e-6)


def test_plausibilities_that_underflow():
    theta = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    result = answers(theta, np.array([1.0]), 3, np.random.default_rng(6))
    np.testing.assert_array_equal(result[:, 0, 0], [0, 1])
    np.testing.assert_array_equal(np.sort(result[:, 0]), [[0, 1, 2]] * 2)


def test_true_metrics_by_hand():
    theta = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])  # true orders 0 1 2 and 2 1 0
    lists = np.array([[[0, 2, 1]], [[1, 2, 0]]])
    result = {name: float(value[0]) for name, value in true_metrics(theta, lists).items()}
    assert result == pytest.approx(
        {
            "top_1_accuracy": 1 / 2,
            "top_2_accuracy": 1,
            "top_3_accuracy": 1,
            "top_2_set_accuracy": 1 / 2,
            "top_3_set_accuracy": 1,
            "average_overlap_at_3": ((1 + 1 / 2 + 1) / 3 + (0 + 1 + 1) / 3) / 2,
        }
    )
    assert list(true_metrics(theta, lists[..., :1])) == ["top_1_accuracy"]
