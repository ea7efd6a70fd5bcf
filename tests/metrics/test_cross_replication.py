"""xCC and normalised xCC: the definition, simulated labels, and what must hold of pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects, fit_of
from hypothesis import given, settings
from hypothesis import strategies as st
from label_covariance_reference import correlation_ordered, correlation_yes

import dissensus as dx
from dissensus.metrics._cross_replication import annotators_outweigh_items

FAMILIES = ("gaussian", "bernoulli", "ordinal")
SCALES = ("latent", "observed")
METRICS = (dx.xcc, dx.normalized_xcc)
CUTS = np.array([-0.9, -0.2, 1.1])
VALUES = (1, 2, 4, 8)
few = settings(deadline=None, max_examples=10)
every_family = pytest.mark.parametrize("family", FAMILIES)
every_scale = pytest.mark.parametrize("scale", SCALES)
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)


def two_pools(family, rho=0.6, mu=(0.3, -1.0), item=(1.2, 0.8), annotator=(0.7, 1.5)):
    more = {"sigma": (0.9, 0.5)} if family == "gaussian" else {}
    if family == "ordinal":
        more = {"cutpoint": CUTS, "label_value": VALUES}
    return fit_of(
        family, names=["x", "y"], correlation=[[1, rho], [rho, 1]],
        mu=mu, sigma_item=item, sigma_annotator=annotator, **more,
    )  # fmt: skip


@every_family
def test_latent_is_the_definition(family):
    fit = cross_replication(family)
    rho = fit["posterior"]["correlation"]
    np.testing.assert_array_equal(dx.normalized_xcc(fit), rho)
    icc = dx.icc(fit)
    expected = rho * np.sqrt(icc * icc.rename(pool="pool_"))
    np.testing.assert_allclose(dx.xcc(fit), expected, rtol=1e-12)
    if family == "gaussian":
        xr.testing.assert_equal(dx.xcc(fit, "observed"), dx.xcc(fit))
        xr.testing.assert_equal(dx.normalized_xcc(fit, "observed"), rho.drop_attrs())


@pytest.mark.parametrize("rho", [-0.8, 0.0, 0.6, 0.97])
def test_observed_by_integration_over_the_effects(rho):
    # The oracle integrates over one pool's item effect, see label_covariance_reference.
    first, second = (0.3, 1.2, 0.7), (-1.0, 0.8, 1.5)
    xcc = dx.xcc(two_pools("bernoulli", rho), "observed", pools=("x", "y")).item()
    assert xcc == pytest.approx(correlation_yes(first, second, rho), abs=1e-9)
    xcc = dx.xcc(two_pools("ordinal", rho), "observed", pools=("x", "y")).item()
    assert xcc == pytest.approx(correlation_ordered(CUTS, VALUES, first, second, rho), abs=1e-9)


@every_family
@every_scale
@every_metric
def test_the_matrix_of_pools(metric, scale, family):
    actual = metric(cross_replication(family), scale)
    assert actual.dims == ("chain", "draw", "pool", "pool_")
    assert actual.name == metric.__name__
    assert actual.attrs == {"better": "higher", "scale": scale}
    for dim in ("pool", "pool_"):
        assert list(actual[dim].values) == ["a", "b", "c"]
    turned = actual.rename(pool="pool_", pool_="pool").transpose(*actual.dims)
    xr.testing.assert_identical(turned, actual)
    assert -1 <= actual.min() <= actual.max() <= 1
    own = actual.values[..., np.arange(3), np.arange(3)]
    expected = dx.icc(cross_replication(family), scale) if metric is dx.xcc else 1.0
    np.testing.assert_array_equal(own, expected * np.ones_like(own))


@every_family
@every_scale
@every_metric
def test_a_pair_and_a_reference_are_parts_of_the_matrix(metric, scale, family):
    fit = cross_replication(family)
    whole = metric(fit, scale)
    for pool, other_pool in itertools.permutations("abc", 2):
        pair = metric(fit, scale, pools=(pool, other_pool))
        assert pair.dims == ("chain", "draw")
        assert set(pair.coords) == {"chain", "draw"}
        np.testing.assert_allclose(pair, whole.sel(pool=pool, pool_=other_pool), rtol=1e-12)
    for place, name in enumerate("abc"):
        column = metric(fit, scale, reference=name)
        rest = [other_pool for other_pool in "abc" if other_pool != name]
        assert column.dims == ("chain", "draw", "pool")
        assert list(column["pool"].values) == rest
        expected = whole.isel(pool_=place).sel(pool=rest)
        np.testing.assert_allclose(column, expected, rtol=1e-12)
        assert column.attrs == whole.attrs


@pytest.mark.long
@given(st.integers(0, 2**31), st.sampled_from(FAMILIES))
@few
def test_normalised_observed_is_nearer_to_zero_than_the_correlation(seed, family):
    # Mean labels are increasing functions of the item's effects, which are jointly normal: of
    # the same sign, and no more correlated than these (Gebelein 1941).
    fit = cross_replication(family, seed=seed)
    rho, result = dx.normalized_xcc(fit), dx.normalized_xcc(fit, scale="observed")
    assert bool((abs(result) <= abs(rho) + 1e-9).all())
    assert bool((result * rho >= 0).all())
    icc = dx.icc(fit, scale="observed")
    product = result * np.sqrt(icc * icc.rename(pool="pool_"))
    np.testing.assert_allclose(product, dx.xcc(fit, scale="observed"), atol=1e-12)


@every_family
@every_scale
def test_pools_that_are_one_have_the_icc_for_xcc(family, scale):
    same = {"mu": (0.4, 0.4), "item": (1.1, 1.1), "annotator": (0.6, 0.6)}
    fit = two_pools(family, rho=1.0, **same)
    if family == "gaussian":
        fit["posterior"]["sigma"] = 0 * fit["posterior"]["sigma"] + 0.8
    expected = dx.icc(fit, scale).isel(pool=0, drop=True)
    np.testing.assert_allclose(dx.xcc(fit, scale, pools=("x", "y")), expected, rtol=1e-10)
    xcc = dx.normalized_xcc(fit, scale, pools=("x", "y"))
    np.testing.assert_allclose(xcc, 1.0, rtol=1e-10)


def test_without_differences_between_items_the_observed_one_is_undefined():
    fit = two_pools("bernoulli", item=(0.0, 1.0))
    assert dx.xcc(fit, "observed", pools=("x", "y")).item() == 0
    assert np.isnan(dx.normalized_xcc(fit, "observed", pools=("x", "y")).item())
    assert dx.normalized_xcc(fit, pools=("x", "y")).item() == 0.6


def test_pools_may_be_numbers():
    fit = cross_replication("gaussian", names=[1, 2, 3])
    whole = dx.xcc(fit)
    np.testing.assert_array_equal(dx.xcc(fit, pools=(3, 1)), whole.sel(pool=3, pool_=1))
    np.testing.assert_array_equal(dx.xcc(fit, pools=np.array([3, 1])), whole.sel(pool=3, pool_=1))
    assert list(dx.xcc(fit, reference=2)["pool"].values) == [1, 3]


def test_annotators_without_names():
    fit = cross_replication("ordinal")
    bare = cross_replication("ordinal")
    bare["posterior"] = xr.DataTree(fit["posterior"].to_dataset().drop_vars("sigma_annotator"))
    fit["posterior"]["sigma_annotator"] = 0 * fit["posterior"]["sigma_annotator"]
    for metric, scale in itertools.product(METRICS, SCALES):
        np.testing.assert_array_equal(metric(bare, scale), metric(fit, scale))


@pytest.mark.long
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
@pytest.mark.parametrize("scale", ["latent", "observed"])
def test_is_the_share_of_draws_with_the_larger_annotator_icc(family, scale):
    for fit in (crossed_effects(family, draws=100), cross_replication(family, draws=60)):
        result = annotators_outweigh_items(fit)
        above = dx.annotator_icc(fit, scale) > dx.icc(fit, scale)
        np.testing.assert_array_equal(result, above.mean(("chain", "draw")))
        assert result.name == "annotators_outweigh_items"
        assert result.dims == above.dims[2:]
        assert 0 < result.min() <= result.max() < 1
