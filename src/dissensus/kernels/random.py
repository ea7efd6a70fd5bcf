"""Where streams of random numbers start, and a small stream for compiled code.

A small random stream that starts from a key and touches no other.
Kernels that must see the same random numbers whenever they look at the same draw cannot use
NumPy's generator inside Numba: to seed it means to reset the state that all compiled code of
the user shares, and costs more than the few numbers wanted. SplitMix64 (Steele, Lea & Flood
2014) needs one word of state, and passes the usual batteries of tests.

Where streams of random numbers start: a key for each row, from names and not from places.
A stream that starts from its item's name is the same whatever other items there are, in whatever
order, lot or chunk, on whatever machine.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.errors import ArgumentError
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Keys

# One seed, many purposes: generators that do not meet.


def generator(random_seed: Any, purpose: str) -> np.random.Generator:
    """Return the generator for one purpose under a seed.

    People give the same seed to everything. If a posterior and the weights of a bootstrap then
    read the same stream, the weights *are* the draws, and the two uncertainties no longer add
    up. So an integer seed starts a different stream for each purpose.

    Parameters
    ----------
    random_seed : None, int, sequence of int, or numpy.random.Generator
        None starts anywhere; a Generator is used as it is.
    purpose : str
        What the numbers are for.

    Raises
    ------
    ArgumentError
        If the seed is none of these.

    Examples
    --------
    >>> one, two = (generator(1, purpose).random() for purpose in ("fit", "item weights"))
    >>> one == two, one == generator(1, "fit").random()
    (False, True)
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
    """Return a seed, and whether it was given or had to be drawn.

    Examples
    --------
    >>> seed_or_drawn(1)
    (1, 'given')
    >>> seed, source = seed_or_drawn(None)
    >>> 0 <= seed < 2**32, source
    (True, 'drawn')
    """
    if random_seed is not None:
        return random_seed, "given"
    return int(np.random.SeedSequence().generate_state(1)[0]), "drawn"


def name_hashes(names: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Hash names, the same on every machine and in every run.

    A stream of random numbers that starts from its item's name stays the same whatever other
    items there are, in whatever order, on whatever machine.

    Examples
    --------
    >>> one, two = name_hashes(np.array(["x", "y"]))
    >>> name_hashes(np.array(["y"]))[0] == two, one == two
    (np.True_, np.False_)
    """
    import pandas as pd

    values = pd.util.hash_array(np.atleast_1d(names).ravel())
    return values.reshape(np.shape(names))


State = npt.NDArray[np.uint64]
"""One word, in an array so that a function can move it on."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mixed(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scramble words by SplitMix64's finaliser, so that neighbours have nothing in common.

    Examples
    --------
    >>> mixed(np.array([1, 2], dtype=np.uint64))
    array([ 6238072747940578789, 15839785061582574730], dtype=uint64)
    """
    with np.errstate(over="ignore"):  # wraps around, as it should
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
    return np.asarray(z ^ (z >> np.uint64(31)))


@kernel
def started(key: int) -> State:
    """Start a stream."""
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
    # 52 bits and a half: with 53 the largest would round to 1.
    return (np.float64(word(state) >> np.uint64(12)) + 0.5) * 2.0**-52


def row_keys(*names: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Give every row (draw, item) its own key, from hashes of the names of its chain, draw, item.

    Names and not places: a selection of draws or items keeps its random numbers.

    Parameters
    ----------
    *names : arrays
        Hashes, to be broadcast against each other.
    seed : int
        Of the whole array.

    Examples
    --------
    >>> draw, item = np.arange(2, dtype=np.uint64)[:, None], np.arange(3, dtype=np.uint64)
    >>> keys = row_keys(draw, item, seed=1)
    >>> keys.shape, len(np.unique(keys))
    ((2, 3), 6)
    >>> bool((row_keys(draw[1:], item[2:], seed=1) == keys[1:, 2:]).all())
    True
    """
    key = mixed(np.asarray(seed % 2**64, dtype=np.uint64))
    with np.errstate(over="ignore"):
        for name in names:
            key = mixed(key * np.uint64(3) + mixed(np.asarray(name) + np.uint64(1)))
    return key


def item_keys(items: npt.NDArray[Any], chains: int, *, seed: int) -> Keys:
    """Give every item in every chain its own key: (chain, item).

    Examples
    --------
    >>> keys = item_keys(np.array(["x", "y"]), 3, seed=1)
    >>> keys.shape, bool((item_keys(np.array(["y"]), 3, seed=1) == keys[:, 1:]).all())
    ((3, 2), True)
    """
    return row_keys(np.arange(chains, dtype=np.uint64)[:, None], name_hashes(items), seed=seed)
