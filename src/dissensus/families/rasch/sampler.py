"""Draw from the posterior of a Rasch model: by the Gibbs kernel, or by PyMC's NUTS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.dims import SAMPLE
from dissensus.errors import ArgumentError
from dissensus.families.crossed.kernels import sweep as crossed_sweep
from dissensus.families.crossed.kernels.data import Crossed
from dissensus.families.rasch.kernels import data as rasch_data
from dissensus.families.rasch.kernels import sweep, unknown
from dissensus.families.rasch.process import Process
from dissensus.kernels.random import started
from dissensus.kernels.types import Floats
from dissensus.sampling import fitting

_ROOM: Final = 4 * 2**30
"""Bytes of what is said of items to keep without being asked twice."""


class Draws(NamedTuple):
    """What a sampler brings back, chain and draw in front."""

    mean: Floats
    ability_spread: Floats
    difficulty_spread: Floats
    ability: Floats
    """(..., annotator)"""
    difficulty: Floats
    """(..., item); of size 0 if not kept."""
    prevalence: Floats
    level: Floats
    """(..., right, level): how often levels of confidence go with wrong, and with right labels."""
    truth: Floats
    """(..., item, label); of size 0 if not kept."""
    truth_mean: Floats
    """(item, label)"""
    each: Floats
    """(..., item): log-likelihood; of size 0 if not asked for."""
    log_likelihood: Floats
    stats: dict[str, Floats]
    inference: str


def require_room(what: Process, draws: int, chains: int) -> None:
    """Raise if keeping what is said of items would fill the memory."""
    n_items, n_people = len(what.items), len(what.annotators)
    size = 8.0 * draws * chains * n_items * (1 + len(what.labels) + n_people)
    if size > _ROOM:
        raise ArgumentError(
            "keep_items",
            expected=f"False, for {draws:,} draws in {chains} chains of the difficulty and truth "
            f"of {n_items:,} items, and of the accuracy of {n_people:,} annotators on each",
            found="True",
            hint=f"They would take {size / 2**30:.0f} GB. Abilities do not need them",
        )


def by_gibbs(
    what: Process, *, draws: int, tune: int, chains: int, rng: np.random.Generator,
    progressbar: bool, items: bool, each: bool,
    checkpoint: fitting.Checkpoint | None = None,
) -> Draws:  # fmt: skip
    """Draw all chains by the Gibbs kernel, each in a thread."""
    runs = [_Chain(what, one, draws, items, each) for one in rng.spawn(chains)]
    fitting.swept(runs, draws, tune, "Sampling abilities", progressbar, checkpoint)
    return _gathered(
        what,
        runs,
        {},
        "exact Gibbs sampling by slices along learned paths, the truth drawn with them",
    )


def by_nuts(
    what: Process, build: Callable[[], Any], *, draws: int, tune: int, chains: int,
    rng: np.random.Generator, progressbar: bool, items: bool, each: bool,
) -> Draws:  # fmt: skip
    """Let PyMC's NUTS sample the same model, and draw truths given its parameters."""
    tree = fitting.by_nuts(
        build(), draws=draws, tune=tune, chains=chains, random_seed=int(rng.integers(2**31)),
        progressbar=progressbar, target_accept=0.9,
    )  # fmt: skip
    found = tree["posterior"].to_dataset()
    chains, draws = (found.sizes[dim] for dim in SAMPLE)  # fewer, if interrupted
    runs = [_Chain(what, one, draws, items, each) for one in rng.spawn(chains)]
    for chain, run in enumerate(runs):
        run.replay({str(n): x.isel(chain=chain).to_numpy() for n, x in found.data_vars.items()})
    stats = tree["sample_stats"].to_dataset()
    return _gathered(
        what, runs, {n: stats[n].to_numpy() for n in ("diverging", "step_size") if n in stats},
        "NUTS on the PyMC model, the truth summed out",
    )  # fmt: skip


def _gathered(what: Process, runs: list[_Chain], stats: dict[str, Floats], inference: str) -> Draws:
    """Put the chains together, in the order of items."""
    data, wanted = runs[0].data, runs[0].trace
    traces = [run.trace for run in runs]
    items, each = wanted.item.shape[1] > 0, wanted.each.shape[1] > 0
    whole = sweep.Trace(*(np.stack(part) for part in zip(*traces, strict=True)))
    order = np.argsort(data.cell_item)  # one cell an item, as each has a label
    return Draws(
        mean=whole.mu + what.lead,
        ability_spread=whole.sd_annotator,
        difficulty_spread=whole.sd_item,
        ability=whole.mu[..., None] + what.lead + whole.annotator,
        difficulty=-whole.item[..., order] if items else whole.item,
        prevalence=np.exp(whole.log_prevalence),
        level=np.exp(whole.log_level),
        truth=whole.truth[:, :, order] if items else whole.truth,
        truth_mean=whole.truth_mean.mean(axis=0)[order],
        each=whole.each[..., order] if each else whole.each,
        log_likelihood=whole.log_likelihood,
        stats=stats,
        inference=inference,
    )


class _Chain:
    """One chain, with all it writes to."""

    scratch = frozenset({"known", "now", "summing"})

    def __init__(
        self, what: Process, rng: np.random.Generator, draws: int, items: bool, each: bool
    ) -> None:
        self.data: Crossed = what.data()
        self.lead = what.lead
        self.said = what.said(self.data)
        self.priors = what.numbers()
        self.par = crossed_sweep.start(self.data, crossed_sweep.BERNOULLI, n_gaps=0)
        for part in (self.par.sd_item, self.par.sd_annotator):
            part *= np.exp(rng.normal(0.0, 0.5, part.shape))
        guessing = -np.log(len(what.labels) - 1)
        self.par.mu[:] = guessing + rng.uniform(0.5, 3.0)  # labels then mean themselves
        self.known = crossed_sweep.learned(self.data, crossed_sweep.BERNOULLI, self.par)
        self.now = rasch_data.beginning(self.said, len(self.data.cell_pool))
        self.summing = unknown.room(self.said, len(self.data.cell_pool))
        self.state = started(rng.integers(2**64, dtype=np.uint64))
        self.trace = sweep.trace_room(self.said, self.data, draws, items=items, each=each)

    def advance(self, first: int, n: int) -> None:
        """Go through a lot of sweeps."""
        tuning = self.known.tuning if first < 0 else self.known.tuning._replace(rate=0.0)
        sweep.advance(
            self.state, self.data, self.said, self.par, self.priors, tuning, self.known.paths,
            self.now, self.summing, n, self.trace, max(first, -1),
        )  # fmt: skip

    def replay(self, values: dict[str, Floats]) -> None:
        """Keep what follows from draws of the parameters, by the names of the PyMC model."""
        n, item = len(values["mean_ability"]), self.data.cell_item
        level = np.empty((n, 2, 0))
        if "confidence_if_right" in values:
            both = values["confidence_if_wrong"], values["confidence_if_right"]
            level = np.log(np.stack(both, axis=1))
        nothing = np.empty((n, 0))
        many = sweep.Trace(
            mu=values["mean_ability"] - self.lead, sd_item=values["difficulty_spread"],
            sd_annotator=values["ability_spread"],
            annotator=values["ability"] - values["mean_ability"][:, None],
            item=np.ascontiguousarray(-values["difficulty"][:, item]),
            log_prevalence=np.log(values["prevalence"]), log_level=level,
            truth=np.empty((n, 0, 0)), truth_mean=nothing, each=nothing,
            log_likelihood=np.empty(n),
        )  # fmt: skip
        sweep.replay(
            self.state, self.data, self.said, many, self.par, self.now, self.summing, self.trace
        )
