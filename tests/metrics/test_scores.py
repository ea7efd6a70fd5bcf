"""Errors of numbers, scores of probabilities, sensitivity and specificity, by definition."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from sklearn.metrics import f1_score

import dissensus as dx

RNG = np.random.default_rng(5)
ITEMS = [f"i{k}" for k in range(9)]
DIMS = ("chain", "draw", "item")
FIT = xr.DataArray(RNG.normal(50, 9, (2, 4, 9)), dims=DIMS, coords={"item": ITEMS}, name="mean")
NUMBER = {"a": RNG.normal(50, 9, 9), "b": RNG.normal(55, 2, 9)}
LABELS = ["x", "y", "z"]
THETA = xr.DataArray(
    RNG.dirichlet([1, 1, 1], (2, 4, 9)), dims=(*DIMS, "label"),
    coords={"item": ITEMS, "label": LABELS}, name="plausibility",
)  # fmt: skip
P = {"a": RNG.dirichlet([1, 2, 3], 9), "b": RNG.dirichlet([9, 1, 1], 9)}
TWO = xr.DataArray(
    np.moveaxis([1 - (up := RNG.uniform(size=(2, 4, 9))), up], 0, -1), dims=(*DIMS, "label"),
    coords={"item": ITEMS, "label": ["ill", "well"]}, name="plausibility",
)  # fmt: skip
SAID = {"a": RNG.choice(["ill", "well"], 9), "b": np.full(9, "well")}
WEIGHTS = RNG.uniform(0.5, 2, 9)


def predicted(values, names, order):
    """One row for each item and system, the items in some order."""
    rows = [(ITEMS[i], name, *np.atleast_1d(values[name][i])) for name in values for i in order]
    table = zip(("item", "system", *names), zip(*rows, strict=True), strict=True)
    return dx.predictions(dict(table))


def numbers(order=range(9)):
    return predicted(NUMBER, ["label"], order)


def probabilities(order=range(9)):
    return predicted(P, LABELS, order)


def labels(order=range(9)):
    return predicted(SAID, ["label"], order)


def at(result, name, system, chain=1, draw=2):
    return float(result[name].sel(system=system).isel(chain=chain, draw=draw))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("system", ["a", "b"])
def test_errors_of_numbers_are_those_of_numpy(system, weights):
    errors = dx.score_error(FIT, numbers([3, 1, 4, 0, 5, 8, 2, 6, 7]), weights=weights)
    mu, p = FIT.to_numpy()[1, 2], NUMBER[system]
    w = np.ones(9) if weights is None else weights
    assert at(errors, "mean_absolute_error", system) == pytest.approx(
        np.average(abs(p - mu), weights=w)
    )
    assert at(errors, "mean_squared_error", system) == pytest.approx(
        np.average((p - mu) ** 2, weights=w)
    )
    cov = np.cov(p, mu, aweights=w)
    wanted = cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1])
    assert at(errors, "correlation", system) == pytest.approx(wanted)
    assert errors["correlation"].attrs == {"better": "higher"}
    assert errors["mean_absolute_error"].attrs == {"better": "lower"}


def test_correlation_does_not_depend_on_the_unit_and_errors_do():
    near, far = dx.score_error(FIT, numbers()), dx.score_error(FIT + 1e9, numbers())
    with_offset = numbers().assign(value=numbers()["value"] + 1e9)
    moved = dx.score_error(FIT + 1e9, with_offset)
    np.testing.assert_allclose(moved["mean_squared_error"], near["mean_squared_error"], rtol=1e-6)
    np.testing.assert_allclose(far["correlation"], near["correlation"], atol=1e-6)
    assert (far["mean_absolute_error"] > 1e8).all()
    straight = dx.predictions({"item": ITEMS, "system": ["s"] * 9, "label": 3 * FIT[0, 0] + 1})
    perfect = dx.score_error(FIT[:1, :1], straight)["correlation"].item()
    assert perfect == pytest.approx(1) and perfect <= 1


def test_a_constant_system_has_errors_and_no_correlation():
    pred = dx.predictions({"item": ITEMS, "system": ["s"] * 9, "label": [50.5] * 9})
    errors = dx.score_error(FIT, pred)
    assert errors["correlation"].isnull().all()
    assert errors["mean_absolute_error"].notnull().all()


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("system", ["a", "b"])
def test_scores_of_probabilities_are_averages_over_annotators(system, weights):
    """Each as the expectation over the label of a random annotator, written out."""
    result = dx.probability_score(
        THETA, probabilities([3, 1, 4, 0, 5, 8, 2, 6, 7]), bins=4, weights=weights
    )
    theta, p = THETA.to_numpy()[1, 2], P[system]
    w = np.ones(9) if weights is None else weights
    each = {"log_score": np.zeros(9), "brier_score": np.zeros(9)}
    for y in range(3):
        each["log_score"] += theta[:, y] * np.log(np.maximum(p[:, y], 1e-3))
        each["brier_score"] += theta[:, y] * ((p - np.eye(3)[y]) ** 2).sum(axis=1)
    each["total_variation"] = np.array(
        [
            max(abs(p[i][list(s)].sum() - theta[i][list(s)].sum()) for s in [(0,), (1,), (2,)])
            for i in range(9)
        ]
    )  # of three labels the largest difference of an event is that of one label
    for name, values in each.items():
        assert at(result, name, system) == pytest.approx(np.average(values, weights=w)), name
    top, confidence = p.argmax(axis=1), p.max(axis=1)
    agree, gap = theta[np.arange(9), top], 0.0
    for b in range(4):
        inside = (confidence >= b / 4) & (confidence < (b + 1) / 4)
        curve = result["calibration"].sel(system=system).isel(chain=1, draw=2, bin=b)
        assert result["n_items"].sel(system=system).isel(bin=b) == inside.sum()
        if not inside.any():
            assert np.isnan(curve)
            continue
        gap += abs((w * (agree - confidence))[inside].sum())
        assert float(curve) == pytest.approx(np.average(agree[inside], weights=w[inside]))
    assert at(result, "calibration_error", system) == pytest.approx(gap / w.sum())


def test_the_panels_own_shares_are_the_best_probabilities():
    flat = THETA.isel(chain=[0], draw=[0])
    shares = flat.to_numpy()[0, 0]
    rows = {"item": ITEMS, "system": ["panel"] * 9, **dict(zip(LABELS, shares.T, strict=True))}
    own, others = dx.probability_score(flat, dx.predictions(rows)), dx.probability_score(
        flat, probabilities()
    )  # fmt: skip
    assert own["total_variation"].item() == pytest.approx(0)
    assert own["calibration_error"].item() == pytest.approx(0)
    assert own["log_score"].item() > others["log_score"].max()
    assert own["brier_score"].item() < others["brier_score"].min()


def test_probability_on_a_label_that_nobody_can_give_is_wrong():
    """z is not in the label space: the same as with a plausibility of 0."""
    two = THETA.isel(label=[0, 1])
    two = two / two.sum("label")
    zero = xr.concat([two, 0 * THETA.isel(label=[2])], "label")
    with pytest.warns(dx.DissensusWarning, match="outside the label space"):
        result = dx.probability_score(two, probabilities())
    xr.testing.assert_allclose(result, dx.probability_score(zero, probabilities()))


@pytest.mark.parametrize("system", ["a", "b"])
@pytest.mark.parametrize("positive", ["ill", "well"])
def test_rates_count_positive_and_negative_items(system, positive):
    rates = dx.sensitivity_specificity(
        TWO, labels([3, 1, 4, 0, 5, 8, 2, 6, 7]), positive, weights=WEIGHTS
    )
    panel = np.array(["ill", "well"])[TWO.to_numpy()[1, 2].argmax(axis=1)]
    of = {"sensitivity": panel == positive, "specificity": panel != positive}
    for name, members in of.items():
        right = SAID[system] == panel
        wanted = np.average(right[members], weights=WEIGHTS[members])
        assert at(rates, name, system) == pytest.approx(wanted), name
    f1 = f1_score(panel, SAID[system], pos_label=positive, sample_weight=WEIGHTS)
    assert at(rates, "f1", system) == pytest.approx(f1)


def test_the_rates_average_to_the_accuracy_also_with_insight():
    given = xr.DataArray([0.7, -0.3], dims="system", coords={"system": ["a", "b"]})
    for insight in (None, given):
        more = {"insight": insight, "random_seed": 3}
        rates = dx.sensitivity_specificity(TWO, labels(), "ill", **more)
        right = dx.top_k_accuracy(TWO, labels(), per_item=True, **more)
        answers = xr.DataArray(
            np.array([SAID["a"], SAID["b"]]).T == "ill", dims=("item", "system"),
            coords={"item": ITEMS, "system": ["a", "b"]},
        )  # fmt: skip
        ill = xr.where(answers, right, 1 - right).mean("item")
        both = ill * rates["sensitivity"].fillna(0) + (1 - ill) * rates["specificity"].fillna(0)
        np.testing.assert_allclose(both, right.mean("item").transpose(*both.dims))


def test_no_positive_item_leaves_the_sensitivity_undefined():
    sure = TWO.copy(data=np.broadcast_to([0.1, 0.9], TWO.shape))
    rates = dx.sensitivity_specificity(sure, labels(), "ill")
    assert rates["sensitivity"].isnull().all()
    assert (rates["specificity"].sel(system="b") == 1).all()
    assert rates["f1"].sel(system="b").isnull().all()


def test_tied_first_labels_count_in_part():
    rows = {"item": np.repeat(ITEMS, 2), "system": ["t"] * 18, "label": ["ill", "well"] * 9,
            "r": [1, 1] * 9}  # fmt: skip
    rates = dx.sensitivity_specificity(TWO, dx.predictions(rows, rank="r"), "ill")
    np.testing.assert_allclose(rates["sensitivity"].dropna("draw"), 0.5)
    np.testing.assert_allclose(rates["specificity"].dropna("draw"), 0.5)


@pytest.mark.parametrize("call", ["score_error", "probability_score", "sensitivity_specificity"])
def test_the_bootstrap_is_for_new_items(call):
    source, pred, more = {
        "score_error": (FIT, numbers(), ()), "probability_score": (THETA, probabilities(), ()),
        "sensitivity_specificity": (TWO, labels(), ("ill",)),
    }[call]  # fmt: skip
    these = getattr(dx, call)(source, pred, *more)
    new = getattr(dx, call)(source, pred, *more, weights="bayesian-bootstrap", random_seed=1)
    again = getattr(dx, call)(source, pred, *more, weights="bayesian-bootstrap", random_seed=1)
    xr.testing.assert_identical(new, again)
    name = next(iter(these.data_vars))
    assert these[name].dims == new[name].dims == ("chain", "draw", "system")
    assert not np.allclose(these[name], new[name])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dx.score_error(FIT, labels()), "predictions: expected one number.*found text"),
        (lambda: dx.score_error(TWO, numbers()), "fit: expected numbers over.*label"),
        (lambda: dx.score_error(FIT.to_dataset(name="m"), numbers()), "Dataset without 'mean'"),
        (lambda: dx.score_error(3, numbers()), "fit: expected a fit .*found a int without"),
        (lambda: dx.probability_score(THETA, numbers()), "predictions: expected labels"),
        (lambda: dx.probability_score(TWO, labels()), "system 'a'.*probabilities of all labels"),
        (lambda: dx.probability_score(THETA, probabilities(), bins=0), "bins: expected"),
        (lambda: dx.probability_score(FIT, probabilities()), "plausibility: expected"),
        (lambda: dx.sensitivity_specificity(THETA, labels(), "x"), "expected two labels; found 3"),
        (lambda: dx.sensitivity_specificity(TWO, labels(), "sick"), "'ill', 'well'; found 'sick'"),
        (lambda: dx.sensitivity_specificity(TWO, numbers(), "ill"), "predictions: expected labels"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(call, words):
    with pytest.raises(dx.DissensusError, match=words):
        call()


@pytest.mark.long
def test_what_a_system_knows_of_the_panel_is_not_taken_for_error():
    """Scores simulated with truth known: a system of known error and correlation.

    Without predictions as evidence, the error of the scores' mean is added to the system's.
    """
    rng = np.random.default_rng(2)
    mu = rng.normal(0, 1, 400)
    scores = rng.normal(mu[:, None], 1.5, (400, 2))
    ann = dx.from_matrix(scores, kind="continuous")
    system = mu + rng.normal(0, 0.5, 400)
    pred = dx.predictions({"item": ann["item"].to_numpy(), "system": ["s"] * 400, "label": system})
    true = {"mean_squared_error": ((system - mu) ** 2).mean(),
            "correlation": stats.pearsonr(system, mu).statistic}  # fmt: skip
    for predictions, holds in ((pred, True), (None, False)):
        fit = dx.models.normal_scores.fit(ann, predictions=predictions, draws=400, random_seed=1)
        errors = dx.score_error(fit, pred).isel(system=0)
        for name, value in true.items():
            low, high = errors[name].quantile([0.01, 0.99], ("chain", "draw"))
            assert (low <= value <= high) == holds, name


@pytest.mark.long
def test_careless_annotators_are_part_of_the_panel():
    """A quarter of the annotators score at random: errors are those against all of them."""
    covered, careful = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        mu, annotator = rng.normal(3, 1, 100), rng.permuted(np.tile(range(12), (100, 1)), axis=1)
        annotator = annotator[:, :4]
        score = np.where(
            annotator < 3, rng.uniform(1, 5, (100, 4)), rng.normal(mu[:, None], 0.5, (100, 4))
        )
        number = mu + rng.normal(0, 0.5, 100)
        table = {"item": np.repeat(range(100), 4), "annotator": annotator.ravel()}
        pred = dx.predictions({"item": range(100), "system": ["s"] * 100, "label": number})
        fit = dx.models.normal_scores.fit(
            dx.annotations(table | {"label": score.ravel()}), predictions=pred, draws=300,
            random_seed=1, progressbar=False,
        )  # fmt: skip
        error = dx.score_error(fit, pred)["mean_absolute_error"]
        low, high = np.quantile(error, [0.055, 0.945])
        covered.append(low <= np.abs(number - 0.75 * mu - 0.25 * 3).mean() <= high)
        careful.append(low <= np.abs(number - mu).mean() <= high)
    assert np.mean(covered) >= 0.7  # 89 % intervals, ten studies
    assert np.mean(careful) < np.mean(covered)


@pytest.mark.parametrize(("shape", "codes", "warns"), [
    (0.8, range(8), True), (1.5, range(8), False), (0.8, range(9), False),
])  # fmt: skip
def test_items_without_scores_and_without_a_finite_variance_are_warned_of(shape, codes, warns):
    """A mean has a t distribution with 2 a degrees of freedom: its variance is finite for a > 1."""
    fit = xr.DataTree.from_dict({
        "posterior": FIT.to_dataset().assign(prior_shape=(DIMS[:2], np.full((2, 4), shape))),
        "constant_data": xr.Dataset({"item_code": ("annotation", np.repeat(codes, 2))}),
    })  # fmt: skip
    pred = dx.predictions({"item": ITEMS, "system": ["a"] * 9, "label": NUMBER["a"]})
    if warns:
        with pytest.warns(dx.DissensusWarning, match=r"1 of 9 items have no .* 100.%.* do not use"):
            dx.score_error(fit, pred)
    else:
        dx.score_error(fit, pred)
