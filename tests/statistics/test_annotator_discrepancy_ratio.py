"""Each annotator's ratio beside wild numbers, where the others agree, and where it is undefined.

The definition is in test_discrepancy_ratio.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dissensus as dx
from dissensus.errors import AnnotationError, ArgumentError, DissensusWarning

pytestmark = pytest.mark.filterwarnings("ignore:annotator_discrepancy_ratio is undefined")


DISTANCES = {
    "squared": ({}, lambda y, z: (y - z) ** 2),
    "absolute": ({}, lambda y, z: abs(y - z)),
    "hinge": ({"tolerance": 1.0}, lambda y, z: max(0.0, abs(y - z) - 1.0)),
    "nominal": ({}, lambda y, z: float(y != z)),
}


def test_the_others_keep_their_digits_beside_a_wild_number():
    """A slip of the pen by one annotator: without them, alpha is what it would be anyway."""
    ann = dx.from_matrix([[1.0, 2.0, 1.5, 1e9], [2.0, 2.0, 2.5, 3e9]])
    ratio = dx.annotator_discrepancy_ratio(ann, "squared")
    mu = np.mean([np.mean((np.array(row) - wild) ** 2)
                  for row, wild in (((1, 2, 1.5), 1e9), ((2, 2, 2.5), 3e9))])  # fmt: skip
    alpha = np.mean([2 * 3 * np.var(row) / 2 for row in ((1, 2, 1.5), (2, 2, 2.5))])
    np.testing.assert_allclose(ratio.isel(annotator=3), mu / alpha, rtol=1e-12)


@pytest.mark.parametrize("alpha_items", ["same", "all"])
@pytest.mark.parametrize("distance", ["squared", "absolute", "hinge"])
@pytest.mark.parametrize("wild", [1e3, 1e7, 1e14])
def test_other_items_keep_their_digits_beside_a_wild_number(wild, distance, alpha_items):
    """A slip of the pen on one item: exact fractions know what is left without its author."""
    matrix = [[1, 2, wild], [1, 4, None], [2, 5, None], [1, 3, 2], [4, None, 1], [1, 5, 3]]
    labels = {
        (item, who): [Fraction(label)]
        for item, row in enumerate(matrix)
        for who, label in enumerate(row)
        if label is not None
    }
    how, delta = DISTANCES[distance]
    exact = (lambda y, z: max(Fraction(0), abs(y - z) - 1)) if distance == "hinge" else delta
    ann = dx.from_matrix(matrix, kind="continuous")
    ratio = dx.annotator_discrepancy_ratio(ann, distance, alpha_items=alpha_items, **how)
    for who in range(3):
        expected = by_fractions(labels, who, exact, alpha_items)
        np.testing.assert_allclose(ratio.sel(annotator=who), expected, rtol=1e-12)


def by_fractions(labels, annotator, delta, alpha_items):
    """The definition without any rounding: one label from each annotator and item."""
    items = {}
    for (item, who), (label,) in labels.items():
        items.setdefault(item, {})[who] = label
    towards, apart, shared_apart = [], [], []
    for by in items.values():
        others = [label for who, label in by.items() if who != annotator]
        if len(others) < 2:
            continue
        pairs = [delta(y, z) for y, z in itertools.permutations(others, 2)]
        apart.append(Fraction(sum(pairs), len(pairs)))
        if annotator in by:
            shared_apart.append(apart[-1])
            far = [delta(by[annotator], y) for y in others]
            towards.append(Fraction(sum(far), len(far)))
    below = shared_apart if alpha_items == "same" else apart
    return float(sum(towards) / len(towards) / (sum(below) / len(below)))


def test_others_who_agree_are_seen_to_on_items_of_all_magnitudes():
    """With "all", too, and whatever the sums over other items come to."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        values = 10.0 ** rng.integers(-6, 12, size=9) * rng.random(9)
        matrix = np.stack([values * 1.1, *[values] * int(rng.integers(2, 6))], axis=1)
        ann = dx.from_matrix(matrix, kind="continuous")
        for distance in ("squared", "absolute"):
            ratio = dx.annotator_discrepancy_ratio(
                ann, distance, alpha_items="all", weights=rng.random(9)
            )
            assert np.isnan(ratio.isel(annotator=0))
            assert np.isfinite(ratio.isel(annotator=slice(1, None))).all()


@pytest.mark.filterwarnings("default:annotator_discrepancy_ratio is undefined")
def test_who_shares_no_item_with_two_others_has_none():
    three = [["a", "b", "b", None], ["a", "b", "b", None], ["b", "b", "a", None]]
    with pytest.warns(DissensusWarning, match=r"in 1 of 4 values: no item of the annotator"):
        ratio = dx.annotator_discrepancy_ratio(dx.from_matrix([*three, [None, None, "b", "a"]]))
    assert np.isnan(ratio.isel(annotator=3))
    assert np.isfinite(ratio.isel(annotator=slice(3))).all()


def test_two_annotators_are_too_few():
    with pytest.warns(DissensusWarning, match="in 2 of 2 values"):
        ratio = dx.annotator_discrepancy_ratio(dx.from_matrix([["a", "b"], ["a", "a"]]))
    assert np.isnan(ratio).all()


@pytest.mark.parametrize(
    ("distance", "values"), [("squared", (0.1, 0.7)), ("absolute", (0.1, 0.3)), ("nominal", (1, 2))]
)
def test_others_who_agree_exactly_are_seen_to(distance, values):
    """No rounding may pass for disagreement, whatever the number of others."""
    low, high = values
    for others in range(2, 12):
        ann = dx.from_matrix([[high] + [low] * others, [low] + [high] * others])
        with pytest.warns(DissensusWarning, match="the other annotators agree"):
            ratio = dx.annotator_discrepancy_ratio(ann, distance)
        assert np.isnan(ratio.isel(annotator=0))
        assert (ratio.isel(annotator=slice(1, None)) < 1).all()


def test_bad_arguments_are_named(votes):
    with pytest.raises(ArgumentError, match="alpha_items"):
        dx.annotator_discrepancy_ratio(votes[0], alpha_items="both")
    with pytest.raises(ArgumentError, match="tolerance"):
        dx.annotator_discrepancy_ratio(votes[0], "hinge")
    with pytest.raises(AnnotationError, match="predictions"):
        dx.annotator_discrepancy_ratio(votes[1])
