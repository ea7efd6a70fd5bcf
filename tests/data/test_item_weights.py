"""Weights and clusters by item: what goes by name and what by place, and what is refused."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data.tables import match
from dissensus.data.weights import by_item, item_weights

ITEMS = np.array([2, 0, 1])


def given(values, items=ITEMS):
    return by_item(values, items, "cluster", "cluster").tolist()


def test_mappings_and_named_arrays_go_by_name_all_else_by_place():
    named = xr.DataArray(["a", "b", "c"], dims="item", coords={"item": [0, 1, 2]})
    for values in ({0: "a", 1: "b", 2: "c", 3: "d"}, named):
        assert given(values) == ["c", "a", "b"]
    for values in (["a", "b", "c"], np.array(["a", "b", "c"]), named.drop_vars("item")):
        assert given(values) == ["a", "b", "c"]


def test_a_series_with_names_for_an_index_goes_by_them():
    assert given(pd.Series(["a", "b", "c"], index=[0, 1, 2])) == ["c", "a", "b"]
    assert given(pd.Series(["c", "b", "a"], index=pd.RangeIndex(2, -1, -1))) == ["c", "a", "b"]
    assert given(pd.Series(list("xabc"), index=[9, 0, 1, 2])) == ["c", "a", "b"]


def test_a_series_with_the_default_index_goes_by_place_where_names_do_not_say_otherwise():
    series = pd.Series(["a", "b", "c"])
    assert given(series, np.arange(3)) == ["a", "b", "c"]
    assert given(series, np.array(["i", "j", "k"])) == ["a", "b", "c"]
    assert given(series, np.array([1, 2, 3])) == ["a", "b", "c"]


@pytest.mark.parametrize("argument", ["weights", "cluster"])
def test_a_default_index_that_names_other_places_is_ambiguous(argument):
    ann = dx.annotations({"item": [2, 2, 0, 0, 1, 1], "annotator": list("ababab"),
                          "label": list("xxxyyx")})  # fmt: skip
    assert ann["item"].values.tolist() == [2, 0, 1]
    with pytest.raises(dx.ArgumentError, match=rf"^{argument}: .*default index.* 2, 0, 1.*mapping"):
        dx.bayesian_bootstrap("percent_agreement", ann, **{argument: pd.Series([0, 0, 1])})
    with pytest.raises(dx.ArgumentError, match=r"^weights: .*default index"):
        dx.percent_agreement(ann, weights=pd.Series([0.0, 0.0, 1.0]))
    by_name = dx.percent_agreement(ann, weights=pd.Series([0.0, 0.0, 1.0], index=[0, 1, 2]))
    assert float(by_name) == 1.0


def test_an_index_of_other_names_is_not_taken_for_places():
    for index in (pd.RangeIndex(5, 8), ["i", "j", "k"]):
        with pytest.raises(dx.ArgumentError, match="none for 3 of them: 2, 0, 1"):
            given(pd.Series([1, 2, 3], index=index))
    with pytest.raises(dx.ArgumentError, match=r"shape \(2,\)"):
        given(pd.Series([1, 2]))
    assert given(pd.Series(list("abcd"))) == ["c", "a", "b"]  # too long for places


def test_a_name_twice_is_refused():
    with pytest.raises(
        dx.ArgumentError, match=r"^cluster: expected one cluster .* 0 more than once"
    ):
        given(pd.Series(list("abcd"), index=[0, 1, 2, 0]))


DAYS = pd.date_range("2020-05-01", periods=3)


@pytest.mark.parametrize(
    "names",
    [
        list(DAYS),
        DAYS.to_numpy(),
        [day.date() for day in DAYS],
        [datetime(2020, 5, n) for n in (1, 2, 3)],
        [*DAYS, pd.Timestamp("2020-05-01 07:30")],
        [date(2020, 5, 1), *DAYS[1:]],
    ],
)
def test_days_and_times_are_found_as_they_are_spelled(names):
    items = np.array(["2020-05-03", "2020-05-01", "2020-05-02"])
    values = dict(zip(names, range(len(names)), strict=True))
    assert given(values, items) == [2, 0, 1]
    assert item_weights(values, items, "weights").tolist() == [2, 0, 1]
    assert given(pd.Series(values), items) == [2, 0, 1]
    with_hours = np.array(["2020-05-03T00:00:00", "2020-05-01T00:00:00"])
    assert given(values, with_hours) == [2, 0]


def test_times_with_a_zone_are_others_than_those_without():
    zoned = DAYS.tz_localize("Europe/Berlin")
    ann = dx.annotations(pd.DataFrame({"item": zoned, "annotator": "a", "label": "x"}))
    items = ann["item"].values
    for names in (np.array(list(zoned)), zoned.to_numpy(), zoned.tz_convert("UTC").to_numpy()):
        assert match(items, names).tolist() == [0, 1, 2]
    for names in (DAYS.to_numpy(), np.array([zoned[0], DAYS[0]])):
        assert (match(items, names) == -1).all()
    assert (match(np.array(["2020-05-01"]), zoned.to_numpy()) == -1).all()


@pytest.mark.parametrize(
    "names",
    [
        list(pd.date_range("2020-05-01 10:30", periods=3, freq="6h")),
        [True, False],
        [Decimal("0.50"), Decimal(2)],
        [2**70, 2**70 + 1],
    ],
)
def test_the_caller_s_own_names_are_found(names):
    ann = dx.annotations(pd.DataFrame({"item": names, "annotator": "a", "label": "x"}))
    items, values = ann["item"].to_numpy(), dict(zip(names[::-1], "abc", strict=False))
    expected = [values[name] for name in names]
    assert given(values, items) == expected
    assert given(pd.Series(values), items) == expected
    named = xr.DataArray(list(values.values()), dims="item", coords={"item": list(values)})
    assert given(named, items) == expected


def test_two_spellings_of_a_day_are_one_name():
    values = {date(2020, 5, 1): 1, datetime(2020, 5, 1): 2}
    with pytest.raises(dx.ArgumentError, match="'2020-05-01' more than once"):
        given(values, np.array(["2020-05-01"]))


def test_text_that_spells_numbers_and_numbers_are_the_same_names():
    assert given({"0": "a", "1": "b", "2": "c"}) == ["c", "a", "b"]
    assert given({0: "a", "x": "b"}, np.array(["0", "x"])) == ["a", "b"]
    with pytest.raises(dx.ArgumentError, match="none for"):
        given({(0, 1): "a", (1, 2): "b"})
    with pytest.raises(dx.ArgumentError, match="none for"):
        given(pd.Series([1, 2], index=pd.MultiIndex.from_tuples([(0, 1), (1, 2)])))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (["1", "2", "3"], "numbers; found str, such as '1'"),
        (np.array(["1", "2", "3"]), "numbers; found str, such as '1'"),
        ([1, "2", 3], "numbers; found str, such as '2'"),
        ({0: 1, 1: 1, 2: "1"}, "found str, such as '1'"),
        (pd.Series(["1", "2", "3"], index=[0, 1, 2]), "found str"),
        ("bayesian-bootstrap", r"found 'bayesian-bootstrap'. .*bayesian_bootstrap\(statistic, ann"),
        ([0, 0, 0], "at least one of them positive; found a weight of 0 for all items"),
        (np.array(["2020", "2021", "2022"], "M8[Y]"), "found date"),
        (np.array([1j, 1, 1]), "found complex"),
        ([[1], [2, 3], [4]], "numbers; found setting an array"),
        ({0: [1], 1: [2, 3], 2: [4]}, "numbers; found setting an array"),
        (10**400, r"each of 3 items; found int"),
        ([1, 10**400, 1], "numbers; found int too large"),
        (np.ma.masked_equal([1.0, 2.0, 3.0], 2.0), "for every item; found masked values"),
        ([1.0, np.ma.masked, 1.0], "found masked values"),
        (xr.DataArray([0, 0, 1], dims="system"), r"over 'item'; found dims \('system',\)"),
        (xr.DataArray(np.ones((3, 2)), dims=("item", "draw")), "found dims"),
        (xr.DataArray(1.0, coords={"item": 0}), r"found dims \(\)"),
        ({1: 1.0, 2: 2.0}, "none for 1 of them: 0"),
    ],
)
def test_what_is_no_weight_is_refused(weights, message):
    with pytest.raises(dx.ArgumentError, match=f"^weights: .*{message}"):
        item_weights(weights, ITEMS, "weights")


@pytest.mark.parametrize(
    "weights",
    [
        [1, 2.0, Decimal(3)],
        (1, 2, 3),
        np.array([1, 2, 3], dtype=np.uint8),
        np.ma.masked_equal([1.0, 2.0, 3.0], 9.0),
        pd.Series([2, 3, 1], index=[0, 1, 2], dtype="Int64"),
        xr.DataArray([1, 2, 3], dims="item"),
        range(1, 4),
    ],
)
def test_all_kinds_of_numbers_are_weights(weights):
    assert item_weights(weights, ITEMS, "weights").tolist() == [1.0, 2.0, 3.0]


def test_the_first_item_with_a_wrong_weight_is_named():
    for weights in ([1, np.nan, -1], {2: 1, 0: np.nan, 1: -1}):
        with pytest.raises(dx.ArgumentError, match=r"^weights, item 0: .*found nan \(.*: 2 of 3"):
            item_weights(weights, ITEMS, "weights")


def test_the_caller_keeps_its_array():
    mine = np.ones(3)
    item_weights(mine, ITEMS, "weights")[0] = 9.0
    assert mine.tolist() == [1.0, 1.0, 1.0]
