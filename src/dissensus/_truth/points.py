"""From draws of the PyMC form's variables to parameters as the Gibbs kernel has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._truth.process import Process
from dissensus.arrays.truth_parameters import (
    CONCENTRATION,
    DECAY,
    DIFFICULTY,
    MEAN,
    SHARED,
    SOURCE,
    SPREAD,
    UNEQUAL,
    Parameters,
    blank,
)

Floats = npt.NDArray[np.float64]


def points(what: Process, draws: xr.Dataset) -> Parameters:
    """Return parameters, draw in front; those that are no evidence are left at a start."""
    one, n = blank(what.form), draws.sizes["draw"]
    many = Parameters(*(np.repeat(part[None], n, axis=0) for part in one))
    values = {str(name): draws[name].to_numpy() for name in draws.data_vars}
    many.log_prevalence[:] = np.log(values["prevalence"])
    if what.form.rows:
        _rows(what, values, many)
    else:
        _skills(what, values, many)
    for place, name, scale in (
        (MEAN, "mean_accuracy", _logit), (SPREAD, "accuracy_spread", np.asarray),
        (DECAY, "distance_decay", np.asarray), (CONCENTRATION, "error_concentration", np.asarray),
        (DIFFICULTY, "difficulty_spread", np.asarray), (SHARED, "shared_answers", _logit),
        (SOURCE, "source_typical_accuracy", _logit),
    ):  # fmt: skip
        if name in values:
            many.number[:, place] = scale(values[name])
    if "difficulty_slope" in values:
        many.slope[:, what.form.first_system :] = values["difficulty_slope"]
    return many


def _logit(p: Any) -> Any:
    return np.log(p) - np.log1p(-np.asarray(p))


def first_of(values: dict[str, Any], *names: str) -> Any:
    """Return the value under the first of the names that there is."""
    return next((values[name] for name in names if name in values), None)


def _skills(what: Process, values: dict[str, Any], many: Parameters) -> None:
    first = what.form.first_system
    if what.form.own_accuracy:
        many.skill[:, :first] = values["annotator_logit"][:, :, None]
    else:
        common = first_of(values, "annotator_typical_accuracy", "annotator_accuracy")
        many.skill[:, :first] = _logit(common)[:, None, None]
    systems = first_of(values, "system_typical_accuracy", "system_accuracy")
    if systems is not None:
        many.skill[:, first:] = _logit(systems)[:, :, None]
    decay = values.get("distance_decay")
    n = what.form.n_labels
    if decay is not None:
        many.log_base[:] = [_graded(one, n) for one in decay]
        many.log_error[:] = many.log_base[:, None]
    if what.form.errors == UNEQUAL:
        rows = np.log(values["error_rows"])  # (draw, voice, label, other label)
        away = ~np.eye(n, dtype=bool)
        many.log_error[:, : rows.shape[1], away] = rows.reshape(*rows.shape[:2], -1)


def _graded(decay: float, n: int) -> Floats:
    step = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weight = np.where(step > 0, np.exp(-decay * step), 0.0)
    with np.errstate(divide="ignore"):  # the diagonal is no error
        return np.asarray(np.log(weight / weight.sum(axis=1, keepdims=True)))


def _rows(what: Process, values: dict[str, Any], many: Parameters) -> None:
    first, n = what.form.first_system, what.form.n_labels
    if what.shared:
        people = values["population_confusion"][:, None]
    else:
        people = values["confusion"]
    _set_rows(people, many, slice(0, first))
    if "system_confusion" in values:
        _set_rows(values["system_confusion"], many, slice(first, None))
        many.level[:] = _logit(values["system_level"])
    if "population_confusion" in values:
        many.log_population[:] = np.log(values["population_confusion"])
    if "confusion_concentration" in values:
        many.alike[:] = values["confusion_concentration"].reshape(-1, n)


def _set_rows(rows: Floats, many: Parameters, voices: slice) -> None:
    """Take rows (draw, voice, label, response) apart into accuracies and errors."""
    right = np.diagonal(rows, axis1=-2, axis2=-1)
    away = ~np.eye(rows.shape[-1], dtype=bool)
    wrong = np.where(away, rows, 0.0).sum(axis=-1)
    many.skill[:, voices] = np.log(right) - np.log(wrong)
    with np.errstate(divide="ignore"):  # the diagonal is no error
        many.log_error[:, voices] = np.where(away, np.log(rows) - np.log(wrong)[..., None], -np.inf)
