"""Draws for all items that are alike at once, against draws item by item, and exact moments."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from seeds import rest_long

import dissensus as dx

K, N = 4, 300


@pytest.fixture(scope="module")
def study():
    """Three annotators of 300 items; systems "s" and "t" with lists of two labels, tied or not."""
    rng = np.random.default_rng(3)
    truth = rng.integers(K, size=N)
    given = np.where(rng.random((N, 3)) < 0.6, truth[:, None], rng.integers(K, size=(N, 3)))
    items = [f"i{i}" for i in range(N)]
    table = {"item": np.repeat(items, 3), "annotator": np.tile(range(3), N),
             "label": [f"l{k}" for k in given.ravel()]}  # fmt: skip
    ann = dx.annotations(table, labels=[f"l{k}" for k in range(K)])
    rows = []
    for system, accuracy in (("s", 0.5), ("t", 0.7)):
        for i in range(N):
            first, second = rng.permutation(K)[:2]
            if rng.random() < accuracy:
                first, second = truth[i], (truth[i] + 1) % K
            rows.append((f"i{i}", system, f"l{first}", 1))
            rows.append((f"i{i}", system, f"l{second}", 1 + int(rng.random() < 0.7)))
    table = dict(zip(("item", "system", "label", "rank"), zip(*rows, strict=True), strict=True))
    return ann, dx.predictions(table, rank="rank")


def flat(result):
    return result.stack(sample=("chain", "draw")).transpose("sample", "system").to_numpy()


@pytest.mark.unit(2, long=2)
@pytest.mark.long
@pytest.mark.parametrize("weights", [None, "bayesian-bootstrap"])
@pytest.mark.parametrize(("k", "how"), rest_long([
    (1, {"reliability": 2.5, "prior_count": 0.25}), (1, {}), (2, {}),
], unit=1))  # fmt: skip
def test_distributed_as_draws_item_by_item(study, k, how, weights):
    ann, pred = study
    fit = dx.models.dirichlet.fit(ann, draws=1500, random_seed=1, **({"prior_count": 1} | how))
    each = flat(dx.top_k_accuracy(fit, pred, k, weights=weights, random_seed=5))
    result = flat(
        dx.top_k_accuracy_by_pattern(
            ann, pred, k, draws=1500, weights=weights, random_seed=2, **how
        )
    )
    n = len(result)
    error = np.sqrt((each.var(axis=0) + result.var(axis=0)) / n)
    assert (np.abs(each.mean(axis=0) - result.mean(axis=0)) < 4 * error).all()
    np.testing.assert_allclose(result.std(axis=0), each.std(axis=0), rtol=4 * np.sqrt(1 / n))
    # Systems are judged on the same draws: how they go together is a part of the posterior.
    together = [np.arctanh(np.corrcoef(draws.T)[0, 1]) for draws in (each, result)]
    assert abs(together[0] - together[1]) < 4 * np.sqrt(2 / n)
    for system in range(2):  # shares of 300 items are tied; noise below their spacing breaks ties
        noise = np.random.default_rng(system).uniform(0, 0.5 / N, (2, n))
        both = each[:, system] + noise[0], result[:, system] + noise[1]
        assert stats.ks_2samp(*both).pvalue > 1e-3


def test_mean_and_variance_of_two_labels_are_sums_over_items():
    """By the Beta distribution: an item's label leads with probability P(theta > 1/2)."""
    rng = np.random.default_rng(7)
    given = rng.integers(0, 2, (60, 5))
    ann = dx.from_matrix(given)
    pred = dx.predictions({"item": range(60), "system": ["m"] * 60, "label": [1] * 60})
    ones = given.sum(axis=1)
    lead = stats.beta.sf(0.5, 1 + ones, 6 - ones)
    result = dx.top_k_accuracy_by_pattern(ann, pred, draws=10_000, random_seed=1).to_numpy()
    spread = np.sqrt((lead * (1 - lead)).sum()) / 60
    assert result.mean() == pytest.approx(lead.mean(), abs=4 * spread / 200)
    assert result.std() == pytest.approx(spread, rel=4 / np.sqrt(2 * 40_000))


@pytest.mark.long
def test_neither_order_nor_chunks_change_a_draw(study):
    ann, pred = study
    result = dx.top_k_accuracy_by_pattern(ann, pred, draws=50, random_seed=1)
    order = np.random.default_rng(1).permutation(N)
    shuffled = dx.top_k_accuracy_by_pattern(ann, pred.isel(item=order), draws=50, random_seed=1)
    xr.testing.assert_identical(shuffled, result)
    for items in (7, N):
        lazy = dx.top_k_accuracy_by_pattern(
            dx.chunked(ann, items), pred.chunk(item=70), draws=50, random_seed=1
        )
        assert lazy.chunks is not None
        xr.testing.assert_identical(lazy.compute(), result)
        xr.testing.assert_identical(lazy.compute(), result)  # and once more
    rng, other = np.random.default_rng(4), np.random.default_rng(4)
    first, second = (
        dx.top_k_accuracy_by_pattern(ann, pred, draws=5, random_seed=seed) for seed in (rng, rng)
    )
    assert not first.equals(second)
    again = dx.top_k_accuracy_by_pattern(dx.chunked(ann), pred, draws=5, random_seed=other)
    xr.testing.assert_identical(again.compute(), first)


def test_labels_may_be_called_otherwise(study):
    ann, pred = study
    names = {f"l{k}": f"z{(k + 2) % K}" for k in range(K)}
    renamed = [part.assign_coords(label=[names[x] for x in part["label"].values.tolist()])
               for part in (ann, pred)]  # fmt: skip
    result, other = (
        dx.top_k_accuracy_by_pattern(*data, draws=50, random_seed=1) for data in (study, renamed)
    )
    xr.testing.assert_identical(result, other)


@pytest.mark.long
@pytest.mark.parametrize("chunks", rest_long([True, False], unit=1))
def test_items_that_one_side_lacks_are_left_out_if_asked(study, chunks):
    ann, pred = study
    fewer = pred.isel(item=slice(20, None))
    given = dx.chunked(ann, 7) if chunks else ann
    with pytest.raises(dx.PredictionError, match="20 annotated items without predictions"):
        dx.top_k_accuracy_by_pattern(given, fewer)
    result = dx.top_k_accuracy_by_pattern(
        given, fewer, on_missing="drop", draws=3000, random_seed=1
    )
    fit = dx.models.dirichlet.fit(ann, draws=3000, random_seed=1, prior_count=1)
    each = dx.top_k_accuracy(fit, fewer, on_missing="drop")
    np.testing.assert_allclose(
        result.mean(("chain", "draw")), each.mean(("chain", "draw")), atol=4 * 0.03 / 100
    )


def test_predictions_that_are_always_or_never_right():
    ann = dx.from_matrix([["a"] * 9] * 4, labels=["a", "b"])
    pred = dx.predictions({"item": [0, 1, 2, 3] * 2, "system": ["all"] * 4 + ["other"] * 4,
                           "label": ["a"] * 4 + ["b"] * 4})  # fmt: skip
    for weights in (None, "bayesian-bootstrap"):
        result = dx.top_k_accuracy_by_pattern(
            ann, pred, 2, reliability=100, weights=weights, draws=20, random_seed=1
        )
        assert set(result.sel(system="all").values.ravel()) == {1.0}
        assert set(result.sel(system="other").values.ravel()) == {0.0}


@pytest.mark.parametrize(("bad", "words"), [
    ({"k": 0}, "k"), ({"prior_count": 0}, "prior_count"), ({"reliability": -1}, "reliability"),
    ({"prior_count": 1e30}, "prior_count"), ({"reliability": 1e300}, "at most 1e.08"),
    ({"draws": 0}, "draws"), ({"weights": [1.0] * N}, "weights"),
    ({"weights": "bootstrap"}, "weights"),
])  # fmt: skip
def test_refuses_what_it_cannot_use(study, bad, words):
    with pytest.raises(dx.ArgumentError, match=words):
        dx.top_k_accuracy_by_pattern(*study, **bad)


def test_refuses_numbers(study):
    numbers = dx.annotations({"item": [1, 2], "annotator": [1, 1], "label": [0.5, 1.5]})
    with pytest.raises(dx.AnnotationError, match="top_k_accuracy_by_pattern"):
        dx.top_k_accuracy_by_pattern(numbers, study[1])
