"""Whole sweeps, getting it right (Geweke 2004): labels drawn anew after each of them.

A sweep that leaves the posterior as it is, and labels drawn from what it arrives at, together leave
the prior as it is. So a chain of both visits parameters as often as the prior says, whatever the
study. A wrong power, a forgotten volume or a stale sum shows at once; and so does what is learned
in the warm-up, if it mattered.
"""

from __future__ import annotations

import numpy as np
import pytest
from families.crossed.crossed_designs import residual, study
from scipy import special, stats
from seeds import in_two_sizes

from dissensus.families.crossed.kernels.data import cutpoints
from dissensus.families.crossed.kernels.sweep import advance, learned, room_for
from dissensus.kernels.random import started

REDUCED, FULL, THIN = 4800, 24_000, 12
CASES = [("gaussian", 2, True), ("bernoulli", 2, False), ("ordinal", 2, False),
        ("gaussian", 1, False), ("gaussian", 3, False), ("bernoulli", 1, False),
        ("bernoulli", 3, False), ("ordinal", 1, False), ("ordinal", 3, False)]  # fmt: skip


def labels_anew(case, family, rng):
    """Write labels drawn from where the chain stands into the study."""
    data, par, eta = case.data, case.par, case.eta
    if family == "gaussian":
        data.value[:] = eta + residual(case) * rng.standard_normal(len(eta))
        par.latent[:] = data.value
    elif family == "bernoulli":
        data.value[:] = rng.random(len(eta)) < special.expit(eta)
    else:
        latent = eta + rng.standard_normal(len(eta))
        data.value[:] = np.searchsorted(cutpoints(par.gap), latent)


def kept(case, n_cells):
    """Return the numbers whose prior is known, and a few that only fit in one way."""
    par, data = case.par, case.data
    p, who = data.cell_pool[n_cells - 1], data.annotator_pool
    out = {f"mu {k}": x for k, x in enumerate(par.mu)}
    out |= {f"sd_item {k}": x for k, x in enumerate(par.sd_item)}
    out |= {f"sd_annotator {k}": x for k, x in enumerate(par.sd_annotator)}
    out |= {f"gap {k}": x for k, x in enumerate(par.gap)}
    n = len(par.mu)
    out |= {f"correlation {a} {b}": par.correlation[a, b] for a in range(n) for b in range(a)}
    out["item in sd"] = par.item[n_cells - 1] / par.sd_item[p]
    out["annotator in sd"] = par.annotator[0] / par.sd_annotator[who[0]]
    if n > 1:  # two cells of one item, the one freed from the other
        c = data.item_start[0]
        r, (x, y) = par.correlation[1, 0], par.item[c : c + 2] / par.sd_item[:2]
        out["cell given another"] = (y - r * x) / np.sqrt(1 - r * r)
    return out


def prior_of(name, case):
    """Return a parameter's prior distribution function."""
    priors, parameter = case.priors, name.split()[0]
    if parameter == "mu":
        return stats.norm(*priors.mu[int(name[-1])]).cdf
    if parameter in {"item", "annotator", "cell"}:
        return stats.norm.cdf
    if parameter == "correlation":  # of one pair, with LKJ(eta) of n pools
        shape = priors.lkj + (len(case.par.mu) - 2) / 2
        return stats.beta(shape, shape, loc=-1, scale=2).cdf
    form, size, df = priors.gap if parameter == "gap" else getattr(priors, parameter)[int(name[-1])]
    if form == 1.0:
        return lambda x: 2 * stats.t(df, scale=size).cdf(x) - 1
    return (stats.halfnorm if form == 0.0 else stats.expon)(scale=size).cdf


def gathered(family, n_pools, own_residual, sweeps, anew=labels_anew):
    """Run the chain; return the study and what was visited (name: draws)."""
    case = study(n_pools, family, seed=n_pools, own_residual=own_residual, n_items=4)
    if family == "gaussian":  # a residual near 0 would hold the chain for long
        case.priors.sd[:] = [0.0, 1.0, 0.0]
    rng, state = np.random.default_rng(1), started(np.uint64(2))
    known = learned(case.data, family, case.par)
    advance(family, state, case.data, case.par, case.priors, known, 50, learning=True)
    result: dict[str, list[float]] = {}
    trace = room_for(case.data, case.par, 1)
    for sweep in range(-200, sweeps):
        anew(case, family, rng)
        advance(family, state, case.data, case.par, case.priors, known, 1, learning=False,
                trace=trace)  # fmt: skip
        if sweep >= 0 and sweep % THIN == 0:
            numbers = kept(case, len(case.par.item))
            if family == "gaussian":
                numbers |= {f"sd {k}": x for k, x in enumerate(case.par.sd)}
            for name, x in numbers.items():
                result.setdefault(name, []).append(x)
    return case, {name: np.array(values) for name, values in result.items()}


def p_value(places):
    """Return how often uniform places would have means as far from theirs, given how they follow.

    Draws of a chain hang together, so that a test must know by how much: of the mean, and the mean
    square, by means of batches.
    """
    result = []
    for power in (1, 2):
        x = (2 * places - 1) ** power - (power == 2) / 3
        batches = x[: len(x) // 25 * 25].reshape(25, -1).mean(axis=1)
        z = batches.mean() / (batches.std(ddof=1) / 5)
        result.append(2 * stats.t(24).sf(abs(z)))
    return min(result)


def suspects(family, n_pools, own_residual, sweeps, **how):
    """Return p-values below one in ten thousand."""
    case, result = gathered(family, n_pools, own_residual, sweeps, **how)
    p = {name: p_value(prior_of(name, case)(x)) for name, x in result.items()}
    return {name: value for name, value in p.items() if value < 1e-4}


STUDIES = {f"{case[0]}, {case[1]} pools": case for case in CASES}


@pytest.mark.unit(0, long=4)
@pytest.mark.parametrize(
    ("family", "n_pools", "own_residual", "sweeps"), in_two_sizes(STUDIES, REDUCED, FULL)
)
def test_sweeps_and_new_labels_leave_the_prior(family, n_pools, own_residual, sweeps):
    assert suspects(family, n_pools, own_residual, sweeps) == {}


@pytest.mark.long
def test_labels_of_another_process_are_noticed():
    """Annotators' effects that count half: what a fault in a sweep would look like."""

    def anew(case, family, rng):
        half = case._replace(par=case.par._replace(annotator=case.par.annotator / 2))
        labels_anew(half, family, rng)

    assert suspects("gaussian", 1, False, REDUCED, anew=anew)
