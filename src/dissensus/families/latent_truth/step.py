"""The Gibbs step for a latent truth, as a PyMC step method that moves all variables.

The step reads the model, and proves from its graph that it is a model of a latent truth. The
variables must have the same names as in the models of `dissensus.models.symmetric_confusion` or
`dissensus.models.dawid_skene`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state

from dissensus import dims
from dissensus.families import base
from dissensus.families.latent_truth.chain import Chain
from dissensus.families.latent_truth.distributions import LatentTruthRV
from dissensus.families.latent_truth.kernels.data import (
    COMPLETE,
    EQUAL,
    GRADED,
    HIERARCHICAL,
    NO_ANSWER,
    NONE,
    UNEQUAL,
    Form,
    Parameters,
    Priors,
    fifths,
)
from dissensus.families.latent_truth.likelihood import oracle
from dissensus.families.latent_truth.parameters import PARAMETERS, TYPICAL, from_kernel, to_kernel
from dissensus.families.latent_truth.process import Process
from dissensus.kernels.random import started
from dissensus.kernels.types import Floats
from dissensus.sampling.interpreter import of_point, uncompiled
from dissensus.sampling.proof import by_place, codes, constants, number, prove, regression
from dissensus.sampling.step import WholeModelStep, is_as_written, to_values, unfit

_NAMES: Final = frozenset(parameter.name for parameter in PARAMETERS)


class Reading(NamedTuple):
    """The parts of a model that the step needs."""

    process: Process
    names: tuple[str, ...]  # The variables that the step moves
    natural: Callable[[Mapping[str, Any]], dict[str, Floats]]
    """Function that returns the variables in natural units, given a point of PyMC's values."""


def knows(name: Any) -> bool:
    """Return whether models of a latent truth have a variable of this name."""
    return isinstance(name, str) and name.removeprefix(TYPICAL) in _NAMES


def has_form(model: Any) -> bool:
    """Return whether a model has the labels of a latent truth."""
    return bool(_labels(model))


def _labels(model: Any) -> list[Any]:
    return [rv for rv in model.observed_RVs if isinstance(rv.owner.op, LatentTruthRV)]


def read(model: Any) -> Reading:
    """Return what the step needs of a model.

    If the model is not one of a latent truth, the error names the variable that differs.
    """
    if len(_labels(model)) != 1:
        raise unfit("one observed LatentTruth", "others")
    if "prevalence" not in {rv.name for rv in model.free_RVs}:
        raise unfit("a free variable prevalence", "none of this name")
    (labels,) = _labels(model)
    with uncompiled():
        process = _process(model, labels)
        reference = model if is_as_written(model) else base.model_of(process.model)(process)
        parameters = ("log_weight", "log_response", "respondent")
        prove(model, labels, reference, parameters=parameters)
        names = tuple(rv.name for rv in reference.free_RVs)
        moved = [model[name] for name in names]
        evaluate = of_point(model, moved)
    keys = [name.removeprefix(TYPICAL) for name in names]
    return Reading(
        process, names,
        lambda point: dict(zip(keys, map(np.asarray, evaluate(point)), strict=True)),
    )  # fmt: skip


def _process(model: Any, labels: Any) -> Process:
    """Return the process of a model, assuming that it is a model of a latent truth."""
    free = {rv.name.removeprefix(TYPICAL): rv for rv in model.free_RVs if knows(rv.name)}
    log_weight, log_response, respondent = labels.owner.op.dist_params(labels.owner)
    system_rows = free.get("system_confusion")
    row_shapes = []
    if system_rows is not None:
        row_shapes = [system_rows.owner.op.dist_params(system_rows.owner)[0]]
    start = model.initial_point()
    weights, table, *system_shapes = of_point(model, [log_weight, log_response, *row_shapes])(start)
    # Known true labels are labels of a last respondent, who makes no errors.
    n_respondents = len(table) - np.array_equal(table[-1], oracle(*table.shape[1:]))
    n_systems = _n_systems(model, free, start)
    form, ease = _form(set(free), n_respondents, table.shape[1], n_systems, len(weights))
    covariates = regression(model, form.first_system) if form.pooling == HIERARCHICAL else {}
    form = form._replace(terms=len(covariates.get("terms", ())))
    respondent_codes, label_codes = by_place(model, labels, respondent)
    items, place = np.nonzero(respondent_codes >= 0)
    respondents = codes(respondent_codes[items, place], len(table), "respondents")
    value = codes(label_codes[items, place], table.shape[1], "labels")
    by_respondent = respondents < n_respondents
    known = np.full(len(respondent_codes), -1)
    known[items[~by_respondent]] = value[~by_respondent]
    systems = np.arange(n_systems)
    return Process(
        model="dawid_skene" if form.rows else "symmetric_confusion",
        annotations=xr.Dataset(coords={
            dims.ITEM: np.arange(len(known)), dims.LABEL: np.arange(form.n_labels),
            dims.ANNOTATOR: np.arange(form.first_system),
        }),
        item=items[by_respondent], respondent=respondents[by_respondent],
        label=value[by_respondent],
        answers=np.full((len(known), n_systems), NO_ANSWER), systems=systems,
        interchangeable=form.first_system == 1, form=form, ease=ease,
        priors=_priors(model, free, form, system_shapes), known=known, errors=None, **covariates,
    )  # fmt: skip


def _n_systems(model: Any, free: Mapping[str, Any], point: Mapping[str, Any]) -> int:
    for name in ("system_accuracy", "system_typical_accuracy", "system_level"):
        if name in free:
            return int(np.size(point[model.rvs_to_values[free[name]].name]))
    return 0


def _form(
    names: set[str], n_respondents: int, n_labels: int, n_systems: int, n_states: int
) -> tuple[Form, Floats]:
    """Return the form of the process and the ease of items, by the names of the variables."""
    pooled, own = "population_confusion" in names, "right_or_wrong" in names
    difficulty, related = "difficulty_spread" in names, "shared_answers" in names
    graded, unequal = "distance_decay" in names, "error_concentration" in names
    form = Form(
        n_labels=n_labels, n_respondents=n_respondents, first_system=n_respondents - n_systems,
        evidence=n_respondents, rows=int(pooled or "confusion" in names),
        own_accuracy=int("annotator_offset" in names and not pooled),
        errors=UNEQUAL if unequal else GRADED if graded else EQUAL, ordered=int(graded),
        difficulty=int(difficulty), related=int(related),
        pooling=(HIERARCHICAL if own else COMPLETE) if pooled else NONE,
    )  # fmt: skip
    ease = fifths() if difficulty else np.zeros(1)
    expected = len(ease) * n_labels * (n_labels if related else 1)
    if expected != n_states:
        raise unfit(f"{expected} states of an item", f"{n_states}")
    return form, ease


def _priors(model: Any, free: Mapping[str, Any], form: Form, system_shapes: list[Floats]) -> Priors:
    """Return the model's priors; numbers of a prior that the model does not have are 1."""

    def parameter(name: str, place: int) -> Any:
        return free[name].owner.op.dist_params(free[name].owner)[place]

    def single(name: str, place: int) -> float:
        return number(model, parameter(name, place), name) if name in free else 1.0

    def array(name: str) -> Floats:
        (value,) = constants(model, [parameter(name, 0)])
        return np.asarray(value, dtype=np.float64)

    n = form.n_labels
    rows = np.ones((n, n))
    if form.rows:
        rows = array("population_confusion" if form.pooling != NONE else "confusion")
        rows = np.broadcast_to(rows, (*rows.shape[:-2], n, n)).reshape(-1, n, n)[0].copy()
    return Priors(
        prevalence=np.broadcast_to(array("prevalence"), n).copy(),
        spread=single("accuracy_spread", 1), difficulty=single("difficulty_spread", 1),
        slope=single("difficulty_slope", 1), decay=single("distance_decay", 1),
        concentration=np.array([single("error_concentration", place) for place in (0, 1)]),
        rows=rows,
        alike=np.array(
            [single("confusion_concentration", 0), 1 / single("confusion_concentration", 1)]
        ),
        system=float(system_shapes[0][0, 0].sum()) if system_shapes else 1.0,
    )  # fmt: skip


@dataclass_state
class LatentTruthGibbsState(StepMethodState):
    """State that changes while sampling: only the random stream, which every step method has."""


class LatentTruthGibbs(WholeModelStep):
    r"""Move all variables of a latent truth in one Gibbs sweep.

    For models by `dissensus.models.symmetric_confusion.build` and
    `dissensus.models.dawid_skene.build`, and models with the same variables. `pymc.sample` chooses
    this step for such models. The truth, which the model sums out, is drawn in each sweep and not
    stored.

    Parameters
    ----------
    vars, model, rng, initial_point, compile_kwargs, blocked
        As in all step methods of PyMC. ``vars`` must be all variables that the step moves. A first
        step from ``initial_point`` compiles the kernels. ``compile_kwargs`` and ``blocked``
        are not used.

    Raises
    ------
    ArgumentError
        If the step would not be exact for the model, or some of the variables are left out.

    Notes
    -----
    Derivation: `docs/derivations/latent-truth-gibbs.md`.

    Examples
    --------
    >>> import dissensus as dx
    >>> from dissensus.families.steps import LatentTruthGibbs
    >>> data = dx.datasets.load("lehner_table2")
    >>> with dx.models.symmetric_confusion.build(data.annotations) as model:
    ...     step = LatentTruthGibbs()
    >>> point, stats = step.step(model.initial_point())
    >>> sorted(point)
    ['annotator_accuracy_interval__', 'prevalence_simplex__']
    """

    name = "latent_truth_gibbs"
    has_form = staticmethod(has_form)
    read = staticmethod(read)
    _reading: Reading
    _state_class = LatentTruthGibbsState

    def prepare(self, model: Any) -> None:
        """Make a chain, and the function that transforms variables to PyMC's values."""
        process = self._reading.process
        self._to_values = to_values(model, self._reading.names)
        self._chain = Chain(process, *process.votes())

    def move(self, point: Any) -> Any:
        """Update all variables; ``point`` is not changed."""
        (process, names, natural), chain = self._reading, self._chain
        at = self.recall(point) or natural(point)
        values = {name: value[None] for name, value in at.items()}
        many = to_kernel(process.form, values)
        chain.par = Parameters(*(part[0] for part in many))  # views: the sweep overwrites ``many``
        chain.state = started(self.rng.integers(2**64, dtype=np.uint64))
        chain.advance(-1, 1)
        moved = from_kernel(process.form, many, names)
        now = {name: moved[name][0] for name in names}
        return self.remember(now, self._to_values(*now.values()), point), [{}]
