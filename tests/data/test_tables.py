"""Columns as codes, numbers, and looked-up names.

- Columns as codes, numbers, and looked-up names.
- Distinct values in their plain form.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import combinations
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.data.tables import as_text, encode, kind_of, match, numbers, plain
from dissensus.errors import AnnotationError, PredictionError


def restored(encoded):
    return encoded.values[encoded.codes].tolist()


def objects(*values):
    return pd.Series(np.fromiter(values, dtype=object, count=len(values)), dtype=object)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series(["b", "a", "b"]), ["b", "a", "b"]),
        (objects("b", np.str_("a")), ["b", "a"]),
        (pd.Series(["b", "a"], dtype="string"), ["b", "a"]),
        (pd.Series(["b", "a"], dtype="string[pyarrow]"), ["b", "a"]),
        (pd.Series(["b", "a"], dtype="category"), ["b", "a"]),
        (pd.Series([3, 1], dtype="Int64"), [3, 1]),
        (pd.Series([3, 1], dtype="UInt8"), [3, 1]),
        (pd.Series([3, 1], dtype="int64[pyarrow]"), [3, 1]),
        (pd.Series([3.0, 1.5], dtype="Float64"), [3.0, 1.5]),
        (pd.Series([3.0, 1.0]), [3, 1]),
        (pd.Series([True, False], dtype="boolean"), [1, 0]),
        (pd.Series([True, False]), [1, 0]),
        (objects(1, 1.0, Decimal(1), 2), [1, 1, 1, 2]),
        (objects(0.5, Decimal("0.5"), Decimal("0.1"), 0.1), [0.5, 0.5, 0.1, 0.1]),
        (pd.Series(["7", "10", "7"]), [7, 10, 7]),
        (pd.Series(["7", "010"]), ["7", "010"]),
        (pd.Series([7, 10]).astype("category"), [7, 10]),
        (pd.Series(pd.to_datetime(["2021-01-02", "2021-01-01"])), ["2021-01-02", "2021-01-01"]),
        (objects(dt.date(2021, 1, 2)), ["2021-01-02"]),
        (pd.Series(["é", "日本", "😀", "é b"]), ["é", "日本", "😀", "é b"]),
        (pd.Series([2**64 - 1, 2**64 - 2], dtype="uint64"), [str(2**64 - 1), str(2**64 - 2)]),
        (objects(2**70, 2**70 + 1), [str(2**70), str(2**70 + 1)]),
        (objects(2**64, 2**64 + 1, 7), [str(2**64), str(2**64 + 1), "7"]),
        (pd.Series([2, 1], dtype="int8"), [2, 1]),
        (pd.Series([2.0, 1.0], dtype="float32"), [2, 1]),
        (objects(True, np.False_), [1, 0]),
        (objects(2, 1.0, np.int16(3), Decimal("4")), [2, 1, 3, 4]),
        (objects(Decimal("0.5"), 1), [0.5, 1.0]),
        (objects("2", "-1", "0"), [2, -1, 0]),
        (objects("9223372036854775807"), [2**63 - 1]),
        (pd.Series([1e300, 1.0]), [1e300, 1.0]),
        (pd.Series(pd.to_datetime(["2020-01-31T10:00"])), ["2020-01-31T10:00:00"]),
        (objects(dt.datetime(2020, 1, 31), dt.datetime(2020, 2, 1)), ["2020-01-31", "2020-02-01"]),
        (objects(np.datetime64("2020-01-31")), ["2020-01-31"]),
        (
            objects(dt.datetime(2020, 1, 31, 12, tzinfo=ZoneInfo("Europe/Vienna"))),
            ["2020-01-31T11:00:00+00:00"],
        ),
    ],
)
def test_nothing_is_recoded_but_the_type(column, expected):
    actual = restored(encode(column, "x"))
    assert actual == expected
    assert list(map(type, actual)) == list(map(type, expected))
    assert restored(encode(column, "x", sort=True)) == expected


def test_order_of_first_appearance_or_sorted():
    assert encode(pd.Series(["10", "9"]), "x").values.tolist() == [10, 9]
    assert encode(pd.Series(["10", "9"]), "x", sort=True).values.tolist() == [9, 10]
    assert encode(objects(2, 1.0), "x").values.tolist() == [2, 1]


def test_ordered_categorical_keeps_its_order_and_unused_categories():
    column = pd.Series(
        pd.Categorical(["high", "low"], categories=["low", "mid", "high"], ordered=True)
    )
    encoded = encode(column, "x", sort=True)
    assert encoded.values.tolist() == ["low", "mid", "high"]
    assert encoded.codes.tolist() == [2, 0]
    assert encode(column, "x").values.tolist() == ["high", "low"]  # names of items need no order


def test_unordered_categorical_is_what_was_said():
    column = pd.Series(pd.Categorical(["b", "a"], categories=["c", "b", "a"]))
    assert encode(column, "x", sort=True).values.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("column", "row", "words"),
    [
        (pd.Series(["a", None]), 1, "a missing value (1 of 2 rows)"),
        (pd.Series([1.0, np.nan, np.nan]), 1, "a missing value (2 of 3 rows)"),
        (pd.Series([1, None], dtype="Int64"), 1, "a missing value"),
        (pd.Series(["a", pd.NA], dtype="category"), 1, "a missing value"),
        (pd.Series([pd.Timestamp("2020"), pd.NaT]), 1, "a missing value"),
        (objects("a", float("nan")), 1, "a missing value"),
        (pd.Series(["a", "b", ""]), 2, "nothing but blanks (1 of"),
        (pd.Series(["a", ""], dtype="category"), 1, "nothing but blanks (1 of"),
        (
            pd.Series(pd.Categorical(["a", ""], ["", "a"], ordered=True)),
            1,
            "nothing but blanks (1 of",
        ),
        (objects("a", "b\0"), 1, "'b\\x00', with a NUL character"),
        (objects("a", "\ud83d"), 1, "half of a surrogate pair"),
        (pd.Series([1.0, np.inf]), 1, "an infinity"),
        (objects(1, float("-inf")), 1, "an infinity"),
        (objects(1, Decimal("Infinity")), 1, "an infinity"),
        (objects("a", ["b"]), 1, "values of type list"),
        (objects("a", b"b"), 1, "values of type bytes"),
        (objects(1, 1j), 1, "values of type complex"),
        (objects(dt.timedelta(1)), 0, "values of type timedelta"),
    ],
)
def test_unusable_entries_name_column_and_row(column, row, words):
    with pytest.raises(AnnotationError) as caught:
        encode(column, "who", sort=True)
    assert f"column 'who', row {row}" in str(caught.value)
    assert words in str(caught.value)
    assert "expected" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "rows", "words"),
    [
        ((1, 2, "a"), "rows 0 and 2", "a number (1) and text ('a')"),
        (("a", "a", 1.5), "rows 0 and 2", "text ('a') and a number (1.5)"),
        ((True, 1), "rows 0 and 1", "true or false (True) and a number (1)"),
        ((1.0, False), "rows 0 and 1", "a number (1.0) and true or false (False)"),
        (("True", True), "rows 0 and 1", "text ('True') and true or false (True)"),
        ((dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)), "rows 0 and 1", "a date"),
    ],
)
def test_mixtures_name_column_and_both_rows(values, rows, words):
    with pytest.raises(AnnotationError) as caught:
        encode(objects(*values), "label")
    assert f"column 'label', {rows}: expected values of one kind" in str(caught.value)
    assert words in str(caught.value)


def test_types_without_a_plain_form_name_column():
    with pytest.raises(
        AnnotationError, match=r"column 'x'.*values of type.*Convert the values to text"
    ):
        encode(pd.Series(pd.to_timedelta([1, 2], unit="s")), "x")
    with pytest.raises(
        AnnotationError, match=r"column 'x .its categories.', row 0.*of type Interval"
    ):
        encode(pd.Series(pd.cut([1, 5], 2)), "x", sort=True)


def test_error_is_of_the_asked_class():
    with pytest.raises(PredictionError):
        encode(pd.Series([None]), "x", error=PredictionError)
    with pytest.raises(PredictionError):
        numbers(pd.Series(["a"]), "x", PredictionError)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series(["1.5", " 2 ", "-3e-2"]), [1.5, 2.0, -0.03]),
        (pd.Series([1, 2], dtype="Int64"), [1.0, 2.0]),
        (pd.Series([1.5, 2], dtype="category"), [1.5, 2.0]),
        (objects(Decimal("0.25"), 1), [0.25, 1.0]),
        (pd.Series([True, False]), [1.0, 0.0]),
    ],
)
def test_numbers_are_floats(column, expected):
    actual = numbers(column, "score")
    assert actual.dtype == np.float64
    assert actual.tolist() == expected


@pytest.mark.parametrize(
    ("column", "row", "words"),
    [
        (pd.Series(["1", "x"]), 1, "'x' (1 such of 2 rows)"),
        (pd.Series(["1", "1,5"]), 1, "'1,5'"),
        (pd.Series([0.0, np.inf]), 1, "inf"),
        (pd.Series(["nan"]), 0, "'nan'"),
        (pd.Series([1.0, np.nan]), 1, "a missing value"),
        (objects(1, [2]), 1, "[2]"),
        (pd.Series(pd.to_datetime(["2020-01-01"])), 0, "Timestamp"),  # else nanoseconds since 1970
        (pd.Series(pd.to_timedelta([1], unit="s")), 0, "Timedelta"),
        (pd.Series([1j]), 0, "1j"),
    ],
)
def test_what_is_no_number_names_column_and_row(column, row, words):
    with pytest.raises(AnnotationError) as caught:
        numbers(column, "score")
    assert f"column 'score', row {row}" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("values", "vocabulary", "expected"),
    [
        (np.array([1, 5]), np.array([5, 7]), [-1, 0]),
        (np.array(["1", "tie"]), np.array([0, 1]), [1, -1]),
        (np.array([1, 2]), np.array(["2", "x"]), [-1, 0]),
        (np.array([2.0, 1.5]), np.array(["1.5", "2", "2.0"]), [1, 0]),
        (np.array([0.00001]), np.array(["0.00001"]), [0]),
        (np.array(["a"], dtype=object), np.array(["a"]), [0]),
        (np.array([1, 2]), np.array([2.0, 1.5]), [-1, 0]),
        (np.array(["b", "a", None], object), np.array(["b", "a", None], object), [0, 1, 2]),
        (np.array([np.nan, 2.0]), np.array([np.nan, 2.0]), [0, 1]),
        (np.array(["1", "2"]), np.array([1, 2]), [0, 1]),
        (np.array([True, False]), np.array([0, 1]), [1, 0]),
        (np.array([True, np.False_], object), np.array(["x", "0", "1"]), [2, 1]),
        (np.array([True, False]), np.array(["False", "True"]), [1, 0]),
        (np.array([Decimal("1.50"), Decimal(2)]), np.array([2.0, 1.5]), [1, 0]),
        (np.array([2**70, 1]), np.array(["1", str(2**70)]), [1, 0]),
        (np.array([Decimal("Infinity")]), np.array([1.0]), [-1]),
        (np.array([dt.date(1, 1, 1), dt.date(9999, 1, 1)]), np.array(["9999-01-01"]), [-1, 0]),
        (np.array([pd.Timestamp("2021-01-02"), pd.NaT]), np.array(["2021-01-02"]), [0, -1]),
        (np.array(["2021-01-02"]), np.array(["2021-01-03", "2021-01-02"], "M8[ns]"), [1]),
        (np.array([dt.date(2021, 1, 2)]), np.array(["2021-01-02"], "M8[s]"), [0]),
    ],
)
def test_match_compares_names_as_they_are_stored(values, vocabulary, expected):
    assert match(values, vocabulary).tolist() == expected


@settings(max_examples=10)
@given(st.lists(st.datetimes(), min_size=1, max_size=5, unique=True), st.data())
def test_some_of_the_stored_times_are_found(times, data):
    some = data.draw(st.lists(st.sampled_from(range(len(times))), min_size=1, unique=True))
    vocabulary = encode(objects(*times), "x").values
    assert match(np.array([times[k] for k in some]), vocabulary).tolist() == some


VALUES = st.one_of(
    st.lists(st.integers(), min_size=1, max_size=20),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20),
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
        min_size=1,
        max_size=20,
    ),
    st.lists(st.booleans(), min_size=1, max_size=20),
)


@settings(deadline=None, max_examples=50)
@given(values=VALUES, sort=st.booleans())
def test_codes_give_back_which_rows_are_equal(values, sort):
    encoded = encode(objects(*values), "x", sort=sort)
    back = restored(encoded)
    assert len(set(encoded.values.tolist())) == len(encoded.values)
    pairs = combinations(zip(values, encoded.codes, strict=True), 2)
    for (first, code), (second, other_code) in pairs:
        assert (first == second) == (code == other_code)
    for value, result in zip(values, back, strict=True):
        assert result == value or str(result) == str(value)


def test_one_moment_by_two_clocks_is_one_name():
    paris = ZoneInfo("Europe/Paris")  # at 2 the clocks went on to 3
    times = [dt.datetime(2024, 3, 31, hour, tzinfo=paris) for hour in (2, 3, 4)]
    encoded = encode(objects(*times), "when")
    assert encoded.codes.tolist() == [0, 0, 1]
    assert encoded.values.tolist() == ["2024-03-31T01:00:00+00:00", "2024-03-31T02:00:00+00:00"]


def test_a_decimal_that_signals_is_missing():
    with pytest.raises(
        AnnotationError, match="'x', row 1: expected a value; found a missing value"
    ):
        encode(objects("a", Decimal("sNaN")), "x")


def array_of(*values):
    return np.fromiter(values, dtype=object, count=len(values))


@pytest.mark.parametrize("text", ["07", "-0", "+1", "1.0", " 1", "1e3", "9223372036854775808", "²"])
def test_text_that_is_no_plain_whole_number_keeps_all_text(text):
    assert plain(array_of("1", text), "x").tolist() == ["1", text]


def test_whole_numbers_that_a_float_would_round_are_refused_beside_fractions():
    with pytest.raises(AnnotationError, match=r"'x'.*2\*\*53.*9007199254740993 beside 0.5"):
        plain(array_of(2**53 + 1, 0.5), "x")


def test_times_with_and_without_a_zone_are_refused():
    with pytest.raises(AnnotationError, match=r"'x'.*a time zone on all times or on none"):
        plain(array_of(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)), "x")


def test_one_long_name_does_not_fill_the_memory():
    # Fixed width would take 4 bytes x 100,000 characters x 1,000 names = 400 MB.
    names = [str(number) for number in range(999)] + ["x" * 100_000]
    assert as_text(names).dtype == object
    assert as_text(names[:3]).dtype == "<U1"


def test_kinds_have_names():
    assert kind_of(np.str_("a")) == "text"
    assert kind_of(np.bool_(True)) == "true or false"
    assert kind_of(dt.date(2020, 1, 1)) == "a date"
    assert kind_of(dt.datetime(2020, 1, 1)) == "a time"
    assert kind_of(np.complex128(1)) == "complex128"
