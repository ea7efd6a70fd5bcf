"""ICC and annotator ICC, and means of labels: definition, closed forms, quadrature, names, dims."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects, fit_of, tree
from hypothesis import given, settings
from hypothesis import strategies as st
from label_covariance_reference import correlation_ordered, correlation_yes

import dissensus as dx
from dissensus.metrics._components import components, label_steps

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
        single = metric(crossed_effects(family), scale=scale)
        assert single.dims == ("chain", "draw")
        pools = metric(cross_replication(family), scale=scale)
        assert pools.dims == ("chain", "draw", "pool")
        assert list(pools["pool"].values) == ["a", "b", "c"]
        for result in (single, pools):
            assert result.name == metric.__name__
            assert result.attrs == {"better": better, "scale": scale}
            assert 0 <= result.min() <= result.max() <= 1


@every_family
@every_scale
def test_each_pool_and_draw_is_its_own(family, scale):
    fit = cross_replication(family)
    whole = dx.icc(fit, scale=scale)
    draws = fit["posterior"].to_dataset()
    for place, name in enumerate("abc"):
        parameters = draws.isel(chain=1, draw=2, pool=place)
        more = {"sigma": parameters["sigma"]} if family == "gaussian" else {}
        if family == "ordinal":
            more["cutpoint"] = parameters["cutpoint"].values
        names = ("mu", "sigma_item", "sigma_annotator")
        single = fit_of(family, **{k: parameters[k].values for k in names}, **more)
        expected = dx.icc(single, scale=scale).item()
        assert whole.sel(pool=name).values[1, 2] == pytest.approx(expected, rel=1e-12)


def test_a_residual_common_to_all_pools():
    fit = cross_replication("gaussian")
    posterior = fit["posterior"].to_dataset()
    shared = posterior.assign(sigma=posterior["sigma"].isel(pool=0, drop=True))
    fit["posterior"] = xr.DataTree(shared)
    fit["posterior"].attrs.update(fit.attrs)
    icc = dx.icc(fit)
    assert icc.dims == ("chain", "draw", "pool")
    item, annotator = shared["sigma_item"] ** 2, shared["sigma_annotator"] ** 2
    np.testing.assert_allclose(icc, item / (item + annotator + shared["sigma"] ** 2))


def test_observed_is_latent_for_numbers():
    fit = cross_replication("gaussian")
    for metric in (dx.icc, dx.annotator_icc):
        np.testing.assert_array_equal(metric(fit, scale="observed"), metric(fit))


def test_observed_by_integration_over_the_effects():
    # The oracle integrates over the shared effect, see label_covariance_reference.
    fit = fit_with("bernoulli")
    icc = dx.icc(fit, scale="observed").item()
    assert icc == pytest.approx(correlation_yes((0.3, 1.2, 0.7)), abs=1e-9)
    icc = dx.annotator_icc(fit, scale="observed").item()
    assert icc == pytest.approx(correlation_yes((0.3, 0.7, 1.2)), abs=1e-9)
    fit = fit_with("ordinal")
    icc = dx.icc(fit, scale="observed").item()
    assert icc == pytest.approx(correlation_ordered(CUTS, VALUES, (0.3, 1.2, 0.7)), abs=1e-9)
    icc = dx.annotator_icc(fit, scale="observed").item()
    assert icc == pytest.approx(correlation_ordered(CUTS, VALUES, (0.3, 0.7, 1.2)), abs=1e-9)


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
    result = [dx.icc(fit, scale="observed").item() for fit in fits]
    assert result == sorted(result)
    assert 1 - 1e-5 < result[-1] <= 1
    nobody = fit_with(family, mu, 0.0, 1.0)
    assert dx.icc(nobody, scale="observed").item() == 0
    assert dx.icc(nobody).item() == 0


@pytest.mark.long
@given(st.sampled_from(FAMILIES), st.floats(-3, 3), sds, sds, sds)
@some
def test_bounds(family, mu, item, annotator, sigma):
    fit = fit_with(family, mu, item, annotator, sigma)
    for scale in SCALES:
        first, second = dx.icc(fit, scale).item(), dx.annotator_icc(fit, scale).item()
        assert 0 <= first <= 1
        assert 0 <= second <= 1
    # A function of normal numbers is correlated no more than they are (Gebelein 1941). The
    # logistic residual is not normal.
    if family == "ordinal":
        assert first <= dx.icc(fit).item() + 1e-12
        assert second <= dx.annotator_icc(fit).item() + 1e-12
    assert dx.icc(fit).item() + dx.annotator_icc(fit).item() < 1


def test_which_label_is_first_does_not_matter():
    for metric in (dx.icc, dx.annotator_icc):
        expected = metric(fit_with("bernoulli", mu=1.4), scale="observed").item()
        turned = metric(fit_with("bernoulli", mu=-1.4), scale="observed").item()
        assert turned == pytest.approx(expected, rel=1e-12)
        expected = metric(fit_with("ordinal", mu=1.4), scale="observed").item()
        for a, b in ((1.0, 3.0), (-2.0, 0.5)):
            values = [a * value + b for value in VALUES]
            result = metric(fit_with("ordinal", mu=1.4, values=values), scale="observed").item()
            assert result == pytest.approx(expected, rel=1e-12)
        down = fit_with("ordinal", mu=-1.4, cuts=-CUTS[::-1], values=VALUES[::-1])
        assert metric(down, scale="observed").item() == pytest.approx(expected, rel=1e-12)


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
    with pytest.raises(dx.ArgumentError, match=r"anonymous=True.*anonymous=True"):
        dx.annotator_icc(fit, scale)


def test_variances_are_squares_of_standard_deviations():
    fit = fit_of("gaussian", mu=1.0, sigma_item=2.0, sigma_annotator=3.0, sigma=4.0)
    parts = components(fit)
    result = [parts.item, parts.annotator, parts.residual, parts.effects, parts.total]
    assert [part.item() for part in result] == [4, 9, 16, 13, 29]
    assert (parts.correlation, parts.cutpoint, parts.label_value) == (None, None, None)


def test_draws_come_first_however_they_were_laid_out():
    fit = cross_replication("gaussian")
    turned = tree("cross_replication", "gaussian", fit["posterior"].to_dataset().transpose())
    for metric in (dx.icc, dx.annotator_icc, dx.xcc, dx.normalized_xcc):
        xr.testing.assert_identical(metric(turned), metric(fit))


def test_attributes_of_the_posterior_do_too():
    fit = crossed_effects("bernoulli")
    expected = dx.icc(fit)
    fit.attrs.clear()
    xr.testing.assert_identical(dx.icc(fit), expected)


def test_steps_of_labels_keep_their_width():
    fit = crossed_effects("ordinal")
    values = fit["constant_data"]["label_value"]
    fit["constant_data"]["label_value"] = values.copy(data=[1, 2, 5, 10])
    np.testing.assert_array_equal(label_steps(components(fit)), [1.0, 3.0, 5.0])


@pytest.mark.parametrize("values", [None, [1, 2]])
def test_ordered_labels_need_their_numbers_on_the_observed_scale(values):
    fit = crossed_effects("ordinal")
    other = tree("crossed_effects", "ordinal", fit["posterior"].to_dataset(), values)
    xr.testing.assert_identical(dx.icc(other), dx.icc(fit))
    with pytest.raises(dx.ArgumentError, match="expected 'label_value'"):
        dx.icc(other, scale="observed")


DRAWS = xr.DataArray(
    [[[0.2, 0.5], [0.4, 0.0]]],
    dims=("chain", "draw", "pool"),
    coords={"chain": [0], "draw": [0, 1], "pool": ["a", "b"]},
    name="icc",
)


def formula(icc, k):
    return k * icc / ((k - 1) * icc + 1)


def test_numbers_in_numbers_out():
    reliability = dx.spearman_brown(0.25, 3)
    assert type(reliability) is float
    assert reliability == 0.5
    assert dx.spearman_brown(0.4, 2.5) == pytest.approx(formula(0.4, 2.5))
    assert type(dx.annotators_needed(0.25, 0.6)) is float
    np.testing.assert_allclose(dx.spearman_brown(0.25, [1, 3]), [0.25, 0.5])
    np.testing.assert_allclose(dx.spearman_brown([0.25, 0.5], 3), [0.5, 0.75])
    table = dx.spearman_brown(np.array([[0.25], [0.5]]), [1, 3])
    np.testing.assert_allclose(table, [[0.25, 0.5], [0.5, 0.75]])
    np.testing.assert_array_equal(dx.annotators_needed([0.5, 0.25, 0.0], 0.8), [4, 12, np.inf])


def test_draws_keep_their_names():
    reliability = dx.spearman_brown(DRAWS, 3)
    assert reliability.dims == DRAWS.dims
    assert reliability.name == "spearman_brown"
    assert reliability.attrs == {"better": "higher"}
    np.testing.assert_allclose(reliability, formula(DRAWS, 3))
    needed = dx.annotators_needed(DRAWS, target=0.5)
    assert needed.name == "annotators_needed"
    assert needed.attrs == {"better": "lower"}
    np.testing.assert_array_equal(needed, [[[4, 1], [2, np.inf]]])
    xr.testing.assert_equal(needed["pool"], DRAWS["pool"])


def test_the_scale_is_not_forgotten():
    draws = dx.icc(fit_of("bernoulli", mu=0.0, sigma_item=1.0, sigma_annotator=0.5), "observed")
    assert dx.spearman_brown(draws, 3).attrs == {"better": "higher", "scale": "observed"}
    assert dx.annotators_needed(draws, 0.9).attrs == {"better": "lower", "scale": "observed"}


@pytest.mark.parametrize("k", [(1, 2, 5), [1, 2, 5], np.array([1, 2, 5]), range(1, 6, 2)])
def test_several_numbers_add_a_dim(k):
    reliability = dx.spearman_brown(DRAWS, k)
    assert reliability.dims == ("chain", "draw", "pool", "annotator")
    np.testing.assert_array_equal(reliability["annotator"], list(k))
    for count in k:
        np.testing.assert_allclose(reliability.sel(annotator=count), formula(DRAWS, count))


def test_named_numbers_are_matched_by_name():
    k = xr.DataArray([2, 5], dims="pool", coords={"pool": ["a", "b"]})
    reliability = dx.spearman_brown(DRAWS, k)
    assert reliability.dims == DRAWS.dims
    np.testing.assert_allclose(reliability.sel(pool="b"), formula(DRAWS.sel(pool="b"), 5))
    budget = xr.DataArray([2.0, 5.0], dims="budget")
    assert dx.spearman_brown(DRAWS, budget).dims == ("chain", "draw", "pool", "budget")
    assert dx.spearman_brown(0.2, budget).dims == ("budget",)


def test_there_and_back_on_draws():
    draws = dx.icc(cross_replication("ordinal", draws=200), "observed")
    count = dx.annotators_needed(draws, target=0.9)
    assert float(dx.spearman_brown(draws, count).min()) >= 0.9 * (1 - 1e-12)
    fewer = dx.spearman_brown(draws, (count - 1).clip(min=1))
    assert float(fewer.where(count > 1).max()) < 0.9


def test_undefined_reliabilities_stay_undefined():
    draws = xr.DataArray([[np.nan, -0.5, 0.5]], dims=("chain", "draw"))
    np.testing.assert_array_equal(dx.spearman_brown(draws, 3), [[np.nan, np.nan, 0.75]])
    np.testing.assert_array_equal(dx.annotators_needed(draws, 0.5), [[np.nan, np.inf, 1]])
