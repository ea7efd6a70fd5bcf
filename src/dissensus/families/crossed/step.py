"""The Gibbs step for crossed effects, as a PyMC step method that moves everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state

from dissensus.families.crossed import graph
from dissensus.families.crossed.kernels import sweep as gibbs
from dissensus.families.crossed.kernels.covariance import all_items
from dissensus.families.crossed.kernels.data import Parameters
from dissensus.sampling.step import WholeModelStep, first_point


@dataclass_state
class CrossedEffectsGibbsState(StepMethodState):
    """All that changes while sampling: the random stream, and what has been learned."""

    known: Any
    tune: bool


class CrossedEffectsGibbs(WholeModelStep):
    r"""Move means, standard deviations, correlations, cutpoints and all effects in one Gibbs sweep.

    For models as `dissensus.models.crossed_effects.build` and
    `dissensus.models.cross_replication.build` make them, with the names they give. `pymc.sample`
    takes this step for such models by itself. Terms that are added to the mean of numbers are
    moved by a step of their own, PyMC's NUTS unless another is chosen.

    Parameters
    ----------
    vars : list of TensorVariable, optional
        All variables of the model that the step knows.
    model : pymc.Model, optional
        By default that of the context.
    rng : numpy.random.Generator, optional
        Random stream.
    initial_point : mapping, optional
        A point to take a first step from, which compiles the kernels. Default: the model's.
    compile_kwargs : mapping, optional
        Not used.
    blocked : bool
        Whether all variables are moved together: always.

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

    def prepare(self, model: Any) -> None:
        """Compile what the parameters need, and start to learn."""
        self.tune = True
        self._to_root, self._from_root = _root_functions(model)
        self._data, self._priors = self._reading.process.data(), self._reading.process.numbers()
        self.known = gibbs.learned(
            self._data, self._reading.process.family, self._parameters(first_point(model))
        )

    def step(self, point: Any) -> Any:
        """Move everything; leave the point that was given as it is."""
        par = self._parameters(point)
        state = gibbs.started(self.rng.integers(2**64, dtype=np.uint64))
        gibbs.advance(
            self._reading.process.family, state, self._data, par, self._priors, self.known, 1,
            learning=self.tune,
        )  # fmt: skip
        return {**point, **self._natural(par)}, [{}]

    def _natural(self, par: Parameters) -> dict[str, Any]:
        """Return a point's values, as PyMC holds them, from parameters."""
        items = all_items(self._data, par.item, par.sd_item, par.correlation, self.rng)
        found = {
            graph.MU: par.mu + self._reading.process.centre,
            graph.SD_ITEM: np.log(par.sd_item),
            graph.ITEM: items,
            graph.SD_ANNOTATOR: np.log(np.where(par.sd_annotator > 0, par.sd_annotator, 1.0)),
            graph.ANNOTATOR: par.annotator,
            graph.SD: np.log(par.sd),
            graph.GAP: np.log(par.gap),
        }
        out = {
            self._values[name]: value.reshape(self._shapes[name])
            for name, value in found.items()
            if name in self._values
        }
        if graph.ROOT in self._values:
            out[self._values[graph.ROOT]] = self._from_root(np.linalg.cholesky(par.correlation))
        return out

    def _parameters(self, point: Any) -> Parameters:
        """Return parameters from a point."""
        process, names, offset = self._reading
        family, data, centre = process.family, self._data, process.centre
        value = {name: np.asarray(point[self._values[name]], dtype=np.float64) for name in names}
        self._shapes = {name: value[name].shape for name in names}
        par = gibbs.start(
            data, family, n_gaps=value[graph.GAP].size if graph.GAP in names else 0,
            anonymous=graph.ANNOTATOR not in names,
            n_sd=value[graph.SD].size if graph.SD in names else 1,
        )  # fmt: skip
        par.mu[:] = value[graph.MU].ravel() - centre
        par.sd_item[:] = np.exp(value[graph.SD_ITEM]).ravel()
        effect = value[graph.ITEM].reshape(-1, data.n_pools)
        par.item[:] = effect[data.cell_item, data.cell_pool]
        if graph.ANNOTATOR in names:
            par.sd_annotator[:] = np.exp(value[graph.SD_ANNOTATOR]).ravel()
            par.annotator[:] = value[graph.ANNOTATOR]
        if graph.SD in names:
            par.sd[:] = np.exp(value[graph.SD]).ravel()
        if graph.GAP in names:
            par.gap[:] = np.exp(value[graph.GAP])
        if graph.ROOT in names:
            root = self._to_root(value[graph.ROOT])
            par.correlation[:] = root @ root.T
        if offset is not None:
            par.latent[:] -= offset(point)[data.row]
        return par


def _root_functions(model: Any) -> tuple[Any, Any]:
    """Compile the way from unconstrained numbers to the root of the correlations, and back."""
    if graph.ROOT not in {one.name for one in model.free_RVs}:
        return None, None
    variable = model[graph.ROOT]
    transform, inputs = model.rvs_to_transforms[variable], variable.owner.inputs
    value = model.rvs_to_values[variable].type()
    root = variable.type()
    there = pytensor.function([value], transform.backward(value, *inputs), on_unused_input="ignore")
    back = pytensor.function([root], transform.forward(root, *inputs), on_unused_input="ignore")
    return there, back
