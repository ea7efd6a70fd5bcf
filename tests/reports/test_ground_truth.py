"""What the report says of the ground truth."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.reports import ground_truth
from dissensus.reports.language import text

SPACE = "\N{NO-BREAK SPACE}"


@pytest.fixture
def plain(evaluate):
    """An evaluation without anything of its own about the truth."""
    return evaluate(truth_model=None, ground_truth=None)


def with_ground_truth(evaluation, *, needed=9.0, **attrs):
    """Put a dictated group into an evaluation: .80 of labels right, .90 of majorities."""
    tree = evaluation.copy()
    noise = 0.001 * np.random.default_rng(1).normal(size=(2, 100))
    coords = {"chain": [0, 1], "draw": range(100)}
    sample = ("chain", "draw")
    means = {"concordance": 0.7, "weighted_reliability": 0.65, "label_accuracy": 0.8,
             "truth_accuracy": 0.9}  # fmt: skip
    data = xr.Dataset({name: (sample, mean + noise) for name, mean in means.items()}, coords)
    data["annotators_for_truth"] = (sample, np.full((2, 100), needed))
    data.attrs.update({
        "accuracy": "majority", "errors": "uniform", "target": 0.95, "n_labels": 3,
        "n_annotators": 5, "fewest_annotators": 3, "most_annotators": 7,
        "confidence": "none given: 1 everywhere", "typical_confidence": 1.0, "notes": "", **attrs,
    })  # fmt: skip
    tree["weighted_reliability"] = data
    return tree


def words(tree):
    frame = dx.summary(tree, "weighted_reliability")
    return " ".join(text(part) for part in ground_truth.words(tree, frame)).replace(SPACE, " ")


def test_the_words_are_the_numbers(plain):
    said = words(with_ground_truth(plain))
    assert "A single label is right on 80 % [80 to 80] of the items, and the label of most" in said
    assert "with 3 to 7 annotators an item, on 90 % [90 to 90]" in said
    assert "on 95 % or more with probability below .01" in said
    assert "That is the best it can be" in said
    assert "Two annotators agree on 70 % [70 to 70], and are right as well on 65 %" in said
    assert "it takes 9 [9 to 9] such annotators" in said


@pytest.mark.long
def test_what_is_not_known_is_not_said(plain):
    tree = with_ground_truth(plain, most_annotators=3)
    assert "with 3 annotators an item" in words(tree)
    assert [one.id for one in ground_truth.section(tree).tables] == ["table-ground-truth"]


@pytest.mark.long
def test_no_number_of_annotators_may_do(plain):
    never = words(with_ground_truth(plain, needed=np.inf))
    assert "No number of such annotators makes a majority" in never
    assert "they are too seldom right" in never
    some = with_ground_truth(plain)
    some["weighted_reliability"]["annotators_for_truth"][0, :30] = np.inf
    assert "it takes 9 [9, or no number will do] such annotators" in words(some)
    (row,) = [row for row in ground_truth.section(some).tables[0].bodies[0].rows if "an item"
              in row[0]]  # fmt: skip
    assert row[1:] == ["9", "9 to ∞"]


def test_an_undefined_reliability_is_called_so(plain):
    tree = with_ground_truth(plain)
    tree["weighted_reliability"]["weighted_reliability"][:] = np.nan
    said = words(tree)
    assert "Two annotators agree on 70 % [70 to 70]. How often they are right as well" in said
    assert "is undefined here: see the notes" in said
    assert "nan" not in said


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("majority", "as often as they say what most of the others say"),
        ("given", "those that were given"),
        ("dawid_skene", "what the model dawid_skene says"),
    ],
)
def test_it_is_said_where_accuracies_are_from(plain, source, said):
    assert said in ground_truth.section(with_ground_truth(plain, accuracy=source)).intro


@pytest.mark.long
def test_confidence_is_taken_at_its_word_or_for_certain(plain):
    unsaid, given = with_ground_truth(plain), with_ground_truth(plain, confidence="as given")
    assert "all are taken to be certain" in ground_truth.section(unsaid).intro
    assert "taken at its word" in ground_truth.section(given).intro
    assert "Two annotators agree without guessing on 70 %" in words(given)


def test_a_fit_counts_mistakes_that_annotators_share(plain):
    tree = with_ground_truth(plain, accuracy="dawid_skene", needed=np.inf)
    correlation = xr.DataArray(np.full((2, 100), 0.5), dims=("chain", "draw"))
    attrs = {"model": "dawid_skene", "n_known": 0, "correlation_given": 0}
    tree["accuracy"] = xr.Dataset({"error_correlation": correlation}, attrs=attrs)
    said = words(tree)
    assert "have the correlation .50, by sets with a known truth, so that" in said
    assert "5 labels are worth about 1.7 independent ones" in said  # 5 / (1 + 4 x .5)
    assert "as far as can be told: they err together" in said
    tree["accuracy"].attrs["n_known"] = 30
    assert "and 30 items whose truth is known" in words(tree)
    tree["accuracy"].attrs["correlation_given"] = 1
    assert "the correlation .50, as was given and 30 items whose truth is known" in words(tree)
    tree["weighted_reliability"].attrs["n_annotators"] = 1
    assert "are worth about" not in words(tree)
    tree["weighted_reliability"].attrs["accuracy"] = "majority"
    assert "That is the best it can be" in words(tree)


@pytest.mark.long
def test_the_section_has_words_picture_and_tables(plain, page):
    found = page(with_ground_truth(plain, notes="One thing."))
    assert {"ground-truth", "truth-nomogram", "table-ground-truth"} <= set(found.ids)
    assert "Can this ground truth be trusted?" in found.text
    assert "One thing." in found.text
    assert ground_truth.section(plain) is None
    assert "ground-truth" not in page(plain).ids
