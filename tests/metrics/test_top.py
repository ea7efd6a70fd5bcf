"""Top labels that several metrics look at are looked for once."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data.plausibility import looked_at_once, space
from dissensus.metrics import _lists


@pytest.mark.parametrize("form", ["dense", "candidates"])
def test_it_is_the_same_as_looked_for_each_time(make, form, monkeypatch):
    theta = make.theta(3, n_labels=7)
    pred = make.lists(3, theta)
    if form == "candidates":
        named = np.zeros((theta.sizes["item"], 7), dtype=bool)
        named[:, :3] = True
        theta = make.candidates(theta, named, concentration=0.5)
    calls = []
    search = _lists._searched
    monkeypatch.setattr(
        _lists, "_searched", lambda *given: calls.append(given[2]) or search(*given)
    )

    def every():
        return xr.Dataset({
            "one": dx.top_k_accuracy(theta, pred), "two": dx.top_k_accuracy(theta, pred, 2),
            "set": dx.set_accuracy(theta, pred, 2), "overlap": dx.average_overlap(theta, pred, 3),
            "certainty": dx.annotation_certainty(theta, top=2),
        })  # fmt: skip

    alone = every()
    assert len(calls) == 5
    calls.clear()
    with looked_at_once(2):
        xr.testing.assert_identical(every(), alone)
    assert calls == [2, 3]  # deeper than was foreseen: once more
    calls.clear()
    xr.testing.assert_identical(every(), alone)
    assert len(calls) == 5


def test_other_draws_are_looked_at_themselves(make):
    one, other = make.theta(1), make.theta(2)
    with looked_at_once(1):
        for theta in (one, other, one.isel(item=[2, 0]), one.isel(draw=[1])):
            found = _lists.top_labels(theta, space(theta), 1)
            np.testing.assert_array_equal(found[..., 0], theta.argmax("label"))


def test_an_evaluation_looks_once_at_each_reliability(votes, monkeypatch):
    calls = []
    search = _lists._searched
    monkeypatch.setattr(
        _lists, "_searched", lambda *given: calls.append(given[0].dims) or search(*given)
    )
    dx.evaluate(
        *votes, draws=20, reliability=[1, 2], truth_model=None, ground_truth=None, components=None,
        random_seed=1, progressbar=False,
    )  # fmt: skip
    assert sum("draw" in dims for dims in calls) == 2
