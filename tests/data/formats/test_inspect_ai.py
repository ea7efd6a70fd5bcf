"""The table of samples of Inspect."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from files_of_tools import INSPECT
from refusals import check_refused

import dissensus as dx

UNSCORED = INSPECT.replace("facts,I,I", "facts,,I")


@pytest.fixture
def read(file):
    def read(text=INSPECT, reader=dx.read_annotations, **options):
        return reader(file("s.csv", text), format="inspect-ai", **options)

    return read


def test_scorers_are_annotators(read, statements):
    ann = read(stratum="metadata_topic")
    assert statements(ann) == {
        ("q1", "match", "C"), ("q2", "match", "I"), ("q3", "match", "I"),
        ("q1", "model_graded_qa", "C"), ("q2", "model_graded_qa", "C"),
        ("q3", "model_graded_qa", "I"),
    }  # fmt: skip
    assert ann["stratum"].values[ann["stratum_code"]].tolist() == ["sums", "sums", "facts"]


def test_scorers_are_systems(read):
    pred = read(reader=dx.read_predictions)
    assert pred["system"].values.tolist() == ["match", "model_graded_qa"]
    match = read(reader=dx.read_predictions, label="match")
    assert match["label"].values[match["label_code"].values.ravel()].tolist() == ["C", "I", "I"]


def test_a_parquet_file_with_numbers(tmp_path):
    frame = pd.read_csv(io.StringIO(INSPECT))
    frame["score_match"] = [0.5, 1.0, 0.25]
    frame.to_parquet(tmp_path / "s.parquet")
    ann = dx.read_annotations(tmp_path / "s.parquet", format="inspect-ai", label="match")
    assert ann["value"].values.tolist() == [0.5, 1.0, 0.25]


def test_samples_without_a_score_are_said(read):
    with pytest.raises(
        dx.PredictionError,
        match=r"s.csv: column 'match', line 4 \(item 'q3'\): expected a prediction of every "
        r"system.*found no score \(1 in all\). Use on_missing=\"drop\"",
    ):
        read(UNSCORED, dx.read_predictions)
    pred = read(UNSCORED, dx.read_predictions, on_missing="drop")
    assert pred["item"].values.tolist() == ["q1", "q2"]
    assert pred.attrs["items_dropped"] == 1
    with pytest.warns(dx.DissensusWarning, match=r"without a score \(of 3\): 'match' 1$"):
        ann = read(UNSCORED)
    assert (ann.sizes["item"], ann.sizes["annotation"], ann.attrs["missing_scores"]) == (3, 5, 1)


def test_epochs_need_an_item_for_each_row(read):
    epochs = INSPECT.replace("s2,q2,1", "s2,q1,2")
    with pytest.raises(dx.AnnotationError, match=r"'id', line 2 and line 3.*item=\"sample_id\"$"):
        read(epochs)
    assert read(epochs, item="sample_id", cluster="id")["cluster"].values.tolist() == ["q1", "q3"]


def test_other_files_and_arguments_are_refused(read, file):
    scores = "score_match,score_model_graded_qa,"
    numbers = INSPECT.replace(",C,C,", ",1,C,").replace(",I,", ",.5,")
    check_refused(dx.AnnotationError, [
        ("no scores", lambda: read("id,epoch\n1,1\n"),
         r"s.csv: expected columns 'score_<scorer>'.*; found the columns 'id', 'epoch'"),
        ("all missing columns", lambda: read(INSPECT.replace(",id,", ",key,"), cluster="x"),
         r"columns 'id', 'x': .*item=.*cluster="),
        ("another scorer", lambda: read(label="exact"),
         r"expected a scorer 'exact', which label= names; found the scorers 'match', 'model_gr"),
        ("two kinds", lambda: read(numbers),
         r"expected scorers with values of one kind; found .*numbers of 'match' \(such as '1'\).*"
         r"Read one at a time"),
        ("an object", lambda: read(INSPECT.replace("sums,C,C", 'sums,"{""a"": 1}",C')),
         r"s.csv, line 2, scorer 'match': expected a text or a number; found \{'a': 1\}"),
        ("nothing", lambda: read(INSPECT.replace("sums,C,C", "sums,,C").replace(",I,", ",,"),
                                 label="match"), r"expected scores from 'match'; found none"),
        ("rank", lambda: read(rank="epoch"), r"rank=: expected no such argument with .*inspect-ai"),
        ("system", lambda: read(reader=dx.read_predictions, system="model"),
         r"system=: expected no"),
        ("no format", lambda: dx.read_predictions(file("s.csv", INSPECT)),
         r"looks like a table of samples of Inspect.*format='inspect-ai'"),
    ])  # fmt: skip
    assert scores in INSPECT


def test_answers_of_models_are_read_without_a_format(file):
    rows = INSPECT.splitlines()
    text = "\n".join([f"model,{rows[0]}", *(f"m1,{row}" for row in rows[1:])])
    pred = dx.read_predictions(
        file("s.csv", text), item="id", system="model", label="score_model_graded_qa_answer"
    )
    assert pred["system"].values.tolist() == ["m1"]
    assert set(pred["label"].values) == {"2", "four", "Basel"}
