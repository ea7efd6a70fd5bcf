"""Warnings of parameters that a design does not identify; errors for numbers without residuals.

If effects explain all numbers exactly, the posterior may be improper. Let N numbers equal a sum of
effects, and let r be the rank of the design: effects can fit any r numbers exactly. As the residual
standard deviation s goes to 0, the density of the numbers, with effects integrated out, grows as
s^-(N - r). If N > r, the product of this density with a prior that is positive at 0 has no finite
integral. If N = r, for example with one label for each item, the density stays finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import beta, f

from dissensus.dims import ANNOTATOR, ITEM
from dissensus.errors import AnnotationError, DesignWarning, shown, warn_caller
from dissensus.families.crossed.covariates import aliasing_warnings
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN, ORDINAL
from dissensus.kernels.types import Array, Floats, Ints
from dissensus.sampling.design import Pairs, islands, listed_islands, pairs, scattered

if TYPE_CHECKING:
    from dissensus.families.crossed.process import Process

FEW_SHARED: Final = 5
"""If two pools share fewer items, the posterior of their correlation is close to its prior."""
_REPEATED: Final = 0.05
"""Share of repeated labels above which a warning is given."""
_LEVEL: Final = 0.9
_NEGLIGIBLE: Final = 1e-6
"""Largest residual, relative to the spread of the numbers, that counts as rounding."""
_PASSES: Final = 5
"""Number of times that means of items and of annotators are subtracted to get residuals."""
_FREE: Final = 5.0
"""Smallest degrees of freedom with which an annotator's residual variance is estimated."""
_UNLIKE: Final = 1.25
"""Smallest ratio of two pools' residual standard deviations of which there is a warning."""
_TOO_NARROW: Final = 1.5
_CHANCE: Final = 0.001
_ROUNDS: Final = 100
_STALLED: Final = 0.99
"""If subtracting means leaves a larger share of the sum of squares, a residual remains."""


def warn_of_design(process: Process) -> None:
    """Warn of parameters that the design does not identify; more draws do not help."""
    if not len(process.value):
        return
    for warnings in (
        _of_items, _of_terms, _of_variances, _of_effects, _of_pools, _of_repeats, _of_clusters,
        _of_noise,
    ):  # fmt: skip
        for text in warnings(process):
            warn_caller(text, DesignWarning)


def _of_items(process: Process) -> Iterator[str]:
    """Warn of items without labels, and of labels that are all the same."""
    n = np.bincount(process.item, minlength=process.annotations.sizes[ITEM])
    bare = process.annotations[ITEM].to_numpy()[n == 0]
    if len(bare):
        yield (
            f"{len(bare)} of {len(n)} items ({shown(list(bare))}) have no label: their item_effect "
            "is drawn from the learned prior, as for new items. Get labels for them, or remove "
            "them."
        )
    if (
        process.family != GAUSSIAN
        and len(process.value) > 1
        and (process.value == process.value[0]).all()
    ):
        only = shown([process.labels[int(process.value[0])]])
        yield (
            f"All labels are {only}: they do not show differences between items or annotators, and "
            "standard deviations, ICC and xCC depend on their priors only. Do not report them."
        )
        return
    if process.family != GAUSSIAN and process.pools is not None:
        yield from _of_pools_alike(process, process.pools)


def _of_terms(process: Process) -> Iterator[str]:
    """Warn of terms that are linear combinations of others."""
    yield from aliasing_warnings(process.terms, process.covariates, process.pool)


def _of_pools_alike(process: Process, pools: Array) -> Iterator[str]:
    """Warn of pools whose labels are all the same."""
    for p, name in enumerate(pools):
        value = process.value[process.pool == p]
        if len(value) > 1 and (value == value[0]).all():
            yield (
                f"All labels of pool {shown([name])} are {shown([process.labels[int(value[0])]])}: "
                "they do not show differences between items or annotators. The standard deviations "
                "and the ICC of this pool, and its correlation with other pools, depend on their "
                "priors only. Do not report them."
            )


def _of_variances(process: Process) -> Iterator[str]:
    """Warn of variances that cannot be separated, for each pool."""
    rows = [process.pool == p for p in range(process.n_pools)]
    each = [pairs(process.item[own], process.member[own]) for own in rows]
    # If pools share the residual, one pool suffices to learn it. The same holds for a fixed
    # residual if pools share two or more cutpoints: the distances of cutpoints set the scale.
    shared = (process.family == GAUSSIAN and process.n_sd == 1) or (
        process.family == ORDINAL and len(process.labels) > 2
    )
    residual_known = (
        shared
        and process.n_pools > 1
        and any(pair.repeated or (pair.of_item and pair.of_annotator) for pair in each)
    )
    for p, (own, pool_pairs) in enumerate(zip(rows, each, strict=True)):
        if own.any():
            pool_phrase = "" if process.pools is None else f" of pool {shown([process.pools[p]])}"
            yield from _of_pool(process, p, pool_pairs, pool_phrase, residual_known=residual_known)


def _of_pool(
    process: Process, p: int, seen: Pairs, pool_phrase: str, *, residual_known: bool
) -> Iterator[str]:
    """Warn of variances that the pairs of labels in a pool do not separate."""
    single_warnings = list(_of_singles(process, process.pool == p, pool_phrase))
    if process.anonymous:
        if not (seen.repeated or residual_known or single_warnings):
            yield (
                f"No item{pool_phrase} has two labels: sigma_item cannot be separated from the "
                "residual, and ICC and xCC depend on their priors only. Let two annotators label "
                "each item."
            )
    else:
        yield from _of_pairs(
            process, seen, pool_phrase, residual_known=residual_known, several=not single_warnings
        )
    yield from single_warnings


def _of_pairs(
    process: Process, seen: Pairs, pool_phrase: str, *, residual_known: bool, several: bool
) -> Iterator[str]:
    """Warn of variances that pairs of labels do not separate, in a model with annotator effects.

    ``several``: whether there are several annotators and several items.
    """
    scale = (
        "." if process.family == GAUSSIAN
        else ", which is fixed: sigma_item, sigma_annotator and mu are known only relative to the "
        "total."
    )  # fmt: skip
    if (seen.repeated or residual_known) and not (seen.of_item or seen.of_annotator):
        yield (
            f"Every item{pool_phrase} was labelled by one annotator, and every annotator labelled "
            "one item: sigma_item and sigma_annotator cannot be separated, and ICC and annotator "
            f"ICC depend on their priors{'; their sum is valid' if several else ''}. Let two "
            "annotators label each item."
        )
    elif seen.repeated or residual_known or (seen.of_item and seen.of_annotator):
        return
    elif seen.of_item:
        sums = (
            " ICC and xCC are valid, because they need only the sum. For a model without annotator "
            "effects, set anonymous=True."
        )
        yield (
            f"No annotator{pool_phrase} gave more than one label: sigma_annotator cannot be "
            f"separated from the residual{scale}{sums if several else ''}"
        )
    elif seen.of_annotator:
        sums = " The annotator ICC is valid, because it needs only the sum."
        yield (
            f"No item{pool_phrase} has two labels: sigma_item cannot be separated from the "
            f"residual{scale} ICC and xCC depend on their priors.{sums if several else ''} Let two "
            "annotators label some items."
        )
    else:
        yield (
            f"No item{pool_phrase} has two labels, and no annotator gave two: the shares of "
            "variance, ICC and xCC depend on the priors only. Let two annotators label each item, "
            "and let annotators label several items."
        )


def _of_singles(process: Process, own: np.ndarray, pool_phrase: str) -> Iterator[str]:
    """Warn of a single annotator or item: the standard deviation then depends only on its prior."""
    people = [] if process.anonymous else [(process.member, "annotator", "sigma_annotator")]
    for codes, noun, sigma in (*people, (process.item, "item", "sigma_item")):
        if own.sum() > 1 and len(np.unique(codes[own])) == 1:
            yield (
                f"There is only one {noun}{pool_phrase}: {sigma}, ICC and xCC depend on "
                "priors only. Do not report them."
            )


def _of_effects(process: Process) -> Iterator[str]:
    """Warn of groups of annotators that share no item, if annotators' effects can be learned."""
    if process.anonymous:
        return
    item, annotator = process.item, process.member_annotator[process.member]
    seen = pairs(item, annotator)
    names = process.annotations[ANNOTATOR].to_numpy()
    group = islands(item, annotator, len(names))
    n = int(group.max()) + 1
    # Each pool has its own mean: effects are not compared between groups that are whole pools.
    within = len(np.unique(process.pool * n + group[annotator])) > len(np.unique(process.pool))
    crossed = seen.of_annotator and (seen.of_item or seen.repeated)
    if crossed and within and scattered(group, annotator):
        yield (
            f"The annotators are in {n:,} groups that share no item "
            f"({listed_islands(group, names)}). Within a group, item_effect and annotator_effect "
            "can be compared. Between groups, differences of items and of annotators are separated "
            "only by the prior, which assumes that all groups are alike. ICC and xCC are valid if "
            "items were assigned at random. Let all groups label a few common items."
        )


def _of_pools(process: Process) -> Iterator[str]:
    """Warn of pairs of pools that share few items or none."""
    if process.pools is None:
        return
    seen = np.zeros((process.annotations.sizes[ITEM], process.n_pools), dtype=np.int64)
    seen[process.item, process.pool] = 1
    both = seen.T @ seen
    names = [shown([name]) for name in process.pools]
    weak_pairs = [(int(both[p, q]), f"{names[p]} and {names[q]}")
                  for p in range(process.n_pools) for q in range(p + 1, process.n_pools)
                  if both[p, q] < FEW_SHARED]  # fmt: skip
    if not weak_pairs:
        return
    shares = [f"{pair} share {'no item' if n == 0 else f'{n} item' + 's' * (n > 1)}"
            for n, pair in weak_pairs[:3]]  # fmt: skip
    n_further = len(weak_pairs) - 3
    further = f", and {n_further} more pairs have fewer than {FEW_SHARED}" if n_further > 0 else ""
    mostly = "" if all(n == 0 for n, _ in weak_pairs) else "mostly "
    others = " and by other pools" if process.n_pools > 2 else ""
    yield (
        f"Pools {'; '.join(shares)}{further}. The correlation and xCC of such pools are {mostly}"
        f"determined by the prior{others}. A priori the correlation is {_prior_interval(process)} "
        "with probability .9. Let the pools label the same items."
    )


def _of_repeats(process: Process) -> Iterator[str]:
    """Warn of repeated labels by one annotator, which the model takes to be independent."""
    annotator = process.annotations["annotator_code"].to_numpy().astype(np.int64)
    cells = np.unique(np.stack([process.item, annotator, process.pool]), axis=1)
    n_repeated = len(process.item) - cells.shape[1]
    if n_repeated > _REPEATED * len(process.item):
        of = "" if process.family == GAUSSIAN else " (only numbers can be averaged)"
        yield (
            f"{n_repeated:,} of {len(process.item):,} labels repeat a label by the same annotator "
            "for the same item. The model has no effect of an annotator on an item: it takes "
            "repeated labels to be as independent as those of two annotators. If annotators repeat "
            "themselves, sigma_item and ICC are too high, and their intervals too narrow. Keep one "
            f"label of each annotator for each item, or their mean{of}."
        )


def _of_clusters(process: Process) -> Iterator[str]:
    """Warn of clusters: the model takes their items to be independent."""
    cluster = process.annotations.get("cluster_code")
    if cluster is None:
        return
    of_labelled = cluster.to_numpy()[np.unique(process.item)]
    n = len(np.unique(of_labelled))
    if n < len(of_labelled):
        yield (
            f"The model takes the {len(of_labelled):,} items to be independent, also items of the "
            f"same cluster ({n:,} clusters). If items of a cluster are alike, intervals of mu, "
            "sigma_item, ICC and xCC are too narrow for new items."
        )


def _of_noise(process: Process) -> Iterator[str]:
    """Warn of pools and annotators with unequal noise: the model has one residual sd."""
    cell = process.item * process.n_pools + process.pool
    if process.pools is not None and process.n_sd == 1 and process.family != BERNOULLI:
        unlike = list(_of_noisy_pools(process, cell))
        yield from unlike
        if unlike:
            return
    if process.family != GAUSSIAN or process.anonymous:
        return
    names = process.annotations[ANNOTATOR].to_numpy()[process.member_annotator]
    for p in range(process.n_sd):  # one for all pools, or one for each
        rows = (process.pool == p) | (process.n_sd == 1)
        unequal = unequal_noise(process.value[rows], cell[rows], process.member[rows])
        if unequal is None:
            continue
        sd, factor = unequal
        low, high = np.nanargmin(sd), np.nanargmax(sd)
        pool_phrase = (
            ""
            if process.n_sd == 1 or process.pools is None
            else (f" of pool {shown([process.pools[p]])}")
        )
        yield (
            f"Some annotators{pool_phrase} have more noise than others: standard deviations of "
            f"residuals go from {sd[low]:.3g} ({shown([names[low]])}) to {sd[high]:.3g} "
            f"({shown([names[high]])}). The model has one sigma for all. For new annotators, "
            f"its interval is too narrow (by a factor of at least about {factor:.2g}), and the "
            "interval of the ICC may be too narrow."
        )


def _of_noisy_pools(process: Process, cell: Ints) -> Iterator[str]:
    """Warn of pools with unequal noise, if they share the residual standard deviation."""
    value = process.value.astype(np.float64)
    rest, free = _residuals(value, cell, process.member)
    of_pool = process.pool[np.unique(process.member, return_index=True)[1]]
    n = np.bincount(of_pool, np.maximum(free, 0.0), minlength=process.n_pools)
    known = n >= _FREE
    used = known[process.pool]
    if known.sum() < 2 or not _differ(np.abs(rest)[used], process.pool[used]):
        return
    square = np.bincount(process.pool, rest**2, minlength=process.n_pools)
    sd = np.where(known, np.sqrt(square / np.where(known, n, 1.0)), np.nan)
    low, high = np.nanargmin(sd), np.nanargmax(sd)
    if sd[high] < _UNLIKE * sd[low]:
        return
    names = [shown([process.pools[p]]) for p in (low, high)]  # type: ignore[index]
    remedy = 'residual="pool"' if process.family == GAUSSIAN else (
        'family="gaussian", residual="pool", which takes the labels as numbers'
    )  # fmt: skip
    yield (
        f"Pools differ in noise: the standard deviation of residuals is {sd[low]:.3g} in pool "
        f"{names[0]} and {sd[high]:.3g} in pool {names[1]}. The model has one for all pools: the "
        f"ICC of pool {names[0]} is too low, and that of pool {names[1]} too high. Use {remedy}."
    )


def unequal_noise(value: Floats, cell: Ints, annotator: Ints) -> tuple[Floats, float] | None:
    r"""Return each annotator's residual sd, and the factor by which sigma's interval is too narrow.

    Residuals are labels less the means of items and of annotators, which are subtracted in turn.
    The residuals of annotator j have :math:`f_j` of the f degrees of freedom, and variance
    :math:`v_j`; v is the mean of these variances, weighted by :math:`f_j / f`. Between sets of J
    annotators, the variance of v is :math:`J / (J - 1) \sum_j (f_j / f)^2 (v_j - v)^2`; under the
    model it is :math:`2 v^2 / f`. The factor is the square root of the ratio of these variances.
    The residuals of an item are correlated, so that the factor is too small if items have only two
    or three labels.

    Return None if fewer than two annotators have five degrees of freedom, if the factor is below
    1.5, or if Levene's test, which is robust to heavy tails, finds no difference between the
    annotators' absolute residuals (p above .001).

    In the study vcc2018_mos the factor is 2.6, in popquorn_offensiveness 2.4. Estimates of sigma
    from random halves of the annotators differ by 2.5 and 2.4 times the model's standard deviation.

    >>> item, who = (axis.ravel() for axis in np.indices((20, 2)))
    >>> unequal_noise(np.arange(40.0), item, who)  # None: all residuals are 0
    """
    rest, free = _residuals(value, cell, annotator)
    known = free >= _FREE
    n = int(known.sum())
    if n < 2:
        return None
    each = np.where(known, np.bincount(annotator, rest**2) / np.where(known, free, 1.0), np.nan)
    weight = free[known] / free[known].sum()
    own = each[known]
    v = float(weight @ own)
    between = n / (n - 1) * float(np.sum(weight**2 * (own - v) ** 2))
    ratio = between / (2.0 * v**2 / float(free[known].sum())) if v > 0 else 0.0
    used = known[annotator]
    if ratio < _TOO_NARROW**2 or not _differ(np.abs(rest)[used], annotator[used]):
        return None
    return np.sqrt(each), float(np.sqrt(ratio))


def _residuals(value: Floats, cell: Ints, annotator: Ints) -> tuple[Floats, Floats]:
    """Return labels less means of items and annotators, and each annotator's degrees of freedom."""
    rest = value - value.mean()
    for _ in range(_PASSES):
        rest = _without_means(rest, (cell, annotator))
    return rest, np.bincount(annotator, 1.0 - 1.0 / np.bincount(cell)[cell]) - 1.0


def _differ(value: Floats, group: Ints) -> bool:
    """Return whether means of groups differ, by an analysis of variance at level `_CHANCE`."""
    _, group, size = np.unique(group, return_inverse=True, return_counts=True)
    mean = np.bincount(group, value) / size
    between = float(np.sum(size * (mean - value.mean()) ** 2)) / (len(size) - 1)
    within = float(np.sum((value - mean[group]) ** 2)) / (len(value) - len(size))
    return between > within * float(f.isf(_CHANCE, len(size) - 1, len(value) - len(size)))


def _prior_interval(process: Process) -> str:
    """Return a correlation's prior interval as text; its LKJ prior is a beta scaled to (-1, 1)."""
    shape = process.lkj - 1 + process.n_pools / 2
    end = 2 * float(beta.ppf((1 + _LEVEL) / 2, shape, shape)) - 1
    return f"between {-end:.2f} and {end:.2f}"


def require_residual(process: Process) -> None:
    """Raise if effects explain the numbers exactly, so that sigma has no proper posterior."""
    cell = process.item * process.n_pools + process.pool
    row_sets: list[Any] = [slice(None)]
    pool_phrases = [""]
    if process.n_sd > 1 and process.pools is not None:
        row_sets = [process.pool == p for p in range(process.n_pools)]
        pool_phrases = [f" of pool {shown([name])}" for name in process.pools]
    for rows, pool_phrase in zip(row_sets, pool_phrases, strict=True):
        if len(process.value[rows]):
            member = None if process.anonymous else process.member[rows]
            require_unexplained(process.value[rows], cell[rows], member, pool_phrase)


def require_unexplained(
    value: Floats, cell: Ints, member: Ints | None, pool_phrase: str = ""
) -> None:
    """Raise if numbers equal a sum of effects, and are more than effects can always fit exactly.

    ``cell`` holds codes of items, or of items in a pool; ``member`` holds codes of annotators, or
    is None if annotators have no effects. The message contains ``pool_phrase`` (" of pool 'a'").

    >>> require_unexplained(np.array([1.0, 1.0, 2.0]), np.array([0, 0, 1]), None)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: annotations: expected numbers with a residual: items must
    not explain them to within a millionth of their standard deviation; found 3 without a ...
    >>> require_unexplained(np.array([1.0, 1.1, 2.0]), np.array([0, 0, 1]), None)
    """
    if _left(value, cell, member) or len(value) <= _fitted_exactly(cell, member):
        return
    effects = "items" if member is None else "items and annotators"
    raise AnnotationError(
        "annotations",
        expected=f"numbers with a residual: {effects} must not explain them to within a millionth "
        "of their standard deviation",
        found=f"{len(value):,}{pool_phrase} without a residual",
        hint="If all annotators agree, except for a constant of each annotator, no model is "
        "needed; for grades, family='ordinal' accepts such data. If one label is millions of "
        "times larger than the others, check it for a mistake",
    )


def _without_means(rest: Floats, codes: Sequence[Ints]) -> Floats:
    """Return numbers less the means of items, and then less the means of annotators."""
    for code in codes:
        rest = rest - (np.bincount(code, rest) / np.maximum(np.bincount(code), 1))[code]
    return rest


def _left(value: Floats, cell: Ints, member: Ints | None) -> bool:
    """Return whether a residual remains after means of items and annotators are subtracted."""
    rest = value - value.mean()
    nothing = _NEGLIGIBLE**2 * float(rest @ rest)
    for _ in range(_ROUNDS):
        before = float(rest @ rest)
        rest = _without_means(rest, (cell,) if member is None else (cell, member))
        after = float(rest @ rest)
        if after <= nothing:
            return False
        if after > _STALLED * before:
            return True
    return True


def _fitted_exactly(cell: Ints, member: Ints | None) -> int:
    """Return the number of values that effects can fit exactly: the rank of the design."""
    _, cell = np.unique(cell, return_inverse=True)
    n_cells = int(cell.max()) + 1
    if member is None:
        return n_cells
    _, member = np.unique(member, return_inverse=True)
    n = n_cells + int(member.max()) + 1
    links = coo_array((np.ones(len(cell)), (cell, n_cells + member)), shape=(n, n))
    return n - int(connected_components(links, directed=False)[0])
