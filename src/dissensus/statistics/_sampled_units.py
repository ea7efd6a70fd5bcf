"""What was sampled, items or clusters of them, and how many of it a value rests on."""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data.weights import by_item
from dissensus.dims import CLUSTER, ITEM
from dissensus.errors import ArgumentError, DissensusWarning, shown
from dissensus.kernels.types import Ints
from dissensus.statistics._statements import read
from dissensus.statistics._sums import Sums

FEW_UNITS: Final = 20
"""With fewer items (or clusters) the bootstrap's intervals are known to be too narrow."""

_NARROW: Final = (
    "the bootstrap's intervals are too narrow then. Take them for a lower bound of the "
    "uncertainty, or fit a model."
)


class Units(NamedTuple):
    """What was sampled."""

    of_item: Ints
    """(item): the number of its unit."""
    n: int
    what: str
    """"items" or "clusters"."""

    @property
    def are_items(self) -> bool:
        """Whether no two items belong together."""
        return self.n == len(self.of_item)

    def count(self, bears: npt.NDArray[np.bool_]) -> int:
        """Return how many units have one of these items at least."""
        return len(np.unique(self.of_item[bears]))


def units_of(annotations: Any, cluster: Any) -> Units:
    """Return the unit of each item.

    Raises
    ------
    ArgumentError
        If an item has no cluster, or there are fewer than two units.
    """
    annotations = read(annotations, rankings=True)
    units = _units(annotations, cluster)
    if units.n < 2:
        raise ArgumentError(
            "annotations",
            expected="two items or clusters at least: they are the sample",
            found=str(units.n),
        )
    return units


def _units(annotations: xr.Dataset, cluster: Any) -> Units:
    items = annotations[ITEM].to_numpy()
    named = "cluster_code" in annotations
    if isinstance(cluster, str) and cluster not in ((ITEM, CLUSTER) if named else (ITEM,)):
        raise ArgumentError(
            "cluster",
            expected=f'None, "{ITEM}", or the cluster of each item'
            + (f', or "{CLUSTER}"' if named else ""),
            found=repr(cluster),
            hint="Name the column of clusters when the annotations are read, with cluster=",
        )
    if (cluster is None and not named) or (isinstance(cluster, str) and cluster == ITEM):
        return Units(np.arange(len(items)), len(items), "items")
    if cluster is None or isinstance(cluster, str):
        cluster = annotations["cluster_code"].to_numpy()
    try:
        codes, names = pd.factorize(by_item(cluster, items, "cluster", "cluster"))
    except TypeError as problem:  # such as lists, which pandas cannot look up
        raise ArgumentError(
            "cluster", expected="a name or number for each item", found=str(problem)
        ) from problem
    if (codes < 0).any():
        lacking = items[codes < 0]
        raise ArgumentError(
            "cluster", expected="a cluster for each item", found=f"none for {shown(list(lacking))}"
        )
    return Units(codes.astype(np.int64), len(names), "clusters")


def warn_of_few(name: str, bears: npt.NDArray[np.bool_], units: Units, *, stacklevel: int) -> bool:
    """Warn if few units tell of a statistic, and return whether they are few.

    Parameters
    ----------
    name : str
        The statistic.
    bears : array of bool (item)
        Which items tell of it. That none does is not said: the statistic is undefined then.
    units : Units
        What was sampled.
    stacklevel : int
        As for `warnings.warn` where this is called.
    """
    n = units.count(bears)
    if n >= FEW_UNITS:
        return False
    if units.n < FEW_UNITS and n in (0, units.n):
        text = f"{n or units.n} {units.what} are few: {_NARROW}"
    elif n:
        text = (
            f"{n:,} of {units.n:,} {units.what} bear on {name}: with fewer than {FEW_UNITS}, "
            f"{_NARROW}"
        )
    else:
        return True
    warnings.warn(text, DissensusWarning, stacklevel=stacklevel + 1)
    return True


def warn_of_few_each(sums: Sums, units: Units, *, stacklevel: int) -> None:
    """Warn of values that rest on few units although others do not, and name them."""
    if sums.bearing is None or not sums.dims:
        return
    dim = next(dims[-1] for dims in sums.dims.values())
    called = sums.coords[dim] if sums.called is None else sums.called
    item, value = sums.bearing.nonzero()
    pair = units.of_item[item] * sums.bearing.shape[1] + value
    pair = pair if units.are_items else np.unique(pair)
    counts = np.bincount(pair % sums.bearing.shape[1], minlength=sums.bearing.shape[1])
    few = np.flatnonzero((counts > 0) & (counts < FEW_UNITS))
    if len(few):
        few = few[np.argsort(counts[few], kind="stable")]
        cells = [f"{shown([called[k]])} ({_counted(counts[k], units)})" for k in few[:5]]
        rest = f" and {len(few) - 5} more" if len(few) > 5 else ""
        warnings.warn(
            f"{sums.name} of {', '.join(cells)}{rest} rests on fewer than {FEW_UNITS} "
            f"{units.what}: {_NARROW}",
            DissensusWarning,
            stacklevel=stacklevel + 1,
        )


def _counted(n: int, units: Units) -> str:
    return f"{n} {units.what}" if n != 1 else f"1 {units.what[:-1]}"
