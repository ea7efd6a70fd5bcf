"""Evaluations of votes on pairs: the leaderboard, its check, the next votes, and refusals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import stored
import xarray as xr
from arviz import eti
from refusals import check_refused

import dissensus as dx
from dissensus.evaluation.next_votes import information, next_votes
from dissensus.evaluation.rerun import rerun
from dissensus.evaluation.votes import misfit
from dissensus.wording import spoken_probability

QUIET = {"random_seed": 1, "progressbar": False}
SAMPLE = ("chain", "draw")


@pytest.fixture(scope="module")
def result():
    return stored.read("votes")


def study(n=60, seed=1):
    rng = np.random.default_rng(seed)
    rows = [(*rng.permutation(list("abc"))[:2], rng.integers(4)) for _ in range(n)]
    return dx.pairs(
        {"left": [r[0] for r in rows], "right": [r[1] for r in rows], "item": [r[2] for r in rows],
         "winner": rng.choice(["left", "right", "tie"], n)}, item="item",
    )  # fmt: skip


def test_the_leaderboard_is_of_the_fit(result):
    board = result["leaderboard"].to_dataset()
    rate = board["win_rate"].to_numpy()
    np.testing.assert_allclose(  # a matrix product rounds by where its arrays lie
        dx.win_rate(result, as_cast=False, random_seed=1).to_numpy(), rate, rtol=1e-14
    )
    strength = board["strength"].to_numpy()  # beside verdicts, opponents may differ
    for place in np.ndindex(rate.shape):
        ahead = (strength[place[:2]] > strength[place]).sum()
        assert board["rank"].to_numpy()[place] == 1 + ahead
    posterior = result["posterior"].to_dataset()
    on_these = posterior["strength"] + posterior["item_effect"].mean("item")
    xr.testing.assert_allclose(
        board["strength"].drop_attrs(), on_these - on_these.mean("system"), atol=1e-12
    )
    assert board.attrs == {
        "model": "bradley_terry", "scope": "these items", "order": "strength",
    }  # fmt: skip
    assert not board["group"].any()
    compared = dx.compare(board["strength"])
    for name, values in result["comparison"].to_dataset().data_vars.items():
        xr.testing.assert_allclose(values, compared[name])


def test_the_summary_is_of_the_draws(result):
    table = dx.summary(result)
    board = result["leaderboard"].to_dataset()
    assert table["mean"].is_monotonic_decreasing
    for row in table.to_dict("records"):
        draws = board["win_rate"].sel(system=row["system"])
        assert row["mean"] == pytest.approx(float(draws.mean()))
        low, high = eti(draws.to_numpy().ravel(), prob=0.89)
        assert (row["lower"], row["upper"]) == pytest.approx((low, high))
        ranks = board["rank"].sel(system=row["system"])
        assert row["rank_lower"] <= row["rank"] <= row["rank_upper"]
        assert row["rank"] == np.sort(ranks.to_numpy().ravel())[(ranks.size - 1) // 2]
        assert row["probability_best"] == pytest.approx(float((ranks == 1).mean()), abs=1e-9)
        codes = result["annotations"]
        names = codes["system"].to_numpy()
        place = names.tolist().index(row["system"])
        count = sum(int((codes[f"{side}_code"] == place).sum()) for side in ("left", "right"))
        assert row["votes"] == count
    assert len(dx.summary(result, "posterior")) > 4
    assert dx.summary(result, "components").empty


def test_replicates_are_of_the_observed_pairs(result):
    check, votes = result["vote_check"].to_dataset(), result["annotations"].to_dataset()
    for place in range(check.sizes["pair"]):
        first, second = (int(check[f"{side}_code"][place]) for side in ("first", "second"))
        won = []
        for left, right, outcome in zip(
            *(votes[name].to_numpy() for name in ("left_code", "right_code", "outcome")),
            strict=True,
        ):
            if {left, right} == {first, second}:
                won.append((1, 0.5, 0)[outcome] if left == first else (0, 0.5, 1)[outcome])
        assert check["votes"][place] == len(won)
        assert float(check["observed"][place]) == pytest.approx(np.mean(won))


@pytest.mark.long
def test_replicates_are_of_the_whole_model():
    """Their mean shares are those of the model's formula, with voters and prompts."""
    rng, votes = np.random.default_rng(1), study(200)
    who = rng.integers(3, size=200)
    votes = votes.assign(annotator_code=("vote", who)).assign_coords(annotator=list("xyz"))
    made = dx.evaluate(votes, draws=50, side=True, **QUIET)
    check, post = made["vote_check"].to_dataset(), made["posterior"].to_dataset()
    left, right, item = (votes[f"{n}_code"].to_numpy() for n in ("left", "right", "item"))
    own = post.transpose(*SAMPLE, "item", "annotator", "system")
    on = (own["strength"] + own["item_effect"]).transpose(*SAMPLE, "item", "system").to_numpy()
    eta = own["annotator_sharpness"].to_numpy()[..., who]
    eta = eta * (on[..., item, left] - on[..., item, right])
    eta += (own["side"] + own["annotator_side"]).transpose(*SAMPLE, ...).to_numpy()[..., who]
    tie = (own["tie"] + own["annotator_tie"]).transpose(*SAMPLE, ...).to_numpy()[..., who]
    tie = tie + own["item_tie"].transpose(*SAMPLE, ...).to_numpy()[..., item]
    odds = np.exp([eta / 2, tie, -eta / 2])
    won = ((odds[0] + odds[1] / 2) / odds.sum(axis=0)).mean(axis=(0, 1))
    for place in range(check.sizes["pair"]):
        first, second = (int(check[f"{side}_code"][place]) for side in ("first", "second"))
        ahead = won[(left == first) & (right == second)]
        behind = won[(left == second) & (right == first)]
        expected = (ahead.sum() + (1 - behind).sum()) / int(check["votes"][place])
        assert float(check["replicated"][..., place].mean()) == pytest.approx(expected, abs=0.02)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_votes_alone_are_taken_by_the_same_model():
    """Prompts with one vote each are told apart beside verdicts, and so they are without."""
    verdicts = study(60)
    verdicts = verdicts.assign(item_code=("vote", np.arange(60) // 2)).assign_coords(
        item=[f"q{n}" for n in range(30)]
    )
    votes = verdicts.isel(vote=slice(None, None, 2))
    verdicts = verdicts.assign(annotator_code=("vote", np.zeros(60, dtype=int)))
    verdicts = verdicts.assign_coords(annotator=["judge"])
    made = dx.evaluate(votes, verdicts, draws=20, **QUIET)
    alone = dx.models.bradley_terry.fit(votes, items=True, draws=20, **QUIET)
    expected = dx.win_rate(alone, as_cast=False, random_seed=1)
    np.testing.assert_array_equal(made["votes_alone"]["win_rate"], expected)


def test_new_prompts_and_settings_of_the_model():
    """`new_items=` is that of `dissensus.win_rate`, and ranks are those of strengths then."""
    votes = study()
    made = dx.evaluate(votes, new_items=True, draws=20, side=True, **QUIET)
    board = made["leaderboard"].to_dataset()
    assert board.attrs["scope"] == "new items"
    assert "side" in made["posterior"]
    xr.testing.assert_identical(board["win_rate"], dx.win_rate(made, new_items=True))
    xr.testing.assert_equal(board["rank"], dx.rank(made))


@pytest.mark.long
def test_it_is_made_again_to_the_last_digit(tmp_path):
    made = dx.evaluate(study(), draws=20, **QUIET)
    path = tmp_path / "made.nc"
    made.to_netcdf(path, engine="h5netcdf")
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        again = rerun(tree.load(), progressbar=False)
    assert again.differences == []


def test_what_is_refused(result):
    votes, labels = study(), dx.annotations({"item": [1], "annotator": ["a"], "label": ["x"]})
    every = (
        r"threshold, margin.*defaults, with votes on pairs.*margin=0.3.*Votes on pairs take draws"
    )
    check_refused(dx.DissensusError, [
        ("settings", lambda: dx.evaluate(votes, threshold=2.0, margin=0.3, **QUIET), every),
        ("unknown", lambda: dx.evaluate(votes, foo=1, **QUIET), "foo: expected arguments that"),
        ("model", lambda: dx.evaluate(votes, model="rasch", **QUIET), "model='rasch'"),
        ("keep_items", lambda: dx.evaluate(votes, keep_items=False, **QUIET), "keep_items=False"),
        ("labels", lambda: dx.evaluate(votes, labels, **QUIET), "judges' verdicts on pairs"),
        ("swapped", lambda: dx.evaluate(labels, votes, **QUIET), "found votes or verdicts"),
        ("group", lambda: dx.summary(result, "nothing"), "leaderboard"),
    ])  # fmt: skip


# Cycles.


def circle(n=60):
    """a beats b, b beats c and c beats a, 8 times of 10."""
    won = (["left"] * 8 + ["right"] * 2) * (n // 10)
    sides = {"left": ["a"] * n + ["b"] * n + ["c"] * n, "right": ["b"] * n + ["c"] * n + ["a"] * n}
    return dx.pairs(sides | {"winner": won * 3})


def test_a_circle_does_not_fit():
    made = dx.evaluate(circle(), draws=50, **QUIET)
    p, apart = misfit(made)
    assert p < 0.01
    assert (np.abs(apart) > 3).all()


# The next votes.


@pytest.mark.long
@pytest.mark.parametrize("new_items", [False, True])
@pytest.mark.parametrize("taste", [0.0, 0.6])
def test_a_vote_adds_as_much_as_in_a_simulation(new_items, taste):
    """The variance of the score of n votes, over its slope squared: the delta method."""
    rng, n, apart, spreads = np.random.default_rng(1), 400, 0.6, (0.8, 1.1, taste)
    eta = apart + np.sqrt(2) * spreads[0] * rng.normal(size=(20_000, n))
    tie = -0.3 + spreads[1] * rng.normal(size=eta.shape)
    if not new_items:  # the same prompts in all repetitions
        eta, tie = np.tile(eta[0], (len(eta), 1)), np.tile(tie[0], (len(eta), 1))
    eta = eta + np.sqrt(2) * taste * rng.normal(size=eta.shape)  # of new voters

    def shares(eta):
        odds = np.exp([eta / 2, tie[: len(eta)], -eta / 2])
        return odds / odds.sum(axis=0)

    left, tied, _ = shares(eta)
    at = rng.random(eta.shape)
    score = (at < left) * 1.0 - (at >= left + tied)
    step = 1e-4
    ends = [np.subtract(*shares(eta[:50] + s)[[0, 2]]).mean() for s in (-step, step)]
    slope = (ends[1] - ends[0]) / (2 * step)
    actual = slope**2 / score.mean(axis=1).var() / n
    expected = information(apart, -0.3, spreads, new_items=new_items)
    assert expected == pytest.approx(actual, rel=0.06)


@pytest.mark.long
def test_so_many_votes_settle_an_order():
    """Votes as many as asked for shrink the posterior as the formula says, within a quarter."""
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        strength = {"a": 0.45, "b": 0.15, "c": -0.2, "d": -0.4}

        def cast(pairs, rng=rng, strength=strength):
            apart = np.array([strength[a] - strength[b] for a, b in pairs])
            won = np.where(rng.random(len(apart)) < 1 / (1 + np.exp(-apart)), "left", "right")
            return [(*pair, side) for pair, side in zip(pairs, won, strict=True)]

        def gap(rows):
            columns = zip(("left", "right", "winner"), zip(*rows, strict=True), strict=True)
            made = dx.evaluate(dx.pairs(dict(columns)), draws=500, **QUIET)
            draws = made["leaderboard"]["strength"]
            apart = draws.sel(system="a") - draws.sel(system="b")
            return float(apart.mean()), float(apart.var())

        rows = cast([tuple(rng.choice(list("abcd"), 2, replace=False)) for _ in range(240)])
        (m, v), n = gap(rows), 200
        after, w = gap(rows + cast([("a", "b")] * n))
        known = information((m + after) / 2, -np.inf, (0.0, 0.0, 0.0), new_items=False)
        ratios.append((1 / w - 1 / v) / (n * known))
    assert np.mean(ratios) == pytest.approx(1, abs=0.25)


def test_next_votes_are_of_open_neighbours(result):
    actual = next_votes(result)
    rows = dx.summary(result)["system"].tolist()
    pairs = result["comparison"].to_dataset()
    better = pairs["probability_better"] + pairs["probability_equal"] / 2
    every = pairwise(rows)
    open_ = [pair for pair in every if 0.05 < better.sel(system=pair[0], system_=pair[1]) < 0.95]
    assert sorted(zip(actual["first"], actual["second"], strict=True)) == sorted(open_)
    assert actual["more"].is_monotonic_increasing
    assert len(actual)
    posterior, board = result["posterior"].to_dataset(), result["leaderboard"].to_dataset()
    for row in actual.to_dict("records"):
        draws = [board["strength"].sel(system=row[side]) for side in ("first", "second")]
        apart = (draws[0] - draws[1]).to_numpy()
        m, v = apart.mean(), apart.var()
        names = ("tie", "item_spread", "item_tie_spread", "annotator_taste_spread")
        tie, *spreads = (float(posterior[name].mean()) for name in names)
        known = information(m, tie, spreads, new_items=False)
        expected = (1.645**2 / m**2 - 1 / v) / known if m > 0 else np.inf
        assert row["more"] == pytest.approx(max(expected, 1))


def test_systems_that_nobody_compared_are_not_ordered():
    """Groups x and y: no vote and no verdict compares systems of different groups."""
    rng = np.random.default_rng(3)
    rows = [[f"{name}{k}" for k in rng.choice(3, 2, replace=False)] for name in "xy" * 60]
    votes = dx.pairs({
        "left": [left for left, _ in rows], "right": [right for _, right in rows],
        "winner": [min(row) if rng.random() < 0.8 else max(row) for row in rows],
    })  # fmt: skip
    with pytest.warns(dx.DesignWarning, match="No votes compare systems of different groups"):
        made = dx.evaluate(votes, draws=300, **QUIET)
    board = made["leaderboard"].to_dataset()
    names = [name[0] for name in board["system"].to_numpy().tolist()]
    assert board["group"].to_numpy().tolist() == [int(name == "y") for name in names]
    assert set(dx.summary(made)["doubt"]) == {"systems are in 2 groups that no votes compare"}
    requested = next_votes(made)
    assert (requested["first"].str[0] == requested["second"].str[0]).all()
    text = dx.describe(made)
    assert text.startswith(
        "The best of 6 systems is unknown: they are in 2 groups that no votes compare"
    )
    for name in "xy":
        own = board["win_rate"].sel(system=[f"{name}{k}" for k in range(3)])
        best = spoken_probability(float((own.argmax("system") == 0).mean()))
        assert f"{name}0 is the best of 3 in its group with probability {best}" in text


@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
def test_systems_without_votes_and_short_chains_beside_groups():
    votes = dx.pairs({"left": list("abca"), "right": list("bcad"), "winner": list("abcd")})
    made = dx.evaluate(votes.isel(vote=slice(3)), draws=20, **QUIET)  # d has no vote
    texts = set(dx.summary(made)["doubt"])
    assert all(text.endswith("; systems are in 2 groups that no votes compare") for text in texts)
    message = dx.describe(made)
    assert message.startswith("Do not rely on the following numbers: only 20 draws")
    assert "in 2 groups that no votes compare. " in message
    assert "best of 3 in its group" in message
    assert "1 more group is not listed." in message


def test_votes_to_settle_an_order_are_for_its_own_probability():
    """Without verdicts the order is by win rate, and strengths may say something else."""
    made = dx.evaluate(study(), draws=300, **QUIET)
    board, posterior = made["leaderboard"].to_dataset(), made["posterior"].to_dataset()
    assert board.attrs["order"] == "win_rate"
    for row in next_votes(made).to_dict("records"):
        rate, strength = (
            (board[name].sel(system=row["first"]) - board[name].sel(system=row["second"]))
            .to_numpy().ravel() for name in ("win_rate", "strength")
        )  # fmt: skip
        slope = np.polyfit(strength, rate, 1)[0]
        m, v = rate.mean() / slope, rate.var() / slope**2
        names = ("tie", "item_spread", "item_tie_spread")
        tie, *spreads = (float(posterior[name].mean()) for name in names)
        known = information(m, tie, (*spreads, 0.0), new_items=False)
        assert row["more"] == pytest.approx(max((1.645**2 / m**2 - 1 / v) / known, 1))
        assert row["better"] == pytest.approx((rate > 0).mean())


@pytest.mark.filterwarnings("ignore:The chains have not run")
def test_new_prompts_without_prompts_are_noticed():
    quick = {**QUIET, "draws": 20, "tune": 20, "new_items": True}
    with pytest.warns(dx.DissensusWarning, match="new_items=True changes nothing"):
        dx.evaluate(study().drop_vars(["item", "item_code"]), **quick)
