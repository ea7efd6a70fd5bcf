"""Values that are not defined: NaN, and the reason in words."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from dissensus.errors import DissensusWarning
from dissensus.kernels.types import Floats


class Doubts:
    """Collects why values are undefined while they are computed, and says so once.

    Examples
    --------
    >>> doubts = Doubts()
    >>> doubts.divided(np.array([1.0, 1.0]), np.array([2.0, 0.0]), "nothing to divide by")
    array([0.5, nan])
    >>> doubts.words("alpha", draws=False)
    'alpha is undefined (NaN) in 1 of 2 values: nothing to divide by.'
    """

    def __init__(self) -> None:
        self._found: dict[str, int] = {}
        self._asked: dict[str, int] = {}

    def where(self, undefined: npt.NDArray[np.bool_], values: Floats, why: str) -> Floats:
        """Return values with NaN where they are undefined; NaN stays what it was."""
        new = undefined & ~np.isnan(values)
        self._found[why] = self._found.get(why, 0) + int(new.sum())
        self._asked[why] = self._asked.get(why, 0) + undefined.size
        return np.where(undefined, np.nan, values)

    def divided(self, above: Floats, below: Floats, why: str) -> Floats:
        """Divide by what is positive; elsewhere the quotient is undefined."""
        above, below = np.broadcast_arrays(above, below)
        bad = ~(below > 0)
        quotient = np.where(bad, 0.0, above) / np.where(bad, 1.0, below)
        return self.where(bad, quotient, why)

    def words(self, name: str, draws: bool) -> str:
        """Say how much is undefined and why, or nothing if nothing is."""
        parts = []
        for why, n in self._found.items():
            if n == 0:
                continue
            asked = self._asked[why]
            share = "" if asked == 1 else f" in {n:,} of {asked:,} {'draws' if draws else 'values'}"
            parts.append(f"{name} is undefined (NaN){share}: {why}.")
        return " ".join(parts)

    def say(self, name: str, *, draws: bool, stacklevel: int = 3) -> None:
        """Warn of what is undefined."""
        text = self.words(name, draws)
        if text:
            warnings.warn(text, DissensusWarning, stacklevel=stacklevel)
