"""From draws of crossed effects to the DataTree that a fit returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import (
    ANNOTATION,
    ANNOTATOR,
    BOUNDARY,
    CHAIN,
    DRAW,
    ITEM,
    LABEL,
    POOL,
    SAMPLE,
    other,
)
from dissensus.families.crossed.kernels import likelihood
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN, ORDINAL
from dissensus.families.crossed.process import LATENT_SD, Process, named
from dissensus.families.crossed.pymc_form import OBSERVED
from dissensus.families.crossed.sampler import Draws, by_gibbs, by_nuts, require_room
from dissensus.kernels.types import Floats
from dissensus.sampling import convergence, fitting


def fitted(
    what: Process,
    build: Callable[[], Any],
    *,
    draws: int,
    tune: int,
    chains: int,
    random_seed: Any,
    progressbar: bool,
    sampler: str,
    keep_effects: bool,
    log_likelihood: bool,
    posterior_predictive: bool,
    checkpoint: Any,
    hyper: Mapping[str, Any],
) -> xr.DataTree:
    """Sample, and put the draws under their names."""
    chains, draws = arguments.sample_shape(draws, chains)
    tune = arguments.whole("tune", tune, least=0)
    arguments.flags(
        keep_effects=keep_effects, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive,
    )  # fmt: skip
    effects = keep_effects or log_likelihood or posterior_predictive
    if effects:
        require_room(what, draws, chains)
    kept, rng = fitting.begun(
        checkpoint, model=what.model, annotations=what.annotations, random_seed=random_seed,
        sampler=sampler, draws=draws, tune=tune, chains=chains,
    )  # fmt: skip
    run: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains, "rng": rng}
    run["progressbar"] = progressbar
    if sampler == "nuts":
        found = by_nuts(what, build, **run)
    else:
        found = by_gibbs(what, **run, effects=effects, checkpoint=kept)
    posterior = parameters(what, found)
    diagnostics = _diagnosed(posterior, found)
    if keep_effects:
        posterior |= _effects(what, found)
    tree = fitting.fitted(
        what.model,
        posterior=posterior,
        sample_stats={name: xr.DataArray(x, dims=SAMPLE) for name, x in found.stats.items()},
        observed_data={_observed(what): _rows(what, _given(what))},
        constant_data=_constants(what),
        hyper=hyper,
        inference=found.inference,
        diagnostics=diagnostics,
        asked=(chains, draws),
    )
    return _with_labels(tree, what, found, log_likelihood, posterior_predictive, rng)


def _observed(what: Process) -> str:
    return OBSERVED.get(what.family, "label_code")


def _given(what: Process) -> Any:
    return what.value if what.family == GAUSSIAN else what.value.astype(np.int64)


def _rows(what: Process, values: Any) -> xr.DataArray:
    dims = (*SAMPLE, ANNOTATION) if np.ndim(values) == 3 else (ANNOTATION,)
    attrs = {"labels": [str(label) for label in what.labels]} if len(what.labels) else {}
    return xr.DataArray(values, dims=dims, coords=named(what), attrs=attrs)


def parameters(what: Process, found: Draws) -> dict[str, xr.DataArray]:
    """Name the draws of everything but effects."""
    pools = what.pools is not None

    def per_pool(values: Floats) -> xr.DataArray:
        if not pools:
            return xr.DataArray(values[..., 0], dims=SAMPLE)
        return xr.DataArray(values, dims=(*SAMPLE, POOL), coords={POOL: what.pools})

    out = {"mu": per_pool(found.mu), "sigma_item": per_pool(found.sigma_item)}
    if not what.anonymous:
        out["sigma_annotator"] = per_pool(found.sigma_annotator)
    if what.family == GAUSSIAN and what.n_sd > 1:
        out["sigma"] = per_pool(found.sigma)
    elif what.family == GAUSSIAN:
        out["sigma"] = xr.DataArray(found.sigma[..., 0], dims=SAMPLE)
    if what.family == ORDINAL:
        out["cutpoint"] = xr.DataArray(
            found.cutpoint, dims=(*SAMPLE, BOUNDARY), coords={BOUNDARY: _between(what)}
        )
    if pools:
        out["correlation"] = xr.DataArray(
            found.correlation, dims=(*SAMPLE, POOL, other(POOL)),
            coords={POOL: what.pools, other(POOL): what.pools},
        )  # fmt: skip
    return out


def _between(what: Process) -> list[str]:
    """Name cutpoints by the labels on their two sides."""
    names = [str(label) for label in what.labels]
    return [f"{low}|{high}" for low, high in pairwise(names)]


def _effects(what: Process, found: Draws) -> dict[str, xr.DataArray]:
    """Name the draws of effects."""
    coords: dict[str, Any] = {ITEM: what.annotations[ITEM].to_numpy()}
    if what.pools is None:
        items = xr.DataArray(found.item[..., 0], dims=(*SAMPLE, ITEM), coords=coords)
    else:
        items = xr.DataArray(
            found.item, dims=(*SAMPLE, ITEM, POOL), coords=coords | {POOL: what.pools}
        )
    if what.anonymous:
        return {"item_effect": items}
    coords = {ANNOTATOR: what.annotations[ANNOTATOR].to_numpy()}
    if what.pools is None:
        people = xr.DataArray(found.member, dims=(*SAMPLE, ANNOTATOR), coords=coords)
        return {"item_effect": items, "annotator_effect": people}
    n = len(coords[ANNOTATOR])
    values = np.full((*found.member.shape[:2], n, what.n_pools), np.nan)
    values[..., what.member_annotator, what.member_pool] = found.member
    people = xr.DataArray(
        values, dims=(*SAMPLE, ANNOTATOR, POOL), coords=coords | {POOL: what.pools}
    )
    return {"item_effect": items, "annotator_effect": people}


def _diagnosed(posterior: Mapping[str, xr.DataArray], found: Draws) -> dict[str, Any]:
    """Judge the chains by all parameters at once, and warn if they are poor."""
    parts = []
    for name, draws in posterior.items():
        flat = draws.to_numpy().reshape(*draws.shape[:2], -1)
        names = _flat_names(name, draws)
        keep = [k for k in range(len(names)) if names[k]]
        parts.append(
            xr.DataArray(
                flat[..., keep],
                dims=(*SAMPLE, "parameter"),
                coords={"parameter": [names[k] for k in keep]},
            )
        )
    whole = xr.concat(parts, dim="parameter")
    return convergence.diagnosed(whole, "parameter") | convergence.divergences(
        {name: xr.DataArray(x, dims=(CHAIN, DRAW)) for name, x in found.stats.items()}
    )


def _flat_names(name: str, draws: xr.DataArray) -> list[str]:
    """Name each number of a parameter; nothing for what is 1 or said already."""
    dims = draws.dims[2:]
    if not dims:
        return [name]
    places = np.ndindex(*draws.shape[2:])
    if name == "correlation":
        return [
            f"correlation[{draws[POOL].to_numpy()[a]}, {draws[POOL].to_numpy()[b]}]"
            if a < b
            else ""
            for a, b in places
        ]
    return [f"{name}[{draws[dims[0]].to_numpy()[place]}]" for (place,) in places]


def _constants(what: Process) -> dict[str, xr.DataArray]:
    """Return what is fixed: the residual of labels, their numbers, and the design."""
    n = np.zeros((what.annotations.sizes[ITEM], what.n_pools), dtype=np.int64)
    np.add.at(n, (what.item, what.pool), 1)
    coords: dict[str, Any] = {ITEM: what.annotations[ITEM].to_numpy()}
    dims: tuple[str, ...] = (ITEM,)
    if what.pools is not None:
        dims, coords = (ITEM, POOL), coords | {POOL: what.pools}
    counts = xr.DataArray(n if what.pools is not None else n[:, 0], dims=dims, coords=coords)
    out = {"n_labels_per_item": counts}
    for dim in (ITEM, ANNOTATOR, POOL):
        if f"{dim}_code" in what.annotations:
            codes = what.annotations[f"{dim}_code"].to_numpy()
            out[f"{dim}_code"] = xr.DataArray(codes, dims=ANNOTATION)
    if what.family != GAUSSIAN:
        out["sigma"] = xr.DataArray(LATENT_SD[what.family])
        numeric = what.labels.dtype.kind in "if" and what.family == ORDINAL
        numbers = what.labels.astype(np.float64) if numeric else np.arange(len(what.labels)) * 1.0
        out["label_value"] = xr.DataArray(numbers, dims=LABEL, coords={LABEL: what.labels})
    return out


# -- Labels under the model -------------------------------------------------------------------


def _with_labels(
    tree: xr.DataTree, what: Process, found: Draws, log_likelihood: bool,
    posterior_predictive: bool, rng: np.random.Generator,
) -> xr.DataTree:  # fmt: skip
    """Add the groups that were asked for."""
    if not (log_likelihood or posterior_predictive):
        return tree
    eta = np.empty((*found.mu.shape[:2], len(what.value)))
    for chain in range(len(eta)):  # a chain at a time: what is added up is as large as the sum
        eta[chain] = found.mu[chain][:, what.pool]
        eta[chain] += found.item[chain][:, what.item, what.pool]
        eta[chain] += found.member[chain][:, what.member]
    if log_likelihood:
        values = np.stack([_log_likelihood(what, found, eta[c], c) for c in range(len(eta))])
        group = xr.Dataset({_observed(what): _rows(what, values)})
        fitting.attach(tree, "log_likelihood", group)
    if posterior_predictive:
        values = np.stack([_new(what, found, eta[c], c, rng) for c in range(len(eta))])
        group = xr.Dataset({_observed(what): _rows(what, values)})
        fitting.attach(tree, "posterior_predictive", group)
    return tree


def _sd(what: Process, found: Draws, chain: int) -> Floats:
    return found.sigma[chain][:, what.pool if what.n_sd > 1 else np.zeros_like(what.pool)]


def _log_likelihood(what: Process, found: Draws, eta: Floats, chain: int) -> Floats:
    """Return the log-likelihood of one chain (draw, annotation)."""
    if what.family == GAUSSIAN:
        return likelihood.gaussian_log_likelihood(eta, what.value, _sd(what, found, chain))
    code = what.value.astype(np.int64)
    if what.family == BERNOULLI:
        return likelihood.bernoulli_log_likelihood(eta, code)
    return likelihood.ordinal_log_likelihood(eta, code, found.cutpoint[chain])


def _new(what: Process, found: Draws, eta: Floats, chain: int, rng: np.random.Generator) -> Any:
    """Draw the labels of one chain anew: by the same annotators, of the same items."""
    if what.family == GAUSSIAN:
        return eta + _sd(what, found, chain) * rng.standard_normal(eta.shape)
    if what.family == BERNOULLI:
        return (rng.logistic(size=eta.shape) < eta).astype(np.int64)
    latent = eta + rng.standard_normal(eta.shape)
    code = np.zeros(eta.shape, dtype=np.int64)
    for k in range(found.cutpoint.shape[-1]):  # as many as labels: no loop over draws
        code += latent > found.cutpoint[chain][:, k, None]
    return code
