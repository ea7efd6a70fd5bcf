"""The rows of a chunk of annotations, yet to be read, and what all chunks have in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._annotation_schema import CODES, PART
from dissensus._chunks import ITEM_CHUNKS, ROW_CHUNKS, by_item, item_edges
from dissensus.dims import ANNOTATION, ITEM
from dissensus.errors import AnnotationError, brief
from dissensus.kernels.types import Names
from dissensus.schema import checked_annotations


class Frame(NamedTuple):
    """What all chunks have in common: all of annotations but rows and items."""

    names: dict[str, Names]
    """Annotators, labels, pools."""
    columns: tuple[str, ...]
    """What is said in each row."""
    attrs: dict[str, Any]

    @classmethod
    def of(cls, annotations: xr.Dataset) -> Frame:
        """Take it out of annotations."""
        columns = tuple(
            str(name) for name, v in annotations.data_vars.items() if v.dims == (ANNOTATION,)
        )
        spelled = {CODES[name][1] for name in columns if name in CODES} - {ITEM}
        names = {name: annotations[name].to_numpy() for name in sorted(spelled)}
        own = {ITEM_CHUNKS, ROW_CHUNKS}
        kept = {k: v for k, v in annotations.attrs.items() if k not in own}
        return cls(names, columns, kept | {PART: 1})

    def part(
        self, rows: Sequence[npt.NDArray[Any]], items: Names, chunk: tuple[int, int], low: int
    ) -> xr.Dataset:
        """Put together the annotations of some items of a chunk.

        Parameters
        ----------
        rows : sequence of arrays
            The chunk's, column by column.
        items : array of names
            Of the items wanted, which begin with number ``low``.
        chunk : (int, int)
            The first item of the chunk, and the first after it.
        """
        values = dict(zip(self.columns, rows, strict=True))
        code = values["item_code"].astype(np.int64)
        if len(code) and not (chunk[0] <= code.min() and code.max() < chunk[1]):
            raise AnnotationError(
                "annotations",
                where=f"chunk of items {chunk[0]} to {chunk[1] - 1}",
                expected="rows of these items only",
                found=f"items from {code.min()} to {code.max()}",
                hint="Cut them anew: dx.chunked(annotations)",
            )
        here = (code >= low) & (code < low + len(items))
        values = {name: value[here] for name, value in values.items()}
        values["item_code"] = code[here] - low
        data = {name: (ANNOTATION, value) for name, value in values.items()}
        return xr.Dataset(data, coords={ITEM: items, **self.names}, attrs=self.attrs)


class Rows:
    """A chunk's rows, to be read anew for whatever is made of them.

    As a task of their own they would be read once, and Dask would then draw all blocks of the chunk
    before it scores any. To read them is nothing beside drawing.
    """

    def __init__(self, columns: Sequence[Any]) -> None:
        self.columns = alone(*columns)

    def read(self) -> tuple[npt.NDArray[Any], ...]:
        """Return them, column by column."""
        import dask

        return tuple(dask.compute(*self.columns, scheduler="synchronous"))


class Chunk(NamedTuple):
    """The annotations of some items, yet to be read."""

    frame: Frame
    rows: Rows
    items: Names
    first: int
    """The number of the first item."""

    def read(self) -> xr.Dataset:
        """Read them."""
        ends = (self.first, self.first + len(self.items))
        return self.frame.part(self.rows.read(), self.items, ends, self.first)

    def check(self) -> None:
        """Raise unless they keep to the schema."""
        try:
            checked_annotations(self.read())
        except AnnotationError as problem:
            place = f"of a chunk sorted by item, from item {brief(self.items[0].item())} on"
            raise problem.relocated(lambda row: f"row {row} {place}") from problem


def chunks_of(annotations: xr.Dataset) -> list[Chunk]:
    """Return the chunks of annotations that are in such."""
    annotations = by_item(annotations)
    frame, items = Frame.of(annotations), annotations[ITEM].to_numpy()
    columns = [annotations[name].data for name in frame.columns]
    return [
        Chunk(frame, Rows([column.blocks[number] for column in columns]), items[low:high], low)
        for number, (low, high) in enumerate(pairwise(item_edges(annotations)))
    ]


def alone[Lazy](*lazy: Lazy) -> tuple[Lazy, ...]:
    """Return collections without the tasks that they do not need, which would be sent along."""
    import dask

    found: tuple[Lazy, ...] = dask.optimize(*lazy)
    return found
