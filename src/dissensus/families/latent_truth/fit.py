"""From draws of a latent truth to the DataTree that a fit returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.families.latent_truth.kernels.data import COMPLETE, DIFFICULTY
from dissensus.families.latent_truth.label_order import label_order
from dissensus.families.latent_truth.parameters import parameters
from dissensus.families.latent_truth.process import Process
from dissensus.families.latent_truth.sampler import Draws, Wanted, by_gibbs, by_nuts
from dissensus.registry import check_flags
from dissensus.sampling import convergence, fitting
from dissensus.sampling.design import near_guessing

_MOST: Final = 500
"""Numbers in matrices that are judged one by one; of more that would take longer than sampling."""


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
    keep_items: bool,
    log_likelihood: bool,
    posterior_predictive: bool,
    checkpoint: Any,
    hyper: Mapping[str, Any],
) -> xr.DataTree:
    """Sample, and put the draws under their names."""
    chains, draws = fitting.sample_shape(draws, chains)
    tune = fitting.whole("tune", tune, least=0)
    check_flags(
        keep_items=keep_items, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive,
    )  # fmt: skip
    kept, rng = fitting.begun(
        checkpoint, model=what.model, annotations=what.annotations, random_seed=random_seed,
        sampler=sampler, draws=draws, tune=tune, chains=chains,
    )  # fmt: skip
    wanted = Wanted(keep_items, log_likelihood, posterior_predictive)
    run: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains, "rng": rng}
    run["progressbar"] = progressbar
    if sampler == "nuts":
        found = by_nuts(what, wanted, build, **run)
    else:
        found = by_gibbs(what, wanted, **run, checkpoint=kept)
    posterior = parameters(what, found.trace)
    stats = {name: xr.DataArray(x, dims=SAMPLE) for name, x in found.stats.items()}
    diagnostics = _diagnosed(what, posterior) | convergence.divergences(stats)
    diagnostics |= near_guessing(posterior["annotator_accuracy"], what.form.n_labels)
    if what.form.rows and what.form.pooling != COMPLETE:  # one matrix keeps its names by its prior
        people = found.trace.confusion[..., : what.form.first_system, :, :]
        diagnostics |= label_order(what, people)
    if keep_items:
        posterior |= _of_items(what, found)
    tree = fitting.fitted(
        what.model,
        posterior=posterior,
        sample_stats=stats | {"log_likelihood": _sampled(found.trace.log_likelihood)},
        observed_data=_observed(what),
        constant_data=_constants(what, found),
        hyper=hyper,
        inference=found.inference,
        diagnostics=diagnostics,
        asked=(chains, draws),
    )
    if log_likelihood:
        each = found.trace.each[..., found.pattern]
        group = xr.Dataset({"labels": _of(what, each, ITEM)})
        fitting.attach(tree, "log_likelihood", group)
    if posterior_predictive:
        fitting.attach(tree, "posterior_predictive", _replicates(what, found))
    return tree


def _sampled(values: Any) -> xr.DataArray:
    return xr.DataArray(values, dims=SAMPLE)


def _of(what: Process, values: Any, *dims: str) -> xr.DataArray:
    names = {ITEM: what.items, LABEL: what.labels}
    return xr.DataArray(values, dims=(*SAMPLE, *dims), coords={dim: names[dim] for dim in dims})


def _of_items(what: Process, found: Draws) -> dict[str, xr.DataArray]:
    """Name what is said of items."""
    out = {"truth": _of(what, found.trace.truth[:, :, found.pattern], ITEM, LABEL)}
    if what.form.difficulty:
        spread = found.trace.number[..., DIFFICULTY]
        hard = -spread[..., None] * found.trace.ease[:, :, found.pattern]
        out["item_difficulty"] = _of(what, hard, ITEM)
    return out


def _diagnosed(what: Process, posterior: Mapping[str, xr.DataArray]) -> dict[str, Any]:
    """Judge the chains by all parameters at once, and warn if they are poor."""
    judged = dict(posterior)
    if "confusion" in judged and (what.shared or judged["confusion"][0, 0].size > _MOST):
        del judged["confusion"]  # judged by what matrices have in common, and by accuracies
    return convergence.diagnosed_parameters(judged)


def _observed(what: Process) -> dict[str, xr.DataArray]:
    """Return what was said, in codes of labels."""
    given = what.annotations["label_code"].to_numpy().astype(np.int64)
    kind = {"kind": what.annotations.attrs["kind"]}
    out = {"label_code": xr.DataArray(given, dims=ANNOTATION, attrs=kind)}
    if (what.known >= 0).any():
        out["truth_code"] = xr.DataArray(what.known, dims=ITEM, coords={ITEM: what.items})
    if len(what.systems):
        out["system_label_code"] = _answers(what, what.answers, ())
    return out


def _answers(what: Process, codes: Any, lead: tuple[str, ...]) -> xr.DataArray:
    coords = {ITEM: what.items, SYSTEM: what.systems}
    return xr.DataArray(codes, dims=(*lead, ITEM, SYSTEM), coords=coords)


def _constants(what: Process, found: Draws) -> dict[str, xr.DataArray]:
    """Return who said it, and what is said of items on average."""
    out = {
        f"{dim}_code": xr.DataArray(
            what.annotations[f"{dim}_code"].to_numpy().astype(np.int64), dims=ANNOTATION
        )
        for dim in ("item", "annotator")
    }
    out["n_labels_given"] = xr.DataArray(
        np.bincount(out["annotator_code"], minlength=len(what.annotators)), dims=ANNOTATOR,
        coords={ANNOTATOR: what.annotators},
    )  # fmt: skip
    mean = found.trace.truth_mean.mean(axis=0)[found.pattern]
    out["truth_mean"] = xr.DataArray(
        mean, dims=(ITEM, LABEL), coords={ITEM: what.items, LABEL: what.labels}
    )
    return out


def _replicates(what: Process, found: Draws) -> xr.Dataset:
    """Give labels drawn anew back to annotators and systems."""
    drawn = found.trace.replicate
    values = np.empty_like(drawn)
    values[..., found.order] = drawn
    n = what.annotations.sizes[ANNOTATION]
    out = {"label_code": xr.DataArray(values[..., :n], dims=(*SAMPLE, ANNOTATION))}
    if what.form.n_voices > what.form.first_system:
        who, which = np.nonzero(what.answers.T >= 0)
        codes = np.full((*values.shape[:2], *what.answers.shape), -1, dtype=values.dtype)
        codes[..., which, who] = values[..., n:]
        out["system_label_code"] = _answers(what, codes, (CHAIN, DRAW))
    return xr.Dataset(out)
