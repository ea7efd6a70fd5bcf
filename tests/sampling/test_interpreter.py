"""Graphs that NumPy evaluates give what PyTensor gives, also when data change."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert

from dissensus.sampling.interpreter import interpreted, of_point, uncompiled


@pytest.fixture
def data():
    return pytensor.shared(np.array([1.0, 2.0, 4.0]), name="data")


def test_operations_of_many_kinds(data):
    x, n = pt.vector("x"), pt.lvector("n")
    outputs = [
        pt.exp(x) + data + 1.0,  # three summands
        pt.log(n),  # floats of whole numbers
        pt.special.softmax(x, axis=0), pt.logaddexp(x, data),  # graphs within graphs
        n.astype("float64")[::-1], pt.switch(x > 0, x, 0.0), pt.concatenate([x, n]),
        pt.cumsum(x), x[n - 1], pt.any(x > data), pt.as_tensor(2.0), x,
    ]  # fmt: skip
    given = np.array([-1.0, 0.5, 3.0]), np.array([1, 2, 3])
    function = interpreted([x, n], outputs)
    with uncompiled():
        expected = pytensor.function([x, n], outputs)(*given)
    for _ in range(2):  # the first call is checked, the second is not
        for actual, wanted in zip(function(*given), expected, strict=True):
            assert np.asarray(actual).dtype == wanted.dtype
            np.testing.assert_allclose(actual, wanted, rtol=1e-14)
    for actual, wanted in zip(function(n=given[1], x=given[0]), expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-14)


def test_new_data_are_seen_and_checked(data):
    x = pt.vector("x")
    positive = Assert("data above 0")(data, pt.all(data > 0))
    function = interpreted([x], [x * pt.sum(positive), positive])
    assert function(np.ones(3))[0].tolist() == [7.0, 7.0, 7.0]
    data.set_value(np.array([1.0, 1.0]))
    assert function(np.ones(2))[0].tolist() == [2.0, 2.0]
    data.set_value(np.array([1.0, -1.0]))
    for _ in range(2):
        with pytest.raises(AssertionError, match="data above 0"):
            function(np.ones(2))
    data.set_value(np.array([3.0]))
    assert function(np.ones(3))[0].tolist() == [3.0, 3.0, 3.0]


def test_lengths_are_compared_where_data_are_new(data):
    x = pt.vector("x")
    function = interpreted([x], [x * data])
    assert function(np.ones(3))[0].tolist() == [1.0, 2.0, 4.0]
    data.set_value(np.array([2.0]))
    with pytest.raises(ValueError, match="broadcast"):
        function(np.ones(3))


def test_what_numpy_does_not_evaluate_is_left_to_pytensor():
    x = pt.vector("x")

    def summed(x):
        return pytensor.scan(
            lambda now, before: now + before, sequences=[x],
            outputs_info=[pt.zeros((), "float64")], return_updates=False,
        )  # fmt: skip

    assert interpreted([x], [summed(x)]) is None
    assert interpreted([], [pm.Normal.dist()]) is None
    with pm.Model() as model:
        pm.Normal("x", shape=3)
    (result,) = of_point(model, [summed(model["x"])])({"x": np.arange(3.0)})
    assert result.tolist() == [0.0, 1.0, 3.0]


def test_results_are_the_callers_own(data):
    x = pt.vector("x")
    function = interpreted([x], [data, data * 2.0, pt.constant(np.zeros(2)), x * 1.0])
    for _ in range(2):
        results = function(np.ones(3))
        assert [result.tolist() for result in results] == [[1, 2, 4], [2, 4, 8], [0, 0], [1, 1, 1]]
        for result in results:
            result[:] = 7.0


def test_constants_are_not_written_over():
    x = pt.vector("x")
    two = pt.constant(np.zeros(3))
    function = interpreted([x], [pt.set_subtensor(two[0], x[0]), two])
    for start in (1.0, 2.0):
        changed, kept = function(np.full(3, start))
        assert changed.tolist() == [start, 0.0, 0.0]
        assert kept.tolist() == [0.0, 0.0, 0.0]
