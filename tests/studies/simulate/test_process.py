"""The draws behind a study: frequencies against probabilities in closed form."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from dissensus.studies.simulate._study import answers, present, rankings, sharpness_of, true_metrics

THETA = np.array([0.5, 0.3, 0.2])


def plackett_luce(weights):
    """Probabilities of all orders, by their definition."""
    out = {}
    for order in permutations(range(len(weights))):
        left, p = sum(weights), 1.0
        for label in order:
            p *= weights[label] / left
            left -= weights[label]
        out[order] = p
    return out


def test_annotators_rank_by_plackett_luce():
    n = 40_000
    theta = np.broadcast_to(THETA, (n, 3))
    said = rankings(theta, np.ones((n, 1), bool), 3, 0.0, np.random.default_rng(1))
    length = np.bincount(said.item, minlength=n)
    # Lengths 1, 2, 3 with weights 3, 2, 1.
    np.testing.assert_allclose(np.bincount(length)[1:] / n, [1 / 2, 1 / 3, 1 / 6], atol=0.012)
    full = said.label[np.isin(said.item, np.flatnonzero(length == 3))].reshape(-1, 3)
    for order, p in plackett_luce(THETA).items():
        share = (full == order).all(axis=1).mean()
        assert share == pytest.approx(p, abs=4.5 * np.sqrt(p * (1 - p) / len(full)))


def test_ties_hide_the_order_of_neighbours_only():
    n = 20_000
    theta = np.broadcast_to(THETA, (n, 3))
    said = rankings(theta, np.ones((n, 1), bool), 3, 0.3, np.random.default_rng(2))
    later = np.diff(said.item, prepend=-1) == 0
    step = np.diff(said.rank, prepend=0)
    assert set(np.unique(step[later])) == {0, 1}
    assert (said.rank[~later] == 1).all()
    assert (step[later] == 0).mean() == pytest.approx(0.3, abs=0.015)
    # Whether a neighbour is tied tells nothing of what was drawn first.
    tied_next = np.append(step[1:] == 0, False) & ~later
    tied_next &= np.append(later[1:], False)
    first = np.bincount(said.label[tied_next], minlength=3) / tied_next.sum()
    np.testing.assert_allclose(first, THETA, atol=0.03)


def test_missing_at_random_but_for_two():
    kept = present(50_000, 6, 0.4, np.random.default_rng(3))
    count = kept.sum(axis=1)
    assert count.min() == 2
    chance = stats.binom.pmf(np.arange(7), 6, 0.6)
    expected = [0, 0, chance[:3].sum(), *chance[3:]]
    np.testing.assert_allclose(np.bincount(count) / len(count), expected, atol=0.01)
    np.testing.assert_allclose(kept.mean(axis=0), kept.mean(), atol=0.01)
    assert present(10, 1, 0.9, np.random.default_rng(3)).all()


def test_systems_draw_from_sharpened_plausibilities():
    n, sharpness = 40_000, np.array([1.0, 2.0])
    found = answers(np.broadcast_to(THETA, (n, 3)), sharpness, 3, np.random.default_rng(4))
    for system, power in enumerate(sharpness):
        for order, p in plackett_luce(THETA**power).items():
            share = (found[:, system] == order).all(axis=1).mean()
            assert share == pytest.approx(p, abs=4.5 * np.sqrt(p * (1 - p) / n))


def test_sharpness_inverts_quality():
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.full(4, 0.3), 2000)
    quality = np.array([0.25, 0.4, 0.7, 0.95, 1.0])
    sharpness = sharpness_of(quality, theta)
    assert (np.diff(sharpness) > 0).all()
    first = answers(theta, sharpness, 1, rng)[..., 0]
    hit = (first == theta.argmax(axis=1)[:, None]).mean(axis=0)
    np.testing.assert_allclose(hit, quality, atol=4.5 * np.sqrt(0.25 / 2000))
    # One more annotator is a system of sharpness 1, and its quality the mean top share.
    assert sharpness_of(theta.max(axis=1).mean()[None], theta) == pytest.approx(1.0, abs=1e-6)


def test_plausibilities_that_underflow():
    theta = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    found = answers(theta, np.array([1.0]), 3, np.random.default_rng(6))
    np.testing.assert_array_equal(found[:, 0, 0], [0, 1])
    np.testing.assert_array_equal(np.sort(found[:, 0]), [[0, 1, 2]] * 2)


def test_true_metrics_by_hand():
    theta = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])  # true orders 0 1 2 and 2 1 0
    lists = np.array([[[0, 2, 1]], [[1, 2, 0]]])
    found = {name: float(value[0]) for name, value in true_metrics(theta, lists).items()}
    assert found == pytest.approx(
        {
            "top_1_accuracy": 1 / 2,
            "top_2_accuracy": 1,
            "top_3_accuracy": 1,
            "top_2_set_accuracy": 1 / 2,
            "top_3_set_accuracy": 1,
            "average_overlap_at_3": ((1 + 1 / 2 + 1) / 3 + (0 + 1 + 1) / 3) / 2,
        }
    )
    assert list(true_metrics(theta, lists[..., :1])) == ["top_1_accuracy"]
