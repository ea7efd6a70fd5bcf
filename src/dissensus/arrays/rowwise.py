"""Kernels written for one row, applied to all rows of any shape: generalised ufuncs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numba import guvectorize, njit


def rowwise(types: str, layout: str) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """Compile a function of one row, its last arguments being what it writes, to a gufunc.

    Numba can cache a gufunc, but it does so in two files, the kernel's and its wrapper's, which
    refer to each other by names that differ from process to process. If two processes meet an empty
    cache, the files of different processes may stay side by side, and every later use ends in a
    segmentation fault. So only the kernel is cached here, in one file that stands by itself;
    the wrapper is compiled anew in each process, a tenth of a second for each kernel used.

    Parameters
    ----------
    types : str
        Numba's signature of one row, such as "void(float64[:], float64[:])".
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

    def decorate(function: Callable[..., None]) -> Callable[..., Any]:
        # A function typed in at a prompt has no file to keep a cache beside.
        kernel = njit(types, cache=not function.__code__.co_filename.startswith("<"))(function)
        names = ", ".join(inspect.signature(function).parameters)
        scope: dict[str, Any] = {"kernel": kernel}
        # Numba reads a gufunc's arity off the code, so *arguments would not do.
        exec(f"def row({names}):\n    kernel({names})", scope)  # noqa: S102 (our own names)
        row = scope["row"]
        row.__name__, row.__doc__ = function.__name__, function.__doc__
        compiled: Callable[..., Any] = guvectorize([types], layout, nopython=True)(row)
        return compiled

    return decorate
