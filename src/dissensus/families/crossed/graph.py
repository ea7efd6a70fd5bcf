"""Crossed effects read off a PyMC model, with a proof that it is a model of crossed effects.

Variables have the names that `dissensus.models.crossed_effects` and `cross_replication` give them.
The mean of numbers may have further terms, of which the step learns at each point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.basic import BernoulliRV, ExponentialRV, HalfNormalRV, NormalRV

from dissensus import dims
from dissensus.families import base
from dissensus.families.crossed.distributions import CumulativeProbitRV
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN, ORDINAL
from dissensus.families.crossed.priors import Prior
from dissensus.families.crossed.process import Process
from dissensus.kernels.types import Floats, Ints
from dissensus.sampling.proof import indices, number, prove
from dissensus.sampling.step import uncompiled, unfit

Point = Mapping[str, Any]

MU, ITEM, ANNOTATOR = "mu", "item_effect", "annotator_effect"
SD_ITEM, SD_ANNOTATOR, SD = "sigma_item", "sigma_annotator", "sigma"
GAP, ROOT = "gap", "correlation_cholesky"
NAMES: Final = (MU, SD_ITEM, ITEM, SD_ANNOTATOR, ANNOTATOR, SD, GAP, ROOT)
_NEEDED: Final = frozenset({MU, SD_ITEM, ITEM})
_OBSERVED: Final = ("score", "label_code")


_MEAN: Final = "the mean mu + item_effect[...] + annotator_effect[...]"
_PARAMETERS: Final = {
    GAUSSIAN: (_MEAN, "the residual's sigma"), ORDINAL: (_MEAN, "the cutpoints"),
    BERNOULLI: (_MEAN,),
}  # fmt: skip
"""Names of the parameters of what is observed, for messages."""


class Reading(NamedTuple):
    """What the step needs to know."""

    process: Process
    names: tuple[str, ...]
    """The variables that the step moves."""
    offset: Callable[[Point], Floats] | None
    """Returns the further terms in the mean of numbers (annotation); None if there are none."""


def knows(name: Any) -> bool:
    """Return whether a variable of this name is one of crossed effects."""
    return name in NAMES


def has_form(model: Any) -> bool:
    """Return whether a model has the names of crossed effects."""
    return {rv.name for rv in model.free_RVs} >= _NEEDED and bool(_observed(model))


def _observed(model: Any) -> list[Any]:
    return [rv for rv in model.observed_RVs if rv.name in _OBSERVED]


def read(model: Any) -> Reading:
    """Read a model.

    Raises
    ------
    ArgumentError
        If it is no model of crossed effects, naming the variable that differs.
    """
    observed = _observed(model)
    if not has_form(model) or len(observed) > 1:
        needed = f"free variables {', '.join(sorted(_NEEDED))} and one of {', '.join(_OBSERVED)}"
        raise unfit(f"{needed} observed", "others")
    with uncompiled():
        process, eta = _process(model, observed[0])
        reference = base.model_of(process.model)(process)
        more = prove(
            model, observed[0], reference, parameters=_PARAMETERS[process.family],
            more_in_mean=process.family == GAUSSIAN,
        )  # fmt: skip
    moved = {rv.name for rv in reference.free_RVs}
    names = tuple(name for name in NAMES if name in moved)
    return Reading(process, names, _offset(model, eta, names) if more else None)


def _process(model: Any, observed: Any) -> tuple[Process, Any]:
    """Return the process that a model may be of, and the mean of what is observed."""
    free = {rv.name: rv for rv in model.free_RVs}
    point = model.initial_point()

    def size(name: str, place: int = 0) -> int:
        shape = np.shape(point[model.rvs_to_values[free[name]].name])
        return shape[place] if len(shape) > place else 1

    family, eta = _likelihood(observed)
    n_pools, n_items = size(ITEM, 1), size(ITEM)
    value = np.asarray(model.rvs_to_values[observed].eval(), dtype=np.float64)
    of_item = _places(eta, free[ITEM], len(value))
    pool = of_item[1] if len(of_item) > 1 else np.zeros(len(value), dtype=np.int64)
    member, member_pool, who = pool, np.arange(n_pools), np.empty(0, dtype=np.int64)
    if ANNOTATOR in free:
        who = np.arange(size(ANNOTATOR))
        (member,) = _places(eta, free[ANNOTATOR], len(value))
        sd = free[ANNOTATOR].owner.op.dist_params(free[ANNOTATOR].owner)[1]
        member_pool = np.zeros(len(who), dtype=np.int64)
        if n_pools > 1:
            if SD_ANNOTATOR not in free:
                raise unfit(f"a free variable {SD_ANNOTATOR}", "none")
            (member_pool,) = _places(sd, free[SD_ANNOTATOR], len(who), f"{ANNOTATOR}'s scale")
    n_labels = {ORDINAL: size(GAP) + 2 if GAP in free else 2, BERNOULLI: 2}.get(family, 0)
    root = free.get(ROOT)
    return Process(
        model="crossed_effects" if root is None else "cross_replication",
        annotations=xr.Dataset(
            coords={dims.ITEM: np.arange(n_items), dims.ANNOTATOR: np.arange(len(who))}
        ),
        family=family, value=value, item=of_item[0], member=member, pool=pool,
        member_annotator=who, member_pool=member_pool,
        pools=None if root is None else np.arange(n_pools), labels=np.arange(n_labels),
        priors=_priors(model, free),
        lkj=1.0 if root is None else number(model, root.owner.op.dist_params(root.owner)[1], ROOT),
        n_sd=size(SD) if SD in free else 1,
    ), eta  # fmt: skip


def _likelihood(observed: Any) -> tuple[str, Any]:
    """Return the family, and the mean on the latent scale."""
    op = observed.owner.op
    if isinstance(op, NormalRV):
        return GAUSSIAN, op.dist_params(observed.owner)[0]
    if isinstance(op, CumulativeProbitRV):
        return ORDINAL, op.dist_params(observed.owner)[0]
    if isinstance(op, BernoulliRV):
        (p,) = op.dist_params(observed.owner)
        made = p.owner.op if p.owner is not None else None
        if isinstance(made, Elemwise) and made.scalar_op.name == "sigmoid":
            return BERNOULLI, p.owner.inputs[0]
        raise unfit("pm.Bernoulli(logit_p=...)", f"p made by {made}")
    raise unfit("a Normal, Bernoulli or CumulativeProbit likelihood", str(op))


def _places(expression: Any, variable: Any, n: int, where: str = "the mean") -> list[Ints]:
    """Return the places at which a variable stands in an expression, n for each dimension."""
    places = indices(expression, variable)
    if places is None:
        raise unfit(f"{variable.name}, indexed by an array, in {where}", "none")
    for place in places:  # an array of one place would broadcast
        if place.shape != (n,):
            raise unfit(f"{variable.name} indexed by {n} places in {where}", f"{place.shape}")
    return places


def _priors(model: Any, free: Mapping[str, Any]) -> dict[str, Prior]:
    """Return the priors as `dissensus.families.crossed.priors` spells them."""
    mu = free[MU]
    if not isinstance(mu.owner.op, NormalRV):
        raise unfit(f"{MU} with a Normal prior", str(mu.owner.op))
    out = {MU: tuple(number(model, one, MU) for one in mu.owner.op.dist_params(mu.owner))}
    return out | {
        name: scale_prior(model, free[name])
        for name in (SD_ITEM, SD_ANNOTATOR, SD, GAP)
        if name in free
    }


def _offset(model: Any, eta: Any, names: tuple[str, ...]) -> Callable[[Point], Floats]:
    """Return what the mean consists of beside means and effects, which it is linear in."""
    (graph,) = model.replace_rvs_by_values([eta])
    evaluate = model.compile_fn(graph, inputs=model.value_vars, on_unused_input="ignore")
    ours = [model.rvs_to_values[model[name]].name for name in names]

    def offset(point: Point) -> Floats:
        where = dict(point) | {name: np.zeros_like(point[name]) for name in ours}
        return np.asarray(evaluate(where), dtype=np.float64)

    return offset


def scale_prior(model: Any, variable: Any) -> Prior:
    """Return the prior of a standard deviation, as `families.crossed.priors` spells it.

    Raises
    ------
    ArgumentError
        If it is of another form.
    """
    op, name = variable.owner.op, variable.name
    parameters = list(op.dist_params(variable.owner))
    if isinstance(op, HalfNormalRV):
        location, scale = (number(model, one, name) for one in parameters)
        if location:
            raise unfit(f"{name} with a prior that begins at 0", f"one that begins at {location}")
        return ("half_normal", scale)
    if isinstance(op, ExponentialRV):
        return ("exponential", number(model, parameters[0], name))
    if op.name == "halfstudentt":
        degrees, scale = (number(model, one, name) for one in parameters)
        return ("half_t", scale, degrees)
    raise unfit(f"{name} with a HalfNormal, HalfStudentT or Exponential prior", str(op))
