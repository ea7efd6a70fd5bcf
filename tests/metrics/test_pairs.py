"""Win rates and ranks from votes on pairs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.metrics._pairs import vote_on


def tree(**values):
    dims = {"strength": ("chain", "draw", "system"),
            "item_effect": ("chain", "draw", "item", "system"),
            "item_tie": ("chain", "draw", "item")}  # fmt: skip
    coords = {"system": ["a", "b", "c"]}
    data = {name: (dims.get(name, ("chain", "draw")), x) for name, x in values.items()}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(data, coords)})


@pytest.fixture
def draws():
    rng = np.random.default_rng(1)
    return {
        "strength": rng.normal(size=(2, 4, 3)), "tie": rng.normal(size=(2, 4)),
        "side": rng.normal(size=(2, 4)), "item_effect": rng.normal(size=(2, 4, 5, 3)),
        "item_spread": rng.uniform(0.5, 1.5, (2, 4)), "item_tie": rng.normal(size=(2, 4, 5)),
        "item_tie_spread": rng.uniform(0.5, 2.0, (2, 4)),
    }  # fmt: skip


def won(ahead, tie, side):
    """Return P(left) and half of P(tie), each system as often on the left, by the definition."""
    out = 0.0
    for eta in (ahead + side, ahead - side):
        weights = np.exp(np.stack([eta / 2, np.broadcast_to(tie, eta.shape), -eta / 2]))
        share = weights / weights.sum(axis=0)
        out += (share[0] + share[1] / 2) / 2
    return out


def brute(s, tie, side):
    return np.array([
        np.mean([won(s[..., k] - s[..., j], tie, side) for j in range(3) if j != k], axis=0)
        for k in range(3)
    ])  # fmt: skip


def test_win_rates_on_these_prompts_are_means_over_prompts_and_opponents(draws):
    rate = dx.win_rate(tree(**draws))
    s = draws["strength"][:, :, None] + draws["item_effect"]
    tie = draws["tie"][..., None] + draws["item_tie"]
    expected = brute(s, tie, draws["side"][..., None]).mean(axis=-1)
    np.testing.assert_allclose(rate, np.moveaxis(expected, 0, -1))
    np.testing.assert_allclose(rate.mean("system"), 0.5)
    assert rate.dims == ("chain", "draw", "system")


def test_win_rates_on_new_prompts_integrate_over_them(draws):
    rate = dx.win_rate(tree(**draws), new_items=True)
    rng = np.random.default_rng(2)
    new = rng.normal(size=(2, 4, 40_000, 3)) * draws["item_spread"][..., None, None]
    s = draws["strength"][:, :, None] + new
    own = rng.normal(size=(2, 4, 40_000)) * draws["item_tie_spread"][..., None]
    expected = brute(s, draws["tie"][..., None] + own, draws["side"][..., None]).mean(axis=-1)
    np.testing.assert_allclose(rate, np.moveaxis(expected, 0, -1), atol=0.006)


@pytest.mark.parametrize("new_items", [False, True])
def test_win_rates_are_those_of_voters_with_tastes_of_their_own(draws, new_items):
    """Of each draw 40,000 new voters, beside nodes."""
    draws["annotator_taste_spread"] = np.random.default_rng(3).uniform(0.5, 1.5, (2, 4))
    rate = dx.win_rate(tree(**draws), new_items=new_items)
    rng, n = np.random.default_rng(2), 40_000
    taste = rng.normal(size=(2, 4, n, 3)) * draws["annotator_taste_spread"][..., None, None]
    at = np.resize(np.arange(5), n)
    quality, own = draws["item_effect"][:, :, at], draws["item_tie"][:, :, at]
    if new_items:
        quality = rng.normal(size=(2, 4, n, 3)) * draws["item_spread"][..., None, None]
        own = rng.normal(size=(2, 4, n)) * draws["item_tie_spread"][..., None]
    s = draws["strength"][:, :, None] + quality + taste
    expected = brute(s, draws["tie"][..., None] + own, draws["side"][..., None]).mean(axis=-1)
    np.testing.assert_allclose(rate, np.moveaxis(expected, 0, -1), atol=0.008)


@pytest.mark.parametrize("ties", [True, False])
def test_there_are_values_enough_on_a_new_prompt(draws, ties):
    """Two systems with spreads up to 2, beside NumPy's quadrature with 80 x 80 nodes."""
    nodes, w = np.polynomial.hermite_e.hermegauss(80)
    (x, y), w = np.meshgrid(nodes, nodes), np.multiply.outer(w, w) / w.sum() ** 2
    for name in ("item_effect", "item_tie", *(() if ties else ("item_tie_spread",))):
        del draws[name]
    draws["item_spread"] = draws["item_spread"] + 0.5
    rate = dx.win_rate(tree(**draws), new_items=True)
    some = draws["strength"][..., None, None], draws["tie"][..., None, None]
    each = np.sqrt(2) * draws["item_spread"][..., None, None] * x
    tie = some[1] + (draws["item_tie_spread"][..., None, None] * y if ties else 0 * y)
    side = draws["side"][..., None, None]
    expected = []
    for k, j in ((0, 1), (0, 2), (1, 2)):
        ahead = some[0][:, :, k] - some[0][:, :, j] + each
        expected.append((w * won(ahead, tie, side)).sum(axis=(-2, -1)))
    first, second, third = expected
    rates = np.stack([first + second, 1 - first + third, 2 - second - third], axis=-1) / 2
    np.testing.assert_allclose(rate, rates, atol=5e-4)


def test_without_prompts_ties_and_side_it_is_the_logistic_function(draws):
    s = draws["strength"]
    rate = dx.win_rate(tree(strength=s))
    expected = brute(s, np.full((2, 4), -np.inf), np.zeros((2, 4)))
    np.testing.assert_allclose(rate, np.moveaxis(expected, 0, -1))
    xr.testing.assert_equal(rate, dx.win_rate(tree(strength=s), new_items=True))


def test_ranks_count_the_stronger_ones(draws):
    actual = dx.rank(tree(**draws))
    s = draws["strength"]
    expected = 1 + (s[..., None, :] > s[..., :, None]).sum(axis=-1)
    np.testing.assert_array_equal(actual, expected)
    assert actual.attrs["better"] == "lower"


def test_fits_without_strengths_or_prompts_are_refused(draws):
    with pytest.raises(dx.ArgumentError, match=r"fit: expected a fit of models\.bradley_terry"):
        dx.rank(xr.DataTree())
    for name in ("item_tie", "item_effect"):
        del draws[name]
        with pytest.raises(dx.ArgumentError, match=r"keep_items=False.*type new_items=True"):
            dx.win_rate(tree(**draws))
    assert np.isfinite(dx.win_rate(tree(**draws), new_items=True)).all()


PAIRS = {"left": [0, 0, 1, 0], "right": [1, 2, 2, 1], "item": [0, 0, 0, 1]}


def judged(n=1, cast=((), ()), **values):
    """Return a fit with one judge's verdicts on four pairs; all draws are alike, but for voters."""
    rng = np.random.default_rng(3)
    draws = {
        "strength": rng.normal(size=3), "beyond_judge": rng.normal(size=3),
        "judge_weight": np.array([0.8]), "judge_system_weight": np.array([1.3]),
        "judge_tie": np.array([0.5]), "tie": -0.2,
        "item_effect": rng.normal(size=(2, 3)), "item_spread": 1.0,
        "item_tie": np.array([0.9, -0.4]), "item_tie_spread": 1.2,
        "annotator_sharpness": np.array([0.5, 2.0]), "annotator_tie": np.array([-1.0, 0.7]),
        "side": 0.4, "annotator_side": np.array([0.3, -0.6]),
        "coefficient": np.array([0.9]), **values,
    }  # fmt: skip
    dims = {
        "strength": ["system"],
        "beyond_judge": ["system"],
        "judge_weight": ["judge"],
        "judge_tie": ["judge"],
        "item_effect": ["item", "system"],
        "item_tie": ["item"],
        "coefficient": ["term"],
    }
    dims["judge_system_weight"] = ["judge"]
    dims |= {name: ["annotator"] for name in draws if name.startswith("annotator_")}
    dims["annotator_taste_spread"] = []
    posterior = xr.Dataset({
        name: (["chain", "draw", *dims.get(name, [])],
               np.broadcast_to(value, (1, n, *np.shape(value))).copy())
        for name, value in draws.items()
    }, {"system": ["a", "b", "c"]})  # fmt: skip
    of, outcome = cast
    constant = xr.Dataset({
        **{f"pair_{name}": ("pair", codes) for name, codes in PAIRS.items()},
        "vote_pair": ("vote", np.array(of, dtype=int)),
        "vote_turn": ("vote", np.array([1.0, -1.0, 1.0, -1.0][: len(of)])),
        "verdict": (("pair", "judge"), np.array([[1.0], [0.0], [-1.0], [0.5]])),
        "verdict_apart": (("pair", "judge"), np.array([[0.7], [0.2], [-0.5], [0.7]])),
        "verdict_tie": (("pair", "judge"), np.array([[0.0], [1.0], [0.0], [0.5]])),
        "answer": (("pair", "term"), np.array([[0.3], [-1.0], [0.0], [2.0]])),
    })  # fmt: skip
    groups = {
        "posterior": posterior,
        "constant_data": constant,
        "observed_data": xr.Dataset({"outcome": ("vote", np.array(outcome, dtype=int))}),
    }
    return xr.DataTree.from_dict(groups), draws, constant


def expected_votes(draws, known):
    """Return what to expect of a vote on each pair, left won, by a random voter and order."""
    out = []
    names = ("verdict", "verdict_apart", "verdict_tie", "answer")
    for left, right, item, v, apart, t, x in zip(
        *PAIRS.values(), *(known[name][:, 0].to_numpy() for name in names), strict=True
    ):
        each = []
        for who in range(2):
            gap = draws["beyond_judge"][left] + draws["item_effect"][item, left]
            gap -= draws["beyond_judge"][right] + draws["item_effect"][item, right]
            gap_known = v * draws["judge_weight"][0] + x * draws["coefficient"][0]
            gap_known += apart * draws["judge_system_weight"][0]
            eta = draws["annotator_sharpness"][who] * (gap + gap_known)
            tie = draws["tie"] + draws["annotator_tie"][who] + t * draws["judge_tie"][0]
            tie += draws["item_tie"][item]
            each.append(won(eta, tie, draws["side"] + draws["annotator_side"][who]))
        out.append(np.mean(each))
    return np.array(out)


def rates(left_won, weight=(1, 1, 1, 1)):
    total, n = np.zeros(3), np.zeros(3)
    for pair, w in enumerate(weight):
        for code, share in ((PAIRS["left"][pair], left_won[pair]),
                            (PAIRS["right"][pair], 1 - left_won[pair])):  # fmt: skip
            total[code] += w * share
            n[code] += w
    return total / n


def test_win_rates_on_judged_pairs_are_means_of_votes_cast_and_drawn():
    """Votes: two on pair 0 (won by a, and tied), one on pair 3 (won by b, sides as in the pair)."""
    fit, draws, known = judged(60_000, ([0, 0, 3], [0, 1, 2]))
    rate = dx.win_rate(fit, random_seed=1)
    left_won = expected_votes(draws, known)
    left_won[0], left_won[3] = (1.0 + 0.5) / 2, 0.0
    np.testing.assert_allclose(rate.mean(("chain", "draw")), rates(left_won), atol=0.005)
    # Two pairs were not voted on: won, tied or lost.
    assert len(np.unique(rate.sel(system="c").to_numpy().round(9))) == 5
    xr.testing.assert_identical(rate, dx.win_rate(fit, random_seed=1))
    assert rate.dims == ("chain", "draw", "system")


@pytest.mark.long
@pytest.mark.parametrize("as_cast", [True, False])
def test_votes_that_were_not_cast_are_by_voters_with_new_tastes(as_cast):
    fit, draws, known = judged(60_000, ([0], [0]), annotator_taste_spread=1.1)
    rate = dx.win_rate(fit, as_cast=as_cast, random_seed=1)
    rng, each = np.random.default_rng(2), []
    for _ in range(3000):
        taste = draws["item_effect"] + 1.1 * rng.normal(size=3)
        each.append(expected_votes({**draws, "item_effect": taste}, known))
    left_won = np.mean(each, axis=0)
    left_won[0] = 1.0 if as_cast else left_won[0]
    np.testing.assert_allclose(rate.mean(("chain", "draw")), rates(left_won), atol=0.012)


def test_a_voter_has_the_same_tastes_in_all_votes():
    """The votes of one voter on two pairs with a system in common go together."""
    fit, _, known = judged(20_000, annotator_taste_spread=3.0, annotator_sharpness=[1.0] * 2)
    draws = fit["posterior"].to_dataset().isel(chain=0).rename(draw="sample")
    votes = vote_on(draws, known, np.random.default_rng(1), expected=False)
    same = votes.voter[:, 0] == votes.voter[:, 1]  # pairs 0 and 1: the first system on the left
    together, apart = (np.corrcoef(votes.won[at, :2].T)[0, 1] for at in (same, ~same))
    assert together > 0.15
    assert abs(apart) < 0.05


def test_win_rates_where_all_pairs_were_voted_on_are_those_of_the_votes():
    fit, *_ = judged(5, ([0, 1, 2, 3], [0, 0, 1, 2]))
    rate = dx.win_rate(fit, random_seed=1)
    left_won = np.array([1.0, 0.0, 0.5, 1.0])  # the second and the fourth with sides exchanged
    np.testing.assert_allclose(rate, np.broadcast_to(rates(left_won), (1, 5, 3)))


def test_win_rates_on_new_prompts_weigh_prompts_anew():
    fit, draws, known = judged(60_000, ([0], [0]))
    rate = dx.win_rate(fit, new_items=True, random_seed=1)
    left_won = expected_votes(draws, known)
    rng = np.random.default_rng(2)
    share = rng.dirichlet([1, 1], 4000)  # two prompts: pairs 0, 1, 2, and pair 3
    each = [rates(left_won, (w, w, w, other)) for w, other in share]
    np.testing.assert_allclose(rate.mean(("chain", "draw")), np.mean(each, axis=0), atol=0.01)


def test_effects_of_prompts_must_have_been_kept_for_judged_pairs():
    fit, *_ = judged(2, ([0], [0]))
    fit = xr.DataTree.from_dict({
        **{name: fit[name].to_dataset() for name in ("constant_data", "observed_data")},
        "posterior": fit["posterior"].to_dataset().drop_vars("item_effect"),
    })  # fmt: skip
    with pytest.raises(dx.ArgumentError, match="found a fit with keep_items=False"):
        dx.win_rate(fit)


def test_parts_of_a_fit_are_refused():
    fit, *_ = judged(2, ([0], [0]))
    alone = xr.DataTree.from_dict({"posterior": fit["posterior"].to_dataset()})
    with pytest.raises(dx.ArgumentError, match=r"none called 'constant_data', 'observed_data'"):
        dx.win_rate(alone)
    fit["posterior"] = fit["posterior"].to_dataset().isel(system=[0, 1])
    with pytest.raises(dx.ArgumentError, match="Select systems after win_rate"):
        dx.win_rate(fit)


@pytest.mark.long
def test_effects_of_prompts_without_votes_are_drawn():
    seen = {"item_effect": np.array([[0.5, -0.3, 0.1]]), "item_tie": np.array([0.9])}
    fit, draws, known = judged(60_000, ([0], [0]), **seen)
    rate = dx.win_rate(fit, random_seed=1).mean(("chain", "draw"))
    rng = np.random.default_rng(4)
    each = []
    for _ in range(2000):
        new = rng.normal(size=3)
        new = {
            "item_effect": np.array([draws["item_effect"][0], new]),
            "item_tie": np.array([draws["item_tie"][0], 1.2 * rng.normal()]),
        }
        each.append(expected_votes({**draws, **new}, known))
    left_won = np.mean(each, axis=0)
    left_won[0] = 1.0
    np.testing.assert_allclose(rate, rates(left_won), atol=0.012)


def chances(draws, known):
    """Return the probabilities that left wins, ties and loses (pair, outcome), over voters."""
    out = np.zeros((4, 3))
    for pair, (left, right, item) in enumerate(zip(*PAIRS.values(), strict=True)):
        strength = draws["beyond_judge"] + draws["item_effect"][item]
        gap = strength[left] - strength[right]
        gap += known["verdict"][pair, 0].item() * draws["judge_weight"][0]
        gap += known["verdict_apart"][pair, 0].item() * draws["judge_system_weight"][0]
        gap += known["answer"][pair, 0].item() * draws["coefficient"][0]
        for who, order in product(range(2), (1.0, -1.0)):
            eta = draws["annotator_sharpness"][who] * gap
            eta += order * (draws["side"] + draws["annotator_side"][who])
            tie = draws["tie"] + draws["annotator_tie"][who] + draws["item_tie"][item]
            tie += known["verdict_tie"][pair, 0].item() * draws["judge_tie"][0]
            weight = np.exp([eta / 2, tie, -eta / 2])
            out[pair] += weight / weight.sum() / 4
    return out


def of_majority(chance, more, scored=0.0, heard=0):
    """Return what to expect of a panel's majority, by enumerating its further votes."""
    total = 0.0
    for votes in product(range(3), repeat=more):
        mean = (scored + sum((1.0, 0.5, 0.0)[vote] for vote in votes)) / (heard + more)
        total += np.prod(chance[list(votes)]) * (0.5 * (mean == 0.5) + (mean > 0.5))
    return total


@pytest.mark.parametrize("as_cast", [True, False])
def test_win_rates_by_a_panel_are_those_of_its_majority(as_cast):
    """Cast: two votes on pair 0 (won, tied) and on pair 3 (lost; won, sides exchanged)."""
    fit, draws, known = judged(60_000, ([0, 0, 3, 3], [0, 1, 2, 2]))
    chance = chances(draws, known)
    rate = dx.win_rate(fit, panel=3, as_cast=as_cast, random_seed=1)
    left_won = np.array([of_majority(chance[pair], 3) for pair in range(4)])
    if (
        as_cast
    ):  # the second vote on pair 3 was with sides exchanged: left won it, and lost the other
        left_won[0] = of_majority(chance[0], 1, scored=1.5, heard=2)
        left_won[3] = of_majority(chance[3], 1, scored=1.0, heard=2)
    np.testing.assert_allclose(rate.mean(("chain", "draw")), rates(left_won), atol=0.005)
    assert set(np.unique((6 * rate.sel(system="b")).round(9))) <= set(range(7))


def test_a_panel_on_new_prompts_and_one_without_judged_pairs(draws):
    fit, parameters, known = judged(60_000, ([0], [0]))
    rate = dx.win_rate(fit, new_items=True, panel=3, random_seed=1)
    left_won = [of_majority(chance, 3) for chance in chances(parameters, known)]
    share = np.random.default_rng(2).dirichlet([1, 1], 4000)
    each = [rates(left_won, (w, w, w, other)) for w, other in share]
    np.testing.assert_allclose(rate.mean(("chain", "draw")), np.mean(each, axis=0), atol=0.01)
    with pytest.raises(dx.ArgumentError, match="panel: expected 1, since the fit has no judged"):
        dx.win_rate(tree(**draws), panel=3)
    with pytest.raises(dx.ArgumentError, match="panel: expected a whole number"):
        dx.win_rate(fit, panel=0)
