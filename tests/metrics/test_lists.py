"""Predicted lists and plausibilities: what does not fit is named; top labels are searched once."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data.plausibility import cached_draws, space
from dissensus.metrics import _lists


def point(items=("i", "j"), labels=("a", "b"), masses=(0.7, 0.3)):
    return xr.DataArray(
        np.tile(masses, (len(items), 1)),
        dims=("item", "label"),
        coords={"item": list(items), "label": list(labels)},
    )


def system_answers(**labels):
    return dx.predictions(
        {"item": list(labels), "system": ["m"] * len(labels), "label": list(labels.values())}
    )


def test_items_missing_on_either_side_are_named_and_counted():
    many = point(items=[f"i{k}" for k in range(9)])
    with pytest.raises(dx.PredictionError) as info:
        dx.top_k_accuracy(many, system_answers(i0="a", i1="a", odd="b"))
    text = str(info.value)
    assert "7 annotated items without predictions: 'i2', 'i3'" in text
    assert "and 2 more" in text
    assert "1 predicted item without annotations: 'odd'" in text
    assert 'on_missing="drop"' in text
    with pytest.raises(dx.PredictionError, match="1 annotated item without predictions: 'j'"):
        dx.top_k_accuracy(point(), system_answers(i="a"))
    with pytest.raises(dx.PredictionError, match="1 predicted item without annotations: 'k'"):
        dx.top_k_accuracy(point(), system_answers(i="a", j="a", k="a"))


def test_dropping_keeps_the_items_in_common():
    accuracy = dx.top_k_accuracy(
        point(), system_answers(j="a", k="b"), on_missing="drop", per_item=True
    )
    assert list(accuracy["item"].values) == ["j"]
    assert accuracy.item() == 1.0


def test_no_item_in_common_is_an_error_also_when_dropping():
    for on_missing in ("raise", "drop"):
        with pytest.raises(dx.PredictionError, match="no item in common, but 'x'"):
            dx.top_k_accuracy(point(), system_answers(x="a"), on_missing=on_missing)


def test_a_label_outside_the_space_warns_and_counts_as_wrong():
    words = r"count as wrong: 'z' \(predictions with them: 1\)"
    with pytest.warns(dx.DissensusWarning, match=words) as caught:
        accuracy = dx.top_k_accuracy(point(), system_answers(i="a", j="z"), per_item=True)
    assert accuracy.squeeze().values.tolist() == [1.0, 0.0]
    assert caught[0].filename == __file__  # it points at the caller's line


def test_a_label_outside_the_space_takes_its_place_in_a_list():
    table = {"item": ["i"] * 2, "system": ["m"] * 2, "label": ["z", "a"], "rank": [1, 2]}
    predictions = dx.predictions(table, rank="rank")
    theta = point(items=["i"])
    with pytest.warns(dx.DissensusWarning, match="outside"):
        assert dx.top_k_accuracy(theta, predictions, k=1).item() == 0.0
    with pytest.warns(dx.DissensusWarning, match="outside"):
        assert dx.top_k_accuracy(theta, predictions, k=2).item() == 1.0
    with pytest.warns(dx.DissensusWarning, match="outside"):
        assert dx.overlap(theta, predictions, k=2).item() == 0.5
    with pytest.warns(dx.DissensusWarning, match="outside"):
        assert dx.set_accuracy(theta, predictions).item() == 0.0


def test_only_labels_outside_the_space_is_an_error():
    with pytest.raises(dx.PredictionError, match="no label in common, but 'y', 'z'"):
        dx.top_k_accuracy(point(), system_answers(i="y", j="z"))


def test_labels_of_dropped_items_are_not_warned_about():
    accuracy = dx.top_k_accuracy(point(), system_answers(i="a", j="b", k="z"), on_missing="drop")
    assert accuracy.item() == 0.5


@pytest.mark.parametrize(
    ("labels", "predicted"),
    [([0, 1], ["1", "1"]), (["0", "1"], [1, 1]), ([False, True], [True, True]), ([0, 1], [1.0, 1])],
)
def test_labels_match_by_spelling_across_text_and_numbers(labels, predicted):
    theta = point(labels=labels, masses=(0.2, 0.8))
    assert dx.top_k_accuracy(theta, system_answers(i=predicted[0], j=predicted[1])).item() == 1.0


def test_text_labels_with_a_stray_word_still_match_numbers():
    # One "tie" turns a whole column of a CSV file into text.
    theta = point(labels=[0, 1], masses=(0.2, 0.8))
    with pytest.warns(dx.DissensusWarning, match="'tie'"):
        accuracy = dx.top_k_accuracy(theta, system_answers(i="1", j="tie"), per_item=True)
    assert accuracy.squeeze().values.tolist() == [1.0, 0.0]


def test_items_match_by_spelling_too():
    theta = point(items=["1", "2"])
    assert dx.top_k_accuracy(theta, system_answers(**{"1": "a", "2": "b"})).item() == 0.5


def test_items_and_labels_may_be_text_of_any_width():
    # Zarr gives NumPy's variable-width text back; predictions of "1", "2" are read as numbers.
    text = np.dtypes.StringDType()
    theta = point(items=["1", "2"], labels=[0.0, 1.0])
    theta = theta.assign_coords(item=np.array(["1", "2"], dtype=text))
    predictions = dx.predictions({"item": [1, 2], "system": ["m"] * 2, "label": ["0", "1"]})
    assert dx.top_k_accuracy(theta, predictions).item() == 0.5
    theta = theta.assign_coords(label=np.array(["a", "b"], dtype=text))
    assert dx.top_k_accuracy(theta, system_answers(**{"1": "a", "2": "b"})).item() == 0.5


def test_without_label_names_positions_are_names():
    theta = point(labels=[0, 1]).drop_vars("label")
    predictions = dx.predictions({"item": ["i", "j"], "system": ["m"] * 2, "label": [0, 1]})
    assert dx.top_k_accuracy(theta, predictions).item() == 0.5


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda p: p.to_dataframe(), "DataFrame"),
        (lambda p: None, "NoneType"),
        (lambda p: p.isel(system=0), r"dims \('item', 'position'\)"),
        (lambda p: p.drop_vars("block"), "are these annotations"),
        (lambda p: xr.Dataset({"value": (("item", "system"), np.ones((2, 1)))}), "numbers"),
        (lambda p: xr.Dataset({"other": 1}), "variables"),
    ],
)
@pytest.mark.parametrize("metric", [dx.top_k_accuracy, dx.set_accuracy, dx.rank_biased_overlap])
def test_predictions_must_be_lists_of_labels(metric, spoil, words):
    with pytest.raises(dx.PredictionError, match=f"made by dissensus.predictions; found .*{words}"):
        metric(point(), spoil(system_answers(i="a", j="b")))


def test_annotations_are_not_predictions():
    ann = dx.annotations({"item": ["i"], "annotator": ["x"], "label": ["a"]}, labels=["a", "b"])
    with pytest.raises(dx.PredictionError, match="are these annotations"):
        dx.top_k_accuracy(point(items=["i"]), ann)


def test_an_item_predicted_twice_is_an_error():
    twice = system_answers(i="a", j="b").isel(item=[0, 1, 1])
    with pytest.raises(dx.PredictionError, match="each item once; found 'j' again"):
        dx.top_k_accuracy(point(), twice)


def test_transposed_predictions_are_the_same_predictions():
    predictions = system_answers(i="a", j="b")
    turned = predictions.transpose("position", "system", "item", ...)
    assert dx.top_k_accuracy(point(), turned).item() == 0.5
    assert dx.kendall_tau(point(), turned).item() == 0.0


def test_predicted_labels_widen_a_space_that_is_known_only_as_named(make):
    # Without attrs["labels"] the remainder's labels have no names until somebody names them.
    dense = make.theta(1, n_items=2, n_labels=4, draws=30)
    named = np.zeros((2, 4), dtype=bool)
    named[:, 0] = True
    lumped = make.candidates(dense, named, anonymous=True)
    predictions = dx.predictions(
        {"item": ["i0", "i1"], "system": ["m"] * 2, "label": ["l0", "a long name"]}
    )
    each = dx.top_k_accuracy(lumped, predictions, per_item=True)
    assert 0 < float(each.sel(item="i0").mean()) < 1
    assert 0 <= float(each.sel(item="i1").mean()) < 1


def test_a_widened_space_may_mix_numbers_and_text(make):
    dense = make.theta(1, n_items=1, n_labels=3).assign_coords(label=[1, 2, 3])
    lumped = make.candidates(dense, np.array([[True, False, False]]), anonymous=True)
    predictions = dx.predictions({"item": ["i0"], "system": ["m"], "label": ["tie"]})
    assert 0 <= dx.top_k_accuracy(lumped, predictions).mean() <= 1


def test_more_labels_than_the_sizes_allow_is_an_error(make):
    dense = make.theta(1, n_items=1, n_labels=3)
    lumped = make.candidates(dense, np.array([[True, False, False]]), anonymous=True)
    predictions = make.lists(1, dense, ties=False, labels=["u", "v", "w"], whole=True)
    with pytest.raises(dx.PredictionError, match="4 labels in annotations and predictions"):
        dx.top_k_accuracy(lumped, predictions)


@pytest.mark.parametrize("form", ["dense", "candidates"])
def test_it_is_the_same_as_looked_for_each_time(make, form, monkeypatch):
    theta = make.theta(3, n_labels=7)
    pred = make.lists(3, theta)
    if form == "candidates":
        named = np.zeros((theta.sizes["item"], 7), dtype=bool)
        named[:, :3] = True
        theta = make.candidates(theta, named, concentration=0.5)
    calls = []
    search = _lists._searched
    monkeypatch.setattr(
        _lists, "_searched", lambda *given: calls.append(given[2]) or search(*given)
    )

    def every():
        return xr.Dataset({
            "one": dx.top_k_accuracy(theta, pred), "two": dx.top_k_accuracy(theta, pred, 2),
            "set": dx.set_accuracy(theta, pred, 2), "overlap": dx.average_overlap(theta, pred, 3),
            "certainty": dx.annotation_certainty(theta, top=2),
        })  # fmt: skip

    alone = every()
    assert len(calls) == 5
    calls.clear()
    with cached_draws(2):
        xr.testing.assert_identical(every(), alone)
    assert calls == [2, 3]  # deeper than was foreseen: once more
    calls.clear()
    xr.testing.assert_identical(every(), alone)
    assert len(calls) == 5


def test_other_draws_are_looked_at_themselves(make):
    first, second = make.theta(1), make.theta(2)
    with cached_draws(1):
        for theta in (first, second, first.isel(item=[2, 0]), first.isel(draw=[1])):
            result = _lists.top_labels(theta, space(theta), 1)
            np.testing.assert_array_equal(result[..., 0], theta.argmax("label"))


def test_an_evaluation_looks_once_at_each_reliability(votes, monkeypatch):
    calls = []
    search = _lists._searched
    monkeypatch.setattr(
        _lists, "_searched", lambda *given: calls.append(given[0].dims) or search(*given)
    )
    dx.evaluate(
        *votes, draws=20, reliability=[1, 2], truth_model=None, ground_truth=None, components=None,
        random_seed=1, progressbar=False,
    )  # fmt: skip
    assert sum("draw" in dims for dims in calls) == 3  # the last of the point estimate


@pytest.mark.parametrize("most", [4096, 0])  # by a table of sequences, and draw by draw
def test_scores_of_distinct_sequences_are_those_of_every_draw(make, monkeypatch, most):
    monkeypatch.setattr(_lists, "_MOST_SEQUENCES", most)
    rng = np.random.default_rng(5)
    theta = make.dense(rng.dirichlet(np.full(5, 0.3), size=(2, 50, 4)), "abcde")
    rows = [(item, system, label, rank) for item in range(4) for system in "st"
            for rank, label in enumerate(rng.permutation(list("abcde"))[:3], 1)]  # fmt: skip
    names = ("item", "system", "label", "rank")
    both = dx.predictions(dict(zip(names, zip(*rows, strict=True), strict=True)), rank="rank")
    metrics = (
        lambda lists: dx.top_k_accuracy(theta, lists, k=2, per_item=True),
        lambda lists: dx.set_accuracy(theta, lists, per_item=True),
        lambda lists: dx.average_overlap(theta, lists, depth=3, per_item=True),
    )
    for metric in metrics:  # a system alone is scored draw by draw
        alone = [metric(both.isel(system=[place])) for place in range(2)]
        xr.testing.assert_identical(metric(both), xr.concat(alone, dim="system"))
        with cached_draws(3):
            xr.testing.assert_identical(metric(both), xr.concat(alone, dim="system"))
