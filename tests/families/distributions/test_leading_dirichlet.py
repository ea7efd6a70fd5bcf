"""LeadingDirichlet: density by closed forms and grids, draws by throwing away Dirichlet draws."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.testing import assert_support_point_is_expected
from scipy import stats
from seeds import rest_long

import dissensus as dx
from dissensus.families.distributions import LeadingDirichlet
from dissensus.families.latent_truth.distributions import leading_share, shares_by_row

compiled_or_not = pytest.mark.parametrize("mode", rest_long(["FAST_COMPILE", "NUMBA"], unit=1))

A = np.array([2.8, 0.6, 1.5])


def logp(x, a, own):
    return pm.logp(LeadingDirichlet.dist(a, own), x).eval(mode="FAST_COMPILE")


def kept(a, own, n=200_000, seed=1):
    """Draw from the Dirichlet by numpy, and keep what leads at its own place."""
    drawn = np.random.default_rng(seed).dirichlet(a, n)
    return drawn[drawn.argmax(axis=-1) == own]


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [0.3, 1.0, 20.0])
def test_of_n_alike_each_leads_in_one_of_n(n, size):
    """So the density is that of the Dirichlet, n times."""
    a = np.full(n, size)
    x = np.sort(np.random.default_rng(2).dirichlet(np.full(n, 2.0)))
    assert leading_share(a, n - 1) == pytest.approx(1 / n)
    assert logp(x, a, n - 1) == pytest.approx(np.log(n) + stats.dirichlet(a).logpdf(x))


@pytest.mark.parametrize(
    ("own", "other"), [(1.0, 1.0), (2.8, 1.2), (0.02, 0.5), (40.0, 30.0), (1e3, 1.1e3), (1.0, 9.0)]
)
def test_of_two_the_share_is_half_a_beta_distribution(own, other):
    assert leading_share([own, other], 0) == pytest.approx(stats.beta(own, other).sf(0.5), rel=1e-6)


def test_shares_of_all_places_add_up_to_1():
    np.testing.assert_allclose(shares_by_row(A, np.arange(3)).sum(), 1)


@pytest.mark.parametrize("own", range(3))
def test_the_density_integrates_to_1(own):
    """Over a grid of squares of the simplex of three, by their middles."""
    a, n = np.array([2.8, 1.6, 2.0]), 800
    first, second = (np.mgrid[:n, :n] + 0.5) / n
    inside = first + second < 1
    x = np.stack([first, second, 1 - first - second], axis=-1)[inside]
    assert np.exp(logp(x, a, own)).sum() / n**2 == pytest.approx(1, abs=2e-3)


def test_the_density_is_the_dirichlets_up_to_a_number():
    x = kept(A, 0, 500)
    apart = logp(x, A, 0) - stats.dirichlet(A).logpdf(x.T)
    np.testing.assert_allclose(apart, -np.log(leading_share(A, 0)))


@pytest.mark.parametrize(
    "x",
    [(0.3, 0.4, 0.3), (0.4, 0.4, 0.2), (1 / 3, 1 / 3, 1 / 3), (1.2, -0.1, -0.1), (0.0, 0.5, 0.5)],
)
def test_nothing_else_is_possible(x):
    """Another place is larger, or as large, or some share is below 0."""
    assert logp(np.array(x), A, 0) == -np.inf


def test_a_place_that_has_nothing():
    """At the edge a flat density is what it is inside."""
    assert logp(np.array([1.0, 0.0, 0.0]), np.ones(3), 0) == pytest.approx(np.log(6))


def test_places_may_change_names():
    x, order = kept(A, 0, 20), np.array([2, 0, 1])
    renamed = logp(x[:, order], A[order], 1)  # the first is now the second
    np.testing.assert_allclose(renamed, logp(x, A, 0))


@pytest.mark.unit(0, long=2)
@compiled_or_not
@pytest.mark.parametrize(("a", "own"), [(A, 0), (A, 1), (np.full(4, 0.3), 2)])
def test_draws_are_those_of_the_dirichlet_that_lead(mode, a, own):
    """Compiled or not; moments and distances, against numpy's draws."""
    n = 4000
    x = pm.draw(LeadingDirichlet.dist(a, own), n, random_seed=4, mode=mode)
    assert x.shape == (n, len(a))
    np.testing.assert_allclose(x.sum(axis=-1), 1)
    assert (x.argmax(axis=-1) == own).all()
    want = kept(a, own)
    for power in (1, 2):
        gap = (x**power).mean(axis=0) - (want**power).mean(axis=0)
        error = np.hypot(
            (x**power).std(axis=0) / np.sqrt(n), (want**power).std(axis=0) / np.sqrt(len(want))
        )
        assert (np.abs(gap) <= 4 * error).all()
    assert stats.ks_2samp(x[:, own], want[:, own]).pvalue > 1e-3


@pytest.mark.long
def test_a_place_that_seldom_leads():
    """Once in 250 draws: the density and the draws still know of nothing else."""
    a, n = np.array([1.0, 8.0]), 300
    x = pm.draw(LeadingDirichlet.dist(a, 0), n, random_seed=1, mode="FAST_COMPILE")[:, 0]
    below = stats.beta(1, 8).sf
    assert stats.kstest(x, lambda v: 1 - below(v) / below(0.5)).pvalue > 1e-3
    assert logp(np.array([0.6, 0.4]), a, 0) == pytest.approx(
        stats.beta(1, 8).logpdf(0.6) - np.log(0.5**8)
    )


@pytest.mark.unit(3, long=3)
@compiled_or_not
@pytest.mark.parametrize(
    ("a", "own", "size", "shape"),
    [(A, 1, None, (3,)), (A, 1, (4,), (4, 3)), (A, [0, 2], None, (2, 3)),
     (np.stack([A, A[::-1]]), 0, None, (2, 3)), (np.ones((2, 1, 3)), [0, 1, 2], None, (2, 3, 3)),
     (np.stack([A, A]), [0, 1], (5, 2), (5, 2, 3)), (np.ones((0, 3)), 1, None, (0, 3))],
)  # fmt: skip
def test_parameters_broadcast(mode, a, own, size, shape):
    variable = LeadingDirichlet.dist(a, own, size=size)
    x = pm.draw(variable, random_seed=1, mode=mode)
    assert x.shape == shape
    assert (x.argmax(axis=-1) == own).all()
    density = pm.logp(variable, x).eval(mode="FAST_COMPILE")
    assert density.shape == shape[:-1]
    assert np.isfinite(density).all()


@pytest.mark.parametrize(
    ("own", "size", "expected"),
    [(0, None, [0.9, 0.05, 0.05]), ([1, 2], None, [[0.05, 0.9, 0.05], [0.05, 0.05, 0.9]]),
     (2, 2, [[0.05, 0.05, 0.9]] * 2)],
)  # fmt: skip
def test_support_point_leads_at_its_own_place(own, size, expected):
    with pm.Model() as model:
        LeadingDirichlet("x", A, own, size=size)
    assert_support_point_is_expected(model, np.array(expected), check_finite_logp=True)


@pytest.mark.long
def test_in_a_model():
    """A matrix whose rows name what they mean, moved on the unconstrained scale."""
    with pm.Model(coords={"label": list("abc"), "response": list("abc")}) as model:
        x = LeadingDirichlet("x", np.stack([A, A[[1, 0, 2]], A[::-1]]), np.arange(3),
                             dims=("label", "response"))  # fmt: skip
        pm.Multinomial("n", 10, x, observed=[[7, 2, 1], [1, 8, 1], [0, 3, 7]])
        drawn = pm.sample_prior_predictive(
            20, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"}
        )["prior"]["x"]
    assert drawn.dims == ("chain", "draw", "label", "response")
    assert (drawn.argmax("response") == np.arange(3)).all()
    point = model.initial_point()
    assert np.isfinite(model.compile_logp(mode="FAST_COMPILE")(point))
    slope = model.compile_dlogp(mode="FAST_COMPILE")
    density = model.compile_logp(mode="FAST_COMPILE")
    start = np.concatenate([value.ravel() for value in point.values()])
    (name,), step = point, 1e-5 * np.eye(len(start))
    rise = [
        density({name: (start + move).reshape(point[name].shape)})
        - density({name: (start - move).reshape(point[name].shape)})
        for move in step
    ]
    np.testing.assert_allclose(slope(point), np.array(rise) / 2e-5, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("a", "own", "words"),
    [
        ([1.0, -1.0], 0, "a: expected rows of finite numbers > 0"),
        ([1.0, 0.0], 0, "a: expected rows of finite numbers > 0"),
        ([1.0, np.nan], 0, "a: expected rows of finite numbers > 0"),
        ([np.inf, 1.0], 0, "a: expected rows of finite numbers > 0"),
        (["x", "y"], 0, "a: expected rows of finite numbers > 0"),
        (2.0, 0, "a: expected rows of finite numbers > 0; found 2.0"),
        ([], 0, "a: expected rows of finite numbers > 0"),
        (pt.dvector(), 0, "a: expected numbers; found a variable"),
        ([1.0, 1.0], pt.lscalar(), "own: expected numbers; found a variable"),
        ([1.0, 1.0], 2, "own: expected places from 0 to 1; found 2"),
        ([1.0, 1.0], [0, -1], r"own: expected places from 0 to 1; found \[0, -1\]"),
        ([1.0, 1.0], 0.5, "own: expected places from 0 to 1; found 0.5"),
        (np.ones((2, 3)), [0, 1, 2], "own: expected one place for each row of a"),
        ([1.0, 30.0], 0, "own: expected places that lead in 0.1% of draws or more; found one that"),
    ],
    ids=str,
)
def test_refusals(a, own, words):
    with pytest.raises(dx.ArgumentError, match=words):
        LeadingDirichlet.dist(a, own)


def test_constants_of_pytensor_are_given_too():
    x = LeadingDirichlet.dist(pt.as_tensor(A), pt.as_tensor(1))
    assert pm.draw(x, random_seed=1, mode="FAST_COMPILE").argmax() == 1
