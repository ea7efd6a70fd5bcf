"""Random streams: seeds, names and places.

- One seed for everything must not tie the sources of uncertainty together.
- The stream against its reference, and its variates against known distributions.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats

import dissensus as dx
from dissensus.kernels.random import generator, item_keys, mixed, started, uniform
from dissensus.metrics import _insight, _items
from dissensus.metrics._items import BOOTSTRAP
from dissensus.sampling import by_item


def test_purposes_have_their_own_streams():
    first, second = (generator(7, purpose).random(1000) for purpose in ("fit", "item weights"))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.15


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(1)
    assert generator(rng, "fit") is rng


@pytest.mark.parametrize("bad", [-1, 1.5, "one"])
def test_a_bad_seed_is_named(bad):
    with pytest.raises(dx.ArgumentError, match=f"random_seed.*{bad}"):
        generator(bad, "fit")


def test_weights_are_independent_of_draws_under_the_same_seed(monkeypatch):
    """Streams of items are equal if and only if their seeds are."""
    seeds = []

    def recorded(*args, seed):
        seeds.append(seed)
        return item_keys(*args, seed=seed)

    for module in (by_item, _insight, _items):
        monkeypatch.setattr(module, "item_keys", recorded)
    ann = dx.from_matrix(np.array([[1, 2], [2, 1]]), kind="nominal", labels=[1, 2])
    pred = dx.predictions({"item": [0, 1], "system": ["s", "s"], "label": [1, 2]}, kind="nominal")
    fit = dx.models.dirichlet.fit(ann, draws=5, chains=1, random_seed=1, prior_count=1.0)
    dx.top_k_accuracy(fit, pred, weights=BOOTSTRAP, insight="learned", random_seed=1)
    assert len(set(seeds)) == len(seeds) == 3


@njit
def _uniforms(key, n):
    state, out = started(key), np.empty(n)
    for i in range(n):
        out[i] = uniform(state)
    return out


def test_is_splitmix64():
    # The first outputs of the reference implementation (Vigna, splitmix64.c, public domain) for
    # the seed 1234567, as the Rosetta Code task "Pseudo-random numbers/Splitmix64" lists them.
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    golden = 0x9E3779B97F4A7C15
    states = np.array([(1234567 + golden * i) % 2**64 for i in range(1, 6)], dtype=np.uint64)
    assert mixed(states).tolist() == expected
    actual = _uniforms(np.uint64(1234567), 5)
    np.testing.assert_allclose(actual, np.array(expected, dtype=np.float64) / 2**64, atol=2**-52)


def test_uniforms_are_uniform_and_one_key_is_one_stream():
    draws = _uniforms(np.uint64(5), 50_000)
    assert stats.kstest(draws, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / np.sqrt(50_000)
    np.testing.assert_array_equal(_uniforms(np.uint64(5), 10), draws[:10])
    keys = mixed(np.arange(20_000, dtype=np.uint64))
    first = np.array([_uniforms(key, 1)[0] for key in keys])
    assert stats.kstest(first, "uniform").pvalue > 1e-3


def test_the_user_s_own_random_numbers_are_left_alone():
    @njit
    def theirs(n):
        np.random.seed(1)  # noqa: NPY002 (Numba knows no other)
        before = np.random.random()  # noqa: NPY002
        total = _uniforms(np.uint64(3), n).sum()
        return before, total, np.random.random()  # noqa: NPY002

    before, _, after = theirs(100)
    again_before, _, again_after = theirs(0)
    assert (before, after) == (again_before, again_after)
