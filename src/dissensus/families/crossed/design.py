"""What a design of crossed effects leaves to the priors, said before anything is sampled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from dissensus.dims import ANNOTATOR, ITEM
from dissensus.errors import DesignWarning, shown, warn_caller
from dissensus.families.crossed.kernels.sweep import GAUSSIAN, ORDINAL
from dissensus.sampling.design import Pairs, islands, listed_islands, pairs, scattered

if TYPE_CHECKING:
    from dissensus.families.crossed.process import Process

FEW_SHARED: Final = 5
"""Items that two pools share, below which their correlation is hardly more than its prior."""
_LEVEL: Final = 0.9


def warn_of_design(what: Process) -> None:
    """Warn of all that the labels cannot tell, however many draws are taken of it."""
    if not len(what.value):
        return
    for text in (*_of_items(what), *_of_variances(what), *_of_effects(what), *_of_pools(what)):
        warn_caller(text, DesignWarning)


def _of_items(what: Process) -> Iterator[str]:
    """Name items that nobody labelled, and labels that are all the same."""
    n = np.bincount(what.item, minlength=what.annotations.sizes[ITEM])
    bare = what.annotations[ITEM].to_numpy()[n == 0]
    if len(bare):
        yield (
            f"{len(bare)} of {len(n)} items ({shown(list(bare))}) have no label: their item_effect "
            "is that of a new item, drawn from the prior that the others have taught. Have them "
            "labelled, or leave them out."
        )
    if what.family != GAUSSIAN and len(what.value) > 1 and (what.value == what.value[0]).all():
        only = shown([what.labels[int(what.value[0])]])
        yield (
            f"All labels are {only}: nothing tells how items or annotators differ, and standard "
            "deviations, ICC and xCC come from their priors alone. Do not report them."
        )
        return
    if what.family != GAUSSIAN and what.pools is not None:
        yield from _of_pools_alike(what, what.pools)


def _of_pools_alike(what: Process, pools: npt.NDArray[Any]) -> Iterator[str]:
    """Name pools whose labels are all the same."""
    for p, name in enumerate(pools):
        said = what.value[what.pool == p]
        if len(said) > 1 and (said == said[0]).all():
            yield (
                f"All labels of pool {shown([name])} are {shown([what.labels[int(said[0])]])}: "
                "nothing tells how items or annotators differ for it, and its standard deviations, "
                "its ICC, and its correlation with other pools come from priors alone. Do not "
                "report them."
            )


def _of_variances(what: Process) -> Iterator[str]:
    """Say which variances cannot be told apart, pool by pool."""
    rows = [what.pool == p for p in range(what.n_pools)]
    each = [pairs(what.item[own], what.member[own]) for own in rows]
    # A residual that the pools share is known to all if one of them tells it. So is the scale of
    # a given one where pools share cutpoints, three labels or more having a distance between two.
    shared = (what.family == GAUSSIAN and what.n_sd == 1) or (
        what.family == ORDINAL and len(what.labels) > 2
    )
    known = (
        shared
        and what.n_pools > 1
        and any(one.repeated or (one.of_item and one.of_annotator) for one in each)
    )
    for p, (own, one) in enumerate(zip(rows, each, strict=True)):
        if own.any():
            whose = "" if what.pools is None else f" of pool {shown([what.pools[p]])}"
            yield from _of_pool(what, p, one, whose, known=known)


def _of_pool(what: Process, p: int, found: Pairs, whose: str, *, known: bool) -> Iterator[str]:
    """Say what pairs of labels there are not, and what that leaves to the prior."""
    few = list(_of_few(what, what.pool == p, whose))
    if what.anonymous:
        if not (found.repeated or known or few):
            yield (
                f"No item{whose} has two labels: sigma_item cannot be told from the residual, and "
                "ICC and xCC come from their priors alone. Have items labelled by two annotators."
            )
    else:
        yield from _of_pairs(what, found, whose, known=known, stands=not few)
    yield from few


def _of_pairs(
    what: Process, found: Pairs, whose: str, *, known: bool, stands: bool
) -> Iterator[str]:
    """Say so where annotators have effects; where there is one, or one item, nothing stands."""
    scale = (
        "." if what.family == GAUSSIAN
        else ", which is given: sigma_item, sigma_annotator and mu are known as parts of the whole "
        "only."
    )  # fmt: skip
    if (found.repeated or known) and not (found.of_item or found.of_annotator):
        yield (
            f"Every item{whose} was labelled by one annotator, and every annotator labelled one "
            "item: sigma_item and sigma_annotator cannot be told apart, and ICC and annotator ICC "
            f"rest on their priors{'; their sum stands' if stands else ''}. Have items labelled by "
            "two annotators."
        )
    elif found.repeated or known or (found.of_item and found.of_annotator):
        return
    elif found.of_item:
        sums = (
            " ICC and xCC stand, for they only need the sum; for a model without annotators' "
            "effects set anonymous=True."
        )
        yield (
            f"No annotator{whose} gave more than one label: sigma_annotator cannot be told from "
            f"the residual{scale}{sums if stands else ''}"
        )
    elif found.of_annotator:
        sums = " The annotator ICC stands, for it only needs the sum."
        yield (
            f"No item{whose} has two labels: sigma_item cannot be told from the residual{scale} "
            f"ICC and xCC rest on their priors.{sums if stands else ''} Have some items labelled "
            "by two annotators."
        )
    else:
        yield (
            f"No item{whose} has two labels, and no annotator gave two: how their variance is "
            "shared out comes from the priors alone, and so do ICC and xCC. Have items labelled by "
            "two annotators, and let annotators label several."
        )


def _of_few(what: Process, own: np.ndarray, whose: str) -> Iterator[str]:
    """Say where there is one annotator, or one item, and so nothing that differs."""
    people = [] if what.anonymous else [(what.member, "annotator", "sigma_annotator")]
    for codes, noun, sigma in (*people, (what.item, "item", "sigma_item")):
        if own.sum() > 1 and len(np.unique(codes[own])) == 1:
            yield (
                f"There is only one {noun}{whose}: {sigma} comes from its prior alone, and ICC "
                "and xCC rest on it. Do not report them."
            )


def _of_effects(what: Process) -> Iterator[str]:
    """Name groups of annotators that no item joins, where effects are learned of them at all."""
    if what.anonymous:
        return
    item, who = what.item, what.member_annotator[what.member]
    found = pairs(item, who)
    names = what.annotations[ANNOTATOR].to_numpy()
    group = islands(item, who, len(names))
    n = int(group.max()) + 1
    # Each pool has a mean of its own: groups that are whole pools are not compared by effects.
    within = len(np.unique(what.pool * n + group[who])) > len(np.unique(what.pool))
    crossed = found.of_annotator and (found.of_item or found.repeated)
    if crossed and within and scattered(group, who):
        yield (
            f"The annotators are in {n:,} groups that share no item "
            f"({listed_islands(group, names)}). Within a group item_effect and annotator_effect "
            "can be compared; between groups a difference of items looks like one of annotators, "
            "and the prior that all groups are alike parts them. ICC and xCC stand if they are: "
            "if items were dealt out at random. Have a few items labelled by all groups."
        )


def _of_pools(what: Process) -> Iterator[str]:
    """Name pairs of pools that share no item, or few."""
    if what.pools is None:
        return
    seen = np.zeros((what.annotations.sizes[ITEM], what.n_pools), dtype=np.int64)
    seen[what.item, what.pool] = 1
    both = seen.T @ seen
    names = [shown([name]) for name in what.pools]
    few = [(int(both[p, q]), f"{names[p]} and {names[q]}")
           for p in range(what.n_pools) for q in range(p + 1, what.n_pools)
           if both[p, q] < FEW_SHARED]  # fmt: skip
    if not few:
        return
    said = [f"{pair} share {'no item' if n == 0 else f'{n} item' + 's' * (n > 1)}"
            for n, pair in few[:3]]  # fmt: skip
    more = f", and {len(few) - 3} more pairs have fewer than {FEW_SHARED}" if len(few) > 3 else ""
    mostly = "" if all(n == 0 for n, _ in few) else "mostly "
    others = " and from other pools" if what.n_pools > 2 else ""
    yield (
        f"Pools {'; '.join(said)}{more}. How alike such pools see an item (correlation, xCC) is "
        f"{mostly}said by the prior{others}: the prior alone has a correlation "
        f"{_prior_interval(what)} with probability .9. Have the pools label the same items."
    )


def _prior_interval(what: Process) -> str:
    """Return where the prior has a correlation: of the LKJ's, one alone is a stretched beta."""
    shape = what.lkj - 1 + what.n_pools / 2
    end = 2 * float(beta.ppf((1 + _LEVEL) / 2, shape, shape)) - 1
    return f"between {-end:.2f} and {end:.2f}"
