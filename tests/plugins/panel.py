"""A model that another package might bring: shares of labels with a common prior, drawn exactly."""

import numpy as np
import pymc as pm
import xarray as xr

from dissensus.data.rows import label_counts
from dissensus.models import Model

MODEL = Model("panel", ("nominal",), "shares of labels, smoothed")


def build(annotations, *, smoothing=1.0):
    counts = label_counts(annotations)
    coords = {"item": annotations["item"].to_numpy(), "label": annotations["label"].to_numpy()}
    with pm.Model(coords=coords) as model:
        theta = pm.Dirichlet(
            "plausibility", np.full(counts.shape, smoothing), dims=("item", "label")
        )
        pm.Multinomial("counts", counts.sum(axis=1), theta, observed=counts)
    return model


def fit(
    annotations, *, draws=1000, tune=0, chains=4, random_seed=None, progressbar=True, smoothing=1.0
):
    rng = np.random.default_rng(random_seed)
    alpha = label_counts(annotations) + smoothing
    gamma = rng.standard_gamma(alpha, size=(chains, draws, *alpha.shape))
    coords = {
        "chain": np.arange(chains),
        "draw": np.arange(draws),
        "item": annotations["item"].to_numpy(),
        "label": annotations["label"].to_numpy(),
    }
    theta = xr.DataArray(gamma / gamma.sum(-1, keepdims=True), coords, tuple(coords))
    return xr.DataTree.from_dict({"posterior": theta.to_dataset(name="plausibility")})
