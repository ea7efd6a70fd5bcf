"""What `dissensus check` says."""

from __future__ import annotations

import dissensus as dx
from dissensus._contents import describe_annotations


def test_counts_in_words(votes):
    said = dict(describe_annotations(votes[0]))
    assert said["rows"] == "8"
    assert said["annotators per item"] == "2 to 3, median 3"
    assert said["labels"] == "2: y 62%, x 38%"
    assert said["kind"].startswith("nominal (inferred")


def test_rankings_count_as_one_statement_each(rankings):
    said = dict(describe_annotations(rankings[0]))
    assert said["annotators per item"] == "2 to 3, median 2.5"
    assert said["rankings with ties"] == "40%"
    assert said["labels nobody used"] == "2: 'e', 'f'"


def test_lonely_annotators_are_pointed_out():
    ann = dx.annotations({"item": [1, 2, 2], "annotator": [1, 1, 2], "label": list("aab")})
    assert "1: no disagreement" in dict(describe_annotations(ann))["items with one annotator"]


def test_numbers_get_quartiles():
    ann = dx.annotations({"item": [1, 2], "annotator": [1, 1], "label": [0.5, 1.5]})
    assert dict(describe_annotations(ann))["values (min, quartiles, max)"].startswith("0.5, ")


def test_repeated_labels_are_of_one_annotator_and_confidence_is_said():
    ann = dx.annotations(
        {"item": [1, 1, 2], "annotator": [1, 1, 1], "label": list("aab"), "n": [1, 2, 1],
         "sure": [0.5, 1, 0]},
        trial="n", confidence="sure",
    )  # fmt: skip
    said = dict(describe_annotations(ann))
    assert said["annotators per item"] == "1 (all alike)"
    assert said["items with one annotator"].startswith("2:")
    assert said["confidence (min, quartiles, max)"] == "0, 0.25, 0.5, 0.75, 1"
