"""The Gibbs step for partial rankings, as a PyMC step method."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymc.model import Model, modelcontext
from pymc.step_methods.compound import BlockedStep, Competence, StepMethodState
from pymc.step_methods.state import dataclass_state
from pymc.util import get_random_generator

from dissensus.families.rankings.distributions import LogGammaRV
from dissensus.families.rankings.graph import fits, read
from dissensus.families.rankings.kernels.sweep import sweep
from dissensus.sampling.step import compile_kernels, left_out


@dataclass_state
class PlackettLuceGibbsState(StepMethodState):
    """All that changes while sampling: the random stream. The point is PyMC's to keep."""


class PlackettLuceGibbs(BlockedStep):
    r"""Draw all strengths behind partial rankings in one exact Gibbs sweep.

    For a model with ``u = LogGamma(...)`` and one or more observed
    ``PartialRanking(log_strength=u[...])``: given exponential arrival times the strengths are
    independent. `pymc.sample` uses this step for such variables automatically, and its NUTS for
    other variables, such as exponents that are learned with them.

    Parameters
    ----------
    vars : list of TensorVariable
        The value variable of one LogGamma.
    model : pymc.Model, optional
        By default that of the context.
    rng : numpy.random.Generator, optional
        Random stream.
    initial_point : mapping, optional
        A point to take a first step from, which compiles the kernels. Default: the model's.
    compile_kwargs : mapping, optional
        For the compilation of expressions that depend on other variables.
    blocked : bool
        Whether the variable is drawn as a whole: always.

    Raises
    ------
    ArgumentError
        If the step would not be exact for the model.

    Notes
    -----
    Derivation: `docs/derivations/plackett-luce-gibbs.md`.

    Examples
    --------
    >>> import dissensus as dx
    >>> import pymc as pm
    >>> from dissensus.families.steps import PlackettLuceGibbs
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> with dx.models.plackett_luce.build(ann) as model:
    ...     step = PlackettLuceGibbs([model["log_strength"]])
    >>> point, stats = step.step(model.initial_point())
    >>> point["log_strength"].shape
    (3,)
    """

    name = "plackett_luce_gibbs"
    default_blocked = False  # each variable of strengths has a step of its own
    stats_dtypes_shapes: dict[str, Any] = {}  # noqa: RUF012 (as PyMC declares it)
    _state_class = PlackettLuceGibbsState

    def __init__(
        self, vars: Any, *, model: Any = None, rng: Any = None, initial_point: Any = None,  # noqa: A002
        compile_kwargs: Any = None, blocked: bool = True,
    ) -> None:  # fmt: skip
        model = modelcontext(model)
        self.vars = [model.rvs_to_values.get(one, one) for one in vars]
        self.blocked = blocked
        self.rng = get_random_generator(rng)
        (value,) = self.vars
        self._name = value.name
        self._reading = read(model, value, **(compile_kwargs or {}))
        compile_kernels(self, model, initial_point)

    def step(self, point: Any) -> Any:
        """Update the variables of the step; the given point is not changed."""
        now = np.asarray(point[self._name])
        rankings, cells, parameters = self._reading
        shape, power, sharpness = parameters(point)
        key = self.rng.integers(2**64, dtype=np.uint64)
        drawn = sweep(rankings, shape, now.ravel()[cells], key, power=power, sharpness=sharpness)
        new = np.empty(now.size)
        new[cells] = drawn
        return {**point, self._name: new.reshape(now.shape)}, [{}]

    @staticmethod
    def competence(var: Any, has_grad: bool = False) -> Any:  # noqa: ARG004
        """Declare this the step for logarithms of ranked Gamma strengths.

        Of other uses of a LogGamma it keeps away, where it can see the model.
        """
        if left_out() or not isinstance(var.owner.op, LogGammaRV):
            return Competence.INCOMPATIBLE
        model = Model.get_context(error_if_none=False)
        good = model is None or var not in model.free_RVs or fits(model, var)
        return Competence.IDEAL if good else Competence.INCOMPATIBLE
