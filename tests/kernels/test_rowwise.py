"""Kernels of a row over arrays of any shape, and a cache that two processes may fill at once."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from dissensus.kernels import rowwise as module
from dissensus.kernels.rowwise import in_one_thread, rowwise


@rowwise("void(float64[:], int64, float64[:])", "(n),()->()")
def _power_sum(row, power, out):
    """Sum powers."""
    out[0] = (row**power).sum()


def test_rows_of_any_shape_are_broadcast():
    x = np.random.default_rng(1).random((2, 3, 4))
    power = np.array([1, 2, 3])
    np.testing.assert_allclose(_power_sum(x, power), (x ** power[:, None]).sum(-1))
    assert _power_sum(x[0, 0, ::2], 1) == x[0, 0, ::2].sum()


def test_more_dimensions_than_are_compiled():
    x = np.random.default_rng(1).random((2, 1, 3, 2, 1, 2, 4))
    np.testing.assert_allclose(_power_sum(x, 2), (x**2).sum(-1))


def test_arguments_are_taken_as_they_are_declared():
    whole = np.arange(6).reshape(2, 3)
    whole.flags.writeable = False
    np.testing.assert_array_equal(_power_sum(whole, np.int8(1)), [3, 12])
    with pytest.raises(TypeError, match="safe"):
        _power_sum(whole, 1.5)


@rowwise("void(float64[:], float64[:], float64[:], float64[:])", "(n),(n)->(n),()")
def _products(row, other, each, total):
    """Multiply."""
    for place in range(len(row)):
        each[place] = row[place] * other[place]
    total[0] = each.sum()


def test_several_results_and_sizes_that_must_agree():
    x = np.random.default_rng(1).random((5, 3))
    each, total = _products(x, x[0])
    np.testing.assert_allclose(each, x * x[0])
    np.testing.assert_allclose(total, x @ x[0])
    with pytest.raises(ValueError, match="_products: n is 3 in one argument, 2 in another"):
        _products(x, x[0, :2])


@pytest.mark.parametrize("shape", [(4, 3000, 1), (1, 2, 9000)])
def test_many_rows_go_in_threads_and_come_out_in_their_places(shape, monkeypatch):
    """The longest dimension is cut into as many parts as there are processors."""
    rng = np.random.default_rng(1)
    rows, other = rng.normal(size=(*shape, 20)), rng.normal(size=(shape[-1], 20))
    started, requested = module.ThreadPoolExecutor, []
    monkeypatch.setattr(module, "ThreadPoolExecutor", lambda n: requested.append(n) or started(n))
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    each, total = _products(rows, other)
    np.testing.assert_array_equal(each, rows * other)
    np.testing.assert_allclose(total, (rows * other).sum(-1))
    assert requested == [3]
    with started(1) as pool:  # of threads none starts others
        np.testing.assert_array_equal(pool.submit(_products, rows, other).result()[0], each)
    with in_one_thread():  # nor do tasks of Dask's
        np.testing.assert_array_equal(_products(rows, other)[0], each)
    _products(rows[0, 0, 0], other[0])  # few numbers
    assert requested == [3]


KERNEL = """
from dissensus.kernels.rowwise import rowwise

@rowwise("void(float64[:], float64[:])", "(n)->()")
def {name}(row, out):
    out[0] = row.{name}()
"""

USE = """
import importlib, sys
import numpy as np
names = sys.argv[1:]
kernel = {name: getattr(importlib.import_module(f"kernel_{name}"), name) for name in names}
assert [float(kernel[name](np.array([1.0, 2.0]))) for name in ("sum", "max")] == [3, 2]
"""


def use(cache, source, *names):
    path = os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": path}
    return subprocess.Popen([sys.executable, "-c", USE, *names], env=environment)


@pytest.mark.long
def test_files_of_two_processes_may_stand_side_by_side(tmp_path):
    """Two processes that fill an empty cache at once may leave a mixture of their files.

    A gufunc cached by Numba itself then ends in segmentation faults, for good: its wrapper
    looks for the kernel under a name that depends on the order in which a process compiled.
    """
    source = tmp_path / "source"
    source.mkdir()
    for name in ("sum", "max"):
        (source / f"kernel_{name}.py").write_text(KERNEL.format(name=name))
    first = use(tmp_path / "1", source, "sum", "max")
    second = use(tmp_path / "2", source, "max", "sum")
    assert [first.wait(), second.wait()] == [0, 0]
    for kind in ("*.nbc", "*.nbi"):
        for file in (tmp_path / "2").rglob(kind):
            there = tmp_path / "1" / file.relative_to(tmp_path / "2")
            if not there.name.startswith("guf-"):
                there.write_bytes(file.read_bytes())
    assert use(tmp_path / "1", source, "sum", "max").wait() == 0
