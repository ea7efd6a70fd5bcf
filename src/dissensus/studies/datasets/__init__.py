"""Data to try things on: small published tables, and larger public sets by name and hash.

The small ones are tables and figures from the literature, typed in as facts. The larger ones are
downloaded from their own public repository when they are first asked for, into the folder named
by the environment variable ``DISSENSUS_DATA`` (or the machine's usual cache), and checked by
their SHA-256 hash; the library holds no copy of them, and their licences are their own.

A set is registered only if its hash is known: computed from the file, or recorded for just that
file by at least two independent public sources, which the registry names. The dermatology case
study of Stutz et al. (google-deepmind/uncertain_ground_truth, CC BY 4.0), for one, is not
registered: nobody has recorded the hash of its file of annotations. `dissensus.from_rankings`
reads it.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Final

from dissensus.errors import ArgumentError
from dissensus.studies.datasets import _anaesthesia, _cifar10h, _dices350, _lehner, _stutz
from dissensus.studies.datasets._entry import Data, Description, Entry
from dissensus.studies.datasets._fetch import DownloadError, fetch

__all__ = ["REGISTRY", "Data", "Description", "DownloadError", "describe", "load", "names"]

REGISTRY: Final[dict[str, Entry]] = {
    module.ENTRY.name: module.ENTRY
    for module in (_anaesthesia, _lehner, _stutz, _cifar10h, _dices350)
}
"""All data sets: the only list of them."""


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
    """Return what a data set is, how large, from where, and under which licence.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Description
        With the fields name, title, kind, counts, citation, licence, address, sha256, options
        and notes.

    Raises
    ------
    ArgumentError
        If there is no such data set.

    Examples
    --------
    >>> import dissensus as dx
    >>> found = dx.datasets.describe("anaesthesia")
    >>> found.kind, found.counts
    ('ordinal', {'items': 45, 'annotators': 5, 'labels': 4, 'annotations': 315})
    """
    return _registered(name).description()


def load(name: str, **options: Any) -> Data:
    """Return a data set; the larger ones are downloaded when first asked for.

    Parameters
    ----------
    name : str
        One of `names`.
    **options
        What this data set takes, see ``describe(name).options``: the transcription of
        "anaesthesia", say.

    Returns
    -------
    Data
        With the fields ``annotations``, ``predictions`` and ``truth``; the last two are None in
        a data set that has none.

    Raises
    ------
    ArgumentError
        If there is no such data set or option.
    DownloadError
        If a file cannot be downloaded, or is not the one it should be.

    Examples
    --------
    >>> import dissensus as dx
    >>> data = dx.datasets.load("lehner_table2")
    >>> data.annotations.sizes["annotation"], data.predictions.sizes["item"], data.truth
    (40, 10, None)
    """
    entry = _registered(name)
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


def _registered(name: str) -> Entry:
    if name in REGISTRY:
        return REGISTRY[name]
    near = get_close_matches(str(name), REGISTRY, n=1)
    raise ArgumentError(
        "name",
        expected=f"one of {', '.join(REGISTRY)}",
        found=repr(name),
        hint=f"Did you mean {near[0]!r}?" if near else "",
    )
