"""Intervals of agreement with the panel, if the same few annotators labelled all items."""

from __future__ import annotations

import warnings

import lean
import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.evaluation import same_annotators
from dissensus.evaluation.same_annotators import covariance, jackknifed
from dissensus.statistics._resampling import are_same

# Means of short chains are enough here.
pytestmark = pytest.mark.filterwarnings("ignore::dissensus.ConvergenceWarning")
AT = {"reliability": 1.0, "scope": "these items"}
RUN = {"draws": 200, "chains": 2, "progressbar": False, "reliability": (1.0,), **lean.LEAN}


def annotated(who, label=None):
    """Return annotations; ``who`` (item, annotator) says which annotators labelled each item."""
    item, annotator = np.nonzero(who)
    labels = np.zeros(len(item), dtype=int) if label is None else label[item, annotator]
    table = {"item": item, "annotator": annotator, "label": labels}
    return dx.annotations(table, kind="nominal", labels=[0, 1])


def some_of(n_items, n_annotators, n_labels):
    rng = np.random.default_rng(1)
    return np.stack([rng.permutation(n_annotators) < n_labels for _ in range(n_items)])


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (np.ones((40, 5)), True),
        (np.ones((40, 2)), False),  # leaving out one leaves no panel
        (np.ones((40, 40)), False),
        (np.ones((10, 5)), False),
        (some_of(40, 6, 3), True),
        (np.column_stack([np.ones(40), np.ones((40, 4)) * (np.arange(40) > 5)[:, None]]), False),
        (some_of(40, 60, 3), False),
    ],
)
def test_the_same_annotators(who, expected):
    assert are_same(annotated(who)) is expected


@pytest.mark.long
def test_scores_of_a_part_by_each_annotator_share_their_leniency():
    """Three of ten annotators for each item: labels are as by anyone, and scores are not."""
    who = some_of(60, 10, 3)
    assert not are_same(annotated(who))
    assert are_same(annotated(who), most=False)
    rng = np.random.default_rng(1)
    mean, leniency = rng.normal(size=60), rng.normal(size=10)
    score = mean[:, None] + leniency + 0.3 * rng.normal(size=(60, 10))
    ann = dx.from_matrix(np.where(who, score, np.nan), kind="continuous")
    pred = dx.predictions({"item": range(60), "system": ["s"] * 60, "label": mean})
    widened = dx.evaluate(ann, pred, random_seed=1, **RUN)["metrics"]
    assert widened.attrs["new_annotators"] == 1
    fit = dx.models.normal_scores.fit(ann, predictions=pred, draws=200, random_seed=1)
    error = widened["mean_absolute_error"].sel(scope="these items", reliability=1.0)
    alone = dx.score_error(fit, pred)["mean_absolute_error"]
    assert float(error.std()) > 2 * float(alone.std())


def test_the_jackknife_of_a_mean_is_the_variance_of_a_mean():
    values = np.random.default_rng(1).normal(size=(5, 2))
    ann = annotated(np.ones((40, 5)))
    between, freedom = covariance(
        ann, lambda part: values[np.unique(part["annotator_code"])].mean(axis=0), 1
    )
    np.testing.assert_allclose(between, np.cov(values.T) / 5)
    assert freedom == 4


def test_an_estimate_without_a_value_counts_as_the_mean_of_the_others():
    values = np.array([0.1, 0.4, np.nan, 0.3, 0.2])
    ann = annotated(np.ones((40, 5)))

    def without(part):
        return values[list(set(range(5)) - set(np.unique(part["annotator_code"])))]

    between, _ = covariance(ann, without, 1)
    assert between.item() == pytest.approx(4 / 5 * 4 * np.nanvar(values))


def test_draws_have_the_larger_variance_and_its_correlation(monkeypatch):
    rng = np.random.default_rng(1)
    sd, between = np.array([0.02, 0.02, 0.05]), np.full((3, 3), 0.0009)
    between[2] = between[:, 2] = 0.0
    draws = xr.DataArray(
        0.5 + sd * rng.standard_normal((4, 5000, 3)), dims=("chain", "draw", "system"),
        coords={"system": list("abc")}, attrs={"better": "higher"},
    )  # fmt: skip
    monkeypatch.setattr(same_annotators, "covariance", lambda *_: (between, 60))
    result = jackknifed(draws.to_dataset(name="top_1_accuracy"), None, None, {}, 1)
    wide = result["top_1_accuracy"]
    expected = np.sqrt(np.maximum(sd**2, np.diag(between)))  # with 60 degrees of freedom
    np.testing.assert_allclose(wide.std(("chain", "draw")), expected, rtol=0.03)
    np.testing.assert_allclose(wide.mean(("chain", "draw")), 0.5, atol=1e-3)
    both = np.corrcoef(wide.values[..., 0].ravel(), wide.values[..., 1].ravel())[0, 1]
    assert both == pytest.approx(1 - (0.02 / 0.03) ** 2, abs=0.03)
    assert wide.attrs == draws.attrs
    np.testing.assert_array_equal(wide.isel(system=2), draws.isel(system=2))


def study(seed, n_items=200, n_annotators=8, differ=1.5):
    """Annotators are more or less inclined to say 1; the system answers like one of them."""
    rng = np.random.default_rng([seed, 3])
    item = rng.normal(0, 1.5, n_items)
    lean_ = rng.normal(0, differ, n_annotators + 1)
    label = (item[:, None] + lean_ + rng.logistic(size=(n_items, len(lean_))) > 0).astype(int)
    ann = annotated(np.ones((n_items, n_annotators)), label)
    table = {"item": range(n_items), "system": ["s"] * n_items, "label": label[:, -1]}
    agrees = label[:, -1] == (item > 0)
    return ann, dx.predictions(table, kind="nominal"), agrees.mean(), agrees[item < 0].mean()


@pytest.mark.long
def test_all_that_is_shown_of_the_panel_has_the_wider_draws(monkeypatch):
    ann, pred, *_ = study(1, 30, 5)
    plain = dx.evaluate(ann, pred, random_seed=1, **RUN)
    monkeypatch.setattr(same_annotators, "covariance", lambda *_: (0.04 * np.eye(4), 4))
    wide = dx.evaluate(ann, pred, random_seed=1, **RUN)
    assert wide["metrics"].attrs["new_annotators"] == 1
    top = wide["metrics"]["top_1_accuracy"].sel(AT)
    assert 0.15 < float(top.std()) < 0.25  # some draws are clipped
    np.testing.assert_array_equal(wide["answers"]["panel_agreement"], top)
    xr.testing.assert_equal(
        wide["answers"]["annotator_agreement"], plain["answers"]["annotator_agreement"]
    )
    seen = dx.summary(wide).set_index(["metric", "scope"]).loc[("top_1_accuracy", "these items")]
    assert float(seen["upper"] - seen["lower"]) > 0.4


def all_at_once(seed, n_items=30):
    """Lists of all three labels with probabilities, and categories."""
    rng = np.random.default_rng([seed, 6])
    label = rng.integers(3, size=(n_items, 5))
    table = {
        "item": np.repeat(np.arange(n_items), 5), "annotator": list(range(5)) * n_items,
        "label": label.ravel(),
    }  # fmt: skip
    said = {
        "item": np.repeat(np.arange(n_items), 3), "system": ["s"] * 3 * n_items,
        "label": [0, 1, 2] * n_items, "share": rng.dirichlet([1, 1, 1], n_items).ravel(),
    }  # fmt: skip
    groups = {0: "low", 1: "low", 2: "high"}
    return dx.annotations(table, kind="nominal"), dx.predictions(said, score="share"), groups


def test_every_metric_has_the_wider_draws(monkeypatch):
    ann, pred, groups = all_at_once(1)
    plain = dx.evaluate(ann, pred, groups=groups, random_seed=1, **RUN)
    names = set(plain["metrics"].data_vars)
    assert {"top_2_accuracy", "top_2_set_accuracy", "average_overlap_at_2", "log_score",
            "brier_score", "total_variation", "calibration_error"} <= names  # fmt: skip
    n = len(names) + 1  # and the accuracy in categories
    monkeypatch.setattr(same_annotators, "covariance", lambda *_: (0.09 * np.eye(n), 4))
    wide = dx.evaluate(ann, pred, groups=groups, random_seed=1, **RUN)
    at = {**AT, "system": "s"}
    for name, draws in wide["metrics"].data_vars.items():
        spread = [tree["metrics"][name].sel(at).std() for tree in (plain, wide)]
        assert float(spread[1]) > float(spread[0]) + 0.02, name
        if name not in {"log_score", "brier_score"}:
            assert 0.0 <= float(draws.min()) <= float(draws.max()) <= 1.0, name
    top = {k: wide["metrics"][f"top_{k}_accuracy"] for k in (1, 2)}
    assert (top[2] >= top[1]).all()
    assert (wide["metrics"]["top_2_set_accuracy"] <= top[2]).all()
    assert float(wide["metrics"]["log_score"].max()) <= 0.0
    both = [tree["categories"]["top_1_accuracy"].sel(at).std() for tree in (plain, wide)]
    assert float(both[1]) > float(both[0]) + 0.02


def test_other_annotators_for_each_item_leave_the_posterior():
    label = np.random.default_rng(1).integers(2, size=(30, 60))
    ann, pred = annotated(some_of(30, 60, 3), label), study(1, 30, 5)[1]
    result = dx.evaluate(ann, pred, random_seed=1, **RUN)
    assert "new_annotators" not in result["metrics"].attrs


@pytest.mark.long
def test_intervals_contain_the_agreement_with_a_large_panel():
    """The posterior alone contains it in 9 of these 16 studies, and the specificity in 11."""
    n, held = 16, np.zeros(2)
    for seed in range(n):
        ann, pred, truth, specificity = study(seed, n_annotators=4)
        result = dx.evaluate(ann, pred, positive=1, random_seed=seed, **RUN)
        shown = result["answers"]["panel_agreement"], result["metrics"]["specificity"].sel(AT)
        for k, (draws, value) in enumerate(zip(shown, (truth, specificity), strict=True)):
            low, high = np.quantile(draws, [0.055, 0.945])
            held[k] += low <= value <= high
    assert (held >= 13).all()


def scored(seed, n_annotators=5, n_items=80, leniency=0.8):
    """Annotators differ in leniency; return the scores, predictions, and the true means."""
    rng = np.random.default_rng([seed, 4])
    mean = rng.normal(5, 2, n_items)
    score = mean[:, None] + rng.normal(size=(n_items, n_annotators))
    score += rng.normal(0, leniency, n_annotators)
    answers = {"near": rng.normal(mean, 0.5), "far": 0.6 * rng.normal(mean, 1.0) + 2.0}
    table = {
        "item": np.tile(np.arange(n_items), 2), "system": np.repeat(list(answers), n_items),
        "label": np.concatenate(list(answers.values())),
    }  # fmt: skip
    return dx.from_matrix(score, kind="continuous"), dx.predictions(table), mean, answers


@pytest.mark.long
def test_errors_of_scores_have_the_jackknife_of_fits_without_each_annotator():
    ann, pred, _, _ = scored(1)
    result = dx.evaluate(ann, pred, random_seed=1, **RUN | {"draws": 1000})
    assert result["metrics"].attrs["new_annotators"] == 1
    alone = dx.score_error(
        dx.models.normal_scores.fit(
            ann, predictions=pred, draws=1000, chains=2, random_seed=1, progressbar=False
        ),
        pred,
    )
    rows = dx.to_dataframe(ann)
    means = []
    for name in range(5):
        part = dx.annotations(rows[rows["annotator"] != name], kind="continuous")
        fit = dx.models.normal_scores.fit(
            part, predictions=pred, draws=500, chains=2, random_seed=2, progressbar=False
        )
        means.append(dx.score_error(fit, pred).mean(("chain", "draw")))
    for name in ("mean_absolute_error", "mean_squared_error"):
        scale = np.sqrt if name == "mean_squared_error" else np.asarray
        for system in ("near", "far"):
            jackknife = 4 * np.var([scale(float(x[name].sel(system=system))) for x in means])
            wide = result["metrics"][name].sel(AT).sel(system=system)
            low, high = np.quantile(scale(wide.values), [0.055, 0.945])
            own = np.var(scale(alone[name].sel(system=system).values))
            # An 89 % interval of normal draws, plus noise with the interval of t(4).
            added = max(jackknife - own, 0.0) * (1.97 / 1.598) ** 2
            expected = 2 * 1.598 * np.sqrt(own + added)
            # Bounded below at 0; means of 200 draws for the jackknife.
            assert high - low == pytest.approx(expected, rel=0.15)


@pytest.mark.long
def test_scores_are_compared_by_the_wider_draws(monkeypatch):
    ann, pred, _, _ = scored(2)
    monkeypatch.setattr(same_annotators, "covariance", lambda *_: (9.0 * np.eye(6), 4))
    result = dx.evaluate(ann, pred, random_seed=1, **RUN)
    draws = result["metrics"]["mean_absolute_error"].sel(AT)
    compared = result["comparison"].sel(metric="mean_absolute_error", **AT)
    better = float((draws.sel(system="near") < draws.sel(system="far")).mean())
    assert 0.1 < better < 0.9  # without noise near is better
    assert float(compared["probability_better"].sel(system="near", system_="far")) == better
    assert float(draws.min()) >= 0.0
    correlation = result["metrics"]["correlation"]
    assert float(abs(correlation).max()) <= 1.0


@pytest.mark.long
def test_scores_by_other_annotators_for_each_item_leave_the_posterior():
    ann, pred, _, _ = scored(3)
    who = np.arange(80)[:, None] * 5 + np.arange(5)
    rows = dx.to_dataframe(ann).sort_values(["item", "annotator"]).assign(annotator=who.ravel())
    result = dx.evaluate(
        dx.annotations(rows, kind="continuous"), pred, random_seed=1, **RUN
    )  # fmt: skip
    assert "new_annotators" not in result["metrics"].attrs


@pytest.mark.long
def test_errors_of_a_draw_are_possible_together():
    ann, pred, _, _ = scored(4, n_annotators=3, n_items=30, leniency=1.5)
    draws = dx.evaluate(ann, pred, random_seed=1, **RUN)["metrics"]
    assert draws.attrs["new_annotators"] == 1
    absolute, squared = draws["mean_absolute_error"], draws["mean_squared_error"]
    assert (squared >= absolute**2).all()
    assert float(absolute.min()) > 0.0


def test_rates_of_a_draw_are_possible_together():
    """The added noise alone gives rates on one side of the accuracy."""
    ann, pred, *_ = study(4, 60, 4)
    draws = dx.evaluate(ann, pred, positive=1, random_seed=1, **RUN)["metrics"].to_dataset()
    assert draws.attrs["new_annotators"] == 1
    accuracy, first, second = (draws[n] for n in ("top_1_accuracy", "sensitivity", "specificity"))
    assert (accuracy >= np.minimum(first, second) - 1e-12).all()
    assert (accuracy <= np.maximum(first, second) + 1e-12).all()


@pytest.mark.long
def test_rates_and_f1_of_a_rare_label_are_kept():
    """Draws without a positive item have no sensitivity, but a specificity and an F1 of 0."""
    rng = np.random.default_rng(7)
    label = (rng.random((40, 3)) < 0.06).astype(int)
    label[0] = 1, 1, 0
    ann = annotated(np.ones((40, 3)), label)
    said = {"item": range(40), "system": ["s"] * 40, "label": rng.integers(2, size=40)}
    pred, found = dx.predictions(said, kind="nominal"), []
    for positive in (1, 0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dx.DissensusWarning)  # the other rate is undefined
            result = dx.evaluate(ann, pred, positive=positive, random_seed=1, **RUN)
        found.append(result["metrics"].to_dataset().sel(AT))
    assert found[0].attrs["new_annotators"] == 1
    assert set(found[0]) == {"top_1_accuracy", "specificity", "f1"}
    assert set(found[1]) == {"top_1_accuracy", "sensitivity", "f1"}
    ends = [np.quantile(rate, [0.055, 0.5, 0.945]) for rate in
            (found[0]["specificity"], found[1]["sensitivity"])]  # fmt: skip
    np.testing.assert_allclose(*ends, atol=0.02)


@pytest.mark.long
def test_annotators_without_whom_no_fit_is_possible_leave_the_posterior():
    """Without the first annotator, no item has two scores."""
    ann, pred, _, _ = scored(5, n_annotators=3, n_items=30)
    rows = dx.to_dataframe(ann)
    kept = (rows["annotator"] == 0) | (rows["item"] % 2 == rows["annotator"] - 1)
    star = dx.annotations(rows[kept], kind="continuous")
    assert are_same(star)
    result = dx.evaluate(star, pred, random_seed=1, **RUN)
    assert "new_annotators" not in result["metrics"].attrs


@pytest.mark.long
def test_intervals_contain_the_error_against_a_large_panel():
    """Of 40 studies .79 by the posterior alone, and .96 (with three annotators .65, and .95)."""
    held = []
    for seed in range(12):
        ann, pred, mean, answers = scored(seed)
        result = dx.evaluate(ann, pred, random_seed=seed, **RUN)
        for system, answer in answers.items():
            draws = result["metrics"]["mean_squared_error"].sel(AT).sel(system=system)
            low, high = np.quantile(draws, [0.055, 0.945])
            held.append(low <= ((answer - mean) ** 2).mean() <= high)
    assert np.mean(held) >= 0.7
