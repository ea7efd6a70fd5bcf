"""Tables of votes with the columns left, right and winner."""

from __future__ import annotations

import pytest
from refusals import check_refused

import dissensus as dx

ROWS = "left,right,winner,judge,item,prompt\nA,B,A,x,1,p\nB,C,tie,y,2,q\nC,A,right,x,1,p\n"


@pytest.fixture
def table(file):
    return file("votes.csv", ROWS)


def test_votes_are_those_of_pairs(table):
    read = dx.read_annotations(table, format="pairs")
    assert read.attrs == {"kind": "pair", "format": "pairs"}
    assert read["outcome"].values.tolist() == [0, 1, 2]
    assert read["annotator"].values.tolist() == ["x", "y"]
    assert read["item"].values.tolist() == [1, 2]
    named = dx.read_annotations(table, format="pairs", item="prompt", annotator="judge")
    assert named["item"].values.tolist() == ["p", "q"]


def test_what_is_refused(table, file):
    def read(path=table, **how):
        return lambda: dx.read_annotations(path, format="pairs", **how)

    check_refused(dx.AnnotationError, [
        ("a label", read(label="x"), "label=: expected no such argument"),
        ("a kind", read(kind="nominal"), "votes on pairs"),
        ("no winner", read(file("a.csv", "left,right\na,b\n")), "winner"),
        ("other names", read(file("c.csv", "model_a,model_b,winner,user\na,b,a,u\n")),
         r"or read the table yourself: dx.pairs\(table, left='model_a', right='model_b'\)"),
        ("no such voter", read(annotator="who"), "Name it with annotator="),
        ("a word", read(file("b.csv", "left,right,winner\na,b,c\n")), "b.csv.*line 2"),
        ("no format", lambda: dx.read_annotations(table), "format='pairs'"),
    ])  # fmt: skip
