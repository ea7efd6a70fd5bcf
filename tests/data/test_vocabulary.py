"""Distinct values in their plain form."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from dissensus.data.tables import as_text, kind_of, plain
from dissensus.errors import AnnotationError


def objects(*values):
    return np.fromiter(values, dtype=object, count=len(values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([2, 1], dtype=np.int8), [2, 1]),
        (np.array([2, 1], dtype=np.uint64), [2, 1]),
        (np.array([2.0, 1.0], dtype=np.float32), [2, 1]),
        (np.array([2.0, 1.5]), [2.0, 1.5]),
        (np.array([True, False]), [1, 0]),
        (objects(True, np.False_), [1, 0]),
        (objects(2, 1.0, np.int16(3), Decimal("4")), [2, 1, 3, 4]),
        (objects(Decimal("0.5"), 1), [0.5, 1.0]),
        (objects("2", "-1", "0"), [2, -1, 0]),
        (objects("9223372036854775807"), [2**63 - 1]),
        (np.array([1e300, 1.0]), [1e300, 1.0]),
    ],
)
def test_numbers_become_numbers(values, expected):
    found = plain(values, "x")
    assert found.tolist() == expected
    assert found.dtype == (np.float64 if isinstance(expected[0], float) else np.int64)


@pytest.mark.parametrize("text", ["07", "-0", "+1", "1.0", " 1", "1e3", "9223372036854775808", "²"])
def test_text_that_is_no_plain_whole_number_keeps_all_text(text):
    assert plain(objects("1", text), "x").tolist() == ["1", text]


def test_integers_beyond_64_bits_are_spelled_and_none_is_lost():
    # As floats the first two would be one number.
    huge = [2**64, 2**64 + 1, 7]
    assert plain(objects(*huge), "x").tolist() == [str(number) for number in huge]
    unsigned = np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)
    assert plain(unsigned, "x").tolist() == ["18446744073709551615", "18446744073709551614"]


def test_whole_numbers_that_a_float_would_round_are_refused_beside_fractions():
    with pytest.raises(AnnotationError, match=r"'x'.*2\*\*53.*9007199254740993 beside 0.5"):
        plain(objects(2**53 + 1, 0.5), "x")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            np.array(["2020-01-31", "1999-12-01"], dtype="datetime64[ns]"),
            ["2020-01-31", "1999-12-01"],
        ),
        (np.array(["2020-01-31T10:00"], dtype="datetime64[ns]"), ["2020-01-31T10:00:00"]),
        (objects(dt.date(2020, 1, 31)), ["2020-01-31"]),
        (objects(dt.datetime(2020, 1, 31), dt.datetime(2020, 2, 1)), ["2020-01-31", "2020-02-01"]),
        (objects(np.datetime64("2020-01-31")), ["2020-01-31"]),
        (
            objects(dt.datetime(2020, 1, 31, 12, tzinfo=ZoneInfo("Europe/Vienna"))),
            ["2020-01-31T11:00:00+00:00"],
        ),
    ],
)
def test_dates_become_text(values, expected):
    assert plain(values, "x").tolist() == expected


def test_times_with_and_without_a_zone_are_refused():
    with pytest.raises(AnnotationError, match=r"'x'.*a time zone on all times or on none"):
        plain(objects(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)), "x")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (objects([1]), "list"),
        (objects(b"a"), "bytes"),
        (objects(1j), "complex"),
        (np.array([1], dtype="timedelta64[s]"), "timedelta"),
    ],
)
def test_what_has_no_plain_form_is_refused_by_type(values, kind):
    with pytest.raises(AnnotationError, match=f"'x'.*of type {kind}.*Turn them into text"):
        plain(values, "x")


@pytest.mark.parametrize("values", [np.array([1.0, np.inf]), objects(1.5, float("-inf"))])
def test_infinity_is_refused(values):
    with pytest.raises(AnnotationError, match=r"'x'.*infinity"):
        plain(values, "x")


def test_nothing_is_text():
    assert plain(objects(), "x").dtype.kind == "U"


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
