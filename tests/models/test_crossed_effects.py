"""What must not matter to crossed effects, and what a fit holds, of one pool and of two."""

from __future__ import annotations

import crossed_reference
import numpy as np
import pytest
import xarray as xr
from crossed_labels import (
    FAMILIES,
    GRADES,
    PLACES,
    by_family,
    fit,
    labels,
    one_pool,
    priors_of,
    simulated,
    two_pools,
)
from scipy import special, stats

import dissensus as dx
from dissensus.families.crossed.fit import _start
from dissensus.families.crossed.process import process
from dissensus.models import crossed_effects

WIDE = {"draws": 90, "tune": 200}
"""So few that chains are not judged."""


@by_family
def test_names_do_not_matter(family):
    ann = simulated(family)
    other = ann.assign_coords(
        item=[f"case {i:03d}" for i in range(ann.sizes["item"])],
        annotator=[f"person {j:03d}" for j in range(ann.sizes["annotator"])],
    )
    first, second = (fit(x, family=family, **WIDE)["posterior"] for x in (ann, other))
    for name in first.data_vars:
        np.testing.assert_array_equal(first[name].to_numpy(), second[name].to_numpy())


@pytest.mark.unit(0, long=1)
@by_family
def test_the_order_of_rows_items_and_annotators_does_not_matter(family):
    ann = simulated(family)
    rng = np.random.default_rng(2)
    order = {dim: rng.permutation(ann.sizes[dim]) for dim in ("annotation", "item", "annotator")}
    other = ann.isel(order)
    for dim in ("item", "annotator"):
        other[f"{dim}_code"] = ("annotation", np.argsort(order[dim])[other[f"{dim}_code"]])
    dx.validate(other)
    first, second = (fit(x, family=family, draws=1500, random_seed=s)
                for x, s in ((ann, 1), (other, 2)))  # fmt: skip
    second["posterior"] = xr.DataTree(second["posterior"].to_dataset().sel(
        item=first["posterior"]["item"], annotator=first["posterior"]["annotator"]))  # fmt: skip
    crossed_reference.compare_fits(first, second, enough=150, errors=4.5)


@pytest.mark.parametrize(("shift", "factor"), [(0.0, 4.0), (32.0, 1.0), (-7.3, 0.3), (2.0, 1e6)])
def test_the_unit_of_numbers_does_not_matter(shift, factor):
    """Default priors are scaled to the data, so that draws with one seed are the same numbers."""
    ann = simulated("gaussian")
    other = ann.assign(value=shift + factor * ann["value"])
    first, second = (fit(x, **WIDE)["posterior"] for x in (ann, other))
    for name in first.data_vars:
        want = first[name].to_numpy() * factor + (shift if name == "mu" else 0)
        np.testing.assert_allclose(second[name].to_numpy(), want, rtol=1e-6, atol=1e-6 * factor)


def test_a_large_offset_costs_no_digits():
    ann = simulated("gaussian")
    value = np.round(ann["value"] * 1024) / 1024  # exact beside 1e8 too
    first, second = (fit(ann.assign(value=value + c), **WIDE)["posterior"] for c in (0.0, 1e8))
    for name in ("sigma_item", "sigma_annotator", "sigma", "item_effect"):
        np.testing.assert_allclose(first[name], second[name], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(first["mu"], second["mu"] - 1e8, atol=1e-5)


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("family", ["bernoulli", "ordinal"])
def test_reversing_the_labels_turns_the_scale_round(family):
    ann = simulated(family)
    last = ann.sizes["label"] - 1
    other = ann.assign(label_code=last - ann["label_code"])
    first, second = (fit(x, family=family, draws=1500, random_seed=s)
                for x, s in ((ann, 3), (other, 4)))  # fmt: skip
    turned = second["posterior"].to_dataset()
    for name in {"mu", "item_effect", "annotator_effect", "cutpoint"} & set(turned):
        turned[name] = -turned[name]
    if "cutpoint" in turned:
        turned["cutpoint"] = turned["cutpoint"].copy(data=turned["cutpoint"].to_numpy()[..., ::-1])
    second["posterior"] = xr.DataTree(turned)
    crossed_reference.compare_fits(first, second, enough=150, errors=4.5)


@by_family
def test_what_is_kept_does_not_change_what_is_drawn(family):
    whole = fit(simulated(family), family=family, **WIDE)["posterior"]
    bare = fit(simulated(family), family=family, keep_effects=False, **WIDE)["posterior"]
    assert set(whole.data_vars) - set(bare.data_vars) == {"item_effect", "annotator_effect"}
    for name in bare.data_vars:
        np.testing.assert_array_equal(bare[name], whole[name])
    assert not {"item", "annotator"} & set(bare.dims)


@by_family
def test_chains_start_apart(family):
    crossed = process(
        "crossed_effects", simulated(family), family=family, sampler="gibbs", priors=None,
        anonymous=False,
    )  # fmt: skip
    rng = np.random.default_rng(5)
    starts = [_start(crossed, crossed.data(), rng) for _ in range(200)]
    parts = ["sd_item", "sd_annotator", *(["sd"] if family == "gaussian" else [])]
    for part in parts:  # e^+-1 about the middle at two standard deviations
        assert np.std(np.log([getattr(start, part)[0] for start in starts])) > 0.4, part
    end = fit(simulated(family), family=family, draws=300)["posterior"]["mu"]
    assert np.std([start.mu[0] for start in starts]) > end.std()


@pytest.mark.long
@pytest.mark.parametrize("family", ["gaussian", "ordinal"])
def test_the_order_of_pools_does_not_matter(family):
    ann = simulated(family, pools=True)
    other = ann.isel(pool=[1, 0]).assign(pool_code=1 - ann["pool_code"])
    first, second = (fit(x, family=family, draws=1500, random_seed=s, keep_effects=False)
                for x, s in ((ann, 1), (other, 2)))  # fmt: skip
    turned = second["posterior"].to_dataset().sel(pool=["old", "new"], pool_=["old", "new"])
    second["posterior"] = type(second)(turned)
    crossed_reference.compare_fits(first, second, enough=150, errors=4.5)


@pytest.mark.parametrize("residual", ["shared", "pool"])
def test_the_unit_of_numbers_of_pools_does_not_matter(residual):
    ann = simulated("gaussian", pools=True)
    other = ann.assign(value=ann["value"] * 0.3 - 7)
    first, second = (fit(x, residual=residual, **WIDE)["posterior"] for x in (ann, other))
    np.testing.assert_allclose(first["correlation"], second["correlation"], atol=1e-6)
    for name in ("sigma_item", "sigma_annotator", "sigma", "item_effect"):
        np.testing.assert_allclose(second[name], first[name] * 0.3, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def complete():
    """Return fits with everything in them, by family and whether there are pools."""
    more = {"draws": 500, "log_likelihood": True, "posterior_predictive": True}
    return {
        (family, pools): fit(simulated(family, pools), family=family, **more)
        for family in FAMILIES
        for pools in (False, True)
    }


def middle(result, ann):
    """Return mu and the effects of each row."""
    post, item, who = result["posterior"], ann["item_code"], ann["annotator_code"]
    pool = (ann["pool_code"].to_numpy(),) if "pool_code" in ann else ()
    mean = post["mu"].to_numpy()[..., *pool]
    return (
        (mean if pool else mean[..., None])
        + post["item_effect"].to_numpy()[..., item, *pool]
        + post["annotator_effect"].to_numpy()[..., who, *pool]
    )


def edges(result):
    cut = result["posterior"]["cutpoint"].to_numpy()
    return np.pad(
        cut, ((0, 0), (0, 0), (1, 1)), constant_values=((0, 0), (0, 0), (-np.inf, np.inf))
    )


@by_family
@pytest.mark.parametrize("pools", [False, True], ids=["one pool", "two pools"])
def test_dims_and_names(family, pools, complete):
    actual, ann = complete[family, pools], simulated(family, pools)
    post, each = actual["posterior"], ("pool",) if pools else ()
    want = {"mu": each, "sigma_item": each, "sigma_annotator": each, "item_effect": ("item", *each),
            "annotator_effect": ("annotator", *each)}  # fmt: skip
    want |= {"correlation": ("pool", "pool_")} if pools else {}
    want |= {"gaussian": {"sigma": ()}, "bernoulli": {}, "ordinal": {"cutpoint": ("boundary",)}}[
        family
    ]
    assert {n: v.dims for n, v in post.data_vars.items()} == {
        n: ("chain", "draw", *dims) for n, dims in want.items()
    }
    for dim in ("item", "annotator", *each):
        assert post[dim].to_numpy().tolist() == ann[dim].to_numpy().tolist()
    observed = "score" if family == "gaussian" else "label_code"
    for group in ("observed_data", "log_likelihood", "posterior_predictive"):
        assert list(actual[group].data_vars) == [observed]
        assert actual[group].sizes["annotation"] == ann.sizes["annotation"]
    assert actual.attrs["hyper_family"] == family
    if family == "ordinal":
        assert post["boundary"].to_numpy().tolist() == ["1|2", "2|3", "3|4", "4|5"]
        model = dx.models.get("cross_replication" if pools else "crossed_effects").module
        coords = model.build(ann, family=family).coords
        assert list(coords["boundary"]) == ["1|2", "2|3", "3|4", "4|5"]
        np.testing.assert_allclose(post["cutpoint"].mean("boundary"), 0, atol=1e-12)
        assert (post["cutpoint"].diff("boundary") > 0).all()
        assert actual["constant_data"]["label_value"].to_numpy().tolist() == [1, 2, 3, 4, 5]
    if family != "gaussian":
        want = np.pi / np.sqrt(3) if family == "bernoulli" else 1.0
        assert float(actual["constant_data"]["sigma"]) == pytest.approx(want)
    counts = np.zeros([ann.sizes[dim] for dim in ("item", *each)], dtype=int)
    np.add.at(counts, tuple(ann[f"{dim}_code"].to_numpy() for dim in ("item", *each)), 1)
    np.testing.assert_array_equal(actual["constant_data"]["n_labels_per_item"], counts)
    if pools:
        assert (counts == 0).any()
        _members_of_pools(post, ann)


def _members_of_pools(post, ann):
    """Items have effects in all pools, annotators in their own."""
    correlation = post["correlation"].to_numpy()
    np.testing.assert_array_equal(correlation, np.swapaxes(correlation, -1, -2))
    assert (correlation[..., [0, 1], [0, 1]] == 1).all()
    there = np.zeros((ann.sizes["annotator"], 2), dtype=bool)
    there[ann["annotator_code"], ann["pool_code"]] = True
    assert (np.isnan(post["annotator_effect"].to_numpy()) == ~there).all()
    assert post["item_effect"].notnull().all()


@pytest.mark.parametrize("pools", [False, True], ids=["one pool", "two pools"])
def test_log_likelihood_is_that_of_scipy(pools, complete):
    actual, ann = complete["gaussian", pools], simulated("gaussian", pools)
    sigma = actual["posterior"]["sigma"].to_numpy()[..., None]
    want = stats.norm.logpdf(ann["value"].to_numpy(), middle(actual, ann), sigma)
    np.testing.assert_allclose(actual["log_likelihood"]["score"], want, rtol=1e-10)
    actual, ann = complete["bernoulli", pools], simulated("bernoulli", pools)
    chance = special.expit(middle(actual, ann))
    want = stats.bernoulli.logpmf(ann["label_code"].to_numpy(), chance)
    np.testing.assert_allclose(actual["log_likelihood"]["label_code"], want, rtol=1e-7)
    actual, ann = complete["ordinal", pools], simulated("ordinal", pools)
    code, eta = ann["label_code"].to_numpy(), middle(actual, ann)
    high, low = (stats.norm.cdf(edges(actual)[..., code + k] - eta) for k in (1, 0))
    np.testing.assert_allclose(
        actual["log_likelihood"]["label_code"], np.log(high - low), rtol=1e-6
    )


def test_each_pool_has_its_own_residual_if_asked():
    ann = simulated("gaussian", pools=True)
    fitted = fit(ann, residual="pool", log_likelihood=True, **WIDE)
    sigma = fitted["posterior"]["sigma"]
    assert sigma.dims == ("chain", "draw", "pool")
    sd = sigma.to_numpy()[..., ann["pool_code"]]
    want = stats.norm.logpdf(ann["value"].to_numpy(), middle(fitted, ann), sd)
    np.testing.assert_allclose(fitted["log_likelihood"]["score"], want, rtol=1e-10)


def test_predictions_have_the_distribution_of_the_model(complete):
    """Taken back through the distribution function (at random within a label), they are uniform."""
    rng = np.random.default_rng(1)
    for (family, pools), result in complete.items():
        eta = middle(result, simulated(family, pools))
        drawn = next(iter(result["posterior_predictive"].data_vars.values())).to_numpy()
        if family == "gaussian":
            u = stats.norm.cdf(drawn, eta, result["posterior"]["sigma"].to_numpy()[..., None])
        else:
            if family == "bernoulli":
                no = special.expit(-eta)
                low, high = np.where(drawn == 1, no, 0), np.where(drawn == 1, 1, no)
            else:
                low, high = (
                    stats.norm.cdf(np.take_along_axis(edges(result), drawn + k, axis=-1) - eta)
                    for k in (0, 1)
                )
            u = low + (high - low) * rng.random(eta.shape)
        assert stats.kstest(u.ravel()[::7], "uniform").pvalue > 0.001, family


def test_nominal_labels_of_two_kinds_are_bernoulli():
    words = labels(PLACES, np.array(["no", "yes"])[np.array(GRADES) // 2], labels=["no", "yes"])
    assert words.attrs["kind"] == "nominal"
    numbers = one_pool("bernoulli")
    first, second = (fit(x, family="bernoulli", draws=200) for x in (words, numbers))
    np.testing.assert_array_equal(first["posterior"]["mu"], second["posterior"]["mu"])


def test_ordered_numbers_are_gaussian_if_asked():
    grades = labels(PLACES, [1, 2, 4, 8] * 2 + [1, 2], kind="ordinal", labels=[1, 2, 4, 8])
    numbers = labels(PLACES, [1.0, 2, 4, 8] * 2 + [1, 2], kind="continuous")
    first, second = (fit(x, draws=200) for x in (grades, numbers))
    np.testing.assert_array_equal(first["posterior"]["mu"], second["posterior"]["mu"])


@pytest.mark.long
def test_one_pool_beside_another_of_two_labels_is_all_but_alone():
    ann = dx.simulate.replication_study(40, (8, 8), 4, pools=("a", "b"), random_seed=3).annotations
    pool, who = ann["pool_code"].to_numpy(), ann["annotator_code"].to_numpy()
    few = np.flatnonzero((pool == 1) & (who == who[pool == 1][0]))[:2]
    both = ann.isel(annotation=np.r_[np.flatnonzero(pool == 0), few])
    alone = ann.isel(annotation=np.flatnonzero(pool == 0)).drop_vars(["pool", "pool_code"])
    priors = priors_of("gaussian")  # the default would be scaled to other labels
    first = fit(both, priors=priors, residual="pool", draws=2000)
    second = crossed_effects.fit(
        alone, priors=priors, draws=2000, chains=2, random_seed=1, progressbar=False
    )
    for name in ("sigma_item", "sigma_annotator", "sigma"):
        a, b = first["posterior"][name].isel(pool=0), second["posterior"][name]
        assert abs(float(a.mean() - b.mean())) < 0.25 * float(b.std())


def test_a_pool_in_which_everybody_spoke_once_is_pointed_out():
    ann = two_pools("gaussian")
    once = ann.isel(annotation=[0, 1, 2, 4, 5, 7])
    with pytest.warns(dx.DesignWarning, match="No item of pool 'new' has two labels, and no"):
        fit(once, priors=priors_of("gaussian"), residual="pool", **WIDE)
