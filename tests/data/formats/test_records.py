"""Tables as JSON."""

from __future__ import annotations

import pytest

import dissensus as dx

RECORD = '{"item": 1, "annotator": "a", "label": "x"}'


def test_types_are_kept(file):
    records = [
        {"item": 2**64, "annotator": "07", "label": True, "note": {"any": "thing"}},
        {"item": 2**64 + 1, "annotator": "7", "label": False},
    ]
    ann = dx.read_annotations(file("a.json", records))
    assert ann["item"].values.tolist() == [str(2**64), str(2**64 + 1)]
    assert ann["annotator"].values.tolist() == ["07", "7"]
    assert ann.attrs["kind_source"] == "inferred: the labels are true or false, written 1 and 0"


def test_lines_may_be_blank_and_hold_any_separator_in_text(file):
    text = "\n" + RECORD.replace("x", "y\u2028z") + "\r\n\n" + RECORD.replace("1", "2") + "\n"
    ann = dx.read_annotations(file("a.jsonl", text))
    assert sorted(ann["label"].values.tolist()) == sorted(["y\u2028z", "x"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.json",
            RECORD,
            "a.json: expected a list of records.*found an object with the names 'item'",
        ),
        ("a.json", "3", "a.json: expected a list of records.*found int 3"),
        ("a.json", f"[{RECORD}, 5]", "a.json, entry 1: expected a list of records.*found int 5"),
        ("a.json", "[]", "a.json: expected at least one record; found an empty list"),
        ("a.json", '{"item": [1]}', r'to_json\(orient="records"\)'),
        (
            "a.json",
            f"[{RECORD},\n{{]",
            "a.json, line 2, column 2: expected JSON; found Expecting pro",
        ),
        ("a.json", f"[{RECORD}", "a.json, line 1.*expected JSON"),
        ("a.json", f"{RECORD}\n{RECORD}", "line 2.*Extra data.*give the file the ending .jsonl"),
        (
            "a.json",
            '[{"item": 1, "item": 2}]',
            "a.json: expected distinct names.*found 'item' twice",
        ),
        ("a.json", "[" * 200_000, "a.json: .*nested too deeply"),
        ("a.jsonl", f"{RECORD}\n{{oops}}\n", "a.jsonl, line 2, column 2: expected JSON"),
        ("a.jsonl", f"{RECORD}\n[1]\n", "a.jsonl, line 2: expected a JSON object.*found list"),
        ("a.jsonl", f"[{RECORD}]", "a.jsonl, line 1.*give it the ending .json"),
        ("a.jsonl", '\n{"item": 1, "item": 2}', "a.jsonl, line 2: expected distinct names"),
    ],
)
def test_broken_json_is_located(name, text, message, file):
    with pytest.raises(dx.FormatError, match=message):
        dx.read_annotations(file(name, text))


def test_missing_entries_are_located(file):
    text = f'{RECORD}\n\n{{"item": 2, "annotator": "a"}}\n'
    with pytest.raises(
        dx.AnnotationError, match=r"a.jsonl: column 'label', line 3: expected a value"
    ):
        dx.read_annotations(file("a.jsonl", text))
    records = [{"item": 1, "annotator": "a", "label": None}]
    with pytest.raises(
        dx.AnnotationError, match=r"a.json: column 'label', row 0: expected a value"
    ):
        dx.read_annotations(file("a.json", records))


def test_a_separator_is_for_tables_of_text(file):
    with pytest.raises(dx.FormatError, match=r"delimiter: expected None for a .json file"):
        dx.read_annotations(file("a.json", f"[{RECORD}]"), delimiter=";")
