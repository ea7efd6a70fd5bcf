"""Slim majorities, against trying every change of every annotator."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import seeds

from dissensus.kernels.grouped import grouped
from dissensus.kernels.labels import slim_majority


def by_trying(said, n_labels):
    """Of one item, each annotator with one label: would another label beat or tie the leader?"""
    votes = np.bincount(said, minlength=n_labels)
    lead = int(votes.argmax())
    for r in range(len(said)):
        for other in range(n_labels):
            then = np.bincount([*said[:r], other, *said[r + 1 :]], minlength=n_labels)
            if other != lead and then[other] >= then[lead]:
                return True
    return False


@pytest.mark.parametrize("seed", seeds(60))
def test_every_change_is_foreseen(seed):
    rng = np.random.default_rng(seed)
    sizes, n_labels = rng.integers(1, 9, size=6), int(rng.integers(1, 5))
    studies = [rng.choice(n_labels, size=n, p=rng.dirichlet(np.full(n_labels, 0.5)))
               for n in sizes]  # fmt: skip
    item = np.repeat(np.arange(6), sizes)
    who = np.concatenate([np.arange(n) for n in sizes])
    rows = grouped(item, who, 6)
    found = slim_majority(rows, np.concatenate(studies)[rows.order], n_labels)
    assert found.tolist() == [by_trying(said.tolist(), n_labels) for said in studies]


def test_parts_of_a_vote_are_added_up_to_rounding():
    # Three annotators said x three times over, one x and y: 3 1/2 to 1/2. He of the two labels
    # changes to y: 3 to 1. One of the others: 2 1/2 to 1 1/2. So it stands.
    who = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3])
    said = np.array([0] * 10 + [1])
    assert not slim_majority(grouped(np.zeros(11, int), who, 1), said, 2)[0]
    # Two times x in thirds against one y: changed by one it is 1 to 2.
    assert slim_majority(grouped(np.zeros(7, int), who[[0, 1, 2, 3, 4, 5, 9]], 1),
                         said[[0, 1, 2, 3, 4, 5, 10]], 2)[0]  # fmt: skip
    assert not slim_majority(grouped(np.zeros(0, int), np.zeros(0, int), 1), np.zeros(0, int), 2)[0]
