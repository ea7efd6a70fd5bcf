"""Tables as text."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx
from dissensus.data.formats._text import read_delimited


def table(path, delimiter=","):
    result = read_delimited(path, "utf-8", delimiter)
    return {name: values.tolist() for name, values in result.columns.items()}


def test_only_the_empty_cell_is_missing(file):
    labels = ["None", "NA", "nan", "null", "N/A", "-", "TRUE"]
    rows = "".join(f"{n},a,{label}\n" for n, label in enumerate(labels))
    ann = dx.read_annotations(file("a.csv", "item,annotator,label\n" + rows))
    assert sorted(ann["label"].values.tolist()) == sorted(labels)


@pytest.mark.parametrize("cell", ["", '""'])
def test_an_empty_cell_is_missing(cell, file):
    with pytest.raises(
        dx.AnnotationError, match=r"a.csv: column 'label', line 3: expected a value"
    ):
        dx.read_annotations(file("a.csv", f"item,annotator,label\n1,a,x\n1,b,{cell}\n"))


def test_whole_numbers_are_numbers_unless_zeros_would_be_lost(file):
    ann = dx.read_annotations(file("a.csv", "item,annotator,label\n7,007,1\n10,8,2\n"))
    assert ann["item"].values.tolist() == [7, 10]
    assert ann["annotator"].values.tolist() == ["007", "8"]
    assert ann["label"].values.tolist() == [1, 2]


def test_items_with_fractions_keep_their_spelling(file):
    ann = dx.read_annotations(file("a.csv", "item,annotator,label\n1.1,a,x\n1.10,a,x\n"))
    assert ann["item"].values.tolist() == ["1.1", "1.10"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_of_all_systems_and_blank_lines(newline, file):
    text = newline.join(["item,x", "1,a", "", "2,b", ""])
    assert table(file("a.csv", text)) == {"item": ["1", "2"], "x": ["a", "b"]}


def test_no_line_end_at_the_end(file):
    assert table(file("a.csv", "item,x\n1,a")) == {"item": ["1"], "x": ["a"]}


def test_lines_are_counted_through_quoted_line_ends(file):
    text = 'item,annotator,label\n1,a,"x\ny"\n1,a,z\n'
    with pytest.raises(dx.AnnotationError, match="line 3 and line 4"):
        dx.read_annotations(file("a.csv", text))


def test_very_long_cells(file):
    # Longer than the limit of Python's own reader, and than a block of pyarrow's.
    long = '"' + "x\n" * 1_000_000 + '"'
    assert len(table(file("a.csv", f"item,x\n1,{long}\n2,b\n"))["x"][0]) == 2_000_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,x\n1,a\n2\n", r"a.csv, line 3: expected 2 cells, as in the header; found 1"),
        ("item,x\n1,a\n\n2,b,c\n", r"a.csv, line 4: expected 2 cells.*found 3.*quotation marks"),
        ("item,x\n1,a,b\n", r"a.csv, line 2: expected 2 cells.*found 3"),
        ('item,x\n1,"a\nb"\n2\n', r"a.csv, line 4: expected 2 cells.*found 1.*a separator"),
        (
            "item,x,item\n1,a,2\n",
            r"a.csv, line 1: expected distinct column names; found 'item' more",
        ),
        ("item,x\n", r"a.csv: expected rows below the header; found only a header"),
        ("item,x", r"a.csv: expected rows below the header; found only a header"),
        ('item,x\n1,"a\n2,b\n', r"a.csv, line \d: expected pairs of quotation marks"),
        ('item,x\n1,"a"b\n2,c\n', r"a.csv, line 2: expected pairs of quotation marks"),
        ("item;x\n1;a\n", r"a.csv, line 1: expected column names separated by ','.*delimiter=';'"),
        ("item\tx\n1\ta\n", r"delimiter='\\t'"),
    ],
)
def test_broken_tables_name_the_line(text, message, file):
    with pytest.raises(dx.FormatError, match=message):
        table(file("a.csv", text))


def test_a_mark_inside_a_cell_is_a_mark(file):
    assert table(file("a.csv", 'item,x\n1,5" nail\n')) == {"item": ["1"], "x": ['5" nail']}


def test_other_separators(file):
    assert table(file("a.csv", "item;x\n1;a,b\n"), ";") == {"item": ["1"], "x": ["a,b"]}
    path = file("a.csv", "item;annotator;label\n1;a;x\n")
    assert dx.read_annotations(path, delimiter=";").sizes["annotation"] == 1


def test_reading_leaves_the_limit_of_pythons_reader_alone(file):
    before = csv.field_size_limit()
    table(file("a.csv", 'item,x\n1,"a"\n'))
    with pytest.raises(dx.FormatError):
        table(file("a.csv", 'item,x\n1,"a\n'))
    assert csv.field_size_limit() == before


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), min_size=1)


@settings(deadline=None, max_examples=30)
@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1))
def test_what_python_writes_is_read_back(rows, tmp_path_factory):
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("item", "x"), *rows])
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    result = table(path)
    assert list(zip(result["item"], result["x"], strict=True)) == rows
