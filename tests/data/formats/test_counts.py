"""Tables of votes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx

TABLE = "item,sad,happy,none\ni1,2,1,0\ni2,0,0,0\ni3,0,3,0\n"


def counted(ann):
    """The table of votes again."""
    out = np.zeros((ann.sizes["item"], ann.sizes["label"]), dtype=int)
    np.add.at(out, (ann["item_code"].to_numpy(), ann["label_code"].to_numpy()), 1)
    return out.tolist()


def test_votes_are_annotators_without_a_name(file):
    ann = dx.read_annotations(file("a.csv", TABLE), format="counts")
    assert counted(ann) == [[2, 1, 0], [0, 0, 0], [0, 3, 0]]
    assert ann["item"].values.tolist() == ["i1", "i2", "i3"]
    assert ann["label"].values.tolist() == ["sad", "happy", "none"]
    assert ann["annotator"].values.tolist() == [
        "i1: 1",
        "i1: 2",
        "i1: 3",
        "i3: 1",
        "i3: 2",
        "i3: 3",
    ]
    assert ann.attrs["kind"] == "nominal"
    assert dx.validate(ann) is ann


def test_labels_that_are_numbers_are_a_scale(file):
    ann = dx.read_annotations(file("a.csv", "item,10,9,8\n1,1,0,2\n"), format="counts")
    assert ann["label"].values.tolist() == [10, 9, 8]
    assert ann.attrs["kind"] == "ordinal"


def test_order_and_kind_of_labels_can_be_given(file):
    ann = dx.read_annotations(
        file("a.csv", TABLE), format="counts", labels=["sad", "none", "happy"], kind="ordinal"
    )
    assert counted(ann) == [[2, 0, 1], [0, 0, 0], [0, 0, 3]]


def test_groups(file):
    text = "item,a,patient,b\n1,1,p,1\n2,0,q,0\n"
    ann = dx.read_annotations(file("a.csv", text), format="counts", cluster="patient")
    assert ann["label"].values.tolist() == ["a", "b"]
    assert ann["cluster"].values[ann["cluster_code"].values].tolist() == ["p", "q"]


@pytest.mark.long
@settings(deadline=None, max_examples=40)
@given(table=st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=8))
def test_counts_are_read_back(table, tmp_path_factory):
    if not np.any(table):
        return
    path = tmp_path_factory.mktemp("counts") / "a.parquet"
    frame = pd.DataFrame(table, columns=list("abc"))
    frame.insert(0, "item", range(len(table)))
    frame.to_parquet(path)
    ann = dx.read_annotations(path, format="counts")
    assert counted(ann) == table
    assert ann.sizes["annotator"] == np.sum(table)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "item,a,b\n1,1,2\n2,-1,3\n",
            {},
            r"a.csv: column 'a', line 3: expected a number of votes.*-1",
        ),
        ("item,a,b\n1,1,2.5\n", {}, r"column 'b', line 2: expected a number of votes.*found 2.5"),
        (
            "item,a,b\n1,1,\n",
            {},
            r"a.csv: column 'b', line 2: expected a value; found a missing value",
        ),
        (
            "item,a,b\n1,1,x\n",
            {},
            r"a.csv: column 'b', line 2: expected a finite number; found 'x'",
        ),
        ("item,a,b\n1,0,0\n", {}, r"a.csv: expected at least one vote; found only zeros"),
        (
            "item,a\n1,1\n1,2\n",
            {},
            "column 'item', line 2 and line 3: expected each item in one row",
        ),
        ("id,a\n1,1\n", {}, "column 'item'.*item="),
        ("item\n1\n", {}, "columns of labels beside 'item'; found none"),
        ("item,a,b\n1,1,1\n", {"labels": ["a"]}, "line 2, column 'b': expected one of labels="),
        ("item,a,b\n1,1,1\n", {"annotator": "a"}, "annotator=: expected no such argument"),
    ],
)
def test_trouble_is_located(text, options, message, file):
    with pytest.raises(dx.AnnotationError, match=message):
        dx.read_annotations(file("a.csv", text), format="counts", **options)


def test_a_number_that_is_no_count_does_not_fill_the_memory(tmp_path):
    (tmp_path / "votes.csv").write_text("item,yes,no\na,3,2\nb,4000000000,1\n")
    with pytest.raises(dx.AnnotationError, match=r"column 'yes', line 3.*at most 5,000,000 votes"):
        dx.read_annotations(tmp_path / "votes.csv", format="counts")


@pytest.mark.parametrize(("name", "rows"), [("total", 1), ("Total ", 2), ("n_votes", 9)])
def test_a_column_of_sums_is_no_label(name, rows, file):
    table = f"item,sad,{name},happy\n" + "".join(f"i{k},{k},{k + 3},3\n" for k in range(rows))
    table += "last,4,7,3\n"
    with pytest.raises(
        dx.AnnotationError, match=r"expected the votes for one label; found the sum"
    ):
        dx.read_annotations(file("a.csv", table), format="counts")


def test_a_label_with_half_of_the_votes_everywhere_is_doubted(file):
    table = "item,sad,calm,happy\n" + "".join(f"i{k},{k},{k + 3},3\n" for k in range(6))
    with pytest.warns(dx.DissensusWarning, match="the column 'calm' is the sum of the other"):
        ann = dx.read_annotations(file("a.csv", table), format="counts")
    assert ann.sizes["label"] == 3


@pytest.mark.parametrize(
    "table",
    [
        "item,sad,answers,happy\ni1,1,3,2\n",  # by chance
        "item,sad,total\n" + "".join(f"i{k},2,2\n" for k in range(9)),  # two labels
        "item,sad,total,happy\ni1,1,3,2\ni2,1,3,3\n",
        "item,yes,no,unsure\n" + "".join(f"i{k},1,1,0\n" for k in range(9)),  # all disagree
        "item,yes,no,maybe\n" + "".join(f"i{k},1,2,1\n" for k in range(9)),
        "item,all,some,none\ni1,2,1,1\n",
    ],
)
def test_a_label_may_have_half_of_the_votes(table, file):
    ann = dx.read_annotations(file("a.csv", table), format="counts")
    assert ann.sizes["label"] == len(table.splitlines()[0].split(",")) - 1
