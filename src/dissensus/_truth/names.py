"""The names that draws of a latent truth's parameters have in the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit

from dissensus._truth.process import Process
from dissensus.arrays.truth_gibbs import Trace
from dissensus.arrays.truth_parameters import (
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
)
from dissensus.dims import ANNOTATOR, LABEL, RESPONSE, SAMPLE, SYSTEM
from dissensus.kernels.types import Floats


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
