"""A small random stream that starts from a key and touches no other.

Kernels that must see the same random numbers whenever they look at the same draw cannot use
NumPy's generator inside Numba: to seed it means to reset the state that all compiled code of
the user shares, and costs more than the few numbers wanted. SplitMix64 (Steele, Lea & Flood
2014) needs one word of state, and passes the usual batteries of tests.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner, kernel

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
