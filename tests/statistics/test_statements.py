"""What annotators said, as the statistics read it."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.statistics._read import labels_of, numbers_of, ordered_labels_of, read, rows_of


def test_annotations_come_back_as_they_are(votes, rankings):
    ann, _ = votes
    assert read(ann) is ann
    assert read(rankings[0], rankings=True) is rankings[0]


def test_what_is_no_annotation_is_refused(votes, rankings):
    ann, pred = votes
    for thing in (None, 3, [[1, 2]], ann["label_code"]):
        with pytest.raises(dx.AnnotationError, match=r"expected an xarray\.Dataset"):
            read(thing)
    with pytest.raises(dx.AnnotationError, match="predictions"):
        read(pred)
    with pytest.raises(dx.AnnotationError, match=r"rankings.*first choice"):
        read(rankings[0])
    with pytest.raises(dx.AnnotationError, match="kind"):
        read(ann.assign_attrs(kind="sets"))
    with pytest.raises(dx.AnnotationError, match="label_code"):
        read(ann.drop_vars("label_code"))
    with pytest.raises(dx.AnnotationError, match="at least one row"):
        read(ann.isel(annotation=[]))


def test_rows_are_grouped_and_repetitions_need_a_trial(votes):
    ann, _ = votes
    assert rows_of(ann).voices.tolist() == [3, 3, 2]
    twice = ann.isel(annotation=[0, 0, 1, 2])
    with pytest.raises(dx.AnnotationError, match="one label for each item and annotator"):
        rows_of(twice)
    numbered = twice.assign(trial=("annotation", np.arange(4)))
    assert rows_of(numbered).voices.tolist() == [3, 0, 0]


def test_labels_are_codes_and_numbers_count_as_labels(votes):
    codes, labels = labels_of(votes[0])
    assert labels[codes].tolist() == list("xxyyyyxy")
    codes, values = labels_of(dx.from_matrix([[0.5, -1.5], [0.5, 2.5]]))
    assert values.tolist() == [-1.5, 0.5, 2.5]
    assert values[codes].tolist() == [0.5, -1.5, 0.5, 2.5]


def test_an_order_and_distances_must_be_known(votes):
    for needs, hint in ((ordered_labels_of, 'kind="ordinal"'), (numbers_of, "nominal distance")):
        with pytest.raises(dx.AnnotationError, match=hint):
            needs(votes[0])
    ordinal = dx.from_matrix([[3, 1], [2, 2]])
    assert ordered_labels_of(ordinal)[1].tolist() == [1, 2, 3]
    assert numbers_of(ordinal).tolist() == [3.0, 1.0, 2.0, 2.0]
    words = dx.annotations(
        {"item": [1, 1], "annotator": [1, 2], "label": ["low", "high"]},
        kind="ordinal", labels=["low", "high"],
    )  # fmt: skip
    assert ordered_labels_of(words)[1].tolist() == ["low", "high"]
    with pytest.raises(dx.AnnotationError, match="words have no distances"):
        numbers_of(words)


def test_whole_numbers_read_as_names_have_no_distances():
    ann = dx.from_matrix([[1, 2], [2, 2]], kind="nominal")
    with pytest.raises(dx.AnnotationError, match="names have no distances"):
        numbers_of(ann)
