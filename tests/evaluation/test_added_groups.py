"""What a model adds to an evaluation: its groups, or the reason why there are none."""

from __future__ import annotations

import pytest
import xarray as xr

import dissensus as dx
from dissensus.evaluation.section import Planned, with_added

MISSING = "Nothing is estimated"


def groups(notes=""):
    return {"agreement": xr.Dataset(attrs={"notes": notes})}


def made():
    return {"more": xr.Dataset()}


def refused():
    raise dx.AnnotationError("annotations", expected="labels that differ", found="one.")


def test_what_is_fitted_is_added():
    found, name = with_added(groups(), Planned(), "model", made, missing=MISSING)
    assert sorted(found) == ["agreement", "more"]
    assert name == "model"
    assert found["agreement"].attrs["notes"] == ""


@pytest.mark.parametrize("before", ["", "Said before."])
def test_a_reason_goes_beside_the_agreement(before):
    plan = Planned(why_not="there is one label.", told=True)
    found, reason = with_added(groups(before), plan, "", refused, missing=MISSING)
    assert sorted(found) == ["agreement"]
    assert reason == "none: there is one label."
    said = found["agreement"].attrs["notes"].split("\n")
    assert said == [*filter(None, [before]), "Nothing is estimated: there is one label."]


def test_a_reason_that_nobody_misses_is_not_told():
    plan = Planned(why_not="not asked for")
    found, reason = with_added(groups(), plan, "", refused, missing=MISSING)
    assert reason == "none: not asked for"
    assert found["agreement"].attrs["notes"] == ""


def test_without_agreement_there_is_nothing_to_stand_beside():
    plan = Planned(why_not="nobody agrees", told=True)
    assert with_added({}, plan, "", refused, missing=MISSING) == ({}, "none: nobody agrees")


def test_what_the_model_refuses_is_told():
    found, reason = with_added(groups(), Planned(), "model", refused, missing=MISSING)
    assert reason.startswith("none: the model refuses annotations: expected labels that differ")
    assert found["agreement"].attrs["notes"].startswith("Nothing is estimated: the model refuses")


def test_what_was_asked_for_by_name_is_an_error():
    with pytest.raises(dx.AnnotationError, match="labels that differ"):
        with_added(groups(), Planned(asked=True), "model", refused, missing=MISSING)
