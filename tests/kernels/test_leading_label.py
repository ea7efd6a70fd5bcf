"""The label that leads among the others: kernel against counting, one annotator at a time."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.kernels.grouped import grouped
from dissensus.kernels.labels import leading_label_by_annotator, leading_label_named


def counted(item, who, weight, code, n_items, any_tied):
    out = np.full(n_items, np.nan)
    for i in range(n_items):
        here, credit = item == i, []
        people = np.unique(who[here])
        for r in people if len(people) > 1 else []:
            score = np.bincount(code[here & (who != r)], weight[here & (who != r)])
            leading = np.flatnonzero(score >= score.max() - 1e-9)
            named = np.isin(leading, code[here & (who == r)])
            credit.append(named.any() if any_tied else named.mean())
        if credit:
            out[i] = np.mean(credit)
    return out


@pytest.mark.parametrize("any_tied", [False, True])
def test_is_what_counting_gives(any_tied):
    rng = np.random.default_rng(1)
    for _ in range(200):
        n, n_items, n_labels = (int(rng.integers(1, high)) for high in (60, 6, 8))
        item, who, code = (rng.integers(high, size=n) for high in (n_items, 6, n_labels))
        weight = 1.0 / rng.integers(1, 4, size=n)
        found = leading_label_named(
            grouped(item, who, n_items), weight, code, n_labels, any_tied=any_tied
        )
        expected = counted(item, who, weight, code, n_items, any_tied)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_rounding_does_not_part_what_is_tied():
    """Three times .1 is not .3 to the bit."""
    who, code = np.array([0, 0, 0, 1, 2]), np.array([0, 0, 0, 1, 1])
    weight = np.array([0.1, 0.1, 0.1, 0.3, 0.05])
    rows = grouped(np.zeros(5, dtype=int), who, 1)
    # 0 sees label 1 lead and 1 sees label 0; 2 sees both tied, and names one of them.
    np.testing.assert_allclose(leading_label_named(rows, weight, code, 2), [0.5 / 3])
    any_tied = leading_label_named(rows, weight, code, 2, any_tied=True)
    np.testing.assert_allclose(any_tied, [1 / 3])


def test_each_annotator_has_the_mean_over_his_items():
    rng = np.random.default_rng(2)
    for _ in range(100):
        n, n_items, n_labels = (int(rng.integers(1, high)) for high in (60, 6, 8))
        item, who, code = (rng.integers(high, size=n) for high in (n_items, 6, n_labels))
        weight = 1.0 / rng.integers(1, 4, size=n)
        rows = grouped(item, who, n_items)
        found = leading_label_by_annotator(rows, weight, code, n_labels, who, 7)
        expected = np.full(7, np.nan)
        for r in range(7):
            credit = []
            for i in np.unique(item[who == r]):
                others = (item == i) & (who != r)
                if others.any():
                    score = np.bincount(code[others], weight[others])
                    leading = np.flatnonzero(score >= score.max() - 1e-9)
                    credit.append(np.isin(leading, code[(item == i) & (who == r)]).mean())
            expected[r] = np.mean(credit) if credit else np.nan
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
