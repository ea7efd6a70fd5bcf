"""What the library knows of a data set, and the one shape in which every data set is returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import ITEM
from dissensus.errors import ArgumentError


class Data(NamedTuple):
    """A data set: the same three fields for all, None where a set has no such thing.

    Examples
    --------
    >>> import dissensus as dx
    >>> annotations, predictions, truth = dx.datasets.load("anaesthesia")
    >>> annotations.attrs["kind"], annotations.sizes["item"], predictions, truth
    ('ordinal', 45, None, None)
    """

    annotations: xr.Dataset
    """What the annotators said, as from `dissensus.annotations`."""
    predictions: xr.Dataset | None
    """What systems said of the same items, as from `dissensus.predictions`."""
    truth: xr.DataArray | None
    """(item): the label that the source holds for right; how it knows is in the description."""


class Description(NamedTuple):
    """What a data set is, and where it is from.

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
    """Where the file is downloaded from; None if the numbers stand in the library."""
    sha256: str | None
    options: dict[str, str]
    """What `load` takes besides the name, and what it means."""
    notes: str


@dataclass(frozen=True)
class Source:
    """A file at its own public address, known by its hash."""

    address: str
    """Pinned to a commit, so that the file behind it cannot change."""
    file: str
    """What it is called on this machine."""
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
    """Takes the options, and first the file's path if there is a source."""
    source: Source | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""

    def description(self) -> Description:
        """Return all but the reader."""
        return Description(
            self.name,
            self.title,
            self.kind,
            dict(self.counts),
            self.citation,
            self.licence,
            self.source.address if self.source else None,
            self.source.sha256 if self.source else None,
            dict(self.options),
            self.notes,
        )


def one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise unless an option has one of the values it may have."""
    if not any(value is a or (type(value) is type(a) and value == a) for a in allowed):
        raise ArgumentError(
            name, expected=f"one of {', '.join(map(repr, allowed))}", found=repr(value)
        )


def per_item(frame: pd.DataFrame, item: str, column: str, annotations: xr.Dataset) -> xr.DataArray:
    """Take a column that is the same in all rows of an item, in the annotations' order of items."""
    first = frame.drop_duplicates(item).set_index(item)[column]
    items = annotations[ITEM].to_numpy()
    values = np.asarray(first.loc[items].to_list())
    return xr.DataArray(values, dims=ITEM, coords={ITEM: items}, name="truth")
