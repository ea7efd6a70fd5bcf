"""Files from their own public address, kept on this machine, and checked by their hash."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dissensus.errors import DissensusError
from dissensus.studies.datasets._entry import Source

FOLDER = "DISSENSUS_DATA"
"""The environment variable that names the folder to keep downloads in."""


class DownloadError(DissensusError):
    """A data set's file could not be had, or is not the one it should be.

    Examples
    --------
    Downloads are kept in a folder, which a file is not:

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


def folder() -> Path:
    """Return the folder of downloads: ``DISSENSUS_DATA``, or the machine's usual cache."""
    import pooch

    named = os.environ.get(FOLDER)
    return Path(named).expanduser() if named else Path(pooch.os_cache("dissensus"))


def fetch(source: Source) -> Path:
    """Return the path of the file, downloaded if it is not there yet.

    Raises
    ------
    DownloadError
        If the address cannot be reached, the folder cannot be written to, or the bytes are not
        those the hash promises (the download is deleted then).
    """
    import pooch
    import requests

    place = folder()
    try:
        found = pooch.retrieve(
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
    return Path(found)
