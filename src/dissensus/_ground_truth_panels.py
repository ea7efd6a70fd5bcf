"""How often the majority of those who labelled an item is right, if they are not equally accurate.

Of annotators of whom one is right on 95 % of the items and another on 30 %, a majority is more
often right than of as many who are all as accurate as these on average.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus._ground_truth_plan import by_annotator
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SAMPLE
from dissensus.kernels.majority import MOST, majority_unlike

_CELLS: Final = 20_000_000
"""Accuracies held at a time."""
_STEPS: Final = 2_000_000_000
"""Of work, some seconds; beyond, there are so many panels that they are like random ones."""


def right_by_panel(given: Any, annotations: xr.Dataset, label: xr.DataArray) -> xr.DataArray | None:
    """Return draws of how often the majority label of an item is right (chain, draw), or None.

    None where all annotators are as accurate, there are too many different panels to go through
    them all, or one is larger than `MOST`.

    Parameters
    ----------
    given
        Accuracies of annotators, as `weighted_reliability` takes them; or "majority", which are
        of all together.
    annotations : Dataset
        Who labelled what.
    label : DataArray (chain, draw)
        How often a label is right.
    """
    if isinstance(given, str):
        return None
    known, weight = by_annotator(given, annotations)
    panels = _panels(annotations)
    steps = label.size * sum(len(panel) ** 2 for panel in panels)
    if known.common or max(map(len, panels)) > MOST:
        return None
    if steps > _STEPS or label.size * len(weight) > _CELLS:
        return None
    right = np.zeros(len(known.values))
    for panel, n_items in panels.items():
        right += n_items * majority_unlike(known.values[:, panel], annotations.sizes[LABEL])
    right = np.broadcast_to(right / sum(panels.values()), label.size)
    coords = {dim: label[dim] for dim in SAMPLE}
    return xr.DataArray(right.reshape(label.shape), coords, SAMPLE)


def _panels(annotations: xr.Dataset) -> Counter[tuple[int, ...]]:
    """Count items by who labelled them."""
    item, who = (annotations[f"{dim}_code"].to_numpy() for dim in (ITEM, ANNOTATOR))
    n = annotations.sizes[ANNOTATOR]
    item, who = np.divmod(np.unique(item.astype(np.int64) * n + who), n)
    parts = np.split(who, np.flatnonzero(np.diff(item)) + 1)
    return Counter(tuple(part.tolist()) for part in parts)
