"""Proof that a PyMC model has the posterior that a Gibbs step samples.

A step reads data and priors from a model, and the library builds a reference model with these data
and priors. The graphs of the two models are compared in PyTensor's canonical form, with random
variables replaced by their names. The order of terms and factors does not matter; constants and
`pymc.Data` are compared by value. Any other difference is refused. Graphs are compared, not their
values at a point: a term that is 0 at the initial point is a difference too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.replace import clone_replace
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Add, Identity, Mul, Neg, Sub
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.random.basic import NormalRV
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.special import LogAddExp
from pytensor.tensor.subtensor import AdvancedSubtensor

from dissensus.data.layout import LABELS
from dissensus.kernels.types import Array, Ints
from dissensus.sampling.interpreter import evaluated
from dissensus.sampling.step import refuse_other_uses, unfit

COEFFICIENT, COVARIATES = "coefficient", "covariates"


def prove(
    model: Any, observed: Any, reference: Any, *, parameters: tuple[str, ...] = (),
    more_in_mean: bool = False,
) -> bool:  # fmt: skip
    """Raise unless the variables of a reference model have the same distributions in a model.

    ``reference`` is the model that the library writes for the same data and priors. ``observed`` is
    the variable of ``model`` that corresponds to the observed variable of ``reference``.
    ``parameters`` are names of the parameters of ``observed``, for the message. With
    ``more_in_mean`` the mean of ``observed`` may have further terms, if these do not depend on
    variables of the reference. Returns whether the mean has such terms. A model that is its own
    reference needs no proof.
    """
    if model is reference:
        return False
    (expected,) = reference.observed_RVs
    expressions = _Expressions()
    prove_free(model, [observed], reference, expressions)
    actual, wanted = _parameters(expressions, (model, observed), (reference, expected))
    names = {rv.name for rv in reference.free_RVs}
    more = more_in_mean and expressions.has_more(actual[0], wanted[0], names)
    differing = [place for place in range(more, len(wanted)) if actual[place] != wanted[place]]
    if differing and parameters:
        different = " and ".join(parameters[place] for place in differing)
        raise unfit(f"{observed.name} with {different} as the library writes it", "another")
    if differing:
        raise _differs(observed, expected)
    return more


def prove_free(
    model: Any, observed: Sequence[Any], reference: Any, expressions: _Expressions | None = None
) -> None:
    """Raise unless the free variables of a reference model have the same priors in a model.

    In ``model`` no further variables except ``observed`` may depend on these free variables.
    """
    expressions = expressions or _Expressions()
    free = {rv.name: rv for rv in model.free_RVs}
    names = [rv.name for rv in reference.free_RVs]
    require_free(model, names)
    refuse_other_uses(model, [free[name] for name in names], observed)
    model_shapes, reference_shapes = shapes(model), shapes(reference)
    for name, rv in zip(names, reference.free_RVs, strict=True):
        if model_shapes[name] != reference_shapes[name]:
            raise unfit(f"{name} of shape {reference_shapes[name]}", f"shape {model_shapes[name]}")
        pair = (model, free[name]), (reference, rv)
        actual, wanted = _parameters(expressions, *pair)
        if actual != wanted:
            raise _differs(free[name], rv)
        actual, wanted = (_transform(expressions, *of_model) for of_model in pair)
        if actual != wanted:
            raise unfit(f"{name} with PyMC's own transform for it", "another transform")


def require_free(model: Any, names: Iterable[str]) -> None:
    """Raise unless a model has free variables with these names."""
    names, free = list(names), {rv.name for rv in model.free_RVs}
    missing = [name for name in names if name not in free]
    if missing:
        raise unfit(f"free variables {', '.join(names)}", f"none called {', '.join(missing)}")


def shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the transformed values of the free variables, by name."""
    point = model.initial_point()
    return {rv.name: np.shape(point[model.rvs_to_values[rv].name]) for rv in model.free_RVs}


def _parameters(expressions: _Expressions, *pair: tuple[Any, Any]) -> list[list[int]]:
    """Return the numbers (see `_Expressions`) of the parameters of two variables.

    ``pair`` has two pairs of a model and its variable; the second is the reference. Raises if the
    distributions have different classes.
    """
    (_, actual), (_, expected) = pair
    op, wanted = actual.owner.op, expected.owner.op
    if type(op) is not type(wanted) or op.name != wanted.name:
        raise _differs(actual, expected)
    return [
        expressions.numbers(model, rv.owner.op.dist_params(rv.owner), broadcast=True)
        for model, rv in pair
    ]


def _differs(actual: Any, expected: Any) -> Exception:
    from pymc.printing import str_for_dist

    return unfit(*(str_for_dist(rv) or f"{rv.name}: {rv.owner.op}" for rv in (expected, actual)))


def _transform(expressions: _Expressions, model: Any, rv: Any) -> list[Any]:
    """Return the class of a variable's transform, and the number of its backward expression.

    The class determines the Jacobian; the expression maps PyMC's values to natural units. The list
    is empty without a transform.
    """
    transform = model.rvs_to_transforms[rv]
    if transform is None:
        return []
    value = model.rvs_to_values[rv].type("value")
    natural = transform.backward(value, *rv.owner.inputs)
    return [type(transform), *expressions.numbers(model, [natural], {value: "value"})]


class _Expressions:
    """Numbers for expressions: equal expressions have the same number.

    The key of an expression is its operation with the numbers of its inputs.
    """

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._keys: list[Any] = []

    def numbers(
        self, model: Any, outputs: Iterable[Any], also: Mapping[Any, str] | None = None, *,
        broadcast: bool = False,
    ) -> list[int]:  # fmt: skip
        """Return the numbers of expressions in the variables of a model.

        ``also`` names further variables. With ``broadcast`` a constant array of equal values has
        the same number as the single value.
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
        whole = [replaced.get(output, output) for output in outputs]
        cloned = clone_replace(whole, replaced, rebuild_strict=False)
        # Asserts are removed, because they change no value.
        canonical = rewrite_graph(
            cloned, include=("canonicalize", "local_remove_all_assert"), clone=False
        )
        seen: dict[Any, int] = {}
        numbers = []
        for output in canonical:
            output = _unpadded(output) if broadcast else output
            if broadcast and isinstance(output, Constant):
                numbers.append(self._number(_given(_scalar(np.asarray(output.data)))))
            else:
                numbers.append(self._of(output, names, seen))
        return numbers

    def has_more(self, actual: int, wanted: int, names: set[str]) -> bool:
        """Return whether the sum ``actual`` is the sum ``wanted`` with further terms.

        The further terms must not contain any of the names.
        """
        more = list(self._summands(actual))
        for term in self._summands(wanted):
            if term not in more:
                return False
            more.remove(term)
        return bool(more) and not any(self._names(number) & names for _, number in more)

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
        return set().union(*(self._names(part) for part in inputs))

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
        """Return the key of an expression: equal expressions have equal keys."""
        if variable in names:
            return ("variable", names[variable])
        if isinstance(variable, Constant):
            return _given(variable.data)
        if variable.owner is None or isinstance(variable.owner.op, RandomVariable):
            raise unfit("expressions of the model's variables and data", str(variable))
        op, inputs = variable.owner.op, variable.owner.inputs
        if isinstance(op, Elemwise):
            scalar, inputs = op.scalar_op, [_unpadded(part) for part in inputs]
            if isinstance(scalar, Identity):  # pymc.Deterministic copies a variable by this
                return self._keys[self._of(inputs[0], names, seen)]
            if isinstance(scalar, Add | Sub | Neg):
                return ("sum", tuple(sorted(self._terms(variable, 1, names, seen))))
            numbers = [self._of(part, names, seen) for part in inputs]
            if isinstance(scalar, Mul):
                return ("product", tuple(sorted(numbers)))
            return ("each", scalar, tuple(numbers))
        if isinstance(op, LogAddExp):  # == of two LogAddExp would also compare static shapes
            op = LogAddExp
        return ("operation", op, tuple(self._of(part, names, seen) for part in inputs))

    def _terms(
        self, variable: Any, sign: int, names: Mapping[Any, str], seen: dict[Any, int]
    ) -> list[tuple[int, int]]:
        """Return the terms of a sum as pairs: the sign, and the number of the expression."""
        variable = _unpadded(variable)
        op = variable.owner.op if variable.owner is not None and variable not in names else None
        scalar = op.scalar_op if isinstance(op, Elemwise) else None
        if not isinstance(scalar, Add | Sub | Neg | Identity):
            return [(sign, self._of(variable, names, seen))]
        signs = {Sub: (sign, -sign), Neg: (-sign,)}.get(type(scalar))
        inputs = variable.owner.inputs
        pairs = zip(inputs, signs or (sign,) * len(inputs), strict=True)
        return [term for part, own in pairs for term in self._terms(part, own, names, seen)]


def _stand_in(variable: Any) -> Any:
    """Return a variable without an owner, of the same type; lengths other than 1 are unknown."""
    shape = tuple(1 if length == 1 else None for length in variable.type.shape)
    return variable.type.clone(shape=shape)(name=variable.name)


def _unpadded(variable: Any) -> Any:
    """Return a variable without the dimensions that broadcasting has added in front."""
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        order = variable.owner.op.new_order
        inner = variable.owner.inputs[0]
        n_front = len(order) - inner.type.ndim
        if n_front < 0 or order != ("x",) * n_front + tuple(range(inner.type.ndim)):
            break
        variable = inner
    return variable


def _scalar(values: Array) -> Array:
    """Return the single value of an array whose values are all equal, else the array."""
    flat = values.ravel()
    return flat[0] if flat.size and (flat == flat[0]).all() else values


def _given(data: Any) -> tuple[Any, ...]:
    """Return the key of a constant."""
    if not isinstance(data, np.ndarray | np.generic | int | float):
        return ("given", repr(data))  # such as a slice, or None
    values = np.asarray(data)
    values = values.astype(np.float64 if values.dtype.kind in "biuf" else values.dtype)
    return ("given", values.shape, values.tobytes())


def observed_values(model: Any, observed: Any, ndim: int = 1) -> Array:
    """Return the observed values of a variable, or raise.

    Raises if the values are not finite, are drawn at random, or have other than ``ndim`` dims.
    """
    value = model.rvs_to_values[observed]
    if any(isinstance(variable.type, RandomType) for variable in ancestors([value])):
        raise unfit(f"{observed.name} with given observations", "observations drawn at random")
    values = np.asarray(value.eval())
    if values.ndim != ndim or not np.isfinite(values).all():
        shown = f"shape {values.shape}" if values.ndim != ndim else "infinite or undefined values"
        array = "vector" if ndim == 1 else "matrix"
        raise unfit(f"{observed.name} with a {array} of finite observations", shown)
    return values


def by_place(model: Any, labels: Any, respondent: Any) -> tuple[Ints, Array]:
    """Return respondents and labels (item, place).

    Raises if the model computes its variable ``truth`` from other labels.
    """
    (respondents,) = constants(model, [respondent])
    values = observed_values(model, labels, 2)
    if respondents.shape != values.shape:
        raise unfit(f"a respondent for each of {values.shape} labels", f"{respondents.shape}")
    if "truth" in model and not (
        LABELS in model and np.array_equal(np.asarray(model[LABELS].eval()), values)
    ):
        raise unfit(f"the data {LABELS}, as truth uses them. Use pymc.set_data", "other labels")
    return respondents, values


def codes(values: Array, n: int, noun: str) -> Ints:
    """Return values as integers, or raise unless all are whole numbers from 0 to n - 1."""
    whole = values.astype(np.int64)
    if (whole != values).any() or ((whole < 0) | (whole >= n)).any():
        raise unfit(f"{noun} in codes from 0 to {n - 1}", f"{values.min():g} to {values.max():g}")
    return whole


def places(
    expression: Any, variable: Any, shape: tuple[int, ...], n: int, where: str = "the mean"
) -> list[Ints]:
    """Return the constant arrays (n) that index a variable of this shape in an expression.

    There is one array for each dimension of the variable. An array of another length is refused; of
    length 1, it would broadcast. ``where`` names the expression in the message.
    """
    arrays = _indices(expression, variable)
    if arrays is None or len(arrays) != len(shape):
        raise unfit(f"{variable.name}, indexed by an array, in {where}", "none")
    for array in arrays:
        if array.shape != (n,):
            raise unfit(f"{variable.name} indexed by {n} places in {where}", f"{array.shape}")
    noun = f"places of {variable.name} in {where}"
    return [codes(array, length, noun) for array, length in zip(arrays, shape, strict=True)]


def _indices(expression: Any, variable: Any) -> list[Array] | None:
    for node in (part.owner for part in ancestors([expression], blockers=[variable])):
        if node is None or not isinstance(node.op, AdvancedSubtensor):
            continue
        indexed, *arrays = node.inputs
        while indexed is not variable and _is_identity(indexed):
            indexed = indexed.owner.inputs[0]
        if indexed is variable:
            return [np.asarray(array.eval()) for array in arrays]
    return None


def _is_identity(variable: Any) -> bool:
    op = variable.owner.op if variable.owner is not None else None
    return isinstance(op, Elemwise) and isinstance(op.scalar_op, Identity)


def prior(rv: Any) -> list[Any]:
    """Return the parameters of the distribution of a random variable."""
    return list(rv.owner.op.dist_params(rv.owner))


def constants(model: Any, parameters: Sequence[Any]) -> list[Any]:
    """Return the values of a prior's parameters, or raise if they depend on free variables."""
    free = set(model.free_RVs)
    for parameter in parameters:
        if free & set(ancestors([parameter])):
            raise unfit(
                "priors with given parameters", f"{parameter}, which depends on other variables"
            )
    return evaluated([], model.replace_rvs_by_values(list(parameters)))()


def regression(model: Any, *shape: int) -> dict[str, Any]:
    """Return the terms, covariates and prior of coefficients; empty without coefficients.

    These are fields of the process (the model as the kernels need it). ``shape`` is the shape of
    the data ``covariates`` without the last dimension, which is along terms.
    """
    rv = next((rv for rv in model.free_RVs if rv.name == COEFFICIENT), None)
    if rv is None or COVARIATES not in model.named_vars:
        return {}
    (value,) = constants(model, [model[COVARIATES]])
    (n_terms,) = shapes(model)[COEFFICIENT]
    if np.shape(value) != (*shape, n_terms):
        raise unfit(f"{COVARIATES} of shape {(*shape, n_terms)}", f"{np.shape(value)}")
    if not isinstance(rv.owner.op, NormalRV):
        raise unfit(f"{COEFFICIENT} with a Normal prior", str(rv.owner.op))
    columns = [
        np.broadcast_to(np.asarray(part, dtype=np.float64), n_terms)
        for part in constants(model, prior(rv))
    ]
    return {
        "terms": np.arange(n_terms), "covariates": np.asarray(value, dtype=np.float64),
        "coefficient_prior": np.stack(columns, axis=1),
    }  # fmt: skip


def number(model: Any, parameter: Any, name: str) -> float:
    """Return the value of a parameter; an array must have equal values.

    ``name`` describes the variable in the message.
    """
    (value,) = constants(model, [parameter])
    numbers = np.unique(np.asarray(value, dtype=np.float64))
    if len(numbers) != 1:
        raise unfit(f"{name} with one prior for all", f"priors with {numbers.tolist()}")
    return float(numbers[0])
