"""How draws of crossed effects are made and named: `families.base.run` does the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.dims import ANNOTATION, ANNOTATOR, BOUNDARY, ITEM, LABEL, POOL, SAMPLE, other
from dissensus.families import base
from dissensus.families.crossed.kernels import likelihood, sweep
from dissensus.families.crossed.kernels.covariance import all_items
from dissensus.families.crossed.kernels.data import Crossed, Parameters
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN, ORDINAL
from dissensus.families.crossed.process import LATENT_SD, OBSERVED, Process, named
from dissensus.kernels.types import Array, Floats
from dissensus.sampling import convergence


class Draws(NamedTuple):
    """What a sampler brings back, in natural units, chain and draw in front."""

    mu: Floats
    """(..., pool)"""
    sigma_item: Floats
    sigma_annotator: Floats
    sigma: Floats
    """(..., 1 or pool)"""
    correlation: Floats
    """(..., pool, pool)"""
    cutpoint: Floats
    """(..., boundary)"""
    item: Floats
    """(..., item, pool); empty if not kept."""
    member: Floats
    """(..., member); empty if not kept."""


class CrossedFit(base.Fit[Process, Draws]):
    """A fit of crossed effects."""

    title: ClassVar[str] = "Sampling effects"
    keeps: ClassVar[str] = "keep_effects"

    def __init__(self, process: Process, options: base.FitOptions) -> None:
        super().__init__(process.model, process, options)
        options = self.options
        self.effects = options.keep or options.log_likelihood or options.posterior_predictive
        self.data = process.data()

    @property
    def annotations(self) -> xr.Dataset:
        """The annotations of the process."""
        return self.process.annotations

    @property
    def inference(self) -> str:
        """How the Gibbs sampler draws, in words."""
        return _GIBBS[self.process.family]

    def require_room(self) -> None:
        """Raise if effects would fill the memory."""
        process, n_items = self.process, self.annotations.sizes[ITEM]
        n_effects = n_items * process.n_pools + len(process.member_pool)
        if self.effects:
            base.require_room(
                self,
                8.0 * self.options.draws * self.options.chains * n_effects,
                f"the effects of {n_items:,} items and {len(process.member_annotator):,} "
                "annotators",
                "Metrics do not need them",
            )

    def chain(self, rng: np.random.Generator, draws: int) -> _Chain:
        """Return a chain at its start."""
        return _Chain(self.process, self.data, rng, draws, self.effects)

    def gathered(self, chains: Sequence[Any], rng: np.random.Generator) -> Draws:
        """Return the draws in natural units; unlabelled items of a pool get their effects here."""
        trace, none = base.stacked(chains), np.empty(0)
        items = none
        if self.effects:
            items = all_items(self.data, trace.item, trace.sd_item, trace.correlation, rng)
        return Draws(
            mu=trace.mu + self.process.centre,
            sigma_item=trace.sd_item,
            sigma_annotator=trace.sd_annotator,
            sigma=trace.sd,
            correlation=trace.correlation,
            cutpoint=_cutpoints(trace.gap) if self.process.family == ORDINAL else none,
            item=items,
            member=trace.annotator if self.effects else none,
        )

    def replayed(self, posterior: xr.Dataset, rng: np.random.Generator) -> Draws:  # noqa: ARG002
        """Return what NUTS has drawn: all of it is in the PyMC model."""
        process = self.process
        shape = tuple(posterior.sizes[dim] for dim in SAMPLE)

        def values(name: str, ndim: int, default: float = 0.0) -> Floats:
            if name not in posterior:
                return np.full((*shape, *[1] * (ndim - 2)), default)
            array = posterior[name].to_numpy()
            return array.reshape(*array.shape, *[1] * (ndim - array.ndim))

        pools = (*shape, process.n_pools)
        no_people = np.zeros(pools)
        one = np.broadcast_to(np.eye(process.n_pools), (*pools, process.n_pools))
        return Draws(
            mu=values("mu", 3),
            sigma_item=values("sigma_item", 3),
            sigma_annotator=no_people if process.anonymous else values("sigma_annotator", 3),
            sigma=values("sigma", 3, 1.0),
            correlation=values("correlation", 4) if process.n_pools > 1 else one,
            cutpoint=values("cutpoint", 3),
            item=values("item_effect", 4),
            member=no_people if process.anonymous else values("annotator_effect", 3),
        )

    def groups(self, draws: Draws, stats: Mapping[str, Array]) -> base.Groups:
        """Name the draws and judge the chains."""
        process = self.process
        posterior = parameters(process, draws)
        diagnostics = _diagnosed(posterior)
        if self.options.keep:
            posterior |= _effects(process, draws)
        given = process.value if process.family == GAUSSIAN else process.value.astype(np.int64)
        return base.Groups(
            posterior,
            {name: xr.DataArray(values, dims=SAMPLE) for name, values in stats.items()},
            {_observed(process): _rows(process, given)},
            _constants(process),
            diagnostics,
        )

    def log_likelihood(self, draws: Draws) -> xr.Dataset:
        """Return the log-likelihood of each label given the effects."""
        eta = _predictors(self.process, draws)
        each = [_log_likelihood(self.process, draws, eta[c], c) for c in range(len(eta))]
        return xr.Dataset({_observed(self.process): _rows(self.process, np.stack(each))})

    def posterior_predictive(self, draws: Draws, rng: np.random.Generator) -> xr.Dataset:
        """Draw labels anew, by the same annotators and of the same items."""
        eta = _predictors(self.process, draws)
        each = [_new(self.process, draws, eta[c], c, rng) for c in range(len(eta))]
        return xr.Dataset({_observed(self.process): _rows(self.process, np.stack(each))})


def _predictors(process: Process, draws: Draws) -> Floats:
    """Return the sum of mean and effects (chain, draw, annotation)."""
    eta = np.empty((*draws.mu.shape[:2], len(process.value)))
    for chain in range(len(eta)):  # a chain at a time: what is added up is as large as the sum
        eta[chain] = draws.mu[chain][:, process.pool]
        eta[chain] += draws.item[chain][:, process.item, process.pool]
        eta[chain] += draws.member[chain][:, process.member]
    return eta


_GIBBS: Final = {
    GAUSSIAN: "exact Gibbs sampling, effects and means integrated out in turn",
    ORDINAL: "exact Gibbs sampling of the latent numbers behind ordered labels",
    BERNOULLI: "exact Gibbs sampling by slices along learned paths",
}


class _Chain:
    """One chain, with all it writes to."""

    scratch = frozenset({"known"})

    def __init__(
        self, process: Process, data: Crossed, rng: np.random.Generator, draws: int, effects: bool
    ) -> None:
        self.family, self.data, self.priors = process.family, data, process.numbers()
        self.par = _start(process, data, rng)
        self.known = sweep.learned(data, process.family, self.par)
        self.state = sweep.started(rng.integers(2**64, dtype=np.uint64))
        self.trace = sweep.room_for(data, self.par, draws, effects=effects)

    def advance(self, first: int, n: int) -> None:
        """Go through a lot of sweeps."""
        warm = first < 0
        sweep.advance(
            self.family, self.state, self.data, self.par, self.priors, self.known, n, learning=warm,
            trace=None if warm else self.trace, first=first,
        )  # fmt: skip


def _start(process: Process, data: Crossed, rng: np.random.Generator) -> Parameters:
    """Start far enough from where the chain will be, in each chain elsewhere, for r-hat to tell."""
    n_gaps = max(len(process.labels) - 2, 0) if process.family == sweep.ORDINAL else 0
    par = sweep.start(
        data, process.family, n_gaps=n_gaps, anonymous=process.anonymous, n_sd=process.n_sd
    )
    unit = 1.0
    if process.family == sweep.GAUSSIAN:
        unit = float(data.value.std()) or float(process.numbers().sd[0, 1])
    for part in (
        par.sd_item,
        par.sd_annotator,
        par.sd if process.family == sweep.GAUSSIAN else None,
    ):
        if part is not None:
            part *= unit * np.exp(rng.normal(0.0, 0.5, part.shape))
    par.mu[:] = unit * rng.normal(size=len(par.mu))
    return par


def _cutpoints(gap: Floats) -> Floats:
    """Return cutpoints with mean 0 from the gaps between them."""
    raw = np.concatenate([np.zeros((*gap.shape[:-1], 1)), gap.cumsum(axis=-1)], axis=-1)
    return np.asarray(raw - raw.mean(axis=-1, keepdims=True))


def _observed(process: Process) -> str:
    return OBSERVED.get(process.family, "label_code")


def _rows(process: Process, values: Any) -> xr.DataArray:
    dims = (*SAMPLE, ANNOTATION) if np.ndim(values) == 3 else (ANNOTATION,)
    attrs = {"labels": [str(label) for label in process.labels]} if len(process.labels) else {}
    return xr.DataArray(values, dims=dims, coords=named(process), attrs=attrs)


def parameters(process: Process, draws: Draws) -> dict[str, xr.DataArray]:
    """Name the draws of everything but effects."""
    pools = process.pools is not None

    def per_pool(values: Floats) -> xr.DataArray:
        if not pools:
            return xr.DataArray(values[..., 0], dims=SAMPLE)
        return xr.DataArray(values, dims=(*SAMPLE, POOL), coords={POOL: process.pools})

    out = {"mu": per_pool(draws.mu), "sigma_item": per_pool(draws.sigma_item)}
    if not process.anonymous:
        out["sigma_annotator"] = per_pool(draws.sigma_annotator)
    if process.family == GAUSSIAN and process.n_sd > 1:
        out["sigma"] = per_pool(draws.sigma)
    elif process.family == GAUSSIAN:
        out["sigma"] = xr.DataArray(draws.sigma[..., 0], dims=SAMPLE)
    if process.family == ORDINAL:
        out["cutpoint"] = xr.DataArray(
            draws.cutpoint, dims=(*SAMPLE, BOUNDARY), coords={BOUNDARY: _between(process)}
        )
    if pools:
        out["correlation"] = xr.DataArray(
            draws.correlation, dims=(*SAMPLE, POOL, other(POOL)),
            coords={POOL: process.pools, other(POOL): process.pools},
        )  # fmt: skip
    return out


def _between(process: Process) -> list[str]:
    """Name cutpoints by the labels on their two sides."""
    names = [str(label) for label in process.labels]
    return [f"{low}|{high}" for low, high in pairwise(names)]


def _effects(process: Process, draws: Draws) -> dict[str, xr.DataArray]:
    """Name the draws of effects."""
    coords: dict[str, Any] = {ITEM: process.annotations[ITEM].to_numpy()}
    if process.pools is None:
        items = xr.DataArray(draws.item[..., 0], dims=(*SAMPLE, ITEM), coords=coords)
    else:
        items = xr.DataArray(
            draws.item, dims=(*SAMPLE, ITEM, POOL), coords=coords | {POOL: process.pools}
        )
    if process.anonymous:
        return {"item_effect": items}
    coords = {ANNOTATOR: process.annotations[ANNOTATOR].to_numpy()}
    if process.pools is None:
        people = xr.DataArray(draws.member, dims=(*SAMPLE, ANNOTATOR), coords=coords)
        return {"item_effect": items, "annotator_effect": people}
    n = len(coords[ANNOTATOR])
    values = np.full((*draws.member.shape[:2], n, process.n_pools), np.nan)
    values[..., process.member_annotator, process.member_pool] = draws.member
    people = xr.DataArray(
        values, dims=(*SAMPLE, ANNOTATOR, POOL), coords=coords | {POOL: process.pools}
    )
    return {"item_effect": items, "annotator_effect": people}


def _diagnosed(posterior: Mapping[str, xr.DataArray]) -> dict[str, Any]:
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
    return convergence.diagnosed(whole, "parameter")


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


def _constants(process: Process) -> dict[str, xr.DataArray]:
    """Return what is fixed: the residual of labels, their numbers, and the design."""
    n = np.zeros((process.annotations.sizes[ITEM], process.n_pools), dtype=np.int64)
    np.add.at(n, (process.item, process.pool), 1)
    coords: dict[str, Any] = {ITEM: process.annotations[ITEM].to_numpy()}
    dims: tuple[str, ...] = (ITEM,)
    if process.pools is not None:
        dims, coords = (ITEM, POOL), coords | {POOL: process.pools}
    counts = xr.DataArray(n if process.pools is not None else n[:, 0], dims=dims, coords=coords)
    out = {"n_labels_per_item": counts}
    for dim in (ITEM, ANNOTATOR, POOL):
        if f"{dim}_code" in process.annotations:
            codes = process.annotations[f"{dim}_code"].to_numpy()
            out[f"{dim}_code"] = xr.DataArray(codes, dims=ANNOTATION)
    if process.family != GAUSSIAN:
        out["sigma"] = xr.DataArray(LATENT_SD[process.family])
        coords = {LABEL: process.labels}
        out["label_value"] = xr.DataArray(process.label_value, dims=LABEL, coords=coords)
    return out


def _sd(process: Process, draws: Draws, chain: int) -> Floats:
    return draws.sigma[chain][:, process.pool if process.n_sd > 1 else np.zeros_like(process.pool)]


def _log_likelihood(process: Process, draws: Draws, eta: Floats, chain: int) -> Floats:
    """Return the log-likelihood of one chain (draw, annotation)."""
    if process.family == GAUSSIAN:
        return likelihood.gaussian_log_likelihood(eta, process.value, _sd(process, draws, chain))
    code = process.value.astype(np.int64)
    if process.family == BERNOULLI:
        return likelihood.bernoulli_log_likelihood(eta, code)
    return likelihood.ordinal_log_likelihood(eta, code, draws.cutpoint[chain])


def _new(process: Process, draws: Draws, eta: Floats, chain: int, rng: np.random.Generator) -> Any:
    """Draw the labels of one chain anew: by the same annotators, of the same items."""
    if process.family == GAUSSIAN:
        return eta + _sd(process, draws, chain) * rng.standard_normal(eta.shape)
    if process.family == BERNOULLI:
        return (rng.logistic(size=eta.shape) < eta).astype(np.int64)
    latent = eta + rng.standard_normal(eta.shape)
    code = np.zeros(eta.shape, dtype=np.int64)
    for k in range(draws.cutpoint.shape[-1]):  # as many as labels: no loop over draws
        code += latent > draws.cutpoint[chain][:, k, None]
    return code
