"""The results of promptfoo."""

from __future__ import annotations

import pytest
from files_of_tools import PROMPTFOO, assertion, promptfoo, result
from refusals import check_refused

import dissensus as dx

RUBRIC = [assertion("llm-rubric", True)]
ERROR = {"failureReason": 2, "error": "429", "gradingResult": None, "success": False}


@pytest.fixture
def read(file):
    def read(content=PROMPTFOO, reader=dx.read_annotations, **options):
        return reader(file("r.json", content), format="promptfoo", **options)

    return read


def test_assertions_are_annotators(read, statements):
    assert statements(read()) == {
        (0, "llm-rubric", 1), (1, "llm-rubric", 0), (0, "human", 1), (1, "human", 1),
    }  # fmt: skip
    assert read().attrs["kind"] == "nominal"


def test_assertions_are_systems_with_scores(read):
    pred = read(reader=dx.read_predictions, label="llm-rubric", kind="continuous")
    assert pred["value"].values.ravel().tolist() == [0.9, 0.2]
    assert pred["system"].values.tolist() == ["llm-rubric"]


def test_the_verdict_on_the_whole_result(read):
    assert read(label="success")["label"].values.tolist() == [0, 1]
    assert read(label="success", kind="continuous")["value"].values.tolist() == [1.0, 0.4]


def test_a_metric_names_an_assertion(read):
    named = [
        assertion("llm-rubric", True, metric="tone"),
        assertion("llm-rubric", False, metric="x"),
    ]
    assert read(promptfoo(result(0, named)))["annotator"].values.tolist() == ["tone", "x"]


def test_several_providers_and_prompts_are_in_the_name_of_the_item(read):
    other = {"provider": {"id": "anthropic:claude", "label": "claude"}}
    content = promptfoo(result(0, RUBRIC), result(0, RUBRIC) | other)
    ann = read(content, cluster="testIdx", stratum="provider")
    assert ann["item"].values.tolist() == ["0: openai:gpt-4", "0: claude"]
    assert ann["cluster"].values.tolist() == [0]
    assert ann["stratum"].values.tolist() == ["claude", "openai:gpt-4"]
    content = promptfoo(result(0, RUBRIC), result(0, RUBRIC, prompt=1))
    assert read(content)["item"].values.tolist() == ["0: prompt 0", "0: prompt 1"]
    assert read(content, item="question")["item"].values[1] == "question 0: prompt 1"
    assert read(content, item="id")["item"].values[0] == "uuid-0-openai:gpt-4-0"


def test_an_error_is_no_verdict(read):
    content = promptfoo(result(0, RUBRIC), result(1, [], **ERROR))
    with pytest.raises(dx.PredictionError, match=r"result 1 \(item 1\).*no score \(1 in all\)"):
        read(content, dx.read_predictions)
    assert read(content, dx.read_predictions, on_missing="drop").attrs["items_dropped"] == 1
    with pytest.warns(dx.DissensusWarning, match=r"samples without a score \(of 2\): 'success' 1"):
        ann = read(content, label="success")
    assert ann.sizes["annotation"] == 1


def test_other_files_and_arguments_are_refused(read, file):
    check_refused(dx.AnnotationError, [
        ("another object", lambda: read({"results": {"table": []}}),
         r"r.json: expected a list 'results' in 'results'; found the names 'table'"),
        ("two of a type", lambda: read(promptfoo(result(0, RUBRIC * 2), result(1, RUBRIC * 2))),
         r"result 0: expected each assertion once; found 'llm-rubric' again \(such results: 2, the "
         r"next is result 1\). Give each assertion its own metric.*label=\"success\""),
        ("no name", lambda: read(promptfoo(result(0, [{"pass": True, "score": 1}]))),
         r"result 0: expected assertions with a 'metric' or a 'type'"),
        ("no assertions", lambda: read(promptfoo(result(0, []))),
         r"expected results of assertions; found no 'componentResults' in 1 results. label=\"succ"),
        ("two alike", lambda: read(promptfoo(result(0, RUBRIC), result(0, RUBRIC))),
         r"'testIdx', result 0 and result 1: expected each item in one row.*item=\"id\""),
        ("a missing variable", lambda: read(item="answer"),
         r"result 0: expected a text or a number as the field 'answer'.*\(such samples: 2"),
        ("no object", lambda: read(promptfoo("x", 3)), r"result 0: expected an object; found 'x'"),
        ("no format", lambda: dx.read_annotations(file("r.json", PROMPTFOO)), r"format='prompt"),
    ])  # fmt: skip
