"""The Gibbs step for a latent truth, as a PyMC step method that moves everything."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state

from dissensus.families.latent_truth import graph
from dissensus.families.latent_truth.chain import Chain
from dissensus.families.latent_truth.kernels.data import Parameters
from dissensus.families.latent_truth.parameters import from_kernel, to_kernel
from dissensus.kernels.random import started
from dissensus.sampling.step import WholeModelStep, to_values


@dataclass_state
class LatentTruthGibbsState(StepMethodState):
    """State that changes while sampling: the random stream, which every step method has."""


class LatentTruthGibbs(WholeModelStep):
    r"""Move all variables of a latent truth in one Gibbs sweep.

    For models as `dissensus.models.symmetric_confusion.build` and
    `dissensus.models.dawid_skene.build` make them, with the names they give. `pymc.sample` chooses
    this step for such models automatically. The truth, which the model sums out, is drawn in each
    sweep and not stored.

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
    Derivation: `docs/derivations/latent-truth-gibbs.md`.

    Examples
    --------
    >>> import dissensus as dx
    >>> from dissensus.families.steps import LatentTruthGibbs
    >>> data = dx.datasets.load("lehner_table2")
    >>> with dx.models.symmetric_confusion.build(data.annotations) as model:
    ...     step = LatentTruthGibbs()
    >>> point, stats = step.step(model.initial_point())
    >>> sorted(point)
    ['annotator_accuracy_interval__', 'prevalence_simplex__']
    """

    name = "latent_truth_gibbs"
    reader = graph
    _reading: graph.Reading
    _state_class = LatentTruthGibbsState

    def prepare(self, model: Any) -> None:
        """Make the way back to PyMC's values, and a chain."""
        process = self._reading.process
        self._to_values = to_values(model, self._reading.names)
        self._chain = Chain(process, *process.votes())

    def move(self, point: Any) -> Any:
        """Update all variables; the given point is not changed."""
        (process, names, natural), chain = self._reading, self._chain
        at = self.recall(point) or natural(point)
        values = {name: value[None] for name, value in at.items()}
        many = to_kernel(process.form, values)
        chain.par = Parameters(*(part[0] for part in many))  # views, which the sweep writes over
        chain.state = started(self.rng.integers(2**64, dtype=np.uint64))
        chain.advance(-1, 1)
        moved = from_kernel(process.form, many, names)
        now = {name: moved[name][0] for name in names}
        return self.remember(now, self._to_values(*now.values()), point), [{}]
