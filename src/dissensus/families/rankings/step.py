"""The Gibbs step for partial rankings, as a PyMC step method."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state

from dissensus.families.rankings import graph
from dissensus.families.rankings.chain import PriorChain
from dissensus.families.rankings.kernels.sweep import sweep
from dissensus.kernels.types import Floats
from dissensus.sampling.step import WholeModelStep


@dataclass_state
class PlackettLuceGibbsState(StepMethodState):
    """All that changes while sampling, beside the random stream and PyMC's point."""

    tune: bool
    prior: Any
    """Where the chain of the prior is; None without one."""


class PlackettLuceGibbs(WholeModelStep):
    r"""Draw all strengths behind partial rankings in one exact Gibbs sweep, and their prior.

    For a model with ``u = LogGamma(...)`` and one or more observed
    ``PartialRanking(log_strength=u[...])``: given exponential arrival times the strengths are
    independent. The prior that items share in `dissensus.models.plackett_luce.build` is drawn with
    them. `pymc.sample` uses this step for such variables automatically, and its NUTS for other
    variables, such as exponents that are learned with them.

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
    Derivation: `docs/derivations/plackett-luce-gibbs.md`.

    Examples
    --------
    >>> import dissensus as dx
    >>> from dissensus.families.steps import PlackettLuceGibbs
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> with dx.models.plackett_luce.build(ann) as model:
    ...     step = PlackettLuceGibbs()
    >>> point, stats = step.step(model.initial_point())
    >>> sorted(point)
    ['concentration_log__', 'label_weight', 'log_strength']
    """

    name = "plackett_luce_gibbs"
    reader = graph
    _reading: graph.Reading
    _state_class = PlackettLuceGibbsState

    def prepare(self, model: Any) -> None:  # noqa: ARG002
        """Make a chain of the prior, if the model has one that is learned."""
        self._hyper = [self._values[name] for name in self._reading.hyperparameters]
        chains = [
            PriorChain(one.rankings, one.leaning)
            for one in self._reading.strengths if one.leaning is not None
        ]  # fmt: skip
        self.prior = chains[0] if chains else None  # only one variable has its name
        self.tune = True

    def move(self, point: Any) -> Any:
        """Update all variables; the given point is not changed."""
        new = dict(point)
        for one in self._reading.strengths:
            value = self._values[one.name]
            whole = np.array(point[value])
            now = whole.ravel()[one.cells]
            if self.prior is None or one.leaning is None:
                shape, power, sharpness = one.parameters(point)
                key = self.rng.integers(2**64, dtype=np.uint64)
                now = sweep(one.rankings, shape, now, key, power=power, sharpness=sharpness)
            else:
                x = np.concatenate([np.ravel(point[hyper]) for hyper in self._hyper])
                x, now = self.prior.move(x, now, self.rng, tune=self.tune)
                new |= self._named(x, point)
            whole.flat[one.cells] = now
            new[value] = whole
        return new, [{}]

    def _named(self, x: Floats, point: Any) -> dict[str, Floats]:
        """Return hyperparameters by the names of PyMC's values."""
        shapes = [np.shape(point[value]) for value in self._hyper]
        parts = np.split(x, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
        named = zip(self._hyper, parts, shapes, strict=True)
        return {value: part.reshape(shape) for value, part, shape in named}
