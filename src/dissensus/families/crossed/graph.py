"""What a Gibbs step must know of crossed effects in a model, read off the model's graph.

Variables are known by the names that `dissensus.models.crossed_effects` and
`dissensus.models.cross_replication` give them. That they are put together as in these models is
found by trying numbers: which effect each label sees, and whether it sees it as it is. So a model
may have more in it, a term for the time of day say, as long as it adds to the mean of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pytensor
from pymc.distributions.transforms import LogTransform
from pymc.logprob.basic import logp
from pytensor.compile.mode import Mode
from pytensor.graph.traversal import ancestors
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.basic import (
    BernoulliRV,
    ExponentialRV,
    HalfNormalRV,
    MvNormalRV,
    NormalRV,
)
from scipy.stats import norm

from dissensus.families.crossed.distributions import CumulativeProbitRV
from dissensus.families.crossed.kernels.data import (
    EXPONENTIAL,
    HALF_NORMAL,
    HALF_T,
    Crossed,
    Priors,
    crossed,
)
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN, ORDINAL
from dissensus.kernels.types import Floats, Ints
from dissensus.sampling.step import refuse_other_uses, uncompiled, unfit

Point = Mapping[str, Any]

MU, ITEM, ANNOTATOR = "mu", "item_effect", "annotator_effect"
SD_ITEM, SD_ANNOTATOR, SD = "sigma_item", "sigma_annotator", "sigma"
GAP, ROOT = "gap", "correlation_cholesky"
NAMES: Final = (MU, SD_ITEM, ITEM, SD_ANNOTATOR, ANNOTATOR, SD, GAP, ROOT)
_NEEDED: Final = frozenset({MU, SD_ITEM, ITEM})
_OBSERVED: Final = ("score", "label_code")


class Reading(NamedTuple):
    """Labels and priors, and what the step must ask for at each point."""

    family: str
    data: Crossed
    priors: Priors
    names: tuple[str, ...]
    """Of the variables that the step moves."""
    offset: Callable[[Point], Floats] | None
    """What else the mean of numbers consists of (label); None if nothing."""
    centre: float
    """Taken off numbers and the means of pools."""


def knows(name: Any) -> bool:
    """Say whether a variable of this name is one of crossed effects."""
    return name in NAMES


def has_form(model: Any) -> bool:
    """Say whether a model looks like one of crossed effects, by its names."""
    free = {one.name for one in model.free_RVs}
    observed = [one.name for one in model.observed_RVs]
    return free >= _NEEDED and len(observed) == 1 and observed[0] in _OBSERVED


def read(model: Any) -> Reading:
    """Read a model.

    Raises
    ------
    ArgumentError
        If the step would not be exact for it, saying why.
    """
    if not has_form(model):
        raise unfit(f"free variables {sorted(_NEEDED)} and one of {_OBSERVED} observed", "others")
    with uncompiled():
        graph = _Graph(model)
        refuse_other_uses(model, (graph.free[name] for name in graph.names), graph.observed)
        family, eta, rest = _likelihood(graph.observed)
        layout = graph.layout(eta)
        graph.check_effects(layout)
        value = np.asarray(model.rvs_to_values[graph.observed].eval(), dtype=np.float64)
        sd_of = graph.residual(rest, layout) if family == GAUSSIAN else None
        if family == ORDINAL:
            graph.check_cutpoints(rest)
        more = graph.has_more(eta, family)
        centre = float(value.mean()) if family == GAUSSIAN and len(value) else 0.0
        priors = graph.priors(layout.n_pools, sd_of or 1, centre)
    data = crossed(
        value, layout.item, layout.member, layout.pool, n_items=layout.n_items,
        annotator_pool=layout.member_pool, n_pools=layout.n_pools,
    )  # fmt: skip
    offset = graph.offset(eta) if more else None
    return Reading(family, data, priors, graph.names, offset, centre)


class _Layout(NamedTuple):
    item: Ints
    pool: Ints
    member: Ints
    member_pool: Ints
    n_items: int
    n_pools: int


def _likelihood(observed: Any) -> tuple[str, Any, Any]:
    """Return the family, the mean on the latent scale, and what else the likelihood hangs on."""
    op = observed.owner.op
    if isinstance(op, NormalRV):
        return GAUSSIAN, *op.dist_params(observed.owner)
    if isinstance(op, CumulativeProbitRV):
        return ORDINAL, *op.dist_params(observed.owner)
    if isinstance(op, BernoulliRV):
        (p,) = op.dist_params(observed.owner)
        made = p.owner.op if p.owner is not None else None
        if isinstance(made, Elemwise) and made.scalar_op.name == "sigmoid":
            return BERNOULLI, p.owner.inputs[0], None
        raise unfit("pm.Bernoulli(logit_p=...)", f"p made by {made}")
    raise unfit("a Normal, Bernoulli or CumulativeProbit likelihood", str(op))


class _Graph:
    """A model, its variables by name, and numbers put in their places."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.free = {one.name: one for one in model.free_RVs}
        self.names = tuple(name for name in NAMES if name in self.free)
        (self.observed,) = model.observed_RVs
        self.start = model.initial_point()
        self.values = {name: model.rvs_to_values[self.free[name]].name for name in self.names}
        for name in (SD_ITEM, SD_ANNOTATOR, SD, GAP):
            if name in self.free:
                require_logarithm(model, self.free[name])
        self.n_pools = int(np.size(self.start[self.values[MU]]))

    def function(self, outputs: list[Any], **options: Any) -> Callable[[Point], list[Any]]:
        """Compile what hangs on the model's variables."""
        found: Callable[[Point], list[Any]] = self.model.compile_fn(
            self.model.replace_rvs_by_values(outputs), inputs=self.model.value_vars,
            on_unused_input="ignore", **options,
        )  # fmt: skip
        return found

    def at(self, **values: Any) -> dict[str, Any]:
        """Return a point with these natural values, means and effects being 0 elsewhere."""
        point = dict(self.start)
        for name in (MU, ITEM, ANNOTATOR):
            if name in self.values:
                point[self.values[name]] = np.zeros_like(point[self.values[name]], dtype=float)
        for name, value in values.items():
            shape = np.shape(point[self.values[name]])
            natural = np.broadcast_to(np.asarray(value, dtype=float), shape)
            logarithm = name in {SD_ITEM, SD_ANNOTATOR, SD, GAP}
            point[self.values[name]] = np.log(natural) if logarithm else natural.copy()
        return point

    def number(self, name: str) -> Floats:
        """Return distinct numbers in the shape of a variable."""
        shape = np.shape(self.start[self.values[name]])
        return np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)

    def layout(self, eta: Any) -> _Layout:
        """Find which item, pool and annotator each label sees."""
        evaluate = self.function([eta], mode=PLAIN)
        base = np.asarray(evaluate(self.at())[0], dtype=float)
        seen = {}
        for name in (MU, ITEM, ANNOTATOR):
            if name not in self.free:
                continue
            number = self.number(name)
            place = evaluate(self.at(**{name: number}))[0] - base
            again = evaluate(self.at(**{name: np.sqrt(number + 2.0)}))[0] - base
            code = np.rint(place).astype(np.int64)
            inside = (np.abs(place - code) < 1e-6) & (code >= 0) & (code < max(number.size, 1))
            if not inside.all() or not np.allclose(np.sqrt(code + 2.0), again, atol=1e-9):
                raise unfit(f"labels of one {name} each, as it is", "a function of it")
            seen[name] = code
        shape = np.shape(self.start[self.values[ITEM]])
        n_pools = shape[1] if len(shape) > 1 else 1
        if n_pools != self.n_pools or not np.array_equal(seen[ITEM] % n_pools, seen[MU]):
            raise unfit("one mean for each pool of the items' effects", "others")
        return _Layout(
            seen[ITEM] // n_pools, seen[MU], seen.get(ANNOTATOR, seen[MU]),
            self._member_pools(), shape[0], n_pools,
        )  # fmt: skip

    def _member_pools(self) -> Ints:
        """Find whose standard deviation each annotator's effect has."""
        if ANNOTATOR not in self.free:
            return np.arange(self.n_pools)
        effect = self.free[ANNOTATOR]
        centre, sd = self._normal(effect)
        n = int(np.size(self.start[self.values[ANNOTATOR]]))
        evaluate = self.function([centre, sd], mode=PLAIN)
        middle, spread = evaluate(self.at(**{SD_ANNOTATOR: self.number(SD_ANNOTATOR) + 1.0}))
        found = np.broadcast_to(spread, (n,)) - 1.0
        pool = np.rint(found).astype(np.int64)
        if np.any(middle) or not np.allclose(found, pool, atol=1e-9):
            raise unfit(f"{ANNOTATOR} ~ Normal(0, {SD_ANNOTATOR})", "others")
        return pool

    def _normal(self, variable: Any) -> tuple[Any, Any]:
        if not isinstance(variable.owner.op, NormalRV):
            raise unfit(f"{variable.name} with a Normal prior", str(variable.owner.op))
        centre, sd = variable.owner.op.dist_params(variable.owner)
        return centre, sd

    def check_effects(self, layout: _Layout) -> None:
        """Raise unless items' effects are Normal(0, S R S), and annotators' in their pools."""
        if (layout.member_pool[layout.member] != layout.pool).any():
            raise unfit("annotators and items of a label in one pool", "others")
        effect = self.free[ITEM]
        if layout.n_pools == 1 and ROOT not in self.free:
            evaluate = self.function(list(self._normal(effect)), mode=PLAIN)
            centre, sd = evaluate(self.at(**{SD_ITEM: 2.5}))
            good = not np.any(centre) and np.allclose(sd, 2.5)
        elif isinstance(effect.owner.op, MvNormalRV) and ROOT in self.free:
            centre, covariance = effect.owner.op.dist_params(effect.owner)[:2]
            parts = [centre, covariance, self.free[ROOT]]
            evaluate = self.function(parts, mode=PLAIN)
            sd = 1.0 + np.arange(layout.n_pools)
            point = self.at(**{SD_ITEM: sd})
            value = point[self.values[ROOT]]
            point[self.values[ROOT]] = np.linspace(-0.5, 0.7, value.size).reshape(value.shape)
            centre, covariance, root = evaluate(point)
            wanted = (root @ root.T) * sd * sd[:, None]
            good = not np.any(centre) and np.allclose(covariance, wanted)
        else:
            good = False
        if not good:
            raise unfit(f"{ITEM} ~ Normal(0, {SD_ITEM}), correlated between pools", "others")

    def residual(self, sd: Any, layout: _Layout) -> int:
        """Return how many residual standard deviations there are."""
        if SD not in self.free:
            raise unfit(f"a free {SD}", "none")
        number = self.number(SD)
        (found,) = self.function([sd], mode=PLAIN)(self.at(**{SD: number + 1.0}))
        own = layout.pool if number.size > 1 else np.zeros_like(layout.pool)
        if number.size not in {1, layout.n_pools} or not np.allclose(found, own + 1.0):
            raise unfit(f"{SD} as the residual of all labels, or each pool's own", "others")
        return int(number.size)

    def check_cutpoints(self, cutpoint: Any) -> None:
        """Raise unless cutpoints are sums of gaps, with mean 0."""
        point, gap = self.at(), np.empty(0)
        if GAP in self.free:
            gap = 0.5 + np.sqrt(self.number(GAP) + 1.0)
            point = self.at(**{GAP: gap})
        (found,) = self.function([cutpoint], mode=PLAIN)(point)
        raw = np.concatenate([[0.0], gap.cumsum()])
        if np.shape(found) != raw.shape or not np.allclose(found, raw - raw.mean()):
            raise unfit("cutpoints that are sums of gaps, with mean 0", "others")

    def has_more(self, eta: Any, family: str) -> bool:
        """Say whether the mean consists of more than means and effects."""
        others = [one.name for one in self.model.free_RVs if one.name not in self.names]
        if not others and not np.any(self.function([eta], mode=PLAIN)(self.at())[0]):
            return False
        if family != GAUSSIAN:
            raise unfit(f"a mean of {MU} and effects only, with labels", f"more: {others}")
        return True

    def offset(self, eta: Any) -> Callable[[Point], Floats]:
        """Return what the mean consists of beside means and effects."""
        evaluate = self.function([eta])
        blank = self.at()
        ours = {self.values[name] for name in self.names}

        def offset(point: Point) -> Floats:
            where = {name: blank[name] if name in ours else point[name] for name in point}
            return np.asarray(evaluate(where)[0], dtype=np.float64)

        return offset

    def priors(self, n_pools: int, n_sd: int, centre: float) -> Priors:
        """Read the priors of everything that is not an effect."""
        mean, sd = constants(self.model, self._normal(self.free[MU]))
        mu = np.stack([np.broadcast_to(mean - centre, n_pools), np.broadcast_to(sd, n_pools)], 1)
        none = np.array([HALF_NORMAL, 1.0, 0.0])

        def rows(name: str, n: int) -> Floats:
            found = scale_prior(self.model, self.free[name]) if name in self.free else none
            # Not a view of constants: of what may not be written kernels would be compiled anew.
            return np.tile(found, (n, 1))

        lkj = 1.0
        if ROOT in self.free:
            root = self.free[ROOT].owner
            lkj = float(constants(self.model, [root.op.dist_params(root)[1]])[0])
        return Priors(
            mu=np.ascontiguousarray(mu, dtype=np.float64),
            least=np.full(n_pools, -np.inf), sd_item=rows(SD_ITEM, n_pools),
            sd_annotator=rows(SD_ANNOTATOR, n_pools), sd=rows(SD, n_sd), gap=rows(GAP, 1)[0],
            lkj=lkj,
        )  # fmt: skip


# Priors whose parameters are given, read off the model's graph.


PLAIN: Final = Mode(linker="py", optimizer=None)
"""For what is evaluated once or twice: to compile it would take longer."""


def constants(model: Any, parameters: Sequence[Any]) -> list[Any]:
    """Evaluate parameters of a prior, which must be given.

    Raises
    ------
    ArgumentError
        If they hang on what is drawn.
    """
    free = set(model.free_RVs)
    for one in parameters:
        if free & set(ancestors([one])):
            raise unfit("priors that are given", f"{one} hangs on other variables")
    given = model.replace_rvs_by_values(list(parameters))
    return list(pytensor.function([], given, mode=PLAIN)())


def require_logarithm(model: Any, variable: Any) -> None:
    """Raise unless PyMC moves the variable as its logarithm."""
    if not isinstance(model.rvs_to_transforms[variable], LogTransform):
        raise unfit(f"{variable.name} with a prior on positive numbers", "another transformation")


def scale_prior(model: Any, variable: Any) -> Floats:
    """Return (..., 3): the form of a positive number's prior, its scale, and degrees.

    Raises
    ------
    ArgumentError
        If it is of another form.
    """
    op = variable.owner.op
    parameters = op.dist_params(variable.owner)
    if isinstance(op, HalfNormalRV):
        location, scale = constants(model, parameters)
        row = [HALF_NORMAL, scale, 0.0]
    elif isinstance(op, ExponentialRV):
        location, row = 0.0, [EXPONENTIAL, constants(model, parameters)[0], 0.0]
    elif op.name == "halfstudentt":
        degrees, scale = constants(model, parameters)
        location, row = 0.0, [HALF_T, scale, degrees]
    else:
        raise unfit(
            f"{variable.name} with a HalfNormal, HalfStudentT or Exponential prior", str(op)
        )
    if np.any(location):
        raise unfit(f"{variable.name} with a prior that begins at 0", str(location))
    return np.stack(np.broadcast_arrays(*row), axis=-1).astype(np.float64)


def bound_below(model: Any, variable: Any) -> float:
    """Return the bound above which PyMC moves a number, minus infinity if there is none.

    Raises
    ------
    ArgumentError
        If there is a bound above, too.
    """
    transform = model.rvs_to_transforms[variable]
    if transform is None:
        return -np.inf
    ends = [transform.backward(np.float64(end), *variable.owner.inputs) for end in (-1e3, 1e3)]
    least, most = (float(end) for end in constants(model, ends))
    if most < np.inf:
        raise unfit(f"{variable.name} without a bound above", str(most))
    return least


def normal_above(model: Any, variable: Any, least: float) -> tuple[float, float]:
    """Return the mean and the standard deviation of a number's normal prior above a bound.

    However the density is written, it must be a normal one wherever PyMC moves the number, up to a
    constant: this is tried.

    Raises
    ------
    ArgumentError
        If it is another.
    """
    owner = variable.owner
    other = unfit(f"{variable.name} with a Normal prior, or one above a bound", str(owner.op))
    given = constants(model, owner.op.dist_params(owner)[:2])
    if len(given) < 2 or np.ndim(given[0]) or np.ndim(given[1]) or not given[1] > 0:
        raise other
    mean, sd = (float(one) for one in given)
    x = mean + sd * np.linspace(-8.0, 8.0, 17)
    if np.isfinite(least):
        x = np.append(x, least + sd * np.array([1e-3, 0.1, 1.0, 10.0]))
    x = x[x > least]
    gap = constants(model, [logp(variable, x)])[0] - norm.logpdf(x, mean, sd)
    if not np.isfinite(gap).all() or not np.allclose(gap, gap[0], atol=1e-6):
        raise other
    return mean, sd
