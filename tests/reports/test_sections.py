"""Sections on accuracy, agreement and the ground truth, for dictated numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from lean import LEAN
from reports.conftest import spoken
from reports.test_average_annotator import with_ratios

import dissensus as dx
from dissensus.reports import checks, sections

NOISE = 0.001 * np.random.default_rng(1).normal(size=(2, 100))


@pytest.fixture
def plain(evaluate):
    """An evaluation without accuracies and ground truth."""
    return evaluate(truth_model=None, ground_truth=None)


def with_accuracy(evaluation, *, names=None, people=("ann", "bob"), systems=True, **attrs):
    """Put dictated accuracies into an evaluation: .90 to .60 of systems, .80 to .70 of people."""
    tree = evaluation.copy()
    names = list(evaluation["metrics"]["system"].to_numpy()) if names is None else names
    coords = {"chain": [0, 1], "draw": range(100)}
    data = xr.Dataset()
    if systems:
        means = np.linspace(0.9, 0.6, len(names))
        values = np.stack([NOISE[..., None] + means, 2 * NOISE[..., None] + means], axis=2)
        scopes = {"scope": ["these items", "new items"], "system": names}
        dims = ("chain", "draw", "scope", "system")
        data["estimated_accuracy"] = xr.DataArray(values, coords | scopes, dims)
        data["majority_accuracy"] = ("system", means - 0.1)
        data["n_known"] = ("system", np.full(len(names), attrs.get("n_known", 0)))
        data["known_items"] = xr.DataArray(
            np.linspace(80, 120, len(names)), dims="system", attrs={"width": 0.1}
        )
        data["above_annotators"] = ("system", np.linspace(1.0, 0.0, len(names)))
    if people is None:
        data["annotator_accuracy"] = xr.DataArray(NOISE + 0.75, coords, ("chain", "draw"))
        data["annotator_majority"] = ("annotator", [0.6, 0.5])
    else:
        skill = np.linspace(0.8, 0.7, len(people))
        dims = ("chain", "draw", "annotator")
        data["annotator_accuracy"] = xr.DataArray(
            NOISE[..., None] + skill, coords | {"annotator": list(people)}, dims
        )
        data["annotator_majority"] = ("annotator", skill - 0.2)
    data.attrs.update({
        "model": "symmetric_confusion", "inference": "by hand", "notes": "", "n_known": 0,
        "correlation_given": 0,
        "settings": '{"accuracy": "annotator", "errors": "equal"}',
        "ess_bulk_min": 300.0, "ess_bulk_min_item": "annotator ann", "r_hat_max": 1.0,
        "n_items_poor": 0, **attrs,
    })  # fmt: skip
    tree["accuracy"] = data
    return tree


def of_accuracy(tree):
    return spoken("accuracy", sections.accuracy_facts(tree))


def test_rates_against_the_truth_have_a_sentence_and_a_table(plain):
    tree = with_accuracy(plain, names=["A", "B"])
    data = tree["accuracy"].to_dataset()
    assert sections.accuracy_facts(tree)["rates"] == []
    data["estimated_sensitivity"] = data["estimated_accuracy"] - 0.1
    data["estimated_specificity"] = data["estimated_accuracy"] - 0.3
    tree["accuracy"] = data.assign_attrs(positive="ill")
    facts = sections.accuracy_facts(tree)
    assert (
        "Its sensitivity is 80 % [80 to 80] (new items whose true label is ill), and its "
        "specificity 60 % [60 to 60] (other new items)."
    ) in spoken("accuracy", facts)
    table = next(t for t in sections.accuracy_tables(tree, facts) if t.id == "table-true-rates")
    assert [body.title for body in table.bodies] == ["Sensitivity", "Specificity"]
    assert [[row[0], row[1], row[3]] for body in table.bodies for row in body.rows] == [
        ["A", ".80", ".80"], ["B", ".50", ".50"], ["A", ".60", ".60"], ["B", ".30", ".30"],
    ]  # fmt: skip


def test_accuracies_are_the_numbers(plain):
    text = of_accuracy(with_accuracy(plain, names=["A", "B"]))
    assert "A is right on 90 % [90 to 90] of new items (in brackets: 89 % intervals)" in text
    assert "it agrees with the majority label on 80 %" in text
    assert "The annotators are right on 75 % on average, from 70 % [70 to 70] (bob)" in text
    assert "they agree with the majority of the others on 55 %" in text
    assert "A is right more often than the average annotator with probability above" in text
    assert "the correlation of these errors is known from other data sets." in text
    need = "of A that is 10 % wide on these items needs the true labels of at least 80 items"
    assert f"{need}. Find out the true labels of a random sample" in text
    known = of_accuracy(with_accuracy(plain, names=["A", "B"], n_known=30))
    assert f"{need} (30 are known). Find out the true labels of a random sample" in known
    assert "is known from other data sets and from 30 known labels." in known
    assert "needs the true labels" not in of_accuracy(with_accuracy(plain, n_known=80))
    assert "errors was given." in of_accuracy(with_accuracy(plain, correlation_given=1))


def test_agreement_with_the_others_is_at_any_rank_only_in_rankings():
    frame = pd.DataFrame({"statistic": ["leave_one_out_agreement"], "system": None,
                          "annotator": None, "observed": 0.8, "lower": 0.7, "upper": 0.9,
                          "doubt": ""})  # fmt: skip
    for ranked in (True, False):
        note = sections._coefficient_table(frame, "New items", ranked=ranked).note
        assert note.endswith("the most frequent label of the others.")
        assert ("at any rank" in note) == ranked


def test_annotators_who_are_equally_often_right_have_one_number(plain):
    tree = with_accuracy(plain, names=["A", "B"])
    accuracy = tree["accuracy"].to_dataset()
    accuracy["annotator_accuracy"] = accuracy["annotator_accuracy"] * 0 + 0.92
    tree["accuracy"] = accuracy
    assert "The annotators are each right on about 92 %; they agree with" in of_accuracy(tree)


def test_uncertainty_adjusted_accuracy_stands_beside(plain):
    mean = plain["metrics"]["top_1_accuracy"].sel(
        reliability=plain.attrs["reference_reliability"], scope="new items"
    )
    first = float(mean.mean(("chain", "draw"))[0])
    text = of_accuracy(with_accuracy(plain))
    assert (
        f"and its agreement with the panel on new items is {100 * round(first, 2):.4g} %." in text
    )


def test_another_leader_by_agreement_with_the_panel_is_named(plain):
    facts = sections.accuracy_facts(with_accuracy(plain, names=["A", "B"]))
    assert facts["of_panel"] is None or facts["of_panel"]["name"] != facts["systems"][0]["name"]
    text = spoken("accuracy", facts | {"of_panel": facts["systems"][1]})
    assert "By agreement with the panel B leads, not A: the label that most" in text
    assert "leads, not" not in spoken("accuracy", facts | {"of_panel": None})


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_the_section_on_accuracy_is_as_the_model(plain, page):
    settings = '{"accuracy": "common", "errors": "equal"}'
    tree = with_accuracy(plain, people=None, systems=False, settings=settings, notes="One.\nTwo.")
    text = of_accuracy(tree)
    assert text.startswith("An annotator is right on 75 % [75 to 75].")
    assert "is right more often than" not in text
    assert "that the annotators do not" not in text
    section = sections.accuracy(tree)
    assert "one accuracy for all annotators" in section.intro
    assert "No true label is known" in section.intro
    assert section.notes == ("One.", "Two.")
    known = sections.accuracy(with_accuracy(plain, n_known=1)).intro
    assert "1 known label" in known
    result = page(with_accuracy(plain))
    assert {"accuracy", "accuracies", "table-accuracy", "table-annotators"} <= set(result.ids)
    assert "Accuracy, if every item has one true label" in result.text
    assert sections.accuracy(plain) is None
    assert "accuracy" not in page(plain).ids


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_short_chains_of_accuracies_are_trouble(plain, page):
    tree = with_accuracy(plain, n_items_poor=1, ess_bulk_min=30.0, r_hat_max=1.2)
    (text,) = [spoken(*topic) for topic in checks.troubles(tree) if topic[0] == "short_chains"]
    assert "effective sample size is 30 (annotator ann), and r-hat is up to 1.20" in text
    assert "Do not rely on these numbers" in page(tree).text
    good = with_accuracy(plain)
    assert checks.troubles(plain) == checks.troubles(good)
    text = spoken(*checks.diagnosis(good)[-1])
    assert text.startswith("Estimated accuracies: 200 draws by by hand; at least 300 effective")
    assert len(checks.diagnosis(plain)) == len(checks.diagnosis(good)) - 1


@pytest.mark.long
def test_many_are_counted(plain):
    tree = with_accuracy(plain, people=[f"p{k}" for k in range(40)], names=list("abcdef"))
    assert of_accuracy(tree).count("of new items") == 1  # the best; the table has all
    systems, table = sections.accuracy(tree).tables
    assert len(systems.bodies[0].rows) == 6
    assert len(table.bodies[0].rows) == 30
    assert table.note == "10 further annotators with a lower accuracy are left out."


# The ground truth.


def with_ground_truth(evaluation, *, needed=9.0, **attrs):
    """Put a dictated group into an evaluation: .80 of labels right, .90 of majorities."""
    tree = evaluation.copy()
    sample = ("chain", "draw")
    means = {"concordance": 0.7, "weighted_reliability": 0.65, "label_accuracy": 0.8,
             "truth_accuracy": 0.9}  # fmt: skip
    data = xr.Dataset({name: (sample, mean + NOISE) for name, mean in means.items()},
                      {"chain": [0, 1], "draw": range(100)})  # fmt: skip
    data["annotators_for_truth"] = (sample, np.full((2, 100), needed))
    data.attrs.update({
        "accuracy": "majority", "errors": "uniform", "target": 0.95, "n_labels": 3,
        "n_annotators": 5, "fewest_annotators": 3, "most_annotators": 7,
        "confidence": "none given: 1 everywhere", "typical_confidence": 1.0, "notes": "", **attrs,
    })  # fmt: skip
    tree["weighted_reliability"] = data
    return tree


def of_truth(tree):
    return spoken("ground_truth", sections.ground_truth_facts(tree))


def test_the_ground_truth_is_the_numbers(plain):
    text = of_truth(with_ground_truth(plain))
    assert "A single label is right on 80 % [80 to 80] of the items, and the majority" in text
    assert "label of 3 to 7 annotators on 90 % [90 to 90]" in text
    assert "is right on 95 % or more with probability below .01" in text
    assert "are upper bounds" in text
    assert "Two annotators agree on 70 % [70 to 70] of the items; on 65 %" in text
    assert "takes 9 [9 to 9] such annotators" in text
    assert "label of 3 annotators on" in of_truth(with_ground_truth(plain, most_annotators=3))
    given = of_truth(with_ground_truth(plain, confidence="as given"))
    assert "Two annotators agree without guessing on 70 %" in given


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_no_number_of_annotators_may_suffice(plain):
    never = of_truth(with_ground_truth(plain, needed=np.inf))
    assert "No number of such annotators is estimated to give a majority" in never
    assert "they are right too rarely" in never
    some = with_ground_truth(plain)
    some["weighted_reliability"]["annotators_for_truth"][0, :30] = np.inf
    assert "takes 9 [9, or no number suffices] such annotators" in of_truth(some)
    (table,) = sections.ground_truth(some).tables
    assert table.bodies[0].rows[-1][1:] == ["9", "9 to ∞"]
    assert table.id == "table-ground-truth"


def test_an_undefined_reliability_is_called_so(plain):
    tree = with_ground_truth(plain)
    tree["weighted_reliability"]["weighted_reliability"][:] = np.nan
    text = of_truth(tree)
    assert "agree on 70 % [70 to 70] of the items. The weighted reliability rho" in text
    assert "is undefined: see the notes" in text
    assert "nan" not in text


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_the_section_says_where_accuracies_and_confidence_are_from(plain, page):
    for source, words in (
        ("majority", "their agreement with the majority of the others"),
        ("given", "Accuracies of annotators are given"),
        ("dawid_skene", "are from the model dawid_skene"),
    ):
        assert words in sections.ground_truth(with_ground_truth(plain, accuracy=source)).intro
    given = with_ground_truth(plain, confidence="as given", notes="One thing.")
    assert "is used as given" in sections.ground_truth(given).intro
    assert "all are assumed to be certain" in sections.ground_truth(with_ground_truth(plain)).intro
    result = page(given)
    assert {"ground-truth", "truth-nomogram", "table-ground-truth"} <= set(result.ids)
    assert "How good is the majority label as a ground truth?" in result.text
    assert "One thing." in result.text
    assert sections.ground_truth(plain) is None
    assert "ground-truth" not in page(plain).ids


def test_a_fit_includes_shared_errors(plain):
    tree = with_ground_truth(plain, accuracy="dawid_skene", needed=np.inf)
    correlation = xr.DataArray(np.full((2, 100), 0.5), dims=("chain", "draw"))
    attrs = {"model": "dawid_skene", "n_known": 0, "correlation_given": 0}
    tree["accuracy"] = xr.Dataset({"error_correlation": correlation}, attrs=attrs)
    text = of_truth(tree)
    assert "have the correlation .50, from data sets with a known truth, so that" in text
    assert "5 labels are worth about 1.7 independent ones" in text  # 5 / (1 + 4 x .5)
    assert "right on 95 %: their errors are correlated." in text
    tree["accuracy"].attrs["n_known"] = 30
    assert "a known truth and 30 items with known labels" in of_truth(tree)
    tree["accuracy"].attrs["correlation_given"] = 1
    assert "the correlation .50, as given, so that" in of_truth(tree)
    tree["accuracy"]["error_correlation"] = correlation + np.linspace(-0.1, 0.1, 100)
    assert "from the given prior and 30 items with known labels" in of_truth(tree)
    tree["weighted_reliability"].attrs["n_annotators"] = 1
    assert "are worth about" not in of_truth(tree)
    tree["weighted_reliability"].attrs["accuracy"] = "majority"
    assert "are upper bounds" in of_truth(tree)


# Agreement.


def of_agreement(tree):
    return spoken("agreement", sections.agreement_facts(tree))


def test_ratios_are_the_numbers(evaluate):
    near = with_ratios(evaluate(), {"near": 0.8, "far": 1.3}, {"a": 0.9, "b": 1.1})
    text = of_agreement(near)
    assert "The ratio of near is .800" in text
    assert "with probability above .99" in text
    assert "near is non-inferior" in text
    assert "near is smaller than the ratios of all 2 annotators" in text
    assert "The distance is 0 for the same label and 1 for another" in text
    text = of_agreement(with_ratios(evaluate(), {"far": 1.3}, {"a": 0.9, "b": 1.4}))
    assert "with probability below .01" in text
    assert "no system is shown to be non-inferior" in text
    assert "far is smaller than the ratios of 1 of 2 annotators" in text


@pytest.mark.long
def test_one_frequent_label_is_pointed_out():
    cells = [["yes", "yes"]] * 90 + [["yes", "no"]] * 5 + [["no", "yes"]] * 5
    ann = dx.from_matrix(np.array(cells, dtype=object))
    text = of_agreement(dx.evaluate(ann, draws=50, random_seed=1, progressbar=False, **LEAN))
    assert "disagree as much as expected by chance, or more" in text
    assert "Gwet's AC1 is .89, much higher" in text


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_the_section_on_agreement_is_there_if_items_have_two_annotators(page, evaluate):
    result = page(evaluate())
    assert {"agreement", "discrepancy", "table-agreement", "table-discrepancy"} <= set(result.ids)
    assert "Krippendorff's alpha is" in result.text
    assert "Winning rate" not in result.text  # no annotator has 30 items
    ann = dx.annotations({"item": [1, 2], "annotator": ["a", "b"], "label": ["x", "y"]})
    alone = dx.evaluate(ann, draws=20, random_seed=1, progressbar=False)
    assert sections.agreement(alone) is None
    assert "agreement" not in page(alone).ids


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_notes_of_agreement_are_shown(page):
    ann = dx.annotations(
        {"item": [1, 1, 2, 2], "annotator": ["a", "b"] * 2, "label": ["x"] * 4}, labels=["x", "y"]
    )
    pred = dx.predictions({"item": [1, 2], "system": ["s"] * 2, "label": ["x", "y"]})
    result = page(dx.evaluate(ann, pred, draws=20, random_seed=1, progressbar=False))
    assert "undefined (NaN)" in result.text


def test_annotators_who_are_left_out_have_fewer_items_or_smaller_ratios(evaluate, monkeypatch):
    monkeypatch.setattr(sections, "_ROWS", 2)
    ratios = {"a": 1.1, "b": 2.9, "c": 0.9, "d": 3.5}
    result = with_ratios(evaluate(), {"s": 1.0}, ratios)
    for items, shown, note in (
        ([50, 50, 50, 20], ["b", "a"], "2 annotators with fewer items or smaller ratios "),
        ([50, 30, 20, 10], ["a", "b"], "2 annotators with fewer items "),
    ):
        result["discrepancy"]["n_items"] = xr.DataArray(items, dims="annotator")
        table = sections.annotator_table(result)
        assert [str(row[0]) for row in table.bodies[0].rows] == shown
        assert table.note == f"{note}are left out."
