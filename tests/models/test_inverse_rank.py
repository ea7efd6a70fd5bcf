"""PrIRN against hand computations, the published example, and NUTS on the same PyMC model."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx
from dissensus.models import inverse_rank

# Stutz et al. (2023), "Evaluating AI systems under uncertain ground truth", Figure 5: what six
# dermatologists said of one case, out of 419 conditions.
FIGURE_5 = [
    [["Pyogenic granuloma"], ["Hemangioma"], ["Melanoma"]],
    [["Angiokeratoma of skin"], ["Atypical Nevus"]],
    [["Hemangioma"], ["Melanocytic Nevus", "Melanoma", "O/E - ecchymoses present"]],
    [["Hemangioma", "Melanoma", "Skin Tag"]],
    [["Melanoma"]],
    [["Hemangioma"], ["Melanoma"], ["Melanocytic Nevus"]],
]
MODEL_A = ["Atypical Nevus", "Hemangioma", "Melanocytic Nevus"]
MODEL_B = ["Hemangioma", "Melanocytic Nevus", "Melanoma"]


def labels_of(n):
    """The eight conditions of Figure 5, and others that nobody named."""
    named = sorted({label for ranking in FIGURE_5 for block in ranking for label in block})
    return named + [f"condition {number}" for number in range(n - len(named))]


@pytest.fixture(scope="module")
def figure_5():
    return dx.from_rankings({"case": FIGURE_5}, labels=labels_of(419))


@pytest.fixture(scope="module")
def ann():
    """Two cases: two readers with ties, and one reader."""
    return dx.from_rankings(
        {"p": [[["a"], ["b", "c"]], [["b"], ["a"]]], "q": [[["d"], ["a"]]]}, labels=list("abcdef")
    )


def fit(ann, **options):
    return inverse_rank.fit(ann, random_seed=17, progressbar=False, **options)


def by_label(array, item="case"):
    of_item = array.sel(item=item)
    named = of_item["candidate_size"] == 1
    return dict(
        zip(of_item["candidate_label"].values[named], of_item.values[..., named].T, strict=True)
    )


# -- Inverse rank normalisation, Eq. 14 to 16 --


@pytest.mark.parametrize(
    ("cases", "item", "split_ties", "want"),
    [
        ("ann", "p", True, {"a": 1.5 / 3, "b": 1.25 / 3, "c": 0.25 / 3}),
        ("ann", "q", True, {"a": 1 / 3, "d": 2 / 3}),
        ("ann", "p", False, {"a": 3 / 7, "b": 3 / 7, "c": 1 / 7}),
        ("figure_5", "case", True, {"Hemangioma": 17 / 6 / (26 / 3), "Melanoma": 7 / 3 / (26 / 3)}),
        ("figure_5", "case", False, {"Hemangioma": 3.5 / (35 / 3), "Melanoma": 10 / 3 / (35 / 3)}),
    ],
)
def test_scores_by_hand(cases, item, split_ties, want, request):
    """Case p: a 1 + 1/2, b 1/4 + 1, c 1/4, of 3; unsplit b 1/2 + 1, c 1/2, of 3.5. Case q: d 1,
    a 1/2, of 3/2. Figure 5: Hemangioma 1/2 + 1 + 1/3 + 1, Melanoma 1/3 + 1/6 + 1/3 + 1 + 1/2."""
    got = inverse_rank.point(request.getfixturevalue(cases), split_ties=split_ties)
    score = by_label(got, item)
    assert {label: float(score[label]) for label in want} == pytest.approx(want)
    np.testing.assert_allclose(got.sum("candidate"), 1)


def test_single_labels_are_first_choices():
    table = {"item": [1, 1, 1], "annotator": [1, 2, 3], "label": ["a", "b", "b"]}
    got = inverse_rank.point(dx.annotations(table, labels=["a", "b", "c"]))
    np.testing.assert_allclose(got.isel(item=0)[:2], [1 / 3, 2 / 3])


def test_rows_in_any_order_weigh_the_same(ann):
    shuffled = ann.isel(annotation=np.random.default_rng(1).permutation(ann.sizes["annotation"]))
    xr.testing.assert_equal(inverse_rank.point(ann), inverse_rank.point(shuffled))


def test_trials_are_rankings_of_their_own():
    table = {"item": [1] * 3, "annotator": [1] * 3, "label": ["a", "a", "b"],
             "rank": [1, 2, 1], "trial": [1, 2, 2]}  # fmt: skip
    ann = dx.annotations(table, rank="rank", trial="trial")
    assert {k: float(v) for k, v in by_label(inverse_rank.point(ann), 1).items()} == pytest.approx(
        {"a": 1.5 / 2.5, "b": 1 / 2.5}
    )
    per = fit(ann, draws=1, reliability=2.0, reliability_per="annotator")
    assert float(per["constant_data"]["parameters"].sum()) == pytest.approx(2 * 2.0)


# -- The posterior --


@pytest.mark.parametrize("reliability", [1.0, 20.0])
def test_draws_have_the_moments_of_the_closed_form(ann, reliability):
    got = fit(ann, draws=2500, reliability=reliability)
    theta = got["posterior"]["plausibility"].to_numpy().reshape(-1, 2, 4)
    alpha = reliability * inverse_rank.point(ann).to_numpy()
    mean = alpha / alpha.sum(1, keepdims=True)
    variance = mean * (1 - mean) / (reliability + 1)
    assert (np.abs(theta.mean(0) - mean) <= 4 * np.sqrt(variance / len(theta))).all()
    centred = (theta - mean)[:, :, :, None] * (theta - mean)[:, :, None, :]
    covariance = (mean[:, :, None] * np.eye(4) - mean[:, :, None] * mean[:, None]) / (
        reliability + 1
    )
    assert (
        np.abs(centred.mean(0) - covariance) <= 4.5 * centred.std(0) / np.sqrt(len(theta))
    ).all()


def test_labels_that_nobody_named_have_exactly_nothing(ann):
    theta = fit(ann, draws=50)["posterior"]["plausibility"]
    assert (theta.where(theta["candidate_size"] != 1) == 0).sum() > 0
    assert (theta.isel(candidate=-1) == 0).all()
    np.testing.assert_allclose(theta.sum("candidate"), 1)
    groups = {**dict.fromkeys("abcd", "named"), **dict.fromkeys("ef", "unnamed")}
    summed = dx.group_labels(fit(ann, draws=20), groups)
    assert (summed.sel(label="unnamed") == 0).all()


def test_one_named_label_is_certain():
    ann = dx.from_rankings({"x": [[["b"]]], "y": [[["a"], ["b"]]]}, labels="abc")
    theta = fit(ann, draws=30)["posterior"]["plausibility"].sel(item="x")
    assert by_label(theta.expand_dims("item"), "x")["b"].min() == 1


def test_prior_count_puts_the_remainder_in(ann):
    """alpha for each of 6 labels: the unnamed ones together are Beta(alpha U, the rest)."""
    alpha, gamma = 0.4, 5.0
    theta = fit(ann, draws=1000, reliability=gamma, prior_count=alpha)["posterior"]["plausibility"]
    for item, unnamed in (("p", 3), ("q", 4)):
        rest = theta.sel(item=item).isel(candidate=-1).to_numpy().ravel()
        beta = stats.beta(alpha * unnamed, gamma + alpha * (6 - unnamed))
        assert stats.kstest(rest, beta.cdf).pvalue > 1e-3


def test_one_label_of_the_remainder_is_beta_too(ann):
    """Splitting the remainder must give back the Dirichlet over all labels."""
    alpha, gamma = 0.4, 5.0
    got = fit(ann, draws=1000, reliability=gamma, prior_count=alpha)
    dense = dx.group_labels(got, {label: label for label in "abcdef"})
    for label in "def":
        beta = stats.beta(alpha, gamma + 5 * alpha)
        assert (
            stats.kstest(dense.sel(item="p", label=label).to_numpy().ravel(), beta.cdf).pvalue
            > 1e-3
        )


@pytest.mark.parametrize("prior_count", [1e-3, 0.01])
def test_tiny_prior_counts(ann, prior_count):
    got = fit(ann, draws=500, reliability=1e-2, prior_count=prior_count)
    theta = got["posterior"]["plausibility"]
    assert np.isfinite(theta).all()
    assert np.isfinite(got["sample_stats"]["lp"]).all()
    np.testing.assert_allclose(theta.sum("candidate"), 1)
    alpha = got["constant_data"]["parameters"].to_numpy()
    mean = alpha / alpha.sum(1, keepdims=True)
    error = np.sqrt(mean * (1 - mean) / (alpha.sum(1, keepdims=True) + 1) / 2000)
    assert (np.abs(theta.mean(("chain", "draw")) - mean) <= 4 * error).all()


def test_reliability_per_annotator(ann):
    """gamma for each reader: case p has two of them, case q one."""
    item = fit(ann, draws=1, reliability=3.0)["constant_data"]["parameters"].sum("candidate")
    each = fit(ann, draws=1, reliability=3.0, reliability_per="annotator")
    assert item.to_numpy() == pytest.approx([3, 3])
    assert each["constant_data"]["parameters"].sum("candidate").to_numpy() == pytest.approx([6, 3])


def test_per_annotator_on_single_labels_is_the_dirichlet_model():
    """With one label each, gamma R IRN is gamma times the counts."""
    table = {"item": [1] * 5 + [2] * 2, "annotator": [*range(5), 0, 1], "label": list("aabbcaa")}
    ann = dx.annotations(table, labels=list("abcd"))
    ranked = fit(ann, draws=1, reliability=1.5, reliability_per="annotator", prior_count=0.6)
    counted = dx.models.dirichlet.fit(ann, draws=1, reliability=1.5, prior_count=0.6)
    dense = counted["constant_data"]["parameters"].to_numpy()
    parameters = ranked["constant_data"]["parameters"]
    np.testing.assert_allclose(parameters[0, :3], dense[0, :3])
    assert float(parameters[0, -1]) == pytest.approx(dense[0, 3])
    assert float(parameters[1, -1]) == pytest.approx(dense[1, 1:].sum())


# -- Figure 5, and certainty by quadrature --


@pytest.mark.parametrize(
    ("split_ties", "a", "b"), [(False, 0.5343, 0.9821), (True, 0.6468, 0.9713)]
)
def test_figure_5(figure_5, split_ties, a, b, leads):
    """Printed: .52 and .99 by PrIRN, from 100 draws and at an unstated reliability.

    At 30, and with ties unsplit as in the published code, quadrature says .534 and .982; split
    as Eq. 14 says, .647 and .971. (Independent check: adaptive quadrature, scipy 1.18.)
    """
    got = fit(figure_5, draws=2500, reliability=30.0, split_ties=split_ties)
    alpha = got["constant_data"]["parameters"].isel(item=0)
    exact = dict(zip(alpha["candidate_label"].values, leads(alpha.to_numpy()[:-1]), strict=False))
    rows = [
        ("case", system, label) for system, top in (("A", MODEL_A), ("B", MODEL_B)) for label in top
    ]
    table = dict(zip(("item", "system", "label"), zip(*rows, strict=True), strict=True))
    pred = dx.predictions({**table, "rank": [1, 1, 1] * 2}, rank="rank")
    share = dx.top_k_accuracy(got, pred, k=3).mean(("chain", "draw"))
    for system, top, value in (("A", MODEL_A, a), ("B", MODEL_B, b)):
        assert sum(exact[label] for label in top) == pytest.approx(value, abs=5e-5)
        error = np.sqrt(value * (1 - value) / 10_000)
        assert abs(float(share.sel(system=system)) - value) < 4 * error


def test_prirn_does_not_see_how_many_annotators_there_were(leads):
    """Two labels in order at gamma = 20: .938 from one reader and from nine who agree."""
    single = dx.from_rankings({"x": [[["a"], ["b"]]]}, labels="abc")
    nine = dx.from_rankings({"x": [[["a"], ["b"]]] * 9}, labels="abc")
    for ann in (single, nine):
        alpha = fit(ann, draws=1, reliability=20.0)["constant_data"]["parameters"].to_numpy()[0]
        assert leads(alpha[:2]).max() == pytest.approx(0.93802, abs=1e-5)


def test_certainty_of_simulated_cases_by_quadrature(leads):
    """40 cases of 419 labels, three to seven readers with tied lists, at gamma = 20."""
    rng = np.random.default_rng(6)
    cases = {}
    for case in range(40):
        likely = rng.choice(419, 8, replace=False)
        share = rng.dirichlet(np.full(8, 0.6)) + 1e-3
        cases[case] = []
        for _ in range(rng.integers(3, 8)):
            ranking = rng.choice(likely, rng.integers(1, 5), replace=False, p=share / share.sum())
            tied = rng.random(len(ranking)) < 0.25
            blocks = [[int(ranking[0])]]
            for label, same in zip(ranking[1:].tolist(), tied[1:], strict=True):
                if same:
                    blocks[-1].append(label)
                else:
                    blocks.append([label])
            cases[case].append(blocks)
    got = fit(dx.from_rankings(cases, labels=range(419)), draws=2500, reliability=20.0)
    certainty = dx.annotation_certainty(got)
    alpha = got["constant_data"]["parameters"].to_numpy()
    exact = np.array([leads(row[row > 0], 2000).max() for row in alpha])
    misses = np.rint((1 - certainty.to_numpy()) * 10_000)
    few, many = (
        stats.binom.cdf(misses, 10_000, 1 - exact),
        stats.binom.sf(misses - 1, 10_000, 1 - exact),
    )
    assert many.min() > 1e-5
    # Where labels tie, the leader is chosen by the draws that judge it: fewer misses, as known.
    assert (few[certainty["selection_bias"].to_numpy() < 0.002] > 1e-5).all()
    np.testing.assert_allclose(certainty, exact, atol=0.02)


# -- The PyMC model --


@pytest.mark.long
@pytest.mark.compiled
def test_new_annotators_are_learnt_from_exactly(ann, close_to):
    """Their first choices are multinomial, so the posterior stays Dirichlet: alpha + counts."""
    options = {"reliability": 4.0, "prior_count": 0.2}
    model = inverse_rank.build(ann, **options)
    counts = np.array([[5, 0, 1, 2], [1, 0, 0, 3]])
    with model:
        pm.set_data({"new_annotators": counts.sum(1)})
    alpha = fit(ann, draws=1, **options)["constant_data"]["parameters"] + counts
    with pm.observe(model, {"first_choice": counts}):
        trace = pm.sample(
            1000, tune=500, chains=2, cores=1, random_seed=5, progressbar=False,
            compute_convergence_checks=False,
        )  # fmt: skip
    assert set(trace["posterior"].data_vars) == {"strength", "plausibility"}
    close_to(trace, (alpha / alpha.sum("candidate")).rename("plausibility"))


def test_prior_predictive_of_new_annotators(ann):
    model = inverse_rank.build(ann, reliability=4.0)
    with model:
        pm.set_data({"new_annotators": [3, 2]})
        drawn = pm.sample_prior_predictive(400, random_seed=1)
    first = drawn["prior_predictive"]["first_choice"]
    assert (first.sum("candidate") == [3, 2]).all()
    mean = inverse_rank.point(ann) * [[3], [2]]
    error = first.std(("chain", "draw")).to_numpy() / np.sqrt(400)
    assert (np.abs(first.mean(("chain", "draw")).to_numpy() - mean) <= 4 * error).all()


@pytest.mark.long
def test_predictions_follow_the_draws_they_come_from(ann):
    got = fit(ann, draws=1000, posterior_predictive=True, reliability=3.0)
    first = got["posterior_predictive"]["first_choice"]
    theta = got["posterior"]["plausibility"]
    assert (first.sum("candidate") == [2, 1]).all()
    assert (first["candidate_label"].to_numpy() == theta["candidate_label"].to_numpy()).all()
    x, y = (z.sel(item="p")[..., 0].to_numpy().ravel() for z in (theta, first / 2))
    line = stats.linregress(x, y)
    assert abs(line.slope - 1) < 4 * line.stderr


# -- Refusals --


def test_an_item_that_nobody_ranked_is_named():
    ann = dx.from_rankings({"x": [[["a"]]], "empty": [[], []]}, labels="ab")
    for use in (inverse_rank.build, inverse_rank.fit, inverse_rank.point):
        with pytest.raises(dx.AnnotationError, match=r"items 'empty'.*at least one annotation"):
            use(ann)


@pytest.mark.parametrize(
    ("name", "value"),
    [("reliability", 0), ("reliability", "ten"), ("prior_count", -0.1), ("prior_count", np.nan),
     ("reliability_per", "reader"), ("reliability_per", None)],
)  # fmt: skip
def test_senseless_hyperparameters_are_named(ann, name, value):
    for use in (inverse_rank.build, inverse_rank.fit):
        with pytest.raises(dx.ArgumentError, match=f"{name}: expected"):
            use(ann, **{name: value})
