"""Symmetric confusion: its settings checked, and its PyMC form."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, LABEL, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.families.latent_truth import model as parts
from dissensus.families.latent_truth.kernels.data import EQUAL, GRADED, UNEQUAL
from dissensus.families.latent_truth.process import Process, process

ACCURACY: Final = ("common", "annotator")
ERRORS: Final = {"equal": EQUAL, "graded": GRADED, "unequal": UNEQUAL}


def checked(
    annotations: xr.Dataset, predictions: xr.Dataset | None, *, accuracy: Any, errors: Any,
    **settings: Any,
) -> Process:  # fmt: skip
    """Check annotations, predictions and settings, and put them together."""
    arguments.one_of("accuracy", accuracy, ACCURACY)
    arguments.one_of("errors", errors, tuple(ERRORS))
    ordered = isinstance(annotations, xr.Dataset) and annotations.attrs.get("kind") == "ordinal"
    if errors == "graded" and not ordered:
        raise ArgumentError(
            "errors", expected="'equal' or 'unequal' for labels without an order", found="'graded'",
            hint='If they have one, read them with kind="ordinal" and labels= in that order',
        )  # fmt: skip
    own = accuracy == "annotator"
    return process(
        "symmetric_confusion", annotations, predictions, shared=not own and errors != "unequal",
        form={
            "own_accuracy": int(own), "errors": ERRORS[errors],
            "ordered": int(ordered and errors != "equal"),
        },
        **settings,
    )  # fmt: skip


def built(what: Process) -> Any:
    """Write the process as a PyMC model."""
    import pymc as pm
    import pytensor.tensor as pt

    with pm.Model(coords=parts.coordinates(what)) as model:
        share = parts.prevalence(what)
        people, systems = _annotators(what), _systems(what)
        skill = pt.concatenate([people, systems]) if systems is not None else people
        skill = skill[:, None] + pt.zeros(what.form.n_labels)
        base = _base(what)
        rows = _rows(what, base)
        parts.observe(what, share, skill, rows, base)
    return model


def _typical(name: str, low: float, dims: Any, exact: bool) -> Any:
    """Make an accuracy, or that of a typical item where the average is another; as logits."""
    import pymc as pm

    own = f"{name}_accuracy" if exact else f"{name}_typical_accuracy"
    return pm.math.logit(pm.Uniform(own, low, 1.0, dims=dims))


def _annotators(what: Process) -> Any:
    """Make the logits of annotators' accuracies, one for each of their voices."""
    import pymc as pm
    import pytensor.tensor as pt

    low = 1.0 / what.form.n_labels
    if what.form.own_accuracy:
        mean = pm.math.logit(pm.Uniform("mean_accuracy", low, 1.0))
        spread = pm.HalfNormal("accuracy_spread", sigma=what.priors.spread)
        # In units of the spread: with few annotators NUTS would get stuck where that is small.
        return mean + spread * pm.Normal("annotator_offset", dims=ANNOTATOR)
    logit = _typical("annotator", low, None, not what.form.difficulty)
    return logit + pt.zeros(what.form.first_system)


def _systems(what: Process) -> Any:
    """Make the logits of systems' accuracies."""
    if not parts.known_systems(what):
        return None
    exact = not (what.form.difficulty or what.form.related)
    return _typical("system", 0.0, SYSTEM, exact)


def _base(what: Process) -> Any:
    """Make what errors are, or are drawn around (label, response), in logarithms."""
    import pymc as pm
    import pytensor.tensor as pt

    n = what.form.n_labels
    away = np.where(np.eye(n, dtype=bool), -np.inf, 0.0)
    if not what.form.ordered:
        return pt.as_tensor(np.where(np.isfinite(away), -np.log(max(n - 1, 1)), 0.0))
    decay = pm.Normal("distance_decay", mu=0.0, sigma=what.priors.decay)
    step = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weight = pt.exp(-decay * step) * ~np.eye(n, dtype=bool)
    return pt.switch(step > 0, -decay * step - pt.log(weight.sum(axis=1, keepdims=True)), 0.0)


def _rows(what: Process, base: Any) -> Any:
    """Make each voice's own errors (voice, label, response), or what all have."""
    import pymc as pm
    import pytensor.tensor as pt

    if what.form.errors != UNEQUAL:
        return base[None]
    n = what.form.n_labels
    voices = what.form.first_system + parts.known_systems(what)
    mean, sd = what.priors.concentration
    concentration = pm.LogNormal("error_concentration", mu=mean, sigma=sd)
    if n == 2:  # there is one other label: nothing to draw
        return pt.zeros((voices, n, n))
    away = ~np.eye(n, dtype=bool)
    shape = concentration * pt.exp(base[away].reshape((n, n - 1)))
    rows = pm.Dirichlet(
        "error_rows", a=pt.broadcast_to(shape, (voices, n, n - 1)),
        dims=(parts.VOICE, LABEL, parts.OTHER_LABEL),
    )  # fmt: skip
    return pt.zeros((voices, n, n))[:, away].set(pt.log(rows).reshape((voices, -1)))
