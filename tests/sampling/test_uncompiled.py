"""In the context no compiler is called, by whatever way a graph could come to one."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc_runs import no_compiler  # noqa: F401 (a fixture)
from pytensor.compile.builders import OpFromGraph

from dissensus.sampling.step import Model, first_point, uncompiled


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


def traced(model):
    """Return the variables of a trace as PyMC asks for them."""
    return model.compile_fn(
        [pytensor.Out(variable, borrow=True) for variable in model.unobserved_value_vars],
        inputs=model.value_vars, point_fn=False,
    )  # fmt: skip


def doubled(x):
    return 2.0 * x


def summed(x):
    return pytensor.scan(
        lambda one, before: one + before, [x], [pt.zeros(())], return_updates=False
    )


@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize(("kind", "after", "compiles"), [
    (Model, doubled, False), (Model, summed, True), (pm.Model, doubled, True),
])  # fmt: skip
def test_a_trace_is_interpreted_unless_it_has_a_loop(kind, after, compiles):
    with kind() as model, pytensor.config.change_flags(mode="NUMBA"):
        x = pm.Normal("x", shape=3)
        pm.Deterministic("y", after(x))
        if compiles:
            with pytest.raises(AssertionError, match="a compiler was called"):
                traced(model)
        else:
            assert traced(model)(np.arange(3.0))[-1].tolist() == [0.0, 2.0, 4.0]


@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize("how", [{"mode": "NUMBA"}, {}], ids=["mode", "probability"])
def test_what_is_no_trace_is_compiled(how):
    with Model() as model, pytensor.config.change_flags(mode="NUMBA"):
        pm.Normal("x")
    outs = model.value_vars if how else [model.logp()]
    with (
        pytensor.config.change_flags(mode="NUMBA"),
        pytest.raises(AssertionError, match="a compiler was called"),
    ):
        model.compile_fn([2.0 * outs[0]] if how else outs, inputs=model.value_vars, **how)
