"""Rising factorials, against sums of logarithms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.kernels.special import log_rising


@given(st.floats(1e-300, 1e6), st.integers(0, 100))
def test_it_is_a_sum_of_logarithms(a, n):
    want = np.log(a + np.arange(n)).sum()
    assert log_rising(a, float(n)) == pytest.approx(want, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("a", [9.9e7, 1.01e8, 1e15])
def test_few_factors_are_exact_however_large(a):
    want = np.log(a + np.arange(32)).sum()
    assert log_rising(a, 32.0) == pytest.approx(want, rel=1e-14)
