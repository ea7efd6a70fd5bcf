"""Plackett-Luce: the published example, closed forms, importance sampling, NUTS, and real races.

The kernels under it are tested against enumeration in `tests/kernels`; here it is the whole, from
annotations to a fit.
"""

from __future__ import annotations

import warnings
from functools import cache

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from families.rankings.ranking_reference import by_importance

import dissensus as dx
from dissensus.data.plausibility import with_candidates
from dissensus.models import plackett_luce
from dissensus.sampling.interpreter import uncompiled


def fit(ann, **options):
    """Fit under a prior that is known; `test_ranking_prior` is of learning it."""
    default = {"random_seed": 17, "progressbar": False, "draws": 2500, "chains": 2}
    return plackett_luce.fit(ann, **{"concentration": None, **default, **options})


@pytest.fixture(scope="module")
def ann():
    """Two cases: two readers with ties, and one reader."""
    return dx.from_rankings(
        {"p": [[["a"], ["b", "c"]], [["b"], ["a"]]], "q": [[["d"], ["a"]]]}, labels=list("abcdef")
    )


# -- The published example --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hyper", "whole_space", "want"),
    [
        ({"unranked": "exact"}, True, 0.40),
        ({"unranked": "exact", "concentration": 1.0}, True, 0.012),
        ({"unranked": "one", "concentration": 1.0}, True, 0.27),
    ],
    ids=["exact, 1/K", "exact, 1", "one, 1"],
)
def test_the_cards_table(hyper, whole_space, want):
    """The leading condition of Figure 5; computed for methods.md by an independent sampler."""
    ann, _, _ = dx.datasets.load("stutz_figure5", whole_space=whole_space)
    theta = fit(ann, **hyper)["posterior"]["plausibility"]
    leading = theta.where(theta["candidate_label"] == "Hemangioma", drop=True)
    assert float(leading.mean()) == pytest.approx(want, abs=0.01 if want > 0.1 else 0.002)


def test_figure_5():
    """.702 and 1.000 at reliability 3 with the labels nobody named left out (printed .7 and 1)."""
    ann, pred, _ = dx.datasets.load("stutz_figure5", whole_space=True)
    trusted = fit(ann, unranked="ignore", concentration=1.0, reliability=3, draws=5000)
    accuracy = dx.top_k_accuracy(trusted, pred, k=3).mean(("chain", "draw"))
    assert float(accuracy.sel(system="A")) == pytest.approx(0.702, abs=0.02)
    assert float(accuracy.sel(system="B")) == pytest.approx(1.0, abs=0.002)


# -- Closed forms and references --------------------------------------------------------------


def agree(fitted, want, error=0.0):
    """Compare mean plausibilities (item, candidate), in Monte Carlo errors of both."""
    theta = fitted["posterior"]["plausibility"]
    moving = (theta.std(("chain", "draw")) > 0).to_numpy()
    ess = az.ess(theta).to_numpy()
    assert ess[moving].min() > 400
    spread = np.hypot(theta.std(("chain", "draw")) / np.sqrt(ess), error)
    gap = np.abs(theta.mean(("chain", "draw")) - want).to_numpy()
    assert (gap[moving] < 4 * spread.to_numpy()[moving]).all()
    assert (gap[~moving] < 1e-9).all()


@pytest.mark.parametrize("concentration", [None, 0.7])
def test_single_labels_give_the_dirichlet_posterior(concentration):
    ann = dx.annotations(
        {"item": [1, 1, 1, 2], "annotator": [1, 2, 3, 1], "label": list("aabc")}, labels="abcde"
    )
    a = 1 / 5 if concentration is None else concentration
    want = np.array([[a + 2, a + 1, 3 * a], [a + 1, 0, 4 * a]])
    want /= want.sum(axis=1, keepdims=True)
    agree(fit(ann, concentration=concentration), want)


@pytest.mark.parametrize("gamma", [1.0, 0.5, 2.5])
def test_agreeing_readers_under_the_sparse_prior(gamma):
    """Two readers say x before y, of 50 labels; concentration 1/50.

    With V_x the share of x and V_y that of y in what x leaves, the likelihood is (V_x V_y)^2,
    and under the prior the two are independent Beta(a, 49 a) and Beta(a, 48 a). At reliability 1
    the mean of x is 2.02/3 = .6733; a floor of 1e-6 under the strengths makes it .35.
    """
    ann = dx.from_rankings({"case": [[["x"], ["y"]]] * 2}, labels=["x", "y", *map(str, range(48))])
    x, y = ((0.02 + 2 * gamma) / (0.02 * n + 2 * gamma) for n in (50, 49))
    agree(fit(ann, reliability=gamma, draws=10_000), [[x, y * (1 - x), (1 - x) * (1 - y)]])


SAID = [[[0], [1, 2]], [[1], [0]], []]
K = 5


def reference(unranked, tempering, reliability, a):
    """Return weighted means (candidate) of prior draws, and their errors."""
    n_labels = {"exact": K, "one": 4, "ignore": 3, "absent": 3}[unranked]
    rankings = [["closed", *b] if unranked == "absent" and b else b for b in SAID]
    power, sharp = (reliability, 1) if tempering == "likelihood" else (1, reliability)
    theta, weight = by_importance(rankings, np.full(n_labels, a), 3, power, [sharp] * len(SAID))
    mean = weight @ theta
    return mean, np.sqrt(weight**2 @ (theta - mean) ** 2)


@cache
def ranked():
    names = "abcde"
    return dx.from_rankings(
        {"x": [[[names[k] for k in block] for block in blocks] for blocks in SAID]}, labels=names
    )


GRID = [
    (unranked, tempering, reliability)
    for unranked in ("exact", "one", "ignore", "absent")
    for tempering in ("likelihood", "strength")
    for reliability in (0.5, 1, 1.5, 2, 3)
]


@pytest.mark.unit(8, long=6)
@pytest.mark.parametrize(("unranked", "tempering", "reliability"), GRID)
def test_agrees_with_importance_sampling(unranked, tempering, reliability):
    means, errors = reference(unranked, tempering, reliability, a=0.8)
    fitted = fit(ranked(), unranked=unranked, tempering=tempering, reliability=reliability,
                 concentration=0.8, draws=4000)  # fmt: skip
    agree(fitted, means[None], errors[None])


# NUTS stumbles once or twice over the long tail of a small reliability, by the last bits of a
# processor's arithmetic; the means still agree.
STUMBLES = pytest.mark.filterwarnings("ignore:[1-8] of 4000 transitions diverged")


def witnessed(unranked, tempering, reliability):
    """NUTS on the same model gives the same means."""
    hyper = {"unranked": unranked, "tempering": tempering, "reliability": reliability,
             "concentration": 0.8}  # fmt: skip
    nuts = fit(ranked(), sampler="nuts", tune=1000, draws=2000, **hyper)["posterior"][
        "plausibility"
    ]
    error = nuts.std(("chain", "draw")) / np.sqrt(az.ess(nuts).clip(1))
    assert float(az.ess(nuts).where(nuts.std(("chain", "draw")) > 0).min()) > 400
    agree(fit(ranked(), draws=4000, **hyper), nuts.mean(("chain", "draw")), error)


@pytest.mark.slow
@pytest.mark.compiled
@STUMBLES
def test_agrees_with_nuts():
    """The test below, reduced; reduced further, `families/steps` has the gradients."""
    witnessed("one", "strength", 2)


@STUMBLES
@pytest.mark.slow
@pytest.mark.parametrize(("unranked", "tempering", "reliability"), GRID)
def test_agrees_with_nuts_throughout(unranked, tempering, reliability):
    witnessed(unranked, tempering, reliability)


# -- The prior and the space ------------------------------------------------------------------


def test_the_sparse_prior_is_one_labels_worth_in_all(ann):
    for unranked, n_labels in (("exact", [6, 6]), ("one", [4, 3]), ("ignore", [3, 2])):
        tree = fit(ann, unranked=unranked, draws=5)
        prior = tree["constant_data"]["prior_shape"]
        np.testing.assert_allclose(prior.sum("candidate"), 1.0)
        np.testing.assert_allclose(prior[:, 0], 1 / np.array(n_labels))


@pytest.mark.parametrize(("unranked", "sizes"), [("exact", [3, 4]), ("ignore", [3, 4])])
def test_the_remainder_is_the_last_candidate(ann, unranked, sizes):
    theta = fit(ann, unranked=unranked, draws=20)["posterior"]["plausibility"]
    assert theta["candidate_size"][:, -1].values.tolist() == sizes
    np.testing.assert_allclose(theta.sum("candidate"), 1.0)
    assert bool((theta[..., -1] > 0).all()) == (unranked == "exact")


def test_an_item_nobody_ranked_has_its_prior():
    ann = dx.from_rankings({"x": [[["a"]]], "y": [[]]}, labels="abc")
    theta = fit(ann, draws=10)["posterior"]["plausibility"].sel(item="y")
    np.testing.assert_allclose(theta[..., -1], 1.0)
    for unranked in ("ignore", "absent"):
        with pytest.raises(dx.AnnotationError, match=r"items .*'y'.*no labels"):
            fit(ann, unranked=unranked)


def test_draws_of_an_item_do_not_hang_on_the_others(ann):
    whole = fit(ann, draws=30)["posterior"]["plausibility"]
    alone = dx.from_rankings({"q": [[["d"], ["a"]]]}, labels=list("abcdef"))
    part = fit(alone, draws=30)["posterior"]["plausibility"]
    np.testing.assert_array_equal(part.sel(item="q"), whole.sel(item="q")[..., [0, 1, 3]])


def test_a_bar_shows_progress(ann, capsys):
    fit(ann, draws=5, progressbar=True)
    assert "Sampling rankings" in capsys.readouterr().err


# -- What is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hyper", "words"),
    [
        ({"reliability": 0}, r"reliability: expected a finite number > 0; found 0"),
        ({"reliability": "own"}, r"reliability: .*'common' or 'annotator'; found 'own'"),
        ({"reliability": "common"}, r"tempering: expected 'strength'.*found 'likelihood'"),
        ({"tempering": "both"}, r"tempering: expected 'likelihood' or 'strength'; found 'both'"),
        ({"concentration": -1}, r"concentration: .* > 0; found -1"),
        ({"concentration": 1e-20}, r"concentration: .*from 1e-09 to 1e\+09; found 1e-20"),
        ({"reliability": 1e10, "tempering": "strength"}, r"reliability: .*found 1e\+?10|1000"),
        ({"reliability": True}, r"reliability: .* > 0; found True"),
        ({"unranked": ["exact"]}, r"unranked: .*found \['exact'\]"),
        ({"unranked": "last"}, r"unranked: .*'exact'.*found 'last'"),
        ({"sampler": "hmc"}, r"sampler: .*'gibbs' or 'nuts'; found 'hmc'"),
    ],
)
def test_senseless_settings_are_named(ann, hyper, words):
    for function in (plackett_luce.build, plackett_luce.fit):
        with pytest.raises(dx.ArgumentError, match=words):
            function(ann, **hyper)


@pytest.mark.parametrize("tune", [-5, 1.5, None, "3"])
def test_a_senseless_warm_up_is_named(ann, tune):
    with pytest.raises(dx.ArgumentError, match=r"tune: expected a whole number, 0 or more"):
        fit(ann, tune=tune)


def test_rankings_that_compare_nothing_are_pointed_out():
    """Where what is not listed was not there, one label alone says nothing."""
    ann = dx.from_rankings({"x": [[["a"]], [["b"]]], "y": [[["a"], ["b"]]]})
    with pytest.warns(dx.errors.DissensusWarning, match=r"1 items \('?x'?\) are not informative"):
        fit(ann, unranked="absent", draws=5)


def test_ties_that_would_not_count_are_refused():
    """All that were there tied: probability 1. With other labels ranked last it says something."""
    ann = dx.from_rankings({"x": [[["a"], ["b"]], [["b", "a"]]], "y": [[["a", "b"]]]})
    words = r"annotator 'x: 2', item 'x': .*all labels tied \(such rankings: 2\).*dx\.pairs"
    for function in (plackett_luce.build, fit, plackett_luce.maximum_likelihood):
        with pytest.raises(dx.AnnotationError, match=words):
            function(ann, unranked="absent")
    plackett_luce.build(ann)


def test_readers_without_a_name_have_no_reliability_of_their_own(ann):
    with pytest.raises(dx.AnnotationError, match=r"none on more than one item.*common"):
        fit(ann, reliability="annotator", tempering="strength")


# -- Predictions and comparison ---------------------------------------------------------------


each_hyper = pytest.mark.parametrize(
    "hyper", [{}, {"tempering": "strength", "reliability": 2.0}, {"unranked": "absent"}], ids=str
)


@each_hyper
def test_the_pointwise_log_likelihood_is_that_of_the_strengths(ann, hyper):
    tree = fit(ann, concentration=0.8, draws=20, log_likelihood=True, **hyper)
    result = tree["log_likelihood"]["rankings"]
    assert result["ranking_item"].values.tolist() == ["p", "p", "q"]
    theta = tree["posterior"]["plausibility"].sel(item="q")
    sharp = hyper.get("reliability", 1.0)
    if hyper.get("unranked") == "absent":  # d before a, and nothing else there
        d, a = theta[..., 1], theta[..., 0]
        np.testing.assert_allclose(result[..., 2], np.log(d / (d + a)))
    elif sharp == 1:
        d, a = theta[..., 1], theta[..., 0]
        np.testing.assert_allclose(result[..., 2], np.log(d * a / (1 - d)))


@pytest.mark.long
@pytest.mark.parametrize("hyper", [{}, {"unranked": "absent"}], ids=str)
def test_the_pointwise_log_likelihood_is_that_of_the_model(ann, hyper):
    model = plackett_luce.build(ann, concentration=0.8, **hyper)
    with model:
        raw = pm.sample(20, tune=20, chains=1, cores=1, random_seed=1, progressbar=False,
                        compute_convergence_checks=False)  # fmt: skip
    want = pm.compute_log_likelihood(raw, model=model, progressbar=False)["log_likelihood"]
    assert want["rankings"].dims[-1] == "ranking"
    tree = fit(ann, concentration=0.8, draws=20, log_likelihood=True, **hyper)
    actual = tree["log_likelihood"]["rankings"]
    assert float(abs(actual.mean() - want["rankings"].mean())) < 1.5


@pytest.mark.long
def test_strength_tempering_needs_every_label_for_its_log_likelihood(ann):
    """Against Plackett-Luce by hand on the dense strengths that the PyMC path keeps."""
    tree = fit(ann, concentration=0.8, draws=1500, log_likelihood=True, tempering="strength",
               reliability=2.0)  # fmt: skip
    model = plackett_luce.build(ann, concentration=0.8, tempering="strength", reliability=2.0)
    with model:
        raw = pm.sample(1500, tune=200, chains=2, cores=1, random_seed=1, progressbar=False,
                        compute_convergence_checks=False)  # fmt: skip
    want = pm.compute_log_likelihood(raw, model=model, progressbar=False)["log_likelihood"]
    first, second = tree["log_likelihood"]["rankings"], want["rankings"]
    error = np.hypot(az.mcse(first).to_numpy(), az.mcse(second).to_numpy())
    gap = np.abs(
        first.mean(("chain", "draw")).to_numpy() - second.mean(("chain", "draw")).to_numpy()
    )
    assert (gap < 4 * error).all()


def test_new_rankings_have_the_shape_of_the_data_and_the_labels_of_the_space(ann):
    tree = fit(ann, posterior_predictive=True, draws=500)
    new = tree["posterior_predictive"]["label_code"]
    assert new.attrs["labels"] == list("abcdef")
    assert new.dims == ("chain", "draw", "annotation")
    assert set(np.unique(new)) == set(range(6))  # labels nobody named, too
    pairs = new.to_numpy().reshape(-1, ann.sizes["annotation"])
    where = ann["item_code"].to_numpy() * 10 + ann["annotator_code"].to_numpy()
    for ranking in np.unique(where):
        mine = np.sort(pairs[:, where == ranking], axis=1)
        assert (np.diff(mine, axis=1) > 0).all()  # each label once in a list
    first = ann["rank"].to_numpy() == 1
    assert first.sum() == 3
    q = int(np.flatnonzero(first & (ann["item_code"].to_numpy() == 1))[0])
    share = (new[..., q] == 3).mean()
    theta = tree["posterior"]["plausibility"].sel(item="q")[..., 1].mean()
    assert float(share) == pytest.approx(float(theta), abs=0.05)


def test_agreement_on_first_choices_is_checked_against_the_data():
    rankings = {i: [[["a"], ["b"]], [["a"]], [["c"] if i % 2 else ["a"]]] for i in range(30)}
    ann = dx.from_rankings(rankings, labels="abcd")
    tree = fit(ann, posterior_predictive=True, draws=500, concentration=1.0)
    assert float(tree["observed_data"]["first_choice_agreement"]) == pytest.approx(2 / 3)
    result = tree["posterior_predictive"]["first_choice_agreement"]
    assert result.dims == ("chain", "draw")
    assert 0.3 < float(result.mean()) < 0.8


def test_where_unnamed_labels_are_one_they_are_told_as_another():
    ann = dx.from_rankings({"x": [[["a"], ["b"]]]}, labels="abcdef")
    new = fit(ann, unranked="one", concentration=2.0, posterior_predictive=True, draws=100)
    assert set(np.unique(new["posterior_predictive"]["label_code"])) == {-1, 0, 1}


@pytest.mark.long
def test_metrics_read_the_draws_of_pymc(ann):
    with plackett_luce.build(ann, concentration=0.8):
        raw = pm.sample(1500, tune=200, chains=2, cores=1, random_seed=1, progressbar=False)
    theirs = dx.annotation_certainty(with_candidates(raw, ann, concentration=0.8))
    ours = dx.annotation_certainty(fit(ann, concentration=0.8))
    np.testing.assert_allclose(theirs, ours, atol=0.05)


# -- Reliability as something to learn --------------------------------------------------------

SHARP = np.array([0.3, 0.6, 1.0, 1.0, 1.7, 3.0])


@pytest.fixture(scope="module")
def panel():
    """Six annotators of known sharpness list three of five labels of thirty-five items."""
    rng = np.random.default_rng(12)
    theta = rng.dirichlet(np.full(5, 0.6), 35)
    rankings = {}
    for item, row in enumerate(theta):
        lists = {}
        for who, sharp in enumerate(SHARP):
            arrival = np.log(rng.standard_exponential(5)) - sharp * np.log(row)
            first = np.argsort(arrival)[:3].tolist()
            lists[f"r{who}"] = (
                [[first[0]], first[1:]] if rng.random() < 0.3 else [[k] for k in first]
            )
        rankings[item] = lists
    return dx.from_rankings(rankings, labels=range(5))


@pytest.fixture(scope="module")
def learned(panel):
    """Return a function that fits with a learned reliability of each annotator, or of all."""

    @cache
    def run(how, draws=120):
        with warnings.catch_warnings(), uncompiled():
            # Reliability and strengths pull on each other; here a hundred draws do.
            warnings.simplefilter("ignore", dx.ConvergenceWarning)
            return fit(
                panel, reliability=how, tempering="strength", concentration=0.6,
                log_likelihood=True, draws=draws, tune=draws, chains=2,
            )  # fmt: skip

    return run


@pytest.mark.slow
def test_each_annotators_reliability_is_recovered(learned):
    result = learned("annotator", 70)["posterior"]["annotator_reliability"]
    assert result["annotator"].values.tolist() == [f"r{who}" for who in range(6)]
    low, high = result.quantile([0.025, 0.975], ("chain", "draw")).to_numpy()
    inside = (low < SHARP) & (high > SHARP)
    assert inside.sum() >= 5
    assert np.corrcoef(np.log(result).mean(("chain", "draw")), np.log(SHARP))[0, 1] > 0.9


@pytest.mark.slow
def test_a_common_reliability_lies_between(learned):
    result = learned("common")["posterior"]["reliability"]
    assert SHARP.min() < float(result.mean()) < SHARP.max()
    assert learned("common").attrs["inference"].startswith("exact Gibbs")
    assert "reliability_ess_bulk_min" in learned("common").attrs


# Leaving out one of six rankings of an item moves its strengths: PSIS says for which it fails.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto distribution")
def test_leave_one_out_prefers_the_reliabilities_that_differ(learned):
    """In CI the two tests above recover the reliabilities."""
    table = az.compare({how: learned(how) for how in ("annotator", "common")})
    assert table.index[0] == "annotator"
    assert table["elpd_diff"].iloc[1] < -2 * table["dse"].iloc[1]


# -- Real rankings ----------------------------------------------------------------------------


@pytest.mark.long
def test_many_simulated_races():
    """400 races of five of twelve drivers: so many that the prior hardly moves the maximum."""
    rng = np.random.default_rng(1)
    strength = np.exp(rng.normal(0.0, 0.7, 12))
    fields = [rng.choice(12, 5, replace=False) for _ in range(400)]
    order = [field[np.argsort(rng.exponential(size=5) / strength[field])] for field in fields]
    races = dx.annotations(
        {"item": np.full(2000, "season"), "annotator": np.repeat(np.arange(400), 5),
         "label": np.concatenate(order), "rank": np.tile(np.arange(1, 6), 400)}, rank="rank",
    )  # fmt: skip
    fitted = fit(races, unranked="absent", concentration=1.0, draws=1000)
    logs = np.log(fitted["posterior"]["plausibility"].isel(item=0)[..., :-1]).mean(
        ("chain", "draw")
    )
    best = plackett_luce.maximum_likelihood(races, unranked="absent").isel(item=0)
    known = np.log(best.to_numpy()[:-1])
    np.testing.assert_allclose(logs - logs.mean(), known - known.mean(), atol=0.03)
    true = np.log(strength[logs["candidate_label"].to_numpy().astype(int)])
    np.testing.assert_allclose(logs - logs.mean(), true - true.mean(), atol=0.35)


def test_potato(shared):
    """Weighing tells the order of twenty potatoes better than looking does."""
    frame = pd.read_csv(shared / "potato" / "rankings.csv")
    gold = pd.read_csv(shared / "potato" / "gold.csv").set_index("item")["gold_rank"]
    ann = dx.annotations(
        {"item": frame["group"], "annotator": frame["annotator"], "label": frame["item"],
         "rank": frame["rank"]}, rank="rank",
    )  # fmt: skip
    theta = fit(ann, concentration=1.0, draws=1000)["posterior"]["plausibility"]
    mean = np.log(theta[..., :-1]).mean(("chain", "draw"))
    result = {}
    for group in ("visual", "weighing"):
        of_group = mean.sel(item=group)
        true = gold.loc[of_group["candidate_label"].values[:20]]
        result[group] = -pd.Series(of_group.values[:20]).corr(
            true.reset_index(drop=True), "spearman"
        )
    assert result["weighing"] > result["visual"] > 0.95
