"""Items and clusters as the sample: given in any form, and said to be few where they are."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from small_studies import study

import dissensus as dx


@pytest.fixture
def ann():
    return study(1, "ordinal", n_items=40, n_annotators=4).annotations()


def clustered(seed=3, n_items=60):
    """A study, and the cluster of each item: none has the same number of items."""
    made = study(seed, "ordinal", n_items=n_items)
    rng = np.random.default_rng(seed)
    return made, {f"i{i}": f"c{rng.integers(25)}" for i in range(n_items)}


def test_clusters_may_be_given_in_any_form():
    made, cluster = clustered()
    ann = made.annotations()
    items = ann["item"].values.tolist()
    by_place = [cluster[item] for item in items]
    codes = pd.factorize(np.array(by_place))[0]
    series = pd.Series(cluster)
    declared = ann.assign(cluster_code=("item", codes)).assign_coords(
        cluster=list(dict.fromkeys(by_place))
    )

    def drawn(data, given, statistic="percent_agreement"):
        return dx.bayesian_bootstrap(statistic, data, cluster=given, draws=10, random_seed=1)

    expected = drawn(ann, cluster)
    array = xr.DataArray(by_place[::-1], dims="item", coords={"item": items[::-1]})
    for given in (by_place, codes, np.array(by_place), series, series[::-1], array):
        xr.testing.assert_identical(drawn(ann, given), expected)
    for given in (None, "cluster"):
        xr.testing.assert_identical(drawn(declared, given), expected)
    single = drawn(ann, None)
    assert not single.equals(expected)
    for data in (ann, declared):
        xr.testing.assert_identical(drawn(data, "item"), single)


def test_clusters_of_one_item_are_items(ann):
    each = dx.bayesian_bootstrap("percent_agreement", ann, draws=20, random_seed=1)
    also = dx.bayesian_bootstrap("percent_agreement", ann, draws=20, random_seed=1,
                                 cluster=np.arange(40)[::-1])  # fmt: skip
    xr.testing.assert_identical(also, each)


def test_what_is_no_cluster_is_refused(ann):
    items = ann["item"].values.tolist()
    for given, message in [
        ("patient", "expected None, \"item\".*found 'patient'.*cluster="),
        ("cluster", "cluster="),
        ([1, 2], "each of 40 items"),
        (dict.fromkeys(items[:39], 1), f"none for 1 of them: '{items[39]}'"),
        ([1, 2], r"one cluster for each of 40 items; found an array of shape \(2,\)"),
        ({1, 2}, "one cluster for each of 40 items; found set"),
        ([[1]] * 40, "a name or number for each item; found unhashable"),
        (["a", np.nan, *range(38)], f"none for '{items[1]}'"),
        (np.ma.masked_less(np.arange(40), 3), "masked"),
        (xr.DataArray(np.arange(40), dims="system"), "over 'item'; found dims"),
        ([None, *range(39)], "a cluster for each item"),
    ]:
        with pytest.raises(dx.ArgumentError, match=f"^cluster.*{message}"):
            dx.bayesian_bootstrap("percent_agreement", ann, cluster=given)


def test_one_item_is_no_sample_and_few_are_said_to_be_few(ann):
    with pytest.raises(dx.ArgumentError, match=r"at least two items or clusters.*found 1"):
        dx.bayesian_bootstrap("percent_agreement", dx.from_matrix([["a", "b"]]))
    with pytest.raises(dx.ArgumentError, match="two items or clusters"):
        dx.bayesian_bootstrap("percent_agreement", ann, cluster=np.zeros(40))
    with pytest.warns(dx.DissensusWarning, match="^3 clusters are few: .* too narrow") as caught:
        dx.bayesian_bootstrap("percent_agreement", ann, draws=5, cluster=np.arange(40) % 3)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dx.bayesian_bootstrap("percent_agreement", ann, draws=5, cluster=np.arange(40) % 20)


def doubled(n_items, n_doubled):
    """Everything labelled once, some items twice."""
    rng = np.random.default_rng(5)
    item = [*range(n_items), *range(n_doubled)]
    who = ["a"] * n_items + ["b"] * n_doubled
    labels = rng.integers(0, 2, len(item)).tolist()
    return dx.annotations({"item": item, "annotator": who, "label": labels}, kind="nominal")


@pytest.fixture
def records():
    """Collect warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def texts(caught):
    assert {record.filename for record in caught} <= {__file__}
    return [str(record.message) for record in caught]


def test_items_that_tell_nothing_of_a_statistic_do_not_count(records):
    how = {"draws": 5, "random_seed": 1}
    dx.bayesian_bootstrap("percent_agreement", doubled(500, 3), **how)
    many = doubled(500, 400)
    few = np.zeros(500)
    few[:2] = 1
    dx.bayesian_bootstrap("percent_agreement", many, weights=few, **how)
    dx.bayesian_bootstrap(
        lambda a, weights: dx.percent_agreement(a, weights=weights), many, weights=few, **how
    )
    # 60 items of 30 clusters have two labels each, but those are of 4 clusters only.
    cluster = np.where(np.arange(500) < 60, np.arange(500) % 4, 4 + np.arange(500) % 26)
    dx.bayesian_bootstrap("percent_agreement", doubled(500, 60), cluster=cluster, **how)
    result = texts(records)
    assert [text.split(":")[0] for text in result] == [
        "percent_agreement depends on 3 of 500 items",
        "percent_agreement depends on 2 of 500 items",
        "<lambda> depends on 2 of 500 items",
        "percent_agreement depends on 4 of 30 clusters",
    ]
    assert all("fewer than 20" in text and "too narrow" in text for text in result)
    dx.bayesian_bootstrap("percent_agreement", doubled(500, 20), **how)
    assert len(records) == 4


def test_an_undefined_statistic_is_only_said_to_be_undefined(records):
    draws = dx.bayesian_bootstrap("percent_agreement", doubled(50, 0), draws=5, random_seed=1)
    assert draws.isnull().all()
    (text,) = texts(records)
    assert "is undefined (NaN) in 5 of 5 draws" in text


def rarely(n_items=100, n_rare=2, n_more=0):
    """Annotators a, b, c say something of all items, d of a few, e of some more."""
    rng = np.random.default_rng(1)
    rows = [(i, who) for i in range(n_items) for who in "abc"]
    rows += [(i, "d") for i in range(n_rare)] + [(i, "e") for i in range(n_more)]
    item, who = zip(*rows, strict=True)
    labels = rng.integers(0, 3, len(rows)).astype(str)
    return dx.annotations({"item": item, "annotator": who, "label": labels}, kind="nominal")


def test_annotators_whose_value_rests_on_few_items_are_named(records):
    how = {"draws": 5, "random_seed": 1}
    pred = dx.predictions({"item": range(100), "system": ["m"] * 100, "label": ["1"] * 100})
    ann = rarely(n_more=19)
    for alpha_items in ("same", "all"):
        dx.bayesian_bootstrap("annotator_discrepancy_ratio", ann, alpha_items=alpha_items, **how)
    dx.bayesian_bootstrap("advantage_probability", ann, pred, **how)
    names = ["annotator_discrepancy_ratio"] * 2 + ["advantage_probability"]
    for text, name in zip(texts(records), names, strict=True):
        start = f"{name} of 'd' (2 items), 'e' (19 items) depends on fewer than 20 items: "
        assert text.startswith(start)
        assert "too narrow" in text
    dx.bayesian_bootstrap("annotator_discrepancy_ratio", rarely(n_rare=20), **how)
    assert len(records) == 3


def test_few_items_of_an_annotator_are_counted_after_weights_and_clusters(records):
    how = {"draws": 5, "random_seed": 1}
    weights = np.ones(100)
    weights[:29] = 0.0
    dx.bayesian_bootstrap("annotator_discrepancy_ratio", rarely(n_rare=30), weights=weights, **how)
    cluster = np.repeat(np.arange(25), 4)
    dx.bayesian_bootstrap("annotator_discrepancy_ratio", rarely(n_rare=41), cluster=cluster, **how)
    # Too few for a value at all: it is said that there is none, and not said twice.
    pred = dx.predictions({"item": range(100), "system": ["m"] * 100, "label": ["1"] * 100})
    dx.bayesian_bootstrap("advantage_probability", rarely(), pred, min_items=5, **how)
    # Where all have few, that is said.
    dx.bayesian_bootstrap("annotator_discrepancy_ratio", rarely(19), **how)
    first, second, third, four = (text.split(":")[0] for text in texts(records))
    assert first == "annotator_discrepancy_ratio of 'd' (1 item) depends on fewer than 20 items"
    assert (
        second
        == "annotator_discrepancy_ratio of 'd' (11 clusters) depends on fewer than 20 clusters"
    )
    assert "is undefined" in third
    assert four == "19 items are few"


def test_of_many_annotators_with_few_items_five_are_named(records):
    ann = dx.from_matrix(np.random.default_rng(1).choice(["x", "y"], (21, 10)))
    kept = (ann["annotator_code"] < 3) | (ann["item_code"] < 5)
    dx.bayesian_bootstrap(
        "annotator_discrepancy_ratio", ann.isel(annotation=kept.values), draws=3, random_seed=1
    )
    (text,) = texts(records)
    assert "of 3 (5 items), 4 (5 items), 5 (5 items), 6 (5 items), 7 (5 items) and 2 more" in text


def test_days_and_times_are_names_of_items():
    days = pd.date_range("2020-01-01", periods=25)
    frame = pd.DataFrame({
        "item": np.repeat(days, 2), "annotator": ["a", "b"] * 25,
        "label": np.random.default_rng(1).choice(["x", "y"], 50),
    })  # fmt: skip
    ann = dx.annotations(frame)
    values = np.arange(25) % 22
    expected = dx.bayesian_bootstrap("percent_agreement", ann, cluster=values, draws=5,
                                     random_seed=1)  # fmt: skip
    for cluster in (
        dict(zip(days, values, strict=True)),
        dict(zip(days.date, values, strict=True)),
        dict(zip(days.to_numpy(), values, strict=True)),
        pd.Series(values, index=days)[::-1],
    ):
        draws = dx.bayesian_bootstrap("percent_agreement", ann, cluster=cluster, draws=5,
                                      random_seed=1)  # fmt: skip
        xr.testing.assert_identical(draws, expected)


@pytest.mark.parametrize("name", ["fleiss_kappa", "gwet_ac", "percent_agreement"])
def test_items_with_one_annotator_tell_nothing_of_agreement(name):
    label = np.random.default_rng(1).choice(["x", "y"], 208)
    table = {"item": [*range(200), *range(8)], "annotator": ["a"] * 200 + ["b"] * 8, "label": label}
    with pytest.warns(dx.DissensusWarning, match=f"{name} depends on 8 of 200 items"):
        dx.bayesian_bootstrap(name, dx.annotations(table), draws=20, random_seed=1)


def test_a_pool_with_few_items_is_named():
    rng = np.random.default_rng(2)
    rows = [(i, f"c{r}", "crowd") for i in range(60) for r in range(2)]
    rows += [(i, f"e{r}", "experts") for i in range(6) for r in range(2)]
    item, who, pool = zip(*rows, strict=True)
    table = {
        "item": item,
        "annotator": who,
        "pool": pool,
        "label": rng.choice(["x", "y"], len(rows)),
    }
    pred = dx.predictions({"item": range(60), "system": ["s"] * 60, "label": ["x"] * 60})
    with pytest.warns(dx.DissensusWarning, match=r"'experts' \(6 items\) depends on fewer than 20"):
        dx.bayesian_bootstrap(
            "discrepancy_ratio", dx.annotations(table, pool="pool"), pred, by_pool=True, draws=20,
            random_seed=1,
        )  # fmt: skip
