"""Common mistakes in files: the message of each, and what it says to type."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli.app import app
from dissensus.data.alignment import Sources
from dissensus.data.refusals import require_fit

ITEMS = [f"{number:05d}" for number in range(260, 290)]
NO, PRED = "no item in common", "--predictions"
# Name, what is typed after `dissensus check`, exit code, parts of errors or notes in order.
MISTAKES = [
    ("zeros", ["ann.csv", PRED, "pred_int.csv"], 2,
     [NO, "00260 in ann.csv is 260 in pred_int.csv: write them alike (such items: 30)"]),
    ("floats", ["ann.csv", PRED, "pred_float.csv"], 2,
     [NO, "00260 in ann.csv is 260.0 in pred_float.csv: write them alike"]),
    ("zeros, drop", ["ann.csv", PRED, "pred_int.csv", "--on-missing", "drop"], 2, [NO, "alike"]),
    ("blanks and capitals", ["ann.csv", PRED, "pred_blank.csv"], 2,
     ["00289 in ann.csv is '00289 ' in pred_blank.csv", "Use --on-missing drop"]),
    ("other items", ["ann.csv", PRED, "pred_other.csv"], 2, [NO, "Write the names of items alike"]),
    ("probabilities", ["ann.csv", PRED, "pred_prob.csv"], 2,
     ["expected labels", "as probabilities are", "Give the label that each system chose",
      "a row for each label with its probability", "--score COLUMN", "--kind continuous"]),
    ("labels for numbers", ["scores.csv", PRED, "pred.csv"], 2,
     ["expected numbers", "Give the number that each system predicts", "--kind nominal"]),
    ("other labels", ["ann.csv", PRED, "pred_words.csv"], 2,
     ["no label in common", "Write the labels alike", "--labels"]),
    ("scores as labels", ["scores.csv", PRED, "pred.csv", "--kind", "nominal"], 2,
     ["no label in common", "read both with --kind continuous"]),
    ("few", ["ann.csv", PRED, "pred_few.csv"], 2,
     ["4 annotated items without predictions: '00286', '00287'", "Use --on-missing drop"]),
    ("few, drop", ["ann.csv", PRED, "pred_few.csv", "--on-missing", "drop"], 0,
     ["Left out: 4 annotated items without predictions: '00286'"]),
    ("two at once", ["ann.csv", PRED, "pred_int_prob.csv"], 2,
     ["00260 in ann.csv is 260", "Give the label that each system chose"]),
    ("both files", ["blank.csv", PRED, "other.csv"], 2,
     ["column 'label', line 5", "other.csv: columns 'item', 'system', 'label'",
      "--prediction-label class", "rename the column of one"]),
    ("one cluster", ["cluster.csv", "--cluster", "site"], 2, ["two clusters", "without --cluster"]),
    ("columns", ["other.csv"], 2,
     ["columns 'item', 'annotator', 'label'", "--item image --annotator rater --label class"]),
    ("rank", ["ann.csv", "--rank", "rank", PRED, "pred_rank.csv"], 2,
     ["column 'rank'", "--prediction-rank rank instead of --rank"]),
    ("lists", ["ann.csv", PRED, "pred_rank.csv"], 2, ["--score or --prediction-rank"]),
    ("Label Studio", ["ls.json"], 2, ["Label Studio", "--format label-studio"]),
    ("Prodigy", ["prodigy.jsonl"], 2, ["Prodigy", "--format prodigy"]),
    ("Argilla", ["argilla.json"], 2, ["Argilla", "--format argilla"]),
    ("Label Studio, predictions", ["ann.csv", PRED, "ls_pred.json"], 2,
     ["--predictions-format label-studio"]),
    ("votes", ["votes.csv"], 2, ["Chatbot Arena", "--format arena"]),
    ("votes on pairs", ["votes.csv", "--format", "arena"], 0, []),
    ("blank labels", ["blank.csv"], 2,
     ["line 5", "(2 of 90 rows, 1 of them with nothing but blanks)", "Delete the rows",
      "a word that stands for no answer"]),
    ("a word among scores", ["mixed.csv"], 2, ["a number (", "--kind continuous"]),
    ("scores, label space", ["scores.csv", "--kind", "ordinal", "--labels", "1,2.5"], 2,
     ["--kind continuous without --labels"]),
    ("spelling", ["spell.csv"], 0,
     ["Labels that join others (rows): 'yes;no' (1)", "Keep one label in each row",
      "differ only in capitals or blanks (rows): 'No ' (1), 'YES' (1)", "Write them alike"]),
    ("zero and one", ["zero.csv"], 0,
     ["whole numbers (0, 1)", "nominal until the kind is given", "--kind nominal",
      "--kind ordinal"]),
    ("zero and one, said", ["zero.csv", "--kind", "nominal"], 0, []),
    ("one annotator", ["one.csv"], 0, ["only one annotator", "depend on the prior"]),
    ("scores as grades", ["scores.csv", "--kind", "ordinal"], 0,
     ["with fractions", "--kind continuous"]),
    ("scores as names", ["scores.csv", "--kind", "nominal"], 0, ["fractions", "--kind continuous"]),
    ("grades as words", ["ann.csv", "--kind", "ordinal"], 2,
     ["found no --labels", "Name them in their order, such as --labels no,yes"]),
    ("tabs", ["tabs.csv"], 2, [r"--delimiter '\t'"]),
    ("tabs, named", ["tabs.csv", "--delimiter", r"\t"], 0, []),
    ("predictions in rows", ["ann.csv", PRED, "pred_long.csv"], 2,
     ["If each row is one prediction", "--system and --prediction-label"]),
    ("one column left", ["left.csv"], 2, ["--annotator worker --label sentiment"]),
    ("workbook", ["book.xlsx"], 2, ["Save the sheet as CSV"]),
    ("renamed workbook", ["book.csv"], 2, ["an Excel workbook", "Save the sheet as CSV"]),
    ("nothing", ["ann.csv", PRED, "pred.csv"], 0, []),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write the files; each has one mistake."""
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(1)

    def words(n):
        return rng.choice(["yes", "no"], n)

    def annotated(name, labels, people="abc", **more):
        table = {"item": np.repeat(ITEMS, len(people)), "annotator": list(people) * 30}
        frame = pd.DataFrame({**table, "label": labels, **more})
        frame.to_csv(folder / name, index=False)
        return frame

    def predicted(name, labels, items=ITEMS):
        frame = pd.DataFrame({"item": items, "system": "m", "label": labels})
        frame.to_csv(folder / name, index=False)

    ann = annotated("ann.csv", words(90))
    numbers = [int(item) for item in ITEMS]
    predicted("pred.csv", words(30))
    predicted("pred_int.csv", words(30), numbers)
    predicted("pred_float.csv", words(30), [float(item) for item in numbers])
    predicted("pred_blank.csv", words(30), [*ITEMS[:-1], ITEMS[-1] + " "])
    predicted("pred_other.csv", words(30), [f"x{item}" for item in ITEMS])
    predicted("pred_prob.csv", rng.random(30).round(3))
    predicted("pred_int_prob.csv", rng.random(30).round(3), numbers)
    predicted("pred_words.csv", ["maybe", "never"] * 15)
    predicted("pred_few.csv", words(26), ITEMS[:26])
    ranks = {"item": np.repeat(ITEMS, 2), "system": "m", "label": ["yes", "no"] * 30}
    pd.DataFrame({**ranks, "rank": [1, 2] * 30}).to_csv(folder / "pred_rank.csv", index=False)
    scores = rng.normal(8, 1, 90).round(2).astype(str)
    annotated("scores.csv", scores)
    annotated("mixed.csv", ["none", *scores[1:]])
    annotated("zero.csv", rng.integers(2, size=90))
    annotated("one.csv", words(30), "a")
    annotated("cluster.csv", words(90), site="here")
    for name, cells in {
        "blank.csv": {3: "", 7: " "}, "spell.csv": {3: "yes;no", 4: "No ", 5: "YES"},
    }.items():  # fmt: skip
        frame = ann.copy()
        frame.loc[list(cells), "label"] = list(cells.values())
        frame.to_csv(folder / name, index=False)
    ann.to_csv(folder / "tabs.csv", index=False, sep="\t")
    left = {"annotator": "worker", "label": "sentiment"}
    ann.rename(columns=left).to_csv(folder / "left.csv", index=False)
    long = {"item": ITEMS * 2, "model": np.repeat(["m", "n"], 30), "answer": words(60)}
    pd.DataFrame(long).to_csv(folder / "pred_long.csv", index=False)
    for name in ("book.xlsx", "book.csv"):
        (folder / name).write_bytes(b"PK\x03\x04\xff")
    names = {"item": "image", "annotator": "rater", "label": "class"}
    ann.rename(columns=names).to_csv(folder / "other.csv", index=False)
    for name, record in {
        "ls.json": {"id": 1, "data": {}, "annotations": []},
        "ls_pred.json": {"id": 1, "data": {}, "predictions": []},
        "argilla.json": {"id": "1", "fields": {}, "responses": {}},
    }.items():
        (folder / name).write_text(json.dumps([record]))
    (folder / "votes.csv").write_text("id,model_a,model_b,winner\n1,m,n,model_a\n")
    line = {"text": "x", "answer": "accept", "_input_hash": 1, "_session_id": "a"}
    (folder / "prodigy.jsonl").write_text(json.dumps(line) + "\n")
    return folder


def run(folder, monkeypatch, *words):
    monkeypatch.chdir(folder)
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["check", *words])


def test_each_mistake_is_said_with_its_remedy(folder, monkeypatch):
    wrong = []
    for name, words, code, parts in MISTAKES:
        done = run(folder, monkeypatch, *words, "--json")
        if done.exit_code != code or not done.stdout:
            wrong.append(f"{name}: exit code {done.exit_code}: {done.output} {done.exception}")
            continue
        message = json.loads(done.stdout)
        texts = message["errors"] if code else message["notes"]
        if message["valid"] != (code == 0):
            wrong.append(f"{name}: valid is {message['valid']}")
        if not re.search(".*".join(map(re.escape, parts)), " ".join(texts), re.DOTALL):
            wrong.append(f"{name}: {texts}")
        if not parts and (message["errors"] or message["notes"]):
            wrong.append(f"{name}: {message['errors']} {message['notes']}")
        printed = " ".join(run(folder, monkeypatch, *words).output.split())
        if any(" ".join(text.split()) not in printed for text in texts):
            wrong.append(f"{name}, printed: {printed}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.long
def test_evaluate_refuses_all_that_check_refuses(folder, monkeypatch):
    for name, words, code, _ in MISTAKES:
        if PRED not in words or "--format" in words:
            continue
        monkeypatch.chdir(folder)
        extra = ["--threshold", "8"] if words[0] == "scores.csv" and "--kind" not in words else []
        # Files are read and compared before anything is drawn; the model does not exist.
        done = CliRunner().invoke(app, ["evaluate", *words, *extra, "--model", "none of these"])
        assert done.exit_code, name
        is_data = isinstance(done.exception, dx.AnnotationError)
        assert is_data == (code == 2), (name, done.exception)


def test_one_error_says_all_that_does_not_fit():
    ann = dx.annotations({"item": ["01", "02"], "annotator": list("ab"), "label": list("xy")})
    pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": [0.2, 0.7]})
    with pytest.raises(dx.PredictionError) as caught:
        require_fit(ann, pred, "raise", sources=Sources("a.csv", "p.csv"))
    assert "01 in a.csv is 1 in p.csv: write them alike" in str(caught.value)
    assert "Give the label that each system chose" in str(caught.value)
    with pytest.raises(dx.PredictionError, match="01 in the annotations is 1 in the predictions"):
        dx.evaluate(ann, pred)


def test_evaluate_warns_of_labels_that_look_like_mistakes():
    labels = ["yes", "no", "yes;no", "No "]
    ann = dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"), "label": labels})
    with pytest.warns(dx.DissensusWarning) as caught, pytest.raises(dx.ArgumentError):
        dx.evaluate(ann, model="dirichlet", reliability=-1)
    texts = [str(record.message) for record in caught]
    assert len(texts) == 2
    assert texts[0].startswith("Labels that join others (rows): 'yes;no' (1)")
    assert texts[1].startswith("Labels that differ only in capitals or blanks (rows): 'No ' (1)")


@pytest.mark.parametrize("call", [dx.krippendorff_alpha, dx.models.dirichlet.fit, dx.evaluate])
def test_a_subset_taken_with_isel_is_refused_with_what_to_type(call):
    ann = dx.simulate.study(n_items=60, n_annotators=4, random_seed=1).annotations
    with pytest.raises(
        dx.AnnotationError,
        match=r"isel or sel .* not valid.*dx\.to_dataframe.*, rank=\"rank\", kind=",
    ):
        call(ann.isel(item=slice(30)))
    frame = dx.to_dataframe(ann)
    names = ann["item"].to_numpy()[:30]
    again = dx.annotations(frame[frame["item"].isin(names)], rank="rank", kind="ranking")
    assert again.sizes["item"] == 30
