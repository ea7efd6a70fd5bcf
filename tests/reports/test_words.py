"""The words are those of the numbers: cases made so that one knows what must be said."""

from __future__ import annotations

import arviz as az
import pytest
import xarray as xr

import dissensus as dx
from dissensus import wording
from dissensus.reports import numbers as facts
from dissensus.reports import page, words
from dissensus.reports.language import Name, joined, sentence, text


def said(sentences):
    return " ".join(text(one) for one in sentences).replace("\N{NO-BREAK SPACE}", " ")


def leading(evaluation, reliability=1.0, metric="top_1_accuracy"):
    values = facts.numbers(evaluation).sel(metric=metric)
    return said(words.leader_words(evaluation, values, metric, reliability))


def along(evaluation):
    values = facts.numbers(evaluation)
    return said(page.along_words(values.isel(metric=0)))


def test_leader_with_both_intervals(dictated):
    result = dictated({"worse": [0.6], "best": [0.8]}, spread=0.01)
    draws = result["metrics"]["top_1_accuracy"].sel(system="best", reliability=1)
    bounds = [f"{x:.3f}"[1:] for x in az.eti(draws, dim=("chain", "draw")).to_numpy().ravel()]
    out = leading(result)
    assert out.startswith(
        "At reliability 1, best names the most plausible label for .800 of the items "
        f"(89 % interval {bounds[0]} to {bounds[1]}; on new items {bounds[2]} to {bounds[3]})."
    )
    assert "better than worse (.600), the next, with probability above .99, on these" in out
    assert "stays open" not in out
    assert "best of the" not in out  # with two systems that would say the same twice


def test_three_systems_and_an_open_race(dictated):
    out = leading(dictated({"a": [0.80], "b": [0.80001], "c": [0.5]}, spread=0.03))
    assert "which of the two is better stays open" in out
    assert "It is the best of the 3 systems with probability" in out


def test_one_system_has_no_rivals(dictated):
    out = leading(dictated({"only": [0.8]}))
    assert "only names the most plausible label" in out
    assert "better than" not in out
    assert "best" not in out


def test_a_tie_in_every_draw(dictated):
    result = dictated({"a": [0.8], "b": [0.8]}, spread=0.0)
    assert "a and b do equally well, draw by draw." in leading(result)


def test_what_ignoring_disagreement_would_have_said(dictated):
    out = leading(dictated({"a": [0.7], "b": [0.6]}, naive=[0.75, 0.9]))
    assert "taken the majority label of each item for the truth, one would have said .750" in out
    assert ".050 more, and outside the interval." in out
    assert "One would also have put b (.900) first." in out
    inside = leading(dictated({"a": [0.7], "b": [0.6]}, naive=[0.7, 0.6]))
    assert "which the interval holds." in inside
    assert "first" not in inside


def test_smaller_is_better_where_it_is(dictated):
    result = dictated({"far": [0.9], "near": [0.2]}, metric="spearman_footrule")
    result["metrics"]["spearman_footrule"].attrs["better"] = "lower"
    assert "near reaches a Spearman's footrule of .200" in leading(
        result, metric="spearman_footrule"
    )


def test_level_of_the_interval_is_arviz_setting(dictated):
    result = dictated({"a": [0.7], "b": [0.6]})
    with az.rc_context({"stats.ci_prob": 0.5, "stats.ci_kind": "hdi"}):
        assert "(50 % interval" in leading(result)
        assert "50 % highest-density intervals" in said([words.interval_words(scopes=True)])


@pytest.mark.long
def test_the_same_leader_everywhere(dictated):
    steady = along(dictated({"a": [0.7, 0.8], "b": [0.6, 0.7], "c": [0.5, 0.6]}))
    assert "a leads at every reliability from 1 to 2; the order of the systems does not" in steady
    assert "the top-1 accuracy of a goes from .700 to .800" in steady
    below = along(dictated({"a": [0.7, 0.8], "b": [0.6, 0.6], "c": [0.5, 0.7]}))
    assert "a leads at every reliability from 1 to 2; further down the order changes." in below


@pytest.mark.long
def test_the_leader_changes(dictated):
    out = along(dictated({"a": [0.7, 0.7, 0.7, 0.7], "b": [0.6, 0.6, 0.8, 0.7]}))
    assert "depends on how far the annotators are trusted: " in out
    assert "a at 1 to 2, b at 3, a and b at 4." in out


def test_a_shared_lead(dictated):
    out = along(dictated({"a": [0.7, 0.8], "b": [0.7, 0.8], "c": [0.1, 0.2]}, spread=0.0))
    assert "a and b share the lead at every reliability from 1 to 2" in out


def test_one_reliability_changes_nothing(dictated):
    assert along(dictated({"a": [0.7], "b": [0.6]})) == ""


@pytest.mark.long
def test_certainty(evaluate):
    result = evaluate(reliability=(1, 50))
    share = float((result["certainty"]["annotation_certainty"].sel(reliability=1) < 0.9).mean())
    out = said(page.certainty_words(result, 1.0) + page.doubt_words(result))
    assert f"(certainty below .90) for {wording.share(share)} of the items." in out
    assert "goes from" in out
    alone = said(page.certainty_words(evaluate(predictions=False, reliability=(1,)), 1.0))
    assert alone.startswith("At reliability 1, the annotations leave")
    assert "its certainty is ." in alone


@pytest.mark.parametrize(("truth", "count"), [(0.8, "2 of 2"), (0.99, "1 of 2")])
def test_truth(dictated, truth, count):
    result = dictated({"a": [0.8], "b": [0.6]})
    known = xr.DataArray([truth, 0.6], dims="system", coords={"system": ["a", "b"]})
    result["truth"] = known.to_dataset(name="top_1_accuracy")
    out = said(words.truth_words(facts.numbers(result).sel(reliability=1)))
    assert f"{count} intervals for these items and {count} intervals for new items" in out
    assert ("misses are to be expected" in out) == (count == "1 of 2")


def test_no_truth_no_words(dictated):
    values = facts.numbers(dictated({"a": [0.8], "b": [0.6]}))
    assert words.truth_words(values.sel(reliability=1)) == []


@pytest.mark.long
def test_the_data(votes, evaluate):
    out = said([words.data_words(evaluate())])
    assert out == (
        "3 annotators gave 8 labels to 3 items, 2.7 each on average; they are not unanimous on "
        ".67 of the items."
    )


def test_numbers_are_those_of_the_summary(evaluate):
    result = evaluate(reliability=(1, 2))
    frame = dx.summary(result).set_index(["metric", "reliability", "scope", "system"])
    values = facts.numbers(result)
    for key, row in frame.iterrows():
        here = values.sel(dict(zip(frame.index.names, key, strict=True)))
        assert float(here["mean"]) == row["mean"]
        assert float(here["upper"]) == row["upper"]


def test_names_stay_marked():
    parts = sentence("{a} and {list}", a=Name("<b>"), list=joined(["x", "y"], limit=1))
    assert [type(part) for part in parts if part in {"<b>", "x"}] == [Name, Name]
    assert text(parts) == "<b> and x and 1 more"


def test_votes_without_names_are_not_counted_as_annotators():
    ann = dx.annotations(
        {"item": [1, 1, 2, 2], "annotator": ["1: a", "1: b", "2: a", "2: b"], "label": list("xyxx")}
    )
    result = dx.evaluate(ann, draws=20, random_seed=1, progressbar=False)
    said = text(words.data_words(result))
    assert said.startswith("Annotators named once each gave 4 labels to 2 items, 2 each")
