"""The rows of a ground truth: each number once, and counts as they occur."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.evaluation.rows import GROUND_TRUTH_COLUMNS, ground_truth_rows
from dissensus.sampling.intervals import whole


def dictated(needed=5.0):
    rng = np.random.default_rng(1)
    noise = 0.01 * rng.normal(size=(2, 50))
    sample = ("chain", "draw")
    data = xr.Dataset(
        {
            "concordance": (sample, 0.6 + noise),
            "annotators_for_truth": (sample, np.full((2, 50), needed)),
        },
    )
    return xr.DataTree.from_dict({"weighted_reliability": data})


def test_rows_say_each_number_once():
    rows = ground_truth_rows(dictated())
    assert list(rows.columns) == list(GROUND_TRUTH_COLUMNS)
    assert rows["quantity"].tolist() == [
        "concordance", "annotators_for_truth",
    ]  # fmt: skip
    np.testing.assert_allclose(rows["mean"], [0.6, 5], atol=0.01)
    assert (rows["lower"] <= rows["median"]).all()
    assert (rows["median"] <= rows["upper"]).all()


def test_where_no_number_will_do_there_is_no_mean():
    found = whole(xr.DataArray([[3.0, 5.0, 5.0, 5.0, np.inf]], dims=("chain", "draw")))
    assert (found["lower"], found["median"], found["upper"]) == (3, 5, np.inf)
    assert np.isnan(found["mean"])
    assert np.isnan(found["sd"])
    assert whole(xr.DataArray([[3.0, 5.0]], dims=("chain", "draw")))["mean"] == pytest.approx(4)


def test_what_was_not_judged_has_no_rows():
    ann = dx.from_matrix([["x", "y"]] * 3)
    result = dx.evaluate(ann, draws=20, random_seed=1, progressbar=False)
    rows = dx.summary(result, "weighted_reliability")
    assert rows.empty
    assert list(rows.columns) == list(GROUND_TRUTH_COLUMNS)
