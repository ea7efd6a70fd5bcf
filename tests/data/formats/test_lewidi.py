"""Data sets of Learning with Disagreements."""

from __future__ import annotations

import copy

import pytest
from files_of_tools import LEWIDI_2023, LEWIDI_2025, VARIERR
from refusals import check_refused

import dissensus as dx


@pytest.fixture
def read(file):
    def read(records, **options):
        return dx.read_annotations(file("l.json", records), format="lewidi", **options)

    return read


def test_labels_of_2023_are_in_the_order_of_the_annotators(read, statements):
    assert statements(read(LEWIDI_2023)) == {
        (1, "Ann1", 0), (1, "Ann2", 0), (1, "Ann3", 1), (2, "Ann1", 1), (2, "Ann4", 1),
    }  # fmt: skip


def test_labels_of_2025_are_by_annotator(read, statements):
    ann = read(LEWIDI_2025, stratum="lang", cluster="source", kind="nominal")
    assert statements(ann) == {(1248, "Ann0", 0), (1248, "Ann10", 1), (1280, "Ann10", 0)}
    assert ann["stratum"].values[ann["stratum_code"]].tolist() == ["en", "de"]
    assert ann["cluster"].values[ann["cluster_code"]].tolist() == ["twitter", "reddit"]


def test_one_of_several_labels_is_given_or_not(read, statements):
    ann = read(VARIERR, label="neutral")  # "Ann1": "contradiction,neutral"
    assert statements(ann) == {("a", "Ann1", 1), ("a", "Ann3", 0), ("b", "Ann1", 1)}
    assert ann.attrs["kind"] == "nominal"


def test_several_labels_are_a_set(read):
    ann = read(VARIERR, kind="set")  # "Ann1": "contradiction,neutral"
    assert ann.attrs["kind"] == "set"
    member, element = ann["member"].values[ann["label_code"].values], ann["element"].values
    rows = zip(ann["item"].values[ann["item_code"]], ann["annotator"].values[ann["annotator_code"]],
               [set(element[row]) for row in member], strict=True)  # fmt: skip
    assert {(item, who): labels for item, who, labels in rows} == {
        ("a", "Ann1"): {"contradiction", "neutral"}, ("a", "Ann3"): {"entailment"},
        ("b", "Ann1"): {"neutral"},
    }  # fmt: skip


def test_items_of_a_test_set_are_counted_and_said(read):
    bare = {
        "3": LEWIDI_2023["1"] | {"annotations": ""},
        "4": LEWIDI_2025["1248"] | {"annotations": {}},
    }
    with pytest.warns(dx.DissensusWarning, match="2 empty items without a label are left out"):
        ann = read(LEWIDI_2023 | bare)
    assert ann.attrs["empty_items"] == 2
    assert ann["item"].values.tolist() == [1, 2]
    with pytest.raises(dx.FormatError, match=r"l.json: expected labels of at least one item"):
        read(bare)


def test_all_that_is_wrong_is_said_at_once(read):
    records = copy.deepcopy(LEWIDI_2023 | LEWIDI_2025)
    records["1"]["annotations"] = "0,0"
    records["2"]["annotators"] = "Ann1,Ann1"
    records["1248"]["annotations"] = {"Ann0": "0", "Ann7": "1"}
    records["1280"] = {"text": "x"}
    records["x"] = records["1"]
    with pytest.raises(dx.FormatError) as caught:
        read(records)
    assert str(caught.value) == (
        "l.json, item '1': expected as many labels as annotators; found 3 annotators and 2 labels "
        "(such items: 2, the next is item 'x'). Also item '2': expected distinct annotators; found "
        "'Ann1' more than once. Also item '1248': expected a label from each annotator, and from "
        "no others; found 'Ann10', 'Ann7' in only one of 'annotators' and 'annotations'. Also item "
        "'1280': expected 'annotators' as text, and 'annotations' as text or an object; found the "
        "fields 'text'"
    )


def test_other_files_and_arguments_are_refused(read, file):
    check_refused(dx.AnnotationError, [
        ("several labels", lambda: read(VARIERR),
         r"l.json, item 'a': expected one label from each annotator; found "
         r"'contradiction', 'neutral' from 'Ann1'. kind=\"set\" reads all of them; "
         r"label=\"contradiction\" reads whether"),
        ("one label of a set", lambda: read(VARIERR, kind="set", label="neutral"),
         r"label=: expected None with kind=\"set\", which reads all labels; found 'neutral'"),
        ("no such label", lambda: read(VARIERR, label="other"),
         r"expected a label 'other', which label= names; found the labels 'contradiction', 'ent"),
        ("an empty label", lambda: read({"1": {"annotators": "A,B", "annotations": "0,"}}),
         r"item '1': expected labels that are not empty; found '0,'"),
        ("a list", lambda: read([LEWIDI_2023["1"]]), r"l.json: expected a JSON object; found list"),
        ("a field", lambda: read(LEWIDI_2025, stratum="age"), r"item '1248': .*'age'.*stratum="),
        ("annotator=", lambda: read(LEWIDI_2023, annotator="x"), r"annotator=: expected no such"),
        ("predictions", lambda: dx.read_predictions(file("l.json", LEWIDI_2023), format="lewidi"),
         r"found 'lewidi'. dx\.read_annotations\(path, format='lewidi'\) reads such a file"),
        ("no format", lambda: dx.read_annotations(file("l.json", LEWIDI_2023)),
         r"looks like a data set of Learning with Disagreements.*format='lewidi'"),
    ])  # fmt: skip
