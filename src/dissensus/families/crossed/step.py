"""The Gibbs step for crossed effects as a PyMC step method.

The step reads the model, and proves from its graph that it is a model of crossed effects. The
variables must have the names of `dissensus.models.crossed_effects` or `cross_replication`. For
numbers, the mean may have further terms, which the step evaluates at each point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.basic import BernoulliRV, ExponentialRV, HalfNormalRV, NormalRV

from dissensus import dims
from dissensus.families import base
from dissensus.families.crossed.distributions import CumulativeProbitRV
from dissensus.families.crossed.kernels import sweep as gibbs
from dissensus.families.crossed.kernels.covariance import all_items
from dissensus.families.crossed.kernels.data import Parameters
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN, ORDINAL
from dissensus.families.crossed.priors import Prior
from dissensus.families.crossed.process import PARAMETERS, Process
from dissensus.kernels.types import Floats
from dissensus.sampling import proof
from dissensus.sampling.interpreter import Point, of_point, uncompiled
from dissensus.sampling.step import (
    WholeModelStep,
    first_point,
    is_as_written,
    to_natural,
    to_values,
    unfit,
)

MU, ITEM, ANNOTATOR = "mu", "item_effect", "annotator_effect"
SD_ITEM, SD_ANNOTATOR, SD = "sigma_item", "sigma_annotator", "sigma"
GAP, ROOT = "gap", "correlation_cholesky"
_NEEDED: Final = frozenset({MU, SD_ITEM, ITEM})
_OF_EFFECTS: Final = frozenset({MU, ITEM, ANNOTATOR, SD_ITEM, SD_ANNOTATOR})
_OBSERVED: Final = ("score", "label_code")
_MEAN: Final = "the mean mu + item_effect[...] + annotator_effect[...]"
_PARAMETERS: Final = {
    GAUSSIAN: (_MEAN, "the residual's sigma"), ORDINAL: (_MEAN, "the cutpoints"),
    BERNOULLI: (_MEAN,),
}  # fmt: skip
"""Names of the observed variable's parameters, for messages."""


class Reading(NamedTuple):
    """The parts of a model that the step needs."""

    process: Process
    names: tuple[str, ...]  # The variables that the step moves
    offset: Callable[[Point], Floats] | None  # Sum of further terms in the mean (annotation)


def has_form(model: Any) -> bool:
    """Return whether a model has the variable names of crossed effects."""
    return len(_OF_EFFECTS & {rv.name for rv in model.free_RVs}) > 1 and bool(_observed(model))


def _observed(model: Any) -> list[Any]:
    return [rv for rv in model.observed_RVs if rv.name in _OBSERVED]


def read(model: Any) -> Reading:
    """Read a model; raise unless it is proved to be a model of crossed effects."""
    observed = _observed(model)
    proof.require_free(model, sorted(_NEEDED))
    if len(observed) != 1:
        needed = f"free variables {', '.join(sorted(_NEEDED))} and one of {', '.join(_OBSERVED)}"
        raise unfit(f"{needed} observed", "others")
    with uncompiled():
        family, eta = _likelihood(observed[0])
        process = _process(model, observed[0], family, eta)
        reference = model if is_as_written(model) else base.model_of(process.model)(process)
        has_offset = proof.prove(
            model, observed[0], reference, parameters=_PARAMETERS[family],
            more_in_mean=family == GAUSSIAN,
        )  # fmt: skip
    names = tuple(rv.name for rv in reference.free_RVs)
    return Reading(process, names, _offset(model, eta, names) if has_offset else None)


def _likelihood(observed: Any) -> tuple[str, Any]:
    """Return the family, and the graph of the mean on the latent scale."""
    op = observed.owner.op
    if isinstance(op, NormalRV | CumulativeProbitRV):
        return GAUSSIAN if isinstance(op, NormalRV) else ORDINAL, proof.prior(observed)[0]
    if isinstance(op, BernoulliRV):
        (mean,) = proof.prior(observed)
        made = mean.owner.op if mean.owner is not None else None
        if isinstance(made, Elemwise) and made.scalar_op.name == "sigmoid":
            return BERNOULLI, mean.owner.inputs[0]
        raise unfit("pm.Bernoulli(logit_p=...)", f"p made by {made}")
    raise unfit("a Normal, Bernoulli or CumulativeProbit likelihood", str(op))


def _process(model: Any, observed: Any, family: str, eta: Any) -> Process:
    """Return the data and settings of a PyMC model, which is assumed to have crossed effects."""
    free = {rv.name: rv for rv in model.free_RVs}
    shape = proof.shapes(model)
    pooled, anonymous = ROOT in free, ANNOTATOR not in free
    scales = [SD_ITEM, *[SD_ANNOTATOR] * (not anonymous), *[SD] * (family == GAUSSIAN)]
    for name in scales:
        if name not in free:
            raise unfit(f"a free variable {name}", "none")
    if len(shape[ITEM]) != 1 + pooled:
        raise unfit(f"{ITEM} with {1 + pooled} dimensions", f"{len(shape[ITEM])}")
    n_items, n_pools = (*shape[ITEM], 1)[:2]
    value = proof.observed_values(model, observed).astype(np.float64)
    n = len(value)
    item, *pool_codes = proof.places(eta, free[ITEM], shape[ITEM], n)
    member = pool = pool_codes[0] if pooled else np.zeros(n, dtype=np.int64)
    member_pool, member_annotator = np.arange(n_pools), np.empty(0, dtype=np.int64)
    if not anonymous:
        if len(shape[ANNOTATOR]) != 1:
            raise unfit(f"{ANNOTATOR} with 1 dimension", f"{len(shape[ANNOTATOR])}")
        (member,) = proof.places(eta, free[ANNOTATOR], shape[ANNOTATOR], n)
        member_annotator = np.arange(shape[ANNOTATOR][0])
        member_pool = np.zeros(len(member_annotator), dtype=np.int64)
        if pooled:
            sd, where = proof.prior(free[ANNOTATOR])[1], f"{ANNOTATOR}'s scale"
            (member_pool,) = proof.places(
                sd, free[SD_ANNOTATOR], (n_pools,), len(member_annotator), where
            )
    gaps = [GAP] if family == ORDINAL and GAP in free else []
    n_labels = 0 if family == GAUSSIAN else 2 + sum(int(np.prod(shape[gap])) for gap in gaps)
    if n_labels:
        proof.codes(value, n_labels, "labels")
    return Process(
        model="cross_replication" if pooled else "crossed_effects",
        annotations=xr.Dataset(
            coords={dims.ITEM: np.arange(n_items), dims.ANNOTATOR: np.arange(len(member_annotator))}
        ),
        family=family, value=value, item=item, member=member, pool=pool,
        member_annotator=member_annotator, member_pool=member_pool,
        pools=np.arange(n_pools) if pooled else None, labels=np.arange(n_labels),
        priors={MU: _mean_prior(model, free[MU])}
        | {name: scale_prior(model, free[name]) for name in (*scales, *gaps)},
        lkj=proof.number(model, proof.prior(free[ROOT])[1], ROOT) if pooled else 1.0,
        n_sd=n_pools if pooled and shape.get(SD) == (n_pools,) else 1,
        **proof.regression(model, n),
    )  # fmt: skip


def _mean_prior(model: Any, mu: Any) -> Prior:
    if not isinstance(mu.owner.op, NormalRV):
        raise unfit(f"{MU} with a Normal prior", str(mu.owner.op))
    return tuple(proof.number(model, parameter, MU) for parameter in proof.prior(mu))


def _offset(model: Any, eta: Any, names: tuple[str, ...]) -> Callable[[Point], Floats]:
    """Return a function of a point: the mean of each label if the step's variables were 0."""
    evaluate = of_point(model, [eta])
    moved = [model.rvs_to_values[model[name]].name for name in names]

    def offset(point: Point) -> Floats:
        zero = dict(point) | {name: np.zeros_like(point[name]) for name in moved}
        return np.asarray(evaluate(zero)[0], dtype=np.float64)

    return offset


def scale_prior(model: Any, variable: Any) -> Prior:
    """Return the prior of a standard deviation, in the form of `families.crossed.priors`."""
    op, name = variable.owner.op, variable.name
    if isinstance(op, HalfNormalRV):
        location, scale = (proof.number(model, part, name) for part in proof.prior(variable))
        if location:
            raise unfit(f"{name} with a prior that begins at 0", f"one that begins at {location}")
        return ("half_normal", scale)
    if isinstance(op, ExponentialRV):
        return ("exponential", proof.number(model, proof.prior(variable)[0], name))
    if op.name == "halfstudentt":
        degrees, scale = (proof.number(model, part, name) for part in proof.prior(variable))
        return ("half_t", scale, degrees)
    raise unfit(f"{name} with a HalfNormal, HalfStudentT or Exponential prior", str(op))


@dataclass_state
class CrossedEffectsGibbsState(StepMethodState):
    """The state that changes while sampling: the adaptation, and whether it is on."""

    known: Any
    tune: bool


class CrossedEffectsGibbs(WholeModelStep):
    r"""Move means, standard deviations, correlations, cutpoints and all effects in one Gibbs sweep.

    The step is for models by `dissensus.models.crossed_effects.build` and
    `dissensus.models.cross_replication.build`, and for models with the same variables.
    `pymc.sample` chooses it for these models. If the mean of numbers has further terms, another
    step, by default PyMC's NUTS, moves the variables of these terms.

    Parameters
    ----------
    vars, model, rng, initial_point, compile_kwargs, blocked
        As in all step methods of PyMC. ``vars`` must be all variables that the step moves. A first
        step from ``initial_point`` compiles the kernels. ``compile_kwargs`` and ``blocked`` are not
        used.

    Raises
    ------
    ArgumentError
        If the step would not be exact for the model, or some of the variables are left out.

    Notes
    -----
    Derivation: `docs/derivations/crossed-effects-gibbs.md`.

    Examples
    --------
    >>> import dissensus as dx
    >>> from dissensus.families.steps import CrossedEffectsGibbs
    >>> ann = dx.from_matrix([[1.0, 2.5], [3.0, 3.5], [2.0, 2.5]], kind="continuous")
    >>> with dx.models.crossed_effects.build(ann) as model:
    ...     step = CrossedEffectsGibbs()
    >>> point, stats = step.step(model.initial_point())
    >>> point["item_effect"].shape
    (3,)
    """

    name = "crossed_effects_gibbs"
    has_form = staticmethod(has_form)
    read = staticmethod(read)
    _reading: Reading
    _state_class = CrossedEffectsGibbsState
    _last: tuple[Any, Any] = np.empty(0), None
    """PyMC's value of the correlations after the last move, and their Cholesky factor."""

    def prepare(self, model: Any) -> None:
        """Make the functions that transform correlations, and lay out data and priors."""
        self.tune = True
        by_variable = {parameter.variable or parameter.name: parameter for parameter in PARAMETERS}
        self._moved = {name: by_variable[name] for name in self._reading.names}
        if ROOT in self._reading.names:
            root = (ROOT,)
            self._to_root, self._from_root = to_natural(model, root), to_values(model, root)
        self._data, self._priors = self._reading.process.data(), self._reading.process.numbers()
        self.known = gibbs.learned(
            self._data, self._reading.process.family, self._parameters(first_point(model))
        )

    def move(self, point: Any) -> Any:
        """Return a new point; ``point`` is not changed."""
        par = self._parameters(point)
        state = gibbs.started(self.rng.integers(2**64, dtype=np.uint64))
        gibbs.advance(
            self._reading.process.family, state, self._data, par, self._priors, self.known, 1,
            learning=self.tune,
        )  # fmt: skip
        return {**point, **self._pymc_values(par)}, [{}]

    def _pymc_values(self, par: Parameters) -> dict[str, Any]:
        """Return PyMC's (transformed) values of the kernel's parameters."""
        process, out = self._reading.process, {}
        items = all_items(self._data, par.item, par.sd_item, par.correlation, self.rng)
        for name, parameter in self._moved.items():
            value = getattr(par, parameter.slot)
            if name == ROOT:
                root = np.linalg.cholesky(value)
                (value,) = self._from_root(root)
                self._last = value.copy(), root
            elif name == MU:
                value = value + process.centre
            elif name == ITEM:
                value = items
            elif parameter.is_log:
                value = np.log(value)
            out[self._values[name]] = value.reshape(self._shapes[name])
        return out

    def _parameters(self, point: Any) -> Parameters:
        """Return the kernel's parameters from a point."""
        process, names, offset = self._reading
        data = self._data
        value = {name: np.asarray(point[self._values[name]], dtype=np.float64) for name in names}
        self._shapes = {name: value[name].shape for name in names}
        par = gibbs.start(
            data, process.family, n_gaps=value[GAP].size if GAP in names else 0,
            anonymous=process.anonymous, n_sd=process.n_sd,
        )  # fmt: skip
        for name, parameter in self._moved.items():
            slot, numbers = getattr(par, parameter.slot), value[name]
            if name == ROOT:
                last_value, root = self._last
                if not np.array_equal(numbers, last_value):
                    (root,) = self._to_root(numbers)
                slot[:] = root @ root.T
            elif name == MU:
                slot[:] = numbers.ravel() - process.centre
            elif name == ITEM:
                slot[:] = numbers.reshape(-1, data.n_pools)[data.cell_item, data.cell_pool]
            else:
                slot[:] = np.exp(numbers).ravel() if parameter.is_log else numbers
        if offset is not None:
            par.latent[:] -= offset(point)[data.row]
        return par
