"""Checked annotations and settings of crossed effects, for the PyMC model and the kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.rows import given_numbers
from dissensus.dims import ANNOTATION, ANNOTATOR, BOUNDARY, ITEM, LABEL, POOL, TERM, other
from dissensus.errors import AnnotationError, ArgumentError, shown
from dissensus.families.crossed.covariates import covariates
from dissensus.families.crossed.design import require_residual, warn_of_design
from dissensus.families.crossed.kernels.data import Crossed, Priors, crossed
from dissensus.families.crossed.kernels.regression import regression
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN, ORDINAL
from dissensus.families.crossed.priors import (
    Prior,
    as_row,
    coefficient_prior,
    priors_for,
    spelled,
)
from dissensus.kernels.types import Array, Floats, Ints
from dissensus.sampling import fitting

FAMILIES: Final = (GAUSSIAN, BERNOULLI, ORDINAL)
SAMPLERS: Final = ("gibbs", "nuts")
RESIDUALS: Final = ("shared", "pool")
KINDS: Final = ("continuous", "ordinal", "nominal")
_SIZE: Final = 1e100
"""Largest range of the numbers: squares of smaller numbers are finite."""
OBSERVED: Final = {GAUSSIAN: "score"}
"""Name of the observed variable; for families that are not listed, ``label_code``."""
LATENT_SD: Final = {BERNOULLI: float(np.pi / np.sqrt(3)), ORDINAL: 1.0}
"""Standard deviation of the latent residual, for families in which it is fixed."""


class Process(NamedTuple):
    """Labels as numbers or codes, their items, annotators and pools, and the priors."""

    model: str
    annotations: xr.Dataset
    family: str
    value: Floats  # (annotation): numbers, or codes of labels from 0
    item: Ints  # (annotation)
    member: Ints  # (annotation): an annotator in a pool
    pool: Ints  # (annotation)
    member_annotator: Ints  # (member); empty if annotators have no effects
    member_pool: Ints  # (member)
    pools: Array | None  # Names; None if there is one pool, which has no name
    labels: Array  # Names of labels; empty for numbers
    priors: Mapping[str, Prior]
    lkj: float
    n_sd: int  # Number of residual standard deviations: 1, or one for each pool
    formula: str = ""
    terms: Array = np.empty(0, dtype=str)  # Names of coefficients
    covariates: Floats = np.empty((0, 0))  # (annotation, term), centred
    covariate_mean: Floats = np.empty(0)  # (term): averages of covariates, at which mu is the mean
    coefficient_prior: Floats = np.empty((0, 2))  # (term, 2): mean and standard deviation

    @property
    def n_pools(self) -> int:
        """Number of pools."""
        return 1 if self.pools is None else len(self.pools)

    @property
    def anonymous(self) -> bool:
        """Whether annotators have no effects."""
        return not len(self.member_annotator)

    @property
    def centre(self) -> float:
        """The mean of numbers, which is subtracted before sampling for accuracy; 0 for labels."""
        return float(self.value.mean()) if self.family == GAUSSIAN and len(self.value) else 0.0

    def data(self) -> Crossed:
        """Lay out the labels for the Gibbs sampler."""
        data = crossed(
            self.value - self.centre, self.item, self.member, self.pool,
            n_items=self.annotations.sizes[ITEM], annotator_pool=self.member_pool,
            n_pools=self.n_pools,
        )  # fmt: skip
        if not len(self.terms):
            return data
        return data._replace(regression=regression(self.covariates[data.row], data))

    def numbers(self) -> Priors:
        """Return the priors as compiled code reads them."""
        each = {
            name: as_row(prior)
            for name, prior in self.priors.items()
            if name not in {"mu", "coefficient"}
        }
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
            coefficient=self.coefficient_prior,
        )

    @property
    def label_value(self) -> Floats:
        """Numbers of the labels: the labels themselves if they are ordered numbers, else codes."""
        numeric = self.labels.dtype.kind in "if" and self.family == ORDINAL
        values = self.labels if numeric else np.arange(len(self.labels))
        return np.asarray(values, dtype=np.float64)

    @property
    def boundaries(self) -> list[str]:
        """The names of cutpoints: each is between two labels, such as ``low|high``."""
        return [f"{low}|{high}" for low, high in pairwise(map(str, self.labels))]

    @property
    def words(self) -> dict[str, str]:
        """The priors and the formula, for a fit's attributes."""
        formula = {"formula": self.formula} if self.formula else {}
        return {"priors": spelled(self.priors), **formula}


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
    formula: Any = None,
    items: Any = None,
    annotators: Any = None,
) -> Process:
    """Return the process of checked annotations and settings."""
    fitting.require_kind(annotations, KINDS, model)
    arguments.one_of("family", family, FAMILIES)
    arguments.one_of("sampler", sampler, SAMPLERS)
    arguments.one_of("residual", residual, RESIDUALS)
    arguments.flags(anonymous=anonymous, shared_annotators=shared_annotators)
    if residual == "pool" and family != GAUSSIAN:
        raise ArgumentError(
            "residual", expected=f"'shared' with family={family!r}, whose residual is fixed",
            found="'pool'",
        )  # fmt: skip
    value, labels = _values(annotations, family)
    pools = _pools(annotations, shared_annotators) if model == "cross_replication" else None
    item = annotations["item_code"].to_numpy().astype(np.int64)
    pool = np.zeros_like(item) if pools is None else annotations["pool_code"].to_numpy()
    n_pools = 1 if pools is None else len(pools)
    member_annotator, member, member_pool = _members(annotations, pool, n_pools, anonymous)
    design = covariates(formula, annotations, items, annotators)
    given = priors_for(
        family, value, priors, anonymous=anonymous, covariates=bool(len(design.terms))
    )
    coefficient = coefficient_prior(given, family, value, design.value)
    checked = Process(
        model, annotations, family, value, item, member, pool.astype(np.int64), member_annotator,
        member_pool, pools, labels, given,
        arguments.positive("correlation_prior", correlation_prior),
        n_pools if residual == "pool" else 1, *design[:4], coefficient,
    )  # fmt: skip
    if family == GAUSSIAN:
        require_residual(checked)
    warn_of_design(checked)
    return checked


def _values(annotations: xr.Dataset, family: str) -> tuple[Floats, Array]:
    """Return numbers or codes of labels, row by row, and the names of labels."""
    kind = annotations.attrs["kind"]
    if family == GAUSSIAN:
        if kind == "nominal":
            raise AnnotationError(
                "annotations", expected="numbers, with family='gaussian'", found="nominal labels",
                hint="For two labels use family='bernoulli'. Read labels that have an order with "
                "kind='ordinal', and use family='ordinal'",
            )  # fmt: skip
        if kind == "ordinal" and annotations[LABEL].dtype.kind not in "if":
            raise AnnotationError(
                "annotations", expected="numbers, with family='gaussian'",
                found=f"ordered words such as {str(annotations[LABEL].to_numpy()[0])!r}",
                hint="Use family='ordinal'",
            )  # fmt: skip
        return _sized(given_numbers(annotations).astype(np.float64)), np.empty(0)
    if "label_code" not in annotations:
        raise AnnotationError(
            "annotations", expected=f"labels, with family={family!r}", found=f"{kind} numbers",
            hint="Use family='gaussian'",
        )  # fmt: skip
    labels = annotations[LABEL].to_numpy()
    if family == BERNOULLI and len(labels) != 2:
        raise AnnotationError(
            "annotations", expected="two labels, with family='bernoulli'",
            found=f"{len(labels)}: {shown(list(labels))}",
            hint="Use family='ordinal'" if kind == "ordinal" else "",
        )  # fmt: skip
    if family == ORDINAL and (kind != "ordinal" or len(labels) < 2):
        raise AnnotationError(
            "annotations", expected="two or more ordered labels, with family='ordinal'",
            found=f"{len(labels)} {kind} labels",
            hint="If they have an order, read them with kind='ordinal' and labels= in order",
        )  # fmt: skip
    return annotations["label_code"].to_numpy().astype(np.float64), labels


def _sized(value: Floats) -> Floats:
    """Return the numbers; raise if squares of differences could overflow or underflow."""
    spread = float(np.ptp(value)) if len(value) else 0.0
    if spread and not 1.0 / _SIZE < spread < _SIZE:
        raise AnnotationError(
            "annotations", expected=f"numbers whose range lies between {1 / _SIZE:g} and {_SIZE:g}",
            found=f"a range of {spread:.3g}", hint="Read them in another unit",
        )  # fmt: skip
    return value


def _pools(annotations: xr.Dataset, shared_annotators: bool) -> Array:
    """Return the names of the pools."""
    if "pool_code" not in annotations or annotations.sizes[POOL] < 2:
        n_pools = annotations.sizes[POOL] if "pool_code" in annotations else "none"
        raise AnnotationError(
            "annotations", expected="two or more pools of annotators", found=str(n_pools),
            hint="Name the column of pools with pool=. For a single pool, use crossed_effects",
        )  # fmt: skip
    pair = annotations["annotator_code"].to_numpy() * annotations.sizes[POOL]
    pair = np.unique(pair + annotations["pool_code"].to_numpy())
    each = np.bincount(pair // annotations.sizes[POOL])
    if (each > 1).any() and not shared_annotators:
        people = annotations[ANNOTATOR].to_numpy()[each > 1]
        raise AnnotationError(
            "annotations",
            where=f"annotators {shown(list(people))}",
            expected="each annotator in one pool: the model treats annotators of different pools "
            "as different people",
            found=f"{len(people)} in several",
            hint="If they are the same people, shared_annotators=True gives each a separate "
            "effect in each pool. If not, give them different names",
        )
    names: Array = annotations[POOL].to_numpy()
    return names


def _members(
    annotations: xr.Dataset, pool: Ints, n_pools: int, anonymous: bool
) -> tuple[Ints, Ints, Ints]:
    """Return the annotator of each member, the member of each row, and the pool of each member.

    A member is an annotator in a pool. With ``anonymous``, each pool is one member, and the first
    array is empty.
    """
    if anonymous:
        return np.empty(0, dtype=np.int64), pool.astype(np.int64), np.arange(n_pools)
    annotator = annotations["annotator_code"].to_numpy().astype(np.int64)
    if n_pools == 1:
        n = annotations.sizes[ANNOTATOR]
        return np.arange(n), annotator, np.zeros(n, dtype=np.int64)
    pair, member = np.unique(annotator * n_pools + pool, return_inverse=True)
    return pair // n_pools, member.ravel().astype(np.int64), pair % n_pools


def named(process: Process) -> dict[str, Any]:
    """Return the coordinates of annotations: names of items and annotators row by row."""
    ann = process.annotations
    return {
        f"{ANNOTATION}_{dim}": (ANNOTATION, ann[dim].to_numpy()[ann[f"{dim}_code"].to_numpy()])
        for dim in (ITEM, ANNOTATOR)
    }


class Parameter(NamedTuple):
    """A parameter of the posterior."""

    name: str
    slot: str  # Field of the kernel's `Parameters` and `Trace`
    dims: tuple[str, ...]  # With the pool, even if there is only one
    when: Callable[[Process], bool] = lambda _: True  # Whether a process has the parameter
    variable: str = ""  # Name of the free variable in the PyMC model, if it differs
    is_log: bool = False  # Whether PyMC samples the logarithm of the variable
    is_effect: bool = False  # Whether each item or annotator has a value


PARAMETERS: Final = (
    Parameter("mu", "mu", (POOL,)),
    Parameter("sigma_item", "sd_item", (POOL,), is_log=True),
    Parameter("sigma_annotator", "sd_annotator", (POOL,), lambda p: not p.anonymous, is_log=True),
    Parameter("sigma", "sd", (POOL,), lambda p: p.family == GAUSSIAN, is_log=True),
    Parameter("cutpoint", "gap", (BOUNDARY,), lambda p: p.family == ORDINAL, "gap", is_log=True),
    Parameter(
        "correlation", "correlation", (POOL, other(POOL)), lambda p: p.pools is not None,
        "correlation_cholesky",
    ),
    Parameter("coefficient", "coefficient", (TERM,), lambda p: len(p.terms) > 0),
    Parameter("item_effect", "item", (ITEM, POOL), is_effect=True),
    Parameter(
        "annotator_effect", "annotator", (ANNOTATOR, POOL), lambda p: not p.anonymous,
        is_effect=True,
    ),
)  # fmt: skip


def parameters_of(process: Process, *, effects: bool = True) -> list[Parameter]:
    """Return the parameters that a process has."""
    return [p for p in PARAMETERS if p.when(process) and (effects or not p.is_effect)]
