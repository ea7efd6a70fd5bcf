"""The Gibbs step for abilities and difficulties as a PyMC step method."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state

from dissensus.families.crossed.kernels import sweep as crossed_sweep
from dissensus.families.crossed.kernels.covariance import all_items
from dissensus.families.crossed.kernels.data import Parameters
from dissensus.families.rasch import graph
from dissensus.families.rasch.kernels import data as rasch_data
from dissensus.families.rasch.kernels import sweep, unknown
from dissensus.families.rasch.kernels.data import Truth
from dissensus.kernels.random import started
from dissensus.sampling.proof import COEFFICIENT
from dissensus.sampling.step import WholeModelStep, first_point, to_natural, to_values

_LEAST: Final = -700.0
"""Logarithm of the smallest share: PyMC holds shares, and their logarithms must be finite."""


@dataclass_state
class RaschGibbsState(StepMethodState):
    """The state that changes while sampling: the adaptation, and whether it is on."""

    known: Any
    width: Any
    tune: bool


class RaschGibbs(WholeModelStep):
    r"""Move abilities, difficulties and their hyperparameters in one Gibbs sweep.

    For models as `dissensus.models.rasch.build` makes them, with their names. `pymc.sample` chooses
    this step for such models. Unknown truths, which the model sums out, and guesses are drawn
    within the step and discarded. Other steps move variables that do not depend on these.

    Parameters
    ----------
    vars, model, rng, initial_point, compile_kwargs, blocked
        As of all step methods of PyMC. ``vars`` are all variables of the model that the step knows;
        a first step from ``initial_point`` compiles the kernels; the last two are not used.

    Raises
    ------
    ArgumentError
        If the step would not be exact for the model, or some of the variables are left out.

    Notes
    -----
    The sweep is `dissensus.models.rasch.fit`'s. Derivation: `docs/derivations/rasch-gibbs.md`.

    Examples
    --------
    >>> import dissensus as dx
    >>> from dissensus.families.steps import RaschGibbs
    >>> ann = dx.from_matrix([["a", "a", "b"], ["a", "b", "b"], ["b", "b", "b"]])
    >>> with dx.models.rasch.build(ann) as model:
    ...     step = RaschGibbs()
    >>> point, stats = step.step(model.initial_point())
    >>> point["difficulty"].shape
    (3,)
    """

    name = "rasch_gibbs"
    reader = graph
    _reading: graph.Reading
    _state_class = RaschGibbsState

    def prepare(self, model: Any) -> None:
        """Make the transforms, lay out data and priors, and allocate memory."""
        process, names = self._reading
        self._data, self._priors = process.data(), process.numbers()
        self._said = process.said(self._data)
        data, said, n_levels = self._data, self._said, len(process.levels)
        self._to_natural, self._to_values = to_natural(model, names), to_values(model, names)
        # All levels, also those that no label has.
        room = unknown.room(said, len(data.cell_pool))
        self._room = room._replace(levels=np.empty((2, n_levels)))
        self._trace = sweep.trace_room(said, data, 0, items=False, each=False)
        self.tune, self.width = True, room.width
        par, _ = self._placed(first_point(model))
        self.known = crossed_sweep.learned(data, crossed_sweep.BERNOULLI, par)

    def move(self, point: Any) -> Any:
        """Return a new point; the given one is not changed."""
        data, said = self._data, self._said
        par, now = self._placed(point)
        tuning = self.known.tuning if self.tune else self.known.tuning._replace(rate=0.0)
        state = started(self.rng.integers(2**64, dtype=np.uint64))
        sweep.advance(
            state, data, said, par, self._priors, tuning, self.known.paths, now,
            self._room._replace(width=self.width), 1, self._trace, -1, self.known.centre,
        )  # fmt: skip
        natural = self._natural(par, now)
        natural = {name: natural[name] for name in self._reading.names}
        return self.remember(natural, self._to_values(*natural.values()), point), [{}]

    def _placed(self, point: Any) -> tuple[Parameters, Truth]:
        """Return the state of the chain at a point."""
        process, names = self._reading
        data, said, lead = self._data, self._said, process.lead
        natural = self.recall(point)
        if natural is None:
            values = self._to_natural(*(point[self._values[name]] for name in names))
            natural = dict(zip(names, values, strict=True))
        par = crossed_sweep.start(data, crossed_sweep.BERNOULLI, n_gaps=0)
        par.mu[0] = natural[graph.MEAN] - lead
        par.sd_annotator[0] = natural[graph.ABILITY_SPREAD]
        par.sd_item[0] = natural[graph.DIFFICULTY_SPREAD]
        par.annotator[:] = natural[graph.ABILITY] - natural[graph.MEAN]
        par.item[:] = -natural[graph.DIFFICULTY][data.cell_item]
        par.coefficient[:] = natural.get(COEFFICIENT, 0.0)
        now = rasch_data.beginning(said, len(data.cell_pool))
        now.log_prevalence[:] = np.log(natural[graph.PREVALENCE])
        if len(process.levels):
            level = np.log([natural[graph.WRONG], natural[graph.RIGHT]])
            now = now._replace(log_level=level)
        return par, now

    def _natural(self, par: Parameters, now: Truth) -> dict[str, Any]:
        """Return the variables in natural units, from the state of the chain."""
        data, mean = self._data, par.mu[0] + self._reading.process.lead
        items = all_items(data, par.item, par.sd_item, par.correlation, self.rng)
        wrong, right = np.exp(np.maximum(now.log_level, _LEAST))
        return {
            graph.MEAN: mean,
            graph.ABILITY_SPREAD: par.sd_annotator[0],
            graph.ABILITY: mean + par.annotator,
            graph.DIFFICULTY_SPREAD: par.sd_item[0],
            graph.DIFFICULTY: -items[:, 0],
            COEFFICIENT: par.coefficient,
            graph.PREVALENCE: np.exp(np.maximum(now.log_prevalence, _LEAST)),
            graph.WRONG: wrong,
            graph.RIGHT: right,
        }
