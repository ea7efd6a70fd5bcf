"""What a fit of crossed effects holds: names, log-likelihoods, predictions, and what ArviZ says."""

from __future__ import annotations

import numpy as np
import pytest
from crossed_labels import GRADES, PLACES, labels, one_pool
from scipy import special, stats

import dissensus as dx
from dissensus.models import crossed_effects

FAMILIES = ("gaussian", "bernoulli", "ordinal")
by_family = pytest.mark.parametrize("family", FAMILIES)


def fit(ann, **options):
    return crossed_effects.fit(
        ann, **{"draws": 500, "chains": 2, "random_seed": 11, "progressbar": False, **options}
    )


@pytest.fixture(scope="module")
def study():
    """Return a simulated study of a family, made once."""
    found = {
        family: dx.simulate.replication_study(40, 8, 4, family=family, random_seed=1).annotations
        for family in FAMILIES
    }
    return found.__getitem__


@pytest.fixture(scope="module")
def complete(study):
    """Return fits with everything in them."""
    return {
        family: fit(study(family), family=family, draws=500, log_likelihood=True,
                    posterior_predictive=True)
        for family in FAMILIES
    }  # fmt: skip


def middle(found, ann):
    """Return mu and the effects of each row."""
    post = found["posterior"]
    item = post["item_effect"].to_numpy()[..., ann["item_code"]]
    who = post["annotator_effect"].to_numpy()[..., ann["annotator_code"]]
    return post["mu"].to_numpy()[..., None] + item + who


def edges(found):
    cut = found["posterior"]["cutpoint"].to_numpy()
    return np.pad(
        cut, ((0, 0), (0, 0), (1, 1)), constant_values=((0, 0), (0, 0), (-np.inf, np.inf))
    )


@by_family
def test_dims_and_names(family, complete, study):
    found, ann = complete[family], study(family)
    want = {"mu": (), "sigma_item": (), "sigma_annotator": (), "item_effect": ("item",),
            "annotator_effect": ("annotator",)}  # fmt: skip
    want |= {"gaussian": {"sigma": ()}, "bernoulli": {}, "ordinal": {"cutpoint": ("boundary",)}}[
        family
    ]
    post = found["posterior"]
    assert {n: v.dims for n, v in post.data_vars.items()} == {
        n: ("chain", "draw", *dims) for n, dims in want.items()
    }
    for dim in ("item", "annotator"):
        assert post[dim].to_numpy().tolist() == ann[dim].to_numpy().tolist()
    observed = "score" if family == "gaussian" else "label_code"
    for group in ("observed_data", "log_likelihood", "posterior_predictive"):
        assert list(found[group].data_vars) == [observed]
        assert found[group].sizes["annotation"] == ann.sizes["annotation"]
    assert found.attrs["hyper_family"] == family
    if family == "ordinal":
        assert post["boundary"].to_numpy().tolist() == ["1|2", "2|3", "3|4", "4|5"]
        np.testing.assert_allclose(post["cutpoint"].mean("boundary"), 0, atol=1e-12)
        assert (post["cutpoint"].diff("boundary") > 0).all()
        assert found["constant_data"]["label_value"].to_numpy().tolist() == [1, 2, 3, 4, 5]
    if family != "gaussian":
        want = np.pi / np.sqrt(3) if family == "bernoulli" else 1.0
        assert float(found["constant_data"]["sigma"]) == pytest.approx(want)
    assert found["constant_data"]["n_labels_per_item"].to_numpy().tolist() == [4] * 40


def test_log_likelihood_is_that_of_scipy(complete, study):
    found, ann = complete["gaussian"], study("gaussian")
    sigma = found["posterior"]["sigma"].to_numpy()[..., None]
    want = stats.norm.logpdf(ann["value"].to_numpy(), middle(found, ann), sigma)
    np.testing.assert_allclose(found["log_likelihood"]["score"], want, rtol=1e-10)
    found, ann = complete["bernoulli"], study("bernoulli")
    chance = special.expit(middle(found, ann))
    want = stats.bernoulli.logpmf(ann["label_code"].to_numpy(), chance)
    np.testing.assert_allclose(found["log_likelihood"]["label_code"], want, rtol=1e-7)
    found, ann = complete["ordinal"], study("ordinal")
    code, eta = ann["label_code"].to_numpy(), middle(found, ann)
    high, low = (stats.norm.cdf(edges(found)[..., code + k] - eta) for k in (1, 0))
    np.testing.assert_allclose(found["log_likelihood"]["label_code"], np.log(high - low), rtol=1e-7)


def test_predictions_have_the_distribution_of_the_model(complete, study):
    """Taken back through the distribution function (at random within a label), they are uniform."""
    rng = np.random.default_rng(1)
    for family, found in complete.items():
        eta = middle(found, study(family))
        drawn = next(iter(found["posterior_predictive"].data_vars.values())).to_numpy()
        if family == "gaussian":
            u = stats.norm.cdf(drawn, eta, found["posterior"]["sigma"].to_numpy()[..., None])
        else:
            if family == "bernoulli":
                no = special.expit(-eta)
                low, high = np.where(drawn == 1, no, 0), np.where(drawn == 1, 1, no)
            else:
                low, high = (
                    stats.norm.cdf(np.take_along_axis(edges(found), drawn + k, axis=-1) - eta)
                    for k in (0, 1)
                )
            u = low + (high - low) * rng.random(eta.shape)
        assert stats.kstest(u.ravel()[::7], "uniform").pvalue > 0.001, family


def test_nominal_labels_of_two_kinds_are_bernoulli():
    words = labels(PLACES, np.array(["no", "yes"])[np.array(GRADES) // 2], labels=["no", "yes"])
    assert words.attrs["kind"] == "nominal"
    numbers = one_pool("bernoulli")
    one, two = (fit(x, family="bernoulli", draws=200) for x in (words, numbers))
    np.testing.assert_array_equal(one["posterior"]["mu"], two["posterior"]["mu"])


def test_ordered_numbers_are_gaussian_if_asked():
    grades = labels(PLACES, [1, 2, 4, 8] * 2 + [1, 2], kind="ordinal", labels=[1, 2, 4, 8])
    numbers = labels(PLACES, [1.0, 2, 4, 8] * 2 + [1, 2], kind="continuous")
    one, two = (fit(x, draws=200) for x in (grades, numbers))
    np.testing.assert_array_equal(one["posterior"]["mu"], two["posterior"]["mu"])
