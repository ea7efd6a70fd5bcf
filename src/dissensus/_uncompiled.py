"""Graphs that are evaluated once or twice: to compile them would take longer."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def uncompiled() -> AbstractContextManager[None]:
    """Return a context in which PyTensor compiles nothing, by Numba or by a C++ compiler.

    Its mode alone does not say so: graphs within graphs go to the C++ compiler where there is one,
    half a second for each operation the first time on a machine.
    """
    import pytensor

    flags: AbstractContextManager[None] = pytensor.config.change_flags(mode="FAST_COMPILE", cxx="")
    return flags


def initial_point(model: Any) -> dict[str, Any]:
    """Return where PyMC begins in a model."""
    with uncompiled():
        point: dict[str, Any] = model.initial_point()
    return point
