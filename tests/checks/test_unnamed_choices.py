"""Who chooses a label that nobody named draws from Pólya's urn."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.checks._replicates import replicates, with_names
from dissensus.data.plausibility import REMAINDER, Space


def space_of(concentration):
    """Five labels, of which items name 1 and 3, and none."""
    codes = np.array([[1, 3, REMAINDER], [-1, -1, REMAINDER]])
    sizes = np.array([[1, 1, 3], [0, 0, 5]])
    return Space(np.array(list("abcde")), codes, sizes, concentration, 7)


@pytest.mark.parametrize("concentration", [0.1, 1.0, np.inf])
def test_pairs_agree_as_often_as_under_a_dirichlet_split(concentration):
    """Two draws from Dirichlet(a, ..., a) shares over U labels agree w.p. (a + 1) / (a U + 1)."""
    space = space_of(concentration)
    codes = np.tile([3, REMAINDER, REMAINDER, REMAINDER, REMAINDER, REMAINDER], (20_000, 1))
    found = with_names(codes, np.array([0, 0, 0, 1, 1, 1]), space, 0)
    assert (found[:, 0] == 3).all()
    assert set(found[:, 1:3].ravel()) == {0, 2, 4}
    assert set(found[:, 3:].ravel()) == set(range(5))
    for pair, size in (((1, 2), 3), ((3, 4), 5), ((3, 5), 5), ((4, 5), 5)):
        share = (found[:, pair[0]] == found[:, pair[1]]).mean()
        a = concentration
        expected = 1 / size if np.isinf(a) else (a + 1) / (a * size + 1)
        assert share == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(20_000))


def test_nothing_to_name():
    codes = np.array([[1, 3]])
    assert with_names(codes, np.array([0, 0]), space_of(1.0), 0) is codes


def test_no_replicate_takes_the_remainder_for_one_label():
    """With a large prior nearly all choices are labels that nobody named: they seldom agree."""
    labels = ["a", "b", *(f"label {k}" for k in range(98))]
    ann = dx.from_rankings({i: [[["a"]], [["b"]]] for i in range(40)}, labels=labels)
    fit = dx.models.inverse_rank.fit(
        ann, prior_count=100.0, draws=25, chains=2, random_seed=1, posterior_predictive=True,
        progressbar=False,
    )  # fmt: skip
    said = replicates(fit).drawn.values(slice(0, 50))
    assert said.min() >= 0
    assert len(np.unique(said)) == 100
    agreement = dx.agreement_check(fit)["replicated"].sel(statistic="percent_agreement")
    assert float(agreement.mean()) < 0.02
