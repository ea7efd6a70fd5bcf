"""From draws of a latent truth to the DataTree that a fit returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, DesignWarning, shown, warn_caller
from dissensus.families.latent_truth.kernels import sweep as gibbs
from dissensus.families.latent_truth.kernels.data import (
    COMPLETE,
    DIFFICULTY,
    HIERARCHICAL,
    MEAN,
    SHARED,
    SOURCE,
    SPREAD,
    Parameters,
    blank,
)
from dissensus.families.latent_truth.parameters import parameters, points
from dissensus.families.latent_truth.process import Process
from dissensus.kernels.random import started
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.votes import Votes
from dissensus.sampling import convergence, fitting
from dissensus.sampling.design import near_guessing

# Draw from the posterior of a latent truth: by the Gibbs kernel itself, or by PyMC's NUTS.


_ROOM: Final = 4 * 2**30
"""Bytes of draws to keep without being asked twice."""


class Wanted(NamedTuple):
    """What is to be kept of each draw."""

    items: bool
    each: bool
    """The log-likelihood of each item."""
    replicates: bool


class Draws(NamedTuple):
    """What a sampler brings back, chain and draw in front."""

    trace: gibbs.Trace
    pattern: Ints
    """(item)"""
    order: Ints
    """Where each label drawn anew stands among those given."""
    stats: dict[str, Any]
    inference: str


def require_room(what: Process, votes: Votes, wanted: Wanted, draws: int, chains: int) -> None:
    """Raise if keeping what was asked for would fill the memory."""
    n = what.form.n_labels
    n_items = len(what.items)
    of_items = 8.0 * draws * chains * n_items * n * (1.0 + len(votes.n_items) / n_items)
    of_voices = 8.0 * draws * chains * what.form.n_voices * n * n * what.form.rows
    if wanted.items and of_items > _ROOM:
        raise ArgumentError(
            "keep_items",
            expected=f"False, for {draws:,} draws in {chains} chains of the truth of "
            f"{n_items:,} items with {n} labels",
            found="True",
            hint=f"They would take {of_items / 2**30:.0f} GB. Accuracies do not need them, and "
            "the mean over draws is kept in constant_data",
        )
    if of_voices > _ROOM:
        raise ArgumentError(
            "draws",
            expected=f"fewer than {draws:,} in {chains} chains, of the confusion matrices of "
            f"{what.form.n_voices:,} voices with {n} labels",
            found=f"{of_voices / 2**30:.0f} GB",
        )


def by_gibbs(
    what: Process, wanted: Wanted, *, draws: int, tune: int, chains: int,
    rng: np.random.Generator, progressbar: bool, checkpoint: fitting.Checkpoint | None = None,
) -> Draws:  # fmt: skip
    """Draw all chains by the Gibbs kernel, each in a thread."""
    votes, pattern = what.votes()
    require_room(what, votes, wanted, draws, chains)
    runs = [_Chain(what, votes, pattern, one, draws, wanted) for one in rng.spawn(chains)]
    fitting.swept(runs, draws, tune, "Sampling the truth", progressbar, checkpoint)
    return Draws(
        _stacked([run.trace for run in runs]), pattern, runs[0].order, {},
        "exact Gibbs sampling, items with the same labels taken together",
    )  # fmt: skip


def _stacked(traces: list[gibbs.Trace]) -> gibbs.Trace:
    return gibbs.Trace(*(np.stack(part) for part in zip(*traces, strict=True)))


class _Chain:
    """One chain, with all it writes to."""

    scratch = frozenset({"work", "after"})

    def __init__(
        self, what: Process, votes: Votes, pattern: Ints, rng: np.random.Generator, draws: int,
        wanted: Wanted,
    ) -> None:  # fmt: skip
        self.what, self.judging = what, what.judging(votes, pattern)
        if self.judging is not None and self.judging.n_given.max() > 1:
            # A matrix that had learned from an item's truth would show no error there. Of items
            # with one label each nothing else tells how good anybody is.
            votes = votes._replace(known=votes.known[:0])
        self.votes = votes
        self.order = np.argsort(what.item, kind="stable")
        n_rows = len(what.item) if wanted.replicates else 0
        self.rows = what.item[self.order], what.voice[self.order]
        self.work = gibbs.work_room(votes, what.form, what.ease)
        alone = what.form.evidence < what.form.n_voices
        self.after = gibbs.work_room(votes, what.form, what.ease) if alone else self.work
        self.trace = gibbs.trace_room(
            votes, what.form, draws, items=wanted.items, each=wanted.each, n_rows=n_rows,
            n_judged=None if self.judging is None else len(what.systems),
        )  # fmt: skip
        self.par = start(what, rng)
        self.state = started(rng.integers(2**64, dtype=np.uint64))

    def advance(self, first: int, n: int) -> None:
        """Go through a lot of sweeps."""
        gibbs.advance(
            self.state, self.votes, self.what.form, self.what.ease, self.par, self.what.priors,
            self.work, self.after, self.trace, *self.rows, n, max(first, -1), self.judging,
        )  # fmt: skip

    def replay(self, many: Parameters) -> None:
        """Keep what follows from given parameters, draw by draw."""
        gibbs.replay(
            self.state, self.votes, self.what.form, self.what.ease, many, self.par,
            self.what.priors, self.work, self.after, self.trace, *self.rows, self.judging,
        )  # fmt: skip


def start(what: Process, rng: np.random.Generator) -> Parameters:
    """Start with annotators who are better than guessing, in each chain otherwise.

    Every label then means itself, and no system knows better than they. A chain that started where
    labels had changed places, or where a system's errors were the truth, would stay there: with
    many items nothing leads from one such place to another.
    """
    par = blank(what.form)
    chance, people = 1.0 / what.form.n_labels, what.form.first_system
    better = rng.uniform(0.3, 0.9, len(par.skill))
    better[people:] *= better[:people].min(initial=0.9)
    accuracy = chance + (1.0 - chance) * better
    par.skill[:] = np.log(accuracy / (1 - accuracy))[:, None]
    first = par.skill[:people]
    if not what.form.own_accuracy and not what.form.rows:
        first[:] = first[0]
    par.number[MEAN] = first.mean()
    par.number[SPREAD] = rng.uniform(0.2, 1.0)
    par.number[DIFFICULTY] *= rng.uniform(0.5, 2.0)
    par.number[[SHARED, SOURCE]] = rng.normal(0.0, 1.0, 2)
    diagonal = np.eye(what.form.n_labels)
    par.log_population[:] = np.log(0.4 * diagonal + 0.6 * chance)
    par.alike[:] = rng.uniform(3.0, 15.0, len(par.alike))
    if what.form.pooling == HIERARCHICAL:
        par.level[:people] = par.number[SPREAD] * rng.standard_normal(people)
    return par


def by_nuts(
    what: Process, wanted: Wanted, build: Callable[[], Any], *, draws: int, tune: int, chains: int,
    rng: np.random.Generator, progressbar: bool,
) -> Draws:  # fmt: skip
    """Let PyMC's NUTS sample the same model, and draw truths given its parameters."""
    votes, pattern = what.votes()
    require_room(what, votes, wanted, draws, chains)
    tree = fitting.by_nuts(
        build(), draws=draws, tune=tune, chains=chains, random_seed=int(rng.integers(2**31)),
        progressbar=progressbar, target_accept=0.95,
    )  # fmt: skip
    found = tree["posterior"].to_dataset()
    chains, draws = (found.sizes[dim] for dim in SAMPLE)  # fewer, if interrupted
    runs = [_Chain(what, votes, pattern, one, draws, wanted) for one in rng.spawn(chains)]
    for chain, run in enumerate(runs):
        values = {str(n): x.isel(chain=chain).to_numpy() for n, x in found.data_vars.items()}
        run.replay(points(what.form, values))
    stats = tree["sample_stats"].to_dataset()
    return Draws(
        _stacked([run.trace for run in runs]), pattern, runs[0].order,
        {n: stats[n].to_numpy() for n in ("diverging", "step_size") if n in stats},
        "NUTS on the PyMC model, the truth summed out",
    )  # fmt: skip


# Whether labels mean what their names say: the likelihood alone would let them change places.


_SELDOM: Final = 0.05
"""Of the draws: labels that have changed places in more of them mix two posteriors."""
_MOST_LOST: Final = 0.5
"""Of the draws: a label that is called by another name in more of them has lost its own."""


def label_order(what: Process, confusion: Floats) -> dict[str, Any]:
    """Say how surely annotators call each label by its own name more often than by any other.

    Parameters
    ----------
    what : Process
    confusion : array (chain, draw, annotator's voice, label, response)

    Returns
    -------
    dict
        Attributes: ``label_kept_min``, the smallest posterior probability of it,
        ``label_kept_min_label``, and ``labels_exchanged``: the share of draws in which labels have
        changed places with each other, each still having a name of its own.

    Warns
    -----
    DissensusWarning
        Naming labels for which it is below a half; or if chains go to and fro between places of
        labels.
    """
    mean = confusion.mean(axis=2)
    kept = (mean.argmax(axis=-1) == np.arange(mean.shape[-1])).mean(axis=(0, 1))
    lost = np.flatnonzero(kept < 1 - _MOST_LOST)
    if len(lost):
        others = np.where(np.eye(mean.shape[-1], dtype=bool), -1.0, mean.mean(axis=(0, 1)))
        other = others.argmax(axis=-1)  # its own name may lead on average, if seldom in a draw
        pairs = [f"{what.labels[one]!s} (called {what.labels[other[one]]!s})" for one in lost]
        warn_caller(
            f"Annotators mostly call these labels by another name, says the posterior: "
            f"{shown(pairs)}. Either they do, or labels have changed places, or nobody can tell "
            "because the label is hardly ever true. Look at `confusion` and `prevalence`, or use "
            'symmetric_confusion, or pooling="complete".'
        )
    return _exchanged(mean.argmax(axis=-1), warned=bool(len(lost))) | {
        "label_kept_min": float(kept.min()),
        "label_kept_min_label": str(what.labels[kept.argmin()]),
    }


def _exchanged(leading: Any, *, warned: bool) -> dict[str, Any]:
    """Say how often labels have changed places: (chain, draw, label) of names.

    Chains that jump between such places have a fine r-hat, and means over both say nothing.
    """
    own = np.arange(leading.shape[-1])
    whole = (np.sort(leading, axis=-1) == own).all(axis=-1)
    other = whole & (leading != own).any(axis=-1)
    share = float(other.mean())
    if share > _SELDOM and not warned:
        chains = ", ".join(f"{one:.0%}" for one in other.mean(axis=1))
        warn_caller(
            f"In {share:.0%} of the draws (chain by chain {chains}) labels have changed places: "
            "what one draw calls by one name, another calls by another, and means and intervals "
            'mix the two. Do not report them; use symmetric_confusion, or pooling="complete", '
            "or find the truth of some items.",
            DesignWarning,
        )
    return {"labels_exchanged": share}


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
    chains, draws = arguments.sample_shape(draws, chains)
    tune = arguments.whole("tune", tune, least=0)
    arguments.flags(
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
