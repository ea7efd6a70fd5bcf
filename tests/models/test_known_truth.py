"""Labels known to be true, and errors that annotators of an item share, in models of the truth."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from gradients import disagreements
from scipy.special import logsumexp

import dissensus as dx
from dissensus.families.latent_truth import step

pytestmark = pytest.mark.filterwarnings("ignore::dissensus.ConvergenceWarning")
"""Short chains, whose means are looked at."""

ROWS, SYMMETRIC = dx.models.dawid_skene, dx.models.symmetric_confusion
QUICK = {"random_seed": 1, "progressbar": False}


def votes(n_items=30, n_annotators=4, seed=2):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n_items)
    right = rng.random((n_items, n_annotators)) < 0.7
    labels = np.where(right, truth[:, None], rng.integers(3, size=right.shape))
    return dx.from_matrix(labels, kind="nominal"), dict(enumerate(truth.tolist()))


@pytest.mark.long
def test_with_all_labels_known_rows_are_what_was_counted():
    """Dirichlet rows: four labels in advance, 2.8 of them right, and those that were given."""
    ann, truth = votes()
    fit = ROWS.fit(ann, pooling="none", truth=truth, draws=2000, **QUICK)
    counts = np.full((4, 3, 3), 0.6) + 2.2 * np.eye(3)
    for item, who, label in zip(
        ann["item_code"].values, ann["annotator_code"].values, ann["label_code"].values, strict=True
    ):
        counts[who, truth[int(item)], label] += 1
    exact = counts / counts.sum(-1, keepdims=True)
    mean = fit["posterior"]["confusion"].mean(("chain", "draw"))
    np.testing.assert_allclose(mean, exact, atol=0.01)
    known = np.eye(3)[list(truth.values())]
    np.testing.assert_array_equal(fit["posterior"]["truth"][1, 7], known)
    np.testing.assert_array_equal(fit["observed_data"]["truth_code"], list(truth.values()))


def test_the_density_is_the_sum_over_what_is_not_known():
    ann, truth = votes(n_items=6)
    known = {k: truth[k] for k in (0, 3)}
    model = ROWS.build(ann, pooling="none", truth=known)
    rng = np.random.default_rng(1)
    share, rows = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), (4, 3))
    expected = 0.0
    for i in range(6):
        each = np.log(share)
        for who in range(4):
            here = (ann["item_code"].values == i) & (ann["annotator_code"].values == who)
            each = each + np.log(rows[who, :, ann["label_code"].values[here][0]])
        expected += each[known[i]] if i in known else logsumexp(each)
    with model:
        draw = pm.do(model, {"prevalence": share, "confusion": rows})
    (value,) = draw.compile_fn([draw.logp(sum=True)], mode="FAST_COMPILE")({})
    assert value == pytest.approx(expected, abs=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("build", [
    lambda ann, truth: ROWS.build(ann, pooling="none", truth=truth),
    lambda ann, truth: SYMMETRIC.build(ann, accuracy="annotator", difficulty=True, truth=truth),
])  # fmt: skip
def test_the_gibbs_step_reads_what_is_known_off_the_model(build):
    ann, truth = votes()
    known = {k: truth[k] for k in range(10)}
    process = step.read(build(ann, known)).process
    seen, _ = process.votes()
    counted = sum(int(n) for n, k in zip(seen.n_items, seen.known, strict=True)
                  if k >= 0)  # fmt: skip
    assert counted == 10
    assert process.form.n_respondents == 4
    assert len(step.read(build(ann, None)).process.votes()[0].known) == 0


FEW = [(ROWS, {"pooling": "none"}), (SYMMETRIC, {"accuracy": "annotator"})]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "options"), FEW)
def test_draws_go_with_the_gradient_that_nuts_follows(model, options):
    ann, truth = votes(n_items=24, n_annotators=3, seed=3)
    known = {k: truth[k] for k in range(8)}
    wrong = {k: (truth[k] + 1) % 3 for k in truth}
    right, other = (model.build(ann, truth=labels, **options) for labels in (known, wrong))
    assert disagreements(right) == {}
    assert disagreements(right, other)


@pytest.mark.long
def test_known_labels_tell_more_than_they_are_of():
    ann, truth = votes()
    alone = ROWS.fit(ann, pooling="none", **QUICK)["constant_data"]["truth_mean"]
    known = {k: truth[k] for k in range(15)}
    more = ROWS.fit(ann, pooling="none", truth=known, **QUICK)["constant_data"]["truth_mean"]
    rest = np.arange(15, 30)
    right = [np.log(mean.values[rest, [truth[i] for i in rest]]).mean() for mean in (alone, more)]
    assert right[1] > right[0]


@pytest.mark.long
@pytest.mark.parametrize("model", [ROWS, SYMMETRIC])
def test_with_correlated_errors_accuracies_are_of_true_labels(model):
    study = dx.simulate.confusion_study(60, 5, 3, system_accuracy=[0.8, 0.6], random_seed=1)
    given = {"predictions": study.predictions, "draws": 300, "error_correlation": 0.7}
    fit = model.fit(study.annotations, **given, **QUICK)
    result = fit["posterior"]
    assert {"system_weight", "system_doubt", "majority_correct"} <= set(result)
    assert (result["error_correlation"] == 0.7).all()
    assert "system_confusion" not in result
    assert result["system_accuracy"].dims == ("chain", "draw", "system")
    # Five labels are worth 5 / (1 + 4 x .7): no truth is surer than so many say.
    sure = model.fit(study.annotations, **given | {"error_correlation": 0.0}, **QUICK)["posterior"]
    assert float(result["truth"].max("label").mean()) < float(sure["truth"].max("label").mean())
    np.testing.assert_allclose(result["truth"].sum("label"), 1.0)
    known = study.truth["truth_label"].to_series().iloc[:20]
    told = model.fit(study.annotations, truth=known, **given, **QUICK)["posterior"]
    code = pd.Index(study.annotations["label"].values).get_indexer(known)
    np.testing.assert_array_equal(told["truth"].isel(item=slice(20))[0, 0], np.eye(3)[code])


@pytest.mark.parametrize("n_known", [0, 10])
def test_systems_with_the_same_answers_have_the_same_draws(n_known):
    ann, truth = votes()
    wrong = (np.arange(30) % 3 == 0).astype(int)
    labels = {"a": list(truth.values()), "b": (np.array(list(truth.values())) + wrong) % 3}
    labels["copy of a"] = labels["a"]
    table = pd.DataFrame(labels).rename_axis("item").reset_index()
    pred = dx.predictions(table.melt("item", var_name="system", value_name="label"))
    known = {k: truth[k] for k in range(n_known)} or None
    fit = ROWS.fit(
        ann, predictions=pred, truth=known, error_correlation="learned", draws=100, **QUICK
    )["posterior"]  # fmt: skip
    for name in ("system_correct", "system_accuracy", "system_weight", "system_doubt"):
        a, b, copy = (fit[name].sel(system=system).values for system in ("a", "b", "copy of a"))
        np.testing.assert_array_equal(a, copy)
        assert (a != b).any()
    comparison = dx.compare(fit["system_correct"].assign_attrs(better="higher"))
    pair = {"system": "a", "system_": "copy of a"}
    assert comparison["probability_better"].sel(pair) == 0
    assert comparison["probability_equal"].sel(pair) == 1


def test_a_label_that_annotators_cannot_give_is_wrong():
    study = dx.simulate.confusion_study(30, 4, 3, random_seed=1)
    ann, labels = study.annotations, ["x"] * 12 + ["A"] * 18
    rows = {"item": ann["item"].values, "system": ["s"] * 30, "label": labels}
    strange = dx.predictions(pd.DataFrame(rows))
    with pytest.raises(dx.PredictionError, match="labels that annotators could give"):
        ROWS.fit(ann, predictions=strange, **QUICK)
    with pytest.warns(dx.DissensusWarning, match="outside the label space"):
        fit = ROWS.fit(ann, predictions=strange, error_correlation="learned", draws=200, **QUICK)
    assert float(fit["posterior"]["system_correct"].max()) <= 18 / 30


def test_further_labels_are_not_weighed_where_errors_are_correlated():
    ann, _ = votes()
    fit = ROWS.fit(ann, pooling="none", error_correlation="learned", draws=100, **QUICK)
    with pytest.raises(dx.ArgumentError, match="further labels of an item are not independent"):
        dx.items_to_review(fit)


def crowd(seed, n_items=300, n_annotators=8, n_labels=3, concentration=1.2):
    """Every item has a crowd of its own, drawn around what its truth makes likely."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_labels, size=n_items)
    likely = np.full((n_items, n_labels), 0.3 / (n_labels - 1))
    likely[np.arange(n_items), truth] = 0.7
    shares = np.array([rng.dirichlet(concentration * share) for share in likely])
    labels = np.array([rng.choice(n_labels, n_annotators, p=share) for share in shares])
    systems = {}
    for name, right in (("a", 0.9), ("b", 0.7)):
        wrong = (truth + rng.integers(1, n_labels, n_items)) % n_labels
        systems[name] = np.where(rng.random(n_items) < right, truth, wrong)
    systems["crowd"] = np.array([rng.choice(n_labels, p=share) for share in shares])
    return dx.from_matrix(labels, kind="nominal"), truth, systems


@pytest.mark.slow
@pytest.mark.parametrize("n_known", [0, 40])
def test_intervals_hold_where_every_item_has_a_crowd_of_its_own(n_known):
    """Studies of another process than the model's: 89 % intervals of systems and of the majority.

    Dirichlet crowds with the concentration 1.2 have labels of the intraclass correlation 1 / 2.2.
    """
    held, majority = [], []
    for seed in range(10):
        ann, truth, systems = crowd(seed)
        frame = pd.DataFrame(systems).rename_axis("item").reset_index()
        pred = dx.predictions(frame.melt("item", var_name="system", value_name="label"))
        known = {i: int(truth[i]) for i in range(n_known)} or None
        fit = ROWS.fit(
            ann, predictions=pred, pooling="none", error_correlation="learned", truth=known,
            draws=400, tune=300, **QUICK,
        )["posterior"]  # fmt: skip
        low, high = fit["system_correct"].quantile([0.055, 0.945], ("chain", "draw")).values
        right = np.array([(systems[name] == truth).mean() for name in pred["system"].values])
        held += ((low <= right) & (right <= high)).tolist()
        counts = dx.schema.label_counts(ann)
        top = counts == counts.max(1, keepdims=True)
        share = (top / top.sum(1, keepdims=True))[np.arange(len(truth)), truth].mean()
        low, high = fit["majority_correct"].quantile([0.055, 0.945]).values
        majority.append(low <= share <= high)
    assert np.mean(held) >= 0.8
    assert np.mean(majority) >= 0.75


def test_of_items_with_one_label_the_known_ones_tell_how_good_annotators_are():
    rng = np.random.default_rng(4)
    truth = rng.integers(2, size=300)
    labels = np.where(rng.random(300) < 0.95, truth, 1 - truth)
    ann = dx.annotations({"item": range(300), "annotator": np.arange(300) % 3, "label": labels})
    known = dict(enumerate(truth[:150].tolist()))
    with pytest.warns(dx.DissensusWarning, match="only from items whose true label is known"):
        fit = ROWS.fit(
            ann, pooling="none", truth=known, error_correlation="learned", draws=300, **QUICK
        )
    draws = fit["posterior"]["majority_correct"]
    low, high = draws.quantile([0.055, 0.945]).values
    assert low <= (labels == truth).mean() <= high
    assert high - low < 0.08


@pytest.mark.long
def test_a_built_model_has_known_labels_of_items_with_one_label_as_evidence():
    """Against `fit`, which does not read the PyMC model, and the shares of right labels."""
    rng = np.random.default_rng(4)
    truth = rng.integers(2, size=300)
    labels = np.where(rng.random(300) < np.array([0.95, 0.6])[truth], truth, 1 - truth)
    ann = dx.annotations({"item": range(300), "annotator": [0] * 300, "label": labels})
    known = dict(enumerate(truth.tolist()))
    options = {"pooling": "none", "error_correlation": 0.5, "truth": known}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)  # no item has two labels
        fit = ROWS.fit(ann, **options, draws=500, **QUICK)
        model = ROWS.build(ann, **options)
    with model:
        trace = pm.sample(500, tune=200, chains=2, random_seed=1, progressbar=False)
    right = [(labels == truth)[truth == k].mean() for k in (0, 1)]
    for result in (fit, trace):
        rows = result["posterior"]["confusion"].mean(("chain", "draw")).squeeze("annotator")
        np.testing.assert_allclose(np.diag(rows), right, atol=0.02)


def test_one_accuracy_for_all_is_that_of_all_their_labels():
    truth = np.random.default_rng(5).integers(3, size=150)
    right = np.random.default_rng(6).random((150, 4)) < [0.95, 0.4, 0.4, 0.6]
    labels = np.where(right, truth[:, None], (truth[:, None] + 1) % 3)
    ann = dx.from_matrix(labels, kind="nominal")
    result = [
        SYMMETRIC.fit(
            ann, accuracy="common", errors=errors, error_correlation=0.6, draws=200,
            truth=dict(enumerate(truth.tolist())), **QUICK,
        )["posterior"]["annotator_accuracy"].mean().item()
        for errors in ("equal", "unequal")
    ]  # fmt: skip
    np.testing.assert_allclose(result, right.mean(), atol=0.02)


def test_assumptions_are_checked_of_annotators_where_true_labels_judge_systems():
    study = dx.simulate.confusion_study(80, 4, 3, system_accuracy=[0.8], random_seed=1)
    fit = SYMMETRIC.fit(
        study.annotations, predictions=study.predictions, error_correlation="learned",
        posterior_predictive=True, draws=100, **QUICK,
    )  # fmt: skip
    checked = dx.check_assumptions(fit)
    assert "annotator_agreement" in checked["check"].values
