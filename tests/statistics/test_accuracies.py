"""Accuracies of annotators in all forms they may come in, and what is said of others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from concordance_reference import close

import dissensus as dx


def posterior(**variables):
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables)})


def test_a_fit_is_taken_for_its_accuracies():
    ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    rng = np.random.default_rng(1)
    values = rng.random((2, 5, 3, 2)) * 0.9 + 0.05
    sample = ("chain", "draw")
    names = {"annotator": ann["annotator"].to_numpy(), "item": ann["item"].to_numpy()}
    both = xr.DataArray(values, dims=(*sample, "annotator", "item"), coords=names)
    by = both.isel(item=0, drop=True)
    single = by.isel(annotator=0, drop=True)
    for array, called in ((both, "accuracy"), (by, "annotator_accuracy"),
                          (single, "annotator_accuracy")):  # fmt: skip
        expected = dx.weighted_reliability(ann, accuracy=array)
        assert expected.dims == sample
        fit = posterior(**{called: array}, ability=by)
        for given_fit in (fit, fit["posterior"], fit["posterior"].to_dataset()):
            xr.testing.assert_identical(dx.weighted_reliability(ann, accuracy=given_fit), expected)
    with pytest.raises(dx.ArgumentError, match="a posterior with accuracy or annotator_accuracy"):
        dx.weighted_reliability(ann, accuracy=posterior(mu=by))
    with pytest.raises(dx.ArgumentError, match="without posterior"):
        dx.weighted_reliability(ann, accuracy=xr.DataTree.from_dict({"prior": xr.Dataset()}))


@pytest.mark.long
def test_draws_of_a_fitted_latent_truth_carry_over():
    made = dx.simulate.confusion_study(60, ipc=0.8, system_accuracy=[0.9], random_seed=1)
    fit = dx.models.symmetric_confusion.fit(
        made.annotations, draws=50, tune=50, chains=2, random_seed=1, progressbar=False
    )
    reliability = dx.weighted_reliability(made.annotations, accuracy=fit)
    assert dict(reliability.sizes) == {"chain": 2, "draw": 50}
    last = fit.posterior["annotator_accuracy"].isel(chain=1, draw=-1)
    close(reliability[1, -1], dx.weighted_reliability(made.annotations, accuracy=float(last)))


def test_a_mapping_may_have_pairs_or_arrays():
    rng = np.random.default_rng(2)
    names = {"annotator": [0, 1, 2], "item": [0, 1]}
    table = xr.DataArray(rng.uniform(0.6, 0.9, (3, 2)), coords=names)
    draws = table * xr.DataArray(rng.uniform(0.9, 1.0, (2, 3)), dims=("chain", "draw"))
    by_pair = {(i, j): float(table[i, j]) for i in range(3) for j in range(2)}
    pairs_with_a_label = {pair: share for pair, share in by_pair.items() if pair != (2, 1)}
    expected = dx.weighted_reliability(ANN, accuracy=table)
    for given in (by_pair, pairs_with_a_label, pd.Series(by_pair), table.to_series(),
                  {name: table.sel(annotator=name) for name in range(3)}):  # fmt: skip
        close(dx.weighted_reliability(ANN, accuracy=given), expected)
    result = dx.weighted_reliability(
        ANN, accuracy={name: draws.sel(annotator=name) for name in range(3)}
    )
    assert result.dims == ("chain", "draw")
    close(result, dx.weighted_reliability(ANN, accuracy=draws))


ANN = dx.from_matrix([["x", "y", "y"], ["y", "y", None]])
DRAWS = xr.DataArray(np.full((2, 3), 0.5), dims=("chain", "draw"))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "accuracy: expected .*or truth=, the known labels; found None"),
        ({"accuracy": 0.5, "truth": ["x", "y"]}, "truth: expected None, or no accuracy="),
        ({"accuracy": 1.2}, "accuracy: expected numbers from 0 to 1; found 1.2"),
        ({"accuracy": "minority"}, "accuracy: expected"),
        ({"accuracy": {0: 0.5, 1: 0.5}}, "every annotator; found none for 1 of them: 2"),
        ({"accuracy": {0: 0.5, 1: 0.5, 2: np.nan}}, "annotator 2: expected numbers from 0 to 1"),
        ({"accuracy": {0: 0.5, 1: 0.5, 2: "high"}}, "annotator 2: expected .*; found 'high'"),
        ({"accuracy": [0.5, 0.5]}, "a number for each of 3 annotators"),
        ({"accuracy": [[0.5, 0.5], [0.5]]}, "found a ragged list"),
        ({"accuracy": np.full((3, 2), -0.1)}, "annotator 0, item 0: expected .*; found -0.1"),
        ({"accuracy": ["a", "b", "c"]}, "found values of type"),
        ({"accuracy": DRAWS.expand_dims(annotator=[0, 1])}, "found none for 1 of them: 2"),
        ({"accuracy": DRAWS.expand_dims(annotator=2)}, "found 2 without names"),
        ({"accuracy": DRAWS.expand_dims(annotator=[0, 1, 1, 2])}, "each annotator once"),
        ({"accuracy": DRAWS.expand_dims(rater=3)}, "expected the dims 'annotator', 'item'"),
        ({"accuracy": DRAWS.isel(draw=[])}, "at least one draw"),
        ({"accuracy": {(0, 1): 0.5}}, "every annotator; found none for 2 of them: 1, 2"),
        ({"accuracy": {(name, 0): 0.5 for name in range(3)}}, "every item; found none for 1"),
        ({"accuracy": {(0, 0): 0.5, (1, 1): 0.5, (2, 0): 0.5}}, "annotator 1, item 0: .*found nan"),
        ({"accuracy": pd.Series([0.5], pd.MultiIndex.from_tuples([(0, 1)]))}, "found none for 2"),
        ({"accuracy": pd.Series([0.5] * 4, index=[0, 1, 2, 2])}, "each annotator once; found 2"),
        ({"accuracy": np.ma.masked_array([0.5] * 3, [0, 1, 0])}, "accuracy: expected"),
        ({"accuracy": 0.5, "errors": "none"}, "errors: expected 'printed' or 'uniform'"),
        ({"truth": ["x"]}, "truth: expected one label for each of 2 items"),
        ({"truth": {0: "x"}}, "truth: expected a label for every item; found none for 1"),
        ({"truth": ["x", None]}, "truth: expected a label for every item; found none for 1"),
        ({"truth": ["x", "z"]}, "truth, item 1: expected one of the labels 'x', 'y'; found 'z'"),
        ({"truth": "xy"}, "truth: expected a label for each item"),
        ({"accuracy": 0.5, "per_item": True, "weights": [1, 1]}, "weights: expected None"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(more, words):
    with pytest.raises(dx.DissensusError, match=words):
        dx.weighted_reliability(ANN, **more)


def test_numbers_may_be_by_item_only_and_names_spelled():
    expected = dx.weighted_reliability(ANN, accuracy=np.tile([0.6, 0.7], (3, 1)))
    close(dx.weighted_reliability(ANN, accuracy=xr.DataArray([0.6, 0.7], dims="item")), expected)
    expected = dx.weighted_reliability(ANN, accuracy=[0.5, 0.6, 0.7])
    for names in ({"0": 0.5, "1": 0.6, "2": 0.7}, {"2": 0.7, 0: 0.5, 1: 0.6, None: 0.1}):
        close(dx.weighted_reliability(ANN, accuracy=names), expected)
    draws = xr.DataArray([0.5, 0.6], dims="draw")
    assert dx.weighted_reliability(ANN, accuracy=draws).dims == ("draw",)
    as_numbers = dx.from_matrix([[0, 1], [1, 1]])
    for truth in ([0, 1], [False, True], ["0", "1"], [0.0, 1.0], xr.DataArray([0, 1], dims="item")):
        assert float(dx.weighted_reliability(as_numbers, truth=truth)) == 0.5


@pytest.mark.parametrize("names", [list(pd.date_range("2020-05-01", periods=2)), [True, False]])
def test_annotators_are_named_as_in_the_caller_s_table(names):
    ann = dx.annotations({"item": [0, 0, 1, 1], "annotator": names * 2, "label": list("xyxx")})
    expected = dx.weighted_reliability(ann, accuracy=[0.9, 0.6])
    by_name = dict(zip(names, [0.9, 0.6], strict=True))
    named = xr.DataArray([0.9, 0.6], dims="annotator", coords={"annotator": names})
    for accuracy in (by_name, pd.Series(by_name), named):
        close(dx.weighted_reliability(ann, accuracy=accuracy), expected)


def test_what_needs_labels_is_refused_of_numbers_and_rankings():
    numbers = dx.from_matrix([[0.5, 0.7]], kind="continuous")
    rankings = dx.from_rankings({"i": {"ann": [["a"], ["b"]], "bob": [["a"]]}})
    with pytest.raises(dx.AnnotationError, match="numbers on a continuous scale"):
        dx.weighted_reliability(numbers, accuracy="majority")
    for ann in (numbers, rankings):
        with pytest.raises(
            dx.ArgumentError, match="errors: expected 'printed', since these labels cannot"
        ):
            dx.weighted_reliability(ann, accuracy=0.5, errors="uniform")
    with pytest.raises(dx.ArgumentError, match="truth: expected None, for rankings"):
        dx.weighted_reliability(rankings, truth=["a"])
    close(dx.weighted_reliability(rankings, accuracy=0.5), dx.concordance(rankings) / 2)
    # Each lists what leads with the other: with these accuracies of 1 it is concordance.
    close(dx.weighted_reliability(rankings, accuracy="majority"), dx.concordance(rankings))
    assert float(dx.weighted_reliability(numbers, truth=[0.6])) == 0.0
