"""What holds for every simulator: seeds, storage, and what it refuses."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import xarray as xr
from refusals import check_refused

import dissensus as dx
from dissensus import simulate

SIMULATORS = {
    "study": partial(simulate.study, 30),
    "toy": partial(simulate.toy, 30),
    "confusion_study": partial(simulate.confusion_study, 30, difficulty=0.2, error_range=1.0),
    **{
        f"replication_study {family} {pools}": partial(
            simulate.replication_study, 30, family=family, pools=pools
        )
        for family in ("gaussian", "bernoulli", "ordinal")
        for pools in (None, ("a", "b"))
    },
}


@pytest.mark.unit(len(SIMULATORS))
@pytest.mark.parametrize("name", SIMULATORS)
def test_a_seed_repeats_it_and_the_truth_can_be_stored(name, tmp_path):
    first, second, as_generator, other = (
        SIMULATORS[name](random_seed=seed) for seed in (1, 1, np.random.default_rng(1), 2)
    )
    for left, right, third, fourth in zip(first, second, as_generator, other, strict=True):
        xr.testing.assert_identical(left, right)
        xr.testing.assert_identical(left, third)
        assert not left.equals(fourth)
    first[-1].to_netcdf(tmp_path / "truth.nc")
    loaded = xr.load_dataset if isinstance(first[-1], xr.Dataset) else xr.load_dataarray
    xr.testing.assert_identical(loaded(tmp_path / "truth.nc"), first[-1])


THREE = {"pools": ("treatment", "control", "experts")}
REFUSED = {
    "study": [
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
    "toy": [
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
    "confusion_study": [
        ({"n_items": 0}, "n_items: expected a whole number, 1 or more"),
        ({"n_labels": 1}, "n_labels: expected a whole number, 2 or more"),
        ({"ipc": 1.2}, r"ipc: expected a number from 0 to 1"),
        ({"ipc": (0.5, 0.6)}, "ipc: expected one value, or one for each of 3 annotators"),
        ({"ipc": (0.5, 0.6, "x")}, r"ipc\[2\]: expected a number"),
        ({"difficulty": -0.1}, r"difficulty: expected a number from 0 to 1"),
        ({"asymmetry": 0}, "asymmetry: expected a finite number > 0"),
        ({"error_range": 1.5}, r"error_range: expected a number from 0 to 1"),
        ({"system_accuracy": ()}, "system_accuracy: expected a probability for each system"),
        ({"system_accuracy": (0.5, 2)}, r"system_accuracy\[1\]: expected a number from 0 to 1"),
        ({"prevalence": (0.5, 0.5)}, "prevalence: expected a probability for each of 5 labels"),
        ({"prevalence": (0.5, 0.6, 0, 0, -0.1)}, "prevalence: expected a probability"),
        ({"prevalence": (0.5, 0.6, 0, 0, 0)}, "prevalence: .*1 in sum"),
        ({"labels_per_item": 4}, "labels_per_item: expected at most 3, the number of annotators"),
        ({"related": 0.5}, "related: expected 0, since there is only one system"),
        ({"related": 2, "system_accuracy": (0.5, 0.5)}, r"related: expected a number from 0 to 1"),
        ({"shared_mistakes": 1.2}, r"shared_mistakes: expected a number from 0 to 1"),
        ({"shared_mistakes": (0.1,)}, "shared_mistakes: expected a number"),
        ({"repeated": -0.1}, r"repeated: expected a number from 0 to 1"),
        ({"repeated": (1, 0)}, "repeated: expected one value, or one for each of 1 system;"),
    ],
    "replication_study": [
        ({"n_items": 0}, "n_items: expected a whole number, 1 or more; found 0"),
        ({"n_annotators": 0}, "n_annotators: expected a whole number, 1 or more; found 0"),
        ({"n_annotators": (3, 4)}, r"n_annotators: expected one value, or .*found \(3, 4\)"),
        ({**THREE, "n_annotators": (9, 9)}, "n_annotators: expected one value, or one for each"),
        ({**THREE, "n_annotators": (9, 9, 2.5)}, r"n_annotators\[2\]: expected a whole number"),
        ({"labels_per_item": 0}, "labels_per_item: expected a whole number, 1 or more"),
        ({"labels_per_item": 21}, r"labels_per_item: expected at most 20, the.*found 21"),
        ({**THREE, "n_annotators": (9, 9, 4)}, "labels_per_item, pool 2: expected at most 4"),
        ({**THREE, "labels_per_item": "all"}, "labels_per_item: expected a whole number"),
        ({"family": "poisson"}, "family: expected .gaussian. or .*found 'poisson'"),
        ({"mu": float("nan")}, "mu: expected a finite number; found nan"),
        ({"mu": "0"}, "mu: expected a finite number; found '0'"),
        ({**THREE, "mu": (0, 0, None)}, r"mu\[2\]: expected a finite number; found None"),
        ({"sigma_item": -1}, "sigma_item: expected a finite number >= 0; found -1"),
        ({**THREE, "sigma_annotator": (1, 1, -1)}, r"sigma_annotator\[2\]: expected a finite"),
        ({"sigma": 0}, "sigma: expected a finite number > 0; found 0"),
        ({"sigma": 1, "family": "ordinal"}, "sigma: expected None with family='ordinal'"),
        ({"sigma": 1, "family": "bernoulli"}, "sigma: expected None with family='bernoulli'"),
        ({"correlation": 0.5}, "correlation: expected None without pools=.*found 0.5"),
        ({**THREE, "correlation": -0.6}, "correlation: expected a number from -0.5 to 1"),
        ({**THREE, "correlation": 1.1}, "correlation: expected a number from -0.5 to 1"),
        ({**THREE, "correlation": np.eye(2)}, "correlation: .* a symmetric matrix of 3 x 3"),
        ({**THREE, "correlation": np.eye(3) * 2}, "correlation: .* ones on its diagonal"),
        ({**THREE, "correlation": np.triu(np.ones((3, 3)))}, "correlation: expected"),
        ({**THREE, "correlation": [[1, 2], [3]]}, "correlation: expected"),
        ({**THREE, "correlation": np.full((3, 3), np.nan)}, "correlation: expected"),
        ({**THREE, "correlation": "high"}, "correlation: expected a finite number; found 'high'"),
        ({"pools": "ab"}, "pools: expected two or more different names.*found 'ab'"),
        ({"pools": ["a"]}, "pools: expected two or more different names"),
        ({"pools": ["a", "a"]}, "pools: expected two or more different names"),
        ({"pools": [1, 2]}, "pools: expected two or more different names"),
        ({"cutpoint": [0]}, "cutpoint: expected None with family='gaussian'"),
        ({"family": "ordinal", "cutpoint": []}, "cutpoint: expected a sequence of one or more"),
        ({"family": "ordinal", "cutpoint": [1, -1]}, "cutpoint: expected increasing numbers"),
        ({"family": "ordinal", "cutpoint": [0, 1]}, "cutpoint: .* mean is 0; found a mean of 0.5"),
        ({"overlap": 0.5}, "overlap: expected 1 without pools=; found 0.5"),
        ({**THREE, "overlap": 1.5}, r"overlap: expected a number from 0 to 1; found 1.5"),
        ({**THREE, "overlap": 0, "n_items": 2}, "at least 3, .* increase overlap"),
    ],
}  # fmt: skip


@pytest.mark.unit(len(REFUSED))
@pytest.mark.parametrize("name", REFUSED)
def test_senseless_arguments_are_refused(name):
    check_refused(dx.ArgumentError, [
        (repr(arguments), partial(getattr(simulate, name), **arguments), words)
        for arguments, words in REFUSED[name]
    ])  # fmt: skip
