"""Annotations in chunks of whole items, in memory and on disk.

Models that draw item by item, and metrics of their fits, use one chunk of items at a time.
`chunked` sorts the rows by item, and stores the numbers of items and rows of each chunk in the
attributes ``item_chunks`` and ``row_chunks``. The chunks on disk all have the same number of rows,
because Zarr requires this; `by_item` rearranges them into chunks of whole items.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.schema import CODES, PART, checked_annotations
from dissensus.dims import ANNOTATION, ITEM, STRATUM
from dissensus.errors import AnnotationError, ArgumentError, brief, relocated
from dissensus.kernels.types import Array, Names
from dissensus.storage import replace

ITEM_CHUNKS: Final = "item_chunks"
ROW_CHUNKS: Final = "row_chunks"
_ROWS: Final = 100_000
"""Default number of rows of a chunk: a few megabytes."""


def chunked(annotations: xr.Dataset, items: int | None = None) -> xr.Dataset:
    """Divide annotations into Dask chunks of whole items.

    `fit` of every model that draws item by item (`models.dirichlet`, `models.inverse_rank`,
    `models.plackett_luce`, `models.normal_scores`) and metrics of the fit then return lazy arrays,
    which are computed chunk by chunk. Only the current chunks are in memory. Draws are the same as
    without chunks.

    Parameters
    ----------
    annotations : xarray.Dataset
        From `dissensus.annotations` or another reader; in memory or in chunks.
    items : int, optional
        Number of items in a chunk; by default chunks have about 100,000 rows. Chunks of draws may
        have fewer items, so that each fits into Dask's setting ``array.chunk-size``.

    Returns
    -------
    xarray.Dataset
        The same annotations, sorted by item, with rows in chunks. `xarray.Dataset.to_zarr` and
        `xarray.open_zarr` store and open them without changes.

    Raises
    ------
    AnnotationError
        If the annotations do not follow the schema.
    ArgumentError
        If ``items`` is not a positive whole number.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [2, 1, 2], "annotator": list("aab"), "label": list("xyx")})
    >>> dx.chunked(ann, items=1).attrs["row_chunks"]
    [2, 1]
    """
    annotations = checked_annotations(annotations).compute()
    n_items, code = annotations.sizes[ITEM], annotations["item_code"].to_numpy()
    items = items_at_once(items, n_items, len(code))
    if (np.diff(code) < 0).any():
        order = np.argsort(code, kind="stable")
        annotations, code = annotations.isel({ANNOTATION: order}), code[order]
    edges = [*range(0, n_items, items), n_items]
    rows = np.diff(np.searchsorted(code, edges))
    notes = {ITEM_CHUNKS: np.diff(edges).tolist(), ROW_CHUNKS: rows.tolist()}
    cut = annotations.chunk({ANNOTATION: -(-len(code) // len(rows))}).assign_attrs(notes)
    return with_fill_values(cut)


def with_fill_values(annotations: xr.Dataset) -> xr.Dataset:
    """Set the fill value of Zarr to an invalid code, so that chunks missing on disk are detected.

    Zarr's default is 0, which is the code of the first label.
    """
    out = annotations.copy()
    for name, values in out.data_vars.items():
        if values.dims == (ANNOTATION,) and values.dtype.kind in "if":
            fill_value = -1 if values.dtype.kind == "i" else np.nan
            out[name].encoding = {**values.encoding, "fill_value": fill_value}
    return out


def items_at_once(items: int | None, n_items: int, n_rows: int) -> int:
    """Return the number of items in a chunk: ``items``, or as many as have about 100,000 rows."""
    return max(1, _ROWS * n_items // n_rows) if items is None else arguments.whole("items", items)


def computed[Lazy](lazy: Lazy, progressbar: bool) -> Lazy:
    """Compute a Dask collection; a cluster shows the progress itself, on its dashboard."""
    import dask

    if not progressbar or _on_cluster():
        return dask.compute(lazy)[0]
    from dask.diagnostics import ProgressBar

    with ProgressBar():
        return dask.compute(lazy)[0]


def _on_cluster() -> bool:
    """Return whether Dask runs on a cluster (has a client of ``distributed``)."""
    if "distributed" not in sys.modules:
        return False
    from distributed import default_client

    try:
        default_client()
    except ValueError:
        return False
    return True


def is_chunked(annotations: Any) -> bool:
    """Return whether the data are annotations with rows in Dask chunks."""
    return isinstance(annotations, xr.Dataset) and ANNOTATION in annotations.chunksizes


def by_item(annotations: xr.Dataset) -> xr.Dataset:
    """Return annotations in chunks of whole items.

    The sizes of chunks in the attributes are used if they add up to the numbers of items and rows.
    Otherwise new chunks are made, with about as many items as the longest given chunk. To make
    them, all rows are read into memory.
    """
    n_items, n_rows = (annotations.sizes[dim] for dim in (ITEM, ANNOTATION))
    items, rows = (_noted(annotations, name) for name in (ITEM_CHUNKS, ROW_CHUNKS))
    if len(items) == len(rows) and sum(items) == n_items and sum(rows) == n_rows:
        return annotations.chunk({ANNOTATION: tuple(rows)})
    longest = max(annotations.chunksizes[ANNOTATION])
    return by_item(chunked(annotations, max(1, longest * n_items // max(n_rows, 1))))


def _noted(annotations: xr.Dataset, name: str) -> list[int]:
    """Return the sizes of chunks that an attribute stores, or [] without it.

    A file stores a list of length 1 as a number.
    """
    sizes = np.atleast_1d(annotations.attrs.get(name, []))
    return [int(size) for size in sizes] if sizes.dtype.kind in "iu" else []


def item_edges(annotations: xr.Dataset) -> list[int]:
    """Return the number of the first item of each chunk, then the number of all items."""
    return [0, *np.cumsum(_noted(annotations, ITEM_CHUNKS)).tolist()]


class Frame(NamedTuple):
    """What all chunks of annotations share: everything except rows and items."""

    names: dict[str, Names]
    """Names of annotators, labels, pools and strata, by dimension."""
    columns: tuple[str, ...]
    """Names of the variables along rows."""
    attrs: dict[str, Any]
    stratum: Array | None
    """(item): code of each item's stratum, for the items of all chunks; None without strata."""

    @classmethod
    def of(cls, annotations: xr.Dataset) -> Frame:
        """Return what all chunks of the annotations share."""
        columns = tuple(
            str(name) for name, v in annotations.data_vars.items() if v.dims == (ANNOTATION,)
        )
        spelled = {CODES[name][1] for name in columns if name in CODES} - {ITEM}
        names = {name: annotations[name].to_numpy() for name in sorted(spelled)}
        stratum = None
        if STRATUM in annotations.coords:
            names[STRATUM] = annotations[STRATUM].to_numpy()
            stratum = annotations["stratum_code"].to_numpy()
        own = {ITEM_CHUNKS, ROW_CHUNKS}
        attrs = {k: v for k, v in annotations.attrs.items() if k not in own}
        return cls(names, columns, attrs | {PART: 1}, stratum)

    def part(
        self, rows: Sequence[Array], items: Names, chunk: tuple[int, int], low: int
    ) -> xr.Dataset:
        """Return the annotations of ``items``; the first of them has the number ``low``.

        ``rows`` are the columns of the chunk. ``chunk`` has the number of its first item, and of
        the first item after it.
        """
        values = dict(zip(self.columns, rows, strict=True))
        code = values["item_code"].astype(np.int64)
        if len(code) and not (chunk[0] <= code.min() and code.max() < chunk[1]):
            raise AnnotationError(
                "annotations",
                where=f"chunk of items {chunk[0]} to {chunk[1] - 1}",
                expected="only rows of these items",
                found=f"items from {code.min()} to {code.max()}",
                hint="Make new chunks: dx.chunked(annotations)",
            )
        in_part = (code >= low) & (code < low + len(items))
        values = {name: value[in_part] for name, value in values.items()}
        values["item_code"] = code[in_part] - low
        data: dict[str, Any] = {name: (ANNOTATION, value) for name, value in values.items()}
        if self.stratum is not None:
            data["stratum_code"] = (ITEM, self.stratum[low : low + len(items)])
        return xr.Dataset(data, coords={ITEM: items, **self.names}, attrs=self.attrs)


class Rows:
    """The rows of a chunk. Each Dask task that needs the rows reads them again.

    If reading were a separate task, Dask would draw all blocks of the chunk before it computes
    metrics of the first block. Reading takes little time compared with drawing.
    """

    def __init__(self, columns: Sequence[Any]) -> None:
        self.columns = pruned(*columns)

    def read(self) -> tuple[Array, ...]:
        """Return the columns of the rows."""
        import dask

        return tuple(dask.compute(*self.columns, scheduler="synchronous"))


class Chunk(NamedTuple):
    """The annotations of the items of one chunk, not yet in memory."""

    frame: Frame
    rows: Rows
    items: Names
    first: int
    """The number of the first item."""

    def read(self) -> xr.Dataset:
        """Read the annotations."""
        ends = (self.first, self.first + len(self.items))
        return self.frame.part(self.rows.read(), self.items, ends, self.first)

    def check(self) -> None:
        """Raise unless the annotations of the chunk follow the schema."""
        place = f"of the chunk (sorted by item) that begins with item {brief(self.items[0].item())}"
        with relocated(lambda row: f"row {row} {place}"):
            checked_annotations(self.read())


def chunks_of(annotations: xr.Dataset) -> list[Chunk]:
    """Return the chunks of chunked annotations."""
    annotations = by_item(annotations)
    frame, items = Frame.of(annotations), annotations[ITEM].to_numpy()
    columns = [annotations[name].data for name in frame.columns]
    return [
        Chunk(frame, Rows([column.blocks[number] for column in columns]), items[low:high], low)
        for number, (low, high) in enumerate(pairwise(item_edges(annotations)))
    ]


def pruned[Lazy](*lazy: Lazy) -> tuple[Lazy, ...]:
    """Return Dask collections whose graphs have only the tasks that they need."""
    import dask

    optimized: tuple[Lazy, ...] = dask.optimize(*lazy)
    return optimized


def new_store(store: Any) -> Path:
    """Return the path of a new store, or raise if a file or folder has this path."""
    try:
        place = Path(store)
        taken = place.exists() or place.is_symlink()
    except (TypeError, ValueError, OSError) as problem:
        raise ArgumentError("store", expected="a path", found=brief(store)) from problem
    if taken:
        hint = "To open an existing store: dx.read_annotations(path)"
        description = f"a file or folder {brief(str(place))}"
        raise ArgumentError(
            "store", expected="a path that does not exist", found=description, hint=hint
        )
    return place


def stored(annotations: xr.Dataset, store: Path) -> xr.Dataset:
    """Write annotations in chunks into a store, check each chunk, and open the store.

    The store gets its final name only when it is complete.
    """
    store.parent.mkdir(parents=True, exist_ok=True)
    replace(store, partial(_write, with_fill_values(annotations)), overwrite=False)
    return opened(store)


def _write(annotations: xr.Dataset, place: Path) -> None:
    import dask

    annotations.to_zarr(place, consolidated=False, zarr_format=3)
    dask.compute(*(dask.delayed(chunk.check)() for chunk in chunks_of(opened(place))))


def opened(store: Path) -> xr.Dataset:
    """Open a Zarr store of annotations; the rows are read later, chunk by chunk."""
    return xr.open_zarr(store, consolidated=False, zarr_format=3)
