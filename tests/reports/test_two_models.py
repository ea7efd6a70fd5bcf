"""Two models beside each other: what is said where they agree, and where they part."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from reports.conftest import spoken

import dissensus as dx
from dissensus.data.plausibility import space
from dissensus.reports import two_models


def facts(evaluation):
    return two_models.compared(evaluation, two_models.both(evaluation)).facts


def short(evaluation):
    return spoken("verdict", facts(evaluation))


def full(evaluation):
    return spoken("two_models", facts(evaluation))


def test_models_that_agree(two):
    result = two({"a": [0.80, 0.81], "b": [0.60, 0.61]}, {"a": [0.801, 0.81], "b": [0.6, 0.61]})
    assert facts(result)["agree"]
    assert short(result) == (
        "A second model, inverse_rank, does not differ from dirichlet in agreement with the panel."
    )
    out = full(result)
    assert (
        "For agreement with the panel, the two models give similar results: for each system, "
        "the mean under one model is inside the interval under the other" in out
    )
    assert "the means differ by at most .001 (a)" in out
    assert "Both models give the same order of the systems." in out
    assert "give the same leading label in all of 3 items" in out
    assert "do not depend on the choice between the two models" in out
    assert "dirichlet at 1 and inverse_rank at 1. Reliabilities of different models" in out


def test_levels_that_part_and_an_order_that_does_not(two):
    result = two({"a": [0.80], "b": [0.6]}, {"a": [0.9], "b": [0.61]})
    assert not facts(result)["agree"]
    assert short(result).endswith(
        "differs from dirichlet in agreement with the panel: for 1 of 2 systems, each model's mean "
        "is outside the other's interval."
    )
    out = full(result)
    assert (
        "for 1 of 2 systems, each model's mean is outside the other's interval "
        "(a .800 under dirichlet, .900 under inverse_rank)"
    ) in out
    assert "a has .800 to .800 under dirichlet and .900 to .900 under inverse_rank" in out
    assert "the models do not agree at any choice of reliabilities" in out
    assert "depend on the model, but the order of the systems does not" in out


def test_ranges_that_meet_are_said_to(two):
    out = full(two({"a": [0.80, 0.92], "b": [0.6, 0.6]}, {"a": [0.9, 0.95], "b": [0.6, 0.6]}))
    assert "has .800 to .920 under dirichlet and .900 to .950" in out
    assert "so the difference may come from the choice of reliabilities" in out


def test_intervals_that_barely_overlap_do_not_agree(two):
    """Means .80 and .77, with intervals of half-width .018: each is outside the other interval."""
    result = two({"a": [0.80], "b": [0.6]}, {"a": [0.77], "b": [0.6]}, spread=0.011)
    assert "give different results" in full(result)
    assert not facts(result)["agree"]


def test_an_order_that_both_are_sure_of_and_do_not_share(two):
    # Far enough apart to be sure, near enough for means to lie inside intervals across the models.
    result = two({"a": [0.80], "b": [0.788]}, {"a": [0.788], "b": [0.80]}, spread=0.0085)
    assert not facts(result)["agree"]
    assert "contradicts dirichlet on the order of the systems" in short(result)
    out = full(result)
    assert "the two models give similar results" in out  # the levels
    assert (
        "differs for the pair: a is before b under dirichlet, and after it under inverse_rank; "
        "both models are sure (probability .80 or more)."
    ) in out
    assert "but the order of the systems does not" not in out


def test_an_order_that_changes_by_chance(two):
    result = two({"a": [0.806], "b": [0.80]}, {"a": [0.80], "b": [0.806]}, spread=0.02)
    assert facts(result)["agree"]
    assert "at least one model is not sure" in full(result)


@pytest.mark.long
def test_swaps_are_those_of_the_probabilities(two):
    result = two(
        {"a": [0.9], "b": [0.8], "c": [0.7]}, {"a": [0.7], "b": [0.8], "c": [0.9]}, spread=0.01
    )
    actual = two_models.swaps(result, "top_1_accuracy")
    assert {(swap.first, swap.second) for swap in actual} == {("a", "b"), ("a", "c"), ("b", "c")}
    assert all(swap.sure for swap in actual)
    assert "all 3 pairs" in full(result)
    assert "Of the 2 other pairs, both are sure of 2" in full(result)


def test_one_system_has_no_order(two):
    out = full(two({"only": [0.8]}, {"only": [0.6]}))
    assert "for the system, each model's mean is outside the other's interval" in out
    assert "order" not in out


def test_other_metrics_are_counted(two):
    result = two({"a": [0.8], "b": [0.6]}, {"a": [0.8], "b": [0.6]})
    for side, shift in ((result, 0.0), (result["companion"], 0.3)):
        for name in ("metrics", "comparison", "diagnostics"):
            data = side[name].to_dataset()
            if name == "comparison":
                again = data.assign_coords(metric=["average_overlap_at_3"])
                side[name] = xr.concat([data, again], dim="metric")
            else:
                more = data["top_1_accuracy"] - (shift if name == "metrics" else 0)
                side[name] = data.assign(average_overlap_at_3=more)
        naive = side["statistics"].to_dataset()
        side["statistics"] = naive.assign(
            naive_average_overlap_at_3=naive["naive_top_1_accuracy"] - shift
        )
    assert "also differ in other metrics: average overlap at depth 3 (2)." in full(result)


@pytest.mark.long
def test_without_predictions_the_items_speak(rankings):
    result = dx.evaluate(rankings[0], draws=50, random_seed=1, progressbar=False)
    text = short(result)
    assert text.startswith("plackett_luce and inverse_rank give")
    assert "items" in text


@pytest.fixture
def mean():
    """Two items over four labels; of the first a and c were named, of the second only d."""
    where = {"candidate_label": (("item", "candidate"), [["a", "c", ""], ["d", "", ""]]),
             "candidate_size": (("item", "candidate"), [[1, 1, 2], [1, 0, 3]])}  # fmt: skip
    candidates = xr.DataArray(
        [[0.5, 0.3, 0.2], [0.7, 0.0, 0.3]],
        dims=("item", "candidate"),
        coords={"item": [1, 2], **where},
        attrs={"labels": list("abcd")},
    )
    dense = xr.DataArray(
        [[0.5, 0.1, 0.3, 0.1], [0.1, 0.1, 0.1, 0.7]],
        dims=("item", "label"),
        coords={"item": [1, 2], "label": list("abcd")},
    )
    return candidates, dense


def test_the_two_forms_of_a_plausibility_are_brought_together(mean):
    candidates, dense = mean
    np.testing.assert_allclose(two_models.onto(dense, space(candidates)), candidates)
    np.testing.assert_allclose(two_models.onto(candidates, space(dense)), dense)
    assert two_models.onto(dense, space(dense)) is not None


def test_items_apart_by_hand(two, mean):
    result = two({"a": [0.8]}, {"a": [0.8]})
    theta = result["posterior"].to_dataset()["plausibility"]
    masses = np.array([[0.2, 0.8], [0.4, 0.6], [0.51, 0.49]])
    main = np.broadcast_to([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4]], theta.shape)
    result["posterior"] = (
        result["posterior"].to_dataset().assign(plausibility=theta.copy(data=main))
    )
    beside = result["companion/posterior"].to_dataset()
    result["companion/posterior"] = beside.assign(
        plausibility_mean=beside["plausibility_mean"].copy(data=masses)
    )
    actual = two_models.items(result)
    assert actual["differs"].to_numpy().tolist() == [True, False, False]
    np.testing.assert_allclose(actual["distance"], [0.7, 0, 0.09], atol=1e-12)
    # Those whose leading label differs come first; those alike are left out.
    assert two_models.furthest(actual) == [0, 2]
    out = full(result)
    assert "different leading labels in 1 of 3 items" in out
    assert (
        "the two models put .26 of an item's plausibility on different labels; this share is "
        "largest for i and k (.70, .09)" in out
    )


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_the_page_shows_both(rankings, page):
    result = dx.evaluate(
        *rankings, draws=50, random_seed=1, progressbar=False,
        groups=dict(zip("abcdef", ["low", "high", "low", "high", "medium", "low"], strict=True)),
    )  # fmt: skip
    parsed = page(result)
    words = " ".join(parsed.text.split())
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {"models", "two-models", "table-models", "categories", "apart-1"} <= set(parsed.ids)
    assert "plackett_luce: Plackett-Luce: partial rankings with ties" in words
    assert "inverse_rank: Probabilistic inverse rank normalisation" in words
    assert "a > {b, c}" in words
    assert "With fewer than 100 draws a chain, it is unknown" in words
    assert "The 6 labels are in 3 categories: low, high and medium." in words
    assert "Under plackett_luce at 1, the leading category is uncertain" in words
    rows = {"table-models", "table-category-accuracy", "table-category-certainty"}
    assert rows <= set(parsed.ids)


def test_one_model_has_no_such_section(usual):
    _, parsed = usual
    assert not {"models", "two-models", "categories"} & set(parsed.ids)
    assert "Two models" not in parsed.text
