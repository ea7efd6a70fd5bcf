"""The report of votes on pairs: its words, its numbers, and when it warns."""

from __future__ import annotations

import re

import arviz as az
import numpy as np
import pytest
import stored
import xarray as xr

import dissensus as dx
from dissensus.evaluation.next_votes import next_votes
from dissensus.reports import votes, votes_page
from dissensus.wording import digits_for, share, spoken_probability

LEVEL = 0.89


@pytest.fixture
def result():
    return stored.read("votes")


def plain(texts):
    return " ".join(map(str, texts)).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.usefixtures("no_pictures")
def test_the_page_is_whole(result, page):
    parsed = page(result)
    assert len(parsed.ids) == len(set(parsed.ids))
    tables = {"table-verdict", "table-better", "table-judge", "table-check", "table-voters"}
    assert tables <= set(parsed.ids)
    headings = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert max(np.diff(headings)) <= 1
    text = re.sub(r"\s+", " ", parsed.text)
    assert text.count("Can I trust this?") == 1
    assert plain(votes.vote_sentences("headline", votes.headline(result)))[:40] in plain([text])
    assert parsed.all("details")
    assert not any("open" in attrs for attrs in parsed.all("details"))


@pytest.mark.pictures
def test_the_page_has_one_picture(result, page):
    parsed = page(result)
    assert [a["id"] for a in parsed.all("figure")] == ["verdict"]
    rate = float(result["leaderboard"]["win_rate"].sel(system="strong").mean())
    assert f"strong {share(rate)}" in next(a["aria-label"] for a in parsed.all("svg"))


def test_golden_words(result):
    first, second, third, _ = dx.summary(result).to_dict("records")
    (pair,) = next_votes(result).to_dict("records")
    assert dx.describe(result) == (
        "strong is the best of 4 systems with probability "
        f"{spoken_probability(first['probability_best'])}: it "
        f"wins {100 * first['mean']:.0f} % of votes (89 % interval {100 * first['lower']:.0f} to "
        f"{100 * first['upper']:.0f} %), good {100 * second['mean']:.0f} %. good and fair cannot "
        f"be told apart (good is better with probability {share(pair['better'])})."
    )
    assert (second["system"], third["system"]) == ("good", "fair")
    assert plain(votes.vote_sentences("data", votes.data(result))) == (
        "120 votes on 4 systems by 5 voters, on 8 prompts; 15 % are ties. There are also "
        "verdicts of judge on 48 pairs of answers."
    )
    (step,) = votes.vote_sentences("next", votes.next_facts(result))
    more = re.fullmatch(
        r"Get about ([\d,]+) more votes, each by a new voter, on good against fair \(so far 22; .*",
        step,
    )
    assert float(more[1].replace(",", "")) == pytest.approx(pair["more"], rel=0.1)
    assert "| Win rate | strong |" in dx.describe(result, "markdown")


def test_numbers_are_those_of_the_draws(result):
    board = result["leaderboard"].to_dataset()
    table = votes.table(result)
    ends = az.eti(board["win_rate"], prob=LEVEL, dim=["chain", "draw"])
    d = digits_for(np.diff(ends.transpose("ci_bound", ...), axis=0).ravel())
    for name, mean, interval, rank, best, count in table.bodies[0].rows:
        rate, place = (board[part].sel(system=name) for part in ("win_rate", "rank"))
        assert mean == share(float(rate.mean()), d)
        low, high = az.eti(rate.to_numpy().ravel(), prob=LEVEL)
        assert interval == f"{share(low, d)} to {share(high, d)}"
        ends_of = np.unique(rank.split(" to ")).astype(int)
        inside = ((place >= ends_of.min()) & (place <= ends_of.max())).mean()
        assert float(inside) >= LEVEL
        assert best.strip("<> ") in {share(float((place == 1).mean())), ".01", ".99"}
        assert count == f"{int(board['votes'].sel(system=name)):,}"
    names = [str(row[0]) for row in votes.better_table(result).bodies[0].rows]
    for row, first in zip(votes.better_table(result).bodies[0].rows, names, strict=True):
        for cell, second in zip(row[1:], names, strict=True):
            a, b = (board["strength"].sel(system=name) for name in (first, second))
            assert cell == "" if first == second else cell == float((a > b).mean())
    heard, systems = result["predictions"], result["predictions"]["system"].to_numpy()
    for name, _, alone, by_verdicts in votes.judge_table(result).bodies[0].rows:
        won = {}  # by pair and prompt, of which there may be several verdicts
        for left, right, outcome, item in zip(*(heard[part].to_numpy() for part in (
            "left_code", "right_code", "outcome", "item_code")), strict=True):  # fmt: skip
            if name in (systems[left], systems[right]):
                each = 1 - 0.5 * outcome if systems[left] == name else 0.5 * outcome
                won.setdefault((min(left, right), max(left, right), item), []).append(each)
        assert by_verdicts == share(float(np.mean([np.mean(some) for some in won.values()])))
        before = result["votes_alone"]["win_rate"].sel(system=name).to_numpy().ravel()
        assert alone == " to ".join(map(share, az.eti(before, prob=LEVEL)))


def states(result):
    return [box.state for box in votes_page.boxes(result)]


def with_group(result, name, data):
    out = result.copy()
    out[name] = xr.DataTree(data)
    return out


def test_few_voters_and_one_prompt_are_told(result):
    ann = result["annotations"].to_dataset()
    n = ann.sizes["vote"]
    shares = [45, 45, 4, 3, 3]  # percent: 1 / (2 * .45 ** 2 + .04 ** 2 + 2 * .03 ** 2) = 2.45
    who = np.repeat(range(5), np.array(shares) * n // 100)
    who = np.concatenate([who, np.zeros(n - len(who), dtype=int)])
    weigh = n**2 / (np.bincount(who) ** 2).sum()
    box = votes_page._voters(with_group(result, "annotations", ann.assign(
        annotator_code=("vote", who))))  # fmt: skip
    assert box.state == "careful"
    assert f"as much as those of {weigh:.1f} equally active voters" in box.reason
    prompt = np.where(np.arange(n) < 0.6 * n, 2, np.arange(n) % 8)
    box = votes_page._voters(with_group(result, "annotations", ann.assign(
        item_code=("vote", prompt))))  # fmt: skip
    of_prompt = share((prompt == 2).mean())
    assert box.state == "careful"
    assert f"Prompt {ann['item'].values[2]} has {of_prompt} of the votes." in box.reason
    assert "Collect votes on other prompts" in box.remedy
    assert "voters" not in box.remedy


@pytest.mark.long
def test_boxes_warn(result):
    assert states(result) == ["fine"] * 5
    ann, check = (result[name].to_dataset() for name in ("annotations", "vote_check"))
    single = ann.assign(annotator_code=ann["annotator_code"] * 0)
    box = votes_page.boxes(with_group(result, "annotations", single))[2]
    assert (box.state, "voter v0, gave 1.00 of the votes" in box.reason) == ("careful", True)
    nameless = ann.drop_vars(["annotator", "annotator_code"])
    assert "do not name voters" in votes_page.boxes(with_group(result, "annotations", nameless))[
        2].reason  # fmt: skip
    few = ann.isel(vote=np.isin(ann["left_code"] + 4 * ann["right_code"], (1, 4, 2 + 12, 3 + 8)))
    box = votes_page.boxes(with_group(result, "annotations", few))[3]
    assert (box.state, "Only the verdicts determine" in box.reason) == ("careful", True)
    board = result["leaderboard"].to_dataset()
    apart = board.assign(group=("system", [0, 0, 1, 1]))  # strong and weak are 2 and 3
    alone = with_group(with_group(result, "annotations", few), "leaderboard", apart)
    box = votes_page.boxes(alone)[3]
    assert (box.state, "Only the prior determines" in box.reason) == ("stop", True)
    assert "2 groups ('fair', 'good' | 'strong', 'weak')" in box.reason
    # fair, good and weak are 0, 1 and 3: a cycle of them.
    won = check["observed"].copy()
    for first, second, value in ((0, 1, 0.95), (1, 3, 0.95), (0, 3, 0.05)):
        won[((check["first_code"] == first) & (check["second_code"] == second)).to_numpy()] = value
    turned = with_group(result, "vote_check", check.assign(observed=won))
    box = votes_page.boxes(turned)[1]
    assert box.state == "careful"
    assert "they form a cycle" in box.reason
    assert votes_page.fit_facts(turned)["third"] in {"fair", "good", "weak"}


def with_sides(result, left, right, outcome):
    """Put votes of these codes into an evaluation."""
    columns = {"left_code": left, "right_code": right, "outcome": outcome}
    ann = result["annotations"].to_dataset().isel(vote=np.arange(len(outcome)) % 120)
    votes = ann.assign({name: ("vote", np.asarray(code)) for name, code in columns.items()})
    return with_group(result, "annotations", votes)


def test_a_box_says_whether_the_side_biases_the_order(result):
    """System 0 is fair, 1 is good."""
    even = votes_page.boxes(result)[-1]
    assert even.state == "fine"
    assert even.reason.startswith("No: systems were on the left with differences that chance")
    left = np.tile([0, 0, 0, 0, 0, 1], 40)
    outcome = np.repeat([0, 2], 120)
    box = votes_page.side_box(with_sides(result, left, 1 - left, outcome))
    assert (box.state, box.remedy[:14]) == ("careful", "Type side=True")
    assert box.reason.startswith("Perhaps: fair was on the left in .83 of its votes, good in .17")
    box = votes_page.side_box(with_sides(result, left, 1 - left, np.arange(240) % 5 // 4 * 2))
    assert (box.state, box.reason[:35]) == ("careful", "Yes: on pairs that were shown both ")
    many = np.tile(left, 50)
    box = votes_page.side_box(with_sides(result, many, 1 - many, np.arange(12_000) // 6 % 2 * 2))
    assert (box.state, box.remedy) == ("fine", "")
    assert box.reason.startswith("Hardly: fair was on the left in .83 of its votes")
    # Each pair in one order: of two systems, side=True cannot separate the side; of three, it can.
    box = votes_page.side_box(with_sides(result, left * 0, left * 0 + 1, outcome))
    assert (box.state, box.reason[:8]) == ("careful", "Unknown:")
    assert box.remedy.endswith("If they were, get votes with the sides exchanged.")
    pairs = np.tile([[0, 0, 1], [1, 2, 2]], 80)
    box = votes_page.side_box(with_sides(result, *pairs, outcome))
    assert "If they were, type side=True" in box.remedy
    # The left column names the winners.
    winners = with_sides(result, left, 1 - left, left * 0)
    assert votes_page.side_box(winners) is None
    assert len(votes_page.boxes(winners)) == 4


def test_the_box_has_the_advantage_that_the_model_estimates(result):
    posterior = result["posterior"].to_dataset()
    side = xr.full_like(posterior["strength_spread"], 0.0) + np.log(4.0)
    tie = xr.zeros_like(side)
    made = with_group(result, "posterior", posterior.assign(side=side, tie=tie))
    box = votes_page.side_box(made)
    assert box.state == "fine"
    # Odds of 2 : 1 : 1 / 2.
    assert "in .71 of the votes (89 % interval .71 to .71)" in plain([box.reason])
    left = np.zeros(240, dtype=int)
    box = votes_page.side_box(with_sides(made, left, left + 1, np.tile([0, 2], 120)))
    assert (box.state, box.reason[:25]) == ("careful", "The votes cannot separate")


def test_unreliable_win_rates_are_marked(result):
    board = result["leaderboard"].to_dataset()
    drift = np.linspace(-0.1, 0.1, board.sizes["draw"])
    bad = with_group(
        result, "leaderboard",
        board.assign(win_rate=board["win_rate"] + xr.DataArray(drift, dims="draw")),
    )  # fmt: skip
    assert states(bad)[0] == "stop"
    assert votes.table(bad).warning.startswith("! Do not rely on the marked numbers")
    assert set(dx.summary(bad)["doubt"]) != {""}
    assert dx.describe(bad).startswith("Do not rely on")
    assert not dx.describe(result).startswith("Do not rely on")
    (step,) = votes.vote_sentences("next", votes.next_facts(bad))
    assert step.startswith("First evaluate again") and votes.next_table(bad) is None
    remedy = votes_page.boxes(bad)[0].remedy
    assert remedy == f"Ask for more draws (draws={4 * bad.attrs['draws']})."
    stuck = with_group(bad, "posterior", bad["posterior"].to_dataset().assign_attrs(
        n_items_poor=1, r_hat_max=1.7))  # fmt: skip
    assert "more draws do not help" in votes_page.boxes(stuck)[0].remedy


def test_more_systems_and_states_of_the_verdict(result):
    facts = votes.headline(result)
    words = {
        best: plain(votes.vote_sentences("headline", facts | {"state": state, "best": best}))
        for state, best in (("likely", 0.87), ("open", 0.5))
    }
    assert "strong is probably the best of 4 systems (probability .87)" in words[0.87]
    assert "The best of 4 systems is not settled. strong wins 73 % of votes (89 %" in words[0.5]
    assert "good 54 %; strong is the best with probability .50." in words[0.5]
    pair = facts["pairs"][0]
    assert "No system can be told apart from the next" in plain(
        votes.vote_sentences("headline", facts | {"pairs": [pair] * 3})
    )
    assert "Of 3 pairs of neighbours in the order, 2 cannot be told apart: good and fair" in plain(
        votes.vote_sentences("headline", facts | {"pairs": [pair] * 2})
    )


def test_whose_votes_the_win_rates_are_of_is_said():
    rng = np.random.default_rng(2)
    sides = np.array([rng.permutation(list("abc"))[:2] for _ in range(90)])
    rows = {"left": sides[:, 0], "right": sides[:, 1], "winner": sides[:, 0], "who": np.arange(90)}
    quick = {"draws": 20, "tune": 20, "random_seed": 1, "progressbar": False}
    for who, words in ((rows["who"] % 5, "a new voter, whose tastes differ"), (None, "a typical")):
        table = rows | {"who": rows["who"] if who is None else who}
        named = {} if who is None else {"annotator": "who"}
        result = dx.evaluate(dx.pairs(table, **named), **quick)
        assert f", for {words}" in " ".join(
            votes.vote_sentences("intervals", votes.intervals(result))
        )
