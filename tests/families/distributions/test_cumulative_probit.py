"""CumulativeProbit: log-probability and gradient near and far, draws, shapes and refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymc.logprob.utils import ParameterValueError
from pymc.testing import BaseTestDistributionRandom, assert_support_point_is_expected
from scipy import integrate, special, stats

from dissensus.errors import ArgumentError
from dissensus.families.distributions import CumulativeProbit

C = np.array([-1.2, -0.4, 0.1, 1.5])


def logp(value, eta, cutpoint):
    return pm.logp(CumulativeProbit.dist(eta, cutpoint), value).eval()


@pytest.fixture(scope="module")
def middle():
    """Return the log-probability of the middle of three labels, and its gradient."""
    eta, cutpoint = pt.dscalar("eta"), pt.dvector("cutpoint")
    log_density = pm.logp(CumulativeProbit.dist(eta, cutpoint), 1)
    return pytensor.function(
        [eta, cutpoint], [log_density, *pytensor.grad(log_density, [eta, cutpoint])]
    )


def by_quadrature(eta, lower, width):
    """Return log P(middle), its gradient by eta, by the lower and by the upper cutpoint.

    With e the end of the stretch nearer to eta and x the distance from it,
    P = phi(e) int_0^w exp(-|e| x - x^2/2) dx in a tail: a sum of positive terms, in which nothing
    cancels and nothing underflows. The gradient by eta is the mean of z over the stretch, the
    others are the density at its ends, over P.
    """
    below, above = lower - eta, lower + width - eta
    sign = -1.0 if below + above <= 0 else 1.0  # mirror the stretch to the right of 0
    near = min(sign * below, sign * above)  # below 0 if eta is inside
    top = max(0.0, -near) ** 2 / 2  # of the exponent, taken out

    def height(x):
        return np.exp(-near * x - x**2 / 2 - top)

    reach = min(width, max(0.0, -near) + 40 / (1 + max(near, 0.0)))  # beyond it below 1e-300
    breaks = np.linspace(0, reach, 41)

    def total(f):
        parts = [integrate.quad(f, a, b, epsabs=0, epsrel=1e-13)[0]
                 for a, b in itertools.pairwise(breaks)]  # fmt: skip
        return sum(parts)

    mass = total(height)
    mean = near + total(lambda x: x * height(x)) / mass
    ends = [height(0.0) / mass, height(width) / mass]
    at_lower, at_upper = ends if sign > 0 else ends[::-1]
    log_p = stats.norm.logpdf(near) + top + np.log(mass)
    return log_p, sign * mean, -at_lower, at_upper


@pytest.mark.parametrize("eta", [-40.0, -8.0, -1.3, -0.3, 0.0, 0.4, 3.0, 12.0, 40.0])
@pytest.mark.parametrize("width", [1e-12, 1e-6, 1e-3, 0.03, 0.5, 4.0, 60.0])
def test_the_middle_label_by_quadrature(middle, eta, width):
    lower = -0.3
    upper = lower + width
    actual, by_eta, by_cutpoint = middle(eta, [lower, upper])
    want = by_quadrature(eta, lower, upper - lower)
    assert actual == pytest.approx(want[0], rel=1e-10, abs=1e-10)
    assert by_eta == pytest.approx(want[1], rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(by_cutpoint, want[2:], rtol=1e-8, atol=1e-12)


def test_the_rules_meet_without_a_seam(middle):
    """Just left and right of their borders the values agree."""
    for eta, width in [(0.15, 0.3), (3.0, 1e-3 / 3.8), (40.0, 1e-3 / 40.8)]:
        first, second = (middle(eta, [0.0, width * by]) for by in (1 - 1e-9, 1 + 1e-9))
        np.testing.assert_allclose(first[0], second[0], rtol=3e-9)
        np.testing.assert_allclose(first[1], second[1], rtol=1e-7, atol=1e-8)


@pytest.mark.long
@settings(deadline=None, max_examples=30)
@given(
    eta=st.floats(-40, 40),
    cutpoint=st.lists(st.floats(-40, 40), min_size=1, max_size=6, unique=True),
)
def test_no_label_is_impossible_nor_its_gradient_undefined(eta, cutpoint):
    cutpoint = np.sort(cutpoint)
    cutpoint = cutpoint[np.append(True, np.diff(cutpoint) > 1e-6)]
    result, by_eta, by_cutpoint = evaluated(cutpoint)(eta, cutpoint)
    assert np.isfinite(result).all()
    assert np.isfinite(by_eta)
    assert np.isfinite(by_cutpoint).all()
    assert special.logsumexp(result) == pytest.approx(0, abs=1e-9)


_COMPILED = {}


def evaluated(cutpoint):
    """Return a function of all labels' log-probabilities and the gradient of their sum."""
    n = len(cutpoint)
    if n not in _COMPILED:
        e, c = pt.dscalar("e"), pt.dvector("c")
        log_density = pm.logp(CumulativeProbit.dist(e, c), np.arange(n + 1))
        _COMPILED[n] = pytensor.function(
            [e, c], [log_density, *pytensor.grad(log_density.sum(), [e, c])]
        )
    return _COMPILED[n]


@pytest.mark.parametrize("eta", [-40.0, -3.0, 0.2, 3.0, 40.0])
def test_the_first_label_and_the_last_are_tails(eta):
    got = logp([0, len(C)], eta, C)
    want = stats.norm.logcdf(C[0] - eta), stats.norm.logsf(C[-1] - eta)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-300)


def test_differences_of_cdfs_where_they_do_not_underflow():
    eta, label = np.meshgrid(np.linspace(-3, 3, 25), np.arange(5), indexing="ij")
    want = density_of_labels(eta[:, 0])[0]
    np.testing.assert_allclose(np.exp(logp(label, eta, C)), want, atol=1e-14)


def test_where_the_ordered_probit_of_pymc_underflows():
    """It goes through probabilities, and even its logarithm of them ends far out."""
    pymcs = pm.OrderedProbit.dist(eta=np.array([0.3, 40.0]), cutpoints=C)
    theirs = pm.logp(pymcs, [1, 1]).eval()
    ours = logp([1, 1], np.array([0.3, 40.0]), C)
    assert ours[0] == pytest.approx(theirs[0], rel=1e-8)
    assert theirs[1] == -np.inf
    assert ours[1] == pytest.approx(by_quadrature(40.0, C[0], C[1] - C[0])[0], rel=1e-12)


def test_two_labels_are_a_probit_regression():
    eta = np.linspace(-5, 5, 11)
    np.testing.assert_allclose(logp(1, eta, [0.0]), special.log_ndtr(eta), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(logp(0, eta, [0.0]), special.log_ndtr(-eta), rtol=1e-12, atol=1e-15)


def test_what_is_no_label_is_impossible():
    np.testing.assert_array_equal(logp([-1, 5, 99, -7], 0.2, C), -np.inf)


@pytest.mark.parametrize("cutpoint", [[0.0, 0.0], [1.0, 0.0], [0.0, np.nan], [0.0, np.inf]])
def test_cutpoints_increase(cutpoint):
    with pytest.raises(ParameterValueError, match="cutpoints finite and increasing"):
        logp(1, 0.0, cutpoint)


@pytest.mark.parametrize(("cutpoint", "words"), [([], "none"), (0.5, "a number")])
def test_there_is_a_cutpoint(cutpoint, words):
    with pytest.raises(ArgumentError, match=f"cutpoint: expected a vector.*found {words}"):
        CumulativeProbit.dist(0.0, cutpoint)


def density_of_labels(eta):
    """Return the cdf and the density at both ends of each label's stretch, label by label."""
    ends = np.concatenate([[-np.inf], C, [np.inf]]) - eta[:, None]
    return np.diff(stats.norm.cdf(ends)), np.diff(stats.norm.pdf(ends))


@pytest.mark.long
def test_a_likelihood_of_thousands_with_its_gradient():
    """The whole log-probability is the likelihood here, as the priors are flat."""
    rng = np.random.default_rng(1)
    eta = rng.normal(0, 2, 5000)
    y = ((eta + rng.normal(size=5000))[:, None] > C).sum(1)
    with pm.Model() as model:
        e = pm.Flat("eta", shape=5000)
        c = pm.Flat("cutpoint", shape=4, transform=pm.distributions.transforms.ordered)
        CumulativeProbit("y", e, c, observed=y)
    point = {"eta": eta, "cutpoint_ordered__": np.append(C[0], np.log(np.diff(C)))}
    p, slope = (table[np.arange(5000), y] for table in density_of_labels(eta))
    assert float(model.compile_logp(jacobian=False)(point)) == pytest.approx(np.log(p).sum())
    gradient = model.compile_dlogp(jacobian=False)(point)
    np.testing.assert_allclose(gradient[:5000], -slope / p, rtol=1e-8, atol=1e-10)
    # The first number of the ordered transform moves all cutpoints: as eta does, the other way.
    assert gradient[5000] == pytest.approx((slope / p).sum(), rel=1e-8)
    assert np.isfinite(model.compile_dlogp()({**point, "eta": 20 * eta})).all()


def test_decreasing_cutpoints_are_impossible_to_a_sampler():
    with pm.Model() as model:
        c = pm.Flat("cutpoint", shape=2)
        CumulativeProbit("y", 0.0, c, observed=[0, 1, 2])
    logp_of = model.compile_logp()
    assert np.isfinite(logp_of({"cutpoint": np.array([-1.0, 1.0])}))
    assert logp_of({"cutpoint": np.array([1.0, -1.0])}) == -np.inf


def test_parameters_are_read_off_the_observed_variable():
    """As the Gibbs step does."""
    with pm.Model() as model:
        e = pm.Normal("eta", 0, 1, shape=3)
        c = pm.Normal("cutpoint", 0, 2, shape=2, transform=pm.distributions.transforms.ordered)
        y = CumulativeProbit("y", e, c, observed=[0, 1, 2])
    assert y.owner.op.dist_params(y.owner) == (model["eta"], model["cutpoint"])


class TestRandom(BaseTestDistributionRandom):
    pymc_dist = CumulativeProbit
    pymc_dist_params = {"eta": np.array([0.2, -1.0]), "cutpoint": C}  # noqa: RUF012
    expected_rv_op_params = {"eta": np.array([0.2, -1.0]), "cutpoint": C}  # noqa: RUF012
    sizes_to_check = (None, 2, (4, 2))
    sizes_expected = ((2,), (2,), (4, 2))
    checks_to_run = ("check_pymc_params_match_rv_op", "check_rv_size")


@pytest.mark.parametrize("rows", [False, True])
def test_draws_have_their_probabilities(rows):
    eta, n = np.array([-1.5, 0.3]), 4000
    variable = CumulativeProbit.dist(eta, np.stack([C, C]) if rows else C, size=(n, 2))
    draws = pm.draw(variable, random_seed=1)
    want = density_of_labels(eta)[0]
    share = (draws[..., None] == np.arange(5)).mean(0)
    assert draws.dtype == np.int64
    assert (np.abs(share - want) < 4 * np.sqrt(want * (1 - want) / n)).all()


@pytest.mark.long
@pytest.mark.parametrize(
    ("eta", "cutpoint", "shape"),
    [(0.1, C, ()), ([0.1, 2.0], C, (2,)), (0.1, np.stack([C, C + 1, C + 2]), (3,)),
     (np.zeros((2, 1)), np.stack([C, C + 1, C + 2]), (2, 3))],
)  # fmt: skip
def test_parameters_broadcast(eta, cutpoint, shape):
    variable = CumulativeProbit.dist(eta, cutpoint)
    labels = pm.draw(variable, random_seed=1)
    assert labels.shape == shape
    got = pm.logp(variable, labels).eval()
    rows = np.broadcast_to(cutpoint, (*shape, 4)).reshape(-1, 4)
    etas = np.broadcast_to(eta, shape).ravel()
    one_by_one = [logp(*cell) for cell in zip(labels.ravel(), etas, rows, strict=True)]
    np.testing.assert_allclose(got.ravel(), one_by_one, rtol=1e-12)


@pytest.mark.parametrize(
    ("eta", "size", "expected"),
    [(0.0, None, 2), (-40.0, None, 0), ([-1.0, 9.0], None, [1, 4]), (0.3, 3, [3, 3, 3])],
)
def test_support_point_is_the_label_of_eta(eta, size, expected):
    with pm.Model() as model:
        CumulativeProbit("x", eta, C, size=size)
    assert_support_point_is_expected(model, np.array(expected), check_finite_logp=True)


def test_dims_and_prior_predictive():
    with pm.Model(coords={"annotation": range(4)}) as model:
        eta = pm.Normal("eta", 0, 1, dims="annotation")
        CumulativeProbit("y", eta, C, dims="annotation", observed=[0, 4, 2, 2])
        drawn = pm.sample_prior_predictive(10, random_seed=1)["prior_predictive"]["y"]
    assert drawn.dims == ("chain", "draw", "annotation")
    assert drawn.min() >= 0
    assert drawn.max() <= 4
    assert np.isfinite(model.compile_logp()(model.initial_point()))
