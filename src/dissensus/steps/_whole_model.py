"""What Gibbs steps have in common that move everything in a model at once."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from pymc.model import Model, modelcontext
from pymc.step_methods.compound import BlockedStep, Competence
from pymc.util import get_random_generator

from dissensus import _uncompiled
from dissensus.errors import ArgumentError
from dissensus.steps._choice import left_out


class WholeModelStep(BlockedStep):
    """A step for all variables that it knows of a model, or none.

    A kind of step says by `reader` which models it knows, and makes in `prepare` what it needs.
    """

    reader: ModuleType
    """With ``knows(name)``, ``has_form(model)`` and ``read(model)``, which raises where the step
    would not be exact."""
    _reading: Any
    stats_dtypes_shapes: dict[str, Any] = {}  # noqa: RUF012 (as PyMC declares it)

    def __init__(
        self, vars: Any = None, *, model: Any = None, rng: Any = None, initial_point: Any = None,  # noqa: A002
        compile_kwargs: Any = None, blocked: bool = True,  # noqa: ARG002
    ) -> None:  # fmt: skip
        model = modelcontext(model)
        self._reading = self.reader.read(model)
        names = self._reading.names
        wanted = [model.rvs_to_values[model[name]] for name in names]
        self.vars = wanted if vars is None else [model.rvs_to_values.get(v, v) for v in vars]
        if {v.name for v in self.vars} != {v.name for v in wanted}:
            raise ArgumentError(
                "vars", expected=f"all of {', '.join(names)}, which move together",
                found=", ".join(str(v.name) for v in self.vars),
            )  # fmt: skip
        self.blocked = blocked
        self.rng = get_random_generator(rng)
        self._values = {name: v.name for name, v in zip(names, wanted, strict=True)}
        self.prepare(model)
        compile_kernels(self, model, initial_point)

    def prepare(self, model: Any) -> None:
        """Make what is made once for a model, after it has been read."""
        raise NotImplementedError

    @classmethod
    def competence(cls, var: Any, has_grad: bool = False) -> Any:  # noqa: ARG003
        """Say that this is the step for everything in a model that it knows."""
        model = Model.get_context(error_if_none=False)
        known = cls.reader.knows(getattr(var, "name", None))
        if left_out() or model is None or not known or not cls.reader.has_form(model):
            return Competence.INCOMPATIBLE
        return Competence.IDEAL if var in model.free_RVs else Competence.INCOMPATIBLE


def compile_kernels(step: Any, model: Any, initial_point: Any) -> None:
    """Take a step and forget it: the kernels are then compiled once, before `pymc.sample` forks.

    Without, each of its workers would compile them for itself.
    """
    if initial_point is None:
        initial_point = _uncompiled.initial_point(model)
    kept, step.rng = step.rng, get_random_generator(0)
    try:
        step.step(initial_point)
    finally:
        step.rng = kept
