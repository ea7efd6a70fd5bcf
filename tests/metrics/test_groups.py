"""Groups of labels, events and expected risk against plain sums and distribution functions."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import dissensus as dx

SEEDS = st.integers(0, 2**31)


@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_grouping_sums_the_labels_of_a_group(make, seed):
    theta = make.theta(seed)
    rng = np.random.default_rng(seed)
    groups = dict(zip(theta["label"].values, rng.choice(["x", "y", "z"], size=5), strict=True))
    result = dx.group_labels(theta, groups)
    assert result.dims == ("chain", "draw", "item", "label")
    assert list(result["label"].values) == sorted(set(groups.values()))
    for group in result["label"].values:
        mine = sum(theta.sel(label=k, drop=True) for k, g in groups.items() if g == group)
        np.testing.assert_allclose(result.sel(label=group), mine, atol=1e-12)


@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_expected_risk_is_the_mean_under_the_plausibility(make, seed):
    theta = make.theta(seed)
    risk = dict(zip(theta["label"].values, np.random.default_rng(seed).normal(size=5), strict=True))
    oracle = sum(theta.sel(label=k, drop=True) * r for k, r in risk.items())
    result = dx.expected_risk(theta, risk)
    assert result.dims == ("chain", "draw", "item")
    np.testing.assert_allclose(result, oracle, atol=1e-12)
    as_array = xr.DataArray(
        list(risk.values())[::-1], dims="label", coords={"label": list(risk)[::-1]}
    )
    xr.testing.assert_allclose(dx.expected_risk(theta, as_array), result)


@pytest.mark.long
@given(seed=SEEDS, concentration=st.sampled_from([np.inf, 2.0, 0.3, 0.01]))
@settings(max_examples=10, deadline=None)
def test_a_remainder_is_grouped_without_losing_mass(make, seed, concentration):
    dense = make.theta(seed, n_labels=8)
    named = np.random.default_rng(seed).random((3, 8)) < 0.3
    lumped = make.candidates(dense, named, concentration=concentration)
    groups = {label: int(label[1:]) % 3 for label in dense["label"].values}
    result = dx.group_labels(lumped, groups)
    np.testing.assert_allclose(result.sum("label"), 1, atol=1e-12)
    # One group a label writes the draw out; coarser groups, and risks, are sums over that.
    written = dx.group_labels(lumped, {label: label for label in dense["label"].values})
    for group in range(3):
        members = [label for label in dense["label"].values if groups[label] == group]
        np.testing.assert_allclose(
            result.sel(label=group), written.sel(label=members).sum("label"), atol=1e-11
        )
    risk = {label: float(label[1:]) for label in dense["label"].values}
    np.testing.assert_allclose(
        dx.expected_risk(lumped, risk), dx.expected_risk(written, risk), atol=1e-11
    )


def test_groups_are_plausibilities_again(make):
    dense = make.theta(4, n_labels=6)
    named = np.eye(3, 6, dtype=bool)
    lumped = make.candidates(dense, named, concentration=0.5)
    grouped = dx.group_labels(lumped, {f"l{k}": "odd" if k % 2 else "even" for k in range(6)})
    assert "labels" not in grouped.attrs  # the label space is another one now
    predictions = make.lists(4, grouped)
    assert dx.top_k_accuracy(grouped, predictions).dims == ("chain", "draw", "system")
    assert dx.annotation_certainty(grouped).dims == ("item",)


def test_labels_match_by_spelling_across_text_and_numbers(make):
    theta = make.dense([[0.25, 0.75]], [1, 2])
    assert dx.expected_risk(theta, {"1": 0.0, "2": 1.0}).item() == 0.75
    assert dx.group_labels(theta, {"1": "a", "2": "b"}).sel(label="b").item() == 0.75


@pytest.mark.parametrize(
    ("function", "argument"),
    [(dx.group_labels, {"l0": "a", "l1": "b"}), (dx.expected_risk, {"l0": 0, "l1": 1})],
)
def test_an_unknown_label_space_cannot_be_grouped(make, function, argument):
    dense = make.theta(1, n_items=2)
    named = np.zeros((2, 5), dtype=bool)
    named[:, :2] = True
    lumped = make.candidates(dense, named, anonymous=True)
    with pytest.raises(dx.ArgumentError, match="whole label space"):
        function(lumped, argument)


@pytest.fixture
def posterior():
    rng = np.random.default_rng(1)
    dims = ("chain", "draw", "item")
    return xr.Dataset(
        {
            "mean": (dims, rng.normal(size=(2, 5, 3))),
            "variance": (dims, rng.gamma(2, size=(2, 5, 3))),
        },
        coords={"item": list("xyz")},
    )


def test_is_the_normal_distribution_function(posterior):
    result = dx.event_plausibility(posterior, 0.4, labels=("low", "high"))
    assert result.dims == ("chain", "draw", "item", "label")
    below = norm.cdf(0.4, posterior["mean"], np.sqrt(posterior["variance"]))
    np.testing.assert_allclose(result.sel(label="low"), below)
    np.testing.assert_allclose(result.sum("label"), 1)


def test_tails_keep_their_digits(posterior):
    # 1 - Phi(x) would be 0 from x = 8.3 on, and a label of plausibility 0 is in no set.
    far = posterior.assign(mean=0 * posterior["mean"] - 20, variance=0 * posterior["mean"] + 1)
    assert float(dx.event_plausibility(far, 0).sel(label="above").min()) > 0


def test_metrics_take_it(posterior):
    tree = xr.DataTree.from_dict({"posterior": posterior})
    actual = dx.event_plausibility(tree, 0)
    predictions = dx.predictions({"item": list("xyz"), "system": ["m"] * 3, "label": ["above"] * 3})
    expected = (posterior["mean"] > 0).mean("item")
    np.testing.assert_allclose(dx.top_k_accuracy(actual, predictions).squeeze("system"), expected)


def test_takes_a_fit_its_group_and_its_dataset(posterior):
    whole = dx.event_plausibility(posterior, 1.0)
    fit = xr.DataTree.from_dict({"posterior": posterior})
    xr.testing.assert_identical(dx.event_plausibility(fit, 1.0), whole)
    xr.testing.assert_identical(dx.event_plausibility(fit["posterior"], 1.0), whole)
