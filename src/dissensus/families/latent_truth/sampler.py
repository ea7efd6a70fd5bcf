"""Draw from the posterior of a latent truth: by the Gibbs kernel itself, or by PyMC's NUTS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.dims import SAMPLE
from dissensus.errors import ArgumentError
from dissensus.families.latent_truth.kernels import sweep as gibbs
from dissensus.families.latent_truth.kernels.data import (
    DIFFICULTY,
    HIERARCHICAL,
    MEAN,
    SHARED,
    SOURCE,
    SPREAD,
    Parameters,
    blank,
)
from dissensus.families.latent_truth.parameters import points
from dissensus.families.latent_truth.process import Process
from dissensus.kernels.random import started
from dissensus.kernels.types import Ints
from dissensus.kernels.votes import Votes
from dissensus.sampling import fitting

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
