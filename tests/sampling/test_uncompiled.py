"""In the context no compiler is called, by whatever way a graph could come to one."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc_runs import AS_USERS_HAVE_IT, no_compiler  # noqa: F401 (a fixture)
from pytensor.compile.builders import OpFromGraph

from dissensus.sampling import step
from dissensus.sampling.interpreter import uncompiled
from dissensus.sampling.step import Model, first_point


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


@pytest.fixture
def written(request):
    """Return a model of the library's class, or of another."""
    with getattr(request, "param", Model)() as model:
        x = pm.Normal("x", shape=3)
        pm.Deterministic("y", 2.0 * x)
    return step.written(model)


@pytest.mark.usefixtures("no_compiler")
def test_a_trace_is_interpreted(written):
    with pytensor.config.change_flags(**AS_USERS_HAVE_IT):
        assert traced(written)(np.arange(3.0))[-1].tolist() == [0.0, 2.0, 4.0]


def after_another(model):
    with model:
        pm.Deterministic("z", pt.log(1.0 - pt.sigmoid(model["x"])))
    return traced(model)


@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize("make", [
    after_another, pm.Model.compile_logp, pm.Model.compile_dlogp,
    lambda model: model.compile_fn([2.0 * model.value_vars[0]], inputs=model.value_vars),
    lambda model: model.compile_fn(model.value_vars, inputs=model.value_vars, mode="NUMBA"),
])  # fmt: skip
def test_anything_else_is_compiled(written, make):
    with (
        pytensor.config.change_flags(**AS_USERS_HAVE_IT),
        pytest.raises(AssertionError, match="a compiler was called"),
    ):
        make(written)


@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize(("mode", "written"), [("NUMBA", Model), ("Mode", pm.Model)],
                         indirect=["written"])  # fmt: skip
def test_a_trace_is_compiled_for_who_says_so_and_in_other_models(mode, written):
    with (
        pytensor.config.change_flags(mode=mode),
        pytest.raises(AssertionError, match="a compiler was called"),
    ):
        traced(written)


def test_the_function_of_the_trace_is_made_once(written):
    first = traced(written)
    assert traced(written) is first
    with written:
        drawn = pt.exp(written["x"])
    drawn.name = "y"  # another graph by the name of a variable
    other = written.compile_fn(
        [pytensor.Out(drawn, borrow=True)], inputs=written.value_vars, point_fn=False,
        on_unused_input="ignore",
    )  # fmt: skip
    assert other is not first


def test_threads_have_initial_points_of_their_own(written):
    expected = {name: value.tolist() for name, value in written.initial_point().items()}
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            actual = list(pool.map(lambda _: written.initial_point(), range(400)))
    finally:
        sys.setswitchinterval(before)
    assert all({n: v.tolist() for n, v in point.items()} == expected for point in actual)


@pytest.mark.usefixtures("no_compiler")
def test_other_options_are_pymcs(written):
    with (
        pytensor.config.change_flags(**AS_USERS_HAVE_IT),
        pytest.raises(AssertionError, match="a compiler was called"),
    ):
        written.profile(written.unobserved_value_vars, n=1)


def test_an_initial_point_is_that_of_the_model_as_it_is_now(written):
    assert written.initial_point()["x"].tolist() == [0.0, 0.0, 0.0]
    start = np.array([1.0, 2.0, 3.0])
    written.set_initval(written["x"], start)
    assert written.initial_point()["x"].tolist() == [1.0, 2.0, 3.0]
    start[:] = 5.0
    assert written.initial_point()["x"].tolist() == [5.0, 5.0, 5.0]
    with written:
        pm.Normal("z", 4.0)
    assert written.initial_point()["z"] == 4.0
