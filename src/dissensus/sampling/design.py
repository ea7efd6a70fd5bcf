"""Warnings of designs in which only the prior identifies parameters, and of label switching.

The design (who labelled which item) is checked before sampling.

Label switching: the likelihood is the same if two labels are exchanged, in the true labels and in
the confusion matrices of all annotators. Priors keep annotators above chance on average, and so
keep the chains in one mode. `near_guessing` warns if the data do not distinguish the modes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dissensus.dims import ANNOTATOR, SAMPLE
from dissensus.errors import DesignWarning, DissensusWarning, shown, warn_caller
from dissensus.kernels.types import Array, Flags, Ints

_GROUPS: Final = 3
"""Number of groups that a message names."""
_NAMES: Final = 3
"""Number of annotators of each group that a message names."""
_FEW: Final = 0.05
"""Up to this share of labels may be outside the largest group without a warning."""


class Pairs(NamedTuple):
    """Which kinds of pairs of labels a design has; each kind identifies a variance component."""

    of_item: bool
    """Whether two annotators labelled the same item: such labels share the item's effect."""
    of_annotator: bool
    """Whether an annotator labelled two items: such labels share the annotator's effect."""
    repeated: bool
    """Whether an annotator labelled an item twice: such labels differ by the residual only."""


def pairs(item: Ints, annotator: Ints) -> Pairs:
    """Return which kinds of pairs the labels form; the codes are along labels."""
    if not len(item):
        return Pairs(of_item=False, of_annotator=False, repeated=False)
    n = int(annotator.max()) + 1
    both = np.unique(item.astype(np.int64) * n + annotator)
    items, annotators = both // n, both % n
    return Pairs(
        of_item=len(np.unique(items)) < len(both),
        of_annotator=len(np.unique(annotators)) < len(both),
        repeated=len(both) < len(item),
    )


def islands(item: Ints, annotator: Ints, n_annotators: int) -> Ints:
    """Return the group of each annotator (annotator).

    Annotators who share an item are in one group, also if they share items only through other
    annotators. Groups are numbered from 0, the largest first; annotators without labels have -1.
    """
    island = np.full(n_annotators, -1, dtype=np.int64)
    if not len(item):
        return island
    n = n_annotators + int(item.max()) + 1
    links = coo_array((np.ones(len(item)), (annotator, n_annotators + item)), shape=(n, n))
    group = connected_components(links, directed=False)[1][:n_annotators]
    present = np.unique(annotator)
    _, first, code, size = np.unique(
        group[present], return_index=True, return_inverse=True, return_counts=True
    )
    place = np.empty(len(size), dtype=np.int64)
    place[np.lexsort((first, -size))] = np.arange(len(size))
    island[present] = place[code]
    return island


def listed_islands(group: Ints, names: Array) -> str:
    """Return text with the names of annotators, group by group."""
    n = int(group.max()) + 1
    listed = [shown(list(names[group == k]), _NAMES) for k in range(min(n, _GROUPS))]
    return " | ".join(listed) + (f" | and {n - _GROUPS:,} more groups" if n > _GROUPS else "")


def scattered(group: Ints, annotator: Ints) -> bool:
    """Return whether more than 5 % of the labels are outside the largest group.

    >>> scattered(np.array([0, 0, 1]), np.array([0, 1, 2]))
    True
    >>> scattered(np.array([0, 0, 1]), np.array([0, 1] * 50 + [2]))
    False
    """
    each = np.bincount(group[annotator])
    return bool(each.max() < (1 - _FEW) * len(annotator))


def anchored(item: Ints, annotator: Ints, n_annotators: int, known: Ints | None = None) -> Flags:
    """Return whether agreement alone identifies the accuracy of each annotator (annotator).

    If all wrong labels are equally likely, the agreement of two annotators beyond chance is the
    product of their skills. A link joins two annotators who share an item. If the links of a group
    form no cycle of odd length, the group has two sides, and links join only annotators of
    different sides. The products then leave one factor free: all skills of one side can grow while
    all skills of the other side shrink. An item with three labels adds an odd cycle. Two labels of
    an item by the same annotator do so too: they are a cycle of length one.

    ``known`` are codes of annotators whose skill is known from other data.
    """
    order = np.lexsort((annotator, item))
    i, a = item[order], annotator[order]
    # It is enough to link each label of an item to the next two: three labels form an odd cycle.
    ends = [(a[:-k][same], a[k:][same]) for k in (1, 2) for same in [i[k:] == i[:-k]]]
    if known is not None:
        ends.append((known, known))
    first, second = (np.concatenate(side).astype(np.int64) for side in zip(*ends, strict=True))
    # Each annotator has a node on both sides, and each link joins nodes of different sides. An odd
    # cycle connects the two nodes of an annotator.
    n = n_annotators
    links = coo_array(
        (np.ones(2 * len(first)), (np.r_[first, n + first], np.r_[n + second, second])),
        shape=(2 * n, 2 * n),
    )
    side = connected_components(links, directed=False)[1]
    return np.asarray(side[:n] == side[n:])


def two_sided(group: Ints, is_anchored: Flags, names: Array) -> str:
    """Return a warning of annotators whose accuracies agreement does not identify, or "".

    >>> names = np.array(["a", "b", "c"])
    >>> two_sided(np.array([0, 0, 1]), np.array([False, False, False]), names)[:57]
    "Annotators share items only two at a time ('a', 'b'): the"
    """
    size = np.bincount(group[group >= 0], minlength=1)
    loose = (group >= 0) & ~is_anchored & (size[np.maximum(group, 0)] > 1)
    if not loose.any():
        return ""
    _, code = np.unique(group[loose], return_inverse=True)
    listed = listed_islands(code, names[loose])
    return (
        f"Annotators share items only two at a time ({listed}): their labels show how often two "
        "agree, but not which of them errs. Their accuracies are separated only by the prior, and "
        "by how often each annotator gives each label. Let a third annotator label some of the "
        "same items."
    )


NEAR: Final = 0.05
"""An accuracy below this share of the way from chance to 1 counts as guessing."""
_OFTEN: Final = 0.1
"""A larger share of draws near guessing gives a warning. If accuracies were uniform from chance to
1, the share would be .05."""
_SURE: Final = 0.95


def near_guessing(accuracy: xr.DataArray, n_labels: int) -> dict[str, Any]:
    """Return the share of draws near guessing, and warn of annotators below chance.

    The attribute ``near_guessing`` is the share of draws in which the mean accuracy is below chance
    or less than 5 % of the way from chance to 1. If the share is above .1, a `DesignWarning` is
    given, because more draws do not help. Otherwise a warning names annotators who are below chance
    with a probability above .95.
    """
    chance = 1.0 / n_labels
    mean = accuracy.mean(ANNOTATOR) if ANNOTATOR in accuracy.dims else accuracy
    near = mean < chance + NEAR * (1 - chance)
    share = float(near.mean())
    if share > _OFTEN:
        by_chain = near.mean("draw").to_numpy().tolist()
        chains = ", ".join(f"{part:.0%}" for part in by_chain)
        why = (
            "The labels hardly show which of them are true: with the two labels exchanged, the "
            "fit is nearly as good, and only the prior assumes that annotators are mostly right."
            if n_labels == 2
            else "Labels agree hardly more than by chance, and mostly the prior determines which "
            "of them are true."
        )
        warn_caller(
            f"In {share:.0%} of the draws (chain by chain {chains}) annotators are on average "
            f"hardly better than guessing ({chance:.0%}), or worse. {why} Do not report accuracies "
            "or truths; let more annotators label each item, or use known labels of some items.",
            DesignWarning,
        )
    elif ANNOTATOR in accuracy.dims:
        _warn_of_worse(accuracy, chance)
    return {"near_guessing": share}


def warning(attrs: Mapping[Any, Any]) -> str:
    """Return a short warning if annotators may be guessing, else "".

    >>> warning({"near_guessing": 0.31}), warning({"near_guessing": 0.0}), warning({})
    ('annotators may be guessing (31% of the draws)', '', '')
    """
    share = float(attrs.get("near_guessing", 0.0))
    return f"annotators may be guessing ({share:.0%} of the draws)" if share > _OFTEN else ""


def _warn_of_worse(accuracy: xr.DataArray, chance: float) -> None:
    """Warn of annotators who are below chance with a probability above .95."""
    worse = (accuracy < chance).mean(list(SAMPLE)).to_numpy() > _SURE
    names = accuracy[ANNOTATOR].to_numpy()[worse]
    if len(names):
        warn_caller(
            f"{len(names)} of {len(worse)} annotators ({shown(list(names))}) are right less often "
            f"than by guessing ({chance:.0%}) in the posterior. Check whether they exchanged "
            "labels, and the question that they were asked. If a whole group exchanged labels, the "
            "estimated truth is exchanged too.",
            DissensusWarning,
        )
