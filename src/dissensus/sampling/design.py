"""What a design lets the data say, and truths that could be read the other way round.

Who shares items with whom: what a design lets the data say, and what it leaves to priors.
All of it is told before anything is sampled, in time that grows with the number of labels.

Truths that could as well be read the other way round.
Two labels that all annotators exchange give the same data. Priors hold annotators above guessing on
average, so that chains stay on one side; where the data say no more than that, the side is the
prior's, and this is where it shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dissensus.dims import ANNOTATOR, SAMPLE
from dissensus.errors import DesignWarning, DissensusWarning, shown, warn_caller
from dissensus.kernels.types import Flags, Ints

_GROUPS: Final = 3
"""Groups that are named."""
_NAMES: Final = 3
"""Annotators of each that are."""
_FEW: Final = 0.05
"""Of the labels: where stragglers gave fewer, what is compared is compared within one group."""


class Pairs(NamedTuple):
    """Which pairs of labels there are: covariances of such pairs are what tells variances."""

    of_item: bool
    """By two annotators, of one item: what they have in common is the item."""
    of_annotator: bool
    """By one annotator, of two items: what they have in common is the annotator."""
    repeated: bool
    """By one annotator, of one item: both in common, and the residual is what parts them."""


def pairs(item: Ints, annotator: Ints) -> Pairs:
    """Look at which pairs of labels there are.

    Examples
    --------
    >>> pairs(np.array([0, 0, 1]), np.array([0, 1, 1]))
    Pairs(of_item=True, of_annotator=True, repeated=False)
    """
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
    """Give annotators that items join one number; -1 is for who labelled nothing.

    Parameters
    ----------
    item, annotator : array (label)
        Codes.
    n_annotators : int
        How many there are.

    Returns
    -------
    array (annotator)
        Groups are numbered from 0, the largest first.

    Examples
    --------
    >>> islands(np.array([0, 0, 1, 1, 2]), np.array([3, 4, 1, 1, 1]), 5)
    array([-1,  1, -1,  0,  0])
    """
    of = np.full(n_annotators, -1, dtype=np.int64)
    if not len(item):
        return of
    n = n_annotators + int(item.max()) + 1
    links = coo_array((np.ones(len(item)), (annotator, n_annotators + item)), shape=(n, n))
    group = connected_components(links, directed=False)[1][:n_annotators]
    there = np.unique(annotator)
    _, first, code, size = np.unique(
        group[there], return_index=True, return_inverse=True, return_counts=True
    )
    place = np.empty(len(size), dtype=np.int64)
    place[np.lexsort((first, -size))] = np.arange(len(size))
    of[there] = place[code]
    return of


def listed_islands(group: Ints, names: npt.NDArray[Any]) -> str:
    """Name groups of annotators that share no item.

    Examples
    --------
    >>> listed_islands(np.array([0, 0, 1]), np.array(["a", "b", "c"]))
    "'a', 'b' | 'c'"
    """
    n = int(group.max()) + 1
    said = [shown(list(names[group == k]), _NAMES) for k in range(min(n, _GROUPS))]
    return " | ".join(said) + (f" | and {n - _GROUPS:,} more groups" if n > _GROUPS else "")


def scattered(group: Ints, annotator: Ints) -> bool:
    """Say whether labels are spread over groups, and not all but stragglers in one.

    Examples
    --------
    >>> scattered(np.array([0, 0, 1]), np.array([0, 1, 2]))
    True
    >>> scattered(np.array([0, 0, 1]), np.array([0, 1] * 50 + [2]))
    False
    """
    each = np.bincount(group[annotator])
    return bool(each.max() < (1 - _FEW) * len(annotator))


def anchored(item: Ints, annotator: Ints, n_annotators: int, known: Ints | None = None) -> Flags:
    """Say of whom agreement alone can tell how accurate he is.

    If errors fall anywhere, two who label the same items agree beyond chance by the product of
    their skills. All products along links leave one number free in a group, by which skills on one
    side grow and those on the other shrink, unless links close to a ring of odd length: three
    labels of an item do, and two by the same annotator, which are a ring of one.

    Parameters
    ----------
    item, annotator : array (label)
        Codes.
    n_annotators : int
        How many there are.
    known : array, optional
        Codes of annotators whose skill is known otherwise, and so are those that hang on it.

    Returns
    -------
    array (annotator)

    Examples
    --------
    The first two share an item; the next three do so two by two, in a ring; the last said it twice.

    >>> item = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    >>> anchored(item, np.array([0, 1, 2, 3, 3, 4, 4, 2, 5, 5]), 6).tolist()
    [False, False, True, True, True, True]
    """
    order = np.lexsort((annotator, item))
    i, a = item[order], annotator[order]
    # Those next to each other in an item are linked; so is each with the next but one.
    ends = [(a[:-k][same], a[k:][same]) for k in (1, 2) for same in [i[k:] == i[:-k]]]
    if known is not None:
        ends.append((known, known))
    one, two = (np.concatenate(side).astype(np.int64) for side in zip(*ends, strict=True))
    # Each annotator stands on two sides, and links cross over: a ring of odd length joins them.
    n = n_annotators
    links = coo_array(
        (np.ones(2 * len(one)), (np.r_[one, n + one], np.r_[n + two, two])), shape=(2 * n, 2 * n)
    )
    side = connected_components(links, directed=False)[1]
    return np.asarray(side[:n] == side[n:])


def two_sided(group: Ints, told: Flags, names: npt.NDArray[Any]) -> str:
    """Say who can only be told together with those he shares items with; nothing if nobody is.

    Examples
    --------
    >>> names = np.array(["a", "b", "c"])
    >>> two_sided(np.array([0, 0, 1]), np.array([False, False, False]), names)[:57]
    "Annotators who share items two at a time only ('a', 'b'):"
    """
    size = np.bincount(group[group >= 0], minlength=1)
    loose = (group >= 0) & ~told & (size[np.maximum(group, 0)] > 1)
    if not loose.any():
        return ""
    _, code = np.unique(group[loose], return_inverse=True)
    listed = listed_islands(code, names[loose])
    return (
        f"Annotators who share items two at a time only ({listed}): how often two agree is known, "
        "and not which of them errs; their accuracies are held apart by the prior, and at best by "
        "how often each gives each label. Have a third label some of the same items."
    )


NEAR: Final = 0.05
"""The part of the way from guessing to being right always that counts as guessing: what a uniform
prior gives it."""
_OFTEN: Final = 0.1
"""The share of draws there, twice the prior's, from which on it is no chance."""
_SURE: Final = 0.95


def near_guessing(accuracy: xr.DataArray, n_labels: int) -> dict[str, Any]:
    """Say how far annotators as a whole may be guessing, and who is worse than that.

    Parameters
    ----------
    accuracy : DataArray (chain, draw) or (chain, draw, annotator)
    n_labels : int

    Returns
    -------
    dict
        The attribute ``near_guessing``: the share of draws in which annotators are on average no
        more than a twentieth of the way above guessing.

    Warns
    -----
    DissensusWarning
        If that is so in more than a tenth of the draws (a `DesignWarning`: more draws are no help);
        and of annotators who are right less often than by guessing, with a probability above .95.

    Examples
    --------
    >>> draws = xr.DataArray([[0.8, 0.9, 0.85]], dims=("chain", "draw"))
    >>> near_guessing(draws, 2)
    {'near_guessing': 0.0}
    """
    chance = 1.0 / n_labels
    mean = accuracy.mean(ANNOTATOR) if ANNOTATOR in accuracy.dims else accuracy
    near = mean < chance + NEAR * (1 - chance)
    share = float(near.mean())
    if share > _OFTEN:
        by_chain = near.mean("draw").to_numpy().tolist()
        chains = ", ".join(f"{one:.0%}" for one in by_chain)
        why = (
            "The labels hardly tell which of them are true: read the other way round they would "
            "fit nearly as well, and that annotators are mostly right is the prior's word."
            if n_labels == 2
            else "Labels agree hardly more than by chance, and which of them are true is mostly "
            "the prior's word."
        )
        warn_caller(
            f"In {share:.0%} of the draws (chain by chain {chains}) annotators are on average no "
            f"better than guessing ({chance:.0%}), or hardly. {why} Do not report accuracies or "
            "truths; have items labelled by more annotators, or find the truth of some.",
            DesignWarning,
        )
    elif ANNOTATOR in accuracy.dims:
        _warn_of_worse(accuracy, chance)
    return {"near_guessing": share}


def doubt(attrs: Mapping[Any, Any]) -> str:
    """Say in a few words that annotators may be guessing, as far as a fit can tell; or nothing.

    Examples
    --------
    >>> doubt({"near_guessing": 0.31}), doubt({"near_guessing": 0.0}), doubt({})
    ('annotators may be guessing (31% of the draws)', '', '')
    """
    share = float(attrs.get("near_guessing", 0.0))
    return f"annotators may be guessing ({share:.0%} of the draws)" if share > _OFTEN else ""


def _warn_of_worse(accuracy: xr.DataArray, chance: float) -> None:
    """Name annotators who are surely right less often than by guessing."""
    worse = (accuracy < chance).mean(list(SAMPLE)).to_numpy() > _SURE
    names = accuracy[ANNOTATOR].to_numpy()[worse]
    if len(names):
        warn_caller(
            f"{len(names)} of {len(worse)} annotators ({shown(list(names))}) are right less often "
            f"than by guessing ({chance:.0%}), says the posterior. Have they exchanged labels? If "
            "all of a group had, the truth itself would be the other way round: look at what "
            "they were asked.",
            DissensusWarning,
        )
