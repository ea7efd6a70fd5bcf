"""The samples of lm-evaluation-harness."""

from __future__ import annotations

import json

import pytest
from files_of_tools import CHOICE, LM_EVAL, lm_eval_line
from refusals import check_refused

import dissensus as dx

FILTERS = [
    *LM_EVAL[:2],
    lm_eval_line(0, "18", 1.0, "flexible-extract"),
    lm_eval_line(1, "18", 1.0, "flexible-extract"),
]


@pytest.fixture
def read(file):
    def read(lines, reader=dx.read_predictions, **options):
        path = file("samples_gsm8k.jsonl", "\n".join(map(json.dumps, lines)))
        return reader(path, format="lm-eval", **options)

    return read


def answers(pred):
    """Return the label of each item and system."""
    labels = pred["label"].values[pred["label_code"].values[..., 0]]
    return dict(zip(pred["system"].values.tolist(), labels.T.tolist(), strict=True))


def test_a_metric_is_a_system(read):
    pred = read(LM_EVAL)
    assert answers(pred) == {"exact_match": [0, 1, 1]}
    assert pred["item"].values.tolist() == [0, 1, 2]


def test_filters_are_part_of_the_name(read):
    assert answers(read(FILTERS)) == {
        "exact_match,strict-match": [0, 1], "exact_match,flexible-extract": [1, 1],
    }  # fmt: skip
    assert list(answers(read(FILTERS, label="exact_match,strict-match"))) == [
        "exact_match,strict-match"
    ]


def test_metrics_are_annotators(read, statements):
    ann = read([CHOICE], dx.read_annotations)
    assert statements(ann) == {(0, "acc", 1), (0, "acc_norm", 0)}


def test_answers_of_the_model(read):
    assert answers(read(LM_EVAL, label="filtered_resps")) == {"filtered_resps": [11, 18, 18]}
    pred = read(LM_EVAL, label="filtered_resps", item="question")
    assert pred["item"].values[0] == "question 0"
    only = read(FILTERS, label="filtered_resps,flexible-extract")
    assert only["system"].values.tolist() == ["filtered_resps,flexible-extract"]


def test_fields_of_the_document_are_groups(read):
    ann = read(FILTERS, dx.read_annotations, cluster="answer", item="question")
    assert ann["cluster"].values.tolist() == [18]
    assert ann.sizes["item"] == 2


def test_other_files_and_arguments_are_refused(read, file):
    old = [{key: value for key, value in line.items() if key != "metrics"} for line in LM_EVAL]
    check_refused(dx.AnnotationError, [
        ("old", lambda: read(old),
         r"samples_gsm8k.jsonl, line 1: expected 'metrics', .*\(such lines: 3, the next is "),
        ("twice", lambda: read(LM_EVAL[:1] * 2),
         r"line 2: expected each document in one line for each filter; found doc_id 0 in line 1 "),
        ("no value", lambda: read([lm_eval_line(0, "1", 0, metrics=["f1", "exact_match"])]),
         r"line 1: expected a value of each metric; found none of 'f1'"),
        ("a pair", lambda: read([lm_eval_line(0, "1", [3, 4])]),
         r"line 1, scorer 'exact_match': expected a text or a number; found \[3, 4\]. Name a"),
        ("choices", lambda: read([CHOICE], label="filtered_resps"),
         r"'filtered_resps' with one answer in text; found \[\['-5.9', 'False'\], .*label="),
        ("another metric", lambda: read([CHOICE], label="f1"), r"found the scorers 'acc', 'acc_n"),
        ("a missing item", lambda: read(LM_EVAL, item="id"),
         r"line 1: expected a text or a number as the field 'id'; found the fields .*item="),
        ("a missing value", lambda: read([*LM_EVAL, lm_eval_line(3, "1", None)]),
         r"column 'exact_match', line 4 \(item 3\): .*found no score \(1 in all\)"),
        ("pool", lambda: read(LM_EVAL, dx.read_annotations, pool="x"), r"pool=: expected no such"),
        ("no format", lambda: dx.read_predictions(file("s.json", LM_EVAL)), r"format='lm-eval'"),
    ])  # fmt: skip
