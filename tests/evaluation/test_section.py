"""What sections share: warnings that are raised once, and groups or a reason for none."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pytest
import xarray as xr

import dissensus as dx
from dissensus.evaluation.section import Notes, Plan, Reason, Settings, added

SETTINGS = Settings(10, 1, None, 0.1, "raise")


def groups(notes=""):
    return {"agreement": xr.Dataset(attrs={"notes": notes})}


def section(draws):
    return SimpleNamespace(
        GROUP="more", SOURCE="model", NOTE="Nothing is estimated", draws=lambda *_: draws()
    )


def made():
    return {"more": xr.Dataset(attrs={"model": "rasch"})}


def refused():
    raise dx.AnnotationError("annotations", expected="labels that differ", found="one.")


REFUSED = "the model refuses annotations: expected labels that differ; found one"


@pytest.mark.unit(7)
@pytest.mark.parametrize(
    ("before", "plan", "draws", "names", "status", "notes"),
    [
        (groups(), Plan(), made, ["agreement", "more"], "rasch", ""),
        (groups(), Reason("one label.", noted=True), refused, ["agreement"], "none: one label.",
         "Nothing is estimated: one label."),
        (groups("Before."), Reason("one label", noted=True), refused, ["agreement"],
         "none: one label", "Before.\nNothing is estimated: one label."),
        (groups(), Reason("not asked for"), refused, ["agreement"], "none: not asked for", ""),
        (groups(), Plan(), refused, ["agreement"], f"none: {REFUSED}.",
         f"Nothing is estimated: {REFUSED}."),
        ({}, Reason("no pairs", noted=True), refused, [], "none: no pairs", None),
    ],
    ids=["added", "noted", "noted after others", "not noted", "refused", "without agreement"],
)  # fmt: skip
def test_groups_are_added_or_the_reason_is(before, plan, draws, names, status, notes):
    result, text = added(before, section(draws), plan, SETTINGS)
    assert sorted(result) == names
    assert text == status
    if notes is not None:
        assert result["agreement"].attrs["notes"] == notes


def test_an_error_of_a_model_that_was_named_is_raised():
    with pytest.raises(dx.AnnotationError, match="labels that differ"):
        added(groups(), section(refused), Plan(by_name=True), SETTINGS)


def collected(*steps):
    notes = Notes()
    for name, texts in steps:
        with notes.of(name):
            for text in texts:
                warnings.warn(text, dx.DissensusWarning, stacklevel=1)
    return notes


def test_said_everywhere_said_once_and_said_in_one_place_with_the_place():
    notes = collected(("a", ["x", "x", "y"]), ("b", ["x"]), ("a", ["x"]))
    assert notes.texts() == ["x", "a: y"]


def test_one_step_needs_no_name():
    assert collected(("a", ["x"])).texts() == ["x"]


def test_the_warning_points_at_the_callers_caller():
    def evaluate():
        collected(("a", ["x"])).say()

    with pytest.warns(dx.DissensusWarning, match="^x$") as caught:
        evaluate()
    assert caught[0].filename == __file__
