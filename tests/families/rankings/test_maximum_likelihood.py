"""Maximum likelihood from annotations: published figures, other optimisers, and what is said."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import spearmanr

import dissensus as dx
from dissensus.families.rankings.maximum_likelihood import maximum_likelihood


def named(array, item):
    """Label -> plausibility, for what somebody named."""
    strengths = array.sel(item=item)
    keep = strengths["candidate_size"] == 1
    return dict(zip(strengths["candidate_label"].values[keep], strengths.values[keep], strict=True))


def season(table):
    """Many annotators' rankings of one thing; ranks anew, in case some labels were left out."""
    rank = table.groupby("annotator")["rank"].rank().astype(int)
    frame = {"item": "all", "annotator": table["annotator"], "label": table["item"], "rank": rank}
    return dx.annotations(pd.DataFrame(frame), rank="rank")


def test_nascar_has_the_published_abilities(shared):
    """Hunter (2004), Table 2: the three best and two near the end by average finish, relative to
    driver 1; log-likelihood and worths as computed by the folder's preparation (its README)."""
    table = pd.read_csv(shared / "nascar2002" / "rankings.csv")
    # Drivers 84 to 87 finished last in every race they entered; Hunter leaves them out.
    estimate = maximum_likelihood(season(table[table["item_id"] <= 83]), unranked="absent")
    worth = named(estimate, "all")
    ability = {
        "PJ Jones": 4.15, "Scott Pruett": 3.62, "Mark Martin": 2.08, "Dave Marcis": 0.03,
        "Dick Trickle": -0.31,
    }  # fmt: skip
    ours = {name: np.log(worth[name] / worth["Austin Cameron"]) for name in ability}
    assert ours == pytest.approx(ability, abs=0.005)
    assert estimate["log_likelihood"].item() == pytest.approx(-4191.0973, abs=5e-5)
    largest = {
        "PJ Jones": 0.18640, "Scott Pruett": 0.10956, "Mike Bliss": 0.02742,
        "Mark Martin": 0.02349, "Rusty Wallace": 0.02305, "Jimmie Johnson": 0.02049,
        "Tony Stewart": 0.01840, "Jeff Gordon": 0.01680, "Sterling Marlin": 0.01669,
        "Ricky Rudd": 0.01614,
    }  # fmt: skip
    assert sorted(worth, key=worth.get)[::-1][:10] == list(largest)
    assert {name: worth[name] for name in largest} == pytest.approx(largest, abs=1e-5)
    assert not estimate["boundary"].item()
    assert estimate["unique"].item()


def threes(n_people=150, n_labels=10, never_first=()):
    """Simulate people who order three of ten labels; some labels are last whenever they appear."""
    rng = np.random.default_rng(7)
    strength = np.exp(np.linspace(0.0, 2.0, n_labels))
    strength[list(never_first)] = 1e-12
    order = []
    for _ in range(n_people):
        three = rng.choice(n_labels, 3, replace=False)
        while len(set(three) & set(never_first)) > 1:  # nothing would tell these apart
            three = rng.choice(n_labels, 3, replace=False)
        order.append(three[np.argsort(rng.exponential(size=3) / strength[three])])
    names = np.array([f"variety {k}" for k in range(n_labels)])
    return pd.DataFrame({
        "annotator": np.repeat(np.arange(n_people), 3), "item": names[np.concatenate(order)],
        "rank": np.tile([1, 2, 3], n_people),
    })  # fmt: skip


def test_simulated_labels_that_are_always_last_are_on_the_boundary():
    """As drivers 84 to 87 of Hunter (2004), who finished last in every race they entered."""
    table = threes(never_first=(3, 8))
    estimate = maximum_likelihood(season(table), unranked="absent")
    worth = named(estimate, "all")
    rest = table[~table["item"].isin(["variety 3", "variety 8"])]
    kept = named(maximum_likelihood(season(rest), unranked="absent"), "all")
    assert estimate["boundary"].item()
    assert estimate["unique"].item()
    assert {name for name, value in worth.items() if value == 0} == {"variety 3", "variety 8"}
    assert {name: worth[name] for name in kept} == pytest.approx(kept, rel=1e-8)


def test_simulated_choices_against_a_general_optimiser():
    """The likelihood written out choice by choice."""
    table = threes()
    names, codes = np.unique(table["item"], return_inverse=True)
    order = codes.reshape(-1, 3)

    def minus(u):
        first, second = logsumexp(u[order], axis=1), logsumexp(u[order[:, 1:]], axis=1)
        return (first + second - u[order[:, 0]] - u[order[:, 1]]).sum()

    best = minimize(minus, np.zeros(len(names)), options={"gtol": 1e-6})
    share = np.exp(best.x - logsumexp(best.x))
    estimate = maximum_likelihood(season(table), unranked="absent")
    worth = named(estimate, "all")
    np.testing.assert_allclose([worth[name] for name in names], share, rtol=1e-5)
    assert estimate["log_likelihood"].item() == pytest.approx(-best.fun, rel=1e-10)


@pytest.mark.parametrize(("group", "correlation"), [("visual", 0.97), ("weighing", 0.98)])
def test_potatoes_come_out_by_their_weight(shared, group, correlation):
    """Twelve people together do better than each alone: on average .950 by eye, .969 in the hand
    (README of the folder)."""
    folder = shared / "potato"
    table = pd.read_csv(folder / "rankings.csv").query("group == @group")
    gold = pd.read_csv(folder / "gold.csv").set_index("item")["gold_rank"]
    worth = pd.Series(named(maximum_likelihood(season(table)), "all"))
    assert spearmanr(-worth, gold[worth.index]).statistic > correlation


def test_whole_orders_against_a_general_optimiser():
    """Twelve people order eight labels: together nearer to the truth than each alone."""
    rng = np.random.default_rng(2)
    strength = np.linspace(4.0, 0.0, 8)
    order = np.argsort(rng.exponential(size=(12, 8)) / np.exp(strength), axis=1)
    people = dx.from_rankings(
        {"all": [[[int(k)] for k in ranking] for ranking in order]}, labels=range(8)
    )

    def minus(u):
        left = [logsumexp(u[order[:, place:]], axis=1) for place in range(8)]
        return np.sum(left) - 12 * u.sum()

    best = minimize(minus, np.zeros(8), options={"gtol": 1e-7}).x
    worth = pd.Series(named(maximum_likelihood(people), "all"))[range(8)]
    np.testing.assert_allclose(worth, np.exp(best - logsumexp(best)), rtol=1e-4)
    alone = [spearmanr(np.argsort(ranking), -strength).statistic for ranking in order]
    assert spearmanr(-worth, -strength).statistic > np.mean(alone)


def test_all_dermatology_cases(shared):
    """Counted by a transitive closure per case, written apart from the library: 227 cases in which
    a named condition gets nothing, and none with more than one maximum."""
    table = pd.read_csv(shared / "dermatology" / "rankings.csv")
    ann = dx.annotations(table, label="class", rank="rank", labels=range(419))
    estimate = maximum_likelihood(ann)
    assert estimate.sizes["item"] == 600
    np.testing.assert_allclose(estimate.sum("candidate"), 1)
    assert estimate.attrs["n_boundary"] == 227
    assert estimate.attrs["n_not_unique"] == 0
    assert estimate.attrs["n_not_reached"] == 0
    for unranked in ("one", "ignore"):
        np.testing.assert_array_equal(maximum_likelihood(ann, unranked=unranked), estimate)


def test_items_on_the_boundary_are_those_where_somebody_is_never_beaten():
    """Counted by a transitive closure of who is above whom (Hunter 2004).

    All named labels have something if, and only if, each is above each other by some chain.
    """
    rng = np.random.default_rng(3)
    cases = {}
    for item in range(60):
        pool = rng.choice(40, 5, replace=False)
        cases[item] = []
        for _ in range(4):  # readers agree in part
            order = pool[np.argsort(np.arange(5) + 1.5 * rng.normal(size=5))]
            cases[item].append([[k] for k in order[: rng.integers(1, 4)].tolist()])
    closed = 0
    for rankings in cases.values():
        labels = sorted({k for ranking in rankings for (k,) in ranking})
        above = np.zeros((len(labels), len(labels)), dtype=int)
        for ranking in rankings:
            first = [labels.index(k) for (k,) in ranking]
            last = [k for k in range(len(labels)) if k not in first]  # what is not listed
            for place, k in enumerate(first):
                above[k, first[place + 1 :] + last] = 1
        reach = np.linalg.matrix_power(above + np.eye(len(labels), dtype=int), len(labels)) > 0
        closed += bool(reach.all())
    assert 10 < closed < 50
    ann = dx.from_rankings(cases, labels=range(40))
    estimate = maximum_likelihood(ann)
    np.testing.assert_allclose(estimate.sum("candidate"), 1)
    assert estimate.attrs["n_boundary"] == 60 - closed
    assert estimate.attrs["n_not_unique"] == estimate.attrs["n_not_reached"] == 0
    for unranked in ("one", "ignore"):
        other = maximum_likelihood(ann, unranked=unranked)
        np.testing.assert_array_equal(other, estimate)


CASES = {
    "split": [[["a"], ["b"], ["c"]], [["a"], ["b"], ["c"]], [["b"], ["a"], ["c"]]],
    "tied": [[["a", "c"], ["b"]]],
    "agreed": [[["d"]], [["d"]]],
}


@pytest.fixture
def ann():
    return dx.from_rankings(CASES, labels=list("abcde"))


def test_what_is_said_of_each_item(ann):
    with pytest.warns(dx.DissensusWarning, match=r"1 of 3 items \('tied'\): the rankings do not"):
        estimate = maximum_likelihood(ann)
    assert named(estimate, "split") == pytest.approx({"a": 2 / 3, "b": 1 / 3, "c": 0})
    assert named(estimate, "tied") == pytest.approx({"a": 0.5, "b": 0, "c": 0.5})
    assert named(estimate, "agreed") == {"d": 1}
    assert estimate["boundary"].values.tolist() == [True, True, False]
    assert estimate["unique"].values.tolist() == [True, False, True]
    assert estimate["reached"].values.all()
    counts = ("n_boundary", "n_not_unique", "n_not_reached")
    assert [estimate.attrs[name] for name in counts] == [2, 1, 0]
    sup = 2 * np.log(2 / 3) + np.log(1 / 3)
    assert estimate["log_likelihood"].values == pytest.approx([sup, 0, 0])


def test_labels_not_listed_were_not_there(ann):
    """Of single labels nothing can be learned then; where all list the same, it is as before."""
    with pytest.warns(dx.DissensusWarning, match="'tied'"):
        estimate = maximum_likelihood(ann, unranked="absent")
    assert named(estimate, "split") == pytest.approx({"a": 2 / 3, "b": 1 / 3, "c": 0})
    votes = dx.from_rankings({1: [[["a"]], [["a"]], [["b"]]]}, labels=list("ab"))
    with pytest.warns(dx.DissensusWarning, match="never compared"):
        estimate = maximum_likelihood(votes, unranked="absent")
    assert named(estimate, 1) == {"a": 0.5, "b": 0.5}


def test_single_labels_have_their_relative_frequencies(votes):
    ann, _ = votes
    estimate = maximum_likelihood(ann)
    assert named(estimate, "i") == pytest.approx({"x": 2 / 3, "y": 1 / 3})
    assert named(estimate, "j") == {"y": 1, "x": 0}


def test_metrics_take_it_and_files_keep_it(ann, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        estimate = maximum_likelihood(ann)
    table = {"item": list(CASES), "system": ["s"] * 3, "label": ["a", "b", "d"]}
    assert dx.top_k_accuracy(estimate, dx.predictions(table)).item() == pytest.approx(2 / 3)
    estimate.to_netcdf(tmp_path / "found.nc")
    with xr.open_dataarray(tmp_path / "found.nc") as back:
        xr.testing.assert_identical(back.load().drop_attrs(), estimate.drop_attrs())


def test_giving_up_is_said():
    rankings = [[["a"], ["b"], ["c"]], [["c"], ["b"], ["a"]], [["b"], ["a"], ["c"]]]
    ann = dx.from_rankings({"case": rankings}, labels="abc")
    with pytest.warns(dx.DissensusWarning, match=r"'case'.*not reached; increase max_iterations"):
        estimate = maximum_likelihood(ann, max_iterations=1)
    assert estimate["reached"].values.tolist() == [False]


def test_items_nobody_annotated_are_refused(ann):
    with pytest.raises(dx.AnnotationError, match=r"'tied'.*at least one annotation of every item"):
        maximum_likelihood(ann.isel(annotation=ann["item_code"] != 1))


@pytest.mark.parametrize(
    "options",
    [
        {"unranked": "last"}, {"tolerance": 0.0}, {"tolerance": "small"}, {"max_iterations": 0},
        {"max_iterations": 2.5}, {"max_iterations": True},
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(ann, options):
    with pytest.raises(dx.DissensusError, match=next(iter(options))):
        maximum_likelihood(ann, **options)


def test_numbers_are_no_rankings():
    scores = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": [0.5, 1.5]})
    with pytest.raises(dx.AnnotationError, match="kind 'nominal' or 'ordinal' or 'ranking'"):
        maximum_likelihood(scores)


BASEBALL = """
    Milwaukee - 7 9 7 7 9 11   Detroit 6 - 7 5 11 9 9   Toronto 4 6 - 7 7 8 12
    NewYork 6 8 6 - 6 7 10    Boston 6 2 6 7 - 7 12    Cleveland 4 4 5 6 6 - 6
    Baltimore 2 4 1 3 1 7 -
"""
"""Games of 1987, American League East: how often each team (row) won against each, in order of the
rows; every two played 13 times. Agresti (2002), Categorical data analysis, Table 10.10, with games
at home and away added up."""


def test_baseball_teams_have_the_published_abilities():
    """Agresti (2002), Table 10.11, without an effect of playing at home, relative to Baltimore."""
    rows = np.array(BASEBALL.split()).reshape(7, 8)
    teams, wins = rows[:, 0], np.char.replace(rows[:, 1:], "-", "0").astype(int)
    assert ((wins + wins.T)[~np.eye(7, dtype=bool)] == 13).all()
    first, second = (np.repeat(place, wins.ravel()) for place in np.indices((7, 7)).reshape(2, -1))
    games = pd.DataFrame({
        "annotator": np.repeat(np.arange(len(first)), 2), "rank": np.tile([1, 2], len(first)),
        "item": teams[np.column_stack([first, second]).ravel()],
    })  # fmt: skip
    estimate = maximum_likelihood(season(games), unranked="absent")
    worth = named(estimate, "all")
    ability = {
        "Milwaukee": 1.58, "Detroit": 1.44, "Toronto": 1.29, "NewYork": 1.25, "Boston": 1.11,
        "Cleveland": 0.68,
    }  # fmt: skip
    ours = {name: np.log(worth[name] / worth["Baltimore"]) for name in ability}
    assert ours == pytest.approx(ability, abs=0.005)
    assert estimate["unique"].item()
    assert not estimate["boundary"].item()
