"""Models of the truth with items that systems labelled and annotators did not."""

from __future__ import annotations

import arviz as az
import numpy as np
import pymc as pm
import pytest
from gradients import disagreements
from scipy.special import logsumexp

import dissensus as dx

pytestmark = pytest.mark.filterwarnings("ignore::dissensus.ConvergenceWarning")
"""Short chains, whose means are looked at."""

ROWS, SYMMETRIC = dx.models.dawid_skene, dx.models.symmetric_confusion
QUICK = {"random_seed": 1, "progressbar": False}
FEW = [(ROWS, {"pooling": "none"}), (SYMMETRIC, {"accuracy": "annotator"})]


def study(n_items=60, n_labelled=20, n_systems=2, seed=4):
    """Three annotators on the first items, systems on all; and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n_items)
    labels = np.where(rng.random((n_items, 3 + n_systems)) < 0.8, truth[:, None],
                    rng.integers(3, size=(n_items, 3 + n_systems)))  # fmt: skip
    item, who = np.indices((n_labelled, 3)).reshape(2, -1)
    ann = dx.annotations(
        {"item": item, "annotator": who, "label": labels[item, who], "sure": rng.random(len(item))},
        items=np.arange(n_items), kind="nominal", labels=range(3), confidence="sure",
    )  # fmt: skip
    place, system = np.indices((n_items, n_systems)).reshape(2, -1)
    answers = labels[:, 3:]
    pred = dx.predictions({
        "item": place, "system": np.array(list("stuvw"))[system], "label": answers[place, system],
    })  # fmt: skip
    return ann, pred, truth, labels


def labelled(ann, n):
    """Leave out the items without labels."""
    return dx.annotations(
        {"item": ann["item_code"].values, "annotator": ann["annotator_code"].values,
         "label": ann["label"].values[ann["label_code"].values]},
        kind="nominal", items=np.arange(n), labels=ann["label"].values,
    )  # fmt: skip


def test_the_density_of_an_item_is_that_of_its_predictions():
    ann, pred, _, labels = study(n_items=6, n_labelled=3)
    model = ROWS.build(ann, predictions=pred, pooling="none")
    rng = np.random.default_rng(1)
    share, rows = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), (5, 3))
    expected = 0.0
    for i in range(6):
        each = np.log(share)
        for who in range(5):
            if i < 3 or who > 2:
                each = each + np.log(rows[who, :, labels[i, who]])
        expected += logsumexp(each)
    known = {"prevalence": share, "confusion": rows[:3], "system_confusion": rows[3:]}
    with model:
        draw = pm.do(model, known)
    density = draw.logp(vars=draw.observed_RVs)
    value = draw.compile_fn(density, inputs=[], mode="FAST_COMPILE", point_fn=False)()
    assert float(value) == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "options"), FEW)
def test_draws_go_with_the_gradient_that_nuts_follows(model, options):
    ann, pred, _, _ = study(n_items=24, n_labelled=8)
    assert disagreements(model.build(ann, predictions=pred, **options)) == {}


@pytest.mark.long
def test_with_correlated_errors_annotators_do_not_learn_from_items_without_labels():
    ann, pred, _, _ = study(n_systems=1)  # by two, hard and easy items would be told apart
    options = {"error_correlation": 0.5, "draws": 2000}
    fits = [
        SYMMETRIC.fit(data, predictions=systems, **options, **QUICK)["posterior"]
        for data, systems in ((ann, pred), (labelled(ann, 20), pred.isel(item=slice(20))))
    ]
    for name in ("prevalence", "annotator_accuracy", "majority_correct"):
        with_all, alone = (each[name].mean(("chain", "draw")) for each in fits)
        # The prior of shares without labels is wider than nothing.
        far = 0.02 if name == "majority_correct" else 0.01
        np.testing.assert_allclose(with_all, alone, atol=far)
    with_all, alone = (each["system_correct"].std(("chain", "draw")) for each in fits)
    assert not np.allclose(with_all, alone, rtol=0.02)


@pytest.mark.long
def test_annotators_are_held_to_all_items_where_people_labelled_those_on_which_systems_differ():
    """Systems and people err more on half of the items."""
    rng = np.random.default_rng(7)
    n, n_labelled, hard = 600, 120, np.arange(600) < 300
    truth = rng.integers(2, size=n)
    right = rng.random((n, 7)) < np.where(hard[:, None], 0.65, 0.97)
    labels = np.where(right, truth[:, None], 1 - truth[:, None])
    agree = (labels[:, 3:] == labels[:, 3:4]).all(axis=1)
    chance = np.where(agree, 1, 20)
    some = rng.choice(n, n_labelled, replace=False, p=chance / chance.sum())
    item, who = (each.ravel() for each in np.meshgrid(some, np.arange(3)))
    ann = dx.annotations(
        {"item": item, "annotator": who, "label": labels[item, who]}, items=np.arange(n),
        kind="nominal",
    )  # fmt: skip
    place, system = np.indices((n, 4)).reshape(2, -1)
    pred = dx.predictions({"item": place, "system": system, "label": labels[place, 3 + system]})
    fitted = SYMMETRIC.fit(
        ann, predictions=pred, error_correlation="learned", truth={k: truth[k] for k in some},
        draws=1000, accuracy="annotator", **QUICK,
    )["posterior"]  # fmt: skip
    lead = (labels[:, :3].sum(axis=1) > 1) == truth
    for name, share in {
        "annotator_accuracy": right[:, :3].mean(0), "system_correct": right[:, 3:].mean(0),
        "majority_correct": lead.mean(),
    }.items():  # fmt: skip
        low, high = fitted[name].quantile([0.01, 0.99], ("chain", "draw")).values
        assert ((low <= share) & (share <= high)).all(), name
    of_labelled = right[some][:, :3].mean(0)
    assert (of_labelled < fitted["annotator_accuracy"].mean(("chain", "draw")).values - 0.04).all()


@pytest.mark.unit(0, long=2)
@pytest.mark.parametrize(("model", "options"), FEW)
@pytest.mark.parametrize("settings", [
    {}, {"error_correlation": "learned"}, {"difficulty": True}, {"systems": "related"},
])  # fmt: skip
def test_shares_of_right_answers_are_of_all_items(model, options, settings):
    """And narrower than from the labelled items, where few truths are known."""
    ann, pred, truth, labels = study(n_items=400, n_labelled=80)
    given = options | settings | {"truth": {k: truth[k] for k in range(60)}, "draws": 500}
    fitted = model.fit(ann, predictions=pred, **given, **QUICK)["posterior"]
    right = (labels[:, 3:] == truth[:, None]).mean(0)
    low, high = fitted["system_correct"].quantile([0.005, 0.995], ("chain", "draw")).values
    assert ((low <= right) & (right <= high)).all()
    alone = model.fit(
        labelled(ann, 80), predictions=pred.isel(item=slice(80)), **given, **QUICK
    )["posterior"]["system_accuracy"]  # fmt: skip
    wide = np.diff(alone.quantile([0.055, 0.945], ("chain", "draw")).values, axis=0)
    narrow = np.diff(
        fitted["system_correct"].quantile([0.055, 0.945], ("chain", "draw")).values, axis=0
    )
    assert (narrow < wide).all()


def test_an_item_that_nobody_labelled_and_no_system_answered_is_refused():
    ann, pred, _, _ = study(n_items=6, n_labelled=3)
    answered = pred.isel(item=slice(5))
    with pytest.raises(dx.AnnotationError, match="items 5: expected at least one annotation"):
        ROWS.fit(ann, predictions=answered, on_missing="drop", draws=10, **QUICK)
    with pytest.raises(dx.AnnotationError, match="the truth is estimated from labels"):
        ROWS.fit(ann, predictions=pred, evidence="annotators", draws=10, **QUICK)


@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")  # so few items
def test_truths_that_follow_from_the_prevalence_alone_are_no_known_labels():
    ann, pred, _, _ = study(n_items=12, n_labelled=8)
    given = {"predictions": pred, "draws": 20, "tune": 20, **QUICK}
    correlated = SYMMETRIC.fit(ann, error_correlation=0.5, **given)
    scores = {"case": np.arange(12), "reader": ["r"] * 12, "score": np.arange(12.0)}
    with pytest.raises(dx.ArgumentError, match="4 of 12 items without labels: 8, 9, 10, 11"):
        dx.reader_study(scores, truth=correlated, positive=1, random_seed=1)
    with pytest.raises(dx.ArgumentError, match="4 of 12 items without labels: 8, 9, 10, 11"):
        dx.annotator_roc(ann, correlated, positive=1, predictions=pred, random_seed=1)
    dx.confidence_check(ann, truth=correlated, random_seed=1)  # of labels of the other items
    more, _, _, _ = study(n_items=12, n_labelled=12)
    with pytest.raises(dx.ArgumentError, match="4 of 12 items without labels: 8, 9, 10, 11"):
        dx.confidence_check(more, truth=correlated, random_seed=1)
    told = SYMMETRIC.fit(ann, error_correlation=0.5, truth=dict.fromkeys(range(8, 12), 1), **given)
    dx.confidence_check(more, truth=told, random_seed=1)


@pytest.mark.long
def test_an_evaluation_estimates_accuracies_on_all_items():
    ann, pred, truth, labels = study(n_items=400, n_labelled=80)
    known = {k: truth[k] for k in range(60)}
    evaluation = dx.evaluate(
        ann, pred, truth=known, truth_model="symmetric_confusion", question="truth", draws=500,
        reliability=1.0, components=None, companion=None, ground_truth=None, **QUICK,
    )  # fmt: skip
    group = evaluation["accuracy"].to_dataset()
    assert "Annotators did not label 320 items. Accuracies are for all" in group.attrs["notes"]
    these = group["estimated_accuracy"].sel(scope="these items")
    low, high = these.quantile([0.005, 0.995], ("chain", "draw")).values
    right = (labels[:, 3:] == truth[:, None]).mean(0)
    assert ((low <= right) & (right <= high)).all()
    assert (high - low < 0.2).all()


@pytest.mark.long
def test_models_are_compared_by_the_labelled_items():
    """Items without labels have the likelihood 1, up to rounding, on which PSIS fails."""
    ann, pred, _, _ = study(n_items=300, n_labelled=120)
    evaluation = dx.evaluate(
        ann, pred, question="truth", draws=500, reliability=1.0, components=None, companion=None,
        ground_truth=None, **QUICK,
    )  # fmt: skip
    assert "Of the models compared" in evaluation["accuracy"].attrs["notes"]
    fit = SYMMETRIC.fit(
        ann, predictions=pred, error_correlation=0.3, log_likelihood=True, draws=100, **QUICK
    )
    assert fit["log_likelihood"]["item"].values.tolist() == list(range(120))
    assert np.isfinite(az.loo(fit, var_name="labels").elpd)


def test_labels_of_items_on_which_systems_differ_do_not_tell_of_the_others():
    ann, pred, _, labels = study(n_items=300, n_labelled=300)
    differ = np.flatnonzero(labels[:, 3] != labels[:, 4])
    rows = np.isin(ann["item_code"].values, differ)
    few = labelled(ann.isel(annotation=rows), 300)
    given = {"predictions": pred, "error_correlation": 0.5, "draws": 20, "tune": 20, **QUICK}
    with pytest.warns(dx.DesignWarning, match="The accuracy of 's' on 232 of"):
        SYMMETRIC.fit(few, **given)
    some = labelled(ann.isel(annotation=ann["item_code"].values < 100), 300)
    SYMMETRIC.fit(some, **given)  # no warning
