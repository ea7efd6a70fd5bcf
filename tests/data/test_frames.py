"""Any table, of any dataframe library, is the same columns.

- The same content from any dataframe library is the same column.
- Rows, and data sets of Hugging Face's `datasets`, as tables.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data.frames import columns, of_hub, opened
from dissensus.data.tables import encode
from dissensus.errors import AnnotationError, PredictionError

CONTENT = {
    "text": ["b", "é", "b"],
    "integer": [3, 1, 2**53 + 1],
    "number": [0.5, 1.0, -2.0],
    "truth": [True, False, True],
    "day": [dt.date(2020, 1, 31), dt.date(1999, 12, 1), dt.date(2020, 1, 31)],
    "moment": [dt.datetime(2020, 1, 31, 10, 30)] * 3,
    "zoned": [dt.datetime(2020, 1, 31, 10, 30, tzinfo=dt.UTC)] * 3,
    "decimal": [Decimal("0.5"), Decimal("1.5"), Decimal("2.0")],
}
LIBRARIES = {
    "mapping": dict,
    "pandas": pd.DataFrame,
    "pandas, arrow types": lambda c: pa.table(c).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": lambda c: duckdb.connect().from_arrow(pa.table(c)),
    "mapping of polars columns": lambda c: {name: pl.Series(values) for name, values in c.items()},
    "mapping of tuples": lambda c: {name: tuple(values) for name, values in c.items()},
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CONTENT)
def test_every_library_gives_the_same_codes_and_names(library, name):
    frame = LIBRARIES[library](CONTENT)
    expected = encode(columns(CONTENT, {"x": name})["x"], name, sort=True)
    actual = encode(columns(frame, {"x": name})["x"], name, sort=True)
    assert actual.values.dtype == expected.values.dtype
    assert actual.values.tolist() == expected.values.tolist()
    assert actual.codes.tolist() == expected.codes.tolist()


@pytest.mark.parametrize("library", [name for name in LIBRARIES if "duckdb" not in name])
def test_missing_entries_are_missing_everywhere_and_big_integers_keep_their_digits(library):
    content = {"x": [2**60 + 1, None], "y": ["a", None]}
    if library in {"pandas", "pandas, nullable"}:  # pandas itself makes floats of these
        content["x"] = pd.array(content["x"], dtype="Int64")
    result = columns(LIBRARIES[library](content), {"x": "x", "y": "y"})
    assert result["x"].isna().tolist() == [False, True]
    assert result["y"].isna().tolist() == [False, True]
    assert result["x"].iloc[0] == 2**60 + 1


ORDER = ["low", "mid", "high"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": pd.Categorical(["high", "low"], categories=ORDER, ordered=True)}),
        {"x": pd.Series(pd.Categorical(["high", "low"], categories=ORDER, ordered=True))},
        {"x": pd.Categorical(["high", "low"], categories=ORDER, ordered=True)},
        pl.DataFrame({"x": pl.Series(["high", "low"], dtype=pl.Enum(ORDER))}),
        pa.table({"x": pa.DictionaryArray.from_arrays([2, 0], ORDER, ordered=True)}),
    ],
    ids=["pandas", "mapping of pandas", "mapping of categorical", "polars", "pyarrow"],
)
def test_the_order_of_categories_survives(frame):
    encoded = encode(columns(frame, {"x": "x"})["x"], "x", sort=True)
    assert encoded.values.tolist() == ORDER
    assert encoded.codes.tolist() == [2, 0]


@pytest.mark.parametrize(
    "frame",
    [
        lambda: pl.DataFrame({"x": pl.Series(["b", "a"], dtype=pl.Categorical)}),
        lambda: pa.table({"x": pa.array(["b", "a"]).dictionary_encode()}),
        lambda: duckdb.connect().sql("select unnest(['b', 'a'])::enum('b', 'c', 'a') as x"),
    ],
    ids=["polars", "pyarrow", "duckdb"],
)
def test_categories_without_order_are_text(frame):
    encoded = encode(columns(frame(), {"x": "x"})["x"], "x", sort=True)
    assert encoded.values.tolist() == ["a", "b"]


def test_masked_entries_are_missing():
    result = columns({"x": np.ma.masked_array([1, 2], mask=[False, True])}, {"x": "x"})["x"]
    assert result.isna().tolist() == [False, True]


def test_arrays_of_all_sorts_are_columns():
    frame = {
        "a": np.array([1, 2]), "b": pd.Index(["x", "y"]), "c": range(2), "d": pa.array([1, 2]),
        "e": xr.DataArray([1, 2], dims="row"), "f": pd.Series([1, 2], index=[7, 7]),
        "g": (n for n in (1, 2)),
    }  # fmt: skip
    result = opened(frame)
    assert all(len(values) == 2 for values in result.values())
    assert result["f"].index.tolist() == [0, 1]


def test_names_of_columns_may_be_numbers():
    frame = pd.DataFrame([[1, "a"]])
    assert columns(frame, {"label": "1"})["label"].tolist() == ["a"]
    assert columns(frame, {"label": 1})["label"].tolist() == ["a"]


def test_a_missing_column_names_what_there_is():
    with pytest.raises(AnnotationError) as caught:
        columns({"id": [1], "who": ["a"]}, {"item": "item"})
    message = str(caught.value)
    assert "column 'item'" in message
    assert "read as item" in message
    assert "found the columns 'id', 'who'" in message
    assert "item=" in message


def test_a_column_that_differs_in_capitals_or_blanks_is_pointed_out():
    with pytest.raises(AnnotationError, match=r"Name it with item=' Item'"):
        columns({" Item": [1], "who": ["a"]}, {"item": "item"})


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2, 3]], columns=["item", "label", "label"]),
        pa.Table.from_arrays([pa.array([1])] * 3, names=["item", "label", "label"]),
        pd.DataFrame([[1, 2, 3]], columns=["item", "1", 1]),
        {"item": [1], "1": [1], 1: [2]},
    ],
    ids=["pandas", "pyarrow", "1 and '1'", "1 and '1' in a mapping"],
)
def test_doubled_columns_are_refused(frame):
    with pytest.raises(AnnotationError, match=r"distinct column names.*'(label|1)' more than once"):
        columns(frame, {"item": "item"})


@pytest.mark.parametrize(
    "frame",
    [
        {"item": []}, pd.DataFrame({"item": []}), pl.DataFrame({"item": []}),
        pa.table({"item": pa.array([], pa.string())}),
    ],
    ids=["mapping", "pandas", "polars", "pyarrow"],
)  # fmt: skip
def test_no_rows_are_refused(frame):
    with pytest.raises(AnnotationError, match="expected at least one row; found 0 rows"):
        columns(frame, {"item": "item"})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ([1, 2], "expected a dataframe.*found list.*read_annotations"),
        ("ratings.csv", "expected a dataframe.*found str"),
        (None, "expected a dataframe.*found NoneType"),
        ({}, "column 'item'.*found no columns"),
        ({"item": [1, 2], "x": [1]}, "expected one length for all; found {'item': 2, 'x': 1}"),
        ({"item": 3}, "column 'item'.*a list or array.*found int"),
        ({"item": "abc"}, "column 'item'.*a list or array.*found str"),
        ({"item": {"a", "b"}}, "column 'item'.*a list or array.*found set"),
        ({"item": np.zeros((2, 2))}, r"column 'item'.*one dimension.*\(2, 2\)"),
    ],
)
def test_what_is_no_table_is_refused(frame, message):
    with pytest.raises(AnnotationError, match=message):
        columns(frame, {"item": "item"})
    with pytest.raises(PredictionError):
        columns(frame, {"item": "item"}, PredictionError)


def test_a_needed_role_has_a_name():
    with pytest.raises(AnnotationError, match="item=: expected the name of a column; found None"):
        columns({"item": [1]}, {"item": None}, needed=["item"])


@pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128])
def test_integers_of_128_bits_are_read(kind):
    # Arrow, through which polars hands columns to pandas, knows none.
    wide = pl.Series([1, 10**30], dtype=pl.UInt128).cast(kind)
    assert columns({"x": wide}, {"item": "x"})["item"].tolist() == [1, 10**30]
    assert opened(pl.DataFrame({"x": wide}))["x"].tolist() == [1, 10**30]


ROWS = [
    {"item": "a", "annotator": "ann", "label": "x"},
    {"item": "a", "annotator": "bob", "label": "y"},
    {"item": "b", "annotator": "ann", "label": "x"},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}


def test_rows_are_the_table_that_their_columns_are():
    assert dx.annotations(ROWS).identical(dx.annotations(COLUMNS))


def test_predictions_take_rows_too():
    rows = [{"item": "a", "system": "m", "label": "x"}, {"item": "b", "system": "m", "label": "y"}]
    assert dx.predictions(rows).sizes == {"item": 2, "system": 1, "position": 1, "label": 2}


def test_a_cell_that_a_row_does_not_have_is_missing_and_named():
    rows = [*ROWS, {"item": "b", "annotator": "bob"}]
    with pytest.raises(dx.AnnotationError, match=r"'label', row 3"):
        dx.annotations(rows)


def test_a_row_that_is_none_is_named():
    with pytest.raises(dx.AnnotationError, match=r"row 1: expected a mapping .* found 'b'"):
        dx.annotations([ROWS[0], "b"])


def test_a_list_of_no_rows_is_refused_as_before():
    with pytest.raises(dx.AnnotationError, match="or rows; found list"):
        dx.annotations([])


@pytest.fixture
def datasets():
    """Hugging Face's package, which takes a second to import."""
    import datasets

    return datasets


def test_a_data_set_is_the_table_that_its_columns_are(datasets):
    data = datasets.Dataset.from_dict(COLUMNS)
    assert dx.annotations(data).identical(dx.annotations(COLUMNS))
    assert dx.annotations(data.select([2, 0])).sizes["item"] == 2  # in another order, and fewer


def test_classes_are_read_by_their_names(datasets):
    data = datasets.Dataset.from_dict(COLUMNS | {"label": [0, 1, 0]})
    data = data.cast_column("label", datasets.ClassLabel(names=["benign", "malignant"]))
    assert dx.annotations(data)["label"].values.tolist() == ["benign", "malignant"]
    missing = datasets.Dataset.from_dict(COLUMNS | {"label": [0, -1, None]})
    missing = missing.cast_column("label", datasets.ClassLabel(names=["benign", "malignant"]))
    assert of_hub(missing, AnnotationError)["label"].isna().tolist() == [False, True, True]
    with pytest.raises(dx.AnnotationError, match="row 1"):
        dx.annotations(missing)


def test_large_numbers_keep_their_digits_beside_missing_ones(datasets):
    data = datasets.Dataset.from_dict({"n": [2**60 + 1, None]})
    assert of_hub(data, AnnotationError)["n"].tolist() == [2**60 + 1, None]


def test_several_splits_are_refused_with_their_names(datasets):
    data = datasets.DatasetDict({"test": datasets.Dataset.from_dict(COLUMNS)})
    with pytest.raises(dx.AnnotationError, match=r"the splits 'test'. .* data\['test'\]"):
        dx.annotations(data)


def test_a_stream_is_refused_and_its_rows_are_taken(datasets):
    stream = datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset()
    with pytest.raises(dx.AnnotationError, match=r"list\(data\)"):
        dx.annotations(stream)
    assert dx.annotations(list(stream)).identical(dx.annotations(COLUMNS))


def test_levels_of_the_index_are_no_columns():
    table = pd.DataFrame({"item": [1, 1], "annotator": ["a", "b"], "label": ["x", "y"]})
    with pytest.raises(dx.AnnotationError, match=r"levels of the index\. Pass frame\.reset_index"):
        dx.annotations(table.set_index(["item", "annotator"]))


def test_the_only_column_that_is_left_is_named():
    table = {"item": [1, 1], "worker": ["a", "b"], "sentiment": ["x", "y"]}
    with pytest.raises(dx.AnnotationError, match="annotator='worker', label='sentiment'"):
        dx.annotations(table)
