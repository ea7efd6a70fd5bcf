"""Data sets of JUDGE-BENCH."""

from __future__ import annotations

import copy

import pytest
from files_of_tools import JUDGE_BENCH
from refusals import check_refused

import dissensus as dx


@pytest.fixture
def read(file):
    def read(content=JUDGE_BENCH, **options):
        return dx.read_annotations(file("j.json", content), format="judge-bench", **options)

    return read


def spoiled(**fields):
    content = copy.deepcopy(JUDGE_BENCH)
    content["instances"][0]["annotations"]["safety"] |= fields
    return content


def test_scores_are_of_annotators_without_names(read, statements):
    ann = read(label="grammaticality")
    assert statements(ann) == {
        (1, "1: 1", 2), (1, "1: 2", 6), (1, "1: 3", 3), (2, "2: 1", 5), (2, "2: 2", 6),
    }  # fmt: skip
    assert ann.attrs["kind"] == "ordinal"
    assert ann.attrs["kind_source"] == "the file's category, 'graded'"


def test_the_label_space_is_the_files_and_unscored_instances_are_said(read):
    with pytest.warns(dx.DissensusWarning, match="j.json: 1 unscored instances"):
        ann = read(label="safety")
    assert ann["label"].values.tolist() == ["No", "Yes", "Unsure"]
    assert (ann.attrs["kind"], ann.attrs["unscored_instances"]) == ("nominal", 1)
    assert ann["item"].values.tolist() == [1]


def test_arguments_take_precedence(read):
    ann = read(label="grammaticality", kind="continuous")
    assert (ann.attrs["kind"], ann.attrs["kind_source"]) == ("continuous", "given")
    ann = read(label="grammaticality", labels=range(1, 8))
    assert ann["label"].values.tolist() == list(range(1, 8))
    content = copy.deepcopy(JUDGE_BENCH)
    content["instances"] = content["instances"][1:]
    ann = read(content, label="grammaticality", item="query")
    assert ann["item"].values.tolist() == ["Cook?"]


def test_one_metric_needs_no_name_and_may_be_undescribed(read):
    content = copy.deepcopy(JUDGE_BENCH)
    for instance in content["instances"]:
        instance["annotations"] = {"quality": instance["annotations"]["grammaticality"]}
    ann = read(content)
    assert ann.attrs["kind_source"] == "inferred: the labels are whole numbers"


def test_other_files_and_arguments_are_refused(read, file):
    aggregate = copy.deepcopy(JUDGE_BENCH)
    for instance in aggregate["instances"]:
        instance["annotations"] = {"safety": {"majority_human": "0", "individual_human_scores": []}}
    check_refused(dx.AnnotationError, [
        ("several metrics", read,
         r"j.json: expected the scores of one metric; found the metrics 'grammaticality', "
         r"'safety'. Name one of them with label="),
        ("another metric", lambda: read(label="tone"), r"expected a metric 'tone'; found the m"),
        ("only majorities", lambda: read(aggregate),
         r"expected 'individual_human_scores' of the metric 'safety'; found none in 2 instances. "
         r".*'https://example.org/recipes'"),
        ("a label outside",
         lambda: read(spoiled(individual_human_scores=["Maybe"]), label="safety"),
         r"the metric 'safety': expected one of its 'labels_list', 'No', 'Yes', 'Unsure'; found "
         r"'Maybe' among the scores. Name all labels: labels=\['No', 'Yes', 'Unsure', 'Maybe'\]"),
        ("null", lambda: read(spoiled(individual_human_scores=["No", None]), label="safety"),
         r"instance 1: expected a text or a number in each place .*; found None in place 2"),
        ("no list", lambda: read(spoiled(individual_human_scores=3)),
         r"instance 1: expected 'annotations', an object from metric to an object with 'indiv"),
        ("no instances", lambda: read({"annotations": []}), r"found none"),
        ("annotator=", lambda: read(annotator="x"), r"annotator=: expected no such argument"),
        ("no format", lambda: dx.read_annotations(file("j.json", JUDGE_BENCH)),
         r"looks like a data set of JUDGE-BENCH as JSON: read it with format='judge-bench'"),
    ])  # fmt: skip
