"""A test run of DeepEval."""

from __future__ import annotations

import copy

import pytest
from files_of_tools import DEEPEVAL, metric
from refusals import check_refused

import dissensus as dx


@pytest.fixture
def read(file):
    def read(content=DEEPEVAL, reader=dx.read_predictions, **options):
        return reader(file("d.json", content), format="deepeval", **options)

    return read


def with_metrics(*metrics):
    content = copy.deepcopy(DEEPEVAL)
    content["testCases"][1]["metricsData"] = list(metrics)
    return content


def test_metrics_are_annotators(read, statements):
    ann = read(reader=dx.read_annotations, stratum="topic")
    assert statements(ann) == {
        ("test_case_0", "Faithfulness", 1), ("test_case_0", "Correctness [GEval]", 0),
        ("test_case_1", "Faithfulness", 1), ("test_case_1", "Correctness [GEval]", 1),
    }  # fmt: skip
    assert ann["stratum"].values.tolist() == ["hats", "shoes"]


def test_metrics_are_systems_with_verdicts_or_scores(read):
    pred = read()
    assert pred["system"].values.tolist() == ["Faithfulness", "Correctness [GEval]"]
    assert pred["label"].values.tolist() == [0, 1]
    pred = read(kind="continuous", label="Faithfulness", item="input")
    assert pred["value"].values.ravel().tolist() == [0.9, 0.6]
    assert pred["item"].values.tolist() == ["Why?", "How?"]


def test_the_result_of_evaluate(read):
    cases = [
        {"name": case["name"], "success": True, "metrics_data": case["metricsData"]}
        for case in DEEPEVAL["testCases"]
    ]
    content = {"test_results": cases, "confident_link": None, "test_run_id": None}
    assert read(content).drop_attrs().identical(read().drop_attrs())


def test_the_file_of_the_last_run(read, file):
    content = {"testRunData": DEEPEVAL, "testRunLink": "https://example.org/run"}
    assert read(content).drop_attrs().identical(read().drop_attrs())
    with pytest.raises(dx.FormatError, match="format='deepeval'"):
        dx.read_predictions(file("d.json", content))


def test_conversations_are_test_cases_too(read):
    content = copy.deepcopy(DEEPEVAL)
    content["conversationalTestCases"], content["testCases"] = content["testCases"], []
    assert read(content).drop_attrs().identical(read().drop_attrs())


def test_failed_metrics_are_said(read):
    content = with_metrics(
        metric("Faithfulness", 0.6), {"name": "Correctness [GEval]", "error": "x"}
    )
    with pytest.raises(
        dx.PredictionError, match=r"'Correctness \[GEval\]', testCases 1 \(item 'test_case_1'\)"
    ):
        read(content)
    with pytest.warns(dx.DissensusWarning, match=r"d.json: .*'Correctness \[GEval\]' 1$"):
        ann = read(content, dx.read_annotations)
    assert (ann.sizes["annotation"], ann.attrs["missing_scores"]) == (3, 1)


def test_other_files_and_arguments_are_refused(read, file):
    alike = copy.deepcopy(DEEPEVAL)
    alike["testCases"][1]["name"] = "test_case_0"
    check_refused(dx.AnnotationError, [
        ("another object", lambda: read({"a": 1}),
         r"d.json: expected one of the lists 'testCases', .*found the names 'a'"),
        ("no last run", lambda: read({"testRunData": None, "testRunLink": None}),
         r"d.json: 'testRunData': expected an object with the test run; found None. The last run"),
        ("a case", lambda: read({"testCases": [3, {"metricsData": {}}]}),
         r"testCases 0: expected an object with a list 'metricsData'; found 3 \(such test cases"),
        ("twice", lambda: read(with_metrics(*[metric("Faithfulness", 0.5)] * 2)),
         r"testCases 1: expected each metric once; found 'Faithfulness' again. Give metrics"),
        ("no name", lambda: read(with_metrics({"score": 1})), r"expected metrics with a 'name'"),
        ("two names alike", lambda: read(alike),
         r"column 'name', testCases 0 and testCases 1.*item=\"input\""),
        ("no metrics", lambda: read({"testCases": []}), r"expected scores; found none in any"),
        ("no format", lambda: dx.read_predictions(file("d.json", DEEPEVAL)), r"format='deepeval'"),
    ])  # fmt: skip
