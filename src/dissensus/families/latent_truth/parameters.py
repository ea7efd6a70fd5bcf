"""The parameters of a latent truth: as PyMC's variables, in the kernel's arrays, and in a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from dissensus.dims import ANNOTATOR, LABEL, RESPONSE, SAMPLE, SYSTEM, TERM
from dissensus.families.latent_truth.kernels.data import (
    COMPLETE,
    CONCENTRATION,
    DECAY,
    DIFFICULTY,
    EQUAL,
    HIERARCHICAL,
    MEAN,
    NONE,
    SHARED,
    SOURCE,
    SPREAD,
    UNEQUAL,
    Form,
    Parameters,
    blank,
)
from dissensus.families.latent_truth.process import Process
from dissensus.kernels.types import Floats

if TYPE_CHECKING:
    from dissensus.families.latent_truth.chain import Trace

Values = Mapping[str, Any]
"""Variables of the PyMC model by name, with the draw as first axis."""

TYPICAL: Final = "typical_"
"""Prefix of the names of matrices for a typical item, if items differ in difficulty. Matrices in a
fit are averages over items, and have no prefix."""
_LEAST: Final = 1e-300
"""Smaller probabilities are replaced by this one before taking logarithms."""


class Parameter(NamedTuple):
    """A parameter that is a free variable of the PyMC models. Arrays have the first axis draw."""

    name: str
    when: Callable[[Form], Any]  # Whether a model of this form has the parameter
    to_kernel: Callable[[Form, Values, Parameters], None]  # Writes arrays, given variables
    from_kernel: Callable[[Form, Parameters], Floats]  # Returns the variable, given arrays
    place: int = -1
    """Index of a single number in `kernels.data.Parameters.number`; -1 for other parameters. A fit
    stores the number under ``name``."""


def to_kernel(form: Form, values: Values) -> Parameters:
    """Return the kernel's parameters, given variables; others have the values of `blank`."""
    values = {name.removeprefix(TYPICAL): value for name, value in values.items()}
    n_draws = len(values["prevalence"])
    many = Parameters(*(np.repeat(part[None], n_draws, axis=0) for part in blank(form)))
    for parameter in PARAMETERS:
        if parameter.name in values and parameter.when(form):
            parameter.to_kernel(form, values, many)
    return many


def from_kernel(form: Form, many: Parameters, names: tuple[str, ...]) -> dict[str, Floats]:
    """Return the variables of these names, given the kernel's parameters."""
    free = {parameter.name: parameter for parameter in PARAMETERS}
    return {name: free[name.removeprefix(TYPICAL)].from_kernel(form, many) for name in names}


def named(process: Process, trace: Trace) -> dict[str, xr.DataArray]:
    """Return the draws of a fit by name, except those of items."""
    form, first = process.form, process.form.first_system
    names = {
        LABEL: process.labels, RESPONSE: process.labels, ANNOTATOR: process.annotators,
        SYSTEM: process.systems,
    }  # fmt: skip
    draws: dict[str, xr.DataArray] = {}

    def add(name: str, values: Any, *dims: str) -> None:
        coords = {dim: names[dim] for dim in dims}
        draws[name] = xr.DataArray(values, dims=(*SAMPLE, *dims), coords=coords)

    def of_annotators(values: Floats) -> Any:
        part = values[:, :, :first]
        n_annotators = len(process.annotators) if process.interchangeable else first
        return np.broadcast_to(part, (*part.shape[:2], n_annotators, *part.shape[3:]))

    add("prevalence", trace.prevalence, LABEL)
    if form.rows:
        add("confusion", of_annotators(trace.confusion), ANNOTATOR, LABEL, RESPONSE)
    if form.rows or form.own_accuracy:
        add("annotator_accuracy", of_annotators(trace.accuracy), ANNOTATOR)
    else:  # a mean weighted by numbers of labels: with unequal errors there are several respondents
        given = np.bincount(process.respondent, minlength=first)[:first]
        add("annotator_accuracy", trace.accuracy[..., :first] @ (given / given.sum()))
    if form.pooling == HIERARCHICAL:
        add("population_confusion", trace.population, LABEL, RESPONSE)
        add("confusion_concentration", trace.alike, LABEL)
    elif form.pooling == COMPLETE:
        add("population_confusion", trace.confusion[:, :, 0], LABEL, RESPONSE)
    if form.rows and form.n_respondents > first:
        add("system_confusion", trace.confusion[:, :, first:], SYSTEM, LABEL, RESPONSE)
    if process.errors is not None:
        add("error_correlation", trace.correlation)
        add("majority_correct", trace.majority)
    if len(process.systems):
        judged = process.errors is not None
        by_labels = trace.accuracy[..., first:]
        add("system_accuracy", trace.system_accuracy if judged else by_labels, SYSTEM)
        add("system_correct", trace.correct, SYSTEM)
        if judged:
            add("system_doubt", trace.system_variance, SYSTEM)
            if form.n_labels > 2:  # all answers of a system have the same weight
                add("system_weight", trace.system_weight[..., 0], SYSTEM)
            else:
                add("system_weight", trace.system_weight, SYSTEM, LABEL)
                add("system_hits", trace.by_truth[:, :, 0], SYSTEM, LABEL)
                add("system_prevalence", trace.by_truth[:, :, 1], SYSTEM, LABEL)
    if form.terms:
        draws["coefficient"] = xr.DataArray(
            trace.coefficient, dims=(*SAMPLE, TERM), coords={TERM: process.terms}
        )
    for parameter in PARAMETERS:
        if parameter.place >= 0 and parameter.when(form):
            number = trace.number[..., parameter.place]
            add(parameter.name, expit(number) if parameter.place in _LOGITS else number)
    if form.difficulty and form.n_respondents > first:
        add("difficulty_slope", trace.slope, SYSTEM)
    return draws


# Rows of matrices: split into logits of being right and distributions of errors, and joined again.


def _take_apart(rows: Floats, many: Parameters, respondents: slice) -> None:
    """Write the logits and errors of rows (draw, respondent, label, response) into ``many``."""
    rows = np.maximum(rows, _LEAST)
    away = ~np.eye(rows.shape[-1], dtype=bool)
    wrong = np.where(away, rows, 0.0).sum(axis=-1)
    many.skill[:, respondents] = np.log(np.diagonal(rows, axis1=-2, axis2=-1)) - np.log(wrong)
    log_error = np.log(rows) - np.log(wrong)[..., None]
    many.log_error[:, respondents] = np.where(away, log_error, -np.inf)


def _rows(many: Parameters, respondents: slice) -> Floats:
    """Return rows (draw, respondent, label, response), given their logits and errors."""
    skill, log_error = many.skill[:, respondents], many.log_error[:, respondents]
    wrong = expit(-skill)[..., None] * np.exp(log_error)
    rows = np.where(np.eye(skill.shape[-1], dtype=bool), expit(skill)[..., None], wrong)
    return np.asarray(np.maximum(rows, _LEAST))


def _take_population(form: Form, values: Values, many: Parameters) -> None:
    rows = values["population_confusion"]
    many.log_population[:] = np.log(np.maximum(rows, _LEAST))
    if form.pooling == COMPLETE:
        _take_apart(rows[:, None], many, slice(0, form.first_system))


def _population(form: Form, many: Parameters) -> Floats:
    if form.pooling == COMPLETE:
        return np.asarray(_rows(many, slice(0, 1))[:, 0])
    return np.exp(many.log_population)


# Distributions of errors.


def _take_error_rows(form: Form, values: Values, many: Parameters) -> None:
    rows = np.log(np.maximum(values["error_rows"], _LEAST))  # (draw, respondent, label, other)
    away = ~np.eye(form.n_labels, dtype=bool)
    many.log_error[:, : rows.shape[1], away] = rows.reshape(*rows.shape[:2], -1)


def _error_rows(form: Form, many: Parameters) -> Floats:
    last = form.first_system if form.pooling == HIERARCHICAL else form.n_respondents
    rows = np.exp(many.log_error[:, :last])[..., ~np.eye(form.n_labels, dtype=bool)]
    shape = (*rows.shape[:2], form.n_labels, form.n_labels - 1)
    return np.asarray(np.maximum(rows, _LEAST).reshape(shape))


def _take_decay(form: Form, values: Values, many: Parameters) -> None:
    """Write the decay of errors with distance, and the log-probabilities of errors given it."""
    decay = many.number[:, DECAY] = values["distance_decay"]
    step = np.abs(np.subtract.outer(np.arange(form.n_labels), np.arange(form.n_labels)))
    weight = np.where(step > 0, np.exp(-decay[:, None, None] * step), 0.0)
    with np.errstate(divide="ignore"):  # log(0) on the diagonal, where labels are right
        many.log_base[:] = np.log(weight / weight.sum(axis=-1, keepdims=True))
    many.log_error[:] = many.log_base[:, None]


# Accuracies.


def _take_offset(form: Form, values: Values, many: Parameters) -> None:
    level = values["accuracy_spread"][:, None] * values["annotator_offset"]
    if form.pooling == HIERARCHICAL:
        many.level[:, : form.first_system] = level
    else:
        logits = np.asarray(logit(values["mean_accuracy"]))[:, None] + level
        many.skill[:, : form.first_system] = logits[..., None]


def _offset(form: Form, many: Parameters) -> Floats:
    level = many.level[:, : form.first_system]
    if form.pooling != HIERARCHICAL:
        level = many.skill[:, : form.first_system, 0] - many.number[:, [MEAN]]
    return np.asarray(level / many.number[:, [SPREAD]])


# The table of all parameters.


_LOGITS: Final = frozenset({MEAN, SHARED, SOURCE})
"""Places of numbers that are logits in the kernel and probabilities in a fit."""


def _part(
    name: str, when: Callable[[Form], Any], part: Callable[[Form, Parameters], Floats],
    link: Any = np.asarray, back: Any = np.asarray, place: int = -1,
) -> Parameter:  # fmt: skip
    """Return a parameter that is a part of the kernel's arrays, transformed by ``back``.

    ``link`` is the inverse of ``back``.
    """

    def take(form: Form, values: Values, many: Parameters) -> None:
        part(form, many)[...] = link(values[name])

    return Parameter(name, when, take, lambda form, many: back(part(form, many)), place)


def _number(name: str, place: int, when: Callable[[Form], Any]) -> Parameter:
    link, back = (logit, expit) if place in _LOGITS else (np.asarray, np.asarray)
    return _part(name, when, lambda _, many: many.number[:, place], link, back, place)


def _is_hierarchical(form: Form) -> bool:
    return form.pooling == HIERARCHICAL


def _is_common(form: Form) -> bool:
    return not (form.rows or form.own_accuracy)


def _has_spread(form: Form) -> Any:
    return form.own_accuracy or form.pooling == HIERARCHICAL


def _is_typical(form: Form) -> Any:
    """Return whether a system's accuracy differs from its parameter in the model.

    The parameter is the accuracy for a typical item and for the system's own answers.
    """
    return form.difficulty or form.related


def _right_or_wrong(skill: Floats) -> Floats:
    return np.asarray(np.maximum(expit(np.stack([skill, -skill], axis=-1)), _LEAST))


def _odds(both: Floats) -> Floats:
    log = np.log(np.maximum(both, _LEAST))
    return np.asarray(log[..., 0] - log[..., 1])


def _people(form: Form, many: Parameters) -> Floats:
    return many.skill[:, : form.first_system]


def _systems(form: Form, many: Parameters) -> Floats:
    return many.skill[:, form.first_system :]


_ALL: Final = (
    _people,
    lambda p: np.asarray(logit(p))[:, None, None],
    lambda skill: expit(skill[:, 0, 0]),
)
_EACH: Final = (
    _systems,
    lambda p: np.asarray(logit(p))[:, :, None],
    lambda skill: expit(skill[..., 0]),
)
"""Accuracies without confusion matrices: `_ALL` for all annotators, `_EACH` for each system."""


PARAMETERS: Final = (
    _part("prevalence", lambda _: True, lambda _, many: many.log_prevalence, np.log, np.exp),
    _number("mean_accuracy", MEAN, lambda form: form.own_accuracy),
    _number("accuracy_spread", SPREAD, _has_spread),
    Parameter("annotator_offset", _has_spread, _take_offset, _offset),
    _part("coefficient", lambda form: form.terms, lambda _, many: many.coefficient),
    _part("annotator_accuracy", lambda form: not form.difficulty and _is_common(form), *_ALL),
    _part("annotator_typical_accuracy", lambda form: form.difficulty and _is_common(form), *_ALL),
    _part("system_accuracy", lambda form: not form.rows and not _is_typical(form), *_EACH),
    _part("system_typical_accuracy", lambda form: not form.rows and _is_typical(form), *_EACH),
    _number("distance_decay", DECAY, lambda form: form.errors != EQUAL and form.ordered)._replace(
        to_kernel=_take_decay
    ),
    _number("error_concentration", CONCENTRATION, lambda form: form.errors == UNEQUAL),
    _number("difficulty_spread", DIFFICULTY, lambda form: form.difficulty),
    _part(
        "difficulty_slope", lambda form: form.difficulty,
        lambda form, many: many.slope[:, form.first_system :],
    ),
    _number("shared_answers", SHARED, lambda form: form.related),
    _number("source_typical_accuracy", SOURCE, lambda form: form.related),
    Parameter("population_confusion", lambda form: form.pooling, _take_population, _population),
    _part("confusion_concentration", _is_hierarchical, lambda _, many: many.alike),
    _part("right_or_wrong", _is_hierarchical, _people, _odds, _right_or_wrong),
    Parameter(
        "error_rows", lambda form: form.errors == UNEQUAL or form.pooling == HIERARCHICAL,
        _take_error_rows, _error_rows,
    ),
    Parameter(
        "confusion", lambda form: form.rows and form.pooling == NONE,
        lambda form, values, many: _take_apart(
            values["confusion"], many, slice(0, form.first_system)
        ),
        lambda form, many: _rows(many, slice(0, form.first_system)),
    ),
    _part(
        "system_level", lambda form: form.rows,
        lambda form, many: many.level[:, form.first_system :], logit, expit,
    ),
    Parameter(
        "system_confusion", lambda form: form.rows,
        lambda form, values, many: _take_apart(
            values["system_confusion"], many, slice(form.first_system, None)
        ),
        lambda form, many: _rows(many, slice(form.first_system, None)),
    ),
)  # fmt: skip
