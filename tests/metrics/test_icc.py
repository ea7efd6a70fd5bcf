"""ICC and annotator ICC: the definition, closed forms, simulated labels, and what must hold."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects, fit_of
from hypothesis import given, settings
from hypothesis import strategies as st
from label_covariance_reference import correlation_ordered, correlation_yes
from scipy.stats import pearsonr

import dissensus as dx

FAMILIES = ("gaussian", "bernoulli", "ordinal")
SCALES = ("latent", "observed")
CUTS = np.array([-0.9, -0.2, 1.1])
VALUES = (1, 2, 4, 8)
sds = st.floats(0.01, 20)
some = settings(deadline=None, max_examples=12)
every_family = pytest.mark.parametrize("family", FAMILIES)
every_scale = pytest.mark.parametrize("scale", SCALES)


def fit_with(family, mu=0.3, item=1.2, annotator=0.7, sigma=0.9, cuts=CUTS, values=VALUES):
    more = {"sigma": sigma} if family == "gaussian" else {}
    if family == "ordinal":
        more |= {"cutpoint": cuts, "label_value": values}
    return fit_of(family, mu=mu, sigma_item=item, sigma_annotator=annotator, **more)


def test_is_the_share_of_the_variance():
    # Shrout & Fleiss (1979), REML components: item 2.556, annotator 5.244, residual 1.019;
    # ICC(2,1) = .290 in their Table 4.
    sd = np.sqrt([2.556, 5.244, 1.019])
    fit = fit_with("gaussian", item=sd[0], annotator=sd[1], sigma=sd[2])
    assert dx.icc(fit).item() == pytest.approx(0.290, abs=0.0005)
    assert dx.annotator_icc(fit).item() == pytest.approx(5.244 / 8.819)
    fit = fit_with("bernoulli", item=1.0, annotator=2.0)
    assert dx.icc(fit).item() == pytest.approx(1 / (5 + np.pi**2 / 3))
    fit = fit_with("ordinal", item=1.0, annotator=2.0)
    assert dx.annotator_icc(fit).item() == pytest.approx(4 / 6)


@every_family
@every_scale
def test_dims_names_and_attributes(family, scale):
    for metric, better in ((dx.icc, "higher"), (dx.annotator_icc, "lower")):
        one = metric(crossed_effects(family), scale=scale)
        assert one.dims == ("chain", "draw")
        pools = metric(cross_replication(family), scale=scale)
        assert pools.dims == ("chain", "draw", "pool")
        assert list(pools["pool"].values) == ["a", "b", "c"]
        for found in (one, pools):
            assert found.name == metric.__name__
            assert found.attrs == {"better": better, "scale": scale}
            assert 0 <= found.min() <= found.max() <= 1


@every_family
@every_scale
def test_each_pool_and_draw_is_its_own(family, scale):
    fit = cross_replication(family)
    whole = dx.icc(fit, scale=scale)
    draws = fit["posterior"].to_dataset()
    for place, name in enumerate("abc"):
        one = draws.isel(chain=1, draw=2, pool=place)
        more = {"sigma": one["sigma"]} if family == "gaussian" else {}
        if family == "ordinal":
            more["cutpoint"] = one["cutpoint"].values
        names = ("mu", "sigma_item", "sigma_annotator")
        single = fit_of(family, **{k: one[k].values for k in names}, **more)
        expected = dx.icc(single, scale=scale).item()
        assert whole.sel(pool=name).values[1, 2] == pytest.approx(expected, rel=1e-12)


def test_a_residual_common_to_all_pools():
    fit = cross_replication("gaussian")
    posterior = fit["posterior"].to_dataset()
    shared = posterior.assign(sigma=posterior["sigma"].isel(pool=0, drop=True))
    fit["posterior"] = xr.DataTree(shared)
    fit["posterior"].attrs.update(fit.attrs)
    found = dx.icc(fit)
    assert found.dims == ("chain", "draw", "pool")
    item, annotator = shared["sigma_item"] ** 2, shared["sigma_annotator"] ** 2
    np.testing.assert_allclose(found, item / (item + annotator + shared["sigma"] ** 2))


def test_observed_is_latent_for_numbers():
    fit = cross_replication("gaussian")
    for metric in (dx.icc, dx.annotator_icc):
        np.testing.assert_array_equal(metric(fit, scale="observed"), metric(fit))


def test_observed_by_integration_over_the_effects():
    # The oracle integrates over the shared effect, see label_covariance_reference.
    fit = fit_with("bernoulli")
    found = dx.icc(fit, scale="observed").item()
    assert found == pytest.approx(correlation_yes((0.3, 1.2, 0.7)), abs=1e-9)
    found = dx.annotator_icc(fit, scale="observed").item()
    assert found == pytest.approx(correlation_yes((0.3, 0.7, 1.2)), abs=1e-9)
    fit = fit_with("ordinal")
    found = dx.icc(fit, scale="observed").item()
    assert found == pytest.approx(correlation_ordered(CUTS, VALUES, (0.3, 1.2, 0.7)), abs=1e-9)
    found = dx.annotator_icc(fit, scale="observed").item()
    assert found == pytest.approx(correlation_ordered(CUTS, VALUES, (0.3, 0.7, 1.2)), abs=1e-9)


@every_family
def test_observed_is_the_correlation_of_simulated_labels(family):
    rng = np.random.default_rng(11)
    n = 400_000
    item, other, annotator, second = (sd * rng.standard_normal(n) for sd in (1.2, 1.2, 0.7, 0.7))
    first_eta = 0.3 + item + annotator

    def label(eta):
        if family == "gaussian":
            return rng.normal(eta, 0.9)
        if family == "bernoulli":
            return 1.0 * (rng.random(n) < 1 / (1 + np.exp(-eta)))
        return np.take(VALUES, np.searchsorted(CUTS, eta + rng.standard_normal(n)))

    fit = fit_with(family)
    first = label(first_eta)
    by_another = pearsonr(first, label(0.3 + item + second)).statistic
    of_another = pearsonr(first, label(0.3 + other + annotator)).statistic
    # Four standard errors of a correlation, which is at most 1/sqrt(n).
    tolerance = 4 / np.sqrt(n)
    assert dx.icc(fit, "observed").item() == pytest.approx(by_another, abs=tolerance)
    assert dx.annotator_icc(fit, "observed").item() == pytest.approx(of_another, abs=tolerance)


@pytest.mark.long
@given(sds, sds)
@some
def test_two_ordered_labels_cut_in_the_middle_are_an_arc_sine(item, annotator):
    # Sheppard (1899): the orthant probability of correlated normal numbers.
    fit = fit_with("ordinal", 0.0, item, annotator, cuts=[0.0], values=(0, 1))
    rho = dx.icc(fit).item()
    expected = 2 / np.pi * np.arcsin(rho)
    assert dx.icc(fit, scale="observed").item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "ordinal"])
@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_agreement_becomes_perfect(family, mu):
    fits = [fit_with(family, mu * item, item, 0.0) for item in (10.0, 1e3, 1e6)]
    found = [dx.icc(fit, scale="observed").item() for fit in fits]
    assert found == sorted(found)
    assert 1 - 1e-5 < found[-1] <= 1
    nobody = fit_with(family, mu, 0.0, 1.0)
    assert dx.icc(nobody, scale="observed").item() == 0
    assert dx.icc(nobody).item() == 0


@pytest.mark.long
@given(st.sampled_from(FAMILIES), st.floats(-3, 3), sds, sds, sds)
@some
def test_bounds(family, mu, item, annotator, sigma):
    fit = fit_with(family, mu, item, annotator, sigma)
    for scale in SCALES:
        one, other = dx.icc(fit, scale).item(), dx.annotator_icc(fit, scale).item()
        assert 0 <= one <= 1
        assert 0 <= other <= 1
    # A function of normal numbers is correlated no more than they are (Gebelein 1941). The
    # logistic residual is not normal.
    if family == "ordinal":
        assert one <= dx.icc(fit).item() + 1e-12
        assert other <= dx.annotator_icc(fit).item() + 1e-12
    assert dx.icc(fit).item() + dx.annotator_icc(fit).item() < 1


@pytest.mark.long
@given(st.sampled_from(FAMILIES), sds, sds, st.floats(1.01, 4), st.sampled_from(SCALES))
@some
def test_grows_with_what_items_differ_by_and_falls_with_what_annotators_do(
    family, item, annotator, factor, scale
):
    # In the middle of the scale: at its ends, more spread also makes the rare label less rare.
    middle = {"mu": 0.0, "cuts": [0.0], "values": (0, 1)}

    def both(item, annotator):
        fit = fit_with(family, item=item, annotator=annotator, **middle)
        return dx.icc(fit, scale).item(), dx.annotator_icc(fit, scale).item()

    base = both(item, annotator)
    more_items, more_annotators = both(factor * item, annotator), both(item, factor * annotator)
    assert more_items[0] > base[0] > more_annotators[0]
    assert more_items[1] < base[1] < more_annotators[1]


@pytest.mark.long
@given(st.floats(0.01, 100), st.floats(-100, 100))
@some
def test_units_and_origin_of_numbers_do_not_matter(unit, origin):
    one = fit_with("gaussian")
    other = fit_with("gaussian", origin, 1.2 * unit, 0.7 * unit, 0.9 * unit)
    for metric in (dx.icc, dx.annotator_icc):
        assert metric(other).item() == pytest.approx(metric(one).item())


def test_which_label_is_first_does_not_matter():
    for metric in (dx.icc, dx.annotator_icc):
        one = metric(fit_with("bernoulli", mu=1.4), scale="observed").item()
        turned = metric(fit_with("bernoulli", mu=-1.4), scale="observed").item()
        assert turned == pytest.approx(one, rel=1e-12)
        one = metric(fit_with("ordinal", mu=1.4), scale="observed").item()
        for a, b in ((1.0, 3.0), (-2.0, 0.5)):
            values = [a * value + b for value in VALUES]
            found = metric(fit_with("ordinal", mu=1.4, values=values), scale="observed").item()
            assert found == pytest.approx(one, rel=1e-12)
        down = fit_with("ordinal", mu=-1.4, cuts=-CUTS[::-1], values=VALUES[::-1])
        assert metric(down, scale="observed").item() == pytest.approx(one, rel=1e-12)


def test_a_label_that_all_give_leaves_it_undefined():
    fit = fit_with("ordinal", mu=80.0)
    assert np.isnan(dx.icc(fit, scale="observed").item())
    assert dx.icc(fit).item() > 0


@every_family
@every_scale
def test_annotators_without_names(family, scale):
    fit = crossed_effects(family)
    fit["posterior"] = xr.DataTree(fit["posterior"].to_dataset().drop_vars("sigma_annotator"))
    nothing = crossed_effects(family)
    nothing["posterior"]["sigma_annotator"] = 0 * nothing["posterior"]["sigma_annotator"]
    xr.testing.assert_identical(dx.icc(fit, scale), dx.icc(nothing, scale))
    with pytest.raises(dx.ArgumentError, match=r"annotators have no names.*anonymous=True"):
        dx.annotator_icc(fit, scale)
