"""The registry, and what is common to all files."""

from __future__ import annotations

import inspect
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data import formats

LONG = "item,annotator,label\ni1,ann,x\ni1,bob,y\ni2,ann,y\n"
RECORDS = [
    {"item": "i1", "annotator": "ann", "label": "x"},
    {"item": "i1", "annotator": "bob", "label": "y"},
    {"item": "i2", "annotator": "ann", "label": "y"},
]
EXPECTED = {("i1", "ann", "x"), ("i1", "bob", "y"), ("i2", "ann", "y")}


@pytest.mark.parametrize("known", formats.FORMATS, ids=formats.names())
def test_every_registered_format_has_a_reader_and_a_place_in_the_docs(known):
    for content in known.reads:
        assert callable(getattr(known.module, f"read_{content}"))
        assert f'"{known.name}"' in inspect.getdoc(getattr(formats, f"read_{content}"))
    assert known.module.__doc__
    assert formats.get(known.name) is known
    table = Path(__file__).parents[3].joinpath("docs", "choosing.md").read_text("utf-8")
    row = next(line for line in table.splitlines() if line.startswith(f'| `"{known.name}"` |'))
    assert ("predictions" in known.reads) == bool(row.split("|")[-2].strip())


def test_every_reader_is_registered():
    import pkgutil

    modules = {info.name for info in pkgutil.iter_modules(formats.__path__)}
    public = {name.replace("_", "-") for name in modules if not name.startswith("_")}
    assert public == set(formats.names())


@pytest.mark.parametrize(
    "spelling", ["label-studio", "Label Studio", "label_studio", "labelstudio"]
)
def test_spelling_of_a_format_is_forgiven(spelling):
    assert formats.get(spelling).name == "label-studio"


def test_arguments_are_those_for_tables_in_memory():
    for read, make in (
        (dx.read_annotations, dx.annotations),
        (dx.read_predictions, dx.predictions),
    ):
        offered = inspect.signature(read).parameters
        for name, parameter in list(inspect.signature(make).parameters.items())[1:]:
            if name != "items":  # which come from another table, such as the predictions
                assert offered[name].default == parameter.default


@pytest.mark.parametrize("ending", ["csv", "CSV", "tsv", "json", "jsonl", "ndjson", "parquet"])
def test_the_ending_says_how_to_read(ending, file, statements, tmp_path):
    import json

    content = {
        "csv": LONG,
        "tsv": LONG.replace(",", "\t"),
        "json": RECORDS,
        "jsonl": "\n".join(json.dumps(record) for record in RECORDS),
    }
    if ending == "parquet":
        path = tmp_path / "a.parquet"
        pd.DataFrame(RECORDS).to_parquet(path)
    else:
        path = file(f"a.{ending}", content[{"CSV": "csv", "ndjson": "jsonl"}.get(ending, ending)])
    ann = dx.read_annotations(path)
    assert statements(ann) == EXPECTED
    assert ann.attrs["format"] == ending.lower()
    xr.testing.assert_identical(
        ann.drop_attrs(), dx.annotations(pd.DataFrame(RECORDS)).drop_attrs()
    )
    assert statements(dx.read_annotations(str(path))) == EXPECTED


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "excel",
            "expected one of arena, argilla, counts, crowd-kit, deepeval, .*, wide, or None",
        ),
        (7, "format: expected one of"),
    ],
)
def test_unknown_formats_are_refused_with_the_list(name, message, file):
    with pytest.raises(dx.FormatError, match=message):
        dx.read_annotations(file("a.csv", LONG), format=name)


def test_formats_without_predictions_say_so(file):
    with pytest.raises(
        dx.FormatError,
        match="expected one of argilla, deepeval, .*, wide, or None, for predictions; found "
        r"'counts'. dx.read_annotations\(path, format='counts'\) reads such a file",
    ):
        dx.read_predictions(file("a.csv", LONG), format="counts")


@pytest.mark.parametrize("read", [dx.read_annotations, dx.read_predictions])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", b"PK", r"a.xlsx: expected a name ending in .csv, .tsv, .parquet.*found .xlsx"),
        ("a", b"item", "found no ending"),
        ("a.csv", b"", r"a.csv: expected a table; found an empty file \(0 bytes\)"),
        ("a.parquet", b"", "a.parquet: expected a table; found an empty file"),
        ("a.json", b"", "a.json: expected a table; found an empty file"),
        ("a.csv", b"\n \n", "a.csv: expected a table; found only blanks"),
    ],
)
def test_unreadable_files_are_refused_by_name(read, name, content, message, file):
    with pytest.raises(dx.FormatError, match=message):
        read(file(name, content))


@pytest.mark.parametrize("read", [dx.read_annotations, dx.read_predictions])
def test_no_file_a_folder_and_no_path(read, tmp_path, file):
    with pytest.raises(FileNotFoundError, match=r"nothing.csv"):
        read(tmp_path / "nothing.csv")
    with pytest.raises(
        dx.FormatError, match="a file, or a folder of Parquet files; found a folder"
    ):
        read(tmp_path)
    file("ratings.csv", LONG)
    with pytest.raises(dx.FormatError, match=r"found a folder. Name one of.*'ratings.csv'"):
        read(tmp_path)
    with pytest.raises(dx.FormatError, match=r"path: expected the path of a file; found DataFrame"):
        read(pd.DataFrame(RECORDS))


def test_complaints_name_the_file_and_the_line(file):
    path = file("a.csv", LONG + "\n\ni1,ann,z\n")
    with pytest.raises(dx.AnnotationError) as caught:
        dx.read_annotations(path)
    assert str(caught.value).startswith(
        "a.csv: columns 'item' and 'annotator', line 2 and line 7 (item 'i1', annotator 'ann', "
    )
    path = file("a.csv", "item,system,label\n1,m,x\n1,m,y\n")
    with pytest.raises(
        dx.PredictionError, match=r"a.csv: columns 'item' and 'system', line 2 and li"
    ):
        dx.read_predictions(path)


def test_a_table_of_another_form_is_recognised_by_what_it_lacks(file):
    with pytest.raises(dx.FormatError) as caught:
        dx.read_annotations(file("a.csv", "item,ann,bob\n1,x,y\n"))
    message = str(caught.value)
    assert (
        "a.csv: columns 'annotator', 'label': expected columns of these names to read as "
        "annotator, label" in message
    )
    assert "found the columns 'item', 'ann', 'bob'" in message
    assert "annotator=" in message
    assert 'format="wide"' in message
    assert 'format="counts"' in message


def test_a_column_that_differs_in_capitals_is_pointed_out(file):
    with pytest.raises(dx.FormatError, match=r"Name it with annotator='Annotator'$"):
        dx.read_annotations(file("a.csv", LONG.replace("annotator", "Annotator")))


def test_predictions_suggest_the_wide_form_if_a_column_was_named(file):
    with pytest.raises(dx.FormatError, match=r"columns 'model', 'label'.*system=.*format=\"wide\""):
        dx.read_predictions(file("a.csv", "item,m,n\n1,x,y\n"), system="model")


def test_columns_can_be_named(file, statements):
    text = "case,reader,grade,place\np,r,a,1\np,r,b,2\n"
    ann = dx.read_annotations(
        file("a.csv", text), item="case", annotator="reader", label="grade", rank="place"
    )
    assert statements(ann) == {("p", "r", "a", 1), ("p", "r", "b", 2)}
    pred = dx.read_predictions(
        file("p.csv", text), item="case", system="reader", label="grade", rank="place"
    )
    assert pred["label_code"].values.tolist() == [[[0, 1]]]
    assert pred.attrs == {"kind": "ranking", "format": "csv"}


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("item", ["item"]), ("rank", {}), ("kind", ["nominal"]), ("encoding", None),
        ("encoding", ["utf-8"]), ("encoding", "\ud800"), ("labels", 5), ("delimiter", ""),
        ("delimiter", ",,"), ("delimiter", 5), ("delimiter", '"'), ("delimiter", "\n"),
    ],
)  # fmt: skip
def test_arguments_of_the_wrong_type_are_refused_by_name(argument, value, file):
    with pytest.raises(dx.AnnotationError, match=argument):
        dx.read_annotations(file("a.csv", LONG), **{argument: value})


@pytest.mark.parametrize("role", ["item", "annotator", "label"])
def test_a_column_that_must_be_there_is_named(file, role):
    path = file("a.csv", "item,annotator,label\n1,ann,x\n")
    with pytest.raises(dx.FormatError, match=f"{role}=: expected the name of a column; found None"):
        dx.read_annotations(path, **{role: None})
    path = file("p.csv", "item,system,label\n1,ann,x\n")
    role = "system" if role == "annotator" else role
    with pytest.raises(dx.FormatError, match=f"{role}=: expected the name of a column; found None"):
        dx.read_predictions(path, **{role: None})
