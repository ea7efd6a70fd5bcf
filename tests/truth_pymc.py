"""The PyMC form of a latent truth at points of the prior, for comparison with sums in loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor
from crossed_reference import uniform
from pymc.model.transform.conditioning import remove_value_transforms
from scipy import special, stats
from truth_cases import Case
from truth_prior import Points, prior
from truth_reference import log_likelihood, names_kept

from dissensus.sampling.interpreter import uncompiled


def variables(case: Case, points: Points) -> dict[str, Any]:
    """Return the values of the PyMC form's variables (point, ...)."""
    n, j = case.n_labels, case.n_annotators
    hits = special.expit(points.right)
    out = {"prevalence": points.prevalence, **points.named}
    if case.model == "symmetric_confusion":
        if "accuracy_spread" in points.named:
            mean = special.logit(points.named["mean_accuracy"])
            spread = points.named["accuracy_spread"]
            out["annotator_offset"] = (points.right[:, :j, 0] - mean[:, None]) / spread[:, None]
        for name in ("annotator_accuracy", "annotator_typical_accuracy"):
            out[name] = hits[:, 0, 0]
        for name in ("system_accuracy", "system_typical_accuracy"):
            out[name] = hits[:, j:, 0]
        known = j + (0 if case.cut else case.n_systems)
        out["error_rows"] = _other_labels(points.errors[:, :known])
    else:
        people = points.right[:, :j]
        out["annotator_offset"] = points.offset
        out["right_or_wrong"] = special.expit(np.stack([people, -people], axis=-1))
        out["error_rows"] = _other_labels(points.errors[:, :j])
        errors = (1 - hits)[..., None] * points.errors
        rows = errors + hits[..., None] * np.eye(n)
        out["confusion"], out["system_confusion"] = rows[:, :j], rows[:, j:]
        out["system_level"] = np.full((len(rows), case.n_systems), 0.5)  # hangs on matrices only
    return out


def _other_labels(rows: Any) -> Any:
    """Leave out the label itself (..., label, response)."""
    n = rows.shape[-1]
    return rows[..., ~np.eye(n, dtype=bool)].reshape(*rows.shape[:-1], n - 1)


def likelihood_agrees(case: Case) -> None:
    """Compare log-likelihoods, all labels together, at points of the prior."""
    _, _, n_dims = prior(case, np.full((1, 200), 0.5))
    points, _, _ = prior(case, uniform(n_dims, 4, seed=5))
    want = log_likelihood(case, points, systems=not case.cut).sum(axis=1)
    values = variables(case, points)
    model = remove_value_transforms(case.build())
    names = [variable.name for variable in model.value_vars]
    with uncompiled():
        logp = pytensor.function(model.value_vars, model.observedlogp, on_unused_input="ignore")
    actual = [
        logp(*(values[name.removeprefix("typical_")][k] for name in names))
        for k in range(len(want))
    ]
    np.testing.assert_allclose(actual, want, rtol=1e-8)


def prior_agrees(case: Case, draws: int = 400) -> None:
    """Compare draws from the prior, number by number, with the reference's."""
    _, _, n_dims = prior(case, np.full((1, 200), 0.5))
    points, _, _ = prior(case, uniform(n_dims, 12, seed=6))
    values, model = variables(case, points), case.build()
    kept = names_kept(points)
    values = {name: value[kept] for name, value in values.items()}
    names = [variable.name for variable in model.free_RVs]
    with uncompiled():
        actual = pm.draw(model.free_RVs, draws, random_seed=1)
    for name, drawn in zip(names, actual, strict=True):
        if name == "system_level":
            assert stats.kstest(drawn.ravel(), "uniform").pvalue > 1e-4
            continue
        want = values[name.removeprefix("typical_")]
        want = want.reshape(len(want), -1)
        assert drawn.reshape(draws, -1).shape[1] == want.shape[1], name
        for k, (variable, two) in enumerate(zip(drawn.reshape(draws, -1).T, want.T, strict=True)):
            assert stats.ks_2samp(variable, two).pvalue > 1e-4, f"{name}[{k}]"
