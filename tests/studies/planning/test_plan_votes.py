"""Plans of votes on pairs beside a judge's verdicts."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.families.pairs.evidence import prompts_of
from dissensus.studies.planning.judged import _voted

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
    lengths = good["half_width_alone"][0].to_numpy()  # by which votes saved are counted
    assert lengths[0] / lengths[1] == pytest.approx(np.sqrt(75 / 30), rel=0.15)
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


@pytest.mark.slow
def test_planned_intervals_are_as_wide_as_those_of_such_a_study():
    """Of the same kind of study, made anew and analysed as a user would."""
    widths = []
    for seed in range(8):
        votes, verdicts = study(0.8, 75, seed)
        fit = dx.models.bradley_terry.fit(
            votes, predictions=verdicts, random_seed=1, progressbar=False
        )
        rates = dx.win_rate(fit, as_cast=False, random_seed=1)
        ends = rates.quantile([0.055, 0.945], ("chain", "draw"))
        widths.append(float(ends.diff("quantile").mean()) / 2)
    plans = [planned(*study(0.8, 60, seed), items=(75,)) for seed in range(3)]
    half = np.mean([float(plan["half_width"][0, 0]) for plan in plans])
    assert half == pytest.approx(np.mean(widths), rel=0.15)


@pytest.mark.slow
def test_more_votes_on_a_pair_narrow_intervals_and_a_wider_interval_is_wider():
    votes, verdicts = study(0.8)
    plan = planned(votes, verdicts, items=(40,), annotators=(1, 4))
    assert float(plan["half_width"][1, 0]) < float(plan["half_width"][0, 0])
    wider = planned(votes, verdicts, items=(40,), annotators=(1, 4), prob=0.99)
    assert (wider["half_width"] > plan["half_width"]).all()
    again = planned(votes, verdicts, items=(40,), annotators=(1, 4))
    assert again.identical(plan)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The chains have not run")
def test_votes_on_all_judged_pairs_are_a_sample_as_in_evaluations():
    """The plan is of the numbers that an evaluation of such votes shows."""
    votes, verdicts = study(0.8, N_PAIRS)
    shown = dx.evaluate(votes, verdicts, draws=400, random_seed=1, progressbar=False)
    ends = shown["leaderboard"]["win_rate"].quantile([0.055, 0.945], ("chain", "draw"))
    plan = planned(votes, verdicts, items=(N_PAIRS,))
    half = float(ends.diff("quantile").mean()) / 2
    assert float(plan["half_width"][0, 0]) == pytest.approx(half, rel=0.2)
    assert "nothing to add" not in plan.attrs["in_words"]


@pytest.mark.long
def test_simulated_votes_are_those_of_the_pilots_posterior():
    """Prompts and pairs are judged ones, voters the pilot's, and outcomes have its frequencies."""
    rng = np.random.default_rng(6)
    left, right = np.array([rng.permutation(3)[:2] for _ in range(240)]).T
    names = np.array(["tie", "y", "x"])  # a tie is called = here
    frame = {
        "item": [f"q{k}" for k in range(240)],
        "left": names[left],
        "right": names[right],
        "winner": np.where(left < right, "left", "right"),
        "who": rng.choice(list("uvw"), 240),
    }
    frame["winner"] = np.where(rng.random(240) < 0.15, "=", frame["winner"])
    read = {"item": "item", "ties": "="}
    verdicts = dx.pairs(frame | {"who": ["j"] * 240}, annotator="who", **read)
    votes = dx.pairs(frame, annotator="who", **read)
    fit = dx.models.bradley_terry.fit(votes, predictions=verdicts, random_seed=1, progressbar=False)
    drawn = _voted(fit, prompts_of(votes, verdicts), 240, 4, np.random.default_rng(1))
    assert drawn["annotator"].to_numpy().tolist() == list("uvw")
    item = drawn["item"].to_numpy()[drawn["item_code"].to_numpy()]
    assert np.unique(item, return_counts=True)[1].tolist() == [4] * 240
    side = {name: drawn["system"].to_numpy()[drawn[f"{name}_code"]] for name in ("left", "right")}
    place = np.array([int(name[1:]) for name in item])
    met = [{*pair} for pair in zip(side["left"], side["right"], strict=True)]
    assert met == [{names[left[k]], names[right[k]]} for k in place]
    order = {name: k for k, name in enumerate(names)}
    better = np.array([order[a] < order[b] for a, b in zip(*side.values(), strict=True)])
    outcome = drawn["outcome"].to_numpy()
    assert np.mean(outcome == 1) == pytest.approx(0.15, abs=0.08)
    assert np.mean(np.where(better, outcome == 0, outcome == 2)) > 0.7


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


@pytest.mark.filterwarnings("ignore:The chains have not run")
def test_a_fit_is_no_pilot():
    votes, verdicts = study(0.8)
    fit = dx.models.bradley_terry.fit(
        votes, predictions=verdicts, draws=5, tune=5, items=False, progressbar=False, random_seed=1
    )
    with pytest.raises(dx.ArgumentError, match=r"Type plan\(votes, predictions=verdicts\)"):
        dx.plan(fit, predictions=verdicts)


@pytest.mark.filterwarnings("ignore:The chains have not run")
def test_verdicts_are_for_votes_only():
    ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": ["a", "b"]})
    with pytest.raises(dx.PredictionError, match="predictions: expected labels over"):
        dx.plan(ann, predictions=study(0.8)[1])
