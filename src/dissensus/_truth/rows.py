"""Confusion matrices of voices: settings checked, and the PyMC form."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._truth import model as parts
from dissensus._truth.process import Process, process
from dissensus._truth_points import TYPICAL
from dissensus.arrays.truth_parameters import COMPLETE, HIERARCHICAL, NONE
from dissensus.dims import ANNOTATOR, LABEL, RESPONSE, SYSTEM
from dissensus.registry import one_of

POOLING: Final = {"hierarchical": HIERARCHICAL, "none": NONE, "complete": COMPLETE}
_LABELS: Final = 4.0
"""What the prior of a row is worth, in labels."""
_RIGHT: Final = 0.7
"""The share of them that is right."""


def checked(
    annotations: xr.Dataset, predictions: xr.Dataset | None, *, pooling: Any, **settings: Any
) -> Process:
    """Check annotations, predictions and settings, and put them together."""
    one_of("pooling", pooling, tuple(POOLING))
    n = annotations.sizes.get(LABEL, 0) if isinstance(annotations, xr.Dataset) else 0
    return process(
        "dawid_skene", annotations, predictions, shared=pooling == "complete",
        form={"rows": 1, "pooling": POOLING[pooling]}, rows=_prior(n), **settings,
    )  # fmt: skip


def _prior(n: int) -> npt.NDArray[np.float64]:
    """Return the labels that rows are given in advance (label, response)."""
    out = np.full((n, n), _LABELS * (1 - _RIGHT) / max(n - 1, 1))
    np.fill_diagonal(out, _LABELS * _RIGHT)
    return out


def built(what: Process) -> Any:
    """Write the process as a PyMC model."""
    import pymc as pm
    import pytensor.tensor as pt

    with pm.Model(coords=parts.coordinates(what)) as model:
        share = parts.prevalence(what)
        matrices = [_annotators(what)]
        if parts.known_systems(what):
            matrices.append(_systems(what))
        whole = pt.concatenate(matrices)
        same = np.eye(what.form.n_labels, dtype=bool)
        right = pt.diagonal(whole, axis1=1, axis2=2)
        wrong = pt.log(pt.switch(same, 0.0, whole).sum(axis=-1))
        log_error = pt.switch(same, 0.0, pt.log(whole) - wrong[:, :, None])
        n = what.form.n_labels
        equal = np.full((n, n), -np.log(max(n - 1, 1)))
        parts.observe(what, share, pt.log(right) - wrong, log_error, pt.as_tensor(equal))
    return model


def _annotators(what: Process) -> Any:
    """Make the matrices of annotators' voices."""
    import pymc as pm

    from dissensus.distributions import LeadingDirichlet

    if what.form.pooling == NONE:
        shape = np.broadcast_to(what.priors.rows, (len(what.annotators), *what.priors.rows.shape))
        return pm.Dirichlet(_called(what, "confusion"), a=shape, dims=(ANNOTATOR, LABEL, RESPONSE))
    pooled = "population_confusion"
    name = _called(what, pooled) if what.form.pooling == COMPLETE else pooled
    own = np.arange(what.form.n_labels)
    mean = LeadingDirichlet(name, what.priors.rows, own, dims=(LABEL, RESPONSE))
    return mean[None] if what.form.pooling == COMPLETE else _around(what, mean)


def _around(what: Process, mean: Any) -> Any:
    """Make annotators' matrices around the population's, each as good as he is at all labels."""
    import pymc as pm
    import pytensor.tensor as pt

    n, people = what.form.n_labels, len(what.annotators)
    shape, rate = what.priors.alike
    alike = pm.Gamma("confusion_concentration", alpha=shape, beta=rate, dims=LABEL)
    spread = pm.HalfNormal("accuracy_spread", sigma=what.priors.spread)
    # In units of the spread: with few annotators NUTS would get stuck where that is small.
    level = spread * pm.Normal("annotator_offset", dims=ANNOTATOR)
    same = np.eye(n, dtype=bool)
    odds = pt.log(pt.diagonal(mean)) - pt.log(pt.switch(same, 0.0, mean).sum(axis=1))
    typical = odds + level[:, None]
    right = pm.Beta(
        _called(what, "label_accuracy"), alpha=alike * pt.sigmoid(typical),
        beta=alike * pt.sigmoid(-typical), dims=(ANNOTATOR, LABEL),
    )  # fmt: skip
    errors = pt.ones((people, n, 1))  # of two labels an error is the other one
    if n > 2:
        shape = (alike[:, None] * mean)[~same].reshape((n, n - 1))
        errors = pm.Dirichlet(
            _called(what, "error_rows"), a=_every(people, shape),
            dims=(ANNOTATOR, LABEL, parts.OTHER_LABEL),
        )  # fmt: skip
    wrong = ((1 - right)[:, :, None] * errors).reshape((people, -1))
    whole = pt.zeros((people, n, n))[:, ~same].set(wrong)[:, same].set(right)
    return pm.Deterministic(_called(what, "confusion"), whole, dims=(ANNOTATOR, LABEL, RESPONSE))


def _called(what: Process, name: str) -> str:
    """Name a matrix: with difficulty it is that of a typical item."""
    return f"{TYPICAL}{name}" if what.form.difficulty else name


def _every(n: int, shape: Any) -> Any:
    import pytensor.tensor as pt

    return pt.broadcast_to(shape, (n, *shape.shape))


def _systems(what: Process) -> Any:
    """Make the matrices of systems, around symmetric ones."""
    import pymc as pm
    import pytensor.tensor as pt

    n = what.form.n_labels
    level = pm.Uniform("system_level", 0.0, 1.0, dims=SYSTEM)[:, None, None]
    even = pt.switch(np.eye(n, dtype=bool), level, (1 - level) / (n - 1))
    return pm.Dirichlet(
        _called(what, "system_confusion"),
        a=what.priors.system * even,
        dims=(SYSTEM, LABEL, RESPONSE),
    )
