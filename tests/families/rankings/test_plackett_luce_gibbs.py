"""The Gibbs sampler for partial rankings, against closed forms, quadrature and weighted draws."""

from __future__ import annotations

import numpy as np
import pytest
from families.rankings.ranking_reference import CASES, agree, by_importance, columns, compare
from hypothesis import given, settings
from hypothesis import strategies as st
from nested_rankings import nested
from scipy import stats

import dissensus as dx
from dissensus.families.rankings.kernels.sweep import sample, sweep

TEMPERINGS = [(0.5, 1.0), (1.0, 1.0), (1.5, 1.0), (2.0, 1.0), (3.0, 1.0)]
TEMPERINGS += [(1.0, 0.5), (1.0, 1.5), (1.0, 2.0), (1.0, 3.0), (2.0, 0.5), (1.5, 2.0), (0.5, 0.5)]


def draw(*items, key=11, **options):
    """Sample items given as (rankings, shapes of the cells, number of columns of their own)."""
    keys = np.arange(key, key + len(items), dtype=np.uint64)
    rankings = nested(*((item[0], len(item[1])) for item in items))
    shape = np.concatenate([np.asarray(item[1], float) for item in items])
    named = np.array([item[2] for item in items])
    return sample(rankings, shape, keys, named=named, **options)


def iterate(rankings, shape, n, **options):
    """Go through n sweeps of one item; return log strengths (draw, cell)."""
    where, out = nested((rankings, len(shape))), np.empty((n, len(shape)))
    state = np.zeros(len(shape))
    for i in range(n):
        state = out[i] = sweep(where, np.asarray(shape, float), state, i, **options)
    return out


@pytest.mark.unit(10, long=32)
@pytest.mark.parametrize(("power", "g"), TEMPERINGS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_agrees_with_importance_sampling(case, power, g):
    rankings, shape, named = case
    options = {"power": power, "sharpness": np.full(len(rankings), g)}
    theta = draw(case, draws=12_000, **options)[:, 0]
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    compare(theta, *by_importance(rankings, shape, named, **options))


@pytest.mark.parametrize("power", [1.0, 1.5])
@pytest.mark.parametrize("case", ["ties", "many that nobody lists", "closed"])
def test_each_annotator_may_have_a_sharpness(case, power):
    rankings, shape, named = CASES[case]
    options = {"power": power, "sharpness": np.array([0.5, 2.0, 1.0, 1.5])[: len(rankings)]}
    theta = draw(CASES[case], draws=12_000, **options)[:, 0]
    compare(theta, *by_importance(rankings, shape, named, **options))


@pytest.mark.unit(0, long=1)
@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "power", "g"),
    [
        ("many that nobody lists", 1.0, 1.0),  # lumped, and taken apart again
        ("many that nobody lists", 1.0, 2.0),  # drawn together, and shuffled
        ("large shapes that nobody lists", 1.0, 0.5),
        ("closed", 1.5, 1.0),
    ],
)
def test_sweeps_one_at_a_time_are_the_same_sampler(case, power, g):
    rankings, shape, named = CASES[case]
    options = {"power": power, "sharpness": np.full(len(rankings), g)}
    u = iterate(rankings, shape, 8000, **options)[50:]
    assert np.isfinite(u).all()
    total = np.logaddexp.reduce(u, axis=1)
    assert stats.kstest(np.exp(total), stats.gamma(sum(shape)).cdf).pvalue > 1e-3
    theta = np.exp(u - total[:, None])
    compare(columns(theta, named), *by_importance(rankings, shape, named, **options))
    # Labels that nobody lists are alike, and which of them is the largest is a matter of chance.
    alike = theta[:, named:]
    if len(set(shape[named:])) == 1:
        agree(alike, np.full(alike.shape[1], alike.mean()))
        largest = alike == alike.max(axis=1, keepdims=True)
        agree(largest, np.full(alike.shape[1], 1 / alike.shape[1]))


@pytest.mark.parametrize(
    ("shape", "named"), [([1.0, 1.0, 2.0], 2), ([0.3, 0.3], 2), ([1 / 50, 1 / 50, 48 / 50], 2)]
)
def test_first_choices_give_the_dirichlet_posterior(shape, named):
    """The likelihood is a product of plausibilities, so all is conjugate."""
    theta = draw(([[[0]], [[0]], [[1]]], shape, named), draws=20_000)[:, 0]
    parameters = np.array(shape) + [2, 1, 0][: len(shape)]
    want = parameters / parameters.sum()
    agree(theta, np.append(want[:named], want[named:].sum()))
    beta = stats.beta(parameters[0], parameters[1:].sum())
    at = beta.ppf([0.05, 0.5, 0.95])
    agree(theta[:, :1] <= at, [0.05, 0.5, 0.95])


def test_a_sparse_prior_needs_no_floor():
    """Two readers of 50 labels name the same one first: (2 + 1/50) / (2 + 1) = .6733.

    The published sampler, which keeps rates above 1e-6, gives .351.
    """
    twice = [[[0]], [[0]]]
    for shape, g in (([0.02, 0.98], 1.0), ([0.02] * 50, 1.0)):
        theta = draw((twice, shape, 1), draws=20_000, sharpness=np.full(2, g))[:, 0]
        agree(theta, [2.02 / 3, 0.98 / 3])


@pytest.mark.long
@pytest.mark.unit(1)
@pytest.mark.parametrize(("power", "g"), [(1.0, 1.0), (0.5, 1.0), (3.0, 1.0), (1.0, 2.0)])
def test_a_sparse_prior_and_a_sequence_against_quadrature(power, g):
    """One reader puts x before y among three labels of shape 1/50: a double integral of log odds.

    With u and v the logarithms of x / (y + z) and y / z, which are independent under the prior.
    """
    a = 0.02
    u = np.linspace(-600, 600, 3001)[:, None]
    v = np.linspace(-600, 600, 3001)[None, :]
    log_y, log_z = -np.logaddexp(0, -v), -np.logaddexp(0, v)
    rest = np.logaddexp(g * log_y, g * log_z)
    log = a * u - 3 * a * np.logaddexp(0, u) + a * v - 2 * a * np.logaddexp(0, v)
    log = log + power * (g * u - np.logaddexp(g * u, rest) + g * log_y - rest)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    x = 1 / (1 + np.exp(-u))
    want = [(weight * x).sum(), (weight * (1 - x) * np.exp(log_y)).sum()]
    case = ([[[0], [1]]], [a] * 3, 2)
    theta = draw(case, draws=30_000, power=power, sharpness=np.array([g]))[:, 0]
    agree(theta, [*want, 1 - sum(want)])
    agree(theta[:, :1] ** 2, [(weight * x**2).sum()])


def test_figure_5():
    """.702 and 1.000 at reliability 3, labels nobody named ignored, a = 1 (printed .7 and 1)."""
    ann, _, _ = dx.datasets.load("stutz_figure5")
    names = ann["label"].to_numpy()
    rankings = []
    for reader in range(ann.sizes["annotator"]):
        mine = ann.isel(annotation=ann["annotator_code"].to_numpy() == reader)
        rank, code = mine["rank"].to_numpy(), mine["label_code"].to_numpy()
        rankings.append([list(code[rank == r]) for r in range(1, rank.max() + 1)])
    case = (rankings, np.ones(len(names)), len(names))
    theta = draw(case, draws=40_000, power=3.0)[:, 0, :-1]
    top = names[theta.argmax(axis=1)]
    nevi = ["Hemangioma", "Melanocytic Nevus"]
    assert np.isin(top, [*nevi, "Atypical Nevus"]).mean() == pytest.approx(0.702, abs=0.015)
    assert np.isin(top, [*nevi, "Melanoma"]).mean() == pytest.approx(1.0, abs=0.002)


@pytest.mark.long
def test_many_annotators():
    """So many that one unit a sweep is moved exactly, and arrival times do the rest.

    Of three labels, 1500 annotators saw two: these compare as one beta variate, and together
    they have the share that they have under the prior.
    """
    first, second = [["closed", [0], [1]]] * 900, [["closed", [1], [0]]] * 600
    theta = draw((first + second, [1.0, 1.0, 0.5], 3), draws=8000)[:, 0]
    both = theta[:, 0] + theta[:, 1]
    ratio, together = stats.beta(901, 601), stats.beta(2.0, 0.5)
    agree((theta[:, 0] / both)[:, None], [ratio.mean()])
    agree(both[:, None], [together.mean()])
    for p in (0.1, 0.5, 0.9):
        agree((theta[:, 0] / both <= ratio.ppf(p))[:, None], [p])
        agree((both <= together.ppf(p))[:, None], [p])


def test_an_item_has_its_own_stream():
    """Whatever other items are sampled beside it, and in whatever order."""
    first, second = ([[[0], [1]]], [1.0, 1.0, 3.0], 2), ([[[0, 1, 2]]], [1.0] * 3, 3)
    both = draw(first, second, key=5, draws=50)
    np.testing.assert_array_equal(draw(second, key=6, draws=50)[:, 0], both[:, 1])
    np.testing.assert_array_equal(
        draw(first, key=5, draws=50)[:, 0, [0, 1, 2]], both[:, 0, [0, 1, 3]]
    )
    wide = draw(first, key=5, draws=50, n_columns=6)[:, 0]
    np.testing.assert_array_equal(wide[:, [0, 1, 5]], both[:, 0, [0, 1, 3]])
    assert (wide[:, 2:5] == 0).all()


def test_a_sweep_leaves_its_input_alone_and_repeats_itself():
    where, start = nested(([[[0], [1]]], 3), ([[[0, 1]]], 2)), np.zeros(5)
    once = sweep(where, np.ones(5), start, 3)
    assert (start == 0).all()
    np.testing.assert_array_equal(once, sweep(where, np.ones(5), start, 3))
    assert (once != sweep(where, np.ones(5), start, 4)).all()


def test_an_item_with_one_cell_has_it_all():
    theta = draw(([[[0]]], [0.5], 1), draws=5)
    np.testing.assert_array_equal(theta, np.broadcast_to([1.0, 0.0], (5, 1, 2)))


@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize("g", [1.0, 2.5])
def test_thirty_tied_labels_and_tiny_priors_stay_finite(power, g):
    options = {"power": power, "sharpness": np.array([g])}
    theta = draw(([[list(range(30))]], [1 / 419] * 60, 30), draws=20, tune=5, **options)
    assert np.isfinite(theta).all()
    sparse = draw(([[[0], [1]]], [1e-4] * 400, 2), draws=200, **options)
    assert np.isfinite(sparse).all()
    np.testing.assert_allclose(sparse.sum(-1), 1)
    options["sharpness"] = np.array([g, g])
    far = iterate([["closed", [0], [1]], ["closed", [2, 3], [1]]], [1e-4] * 4, 200, **options)
    assert np.isfinite(far).all()


@settings(deadline=None, max_examples=15)
@given(
    order=st.permutations(range(4)),
    power=st.sampled_from([0.5, 1.0, 2.0]),
    g=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_names_of_cells_do_not_matter(order, power, g):
    rankings = [[[0], [1, 2]], [[2], [0]], ["closed", [1], [3]]]
    renamed = [[b if b == "closed" else [order[k] for k in b] for b in r] for r in rankings]
    options = {"power": power, "sharpness": np.full(3, g), "draws": 4000}
    first = draw((rankings, [1.0] * 4, 4), **options)[:, 0, :4]
    second = draw((renamed, [1.0] * 4, 4), key=99, **options)[:, 0][:, list(order)]
    agree(first, second.mean(axis=0), second.std(axis=0) / 20, least=300)  # 400 draws at the least
