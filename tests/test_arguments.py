"""Checks of settings: what passes comes back as its type, all else is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus import arguments


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int64(3)])
def test_positive_numbers_pass_as_floats(value):
    got = arguments.positive("x", value)
    assert isinstance(got, float)
    assert got == value


@pytest.mark.parametrize("value", [0, -1e-9, np.nan, np.inf, "2", None, [1], [1, 2]])
def test_what_is_not_positive_is_named(value):
    with pytest.raises(dx.ArgumentError, match="x: expected a finite number > 0"):
        arguments.positive("x", value)


def test_zero_passes_where_allowed():
    assert arguments.finite("x", 0, 0) == 0
    with pytest.raises(dx.ArgumentError, match=">= 0"):
        arguments.finite("x", -1, 0)


def test_shape_is_chains_by_draws():
    assert arguments.sample_shape(5, 2) == (2, 5)
    assert arguments.sample_shape(5.0, np.int32(2)) == (2, 5)


@pytest.mark.parametrize("value", [0, -3, 1.5, np.nan, "4", None, True])
def test_senseless_numbers_of_draws(value):
    for name, pair in (("draws", (value, 2)), ("chains", (2, value))):
        with pytest.raises(dx.ArgumentError, match=f"{name}: expected a whole number"):
            arguments.sample_shape(*pair)


def test_an_integer_beyond_floats_is_no_finite_number():
    for check in (arguments.finite, arguments.positive):
        with pytest.raises(dx.ArgumentError, match="reliability: expected a finite number"):
            check("reliability", 10**400)


@pytest.mark.parametrize(
    ("allow_zero", "allow_one"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_probabilities_know_their_bounds(allow_zero, allow_one):
    passes = {
        0: allow_zero,
        0.5: True,
        1: allow_one,
        -0.1: False,
        1.1: False,
        "0.5": False,
        None: False,
    }
    for value, allowed in passes.items():
        if allowed:
            assert (
                arguments.probability("p", value, allow_zero=allow_zero, allow_one=allow_one)
                == value
            )
        else:
            with pytest.raises(dx.ArgumentError, match="p: expected a number"):
                arguments.probability("p", value, allow_zero=allow_zero, allow_one=allow_one)


def test_whole_numbers_stay_within_bounds():
    assert arguments.whole("n", 2**63 - 1) == 2**63 - 1
    for value, most, bounds in ((2**63, 2**63 - 1, ", 1 or more"), (11, 10, " from 1 to 10")):
        with pytest.raises(dx.ArgumentError, match=f"n: expected a whole number{bounds}"):
            arguments.whole("n", value, most=most)


@pytest.mark.parametrize("values", [1.0, "12", [], [[1, 2]], [1, np.nan], {1, 2}, None, ["a"]])
def test_a_row_of_numbers_is_flat_and_finite(values):
    assert arguments.finite_row("x", (1, 2.5)).tolist() == [1, 2.5]
    with pytest.raises(dx.ArgumentError, match="x: expected a sequence of one or more finite"):
        arguments.finite_row("x", values)
