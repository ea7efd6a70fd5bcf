"""What models share on the way from draws to a DataTree."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr
from numba.core.errors import NumbaPerformanceWarning

import dissensus as dx
from dissensus.sampling import fitting


def test_kinds(votes):
    ann, _ = votes
    fitting.require_kind(ann, ("nominal",), "some_model")
    with pytest.raises(dx.AnnotationError, match="'ranking' or 'ordinal' for the model some_model"):
        fitting.require_kind(ann, ("ranking", "ordinal"), "some_model")


def test_items_without_annotations_are_named(votes):
    ann, _ = votes
    fitting.require_annotated([1, 2, 3], ann, "why")
    with pytest.raises(dx.AnnotationError, match=r"items 'j'.*\(why\)"):
        fitting.require_annotated([1, 0, 3], ann, "why")


def some_fit(**hyper):
    draws = xr.DataArray(np.zeros((2, 3, 1)), dims=("chain", "draw", "item"), coords={"item": [7]})
    return fitting.fitted(
        "some_model",
        posterior={"x": draws},
        sample_stats={"lp": draws[..., 0].drop_vars("item")},
        observed_data={"y": draws[0, 0]},
        constant_data={},
        hyper=hyper,
    )


def test_a_fit_is_numbered_and_says_how_it_was_made():
    fit = some_fit(trust=2.0, split=True)
    for group in ("posterior", "sample_stats"):
        assert fit[group]["chain"].values.tolist() == [0, 1]
        assert fit[group]["draw"].values.tolist() == [0, 1, 2]
    assert fit.attrs["model"] == "some_model"
    assert "exact" in fit.attrs["inference"]
    assert fit.attrs["hyper_trust"] == 2.0
    # NetCDF knows no truth values.
    assert fit["posterior"].attrs["hyper_split"] == 1
    assert not isinstance(fit["posterior"].attrs["hyper_split"], bool)


def test_an_attached_group_says_so_too():
    fit = some_fit(trust=2.0)
    fitting.attach(fit, "log_likelihood", xr.Dataset({"y": 1.0}, attrs={"created_at": "now"}))
    assert fit["log_likelihood"].attrs["model"] == "some_model"
    assert fit["log_likelihood"].attrs["created_at"] == "now"
    assert set(fit.children) >= {"posterior", "log_likelihood"}


def test_what_nobody_could_change_of_a_compiled_model_is_not_said():
    with fitting.quiet(False):
        warnings.warn(
            "np.dot() is faster on contiguous arrays", NumbaPerformanceWarning, stacklevel=2
        )
    with pytest.warns(UserWarning, match="all else"), fitting.quiet(True):
        warnings.warn("all else", stacklevel=2)
