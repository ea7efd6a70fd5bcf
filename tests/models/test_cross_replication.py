"""Several pools: the exact posterior of tiny data, and what only pools have."""

from __future__ import annotations

import crossed_reference
import numpy as np
import pytest
from crossed_labels import priors_of, two_pools
from scipy import stats

import dissensus as dx
from dissensus.models import cross_replication, crossed_effects

FAMILIES = ("gaussian", "bernoulli", "ordinal")
by_family = pytest.mark.parametrize("family", FAMILIES)
WIDE = {"draws": 90, "tune": 200}
"""So few that chains are not judged."""


def fit(ann, **options):
    return cross_replication.fit(
        ann, **{"draws": 2500, "chains": 2, "random_seed": 12, "progressbar": False, **options}
    )


def integrated(ann, family, *, anonymous=False, **options):
    priors = priors_of(family, anonymous=anonymous)
    made = {"pools": True, "anonymous": anonymous, **options}
    if family == "gaussian":
        return crossed_reference.gaussian(ann, priors, **made)
    return crossed_reference.labels(ann, family, priors, log2=17, **made)


# -- The exact posterior: items seen by one pool only are in every design ----------------------

VARIANTS = {
    **{family: (family, {}, {}) for family in FAMILIES},
    **{f"{family}, anonymous": (family, {"anonymous": True}, {"anonymous": True})
       for family in FAMILIES},
    "residual per pool": ("gaussian", {"residual": "pool"}, {"n_sd": 2}),
    "residual per pool, anonymous": (
        "gaussian", {"anonymous": True, "residual": "pool"}, {"anonymous": True, "n_sd": 2}
    ),
    "correlations near 0": ("gaussian", {"correlation_prior": 5.0}, {"eta": 5.0}),
}  # fmt: skip
"""Family, options of a fit, and those of the integration."""


@pytest.mark.unit(0, long=4)
@pytest.mark.parametrize("name", VARIANTS)
def test_the_posterior_is_that_of_integration(name):
    family, options, same = VARIANTS[name]
    ann = two_pools(family)
    priors = priors_of(family, anonymous=options.get("anonymous", False))
    found = fit(ann, family=family, priors=priors, **options)
    crossed_reference.compare(found, integrated(ann, family, **same), enough=300)


@pytest.mark.unit(0, long=1)
@by_family
def test_an_annotator_in_two_pools_is_two_members(family):
    ann = two_pools(family, shared=True)
    with pytest.raises(dx.AnnotationError, match=r"annotators 'a0': .*found 1 in several"):
        fit(ann, family=family)
    found = fit(ann, family=family, priors=priors_of(family), shared_annotators=True)
    crossed_reference.compare(found, integrated(ann, family), enough=300)
    here = found["posterior"]["annotator_effect"].sel(annotator="a0")
    assert here.notnull().all()
    assert not np.allclose(here.isel(pool=0), here.isel(pool=1))


@pytest.mark.long
def test_two_ordered_labels_have_no_gap():
    ann = two_pools("ordinal", n_labels=2)
    found = fit(ann, family="ordinal", priors=priors_of("ordinal"))
    crossed_reference.compare(found, integrated(ann, "ordinal"), enough=300)


@pytest.mark.long
def test_three_pools():
    ann = two_pools("gaussian", n_pools=3)
    found = fit(ann, priors=priors_of("gaussian"), correlation_prior=3.0)
    crossed_reference.compare(found, integrated(ann, "gaussian", eta=3.0, log2=14), enough=300)


# -- Invariances ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    """Return a simulated study of a family, made once."""
    found = {
        family: dx.simulate.replication_study(
            30, (6, 4), (4, 3), family=family, pools=("old", "new"), overlap=0.8, random_seed=1
        ).annotations
        for family in FAMILIES
    }
    return found.__getitem__


@pytest.mark.long
@pytest.mark.parametrize("family", ["gaussian", "ordinal"])
def test_the_order_of_pools_does_not_matter(family, study):
    ann = study(family)
    other = ann.isel(pool=[1, 0]).assign(pool_code=1 - ann["pool_code"])
    one, two = (fit(x, family=family, draws=1500, random_seed=s, keep_effects=False)
                for x, s in ((ann, 1), (other, 2)))  # fmt: skip
    turned = two["posterior"].to_dataset().sel(pool=["old", "new"], pool_=["old", "new"])
    two["posterior"] = type(two)(turned)
    crossed_reference.compare_fits(one, two, enough=150, errors=4.5)


@pytest.mark.parametrize("residual", ["shared", "pool"])
def test_the_unit_of_numbers_does_not_matter(residual, study):
    ann = study("gaussian")
    other = ann.assign(value=ann["value"] * 0.3 - 7)
    one, two = (fit(x, residual=residual, **WIDE)["posterior"] for x in (ann, other))
    np.testing.assert_allclose(one["correlation"], two["correlation"], atol=1e-6)
    for name in ("sigma_item", "sigma_annotator", "sigma", "item_effect"):
        np.testing.assert_allclose(two[name], one[name] * 0.3, rtol=1e-5, atol=1e-6)


@pytest.mark.long
def test_pools_without_a_link_are_pools_apart():
    """No item in both: each pool has the posterior it has alone, and the correlation its prior."""
    both = two_pools("gaussian")
    pool = both["pool_code"].to_numpy()
    apart = both.assign(item_code=("annotation", 4 * pool + both["item_code"].to_numpy()))
    apart = apart.drop_vars("item").assign_coords(item=np.arange(8))
    dx.validate(apart)
    priors = priors_of("gaussian")
    found = fit(apart, priors=priors, residual="pool", draws=6000, keep_effects=False)
    correlation = found["posterior"]["correlation"][..., 0, 1].to_numpy()
    assert stats.kstest(correlation[:, ::5].ravel(), stats.uniform(-1, 2).cdf).pvalue > 0.001
    for p in (0, 1):
        alone = apart.isel(annotation=np.flatnonzero(pool == p)).drop_vars(["pool", "pool_code"])
        alone = crossed_reference.gaussian(alone, priors)
        one = found.copy()
        here = found["posterior"].to_dataset().isel(pool=p)[["sigma_item", "sigma_annotator"]]
        one["posterior"] = type(found)(here)
        crossed_reference.compare(one, alone)


# -- What comes back --------------------------------------------------------------------------


@by_family
def test_dims_and_names(family, study):
    ann = study(family)
    found = fit(ann, family=family, log_likelihood=True, posterior_predictive=True, **WIDE)
    post = found["posterior"]
    want = {
        "mu": ("pool",), "sigma_item": ("pool",), "sigma_annotator": ("pool",),
        "correlation": ("pool", "pool_"), "item_effect": ("item", "pool"),
        "annotator_effect": ("annotator", "pool"),
    }  # fmt: skip
    want |= {"gaussian": {"sigma": ()}, "bernoulli": {}, "ordinal": {"cutpoint": ("boundary",)}}[
        family
    ]
    assert {n: v.dims for n, v in post.data_vars.items()} == {
        n: ("chain", "draw", *dims) for n, dims in want.items()
    }
    assert post["pool"].to_numpy().tolist() == post["pool_"].to_numpy().tolist() == ["old", "new"]
    R = post["correlation"].to_numpy()
    np.testing.assert_array_equal(R[..., 0, 1], R[..., 1, 0])
    assert (R[..., [0, 1], [0, 1]] == 1).all()
    seat = np.unique(np.stack([ann["annotator_code"], ann["pool_code"]]), axis=1)
    there = np.zeros((ann.sizes["annotator"], 2), dtype=bool)
    there[seat[0], seat[1]] = True
    effect = post["annotator_effect"].to_numpy()
    assert (np.isnan(effect) == ~there).all()
    counts = np.zeros((30, 2), dtype=int)
    np.add.at(counts, (ann["item_code"].to_numpy(), ann["pool_code"].to_numpy()), 1)
    assert (counts == 0).any()
    assert post["item_effect"].notnull().all()
    np.testing.assert_array_equal(found["constant_data"]["n_labels_per_item"], counts)
    observed = "score" if family == "gaussian" else "label_code"
    for group in ("observed_data", "log_likelihood", "posterior_predictive"):
        assert list(found[group].data_vars) == [observed]


def test_log_likelihood_is_that_of_scipy(study):
    ann = study("gaussian")
    found = fit(ann, residual="pool", log_likelihood=True, **WIDE)
    post = found["posterior"]
    pool = ann["pool_code"].to_numpy()
    eta = (
        post["mu"].to_numpy()[..., pool]
        + post["item_effect"].to_numpy()[..., ann["item_code"], pool]
        + post["annotator_effect"].to_numpy()[..., ann["annotator_code"], pool]
    )
    want = stats.norm.logpdf(ann["value"].to_numpy(), eta, post["sigma"].to_numpy()[..., pool])
    np.testing.assert_allclose(found["log_likelihood"]["score"], want, rtol=1e-10)
    assert post["sigma"].dims == ("chain", "draw", "pool")


@pytest.mark.long
def test_one_pool_beside_another_of_two_labels_is_all_but_alone():
    ann = dx.simulate.replication_study(40, (8, 8), 4, pools=("a", "b"), random_seed=3).annotations
    pool, who = ann["pool_code"].to_numpy(), ann["annotator_code"].to_numpy()
    few = np.flatnonzero((pool == 1) & (who == who[pool == 1][0]))[:2]
    both = ann.isel(annotation=np.r_[np.flatnonzero(pool == 0), few])
    alone = ann.isel(annotation=np.flatnonzero(pool == 0)).drop_vars(["pool", "pool_code"])
    priors = priors_of("gaussian")  # the default would be scaled to other labels
    one = fit(both, priors=priors, residual="pool", draws=2000)
    two = crossed_effects.fit(
        alone, priors=priors, draws=2000, chains=2, random_seed=1, progressbar=False
    )
    for name in ("sigma_item", "sigma_annotator", "sigma"):
        a, b = one["posterior"][name].isel(pool=0), two["posterior"][name]
        assert abs(float(a.mean() - b.mean())) < 0.25 * float(b.std())


def test_a_pool_in_which_everybody_spoke_once_is_pointed_out():
    ann = two_pools("gaussian")
    once = ann.isel(annotation=[0, 1, 2, 4, 5, 7])
    with pytest.warns(dx.DesignWarning, match="No item of pool 'new' has two labels, and no"):
        fit(once, priors=priors_of("gaussian"), residual="pool", **WIDE)
