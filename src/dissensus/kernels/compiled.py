"""Compiled functions: kernels, which Python calls, and functions that only kernels call.

Numba optimises each function alone and again within every function that calls it. It also adds two
wrappers, for calls from Python and from C. Hence:

- Python calls few kernels, each with plain arrays and numbers. A sweep is a sequence of these
  calls, which take a microsecond each. Only loops over items or labels belong in a kernel.
- Functions that only kernels call have no wrappers: `inner`.
- A function that is called at one place only may be a `part` of its caller: it is inlined before
  optimisation. The functions that it calls are then optimised once less, but inlining takes time
  too. Inlining a function does not pay if it calls few functions, or passes them no tuples of
  arrays.
- Functions that a factory makes get distinct names (`named_after`). Numba names machine code
  after module, function and a count that restarts in each process. If different processes
  cached two functions of the same name, Numba would silently use one for the other
  (https://github.com/numba/numba/issues/10486).
- A cached kernel contains the code of the functions it calls, but Numba only checks whether the
  file of the kernel itself has changed. After an upgrade, old code would silently be used. Kernels
  made by `compiled` are therefore also compiled anew if a file of kernels that their file imports
  has changed (`_sources`).
- Loops are written out. An assignment to a slice (``a[:] = b``), arithmetic of whole arrays and
  a sum along an axis take .2 to .3 s each to compile, and their error messages add two seconds; a
  loop takes .01 s.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, Final

from numba import njit, types
from numba.extending import typeof_impl

_PACKAGE: Final = Path(__file__).parents[1]
_IMPORT: Final = re.compile(
    r"^from dissensus\.((?:\w+\.)*kernels[\w.]*) import (\([^)]*\)|.*)", re.M
)


@functools.cache
def _sources(file: Path) -> str:
    """Return a hash of a file and of all files of kernels that it imports, directly or not."""
    code = file.read_bytes()
    out = hashlib.sha256(code)
    for module, names in _IMPORT.findall(code.decode(errors="replace")):
        place = _PACKAGE.joinpath(*module.split("."))
        for path in (place, *(place / name for name in re.findall(r"\w+", names))):
            if (source := path.with_suffix(".py")).is_file():
                out.update(_sources(source).encode())
    return out.hexdigest()


def compiled(function: Callable[..., Any], *, cache: bool = True, **options: Any) -> Any:
    """Return a function that is compiled, or read from the cache, when it is first called."""
    made = njit(cache=cache, **options)(function)
    # Numba has no setting for further files to check. It ignores a cache index of another version:
    # the hash of the files is therefore added to the version.
    index = getattr(made._cache, "_cache_file", None)
    file = Path(function.__code__.co_filename)
    if index is not None and file.is_file():
        index._version = f"{index._version} {_sources(file)}"
    return made


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls; it releases the interpreter's lock."""
    return compiled(function, nogil=True)


def part(function: Callable[..., Any]) -> Any:
    """Return a function that is inlined in its only caller, and compiled there."""
    return compiled(function, inline="always")


class Inner:
    """A compiled function without wrappers, which kernels call.

    A call from Python, as in tests, goes through a kernel: a direct call would crash Python.
    """

    def __init__(
        self, function: Callable[..., Any], *, cache: bool = True, error_model: str = "python"
    ) -> None:
        self.compiled, self.cache = compiled(
            function, cache=cache, error_model=error_model,
            no_cpython_wrapper=True, no_cfunc_wrapper=True,
        ), cache  # fmt: skip
        _without_literals(self.compiled)
        self.py_func = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        """Call the function through a kernel that is compiled once."""
        return self._wrapped(*args)

    @functools.cached_property
    def _wrapped(self) -> Any:
        # The function is a global of its wrapper: Numba can cache code on disk that refers to a
        # global, but not code that has a compiled function in a closure.
        code = _forward.__code__.replace(
            co_filename=self.py_func.__code__.co_filename,
            co_firstlineno=self.py_func.__code__.co_firstlineno,
        )
        wrapper = FunctionType(code, {"called": self.compiled}, "wrapped")
        return compiled(named_after(wrapper, self.py_func), cache=self.cache)


def _without_literals(compiled: Any) -> None:
    """Ignore literal values in argument types.

    Otherwise Numba compiles the function again for each literal number in a call.
    """
    of = compiled.get_call_template

    def template(args: Any, kws: dict[str, Any]) -> Any:
        plain = {name: types.unliteral(value) for name, value in kws.items()}
        return of(tuple(types.unliteral(value) for value in args), plain)

    compiled.get_call_template = template


def _forward(*args: Any) -> Any:
    return called(*args)  # type: ignore[name-defined]  # noqa: F821 (a global of each copy)


@typeof_impl.register(Inner)
def _(value: Inner, context: Any) -> Any:
    """Give an `Inner` the type of its function in compiled code."""
    return typeof_impl(value.compiled, context)


def named_after(made: Callable[..., Any], part: Callable[..., Any]) -> Callable[..., Any]:
    """Name the function that a factory made after the function that the factory was given.

    Names are then distinct.
    """
    made.__module__ = part.__module__
    made.__name__ = made.__qualname__ = f"{part.__qualname__}_{made.__name__}"
    return made


inner: Callable[[Callable[..., Any]], Any] = Inner
"""Compile a function that only other compiled functions call."""
