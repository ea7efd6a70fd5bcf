"""Bradley-Terry with ties, voters and prompts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from gradients import disagreements, points_of
from scipy import optimize, stats
from scipy.special import expit
from vote_fits import with_tastes

import dissensus as dx
from dissensus.families.pairs.process import process
from dissensus.models import bradley_terry

QUIET = {"random_seed": 1, "progressbar": False}


def study(n_votes=400, n_systems=5, n_people=8, n_items=6, seed=1, ties=True, side=0.0):
    """Simulate votes by the definition, vote by vote; returns them and the true numbers."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 1, n_systems)
    cell = rng.normal(0, 0.7, (n_items, n_systems))
    sharp = np.exp(rng.normal(0, 0.4, n_people))
    tie, own, of_item = -0.3, rng.normal(0, 0.8, n_people), rng.normal(0, 0.6, n_items)
    rows = []
    for _ in range(n_votes):
        left, right = rng.choice(n_systems, 2, replace=False)
        who, item = rng.integers(n_people), rng.integers(n_items)
        eta = sharp[who] * (strength[left] + cell[item, left] - strength[right] - cell[item, right])
        weights = np.exp(
            [
                (eta + side) / 2,
                tie + own[who] + of_item[item] if ties else -np.inf,
                -(eta + side) / 2,
            ]
        )
        labels = ("left", "tie", "right")[rng.choice(3, p=weights / weights.sum())]
        rows.append((f"s{left}", f"s{right}", labels, f"p{who}", item))
    names = ("left", "right", "winner", "annotator", "item")
    frame = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return frame, strength - strength.mean(), cell, sharp


def votes_of(frame, annotator="annotator", item="item"):
    return dx.pairs(frame, annotator=annotator, item=item)


FORMS = {
    "plain": ({"ties": False}, {"annotators": False, "items": False}),
    "ties and side": ({"side": 0.5}, {"annotators": False, "items": False, "side": True}),
    "prompts": ({}, {"annotators": False}),
    "prompts without ties": ({"ties": False}, {"annotators": False}),
    "voters": ({}, {"items": False, "side": True}),
    "all": ({"side": 0.4}, {"side": True}),
}


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("form", list(FORMS))
def test_draws_go_with_the_gradient_of_the_model(form):
    made, options = FORMS[form]
    votes = votes_of(study(150, 4, 4, 3, **made)[0])
    fit = with_tastes(votes, draws=2000, **options)
    assert ("annotator_taste" in fit["posterior"]) == options.get("annotators", True)
    model = bradley_terry.build(votes, **options)
    assert disagreements(model, points=points_of(fit, model, _moved)) == {}


def _moved(values):
    """Add what PyMC moves in place of strengths that add up to 0 (its ZeroSumTransform)."""
    strength = values["strength"]
    n = strength.shape[-1]
    shift = -strength[:, -1:] * np.sqrt(n) / (np.sqrt(n) + n)
    return {"strength_zerosum__": strength[:, :-1] + shift}


def test_two_systems_have_davidsons_closed_form():
    """nu is ties over the root of the product of wins; the strengths' difference is their log."""
    votes = dx.pairs({"left": ["a"] * 20, "right": ["b"] * 20,
                      "winner": ["a"] * 9 + ["b"] * 4 + ["tie"] * 7})  # fmt: skip
    estimate = bradley_terry.maximum_likelihood(votes)
    np.testing.assert_allclose(estimate["strength"], np.array([1, -1]) * np.log(9 / 4) / 2)
    np.testing.assert_allclose(estimate["tie"], np.log(7 / 6))
    share = np.array([9, 4, 7]) / 20
    np.testing.assert_allclose(estimate["log_likelihood"], 20 * (share * np.log(share)).sum())


def test_the_maximum_is_that_of_a_general_optimiser():
    frame, *_ = study(300, 5, side=0.5)
    votes = votes_of(frame)
    left, right, outcome = (
        votes[name].to_numpy() for name in ("left_code", "right_code", "outcome")
    )

    def loss(x):
        eta = x[left] - x[right] + x[6]
        logits = np.stack([eta / 2, 0 * eta + x[5], -eta / 2], axis=1)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return -logits[np.arange(len(outcome)), outcome].sum()

    best = optimize.minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-8})
    estimate = bradley_terry.maximum_likelihood(votes, side=True)
    np.testing.assert_allclose(estimate["strength"], best.x[:5] - best.x[:5].mean(), atol=1e-5)
    np.testing.assert_allclose([estimate["tie"], estimate["side"]], best.x[5:], atol=1e-5)
    np.testing.assert_allclose(estimate["log_likelihood"], -best.fun)


INFINITE = {
    "one always wins": ("aab", "bcc", "aab", {}),
    "never loses, with ties": ("a" * 16, "b" * 16, ["a"] * 9 + ["tie"] * 7, {}),
    "a cycle of ties": ("abc", "bca", ["a", "tie", "tie"], {}),
    "nothing but ties": ("ab", "ba", ["tie"] * 2, {}),
    "left always wins": ("ab", "ba", ["left"] * 2, {"side": True}),
    "sides of fixed systems": ("aaaa", "bbbb", "aaab", {"side": True}),
}


@pytest.mark.filterwarnings(
    "ignore:The votes cannot separate the left side:dissensus.errors.DesignWarning"
)
@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", list(INFINITE))
def test_strengths_that_would_be_infinite_are_refused(name):
    left, right, won, options = INFINITE[name]
    votes = dx.pairs({"left": list(left), "right": list(right), "winner": list(won)})
    with pytest.raises(
        dx.AnnotationError, match=r"without end, or that the votes cannot.*has priors"
    ):
        bradley_terry.maximum_likelihood(votes, **options)
    fit = bradley_terry.fit(votes, draws=50, **options, **QUIET)
    assert np.isfinite(fit["posterior"]["strength"]).all()


def test_what_only_priors_know_is_warned_of():
    votes = dx.pairs({"left": list("abxp"), "right": list("bcyq"), "winner": list("acxp")})
    groups = r"different groups \('a', 'b', 'c' \| 'p', 'q' \| 'x', 'y'\)"
    with pytest.warns(dx.DesignWarning, match=groups):
        bradley_terry.build(votes)
    fixed = dx.pairs({"left": list("aaa"), "right": list("bcb"), "winner": list("acb")})
    bradley_terry.build(fixed)
    with pytest.warns(dx.DesignWarning, match="cannot separate the left side's advantage"):
        bradley_terry.build(fixed, side=True)
    bradley_terry.build(dx.pairs({"left": list("ab"), "right": list("ba"), "winner": ["left"] * 2}),
                        side=True)  # fmt: skip
    winners = {"winner": list("abc") * 4, "loser": list("bca") * 4}
    winners = dx.pairs(winners, left="winner", right="loser")
    bradley_terry.build(winners)
    with pytest.warns(dx.DesignWarning, match="In each of 12 votes, the answer on the left won"):
        bradley_terry.build(winners, side=True)


@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("bias", "better_left", "told"), [(0.8, 0.8, True), (0.8, 0.5, False), (0.0, 0.8, False)]
)
def test_a_side_that_matters_and_is_uneven_is_warned_of(bias, better_left, told):
    """Answers on the left win more often, and better systems are on the left more often."""
    rng = np.random.default_rng(3)
    strength = np.array([1.0, 0.4, 0.0, -0.6])
    first = rng.integers(3, size=1500)
    second = rng.integers(first + 1, 4)
    turned = rng.random(1500) > better_left
    left, right = np.where(turned, second, first), np.where(turned, first, second)
    won = rng.random(1500) < expit(strength[left] - strength[right] + bias)
    votes = dx.pairs({"left": left, "right": right, "winner": np.where(won, left, right)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        process(votes)
        process(votes, side=True)
    assert [str(record.message).startswith("The side matters") for record in caught] == [
        True
    ] * told


def test_new_votes_need_no_effects_that_are_kept():
    votes = votes_of(study(60, 4, 3, 2)[0])
    fit = bradley_terry.fit(
        votes, draws=20, keep_items=False, posterior_predictive=True, items=True,
        annotators=False, **QUIET,
    )  # fmt: skip
    assert "item_effect" not in fit["posterior"]
    assert set(np.unique(fit["posterior_predictive"]["outcome"])) == {0, 1, 2}
    # Who voted is kept, told apart or not.
    kept = fit["constant_data"]["annotator_code"].to_numpy()
    np.testing.assert_array_equal(kept, votes["annotator_code"])


@pytest.mark.long
def test_one_number_is_what_quadrature_gives():
    """Two systems: the difference is normal with variance 2 sigma^2, sigma Rayleigh (2)."""
    votes = dx.pairs({"left": ["a"] * 10, "right": ["b"] * 10, "winner": ["a"] * 8 + ["b"] * 2})
    fit = bradley_terry.fit(votes, draws=8000, chains=2, **QUIET)
    gap = fit["posterior"]["strength"][..., 0] - fit["posterior"]["strength"][..., 1]
    x, sd = np.linspace(-15, 15, 3001), np.linspace(0.001, 12, 1500)
    prior = stats.norm.pdf(x[:, None], 0, np.sqrt(2) * sd) @ stats.rayleigh.pdf(sd, scale=2)
    weight = prior * expit(x) ** 8 * expit(-x) ** 2
    mean = (x * weight).sum() / weight.sum()
    sd = np.sqrt((x**2 * weight).sum() / weight.sum() - mean**2)
    assert float(gap.mean()) == pytest.approx(mean, abs=0.03)
    assert float(gap.std()) == pytest.approx(sd, abs=0.03)


@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_log_likelihoods_and_new_votes_follow_the_definition():
    votes = votes_of(study(60, 4, 3, 2)[0])
    fit = with_tastes(votes, draws=300, side=True)
    post = fit["posterior"].to_dataset().isel(chain=1, draw=-1)
    left, right, outcome = (
        votes[name].to_numpy() for name in ("left_code", "right_code", "outcome")
    )
    who, item = votes["annotator_code"].to_numpy(), votes["item_code"].to_numpy()
    s, u = post["strength"].to_numpy(), post["item_effect"].to_numpy()
    v = post["annotator_taste"].to_numpy()
    eta = s[left] + u[item, left] + v[who, left] - s[right] - u[item, right] - v[who, right]
    eta = post["annotator_sharpness"].to_numpy()[who] * eta
    eta += float(post["side"]) + post["annotator_side"].to_numpy()[who]
    tie = float(post["tie"]) + post["annotator_tie"].to_numpy()[who]
    tie += post["item_tie"].to_numpy()[item]
    weights = np.exp(np.stack([eta / 2, tie, -eta / 2], axis=1))
    chance = weights / weights.sum(axis=1, keepdims=True)
    each = fit["log_likelihood"]["outcome"].isel(chain=1, draw=-1)
    np.testing.assert_allclose(each, np.log(chance[np.arange(len(outcome)), outcome]))
    total = fit["sample_stats"]["log_likelihood"].isel(chain=1, draw=-1)
    np.testing.assert_allclose(each.sum(), total)
    new = fit["posterior_predictive"]["outcome"]
    assert set(np.unique(new)) == {0, 1, 2}
    share = np.array([(new == code).mean() for code in range(3)])
    seen = np.bincount(outcome, minlength=3) / len(outcome)
    assert abs(share - seen).max() < 0.15
    np.testing.assert_allclose(post["strength"].sum(), 0, atol=1e-12)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_prompts_without_votes_have_effects_of_the_prior():
    votes = votes_of(study(200, 4, 3, 6)[0])
    left_out = votes["item"].to_numpy()[2]
    seen = votes.isel(vote=votes["item_code"].to_numpy() != 2)
    options = {"draws": 400, "tune": 50, "chains": 2, **QUIET}
    draws = bradley_terry.fit(seen, **options)["posterior"].to_dataset()
    again = bradley_terry.fit(seen, **options)["posterior"].to_dataset()
    for name in ("item_effect", "item_tie"):
        spread = draws["item_spread" if name == "item_effect" else "item_tie_spread"]
        z = (draws[name].sel(item=left_out) / spread).to_numpy()
        assert abs(z.mean()) < 0.12
        assert abs(z.std() - 1) < 0.12
        np.testing.assert_array_equal(draws[name], again[name])


@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_names_and_order_of_votes_do_not_matter():
    frame, *_ = study(120, 4, 4, 3)
    options = {"draws": 20, "tune": 20, "chains": 1, "side": True, **QUIET}
    first = bradley_terry.fit(votes_of(frame), **options)["posterior"].to_dataset()
    order = np.random.default_rng(3).permutation(120)
    mixed = {name: [values[k] for k in order] for name, values in frame.items()}
    second = bradley_terry.fit(votes_of(mixed), **options)["posterior"].to_dataset()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_parts_are_there_where_votes_name_them_or_where_asked():
    frame, *_ = study(60, 4, 3, 2)
    few = {"draws": 5, "tune": 5, "chains": 1, **QUIET}

    def names(votes, **options):
        return set(bradley_terry.fit(votes, **options, **few)["posterior"].data_vars)

    plain = {"strength", "strength_spread", "tie"}
    voters = {"annotator_sharpness", "sharpness_spread", "annotator_tie", "annotator_tie_spread",
              "annotator_taste_spread"}  # fmt: skip
    assert names(dx.pairs(frame)) == plain
    spreads = {"item_spread", "item_tie_spread"}
    assert names(votes_of(frame)) == plain | voters | spreads | {"item_effect", "item_tie"}
    assert names(votes_of(frame), items=False) == plain | voters
    assert names(votes_of(frame), annotators=False, keep_items=False) == plain | spreads
    assert names(dx.pairs(frame), side=True) == plain | {"side"}
    # Of names with one vote or little more nothing is learned, unless that is asked for.
    twice, less = [n // 2 for n in range(60)], [*range(31), *range(29)]
    for column, spread, other in (("item", "item_spread", "items"),
                                  ("annotator", "sharpness_spread", "annotators")):  # fmt: skip
        assert spread in names(dx.pairs({**frame, column: twice}, **{column: column}))
        alone = dx.pairs({**frame, column: less}, **{column: column})
        assert names(alone) == plain
        assert spread in names(alone, **{other: True})


@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_tastes_are_there_where_votes_tell_them_from_chance():
    frame, *_ = study(60, 4, 3, 2)

    def has(who, **options):
        votes = dx.pairs({**frame, "annotator": who}, annotator="annotator")
        return bool(process(votes, annotators=True, **options).form.tastes)

    assert has(frame["annotator"])
    assert not has(["one"] * 60)
    assert not has([n // 2 for n in range(60)])  # few votes of a voter on a system, but some
    assert has([n // 2 if n < 20 else -1 - n % 2 for n in range(60)])  # two voters have many votes
    # Each system has the votes of one voter, but for the groups that no votes connect.
    own = {"left": list("ac") * 9, "right": list("bd") * 9, "winner": ["left", "right"] * 9}
    apart = dx.pairs({**own, "who": list("vw") * 9}, annotator="who")
    with pytest.warns(dx.DesignWarning, match="No votes compare systems of different groups"):
        assert not process(apart, annotators=True).form.tastes


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_intervals_hold_the_strengths_of_simulated_systems():
    inside, z = [], []
    for seed in range(6):
        frame, strength, *_ = study(600, 5, 10, 12, seed=seed)
        fit = bradley_terry.fit(votes_of(frame), draws=400, tune=300, chains=2, **QUIET)
        draws = fit["posterior"]["strength"]
        low, high = draws.quantile([0.055, 0.945], ("chain", "draw")).to_numpy()
        inside.append((low < strength) & (strength < high))
        z.append((draws.mean(("chain", "draw")) - strength) / draws.std(("chain", "draw")))
    assert 0.7 < np.mean(inside) <= 1  # .89 of 30, which are not independent
    assert 0.6 < np.std(z) < 1.5
