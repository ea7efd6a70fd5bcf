"""What a design of crossed effects leaves to the priors, said before anything is sampled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import beta

from dissensus._design import Pairs, islands, listed_islands, pairs
from dissensus.arrays.crossed_gibbs import GAUSSIAN
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.errors import DesignWarning, shown, warn_caller

if TYPE_CHECKING:
    from dissensus._crossed.process import Process

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


def _of_variances(what: Process) -> Iterator[str]:
    """Say which variances cannot be told apart, pool by pool."""
    rows = [what.pool == p for p in range(what.n_pools)]
    each = [pairs(what.item[own], what.member[own]) for own in rows]
    # A residual that the pools share is known to all if one of them tells it.
    shared = what.family == GAUSSIAN and what.n_sd == 1 and what.n_pools > 1
    known = shared and any(one.repeated or (one.of_item and one.of_annotator) for one in each)
    for p, (own, one) in enumerate(zip(rows, each, strict=True)):
        if own.any():
            whose = "" if what.pools is None else f" of pool {shown([what.pools[p]])}"
            yield from _of_pool(what, p, one, whose, known=known)


def _of_pool(what: Process, p: int, found: Pairs, whose: str, *, known: bool) -> Iterator[str]:
    """Say what pairs of labels there are not, and what that leaves to the prior."""
    own = what.pool == p
    if what.anonymous:
        if not (found.repeated or known) and len(np.unique(what.item[own])) == own.sum():
            yield _nothing_twice(whose)
        return
    if found.repeated and not (found.of_item or found.of_annotator):
        yield (
            f"Every item{whose} was labelled by one annotator, and every annotator labelled one "
            "item: sigma_item and sigma_annotator cannot be told apart, and ICC and annotator ICC "
            "rest on their priors; their sum stands. Have items labelled by two annotators."
        )
    elif not (found.repeated or known or found.of_annotator or found.of_item):
        yield _nothing_twice(whose)
    elif not (found.repeated or known or found.of_annotator):
        yield (
            f"No annotator{whose} gave more than one label: sigma_annotator cannot be told "
            "from the residual. ICC and xCC stand, for they only need the sum; for a model "
            "without annotators' effects set anonymous=True."
        )
    elif not (found.repeated or known or found.of_item):
        yield (
            f"No item{whose} has two labels: sigma_item cannot be told from the residual, and "
            "ICC and xCC rest on their priors. The annotator ICC stands, for it only needs the "
            "sum. Have some items labelled by two annotators."
        )
    yield from _of_few(what, own, whose)


def _nothing_twice(whose: str) -> str:
    return (
        f"No item{whose} has two labels, and no annotator gave two: how their variance is shared "
        "out comes from the priors alone, and so do ICC and xCC. Have items labelled by two "
        "annotators, and let annotators label several."
    )


def _of_few(what: Process, own: np.ndarray, whose: str) -> Iterator[str]:
    """Say where there is one annotator, or one item, and so nothing that differs."""
    for codes, noun, sigma in (
        (what.member, "annotator", "sigma_annotator"), (what.item, "item", "sigma_item"),
    ):  # fmt: skip
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
    if n > 1 and found.of_annotator and (found.of_item or found.repeated):
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
