"""Top-k and set accuracy, and certainty, by enumeration, counting, quadrature and replication."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import dissensus as dx

SEEDS = st.integers(0, 2**31)


def test_ties_in_a_point_estimate_go_to_the_label_that_comes_first(make):
    point = make.dense([[0.4, 0.4, 0.2]], "abc")
    pred = dx.predictions({"item": [0, 0], "system": ["first", "second"], "label": ["a", "b"]})
    assert dx.top_k_accuracy(point, pred).values.tolist() == [1.0, 0.0]


def test_a_label_of_no_mass_is_in_no_true_set(make):
    point = make.dense([[1.0, 0.0, 0.0]], "abc")
    pred = dx.predictions(
        {"item": [0, 0], "system": ["s", "s"], "label": ["a", "b"], "rank": [1, 2]}, rank="rank"
    )
    assert dx.set_accuracy(point, pred).item() == 0.0
    assert dx.set_accuracy(point, pred, k=1).item() == 1.0


def test_an_empty_list_is_right_about_nothing(make):
    # dx.predictions refuses it; a Dataset made by hand may hold it.
    point = make.dense([[1.0, 0.0]], "ab")
    pred = dx.predictions({"item": [0, 0], "system": ["s", "t"], "label": ["a", "a"]})
    pred["label_code"][0, 1, 0], pred["block"][0, 1, 0] = -1, 0
    assert dx.set_accuracy(point, pred).values.tolist() == [1.0, 0.0]
    assert dx.overlap(point, pred, k=1).values.tolist() == [1.0, 0.0]


def test_names_say_k(make):
    plausibility = make.theta(1)
    predictions = make.lists(1, plausibility)
    assert dx.top_k_accuracy(plausibility, predictions, k=np.int64(2)).name == "top_2_accuracy"
    assert dx.top_k_accuracy(plausibility, predictions, k=3.0).name == "top_3_accuracy"
    assert dx.set_accuracy(plausibility, predictions).name == "set_accuracy"
    assert dx.set_accuracy(plausibility, predictions, k=2).name == "top_2_set_accuracy"


@given(seed=SEEDS, top=st.integers(1, 6), zeros=st.booleans())
@settings(max_examples=12, deadline=None)
def test_annotation_certainty_counts_sets(make, seed, top, zeros):
    theta = make.theta(seed, n_labels=4, draws=8, zeros=zeros)
    labels = list(theta["label"].values)
    certainty = dx.annotation_certainty(theta, top)
    for i in range(theta.sizes["item"]):
        rows = theta.values[:, :, i].reshape(-1, 4)
        sets = Counter(frozenset(make.true_order(row, labels)[:top]) for row in rows)
        assert certainty.values[i] == pytest.approx(max(sets.values()) / len(rows))


@pytest.mark.long
@given(seed=SEEDS, zeros=st.booleans())
@settings(max_examples=8, deadline=None)
def test_certainty_counts_the_predicted_set(make, seed, zeros):
    theta = make.theta(seed, n_labels=4, draws=8, zeros=zeros)
    predictions = make.lists(seed, theta, ties=False)
    labels = list(theta["label"].values)
    certainty = dx.certainty(theta, predictions)
    assert certainty.dims == ("item", "system")
    for item in certainty["item"].values:
        for system in certainty["system"].values:
            predicted = {name for block in make.blocks(predictions, item, system) for name in block}
            rows = theta.sel(item=item).values.reshape(-1, 4)
            hits = [
                set(make.true_order(row, labels)[: len(predicted)]) == predicted for row in rows
            ]
            assert certainty.sel(item=item, system=system).item() == pytest.approx(np.mean(hits))
    # No set is named more often than the commonest one of its size.
    for size in range(1, 5):
        best = dx.annotation_certainty(theta, size)
        length = (predictions["label_code"] >= 0).sum("position")
        assert bool(((certainty <= best + 1e-12) | (length != size)).all())


def largest(alpha, k):
    """P(label k is the largest) of Dirichlet(alpha): the largest of independent Gamma variates."""

    def density(x):
        others = [stats.gamma.cdf(x, a) for j, a in enumerate(alpha) if j != k]
        return stats.gamma.pdf(x, alpha[k]) * np.prod(others)

    return integrate.quad(density, 0, 60, limit=200)[0]


@pytest.mark.parametrize("counts", [(3, 1, 0), (2, 2, 0, 1), (5, 0, 0), (1, 1)])
def test_certainty_of_a_dirichlet_posterior_by_quadrature(make, counts):
    rng = np.random.default_rng(20)
    alpha = 1.0 + np.array(counts)
    theta = make.dense(rng.dirichlet(alpha, size=(4, 2000, 1)))
    exact = [largest(alpha, k) for k in range(len(alpha))]
    assert sum(exact) == pytest.approx(1, abs=1e-6)
    certainty = dx.annotation_certainty(theta)
    assert abs(certainty.item() - max(exact)) < 4 * certainty["mcse"].item()
    table = {
        "item": [0] * len(counts),
        "system": [f"says {k}" for k in range(len(counts))],
        "label": [f"l{k}" for k in range(len(counts))],
    }
    each = dx.certainty(theta, dx.predictions(table)).values[0]
    error = np.sqrt(np.array(exact) * (1 - np.array(exact)) / 8000)
    assert (abs(each - exact) < 4 * error).all()


@pytest.mark.parametrize("lag", [0.0, 0.8])
def test_the_monte_carlo_error_is_what_replication_shows(make, lag):
    # The leader changes with the sign of an autoregressive series; items serve as replications.
    rng = np.random.default_rng(8)
    n_items, n_draws = 300, 2500
    noise = rng.standard_normal((2, n_draws, n_items)) * np.sqrt(1 - lag**2)
    series = np.empty_like(noise)
    series[:, 0] = rng.standard_normal((2, n_items))
    for draw in range(1, n_draws):
        series[:, draw] = lag * series[:, draw - 1] + noise[:, draw]
    first = np.where(series < 0.5, 0.7, 0.3)
    certainty = dx.annotation_certainty(make.dense(np.stack([first, 1 - first], axis=-1)))
    truth = stats.norm.cdf(0.5)
    assert abs(certainty.mean().item() - truth) < 4 * certainty.std().item() / np.sqrt(n_items)
    ratio = np.sqrt((certainty["mcse"] ** 2).mean()) / certainty.std()
    assert 0.85 < ratio < 1.15


def test_selection_bias_is_large_where_chance_chooses_and_none_where_it_does_not(make):
    rng = np.random.default_rng(9)
    even = make.dense(rng.dirichlet(np.ones(20), size=(4, 25, 400)))
    certainty = dx.annotation_certainty(even)
    true_bias = certainty.mean().item() - 1 / 20  # every label is the largest equally often
    assert true_bias > 0.04
    assert 0.8 < certainty["selection_bias"].mean().item() / true_bias < 1.3
    clear = make.dense(rng.dirichlet([50.0, 1.0, 1.0], size=(4, 25, 50)))
    assert float(dx.annotation_certainty(clear)["selection_bias"].max()) == 0.0


def test_selection_bias_is_seen_in_draws_that_follow_from_one_another(make):
    # Each draw is repeated 20 times: there are 10 draws, not 200.
    rng = np.random.default_rng(10)
    sticky = np.repeat(rng.dirichlet(np.ones(10), size=(1, 10, 300)), 20, axis=1)
    certainty = dx.annotation_certainty(make.dense(sticky))
    true_bias = certainty.mean().item() - 1 / 10
    assert certainty["selection_bias"].mean().item() > 0.7 * true_bias


def test_a_single_draw_has_no_error_and_no_bias_to_show(make):
    certainty = dx.annotation_certainty(make.dense(np.array([[[[0.2, 0.8]]]])))
    assert certainty.item() == 1.0
    assert np.isnan(certainty["mcse"]).all()
    assert np.isnan(certainty["selection_bias"]).all()


def test_further_dims_are_kept_apart(make):
    parts = [make.theta(seed, draws=6) for seed in range(3)]
    both = xr.concat(parts, dim=xr.DataArray([1, 2, 3], dims="reliability", name="reliability"))
    certainty = dx.annotation_certainty(both, 2)
    assert set(certainty.dims) == {"reliability", "item"}
    for number, part in enumerate(parts):
        alone = dx.annotation_certainty(part, 2)
        np.testing.assert_array_equal(certainty.isel(reliability=number), alone)
        np.testing.assert_array_equal(certainty["mcse"].isel(reliability=number), alone["mcse"])


def test_labels_without_a_name_are_still_different_labels(make):
    # All mass in a remainder of unknown labels: which of them leads differs from draw to draw.
    dense = make.theta(1, n_items=4, n_labels=50, draws=200)
    named = np.zeros((4, 50), dtype=bool)
    lumped = make.candidates(dense, named, concentration=1.0, anonymous=True)
    assert float(dx.annotation_certainty(lumped).max()) < 0.1
