"""The discrepancy ratio along the threshold: against `discrepancy_ratio` at each threshold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dissensus as dx
from dissensus.errors import AnnotationError, ArgumentError, DissensusWarning, PredictionError

GRID = np.array([0.0, 0.2, 0.3, 0.5, 0.50001, 0.8, 1.1])


def study(seed, n_items=20, trials=True):
    """Annotators who are surer of items with high scores; scores on a grid, so that some tie."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items)
    frame = pd.DataFrame(
        {
            "item": np.repeat(np.arange(n_items), 8),
            "annotator": np.tile(np.repeat(np.arange(4), 2), n_items),
            "trial": np.tile([1, 2], 4 * n_items),
        }
    )
    frame["label"] = np.where(rng.random(len(frame)) < truth[frame["item"]], "yes", "no")
    keep = rng.random(len(frame)) < 0.7 if trials else frame["trial"] == 1
    keep |= (frame["item"] < 2) & (frame["trial"] == 1)
    ann = dx.annotations(frame[keep], trial="trial", labels=["no", "yes"])
    scores = np.round(np.clip(truth[:, None] + rng.normal(0, 0.2, (n_items, 2)), 0, 1), 1)
    items = ann["item"].to_numpy()
    return ann, xr.DataArray(
        scores[items], dims=("item", "system"), coords={"item": items, "system": ["s", "t"]}
    )


def decided(scores, threshold, labels=("no", "yes")):
    """Turn scores into labels."""
    flat = scores.stack(row=("item", "system"))
    return dx.predictions(
        {
            "item": flat["item"].to_numpy(),
            "system": flat["system"].to_numpy(),
            "label": np.array(labels)[(flat.to_numpy() >= threshold).astype(int)],
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_each_point_is_the_ratio_of_the_labels_decided_there(seed):
    ann, scores = study(seed)
    weights = np.random.default_rng(seed).exponential(size=ann.sizes["item"])
    curve = dx.discrepancy_curve(ann, scores, GRID, weights=weights)
    assert curve.dims == ("system", "threshold")
    assert curve.name == "discrepancy_curve"
    for threshold in GRID:
        ratio = dx.discrepancy_ratio(ann, decided(scores, threshold), weights=weights)
        np.testing.assert_allclose(
            curve.sel(threshold=threshold), ratio["discrepancy_ratio"], rtol=1e-12
        )


def test_thresholds_come_back_as_they_were_given():
    ann, scores = study(0)
    order = [3, 0, 5, 1, 6, 2, 4]
    curve, other = (dx.discrepancy_curve(ann, scores, grid) for grid in (GRID, GRID[order]))
    xr.testing.assert_identical(curve.isel(threshold=order), other)
    single = dx.discrepancy_curve(ann, scores, 0.5)
    xr.testing.assert_identical(curve.sel(threshold=[0.5]), single)


def test_the_other_label_may_be_the_positive_one():
    ann, scores = study(1)
    turned = dx.discrepancy_curve(ann, -scores, -GRID - 1e-9, positive="no")
    assert turned.attrs == {"positive": "no", "better": "lower"}
    # Yes from t on is no below t: all that changes is who says so.
    for place, threshold in enumerate(GRID):
        no = dx.discrepancy_ratio(ann, decided(-scores, -threshold - 1e-9, ("yes", "no")))
        np.testing.assert_allclose(turned[:, place], no["discrepancy_ratio"], rtol=1e-12)


def test_scores_come_as_predictions_arrays_and_mappings():
    ann, scores = study(2)
    flat = scores.stack(row=("item", "system"))
    columns = {"item": flat["item"].to_numpy(), "system": flat["system"].to_numpy()}
    expected = dx.discrepancy_curve(ann, scores, GRID)
    numbers = dx.predictions({**columns, "label": flat.to_numpy()}, kind="continuous")
    xr.testing.assert_allclose(dx.discrepancy_curve(ann, numbers, GRID), expected)
    lists = dx.predictions(
        {
            "item": np.repeat(columns["item"], 2),
            "system": np.repeat(columns["system"], 2),
            "label": ["yes", "no"] * len(flat),
            "score": np.stack([flat.to_numpy(), 1 - flat.to_numpy()], axis=1).ravel(),
        },
        score="score",
    )
    xr.testing.assert_allclose(dx.discrepancy_curve(ann, lists, GRID), expected)
    array = scores.sel(system="s")
    for given in (array, array.drop_vars("system").rename("s"), array.transpose()):
        xr.testing.assert_allclose(
            dx.discrepancy_curve(ann, given, GRID), expected.sel(system=["s"])
        )
    mapping = dict(zip(array["item"].to_numpy().tolist(), array.to_numpy().tolist(), strict=True))
    for given in (mapping, pd.Series(mapping)):
        actual = dx.discrepancy_curve(ann, given, GRID)
        assert actual["system"].item() == "scores"
        np.testing.assert_allclose(actual, expected.sel(system=["s"]))


def test_scores_of_days_are_found():
    days = list(pd.date_range("2020-05-01", periods=2))
    table = {"item": days * 2, "annotator": list("aabb"), "label": ["no", "yes", "yes", "yes"]}
    mapping = dict(zip(days, [0.1, 0.8], strict=True))
    for given in (mapping, pd.Series(mapping)):
        actual = dx.discrepancy_curve(dx.annotations(table), given, [0.5])
        np.testing.assert_allclose(actual, [[0.5]])


def test_items_without_scores_are_dropped_if_asked():
    ann, scores = study(3)
    part = scores.isel(item=slice(2, None))
    with pytest.raises(PredictionError, match="2 annotated items without predictions"):
        dx.discrepancy_curve(ann, part, GRID)
    actual = dx.discrepancy_curve(ann, part, 0.5, on_missing="drop")
    expected = dx.discrepancy_ratio(ann, decided(part, 0.5), on_missing="drop")
    np.testing.assert_allclose(actual[:, 0], expected["discrepancy_ratio"])


def test_a_band_from_the_bootstrap():
    ann, scores = study(4, n_items=60)
    curve = dx.discrepancy_curve(ann, scores, GRID)
    draws = dx.bayesian_bootstrap(dx.discrepancy_curve, ann, scores, GRID, random_seed=1)
    assert draws.dims == ("chain", "draw", "system", "threshold")
    low, high = draws.quantile([0.01, 0.99], ["chain", "draw"])
    assert ((low < curve) & (curve < high)).all()
    ratio = dx.bayesian_bootstrap(
        dx.discrepancy_ratio, ann, decided(scores, 0.5), draws=4000, random_seed=2
    )["discrepancy_ratio"]
    at = draws.sel(threshold=0.5)
    np.testing.assert_allclose(at.mean("draw"), ratio.mean("draw"), atol=0.02)
    np.testing.assert_allclose(at.std("draw"), ratio.std("draw"), rtol=0.1)


def test_chosen_on_one_set_and_judged_on_another():
    validation, scores = study(5, n_items=300, trials=False)
    grid = np.linspace(0.05, 0.95, 10)
    curve = dx.discrepancy_curve(validation, scores, grid)
    threshold = dx.best_threshold(curve)
    assert threshold.dims == ("system",)
    assert threshold.name == "threshold"
    np.testing.assert_array_equal(threshold, grid[curve.argmin("threshold")])
    test, others = study(6, n_items=300, trials=False)
    judged = dx.discrepancy_curve(test, others, threshold)
    assert judged.dims == ("system",)
    for system in ("s", "t"):
        alone = dx.discrepancy_curve(test, others.sel(system=system), threshold.sel(system=system))
        np.testing.assert_allclose(judged.sel(system=system), alone.item())
    turned = dx.discrepancy_curve(test, others, threshold[::-1])  # matched by name
    xr.testing.assert_identical(judged, turned)
    draws = dx.bayesian_bootstrap(
        dx.discrepancy_curve, test, others, threshold, draws=50, random_seed=1
    )
    assert draws.dims == ("chain", "draw", "system")
    assert dx.non_inferiority(draws, 0.1).dims == ("system",)


def test_draws_of_a_curve_are_averaged_before_choosing():
    values = np.array([[[[3.0, 1.0, 2.0]], [[1.0, 2.0, 9.0]]]])
    draws = xr.DataArray(
        values,
        dims=("chain", "draw", "system", "threshold"),
        coords={"system": ["s"], "threshold": [0.3, 0.1, 0.2]},
    )
    assert dx.best_threshold(draws).item() == 0.1  # means 2, 1.5, 5.5


def test_the_curve_of_annotators_who_agree_is_undefined():
    ann = dx.from_matrix([["no", "no"], ["yes", "yes"]])
    with pytest.warns(DissensusWarning, match="annotators agree"):
        curve = dx.discrepancy_curve(ann, {0: 0.1, 1: 0.2}, [0.5])
    assert np.isnan(curve).all()
    with pytest.raises(ArgumentError, match="NaN for 'scores'"):
        dx.best_threshold(curve)


@pytest.mark.parametrize(
    ("thresholds", "says"),
    [
        ([], "finite numbers"),
        ([0.1, np.nan], "finite numbers"),
        (["low"], "finite numbers"),
        ([[0.1, 0.2]], "finite numbers"),
        ([0.1, 0.2, 0.1], "0.1 more than once"),
        (xr.DataArray([0.1], dims="system", coords={"system": ["s"]}), "each of the systems"),
        (xr.DataArray([0.1, 0.2], dims="system"), "names none"),
        (xr.DataArray([0.1, np.inf], dims="system", coords={"system": ["s", "t"]}), "finite"),
    ],
)
def test_bad_thresholds_are_named(thresholds, says):
    ann, scores = study(0)
    with pytest.raises(ArgumentError, match=says):
        dx.discrepancy_curve(ann, scores, thresholds)


def test_bad_scores_and_labels_are_named(votes):
    ann, scores = study(0)
    with pytest.raises(PredictionError, match="labels such as 'x' without scores"):
        dx.discrepancy_curve(*votes, [0.5])
    with pytest.raises(PredictionError, match="scores: expected predictions"):
        dx.discrepancy_curve(ann, scores.to_numpy(), [0.5])
    with pytest.raises(PredictionError, match="scores: expected predictions"):
        dx.discrepancy_curve(ann, scores.drop_vars("item"), [0.5])
    with pytest.raises(PredictionError, match="expected numbers"):
        dx.discrepancy_curve(ann, scores.astype(str), [0.5])
    with pytest.raises(PredictionError, match="value"):
        dx.discrepancy_curve(ann, scores.where(scores > 0.5), [0.5])
    with pytest.raises(ArgumentError, match="positive"):
        dx.discrepancy_curve(ann, scores, [0.5], positive="maybe")
    three = dx.from_matrix([["a", "b", "c"]])
    with pytest.raises(AnnotationError, match="two labels"):
        dx.discrepancy_curve(three, {0: 1.0}, [0.5])
    with pytest.raises(ArgumentError, match="curve"):
        dx.best_threshold(scores)


def test_a_list_without_the_positive_label_is_named():
    ann, _ = study(0)
    items = ann["item"].to_numpy()
    rows = [(i, label, 0.4) for i in items for label in ("yes", "no")][1:]
    item, label, score = (list(column) for column in zip(*rows, strict=True))
    table = {"item": item, "system": ["s"] * len(rows), "label": label, "score": score}
    pred = dx.predictions(table, score="score")
    with pytest.raises(PredictionError, match="score of the positive label 'yes'"):
        dx.discrepancy_curve(ann, pred, [0.5])


def test_true_and_false_are_labels():
    frame = {"item": [1, 1, 2, 2], "annotator": [1, 2, 1, 2], "label": [True, False, True, True]}
    ann = dx.annotations(frame)
    result = dx.discrepancy_curve(ann, {1: 0.2, 2: 0.9}, [0.5], positive=True)
    assert result.item() == pytest.approx(0.5)
    assert dx.discrepancy_curve(ann, {1: 0.2, 2: 0.9}, [0.5], positive=False).item() == 1.5


def test_a_curve_without_a_threshold_has_no_best():
    curve = xr.DataArray([], {"threshold": []}, ["threshold"], name="discrepancy_ratio")
    with pytest.raises(ArgumentError, match="curve: expected the result of discrepancy_curve"):
        dx.best_threshold(curve)
