"""What all Gibbs steps share: the bridge from PyMC to a kernel and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import pytensor
from pymc.model import Model, modelcontext
from pymc.step_methods.compound import BlockedStep, Competence
from pymc.util import get_random_generator
from pytensor.graph.traversal import ancestors

from dissensus.errors import ArgumentError, warn_caller

# Graphs that are evaluated once or twice: to compile them would take longer.


def uncompiled() -> AbstractContextManager[None]:
    """Return a context in which PyTensor compiles nothing, by Numba or by a C++ compiler.

    Its mode alone does not say so: graphs within graphs go to the C++ compiler where there is one,
    half a second for each operation the first time on a machine.
    """
    import pytensor

    flags: AbstractContextManager[None] = pytensor.config.change_flags(mode="FAST_COMPILE", cxx="")
    return flags


def first_point(model: Any) -> dict[str, Any]:
    """Return where PyMC begins in a model."""
    with uncompiled():
        point: dict[str, Any] = model.initial_point()
    return point


# Whether PyMC may choose our steps by itself.


_LEFT_OUT: ContextVar[bool] = ContextVar("gibbs_steps_left_out", default=False)


@contextmanager
def without_gibbs() -> Iterator[None]:
    """Let `pymc.sample` choose among its own steps only, here NUTS for everything.

    By its own choice it also finds starts for NUTS, of each chain another, from which r-hat can
    tell whether chains have met; with ``step=pm.NUTS()`` all chains begin at one point.

    Examples
    --------
    >>> import dissensus as dx, pymc as pm
    >>> from dissensus.families.steps import without_gibbs
    >>> ann = dx.datasets.load("anaesthesia").annotations
    >>> with dx.models.dawid_skene.build(ann) as model, without_gibbs():
    ...     steps = pm.sampling.mcmc.assign_step_methods(model)[1]
    >>> [step.__name__ for step in steps]
    ['NUTS']
    """
    token = _LEFT_OUT.set(True)
    try:
        yield
    finally:
        _LEFT_OUT.reset(token)


def left_out() -> bool:
    """Return whether this is such a place."""
    return _LEFT_OUT.get()


# From the values that PyMC holds to variables in natural units, and back.


def to_natural(model: Any, names: tuple[str, ...]) -> Any:
    """Compile the way from the values that PyMC holds to variables in natural units."""
    inputs, outputs = [], []
    for name in names:
        variable = model[name]
        value, transform = (
            model.rvs_to_values[variable].type(),
            model.rvs_to_transforms[variable],
        )
        inputs.append(value)
        outputs.append(
            value if transform is None else transform.backward(value, *variable.owner.inputs)
        )
    return pytensor.function(inputs, outputs, on_unused_input="ignore")


def to_values(model: Any, names: tuple[str, ...]) -> Any:
    """Compile the way from variables in natural units to the values that PyMC holds."""
    inputs, outputs = [], []
    for name in names:
        variable = model[name]
        natural, transform = variable.type(), model.rvs_to_transforms[variable]
        inputs.append(natural)
        outputs.append(
            natural if transform is None else transform.forward(natural, *variable.owner.inputs)
        )
    return pytensor.function(inputs, outputs, on_unused_input="ignore")


# Saying that a Gibbs step would not be exact for a model, and the reason that all steps share.


def unfit(expected: str, found: str) -> ArgumentError:
    """Make the error for a model that a step does not fit."""
    return ArgumentError(
        "model", expected=expected, found=found,
        hint="The Gibbs step would not be exact; sample in `with dissensus.steps.without_gibbs():`",
    )  # fmt: skip


def refuse_other_uses(model: Any, ours: Iterable[Any], observed: Any) -> None:
    """Raise if anything but the labels hangs on what a step moves."""
    moved = set(ours)
    for one in [*model.basic_RVs, *model.potentials]:
        if one not in moved and one is not observed and moved & set(ancestors([one])):
            raise unfit("nothing but the labels to hang on these variables", one.name)


# What Gibbs steps have in common that move everything in a model at once.


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
        """Return whether this is the step for a variable: for all of a model's, or none."""
        model = Model.get_context(error_if_none=False)
        known = cls.reader.knows(getattr(var, "name", None))
        if left_out() or model is None or not known or var not in model.free_RVs:
            return Competence.INCOMPATIBLE
        if not cls.reader.has_form(model) or _reason_against(cls, model):
            return Competence.INCOMPATIBLE
        return Competence.IDEAL


_READ: WeakKeyDictionary[Any, tuple[Any, str]] = WeakKeyDictionary()
"""For each model, as it was when it was read, why a step leaves it to NUTS; "" if it does not."""


def _reason_against(step: type[WholeModelStep], model: Any) -> str:
    """Return why a step does not fit a model, and warn once; "" if it fits.

    PyMC asks for one variable after the other: the answer is kept until the model changes.
    """
    data = [one.get_value(borrow=True) for one in model.data_vars if hasattr(one, "get_value")]
    state = (step, *(id(part) for part in (*model.basic_RVs, *model.potentials, *data)))
    if _READ.get(model, (None, ""))[0] != state:
        reason = ""
        try:
            step.reader.read(model)
        except ArgumentError as problem:
            reason = f"expected {problem.expected}; found {problem.found}"
            warn_caller(
                f"PyMC's own steps sample this model, not {step.__name__}, which would not be "
                f"exact: {reason}."
            )
        _READ[model] = state, reason
    return _READ[model][1]


def compile_kernels(step: Any, model: Any, initial_point: Any) -> None:
    """Take a step and forget it: the kernels are then compiled once, before `pymc.sample` forks.

    Without, each of its workers would compile them for itself.
    """
    if initial_point is None:
        initial_point = first_point(model)
    kept, step.rng = step.rng, get_random_generator(0)
    try:
        step.step(initial_point)
    finally:
        step.rng = kept
