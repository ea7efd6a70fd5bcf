"""Undefined values: NaN, and one warning that says why."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.statistics._sums import Doubts


def test_nothing_undefined_says_nothing(recwarn):
    doubts = Doubts()
    assert doubts.divided(np.array([1.0]), np.array([2.0]), "why").tolist() == [0.5]
    doubts.say("kappa", draws=False)
    assert doubts.words("kappa", draws=True) == ""
    assert len(recwarn) == 0


@pytest.mark.parametrize("below", [0.0, -1e-300, -3.0, np.nan])
def test_only_what_is_positive_divides(below):
    found = Doubts().divided(np.array([1.0]), np.array([below]), "why")
    assert np.isnan(found).all()


def test_a_quotient_of_other_shapes():
    found = Doubts().divided(np.ones((2, 3)), np.array([1.0, 0.0, 4.0]), "why")
    np.testing.assert_array_equal(found, [[1.0, np.nan, 0.25]] * 2)


def test_the_first_reason_stands():
    doubts = Doubts()
    values = doubts.where(np.array([True, False, False]), np.ones(3), "no pairs")
    values = doubts.where(np.array([True, True, False]), values, "no spread")
    np.testing.assert_array_equal(values, [np.nan, np.nan, 1.0])
    assert doubts.words("kappa", draws=True) == (
        "kappa is undefined (NaN) in 1 of 3 draws: no pairs. "
        "kappa is undefined (NaN) in 1 of 3 draws: no spread."
    )


def test_one_value_needs_no_count_and_blocks_add_up():
    doubts = Doubts()
    for _ in range(2):
        doubts.divided(np.ones(1), np.zeros(1), "why")
    assert "in 2 of 2 values" in doubts.words("kappa", draws=False)
    one = Doubts()
    one.divided(np.ones(1), np.zeros(1), "why")
    with pytest.warns(dx.DissensusWarning, match=r"^kappa is undefined \(NaN\): why\.$"):
        one.say("kappa", draws=False)


def test_the_warning_points_at_the_callers_line():
    with pytest.warns(dx.DissensusWarning) as caught:
        dx.percent_agreement(dx.from_matrix([[1, np.nan], [np.nan, 2]]))
    assert caught[0].filename == __file__
    ann = dx.from_matrix([[1, 1]] * 30)
    with pytest.warns(dx.DissensusWarning) as caught:
        dx.bayesian_bootstrap("krippendorff_alpha", ann, draws=3, random_seed=1)
    assert caught[0].filename == __file__
