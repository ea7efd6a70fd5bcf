"""Sides on which answers were shown: when the votes cannot exclude that they bias the order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import dissensus as dx
from dissensus.families.pairs.sides import is_separable, side_warnings, sides


def votes(n=400, *, ordered=0.9, advantage=0.8, seed=0):
    """Votes on six systems; if ``ordered``, the lower number is put on the left that often."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=6)
    first = rng.integers(5, size=n)
    second = rng.integers(first + 1, 6)
    turned = rng.random(n) >= (1 + ordered) / 2
    left, right = np.where(turned, second, first), np.where(turned, first, second)
    won = rng.random(n) < expit(strength[left] - strength[right] + advantage)
    names = np.array([f"s{k}" for k in range(6)])
    return dx.pairs({"left": names[left], "right": names[right],
                     "winner": np.where(won, "left", "right")})  # fmt: skip


CASES = {
    "few were shown both ways": ({"seed": 1}, "possible"),
    "no advantage, few were shown both ways": ({"seed": 1, "advantage": 0.0}, "possible"),
    "an advantage that many votes show": ({"n": 4000}, "biased"),
    "many votes, no advantage": ({"n": 40_000, "ordered": 0.5, "advantage": 0.0}, "harmless"),
    "random sides": ({"ordered": 0.0}, "even"),
    "few votes on random sides": ({"n": 60, "ordered": 0.0}, "even"),
    "sorted names": ({"ordered": 1.0}, "unknown"),
    "sorted names, no advantage": ({"ordered": 1.0, "advantage": 0.0}, "unknown"),
    "very few votes": ({"n": 12}, ""),
    "winners and losers": ({"advantage": 100.0}, ""),
}


@pytest.mark.unit(10)
@pytest.mark.parametrize("name", list(CASES))
def test_what_the_votes_say_about_sides(name):
    options, state = CASES[name]
    data = votes(**options)
    known = sides(data)
    assert known.state == state
    heads = {"possible": "The side may matter: s0 was on the left", "biased": "The side matters: "}
    told = [f"{reason} {remedy}" for reason, remedy in side_warnings(data, modelled=False)]
    assert len(told) == (state in heads)
    if told:
        assert told[0].startswith(heads[state])
        assert told[0].endswith("Type side=True, which estimates the advantage of the side.")


def test_shares_of_the_left_and_the_error_by_hand():
    """Pairs a b (4 and 12 votes) and a c (one order): only the first was shown both ways."""
    left = ["a"] * 4 + ["b"] * 12 + ["a"] * 10
    right = ["b"] * 4 + ["a"] * 12 + ["c"] * 10
    winner = ["left"] * 3 + ["right"] + ["left"] * 6 + ["right"] * 5 + ["tie"] + ["left"] * 10
    known = sides(dx.pairs({"left": left, "right": right, "winner": winner}))
    assert (known.first, known.of_first) == ("b", 12 / 16)
    assert (known.last, known.of_last) == ("c", 0.0)
    assert known.won == pytest.approx((3 / 4 + 6.5 / 12) / 2)
    # Of a mean of two shares: the variance of a vote is at most 1/4.
    assert known.error == pytest.approx(np.sqrt(0.25 / 4 + 0.25 / 12) / 2)


def test_a_bias_of_this_size_is_excluded_or_not():
    """Shares on the left differ by .5: with error e, win rates differ by up to 2 x .5 x 2 e."""
    for n, state in ((100, "possible"), (3200, "harmless")):  # errors .058 and .010
        sign = np.tile([1, 1, 1, 0], n // 4)
        pair = {"left": np.where(sign, "a", "b"), "right": np.where(sign, "b", "a")}
        won = np.where(np.arange(n) // 4 % 2, "left", "right")
        assert sides(dx.pairs(pair | {"winner": won})).state == state


def test_with_the_side_in_the_model_only_what_it_cannot_know_is_warned_of():
    assert not list(side_warnings(votes(seed=1), modelled=True))
    assert not list(side_warnings(votes(ordered=1.0), modelled=True))  # by transitivity
    assert is_separable(votes(ordered=1.0))
    to_one = dx.pairs({"left": list("aaa"), "right": list("bcb"), "winner": list("acb")})
    assert not is_separable(to_one)
    ((reason, remedy),) = side_warnings(to_one, modelled=True)
    assert reason.startswith("The votes cannot separate the left side's advantage")
    assert remedy.startswith("Leave out side=True")
    winners = votes(advantage=100.0)
    ((reason, remedy),) = side_warnings(winners, modelled=True)
    assert reason.startswith("In each of 400 votes, the answer on the left won")
    assert remedy == "Leave out side=True."
