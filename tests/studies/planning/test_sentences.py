"""Plans of reliability in words, for people who will pay for the annotators."""

from __future__ import annotations

import component_fits as made
import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.studies.planning.sentences import sentences


@pytest.fixture(scope="module")
def found():
    """Four draws of an ICC, so that probabilities can be counted by hand."""
    # ICC 1/2, 1/3, 1/4, 1/6 take 3, 6, 9 and 15 annotators to .75.
    pilot = made.fit_of(
        "gaussian", mu=0.0, sigma_item=1.0, sigma_annotator=0.0,
        sigma=np.sqrt([[1.0, 2.0, 3.0, 5.0]]),
    )  # fmt: skip
    out = dx.plan_reliability(
        pilot, (2, 4), target=0.75, assurance=0.75, width=None, progressbar=False
    )
    dims = ("annotator", "item")
    return out.assign(
        half_width=(dims, [[0.2, 0.1], [0.1, 0.04]]),
        probability_narrow=(dims, [[0.0, 0.3], [0.2, 0.9]]),
        n_labels=(dims, [[100, 200], [200, 400]]),
        item=[50, 100],
    ).assign_attrs(width=0.1, studies=10, pilot_annotators=[12])


def test_annotators_are_counted_with_their_probability(found):
    said = sentences(found)
    assert said[1] == (
        "With 9 annotators an item the mean label reaches .75 with probability .75; "
        "with one fewer .50."
    )
    assert said[0].startswith("One label has a reliability (ICC) of .29, ")


def test_the_cheapest_study_that_will_do_is_named(found):
    assert sentences(found)[2] == (
        "100 items with 4 annotators each, 400 labels in all, give the ICC an interval of .10 or "
        "shorter in 9 of 10 simulated studies."
    )
    cheaper = found.copy()
    cheaper["probability_narrow"] = (("annotator", "item"), [[0.0, 0.8], [0.2, 0.9]])
    assert sentences(cheaper)[2].startswith("100 items with 2 annotators each, 200 labels in all")


def test_a_probability_too_low_is_not_rounded_to_the_one_wanted(found):
    # In 7,996 of 10,000 draws 8 annotators are enough, in the rest 9.
    needed = xr.DataArray(
        np.where(np.arange(10_000) < 7996, 8.0, 9.0)[None], dims=("chain", "draw")
    )
    plan = found.drop_dims(("chain", "draw"))
    plan = plan.assign(annotators_needed=needed, icc=0.3 + 0 * needed)
    assert (
        "probability above .99; with one fewer .799."
        in sentences(plan.assign_attrs(assurance=0.8))[1]
    )
    assert "; with one fewer .80." in sentences(plan.assign_attrs(assurance=0.9))[1]


def test_if_no_study_will_do_the_surest_and_the_largest_are_named(found):
    wanting = found.assign_attrs(assurance=0.95)
    start = "No study tried gives the ICC an interval of .10 or shorter with probability .95: "
    assert sentences(wanting)[2] == (
        start + "the largest, 100 items with 4 annotators each, does in 9 of 10 simulated studies."
    )
    by_chance = wanting.copy()
    by_chance["probability_narrow"] = (("annotator", "item"), [[0.0, 0.5], [0.2, 0.4]])
    assert sentences(by_chance)[2] == (
        start + "the surest, 100 items with 2 annotators each, does in 5 of 10 simulated studies, "
        "the largest, 100 items with 4 annotators each, in 4."
    )
    hopeless = wanting.assign(probability_narrow=0 * wanting["probability_narrow"])
    assert sentences(hopeless)[2] == (
        start + "the largest, 100 items with 4 annotators each, does in 0 of 10 simulated studies."
    )


def test_what_no_number_of_annotators_reaches_is_said(found):
    none = found.assign(annotators_enough=xr.DataArray(np.inf))
    assert sentences(none)[1].startswith("No number of annotators makes the mean label reach .75")


def test_few_annotators_in_the_pilot_are_pointed_out(found):
    assert len(sentences(found)) == 4
    few = sentences(found.assign_attrs(pilot_annotators=[12, 4]))
    assert few[3].startswith("The pilot had 12 and 4 annotators: how much annotators differ is")
    assert few[4] == "New items and annotators are taken to be like the pilot's."
