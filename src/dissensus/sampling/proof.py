"""Proof that a PyMC model is the one that a Gibbs step samples.

A step reads data and priors off a model, the library writes the model of these anew, and the two
graphs are compared in PyTensor's canonical form, with random variables replaced by their names.
Sums and products are compared whatever their order, constants and `pymc.Data` by their values. Any
other difference is refused. No values are tried: a term that is 0 at the initial point is seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pytensor
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.replace import clone_replace
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Add, Identity, Mul, Neg, Sub
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.subtensor import AdvancedSubtensor

from dissensus.kernels.types import Array, Ints
from dissensus.sampling.step import refuse_other_uses, unfit


def prove(
    model: Any, observed: Any, reference: Any, *, parameters: tuple[str, ...] = (),
    more_in_mean: bool = False,
) -> bool:  # fmt: skip
    """Raise unless the variables of a reference are the same in a model.

    Parameters
    ----------
    model, observed
        The model, and its variable that corresponds to the observed one of the reference.
    reference
        The model that the library writes of the same data and priors.
    parameters : tuple of str
        Names of the observed variable's parameters, for the message.
    more_in_mean : bool
        Whether the mean of what is observed may have more terms, which depend on none of these
        variables.

    Returns
    -------
    bool
        Whether it has more terms.

    Raises
    ------
    ArgumentError
        Naming a variable that differs, with what was expected and what was found.
    """
    (expected,) = reference.observed_RVs
    free = {rv.name: rv for rv in model.free_RVs}
    ours = [rv.name for rv in reference.free_RVs]
    missing = [name for name in ours if name not in free]
    if missing:
        raise unfit(f"free variables {', '.join(ours)}", f"none called {', '.join(missing)}")
    refuse_other_uses(model, [free[name] for name in ours], observed)
    expressions = _Expressions()
    shapes = _shapes(model), _shapes(reference)
    for rv in reference.free_RVs:
        mine = free[rv.name]
        if shapes[0][mine] != shapes[1][rv]:
            raise unfit(f"{rv.name} of shape {shapes[1][rv]}", f"shape {shapes[0][mine]}")
        found, wanted = _parameters(expressions, (model, mine), (reference, rv))
        if found != wanted:
            raise _differs(mine, rv)
        found, wanted = (
            _transform(expressions, one, variable)
            for one, variable in ((model, mine), (reference, rv))
        )
        if found != wanted:
            raise unfit(f"{rv.name} with PyMC's own transform for it", "another transform")
    found, wanted = _parameters(expressions, (model, observed), (reference, expected))
    more = more_in_mean and expressions.has_more(found[0], wanted[0], set(ours))
    differing = [place for place in range(more, len(wanted)) if found[place] != wanted[place]]
    if differing:
        if parameters:
            names = " and ".join(parameters[place] for place in differing)
            raise unfit(f"{observed.name} with {names} as the library writes it", "another")
        raise _differs(observed, expected)
    return more


def _shapes(model: Any) -> dict[Any, tuple[int, ...]]:
    """Return the shapes of free variables, as PyMC moves them."""
    point = model.initial_point()
    return {rv: np.shape(point[model.rvs_to_values[rv].name]) for rv in model.free_RVs}


def _parameters(expressions: _Expressions, *both: tuple[Any, Any]) -> list[list[int]]:
    """Return the parameters of a variable and of the one that is expected, as numbers."""
    (_, mine), (_, expected) = both
    op, wanted = mine.owner.op, expected.owner.op
    if type(op) is not type(wanted) or op.name != wanted.name:
        raise _differs(mine, expected)
    return [
        expressions.numbers(model, rv.owner.op.dist_params(rv.owner), broadcast=True)
        for model, rv in both
    ]


def _differs(mine: Any, expected: Any) -> Exception:
    from pymc.printing import str_for_dist

    return unfit(*(str_for_dist(rv) or f"{rv.name}: {rv.owner.op}" for rv in (expected, mine)))


def _transform(expressions: _Expressions, model: Any, rv: Any) -> list[int]:
    """Return the way from PyMC's values to natural units, as numbers; empty if they are equal."""
    transform = model.rvs_to_transforms[rv]
    if transform is None:
        return []
    value = model.rvs_to_values[rv].type("value")
    natural = transform.backward(value, *rv.owner.inputs)
    return expressions.numbers(model, [natural], {value: "value"})


class _Expressions:
    """Numbers for expressions: two expressions that are the same have one number.

    An expression is known by its operation and the numbers of its inputs.
    """

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._keys: list[Any] = []

    def numbers(
        self, model: Any, outputs: Iterable[Any], also: Mapping[Any, str] | None = None, *,
        broadcast: bool = False,
    ) -> list[int]:  # fmt: skip
        """Return the numbers of expressions in the variables of a model.

        Parameters
        ----------
        model : pymc.Model
        outputs : iterable of Variable
        also : mapping, optional
            Names of further variables.
        broadcast : bool
            Whether the expressions broadcast with others: a constant array of equal values then
            stands for the value.
        """
        outputs = list(outputs)
        given = {rv: rv.name for rv in model.basic_RVs} | dict(also or {})
        names = {_stand_in(variable): name for variable, name in given.items()}
        replaced = dict(zip(given, names, strict=True))
        for variable in ancestors(outputs, blockers=list(given)):
            if isinstance(variable, SharedVariable) and hasattr(variable.type, "dtype"):
                replaced[variable] = variable.type.constant_type(
                    type=variable.type, data=variable.get_value()
                )
        whole = [replaced.get(one, one) for one in outputs]
        cloned = clone_replace(whole, replaced, rebuild_strict=False)
        canonical = rewrite_graph(cloned, include=("canonicalize",), clone=False)
        seen: dict[Any, int] = {}
        out = []
        for one in canonical:
            one = _unpadded(one) if broadcast else one
            if broadcast and isinstance(one, Constant):
                out.append(self._number(_given(_scalar(np.asarray(one.data)))))
            else:
                out.append(self._of(one, names, seen))
        return out

    def has_more(self, found: int, wanted: int, ours: set[str]) -> bool:
        """Return whether one sum is another with more terms, in which none of ours stands."""
        more = list(self._summands(found))
        for term in self._summands(wanted):
            if term not in more:
                return False
            more.remove(term)
        return bool(more) and not any(self._names(number) & ours for _, number in more)

    def _summands(self, number: int) -> tuple[Any, ...]:
        key = self._keys[number]
        return key[1] if key[0] == "sum" else ((1, number),)

    def _names(self, number: int) -> set[str]:
        """Return the names of the variables in an expression."""
        kind, *rest = self._keys[number]
        if kind == "variable":
            return {rest[0]}
        if kind == "given":
            return set()
        inputs = [term[1] for term in rest[0]] if kind == "sum" else rest[-1]
        return set().union(*(self._names(one) for one in inputs))

    def _number(self, key: Any) -> int:
        if key not in self._known:
            self._known[key] = len(self._keys)
            self._keys.append(key)
        return self._known[key]

    def _of(self, variable: Any, names: Mapping[Any, str], seen: dict[Any, int]) -> int:
        if variable not in seen:
            seen[variable] = self._number(self._key(variable, names, seen))
        return seen[variable]

    def _key(self, variable: Any, names: Mapping[Any, str], seen: dict[Any, int]) -> Any:
        """Return what an expression is known by."""
        if variable in names:
            return ("variable", names[variable])
        if isinstance(variable, Constant):
            return _given(variable.data)
        if variable.owner is None or isinstance(variable.owner.op, RandomVariable):
            raise unfit("expressions of the model's variables and data", str(variable))
        op, inputs = variable.owner.op, variable.owner.inputs
        if isinstance(op, Elemwise):
            scalar, inputs = op.scalar_op, [_unpadded(one) for one in inputs]
            if isinstance(scalar, Identity):  # a Deterministic
                return self._keys[self._of(inputs[0], names, seen)]
            if isinstance(scalar, Add | Sub | Neg):
                return ("sum", tuple(sorted(self._terms(variable, 1, names, seen))))
            numbers = [self._of(one, names, seen) for one in inputs]
            if isinstance(scalar, Mul):
                return ("product", tuple(sorted(numbers)))
            return ("each", scalar, tuple(numbers))
        return ("operation", op, tuple(self._of(one, names, seen) for one in inputs))

    def _terms(
        self, variable: Any, sign: int, names: Mapping[Any, str], seen: dict[Any, int]
    ) -> list[tuple[int, int]]:
        """Return the terms of a sum, each with its sign."""
        variable = _unpadded(variable)
        op = variable.owner.op if variable.owner is not None and variable not in names else None
        scalar = op.scalar_op if isinstance(op, Elemwise) else None
        if not isinstance(scalar, Add | Sub | Neg | Identity):
            return [(sign, self._of(variable, names, seen))]
        signs = {Sub: (sign, -sign), Neg: (-sign,)}.get(type(scalar))
        inputs = variable.owner.inputs
        pairs = zip(inputs, signs or (sign,) * len(inputs), strict=True)
        return [term for one, own in pairs for term in self._terms(one, own, names, seen)]


def _stand_in(variable: Any) -> Any:
    """Return a variable without an owner, of which no length is known but 1."""
    shape = tuple(1 if length == 1 else None for length in variable.type.shape)
    return variable.type.clone(shape=shape)(name=variable.name)


def _unpadded(variable: Any) -> Any:
    """Leave out dimensions of length 1 that were added in front, as for broadcasting."""
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        order = variable.owner.op.new_order
        inner = variable.owner.inputs[0]
        n_front = len(order) - inner.type.ndim
        if n_front < 0 or order != ("x",) * n_front + tuple(range(inner.type.ndim)):
            break
        variable = inner
    return variable


def _scalar(values: Array) -> Array:
    """Return one value for an array of equal ones."""
    flat = values.ravel()
    return flat[0] if flat.size and (flat == flat[0]).all() else values


def _given(data: Any) -> tuple[Any, ...]:
    """Return what a constant is known by."""
    if not isinstance(data, np.ndarray | np.generic | int | float):
        return ("given", repr(data))  # a slice, or None
    values = np.asarray(data)
    values = values.astype(np.float64 if values.dtype.kind in "biuf" else values.dtype)
    return ("given", values.shape, values.tobytes())


def indices(expression: Any, variable: Any) -> list[Ints] | None:
    """Return the places at which a vector or matrix stands in an expression.

    Parameters
    ----------
    expression : Variable
    variable : Variable
        A random variable that is indexed by constant arrays somewhere in the expression.

    Returns
    -------
    list of array, or None
        An array for each dimension; None where it is not indexed.
    """
    for one in ancestors([expression], blockers=[variable]):
        node = one.owner
        if node is None or not isinstance(node.op, AdvancedSubtensor):
            continue
        base, *places = node.inputs
        while base.owner is not None and base is not variable and _is_identity(base.owner.op):
            base = base.owner.inputs[0]
        if base is variable:
            return [np.asarray(place.eval(), dtype=np.int64) for place in places]
    return None


def _is_identity(op: Any) -> bool:
    return isinstance(op, Elemwise) and isinstance(op.scalar_op, Identity)


PLAIN: Final = Mode(linker="py", optimizer=None)
"""For what is evaluated once or twice: compilation would take longer."""


def constants(model: Any, parameters: Sequence[Any]) -> list[Any]:
    """Evaluate parameters of a prior.

    Raises
    ------
    ArgumentError
        If they depend on random variables.
    """
    free = set(model.free_RVs)
    for one in parameters:
        if free & set(ancestors([one])):
            raise unfit("priors with given parameters", f"{one}, which depends on other variables")
    given = model.replace_rvs_by_values(list(parameters))
    return list(pytensor.function([], given, mode=PLAIN)())


def number(model: Any, parameter: Any, name: str) -> float:
    """Return a parameter that is one number, or an array of equal ones."""
    (value,) = constants(model, [parameter])
    numbers = np.unique(np.asarray(value, dtype=np.float64))
    if len(numbers) != 1:
        raise unfit(f"{name} with one prior for all", f"priors with {numbers.tolist()}")
    return float(numbers[0])
