"""The replication study: its design, its truth, and that the labels follow from the truth."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import special, stats

import dissensus as dx
from dissensus.studies.simulate import _replication as replication

POOLS = ("treatment", "control", "experts")


@pytest.fixture(scope="module")
def three():
    return dx.simulate.replication_study(
        3000, (400, 300, 8), (4, 2, None), pools=POOLS, mu=(0.5, 0.0, -1.0), sigma=(1.0, 0.8, 0.5),
        sigma_item=(1.0, 1.2, 0.9), sigma_annotator=(0.5, 0.7, 0.2), random_seed=1,
        correlation=[[1, 0.9, 0.6], [0.9, 1, 0.5], [0.6, 0.5, 1]],
    )  # fmt: skip


def predictors(study):
    """Return the true eta of each row, looked up by name."""
    ann, truth = study
    by = {
        dim: xr.DataArray(ann[dim].values[ann[f"{dim}_code"].values], dims="annotation")
        for dim in ("item", "annotator", "pool") if dim in ann.dims
    }  # fmt: skip
    per_pool = {"pool": by["pool"]} if "pool" in by else {}
    mu = truth["mu"].sel(per_pool)
    item = truth["item_effect"].sel(item=by["item"], **per_pool)
    return (mu + item + truth["annotator_effect"].sel(annotator=by["annotator"], **per_pool)).values


def test_one_pool_by_default():
    ann, truth = dx.simulate.replication_study(random_seed=1)
    dx.validate(ann)
    assert ann.attrs["kind"] == "continuous"
    assert dict(ann.sizes) == {"annotation": 1000, "item": 200, "annotator": 20}
    assert (np.bincount(ann["item_code"]) == 5).all()
    assert {name: truth[name].item() for name in ("mu", "sigma_item", "sigma_annotator", "sigma")} \
        == {"mu": 0.0, "sigma_item": 1.0, "sigma_annotator": 0.5, "sigma": 1.0}  # fmt: skip
    assert truth["icc"].item() == pytest.approx(1 / 2.25)
    assert truth["annotator_icc"].item() == pytest.approx(0.25 / 2.25)
    assert truth["item_effect"].dims == ("item",)
    assert truth["annotator_effect"].dims == ("annotator",)
    assert "pool" not in ann.dims
    assert "pool" not in truth.dims
    assert "correlation" not in truth


def test_counts_of_each_pool(three):
    ann, truth = three
    assert ann.sizes["annotation"] == 3000 * (4 + 2 + 8)
    assert ann["pool"].values.tolist() == truth["pool"].values.tolist() == list(POOLS)
    for pool, each in zip(range(3), (4, 2, 8), strict=True):
        here = ann["item_code"].values[ann["pool_code"].values == pool]
        assert (np.bincount(here, minlength=3000) == each).all()
    in_pool = np.zeros((708, 3), dtype=bool)
    in_pool[ann["annotator_code"], ann["pool_code"]] = True
    assert (in_pool.sum(1) == 1).all()
    assert in_pool.sum(0).tolist() == [400, 300, 8]


def test_the_truth_of_several_pools(three):
    truth = three.truth
    of = {"treatment": 1 / (1 + 0.25 + 1), "control": 1.44 / (1.44 + 0.49 + 0.64),
          "experts": 0.81 / (0.81 + 0.04 + 0.25)}  # fmt: skip
    np.testing.assert_allclose(truth["icc"], list(of.values()))
    assert truth["annotator_icc"].sel(pool="experts").item() == pytest.approx(0.04 / 1.10)
    assert truth["sigma"].dims == ("pool",)
    xr.testing.assert_equal(truth["correlation"], truth["normalized_xcc"].rename("correlation"))
    pair = {"pool": "control", "pool_": "experts"}
    assert truth["correlation"].sel(pair).item() == 0.5
    want = 0.5 * np.sqrt(of["control"] * of["experts"])
    assert truth["xcc"].sel(pair).item() == pytest.approx(want)
    at_home = truth["annotator_effect"].notnull()
    assert (at_home.sum("pool") == 1).all()
    assert at_home.sum("annotator").values.tolist() == [400, 300, 8]


def test_effects_have_the_moments_asked_for(three):
    """Within Monte Carlo error: of a standard deviation s, s / sqrt(2 n)."""
    truth = three.truth
    sd = truth["item_effect"].std("item")
    assert (np.abs(sd / truth["sigma_item"] - 1) < 4 / np.sqrt(2 * 3000)).all()
    sd = np.sqrt((truth["annotator_effect"] ** 2).mean("annotator"))
    n = truth["annotator_effect"].notnull().sum("annotator")
    assert (np.abs(sd / truth["sigma_annotator"] - 1) < 4 / np.sqrt(2 * n)).all()
    correlation = np.corrcoef(truth["item_effect"].values.T)
    error = (1 - truth["correlation"].values ** 2) / np.sqrt(3000)
    assert (np.abs(correlation - truth["correlation"].values) <= 4 * error + 1e-12).all()


def test_numbers_are_predictors_and_noise(three):
    ann, truth = three
    noise = ann["value"].values - predictors(three)
    for place, pool in enumerate(POOLS):
        here = noise[ann["pool_code"].values == place]
        sigma = truth["sigma"].sel(pool=pool).item()
        assert abs(here.mean()) < 4 * sigma / np.sqrt(len(here))
        assert abs(here.std() / sigma - 1) < 4 / np.sqrt(2 * len(here))


def test_yes_and_no():
    study = dx.simulate.replication_study(1500, 30, None, family="bernoulli", mu=-1, random_seed=3)
    ann, truth = study
    assert ann.attrs["kind"] == "nominal"
    assert ann["label"].values.tolist() == ["no", "yes"]
    assert truth["sigma"].item() == pytest.approx(np.pi / np.sqrt(3))
    chance = special.expit(predictors(study))
    excess = ann["label_code"].values - chance
    error = np.sqrt((chance * (1 - chance)).mean() / len(chance))
    assert abs(excess.mean()) < 4 * error
    assert abs((excess * (chance > 0.5)).mean()) < 4 * error


@pytest.mark.parametrize("cutpoint", [None, (-1.0, -0.5, 1.5), (0.0,)])
def test_grades(cutpoint):
    study = dx.simulate.replication_study(
        1500, 30, 12, family="ordinal", cutpoint=cutpoint, random_seed=4
    )
    ann, truth = study
    want = (-1.5, -0.5, 0.5, 1.5) if cutpoint is None else cutpoint
    np.testing.assert_array_equal(truth["cutpoint"], want)
    assert ann.attrs["kind"] == "ordinal"
    assert ann["label"].values.tolist() == list(range(1, len(want) + 2))
    assert truth["sigma"].item() == 1.0
    eta = predictors(study)
    for place, cut in enumerate(want):
        chance = stats.norm.cdf(cut - eta)
        excess = (ann["label_code"].values <= place) - chance
        error = np.sqrt((chance * (1 - chance)).mean() / len(eta))
        assert abs(excess.mean()) < 4 * error


def test_labels_that_nobody_used_are_declared():
    ann = dx.simulate.replication_study(
        4, 2, 2, family="ordinal", cutpoint=[-50, -40, 40, 50], random_seed=1
    ).annotations
    assert ann["label"].values.tolist() == [1, 2, 3, 4, 5]
    assert (ann["label_code"] == 2).all()


def test_one_seed_one_design():
    """Who labels what is the same for other families and parameters."""
    first, second = (
        dx.simulate.replication_study(family=family, mu=mu, random_seed=1).annotations
        for family, mu in [("gaussian", 0.0), ("ordinal", 2.0)]
    )
    for name in ("item", "annotator", "item_code", "annotator_code"):
        np.testing.assert_array_equal(first[name], second[name])


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_items": 1, "n_annotators": 1, "labels_per_item": 1},
        {"sigma_item": 0, "sigma_annotator": 0},
        {"pools": ("a", "b"), "correlation": 1.0},
        {"pools": ("a", "b"), "correlation": -1.0},
        {"pools": ["1", "2", "3"], "overlap": 0.0, "n_items": 3},
        {"pools": np.array(["a", "b"]), "n_annotators": np.array([5, 6])},
    ],
)
def test_odd_settings(arguments):
    ann, truth = dx.simulate.replication_study(**arguments, random_seed=1)
    dx.validate(ann)
    for dim in ("item", "pool"):
        if dim in ann.dims:
            np.testing.assert_array_equal(ann[dim], truth[dim])
    assert set(ann["annotator"].values) <= set(truth["annotator"].values)


def test_perfect_correlation_is_one_effect():
    effect = dx.simulate.replication_study(
        pools=("a", "b"), correlation=1, sigma_item=(1, 2), random_seed=1
    ).truth["item_effect"]
    np.testing.assert_allclose(2 * effect.sel(pool="a"), effect.sel(pool="b"), atol=1e-12)


# The steps of the simulation.


@pytest.mark.parametrize(("size", "each"), [(1, 1), (7, 1), (7, 3), (7, 6), (7, 7), (2000, 5)])
def test_nobody_is_drawn_twice(size, each):
    sets = replication.subsets(500, size, each, np.random.default_rng(1))
    assert sets.shape == (500, each)
    assert sets.min() >= 0
    assert sets.max() < size
    assert (np.diff(sets, axis=1) > 0).all()


@pytest.mark.parametrize(("size", "each"), [(5, 2), (5, 3), (6, 5)])
def test_every_set_is_equally_likely(size, each):
    n = 20_000
    sets = replication.subsets(n, size, each, np.random.default_rng(1))
    _, counts = np.unique(sets @ size ** np.arange(each), return_counts=True)
    assert len(counts) == special.comb(size, each)
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(
    ("overlap", "alone"), [(1.0, [0, 0, 0]), (0.5, [4, 3, 3]), (0.0, [7, 7, 6])]
)
def test_items_are_for_all_pools_or_for_one(overlap, alone):
    seen = replication.seen_by(20, 3, overlap, np.random.default_rng(1))
    pools = seen.sum(1)
    assert (pools == 3).sum() == 20 * overlap
    assert seen[pools == 1].sum(0).tolist() == alone


def test_rows_come_item_by_item_and_pool_by_pool():
    seen = np.array([[True, True], [False, True], [True, False]])
    rows = replication.who_labels(seen, [4, 2], [3, 2], np.random.default_rng(1))
    assert rows.item.tolist() == [0] * 5 + [1] * 2 + [2] * 3
    assert rows.pool.tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 0, 0]
    assert (rows.annotator[rows.pool == 0] < 4).all()
    assert rows.annotator[rows.pool == 1].tolist() == [4, 5, 4, 5]
