"""The layout of annotations that ranking kernels read, for each treatment of unranked labels.

``exact``
    Annotators choose from all labels of the label space; labels that they do not list come last.
``one``
    All labels that are not named for the item together count as one more label.
``ignore``
    Only labels that are named for the item are included; those that an annotator does not list
    come last.
``absent``
    Each annotator chose only among the labels of its list. Labels that are not listed have no
    place, like drivers who did not start in a race.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data.plausibility import Layout
from dissensus.data.rows import ranking_code, ranks
from dissensus.dims import ITEM
from dissensus.kernels.rankings import Rankings

TREATMENTS: Final = ("exact", "one", "ignore", "absent")


class LaidOut(NamedTuple):
    """Rankings, and the labels of each cell."""

    rankings: Rankings
    named: npt.NDArray[np.int64]
    """(item): number of named labels; their cells come first."""
    n_labels: npt.NDArray[np.int64]
    """(cell): number of the cell's labels; more than 1 only if unnamed labels share a cell."""
    candidate: npt.NDArray[np.int64]
    """(cell): its column in the candidate form."""
    row: npt.NDArray[np.int64]
    """(row): index of the row's annotation."""


def laid_out(
    annotations: xr.Dataset, where: Layout, unranked: str, *, lumped: bool = True
) -> LaidOut:
    """Lay out the rankings, or single labels, of all items.

    `unranked` is one of `TREATMENTS` (see the module's docstring). If `lumped`, the labels that
    nobody named for an item share one cell; otherwise each has its own.
    """
    arguments.one_of("unranked", unranked, TREATMENTS)
    item = annotations["item_code"].to_numpy()
    rank, ranking = ranks(annotations), ranking_code(annotations)
    row = np.lexsort((rank, ranking, item))
    starts = np.flatnonzero(np.diff(ranking[row], prepend=-1))
    n_items = annotations.sizes[ITEM]
    named = (where.sizes[:, :-1] == 1).sum(axis=1)
    each, n_extra = _unnamed(where.sizes[:, -1], unranked, lumped)
    n_cells = named + n_extra
    cell_start = np.concatenate([[0], np.cumsum(n_cells)])
    owner = np.repeat(np.arange(n_items), n_cells)
    within = np.arange(len(owner)) - cell_start[owner]
    extra = within >= named[owner]
    rankings = Rankings(
        item_start=np.searchsorted(item[row][starts], np.arange(n_items + 1)),
        ranking_start=np.append(starts, len(row)),
        place=where.place[row],
        rank=rank[row],
        cell_start=cell_start,
        closed=np.full(len(starts), unranked == "absent"),
    )
    return LaidOut(
        rankings,
        named=named,
        n_labels=np.where(extra, each[owner], 1),
        candidate=np.where(extra, where.codes.shape[1] - 1, within),
        row=row,
    )


def _unnamed(
    n_unnamed: npt.NDArray[np.int64], unranked: str, lumped: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the number of labels in each unnamed cell of an item, and the number of such cells."""
    none, some = np.zeros_like(n_unnamed), (n_unnamed > 0).astype(np.int64)
    if unranked in {"ignore", "absent"}:
        return none, none
    if unranked == "one":
        return some, some
    return (n_unnamed, some) if lumped else (some, n_unnamed)
