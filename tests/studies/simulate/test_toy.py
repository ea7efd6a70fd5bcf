"""The toy: its true shares, and annotators who draw from them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx


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
        ({"x": []}, "x: expected a sequence of one or more finite numbers"),
        ({"x": 3}, "x: expected a sequence"),
        ({"x": "abc"}, "x: expected a sequence"),
        ({"x": [0, float("inf")]}, "x: expected a sequence of one or more finite numbers"),
    ],
)
def test_senseless_arguments(arguments, complaint):
    with pytest.raises(dx.ArgumentError, match=complaint):
        dx.simulate.toy(**arguments)


def test_an_integer_beyond_floats_is_refused():
    with pytest.raises(dx.ArgumentError, match="expected a finite number"):
        dx.simulate.toy(overlap=10**400)
