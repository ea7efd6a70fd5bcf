"""Covariates of annotators' accuracies in Dawid-Skene, of studies whose truth nobody is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from refusals import check_refused
from scipy import special

import dissensus as dx
from dissensus.families.latent_truth.kernels.data import regression
from dissensus.models import dawid_skene
from dissensus.sampling.interpreter import uncompiled

QUIET = {"progressbar": False, "random_seed": 4}
FORMULA = "~ experience + trained"
TERMS = ["experience", "trained[yes]"]
TRUE = np.array([0.7, 0.9])
SOME = pytest.mark.filterwarnings("ignore:The chains have not run long enough")
pytestmark = pytest.mark.filterwarnings("ignore:.*right less often than by guessing")


def study(n_items=60, n_people=12, each=4, spread=0.4, seed=1, n_labels=3):
    """Return labels by people whose log odds of being right are as in `TRUE`, and their table."""
    rng = np.random.default_rng(seed)
    years, trained = rng.normal(size=n_people), np.arange(n_people) % 2 == 1
    logit = 0.9 + TRUE[0] * years + TRUE[1] * (trained - 0.5) + spread * rng.normal(size=n_people)
    truth, item = rng.integers(0, n_labels, n_items), np.repeat(np.arange(n_items), each)
    who = np.concatenate([rng.permutation(n_people)[:each] for _ in range(n_items)])
    off = np.where(rng.random(len(item)) < special.expit(logit)[who], 0,
                   rng.integers(1, n_labels, len(item)))  # fmt: skip
    names = np.array([f"r{k}" for k in range(n_people)])
    ann = dx.annotations(
        {"item": item, "annotator": names[who], "label": (truth[item] + off) % n_labels},
        kind="nominal",
    )  # fmt: skip
    table = pd.DataFrame(
        {"annotator": names, "experience": years, "trained": np.where(trained, "yes", "no")}
    )
    return ann, table, truth


def quick(ann, table, formula=FORMULA, **more):
    settings = {"draws": 20, "tune": 10, "chains": 2, **QUIET, **more}
    return dawid_skene.fit(ann, formula=formula, annotators=table, **settings)


@SOME
@pytest.mark.parametrize("n", [
    pytest.param(3, marks=pytest.mark.long), pytest.param(12, marks=pytest.mark.slow),
])  # fmt: skip
def test_true_coefficients_are_found_though_nobody_knows_the_truth(n):
    """In some crowds the errors, in posterior standard deviations, are those of a normal."""
    z = []
    for seed in range(n):
        ann, table, _ = study(300, 60, 5, seed=seed)
        fit = quick(ann, table, draws=300, tune=200, keep_items=False)
        draws = fit["posterior"]["coefficient"]
        assert draws["term"].to_numpy().tolist() == TERMS
        assert (draws.std(("chain", "draw")) < 0.4).all()
        z.append((draws.mean(("chain", "draw")) - TRUE) / draws.std(("chain", "draw")))
    z = np.array(z)
    assert (abs(z) < 4).all()
    assert (abs(z.mean(axis=0)) < 3.5 / np.sqrt(n)).all()
    width = 2.0 / np.sqrt(n)
    assert 1.1 - width < np.sqrt((z**2).mean()) < 1.0 + width


@pytest.mark.slow
@SOME
@pytest.mark.parametrize(("spread", "more"), [(0.0, {}), (0.6, {}), (0.0, {"difficulty": True})])
def test_coefficients_move_whether_annotators_are_alike_or_not(spread, more):
    import arviz as az

    ann, table, _ = study(300, 40, 5, spread=spread)
    fit = quick(ann, table, draws=1000, tune=500, chains=4, keep_items=False, **more)
    ess = az.ess(fit["posterior"].to_dataset()[["coefficient"]])["coefficient"]
    assert (ess > 200).all()


@pytest.mark.slow
def test_pymc_takes_the_gibbs_step_for_the_same_model():
    ann, table, _ = study(n_labels=2)
    with dawid_skene.build(ann, formula=FORMULA, annotators=table):
        trace = pm.sample(600, tune=200, chains=2, cores=1, random_seed=3, progressbar=False)
    assert "step_size" not in trace["sample_stats"]  # of NUTS
    fit = quick(ann, table, draws=1000, tune=300, chains=4)
    a, b = fit["posterior"]["coefficient"], trace["posterior"]["coefficient"]
    sd = a.std(("chain", "draw"))
    assert (abs(a.mean(("chain", "draw")) - b.mean(("chain", "draw"))) < 0.3 * sd).all()
    assert (abs(np.log(b.std(("chain", "draw")) / sd)) < 0.2).all()
    result = dx.contrast(trace, {"experience": 2.0}).mean()
    assert result == pytest.approx(2 * float(b[..., 0].mean()))


def test_directions_are_those_of_the_prior_and_orthogonal_for_annotators():
    rng = np.random.default_rng(1)
    for n, n_terms in ((6, 3), (2, 4)):  # also of more terms than annotators
        value = rng.normal(size=(n, n_terms)) * [10.0, 1.0, 0.1, 1.0][:n_terms]
        prior = np.column_stack([rng.normal(size=n_terms), rng.uniform(0.1, 3.0, n_terms)])
        given = regression(value, prior)
        np.testing.assert_allclose(
            given.basis @ given.basis.T, np.diag(prior[:, 1] ** 2), atol=1e-9
        )
        np.testing.assert_allclose(given.along, (value @ given.basis).T, atol=1e-12)
        square = given.along @ given.along.T
        np.testing.assert_allclose(square, np.diag(np.diag(square)), atol=1e-9 * square.max())


@SOME
def test_an_average_that_moves_the_order_of_rows_and_rows_of_others_change_nothing():
    ann, table, _ = study()
    first = quick(ann, table)
    np.testing.assert_allclose(
        first["constant_data"]["covariates"].mean("annotator"), 0, atol=1e-12
    )
    other = pd.DataFrame({"annotator": ["x"], "experience": [np.nan], "trained": ["maybe"]})
    moved = table.assign(experience=table["experience"] + 5.0).sample(frac=1.0, random_state=1)
    second = quick(ann, pd.concat([other, moved]))
    a, b = (fit["posterior"]["coefficient"] for fit in (first, second))
    np.testing.assert_allclose(a, b, rtol=1e-6)
    mean = second["constant_data"]["covariate_mean"] - first["constant_data"]["covariate_mean"]
    np.testing.assert_allclose(mean, [5.0, 0.0], atol=1e-9)
    assert first.attrs["hyper_formula"] == FORMULA


@SOME
@pytest.mark.parametrize(
    "more",
    [{"difficulty": True}, {"error_correlation": "learned"}, {"truth": True},
     {"evidence": "annotators", "predictions": True}, {"log_likelihood": True},
     {"predictions": True, "systems": "related", "posterior_predictive": True}],
)  # fmt: skip
def test_coefficients_beside_other_settings(more):
    ann, table, truth = study(30)
    given = dict(more)
    if "truth" in more:
        given["truth"] = {item: int(truth[item]) for item in range(10)}
    if "predictions" in more:
        labels = {"item": [*range(30)] * 2, "system": ["a"] * 30 + ["b"] * 30,
                "label": [*truth, *truth[::-1]]}  # fmt: skip
        given["predictions"] = dx.predictions(labels)
    fit = quick(ann, table, **given)
    draws = fit["posterior"]["coefficient"]
    assert draws.sizes == {"chain": 2, "draw": 20, "term": 2}
    assert len(np.unique(draws)) == draws.size
    if "posterior_predictive" in more:
        assert fit["posterior_predictive"]["label_code"].shape == (2, 20, 120)


@SOME
def test_a_checkpoint_has_the_coefficients_and_is_of_one_table(tmp_path):
    pytest.importorskip("zarr")
    ann, table, _ = study(20)
    plain = quick(ann, table)
    for _ in range(2):  # written, then read
        kept = quick(ann, table, checkpoint=tmp_path / "fit")
        np.testing.assert_array_equal(
            kept["posterior"]["coefficient"], plain["posterior"]["coefficient"]
        )
    with pytest.raises(dx.ArgumentError, match="of a fit with other settings"):
        quick(ann, table.assign(experience=table["experience"] * 2), checkpoint=tmp_path / "fit")


@pytest.mark.long
@SOME
@pytest.mark.filterwarnings("ignore:.*transitions diverged")  # after two steps of warm-up
def test_draws_of_nuts_are_named_alike():
    ann, table, _ = study(12, 4, 4)
    with uncompiled():  # compiled it takes a minute
        fit = quick(ann, table, sampler="nuts", draws=4, tune=2, chains=1)
    assert fit["posterior"]["coefficient"]["term"].to_numpy().tolist() == TERMS
    assert len(np.unique(fit["posterior"]["coefficient"])) > 2


def test_the_prior_of_a_coefficient_is_that_of_a_standard_deviation_more():
    ann, table, _ = study()
    model = dawid_skene.build(ann, formula=FORMULA, annotators=table)
    drawn = pm.draw(model["coefficient"], 4000, random_seed=1)
    unit = np.array([table["experience"].std(ddof=0), 0.5])
    np.testing.assert_allclose(drawn.std(axis=0) * unit, 1.0, rtol=0.05)
    np.testing.assert_allclose(drawn.mean(axis=0) * unit, 0.0, atol=0.1)


def test_terms_that_follow_from_others_are_named():
    ann, table, _ = study(10, 4, 3)
    with pytest.warns(dx.DesignWarning, match="'twice' is a linear combination of the mean"):
        dawid_skene.build(
            ann, formula="~ experience + twice",
            annotators=table.assign(twice=2 * table["experience"]),
        )  # fmt: skip


ANN, TABLE, _ = study(8, 4, 3)


def built(formula=FORMULA, table=TABLE, **more):
    return lambda: dawid_skene.build(ANN, formula=formula, annotators=table, **more)


REFUSED = [
    (built(pooling="none"), "formula: expected None with pooling='none'.*Type pooling=\"hier"),
    (built(pooling="complete"), "formula: expected None with pooling='complete'"),
    (built(None), "annotators: expected no table without a formula"),
    (built(table=None), r"'experience' is in no table \(columns: none\)"),
    (built("~ Experience"), "'Experience' is in no table.*did you mean 'experience'"),
    (built("label ~ experience"), "formula: expected a formula without a left side"),
    (built("~ 0 + experience"), "formula: expected a formula with an intercept"),
    (built("~ 1"), "formula: expected at least one covariate"),
    (built(3), "formula: expected text"),
    (built("~ np.log(experience - experience)"), "finite numbers; found infinite or undefined"),
    (built(table=TABLE.iloc[:3]), "annotators: expected a row for each annotator.*none for 1 of 4"),
    (built(table=pd.concat([TABLE, TABLE])), "one row for each annotator.*several for"),
    (built(table=TABLE.drop(columns="annotator")), "annotators: expected a table with a column"),
    (built(table=TABLE.assign(experience=[1.0, None, 2.0, 3.0])), "'experience' is missing for 1"),
]  # fmt: skip


def test_what_makes_no_sense_is_refused_in_words():
    check_refused(ValueError, [(words, call, words) for call, words in REFUSED])


def test_tables_of_items_and_other_models_take_none():
    with pytest.raises(TypeError, match="items"):
        built(items={"item": [1]})()
    with pytest.raises(TypeError, match="formula"):
        dx.models.symmetric_confusion.build(ANN, formula=FORMULA)
