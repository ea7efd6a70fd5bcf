"""Normal scores against quadrature on a grid, and their PyMC density against the posterior."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from gradients import disagreements, points_of
from scipy import stats

import dissensus as dx
from dissensus.dims import SAMPLE
from dissensus.models import normal_scores

PRIOR = (1.0, 0.5, 3.0, 4.0)
SCORES = np.array([[2.0, 3.5, 1.0, 2.5], [7.0, np.nan, np.nan, np.nan], [np.nan] * 4])


@pytest.fixture(scope="module")
def ann():
    """Four scores, one, none."""
    return dx.from_matrix(SCORES, kind="continuous")


def fit(ann, **options):
    options = {"prior": PRIOR, "random_seed": 23, "progressbar": False, **options}
    return normal_scores.fit(ann, **options)


def grid_moments(scores, prior=PRIOR):
    """Mean and sd of mu, and of log variance, by brute force over a grid of both."""
    m, k, a, b = prior
    mu = np.linspace(-40, 40, 4001)[:, None]
    log_variance = np.linspace(-6, 12, 1501)[None, :]
    variance = np.exp(log_variance)
    logp = stats.invgamma.logpdf(variance, a, scale=b) + log_variance
    logp = logp + stats.norm.logpdf(mu, m, np.sqrt(variance / k))
    for score in scores[~np.isnan(scores)]:
        logp = logp + stats.norm.logpdf(score, mu, np.sqrt(variance))
    weight = np.exp(logp - logp.max())
    weight /= weight.sum()
    out = []
    for value in (mu, log_variance):
        mean = (weight * value).sum()
        out += [mean, np.sqrt((weight * (value - mean) ** 2).sum())]
    return np.array(out)


@pytest.mark.long
@pytest.mark.parametrize("item", [0, 1, 2])
def test_draws_agree_with_quadrature(ann, item):
    got = fit(ann, draws=5000)["posterior"].isel(item=item)
    n = 20_000
    exact = grid_moments(SCORES[item])
    for draws, (mean, sd) in zip(
        (got["mean"], np.log(got["variance"])), exact.reshape(2, 2), strict=True
    ):
        assert abs(float(draws.mean()) - mean) < 4 * sd / np.sqrt(n)
        squares = (draws.to_numpy() - mean) ** 2
        assert abs(squares.mean() - sd**2) < 4 * squares.std() / np.sqrt(n)


def test_marginals_are_student_and_inverse_gamma(ann):
    got = fit(ann, draws=2500)
    for i in range(3):
        m, k, a, b = (float(got["constant_data"][f"posterior_{x}"][i]) for x in "mkab")
        draws = got["posterior"].isel(item=i)
        student = stats.t(2 * a, m, np.sqrt(b / (a * k)))
        assert stats.kstest(draws["mean"].to_numpy().ravel(), student.cdf).pvalue > 1e-3
        gamma = stats.invgamma(a, scale=b)
        assert stats.kstest(draws["variance"].to_numpy().ravel(), gamma.cdf).pvalue > 1e-3


def test_an_item_without_scores_keeps_the_prior(ann):
    got = fit(ann, draws=1)["constant_data"].isel(item=2)
    assert [float(got[f"posterior_{x}"]) for x in "mkab"] == pytest.approx(PRIOR)


def test_lp_is_the_joint_log_density(ann):
    got = fit(ann, draws=3)
    want = 0.0
    for i in range(3):
        m, k, a, b = (float(got["constant_data"][f"posterior_{x}"][i]) for x in "mkab")
        draws = got["posterior"].isel(item=i)
        want = want + stats.invgamma.logpdf(draws["variance"], a, scale=b)
        want = want + stats.norm.logpdf(draws["mean"], m, np.sqrt(draws["variance"] / k))
    np.testing.assert_allclose(got["sample_stats"]["lp"], want)


@pytest.mark.parametrize("offset", [0.0, -1e6, 1e9])
def test_large_offsets_keep_precision(ann, offset):
    """The same scores, a million million million times further off: the same posterior."""
    moved = dx.from_matrix(SCORES + offset, kind="continuous")
    m, k, a, b = PRIOR
    here, there = fit(ann, draws=200), fit(moved, draws=200, prior=(m + offset, k, a, b))
    # A number near 1e9 is known to 1e-7.
    atol = 1e-6 * (1 + abs(offset) / 1e9)
    np.testing.assert_allclose(
        there["posterior"]["mean"] - offset, here["posterior"]["mean"], atol=atol
    )
    np.testing.assert_allclose(
        there["posterior"]["variance"], here["posterior"]["variance"], rtol=1e-6
    )


def test_a_far_fetched_prior_stays_finite(ann):
    """With a = .001 most variances are beyond the largest number."""
    got = fit(ann, prior=(0.0, 1.0, 1e-3, 1.0), draws=200)
    for group in ("posterior", "sample_stats"):
        for draws in got[group].data_vars.values():
            assert np.isfinite(draws).all()


def test_labels_that_are_numbers_are_scores():
    table = {"item": [1, 1, 2], "annotator": [1, 2, 1], "label": [3, 5, 4]}
    got = fit(dx.annotations(table, kind="ordinal", labels=[1, 2, 3, 4, 5]), draws=1)
    assert got["observed_data"]["score"].to_numpy().tolist() == [3, 5, 4]


def test_words_are_no_scores():
    table = {"item": [1, 1], "annotator": [1, 2], "label": ["low", "high"]}
    ann = dx.annotations(table, kind="ordinal", labels=["low", "high"])
    with pytest.raises(dx.AnnotationError, match="numbers, which have distances"):
        fit(ann)


# -- The prior --


def study(n_items, n_annotators, seed=0, prior=(2.0, 0.5, 3.0, 4.0)):
    m, k, a, b = prior
    rng = np.random.default_rng(seed)
    variance = b / rng.gamma(a, size=n_items)
    mean = rng.normal(m, np.sqrt(variance / k))
    return rng.normal(mean[:, None], np.sqrt(variance)[:, None], (n_items, n_annotators))


@pytest.mark.long
def test_items_lean_on_what_is_learned_of_all():
    """Simulated with k = 1/2 and three scores an item: intervals contain the true means."""
    rng = np.random.default_rng(4)
    variance = 4.0 / rng.gamma(3.0, size=400)
    mean = rng.normal(2.0, np.sqrt(variance / 0.5))
    scores = rng.normal(mean[:, None], np.sqrt(variance)[:, None], (400, 3))
    ann = dx.from_matrix(scores, kind="continuous")
    got = fit(ann, prior="learned", draws=500)["posterior"]
    assert float(got["prior_mean"].median()) == pytest.approx(2.0, abs=0.25)
    assert float(got["prior_count"].median()) == pytest.approx(0.5, abs=0.25)
    low, high = got["mean"].quantile([0.055, 0.945], dim=("chain", "draw")).values
    assert ((low < mean) & (mean < high)).mean() == pytest.approx(0.89, abs=0.04)


def predicted(ann, seed=1):
    """Numbers of two systems for these items and one more, of which one knows the mean scores."""
    rng = np.random.default_rng(seed)
    items = [*ann["item"].to_numpy().tolist(), 1000]
    mean = [float(ann["value"][ann["item_code"] == code].mean()) for code in range(len(items) - 1)]
    known = np.append(mean, 0.0) + rng.normal(0, 0.3, len(items))
    table = {"item": items * 2, "system": np.repeat(["knows", "noise"], len(items)),
             "label": np.concatenate([10 * known, rng.normal(50, 5, len(items))])}  # fmt: skip
    return dx.predictions(table, kind="continuous")


@pytest.mark.long
def test_predictions_are_evidence_of_means():
    """The weight is per unit of the prediction: a tenth where predictions are ten times as large.

    An item without scores has the mean that the system of known weight predicts.
    """
    scores = study(60, 4)
    scores[0] = np.nan
    ann = dx.from_matrix(scores, kind="continuous")
    pred = predicted(dx.from_matrix(study(60, 4), kind="continuous"))
    got = fit(ann, prior="learned", predictions=pred, draws=500)["posterior"]
    weight = got["prediction_weight"].mean(SAMPLE)
    assert float(weight.sel(system="knows")) == pytest.approx(0.1, abs=0.02)
    assert float(weight.sel(system="noise")) == pytest.approx(0, abs=0.05)
    value = pred["value"].sel(system="knows")
    centred = float(value.sel(item=0) - value.mean())
    wanted = float(got["prior_mean"].mean()) + 0.1 * centred
    assert float(got["mean"].isel(item=0).mean()) == pytest.approx(wanted, abs=0.5)
    order = fit(ann, prior="learned", predictions=pred.isel(item=slice(None, None, -1)), draws=500)
    np.testing.assert_allclose(order["posterior"]["mean"], got["mean"])


def test_predictions_beside_a_stated_prior_and_labels_are_refused(ann):
    pred = dx.predictions({"item": [0, 1, 2], "system": ["s"] * 3, "label": [0.5, 1.5, 2.5]})
    for use in (normal_scores.build, normal_scores.fit):
        with pytest.raises(dx.ArgumentError, match="predictions: expected None beside a prior"):
            use(ann, prior=PRIOR, predictions=pred)
        words = dx.predictions({"item": [0, 1, 2], "system": ["s"] * 3, "label": list("xyz")})
        with pytest.raises(dx.PredictionError, match="one number from each system"):
            use(ann, predictions=words)


@pytest.mark.long
def test_too_many_systems_for_the_items_are_warned_of():
    ann = dx.from_matrix(study(50, 3), kind="continuous")
    rng = np.random.default_rng(1)
    items = np.repeat(ann["item"].to_numpy(), 3)
    pred = dx.predictions(
        {"item": items, "system": list("abc") * 50, "label": rng.normal(size=150)}
    )
    with pytest.warns(dx.errors.DesignWarning, match="3 systems .* 50 items.*at most 2"):
        fit(ann, prior="learned", predictions=pred, draws=20)
    two = fit(ann, prior="learned", predictions=pred.isel(system=[0, 1]), draws=20)
    assert two["posterior"].sizes["system"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("scores", [np.rint(study(40, 3)), study(40, 3)], ids=["whole", "any"])
def test_a_prior_with_predictions_goes_with_the_gradient_of_the_model(scores):
    ann = dx.from_matrix(scores, kind="continuous")
    pred = predicted(ann)
    got = fit(ann, prior="learned", predictions=pred, draws=900)
    model = normal_scores.build(ann, predictions=pred)
    assert disagreements(model, points=points_of(got, model)) == {}


def of_strata(ann, stratum, names):
    """Annotations whose items are of these strata."""
    return ann.assign_coords(stratum=names).assign(stratum_code=("item", stratum))


@pytest.mark.long
@pytest.mark.parametrize("scores", [study(40, 3), np.rint(study(40, 3))], ids=["any", "whole"])
def test_a_prior_by_stratum_goes_with_the_gradient_of_the_model(scores):
    rng = np.random.default_rng(5)
    ann = dx.from_matrix(scores, kind="continuous")
    pred, stratum = predicted(ann), rng.integers(0, 3, 40)
    for given in (pred, None):
        mine = of_strata(ann, stratum, ["s", "t", "u"])
        got = fit(mine, prior="learned", predictions=given, draws=300)
        model = normal_scores.build(mine, predictions=given)
        assert {v.name for v in model.free_RVs} == set(got["posterior"].data_vars)
        assert disagreements(model, points=points_of(got, model)) == {}
    moved = normal_scores.build(of_strata(ann, stratum[::-1].copy(), ["s", "t", "u"]))
    assert disagreements(moved, points=points_of(got, moved))


def judged_scores(n_each=80, n_scored=25, seed=1):
    """Scores of two systems' outputs; the judge adds 8 points to ours.

    Returns scores of some outputs by two people, all outputs, the judge's scores, and the means.
    """
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"system": np.repeat(["ours", "theirs"], n_each)})
    table["item"] = np.arange(len(table))
    mean = rng.normal(50, 10, len(table))
    favour = np.where(table["system"] == "ours", 8.0, 0.0)
    table["judge"] = mean + favour + rng.normal(0, 4, len(table))
    some = table.groupby("system").sample(n_scored, random_state=seed)["item"].to_numpy()
    rows = pd.DataFrame({"item": np.repeat(some, 2), "annotator": np.tile(["a", "b"], len(some))})
    rows["label"] = rng.normal(mean[rows["item"]], 5)
    pred = dx.predictions(table.assign(system="judge"), label="judge", kind="continuous")
    return rows, table, pred, mean


@pytest.mark.long
def test_a_judge_who_favours_a_system_is_seen_in_scores_by_stratum():
    rows, table, pred, mean = judged_scores()
    system = table.set_index("item")["system"].to_xarray()
    truth = xr.DataArray(mean, dims="item").groupby(system).mean()
    result = {}
    for name, more in {
        "one": {"items": table["item"]}, "own": {"items": table, "stratum": "system"},
    }.items():  # fmt: skip
        ann = dx.annotations(rows, kind="continuous", **more)
        got = fit(ann, prior="learned", predictions=pred, draws=500)["posterior"]
        result[name] = got["mean"].groupby(system).mean().stack(s=SAMPLE)
    low, high = result["own"].quantile([0.055, 0.945], "s")
    assert ((low < truth) & (truth < high)).all()
    bias = {name: each.mean("s") - truth for name, each in result.items()}
    assert float(bias["one"].sel(system="ours")) > 1.5
    assert float(bias["one"].sel(system="theirs")) < -1.5
    assert float(abs(bias["own"]).max()) < 1
    apart = got["stratum_prior_mean"].diff("stratum").mean()
    assert float(apart) == pytest.approx(8, abs=3)  # of outputs with the same score by the judge


@pytest.mark.long
def test_the_prior_is_learned_from_items_with_scores():
    """However many others there are: of very many items the prior is learned from a thousand."""
    rows, table, pred, _ = judged_scores()
    more = pd.DataFrame({"item": 200 + np.arange(4000), "system": "theirs"})
    every = pd.concat([table[["item", "system"]], more])

    def learned(items):
        ann = dx.annotations(rows, kind="continuous", items=items, stratum="system")
        return fit(ann, prior="learned", predictions=pred, draws=200)["posterior"]

    few = learned(table)
    with pytest.warns(dx.DissensusWarning, match="No system has a prediction of 4,000"):
        many = learned(every)
    for name in ("prior_mean", "prior_count", "stratum_prediction_weight"):
        np.testing.assert_allclose(many[name], few[name])


@pytest.mark.long
def test_strata_of_scores_in_chunks():
    rows, table, pred, _ = judged_scores(n_each=40)
    ann = dx.annotations(rows, kind="continuous", items=table, stratum="system")
    whole, parts = (
        fit(a, prior="learned", predictions=pred, draws=40, tune=20)["posterior"]
        for a in (ann, dx.chunked(ann, 25))
    )
    for name in whole.data_vars:
        np.testing.assert_allclose(parts[name].to_numpy(), whole[name].to_numpy(), err_msg=name)


@pytest.mark.long
def test_a_learned_prior_goes_with_the_gradient_of_the_model_that_build_writes():
    """Of whole numbers, where what `build` adds for rounding counts."""
    ann, raw = (dx.from_matrix(x, kind="continuous") for x in (np.rint(study(40, 3)), study(40, 3)))
    got = fit(ann, prior="learned", draws=900)
    assert (
        disagreements(normal_scores.build(ann), points=points_of(got, normal_scores.build(ann)))
        == {}
    )
    other = normal_scores.build(raw)
    assert disagreements(other, points=points_of(got, other))


@pytest.mark.slow
def test_nuts_learns_the_same_prior():
    """Of whole numbers, where what `build` adds for rounding counts."""
    ann = dx.from_matrix(np.rint(study(40, 3)), kind="continuous")
    got = fit(ann, prior="learned", draws=2000)
    with normal_scores.build(ann):
        nuts = pm.sample(1000, tune=1000, chains=2, random_seed=2, progressbar=False,
                         target_accept=0.95)  # fmt: skip
    for name in ("prior_count", "prior_shape", "prior_variance"):
        first, second = (np.log(tree["posterior"][name]) for tree in (got, nuts))
        assert abs(first.mean() - second.mean()) < 0.15, name
        assert abs(first.std() - second.std()) < 0.15, name
    mean = [tree["posterior"]["mean"].mean(SAMPLE) for tree in (got, nuts)]
    assert abs(mean[0] - mean[1]).max() < 0.15


def test_no_spread_anywhere_asks_for_a_prior():
    ann = dx.from_matrix(np.array([[0.1, 0.1, 0.1], [2.0, np.nan, np.nan]]), kind="continuous")
    with pytest.raises(
        dx.AnnotationError,
        match=r"found 1 item with two .* equal. State a prior, prior=\(m, k, a, b\)",
    ):
        fit(ann, prior="learned")
    assert np.isfinite(fit(ann, draws=5)["posterior"]["mean"]).all()


@pytest.mark.parametrize(
    "prior", [(0, 1, 1), (0, 0, 1, 1), (0, 1, -1, 1), (0, 1, 1, np.inf), "text", 5, (0, 1, "a", 1)]
)
def test_senseless_priors_are_refused(ann, prior):
    for use in (normal_scores.build, normal_scores.fit):
        with pytest.raises(dx.ArgumentError, match=r"prior: expected 'learned', or \(m, k, a, b\)"):
            use(ann, prior=prior)


# -- The PyMC model --


@pytest.fixture(scope="module")
def two():
    return dx.from_matrix(SCORES[:2], kind="continuous")


OTHERS = np.array([[0.0, 1.0, 0.5, -2.0], [9.0, np.nan, np.nan, np.nan]])


@pytest.mark.parametrize("scores", [SCORES[:2], OTHERS], ids=["as said", "others observed"])
def test_joint_density_differs_from_the_posterior_by_a_constant(two, scores):
    model = normal_scores.build(two, prior=PRIOR)
    if scores is OTHERS:
        model = pm.observe(model, {"score": scores[~np.isnan(scores)]})
    logp = model.compile_logp(jacobian=False)
    after = fit(dx.from_matrix(scores, kind="continuous"), draws=1)["constant_data"]
    m, k, a, b = (after[f"posterior_{x}"].to_numpy() for x in "mkab")
    rng = np.random.default_rng(1)
    gaps = []
    for _ in range(5):
        variance, mean = rng.gamma(3, size=2), rng.normal(3, 2, 2)
        posterior = stats.invgamma.logpdf(variance, a, scale=b)
        posterior = posterior + stats.norm.logpdf(mean, m, np.sqrt(variance / k))
        gaps.append(logp({"variance_log__": np.log(variance), "mean": mean}) - posterior.sum())
    assert np.ptp(gaps) < 1e-8


def test_pointwise_likelihood_and_predictions(two):
    got = fit(two, draws=500, log_likelihood=True, posterior_predictive=True)
    draws = got["posterior"].isel(item=[0, 0, 0, 0, 1])
    want = stats.norm.logpdf(
        got["observed_data"]["score"].to_numpy(), draws["mean"], np.sqrt(draws["variance"])
    )
    np.testing.assert_allclose(got["log_likelihood"]["score"], want)
    ahead = got["posterior_predictive"]["score"].to_numpy()
    z = (ahead - draws["mean"].to_numpy()) / np.sqrt(draws["variance"].to_numpy())
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3


@pytest.mark.parametrize("prior", ["learned", (0, 1, 2, 2)])
@pytest.mark.parametrize("make", [normal_scores.fit, normal_scores.build])
def test_scores_whose_squares_no_number_holds_are_refused(make, prior):
    ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": [1e300, -1.5e300]})
    with pytest.raises(dx.AnnotationError, match=r"from -1e\+100 .* a score of size 1.5e\+300"):
        make(ann, prior=prior)


def test_scores_that_differ_by_less_than_squares_hold_are_refused():
    with pytest.raises(dx.AnnotationError, match=r"differ by 1e-100 .*another unit"):
        fit(dx.from_matrix(np.nan_to_num(SCORES) * 1e-120, kind="continuous"))
