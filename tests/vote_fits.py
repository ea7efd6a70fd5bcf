"""Fits of votes on pairs with draws of voters' tastes, which `fit` does not keep."""

from __future__ import annotations

import numpy as np
import xarray as xr

from dissensus.families.base import FitOptions, by_gibbs
from dissensus.families.pairs.fit import PairsFit
from dissensus.families.pairs.process import cells, process


def with_tastes(votes, *, draws, tune=500, chains=2, **options):
    """Fit as `fit` does, and keep the draws of tastes, and the log-likelihood of each vote."""
    made = process(votes, **{"annotators": None, "items": None, **options})
    run = FitOptions(
        draws=draws, tune=tune, chains=chains, log_likelihood=True, posterior_predictive=True,
        progressbar=False,
    )  # fmt: skip
    of_pairs, rng = PairsFit(made, run), np.random.default_rng(1)
    trace = by_gibbs(of_pairs, rng)
    posterior = xr.Dataset(of_pairs.groups(trace, {}).posterior)
    if made.form.tastes:
        dims = "chain", "draw", "annotator", "system"
        size = (*trace.taste.shape[:2], posterior.sizes["annotator"], posterior.sizes["system"])
        taste = (
            rng.normal(size=size) * posterior["annotator_taste_spread"].to_numpy()[..., None, None]
        )
        taste[..., *cells(made.votes[0].voters)] = trace.taste
        posterior["annotator_taste"] = dims, taste
    return xr.DataTree.from_dict({
        "posterior": posterior, "log_likelihood": of_pairs.log_likelihood(trace),
        "sample_stats": xr.Dataset({"log_likelihood": (("chain", "draw"), trace.log_likelihood)}),
        "posterior_predictive": of_pairs.posterior_predictive(trace, rng),
    })  # fmt: skip
