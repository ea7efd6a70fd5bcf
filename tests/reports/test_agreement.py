"""What the report says of the annotations as they are."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from lean import LEAN

import dissensus as dx
from dissensus.reports import agreement
from dissensus.reports.language import text


@pytest.fixture
def evaluation(votes):
    ann, pred = votes
    return dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False)


def said(found):
    return " ".join(text(one) for one in found.words)


def with_ratios(evaluation, systems, annotators):
    """Dictate draws of discrepancy ratios."""
    tree = evaluation.copy()
    data = tree["discrepancy"].to_dataset()
    draws = np.linspace(-0.001, 0.001, 200)
    names = {"system": list(systems), "annotator": list(annotators)}
    parts = {
        "discrepancy_ratio": ("system", systems),
        "annotator_discrepancy_ratio": ("annotator", annotators),
    }
    out = xr.Dataset(attrs=data.attrs)
    points = tree["statistics"].to_dataset()
    points = points.drop_dims([d for d in ("system", "annotator") if d in points.dims])
    for name, (dim, values) in parts.items():
        level = np.array(list(values.values()))
        out[name] = (("chain", "draw", dim), draws[None, :, None] + level)
        out = out.assign_coords({dim: names[dim]})
        points[name] = xr.DataArray(level, dims=dim, coords={dim: names[dim]})
    out["non_inferiority"] = dx.non_inferiority(out["discrepancy_ratio"], 0.1)
    out["winning_rate"] = xr.zeros_like(out["discrepancy_ratio"]).assign_attrs(n_annotators=2)
    points["winning_rate"] = xr.zeros_like(points["discrepancy_ratio"])
    out["n_items"] = ("annotator", np.full(len(annotators), 20))
    tree["discrepancy"] = out
    tree["statistics"] = points
    return tree


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_the_page_has_the_section(page, evaluation):
    found = page(evaluation)
    assert {"agreement", "discrepancy", "table-agreement", "table-discrepancy"} <= set(found.ids)
    assert "Krippendorff's alpha is" in found.text
    assert "The discrepancy ratio compares" in found.text


def test_the_words_are_the_numbers(evaluation):
    tree = with_ratios(evaluation, {"near": 0.8, "far": 1.3}, {"a": 0.9, "b": 1.1})
    words = said(agreement.section(tree))
    assert "near has .800" in words
    assert "with probability above .99" in words
    assert "near is not inferior" in words
    assert "near is closer to the others than every one of the 2 annotators" in words
    assert "the distance is 0 for the same label and 1 for another" in words


def test_a_system_that_is_worse_is_said_to_be(evaluation):
    tree = with_ratios(evaluation, {"far": 1.3}, {"a": 0.9, "b": 1.4})
    words = said(agreement.section(tree))
    assert "with probability below .01" in words
    assert "no system is shown not to be inferior" in words
    assert "far is closer to the others than 1 of 2 annotators" in words


@pytest.mark.long
def test_one_frequent_label_is_pointed_out():
    cells = [["yes", "yes"]] * 90 + [["yes", "no"]] * 5 + [["no", "yes"]] * 5
    ann = dx.from_matrix(np.array(cells, dtype=object))
    result = dx.evaluate(ann, draws=50, random_seed=1, progressbar=False, **LEAN)
    words = said(agreement.section(result))
    assert "disagree as much as chance would make them, or more" in words
    assert "Gwet's AC1 is .89, much more" in words


@pytest.mark.usefixtures("no_pictures")
def test_without_pairs_there_is_no_section(page):
    ann = dx.annotations({"item": [1, 2], "annotator": ["a", "b"], "label": ["x", "y"]})
    result = dx.evaluate(ann, draws=20, random_seed=1, progressbar=False)
    assert agreement.section(result) is None
    assert "agreement" not in page(result).ids


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_notes_are_shown_and_names_stay_text(page):
    bad = "<script>alert(1)</script>"
    ann = dx.annotations(
        {"item": [1, 1, 2, 2], "annotator": [bad, "b"] * 2, "label": ["x"] * 4}, labels=["x", "y"]
    )
    pred = dx.predictions({"item": [1, 2], "system": [bad] * 2, "label": ["x", "y"]})
    result = dx.evaluate(ann, pred, draws=20, random_seed=1, progressbar=False)
    found = page(result)
    assert "undefined (NaN)" in found.text
    assert len(found.all("script")) == 1
    assert bad in found.text
