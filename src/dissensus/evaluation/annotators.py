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
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.statistics._sums import Sums, Undefined

_GROUPS: Final = 20
_SHUFFLES: Final = (3, 20)
"""How often annotators change places, to see what chance and differences of items do: with many
labels, and with few."""
_ROWS: Final = 5_000_000
"""Number of rows of all versions up to which there are more, with no fewer than 5 groups."""
_FEWEST: Final = 3
"""Of two annotators, one alone agrees with nobody."""
_KEPT: Final = 0.3
"""Share of the pairs of labels that a version keeps, at least: of three annotators two have a
third. Of an annotator who is in nearly all pairs, nobody can tell how others would do."""


@dataclass(frozen=True)
class Versions:
    """Annotations without one group of annotators at a time, as one set with separate items."""

    annotations: xr.Dataset
    n_groups: int
    count: int
    used: Flags
    """(shuffle, group): whether the version keeps enough pairs of labels."""

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
        used = self.used & np.isfinite(each)
        n = used.sum(axis=1)
        if n.min() < _FEWEST:
            return 0.0
        mean = np.where(used, each, 0.0).sum(axis=1) / n
        square = np.where(used, (each - mean[:, None]) ** 2, 0.0).sum(axis=1)
        variance = (n - 1) / n * square
        return max(float(variance[0] - variance[1:].mean()), 0.0)


def versions(annotations: xr.Dataset, random_seed: Any) -> Versions | None:
    """Leave out groups of annotators; None if there are two, or none has two labels."""
    item, who = (annotations[name].to_numpy() for name in ("item_code", "annotator_code"))
    people, who = np.unique(who, return_inverse=True)
    voice, of_row = np.unique(item * len(people) + who, return_inverse=True)
    n_groups = min(len(people), _GROUPS, max(_ROWS // (len(item) * (1 + _SHUFFLES[0])), 5))
    if n_groups < _FEWEST or len(people) == len(voice):
        return None
    rng = generator(random_seed, "annotators")
    group = (rng.permutation(len(people)) % n_groups)[voice % len(people)]
    size = np.unique(voice // len(people), return_counts=True)[1]
    shuffles = int(np.clip(_ROWS // (len(item) * n_groups), *_SHUFFLES))
    places = [_shuffled(size, rng) for _ in range(shuffles)]
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
    each = np.bincount(code, minlength=n_items * count).reshape(count, n_items)
    whole = np.bincount(annotations["item_code"].to_numpy(), minlength=n_items)
    pairs, all_pairs = ((n * (n - 1)).sum(axis=-1) for n in (each, whole))
    used = (pairs >= _KEPT * all_pairs).reshape(len(groups), n_groups)
    return Versions(as_checked(stacked.assign_attrs(annotations.attrs)), n_groups, count, used)


RATES: Final = frozenset({"percent_agreement", "leave_one_out_agreement"})
"""Coefficients that are at least 0."""


def moved(found: xr.DataArray, spread: float, freedom: int, random_seed: Any) -> xr.DataArray:
    """Add the variation over annotators to draws of a coefficient, which is at most 1."""
    noise: Floats = generator(random_seed, "new annotators").standard_t(freedom, found.shape)
    least = 0.0 if found.name in RATES else None
    return (found + np.sqrt(spread) * noise).clip(least, 1.0).assign_attrs(found.attrs)
