"""The PyMC form of crossed effects, part by part, as the two models put it together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dissensus.dims import ANNOTATION, ANNOTATOR, BOUNDARY, ITEM, MEMBER, POOL, other
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN
from dissensus.families.crossed.priors import Prior
from dissensus.families.crossed.process import Process

OBSERVED = {GAUSSIAN: "score"}
"""The name of what is observed; of labels it is ``label_code``."""


def coordinates(what: Process) -> dict[str, Any]:
    """Return the coordinates of a PyMC model."""
    out: dict[str, Any] = {ITEM: what.annotations[ITEM].to_numpy()}
    out[ANNOTATION] = np.arange(len(what.value))
    if what.pools is None:
        out[ANNOTATOR] = what.annotations[ANNOTATOR].to_numpy()
    else:
        out[POOL] = out[other(POOL)] = what.pools
        out[MEMBER] = np.arange(len(what.member_pool))
    if what.family == "ordinal":
        out[BOUNDARY] = np.arange(len(what.labels) - 1)
    return out


def scale(name: str, priors: Mapping[str, Prior], dims: Any = None) -> Any:
    """Make a standard deviation, or another positive number, under its prior."""
    import pymc as pm

    form, size, *degrees = priors[name]
    if form == "half_normal":
        return pm.HalfNormal(name, sigma=size, dims=dims)
    if form == "half_t":
        return pm.HalfStudentT(name, nu=degrees[0], sigma=size, dims=dims)
    return pm.Exponential(name, scale=size, dims=dims)


def mean(what: Process, dims: Any = None) -> Any:
    """Make the mean of each pool."""
    import pymc as pm

    centre, sd = what.priors["mu"]
    return pm.Normal("mu", mu=centre, sigma=sd, dims=dims)


def residual(what: Process) -> Any:
    """Make the residual's standard deviation, of every annotation."""
    per_pool = what.n_sd > 1
    sigma = scale("sigma", what.priors, POOL if per_pool else None)
    return sigma[what.pool] if per_pool else sigma


def observe(what: Process, eta: Any) -> Any:
    """Make the labels."""
    import pymc as pm

    if what.family == GAUSSIAN:
        return pm.Normal(
            "score", mu=eta, sigma=residual(what), observed=what.value, dims=ANNOTATION
        )
    code = what.value.astype(np.int64)
    if what.family == BERNOULLI:
        return pm.Bernoulli("label_code", logit_p=eta, observed=code, dims=ANNOTATION)
    from dissensus.families.crossed.distributions import CumulativeProbit

    return CumulativeProbit("label_code", eta, _cutpoints(what), observed=code, dims=ANNOTATION)


def _cutpoints(what: Process) -> Any:
    """Make cutpoints with mean 0, from the gaps between them."""
    import pymc as pm
    import pytensor.tensor as pt

    n_gaps = len(what.labels) - 2
    if n_gaps == 0:
        return pt.zeros(1)
    raw = pt.concatenate([pt.zeros(1), pt.cumsum(scale("gap", what.priors, _gap_dim(n_gaps)))])
    return pm.Deterministic("cutpoint", raw - pt.mean(raw), dims=BOUNDARY)


def _gap_dim(n_gaps: int) -> str:
    import pymc as pm

    pm.modelcontext(None).add_coord("gap_", np.arange(n_gaps))
    return "gap_"
