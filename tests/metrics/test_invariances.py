"""What must not change a metric of predicted lists, whichever metric it is."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx
from dissensus.metrics import METRICS

LISTS = [m for m in METRICS if m.takes == "lists" and m.name != "certainty"]
SEEDS = st.integers(0, 2**31)
pytestmark = pytest.mark.unit(4)
few = settings(max_examples=2, deadline=None)
every_metric = pytest.mark.parametrize("metric", LISTS, ids=lambda metric: metric.name)


def run(metric, plausibility, predictions, **kwargs):
    return metric.function(plausibility, predictions, **dict(metric.arguments), **kwargs)


def assert_same(actual, expected):
    actual, expected = (x.transpose(*expected.dims) for x in (actual, expected))
    np.testing.assert_allclose(actual.values, expected.values, atol=1e-12)


@every_metric
@given(seed=SEEDS)
@few
def test_names_and_order_of_labels_do_not_matter(make, metric, seed):
    theta = make.theta(seed)
    predictions = make.lists(seed, theta)
    rng = np.random.default_rng(seed)
    new = dict(zip(theta["label"].values, rng.permutation(list("vwxyz")), strict=True))
    renamed = theta.assign_coords(label=[new[k] for k in theta["label"].values])
    turned = renamed.isel(label=rng.permutation(5))
    also = predictions.assign_coords(label=[new[k] for k in predictions["label"].values])
    assert_same(run(metric, turned, also), run(metric, theta, predictions))


@every_metric
@given(seed=SEEDS)
@few
def test_order_of_items_systems_and_draws_does_not_matter(make, metric, seed):
    theta = make.theta(seed, draws=4)
    predictions = make.lists(seed, theta)
    whole = run(metric, theta, predictions)
    rng = np.random.default_rng(seed)
    items = theta.isel(item=rng.permutation(3))
    assert_same(run(metric, items, predictions), whole)
    turned = predictions.isel(item=rng.permutation(3), system=[1, 0])
    assert_same(run(metric, theta, turned).sel(system=whole["system"]), whole)
    order = rng.permutation(4)
    assert_same(run(metric, theta.isel(draw=order), predictions), whole.isel(draw=order))
    middle = {"draw": slice(1, 3)}
    assert_same(run(metric, theta.isel(middle), predictions), whole.isel(middle))
    assert_same(run(metric, theta.transpose("item", "label", "draw", "chain"), predictions), whole)
    point = run(metric, theta.isel(chain=1, draw=2), predictions)
    assert_same(point, whole.isel(chain=1, draw=2))


@every_metric
@given(seed=SEEDS)
@few
def test_item_weights(make, metric, seed):
    theta = make.theta(seed, n_items=4)
    predictions = make.lists(seed, theta)
    each = run(metric, theta, predictions, per_item=True)
    assert each.dims == ("chain", "draw", "item", "system")
    whole = run(metric, theta, predictions)
    assert_same(each.mean("item", skipna=False), whole)
    assert_same(run(metric, theta, predictions, weights=np.ones(4)), whole)
    counts = np.random.default_rng(seed).integers(0, 4, size=4) + np.array([1, 0, 0, 0])
    weighted = run(metric, theta, predictions, weights=counts)
    repeated = theta.isel(item=np.repeat(np.arange(4), counts))
    assert_same(run(metric, repeated, predictions, on_missing="drop"), weighted)
    assert_same(run(metric, theta, predictions, weights=0.037 * counts), weighted)
    named = dict(zip(theta["item"].values[::-1], counts[::-1], strict=True))
    assert_same(run(metric, theta, predictions, weights=named), weighted)
    kept = theta.isel(item=[0, 2, 3])
    dropped = run(metric, kept, predictions, on_missing="drop")
    assert_same(run(metric, theta, predictions, weights=[1, 0, 1, 1]), dropped)


@every_metric
@given(seed=SEEDS)
@few
def test_both_forms_agree_where_unnamed_labels_have_no_mass(make, metric, seed):
    theta = make.theta(seed, zeros=True)
    predictions = make.lists(seed, theta)
    named = theta.max(("chain", "draw")).values > 0
    lumped = make.candidates(theta, named, concentration=0.4)
    assert_same(run(metric, lumped, predictions), run(metric, theta, predictions))


@every_metric
@given(seed=SEEDS, concentration=st.sampled_from([np.inf, 0.3]))
@few
def test_both_forms_agree_where_the_remainder_is_one_label(make, metric, seed, concentration):
    theta = make.theta(seed)
    predictions = make.lists(seed, theta)
    named = np.ones((3, 5), dtype=bool)
    named[np.arange(3), np.random.default_rng(seed).integers(5, size=3)] = False
    lumped = make.candidates(theta, named, concentration=concentration)
    assert_same(run(metric, lumped, predictions), run(metric, theta, predictions))


@every_metric
@given(seed=SEEDS)
@few
def test_an_even_remainder_is_the_even_dense_form_exactly(make, metric, seed):
    theta = make.theta(seed, n_labels=7)
    predictions = make.lists(seed, theta)
    named = np.random.default_rng(seed).random((3, 7)) < 0.4
    lumped = make.candidates(theta, named)
    rest = theta.where(~named, 0.0).sum("label") / np.maximum((~named).sum(axis=1), 1)
    even = theta.where(named, rest)
    # The remainder's mass is summed in another order there, so take it from the form itself.
    for i, row in enumerate(named):
        if not row.all():
            even.values[:, :, i, ~row] = lumped.values[:, :, i, -1:] / (~row).sum()
    run_result = run(metric, lumped, predictions, per_item=True)
    np.testing.assert_array_equal(run_result, run(metric, even, predictions, per_item=True))


@every_metric
@given(seed=SEEDS, concentration=st.sampled_from([5.0, 1.0, 0.6]))
@few
def test_every_metric_sees_the_same_split_of_the_remainder(make, metric, seed, concentration):
    theta = make.theta(seed, n_labels=7)
    predictions = make.lists(seed, theta)
    named = np.random.default_rng(seed).random((3, 7)) < 0.4
    lumped = make.candidates(theta, named, concentration=concentration)
    written = dx.group_labels(lumped, {label: label for label in theta["label"].values})
    run_result = run(metric, lumped, predictions, per_item=True)
    assert_same(run_result, run(metric, written, predictions, per_item=True))


@every_metric
def test_a_selection_of_draws_or_items_keeps_its_random_numbers(make, metric):
    theta = make.theta(5, n_items=6, n_labels=9, draws=20)
    predictions = make.lists(5, theta)
    named = np.random.default_rng(5).random((6, 9)) < 0.2
    lumped = make.candidates(theta, named, concentration=0.5)
    whole = run(metric, lumped, predictions, per_item=True)
    rows = {"draw": [17, 3, 4], "chain": [1], "item": [5, 0]}
    part = run(metric, lumped.isel(rows), predictions, per_item=True, on_missing="drop")
    assert_same(part, whole.isel(rows))
    single = run(metric, lumped.isel(chain=1, draw=7), predictions, per_item=True)
    assert_same(single, whole.isel(chain=1, draw=7))
    both = xr.concat([lumped.assign_coords(reliability=r) for r in (1, 2)], dim="reliability")
    along = run(metric, both, predictions, per_item=True)
    assert along.dims == ("chain", "draw", "reliability", "item", "system")
    assert_same(along.sel(reliability=2), whole)
    stacked = lumped.stack(sample=("chain", "draw"))
    assert_same(run(metric, stacked, predictions, per_item=True).unstack("sample"), whole)


@every_metric
def test_netcdf_and_single_precision(make, metric, tmp_path):
    theta = make.theta(6, n_labels=8)
    predictions = make.lists(6, theta)
    named = np.random.default_rng(6).random((3, 8)) < 0.5
    lumped = make.candidates(theta, named, concentration=0.7)
    whole = run(metric, lumped, predictions)
    xr.DataTree.from_dict({"posterior": lumped.to_dataset()}).to_netcdf(tmp_path / "fit.nc")
    with xr.open_datatree(tmp_path / "fit.nc") as back:
        assert_same(run(metric, back, predictions), whole)
    for form in (theta, lumped):
        single = form.astype(np.float32)
        exact = single.astype(np.float64)
        assert_same(run(metric, single, predictions), run(metric, exact, predictions))


@every_metric
def test_a_drawn_remainder_has_the_distribution_of_an_explicit_one(make, metric):
    # 3 of 9 labels are named; the other 6 share the rest as Dirichlet(a, ..., a).
    n_draws, a = 4000, 0.5
    rng = np.random.default_rng(7)
    masses = rng.dirichlet([1.0, 1.0, 0.5, 3.0], size=(1, n_draws, 2))
    shares = rng.dirichlet(np.full(6, a), size=(1, n_draws, 2))
    dense = make.dense(np.concatenate([masses[..., :3], masses[..., 3:] * shares], axis=-1))
    named = np.zeros((2, 9), dtype=bool)
    named[:, :3] = True
    lumped = make.candidates(dense, named, concentration=a, seed=3)
    predictions = make.lists(7, dense, ties=False, labels=["l0", "l4", "l1", "l7"])
    explicit = run(metric, dense, predictions)
    drawn = run(metric, lumped, predictions)
    # The masses are common to both, so the difference shows the split alone.
    difference = (drawn - explicit).squeeze("chain")
    error = difference.std("draw") / np.sqrt(n_draws)
    assert bool((abs(difference.mean("draw")) <= 4 * error + 1e-12).all())
    spread = np.log(drawn.std(("chain", "draw")) / explicit.std(("chain", "draw")))
    assert bool((abs(spread) < 0.1).all())


@pytest.mark.parametrize("k", [1, 2])
def test_one_draw_has_one_identity_for_all_metrics(make, k):
    theta = make.theta(8, n_items=5, n_labels=9, draws=50)
    named = np.random.default_rng(8).random((5, 9)) < 0.2
    lumped = make.candidates(theta, named, concentration=0.4)
    predictions = make.lists(8, theta, ties=False)
    hit = dx.top_k_accuracy(lumped, predictions, k=1, per_item=True)
    assert_same(dx.overlap(lumped, predictions, k=1, per_item=True), hit)
    assert_same(dx.set_accuracy(lumped, predictions, k=1, per_item=True), hit)
    assert_same(dx.average_overlap(lumped, predictions, depth=1, per_item=True), hit)
    both = dx.overlap(lumped, predictions, k=k, per_item=True)
    exact = dx.set_accuracy(lumped, predictions, k=k, per_item=True)
    assert_same((both > 1 - 1e-9) * 1.0, exact)
