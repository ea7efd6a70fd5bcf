"""What the report says of accuracy if every item has one true label."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.reports import accuracy, checks
from dissensus.reports.language import text

SPACE = "\N{NO-BREAK SPACE}"


@pytest.fixture
def plain(evaluate):
    """An evaluation of systems 0 and 1 without accuracies of its own."""
    return evaluate(truth_model=None)


def with_accuracy(evaluation, *, names=None, people=("ann", "bob"), systems=True, **attrs):
    """Put dictated accuracies into an evaluation: .90 and .60 of systems, .80 and .70 of people."""
    tree = evaluation.copy()
    names = list(evaluation["metrics"]["system"].to_numpy()) if names is None else names
    noise = 0.001 * np.random.default_rng(1).normal(size=(2, 100))
    coords = {"chain": [0, 1], "draw": range(100)}
    data = xr.Dataset()
    if systems:
        means = np.linspace(0.9, 0.6, len(names))
        values = np.stack([noise[..., None] + means, 2 * noise[..., None] + means], axis=2)
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
        data["annotator_accuracy"] = xr.DataArray(noise + 0.75, coords, ("chain", "draw"))
        data["annotator_majority"] = ("annotator", [0.6, 0.5])
    else:
        skill = np.linspace(0.8, 0.7, len(people))
        dims = ("chain", "draw", "annotator")
        data["annotator_accuracy"] = xr.DataArray(
            noise[..., None] + skill, coords | {"annotator": list(people)}, dims
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


def words(tree):
    frame = dx.summary(tree, "accuracy")
    return " ".join(text(part) for part in accuracy.words(tree, frame)).replace(SPACE, " ")


def test_the_words_are_the_numbers(plain):
    said = words(with_accuracy(plain, names=["A", "B"]))
    assert "A is right on 90 % [90 to 90] of items like these (in brackets: 89 % intervals)" in said
    assert "where majority vote says 80 %" in said
    assert "The annotators are right on 75 % on average, from 70 % [70 to 70] (bob)" in said
    assert "they say the same as most of the others on 55 %" in said
    assert "A is right more often than the annotators are on average with probability above" in said
    assert "may be wrong about it together: how often is known from other sets." in said
    assert (
        "An interval of 10 % for A on these items takes the true labels of about 80 items:" in said
    )
    known = words(with_accuracy(plain, n_known=30))
    assert "about 80 items, of which 30 are known: check such a sample" in known
    assert "An interval of 10 %" not in words(with_accuracy(plain, n_known=80))
    assert "how often was given." in words(with_accuracy(plain, correlation_given=1))
    assert "how often is known from other sets and from 30 known labels." in known


def test_uncertainty_adjusted_accuracy_stands_beside(plain):
    tree = with_accuracy(plain)
    mean = plain["metrics"]["top_1_accuracy"].sel(
        reliability=plain.attrs["reference_reliability"], scope="new items"
    )
    first = float(mean.mean(("chain", "draw"))[0])
    assert f"and uncertainty-adjusted accuracy {100 * round(first, 2):.4g} %." in words(tree)


@pytest.mark.long
def test_what_is_not_in_the_model_is_not_said(plain):
    settings = '{"accuracy": "common", "errors": "equal"}'
    tree = with_accuracy(plain, people=None, systems=False, settings=settings)
    said = words(tree)
    assert said.startswith("An annotator is right on 75 % [75 to 75].")
    assert "is right more often than" not in said
    assert "How much a system knows" not in said
    intro = accuracy.section(tree).intro
    assert "one accuracy for all annotators" in intro
    assert "The truth is not known" in intro
    known = accuracy.section(with_accuracy(plain, n_known=1)).intro
    assert "The truth of 1 item is known" in known


@pytest.mark.long
def test_the_section_has_words_picture_and_tables(plain, page):
    found = page(with_accuracy(plain))
    assert {"accuracy", "accuracies", "table-accuracy", "table-annotators"} <= set(found.ids)
    assert "How accurate, if every item has one true label?" in found.text
    assert accuracy.section(plain) is None
    assert "accuracy" not in page(plain).ids


def test_notes_are_those_of_the_fit(plain):
    assert accuracy.notes(with_accuracy(plain, notes="One.\nTwo.")) == ["One.", "Two."]


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_poor_chains_are_no_small_print(plain, page):
    tree = with_accuracy(plain, n_items_poor=1, ess_bulk_min=30.0, r_hat_max=1.2)
    (said,) = map(text, checks.accuracy_troubles(tree))
    assert "as few as 30 effective draws (annotator ann), r-hat up to 1.20" in said
    assert "Do not rely on these numbers yet" in page(tree).text
    assert checks.accuracy_troubles(with_accuracy(plain)) == []
    assert checks.accuracy_troubles(plain) == checks.accuracy_diagnosis(plain) == []
    assert "200 draws by by hand; 300 effective draws" in text(
        checks.diagnosis(with_accuracy(plain))[-1]
    )


@pytest.mark.long
def test_many_are_counted_and_not_all_written(plain):
    tree = with_accuracy(plain, people=[f"p{k}" for k in range(40)], names=list("abcdef"))
    assert "2 more systems are in the table." in words(tree)
    table = accuracy.section(tree).tables[1]
    assert len(table.bodies[0].rows) == 30
    assert table.note == "The 30 most accurate; 10 more are in accuracy.csv."


@pytest.mark.long
def test_names_stay_text(plain, page):
    bad = "<script>alert(1)</script>"
    html = page(with_accuracy(plain, names=[bad, "b"], people=(bad, "c")))
    assert len(html.all("script")) == 1
    assert bad in html.text
