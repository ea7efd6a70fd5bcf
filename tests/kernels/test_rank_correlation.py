"""Kernels of whole orders against SciPy; the wrappers' tests go through both forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata

from dissensus.kernels.overlap import footrule_dense, kendall_dense

small = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=40)


@given(pairs=small)
@settings(max_examples=50, deadline=None)
def test_tau_b_with_many_ties(pairs):
    theta, place = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    if len(set(theta)) == 1 or len(set(place)) == 1:
        assert np.isnan(kendall_dense(theta, place))
        return
    expected = kendalltau(theta, -place).statistic
    assert kendall_dense(theta, place) == pytest.approx(expected, abs=1e-12)


@given(pairs=small)
@settings(max_examples=50, deadline=None)
def test_footrule_with_many_ties(pairs):
    theta, place = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    ranks = rankdata(place)
    n = len(theta)
    expected = np.abs(rankdata(-theta) - ranks).sum() / (n * n // 2)
    found = footrule_dense(theta, ranks)
    assert found == pytest.approx(expected, abs=1e-12)
    assert 0 <= found <= 1


def test_one_label_has_no_order():
    assert np.isnan(kendall_dense(np.ones(1), np.ones(1)))
    assert np.isnan(footrule_dense(np.ones(1), np.ones(1)))
