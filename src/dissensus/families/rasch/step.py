"""The Gibbs step for abilities and difficulties as a PyMC step method.

The step reads the model, and proves that it is a Rasch model, whose variables have the names of
`dissensus.models.rasch`. The model may have further variables if they are independent of these.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from pymc.distributions.continuous import TruncatedNormalRV
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state
from pytensor.tensor.random.basic import DirichletRV, NormalRV
from pytensor.tensor.special import LogAddExp

from dissensus import dims
from dissensus.families import base
from dissensus.families.crossed.kernels import sweep as crossed_sweep
from dissensus.families.crossed.kernels.covariance import all_items
from dissensus.families.crossed.kernels.data import Parameters
from dissensus.families.crossed.step import scale_prior
from dissensus.families.rasch.distributions import LatentAnswersRV
from dissensus.families.rasch.kernels import data as rasch_data
from dissensus.families.rasch.kernels import sweep, unknown
from dissensus.families.rasch.kernels.data import Truth
from dissensus.families.rasch.process import Process
from dissensus.kernels.random import started
from dissensus.kernels.types import UNKNOWN, Floats, Ints
from dissensus.sampling import proof
from dissensus.sampling.interpreter import of_point, uncompiled
from dissensus.sampling.proof import COEFFICIENT
from dissensus.sampling.step import (
    WholeModelStep,
    first_point,
    is_as_written,
    to_natural,
    to_values,
    unfit,
)

MEAN, ABILITY_SPREAD, ABILITY = "mean_ability", "ability_spread", "ability"
DIFFICULTY_SPREAD, DIFFICULTY = "difficulty_spread", "difficulty"
PREVALENCE, WRONG, RIGHT = "prevalence", "confidence_if_wrong", "confidence_if_right"
NAMES: Final = (
    MEAN, ABILITY_SPREAD, ABILITY, DIFFICULTY_SPREAD, DIFFICULTY, PREVALENCE, WRONG, RIGHT,
    proof.COEFFICIENT,
)  # fmt: skip
_LEVELS: Final = frozenset({WRONG, RIGHT})
_NEEDED: Final = frozenset(NAMES) - _LEVELS - {proof.COEFFICIENT}


class Reading(NamedTuple):
    """The parts of a model that the step needs."""

    process: Process
    names: tuple[str, ...]  # The variables that the step moves


def has_form(model: Any) -> bool:
    """Return whether a model has the labels of a Rasch model."""
    return bool(_answers(model))


def _answers(model: Any) -> list[Any]:
    return [rv for rv in model.observed_RVs if isinstance(rv.owner.op, LatentAnswersRV)]


def read(model: Any) -> Reading:
    """Read a model; the error for another model names the variable that differs."""
    if len(_answers(model)) != 1:
        raise unfit("one observed LatentAnswers", "others")
    proof.require_free(model, sorted(_NEEDED))
    (answers,) = _answers(model)
    with uncompiled():
        process = _process(model, answers)
        reference = model if is_as_written(model) else base.model_of("rasch")(process)
        parameters = ("log_truth", "logit", "log_level", "respondent")
        proof.prove(model, answers, reference, parameters=parameters)
    moved = {rv.name for rv in reference.free_RVs}
    return Reading(process, tuple(name for name in NAMES if name in moved))


def _process(model: Any, answers: Any) -> Process:
    """Return the process of a model, on the assumption that it is a Rasch model."""
    free, shape = {rv.name: rv for rv in model.free_RVs}, proof.shapes(model)
    log_truth, logit, _, respondent = proof.prior(answers)
    annotator, observed = proof.by_place(model, answers, respondent)
    items, place = np.nonzero(annotator >= 0)
    truth, n_labels = _truth(model, log_truth, len(annotator))
    names = sorted(_LEVELS & set(free))
    if len(names) == 1:
        raise unfit(f"both of {RIGHT} and {WRONG}, or none", names[0])
    counts = [_counts(model, free[name]) for name in names]
    n_levels = len(counts[0]) if counts else 0
    if len({count for each in counts for count in each}) > 1:
        raise unfit("one prior count for all levels of confidence", str(counts))
    code = proof.codes(observed[items, place], n_labels * max(n_levels, 1), "labels")
    label, level = np.divmod(code, max(n_levels, 1))
    if len(shape[ABILITY]) != 1:
        raise unfit(f"{ABILITY} with 1 dimension", str(len(shape[ABILITY])))
    (n_people,) = shape[ABILITY]
    design = proof.regression(model, *annotator.shape)
    if design:
        design["covariates"] = design["covariates"][items, place]
    op = logit.owner.op if logit.owner is not None else None
    mean, sd, least = _mean_prior(model, free[MEAN])
    return Process(
        annotations=xr.Dataset(coords={
            dims.ITEM: np.arange(len(truth)), dims.LABEL: np.arange(n_labels),
            dims.ANNOTATOR: np.arange(n_people),
        }),
        item=items, annotator=proof.codes(annotator[items, place], n_people, "respondents"),
        label=label, truth=truth, level=level if n_levels else level[:0],
        levels=np.arange(n_levels, dtype=np.float64), guessing=isinstance(op, LogAddExp),
        priors={MEAN: (mean, sd)}
        | {name: scale_prior(model, free[name]) for name in (ABILITY_SPREAD, DIFFICULTY_SPREAD)},
        prior_count=_counts(model, free[PREVALENCE]),
        least=least,
        level_prior=float(counts[0][0]) if counts else 1.0,
        **design,
    )  # fmt: skip


def _truth(model: Any, log_truth: Any, n_items: int) -> tuple[Ints, int]:
    """Return the true label of each item (`UNKNOWN` if not known), and the number of labels."""
    possible = np.isfinite(of_point(model, [log_truth])(model.initial_point())[0])
    n_possible, n_labels = possible.sum(axis=1), possible.shape[1]
    if not np.isin(n_possible, (1, n_labels)).all():
        raise unfit("items of which one label may be true, or all", "some of the labels")
    truth = np.where(n_possible == 1, possible.argmax(axis=1), UNKNOWN)
    return np.broadcast_to(truth, n_items).copy(), n_labels


def _mean_prior(model: Any, rv: Any) -> tuple[float, float, float]:
    """Return mean, standard deviation and lower bound of a normal prior."""
    op = rv.owner.op
    if not isinstance(op, NormalRV | TruncatedNormalRV):
        raise unfit(f"{rv.name} with a Normal prior, or a TruncatedNormal one", str(op))
    numbers = [proof.number(model, parameter, rv.name) for parameter in proof.prior(rv)]
    mean, sd, least, most = numbers if len(numbers) == 4 else (*numbers, -np.inf, np.inf)
    if most < np.inf:
        raise unfit(f"{rv.name} without an upper bound", f"{most:g}")
    return mean, sd, least


def _counts(model: Any, rv: Any) -> Floats:
    """Return the parameters of a Dirichlet prior."""
    if not isinstance(rv.owner.op, DirichletRV):
        raise unfit(f"{rv.name} with a Dirichlet prior", str(rv.owner.op))
    (counts,) = proof.constants(model, proof.prior(rv))
    return np.asarray(counts, dtype=np.float64)


_LEAST: Final = -700.0
"""Minimum logarithm of a share: PyMC stores shares, and their logarithms must be finite."""


@dataclass_state
class RaschGibbsState(StepMethodState):
    """The state that changes while sampling: the adaptation, and whether it is on."""

    known: Any
    width: Any
    tune: bool


class RaschGibbs(WholeModelStep):
    r"""Move abilities, difficulties and their hyperparameters in one Gibbs sweep.

    The step is for models by `dissensus.models.rasch.build`, and for models with the same
    variables. `pymc.sample` chooses it for these models. Unknown truths, which the model sums out,
    and guesses are drawn within the step and discarded. Other steps move further variables.

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
    `dissensus.models.rasch.fit` has the same sweep. Derivation: `docs/derivations/rasch-gibbs.md`.

    Examples
    --------
    >>> import dissensus as dx
    >>> from dissensus.families.steps import RaschGibbs
    >>> ann = dx.from_matrix([["a", "a", "b"], ["a", "b", "b"], ["b", "b", "b"]])
    >>> with dx.models.rasch.build(ann) as model:
    ...     step = RaschGibbs()
    >>> point, stats = step.step(model.initial_point())
    >>> point["difficulty"].shape
    (3,)
    """

    name = "rasch_gibbs"
    has_form = staticmethod(has_form)
    read = staticmethod(read)
    _reading: Reading
    _state_class = RaschGibbsState

    def prepare(self, model: Any) -> None:
        """Make the transforms, lay out data and priors, and allocate memory."""
        process, names = self._reading
        self._data, self._priors = process.data(), process.numbers()
        self._labels = process.coded_labels(self._data)
        data, labels, n_levels = self._data, self._labels, len(process.levels)
        self._to_natural, self._to_values = to_natural(model, names), to_values(model, names)
        # `unknown.room` allocates too few levels if the highest one does not occur.
        room = unknown.room(labels, len(data.cell_pool))
        self._room = room._replace(levels=np.empty((2, n_levels)))
        self._trace = sweep.trace_room(labels, data, 0, items=False, each=False)
        self.tune, self.width = True, room.width
        par, _ = self._placed(first_point(model))
        self.known = crossed_sweep.learned(data, crossed_sweep.BERNOULLI, par)

    def move(self, point: Any) -> Any:
        """Return a new point; ``point`` is not changed."""
        data, labels = self._data, self._labels
        par, now = self._placed(point)
        tuning = self.known.tuning if self.tune else self.known.tuning._replace(rate=0.0)
        state = started(self.rng.integers(2**64, dtype=np.uint64))
        sweep.advance(
            state, data, labels, par, self._priors, tuning, self.known.paths, now,
            self._room._replace(width=self.width), 1, self._trace, -1, self.known.centre,
        )  # fmt: skip
        natural = self._natural(par, now)
        natural = {name: natural[name] for name in self._reading.names}
        return self.remember(natural, self._to_values(*natural.values()), point), [{}]

    def _placed(self, point: Any) -> tuple[Parameters, Truth]:
        """Return the state of the chain at a point."""
        process, names = self._reading
        data, labels, lead = self._data, self._labels, process.lead
        natural = self.recall(point)
        if natural is None:
            values = self._to_natural(*(point[self._values[name]] for name in names))
            natural = dict(zip(names, values, strict=True))
        par = crossed_sweep.start(data, crossed_sweep.BERNOULLI, n_gaps=0)
        par.mu[0] = natural[MEAN] - lead
        par.sd_annotator[0] = natural[ABILITY_SPREAD]
        par.sd_item[0] = natural[DIFFICULTY_SPREAD]
        par.annotator[:] = natural[ABILITY] - natural[MEAN]
        par.item[:] = -natural[DIFFICULTY][data.cell_item]
        par.coefficient[:] = natural.get(COEFFICIENT, 0.0)
        now = rasch_data.beginning(labels, len(data.cell_pool))
        now.log_prevalence[:] = np.log(natural[PREVALENCE])
        if len(process.levels):
            level = np.log([natural[WRONG], natural[RIGHT]])
            now = now._replace(log_level=level)
        return par, now

    def _natural(self, par: Parameters, now: Truth) -> dict[str, Any]:
        """Return the variables in natural units, from the state of the chain."""
        data, mean = self._data, par.mu[0] + self._reading.process.lead
        items = all_items(data, par.item, par.sd_item, par.correlation, self.rng)
        wrong, right = np.exp(np.maximum(now.log_level, _LEAST))
        return {
            MEAN: mean,
            ABILITY_SPREAD: par.sd_annotator[0],
            ABILITY: mean + par.annotator,
            DIFFICULTY_SPREAD: par.sd_item[0],
            DIFFICULTY: -items[:, 0],
            COEFFICIENT: par.coefficient,
            PREVALENCE: np.exp(np.maximum(now.log_prevalence, _LEAST)),
            WRONG: wrong,
            RIGHT: right,
        }
