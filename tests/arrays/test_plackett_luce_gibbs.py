"""The Gibbs sampler for partial rankings, against closed forms and importance sampling."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr
from arviz_stats import ess
from scipy import stats

import dissensus as dx
from dissensus.arrays.plackett_luce_gibbs import Rankings, sample


def laid_out(*items):
    """Lay out items given as (rankings of blocks of places, labels named, labels unnamed)."""
    item_start, ranking_start, place, rank = [0], [0], [], []
    for rankings, _, _ in items:
        for blocks in rankings:
            for number, block in enumerate(blocks, start=1):
                place += block
                rank += [number] * len(block)
            ranking_start.append(len(place))
        item_start.append(len(ranking_start) - 1)
    counts = [[item[which] for item in items] for which in (1, 2)]
    columns = (item_start, ranking_start, place, rank, *counts)
    return Rankings(*(np.array(column, dtype=np.int64) for column in columns))


def draw(*items, a=1.0, key=11, **options):
    keys = np.arange(key, key + len(items), dtype=np.uint64)
    return sample(laid_out(*items), np.full(len(items), a), keys, **options)


def agree(draws, want, error=0.0):
    """Compare means with a reference, in standard errors of both; draws must be effective."""
    for k in range(draws.shape[-1]):
        column = draws[:, k]
        if np.ptp(column) == 0:
            assert column[0] == pytest.approx(want[k], abs=1e-12)
            continue
        n = float(ess(xr.DataArray(column[None], dims=("chain", "draw"), name="x")))
        assert n > 400
        spread = np.hypot(column.std() / np.sqrt(n), np.broadcast_to(error, len(want))[k])
        assert abs(column.mean() - want[k]) < 4 * spread


def probability(theta, blocks):
    """Sum over all orders that a partial ranking allows: the definition."""
    total = 0.0
    for orders in itertools.product(*(itertools.permutations(block) for block in blocks)):
        left, p = theta.sum(), 1.0
        for label in itertools.chain(*orders):
            p *= theta[label] / left
            left -= theta[label]
        total += p
    return total


def by_importance(rankings, n_labels, a, power, n=20_000):
    """Weigh prior draws by the likelihood; return means, their errors, and the effective size."""
    theta = np.random.default_rng(1).dirichlet(np.full(n_labels, a), n)
    log = np.array(
        [power * sum(np.log(probability(t, blocks)) for blocks in rankings) for t in theta]
    )
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean = weight @ theta
    return mean, np.sqrt(weight**2 @ (theta - mean) ** 2), 1 / (weight**2).sum()


@pytest.mark.parametrize(("a", "unnamed"), [(1.0, 2), (0.3, 0), (1 / 50, 48)])
def test_single_labels_give_the_dirichlet_posterior(a, unnamed):
    """First choices only: the likelihood is a product of plausibilities, so all is conjugate."""
    theta = draw(([[[0]], [[0]], [[1]]], 2, unnamed), a=a, draws=20_000)[:, 0]
    parameters = np.array([a + 2, a + 1, a * unnamed])
    agree(theta, parameters / parameters.sum())
    beta = stats.beta(parameters[0], parameters[1:].sum())
    for p in (0.05, 0.5, 0.95):
        assert np.quantile(theta[:, 0], p) == pytest.approx(beta.ppf(p), abs=0.02)


@pytest.mark.parametrize("repeats", [1, 2, 3])
@pytest.mark.parametrize(
    ("rankings", "named", "unnamed", "a"),
    [
        ([[[0], [1, 2]], [[2], [0]]], 3, 1, 1.0),
        ([[[0, 1, 2]], [[1], [0, 2]]], 3, 1, 0.7),
        ([[[0, 1, 2]], [[1], [0]]], 3, 0, 1.0),  # all labels named, one ranking one big tie
        ([[[0], [1], [2]], []], 3, 1, 1.0),  # one who says nothing
    ],
)
def test_agrees_with_importance_sampling(rankings, named, unnamed, a, repeats):
    mean, error, effective = by_importance(rankings, named + unnamed, a, repeats)
    assert effective > 200
    theta = draw((rankings, named, unnamed), a=a, draws=20_000, repeats=repeats)[:, 0]
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    split = [slice(k, k + 1) for k in range(named)] + [slice(named, None)]
    want = [mean[part].sum() for part in split]
    agree(theta, want, [np.sqrt((error[part] ** 2).sum()) for part in split])


@pytest.mark.parametrize("repeats", [0.5, 1.5])
def test_without_ties_the_power_need_not_be_whole(repeats):
    rankings = [[[0], [1], [2]], [[2], [0]]]
    mean, error, effective = by_importance(rankings, 4, 1.0, repeats)
    assert effective > 1000
    agree(draw((rankings, 3, 1), draws=20_000, repeats=repeats)[:, 0], mean, error)


def test_figure_5():
    """.702 and 1.000 at reliability 3, labels nobody named ignored, a = 1 (printed .7 and 1)."""
    ann, _, _ = dx.datasets.load("stutz_figure5")
    names = ann["label"].to_numpy()
    rankings = []
    for reader in range(ann.sizes["annotator"]):
        mine = ann.isel(annotation=ann["annotator_code"].to_numpy() == reader)
        rank, code = mine["rank"].to_numpy(), mine["label_code"].to_numpy()
        rankings.append([list(code[rank == r]) for r in range(1, rank.max() + 1)])
    theta = draw((rankings, len(names), 0), draws=20_000, repeats=3)[:, 0, :-1]
    top = names[theta.argmax(axis=1)]
    nevi = ["Hemangioma", "Melanocytic Nevus"]
    assert np.isin(top, [*nevi, "Atypical Nevus"]).mean() == pytest.approx(0.702, abs=0.015)
    assert np.isin(top, [*nevi, "Melanoma"]).mean() == pytest.approx(1.0, abs=0.002)


def test_an_item_has_its_own_stream():
    """Whatever other items are sampled beside it, and in whatever order."""
    one, two = ([[[0], [1]]], 2, 3), ([[[0, 1, 2]]], 3, 0)
    both = draw(one, two, key=5, draws=50)
    np.testing.assert_array_equal(draw(two, key=6, draws=50)[:, 0], both[:, 1])
    np.testing.assert_array_equal(
        draw(one, key=5, draws=50)[:, 0, [0, 1, 2]], both[:, 0, [0, 1, 3]]
    )


def test_thirty_tied_labels_and_tiny_priors_stay_finite():
    theta = draw(([[list(range(30))]], 30, 389), a=1 / 419, draws=200)
    assert np.isfinite(theta).all()
    sparse = draw(([[[0], [1]]], 2, 400), a=1e-4, draws=500)
    assert np.isfinite(sparse).all()
    np.testing.assert_allclose(sparse.sum(-1), 1)


def test_a_fraction_of_a_tied_ranking_is_refused():
    with pytest.raises(dx.ArgumentError, match=r"repeats: expected a whole number.* found 1\.5"):
        draw(([[[0, 1]]], 2, 1), repeats=1.5, draws=5)
