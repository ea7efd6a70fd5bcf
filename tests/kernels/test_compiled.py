"""How kernels are compiled."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter

from numba.core.dispatcher import Dispatcher

import dissensus
from dissensus.kernels.compiled import Inner, inner, kernel, named_after


def compiled_functions():
    """Return all functions that the modules of kernels hold, whoever imports them."""
    made = {}
    for module in pkgutil.walk_packages(dissensus.__path__, "dissensus."):
        if ".kernels." not in module.name:
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Inner):
                value = value.compiled
            if isinstance(value, Dispatcher):
                made[id(value.py_func)] = value.py_func
    return made.values()


def test_no_two_compiled_functions_have_one_name():
    """Numba would take the machine code of one for that of the other (its issue 10486)."""
    names = Counter(f"{one.__module__}.{one.__qualname__}" for one in compiled_functions())
    assert len(names) > 300
    assert [name for name, times in names.items() if times > 1] == []


@inner
def _halved(x):
    return x / 2


@kernel
def _halved_twice(x):
    return _halved(_halved(x))


def test_an_inner_function_is_called_from_kernels_and_from_python():
    assert _halved_twice(8.0) == 2.0
    assert _halved(8.0) == 4.0
    assert _halved.py_func(8.0) == 4.0
    assert _halved.__name__ == "_halved"


def test_what_a_factory_makes_is_named_after_its_part():
    def draw():
        """Draw."""

    assert named_after(draw, _halved).__qualname__ == "_halved_draw"
    assert draw.__module__ == __name__
