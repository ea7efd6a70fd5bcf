"""Parquet."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

import dissensus as dx

TABLE = {"item": [1, 1, 2], "annotator": ["a", "b", "a"], "label": ["x", "y", "x"]}


def write(path, table):
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize(
    "label",
    [
        ["x", "y", "x"], [1, 2, 1], [0.5, 1.5, 1.0], [True, False, True],
        [dt.date(2020, 1, 1)] * 3, ["1", "2", "1"],
    ],
    ids=["text", "int", "float", "bool", "date", "digits"],
)  # fmt: skip
def test_parquet_says_what_the_table_in_memory_says(label, tmp_path):
    table = {**TABLE, "label": label}
    ann = dx.read_annotations(write(tmp_path / "a.parquet", pa.table(table)))
    assert ann.attrs.pop("format") == "parquet"
    xr.testing.assert_identical(ann, dx.annotations(table))


def test_ordered_categories_survive_parquet(tmp_path):
    label = pa.DictionaryArray.from_arrays([2, 0, 2], ["low", "mid", "high"], ordered=True)
    path = write(tmp_path / "a.parquet", pa.table({**TABLE, "label": label}))
    ann = dx.read_annotations(path)
    assert ann.attrs["kind"] == "ordinal"
    assert ann["label"].values.tolist() == ["low", "mid", "high"]


def test_text_in_parquet_is_text(tmp_path):
    # The types are known here: what is mixed in a file of text is a choice in this one.
    table = pa.table({**TABLE, "label": ["0.5", "x", "0.5"]})
    assert dx.read_annotations(write(tmp_path / "a.parquet", table)).attrs["kind"] == "nominal"


def test_rows_are_numbered(tmp_path):
    path = write(tmp_path / "a.parquet", pa.table({**TABLE, "label": ["x", None, "y"]}))
    with pytest.raises(
        dx.AnnotationError, match=r"a.parquet: column 'label', row 1: expected a val"
    ):
        dx.read_annotations(path)


@pytest.mark.parametrize("cut", [3, 100, -10])
def test_truncated_files_are_named(cut, tmp_path):
    path = write(tmp_path / "a.parquet", pa.table(TABLE))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(
        dx.FormatError, match=r"a.parquet: expected a whole Parquet file; found damage"
    ):
        dx.read_annotations(path)


def test_damage_in_the_middle_is_named(tmp_path):
    path = write(tmp_path / "a.parquet", pa.table({**TABLE, "label": ["x" * 500, "y", "x"]}))
    data = bytearray(path.read_bytes())
    data[20:120] = b"\xff" * 100
    path.write_bytes(data)
    with pytest.raises(dx.FormatError, match="expected a whole Parquet file; found damage"):
        dx.read_annotations(path)


def test_doubled_columns_and_no_rows(tmp_path):
    doubled = pa.Table.from_arrays([pa.array([1])] * 2, names=["item", "item"])
    with pytest.raises(dx.FormatError, match="distinct column names; found 'item' more than once"):
        dx.read_annotations(write(tmp_path / "a.parquet", doubled))
    with pytest.raises(dx.FormatError, match="at least one row; found 0 rows"):
        dx.read_annotations(write(tmp_path / "a.parquet", pa.table(TABLE)[:0]))
