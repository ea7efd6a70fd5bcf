"""What the prior says of labels and of their reliability, before there are any."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.checks._prior import _placed


def study(family, pools=None, n_items=20):
    return dx.simulate.replication_study(
        n_items, 5, 3, family=family, pools=pools, random_seed=1
    ).annotations


@pytest.fixture(scope="module")
def numbers():
    """Two pools of numbers, with a tight prior so that quantiles are sharp."""
    priors = {"mu": (10.0, 0.001), "sigma_item": ("half_normal", 0.001),
              "sigma_annotator": ("half_normal", 0.001), "sigma": ("half_normal", 1.0)}  # fmt: skip
    return dx.prior_predictive(
        "cross_replication", study("gaussian", ("old", "new")), priors=priors, draws=800,
        random_seed=1,
    )  # fmt: skip


def test_shares_of_observed_labels_are_counted():
    ann = study("ordinal")
    result = dx.prior_predictive(
        dx.models.crossed_effects, ann, family="ordinal", draws=50, random_seed=1
    )
    counts = np.bincount(ann["label_code"], minlength=ann.sizes["label"])
    np.testing.assert_allclose(result["observed"], counts / counts.sum())
    np.testing.assert_array_equal(result["label"], ann["label"])
    np.testing.assert_allclose(result["replicated"].sum("label"), 1.0)
    assert result["icc"].dims == ("chain", "draw")
    assert "correlation" not in result
    assert result.attrs["model"] == "crossed_effects"
    assert result.attrs["hyper_family"] == "ordinal"


@pytest.mark.long
def test_the_prior_that_is_given_is_the_one_that_speaks(numbers):
    # Labels are Normal(10, sigma) and items hardly differ, so that the ICC is next to nothing.
    middle = (numbers["bin_lower"] + numbers["bin_upper"]) / 2
    mean = (numbers["replicated"] * middle).sum("bin") / numbers["replicated"].sum("bin")
    assert float(mean.mean()) == pytest.approx(10.0, abs=0.1)
    assert float(numbers["icc"].median()) < 1e-4
    assert numbers["icc"].dims == ("chain", "draw", "pool")


def test_bins_hold_the_data_and_nearly_all_of_the_prior(numbers):
    assert float(numbers["observed"].sum()) == pytest.approx(1.0)
    assert 0.97 < float(numbers["replicated"].sum("bin").mean()) <= 1.0


def test_a_flat_prior_of_the_correlation_is_flat(numbers):
    # LKJ(1) of two pools is uniform on (-1, 1): standard deviation 1 / sqrt(3), 800 draws.
    draws = numbers["correlation"].sel(pool="old", pool_="new").to_numpy().ravel()
    assert draws.mean() == pytest.approx(0.0, abs=4 / np.sqrt(3 * 800))
    assert draws.std() == pytest.approx(1 / np.sqrt(3), abs=0.04)
    assert "correlation of two pools: prior median" in numbers.attrs["in_words"]


def test_seeds_repeat():
    ann = study("bernoulli")
    first, second, third = (
        dx.prior_predictive("crossed_effects", ann, family="bernoulli", draws=20, random_seed=seed)
        for seed in (1, 1, 2)
    )
    assert first.identical(second)
    assert not first["icc"].equals(third["icc"])


def test_values_on_edges_and_outside():
    edges = np.array([0.0, 1.0, 2.0])
    assert _placed(np.array([-0.1, 0.0, 0.9, 1.0, 2.0, 2.1]), edges).tolist() == [
        -1,
        0,
        0,
        1,
        1,
        -1,
    ]
