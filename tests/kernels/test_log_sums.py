"""Sums by logarithms, far past the range of floating-point numbers."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.kernels.special import log_plus, log_total


@pytest.mark.parametrize("shift", [-3000.0, 0.0, 3000.0])
def test_sums_do_not_depend_on_the_scale(shift):
    logs = np.log([1.0, 2.5, 0.1, 1e-30])
    assert log_total(logs + shift) - shift == pytest.approx(np.log(3.6))
    assert log_plus(logs[0] + shift, logs[1] + shift) - shift == pytest.approx(np.log(3.5))


def test_nothing_is_minus_infinity():
    assert log_plus(-np.inf, -np.inf) == log_total(np.empty(0)) == -np.inf
    assert log_total(np.array([-np.inf, -np.inf])) == -np.inf
    assert log_plus(-np.inf, 2.0) == log_plus(2.0, -np.inf) == 2.0
