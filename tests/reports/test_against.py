"""What the opening says of the leading system and the average annotator."""

from __future__ import annotations

import numpy as np
import pytest
from reports.test_agreement import evaluation as evaluation
from reports.test_agreement import with_ratios

import dissensus as dx
from dissensus.reports import page as opening
from dissensus.reports.language import text


def said(tree, leader):
    words = " ".join(text(one) for one in opening.against_each_other(tree, leader))
    return words.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_it_is_in_the_opening(page, evaluation):
    found = page(evaluation)
    assert "Against the average annotator: " in found.text
    assert found.text.index("Against the average annotator") < found.text.index("Krippendorff's")


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.8, "near is closer to the annotators than they are to each other with probability "
              "above .99 (discrepancy ratio .800"),
        (1.05, "near is farther from the annotators than they are from each other with "
               "probability above .99 (discrepancy ratio 1.050"),
    ],
)  # fmt: skip
def test_the_words_are_the_numbers(evaluation, ratio, words):
    tree = with_ratios(evaluation, {"near": ratio, "far": 1.3}, {"a": 0.9, "b": 1.1})
    assert words in said(tree, "near")
    # Who is closer needs no margin; 1.05 is within one of 10 % (1.3 is not).
    margin = "It is farther by less than 10 %, if at all, with probability above .99"
    assert (margin in said(tree, "near")) == (ratio > 1)
    assert "farther by less than 10 %, if at all, with probability below .01" in said(tree, "far")


def test_of_what_is_undefined_nothing_is_said(evaluation):
    tree = with_ratios(evaluation, {"near": 0.8, "far": 1.3}, {"a": 0.9, "b": 1.1})
    data = tree["discrepancy"].to_dataset()
    data["discrepancy_ratio"] = data["discrepancy_ratio"].where(data["system"] != "far", np.nan)
    tree["discrepancy"] = data
    assert said(tree, "far") == ""
    del tree["discrepancy"]
    assert said(tree, "near") == ""


@pytest.mark.usefixtures("no_pictures")
def test_without_two_annotators_there_is_no_such_sentence(page):
    ann = dx.annotations({"item": [1, 2, 3], "annotator": list("abc"), "label": list("xyx")})
    pred = dx.predictions({"item": [1, 2, 3], "system": ["m"] * 3, "label": list("xyy")})
    made = dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False)
    assert "Against the average annotator" not in page(made).text


def test_who_is_exactly_as_far_is_said_to_be(evaluation):
    tree = with_ratios(evaluation, {"near": 1.0, "far": 1.3}, {"a": 0.9, "b": 1.1})
    data = tree["discrepancy"].to_dataset()
    data["discrepancy_ratio"] = data["discrepancy_ratio"].where(data["system"] != "near", 1.0)
    tree["discrepancy"] = data
    assert "near is as far from the annotators as they are from each other" in said(tree, "near")
