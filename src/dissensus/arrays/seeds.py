"""One seed, many purposes: generators that do not meet."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.errors import ArgumentError


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
