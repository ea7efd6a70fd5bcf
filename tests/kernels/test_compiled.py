"""How kernels are compiled."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

import dissensus
from dissensus.kernels import compiled
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
    names = Counter(
        f"{function.__module__}.{function.__qualname__}" for function in compiled_functions()
    )
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


CALLED = """
from dissensus.kernels.compiled import inner
@inner
def called(x):
    return x + {}
"""
CALLER = """
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.{} import (
    called as below,
)
@{}
def called(x):
    return below(x)
"""
PROCESS = """
import importlib.util, pathlib, sys
from dissensus.kernels import compiled
compiled._PACKAGE = pathlib.Path(sys.argv[1])
for name in ("first", "second", "third"):
    path = compiled._PACKAGE / "kernels" / (name + ".py")
    spec = importlib.util.spec_from_file_location("dissensus.kernels." + name, path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
print(module.called(2.0), sum(module.called.stats.cache_hits.values()))
"""


@pytest.mark.long
def test_a_cached_kernel_is_compiled_anew_if_what_it_calls_has_changed(tmp_path):
    """Numba looks at the kernel's own file; after an upgrade it would run the old code."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "second.py").write_text(CALLER.format("first", "inner"))
    (folder / "third.py").write_text(CALLER.format("second", "kernel"))
    # Files of one length that are written within a second are the same to Python's own cache.
    for added, expected in ((1.0, "3.0 0"), (1.0, "3.0 1"), (55.0, "57.0 0")):
        (folder / "first.py").write_text(CALLED.format(added))
        out = subprocess.run(
            [sys.executable, "-c", PROCESS, str(tmp_path)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert out.stdout.strip() == expected


def test_every_cache_knows_what_its_kernels_call():
    """Numba's index of a cache has no setting for it; if that changes, this says so."""
    from dissensus.families.pairs.kernels import strengths

    sources = compiled._sources(Path(strengths.__file__))
    assert strengths.draw_strengths._cache._cache_file._version.endswith(f" {sources}")
