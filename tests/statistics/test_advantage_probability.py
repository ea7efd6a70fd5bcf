"""Advantage probabilities, winning rates and the alternative annotator test.

By the definition, by hand, with draws, and by the figures of the authors of the test.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from advantage_reference import advantages, compared
from scipy import stats
from small_studies import nominal, squared, study
from statsmodels.stats.multitest import multipletests

import dissensus as dx


def passed(pairs, margin, few, q):
    """P-values by SciPy, and wins by the step-up procedure written out: by annotator."""
    differences = {r: [float(h) - float(f) for f, h in by.values()] for r, by in pairs.items()
                   if len(by) >= few}  # fmt: skip
    p = {}
    for r, d in differences.items():
        if np.ptp(d) == 0:
            p[r] = float(d[0] >= margin)
        else:
            p[r] = stats.ttest_1samp(d, margin, alternative="less").pvalue
    ordered = sorted(p, key=p.get)
    harmonic = sum(1 / k for k in range(1, len(p) + 1))
    low = [k for k, r in enumerate(ordered, 1) if p[r] <= k / len(p) * q / harmonic]
    return p, set(ordered[: max(low, default=0)])


@pytest.mark.unit(8)
@pytest.mark.parametrize(
    ("kind", "distance"),
    [("nominal", nominal), ("ordinal", nominal), ("ordinal", squared), ("continuous", squared)],
)
@pytest.mark.parametrize("trials", [False, True])
@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
def test_each_is_its_definition(kind, distance, trials):
    """The probability, the winning rate, and the alternative annotator test."""
    n_wins = 0
    for seed in range(6):
        made = study(seed, kind, n_items=10, n_annotators=2 + seed % 5, n_labels=2 + seed % 4,
                     trials=trials)  # fmt: skip
        ann, pred, labels = made.annotations(), made.predictions(), made.labels_by_item()
        rng = np.random.default_rng(seed)
        weights = {item: float(rng.random()) for item in labels}
        few, margin, q, name = 2 + seed % 4, (0.0, 0.2, 0.5)[seed % 3], 0.3, distance.__name__
        more = {"min_items": few, "weights": weights}
        probability = dx.advantage_probability(ann, pred, name, **more)
        rate = dx.winning_rate(ann, pred, margin, name, **more)
        won = dx.winning_rate(ann, pred, margin, name, per_annotator=True, **more)
        test = dx.alt_test(ann, pred, margin, name, q=q, min_items=few)
        for system in "st":
            pairs = compared(labels, made.predicted, system, distance)
            both = advantages(pairs, weights)
            enough = [r for r, by in pairs.items() if len(by) >= few]
            ahead = {r: both[r][0] - both[r][1] > -margin + 1e-12 for r in enough}
            mean = np.mean(list(ahead.values())) if enough else np.nan
            np.testing.assert_allclose(rate.sel(system=system), mean, rtol=0, atol=1e-12)
            p, wins = passed(pairs, margin, few, q)
            of = test.sel(system=system)
            for r in ann["annotator"].values.tolist():
                at = {"system": system, "annotator": r}
                value = both[r][0] if r in enough else np.nan
                np.testing.assert_allclose(probability.sel(at), value, rtol=0, atol=1e-12)
                np.testing.assert_equal(float(won.sel(at)), float(ahead.get(r, np.nan)))
                p_value = of["p_value"].sel(annotator=r)
                np.testing.assert_allclose(p_value, p.get(r, np.nan), rtol=1e-9, atol=1e-12)
                assert bool(of["win"].sel(annotator=r)) == (r in wins)
            expected = len(wins) / len(p) if p else np.nan
            np.testing.assert_allclose(of["winning_rate"], expected, atol=1e-12)
            n_wins += len(wins)
    assert n_wins > 0


def test_by_hand():
    """On item 0 (a, a, b) the system says a, on item 1 (b, b, b) it says a, on item 2 it says c.

    Item 2 is a, b and nobody. Of item 0, annotators 0 and 1 tie with the system (one of two others
    each), and the system is closer than 2. On item 1 all are closer. On item 2 0 and 1 tie with the
    system: nobody agrees with anybody.
    """
    ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "b"], ["a", "b", None]], labels=list("abc"))
    pred = dx.predictions({"item": range(3), "system": ["m"] * 3, "label": list("aac")})
    probability = dx.advantage_probability(ann, pred)
    np.testing.assert_allclose(probability, [[2 / 3, 2 / 3, 1 / 2]])
    assert probability.dims == ("system", "annotator")
    assert probability.attrs == {"distance": "nominal", "better": "higher"}
    # Strictly closer less strictly farther: -1/3, -1/3, 0.
    won = dx.winning_rate(ann, pred, 0.3, min_items=1, per_annotator=True)
    np.testing.assert_array_equal(won, [[0, 0, 1]])
    assert float(dx.winning_rate(ann, pred, 0.3, min_items=1)[0]) == pytest.approx(1 / 3)
    assert float(dx.winning_rate(ann, pred, 0.4, min_items=1)[0]) == 1.0
    # Exactly as far behind as is allowed is not within it, here and in the source.
    assert float(dx.winning_rate(ann, pred, 1 / 3, min_items=1)[0]) == pytest.approx(1 / 3)


def test_the_vote_has_every_advantage():
    """Calderon, Reichart & Dror (2025): a system that emulates the majority has rho = 1."""
    rng = np.random.default_rng(3)
    given = rng.integers(2, size=(100, 5))
    ann = dx.from_matrix(given.tolist(), kind="nominal")
    vote = (given.sum(axis=1) > 2).astype(int)
    pred = dx.predictions({"item": range(100), "system": ["m"] * 100, "label": vote})
    np.testing.assert_array_equal(dx.advantage_probability(ann, pred), np.ones((1, 5)))


def test_distances_between_rankings(rankings):
    probability = dx.advantage_probability(*rankings)
    assert probability.attrs == {"distance": "ranking", "depth": 3, "better": "higher"}
    assert probability.dims == ("system", "annotator")
    assert ((probability >= 0) & (probability <= 1)).all()


def test_small_differences_of_large_numbers_are_seen():
    given = [[1e6, 1e6 + 1e-3, 1e6 + 3e-3], [1e6, 1e6, 1e6]] * 2
    ann = dx.from_matrix(given, kind="continuous")
    answers = [1e6 + 1e-3, 1e6] * 2
    pred = dx.predictions({"item": range(4), "system": ["m"] * 4, "label": answers},
                          kind="continuous")  # fmt: skip
    np.testing.assert_array_equal(dx.advantage_probability(ann, pred), [[1, 1, 1]])
    each = dx.winning_rate(ann, pred, 0.0, min_items=1, per_annotator=True)
    np.testing.assert_array_equal(each, [[1, 0, 1]])


def test_draws_are_the_posterior_of_a_proportion():
    """Two annotators; comparisons are independent of each other: Beta, up to the weights' 1s."""
    rng = np.random.default_rng(4)
    n, closer = 200, 140
    better = np.arange(n) < closer
    ann = dx.from_matrix([["a", "b" if is_better else "a"] for is_better in better])
    pred = dx.predictions({"item": range(n), "system": ["m"] * n,
                           "label": np.where(better, "a", "b")})  # fmt: skip
    # Of annotator 1: the system agrees with 0 where 1 does not, and the other way round.
    draws = dx.bayesian_bootstrap(dx.advantage_probability, ann, pred, draws=4000, random_seed=rng)
    of = draws.sel(annotator=1).values.ravel()
    beta = closer / n, np.sqrt(closer * (n - closer) / n**2 / (n + 1))  # Beta(140, 60)
    assert of.mean() == pytest.approx(beta[0], abs=4 * beta[1] / np.sqrt(4000))
    assert of.std() == pytest.approx(beta[1], rel=0.05)


def test_draws_of_the_winning_rate_say_how_sure_each_win_is():
    rng = np.random.default_rng(5)
    truth = rng.integers(3, size=150)
    noise = np.array([0.1, 0.4, 0.4, 0.4])
    given = np.where(rng.random((150, 4)) < noise, rng.integers(3, size=(150, 4)), truth[:, None])
    labels = np.where(rng.random(150) < 0.25, rng.integers(3, size=150), truth)
    ann = dx.from_matrix(given.tolist(), kind="nominal")
    pred = dx.predictions({"item": range(150), "system": ["m"] * 150, "label": labels})
    more = {"draws": 1000, "random_seed": 1}
    rate = dx.bayesian_bootstrap(dx.winning_rate, ann, pred, 0.05, **more)
    win = dx.bayesian_bootstrap(dx.winning_rate, ann, pred, 0.05, per_annotator=True, **more)
    assert rate.dims == ("chain", "draw", "system")
    assert win.dims == ("chain", "draw", "system", "annotator")
    np.testing.assert_allclose(rate, win.mean("annotator"), atol=1e-12)
    sure = win.mean(("chain", "draw"))[0]
    assert (sure[1:] > 0.9).all()
    assert sure[0] < 0.9


def test_says_why_it_is_undefined():
    ann = dx.from_matrix([["a", "a", None], ["b", None, None], ["a", "b", "b"]])
    pred = dx.predictions({"item": range(3), "system": ["m"] * 3, "label": list("aba")})
    with pytest.warns(dx.DissensusWarning, match=r"in 1 of 3 values: fewer than 2 items"):
        probability = dx.advantage_probability(ann, pred, min_items=2)
    np.testing.assert_array_equal(np.isnan(probability), [[False, False, True]])
    with pytest.warns(dx.DissensusWarning, match="no item with another"):
        assert np.isnan(dx.advantage_probability(ann, pred, weights=[1, 1, 0])[0, 2])
    with pytest.warns(dx.DissensusWarning, match="fewer than 30 items"):
        assert np.isnan(dx.winning_rate(ann, pred)).all()
    with pytest.warns(dx.DissensusWarning, match="fewer than 30 items"):
        assert np.isnan(dx.winning_rate(ann, pred, per_annotator=True)).all()
    lonely = dx.from_matrix([["a"], ["b"], ["a"]])
    with pytest.warns(dx.DissensusWarning, match="no item with another annotator"):
        assert np.isnan(dx.advantage_probability(lonely, pred)).all()


def test_items_that_only_one_side_has_can_be_dropped():
    ann = dx.from_matrix([["a", "a"], ["b", "a"], ["a", "b"]])
    pred = dx.predictions({"item": [0, 1, 7], "system": ["m"] * 3, "label": list("bba")})
    with pytest.raises(dx.PredictionError, match="on_missing"):
        dx.advantage_probability(ann, pred)
    both = dx.advantage_probability(ann, pred, on_missing="drop")
    np.testing.assert_array_equal(both, [[0.5, 0.5]])


@pytest.mark.parametrize("name", ["advantage_probability", "winning_rate"])
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"distance": "cosine"}, "distance"),
        ({"min_items": 0}, "min_items"),
        ({"min_items": 2.0}, "min_items"),
        ({"distance": "nominal", "tolerance": 1.0}, "tolerance"),
    ],
)
def test_refuses_what_makes_no_sense(votes, name, more, words):
    with pytest.raises(dx.ArgumentError, match=words):
        getattr(dx, name)(*votes, **more)


@pytest.mark.parametrize("margin", [-0.1, 1.0, "a", True, None])
def test_refuses_a_margin_that_is_none(votes, margin):
    with pytest.raises(dx.ArgumentError, match="epsilon"):
        dx.winning_rate(*votes, margin)


# The alternative annotator test.


SYSTEMS = ("gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03")

PRINTED = {
    "wax": (0.1, (0.38, 0.50, 0.50, 0.00, 0.00, 0.00), (0.69, 0.74, 0.73, 0.57, 0.59, 0.50)),
    "mtbench": (0.2, (0.0,) * 6, (0.72, 0.76, 0.77, 0.69, 0.74, 0.68)),
    "cebab_aspects": (
        0.1,
        (0.70, 0.90, 0.90, 0.60, 0.50, 0.10),
        (0.91, 0.94, 0.93, 0.89, 0.90, 0.81),
    ),
}
"""Epsilon, winning rates and advantage probabilities, as printed to two digits in the outputs of
the authors' notebook (github nitaytech/AltTest, alt_test_example.ipynb, commit 13eada2)."""


# Systems may say so, people did not.
@pytest.mark.filterwarnings("ignore:Labels outside the label space.*'None-of-the-above'")
@pytest.mark.parametrize("name", PRINTED)
def test_gives_the_figures_of_the_authors(shared, name):
    margin, rates, advantages = PRINTED[name]
    ann = dx.read_annotations(shared / name / "annotations.csv")
    pred = dx.read_predictions(shared / name / "predictions.csv")
    result = dx.alt_test(ann, pred, margin).sel(system=list(SYSTEMS))
    # Half a digit, and .375 printed as .38.
    np.testing.assert_allclose(result["winning_rate"], rates, rtol=0, atol=0.005 + 1e-9)
    np.testing.assert_allclose(result["advantage_probability"], advantages, rtol=0, atol=0.005)
    np.testing.assert_array_equal(result["passes"], np.array(rates) >= 0.5)
    by_both = dx.advantage_probability(ann, pred, min_items=30).sel(system=list(SYSTEMS))
    np.testing.assert_allclose(result["system_advantage"], by_both, atol=1e-12)
    ahead = dx.winning_rate(ann, pred, margin).sel(system=list(SYSTEMS))
    assert (ahead >= result["winning_rate"]).all()


@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
def test_what_the_test_says_besides_is_its_definition():
    """P-values are adjusted as by statsmodels. Systems may say what nobody else does."""
    passes = []
    for seed in range(6):
        made = study(seed, n_items=12, n_annotators=4)
        labels = {key: "none" if place % 7 == 0 else label
                for place, (key, label) in enumerate(made.predicted.items())}  # fmt: skip
        made = replace(made, predicted=labels)
        test = dx.alt_test(made.annotations(), made.predictions(), 0.4, q=0.3, min_items=8)
        for system in "st":
            pairs = compared(made.labels_by_item(), labels, system, nominal)
            both = advantages(pairs, dict.fromkeys(made.labels_by_item(), 1.0))
            p, wins = passed(pairs, 0.4, 8, 0.3)
            tested, of = list(p), test.sel(system=system)
            each = of.sel(annotator=tested)
            adjusted = multipletests(list(p.values()), method="fdr_by")[1]
            np.testing.assert_allclose(each["adjusted_p_value"], adjusted, rtol=1e-9)
            np.testing.assert_allclose(each["system_advantage"], [both[r][0] for r in tested])
            np.testing.assert_allclose(each["annotator_advantage"], [both[r][1] for r in tested])
            assert each["items"].values.tolist() == [len(pairs[r]) for r in tested]
            mean = np.mean([both[r][0] for r in tested])
            assert float(of["advantage_probability"]) == pytest.approx(mean, abs=1e-12)
            passes.append(len(wins) >= len(p) / 2)
            assert bool(of["passes"]) == passes[-1]
    assert 0 < sum(passes) < len(passes)


def test_does_not_divide_by_a_variance_of_zero():
    """A system that is always right against annotators who always agree: ties throughout."""
    ann = dx.from_matrix([["a", "a", "a"], ["b", "b", "b"]] * 20)
    right = dx.predictions({"item": range(40), "system": ["m"] * 40, "label": list("ab") * 20})
    wrong = dx.predictions({"item": range(40), "system": ["m"] * 40, "label": list("ba") * 20})
    won, lost = dx.alt_test(ann, right, 0.1), dx.alt_test(ann, wrong, 0.1)
    assert (won["p_value"] == 0).all()
    assert won["passes"].all()
    assert (lost["p_value"] == 1).all()
    assert not lost["win"].any()
    # Without a margin, ties are not a win.
    assert not dx.alt_test(ann, right, 0.0)["win"].any()


def test_annotators_with_few_items_are_named_and_not_tested():
    table = [["a", "a", "a"], ["b", "b", None]] * 20
    ann = dx.from_matrix(table)
    pred = dx.predictions({"item": range(40), "system": ["m"] * 40, "label": list("ab") * 20})
    with pytest.warns(dx.DissensusWarning, match="1 of 3 annotators are not tested .2.: fewer"):
        result = dx.alt_test(ann, pred, 0.1)
    assert result["items"].values.tolist() == [40, 40, 20]
    assert np.isnan(result["p_value"].sel(annotator=2)).all()
    assert float(result["winning_rate"][0]) == 1.0
    with pytest.warns(dx.DissensusWarning, match="3 of 3"):
        none = dx.alt_test(ann, pred, 0.1, min_items=100)
    assert np.isnan(none["winning_rate"]).all()
    assert np.isnan(none["advantage_probability"]).all()
    assert not none["passes"].any()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"epsilon": 1.0}, "epsilon"),
        ({"epsilon": "crowd"}, "epsilon"),
        ({"epsilon": 0.1, "q": -0.1}, "q: expected"),
        ({"epsilon": 0.1, "min_items": 1}, "min_items"),
        ({"epsilon": 0.1, "distance": "cosine"}, "distance"),
    ],
)
def test_the_test_refuses_what_makes_no_sense(votes, more, words):
    with pytest.raises(dx.ArgumentError, match=words):
        dx.alt_test(*votes, **more)


def test_wins_are_wins_of_the_winning_rate_only_where_q_is_below_a_half():
    """One annotator has enough items; a p-value above .5 is not a lead, but may be below q."""
    rng = np.random.default_rng(0)
    above = 0
    for _ in range(10):
        table = rng.integers(2, size=(12, 3)).astype(object)
        table[:6, 1], table[6:, 2] = None, None
        ann = dx.from_matrix(table.tolist(), kind="nominal")
        labels = rng.integers(2, size=12)
        pred = dx.predictions({"item": range(12), "system": ["m"] * 12, "label": labels})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dx.DissensusWarning)
            ahead = float(dx.winning_rate(ann, pred, 0.1, min_items=8)[0])
            strict, lax = (
                float(dx.alt_test(ann, pred, 0.1, q=q, min_items=8)["winning_rate"][0])
                for q in (0.49, 0.9)
            )
        assert strict <= ahead
        above += lax > ahead
    assert above > 0
