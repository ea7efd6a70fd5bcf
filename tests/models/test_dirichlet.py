"""The Dirichlet model and its PyMC density against the closed form."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import dissensus as dx
from dissensus.models import dirichlet

# Votes for labels a, b, c: several, one, none.
COUNTS = np.array([[4, 1, 0], [0, 0, 1], [0, 0, 0]])


@pytest.fixture(scope="module")
def ann():
    frame = [[label for label, n in zip("abc", row, strict=True) for _ in range(n)]
             for row in COUNTS]  # fmt: skip
    matrix = np.array([row + [None] * (5 - len(row)) for row in frame], dtype=object)
    return dx.from_matrix(matrix, labels=list("abc"))


def fit(ann, **options):
    """With a prior that is fixed, as long as none is given."""
    options = {"prior_count": 1.0, **options}
    return dirichlet.fit(ann, random_seed=11, progressbar=False, **options)


def moments(alpha):
    """Means and covariances of Dirichlet(alpha), row by row."""
    mean = alpha / alpha.sum(-1, keepdims=True)
    outer = mean[:, :, None] * mean[:, None, :]
    spread = mean[:, :, None] * np.eye(alpha.shape[1]) - outer
    return mean, spread / (alpha.sum(-1) + 1)[:, None, None]


@pytest.mark.parametrize("reliability", [0.5, 1.0, 7.0])
@pytest.mark.parametrize("prior_count", [1.0, 1 / 3, 1e-3])
def test_draws_have_the_moments_of_the_closed_form(ann, reliability, prior_count):
    draws, chains = 2500, 4
    got = fit(ann, draws=draws, chains=chains, reliability=reliability, prior_count=prior_count)
    theta = got["posterior"]["plausibility"].to_numpy().reshape(-1, 3, 3)
    alpha = prior_count + reliability * COUNTS
    mean, covariance = moments(alpha)
    error = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2) / len(theta))
    assert (np.abs(theta.mean(0) - mean) < 4 * error).all()
    products = (theta - mean)[:, :, :, None] * (theta - mean)[:, :, None, :]
    error = products.std(0) / np.sqrt(len(theta))
    # Components that are next to never there have products no sample can tell the error of.
    usual = (alpha[:, :, None] > 0.3) & (alpha[:, None, :] > 0.3)
    assert (np.abs(products.mean(0) - covariance) <= 4.5 * error)[usual].all()


def test_each_component_is_beta(ann):
    got = fit(ann, draws=1000, reliability=2.0, prior_count=0.5)
    theta = got["posterior"]["plausibility"].to_numpy().reshape(-1, 3, 3)
    alpha = 0.5 + 2.0 * COUNTS
    for i in range(3):
        for k in range(3):
            beta = stats.beta(alpha[i, k], alpha[i].sum() - alpha[i, k])
            assert stats.kstest(theta[:, i, k], beta.cdf).pvalue > 1e-3 / 9


def test_draws_are_independent(ann):
    theta = fit(ann, draws=4000, chains=1)["posterior"]["plausibility"].to_numpy()[0, :, :, 0]
    for series in theta.T:
        assert abs(np.corrcoef(series[1:], series[:-1])[0, 1]) < 4 / np.sqrt(len(series))
    assert abs(np.corrcoef(theta.T)[np.triu_indices(3, 1)]).max() < 4 / np.sqrt(len(theta))


def test_an_item_without_annotations_keeps_the_prior(ann):
    parameters = fit(ann, draws=1, prior_count=0.7)["constant_data"]["parameters"]
    assert parameters.isel(item=2).to_numpy() == pytest.approx([0.7] * 3)


@pytest.mark.long
def test_a_repetition_counts_again():
    """Trials of one annotator are draws from the plausibility as any others."""
    table = {"item": [1, 1], "annotator": [1, 1], "label": ["a", "a"], "trial": [1, 2]}
    got = dirichlet.fit(dx.annotations(table, trial="trial", labels=["a", "b"]), draws=1)
    assert got["observed_data"]["counts"].to_numpy().tolist() == [[2, 0]]


@pytest.mark.long
def test_a_tiny_prior_count_is_finite_and_sparse(ann):
    """Dirichlet(.001, .001, .001) sits in the corners, each with probability 1/3."""
    got = fit(ann, draws=1000, prior_count=1e-3, posterior_predictive=True, log_likelihood=True)
    theta = got["posterior"]["plausibility"].isel(item=2)
    for group in ("posterior", "sample_stats", "log_likelihood", "posterior_predictive"):
        for values in got[group].data_vars.values():
            assert np.isfinite(values).all()
    # One component's chance to lie between .01 and .99 is tiny.
    inside = np.diff(stats.beta(1e-3, 2e-3).cdf([0.01, 0.99]))[0]
    n = theta.sizes["chain"] * theta.sizes["draw"]
    assert ((theta > 0.01) & (theta < 0.99)).mean() < inside + 4 * np.sqrt(inside / n)
    share = (theta > 0.99).mean(("chain", "draw"))
    assert abs(share - 1 / 3).max() < 4 * np.sqrt(2 / 9 / n) + inside


def test_prior_counts_beyond_all_measure_stay_finite(ann):
    for count in (1e-320, 1e-30, 1e12):
        theta = fit(ann, draws=20, prior_count=count)["posterior"]["plausibility"]
        assert np.isfinite(theta).all()
        np.testing.assert_allclose(theta.sum("label"), 1)


def test_lp_is_the_log_density_of_the_posterior(ann):
    got = fit(ann, draws=5, reliability=1.5, prior_count=0.8)
    theta = got["posterior"]["plausibility"].to_numpy()
    alpha = 0.8 + 1.5 * COUNTS
    want = sum(stats.dirichlet(alpha[i]).logpdf(theta[:, :, i].reshape(-1, 3).T) for i in range(3))
    np.testing.assert_allclose(got["sample_stats"]["lp"].to_numpy().ravel(), want)


def transformed(model, theta):
    """Return theta as the model's sampler sees it."""
    variable = model["plausibility"]
    transform = model.rvs_to_transforms[variable]
    return transform.forward(theta, *variable.owner.inputs).eval()


@pytest.mark.parametrize("counts", [COUNTS, COUNTS[:, ::-1]], ids=["as said", "others observed"])
def test_joint_density_differs_from_the_posterior_by_a_constant(ann, counts):
    """Prior times likelihood, whatever theta: what conjugacy says."""
    alpha, gamma = 0.8, 2.5
    model = dirichlet.build(ann, reliability=gamma, prior_count=alpha)
    if counts is not COUNTS:
        model = pm.observe(model, {"counts": counts})
    logp = model.compile_logp(jacobian=False)
    name = model.rvs_to_values[model["plausibility"]].name
    rng = np.random.default_rng(3)
    gaps = []
    for _ in range(5):
        theta = rng.dirichlet(np.ones(3), 3)
        posterior = sum(
            stats.dirichlet(alpha + gamma * counts[i]).logpdf(theta[i]) for i in range(3)
        )
        gaps.append(logp({name: transformed(model, theta)}) - posterior)
    assert np.ptp(gaps) < 1e-8


@pytest.mark.long
def test_predictions_follow_the_draws_they_come_from(ann):
    """Counts given theta have mean n theta: the regression of one on the other has slope 1."""
    got = fit(ann, draws=2000, posterior_predictive=True)
    theta = got["posterior"]["plausibility"].isel(item=0)
    counts = got["posterior_predictive"]["counts"].isel(item=0)
    assert (counts.sum("label") == 5).all()
    for label in "abc":
        x, y = (z.sel(label=label).to_numpy().ravel() for z in (theta, counts / 5))
        line = stats.linregress(x, y)
        assert abs(line.slope - 1) < 4 * line.stderr


def test_certainty_by_one_dimensional_quadrature(ann, leads):
    certainty = dx.annotation_certainty(fit(ann, draws=2500, reliability=2.0))
    for i, row in enumerate(1 + 2.0 * COUNTS):
        share = leads(row)
        assert share.sum() == pytest.approx(1)
        error = np.sqrt(share.max() * (1 - share.max()) / 10_000)
        # The commonest label of the draws is chosen by them: allow its bias where labels tie.
        assert abs(float(certainty[i]) - share.max()) < 4 * error + 0.01 * (i == 2)


@pytest.mark.parametrize("name", ["reliability", "prior_count"])
@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "1", None, [1, 2]])
def test_senseless_hyperparameters_are_named(ann, name, value):
    for use in (dirichlet.build, dirichlet.fit):
        with pytest.raises(
            dx.ArgumentError, match=rf"{name}: expected ('learned' or )?a finite number > 0"
        ):
            use(ann, **{name: value})
