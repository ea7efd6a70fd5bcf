"""Settings of metrics that make no sense are refused by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dissensus as dx
from dissensus.metrics import METRICS

LISTS = [entry for entry in METRICS if entry.takes == "lists" and entry.name != "certainty"]


@pytest.fixture(scope="module")
def judged():
    ann = dx.from_matrix([["p", "q"], ["p", "p"]])
    fit = dx.models.dirichlet.fit(ann, draws=3, chains=1, random_seed=1, progressbar=False)
    table = {"item": [0, 0, 1, 1], "system": ["s"] * 4, "label": ["p", "q"] * 2, "rank": [1, 2] * 2}
    return fit, dx.predictions(table, rank="rank")


@pytest.mark.parametrize("entry", LISTS, ids=lambda entry: entry.name)
@pytest.mark.parametrize(
    "flag",
    [np.array([1.0, np.nan]), np.array([]), pd.Series([0.1]), "False", 1, None, []],
    ids=repr,
)
def test_what_is_neither_true_nor_false_is_no_flag(entry, flag, judged):
    with pytest.raises(dx.ArgumentError, match=r"^per_item: expected True or False"):
        entry.function(*judged, **dict(entry.arguments), per_item=flag)


@pytest.mark.parametrize("n_labels", [1e300, 2.0**63, 10**400, 1, 2.5, np.inf, "x"])
def test_a_number_of_labels_is_one_that_can_be_counted_to(n_labels):
    for call in (
        lambda: dx.majority_accuracy(3, 0.8, n_labels=n_labels),
        lambda: dx.annotators_for_truth(0.8, 0.95, n_labels=n_labels),
        lambda: dx.truth_accuracy(0.8, 3, n_labels=n_labels),
    ):
        with pytest.raises(dx.ArgumentError, match=r"^n_labels: "):
            call()
