"""Intervals of reliability and cross-replication have their nominal coverage.

Simulation-based calibration is over a prior; this is at given truths: three pools whose correlation
is low, middling or all but perfect, under the priors of the card, which are scaled to the data.
At a given truth an interval covers as it says where the data outweigh the prior. With 120 items and
10, 10 and 6 annotators, and a correlation of .95, the coverage of xCC is .82: the prior draws
the correlation and both ICCs the same way, down.
"""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx

LEVEL = 0.9
POOLS = ("control", "treatment", "experts")
TRUTH = {
    "gaussian": {"mu": (3.0, 3.5, 2.5), "sigma_item": (1.0, 1.2, 0.9), "sigma": 0.8,
                 "sigma_annotator": (0.5, 0.4, 0.6)},
    "bernoulli": {"mu": (0.5, -0.3, 0.0), "sigma_item": (1.8, 2.0, 2.2),
                  "sigma_annotator": (0.7, 0.9, 0.6)},
    "ordinal": {"mu": (0.3, -0.3, 0.0), "sigma_item": (1.0, 1.2, 0.9),
                "sigma_annotator": (0.5, 0.4, 0.6)},
}  # fmt: skip


def held(family, correlation, seed):
    """Return, for each quantity, whether its interval in one study contains the truth."""
    study = dx.simulate.replication_study(
        300, 40, 5, family=family, correlation=correlation, pools=POOLS,
        overlap=0.8, random_seed=seed, **TRUTH[family],
    )  # fmt: skip
    fit = dx.models.cross_replication.fit(
        study.annotations, family=family, draws=1500, tune=300, chains=1, keep_effects=False,
        random_seed=seed, progressbar=False,
    )  # fmt: skip
    result = {"normalized_xcc": dx.normalized_xcc(fit), "xcc": dx.xcc(fit), "icc": dx.icc(fit)}
    out = {}
    for name, draws in result.items():
        low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=(0, 1))
        truth = study.truth[name].to_numpy()
        inside = (low <= truth) & (truth <= high)
        out[name] = inside if name == "icc" else inside[np.triu_indices(len(POOLS), 1)]
    return out


def coverage(family, correlation, studies, seed):
    """Return for each quantity the share of studies whose interval contains it, by pool or pair."""
    each = [held(family, correlation, seed + k) for k in range(studies)]
    return {name: np.mean([shares[name] for shares in each], axis=0) for name in each[0]}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dissensus.ConvergenceWarning")
def test_intervals_hold_the_truth():
    # Of three pairs or pools that are not independent: three standard errors for one of them.
    result = coverage("gaussian", 0.7, 12, seed=1)
    assert {name: share for name, share in result.items() if share.mean() < 0.64} == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dissensus.ConvergenceWarning")
@pytest.mark.parametrize("correlation", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
def test_intervals_hold_the_truth_in_full(family, correlation):
    # Other studies in each case: what is the same in all of them is not seen nine times.
    seed = 1000 * (1 + sorted(TRUTH).index(family)) + round(10_000 * correlation)
    result = coverage(family, correlation, 200, seed)
    print(family, correlation, {name: share.round(3).tolist() for name, share in result.items()})
    # Each of nine shares within about three standard errors, .021 in 200 studies.
    low, high = LEVEL - 0.065, LEVEL + 0.065
    assert {n: x for n, x in result.items() if not ((low <= x) & (x <= high)).all()} == {}
