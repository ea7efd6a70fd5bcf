"""Kernels over rows of arrays, split among threads if allowed."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from threading import current_thread, main_thread
from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit, types

from dissensus.kernels.compiled import compiled, named_after

_ALONE: Final[ContextVar[bool]] = ContextVar("no threads are started", default=False)


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Start no threads in this context: other threads already run in parallel."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def no_threads() -> bool:
    """Return whether threads are disabled."""
    return _ALONE.get()


_LOOPS = 4
"""Number of dimensions that compiled code loops over: chain, draw, item and system. If arrays have
more dimensions, Python loops over the first ones."""

_MANY = 200_000
"""Threads are started if the largest argument has at least this size: about .2 ms of work."""


class _Argument(NamedTuple):
    """One argument of a kernel, according to its signature."""

    dtype: str
    core: tuple[str, ...]
    written: bool


def rowwise(signature: str, layout: str) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """Compile a function of one row, which writes its last arguments, for arrays of rows.

    The result is called like a generalised ufunc: it returns the written arguments. It is not one,
    because Numba cannot cache a gufunc that two processes may compile at once (decision 0005).

    ``signature`` has the types of one row; a number that is written is an array of length 1.
    ``layout`` is NumPy's signature of core dims.
    """
    arguments = _arguments(signature, layout)
    read = [argument for argument in arguments if not argument.written]
    written = [argument for argument in arguments if argument.written]

    def decorate(function: Callable[..., None]) -> Callable[..., Any]:
        loops_over = functools.cache(lambda: _loops(function, arguments))

        @functools.wraps(function)
        def apply(*values: Any) -> Any:
            arrays = [
                np.require(
                    np.asarray(value).astype(argument.dtype, casting="safe", copy=False), None, "A"
                )
                for argument, value in zip(read, values, strict=True)
            ]
            split = [
                array.ndim - len(argument.core)
                for argument, array in zip(read, arrays, strict=True)
            ]
            sides = [
                (array.shape[:at], array.shape[at:])
                for array, at in zip(arrays, split, strict=True)
            ]
            loops = np.broadcast_shapes(*(loop for loop, _ in sides))
            wide = (1,) * (_LOOPS - len(loops)) + loops
            sizes = _sizes(function.__name__, read, [core for _, core in sides])
            views = [
                np.broadcast_to(array, (*wide, *core))
                for array, (_, core) in zip(arrays, sides, strict=True)
            ]
            out = [
                np.empty((*wide, *(sizes[dim] for dim in argument.core)), argument.dtype)
                for argument in written
            ]
            rows = loops_over()
            for place in np.ndindex(wide[:-_LOOPS]):
                _in_threads(rows, [array[place] for array in (*views, *out)])
            results = [array.reshape(loops + array.shape[len(wide) :])[()] for array in out]
            return results[0] if len(results) == 1 else tuple(results)

        return apply

    return decorate


def _in_threads(rows: Callable[..., None], arrays: list[Any]) -> None:
    """Process all rows; use one thread for each processor if there are many rows.

    In a thread or a Dask task no threads are started, because other threads already run.
    """
    loops = arrays[-1].shape[:_LOOPS]
    longest = int(np.argmax(loops))
    n_threads = min(os.cpu_count() or 1, loops[longest])
    is_small = n_threads < 2 or max(array.size for array in arrays) < _MANY
    if is_small or no_threads() or current_thread() is not main_thread():
        rows(*arrays)
        return
    edges = np.linspace(0, loops[longest], n_threads + 1).astype(int).tolist()
    before = (slice(None),) * longest
    with ThreadPoolExecutor(n_threads) as pool:
        jobs = [
            pool.submit(rows, *(array[(*before, slice(low, high))] for array in arrays))
            for low, high in pairwise(edges)
        ]
        for job in jobs:
            job.result()


def _arguments(signature: str, layout: str) -> tuple[_Argument, ...]:
    """Return the arguments of a kernel, read from its types and its layout of core dims."""
    dtypes = re.findall(r"(\w+)(?:\[[:, ]*\])?(?=,\s*\w|\))", signature[signature.index("(") :])
    taken, written = (re.findall(r"\(([^)]*)\)", side) for side in layout.split("->"))
    cores = [tuple(part for part in core.split(",") if part) for core in (*taken, *written)]
    return tuple(
        _Argument(dtype, core, place >= len(taken))
        for place, (dtype, core) in enumerate(zip(dtypes, cores, strict=True))
    )


def _sizes(name: str, read: list[_Argument], cores: list[tuple[int, ...]]) -> dict[str, int]:
    """Return the size of each core dim, which must be the same in all arguments."""
    sizes: dict[str, int] = {}
    for argument, core in zip(read, cores, strict=True):
        for dim, size in zip(argument.core, core, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ValueError(
                    f"{name}: {dim} is {sizes[dim]} in one argument, {size} in another"
                )
    return sizes


def _loops(function: Callable[..., None], arguments: tuple[_Argument, ...]) -> Any:
    """Compile loops over rows that call the kernel."""
    at = [[f"x{place}_{depth}" for place in range(len(arguments))] for depth in range(_LOOPS)]
    lines = [f"def rows({', '.join(at[0])}):"]
    for depth, names in enumerate(at):
        lines.append(f"{' ' * depth} for i in range(len({names[0]})):")
        if depth + 1 < _LOOPS:
            parts = ", ".join(f"{name}[i]" for name in names)
            lines.append(f"{' ' * depth}  {', '.join(at[depth + 1])} = {parts}")
    # A number that is written is an array of length 1.
    row = ", ".join(
        f"{name}[{'i:i + 1' if argument.written and not argument.core else 'i'}]"
        for name, argument in zip(at[-1], arguments, strict=True)
    )
    lines.append(f"{' ' * _LOOPS} row({row})")
    # A function typed in at a prompt has no file, and cannot be cached.
    cache = not function.__code__.co_filename.startswith("<")
    code = function.__code__
    scope: dict[str, Any] = {"row": njit(function, inline="always")}
    # Empty lines place the code at the line of the kernel: Numba caches by file and line.
    text = "\n" * (code.co_firstlineno - 1) + "\n".join(lines)
    exec(compile(text, code.co_filename, "exec"), scope)  # noqa: S102
    kinds = [
        types.Array(
            getattr(types, argument.dtype),
            _LOOPS + len(argument.core),
            "A",
            readonly=not argument.written,
        )
        for argument in arguments
    ]
    made = compiled(named_after(scope["rows"], function), cache=cache, nogil=True)
    made.compile(types.void(*kinds))
    made.disable_compile()
    return made
