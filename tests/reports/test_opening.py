"""The first sentences of a report, for evaluations with dictated numbers."""

from __future__ import annotations

import arviz as az
import numpy as np
import pytest
import xarray as xr
from reports.conftest import spoken

import dissensus as dx
from dissensus import wording
from dissensus.reports import evidence, opening


def leading(evaluation, reliability=1.0, metric="top_1_accuracy"):
    values = evidence.numbers(evaluation).sel(metric=metric)
    return spoken("leader", opening.leader(evaluation, values, reliability))


def along(evaluation):
    return spoken("along", opening.along_reliability(evidence.numbers(evaluation).isel(metric=0)))


def test_leader_with_both_intervals(dictated):
    result = dictated({"worse": [0.6], "best": [0.8]}, spread=0.01)
    draws = result["metrics"]["top_1_accuracy"].sel(system="best", reliability=1)
    bounds = [f"{x:.3f}"[1:] for x in az.eti(draws, dim=("chain", "draw")).to_numpy().ravel()]
    text = leading(result)
    assert text.startswith(
        "At reliability 1, best agrees with the panel on .800 of the items "
        f"(89 % interval {bounds[0]} to {bounds[1]}; on new items {bounds[2]} to {bounds[3]})."
    )
    assert "better than worse (.600, second) with probability above .99, on these" in text
    assert "not settled which of the two" not in text
    assert "best of the" not in text  # with two systems it would repeat the sentence before


def test_rivals_are_told_by_their_probabilities(dictated):
    text = leading(dictated({"a": [0.80], "b": [0.80001], "c": [0.5]}, spread=0.03))
    assert "It is not settled which of the two is better." in text
    assert "It is the best of the 3 systems with probability" in text
    assert "better than" not in leading(dictated({"only": [0.8]}))
    equal = dictated({"a": [0.8], "b": [0.8]}, spread=0.0)
    assert "a and b do equally well in all draws." in leading(equal)


def test_the_score_that_ignores_disagreement(dictated):
    text = leading(dictated({"a": [0.7], "b": [0.6]}, naive=[0.75, 0.9]))
    assert "Scored against the majority label of each item: .750, .050 above the mean, " in text
    assert "outside the interval. By this score, b (.900) would be first." in text
    inside = leading(dictated({"a": [0.7], "b": [0.6]}, naive=[0.7, 0.6]))
    assert "inside the interval." in inside
    assert "first" not in inside


def test_smaller_is_better_where_it_is(dictated):
    result = dictated({"far": [0.9], "near": [0.2]}, metric="spearman_footrule")
    result["metrics"]["spearman_footrule"].attrs["better"] = "lower"
    text = leading(result, metric="spearman_footrule")
    assert "near has a Spearman's footrule of .200" in text


def test_level_of_the_interval_is_arviz_setting(dictated):
    result = dictated({"a": [0.7], "b": [0.6]})
    with az.rc_context({"stats.ci_prob": 0.5, "stats.ci_kind": "hdi"}):
        assert "(50 % interval" in leading(result)
        text = spoken("intervals", opening.intervals(result, scopes=True))
        assert "50 % highest-density intervals" in text


@pytest.mark.parametrize(
    ("groups", "named"),
    [({}, "agreement between annotators"),
     ({"discrepancy": "system_discrepancy"}, "discrepancy ratios"),
     ({"discrepancy": "system_discrepancy", "answers": "annotator_agreement"},
      "agreement with an annotator")],
)  # fmt: skip
def test_intervals_that_allow_for_other_annotators_are_named(groups, named):
    parts = {name: xr.Dataset({variable: 1.0}) for name, variable in groups.items()}
    for people, cluster in ((1, {}), (0, {"cluster_code": 1})):
        tree = xr.DataTree.from_dict({
            "annotations": xr.Dataset(cluster),
            "agreement": xr.Dataset(attrs={"new_annotators": people}), **parts,
        })  # fmt: skip
        text = spoken("intervals", opening.intervals(tree, scopes=True))
        assert (f"Intervals of {named} also allow for other annotators." in text) == bool(people)
        assert ("sampling of clusters of items" in text) == bool(cluster)


@pytest.mark.long
def test_the_leader_along_reliability(dictated):
    steady = along(dictated({"a": [0.7, 0.8], "b": [0.6, 0.7], "c": [0.5, 0.6]}))
    assert "a leads at every reliability from 1 to 2; the order of the systems does not" in steady
    assert "The agreement with the panel of a goes from .700 to .800" in steady
    level = along(dictated({"a": [0.7, 0.8, 0.7001], "b": [0.6, 0.6, 0.6]}))
    assert "The agreement with the panel of a is .700 at reliability 1 and at 3." in level
    below = along(dictated({"a": [0.7, 0.8], "b": [0.6, 0.6], "c": [0.5, 0.7]}))
    assert "from 1 to 2; the order of the other systems changes." in below
    text = along(dictated({"a": [0.7, 0.7, 0.7, 0.7], "b": [0.6, 0.6, 0.8, 0.7]}))
    assert "depends on the reliability: a at 1 to 2, b at 3, a and b at 4." in text


def test_a_shared_lead_and_a_single_reliability(dictated):
    text = along(dictated({"a": [0.7, 0.8], "b": [0.7, 0.8], "c": [0.1, 0.2]}, spread=0.0))
    assert "a and b share the lead at every reliability from 1 to 2" in text
    assert along(dictated({"a": [0.7], "b": [0.6]})) == ""


def test_the_share_of_uncertain_items_is_one_number_if_it_does_not_change():
    ends = {"low": 0.321, "high": 0.3249, "first": ".5", "last": "1"}
    text = spoken("certainty_along", ends)
    assert text == "The share of uncertain items is .32 at reliability .5 and at 1."
    assert "goes from .32 " in spoken("certainty_along", ends | {"high": 0.326})


@pytest.mark.long
def test_items_without_labels_are_counted_apart(dictated):
    tree = dictated({"a": [0.7], "b": [0.6]}, naive=[0.75, 0.9])
    statistics = tree["statistics"].to_dataset()
    n_items = statistics.sizes["item"]
    has_labels = np.arange(n_items) >= 1
    tree["statistics"] = statistics.assign(
        n_annotations=statistics["n_annotations"] * xr.DataArray(has_labels, dims="item")
    )
    assert f"each item, on the {n_items - 1} items with labels: .75" in leading(tree)
    certainty = tree["certainty"]["annotation_certainty"].sel(reliability=1).to_numpy()
    assert has_labels.sum() < n_items
    text = spoken("certainty", opening.certainty(tree, 1.0))
    of_labelled = wording.share(float((certainty[has_labels] < 0.9).mean()))
    assert text.endswith(
        f"of the items, and for {of_labelled} of the {n_items - 1} items with labels."
    )


@pytest.mark.long
def test_certainty(evaluate):
    result = evaluate(reliability=(1, 50))
    share = float((result["certainty"]["annotation_certainty"].sel(reliability=1) < 0.9).mean())
    text = spoken("certainty", opening.certainty(result, 1.0))
    assert text == (
        f"The leading label is uncertain (certainty below .90) for {wording.share(share)} of the "
        "items."
    )
    assert "goes from" in spoken("certainty_along", opening.certainty_along(result))
    alone = opening.certainty(evaluate(predictions=False, reliability=(1,)), 1.0)
    assert spoken("certainty", alone).startswith("At reliability 1, the leading label")
    assert "Its mean certainty is ." in spoken("certainty", alone)


@pytest.mark.parametrize(("truth", "count"), [(0.8, "2 of 2"), (0.99, "1 of 2"), (None, "")])
def test_truth(dictated, truth, count):
    result = dictated({"a": [0.8], "b": [0.6]})
    if truth is not None:
        known = xr.DataArray([truth, 0.6], dims="system", coords={"system": ["a", "b"]})
        result["truth"] = known.to_dataset(name="top_1_accuracy")
    text = spoken("truth", opening.truth(evidence.numbers(result).sel(reliability=1)))
    each = f"{count} intervals for these items and {count} intervals for new items" if count else ""
    assert each in text
    assert bool(text) == bool(count)
    assert ("Some misses are expected" in text) == (count == "1 of 2")


@pytest.mark.long
def test_the_data(votes, evaluate):
    assert spoken("data", opening.data(evaluate())) == (
        "3 annotators gave 8 labels to 3 items (2.7 per item on average). Annotators of the "
        "same item disagree on .67 of the items."
    )


def test_items_that_nobody_labelled_are_told_apart():
    table = {"item": [1, 1, 2, 2], "annotator": list("pqpq"), "label": list("xyxx")}
    ann = dx.annotations(table, items=[1, 2, 3, 4])
    pred = dx.predictions({"item": [1, 2, 3, 4], "system": ["m"] * 4, "label": list("xxyy")})
    text = spoken("data", opening.data(dx.evaluate(ann, pred, draws=20, random_seed=1,
                                                   progressbar=False)))  # fmt: skip
    assert text == (
        "2 annotators gave 4 labels to 2 items (2 per item on average). No annotator labelled the "
        "other 2 items: the panel's answers are estimated from the labelled items and the "
        "predictions. Annotators of the same item disagree on .50 of the items."
    )


def test_votes_without_names_are_not_counted_as_annotators():
    ann = dx.annotations(
        {"item": [1, 1, 2, 2], "annotator": ["1: a", "1: b", "2: a", "2: b"], "label": list("xyxx")}
    )
    result = dx.evaluate(ann, draws=20, random_seed=1, progressbar=False)
    text = spoken("data", opening.data(result))
    assert text.startswith(
        "Annotators (each name occurs only once) gave 4 labels to 2 items (2 per item"
    )


def test_numbers_are_those_of_the_summary(evaluate):
    result = evaluate(reliability=(1, 2))
    frame = dx.summary(result).set_index(["metric", "reliability", "scope", "system"])
    values = evidence.numbers(result)
    for key, row in frame.iterrows():
        here = values.sel(dict(zip(frame.index.names, key, strict=True)))
        assert float(here["mean"]) == row["mean"]
        assert float(here["upper"]) == row["upper"]
