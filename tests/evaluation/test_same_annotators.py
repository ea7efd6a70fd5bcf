"""Intervals of agreement with the panel, if the same few annotators labelled all items."""

from __future__ import annotations

import lean
import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.evaluation import runs
from dissensus.evaluation.same_annotators import are_same, covariance, widened

# Means of short chains are enough here.
pytestmark = pytest.mark.filterwarnings("ignore::dissensus.ConvergenceWarning")
RUN = {"draws": 200, "chains": 2, "progressbar": False, "reliability": (1.0,), **lean.LEAN}


def annotated(who, label=None):
    """Return annotations; ``who`` (item, annotator) says which annotators labelled each item."""
    item, annotator = np.nonzero(who)
    labels = np.zeros(len(item), dtype=int) if label is None else label[item, annotator]
    table = {"item": item, "annotator": annotator, "label": labels}
    return dx.annotations(table, kind="nominal", labels=[0, 1])


def some_of(n_items, n_annotators, n_labels):
    rng = np.random.default_rng(1)
    return np.stack([rng.permutation(n_annotators) < n_labels for _ in range(n_items)])


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (np.ones((40, 5)), True),
        (np.ones((40, 2)), False),  # leaving out one leaves no panel
        (np.ones((40, 40)), False),
        (np.ones((10, 5)), False),
        (some_of(40, 6, 3), True),
        (np.column_stack([np.ones(40), np.ones((40, 4)) * (np.arange(40) > 5)[:, None]]), False),
        (some_of(40, 60, 3), False),
    ],
)
def test_the_same_annotators(who, expected):
    assert are_same(annotated(who)) is expected


def test_the_jackknife_of_a_mean_is_the_variance_of_a_mean():
    values = np.random.default_rng(1).normal(size=(5, 2))
    ann = annotated(np.ones((40, 5)))
    between, freedom = covariance(
        ann, lambda part: values[np.unique(part["annotator_code"])].mean(axis=0), 1
    )
    np.testing.assert_allclose(between, np.cov(values.T) / 5)
    assert freedom == 4


def test_draws_have_the_larger_variance_and_its_correlation():
    rng = np.random.default_rng(1)
    sd, between = np.array([0.02, 0.02, 0.05]), np.full((3, 3), 0.0009)
    between[2] = between[:, 2] = 0.0
    draws = xr.DataArray(
        0.5 + sd * rng.standard_normal((4, 5000, 3)), dims=("chain", "draw", "system"),
        attrs={"better": "higher"},
    )  # fmt: skip
    wide = widened(draws, sd**2, between, 60, 1)
    expected = np.sqrt(np.maximum(sd**2, np.diag(between)))  # with 60 degrees of freedom
    np.testing.assert_allclose(wide.std(("chain", "draw")), expected, rtol=0.03)
    np.testing.assert_allclose(wide.mean(("chain", "draw")), 0.5, atol=1e-3)
    both = np.corrcoef(wide.values[..., 0].ravel(), wide.values[..., 1].ravel())[0, 1]
    assert both == pytest.approx(1 - (0.02 / 0.03) ** 2, abs=0.03)
    assert wide.attrs == draws.attrs
    np.testing.assert_array_equal(wide.isel(system=2), draws.isel(system=2))


def study(seed, n_items=200, n_annotators=8, differ=1.5):
    """Annotators are more or less inclined to say 1; the system answers like one of them."""
    rng = np.random.default_rng([seed, 3])
    item = rng.normal(0, 1.5, n_items)
    lean_ = rng.normal(0, differ, n_annotators + 1)
    label = (item[:, None] + lean_ + rng.logistic(size=(n_items, len(lean_))) > 0).astype(int)
    ann = annotated(np.ones((n_items, n_annotators)), label)
    table = {"item": range(n_items), "system": ["s"] * n_items, "label": label[:, -1]}
    return ann, dx.predictions(table, kind="nominal"), (label[:, -1] == (item > 0)).mean()


def test_all_that_is_shown_of_the_panel_has_the_wider_draws(monkeypatch):
    ann, pred, _ = study(1, 30, 5)
    plain = dx.evaluate(ann, pred, random_seed=1, **RUN)
    monkeypatch.setattr(runs, "covariance", lambda *_: (np.array([[0.04]]), 4))
    wide = dx.evaluate(ann, pred, random_seed=1, **RUN)
    assert wide["metrics"].attrs["new_annotators"] == 1
    at = {"reliability": 1.0, "scope": "these items"}
    top = wide["metrics"]["top_1_accuracy"].sel(at)
    assert 0.15 < float(top.std()) < 0.25  # some draws are clipped
    np.testing.assert_array_equal(wide["answers"]["panel_agreement"], top)
    xr.testing.assert_equal(
        wide["answers"]["annotator_agreement"], plain["answers"]["annotator_agreement"]
    )
    seen = dx.summary(wide).set_index(["metric", "scope"]).loc[("top_1_accuracy", "these items")]
    assert float(seen["upper"] - seen["lower"]) > 0.4


def test_other_annotators_for_each_item_leave_the_posterior():
    label = np.random.default_rng(1).integers(2, size=(30, 60))
    ann, pred = annotated(some_of(30, 60, 3), label), study(1, 30, 5)[1]
    result = dx.evaluate(ann, pred, random_seed=1, **RUN)
    assert "new_annotators" not in result["metrics"].attrs


@pytest.mark.long
def test_intervals_contain_the_agreement_with_a_large_panel():
    """The posterior alone contains it in 8 of these 12 studies."""
    n, held = 12, 0
    for seed in range(n):
        ann, pred, truth = study(seed)
        result = dx.evaluate(ann, pred, random_seed=seed, **RUN)
        draws = result["answers"]["panel_agreement"]
        low, high = np.quantile(draws, [0.055, 0.945])
        held += low <= truth <= high
    assert held >= 10
