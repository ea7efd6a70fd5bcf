"""Tables with the columns task, worker, label."""

from __future__ import annotations

import pytest

import dissensus as dx

TABLE = "task,worker,label\nt1,w1,cat\nt1,w2,dog\nt2,w1,cat\n"


def test_columns_have_names_of_their_own(file, statements):
    ann = dx.read_annotations(file("a.csv", TABLE), format="crowd-kit")
    assert statements(ann) == {("t1", "w1", "cat"), ("t1", "w2", "dog"), ("t2", "w1", "cat")}
    assert ann.attrs["format"] == "crowd-kit"


def test_any_table_and_any_further_column_will_do(file):
    text = TABLE.replace(",", "\t").replace("worker", "performer").replace("label\n", "label\tp\n")
    text = text.replace("cat\n", "cat\t0.5\n").replace("dog\n", "dog\t1\n")
    ann = dx.read_annotations(
        file("a.tsv", text), format="crowd-kit", annotator="performer", confidence="p"
    )
    assert ann["confidence"].values.tolist() == [0.5, 1.0, 0.5]


def test_a_missing_column_is_named(file):
    with pytest.raises(dx.FormatError, match=r"a.csv: column 'task'.*read as item.*item="):
        dx.read_annotations(file("a.csv", TABLE.replace("task", "id")), format="crowd-kit")


def test_trouble_is_located(file):
    with pytest.raises(dx.AnnotationError, match=r"columns 'task' and 'worker', line 2 and line 5"):
        dx.read_annotations(file("a.csv", TABLE + "t1,w1,dog\n"), format="crowd-kit")
