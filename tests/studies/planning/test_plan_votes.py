"""Plans of votes on pairs beside a judge's verdicts."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.studies.planning.votes import _as_narrow

N_PAIRS, WORDS = 150, np.array(["left", "right"])


def study(agreement, n_votes=60, seed=3):
    """Return votes on some pairs of four systems, and verdicts on all: a share of them agrees."""
    rng = np.random.default_rng(seed)
    pair = np.array([rng.permutation(4)[:2] for _ in range(N_PAIRS)])
    apart = np.array([1.0, 0.4, -0.4, -1.0])[pair] @ [1.0, -1.0]
    vote = (rng.random(N_PAIRS) > 1 / (1 + np.exp(-apart))).astype(int)
    verdict = np.where(rng.random(N_PAIRS) < agreement, vote, 1 - vote)
    columns = {"item": np.arange(N_PAIRS), "left": np.array(list("abcd"))[pair[:, 0]],
               "right": np.array(list("abcd"))[pair[:, 1]]}  # fmt: skip
    seen = slice(0, n_votes)
    votes = {name: values[seen] for name, values in columns.items()} | {"winner": WORDS[vote[seen]]}
    return dx.pairs(votes, item="item"), dx.pairs(columns | {"winner": WORDS[verdict]}, item="item")


def planned(votes, verdicts, items=(30, 75), **more):
    how = {"draws": 200, "random_seed": 1, "progressbar": False, **more}
    return dx.plan(votes, items=items, predictions=verdicts, **how)


@pytest.mark.long
def test_a_good_judge_saves_votes_and_one_who_guesses_does_not():
    """A judge who agrees with 19 votes of 20 leaves little open; one who tosses coins, all."""
    good, guess = (planned(*study(agreement)) for agreement in (0.95, 0.5))
    saved = (good["items_alone"] / good["item"]).to_numpy()
    assert (saved > 1.3).all()
    ratio = (guess["half_width"] / guess["half_width_alone"]).to_numpy()
    assert (np.abs(ratio - 1.0) < 0.15).all()
    assert good["half_width"].dims == ("annotator", "item")
    assert good["annotator"].to_numpy().tolist() == [1]
    told, alone = (f"{float(good[f'half_width{name}'][0, 1]):.3f}" for name in ("", "_alone"))
    assert good.attrs["in_words"].startswith(
        "With 1 vote on each of 75 of 150 judged pairs, 89\N{NO-BREAK SPACE}% intervals of win "
        f"rates are on average ±{told.lstrip('0')}, and ±{alone.lstrip('0')} without the verdicts."
    )
    assert guess.attrs["judged_pairs"] == N_PAIRS


@pytest.mark.long
def test_planned_intervals_are_as_wide_as_those_of_such_a_study():
    """Of the same kind of study, made anew and analysed as a user would."""
    widths = []
    for seed in range(8):
        votes, verdicts = study(0.8, 75, seed)
        fit = dx.models.bradley_terry.fit(
            votes, predictions=verdicts, random_seed=1, progressbar=False
        )
        ends = dx.win_rate(fit, random_seed=1).quantile([0.055, 0.945], ("chain", "draw"))
        widths.append(float(ends.diff("quantile").mean()) / 2)
    plans = [planned(*study(0.8, 60, seed), items=(75,)) for seed in range(3)]
    half = np.mean([float(plan["half_width"][0, 0]) for plan in plans])
    assert half == pytest.approx(np.mean(widths), rel=0.1)


@pytest.mark.long
def test_more_votes_on_a_pair_narrow_intervals_and_a_wider_interval_is_wider():
    votes, verdicts = study(0.8)
    plan = planned(votes, verdicts, items=(40,), annotators=(1, 4))
    assert float(plan["half_width"][1, 0]) < float(plan["half_width"][0, 0])
    wider = planned(votes, verdicts, items=(40,), annotators=(1, 4), prob=0.99)
    assert (wider["half_width"] > plan["half_width"]).all()
    again = planned(votes, verdicts, items=(40,), annotators=(1, 4))
    assert again.identical(plan)


@pytest.mark.long
def test_voters_sides_and_prompts_of_the_pilot_are_kept():
    """Named voters with their own sharpness, several votes on a prompt."""
    rng = np.random.default_rng(5)
    n = 90
    frame = {
        "item": np.arange(n) % 15,
        "left": rng.choice(list("ab"), n),
        "right": ["c"] * n,
        "winner": rng.choice(["left", "tie", "right"], n),
        "who": rng.choice(list("uvw"), n),
    }
    verdicts = {name: frame[name] for name in ("item", "left", "right")} | {"winner": ["left"] * n}
    seen = {(i, s): k for k, (i, s) in enumerate(zip(frame["item"], frame["left"], strict=True))}
    first = sorted(seen.values())
    verdicts = {name: np.array(values)[first] for name, values in verdicts.items()}
    plan = planned(
        dx.pairs(frame, item="item", annotator="who"), dx.pairs(verdicts, item="item"),
        items=(len(first),),
    )  # fmt: skip
    # Votes on all judged pairs: nothing is left open, with or without a judge.
    assert plan["half_width"].to_numpy() == pytest.approx(0.0, abs=1e-12)
    assert float(plan["items_alone"][0, 0]) == len(first)
    assert "±.000 without the verdicts. The verdicts save no votes." in plan.attrs["in_words"]


def test_votes_for_the_same_length_follow_from_lengths():
    """Twice as long without: 1 / n - 1 / N must be four times smaller, by hand for N = 100."""
    told, alone = np.array([[0.1, 0.1, 0.0]]), np.array([[0.2, 0.1, 0.0]])
    found = _as_narrow(told, alone, np.array([20, 50, 100]), 100)
    assert found[0] == pytest.approx([1 / ((1 / 20 - 1 / 100) / 4 + 1 / 100), 50, 100])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"predictions": None}, "predictions: expected judges' verdicts on all pairs"),
        ({"items": (30, 151)}, r"items: expected at most 150, .*; found 151. Type items=\(15, 45"),
        ({"accuracy": 0.8}, "accuracy: expected none, since win rates are planned"),
        ({"target": 0.8}, "target: expected none, since win rates are planned"),
        ({"draws": 10}, "draws: expected a whole number, 100 or more"),
        ({"progressbar": "yes"}, "progressbar: expected True or False"),
    ],
)
def test_what_makes_no_plan_of_votes_is_refused(more, words):
    votes, verdicts = study(0.8)
    with pytest.raises(dx.ArgumentError, match=words):
        dx.plan(votes, **{"items": (30,), "predictions": verdicts, "progressbar": False,
                          "random_seed": 1, **more})  # fmt: skip


def test_verdicts_are_for_votes_only():
    ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": ["a", "b"]})
    with pytest.raises(dx.ArgumentError, match="predictions: expected none, since the pilot has"):
        dx.plan(ann, predictions=study(0.8)[1])
