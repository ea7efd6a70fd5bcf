"""The JSONL of Prodigy. The fields are those its documentation names; the content is made up."""

from __future__ import annotations

import json

import pytest

import dissensus as dx


def choice(item, who, *accepted, answer="accept", **more):
    return {
        "text": f"text {item}", "_input_hash": item, "_task_hash": -item, "_view_id": "choice",
        "options": [{"id": "A"}, {"id": "B"}], "accept": list(accepted), "answer": answer,
        "_annotator_id": who, "_session_id": f"session-{who}", **more,
    }  # fmt: skip


def question(item, who, label, answer="accept"):
    return {
        "text": f"text {item}", "_input_hash": item, "_task_hash": f"{item}/{label}",
        "label": label, "answer": answer, "_annotator_id": who,
    }  # fmt: skip


@pytest.fixture
def read(file):
    def read(lines, name="a.jsonl", **options):
        text = "\n".join(json.dumps(line) for line in lines)
        return dx.read_annotations(file(name, text), format="prodigy", **options)

    return read


def test_choices(read, statements):
    ann = read([choice(1, "ann", "A"), choice(1, "bob", "B"), choice(2, "ann", "A")])
    assert statements(ann) == {(1, "ann", "A"), (1, "bob", "B"), (2, "ann", "A")}
    assert ann.attrs["label_source"] == "the option accepted"
    assert ann.attrs["format"] == "prodigy"
    assert dx.validate(ann) is ann


def test_sessions_stand_in_for_annotators(read):
    lines = [choice(1, None, "A") | {"_session_id": "db-ann"}, choice(1, "bob", "A")]
    assert read(lines)["annotator"].values.tolist() == ["db-ann", "bob"]
    ann = read([choice(1, "ann", "A")], annotator="_session_id")
    assert ann["annotator"].values.tolist() == ["session-ann"]


def test_rejected_labels_make_questions(read, statements):
    ann = read(
        [question(1, "ann", "X"), question(1, "bob", "X", "reject"), question(1, "bob", "Y")]
    )
    assert statements(ann) == {
        ("1/X", "ann", "accept"), ("1/X", "bob", "reject"), ("1/Y", "bob", "accept"),
    }  # fmt: skip
    assert ann["label"].values.tolist() == ["reject", "accept"]
    assert ann.attrs["label_source"].startswith("the answer to the question")


def test_labels_nobody_rejected_are_labels(read, statements):
    lines = [question(1, "ann", "X"), question(1, "bob", "Y"), question(2, "bob", "X")]
    ann = read(lines)
    assert statements(ann) == {(1, "ann", "X"), (1, "bob", "Y"), (2, "bob", "X")}
    assert ann.attrs["label_source"] == "the label, which nobody rejected"
    answers = read(lines, label="answer")
    assert {label for _, _, label in statements(answers)} == {"accept"}
    assert answers["label"].values.tolist() == ["reject", "accept"]


def test_one_question_for_all_needs_no_label(read, statements):
    lines = [question(n, "ann", None, answer) for n, answer in ((1, "accept"), (2, "reject"))]
    with pytest.raises(
        dx.FormatError, match=r"line 1: expected a list 'accept' or a 'label'.*answer"
    ):
        read(lines)
    ann = read(lines, label="answer")
    assert statements(ann) == {("1/None", "ann", "accept"), ("2/None", "ann", "reject")}


def test_silent_lines_are_counted_and_warned_of(file, statements):
    lines = [
        choice(1, "ann", "A"), choice(2, "ann", "A", answer="ignore"), choice(3, "ann"),
        choice(4, "ann", "B", answer="reject"), choice(5, "ann", answer="ignore"),
    ]  # fmt: skip
    path = file("a.jsonl", "\n".join(json.dumps(line) for line in lines))
    with pytest.warns(dx.DissensusWarning, match="1 empty and 2 ignored and 1 reject") as warned:
        ann = dx.read_annotations(path, format="prodigy")
    assert warned[0].filename == __file__  # of the person who called, not of the library
    assert statements(ann) == {(1, "ann", "A")}
    assert ann.attrs["ignored_lines"] == 2
    assert ann.attrs["empty_lines"] == 1
    assert ann.attrs["rejected_lines"] == 1


def test_fields_can_be_named(read):
    lines = [
        choice(1, "ann", "A", patient="p", team="t"),
        choice(2, "ann", "B", patient="q", team="t"),
    ]
    ann = read(lines, item="text", cluster="patient", pool="team")
    assert ann["item"].values.tolist() == ["text 1", "text 2"]
    assert ann["cluster"].values.tolist() == ["p", "q"]
    assert ann["pool"].values.tolist() == ["t"]


def test_a_list_in_json_will_do(file, statements):
    path = file("a.json", [choice(1, "ann", "A")])
    ann = dx.read_annotations(path, format="prodigy")
    assert statements(ann) == {(1, "ann", "A")}
    with pytest.raises(dx.FormatError, match="entry 0: expected an answer"):
        dx.read_annotations(file("b.json", [{"text": "x"}]), format="prodigy")


OK = choice(1, "ann", "A")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([OK, OK | {"answer": "maybe"}], r"a.jsonl, line 2: expected an answer.*found 'maybe'"),
        ([OK, question(2, "ann", "X")], "line 1 and line 2: expected a list 'accept' in all lines"),
        (
            [OK, choice(2, "ann", "A", "B")],
            r"line 2: expected a list 'accept' of one option.*'A', 'B'",
        ),
        ([OK | {"accept": "A"}], "line 1: expected a list 'accept' of one option; found 'A'"),
        (
            [OK | {"_input_hash": None}],
            "line 1: expected a field '_input_hash' to read as item.*item=",
        ),
        (
            [OK | {"_annotator_id": None, "_session_id": None}],
            "line 1: expected a field '_annotator_id' or '_session_id' to read as annotator",
        ),
        ([OK, OK], r"a.jsonl: columns 'item' and 'annotator', line 1 and line 2 \(item 1, annot"),
        ([OK, {"text": "x", "spans": [], "answer": "accept"}], "line 1 and line 2"),
        (
            [{"text": "x", "spans": [], "answer": "accept"}],
            "line 1.*found the fields 'text', 'spans'",
        ),
    ],
)
def test_trouble_is_located(lines, message, read):
    with pytest.raises(dx.AnnotationError, match=message):
        read(lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "accept"}, "label=: expected \"answer\", or nothing; found 'accept'"),
        ({"rank": "r"}, "rank=: expected no such argument with format='prodigy'"),
        ({"confidence": "c"}, "confidence=: expected no such argument"),
        ({"cluster": "c"}, "line 1: expected a field 'c' to read as cluster"),
        ({"labels": ["B"]}, "column 'label', line 1: expected one of labels="),
    ],
)
def test_arguments_that_do_not_fit(options, message, read):
    with pytest.raises(dx.AnnotationError, match=message):
        read([OK], **options)


def test_nothing_left_is_an_error(read):
    with (
        pytest.warns(dx.DissensusWarning),
        pytest.raises(dx.AnnotationError, match=r"a.jsonl: the table: expected at least one row"),
    ):
        read([choice(1, "ann", "A", answer="ignore")])


def test_several_accepted_options_are_a_set(read):
    lines = [choice(1, "ann", "A", "B"), choice(1, "bob", "B"), choice(2, "ann"),
             choice(2, "bob", "A", answer="reject")]  # fmt: skip
    with pytest.warns(dx.DissensusWarning, match="1 rejected lines"):
        ann = read(lines, kind="set")
    assert ann["label"].values[ann["label_code"].values].tolist() == ["A;B", "B", "(none)"]
    with pytest.raises(dx.FormatError, match=r'are read with kind="set"'):
        read(lines)
