"""The JSON export of Label Studio.

The layout of tasks, annotations and results follows the project's page "Label Studio JSON
format of annotated tasks" (labelstud.io/guide/task_format); the content is made up.
"""

from __future__ import annotations

import pytest

import dissensus as dx


def result(value, control="sentiment", kind="choices"):
    return {"from_name": control, "to_name": "text", "type": kind, "value": {kind: value}}


def annotation(who, *results, **more):
    base = {"id": 100, "completed_by": who, "was_cancelled": False, "ground_truth": False}
    return {**base, "result": list(results), **more}


def task(number, *annotations, **more):
    base = {"id": number, "data": {"text": f"text {number}", "patient": number // 10}}
    return {**base, "annotations": list(annotations), "predictions": [], **more}


EXPORT = [
    task(11, annotation(1, result(["good"])), annotation(2, result(["bad"]))),
    task(12, annotation({"id": 1, "email": "a@b.org"}, result(["good"]))),
    task(21, annotation(2, result(["bad"]))),
]
EXPECTED = {(11, 1, "good"), (11, 2, "bad"), (12, 1, "good"), (21, 2, "bad")}


def read(file, export, **options):
    return dx.read_annotations(file("a.json", export), format="label-studio", **options)


def test_choices(file, statements):
    ann = read(file, EXPORT)
    assert statements(ann) == EXPECTED
    assert ann.attrs == {
        "kind": "nominal",
        "kind_source": "inferred: the labels are text",
        "format": "label-studio",
    }
    assert dx.validate(ann) is ann


@pytest.mark.parametrize("kind", ["rating", "number"])
def test_ratings_are_numbers(kind, file):
    export = [
        task(1, annotation(1, result(4, "stars", kind)), annotation(2, result(2, "stars", kind)))
    ]
    ann = read(file, export)
    assert ann["label"].values.tolist() == [2, 4]
    assert ann.attrs["kind"] == "ordinal"
    assert read(file, export, kind="continuous")["value"].values.tolist() == [4.0, 2.0]


def test_one_of_several_controls_is_chosen_by_name(file, statements):
    both = [
        task(1, annotation(1, result(["good"]), result(5, "stars", "rating"))),
        task(2, annotation(1, result(["bad"]), result(1, "stars", "rating"))),
    ]
    assert statements(read(file, both, label="stars")) == {(1, 1, 5), (2, 1, 1)}
    assert statements(read(file, both, label="sentiment")) == {(1, 1, "good"), (2, 1, "bad")}
    with pytest.raises(
        dx.FormatError, match=r"one control.*found the controls 'sentiment', 'stars'"
    ):
        read(file, both)
    with pytest.raises(dx.FormatError, match="called 'topic'; found the controls"):
        read(file, both, label="topic")
    renamed = [task(1, annotation(1, result(["x"], "label"), result(5, "stars", "rating")))]
    assert statements(read(file, renamed)) == {(1, 1, "x")}


def test_items_and_groups_come_from_the_data(file):
    ann = read(file, EXPORT, item="text", cluster="patient")
    assert ann["item"].values.tolist() == ["text 11", "text 12", "text 21"]
    assert ann["cluster"].values[ann["cluster_code"].values].tolist() == [1, 1, 2]
    assert read(file, EXPORT, item="id")["item"].values.tolist() == [11, 12, 21]


def test_people_may_be_known_by_email_only(file):
    ann = read(file, [task(1, annotation({"email": "a@b.org"}, result(["x"])))])
    assert ann["annotator"].values.tolist() == ["a@b.org"]


def test_cancelled_and_empty_annotations_are_counted_and_warned_of(file, statements):
    silent = [
        task(31, annotation(1, was_cancelled=True), annotation(2)),
        task(32, annotation(1, result(["good"]), was_cancelled=True)),
        task(33),
    ]
    with pytest.warns(dx.DissensusWarning, match="2 cancelled and 1 empty annotations") as warned:
        ann = dx.read_annotations(file("a.json", EXPORT + silent), format="label-studio")
    assert warned[0].filename == __file__  # of the person who called, not of the library
    assert statements(ann) == EXPECTED
    assert ann.attrs["cancelled_annotations"] == 2
    assert ann.attrs["empty_annotations"] == 1


def test_other_controls_are_let_be(file, statements):
    box = {"from_name": "box", "type": "rectanglelabels", "value": {"rectanglelabels": ["x"]}}
    note = {"from_name": "why", "type": "textarea", "value": {"text": ["because"]}}
    assert statements(read(file, [task(1, annotation(1, box, result(["good"]), note))])) == {
        (1, 1, "good")
    }
    with pytest.raises(
        dx.FormatError, match="with one control of type choices, rating, number; foun"
    ):
        read(file, [task(1, annotation(1, box))])


@pytest.mark.parametrize(
    ("export", "message"),
    [
        (
            [task(5, annotation(1, result(["a", "b"])))],
            "a.json, task 5, annotation 100: expected one answer from the control 'sentiment'; "
            "found 2: 'a', 'b'",
        ),
        ([task(5, annotation(1, result(["a"]), result(["b"])))], "task 5, annotation 100.*found 2"),
        ([task(5, annotation(None, result(["a"])))], "task 5.*expected completed_by; found nobody"),
        (
            [task(5, annotation(1, result(["a"])), annotation(1, result(["b"])))],
            r"a.json: columns 'item' and 'annotator', task 5, annotation 100 \(item 5, annotator 1",
        ),
        (
            [{"id": 1, "sentiment": "good", "annotator": 2}],
            "task 1: expected a list of annotations.*JSON-MIN.*label= with the name of the control",
        ),
        (
            [task(5) | {"annotations": [17]}],
            "task 5: expected annotations as objects, in a list",
        ),
        ([{"annotations": [annotation(1, result(["a"]))]}], "task 0.*expected a field 'id'"),
        ([3], "a.json, entry 0: expected a list of records"),
    ],
)
def test_trouble_is_located(export, message, file):
    with pytest.raises(dx.AnnotationError, match=message):
        read(file, export)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"item": "title"}, "task 11, annotation 100: expected a field 'title' of the task's data"),
        (
            {"stratum": "site"},
            "expected a field 'site'.*read as stratum; found the fields 'text', 'pa",
        ),
        ({"rank": "r"}, "rank=: expected no such argument with format='label-studio'"),
        ({"annotator": "x"}, "annotator=: expected no such argument"),
        ({"labels": ["good"]}, "column 'label', task 11, annotation 100: expected one of labels="),
    ],
)
def test_arguments_that_do_not_fit(options, message, file):
    with pytest.raises(dx.AnnotationError, match=message):
        read(file, EXPORT, **options)


def test_predictions_of_models(file):
    def predicted(version, label):
        return {"id": 7, "model_version": version, "result": [result([label])]}

    export = [
        task(1, predictions=[predicted("v1", "good"), predicted("v2", "bad")]),
        task(2, predictions=[predicted("v1", "bad"), predicted("v2", "bad")]),
    ]
    pred = dx.read_predictions(file("a.json", export), format="label-studio")
    assert pred["system"].values.tolist() == ["v1", "v2"]
    label = pred["label"].to_numpy()[pred["label_code"].to_numpy()][..., 0]
    assert label.tolist() == [["good", "bad"], ["bad", "bad"]]
    nameless = [task(1, predictions=[predicted(None, "good")])]
    with pytest.raises(
        dx.FormatError, match="task 1, prediction 7: expected model_version; found no"
    ):
        dx.read_predictions(file("b.json", nameless), format="label-studio")
    with pytest.raises(dx.FormatError, match="predictions with one control"):
        dx.read_predictions(file("c.json", EXPORT), format="label-studio")
    del export[1]["predictions"][0]
    with pytest.raises(
        dx.PredictionError, match=r"d.json: predictions: expected a prediction of ev"
    ):
        dx.read_predictions(file("d.json", export), format="label-studio")


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        ({"annotations": 5}, "annotations as objects, in a list; found 5"),
        ({"annotations": [{"id": 1, "result": 1.5}]}, "result as objects, in a list; found 1.5"),
        ({"annotations": [{"id": 1, "result": [3]}]}, "result as objects"),
        ({"data": [1]}, "data as an object"),
    ],
)
def test_fields_of_another_form_are_refused(spoilt, message, file):
    path = file("export.json", [task(5, annotation(1, result(["a"]))) | spoilt])
    with pytest.raises(dx.FormatError, match=message):
        dx.read_annotations(path, format="label-studio")


def test_several_choices_are_a_set(file):
    export = [
        task(1, annotation(1, result(["good", "long"])), annotation(2, result(["long"]))),
        task(2, annotation(1), annotation(2, was_cancelled=True)),
    ]
    with pytest.warns(dx.DissensusWarning, match="1 cancelled annotations without a label"):
        ann = read(file, export, kind="set")
    assert ann["element"].values.tolist() == ["good", "long"]
    held = ann["member"].values[ann["label_code"].values].astype(int).tolist()
    assert held == [[1, 1], [0, 1], [0, 0]]
    with pytest.raises(dx.FormatError, match=r'Several choices are read with kind="set"'):
        read(file, export)
    with pytest.raises(dx.AnnotationError, match=r"none: expected None with format='label-studio'"):
        read(file, export, kind="set", none="nothing")
    region = {"from_name": "sentiment", "type": "choices", "value": {"choices": ["x"], "start": 0}}
    with pytest.raises(
        dx.FormatError, match="found choices for a region of it: 'choices', 'start'"
    ):
        read(file, [task(1, annotation(1, region))], kind="set")
    guess = {"model_version": "m", "result": [result(["long", "good"])]}
    export = [task(1, predictions=[guess]), task(2, predictions=[{**guess, "result": []}])]
    path = file("a.json", export)
    pred = dx.read_predictions(path, format="Label Studio", kind="set")
    assert dx.to_dataframe(pred)["label"].tolist() == ["good;long", "(none)"]
