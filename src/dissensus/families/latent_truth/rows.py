"""Confusion matrices of voices: settings checked, and the PyMC form."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, LABEL, RESPONSE, SYSTEM
from dissensus.families.latent_truth import model as parts
from dissensus.families.latent_truth.kernels.data import COMPLETE, HIERARCHICAL, NONE
from dissensus.families.latent_truth.parameters import TYPICAL
from dissensus.families.latent_truth.process import Process, process

POOLING: Final = {"hierarchical": HIERARCHICAL, "none": NONE, "complete": COMPLETE}
_LABELS: Final = 4.0
"""What the prior of a row is worth, in labels."""
_RIGHT: Final = 0.7
"""The share of them that is right."""


def checked(
    annotations: xr.Dataset, predictions: xr.Dataset | None, *, pooling: Any, **settings: Any
) -> Process:
    """Check annotations, predictions and settings, and put them together."""
    arguments.one_of("pooling", pooling, tuple(POOLING))
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
        voices = [_annotators(what)]
        if parts.known_systems(what):
            voices.append(_taken_apart(_systems(what)))
        skill, log_error = (pt.concatenate(part) for part in zip(*voices, strict=True))
        n = what.form.n_labels
        equal = np.full((n, n), -np.log(max(n - 1, 1)))
        parts.observe(what, share, skill, log_error, pt.as_tensor(equal))
    return model


def _taken_apart(rows: Any) -> tuple[Any, Any]:
    """Return logits of being right, and logarithms of where errors fall, of rows."""
    import pytensor.tensor as pt

    same = pt.eye(rows.shape[-1], dtype="bool")
    wrong = pt.log(pt.switch(same, 0.0, rows).sum(axis=-1))
    skill = pt.log(pt.diagonal(rows, axis1=-2, axis2=-1)) - wrong
    return skill, pt.switch(same, 0.0, pt.log(rows) - wrong[..., None])


def _annotators(what: Process) -> tuple[Any, Any]:
    """Make the matrices of annotators' voices, taken apart."""
    import pymc as pm

    from dissensus.families.latent_truth.distributions import LeadingDirichlet

    if what.form.pooling == NONE:
        shape = np.broadcast_to(what.priors.rows, (len(what.annotators), *what.priors.rows.shape))
        dims = (ANNOTATOR, LABEL, RESPONSE)
        return _taken_apart(pm.Dirichlet(_called(what, "confusion"), a=shape, dims=dims))
    pooled = "population_confusion"
    name = _called(what, pooled) if what.form.pooling == COMPLETE else pooled
    own = np.arange(what.form.n_labels)
    mean = LeadingDirichlet(name, what.priors.rows, own, dims=(LABEL, RESPONSE))
    return _taken_apart(mean[None]) if what.form.pooling == COMPLETE else _around(what, mean)


def _around(what: Process, mean: Any) -> tuple[Any, Any]:
    """Make annotators' matrices around the population's, each as good as he is at all labels."""
    import pymc as pm
    import pytensor.tensor as pt

    n, people = what.form.n_labels, len(what.annotators)
    shape, rate = what.priors.alike
    alike = pm.Gamma("confusion_concentration", alpha=shape, beta=rate, dims=LABEL)
    spread = pm.HalfNormal("accuracy_spread", sigma=what.priors.spread)
    # In units of the spread: with few annotators NUTS would get stuck where that is small.
    level = spread * pm.Normal("annotator_offset", dims=ANNOTATOR)
    typical = _taken_apart(mean)[0] + level[:, None]
    both = pt.stack([pt.sigmoid(typical), pt.sigmoid(-typical)], axis=-1)
    # Both, as a Beta accuracy that rounds to 1 would not say how far from 1 it is.
    right = pm.Dirichlet(
        _called(what, "right_or_wrong"), a=alike[:, None] * both,
        dims=(ANNOTATOR, LABEL, parts.OUTCOME),
    )  # fmt: skip
    errors = pt.ones((people, n, 1))  # of two labels an error is the other one
    away = ~np.eye(n, dtype=bool)
    if n > 2:
        shape = (alike[:, None] * mean)[away].reshape((n, n - 1))
        errors = pm.Dirichlet(
            _called(what, "error_rows"), a=_every(people, shape),
            dims=(ANNOTATOR, LABEL, parts.OTHER_LABEL),
        )  # fmt: skip
    blank = pt.zeros((people, n, n))
    wrong = (right[..., 1, None] * errors).reshape((people, -1))
    whole = blank[:, away].set(wrong)[:, ~away].set(right[..., 0])
    pm.Deterministic(_called(what, "confusion"), whole, dims=(ANNOTATOR, LABEL, RESPONSE))
    skill = pt.log(right[..., 0]) - pt.log(right[..., 1])
    return skill, blank[:, away].set(pt.log(errors).reshape((people, -1)))


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
