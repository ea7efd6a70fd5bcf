"""The PyMC form of a Rasch model, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import erfc

from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, LEVEL
from dissensus.families.crossed.pymc_form import scale
from dissensus.families.rasch.process import Process
from dissensus.kernels.types import UNKNOWN


def coordinates(what: Process) -> dict[str, Any]:
    """Return the coordinates of a PyMC model."""
    return {
        ITEM: what.items, ANNOTATOR: what.annotators, LABEL: what.labels,
        ANNOTATION: np.arange(len(what.label)), LEVEL: what.levels,
    }  # fmt: skip


def advantage(what: Process) -> Any:
    """Make abilities and difficulties; return by how much those are above these (annotation)."""
    import pymc as pm

    centre, sd = what.priors["mean_ability"]
    if np.isfinite(what.least):
        mean = _normal_above("mean_ability", centre, sd, what.least)
    else:
        mean = pm.Normal("mean_ability", mu=centre, sigma=sd)
    ability = pm.Normal("ability", mean, scale("ability_spread", what.priors), dims=ANNOTATOR)
    difficulty = pm.Normal("difficulty", 0.0, scale("difficulty_spread", what.priors), dims=ITEM)
    return ability[what.annotator] - difficulty[what.item]


def right(what: Process, above: Any) -> Any:
    """Return the logit of each label's being right: the odds of a guess come on top."""
    import pytensor.tensor as pt

    return pt.logaddexp(above, -np.log(len(what.labels) - 1)) if what.guessing else above


def _normal_above(name: str, mean: float, sd: float, least: float) -> Any:
    """Make a normal variable above a bound; PyMC's own cannot be drawn from by Numba."""
    import pymc as pm
    import pytensor.tensor as pt
    from pymc.distributions.transforms import Interval

    above = 0.5 * float(erfc((least - mean) / (sd * np.sqrt(2.0))))

    def dist(mean: Any, sd: Any, size: Any) -> Any:
        part = pm.Uniform.dist(0.0, 1.0, size=size)
        return mean + sd * np.sqrt(2.0) * pt.erfcinv(2.0 * above * part)

    def logp(value: Any, mean: Any, sd: Any) -> Any:
        inside = pm.logp(pm.Normal.dist(mean, sd), value) - np.log(above)
        return pt.switch(value >= least, inside, -np.inf)

    return pm.CustomDist(
        name, mean, sd, dist=dist, logp=logp, transform=Interval(least, None), signature="(),()->()"
    )


def levels(what: Process) -> Any:
    """Make how often levels of confidence go with wrong and with right labels (right, level)."""
    import pymc as pm
    import pytensor.tensor as pt

    if not len(what.levels):
        return np.zeros((2, 1))
    shape = np.ones(len(what.levels))
    right = pm.Dirichlet("confidence_if_right", a=shape, dims=LEVEL)
    wrong = pm.Dirichlet("confidence_if_wrong", a=shape, dims=LEVEL)
    return pt.log(pt.stack([wrong, right]))


def observe(what: Process, logit: Any) -> None:
    """Make the labels, with the levels of confidence; the truth summed out if it is not known."""
    import pymc as pm
    import pytensor.tensor as pt

    from dissensus.families.rasch.distributions import LatentAnswers

    n = len(what.labels)
    share = pm.Dirichlet("prevalence", a=np.full(n, what.prior_count), dims=LABEL)
    possible = (what.truth[:, None] == UNKNOWN) | (what.truth[:, None] == np.arange(n))
    log_truth = pt.switch(possible, pt.log(share), -np.inf)
    code = what.label * len(what.levels) + what.level if len(what.levels) else what.label
    LatentAnswers(
        "labels", log_truth, logit, levels(what), what.item, observed=code, dims=ANNOTATION
    )
