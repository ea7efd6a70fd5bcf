"""Descriptions of data sets, the form in which they are returned, and downloads."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import ITEM
from dissensus.errors import DissensusError


class Data(NamedTuple):
    """A data set; predictions and truth are None where it has none.

    Examples
    --------
    >>> import dissensus as dx
    >>> annotations, predictions, truth = dx.datasets.load("anaesthesia")
    >>> annotations.attrs["kind"], annotations.sizes["item"], predictions, truth
    ('ordinal', 45, None, None)
    """

    annotations: xr.Dataset
    """As from `dissensus.annotations`."""
    predictions: xr.Dataset | None
    """As from `dissensus.predictions`."""
    truth: xr.DataArray | None
    """(item): the label that the source takes for the right one; see the description."""


class Description(NamedTuple):
    """Description of a data set.

    Examples
    --------
    >>> import dissensus as dx
    >>> about = dx.datasets.describe("dices350")
    >>> print(about.title, about.licence, sep="; ")
    DICES-350: 123 raters on the safety of 350 conversations with a chatbot; CC BY 4.0
    >>> list(about.options)  # of dx.datasets.load("dices350", question=...)
    ['question', 'pool']
    """

    name: str
    title: str
    kind: str
    """Of annotations: nominal, ordinal, continuous or ranking."""
    counts: dict[str, int]
    """Items, annotators, labels, annotations (rows) and, where there are any, systems."""
    citation: str
    licence: str
    address: str | None
    """Of the downloaded file; None if the numbers are in the library."""
    sha256: str | None
    options: dict[str, str]
    """Options of `load`, and their meaning."""
    notes: str


@dataclass(frozen=True)
class Source:
    """A file at a public address."""

    address: str
    """Pinned to a commit, so that the file behind it cannot change."""
    file: str
    """Its name in the folder of downloads."""
    sha256: str
    megabytes: float


@dataclass(frozen=True)
class Entry:
    """One line of the registry."""

    name: str
    title: str
    kind: str
    counts: Mapping[str, int]
    citation: str
    licence: str
    read: Callable[..., Data]
    """Takes the path of the file, if there is a source, and the options."""
    source: Source | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""

    def description(self) -> Description:
        """Return all but the reader."""
        source = self.source
        return Description(
            self.name, self.title, self.kind, dict(self.counts), self.citation, self.licence,
            source.address if source else None, source.sha256 if source else None,
            dict(self.options), self.notes,
        )  # fmt: skip


def per_item(frame: pd.DataFrame, item: str, column: str, annotations: xr.Dataset) -> xr.DataArray:
    """Take a column that is the same in all rows of an item, in the annotations' order of items."""
    first = frame.drop_duplicates(item).set_index(item)[column]
    items = annotations[ITEM].to_numpy()
    values = np.asarray(first.loc[items].to_list())
    return xr.DataArray(values, dims=ITEM, coords={ITEM: items}, name="truth")


# Downloads are kept on this machine, and checked by their hash.


FOLDER = "DISSENSUS_DATA"
"""Environment variable with the folder of downloads."""


class DownloadError(DissensusError):
    """A file of a data set could not be downloaded, or has another hash.

    Examples
    --------
    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> import dissensus as dx
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     with patch.dict(os.environ, DISSENSUS_DATA=file.name):
    ...         try:
    ...             dx.datasets.load("cifar10h")
    ...         except dx.datasets.DownloadError as problem:
    ...             print(problem.expected, problem.hint, sep="; ")
    a folder to keep cifar10h-raw.zip in; Name another with the environment variable DISSENSUS_DATA
    """


def fetch(source: Source) -> Path:
    """Return the path of the file, downloaded if it is not there yet."""
    import pooch
    import requests

    named = os.environ.get(FOLDER)
    place = Path(named).expanduser() if named else Path(pooch.os_cache("dissensus"))
    try:
        path = pooch.retrieve(
            source.address, known_hash=f"sha256:{source.sha256}", fname=source.file, path=place
        )
    except requests.RequestException as problem:
        raise DownloadError(
            source.address,
            expected=f"a file to download ({source.megabytes:g} MB)",
            found=f"{type(problem).__name__}: {problem}",
            hint=f"Where there is no network, put the file there by hand: {place / source.file}",
        ) from problem
    except OSError as problem:
        raise DownloadError(
            str(place),
            expected=f"a folder to keep {source.file} in",
            found=f"{type(problem).__name__}: {problem}",
            hint=f"Name another with the environment variable {FOLDER}",
        ) from problem
    except ValueError as problem:
        got = re.search(r"but got ([0-9a-f]{64})", str(problem))
        raise DownloadError(
            source.address,
            expected=f"a file with the SHA-256 hash {source.sha256}",
            found=got.group(1) if got else str(problem),
            hint="The download was deleted. It was cut short, or the file was changed at its "
            "source: then please report it",
        ) from problem
    return Path(path)
