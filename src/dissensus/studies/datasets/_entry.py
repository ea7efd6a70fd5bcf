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
    """A data set; predictions and truth are None if the set has none.

    Examples
    --------
    >>> import dissensus as dx
    >>> annotations, predictions, truth = dx.datasets.load("anaesthesia")
    >>> annotations.attrs["kind"], annotations.sizes["item"], predictions, truth
    ('ordinal', 45, None, None)
    """

    annotations: xr.Dataset
    """Annotations, as from `dissensus.annotations`."""
    predictions: xr.Dataset | None
    """Predictions, as from `dissensus.predictions`."""
    truth: xr.DataArray | None
    """(item): the true label according to the source; see the description."""


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
    """Kind of the annotations, that is, nominal, ordinal, continuous or ranking."""
    counts: dict[str, int]
    """Numbers of items, annotators, labels, annotations (rows) and, with predictions, systems."""
    citation: str
    licence: str
    address: str | None
    """Address of the downloaded file; None if the data are in the library."""
    sha256: str | None
    options: dict[str, str]
    """Options of `load`, and their meaning."""
    notes: str


@dataclass(frozen=True)
class Source:
    """A file at a public address."""

    address: str
    """The address includes a commit, so that the file cannot change."""
    file: str
    """The name of the file in the folder of downloads."""
    sha256: str
    megabytes: float


@dataclass(frozen=True)
class Entry:
    """A data set in the registry, with the function that reads it."""

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
        """Return the entry without the function that reads the data."""
        source = self.source
        return Description(
            self.name, self.title, self.kind, dict(self.counts), self.citation, self.licence,
            source.address if source else None, source.sha256 if source else None,
            dict(self.options), self.notes,
        )  # fmt: skip


def per_item(frame: pd.DataFrame, item: str, column: str, annotations: xr.Dataset) -> xr.DataArray:
    """Return a column with one value per item, in the item order of the annotations."""
    first = frame.drop_duplicates(item).set_index(item)[column]
    items = annotations[ITEM].to_numpy()
    values = np.asarray(first.loc[items].to_list())
    return xr.DataArray(values, dims=ITEM, coords={ITEM: items}, name="truth")


# Downloads are stored on this machine, and checked by their hash.


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
    a writable folder for cifar10h-raw.zip; Set the environment variable DISSENSUS_DATA
    """


def fetch(source: Source) -> Path:
    """Return the path of the file, which is downloaded if it does not exist yet."""
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
            hint=f"Without a network, copy the file to {place / source.file}",
        ) from problem
    except OSError as problem:
        raise DownloadError(
            str(place),
            expected=f"a writable folder for {source.file}",
            found=f"{type(problem).__name__}: {problem}",
            hint=f"Set the environment variable {FOLDER}",
        ) from problem
    except ValueError as problem:
        got = re.search(r"but got ([0-9a-f]{64})", str(problem))
        raise DownloadError(
            source.address,
            expected=f"a file with the SHA-256 hash {source.sha256}",
            found=got.group(1) if got else str(problem),
            hint="The download was deleted. It was incomplete, or the file was changed at the "
            "source: in this case please report it",
        ) from problem
    return Path(path)
