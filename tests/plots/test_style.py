"""The common look: labels apart, names harmless, one colour for each system."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dissensus.plots import _style as look


@settings(deadline=None, max_examples=50)
@given(arrays(float, st.integers(0, 12), elements=st.floats(-5, 5)), st.floats(0.01, 1))
def test_spread_keeps_labels_apart_and_in_order(positions, gap):
    found = look.spread(positions, gap)
    order = np.argsort(positions, kind="stable")
    assert (np.diff(found[order]) >= gap - 1e-9).all()
    apart = len(positions) < 2 or np.diff(np.sort(positions)).min() >= gap
    if apart:
        np.testing.assert_allclose(found, positions, atol=1e-9)


def test_spread_stays_inside():
    found = look.spread([0.95, 0.97, 1.0], 0.1, 0.0, 1.0)
    assert found.max() <= 1 + 1e-12
    assert found.min() >= 0


def test_colours_follow_the_place_of_a_system():
    styles = [look.style(place) for place in range(28)]
    assert len({(one.color, str(one.dash)) for one in styles}) == 28
    assert look.style(3) == look.style(3)
