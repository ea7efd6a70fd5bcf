"""Evaluation of PyTensor graphs by NumPy, operation by operation, without compilation.

This is faster for graphs of a few small operations that are evaluated once a draw or less often:
compiling such a graph takes longer than all its evaluations. PyTensor's own interpreter first
rewrites a graph. It then takes about seven microseconds for each operation, mostly for look-ups
that are the same in each evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import is_not
from threading import RLock
from typing import Any, Final, NamedTuple

import numpy as np
import pytensor
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.rewriting import inline_ofg_node
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import MergeOptimizer, dfs_rewriter, node_rewriter
from pytensor.graph.traversal import graph_inputs
from pytensor.link.c.op import COp
from pytensor.scalar.basic import Add, Mul
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.op import RandomVariable

from dissensus.kernels.types import Array

INTERPRETED: Final = "FAST_COMPILE"
_ONE_AT_A_TIME = RLock()
_PLAIN_THUNKS: Final = (Op.make_thunk, COp.make_thunk)

_REWRITERS: Final = (
    dfs_rewriter(node_rewriter([OpFromGraph])(lambda _, node: inline_ofg_node(node))),
    MergeOptimizer(),
)
"""Rewriters that inline nested graphs and merge equal expressions."""

Point = Mapping[str, Array]
"""A state of a model: PyMC's (transformed) values, by name."""


@contextmanager
def uncompiled() -> Iterator[None]:
    """Inside this context, PyTensor interprets graphs and compiles nothing.

    The mode alone is not enough: without ``cxx=""``, PyTensor compiles graphs within graphs by C++,
    which takes half a second for each operation. Tracebacks of operations are turned off, because
    storing them takes a sixth of the time. PyTensor's settings are global to the process: only one
    thread at a time is in this context.
    """
    flags = {"mode": INTERPRETED, "cxx": "", "traceback__limit": 0}
    with _ONE_AT_A_TIME, pytensor.config.change_flags(**flags):
        yield


def of_point(model: Any, expressions: Sequence[Any]) -> Callable[[Point], list[Array]]:
    """Return a function that maps a state of a model to the values of expressions."""
    values = model.value_vars
    function = evaluated(values, model.replace_rvs_by_values(list(expressions)))
    names = [value.name for value in values]
    return lambda point: function(*(np.asarray(point[name]) for name in names))


def evaluated(inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[..., list[Array]]:
    """Return a function of arrays that is not compiled: NumPy or PyTensor's interpreter runs it."""
    function = interpreted(inputs, outputs)
    if function is not None:
        return function
    with uncompiled():
        slower: Callable[..., list[Array]] = pytensor.function(
            list(inputs), list(outputs), on_unused_input="ignore"
        )
    return slower


def interpreted(inputs: Sequence[Any], outputs: Sequence[Any]) -> Interpreted | None:
    """Return a graph as a function of arrays, or None if NumPy cannot evaluate an operation.

    Loops are such operations. Arguments are passed by position, or by the names of the inputs.
    Shared variables are read at each call, but a change in place of a shared array is not noticed.
    A returned array may be an argument, or a view of an argument.
    """
    shared = [v for v in graph_inputs(outputs) if isinstance(v, SharedVariable)]
    graph = FunctionGraph([*inputs, *shared], list(outputs), clone=True)
    for rewriter in _REWRITERS:
        rewriter.rewrite(graph)
    nodes = graph.toposort()
    if not all(_is_plain(node.op) for node in nodes):
        return None
    return Interpreted(graph, nodes, [variable.name for variable in inputs], shared)


def _is_plain(op: Any) -> bool:
    """Return whether an operation is deterministic and NumPy can evaluate it."""
    return (
        type(op).perform is not Op.perform and type(op).make_thunk in _PLAIN_THUNKS
        and not isinstance(op, RandomVariable)
    )  # fmt: skip


class Interpreted:
    """A graph as two lists of calls: calls that use data only, and calls that use arguments."""

    def __init__(self, graph: Any, nodes: list[Any], names: list[str], shared: list[Any]) -> None:
        self._names, self._shared = names, shared
        place = {variable: at for at, variable in enumerate(graph.inputs)}
        values: list[Any] = [None] * len(place)
        for variable in (*(part for node in nodes for part in node.inputs), *graph.outputs):
            if isinstance(variable, Constant) and variable not in place:
                place[variable] = len(place)
                values.append(variable.data)
        given = set(place.values())
        arguments = set(range(len(names)))
        moving = set(graph.inputs[: len(names)])
        settled: list[Any] = []
        moved: list[Any] = []
        for node in nodes:
            is_moved = not moving.isdisjoint(node.inputs)
            moving.update(node.outputs if is_moved else ())
            (moved if is_moved else settled).append(node)
            for variable in node.outputs:
                place[variable] = len(place)
                values.append(None)
        self._outputs = [place[variable] for variable in graph.outputs]
        needed = {place[part] for node in moved for part in node.inputs}
        kept = given.union(self._outputs)
        self._settled = _calls(settled, place, kept | needed)
        computed = {place[part] for node in settled for part in node.outputs}
        self._moved = _calls(moved, place, kept | computed)
        self._kept = (given | computed) - arguments
        """Places of data and of results that depend on data only. Outputs at these places are
        copied, because later evaluations use the same arrays."""
        self._known: tuple[list[Any] | None, list[Any]] = None, values

    def __call__(self, *arguments: Any, **by_name: Any) -> list[Array]:
        """Return the outputs of the graph for these inputs."""
        if by_name:
            arguments = tuple(by_name[name] for name in self._names)
        n = len(self._names)
        data = [variable.get_value(borrow=True) for variable in self._shared]
        before, values = self._known
        values = values.copy()
        is_new = before is None or any(map(is_not, data, before))
        if is_new:
            values[n : n + len(data)] = data
            _run(self._settled, values, in_full=True)
            self._known = data, values.copy()
        values[:n] = arguments
        _run(self._moved, values, in_full=is_new)
        return [
            values[place].copy() if place in self._kept else values[place]
            for place in self._outputs
        ]  # fmt: skip


class _Call(NamedTuple):
    """An operation, with the places of its arguments and results."""

    perform: Callable[[list[Any]], list[Any]]
    direct: Callable[..., Any] | None
    arguments: list[int]
    results: list[int]
    done: list[int]
    """Places of values that no later operation uses."""


def _calls(nodes: list[Any], place: dict[Any, int], kept: set[int]) -> list[_Call]:
    last = {place[variable]: i for i, node in enumerate(nodes) for variable in node.inputs}
    out = []
    for i, node in enumerate(nodes):
        at = [place[variable] for variable in node.inputs]
        done = [p for p in set(at) - kept if last[p] == i]
        to = [place[variable] for variable in node.outputs]
        out.append(_Call(_performed(node), _direct(node), at, to, done))
    return out


def _run(calls: list[_Call], values: list[Any], *, in_full: bool) -> None:
    """Compute the results of calls in ``values``.

    With ``in_full`` PyTensor's own code runs, which also checks lengths: this is for new data.
    """
    with np.errstate(all="ignore"):
        for perform, direct, at, to, done in calls:
            given = [values[place] for place in at]
            if direct is not None and not in_full:
                values[to[0]] = direct(*given)
            else:
                for place, value in zip(to, perform(given), strict=True):
                    values[place] = value
            for place in done:
                values[place] = None


def _performed(node: Any) -> Callable[[list[Any]], list[Any]]:
    """Return a function from a node's inputs to its outputs, by PyTensor's Python code."""
    op, n_outputs = node.op, len(node.outputs)
    op.prepare_node(node, None, None, "py")

    def perform(given: list[Any]) -> list[Any]:
        storage = [[None] for _ in range(n_outputs)]
        op.perform(node, given, storage)
        return [cell[0] for cell in storage]

    return perform


def _direct(node: Any) -> Callable[..., Any] | None:
    """Return the NumPy function for an elementwise operation, or None if there is none."""
    op = node.op
    if not isinstance(op, Elemwise) or op.nfunc_spec is None or len(node.outputs) != 1:
        return None
    function, dtype = op.nfunc, np.dtype(node.outputs[0].type.dtype)
    if isinstance(op.scalar_op, Add | Mul) and len(node.inputs) > 2:
        return lambda *given: np.asarray(reduce(function, given), dtype)
    if op.nfunc_spec[1] != len(node.inputs) or getattr(node.tag, "sig", None):
        return None
    return lambda *given: np.asarray(function(*given), dtype)
