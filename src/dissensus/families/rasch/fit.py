"""From draws of a Rasch model to the DataTree that a fit returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit

from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, LEVEL, SAMPLE
from dissensus.families.rasch.confidence import warn_of_shared_confidence
from dissensus.families.rasch.process import Process
from dissensus.families.rasch.sampler import Draws, by_gibbs, by_nuts, require_room
from dissensus.kernels.types import UNKNOWN
from dissensus.registry import check_flags
from dissensus.sampling import convergence, fitting
from dissensus.sampling.design import near_guessing


def fitted(
    what: Process, build: Callable[[], Any], *, draws: int, tune: int, chains: int,
    random_seed: Any, progressbar: bool, sampler: str, keep_items: bool, log_likelihood: bool,
    posterior_predictive: bool, checkpoint: Any, hyper: Mapping[str, Any],
) -> xr.DataTree:  # fmt: skip
    """Sample, and put the draws under their names."""
    chains, draws = fitting.sample_shape(draws, chains)
    tune = fitting.whole("tune", tune, least=0)
    check_flags(
        keep_items=keep_items, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive,
    )  # fmt: skip
    items = keep_items or posterior_predictive
    if items:
        require_room(what, draws, chains)
    kept, rng = fitting.begun(
        checkpoint, model="rasch", annotations=what.annotations, random_seed=random_seed,
        sampler=sampler, draws=draws, tune=tune, chains=chains,
    )  # fmt: skip
    run: dict[str, Any] = {
        "draws": draws, "tune": tune, "chains": chains, "rng": rng, "progressbar": progressbar,
        "items": items, "each": log_likelihood,
    }  # fmt: skip
    if sampler == "nuts":
        found = by_nuts(what, build, **run)
    else:
        found = by_gibbs(what, **run, checkpoint=kept)
    named = _Named(what)
    posterior = _parameters(named, found)
    stats = {name: named(values) for name, values in found.stats.items()}
    diagnostics = convergence.diagnosed_parameters(posterior) | convergence.divergences(stats)
    if not what.all_known:
        knows = expit(posterior["mean_ability"].to_numpy() - what.lead)
        typical = named(what.floor + (1.0 - what.floor) * knows)
        diagnostics |= near_guessing(typical, len(what.labels))
    if keep_items:
        posterior |= _of_items(named, found)
    tree = fitting.fitted(
        "rasch",
        posterior=posterior,
        sample_stats=stats | {"log_likelihood": named(found.log_likelihood)},
        observed_data=_observed(what),
        constant_data=_constants(what, found),
        hyper=hyper,
        inference=found.inference,
        diagnostics=diagnostics,
        asked=(chains, draws),
    )
    if len(what.levels) and not what.all_known:
        warn_of_shared_confidence(what, found.truth_mean, found.level.mean(axis=(0, 1)))
    if log_likelihood:
        fitting.attach(tree, "log_likelihood", xr.Dataset({"labels": named(found.each, ITEM)}))
    if posterior_predictive:
        drawn = _replicates(what, found, rng)
        group = xr.Dataset({"label_code": ((*SAMPLE, ANNOTATION), drawn)})
        fitting.attach(tree, "posterior_predictive", group)
    return tree


class _Named:
    """Gives draws the names of their dims."""

    def __init__(self, what: Process) -> None:
        self.what = what
        self.coords = {
            ITEM: what.items, ANNOTATOR: what.annotators, LABEL: what.labels, LEVEL: what.levels,
        }  # fmt: skip

    def __call__(self, values: Any, *dims: str) -> xr.DataArray:
        coords = {dim: self.coords[dim] for dim in dims}
        return xr.DataArray(values, dims=(*SAMPLE, *dims), coords=coords)


def _parameters(named: _Named, found: Draws) -> dict[str, xr.DataArray]:
    """Name what does not grow with items."""
    out = {
        "mean_ability": named(found.mean), "ability_spread": named(found.ability_spread),
        "difficulty_spread": named(found.difficulty_spread),
        "ability": named(found.ability, ANNOTATOR), "prevalence": named(found.prevalence, LABEL),
    }  # fmt: skip
    if found.level.shape[-1]:
        out["confidence_if_wrong"] = named(found.level[:, :, 0], LEVEL)
        out["confidence_if_right"] = named(found.level[:, :, 1], LEVEL)
    return out


def _of_items(named: _Named, found: Draws) -> dict[str, xr.DataArray]:
    """Name difficulties and truths, and how often each annotator is right about each item."""
    difficulty = named(found.difficulty, ITEM)
    accuracy = named(found.ability, ANNOTATOR) - difficulty
    values = accuracy.to_numpy()
    values -= named.what.lead  # all in place: it may be large
    expit(values, out=values)
    values *= 1.0 - named.what.floor
    values += named.what.floor
    truth = named(found.truth, ITEM, LABEL)
    return {"difficulty": difficulty, "accuracy": accuracy, "truth": truth}


def _observed(what: Process) -> dict[str, xr.DataArray]:
    """Return what was said, and what is known to be true, in codes of labels."""
    kind = {"kind": what.annotations.attrs["kind"]}
    out = {"label_code": xr.DataArray(what.label, dims=ANNOTATION, attrs=kind)}
    if (what.truth != UNKNOWN).any():
        out["truth_code"] = xr.DataArray(what.truth, dims=ITEM, coords={ITEM: what.items})
    if len(what.levels):
        out["confidence"] = xr.DataArray(what.levels[what.level], dims=ANNOTATION)
    return out


def _constants(what: Process, found: Draws) -> dict[str, xr.DataArray]:
    """Return who said it of what, and how probable each label is to be true."""
    return {
        "item_code": xr.DataArray(what.item, dims=ANNOTATION),
        "annotator_code": xr.DataArray(what.annotator, dims=ANNOTATION),
        "truth_mean": xr.DataArray(
            found.truth_mean, dims=(ITEM, LABEL), coords={ITEM: what.items, LABEL: what.labels}
        ),
    }


def _replicates(what: Process, found: Draws, rng: np.random.Generator) -> Any:
    """Draw labels anew: by the same annotators, of the same items, whose truth is drawn too."""
    n = len(what.labels)
    eta = found.ability[..., what.annotator] - found.difficulty[..., what.item]
    edges = found.truth.cumsum(axis=-1)
    truth = (rng.random(edges.shape[:-1])[..., None] > edges[..., :-1]).sum(axis=-1)
    knows = rng.logistic(size=eta.shape) < eta - what.lead
    away = rng.integers(0 if what.guessing else 1, n, size=eta.shape)
    of_label = truth[..., what.item]
    return np.where(knows, of_label, (of_label + away) % n)
