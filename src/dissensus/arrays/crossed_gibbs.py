"""Gibbs sampling of crossed effects, exact: a sweep costs a few readings of the labels.

- Numbers: effects of items, then of annotators, are integrated out in turn, so that successive
  draws hardly depend on each other (`crossed_items`, `crossed_annotators`).
- Ordered labels: the same for the latent numbers behind them, with their cutpoints and their scale
  moved as wholes (`crossed_ordinal`, `crossed_scale`).
- Labels of two kinds: without latent numbers, by slices along well-chosen paths
  (`crossed_bernoulli`, `crossed_transport`).

`docs/derivations/crossed-effects-gibbs.md` has the mathematics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from dissensus.arrays.crossed_annotators import annotator_room, move_annotators
from dissensus.arrays.crossed_bernoulli import move_all
from dissensus.arrays.crossed_data import Crossed, crossed
from dissensus.arrays.crossed_effect_room import effect_room
from dissensus.arrays.crossed_items import move_items
from dissensus.arrays.crossed_odds import odds
from dissensus.arrays.crossed_ordinal import draw_latent, move_cutpoints, slopes_room
from dissensus.arrays.crossed_parameters import EXPONENTIAL, HALF_T, Parameters, Priors, Tuning
from dissensus.arrays.crossed_scale import move_scale
from dissensus.arrays.crossed_sums import LabelSums, item_room, label_sums
from dissensus.arrays.crossed_transport import Transport, transport
from dissensus.kernels.random import State, started
from dissensus.kernels.types import Floats

GAUSSIAN, BERNOULLI, ORDINAL = "gaussian", "bernoulli", "ordinal"
_RATE: Final = 0.05
"""Of learning: what was twenty sweeps ago counts a third of what is now."""


class Trace(NamedTuple):
    """Draws, with the draw in front; effects of size 0 are not kept."""

    mu: Floats
    sd_item: Floats
    sd_annotator: Floats
    sd: Floats
    correlation: Floats
    gap: Floats
    item: Floats
    annotator: Floats


@dataclass
class Learned:
    """What a chain knows beside where it stands: how wide its slices are, and its paths."""

    tuning: Tuning
    paths: Transport


def _keep(par: Parameters, trace: Trace, draw: int) -> None:
    """Write down where the chain stands."""
    for name in Trace._fields:
        into = getattr(trace, name)
        if into.size:
            into[draw] = getattr(par, name)


def _halves(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning
) -> tuple[LabelSums, Callable[[], None]]:
    """Return sums over labels, and what moves all but cutpoints given these."""
    sums, room = item_room(data)
    of_annotators = annotator_room(data)
    labels = label_sums(data, par.latent)

    def move() -> None:
        move_items(state, data, labels, par, priors, tuning, sums, room)
        if len(tuning.sd_annotator):
            move_annotators(state, data, labels, par, priors, tuning, of_annotators)

    return labels, move


def _gaussian(
    state: State, data: Crossed, par: Parameters, priors: Priors, known: Learned
) -> Callable[[], None]:
    return _halves(state, data, par, priors, known.tuning)[1]


def _ordinal(
    state: State, data: Crossed, par: Parameters, priors: Priors, known: Learned
) -> Callable[[], None]:
    labels, move = _halves(state, data, par, priors, known.tuning)
    warming = known.tuning.rate > 0.0
    boundary, slopes = slopes_room(len(par.mu), len(par.gap))

    def sweep() -> None:
        move_cutpoints(state, data, par, priors, warming, boundary, slopes)
        draw_latent(state, data, par, labels)
        move()
        move_scale(state, data, par, priors)

    return sweep


def _bernoulli(
    state: State, data: Crossed, par: Parameters, priors: Priors, known: Learned
) -> Callable[[], None]:
    likelihood, room = odds(data, par), effect_room(data)

    def sweep() -> None:
        move_all(state, data, par, priors, known.tuning, likelihood, room, known.paths)

    return sweep


_SWEEPS: Final = {GAUSSIAN: _gaussian, ORDINAL: _ordinal, BERNOULLI: _bernoulli}


def learned(data: Crossed, family: str, par: Parameters) -> Learned:
    """Start with nothing learned."""
    n_pools, some = data.n_pools, bool((par.sd_annotator > 0).any())
    tuning = Tuning(
        sd_item=np.full(n_pools, 0.2),
        sd_annotator=np.full(n_pools if some else 0, 0.4),
        sd=np.full(len(par.sd) if family == GAUSSIAN else 0, 0.1),
        correlation=np.full((n_pools, n_pools), 0.3),
        log_sd_item=np.log(par.sd_item),
        log_sd_annotator=np.log(np.where(par.sd_annotator > 0, par.sd_annotator, 1.0)),
        sweep=np.array([0.0, 20.0]),
        rate=_RATE,
    )
    small = data if family == BERNOULLI else nothing(n_pools)
    return Learned(tuning, transport(small))


def nothing(n_pools: int) -> Crossed:
    """Lay out a study without labels."""
    none = np.zeros(0, dtype=np.int64)
    return crossed(np.zeros(0), none, none, none, n_items=0, annotator_pool=none, n_pools=n_pools)


def advance(
    family: str, state: State, data: Crossed, par: Parameters, priors: Priors, known: Learned,
    n: int, *, learning: bool, trace: Trace | None = None, first: int = 0,
) -> None:  # fmt: skip
    """Go through sweeps, in place.

    Parameters
    ----------
    family : {"gaussian", "bernoulli", "ordinal"}
    state : State
        Of the random stream.
    data : Crossed
    par : Parameters
        Where the chain stands. Of numbers, `latent` holds the labels themselves.
    priors : Priors
    known : Learned
    n : int
        Sweeps.
    learning : bool
        Whether the chain is warming up.
    trace : Trace, optional
        Where to write draws, from `first`.

    Examples
    --------
    >>> from dissensus.arrays.crossed_data import crossed
    >>> rng = np.random.default_rng(1)
    >>> item, who = np.divmod(np.arange(200), 5)
    >>> y = rng.normal(size=40)[item] + rng.normal(size=200)
    >>> data = crossed(y, item, who, 0 * item, n_items=40, annotator_pool=np.zeros(5, dtype=int),
    ...                n_pools=1)
    >>> priors = flat_priors(1)
    >>> par = start(data, "gaussian", n_gaps=0)
    >>> trace = room_for(data, par, 500)
    >>> known, state = learned(data, "gaussian", par), started(np.uint64(1))
    >>> advance("gaussian", state, data, par, priors, known, 100, learning=True)
    >>> advance("gaussian", state, data, par, priors, known, 500, learning=False, trace=trace)
    >>> bool(0.7 < trace.sd_item.mean() < 1.4)
    True
    """
    tuning = known.tuning._replace(rate=_RATE if learning else 0.0)
    sweep = _SWEEPS[family](state, data, par, priors, Learned(tuning, known.paths))
    for place in range(first, first + n):
        sweep()
        if trace is not None:
            _keep(par, trace, place)


def start(
    data: Crossed, family: str, *, n_gaps: int, anonymous: bool = False, n_sd: int = 1
) -> Parameters:
    """Return a place to start from: no effects, standard deviations of 1."""
    n_pools = data.n_pools
    numbers = family == GAUSSIAN
    return Parameters(
        mu=np.zeros(n_pools),
        sd_item=np.ones(n_pools),
        sd_annotator=np.zeros(n_pools) if anonymous else np.ones(n_pools),
        sd=np.ones(n_sd),
        correlation=np.eye(n_pools),
        gap=np.ones(n_gaps),
        item=np.zeros(len(data.cell_pool)),
        annotator=np.zeros(len(data.annotator_pool)),
        latent=data.value.copy() if numbers else np.zeros(len(data.value)),
    )


def room_for(data: Crossed, par: Parameters, draws: int, *, effects: bool = False) -> Trace:
    """Make room for draws."""
    n = (len(par.item), len(par.annotator)) if effects else (0, 0)
    return Trace(
        np.empty((draws, data.n_pools)), np.empty((draws, data.n_pools)),
        np.empty((draws, data.n_pools)), np.empty((draws, len(par.sd))),
        np.empty((draws, data.n_pools, data.n_pools)), np.empty((draws, len(par.gap))),
        np.empty((draws, n[0])), np.empty((draws, n[1])),
    )  # fmt: skip


def flat_priors(n_pools: int) -> Priors:
    """Return priors that say little of numbers of about the size of 1."""
    scale = np.tile([HALF_T, 2.5, 3.0], (n_pools, 1))
    return Priors(
        mu=np.tile([0.0, 10.0], (n_pools, 1)), least=np.full(n_pools, -np.inf),
        sd_item=scale, sd_annotator=scale.copy(),
        sd=scale[:1].copy(), gap=np.array([EXPONENTIAL, 1.0, 0.0]), lkj=1.0,
    )  # fmt: skip


__all__ = [
    "BERNOULLI", "GAUSSIAN", "ORDINAL", "Learned", "Trace", "advance", "flat_priors", "learned",
    "nothing", "room_for", "start", "started",
]  # fmt: skip
