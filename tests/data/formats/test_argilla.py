"""The records of Argilla 2 as JSON. `RECORD` is what argilla 2.8.0 made of one record."""

from __future__ import annotations

import json

import pytest

import dissensus as dx

RECORD = {
    "id": "r1",
    "fields": {"text": "hi"},
    "metadata": {"site": "A"},
    "suggestions": {"label": {"value": "positive", "score": 0.9, "agent": "m1"}},
    "responses": {
        "label": [
            {"value": "positive", "user_id": "00000000-0000-0000-0000-000000000001"},
            {"value": "negative", "user_id": "00000000-0000-0000-0000-000000000002"},
        ]
    },
    "vectors": {},
    "status": "pending",
    "_server_id": None,
}


def record(item, responses=(), suggestion=None, question="label", **more):
    labels = [{"value": value, "user_id": who} for who, value in responses]
    return {
        "id": item,
        "fields": {"text": f"text {item}"},
        "metadata": {"site": f"site {item}"},
        "suggestions": {question: suggestion} if suggestion else {},
        "responses": {question: labels} if labels else {},
        **more,
    }


@pytest.fixture
def read(file):
    def read(records, reader=dx.read_annotations, **options):
        return reader(file("a.json", json.dumps(records)), format="argilla", **options)

    return read


def test_what_argilla_wrote(read, statements):
    who = "00000000-0000-0000-0000-00000000000"
    assert statements(read([RECORD])) == {
        ("r1", f"{who}1", "positive"), ("r1", f"{who}2", "negative"),
    }  # fmt: skip
    pred = read([RECORD], dx.read_predictions)
    assert pred["system"].values.tolist() == ["m1"]
    assert pred["label"].values[pred["label_code"].values.item()] == "positive"


def test_ratings_are_numbers(read):
    ann = read([record("a", [("ann", 3), ("bob", 5)]), record("b", [("ann", 1)])], kind="ordinal")
    assert ann["label"].values.tolist() == [1, 3, 5]


def test_rankings_have_ranks(read):
    ranking = [{"value": "x", "rank": 1}, {"value": "y", "rank": 2}, {"value": "z", "rank": 2}]
    ann = read([record("a", [("ann", ranking)])])
    assert ann.attrs["kind"] == "ranking"
    assert ann["rank"].values.tolist() == [1, 2, 2]
    pred = read(
        [record("a", suggestion={"value": ranking, "agent": "m", "score": None})],
        dx.read_predictions,
    )
    assert pred.attrs["kind"] == "ranking"


def test_fields_and_metadata_have_names(read):
    records = [record("a", [("ann", "x")]), record("b", [("ann", "y")])]
    ann = read(records, item="text", cluster="site")
    assert ann["item"].values.tolist() == ["text a", "text b"]
    assert ann["cluster"].values.tolist() == ["site a", "site b"]


def test_an_id_that_is_0_is_an_id(read):
    records = [record(0, [("ann", "x")], _server_id="of the server"), record(1, [("ann", "y")])]
    assert read(records)["item"].values.tolist() == [0, 1]
    without = [record(None, [("ann", "x")], _server_id="of the server")]
    assert read(without)["item"].values.tolist() == ["of the server"]


def test_several_questions_want_a_name(read):
    both = record("a", [("ann", "x")])
    both["responses"]["tone"] = [{"value": "calm", "user_id": "ann"}]
    with pytest.raises(dx.FormatError, match=r"'label', 'tone'. Name one of them with label="):
        read([both], label="colour")
    assert read([both], label="tone")["label"].values.tolist() == ["calm"]


def test_responses_without_a_value_are_counted_and_said(read):
    records = [record("a", [("ann", "x"), ("bob", None)]), record("b")]
    with pytest.warns(dx.DissensusWarning, match="1 empty responses without a label"):
        ann = read(records)
    assert ann.attrs["empty_responses"] == 1
    assert ann.sizes["annotation"] == 1


@pytest.mark.parametrize(
    ("records", "words"),
    [
        (
            [record("a", [("ann", ["x", "y"])])],
            "record a: expected a label, a number, or a ranking",
        ),
        ([record("a", [(None, "x")])], "record a: expected user_id; found nobody"),
        ([record("a")], "expected responses to one question; found none"),
        ([{"id": "a", "text": "flat"}], "records.to_json"),
        ([record("a", [("ann", "x"), ("ann", "y")])], "record a"),
        ([record("a") | {"responses": {"label": {"value": "x"}}}], "as objects, in a list"),
        ([record(None, [("ann", "x")])], "to read as item"),
    ],
)
def test_what_cannot_be_read_is_named(read, records, words):
    with pytest.raises(dx.FormatError if words != "record a" else dx.AnnotationError) as problem:
        read(records)
    assert words in str(problem.value)


def test_a_suggestion_by_nobody_is_refused(read):
    with pytest.raises(dx.FormatError, match="record a: expected agent; found nobody"):
        read([record("a", suggestion={"value": "x", "agent": None})], dx.read_predictions)


def test_labels_of_a_multi_label_question_are_a_set(read):
    records = [
        record("a", [("ann", ["x", "y"]), ("bob", ["y"])], {"value": ["x"], "agent": "m"}),
        record("b", [("ann", []), ("bob", None)], {"value": [], "agent": "m"}),
    ]
    with pytest.warns(dx.DissensusWarning, match="1 empty responses"):
        ann = read(records, kind="set")
    assert ann["label"].values[ann["label_code"].values].tolist() == ["x;y", "y", "(none)"]
    pred = read(records, dx.read_predictions, kind="set")
    assert dx.to_dataframe(pred)["label"].tolist() == ["x", "(none)"]
    with pytest.raises(dx.FormatError, match=r'Several labels are read with kind="set"'):
        read(records)
    with pytest.raises(dx.FormatError, match="expected a label, a number, or a ranking"):
        read([record("a", [("ann", [{"start": 0, "end": 2}])])], kind="set")
