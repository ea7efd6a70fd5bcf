"""Groups of labels and expected risk against plain sums."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx

SEEDS = st.integers(0, 2**31)


@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_grouping_sums_the_labels_of_a_group(make, seed):
    theta = make.theta(seed)
    rng = np.random.default_rng(seed)
    groups = dict(zip(theta["label"].values, rng.choice(["x", "y", "z"], size=5), strict=True))
    found = dx.group_labels(theta, groups)
    assert found.dims == ("chain", "draw", "item", "label")
    assert list(found["label"].values) == sorted(set(groups.values()))
    for group in found["label"].values:
        mine = sum(theta.sel(label=k, drop=True) for k, g in groups.items() if g == group)
        np.testing.assert_allclose(found.sel(label=group), mine, atol=1e-12)


@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_expected_risk_is_the_mean_under_the_plausibility(make, seed):
    theta = make.theta(seed)
    risk = dict(zip(theta["label"].values, np.random.default_rng(seed).normal(size=5), strict=True))
    oracle = sum(theta.sel(label=k, drop=True) * r for k, r in risk.items())
    found = dx.expected_risk(theta, risk)
    assert found.dims == ("chain", "draw", "item")
    np.testing.assert_allclose(found, oracle, atol=1e-12)
    as_array = xr.DataArray(
        list(risk.values())[::-1], dims="label", coords={"label": list(risk)[::-1]}
    )
    xr.testing.assert_allclose(dx.expected_risk(theta, as_array), found)


@pytest.mark.long
@given(seed=SEEDS, concentration=st.sampled_from([np.inf, 2.0, 0.3, 0.01]))
@settings(max_examples=20, deadline=None)
def test_a_remainder_is_grouped_without_losing_mass(make, seed, concentration):
    dense = make.theta(seed, n_labels=8)
    named = np.random.default_rng(seed).random((3, 8)) < 0.3
    lumped = make.candidates(dense, named, concentration=concentration)
    groups = {label: int(label[1:]) % 3 for label in dense["label"].values}
    found = dx.group_labels(lumped, groups)
    np.testing.assert_allclose(found.sum("label"), 1, atol=1e-12)
    # One group a label writes the draw out; coarser groups, and risks, are sums over that.
    written = dx.group_labels(lumped, {label: label for label in dense["label"].values})
    for group in range(3):
        members = [label for label in dense["label"].values if groups[label] == group]
        np.testing.assert_allclose(
            found.sel(label=group), written.sel(label=members).sum("label"), atol=1e-11
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


def test_labels_match_by_spelling_across_text_and_numbers():
    theta = xr.DataArray(
        [[0.25, 0.75]], dims=("item", "label"), coords={"item": [1], "label": [1, 2]}
    )
    assert dx.expected_risk(theta, {"1": 0.0, "2": 1.0}).item() == 0.75
    assert dx.group_labels(theta, {"1": "a", "2": "b"}).sel(label="b").item() == 0.75


@pytest.mark.parametrize("function", [dx.group_labels, dx.expected_risk])
def test_every_label_needs_an_entry(make, function):
    theta = make.theta(1)
    with pytest.raises(dx.ArgumentError, match=r"none for 'l1', 'l2', 'l3', 'l4'"):
        function(theta, {"l0": 1})
    with pytest.raises(dx.ArgumentError, match="an empty one"):
        function(theta, {})
    with pytest.raises(dx.ArgumentError, match="found list"):
        function(theta, [1, 2, 3, 4, 5])


@pytest.mark.parametrize("value", [np.nan, np.inf, "high", None])
def test_risks_must_be_finite_numbers(make, value):
    risk = {f"l{k}": k for k in range(5)} | {"l3": value}
    with pytest.raises(dx.ArgumentError, match="risk, label 'l3': expected a finite number"):
        dx.expected_risk(make.theta(1), risk)


def test_risks_are_one_for_each_label(make):
    matrix = xr.DataArray(np.ones((5, 2)), dims=("label", "kind"))
    with pytest.raises(dx.ArgumentError, match="risk: expected dims"):
        dx.expected_risk(make.theta(1), matrix)


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


@pytest.mark.parametrize("bad", [None, 1, ["g"]])
def test_a_group_that_is_no_name_is_refused_with_its_label(bad):
    theta = xr.DataArray(
        [[[[0.5, 0.5]]]], dims=("chain", "draw", "item", "label"), coords={"label": list("ab")}
    )
    with pytest.raises(dx.ArgumentError, match=r"mapping, label.* 'b'"):
        dx.group_labels(theta, {"a": "g", "b": bad})
