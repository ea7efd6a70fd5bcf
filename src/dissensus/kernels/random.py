"""Starts of streams of random numbers, and a small stream for compiled code.

Some kernels need the same random numbers each time they read a draw. NumPy's generator inside Numba
is not suitable: seeding it resets the state shared by all compiled code, and is slow. SplitMix64
(Steele, Lea & Flood 2014) needs one word of state, and passes the usual batteries of tests.

The key of a stream is computed from the name of its item, not from the item's place. The stream
does not depend on other items, their order, the chunks, or the machine.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.errors import ArgumentError
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Array, Keys


def generator(random_seed: Any, purpose: str) -> np.random.Generator:
    """Return the generator for one purpose under a seed.

    An integer seed starts a different stream for each purpose: a posterior and the weights of a
    bootstrap under the same seed must be independent. A Generator is returned unchanged.
    """
    if isinstance(random_seed, np.random.Generator):
        return random_seed
    try:
        sequence = np.random.SeedSequence(random_seed, spawn_key=(zlib.crc32(purpose.encode()),))
    except (TypeError, ValueError) as problem:
        raise ArgumentError(
            "random_seed",
            expected="a whole number >= 0, a numpy.random.Generator, or None",
            found=repr(random_seed),
        ) from problem
    return np.random.default_rng(sequence)


def seed_or_drawn(random_seed: Any) -> tuple[Any, str]:
    """Return the seed and "given"; if the seed is None, return a random seed and "drawn"."""
    if random_seed is not None:
        return random_seed, "given"
    return int(np.random.SeedSequence().generate_state(1)[0]), "drawn"


def name_hashes(names: Array) -> npt.NDArray[np.uint64]:
    """Hash names, the same on every machine and in every run.

    >>> x, y = name_hashes(np.array(["x", "y"]))
    >>> name_hashes(np.array(["y"]))[0] == y, x == y
    (np.True_, np.False_)
    """
    import pandas as pd

    values = pd.util.hash_array(np.atleast_1d(names).ravel())
    return values.reshape(np.shape(names))


State = npt.NDArray[np.uint64]
"""The state of a stream: one word, in an array so that functions can change it."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mixed(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scramble words by SplitMix64's finaliser, so that similar words give unrelated results."""
    with np.errstate(over="ignore"):  # products are meant to wrap around
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
    return np.asarray(z ^ (z >> np.uint64(31)))


@kernel
def started(key: int) -> State:
    """Return the state of the stream that starts from ``key``."""
    state = np.empty(1, dtype=np.uint64)
    state[0] = key
    return state


@inner
def word(state: State) -> int:
    """Draw 64 random bits."""
    state[0] += _GOLDEN
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@inner
def uniform(state: State) -> float:
    """Draw from the open interval (0, 1)."""
    # 52 bits plus 1/2: with 53 bits the largest number would round to 1.
    return (np.float64(word(state) >> np.uint64(12)) + 0.5) * 2.0**-52


def row_keys(*names: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Return a key for every row (draw, item), from hashes of the names of chain, draw and item.

    The hashes are broadcast against each other. The key of a row stays the same in a selection of
    draws or items.
    """
    key = mixed(np.asarray(seed % 2**64, dtype=np.uint64))
    with np.errstate(over="ignore"):
        for name in names:
            key = mixed(key * np.uint64(3) + mixed(np.asarray(name) + np.uint64(1)))
    return key


def item_keys(items: Array, chains: int, *, seed: int) -> Keys:
    """Return a key for every item in every chain (chain, item).

    >>> keys = item_keys(np.array(["x", "y"]), 3, seed=1)
    >>> keys.shape, bool((item_keys(np.array(["y"]), 3, seed=1) == keys[:, 1:]).all())
    ((3, 2), True)
    """
    return row_keys(np.arange(chains, dtype=np.uint64)[:, None], name_hashes(items), seed=seed)
