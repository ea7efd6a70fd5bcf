"""Blocks in plain numbers, against the recursion in logarithms, which has its own tests."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.kernels.plackett_luce import RATIO, log_before_rest, log_block, table_for


@pytest.mark.parametrize("spread", [1.0, 30.0, 400.0])
@pytest.mark.parametrize("n", [2, 3, 4, 6, 7, 10])
def test_equals_the_recursion_in_logarithms(n, spread):
    rng, table = np.random.default_rng(n), table_for(n)
    for _ in range(20):
        log_ratio = rng.normal(0, spread, n)
        table[RATIO, :n] = log_ratio
        want = log_before_rest(log_ratio, np.empty(0))
        assert log_block(table, n) == pytest.approx(want, rel=1e-11, abs=1e-12)
