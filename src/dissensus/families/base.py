"""Model fits: the parts that each family defines, and the parts shared by all families.

A family subclasses `Fit`, which checks the options, makes chains and names draws. `run` samples by
the Gibbs kernel or by NUTS, and puts the draws into a DataTree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, SAMPLE
from dissensus.errors import ArgumentError
from dissensus.kernels.types import UNKNOWN, Array, Floats, Ints
from dissensus.sampling import convergence, fitting
from dissensus.sampling.checkpoints import Chain

ROOM = 4 * 2**30
"""Maximum size, in bytes, of draws that grow with the items, and of confusion matrices."""
_STATS = ("lp", "diverging", "step_size")
"""The statistics of NUTS that a fit keeps."""


@dataclass(frozen=True)
class FitOptions:
    """The arguments of ``fit`` that are not settings of the model."""

    draws: int = 1000
    tune: int = 500
    chains: int = 4
    random_seed: Any = None
    progressbar: bool = True
    sampler: str = "gibbs"
    keep: bool = True  # Whether to keep the draws that grow with the number of items
    log_likelihood: bool = False
    posterior_predictive: bool = False
    checkpoint: Any = None

    def checked(self, keep: str) -> FitOptions:
        """Return checked options, or raise; ``keep`` is the public name of `FitOptions.keep`."""
        chains, draws = arguments.sample_shape(self.draws, self.chains)
        arguments.flags(
            **{keep: self.keep},
            log_likelihood=self.log_likelihood,
            posterior_predictive=self.posterior_predictive,
        )
        tune = arguments.whole("tune", self.tune, least=0)
        return replace(self, draws=draws, chains=chains, tune=tune)


class Groups(NamedTuple):
    """The variables of each group of a fit, and its convergence diagnostics."""

    posterior: Mapping[str, xr.DataArray]
    sample_stats: Mapping[str, xr.DataArray]
    observed_data: Mapping[str, xr.DataArray]
    constant_data: Mapping[str, xr.DataArray]
    diagnostics: Mapping[str, Any]


class Fit[Process: Any, Draws](ABC):
    """The part of a fit that a family defines, for a checked process and the options of a call."""

    title: ClassVar[str]
    """The text beside the progress bar."""
    keeps: ClassVar[str] = "keep_items"
    """The public name of `FitOptions.keep`."""
    nuts: ClassVar[str] = "NUTS on the PyMC model"
    target_accept: ClassVar[float] = 0.8

    def __init__(self, model: str, process: Process, options: FitOptions) -> None:
        self.model, self.process = model, process
        self.options = options.checked(self.keeps)

    @property
    def annotations(self) -> xr.Dataset:
        """The annotations of the process."""
        data: xr.Dataset = self.process.annotations
        return data

    @property
    @abstractmethod
    def inference(self) -> str:
        """How the Gibbs sampler draws, in words."""

    @abstractmethod
    def require_room(self) -> None:
        """Raise if the draws that grow with items or respondents would take more than `ROOM`."""

    @abstractmethod
    def chain(self, rng: np.random.Generator, draws: int) -> Chain:
        """Return a chain at its starting values, with memory allocated for its draws."""

    def chains(self, rng: np.random.Generator) -> list[Chain]:
        """Return all chains at their starting values, each with its own random stream."""
        return [self.chain(stream, self.options.draws) for stream in rng.spawn(self.options.chains)]

    @abstractmethod
    def gathered(self, chains: Sequence[Any], rng: np.random.Generator) -> Draws:
        """Return the draws of all chains; the first two axes are chain and draw."""

    def replayed(self, posterior: xr.Dataset, rng: np.random.Generator) -> Draws:
        """Return draws of NUTS on the PyMC model in the form of the Gibbs sampler's draws."""
        n_chains, n_draws = (posterior.sizes[dim] for dim in SAMPLE)  # fewer if interrupted
        chains: list[Any] = [self.chain(stream, n_draws) for stream in rng.spawn(n_chains)]
        for place, chain in enumerate(chains):
            chain.replay({
                str(name): values.isel(chain=place).to_numpy()
                for name, values in posterior.data_vars.items()
            })  # fmt: skip
        return self.gathered(chains, rng)

    @abstractmethod
    def groups(self, draws: Draws, stats: Mapping[str, Array]) -> Groups:
        """Return the groups of the fit: named draws, data and convergence diagnostics."""

    def renamed(self, posterior: xr.Dataset) -> Mapping[str, xr.DataArray] | None:  # noqa: ARG002
        """Return draws of the PyMC model's variables that the posterior has in another form.

        Return None if the posterior and the PyMC model have different variables.
        """
        return {}

    @abstractmethod
    def log_likelihood(self, draws: Draws) -> xr.Dataset:
        """Return the group ``log_likelihood``."""

    @abstractmethod
    def posterior_predictive(self, draws: Draws, rng: np.random.Generator) -> xr.Dataset:
        """Return the group ``posterior_predictive``."""


def run(fit: Fit[Any, Any], build: Callable[[], Any], hyper: Mapping[str, Any]) -> xr.DataTree:
    """Sample a posterior and return the fit.

    ``build`` returns the PyMC model, for ``sampler="nuts"`` and for ``log_prior``; ``hyper``
    are the settings of the model, kept as attributes ``hyper_*``.
    """
    options = fit.options
    fit.require_room()
    checkpoint, rng = fitting.begun(
        options.checkpoint, model=fit.model, annotations=fit.annotations,
        random_seed=options.random_seed, sampler=options.sampler, draws=options.draws,
        tune=options.tune, chains=options.chains,
    )  # fmt: skip
    if options.sampler == "nuts":
        draws, stats = _by_nuts(fit, build(), rng)
    else:
        chains, stats = fit.chains(rng), {}
        title, show = fit.title, options.progressbar
        fitting.swept(chains, options.draws, options.tune, title, show, checkpoint)
        draws = fit.gathered(chains, rng)
    named = fit.groups(draws, stats)
    diagnostics = {**named.diagnostics, **convergence.divergences(named.sample_stats)}
    tree = fitting.fitted(
        fit.model,
        posterior=named.posterior,
        sample_stats=named.sample_stats,
        observed_data=named.observed_data,
        constant_data=named.constant_data,
        hyper=hyper,
        inference=fit.nuts if options.sampler == "nuts" else fit.inference,
        diagnostics=diagnostics,
        requested=(options.chains, options.draws),
    )
    if options.log_likelihood:
        fitting.attach(tree, "log_likelihood", fit.log_likelihood(draws))
        renamed = fit.renamed(tree["posterior"].to_dataset())
        if renamed is not None:
            fitting.attach_log_prior(tree, build, renamed)
    if options.posterior_predictive:
        fitting.attach(tree, "posterior_predictive", fit.posterior_predictive(draws, rng))
    return tree


def by_gibbs(fit: Fit[Any, Any], rng: np.random.Generator) -> Any:
    """Return draws of the Gibbs kernel, as `Fit.gathered` returns them."""
    chains, options = fit.chains(rng), fit.options
    fitting.swept(chains, options.draws, options.tune, fit.title, options.progressbar)
    return fit.gathered(chains, rng)


def _by_nuts(
    fit: Fit[Any, Any], model: Any, rng: np.random.Generator
) -> tuple[Any, dict[str, Array]]:
    """Sample the PyMC model by NUTS; return the draws and the sampler's statistics."""
    from pymc.model.transform.optimization import freeze_dims_and_data

    options = fit.options
    # Frozen data make likelihoods faster. `replayed` adds the items' truth to the draws.
    frozen = freeze_dims_and_data(model)
    names = [rv.name for rv in frozen.unobserved_RVs if rv.name != "truth"]
    tree = fitting.by_nuts(
        frozen, var_names=names, draws=options.draws, tune=options.tune, chains=options.chains,
        random_seed=int(rng.integers(2**31)), progressbar=options.progressbar,
        target_accept=fit.target_accept,
    )  # fmt: skip
    stats = tree["sample_stats"].to_dataset()
    draws = fit.replayed(tree["posterior"].to_dataset(), rng)
    return draws, {name: stats[name].to_numpy() for name in _STATS if name in stats}


def stacked(chains: Sequence[Any]) -> Any:
    """Stack the traces of all chains; the first axis is the chain."""
    traces = [chain.trace for chain in chains]
    return type(traces[0])(*(np.stack(part) for part in zip(*traces, strict=True)))


def observed_labels(process: Any, known: Ints) -> dict[str, xr.DataArray]:
    """Return label codes (annotation) and, if some true labels are known, their codes (item)."""
    ann = process.annotations
    codes, kind = ann["label_code"].to_numpy().astype(np.int64), {"kind": ann.attrs["kind"]}
    out = {"label_code": xr.DataArray(codes, dims=ANNOTATION, attrs=kind)}
    if (known != UNKNOWN).any():
        out["truth_code"] = xr.DataArray(known, dims=ITEM, coords={ITEM: process.items})
    return out


def truth_constants(process: Any, truth_mean: Floats) -> dict[str, xr.DataArray]:
    """Return item and annotator codes (annotation), and mean truth probability (item, label)."""
    out = {}
    for dim in (ITEM, ANNOTATOR):
        codes = process.annotations[f"{dim}_code"].to_numpy().astype(np.int64)
        out[f"{dim}_code"] = xr.DataArray(codes, dims=ANNOTATION)
    names = {ITEM: process.items, LABEL: process.labels}
    out["truth_mean"] = xr.DataArray(truth_mean, coords=names, dims=(ITEM, LABEL))
    return out


def require_room(fit: Fit[Any, Any], n_bytes: float, of: str, remedy: str) -> None:
    """Raise if the draws that grow with the items would take more than 4 GB.

    The message contains ``of`` (the quantities drawn) and ``remedy`` (what does not need them).
    """
    if n_bytes > ROOM:
        options = fit.options
        raise ArgumentError(
            fit.keeps,
            expected=f"False, for {options.draws:,} draws in {options.chains} chains of {of}",
            found="True",
            hint=f"The draws would take {n_bytes / 2**30:.0f} GB. {remedy}",
        )


def model_of(name: str, part: str = "_model") -> Callable[..., Any]:
    """Return a function of a model's module, by default the function that writes the PyMC model.

    The module is imported by name, because models are a layer above this package.
    """
    write: Callable[..., Any] = getattr(import_module(f"dissensus.models.{name}"), part)
    return write
