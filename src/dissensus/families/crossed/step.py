"""The Gibbs step for crossed effects as a PyMC step method."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state

from dissensus.families.crossed import graph
from dissensus.families.crossed.kernels import sweep as gibbs
from dissensus.families.crossed.kernels.covariance import all_items
from dissensus.families.crossed.kernels.data import Parameters
from dissensus.families.crossed.process import PARAMETERS
from dissensus.sampling.step import WholeModelStep, first_point, to_natural, to_values


@dataclass_state
class CrossedEffectsGibbsState(StepMethodState):
    """The state that changes while sampling: the adaptation, and whether it is on."""

    known: Any
    tune: bool


class CrossedEffectsGibbs(WholeModelStep):
    r"""Move means, standard deviations, correlations, cutpoints and all effects in one Gibbs sweep.

    For models as `dissensus.models.crossed_effects.build` and
    `dissensus.models.cross_replication.build` make them, with their names. `pymc.sample` chooses
    this step for such models. Variables in further terms of the mean of numbers are moved by
    another step, by default PyMC's NUTS.

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
    Derivation: `docs/derivations/crossed-effects-gibbs.md`.

    Examples
    --------
    >>> import dissensus as dx
    >>> from dissensus.families.steps import CrossedEffectsGibbs
    >>> ann = dx.from_matrix([[1.0, 2.5], [3.0, 3.5], [2.0, 2.5]], kind="continuous")
    >>> with dx.models.crossed_effects.build(ann) as model:
    ...     step = CrossedEffectsGibbs()
    >>> point, stats = step.step(model.initial_point())
    >>> point["item_effect"].shape
    (3,)
    """

    name = "crossed_effects_gibbs"
    reader = graph
    _reading: graph.Reading
    _state_class = CrossedEffectsGibbsState
    _last: tuple[Any, Any] = np.empty(0), None
    """PyMC's value of the correlations where the last move ended, and their Cholesky factor."""

    def prepare(self, model: Any) -> None:
        """Make the transforms of correlations, and lay out data and priors."""
        self.tune = True
        by_variable = {parameter.variable or parameter.name: parameter for parameter in PARAMETERS}
        self._moved = {name: by_variable[name] for name in self._reading.names}
        if graph.ROOT in self._reading.names:
            root = (graph.ROOT,)
            self._to_root, self._from_root = to_natural(model, root), to_values(model, root)
        self._data, self._priors = self._reading.process.data(), self._reading.process.numbers()
        self.known = gibbs.learned(
            self._data, self._reading.process.family, self._parameters(first_point(model))
        )

    def move(self, point: Any) -> Any:
        """Return a new point; the given one is not changed."""
        par = self._parameters(point)
        state = gibbs.started(self.rng.integers(2**64, dtype=np.uint64))
        gibbs.advance(
            self._reading.process.family, state, self._data, par, self._priors, self.known, 1,
            learning=self.tune,
        )  # fmt: skip
        return {**point, **self._natural(par)}, [{}]

    def _natural(self, par: Parameters) -> dict[str, Any]:
        """Return the values that PyMC holds, from the kernel's parameters."""
        process, out = self._reading.process, {}
        items = all_items(self._data, par.item, par.sd_item, par.correlation, self.rng)
        for name, parameter in self._moved.items():
            value = getattr(par, parameter.slot)
            if name == graph.ROOT:
                root = np.linalg.cholesky(value)
                (value,) = self._from_root(root)
                self._last = value.copy(), root
            elif name == graph.MU:
                value = value + process.centre
            elif name == graph.ITEM:
                value = items
            elif parameter.is_log:
                value = np.log(value)
            out[self._values[name]] = value.reshape(self._shapes[name])
        return out

    def _parameters(self, point: Any) -> Parameters:
        """Return the kernel's parameters from a point."""
        process, names, offset = self._reading
        data = self._data
        value = {name: np.asarray(point[self._values[name]], dtype=np.float64) for name in names}
        self._shapes = {name: value[name].shape for name in names}
        par = gibbs.start(
            data, process.family, n_gaps=value[graph.GAP].size if graph.GAP in names else 0,
            anonymous=process.anonymous, n_sd=process.n_sd,
        )  # fmt: skip
        for name, parameter in self._moved.items():
            slot, numbers = getattr(par, parameter.slot), value[name]
            if name == graph.ROOT:
                value_then, root = self._last
                if not np.array_equal(numbers, value_then):
                    (root,) = self._to_root(numbers)
                slot[:] = root @ root.T
            elif name == graph.MU:
                slot[:] = numbers.ravel() - process.centre
            elif name == graph.ITEM:
                slot[:] = numbers.reshape(-1, data.n_pools)[data.cell_item, data.cell_pool]
            else:
                slot[:] = np.exp(numbers).ravel() if parameter.is_log else numbers
        if offset is not None:
            par.latent[:] -= offset(point)[data.row]
        return par
