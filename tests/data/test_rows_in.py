"""Rows, and data sets of Hugging Face's `datasets`, as tables."""

import datasets
import pytest

import dissensus as dx
from dissensus.data.frames import of_hub
from dissensus.errors import AnnotationError

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


def test_a_data_set_is_the_table_that_its_columns_are():
    data = datasets.Dataset.from_dict(COLUMNS)
    assert dx.annotations(data).identical(dx.annotations(COLUMNS))
    assert dx.annotations(data.select([2, 0])).sizes["item"] == 2  # in another order, and fewer


def test_classes_are_read_by_their_names():
    data = datasets.Dataset.from_dict(COLUMNS | {"label": [0, 1, 0]})
    data = data.cast_column("label", datasets.ClassLabel(names=["benign", "malignant"]))
    assert dx.annotations(data)["label"].values.tolist() == ["benign", "malignant"]
    missing = datasets.Dataset.from_dict(COLUMNS | {"label": [0, -1, None]})
    missing = missing.cast_column("label", datasets.ClassLabel(names=["benign", "malignant"]))
    assert of_hub(missing, AnnotationError)["label"].isna().tolist() == [False, True, True]
    with pytest.raises(dx.AnnotationError, match="row 1"):
        dx.annotations(missing)


def test_large_numbers_keep_their_digits_beside_missing_ones():
    data = datasets.Dataset.from_dict({"n": [2**60 + 1, None]})
    assert of_hub(data, AnnotationError)["n"].tolist() == [2**60 + 1, None]


def test_several_splits_are_refused_with_their_names():
    data = datasets.DatasetDict({"test": datasets.Dataset.from_dict(COLUMNS)})
    with pytest.raises(dx.AnnotationError, match=r"the splits 'test'. .* data\['test'\]"):
        dx.annotations(data)


def test_a_stream_is_refused_and_its_rows_are_taken():
    stream = datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset()
    with pytest.raises(dx.AnnotationError, match=r"list\(data\)"):
        dx.annotations(stream)
    assert dx.annotations(list(stream)).identical(dx.annotations(COLUMNS))
