"""The distribution of partial rankings: density by enumeration, draws by their frequencies."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.utils import ParameterValueError
from scipy import stats

import dissensus as dx
from dissensus.families.rankings.distributions import PartialRanking, places_of

STRENGTH = np.array([2.0, 1.0, 0.3, 0.7])


def blocks_of(ranks):
    return [np.flatnonzero(ranks == number).tolist() for number in range(1, max(ranks) + 1)]


def rankings_like(places):
    """Return every ranking of the shape, once each."""
    return np.unique(list(itertools.permutations(places)), axis=0)


@cache
def compiled():
    u, ranks = pt.dvector(), pt.lmatrix()
    power, sharpness = pt.dscalar(), pt.dscalar()
    x = PartialRanking.dist(
        log_strength=u, places=pt.zeros_like(ranks[0]), power=power, sharpness=sharpness
    )
    return pytensor.function([u, ranks, power, sharpness], pm.logp(x, ranks))


def logp(ranks, strength=None, log_strength=None, power=1.0, sharpness=1.0):
    if log_strength is None:
        with np.errstate(divide="ignore"):
            log_strength = np.log(strength)
    result = compiled()(log_strength, np.atleast_2d(ranks), power, sharpness)
    return result if np.ndim(ranks) == 2 else result[0]


SHAPES = [[1, 2, 3, 4], [1, 1, 2, 0], [1, 2, 2, 2], [1, 0, 0, 0], [1, 1, 1, 0], [1, 2, 0, 0]]


@pytest.mark.unit(1)
@pytest.mark.parametrize("places", SHAPES, ids=str)
def test_probabilities_are_exact_and_add_up_to_1(places):
    ranks = rankings_like(places)
    log_density = logp(ranks, strength=STRENGTH)
    want = [dx.partial_ranking_logp(STRENGTH, blocks_of(row)) for row in ranks]
    np.testing.assert_allclose(log_density, want, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_density).sum(), 1)


@pytest.mark.parametrize("places", SHAPES, ids=str)
def test_draws_have_these_probabilities(places):
    ranks = rankings_like(places)
    x = PartialRanking.dist(STRENGTH, places=places, sharpness=1.5)
    drawn = pm.draw(x, 3000, random_seed=2)
    seen = (drawn[:, None] == ranks).all(axis=-1).sum(axis=0)
    assert seen.sum() == len(drawn)
    want = np.exp(logp(ranks, strength=STRENGTH**1.5)) * len(drawn)
    assert len(ranks) == 1 or stats.chisquare(seen, want).pvalue > 0.001


def test_power_and_sharpness_are_powers():
    ranking = [1, 2, 2, 0]
    assert logp(ranking, strength=STRENGTH, power=2.5) == pytest.approx(
        2.5 * logp(ranking, strength=STRENGTH)
    )
    assert logp(ranking, strength=STRENGTH, sharpness=2.5) == pytest.approx(
        logp(ranking, strength=STRENGTH**2.5)
    )
    for name in ("power", "sharpness"):
        with pytest.raises(ParameterValueError, match=f"{name} > 0"):
            logp(ranking, strength=STRENGTH, **{name: 0.0})


def test_logarithms_serve_where_strengths_underflow():
    u = np.array([-5000.0, -5001.0, -9000.0])
    shifted = logp([1, 2, 0], log_strength=u + 5000)
    assert logp([1, 2, 0], log_strength=u) == pytest.approx(shifted)


def test_a_label_of_strength_0_is_not_there():
    padded = np.append(STRENGTH, 0.0)
    assert logp([2, 1, 0, 0, 0], strength=padded) == pytest.approx(
        logp([2, 1, 0, 0], strength=STRENGTH)
    )
    assert logp([2, 1, 0, 0, 3], strength=padded) == -np.inf
    drawn = pm.draw(PartialRanking.dist(padded, places=[1, 2, 3, 0, 0]), 50, random_seed=1)
    assert (drawn[:, -1] == 0).all()


def test_nothing_listed_says_nothing():
    assert logp([0, 0, 0, 0], strength=STRENGTH) == 0


# Compiled it takes half a minute.
@pytest.mark.parametrize("mode", ["FAST_COMPILE", pytest.param("NUMBA", marks=pytest.mark.slow)])
def test_the_gradient_is_that_of_the_density(mode):
    u, sharpness, power = pt.dmatrix(), pt.dvector(), pt.dscalar()
    ranks = np.array([[1, 2, 2, 0, 0], [0, 1, 1, 1, 2]])
    x = PartialRanking.dist(log_strength=u, places=ranks, sharpness=sharpness, power=power)
    value = pm.logp(x, ranks).sum()
    f = pytensor.function([u, sharpness, power], value, mode=mode)
    g = pytensor.function(
        [u, sharpness, power], pytensor.grad(value, [u, sharpness, power]), mode=mode
    )
    start = np.random.default_rng(4).normal(size=(2, 5)) * 3
    start[0, 3] = -np.inf  # no strength: no gradient either, nor a spoilt one elsewhere
    at = [start, np.array([0.7, 1.9]), np.array(1.3)]
    for which, gradient in enumerate(g(*at)):
        for place in np.ndindex(gradient.shape):
            if at[which][place] == -np.inf:
                assert gradient[place] == 0
                continue
            up, down = ([array.copy() for array in at] for _ in range(2))
            up[which][place] += 1e-5
            down[which][place] -= 1e-5
            slope = (f(*up) - f(*down)) / 2e-5
            assert gradient[place] == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_a_ranking_for_each_row_of_strengths():
    strengths = np.array([STRENGTH, STRENGTH[::-1]])
    x = PartialRanking.dist(strengths, places=[1, 0, 0, 0], shape=(3, 2, 4))
    drawn = pm.draw(x, 2000, random_seed=5)
    assert drawn.shape == (2000, 3, 2, 4)
    first = (drawn == 1).mean(axis=(0, 1))
    np.testing.assert_allclose(first, strengths / strengths.sum(1, keepdims=True), atol=0.02)


def test_the_shape_of_draws_is_that_of_the_data():
    ranks = np.array([[0, 2, 1, 2], [1, 0, 0, 0]])
    with pm.Model() as model:
        u = pm.Normal("u", shape=4)
        PartialRanking("ranks", log_strength=u, observed=ranks)
    drawn = pm.sample_prior_predictive(20, model=model, random_seed=1)
    drawn = drawn["prior_predictive"]["ranks"].to_numpy().reshape(-1, 2, 4)
    for row, ranking in enumerate(ranks):
        assert (np.sort(drawn[:, row], axis=1) == np.sort(ranking)).all()


def test_it_starts_with_the_strongest_first():
    with pm.Model() as model:
        PartialRanking("ranks", STRENGTH, places=[1, 2, 0, 0])
    np.testing.assert_array_equal(model.initial_point()["ranks"], [1, 2, 0, 0])


@pytest.mark.parametrize(
    ("ranks", "words"),
    [([[1, 3, 0]], ("row 0", "[1, 3, 0]")), ([[1, 0, 0], [2, 0, 0]], ("row 1", "[2, 0, 0]")),
     ([-1, 1, 0], ("[-1, 1, 0]",)), ([[0.5, 1.0]], ("float64",))],
)  # fmt: skip
def test_what_is_no_ranking_is_refused(ranks, words):
    with pytest.raises(dx.ArgumentError, match=r"observed.*numbers of blocks 1, 2") as caught:
        places_of(ranks)
    assert all(word in str(caught.value) for word in words)


def test_where_nothing_is_observed_all_present_labels_are_listed():
    absent = [[2.0, 1.0, 0.0, 1.0], [1.0, 3.0, 1.0, 2.0]]
    drawn = pm.draw(PartialRanking.dist(absent), 50, random_seed=1)
    listed = PartialRanking.dist(absent, places=[[1, 2, 3, 0], [1, 2, 3, 4]])
    np.testing.assert_array_equal(drawn, pm.draw(listed, 50, random_seed=1))
    assert (drawn[:, 0, 2] == 0).all()
    with pm.Model() as model:
        PartialRanking("ranks", absent)
    np.testing.assert_array_equal(model.initial_point()["ranks"], [[1, 2, 0, 3], [3, 1, 4, 2]])


def test_strengths_are_given_once():
    for given, words in (({}, "neither"), ({"strength": [1.0], "log_strength": [0.0]}, "both")):
        with pytest.raises(dx.ArgumentError, match=f"strength or log_strength; found {words}"):
            PartialRanking.dist(**given, places=[1])


@pytest.mark.parametrize("bad", [-2.0, np.nan, np.inf])
def test_strengths_that_are_none_are_refused(bad):
    with pytest.raises(ParameterValueError, match="strengths finite"):
        pm.logp(PartialRanking.dist([1.0, bad, 3.0], places=[1, 0, 0]), [1, 0, 0]).eval()


def test_negative_ranks_are_impossible():
    assert logp([1, -1, 2, 0], strength=STRENGTH) == -np.inf


def test_masked_ranks_are_refused():
    ranks = np.ma.masked_array([1, 2, 3], mask=[False, False, True])
    with pm.Model(), pytest.raises(dx.ArgumentError, match=r"observed: .*masked"):
        PartialRanking("r", [1.0, 1.0, 1.0], observed=ranks)


def test_draws_follow_data_that_are_changed():
    with pm.Model() as model:
        seen = pm.Data("seen", np.array([[1, 2, 0]]))
        PartialRanking("r", np.ones(3), observed=seen)
        pm.set_data({"seen": np.array([[2, 1, 2], [1, 0, 0]])})
        drawn = pm.sample_prior_predictive(5, random_seed=1)["prior_predictive"]["r"].to_numpy()
    assert drawn.shape == (1, 5, 2, 3)
    np.testing.assert_array_equal(np.sort(drawn, axis=-1)[0, 0], [[1, 2, 2], [0, 0, 1]])
    assert np.isfinite(model.compile_logp()({}))
