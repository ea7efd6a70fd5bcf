"""Accuracies under shared mistakes.

The oracle: every truth, apparent truth and label one by one, with its probability.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.arrays.shared_mistakes import accuracy_of_followers, accuracy_of_system


def cases(share, n_labels):
    """All pairs of a true and an apparent label, with their probability."""
    for z, w in itertools.product(range(n_labels), repeat=2):
        yield z, w, (1 - share if z == w else share / (n_labels - 1)) / n_labels


def label(y, meant, accuracy, n_labels):
    return accuracy if y == meant else (1 - accuracy) / (n_labels - 1)


def system(own, share, repeated, n_labels):
    """Every (truth, apparent truth, label) of a system, with its probability."""
    for z, w, p in cases(share, n_labels):
        for y in range(n_labels):
            seen = repeated * label(y, w, own, n_labels) + (1 - repeated) * label(
                y, z, own, n_labels
            )
            yield z, w, y, p * seen


def chance(rows, event, given=lambda z, w, y: True):
    rows = list(rows)
    both = sum(p for z, w, y, p in rows if event(z, w, y) and given(z, w, y))
    return both / sum(p for z, w, y, p in rows if given(z, w, y))


@pytest.mark.parametrize("n_labels", [2, 3, 5])
@pytest.mark.parametrize("share", [0.0, 0.07, 0.3])
@pytest.mark.parametrize("repeated", [1.0, 0.0, 0.35])
@pytest.mark.parametrize("own", [0.15, 0.8, 0.97])
def test_all_truths_and_labels_one_by_one(n_labels, share, repeated, own):
    rows = list(system(own, share, repeated, n_labels))
    agreement = chance(rows, lambda z, w, y: y == w)
    found = accuracy_of_system(np.array(agreement), np.array(share), np.array(repeated), n_labels)
    assert found.accuracy == pytest.approx(chance(rows, lambda z, w, y: y == z))
    lost = chance(rows, lambda z, w, y: w != z, lambda z, w, y: y == w)
    gained = chance(rows, lambda z, w, y: y == z, lambda z, w, y: y != w)
    assert found.lost == pytest.approx(lost)
    assert found.gained == pytest.approx(gained)
    assert not found.impossible
    if repeated == 1:
        followers = accuracy_of_followers(np.array(agreement), np.array(share), n_labels)
        assert followers == pytest.approx(float(found.accuracy))


@pytest.mark.parametrize("repeated", [1.0, 0.0])
def test_labels_alone_cannot_tell_two_worlds_apart(repeated):
    """Labels of three annotators and a system have one distribution in both worlds.

    In one they share mistakes; in the other nobody does, and the system is as accurate as it
    agrees with the apparent truth in the first.
    """
    n_labels, t, own, share = 3, (0.7, 0.6, 0.8), 0.85, 0.2
    rows = system(own, share, repeated, n_labels)
    agreement = chance(rows, lambda z, w, y: y == w)
    for said in itertools.product(range(n_labels), repeat=4):
        people, answer = said[:3], said[3]
        first = second = 0.0
        for z, w, p in cases(share, n_labels):
            here = np.prod([label(y, w, a, n_labels) for y, a in zip(people, t, strict=True)])
            meant = w if repeated else z
            first += p * here * label(answer, meant, own, n_labels)
        for z in range(n_labels):
            here = np.prod([label(y, z, a, n_labels) for y, a in zip(people, t, strict=True)])
            second += here * label(answer, z, agreement, n_labels) / n_labels
        assert first == pytest.approx(second, rel=1e-12)


def test_what_cannot_be_is_counted_as_near_as_it_can_be():
    """A system free of the mistakes says the apparent label at most on the other items."""
    agreement = np.array([0.95, 0.9, 0.01])
    found = accuracy_of_system(agreement, np.array(0.1), np.array(0.0), 2)
    assert found.impossible.tolist() == [True, False, True]
    np.testing.assert_allclose(found.accuracy, [1.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.lost, [0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(found.gained, [1.0, 1.0, 0.0], atol=1e-12)
    # Of one that makes half of them: always right about what it takes an item for, it agrees on .9.
    half = accuracy_of_system(np.array(0.99), np.array(0.2), np.array(0.5), 2)
    assert half.impossible
    assert half.accuracy == pytest.approx(0.9)
    assert half.lost == pytest.approx(0.1 / 0.9)


def test_a_system_that_makes_half_of_them_is_as_accurate_as_it_agrees():
    """What it loses by the mistakes it makes it gains by those it does not, to the last digit."""
    agreement = np.linspace(0.3, 0.9, 7)
    found = accuracy_of_system(agreement, np.array(0.15), np.array(0.5), 4)
    np.testing.assert_allclose(found.accuracy, agreement)


def test_who_always_agrees_loses_what_annotators_lose():
    found = accuracy_of_system(np.array([1.0, 0.0]), np.array(0.1), np.array(1.0), 3)
    np.testing.assert_allclose(found.accuracy, [0.9, 0.05])
    np.testing.assert_allclose(found.lost, [0.1, 0.0])
    np.testing.assert_allclose(found.gained, [0.0, 0.05])


number = st.floats(0, 1)


@settings(deadline=None, max_examples=50)
@given(number, st.floats(0, 0.49), st.floats(0, 0.49), number, st.integers(2, 9))
def test_parts_sum_up_and_more_mistakes_are_no_better(agreement, low, high, repeated, n_labels):
    share = np.sort([low, high])
    found = accuracy_of_system(np.array(agreement), share, np.array(repeated), n_labels)
    for values in (found.accuracy, found.lost, found.gained):
        assert ((values >= 0) & (values <= 1)).all()
    whole = agreement * (1 - found.lost) + (1 - agreement) * found.gained
    fine = ~found.impossible
    np.testing.assert_allclose(found.accuracy[fine], whole[fine], atol=1e-6)
    followers = accuracy_of_followers(np.array(agreement), share, n_labels)
    better = agreement >= 1 / n_labels
    assert (followers[0] >= followers[1] - 1e-12) if better else (followers[0] <= followers[1])
    if fine.all():
        # One that is free of the mistakes is better than its agreement, one that makes all worse.
        free = accuracy_of_system(np.array(agreement), share, np.array(0.0), n_labels)
        if better and not free.impossible.any():
            assert (free.accuracy >= found.accuracy - 1e-9).all()
            assert (found.accuracy >= followers - 1e-9).all()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.floats(0, 0.49), st.randoms())
def test_probabilities_of_labels_stay_such_in_any_order(weights, share, random):
    truth = np.array(weights) / sum(weights)
    found = accuracy_of_followers(truth, np.array(share), len(truth))
    assert found.sum() == pytest.approx(1)
    order = random.sample(range(len(truth)), len(truth))
    again = accuracy_of_followers(truth[order], np.array(share), len(truth))
    np.testing.assert_array_equal(again, found[order])
