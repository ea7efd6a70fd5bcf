"""A chain of the prior that items share; a PyMC step passes current values to it in each sweep."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from pymc.step_methods.state import DataClassState, WithSamplingState, dataclass_state
from scipy.special import gammaln

from dissensus.families.rankings.kernels.learned_prior import (
    Chain,
    Leaning,
    around_first_counts,
    begun,
    sweep_all,
)
from dissensus.families.rankings.kernels.nested_choices import (
    draw_counts,
    informative_choices,
    no_counts,
)
from dissensus.families.rankings.kernels.sweep import sweep
from dissensus.families.rankings.learned_prior import shapes
from dissensus.kernels.random import started
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.types import Floats, Ints

_FAR: Final = 10.0
"""Starting values of n hyperparameters are far from the mode if their squared distance, in units of
the ellipses, is above n + `_FAR` sqrt(n)."""
_FIRST: Final = 8
"""Number of sweeps of the warm-up before the ellipses' centre first moves to the mean of the chain.
Each later period, after which it moves again, is twice as long as the one before."""
_MANY: Final = 2.0
"""Minimum number of passed-over labels per chosen label for separate sweeps of strengths. With
fewer, a separate sweep triples the time of a draw and does not increase the effective sample size.
With five, draws without separate sweeps have a tenth of the effective sample size."""
_EXCHANGED: Final = 2
"""Maximum number of tied labels in a block for separate sweeps of strengths. These sweeps sum over
the orders of tied labels, so that afterwards an order must be drawn given the strengths. Exchanging
neighbours draws it exactly only in blocks of two."""
_WIDTH: Final = 0.5
"""Initial width of a slice of the log concentration."""
_BEYOND, _LEAST = 60.0, 1e-12
"""Maximum absolute log concentration, 40 standard deviations of its prior; and the relative width
at which a slice has shrunk to rounding error."""


@dataclass_state
class PriorChainState(DataClassState):
    """The state of the chain, apart from PyMC's point."""

    order: Ints
    """(row): the listed cells, tied cells in their current order."""
    mode: Floats
    """(hyperparameter): the centre of the ellipses."""
    summed: Floats
    """(hyperparameter): sum of the values since the centre last moved."""
    n_summed: int
    until: int
    """Number of sweeps after which the centre is moved again."""


class PriorChain(WithSamplingState):
    """Moves hyperparameters, and strengths with them.

    Each sweep moves the concentration given strengths, then all hyperparameters given counts, with
    the strengths summed out, and then draws strengths given both (`kernels.learned_prior`). If
    choice sets differ much, counts are hardly informative about the concentration. Its move given
    strengths then mixes better, and strengths need separate sweeps (``also_swept``).
    """

    _state_class = PriorChainState

    def __init__(self, rankings: Rankings, leaning: Leaning) -> None:
        self._rankings, self._leaning = rankings, leaning
        self._choices, self._spread = informative_choices(rankings), leaning.spreads()
        self._owner = np.repeat(np.arange(len(rankings.n_cells)), rankings.n_cells)
        mode, root = around_first_counts(rankings, leaning)
        self._chain = Chain(
            x=mode.copy(), mode=mode, root=root, inverse=np.linalg.inv(root),
            order=rankings.place.copy(), counts=no_counts(rankings),
            log_strength=begun(self._choices, leaning),
        )  # fmt: skip
        self.summed, self.n_summed, self.until = np.zeros(len(mode)), 0, _FIRST
        # In closed rankings, the strengths of labels that no ranking compares may differ by any
        # factor. Counts are then huge, and hyperparameters hardly move given the counts.
        needed = bool(rankings.closed.any()) or self._passed_over() >= _MANY
        self.also_swept = needed and self._largest_tie() <= _EXCHANGED

    def _largest_tie(self) -> int:
        """Return the number of labels in the largest block that is informative."""
        starts = self._rankings.ranking_start
        ranking = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        is_informative = np.arange(len(ranking)) < self._choices.stop[ranking]
        blocks = np.stack([ranking, self._rankings.rank])[:, is_informative]
        return int(np.unique(blocks, axis=1, return_counts=True)[1].max(initial=0))

    def _passed_over(self) -> float:
        """Return the number of passed-over labels per chosen label, given the starting values."""
        rankings, choices, chain = self._rankings, self._choices, self._chain
        counts, order = no_counts(rankings), rankings.place.copy()
        draw_counts(started(0), rankings, choices, order, chain.log_strength, counts)
        chosen = int((choices.stop - rankings.ranking_start[:-1]).sum())
        return float(counts.given.sum()) / max(chosen, 1) - 1.0

    @property
    def order(self) -> Ints:
        """(row): the listed cells, tied cells in their current order."""
        return self._chain.order

    @order.setter
    def order(self, order: Ints) -> None:
        self._chain.order[:] = order
        self._chain.counts.n_levels[:] = -1  # not yet computed for this order

    @property
    def mode(self) -> Floats:
        """(hyperparameter): the centre of the ellipses."""
        return self._chain.mode

    @mode.setter
    def mode(self, mode: Floats) -> None:
        self._chain.mode[:] = mode

    def _begun(self, x: Floats) -> Floats:
        """Return the hyperparameters to start from: the mode if ``x`` is far from it, else ``x``.

        A chain would return to the mode in small steps, because strengths and counts depend on x.
        """
        at = self._chain.inverse @ (x - self.mode)
        begins = self.n_summed == 0 and self.until == _FIRST
        return self.mode.copy() if begins and at @ at > len(x) + _FAR * math.sqrt(len(x)) else x

    def _adapt(self, x: Floats) -> None:
        """At the end of each period, move the ellipses' centre to the mean of its sweeps.

        The first centre is the mode given first choices only; later choices can move it far.
        """
        self.summed += x
        self.n_summed += 1
        if self.n_summed == self.until:
            self.mode = self.summed / self.n_summed
            self.summed, self.n_summed, self.until = np.zeros(len(x)), 0, 2 * self.until

    def _shapes(self, x: Floats) -> Floats:
        """Return the Gamma shape of each strength (cell)."""
        return shapes(self._leaning, x[None], 0, len(self._rankings.n_cells))[0]

    def move(
        self, x: Floats, log_strength: Floats, rng: np.random.Generator, *, tune: bool
    ) -> tuple[Floats, Floats]:
        """Return hyperparameters and log strengths (cell) after a sweep; ``tune`` in warm-up."""
        chain, n_items = self._chain, len(self._rankings.n_cells)
        if tune:
            x = self._begun(x)
        if self.also_swept:
            key = int(rng.integers(2**64, dtype=np.uint64))
            log_strength = sweep(self._rankings, self._shapes(x), log_strength, key)
        chain.x[:] = self._given_strengths(x, log_strength, rng)
        chain.log_strength[:] = log_strength
        state = started(rng.integers(2**64, dtype=np.uint64))
        sweep_all(state, chain, self._spread, self._rankings, self._choices, self._leaning)
        # The sum of an item's strengths is independent of their shares.
        kappa = math.exp(chain.x[0])
        above = rng.standard_gamma(kappa + 1.0, n_items)
        total = np.log(above) - rng.standard_exponential(n_items) / kappa
        if tune:
            self._adapt(chain.x)
        return chain.x.copy(), chain.log_strength + total[self._owner]

    def _given_strengths(self, x: Floats, log_strength: Floats, rng: np.random.Generator) -> Floats:
        """Move the log concentration by slice sampling with stepping out (Neal 2003).

        Returns all hyperparameters.
        """
        each = self._shapes(x) / math.exp(x[0])

        def height(value: float) -> float:
            shape = each * math.exp(value)
            return -0.5 * (value / self._spread[0]) ** 2 + float(
                shape @ log_strength - gammaln(shape).sum()
            )

        now = x[0]
        level = height(now) - rng.standard_exponential()
        low = now - rng.uniform(0.0, _WIDTH)
        high = low + _WIDTH
        if not math.isfinite(level):
            raise FloatingPointError("the log density is not finite")
        while low > -_BEYOND and height(low) > level:
            low -= _WIDTH
        while high < _BEYOND and height(high) > level:
            high += _WIDTH
        while high - low > _LEAST * max(1.0, abs(now)):
            value = rng.uniform(low, high)
            if height(value) > level:
                return np.concatenate([[value], x[1:]])
            low, high = (value, high) if value < now else (low, value)
        return x
