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


@pytest.mark.parametrize("most", [4096, 0])  # by a table of sequences, and draw by draw
def test_scores_of_distinct_sequences_are_those_of_every_draw(monkeypatch, most):
    monkeypatch.setattr(_lists, "_MOST_SEQUENCES", most)
    rng = np.random.default_rng(5)
    theta = xr.DataArray(
        rng.dirichlet(np.full(5, 0.3), size=(2, 50, 4)),
        dims=("chain", "draw", "item", "label"),
        coords={"item": range(4), "label": list("abcde")},
    )
    rows = [(item, system, label, rank) for item in range(4) for system in "st"
            for rank, label in enumerate(rng.permutation(list("abcde"))[:3], 1)]  # fmt: skip
    names = ("item", "system", "label", "rank")
    both = dx.predictions(dict(zip(names, zip(*rows, strict=True), strict=True)), rank="rank")
    metrics = (
        lambda lists: dx.top_k_accuracy(theta, lists, k=2, per_item=True),
        lambda lists: dx.set_accuracy(theta, lists, per_item=True),
        lambda lists: dx.average_overlap(theta, lists, depth=3, per_item=True),
    )
    for metric in metrics:  # a system alone is scored draw by draw
        alone = [metric(both.isel(system=[place])) for place in range(2)]
        xr.testing.assert_identical(metric(both), xr.concat(alone, dim="system"))
        with looked_at_once(3):
            xr.testing.assert_identical(metric(both), xr.concat(alone, dim="system"))
