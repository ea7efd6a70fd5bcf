"""What is read out of a fit, and what is said of one that will not do."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects, fit_of, tree

import dissensus as dx
from dissensus.metrics._components import components, label_steps


def test_variances_are_squares_of_standard_deviations():
    fit = fit_of("gaussian", mu=1.0, sigma_item=2.0, sigma_annotator=3.0, sigma=4.0)
    parts = components(fit)
    found = [parts.item, parts.annotator, parts.residual, parts.effects, parts.total]
    assert [part.item() for part in found] == [4, 9, 16, 13, 29]
    assert (parts.correlation, parts.cutpoint, parts.label_value) == (None, None, None)


@pytest.mark.parametrize(("family", "expected"), [("bernoulli", np.pi**2 / 3), ("ordinal", 1.0)])
def test_latent_residual_of_a_family(family, expected):
    parts = components(crossed_effects(family))
    np.testing.assert_array_equal(parts.residual, expected)
    assert parts.residual.dims == ("chain", "draw")


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


@pytest.mark.parametrize("metric", [dx.icc, dx.annotator_icc, dx.xcc, dx.normalized_xcc])
def test_what_is_no_such_fit_is_refused(metric):
    fit = cross_replication("ordinal")
    posterior = fit["posterior"].to_dataset()
    for wrong in (None, posterior, posterior["mu"], 0.5):
        with pytest.raises(dx.ArgumentError, match=r"^fit: expected a fit of .*cross_replication"):
            metric(wrong)
    with pytest.raises(dx.ArgumentError, match="found no groups"):
        metric(xr.DataTree())
    with pytest.raises(dx.ArgumentError, match="found the groups 'constant_data'"):
        metric(xr.DataTree.from_dict({"constant_data": fit["constant_data"].to_dataset()}))
    with pytest.raises(dx.ArgumentError, match="found a fit of dirichlet"):
        metric(tree("dirichlet", "gaussian", posterior))
    with pytest.raises(dx.ArgumentError, match="found no attribute 'model'"):
        metric(xr.DataTree.from_dict({"posterior": posterior.drop_attrs()}))
    with pytest.raises(dx.ArgumentError, match=r"^family of the fit: expected 'gaussian' or"):
        metric(tree("cross_replication", "poisson", posterior))
    with pytest.raises(dx.ArgumentError, match="scale: expected 'latent' or 'observed'"):
        metric(fit, scale="Latent")


@pytest.mark.parametrize("name", ["mu", "sigma_item", "cutpoint", "correlation"])
def test_missing_draws_are_named(name):
    fit = cross_replication("ordinal")
    rest = fit["posterior"].to_dataset().drop_vars(name)
    with pytest.raises(dx.ArgumentError, match=f"found none of '{name}'"):
        dx.icc(tree("cross_replication", "ordinal", rest))


@pytest.mark.parametrize("values", [None, [1, 2]])
def test_ordered_labels_need_their_numbers_on_the_observed_scale(values):
    fit = crossed_effects("ordinal")
    other = tree("crossed_effects", "ordinal", fit["posterior"].to_dataset(), values)
    xr.testing.assert_identical(dx.icc(other), dx.icc(fit))
    with pytest.raises(dx.ArgumentError, match="expected 'label_value'"):
        dx.icc(other, scale="observed")
