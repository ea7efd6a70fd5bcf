"""What `dissensus check` says."""

from __future__ import annotations

import pytest

import dissensus as dx
from dissensus.data.contents import annotation_warnings, name_warnings, prediction_contents
from dissensus.reports.contents import describe_annotations, prediction_lines


def test_counts_in_words(votes):
    lines = dict(describe_annotations(votes[0]))
    assert lines["rows"] == "8"
    assert lines["annotators per item"] == "2 to 3, median 3"
    assert lines["labels"] == "2: y 62%, x 38%"
    assert lines["kind"].startswith("nominal (inferred")


def test_strata_are_counted_and_their_spelling_is_checked():
    table = {"item": [1, 1, 2, 3], "annotator": list("abab"), "label": list("xyxy"),
             "part": ["law", "law", "law", "Law "]}  # fmt: skip
    ann = dx.annotations(table, stratum="part")
    assert dict(describe_annotations(ann))["strata, with items"] == "2: Law  1, law 2"
    (warning,) = name_warnings(ann)
    assert warning.startswith("Strata that differ only in capitals or blanks: 'Law ', 'law'")


def test_rankings_count_as_one_statement_each(rankings):
    lines = dict(describe_annotations(rankings[0]))
    assert lines["annotators per item"] == "2 to 3, median 2.5"
    assert lines["rankings with ties"] == "40%"
    assert lines["labels nobody used"] == "2: 'e', 'f'"


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
    lines = dict(describe_annotations(ann))
    assert lines["annotators per item"] == "1 (all alike)"
    assert lines["items with one annotator"].startswith("2:")
    assert lines["confidence (min, quartiles, max)"] == "0, 0.25, 0.5, 0.75, 1"


def test_predictions_and_how_they_fit(votes):
    ann = votes[0]
    items = ann["item"].to_numpy().tolist()
    table = {"item": [*items[1:], "odd"] * 2, "system": ["m"] * len(items) + ["n"] * len(items),
             "label": ["x"] * len(items) + ["w"] * len(items)}  # fmt: skip
    result = prediction_contents(ann, dx.predictions(table))
    assert result["systems"] == ["m", "n"]
    assert result["items_without_predictions"] == items[:1]
    assert result["items_without_annotations"] == ["odd"]
    assert result["labels_outside"] == {"w": len(items)}
    lines = dict(prediction_lines(result))
    assert lines["annotated, not predicted by all"] == f"1: {items[0]!r}"
    assert lines["labels outside"].startswith("'w', not in the annotations' label space")
    assert "labels in a list" not in lines


def test_lists_have_lengths_and_numbers_quartiles(rankings):
    lists = dx.predictions(
        {"item": [1, 1, 2], "system": ["m"] * 3, "label": list("aba"), "rank": [1, 2, 1]},
        rank="rank",
    )
    lines = dict(prediction_lines(prediction_contents(rankings[0], lists)))
    assert lines["labels in a list"] == "1 to 2, median 1.5"
    scores = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": [0.5, 1.5]})
    ann = dx.annotations({"item": [1, 2], "annotator": [1, 1], "label": [0.5, 1.5]})
    result = prediction_contents(ann, scores)
    assert result["values"]["median"] == 1.0
    assert dict(prediction_lines(result))["values (min, quartiles, max)"].startswith("0.5, ")


def test_whole_numbers_beside_scores_are_scores():
    pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": [1, 4]})
    beside = {
        label: prediction_contents(
            dx.annotations({"item": [1, 2], "annotator": [1, 1], "label": [label, 4]}), pred
        )
        for label in (0.5, 1)
    }
    assert [contents["kind"] for contents in beside.values()] == ["continuous", "nominal"]
    assert beside[0.5]["values"]["median"] == 2.5
    assert "labels_outside" not in beside[0.5]


def test_numbers_and_their_spelling_are_one():
    ann = dx.annotations({"item": [1, 2], "annotator": [1, 1], "label": [0, 1]}, kind="nominal")
    pred = dx.predictions({"item": ["1", "2"], "system": ["m", "m"], "label": ["0", "Tie"]})
    result = prediction_contents(ann, pred)
    assert result["labels_outside"] == {"Tie": 1}
    assert result["items_in_common"] == 2


def test_what_differs_in_capitals_is_pointed_out():
    ann = dx.annotations(
        {"item": [1, 1, 2], "annotator": [1, 2, 1], "label": ["Yes", "yes ", "No"]}
    )
    lines = dict(describe_annotations(ann))
    assert lines["labels that differ only in capitals or blanks"] == "'Yes', 'yes '"
    pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["no", "No"]})
    lines = dict(prediction_lines(prediction_contents(ann, pred)))
    assert "'no' is 'No' except for capitals or blanks" in lines["labels outside"]


def test_what_does_not_go_together_is_said():
    ann = dx.annotations({"item": [1, 2], "annotator": [1, 1], "label": ["x", "y"]})
    pred = dx.predictions({"item": [3, 4], "system": ["m", "m"], "label": [0.5, 1.5]})
    lines = dict(prediction_lines(prediction_contents(ann, pred)))
    assert lines["items in common"] == "none"
    assert lines["annotated, not predicted by all"] == "2: 1, 2"


def test_inferred_grades_are_said_to_be_classes_for_agreement():
    ann = dx.annotations({"item": [1, 2], "annotator": [1, 1], "label": [1, 2]})
    assert "until the kind is given" in dict(describe_annotations(ann))["kind"]
    ann = dx.annotations({"item": [1, 2], "annotator": [1, 1], "label": [1, 2]}, kind="ordinal")
    assert "until" not in dict(describe_annotations(ann))["kind"]


def test_labels_that_are_all_alike_are_pointed_out():
    rows = {"item": [1, 1, 2, 2], "annotator": list("abab"), "label": ["x"] * 4}
    start = "All labels are 'x' (4 rows): agreement cannot be judged."
    [note] = annotation_warnings(dx.annotations(rows))
    assert note.startswith(start)
    assert note.endswith("name the other labels with labels=")
    [note] = annotation_warnings(dx.annotations(rows, labels=["x", "y"]))
    assert note.startswith(start)
    assert "labels=" not in note
    assert annotation_warnings(dx.annotations(rows | {"label": list("xxxy")})) == []
    [note] = annotation_warnings(dx.annotations(rows | {"label": ["x;y"] * 4}, kind="set",
                                                separator=";"))  # fmt: skip
    assert note.startswith("All labels are 'x;y'")


def test_decimal_commas_are_pointed_out():
    rows = {"item": [1, 1, 2, 2], "annotator": list("abab"), "label": ["0,5", "1,5", "-2", "0,5"]}
    [note] = annotation_warnings(dx.annotations(rows))
    assert note.startswith("All labels look like numbers with a decimal comma ('0,5')")
    assert "str.replace(',', '.')" in note
    for other in ("x", "1,", "1, 2"):
        texts = dx.annotations(rows | {"label": ["0,5", "1,5", other, "0,5"]})
        assert annotation_warnings(texts) == []


def test_names_of_one_thing_in_two_spellings():
    ann = dx.annotations({
        "item": ["i1", "i1", "I1 ", "i2"], "annotator": ["ann", "Ann ", "bob", "bob"],
        "label": list("xyxx"),
    })  # fmt: skip
    pred = dx.predictions({
        "item": ["i1", "i2"] * 2, "system": ["m", "m", "M", "M"], "label": list("xxyy"),
    })  # fmt: skip
    result = name_warnings(ann, pred)
    assert [text.split(".")[0] for text in result] == [
        "Items that differ only in capitals or blanks: 'i1', 'I1 '",
        "Annotators that differ only in capitals or blanks: 'ann', 'Ann '",
        "Systems that differ only in capitals or blanks: 'm', 'M'",
    ]
    assert set(result) <= set(annotation_warnings(ann, pred))
    votes = dx.pairs({"left": ["m", "M"], "right": ["n", "n"], "winner": ["left", "left"]})
    assert len(name_warnings(votes)) == 1
    numbers = dx.annotations({"item": [1, 2], "annotator": [1, 2], "label": list("xy")})
    assert name_warnings(numbers) == []


def test_an_evaluation_tells_of_two_spellings():
    ann = dx.annotations({
        "item": [1, 1, 2, 2], "annotator": ["ann", "Ann "] * 2, "label": list("xyxx"),
    })  # fmt: skip
    with pytest.warns(dx.DissensusWarning, match="Annotators that differ only in capitals"):
        dx.evaluate(
            ann, draws=50, random_seed=1, progressbar=False, truth_model=None, ground_truth=None,
            components=None,
        )  # fmt: skip
