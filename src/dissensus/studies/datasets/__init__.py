"""Data sets: small published tables, and larger public sets that are downloaded.

The small data sets are typed from the literature. The larger sets are downloaded from their
repositories when they are first loaded, into the folder named by the environment variable
``DISSENSUS_DATA`` (or the usual cache), and checked by their SHA-256 hash. The library contains no
copy of them; each has a separate licence.

A set is registered only if its hash was computed from the file, or recorded for that file by two
or more independent public sources. A comment above the hash names these sources. The dermatology
study of Stutz et al. (google-deepmind/uncertain_ground_truth, CC BY 4.0) is not registered, because
no source records the hash of its annotations. `dissensus.from_rankings` reads it.

Unknown names and options raise an `ArgumentError`, failed downloads a `DownloadError`.
"""

from __future__ import annotations

from typing import Any, Final

from dissensus.errors import ArgumentError
from dissensus.registry import find
from dissensus.studies.datasets._entry import Data, Description, DownloadError, Entry, fetch
from dissensus.studies.datasets._tables import (
    ANAESTHESIA,
    CIFAR10H,
    DICES350,
    FIGURE5,
    LEHNER,
)

__all__ = ["REGISTRY", "Data", "Description", "DownloadError", "describe", "load", "names"]

REGISTRY: Final[dict[str, Entry]] = {
    entry.name: entry for entry in (ANAESTHESIA, LEHNER, FIGURE5, CIFAR10H, DICES350)
}
"""All data sets, by name."""


def names() -> list[str]:
    """Return the names of all data sets.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.datasets.names()
    ['anaesthesia', 'lehner_table2', 'stutz_figure5', 'cifar10h', 'dices350']
    """
    return list(REGISTRY)


def describe(name: str) -> Description:
    """Return the size, source and licence of a data set.

    Parameters
    ----------
    name : str
        One of `names`.

    Examples
    --------
    >>> import dissensus as dx
    >>> found = dx.datasets.describe("anaesthesia")
    >>> found.kind, found.counts
    ('ordinal', {'items': 45, 'annotators': 5, 'labels': 4, 'annotations': 315})
    """
    return find(REGISTRY.values(), name, "name").description()


def load(name: str, **options: Any) -> Data:
    """Return a data set; larger sets are downloaded when they are first loaded.

    Parameters
    ----------
    name : str
        One of `names`.
    **options
        Options of this data set, see ``describe(name).options``.

    Examples
    --------
    >>> import dissensus as dx
    >>> data = dx.datasets.load("lehner_table2")
    >>> data.annotations.sizes["annotation"], data.predictions.sizes["item"], data.truth
    (40, 10, None)
    """
    entry = find(REGISTRY.values(), name, "name")
    stray = [option for option in options if option not in entry.options]
    if stray:
        raise ArgumentError(
            stray[0],
            expected=f"an option of the data set {name!r} ({', '.join(entry.options) or 'none'})",
            found=f"{stray[0]}={options[stray[0]]!r}",
        )
    if entry.source is None:
        return entry.read(**options)
    return entry.read(fetch(entry.source), **options)
