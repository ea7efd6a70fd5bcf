"""What the PyMC form and the Gibbs sampler of crossed effects share: data and settings.

Numbers that items and annotators explain to the last digit: nothing is left for chance.
Let N numbers follow exactly from a sum of effects that can fit r numbers whatever they are. As the
residual's standard deviation s goes to 0, their density, effects integrated out, grows as
s^-(N - r). Its product with any prior that is not 0 there has no finite integral if N > r: there is
no posterior. If N = r (one label an item, say) the density stays finite, and all is well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import beta

from dissensus import arguments
from dissensus.data.rows import given_numbers
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, POOL
from dissensus.errors import AnnotationError, ArgumentError, DesignWarning, shown, warn_caller
from dissensus.families.crossed.kernels.data import Crossed, Priors, crossed
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN, ORDINAL
from dissensus.families.crossed.priors import Prior, as_row, priors_for, spelled
from dissensus.kernels.types import Floats, Ints
from dissensus.sampling import fitting
from dissensus.sampling.design import Pairs, islands, listed_islands, pairs, scattered

# What a design of crossed effects leaves to the priors, said before anything is sampled.


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


_NOTHING: Final = 1e-6
"""A residual this small beside the numbers' own spread is rounding, or might as well be."""
_ROUNDS: Final = 100
_STALLED: Final = 0.99
"""Where a round leaves more than this of a sum of squares, it will not go to 0."""


def require_a_rest(value: Floats, cell: Ints, member: Ints | None, whose: str = "") -> None:
    """Raise if numbers are a sum of effects, and more numbers than effects can fit.

    Parameters
    ----------
    value : array (annotation)
    cell : array (annotation)
        Codes of items, or of items in a pool.
    member : array (annotation), optional
        Codes of annotators; None where they have no effects.
    whose : str
        For the complaint, where these are not all numbers: " of pool 'a'".

    Examples
    --------
    >>> require_a_rest(np.array([1.0, 1.0, 2.0]), np.array([0, 0, 1]), None)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: annotations: expected numbers that items do not explain to
    within a millionth of their spread, for a residual to be estimated; found 3 that they do. ...
    >>> require_a_rest(np.array([1.0, 1.1, 2.0]), np.array([0, 0, 1]), None)
    """
    if _left(value, cell, member) or len(value) <= _fitted_exactly(cell, member):
        return
    who = "items" if member is None else "items and annotators"
    raise AnnotationError(
        "annotations",
        expected=f"numbers that {who} do not explain to within a millionth of their spread, for a "
        "residual to be estimated",
        found=f"{len(value):,}{whose} that they do",
        hint="If everybody agrees (but perhaps for a constant of each annotator's own), no model "
        "is needed to see it, and of grades family='ordinal' takes these. If one label is millions "
        "of times farther out than the others, is it a slip?",
    )


def _left(value: Floats, cell: Ints, member: Ints | None) -> bool:
    """Whether something remains, found by taking means out in turn."""
    rest = value - value.mean()
    nothing = _NOTHING**2 * float(rest @ rest)
    for _ in range(_ROUNDS):
        before = float(rest @ rest)
        for code in (cell, member):
            if code is not None:
                n = np.bincount(code)
                rest = rest - (np.bincount(code, rest) / np.maximum(n, 1))[code]
        after = float(rest @ rest)
        if after <= nothing:
            return False
        if after > _STALLED * before:
            return True
    return True


def _fitted_exactly(cell: Ints, member: Ints | None) -> int:
    """Count the numbers that effects can fit whatever they are: the rank of the design."""
    _, cell = np.unique(cell, return_inverse=True)
    n_cells = int(cell.max()) + 1
    if member is None:
        return n_cells
    _, member = np.unique(member, return_inverse=True)
    n = n_cells + int(member.max()) + 1
    links = coo_array((np.ones(len(cell)), (cell, n_cells + member)), shape=(n, n))
    return n - int(connected_components(links, directed=False)[0])


FAMILIES: Final = (GAUSSIAN, BERNOULLI, ORDINAL)
SAMPLERS: Final = ("gibbs", "nuts")
RESIDUALS: Final = ("shared", "pool")
KINDS: Final = ("continuous", "ordinal", "nominal")
_SIZE: Final = 1e100
"""Of numbers: with their squares, and products of these, arithmetic stays within its range."""
OBSERVED: Final = {GAUSSIAN: "score"}
"""The name of what is observed; of labels it is ``label_code``."""
LATENT_SD: Final = {BERNOULLI: float(np.pi / np.sqrt(3)), ORDINAL: 1.0}
"""Of the residual on the latent scale, where it is not learned."""


class Process(NamedTuple):
    """Labels as numbers or codes, who gave them, and the priors."""

    model: str
    annotations: xr.Dataset
    family: str
    value: Floats
    """(annotation): numbers, or codes of labels from 0."""
    item: Ints
    """(annotation)"""
    member: Ints
    """(annotation): an annotator in a pool."""
    pool: Ints
    """(annotation)"""
    member_annotator: Ints
    """(member); empty where annotators are nobody in particular."""
    member_pool: Ints
    """(member)"""
    pools: npt.NDArray[Any] | None
    """Names; None where there is one pool without a name."""
    labels: npt.NDArray[Any]
    """Of ordered labels, and of two; empty for numbers."""
    priors: Mapping[str, Prior]
    lkj: float
    n_sd: int
    """Residual standard deviations that are learned."""

    @property
    def n_pools(self) -> int:
        """How many pools there are."""
        return 1 if self.pools is None else len(self.pools)

    @property
    def anonymous(self) -> bool:
        """Whether annotators are nobody in particular."""
        return not len(self.member_annotator)

    @property
    def centre(self) -> float:
        """What is taken off numbers while they are sampled, for the digits that are left."""
        return float(self.value.mean()) if self.family == GAUSSIAN and len(self.value) else 0.0

    def data(self) -> Crossed:
        """Lay out the labels for the Gibbs sampler."""
        return crossed(
            self.value - self.centre, self.item, self.member, self.pool,
            n_items=self.annotations.sizes[ITEM], annotator_pool=self.member_pool,
            n_pools=self.n_pools,
        )  # fmt: skip

    def numbers(self) -> Priors:
        """Return the priors as compiled code reads them."""
        each = {name: as_row(prior) for name, prior in self.priors.items() if name != "mu"}
        none = [0.0, 1.0, 0.0]
        mean, sd = self.priors["mu"]
        n = self.n_pools
        return Priors(
            mu=np.tile([mean - self.centre, sd], (n, 1)),
            least=np.full(n, -np.inf),
            sd_item=np.tile(each["sigma_item"], (n, 1)),
            sd_annotator=np.tile(each.get("sigma_annotator", none), (n, 1)),
            sd=np.tile(each.get("sigma", none), (self.n_sd, 1)),
            gap=np.array(each.get("gap", none)),
            lkj=self.lkj,
        )

    @property
    def label_value(self) -> Floats:
        """The numbers that labels stand for: their own, if ordered labels are numbers."""
        numeric = self.labels.dtype.kind in "if" and self.family == ORDINAL
        values = self.labels if numeric else np.arange(len(self.labels))
        return np.asarray(values, dtype=np.float64)

    @property
    def prior_words(self) -> str:
        """The priors, for a fit's attributes."""
        return spelled(self.priors)


def process(
    model: str,
    annotations: xr.Dataset,
    *,
    family: str,
    sampler: str,
    priors: Mapping[str, Any] | None,
    anonymous: bool,
    residual: str = "shared",
    correlation_prior: float = 1.0,
    shared_annotators: bool = False,
) -> Process:
    """Check annotations and settings, and put them together.

    Raises
    ------
    AnnotationError
        If the annotations do not suit the family, have no pools where these are compared, or
        have annotators in several.
    ArgumentError
        If a setting makes no sense.
    """
    fitting.require_kind(annotations, KINDS, model)
    arguments.one_of("family", family, FAMILIES)
    arguments.one_of("sampler", sampler, SAMPLERS)
    arguments.one_of("residual", residual, RESIDUALS)
    arguments.flags(anonymous=anonymous, shared_annotators=shared_annotators)
    if residual == "pool" and family != GAUSSIAN:
        raise ArgumentError(
            "residual", expected=f"'shared' with family={family!r}, whose residual is given",
            found="'pool'",
        )  # fmt: skip
    value, labels = _values(annotations, family)
    pools = _pools(annotations, shared_annotators) if model == "cross_replication" else None
    item = annotations["item_code"].to_numpy().astype(np.int64)
    pool = np.zeros_like(item) if pools is None else annotations["pool_code"].to_numpy()
    n_pools = 1 if pools is None else len(pools)
    who, member, member_pool = _members(annotations, pool, n_pools, anonymous)
    found = Process(
        model, annotations, family, value, item, member, pool.astype(np.int64), who, member_pool,
        pools, labels, priors_for(family, value, priors, anonymous=anonymous),
        arguments.positive("correlation_prior", correlation_prior),
        n_pools if residual == "pool" else 1,
    )  # fmt: skip
    if family == GAUSSIAN:
        _require_a_rest(found)
    warn_of_design(found)
    return found


def _values(annotations: xr.Dataset, family: str) -> tuple[Floats, npt.NDArray[Any]]:
    """Return what the model explains, row by row, and the labels it stands for."""
    kind = annotations.attrs["kind"]
    if family == GAUSSIAN:
        if kind == "nominal":
            raise AnnotationError(
                "annotations", expected="numbers, with family='gaussian'", found="nominal labels",
                hint="Two labels: family='bernoulli'. Ordered ones: read them with "
                "kind='ordinal', and family='ordinal'",
            )  # fmt: skip
        if kind == "ordinal" and annotations[LABEL].dtype.kind not in "if":
            raise AnnotationError(
                "annotations", expected="numbers, with family='gaussian'",
                found=f"ordered words such as {str(annotations[LABEL].to_numpy()[0])!r}",
                hint="family='ordinal' takes them",
            )  # fmt: skip
        return _sized(given_numbers(annotations).astype(np.float64)), np.empty(0)
    if "label_code" not in annotations:
        raise AnnotationError(
            "annotations", expected=f"labels, with family={family!r}", found=f"{kind} numbers",
            hint="family='gaussian' takes numbers",
        )  # fmt: skip
    labels = annotations[LABEL].to_numpy()
    if family == BERNOULLI and len(labels) != 2:
        raise AnnotationError(
            "annotations", expected="two labels, with family='bernoulli'",
            found=f"{len(labels)}: {shown(list(labels))}",
            hint="family='ordinal' takes ordered labels" if kind == "ordinal" else "",
        )  # fmt: skip
    if family == ORDINAL and (kind != "ordinal" or len(labels) < 2):
        raise AnnotationError(
            "annotations", expected="two or more ordered labels, with family='ordinal'",
            found=f"{len(labels)} {kind} labels",
            hint="If they have an order, read them with kind='ordinal' and labels= in order",
        )  # fmt: skip
    return annotations["label_code"].to_numpy().astype(np.float64), labels


def _sized(value: Floats) -> Floats:
    """Return numbers whose squares are finite and not 0, or raise."""
    spread = float(np.ptp(value)) if len(value) else 0.0
    if spread and not 1.0 / _SIZE < spread < _SIZE:
        raise AnnotationError(
            "annotations", expected=f"numbers whose range lies between {1 / _SIZE:g} and {_SIZE:g}",
            found=f"a range of {spread:.3g}", hint="Read them in another unit",
        )  # fmt: skip
    return value


def _pools(annotations: xr.Dataset, shared_annotators: bool) -> npt.NDArray[Any]:
    """Return the names of the pools."""
    if "pool_code" not in annotations or annotations.sizes[POOL] < 2:
        found = annotations.sizes[POOL] if "pool_code" in annotations else "none"
        raise AnnotationError(
            "annotations", expected="two or more pools of annotators", found=str(found),
            hint="Name the column that says who belongs to which with pool=; for a single pool "
            "there is crossed_effects",
        )  # fmt: skip
    pair = annotations["annotator_code"].to_numpy() * annotations.sizes[POOL]
    pair = np.unique(pair + annotations["pool_code"].to_numpy())
    each = np.bincount(pair // annotations.sizes[POOL])
    if (each > 1).any() and not shared_annotators:
        people = annotations[ANNOTATOR].to_numpy()[each > 1]
        raise AnnotationError(
            "annotations",
            where=f"annotators {shown(list(people))}",
            expected="everybody in one pool: pools are compared as different people",
            found=f"{len(people)} in several",
            hint="Are they the same people? shared_annotators=True gives them an effect of "
            "their own in each pool. If not, give them different names",
        )
    names: npt.NDArray[Any] = annotations[POOL].to_numpy()
    return names


def _members(
    annotations: xr.Dataset, pool: Ints, n_pools: int, anonymous: bool
) -> tuple[Ints, Ints, Ints]:
    """Return the annotator of each member, the member of each row, and the pool of each member."""
    if anonymous:
        return np.empty(0, dtype=np.int64), pool.astype(np.int64), np.arange(n_pools)
    who = annotations["annotator_code"].to_numpy().astype(np.int64)
    if n_pools == 1:
        n = annotations.sizes[ANNOTATOR]
        return np.arange(n), who, np.zeros(n, dtype=np.int64)
    pair, member = np.unique(who * n_pools + pool, return_inverse=True)
    return pair // n_pools, member.ravel().astype(np.int64), pair % n_pools


def _require_a_rest(what: Process) -> None:
    """Raise where a residual that is learned is 0: its posterior would be a spike there."""
    cell = what.item * what.n_pools + what.pool
    alike: list[Any] = [slice(None)]
    whose = [""]
    if what.n_sd > 1 and what.pools is not None:
        alike = [what.pool == p for p in range(what.n_pools)]
        whose = [f" of pool {shown([name])}" for name in what.pools]
    for rows, words in zip(alike, whose, strict=True):
        if len(what.value[rows]):
            member = None if what.anonymous else what.member[rows]
            require_a_rest(what.value[rows], cell[rows], member, words)


def named(what: Process) -> dict[str, Any]:
    """Return the coordinates of annotations: names of items and annotators row by row."""
    ann = what.annotations
    return {
        f"{ANNOTATION}_{dim}": (ANNOTATION, ann[dim].to_numpy()[ann[f"{dim}_code"].to_numpy()])
        for dim in (ITEM, ANNOTATOR)
    }
