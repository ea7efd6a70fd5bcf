"""Parameters of a latent truth: in the posterior, as PyMC has them, and as the kernel does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from dissensus.dims import ANNOTATOR, LABEL, RESPONSE, SAMPLE, SYSTEM
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
from dissensus.families.latent_truth.kernels.sweep import Trace
from dissensus.families.latent_truth.process import Process
from dissensus.kernels.types import Floats

# The names that draws of a latent truth's parameters have in the posterior.


def parameters(what: Process, trace: Trace) -> dict[str, xr.DataArray]:
    """Name the draws of everything but items."""

    def named(values: Any, *dims: str) -> xr.DataArray:
        coords = {
            LABEL: what.labels, RESPONSE: what.labels, ANNOTATOR: what.annotators,
            SYSTEM: what.systems,
        }  # fmt: skip
        return xr.DataArray(
            values, dims=(*SAMPLE, *dims), coords={dim: coords[dim] for dim in dims}
        )

    first = what.form.first_system
    out = {"prevalence": named(trace.prevalence, LABEL)}
    if what.form.rows:
        out |= {name: named(*rest) for name, rest in _rows(what, trace).items()}
    elif what.form.own_accuracy:
        out["annotator_accuracy"] = named(trace.accuracy[..., :first], ANNOTATOR)
    else:
        given = np.bincount(what.voice, minlength=first)[:first]  # voices may err each in its way
        out["annotator_accuracy"] = named(trace.accuracy[..., :first] @ (given / given.sum()))
    if what.errors is not None:
        out["error_correlation"] = named(trace.correlation)
        out["majority_correct"] = named(trace.majority)
    if len(what.systems):
        seen = trace.accuracy[..., first:] if what.errors is None else trace.judged
        out["system_accuracy"] = named(seen, SYSTEM)
        out["system_correct"] = named(trace.correct, SYSTEM)
        if what.errors is not None:
            out["system_weight"] = named(trace.weight, SYSTEM)
            out["system_doubt"] = named(trace.doubt, SYSTEM)
    for name, values in _numbers(what, trace).items():
        out[name] = named(values)
    if what.form.difficulty and what.form.n_voices > first:
        out["difficulty_slope"] = named(trace.slope, SYSTEM)
    return out


def _rows(what: Process, trace: Trace) -> dict[str, tuple[Any, ...]]:
    """Return confusion matrices, with their dims."""
    first = what.form.first_system
    people = trace.confusion[..., :first, :, :]
    accuracy = trace.accuracy[..., :first]
    if what.shared:  # a view: one matrix, which every annotator has
        shape = (*people.shape[:2], len(what.annotators), *people.shape[3:])
        people, accuracy = np.broadcast_to(people, shape), np.broadcast_to(accuracy, shape[:3])
    out: dict[str, tuple[Any, ...]] = {
        "confusion": (people, ANNOTATOR, LABEL, RESPONSE),
        "annotator_accuracy": (accuracy, ANNOTATOR),
    }
    if what.form.pooling == HIERARCHICAL:
        out["population_confusion"] = (trace.population, LABEL, RESPONSE)
        out["confusion_concentration"] = (trace.alike, LABEL)
    elif what.form.pooling != NONE:
        out["population_confusion"] = (trace.confusion[..., 0, :, :], LABEL, RESPONSE)
    if what.form.n_voices > first:
        out["system_confusion"] = (trace.confusion[..., first:, :, :], SYSTEM, LABEL, RESPONSE)
    return out


def _numbers(what: Process, trace: Trace) -> dict[str, Floats]:
    """Return single numbers that the form has."""
    form = what.form
    wanted = {
        "mean_accuracy": (MEAN, form.own_accuracy and not form.rows),
        "accuracy_spread": (SPREAD, form.own_accuracy or form.pooling == HIERARCHICAL),
        "distance_decay": (DECAY, form.errors != EQUAL and form.ordered),
        "error_concentration": (CONCENTRATION, form.errors == UNEQUAL),
        "difficulty_spread": (DIFFICULTY, form.difficulty),
        "shared_answers": (SHARED, form.related),
        "source_typical_accuracy": (SOURCE, form.related),
    }
    logits = {MEAN, SHARED, SOURCE}
    found = {name: (place, trace.number[..., place]) for name, (place, on) in wanted.items() if on}
    return {name: expit(x) if place in logits else x for name, (place, x) in found.items()}


# Parameters of a latent truth: as PyMC's variables, by name, and as the Gibbs kernel has them.


Values = Mapping[str, Any]

TYPICAL = "typical_"
"""Before the name of a matrix of a typical item, where items differ in how hard they are; in
a fit's posterior matrices are averages over items."""
_NEVER = -1e10
"""The logarithm of a probability that is 0, with which sums are still numbers."""
_LEAST = 1e-300
"""Of a probability that is to have a logarithm."""


def _as_it_is(value: Any) -> Any:
    return value


_NUMBERS: dict[str, tuple[int, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "mean_accuracy": (MEAN, logit, expit),
    "accuracy_spread": (SPREAD, _as_it_is, _as_it_is),
    "distance_decay": (DECAY, _as_it_is, _as_it_is),
    "error_concentration": (CONCENTRATION, _as_it_is, _as_it_is),
    "difficulty_spread": (DIFFICULTY, _as_it_is, _as_it_is),
    "shared_answers": (SHARED, logit, expit),
    "source_typical_accuracy": (SOURCE, logit, expit),
}
"""Single numbers: place, way there and way back."""


def points(form: Form, values: Values) -> Parameters:
    """Return parameters from variables, draw in front of both.

    What has no variable is left at a start: systems that are no evidence have none.
    """
    values = {name.removeprefix(TYPICAL): value for name, value in values.items()}
    one, n = blank(form), len(values["prevalence"])
    many = Parameters(*(np.repeat(part[None], n, axis=0) for part in one))
    many.log_prevalence[:] = np.log(values["prevalence"])
    if form.rows:
        _to_rows(form, values, many)
    else:
        _to_skills(form, values, many)
        _to_errors(form, values, many)
    for name, (place, there, _) in _NUMBERS.items():
        if name in values:
            many.number[:, place] = there(values[name])
    if "difficulty_slope" in values:
        many.slope[:, form.first_system :] = values["difficulty_slope"]
    return many


def variables(form: Form, many: Parameters, names: tuple[str, ...]) -> dict[str, Floats]:
    """Return the variables of these names from parameters, draw in front of both."""
    first = form.first_system
    out = {
        "prevalence": np.exp(many.log_prevalence),
        "difficulty_slope": many.slope[:, first:],
        "system_level": expit(many.level[:, first:]),
        "confusion_concentration": many.alike,
    }
    for name in ("annotator_accuracy", "annotator_typical_accuracy"):
        out[name] = expit(many.skill[:, 0, 0]) if first else np.empty(0)
    for name in ("system_accuracy", "system_typical_accuracy"):
        out[name] = expit(many.skill[:, first:, 0])
    out |= {name: back(many.number[:, place]) for name, (place, _, back) in _NUMBERS.items()}
    if form.own_accuracy:
        offset = many.skill[:, :first, 0] - many.number[:, [MEAN]]
        out["annotator_offset"] = offset / many.number[:, [SPREAD]]
    if form.errors == UNEQUAL:
        out["error_rows"] = _other_labels(np.exp(many.log_error))
    if form.pooling == HIERARCHICAL:
        out["annotator_offset"] = many.level[:, :first] / many.number[:, [SPREAD]]
        skill = many.skill[:, :first]
        out["right_or_wrong"] = np.maximum(expit(np.stack([skill, -skill], axis=-1)), _LEAST)
        out["error_rows"] = _other_labels(np.exp(many.log_error[:, :first]))
    if form.rows:
        rows = _point_rows(many)
        out["confusion"], out["system_confusion"] = rows[:, :first], rows[:, first:]
        pooled = np.exp(many.log_population)
        out["population_confusion"] = pooled if form.pooling == HIERARCHICAL else rows[:, 0]
    return {name: out[name.removeprefix(TYPICAL)] for name in names}


def oracle(n_labels: int, n_states: int) -> Floats:
    """Return log-probabilities of what somebody says who knows the truth (response, state)."""
    right = np.arange(n_labels)[:, None] == np.arange(n_states) % n_labels
    return np.where(right, 0.0, _NEVER)


def _to_skills(form: Form, values: Values, many: Parameters) -> None:
    first = form.first_system
    if form.own_accuracy:
        offset = values["accuracy_spread"][:, None] * values["annotator_offset"]
        many.skill[:, :first] = (np.asarray(logit(values["mean_accuracy"]))[:, None] + offset)[
            ..., None
        ]
    else:
        common = _first_of(values, "annotator_typical_accuracy", "annotator_accuracy")
        many.skill[:, :first] = logit(common)[:, None, None]
    systems = _first_of(values, "system_typical_accuracy", "system_accuracy")
    if systems is not None:
        many.skill[:, first:] = logit(systems)[:, :, None]


def _first_of(values: Values, *names: str) -> Any:
    """Return the value under the first of the names that there is."""
    return next((values[name] for name in names if name in values), None)


def _to_errors(form: Form, values: Values, many: Parameters) -> None:
    n = form.n_labels
    if "distance_decay" in values:
        many.log_base[:] = _graded(values["distance_decay"], n)
        many.log_error[:] = many.log_base[:, None]
    _to_error_rows(values, many)


def _to_error_rows(values: Values, many: Parameters) -> None:
    """Take where errors of the first voices fall; of two labels nothing says so, nor need be."""
    if "error_rows" in values:
        rows = np.log(np.maximum(values["error_rows"], _LEAST))  # (draw, voice, label, other label)
        away = ~np.eye(rows.shape[2], dtype=bool)
        many.log_error[:, : rows.shape[1], away] = rows.reshape(*rows.shape[:2], -1)


def _graded(decay: Floats, n: int) -> Floats:
    """Return logarithms of errors that fall off with distance (draw, label, response)."""
    step = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weight = np.where(step > 0, np.exp(-decay[:, None, None] * step), 0.0)
    with np.errstate(divide="ignore"):  # the diagonal is no error
        return np.asarray(np.log(weight / weight.sum(axis=-1, keepdims=True)))


def _to_rows(form: Form, values: Values, many: Parameters) -> None:
    first = form.first_system
    if form.pooling == HIERARCHICAL:
        both = np.log(np.maximum(values["right_or_wrong"], _LEAST))
        many.skill[:, :first] = both[..., 0] - both[..., 1]
        _to_error_rows(values, many)
        many.level[:, :first] = values["accuracy_spread"][:, None] * values["annotator_offset"]
        many.alike[:] = values["confusion_concentration"]
    else:
        shared = form.pooling == COMPLETE
        people = values["population_confusion"][:, None] if shared else values["confusion"]
        _take_apart(people, many, slice(0, first))
    if "population_confusion" in values:
        many.log_population[:] = np.log(np.maximum(values["population_confusion"], _LEAST))
    if "system_confusion" in values:
        _take_apart(values["system_confusion"], many, slice(first, None))
        many.level[:, first:] = logit(values["system_level"])


def _take_apart(rows: Floats, many: Parameters, voices: slice) -> None:
    """Take rows (draw, voice, label, response) apart into accuracies and errors."""
    rows = np.maximum(rows, _LEAST)
    right = np.diagonal(rows, axis1=-2, axis2=-1)
    away = ~np.eye(rows.shape[-1], dtype=bool)
    wrong = np.where(away, rows, 0.0).sum(axis=-1)
    many.skill[:, voices] = np.log(right) - np.log(wrong)
    many.log_error[:, voices] = np.where(away, np.log(rows) - np.log(wrong)[..., None], -np.inf)


def _point_rows(many: Parameters) -> Floats:
    """Put rows (draw, voice, label, response) together again."""
    same = np.eye(many.skill.shape[-1], dtype=bool)
    wrong = expit(-many.skill)[..., None] * np.exp(many.log_error)
    rows = np.where(same, expit(many.skill)[..., None], wrong)
    return np.asarray(np.maximum(rows, _LEAST))


def _other_labels(rows: Floats) -> Floats:
    """Leave the diagonal out (draw, voice, label, other label)."""
    n = rows.shape[-1]
    away = ~np.eye(n, dtype=bool)
    return np.asarray(np.maximum(rows[..., away], _LEAST).reshape(*rows.shape[:-1], n - 1))
