"""Equal lists by two annotators of an item, which are rare if annotators are independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import sparse

from dissensus.data.rows import ranking_code, ranks
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.kernels.random import mixed
from dissensus.kernels.types import Floats
from dissensus.statistics._distances import pairs_of
from dissensus.statistics._sums import Sums, Undefined

NO_LISTS = "no item has two equally long lists, of two labels or more, by two annotators"


def _lists(annotations: xr.Dataset) -> pd.DataFrame:
    """Return item, annotator, length and content (a hash) of each list of two labels or more."""
    row = ranking_code(annotations)
    n, first = np.bincount(row), np.unique(row, return_index=True)[1]
    label, rank = annotations["label_code"].to_numpy().astype(np.int64), ranks(annotations)
    # A list is identified by the sum of the hashes of its (label, rank) pairs: among a million
    # different lists, any two have the same sum with probability 3e-8.
    placed = mixed((label * (int(rank.max()) + 1) + rank + 1).astype(np.uint64))
    content = np.zeros(len(n), dtype=np.uint64)
    np.add.at(content, row, placed)
    frame = pd.DataFrame(
        {
            ITEM: annotations["item_code"].to_numpy()[first],
            ANNOTATOR: annotations["annotator_code"].to_numpy()[first],
            "length": n, "content": content,
        }
    )  # fmt: skip
    return frame[frame["length"] > 1]


def _pairs(lists: pd.DataFrame, by: list[str], n_items: int) -> Floats:
    """Count pairs of lists by different annotators with equal values of ``by``: (item)."""
    out = np.zeros(n_items)
    for keys, sign in ((by, 1), ([*by, ANNOTATOR], -1)):
        sizes = lists.groupby(keys, sort=False).size()
        item = sizes.index.get_level_values(ITEM).to_numpy()
        pairs = pairs_of(np.asarray(sizes, dtype=np.int64)) / 2
        out += sign * np.bincount(item, pairs, minlength=n_items)
    return out


def identical_lists(annotations: xr.Dataset) -> Sums:
    """Prepare the share of equal lists among pairs of equally long lists of two labels or more."""
    lists, n = _lists(annotations), annotations.sizes[ITEM]
    parts = (_pairs(lists, [ITEM, "length"], n), _pairs(lists, [ITEM, "length", "content"], n))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        return undefined.divide(totals[:, 1], totals[:, 0], NO_LISTS)

    return Sums("identical_lists", parts, finish, annotations[ITEM].to_numpy())


class Alike(NamedTuple):
    """The two annotators with the most equal lists."""

    first: str
    second: str
    n_same: int
    """Number of their equal lists."""
    n_all: int
    """Number of pairs of equal lists by any two annotators."""


def most_alike(annotations: xr.Dataset, least: int) -> Alike | None:
    """Return the two annotators with the most equal lists; None if fewer than ``least``."""
    lists, names = _lists(annotations), annotations[ANNOTATOR].to_numpy()
    n_all = _pairs(lists, [ITEM, "length", "content"], annotations.sizes[ITEM]).sum()
    annotator = lists[ANNOTATOR].to_numpy()
    frequent = lists[np.bincount(annotator, minlength=len(names))[annotator] >= least]
    group = frequent.groupby([ITEM, "length", "content"]).ngroup().to_numpy()
    cells = (np.ones(len(frequent)), (group, frequent[ANNOTATOR].to_numpy()))
    incidence = sparse.csr_array(cells, shape=(group.max(initial=-1) + 1, len(names)))
    together = sparse.triu(incidence.T @ incidence, k=1).tocoo()
    if together.data.max(initial=0.0) < least:
        return None
    place = together.data.argmax()
    first, second = (str(names[index[place]]) for index in together.coords)
    return Alike(first, second, int(together.data[place]), int(n_all))
