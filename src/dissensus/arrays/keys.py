"""Where streams of random numbers start: a key for each row, from names and not from places.

A stream that starts from its item's name is the same whatever other items there are, in whatever
order, lot or chunk, on whatever machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.arrays.seeds import name_hashes
from dissensus.arrays.stream import mixed
from dissensus.arrays.types import Keys


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
