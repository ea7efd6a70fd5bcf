"""Code that all Gibbs steps for PyMC share, and the models that they sample."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from operator import is_
from threading import Lock
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pymc as pm
import pytensor
from numba.core.event import install_listener
from pymc.model import modelcontext
from pymc.sampling import mcmc
from pymc.step_methods.compound import BlockedStep, Competence
from pymc.util import get_random_generator
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import equal_computations
from pytensor.graph.traversal import ancestors

from dissensus.errors import ArgumentError, warn_caller
from dissensus.kernels.types import Array
from dissensus.sampling.interpreter import INTERPRETED, evaluated, interpreted, uncompiled
from dissensus.sampling.interruption import LoggedCompilation

_DEFAULT_MODE: Final = "Mode"  # PyTensor's name for its default mode: compilation by Numba
_OF_TRACES: Final = {"inputs", "point_fn", "on_unused_input", "trust_input"}
"""The options that PyMC passes to ``compile_fn`` when it makes the function of a trace."""


def first_point(model: Any) -> dict[str, Any]:
    """Return the initial point of a model."""
    with uncompiled():
        point: dict[str, Any] = model.initial_point()
    return point


class Model(pm.Model):
    """A `pymc.Model` in which NumPy evaluates the function of the trace.

    This function computes the variables of the trace from a state, once a draw. Compiling it takes
    longer than sampling in most fits; without compilation it takes up to half a millisecond a draw.
    The function is compiled if a user has added a variable, because unknown graphs may be slow or
    less precise without compilation. It is also compiled if ``pytensor.config.mode`` is set.
    """

    def compile_fn(self, outs: Any, *, mode: Any = None, **options: Any) -> Any:
        """Compile a function as `pymc.Model.compile_fn` does, except the function of the trace."""
        is_default = mode is None and pytensor.config.mode in (_DEFAULT_MODE, INTERPRETED)
        is_pymc = options.keys() <= _OF_TRACES and options.get("point_fn") is False
        if is_default and is_pymc and self._is_traced(outs, options.get("inputs")):
            graph = [getattr(part, "variable", part) for part in outs]
            values = [getattr(part, "variable", part) for part in options["inputs"]]
            function = self._made_once(
                [*graph, *values], ("trace", len(graph)), lambda: interpreted(values, graph)
            )
            if function is not None:
                return function
        return super().compile_fn(outs, mode=mode, **options)

    @property
    def unobserved_value_vars(self) -> list[Any]:
        """The variables of a trace as functions of a state; the graphs are made only once."""

        def make() -> list[Any]:
            with uncompiled():
                return list(super(Model, self).unobserved_value_vars)

        parts = [*self.free_RVs, *self.value_vars, *self.deterministics]
        return list(self._made_once(parts, "traced", make))

    def _make_initial_point(self, **options: Any) -> Any:
        """Return the function of initial points, without compiling it.

        The function runs only once a chain. PyMC would compile the scan of LKJCorr in it.
        """
        if pytensor.config.mode not in (_DEFAULT_MODE, INTERPRETED):
            return super()._make_initial_point(**options)

        def make() -> Any:
            with uncompiled():
                function = super(Model, self)._make_initial_point(**options)
            alone = Lock()  # a PyTensor function stores results in one place for all threads

            def point(seed: Any) -> Any:
                with alone:
                    return function(seed)

            return point

        is_stated = any(value is not None for value in self.rvs_to_initial_values.values())
        if is_stated or options.get("overrides") or options.get("jitter_rvs"):
            return make()
        key = "start", options.get("return_transformed", True)
        return self._made_once(self.basic_RVs, key, make)

    def _made_once(self, graph: list[Any], key: Any, make: Callable[[], Any]) -> Any:
        """Return the result of ``make``, or of an earlier call with an equal graph and key.

        PyMC itself makes graphs and functions anew for each chain and each initial point.
        """
        made = _MADE.setdefault(self, [])
        now = list(self.rvs_to_transforms.values())
        for before, stored_key, transforms, function in made:
            if (
                len(before) == len(graph) and stored_key == key
                and _are(transforms, now) and equal_computations(before, graph)
            ):  # fmt: skip
                return function
        made.append((list(graph), key, now, function := make()))
        return function

    def _is_traced(self, outs: Any, inputs: Any) -> bool:
        """Return whether a function maps a state to variables that all come from the library."""
        names = _WRITTEN[self].names if self in _WRITTEN else None
        if not isinstance(outs, list) or not outs or set(self.named_vars) != names:
            return False
        made: list[Any] = [getattr(node, "variable", node) for node in outs]
        given = {getattr(node, "variable", node) for node in inputs or ()}
        traced = [*self.value_vars, *self.free_RVs, *self.deterministics]
        known = {variable.name for variable in traced}
        return given == set(self.value_vars) and {node.name for node in made} <= known


class _Written(NamedTuple):
    """The contents of a model at the time when the library returned it."""

    names: set[str]
    parts: list[Any] | None
    """None if the model was built by other code, such as a user's copy of the library's code."""


_MODELS: Final = "dissensus.models."
_WRITTEN: WeakKeyDictionary[Any, _Written] = WeakKeyDictionary()


def written(model: Any) -> Any:
    """Record the parts of a model that the library has written, and return the model."""
    frame = inspect.currentframe()
    name = "" if frame is None or frame.f_back is None else frame.f_back.f_globals["__name__"]
    own = name.startswith(_MODELS)
    parts = _parts(model) + _inputs(model) if own else None
    _WRITTEN[model] = _Written(set(model.named_vars), parts)
    return model


def is_as_written(model: Any) -> bool:
    """Return whether a model has exactly the parts that the library gave it.

    The posterior of such a model need not be compared with the one that the step samples. A model
    with replaced data does not have the same parts.
    """
    parts = _WRITTEN[model].parts if model in _WRITTEN else None
    return parts is not None and _are(parts, _parts(model) + _inputs(model))


_MADE: WeakKeyDictionary[Any, list[tuple[list[Any], Any, list[Any], Any]]] = WeakKeyDictionary()
"""For each model, a list of (graph, key, transforms, function) of the functions made so far.
The list is not an attribute of the model, because models are copied and sent to other processes."""

_LEFT_OUT: ContextVar[bool] = ContextVar("gibbs_steps_left_out", default=False)


@contextmanager
def without_gibbs() -> Iterator[None]:
    """Let `pymc.sample` use only PyMC's own steps, such as NUTS.

    PyMC then starts each chain of NUTS at a different point, which r-hat needs. With
    ``step=pm.NUTS()`` all chains start at the same point.

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
    """Return whether `pymc.sample` may use only PyMC's own steps.

    This is so inside `without_gibbs`, and with a ``nuts_sampler`` other than PyMC's, which cannot
    be combined with further steps.
    """
    return _LEFT_OUT.get() or _locals_of(mcmc.sample).get("nuts_sampler") not in (None, "pymc")


def _model_of_call() -> Any:
    """Return the model to which PyMC assigns steps; it may differ from the model of the context."""
    return _locals_of(mcmc.assign_step_methods).get("model") or pm.Model.get_context(
        error_if_none=False
    )


def _locals_of(function: Any) -> Mapping[str, Any]:
    """Return the local variables of a running PyMC function; PyMC does not pass them to steps."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return {} if frame is None else frame.f_locals


def to_natural(model: Any, names: tuple[str, ...]) -> Any:
    """Return the function from PyMC's values of variables to their values in natural units."""
    return _transformation(model, names, "backward")


def to_values(model: Any, names: tuple[str, ...]) -> Any:
    """Return the function from variables in natural units to PyMC's values of them."""
    return _transformation(model, names, "forward")


def _transformation(model: Any, names: tuple[str, ...], direction: str) -> Any:
    inputs, outputs = [], []
    for variable in map(model.__getitem__, names):
        transform = model.rvs_to_transforms[variable]
        source = model.rvs_to_values[variable] if direction == "backward" else variable
        inputs.append(source.type())
        outputs.append(
            inputs[-1] if transform is None
            else getattr(transform, direction)(inputs[-1], *variable.owner.inputs)
        )  # fmt: skip
    return evaluated(inputs, outputs)


def unfit(expected: str, found: str) -> ArgumentError:
    """Return the error for a model that a step cannot sample exactly."""
    return ArgumentError(
        "model",
        expected=expected,
        found=found,
        hint="The Gibbs step would not be exact; sample in `with dissensus.steps.without_gibbs():`",
    )


def refuse_other_uses(model: Any, moved: Iterable[Any], observed: Iterable[Any]) -> None:
    """Raise if variables or potentials other than ``observed`` depend on variables ``moved``."""
    moved, observed = set(moved), set(observed)
    values = {model.rvs_to_values[rv] for rv in moved}  # a Potential can use these
    for variable in [*model.basic_RVs, *model.potentials]:
        if variable in moved or variable in observed:
            continue
        if (moved | values) & set(ancestors([variable])):
            raise unfit("only the labels to depend on these variables", variable.name)


class WholeModelStep(BlockedStep):
    """A step that moves all variables of one family of models together.

    A subclass defines `has_form`, `read`, `prepare` and `move`.
    """

    has_form: Callable[[Any], bool]
    """A cheap test: if it is false, the step cannot sample the model."""
    read: Callable[[Any], Any]
    """Return the parts of a model that the step needs, or raise if the step would not be exact.
    The result has the field ``names``, the variables that the step moves. The optional field
    ``aside`` says why the step leaves further variables to PyMC."""
    _reading: Any
    _end: tuple[dict[str, Array], Any] | None = None
    """The point after the last move: in PyMC's values, and in natural units."""
    stats_dtypes_shapes: dict[str, Any] = {}  # noqa: RUF012 (as PyMC declares it)

    def __init__(
        self, vars: Any = None, *, model: Any = None, rng: Any = None, initial_point: Any = None,  # noqa: A002
        compile_kwargs: Any = None, blocked: bool = True,  # noqa: ARG002
    ) -> None:  # fmt: skip
        model = modelcontext(model)
        self._reading = _read(type(self), model)
        names = self._reading.names
        value_vars = [model.rvs_to_values[model[name]] for name in names]
        self.vars = value_vars if vars is None else [model.rvs_to_values.get(v, v) for v in vars]
        if {v.name for v in self.vars} != {v.name for v in value_vars}:
            raise ArgumentError(
                "vars",
                expected=f"all of {', '.join(names)}, which are updated together",
                found=", ".join(str(v.name) for v in self.vars),
                hint="To give some of them another step (step=), sample inside "
                "dissensus.steps.without_gibbs()",
            )
        self.blocked = blocked
        self.rng = get_random_generator(rng)
        self._values = {name: v.name for name, v in zip(names, value_vars, strict=True)}
        self._read_data = _data(model)
        self.prepare(model)
        compile_kernels(self, model, initial_point)

    def prepare(self, model: Any) -> None:
        """Make the attributes that `move` needs from ``self._reading``; called once for a model."""
        raise NotImplementedError

    def step(self, point: Any) -> Any:
        """Return the next point; raise if data of the model were replaced."""
        for variable, values in self._read_data:
            if variable.get_value(borrow=True) is not values:
                raise ArgumentError(
                    "model", expected="the data with which this step was made",
                    found=f"other {variable.name}", hint="Make a new step after pymc.set_data",
                )  # fmt: skip
        return self.move(point)

    def move(self, point: Any) -> Any:
        """Return the next point, as a new mapping."""
        raise NotImplementedError

    def remember(self, natural: Any, values: Iterable[Any], point: Any) -> Any:
        """Return ``point`` with new values of the variables, and store both forms for `recall`."""
        out = dict(zip(self._values.values(), values, strict=True))
        self._end = {name: np.array(value) for name, value in out.items()}, natural
        return {**point, **out}

    def recall(self, point: Any) -> Any:
        """Return ``point`` in natural units if the last move ended there, else None.

        This saves a transformation by PyTensor, which takes longer than a sweep. The caller may
        overwrite the result.
        """
        end, self._end = self._end, None
        if end is None or any(not np.array_equal(point[n], value) for n, value in end[0].items()):
            return None
        return end[1]

    @classmethod
    def competence(cls, var: Any, has_grad: bool = False) -> Any:  # noqa: ARG003
        """Return IDEAL for variables that the step moves, INCOMPATIBLE for all others."""
        model = _model_of_call()
        if left_out() or model is None or var not in model.free_RVs:
            return Competence.INCOMPATIBLE
        if not cls.has_form(model) or var.name not in _moved(cls, model):
            return Competence.INCOMPATIBLE
        return Competence.IDEAL


_READ: WeakKeyDictionary[Any, dict[type, tuple[list[Any], Any]]] = WeakKeyDictionary()
"""For each model and class of step: the parts of the model, and the result of reading it.

The result is None if the step cannot sample the model. Results are stored because reading takes
time. The parts are stored as objects, because Python may reuse an ``id``.
"""


def _read(step: type[WholeModelStep], model: Any) -> Any:
    """Return the result of ``step.read``, from the cache if it is still valid, or raise."""
    is_known, reading = _known(step, model)
    return reading if is_known and reading is not None else _read_anew(step, model)


def _read_anew(step: type[WholeModelStep], model: Any) -> Any:
    """Return the result of ``step.read``; any exception becomes an ArgumentError."""
    try:
        return step.read(model)
    except ArgumentError:
        raise
    except Exception as problem:
        raise unfit(
            "a model as the library writes it",
            f"one that cannot be read: {type(problem).__name__}: {problem}",
        ) from problem


def _known(step: type[WholeModelStep], model: Any) -> tuple[bool, Any]:
    """Return whether the cache has a valid result of reading a model, and this result."""
    before, reading = _READ.get(model, {}).get(step, ([], None))
    now = _parts(model)
    return _are(before, now), reading


def _are(before: list[Any], now: list[Any]) -> bool:
    """Return whether two lists contain the same objects (by identity) in the same order."""
    return len(before) == len(now) and all(map(is_, before, now))


def _parts(model: Any) -> list[Any]:
    transforms = [model.rvs_to_transforms.get(rv) for rv in model.basic_RVs]
    return [*_graphs(model), *transforms, *(data for _, data in _data(model))]


def _inputs(model: Any) -> list[Any]:
    """Return the inputs of all operations in the graphs of a model."""
    owners = [variable.owner for variable in ancestors(_graphs(model))]
    return [part for owner in owners if owner is not None for part in owner.inputs]


def _graphs(model: Any) -> list[Any]:
    values = [model.rvs_to_values[rv] for rv in model.basic_RVs]
    return [*model.basic_RVs, *model.potentials, *values]


def _moved(step: type[WholeModelStep], model: Any) -> tuple[str, ...]:
    """Return the names of the variables of a model that a step moves.

    Warn once if PyMC samples some or all variables of the family instead.
    """
    is_known, reading = _known(step, model)
    if is_known:
        return () if reading is None else tuple(reading.names)
    try:
        reading = _read_anew(step, model)
        names, kept, why = reading.names, "the rest of ", getattr(reading, "aside", "")
    except ArgumentError as problem:
        reading, names, kept = None, (), ""
        why = f"expected {problem.expected}; found {problem.found}"
    _READ.setdefault(model, {})[step] = _parts(model), reading
    if why:
        warn_caller(
            f"PyMC's own steps sample {kept}this model, not {step.__name__}, which would not "
            f"be exact: {why}."
        )
    return names


def _data(model: Any) -> list[tuple[Any, Any]]:
    """Return pairs of a shared variable (data, or the length of a dim) and its value."""
    return [
        (variable, variable.get_value(borrow=True))
        for variable in ancestors([*_graphs(model), *model.data_vars])
        if isinstance(variable, SharedVariable) and hasattr(variable.type, "dtype")
    ]  # fmt: skip


def compile_kernels(step: Any, model: Any, initial_point: Any) -> None:
    """Compile the kernels of a step, by a trial step that leaves the state as it was.

    If `pymc.sample` started workers first, each worker would compile the kernels.
    """
    if initial_point is None:
        initial_point = first_point(model)
    state, rng = step.sampling_state, step.rng
    step.rng = get_random_generator(0)
    try:
        with install_listener("numba:compile", LoggedCompilation(type(step))):
            step.step(initial_point)
    finally:
        step.sampling_state, step.rng = state, rng
