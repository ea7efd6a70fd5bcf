"""Labels in categories: their order, what is refused, and ties in the first place."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import xarray as xr
from refusals import check_refused

import dissensus as dx
from dissensus.evaluation.categories import accuracy, categories

RISK = dict(zip("abcdef", ["low", "high", "low", "high", "medium", "low"], strict=True))


def test_names_stay_in_the_order_of_the_mapping(rankings):
    assert categories(RISK, rankings[0], None).names.tolist() == ["low", "high", "medium"]


def test_numbers_are_ordered_by_size(rankings):
    groups = dict(zip("abcdef", [10, 2, 10, 2, 1.5, 2], strict=True))
    assert categories(groups, rankings[0], None).names.tolist() == [1.5, 2, 10]


def test_labels_that_are_numbers_may_be_spelled_as_text():
    ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": [3, 7]})
    assert categories({"7": "b", "3": "a"}, ann, None).codes.tolist() == [1, 0]


def test_plausibilities_are_sums(rankings):
    theta = dx.models.inverse_rank.fit(rankings[0], draws=20, random_seed=1)["posterior"]
    actual = categories(RISK, rankings[0], None).plausibility(theta["plausibility"])
    assert actual["label"].to_numpy().tolist() == ["low", "high", "medium"]
    expected = dx.group_labels(theta["plausibility"], RISK)
    xr.testing.assert_allclose(actual.sel(label=["high", "low", "medium"]), expected)


def test_bad_categories_are_refused(rankings):
    of_labels = [
        (RISK | {"e": None}, "label 'e': expected the name or the number .* found None"),
        (RISK | {"e": 2}, "label 'e': expected a name, as 'a' has; found 2"),
        (RISK | {"b": ""}, "label 'b': expected the name"),
        (RISK | {"b": float("nan")}, "label 'b': .* found nan"),
        (RISK | {"b": True}, "label 'b': .* found True"),
        (RISK | {"b": ["low"]}, "label 'b': "),
        (dict.fromkeys("abcdef", 10**400), "label 'a': expected the name"),
    ]
    of_mappings = [
        ({}, "found an empty mapping"),
        (["low"], "found list"),
        ({"a": "low", "b": "high"}, "a category for every label; found none for 'c', 'd', 'e'"),
        (dict.fromkeys("abcdef", "low"), "two categories or more; found 'low'"),
    ]
    cases = [(groups, f"groups, {message}") for groups, message in of_labels]
    cases += [(groups, f"groups: .*{message}") for groups, message in of_mappings]
    check_refused(dx.ArgumentError, [
        (message, partial(categories, groups, rankings[0], None), message)
        for groups, message in cases
    ])  # fmt: skip


def test_what_a_system_puts_first_needs_a_category_too(rankings):
    pred = dx.predictions({"item": ["p", "q"], "system": ["s", "s"], "label": ["a", "zoster"]})
    with pytest.raises(dx.ArgumentError, match="found none for 'zoster'"):
        categories(RISK, rankings[0], pred)
    which = categories(RISK | {"zoster": "benign"}, rankings[0], pred)
    theta = dx.models.inverse_rank.fit(rankings[0], draws=20, random_seed=1)
    result = which.plausibility(theta["posterior"]["plausibility"])
    assert (result.sel(label="benign") == 0).all()


@pytest.mark.parametrize("on_missing", ["raise", "drop"])
def test_a_shared_first_place_counts_by_chance(on_missing):
    # Item 1 leads with category A, item 2 with B. Ties: {a, b, c} is A twice in three, {c} never.
    theta = xr.DataArray(
        [[[[0.9, 0.1], [0.2, 0.8]]]],
        dims=("chain", "draw", "item", "label"),
        coords={"item": [1, 2], "label": ["A", "B"]},
    )
    rows = [(1, "s", "a", 1), (1, "s", "b", 1), (1, "s", "c", 1), (1, "s", "d", 2)]
    rows += [(2, "s", "c", 1), (1, "t", "c", 1), (2, "t", "a", 1), (2, "t", "c", 1)]
    table = dict(zip(("item", "system", "label", "rank"), zip(*rows, strict=True), strict=True))
    pred = dx.predictions(table, rank="rank")
    ann = dx.annotations({"item": [1] * 4, "annotator": range(4), "label": list("abcd")})
    which = categories({"a": "A", "b": "A", "c": "B", "d": "B"}, ann, pred)
    lists = which.predictions(pred)
    if on_missing == "drop":
        theta = theta.sel(item=[2])
    actual = accuracy(theta, lists, None, on_missing).sel(system=["s", "t"]).to_numpy().ravel()
    expected = [1.0, 0.5] if on_missing == "drop" else [(2 / 3 + 1) / 2, (0 + 1 / 2) / 2]
    np.testing.assert_allclose(actual, expected)
    weights = xr.DataArray([1.0, 3.0], dims="item", coords={"item": [1, 2]})
    if on_missing == "raise":
        actual = accuracy(theta, lists, weights, on_missing).to_numpy().ravel()
        np.testing.assert_allclose(actual, [(2 / 3 + 3) / 4, 1.5 / 4])
