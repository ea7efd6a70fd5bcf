"""How probably somebody who guesses gives each label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.errors import ArgumentError, brief, shown
from dissensus.kernels.types import Floats
from dissensus.statistics._confident import Confident
from dissensus.statistics._settings import real

CHANCES: Final = ("uniform", "empirical")
EXPECTED: Final = "'uniform', 'empirical', a number above 0 up to 1, or a share for each label"
ROUNDING: Final = 1e-6
"""By how much shares of all labels may come to more than 1."""


class Guesses(NamedTuple):
    """Chance, as it was asked for."""

    name: str
    """"uniform", "empirical", "mapping", or "number"."""
    share: Floats
    """(label): how probable a guess is to be that label; of "empirical" with all items alike."""
    moves: bool
    """Whether weights over items change it, and that matters."""


def guesses(annotations: xr.Dataset, confident: Confident, chance: Any) -> Guesses:
    """Read what chance is taken to be.

    Raises
    ------
    ArgumentError
        If it is none of the words, no number and no share of each label, or none of these where
        only a number will do.
    """
    n = confident.n_said
    if isinstance(chance, Mapping | pd.Series) and not isinstance(chance, xr.Dataset | xr.DataTree):
        _check_counted(annotations, confident, "shares of labels", always=True)
        return Guesses("mapping", _mapped(confident, chance), moves=False)
    if isinstance(chance, str) and chance in CHANCES:
        _check_counted(annotations, confident, repr(chance), always=False)
        if chance == "uniform":
            return Guesses(chance, np.full(n, 1.0 / n), moves=False)
        amount = np.bincount(confident.said, confident.rows.share, n)
        return Guesses(chance, amount / amount.sum(), moves=confident.guessed)
    if not 0 < real(chance) <= 1:
        raise ArgumentError("chance", expected=EXPECTED, found=brief(chance))
    return Guesses("number", np.full(n, float(chance)), moves=False)


def _check_counted(
    annotations: xr.Dataset, confident: Confident, found: str, *, always: bool
) -> None:
    """Raise where there are no labels to count, if it matters how probable each is."""
    kind = annotations.attrs["kind"]
    if kind in ("nominal", "ordinal") or not (always or confident.guessed):
        return
    raise ArgumentError(
        "chance",
        expected="a number: how probably a guess would pass for what was said",
        found=f"{found}, with annotations of kind {kind!r}, which have no labels to count",
        hint="chance=1 takes confidence as it was given",
    )


def _mapped(confident: Confident, chance: Any) -> Floats:
    """Return shares in the order of the labels."""
    names, values = list(chance.keys()), list(chance.values if hasattr(chance, "iloc") else
                                              chance.values())  # fmt: skip
    share = np.array([real(value) for value in values])
    bad = np.flatnonzero(~((share >= 0) & (share <= 1)))
    if len(bad):
        raise ArgumentError(
            "chance",
            where=f"label {shown([names[bad[0]]])}",
            expected="a share from 0 to 1",
            found=brief(values[bad[0]]),
        )
    if share.sum() > 1 + ROUNDING:
        raise ArgumentError(
            "chance", expected="shares that come to 1 at most", found=f"{share.sum():.6g}"
        )
    used = np.unique(confident.said)
    place = _places(confident, names)
    found = np.where(place < 0, 0.0, share[place]) if len(share) else np.zeros(len(place))
    lacking = used[found[used] <= 0]
    if len(lacking):
        raise ArgumentError(
            "chance",
            expected="a share above 0 for every label that was given",
            found=f"none for {shown(list(confident.labels[lacking]))}",
        )
    return found


def _places(confident: Confident, names: list[Any]) -> Any:
    """Find each label among the names."""
    text = any(isinstance(name, str) for name in names)
    keys = np.array([str(name) for name in names] if text else names)
    if keys.ndim != 1 or pd.Index(keys).has_duplicates or keys.dtype.kind not in "biufUO":
        raise ArgumentError("chance", expected=EXPECTED, found=f"shares of {shown(names)}")
    if not len(keys):
        return np.full(len(confident.labels), -1)
    return tables.match(confident.labels, keys.astype(int) if keys.dtype.kind == "b" else keys)
