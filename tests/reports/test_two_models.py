"""Two models beside each other: what is said where they agree, and where they part."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data.plausibility import space
from dissensus.reports import two_models
from dissensus.reports.language import text


def verdict(evaluation):
    return two_models.verdict(evaluation, two_models.both(evaluation))


def full(evaluation):
    said = [text(one) for paragraph in verdict(evaluation).full for one in paragraph]
    return " ".join(said).replace("\N{NO-BREAK SPACE}", " ")


def test_models_that_agree(two):
    result = two({"a": [0.80, 0.81], "b": [0.60, 0.61]}, {"a": [0.801, 0.81], "b": [0.6, 0.61]})
    assert verdict(result).agree
    assert text(verdict(result).short) == (
        "A second model, inverse_rank, agrees with dirichlet on the top-1 accuracy of the systems."
    )
    out = full(result)
    assert "In top-1 accuracy the models agree: the two intervals of each system overlap" in out
    assert "the means differing by at most .001 (a)" in out
    assert "Both put the systems in the same order." in out
    assert "the same label leads on average in all of 3 items" in out
    assert "does not hang on which of the two models one takes" in out
    assert "dirichlet at 1 and inverse_rank at 1. The two scales mean different things" in out


def test_levels_that_part_and_an_order_that_does_not(two):
    result = two({"a": [0.80], "b": [0.6]}, {"a": [0.9], "b": [0.61]})
    assert not verdict(result).agree
    assert "parts from dirichlet: the intervals of the top-1 accuracy of 1 of 2 systems do not" in (
        text(verdict(result).short)
    )
    out = full(result)
    assert (
        "the intervals of 1 of 2 systems do not overlap "
        "(a .800 under dirichlet, .900 under inverse_rank)"
    ) in out
    assert "a is at .800 to .800 under dirichlet and at .900 to .900 under inverse_rank" in out
    assert "no choice of reliabilities brings the two together" in out
    assert "hang on the model, but which system is better does not" in out


def test_ranges_that_meet_are_said_to(two):
    out = full(two({"a": [0.80, 0.92], "b": [0.6, 0.6]}, {"a": [0.9, 0.95], "b": [0.6, 0.6]}))
    assert "at .800 to .920 under dirichlet and at .900 to .950" in out
    assert "ranges that meet, so that some of the difference may be one of trust" in out


def test_an_order_that_both_are_sure_of_and_do_not_share(two):
    # Far enough apart to be sure, near enough for intervals to overlap across the models.
    result = two({"a": [0.80], "b": [0.785]}, {"a": [0.785], "b": [0.80]}, spread=0.006)
    assert not verdict(result).agree
    assert "contradicts dirichlet on the order of the systems" in text(verdict(result).short)
    out = full(result)
    assert "the models agree" in out  # the levels
    assert (
        "changes for the pair: dirichlet puts a before b, inverse_rank b before a, each sure of it."
    ) in out
    assert "which system is better does not" not in out


def test_an_order_that_changes_by_chance(two):
    result = two({"a": [0.806], "b": [0.80]}, {"a": [0.80], "b": [0.806]}, spread=0.02)
    assert verdict(result).agree
    assert "though not both are sure of it." in full(result)


@pytest.mark.long
def test_swaps_are_those_of_the_probabilities(two):
    result = two(
        {"a": [0.9], "b": [0.8], "c": [0.7]}, {"a": [0.7], "b": [0.8], "c": [0.9]}, spread=0.01
    )
    found = two_models.swaps(result, "top_1_accuracy")
    assert {(swap.first, swap.second) for swap in found} == {("a", "b"), ("a", "c"), ("b", "c")}
    assert all(swap.sure for swap in found)
    assert "all 3 pairs" in full(result)
    assert "of the 2 other pairs, they are sure of 2" in full(result)


def test_one_system_has_no_order(two):
    out = full(two({"only": [0.8]}, {"only": [0.6]}))
    assert "the intervals of the system do not overlap" in out
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
    assert "part in other metrics: average overlap at depth 3 (2)." in full(result)


@pytest.mark.long
def test_without_predictions_the_items_speak(rankings):
    result = dx.evaluate(rankings[0], draws=50, random_seed=1, progressbar=False)
    said = two_models.verdict(result, [])
    assert "plackett_luce and inverse_rank" in text(said.short)
    assert "items" in text(said.short)


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
    found = two_models.items(result)
    assert found["differs"].to_numpy().tolist() == [True, False, False]
    np.testing.assert_allclose(found["distance"], [0.7, 0, 0.09], atol=1e-12)
    # Those whose leading label differs come first; those alike are left out.
    assert two_models.furthest(found) == [0, 2]
    out = full(result)
    assert "different labels lead on average in 1 of 3 items" in out
    assert ".26 of the plausibility lies on other labels; most for i and k (.70, .09)" in out


@pytest.mark.long
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
    assert "Fewer than 100 draws a chain do not tell" in words
    assert "The 6 labels are put into 3 categories: low, high and medium." in words
    assert "Under plackett_luce at 1, the annotations leave the leading category in doubt" in words
    rows = {"table-models", "table-category-accuracy", "table-category-certainty"}
    assert rows <= set(parsed.ids)


def test_one_model_has_no_such_section(usual):
    _, parsed = usual
    assert not {"models", "two-models", "categories"} & set(parsed.ids)
    assert "Two models" not in parsed.text
