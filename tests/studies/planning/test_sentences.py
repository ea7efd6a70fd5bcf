"""Plans in words, for people who will pay for the annotators."""

from __future__ import annotations

import component_fits as made
import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.studies.planning.sentences import closeness_sentences, sentences


@pytest.fixture(scope="module")
def pool_plan():
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


def test_a_plan_of_reliability_has_its_sentences():
    pilot = made.fit_of("gaussian", mu=0.0, sigma_item=1.0, sigma_annotator=0.0,
                        sigma=np.sqrt([[1.0, 2.0]]))  # fmt: skip
    out = dx.plan_reliability(pilot, (2, 4), target=0.75, width=None, progressbar=False)
    assert out.attrs["in_words"].split("\n") == sentences(out)
    assert "the mean label reaches .75" in out.attrs["in_words"]


def test_annotators_are_counted_with_their_probability(pool_plan):
    text = sentences(pool_plan)
    assert text[1] == (
        "With 9 annotators an item the mean label reaches .75 with probability .75; "
        "with one fewer .50."
    )
    assert text[0].startswith("One label has a reliability (ICC) of .29, ")


def test_the_cheapest_study_that_will_do_is_named(pool_plan):
    assert sentences(pool_plan)[2] == (
        "100 items with 4 annotators each, 400 labels in all, give the ICC an interval of .10 or "
        "shorter in 9 of 10 simulated studies."
    )
    cheaper = pool_plan.copy()
    cheaper["probability_narrow"] = (("annotator", "item"), [[0.0, 0.8], [0.2, 0.9]])
    assert sentences(cheaper)[2].startswith("100 items with 2 annotators each, 200 labels in all")


def test_a_probability_too_low_is_not_rounded_to_the_one_wanted(pool_plan):
    # In 7,996 of 10,000 draws 8 annotators are enough, in the rest 9.
    needed = xr.DataArray(
        np.where(np.arange(10_000) < 7996, 8.0, 9.0)[None], dims=("chain", "draw")
    )
    plan = pool_plan.drop_dims(("chain", "draw"))
    plan = plan.assign(annotators_needed=needed, icc=0.3 + 0 * needed)
    assert (
        "probability above .99; with one fewer .799."
        in sentences(plan.assign_attrs(assurance=0.8))[1]
    )
    assert "; with one fewer .80." in sentences(plan.assign_attrs(assurance=0.9))[1]


def test_if_no_study_will_do_the_surest_and_the_largest_are_named(pool_plan):
    wanting = pool_plan.assign_attrs(assurance=0.95)
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


def test_what_no_number_of_annotators_reaches_is_said(pool_plan):
    none = pool_plan.assign(annotators_enough=xr.DataArray(np.inf))
    assert sentences(none)[1].startswith("No number of annotators makes the mean label reach .75")


def test_few_annotators_in_the_pilot_are_pointed_out(pool_plan):
    assert len(sentences(pool_plan)) == 5
    assert sentences(pool_plan)[4].startswith("Planned intervals are those of the model")
    assert len(sentences(pool_plan.drop_vars("half_width"))) == 3  # no widths were planned
    few = sentences(pool_plan.assign_attrs(pilot_annotators=[12, 4]))
    assert few[3].startswith("The pilot had 12 and 4 annotators. With so few, the variance")
    assert few[4] == "New items and annotators are taken to be like the pilot's."


def closeness_plan(enough=(178.0, float("nan")), **attrs):
    """A plan with three annotators whose numbers can be read off below."""
    cells = ("estimator", "scope", "annotator", "item")
    share = [[[[0.6, 0.9]]] * 2, [[[0.5, 0.7]]] * 2]
    about = {
        "kappa": 0.3, "n_labels": 5, "accuracy": 0.9, "within": 0.1, "assurance": 0.9,
        "violated": 0, "studies": 40, "probability": 0.9, "annotator_accuracy": 0.638,
        "known_items": 21,
    }  # fmt: skip
    return xr.Dataset(
        {
            "within_share": (cells, share),
            "half_width": (cells[1:], [[[0.1, 0.05]]] * 2),
            "observed_kappa": (cells[2:], [[0.34, 0.36]]),
            "items_enough": (cells[:3], [[[number]] * 2 for number in enough]),
        },
        coords={"estimator": ["symmetric_confusion", "lehner"], "annotator": [3],
                "scope": ["these items", "new items"], "item": [100, 200]},
        attrs=about | attrs,
    )  # fmt: skip


def test_a_plan_is_told_from_annotators_to_what_is_taken_for_granted():
    assert closeness_sentences(closeness_plan()) == [
        "With kappa .30 and 5 labels, annotators are right 64% of the time, if annotators, items "
        "and errors do not differ.",
        "The goal is an estimate within .10 of the system's accuracy, .90, in 90% of studies.",
        "With 3 annotators the posterior mean needs about 178 items (interpolated, 100 to 200), "
        "lehner's estimate more than 200 items; with 200 items 36 of 40 posterior means reach "
        "the goal, and half the length of intervals is .05.",
        "Lehner (2015) advises 200 items for a kappa of about .30 with 5 labels and 3 annotators: "
        "with this number, 36 of 40 posterior means reach the goal, 28 of 40 of lehner's "
        "estimates.",
        "The standard error of a share of .90 of 40 studies is .05.",
        "Unequal annotators, hard items and errors near the truth make estimates worse: "
        "violated=True (--violated) simulates them.",
        "Mistakes that annotators share are not simulated, and more items do not correct them. "
        "The true labels of 21 items would be enough without any annotators. With annotators, "
        "evaluate needs fewer known labels (truth=, --known).",
    ]


@pytest.mark.parametrize(
    ("items", "words"),
    [(100.0, "needs at most 100 items (the fewest tried), "), (200.0, "needs 200 items, ")],
)
def test_what_is_not_interpolated_is_not_called_so(items, words):
    assert words in closeness_sentences(closeness_plan(enough=(items, items)))[2]


@pytest.mark.parametrize(
    "attrs",
    [{"kappa": 0.4}, {"n_labels": 4}, {"within": 0.05}, {"assurance": 0.8}],
    ids=str,
)
def test_the_source_is_named_only_for_what_it_speaks_of(attrs):
    # Lehner (2015), "Recommended use": five categories, three raters, within .1, 90 %.
    assert not any(
        "Lehner" in sentence for sentence in closeness_sentences(closeness_plan(**attrs))
    )
    assert not any(
        "Lehner" in sentence
        for sentence in closeness_sentences(closeness_plan().assign_coords(annotator=[5]))
    )


def test_the_sources_other_case_and_what_was_not_tried():
    text = closeness_sentences(closeness_plan(kappa=0.52))
    assert text[3].startswith("Lehner (2015) advises 100 items for a kappa of about .55")
    untried = closeness_sentences(closeness_plan().assign_coords(item=[100, 400]))
    assert untried[3].endswith("5 labels and 3 annotators.")


def test_violations_and_a_pilot_are_told():
    text = closeness_sentences(closeness_plan(violated=1, kappa_interval=[0.18, 0.41]))
    assert text[0].endswith("(each up to .1 more or less), and agree with kappa .35.")
    assert "the system's accuracy, .90 before difficulty, in 90% of studies" in text[1]
    assert not any("violated=True" in sentence for sentence in text)
    assert "known only to be between .18 and .41 (90% interval)" in text[-2]
