"""Votes on pairs, from tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data.pairs import checked_pairs, copies
from dissensus.families.pairs.process import process

FRAME = pd.DataFrame({
    "model_a": ["x", "y", "x", "z"], "model_b": ["y", "z", "z", "x"],
    "winner": ["model_a", "z", "tie", "model_b"], "judge": ["p", "q", "p", "p"],
    "question": [81, 81, 90, 90],
})  # fmt: skip
SIDES = {"left": "model_a", "right": "model_b"}


def test_a_winner_is_a_side_a_column_or_a_system():
    votes = dx.pairs(FRAME, **SIDES, annotator="judge", item="question")
    assert votes["outcome"].to_numpy().tolist() == [0, 2, 1, 2]
    systems = votes["system"].to_numpy()
    assert systems[votes["left_code"]].tolist() == ["x", "y", "x", "z"]
    assert systems[votes["right_code"]].tolist() == ["y", "z", "z", "x"]
    assert votes["annotator"].to_numpy()[votes["annotator_code"]].tolist() == list("pqpp")
    assert votes["item"].to_numpy()[votes["item_code"]].tolist() == [81, 81, 90, 90]
    words = FRAME.assign(winner=["left", "right", "tie", "right"])
    np.testing.assert_array_equal(dx.pairs(words, **SIDES)["outcome"], votes["outcome"])


def test_other_words_for_a_tie():
    frame = FRAME.assign(winner=["x", "tie (inconsistent)", "tie", "x"])
    votes = dx.pairs(frame, **SIDES, ties=["tie", "tie (inconsistent)"])
    assert votes["outcome"].to_numpy().tolist() == [0, 1, 1, 2]
    assert dx.pairs(FRAME.assign(winner="both"), **SIDES, ties="both")["outcome"].min() == 1


def test_names_that_are_numbers():
    votes = dx.pairs({"left": [1, 2], "right": [2, 3], "winner": [1, 3]})
    assert votes["system"].to_numpy().tolist() == [1, 2, 3]
    assert votes["outcome"].to_numpy().tolist() == [0, 2]


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"winner": ["x", "x", "tie", "x"]}, {},
         r"column 'winner', row 1: expected one of .* systems of the row, 'y', 'z'; found 'x' "
         r"\(such rows: 1\). The winner must be one of the two"),
        ({"winner": ["x", "Tie", "tie", "draw"]}, {},
         r"row 1: .*found 'Tie' \(such rows: 2, with .*'Tie' is 'tie' except for capitals.*"
         r"type ties=\['tie', 'Tie', 'draw'\]; words for the sides are the names of their columns"),
        ({"model_b": ["x", "z", "z", "x"]}, {},
         r"columns 'model_a' and 'model_b', row 0: expected two different systems; found 'x' on"),
        ({"winner": ["x", None, "tie", "x"]}, {}, r"column 'winner', row 1: .*missing value"),
        ({"model_a": ["x", "y", "tie", "z"], "winner": ["x", "z", "tie", "x"]}, {},
         r"found 'tie': a system, and a word for .*Name the tie with ties="),
        ({}, {"winner": "won"}, r"'won'"),
        ({}, {"ties": []}, r"ties: expected a word of the column of winners"),
        ({}, {"left": None}, r"left=: expected the name of a column"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(change, options, words):
    with pytest.raises(dx.AnnotationError, match=words):
        dx.pairs(FRAME.assign(**change), **{**SIDES, **options})


def test_words_for_sides_and_tables_of_winners_have_their_hints():
    rows = {"left": list("xyx"), "right": list("yzz"), "winner": ["a", "tie", "b"]}
    with pytest.raises(dx.AnnotationError, match=r"\.replace\(\{'a': 'left', 'b': 'right'\}\)"):
        dx.pairs(rows)
    with pytest.raises(dx.AnnotationError, match=r"ties=\['tie', 'a', 'b'\]"):  # some are named
        dx.pairs({**rows, "left": list("xyx") * 2, "right": list("yzz") * 2,
                  "winner": ["a", "tie", "b", "x", "left", "z"]})  # fmt: skip
    with pytest.raises(dx.AnnotationError, match=r"\(\{'A': 'left', 'B': 'right'\}\)"):
        dx.pairs({**rows, "winner": ["B", "A", "B"]})  # whichever comes first
    with pytest.raises(dx.AnnotationError, match=r"ties=\['tie', 'both bad', 'both good'\]"):
        dx.pairs({**rows, "winner": ["both bad", "both good", "tie"]})
    rows = {"winner": ["x", "y"], "loser": ["y", "z"]}
    with pytest.raises(dx.AnnotationError, match="type left='winner', right='loser'"):
        dx.pairs(rows)
    assert dx.pairs(rows, left="winner", right="loser")["outcome"].to_numpy().tolist() == [0, 0]


def test_numbers_are_the_same_names_written_otherwise():
    votes = dx.pairs({"left": [3.5, 4.0], "right": [4, 3], "winner": [4, 4]})
    assert votes["system"].to_numpy().tolist() == [3.0, 3.5, 4.0]
    assert votes["outcome"].to_numpy().tolist() == [2, 0]
    mixed = dx.pairs({"left": [1, 2], "right": ["x", "y"], "winner": ["1", "y"]})
    assert mixed["system"].to_numpy().tolist() == ["1", "2", "x", "y"]


def test_a_word_for_two_outcomes_is_refused():
    words = {"left": ["x"], "right": ["y"], "winner": ["left"]}
    for options in ({"left": "right", "right": "left"}, {"ties": ["left"]}):
        with pytest.raises(
            dx.AnnotationError, match=r"'left', for left as well as for|'right', for right as"
        ):
            dx.pairs(words, **options)


def test_models_name_what_they_cannot_take():
    votes, fit = dx.pairs(FRAME, **SIDES), dx.models.bradley_terry.fit
    with pytest.raises(dx.ArgumentError, match=r'annotators: .* no annotators.*annotator="'):
        fit(votes, annotators=True)
    with pytest.raises(dx.AnnotationError, match=r"bradley_terry; found 'nominal'.*dx\.pairs"):
        fit(dx.from_matrix([["a", "b"]]))
    with pytest.raises(dx.AnnotationError, match=r"'outcome'.*0 to 2; found codes from 3"):
        fit(votes.assign(outcome=votes["outcome"] * 0 + 3))
    with pytest.raises(dx.AnnotationError, match="no 'outcome'"):
        fit(votes.drop_vars("outcome"))


def test_votes_are_valid_and_become_a_table_that_is_read_again():
    rows = {"left": list("ab"), "right": list("bc"), "winner": ["left", "tie"], "who": ["u", "v"],
            "prompt": [1, 2]}  # fmt: skip
    votes = dx.pairs(rows, annotator="who", item="prompt")
    assert dx.validate(votes) is votes
    table = dx.to_dataframe(votes)
    assert table.columns.tolist() == ["left", "right", "winner", "annotator", "item"]
    again = dx.pairs(table, annotator="annotator", item="item")
    xr.testing.assert_equal(again, votes)
    with pytest.raises(dx.AnnotationError, match="'outcome'"):
        dx.validate(votes.drop_vars("outcome"))


def test_voters_without_a_vote_are_left_out():
    rows = {"left": list("aba"), "right": list("bcc"), "winner": ["left"] * 3, "who": list("uvw")}
    some = checked_pairs(dx.pairs(rows, annotator="who").isel(vote=[0, 2]))
    assert some["annotator"].to_numpy()[some["annotator_code"]].tolist() == ["u", "w"]
    assert some.sizes["annotator"] == 2


def test_where_each_system_has_one_prompt_prompts_are_left_out():
    rng = np.random.default_rng(1)
    left = rng.integers(3, size=60)
    prompt = rng.integers(4, size=60)
    right = (left + rng.integers(1, 3, 60)) % 3
    names = np.array([[f"{p}{k}" for k in "abc"] for p in range(4)])
    rows = {"left": names[prompt, left], "right": names[prompt, right], "winner": ["left"] * 60}
    votes = dx.pairs(rows | {"prompt": prompt}, item="prompt")
    with pytest.warns(dx.DesignWarning, match="groups"):
        assert process(votes, items=None).form.items == 0
    nested = pytest.warns(dx.DesignWarning, match="Each system has votes on one prompt only")
    with pytest.warns(dx.DesignWarning, match="groups"), nested:
        assert process(votes, items=True).form.items == 1
    crossed = dx.pairs(rows | {"prompt": rng.integers(4, size=60)}, item="prompt")
    with pytest.warns(dx.DesignWarning, match="groups"):
        assert process(crossed, items=None).form.items == 1


def test_tables_that_were_joined_twice_are_noticed():
    """Even if votes are named; but not if a few different votes occur often."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "left": rng.choice(list("abc"), 60), "right": "d", "winner": rng.choice(["left", "d"], 60),
        "voter": rng.choice(list("xyz"), 60), "prompt": np.arange(60),
    })  # fmt: skip
    named = {"annotator": "voter", "item": "prompt"}
    twice = dx.pairs(pd.concat([frame, frame]), **named)
    assert copies(twice).startswith("Each vote occurs 2 times: the 120 rows contain 60 different")
    assert copies(dx.pairs(pd.concat([frame, frame, frame[:1]]), **named)) == ""
    assert copies(dx.pairs(pd.concat([frame[["left", "right", "winner"]]] * 2))) == ""
    with pytest.warns(dx.DesignWarning, match=r"drop the copies \(frame.drop_duplicates\(\)\)\."):
        dx.models.bradley_terry.fit(
            twice, draws=4, tune=4, chains=1, random_seed=1, progressbar=False
        )
