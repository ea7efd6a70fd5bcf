"""Fits of crossed effects: their chains, names of draws, and diagnostics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import xarray as xr

from dissensus.dims import (
    ANNOTATION,
    ANNOTATOR,
    BOUNDARY,
    ITEM,
    LABEL,
    POOL,
    SAMPLE,
    TERM,
    other,
)
from dissensus.families import base
from dissensus.families.crossed.covariates import constants
from dissensus.families.crossed.kernels import sweep
from dissensus.families.crossed.kernels.covariance import all_items
from dissensus.families.crossed.kernels.data import Crossed, Parameters
from dissensus.families.crossed.kernels.ordinal import ordinal_log_likelihood
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN, ORDINAL
from dissensus.families.crossed.process import (
    LATENT_SD,
    OBSERVED,
    Parameter,
    Process,
    named,
    parameters_of,
)
from dissensus.kernels.types import Array, Floats
from dissensus.sampling import convergence

Draws = dict[str, Floats]
"""Draws in natural units (chain, draw, ...), by the names of `PARAMETERS`. They have the dims of
`Parameter`, which include a single pool; but ``annotator_effect`` is (chain, draw, member)."""
_GIBBS: Final = {
    GAUSSIAN: "exact Gibbs sampling, effects and means integrated out in turn",
    ORDINAL: "exact Gibbs sampling of the latent numbers behind ordered labels",
    BERNOULLI: "exact Gibbs sampling by slices along learned paths",
}


class CrossedFit(base.Fit[Process, Draws]):
    """A fit of crossed effects."""

    title: ClassVar[str] = "Sampling effects"
    keeps: ClassVar[str] = "keep_effects"

    def __init__(self, process: Process, options: base.FitOptions) -> None:
        super().__init__(process.model, process, options)
        options = self.options
        self.effects = options.keep or options.log_likelihood or options.posterior_predictive
        self.data = process.data()

    def renamed(self, posterior: xr.Dataset) -> Mapping[str, xr.DataArray] | None:
        """Return the Cholesky factors of correlations, and the gaps between cutpoints."""
        out = {}
        if "correlation" in posterior:
            each = posterior["correlation"]
            out["correlation_cholesky"] = each.copy(data=np.linalg.cholesky(each.to_numpy()))
        if posterior.sizes.get(BOUNDARY, 0) > 1:
            gap = np.diff(posterior["cutpoint"].to_numpy(), axis=-1)
            dims = (*posterior["cutpoint"].dims[:-1], "gap_")
            out["gap"] = xr.DataArray(gap, dims=dims, coords={"gap_": np.arange(gap.shape[-1])})
        return out

    @property
    def inference(self) -> str:
        """How the Gibbs sampler draws, in words."""
        return _GIBBS[self.process.family]

    def require_room(self) -> None:
        """Raise if the draws of effects would take more than 4 GB."""
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
        """Return a chain at its starting values."""
        return _Chain(self.process, self.data, rng, draws, self.effects)

    def gathered(self, chains: Sequence[Any], rng: np.random.Generator) -> Draws:
        """Return draws in natural units; draw effects of items in pools that did not label them."""
        trace = base.stacked(chains)
        kept = parameters_of(self.process, effects=self.effects)
        draws = {parameter.name: getattr(trace, parameter.slot) for parameter in kept}
        draws["mu"] = trace.mu + self.process.centre
        if "cutpoint" in draws:
            draws["cutpoint"] = _cutpoints(trace.gap)
        if self.effects:
            draws["item_effect"] = all_items(
                self.data, trace.item, trace.sd_item, trace.correlation, rng
            )
        return draws

    def replayed(self, posterior: xr.Dataset, rng: np.random.Generator) -> Draws:  # noqa: ARG002
        """Return the draws of NUTS; an axis for the pool is added where the PyMC model has none."""
        draws: Draws = {}
        for parameter in parameters_of(self.process):
            values = posterior[parameter.name].to_numpy()
            ndim = 2 + len(parameter.dims) - (parameter.name == "annotator_effect")
            draws[parameter.name] = values.reshape(*values.shape, *[1] * (ndim - values.ndim))
        return draws

    def groups(self, draws: Draws, stats: Mapping[str, Array]) -> base.Groups:
        """Name the draws and diagnose the chains."""
        process = self.process
        posterior = parameters(process, draws)
        diagnostics = _diagnosed(posterior)
        if self.options.keep:
            posterior |= {
                parameter.name: _named(process, parameter, draws[parameter.name])
                for parameter in parameters_of(process)
                if parameter.is_effect
            }
        labels = process.value if process.family == GAUSSIAN else process.value.astype(np.int64)
        return base.Groups(
            posterior,
            {name: xr.DataArray(values, dims=SAMPLE) for name, values in stats.items()},
            {_observed(process): _rows(process, labels)},
            _constants(process),
            diagnostics,
        )

    def log_likelihood(self, draws: Draws) -> xr.Dataset:
        """Return the log-likelihood of each label given the effects."""
        eta = _predictors(self.process, draws)
        each = [_log_likelihood(self.process, draws, eta[c], c) for c in range(len(eta))]
        return xr.Dataset({_observed(self.process): _rows(self.process, np.stack(each))})

    def posterior_predictive(self, draws: Draws, rng: np.random.Generator) -> xr.Dataset:
        """Draw new labels by the same annotators for the same items."""
        eta = _predictors(self.process, draws)
        each = [_new(self.process, draws, eta[c], c, rng) for c in range(len(eta))]
        return xr.Dataset({_observed(self.process): _rows(self.process, np.stack(each))})


class _Chain:
    """The state of a chain, and the trace of its draws."""

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
        """Advance by n sweeps."""
        warm = first < 0
        sweep.advance(
            self.family, self.state, self.data, self.par, self.priors, self.known, n, learning=warm,
            trace=None if warm else self.trace, first=first,
        )  # fmt: skip


def _start(process: Process, data: Crossed, rng: np.random.Generator) -> Parameters:
    """Return starting values that are spread more widely than the posterior, for r-hat."""
    n_gaps = max(len(process.labels) - 2, 0) if process.family == sweep.ORDINAL else 0
    par = sweep.start(
        data, process.family, n_gaps=n_gaps, anonymous=process.anonymous, n_sd=process.n_sd
    )
    unit = 1.0
    if process.family == sweep.GAUSSIAN:
        unit = float(data.value.std()) or float(process.numbers().sd[0, 1])
    for part in (par.sd_item, par.sd_annotator, *[par.sd] * (process.family == sweep.GAUSSIAN)):
        part *= unit * np.exp(rng.normal(0.0, 0.5, part.shape))
    par.mu[:] = unit * rng.normal(size=len(par.mu))
    return par


def _predictors(process: Process, draws: Draws) -> Floats:
    """Return the linear predictor of each label (chain, draw, annotation)."""
    eta = np.empty((*draws["mu"].shape[:2], len(process.value)))
    for chain in range(len(eta)):  # by chain: each summand is large
        eta[chain] = draws["mu"][chain][:, process.pool]
        eta[chain] += draws["item_effect"][chain][:, process.item, process.pool]
        if len(process.terms):
            eta[chain] += draws["coefficient"][chain] @ process.covariates.T
        if not process.anonymous:
            eta[chain] += draws["annotator_effect"][chain][:, process.member]
    return eta


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
    """Return the draws of all parameters except effects, with named dims."""
    return {
        parameter.name: _named(process, parameter, draws[parameter.name])
        for parameter in parameters_of(process, effects=False)
    }


def _named(process: Process, parameter: Parameter, values: Floats) -> xr.DataArray:
    """Return draws with named dims, without the pool's if there is one pool or one residual."""
    names, coords = parameter.dims, _coordinates(process)
    if process.pools is None or (parameter.name == "sigma" and process.n_sd == 1):
        names = tuple(dim for dim in parameter.dims if dim != POOL)
    if parameter.name == "annotator_effect" and process.pools is not None:
        members = values
        shape = (*values.shape[:2], len(coords[ANNOTATOR]), process.n_pools)
        values = np.full(shape, np.nan)
        values[..., process.member_annotator, process.member_pool] = members
    if values.ndim > 2 + len(names):
        values = values[..., 0]
    return xr.DataArray(values, dims=(*SAMPLE, *names), coords={dim: coords[dim] for dim in names})


def _coordinates(process: Process) -> dict[str, Any]:
    return {
        ITEM: process.annotations[ITEM].to_numpy(),
        ANNOTATOR: process.annotations[ANNOTATOR].to_numpy(),
        BOUNDARY: process.boundaries,
        TERM: process.terms,
        POOL: process.pools,
        other(POOL): process.pools,
    }


def _diagnosed(posterior: Mapping[str, xr.DataArray]) -> dict[str, Any]:
    """Return diagnostics over all parameters, in which each correlation counts once."""
    judged = dict(posterior)
    if "correlation" in judged:
        n_pools = judged["correlation"].sizes[POOL]
        above = xr.DataArray(np.triu(np.ones((n_pools, n_pools), dtype=bool), 1),
                             dims=(POOL, other(POOL)))  # fmt: skip
        judged["correlation"] = judged["correlation"].where(above)
    return convergence.diagnosed_parameters(judged)


def _constants(process: Process) -> dict[str, xr.DataArray]:
    """Return the design: codes, covariates, numbers of labels, and the residual if it is fixed."""
    n = np.zeros((process.annotations.sizes[ITEM], process.n_pools), dtype=np.int64)
    np.add.at(n, (process.item, process.pool), 1)
    coords: dict[str, Any] = {ITEM: process.annotations[ITEM].to_numpy()}
    dims: tuple[str, ...] = (ITEM,)
    if process.pools is not None:
        dims, coords = (ITEM, POOL), coords | {POOL: process.pools}
    counts = xr.DataArray(n if process.pools is not None else n[:, 0], dims=dims, coords=coords)
    out = {"n_labels_per_item": counts}
    out |= constants(process.terms, process.covariates, process.covariate_mean)
    for dim in (ITEM, ANNOTATOR, POOL):
        if f"{dim}_code" in process.annotations:
            # int32, as in pymc.Data, with which these codes are compared.
            codes = process.annotations[f"{dim}_code"].to_numpy().astype(np.int32)
            out[f"{dim}_code"] = xr.DataArray(codes, dims=ANNOTATION)
    if process.family != GAUSSIAN:
        out["sigma"] = xr.DataArray(LATENT_SD[process.family])
        coords = {LABEL: process.labels}
        out["label_value"] = xr.DataArray(process.label_value, dims=LABEL, coords=coords)
    return out


def _sd(process: Process, draws: Draws, chain: int) -> Floats:
    place = process.pool if process.n_sd > 1 else np.zeros_like(process.pool)
    return draws["sigma"][chain][:, place]


def _log_likelihood(process: Process, draws: Draws, eta: Floats, chain: int) -> Floats:
    """Return the log-likelihood of one chain (draw, annotation)."""
    if process.family == GAUSSIAN:
        sd = _sd(process, draws, chain)
        z = (process.value - eta) / sd
        return np.asarray(-0.5 * z * z - np.log(sd) - 0.5 * math.log(2.0 * math.pi))
    code = process.value.astype(np.int64)
    if process.family == BERNOULLI:
        return np.asarray(-np.logaddexp(0.0, np.where(code == 1, -eta, eta)))
    logs: Floats = ordinal_log_likelihood(eta, code, draws["cutpoint"][chain])
    return logs


def _new(process: Process, draws: Draws, eta: Floats, chain: int, rng: np.random.Generator) -> Any:
    """Draw new labels by the same annotators for the same items, for one chain."""
    if process.family == GAUSSIAN:
        return eta + _sd(process, draws, chain) * rng.standard_normal(eta.shape)
    if process.family == BERNOULLI:
        return (rng.logistic(size=eta.shape) < eta).astype(np.int64)
    latent = eta + rng.standard_normal(eta.shape)
    code = np.zeros(eta.shape, dtype=np.int64)
    for k in range(draws["cutpoint"].shape[-1]):  # a loop over the few cutpoints
        code += latent > draws["cutpoint"][chain][:, k, None]
    return code
