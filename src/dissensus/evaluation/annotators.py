"""How much the agreement of annotators varies with who they happen to be.

The Bayesian bootstrap over items keeps the annotators as they are. Other annotators may agree more,
or less, on all items.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.checks._replicates import evaluated
from dissensus.data.schema import as_checked
from dissensus.dims import ANNOTATION, ITEM
from dissensus.errors import DissensusWarning
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._sums import Sums, Undefined

_GROUPS: Final = 20
_SHUFFLES: Final = 3
"""How often annotators change places, to see what chance and differences of items do."""
_ROWS: Final = 5_000_000
"""Maximum number of rows of all versions, which limits the number of groups to no fewer than 5."""
_FEWEST: Final = 3
"""Of two annotators, one alone agrees with nobody."""


@dataclass(frozen=True)
class Versions:
    """Annotations without one group of annotators at a time, as one set with separate items."""

    annotations: xr.Dataset
    n_groups: int
    count: int

    def spread(self, sums: Callable[[xr.Dataset], Sums]) -> float:
        r"""Return the variance of a statistic over annotators, beyond that of single labels.

        .. math:: \frac{G - 1}{G} \sum_g (t_{-g} - \bar t)^2

        is the delete-a-group jackknife with G groups, Shao & Tu (1995), *The Jackknife and
        Bootstrap*, section 2.3. Its mean where annotators have changed places is subtracted: it is
        due to single labels and to items, which the bootstrap over items includes.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DissensusWarning)  # of small versions
            values = evaluated(sums(self.annotations), self.count, Undefined())
        each = np.asarray(values, dtype=np.float64).reshape(-1, self.n_groups)
        if not np.isfinite(each).all():
            return 0.0
        variance = (self.n_groups - 1) * each.var(axis=1)
        return max(float(variance[0] - variance[1:].mean()), 0.0)


def versions(annotations: xr.Dataset, random_seed: Any) -> Versions | None:
    """Leave out groups of annotators; None if there are two, or none has two labels."""
    item, who = (annotations[name].to_numpy() for name in ("item_code", "annotator_code"))
    people, who = np.unique(who, return_inverse=True)
    voice, of_row = np.unique(item * len(people) + who, return_inverse=True)
    most = _ROWS // max(len(item) * (1 + _SHUFFLES), 1)
    n_groups = min(len(people), _GROUPS, max(most, 5))
    if n_groups < _FEWEST or len(people) == len(voice):
        return None
    rng = generator(random_seed, "annotators")
    group = (rng.permutation(len(people)) % n_groups)[voice % len(people)]
    size = np.unique(voice // len(people), return_counts=True)[1]
    places = [_shuffled(size, rng) for _ in range(_SHUFFLES)]
    groups = np.stack([group, *(group[place] for place in places)])[:, of_row]
    return _without(annotations, groups, n_groups)


def _shuffled(size: Ints, rng: np.random.Generator) -> Ints:
    """Exchange annotators of items with as many of them, and their places: (annotator of an item).

    Voices are in the order of items; ``size`` (item) is their number.
    """
    start = np.cumsum(size) - size
    alike, other = np.argsort(size, kind="stable"), np.lexsort((rng.random(len(size)), size))
    source = np.empty_like(alike)
    source[alike] = other
    item = np.repeat(np.arange(len(size)), size)
    place = np.lexsort((rng.random(len(item)), item))  # within its item
    return np.asarray(place - start[item] + start[source][item])


def _without(annotations: xr.Dataset, groups: Ints, n_groups: int) -> Versions:
    """Stack versions: ``groups`` (shuffle, row) are left out one by one."""
    kept = groups[:, None, :] != np.arange(n_groups)[:, None]
    shuffle, group, row = np.nonzero(kept)
    place = shuffle * n_groups + group
    n_items, count = annotations.sizes[ITEM], len(groups) * n_groups
    bare = annotations.drop_vars(["cluster_code", "cluster", ITEM], errors="ignore")
    rows = bare.isel({ANNOTATION: row})
    code = rows["item_code"].to_numpy() + n_items * place
    stacked = rows.assign(item_code=(ANNOTATION, code))
    stacked = stacked.assign_coords({ITEM: np.arange(n_items * count)})
    return Versions(as_checked(stacked.assign_attrs(annotations.attrs)), n_groups, count)


def moved(found: xr.DataArray, spread: float, freedom: int, random_seed: Any) -> xr.DataArray:
    """Add the variation over annotators to draws of a coefficient, which is at most 1."""
    noise: Floats = generator(random_seed, "new annotators").standard_t(freedom, found.shape)
    return (found + np.sqrt(spread) * noise).clip(max=1.0).assign_attrs(found.attrs)
