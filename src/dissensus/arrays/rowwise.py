"""Kernels written for one row, applied to all rows of any shape: generalised ufuncs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import guvectorize, njit

_ROWS = "rows_"


class _Argument(NamedTuple):
    """One argument of a kernel, as its signature says."""

    dtype: str
    core: tuple[str, ...]
    written: bool


def rowwise(types: str, layout: str) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """Compile a function of one row, its last arguments being what it writes, to a gufunc.

    The function is called in a compiled loop over the last dimension that its arguments are
    broadcast along, so that a row costs no call of its own; NumPy loops over the dimensions
    before.

    Numba can cache a gufunc, but it does so in two files, the kernel's and its wrapper's, which
    refer to each other by names that differ from process to process. If two processes meet an empty
    cache, the files of different processes may stay side by side, and every later use ends in a
    segmentation fault. So only the loop is cached here, in one file that stands by itself;
    the wrapper is compiled anew in each process, when the kernel is first called: a tenth of a
    second for each kernel used.

    Parameters
    ----------
    types : str
        Numba's signature of one row, such as "void(float64[:], float64[:])". What is written is
        an array, of length 1 for a number.
    layout : str
        NumPy's signature of core dims, such as "(n)->()".

    Examples
    --------
    >>> import numpy as np
    >>> @rowwise("void(float64[:], float64[:])", "(n)->()")
    ... def largest(row, out):
    ...     out[0] = row.max()
    >>> largest(np.array([[1.0, 3.0], [2.0, 0.0]]))
    array([3., 2.])
    """
    arguments = _arguments(types, layout)

    def decorate(function: Callable[..., None]) -> Callable[..., Any]:
        loop_types = f"void({', '.join(_loop_type(argument) for argument in arguments)})"
        sides = [
            ",".join(
                f"({','.join((_ROWS, *one.core))})" for one in arguments if one.written == side
            )
            for side in (False, True)
        ]

        @functools.cache
        def compiled() -> Callable[..., Any]:
            gufunc = guvectorize([loop_types], "->".join(sides), nopython=True)
            loop = _loop(function, arguments, loop_types)
            made: Callable[..., Any] = gufunc(_wrapper(loop, len(arguments)))
            return made

        return _broadcast(function, compiled, arguments)

    return decorate


def _arguments(types: str, layout: str) -> tuple[_Argument, ...]:
    """Read the two signatures together."""
    dtypes = re.findall(r"(\w+)(?:\[[:, ]*\])?(?=,\s*\w|\))", types[types.index("(") :])
    taken, written = (re.findall(r"\(([^)]*)\)", side) for side in layout.split("->"))
    cores = [tuple(part for part in core.split(",") if part) for core in (*taken, *written)]
    return tuple(
        _Argument(dtype, core, place >= len(taken))
        for place, (dtype, core) in enumerate(zip(dtypes, cores, strict=True))
    )


def _loop_type(argument: _Argument) -> str:
    return f"{argument.dtype}[{', '.join([':'] * (1 + len(argument.core)))}]"


def _loop(function: Callable[..., None], arguments: tuple[_Argument, ...], types: str) -> Any:
    """Compile the loop over rows, the kernel within it."""
    names = [f"x{place}" for place in range(len(arguments))]
    each = [
        f"{name}[i:i + 1]" if one.written and not one.core else f"{name}[i]"
        for name, one in zip(names, arguments, strict=True)
    ]
    text = f"def rows({', '.join(names)}):\n for i in range(len(x0)): row({', '.join(each)})"
    scope: dict[str, Any] = {"row": njit(function, inline="always")}
    code = function.__code__
    # As if it stood where the kernel stands: Numba caches beside the source, by file and line.
    exec(compile("\n" * (code.co_firstlineno - 1) + text, code.co_filename, "exec"), scope)  # noqa: S102
    rows = scope["rows"]
    rows.__name__ = rows.__qualname__ = f"{function.__name__}_rows"
    rows.__module__ = function.__module__
    # A function typed in at a prompt has no file to keep a cache beside.
    return njit(types, cache=not code.co_filename.startswith("<"))(rows)


def _wrapper(loop: Any, n_arguments: int) -> Callable[..., None]:
    """Return a function that calls the loop; Numba reads a gufunc's arity off its code."""
    names = ", ".join(f"x{place}" for place in range(n_arguments))
    scope: dict[str, Any] = {"loop": loop}
    exec(f"def call({names}):\n    loop({names})", scope)  # noqa: S102 (our own names)
    found: Callable[..., None] = scope["call"]
    return found


def _broadcast(
    function: Callable[..., None],
    compiled: Callable[[], Callable[..., Any]],
    arguments: tuple[_Argument, ...],
) -> Callable[..., Any]:
    """Give all arguments the last loop dimension, as views, and take it away again if none had."""
    cores = [len(one.core) for one in arguments if not one.written]

    @functools.wraps(function)
    def apply(*values: Any) -> Any:
        arrays = [np.asarray(value) for value in values]
        loops = [
            array.shape[: array.ndim - core] for array, core in zip(arrays, cores, strict=True)
        ]
        (n_rows,) = np.broadcast_shapes(*(loop[-1:] for loop in loops), (1,))
        wide = [
            np.broadcast_to(array, (*loop[:-1], n_rows, *array.shape[len(loop) :]))
            if loop
            else np.broadcast_to(array, (n_rows, *array.shape))
            for array, loop in zip(arrays, loops, strict=True)
        ]
        found = compiled()(*wide)
        if any(loops):
            return found
        return tuple(one[0] for one in found) if isinstance(found, tuple) else found[0]

    return apply
