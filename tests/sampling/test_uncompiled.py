"""In the context no compiler is called, by whatever way a graph could come to one."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.link.c.basic import CLinker
from pytensor.link.numba.linker import NumbaLinker

from dissensus.sampling.step import first_point, uncompiled


@pytest.fixture
def no_compiler(monkeypatch):
    """Let every compiler fail."""

    def called(*args, **options):
        raise AssertionError("a compiler was called")

    monkeypatch.setattr(CLinker, "make_thunk", called)
    monkeypatch.setattr(NumbaLinker, "fgraph_convert", called)


def within():
    """Return what a function is made of that has a graph within its graph."""
    x = pt.vector("x")
    return [x], OpFromGraph([x], [pt.exp(x) + x])(x)


@pytest.mark.usefixtures("no_compiler")
def test_nothing_is_compiled():
    with uncompiled():
        evaluate = pytensor.function(*within())
    assert np.isfinite(evaluate([1.0, 2.0])).all()


@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_without_it_a_compiler_is_called(mode):
    if mode == "FAST_COMPILE" and not pytensor.config.cxx:
        pytest.skip("no C++ compiler is installed")
    with pytest.raises(AssertionError, match="a compiler was called"):
        pytensor.function(*within(), mode=mode)([1.0, 2.0])


@pytest.mark.usefixtures("no_compiler")
def test_the_start_of_a_model_needs_no_compiler():
    with pm.Model() as model:
        pm.LKJCorr("root", n=3, eta=2.0)
        pm.HalfNormal("sd", 2.0)
    point = first_point(model)
    assert all(np.isfinite(value).all() for value in point.values())


def test_afterwards_pytensor_is_as_it_was():
    before = pytensor.config.mode, pytensor.config.cxx
    with pytest.raises(ValueError, match="x"), uncompiled():
        raise ValueError("x")
    assert (pytensor.config.mode, pytensor.config.cxx) == before
