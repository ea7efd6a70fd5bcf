"""Votes of Chatbot Arena and MT-Bench."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from files_of_tools import ARENA, FASTCHAT, KAGGLE, MT_BENCH
from refusals import check_refused

import dissensus as dx


def votes(read):
    """Return the votes as tuples of left, right, outcome, voter and item."""
    systems = read["system"].values
    parts = [systems[read["left_code"]], systems[read["right_code"]], read["outcome"].values]
    parts += [read[d].values[read[f"{d}_code"]] for d in ("annotator", "item") if d in read.coords]
    return list(zip(*(part.tolist() for part in parts), strict=True))


def test_votes_of_mt_bench(file):
    read = dx.read_annotations(file("human.json", MT_BENCH), format="arena")
    assert votes(read) == [
        ("alpaca-13b", "gpt-3.5-turbo", 2, "author_2", "81, turn 1"),
        ("gpt-3.5-turbo", "alpaca-13b", 0, "expert_17", "81, turn 2"),
        ("gpt-4", "alpaca-13b", 1, "gpt-4,pair-v2", "82, turn 1"),
    ]
    assert read.attrs == {"kind": "pair", "format": "arena", "ties": "tie (inconsistent): 1"}


@pytest.mark.parametrize("ending", ["json", "jsonl", "parquet"])
def test_votes_of_the_arena_with_conversations(file, tmp_path, ending):
    if ending == "parquet":
        path = tmp_path / "a.parquet"
        pd.DataFrame(ARENA).to_parquet(path)
    else:
        path = file(f"a.{ending}", ARENA if ending == "json" else "\n".join(map(json.dumps, ARENA)))
    read = dx.read_annotations(path, format="arena")
    assert votes(read) == [
        ("chatglm-6b", "koala-13b", 2, "arena_user_973", "58210e39, turn 1"),
        ("koala-13b", "vicuna-13b", 1, "arena_user_973", "2cb6b23f, turn 1"),
    ]
    by_language = dx.read_annotations(path, format="arena", item="language")
    assert by_language["item"].values.tolist() == ["English", "German"]


def test_votes_of_kaggle_have_three_columns_and_no_voters(file):
    read = dx.read_annotations(file("train.csv", KAGGLE), format="arena")
    assert read["outcome"].values.tolist() == [0, 2, 1]
    assert "annotator" not in read.coords
    assert read["item"].values.tolist() == [30192, 53567, 65089]
    assert read.attrs["ties"] == "tie: 1"


def test_verdicts_of_a_judge_are_two_votes_with_the_sides_changed(file):
    path = file("gpt-4_pair.jsonl", "\n".join(map(json.dumps, FASTCHAT)))
    read = dx.read_annotations(path, format="arena")
    first, second = "gpt-4,pair-v2", "gpt-4,pair-v2-multi-turn"
    assert votes(read) == [
        ("alpaca-13b", "gpt-4", 2, first, "81, turn 1"),
        ("gpt-4", "alpaca-13b", 0, first, "81, turn 1"),
        ("alpaca-13b", "gpt-4", 1, second, "81, turn 2"),
        ("gpt-4", "alpaca-13b", 2, second, "81, turn 2"),
    ]
    assert read.attrs == {"kind": "pair", "format": "arena", "ties": "tie: 1"}
    assert dx.read_annotations(path, format="arena", annotator="turn")["annotator"].size == 2


def test_the_newest_word_for_two_bad_answers(file):
    rows = [{"id": "x", "model_a": "a", "model_b": "b", "winner": "both_bad"}]
    read = dx.read_annotations(file("a.json", rows), format="arena")
    assert read["outcome"].values.tolist() == [1]
    rows = [{"model_a": "b", "model_b": "a", "winner": "model_a"}]
    bare = dx.read_annotations(file("b.json", rows), format="arena")
    assert set(bare.coords) == {"system"}
    assert bare.attrs["ties"] == "none"


def test_the_data_are_those_of_pairs(file):
    table = pd.DataFrame(MT_BENCH[:2])
    made = dx.pairs(table, "model_a", "model_b", annotator="judge", item="question_id")
    path = file("human.json", MT_BENCH[:2])
    read = dx.read_annotations(path, format="arena", item="question_id")
    assert read.drop_attrs().identical(made.drop_attrs())


def test_other_files_and_arguments_are_refused(file):
    def read(rows, **options):
        return lambda: dx.read_annotations(file("v.json", rows), format="arena", **options)

    def changed(**cells):
        return [MT_BENCH[0] | cells, MT_BENCH[1]]

    kaggle = KAGGLE.replace("1,0,0", "1,1,0").replace("0,0,1", "0,0,0")
    check_refused(dx.AnnotationError, [
        ("a word", read(changed(winner="draw")),
         r"v.json: column 'winner', row 0: expected one of 'model_a', .*'tie \(inconsistent\)'; "
         r"found 'draw' \(such rows: 1\).*dx\.pairs\("),
        ("all words", read([MT_BENCH[0] | {"winner": w} for w in ("draw", None, ["x"], "draw")]),
         r"found 'draw', no value, \['x'\] \(such rows: 4\)"),
        ("no verdict", read([FASTCHAT[0], FASTCHAT[1] | {"g2_winner": "error"}]),
         r"v.json: column 'g2_winner', row 1: expected one of 'model_1', 'model_2', 'tie'; found "
         r"'error' \(such rows: 1\).*Delete the rows without a verdict"),
        ("one model", read([FASTCHAT[0], FASTCHAT[1] | {"model_2": "alpaca-13b"}]),
         r"columns 'model_1', 'model_2', row 1: expected two different models; found 'alpaca-13b'"),
        ("both forms", read([FASTCHAT[0] | {"model_a": "x"}]), "'g2_winner'; found also 'model_a'"),
        ("no first model", read([{"model_1": None, "model_2": "b", "g1_winner": "tie",
                                  "g2_winner": "tie"}]),
         r"v\.json.*: column 'model_1'.* expected a value"),
        ("half a judge", read([{"model_1": "a", "model_2": "b", "g1_winner": "tie"}]),
         r"expected 'model_1', .*found no 'g2_winner'"),
        ("columns", read([{"model_a": "a", "winner_tie": 1}]),
         r"expected 'model_a', 'model_b', 'winner_model_a', .*found no 'model_b', "
         r"'winner_model_a', 'winner_model_b' among 'model_a', 'winner_tie'"),
        ("one system", read(changed(model_b="alpaca-13b")), r"row 0: expected two different"),
        ("a named column", read(MT_BENCH, annotator="who"), r"v.json: column 'who'.*annotator="),
        ("label", read(MT_BENCH, label="winner"), r"label=: expected no such argument with "),
        ("kind", read(MT_BENCH, kind="nominal"), r"kind=: expected None with format=\"arena\""),
        ("labels", read(MT_BENCH, labels=["model_a"]), r"labels=: expected None"),
        ("chunks", read(MT_BENCH, chunks=1), r"found votes on pairs"),
        ("three columns",
         lambda: dx.read_annotations(file("k.csv", kaggle), format="arena"),
         r"k.csv: columns 'winner_model_a', .*, line 2: expected a 1 in one of them, 0 in the "
         r"others; found 1, 1, 0 \(such rows: 2\)"),
    ])  # fmt: skip
