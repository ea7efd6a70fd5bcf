"""Draw from the posterior of crossed effects: by the Gibbs kernel itself, or by PyMC's NUTS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.errors import ArgumentError
from dissensus.families.crossed.kernels import sweep as gibbs
from dissensus.families.crossed.kernels.covariance import all_items
from dissensus.families.crossed.kernels.data import Crossed, Parameters
from dissensus.families.crossed.process import Process
from dissensus.kernels.types import Floats
from dissensus.sampling import fitting

_ROOM: Final = 4 * 2**30
"""Bytes of effects to keep without being asked twice."""


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
    stats: dict[str, Floats]
    inference: str


def require_room(what: Process, draws: int, chains: int) -> None:
    """Raise if keeping all effects would fill the memory."""
    n_items = what.annotations.sizes["item"]
    size = 8.0 * draws * chains * (n_items * what.n_pools + len(what.member_pool))
    if size > _ROOM:
        raise ArgumentError(
            "keep_effects",
            expected=f"False, for {draws:,} draws in {chains} chains of the effects of {n_items:,} "
            f"items and {len(what.member_annotator):,} annotators",
            found="True",
            hint=f"They would take {size / 2**30:.0f} GB. Metrics do not need them",
        )


def by_gibbs(
    what: Process, *, draws: int, tune: int, chains: int, rng: np.random.Generator,
    progressbar: bool, effects: bool,
    checkpoint: fitting.Checkpoint | None = None,
) -> Draws:  # fmt: skip
    """Draw all chains by the Gibbs kernel, each in a thread."""
    data = what.data()
    runs = [_Chain(what, data, one, draws, effects) for one in rng.spawn(chains)]
    fitting.swept(runs, draws, tune, "Sampling effects", progressbar, checkpoint)
    traces = [run.trace for run in runs]
    whole = gibbs.Trace(*(np.stack(part) for part in zip(*traces, strict=True)))
    del traces, runs
    return Draws(
        mu=whole.mu + what.centre,
        sigma_item=whole.sd_item,
        sigma_annotator=whole.sd_annotator,
        sigma=whole.sd,
        correlation=whole.correlation,
        cutpoint=_cutpoints(whole.gap) if what.family == gibbs.ORDINAL else np.empty(0),
        item=all_items(data, whole.item, whole.sd_item, whole.correlation, rng)
        if effects
        else np.empty(0),
        member=whole.annotator if effects else np.empty(0),
        stats={},
        inference=_GIBBS[what.family],
    )


_GIBBS: Final = {
    gibbs.GAUSSIAN: "exact Gibbs sampling, effects and means integrated out in turn",
    gibbs.ORDINAL: "exact Gibbs sampling of the latent numbers behind ordered labels",
    gibbs.BERNOULLI: "exact Gibbs sampling by slices along learned paths",
}


class _Chain:
    """One chain, with all it writes to."""

    scratch = frozenset({"known"})

    def __init__(
        self, what: Process, data: Crossed, rng: np.random.Generator, draws: int, effects: bool
    ) -> None:
        self.family, self.data, self.priors = what.family, data, what.numbers()
        self.par = _start(what, data, rng)
        self.known = gibbs.learned(data, what.family, self.par)
        self.state = gibbs.started(rng.integers(2**64, dtype=np.uint64))
        self.trace = gibbs.room_for(data, self.par, draws, effects=effects)

    def advance(self, first: int, n: int) -> None:
        """Go through a lot of sweeps."""
        warm = first < 0
        gibbs.advance(
            self.family, self.state, self.data, self.par, self.priors, self.known, n, learning=warm,
            trace=None if warm else self.trace, first=first,
        )  # fmt: skip


def _start(what: Process, data: Crossed, rng: np.random.Generator) -> Parameters:
    """Start far enough from where the chain will be, in each chain elsewhere, for r-hat to tell."""
    n_gaps = max(len(what.labels) - 2, 0) if what.family == gibbs.ORDINAL else 0
    par = gibbs.start(data, what.family, n_gaps=n_gaps, anonymous=what.anonymous, n_sd=what.n_sd)
    unit = 1.0
    if what.family == gibbs.GAUSSIAN:
        unit = float(data.value.std()) or float(what.numbers().sd[0, 1])
    for part in (par.sd_item, par.sd_annotator, par.sd if what.family == gibbs.GAUSSIAN else None):
        if part is not None:
            part *= unit * np.exp(rng.normal(0.0, 0.5, part.shape))
    par.mu[:] = unit * rng.normal(size=len(par.mu))
    return par


def _cutpoints(gap: Floats) -> Floats:
    """Return cutpoints with mean 0 from the gaps between them."""
    raw = np.concatenate([np.zeros((*gap.shape[:-1], 1)), gap.cumsum(axis=-1)], axis=-1)
    return np.asarray(raw - raw.mean(axis=-1, keepdims=True))


def by_nuts(
    what: Process, build: Callable[[], Any], *, draws: int, tune: int, chains: int,
    rng: np.random.Generator, progressbar: bool,
) -> Draws:  # fmt: skip
    """Let PyMC's NUTS sample the same model."""
    tree = fitting.by_nuts(
        build(), draws=draws, tune=tune, chains=chains, random_seed=int(rng.integers(2**31)),
        progressbar=progressbar,
    )  # fmt: skip
    found = tree["posterior"].to_dataset()

    def values(name: str, ndim: int) -> Floats:
        if name not in found:
            return np.empty(0)
        array = found[name].to_numpy()
        return array.reshape(*array.shape, *[1] * (ndim - array.ndim))

    n_pools = what.n_pools
    mu = values("mu", 3)
    item = values("item_effect", 4)
    one = np.broadcast_to(np.eye(n_pools), (*mu.shape[:2], n_pools, n_pools))
    no_people = np.zeros(mu.shape)
    stats = tree["sample_stats"].to_dataset()
    return Draws(
        mu=mu,
        sigma_item=values("sigma_item", 3),
        sigma_annotator=no_people if what.anonymous else values("sigma_annotator", 3),
        sigma=values("sigma", 3) if what.family == gibbs.GAUSSIAN else np.ones((*mu.shape[:2], 1)),
        correlation=values("correlation", 4) if n_pools > 1 else one,
        cutpoint=np.zeros((*mu.shape[:2], 1))
        if what.family == gibbs.ORDINAL and len(what.labels) == 2
        else values("cutpoint", 3),
        item=item,
        member=np.zeros((*mu.shape[:2], n_pools))
        if what.anonymous
        else values("annotator_effect", 3),
        stats={n: stats[n].to_numpy() for n in ("lp", "diverging", "step_size") if n in stats},
        inference="NUTS on the PyMC model",
    )
