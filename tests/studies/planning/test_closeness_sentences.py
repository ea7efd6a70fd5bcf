"""Plans of accuracy without the truth in words."""

from __future__ import annotations

import pytest
import xarray as xr

from dissensus.studies.planning.sentences import closeness_sentences


def plan(enough=(178.0, float("nan")), **attrs):
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
            "items_enough": (cells[:3], [[[one]] * 2 for one in enough]),
        },
        coords={"estimator": ["symmetric_confusion", "lehner"], "annotator": [3],
                "scope": ["these items", "new items"], "item": [100, 200]},
        attrs=about | attrs,
    )  # fmt: skip


def test_a_plan_is_told_from_annotators_to_what_is_taken_for_granted():
    assert closeness_sentences(plan()) == [
        "With kappa .30 and 5 labels, annotators are right 64% of the time, if all are alike, and "
        "so are items and errors.",
        "Wanted is an estimate within .10 of the system's accuracy, .90, in 90% of studies.",
        "With 3 annotators the posterior mean takes about 178 items (interpolated, 100 to 200), "
        "lehner's estimate more than 200 items; with 200 items 36 of 40 posterior means are near "
        "enough, half the interval is .05.",
        "Lehner (2015) advises 200 items for a kappa of about .30 with 5 labels and 3 annotators: "
        "with so many, 36 of 40 posterior means are near enough, 28 of 40 of lehner's estimates.",
        "A share of .90 of 40 studies is known to ± .05.",
        "Unequal annotators, hard items and near errors make it worse: violated=True "
        "(--violated) has them.",
        "Mistakes that annotators share are not foreseen, and no number of items makes up for "
        "them. The true labels of 21 items would do by themselves, whatever annotators share: "
        "evaluate takes them (truth=, --known), and needs fewer.",
    ]


@pytest.mark.parametrize(
    ("items", "said"),
    [(100.0, "takes at most 100 items (the fewest tried), "), (200.0, "takes 200 items, ")],
)
def test_what_is_not_interpolated_is_not_called_so(items, said):
    assert said in closeness_sentences(plan(enough=(items, items)))[2]


@pytest.mark.parametrize(
    "attrs",
    [{"kappa": 0.4}, {"n_labels": 4}, {"within": 0.05}, {"assurance": 0.8}],
    ids=str,
)
def test_the_source_is_named_only_for_what_it_speaks_of(attrs):
    # Lehner (2015), "Recommended use": five categories, three raters, within .1, 90 %.
    assert not any("Lehner" in one for one in closeness_sentences(plan(**attrs)))
    assert not any(
        "Lehner" in one for one in closeness_sentences(plan().assign_coords(annotator=[5]))
    )


def test_the_sources_other_case_and_what_was_not_tried():
    said = closeness_sentences(plan(kappa=0.52))
    assert said[3].startswith("Lehner (2015) advises 100 items for a kappa of about .55")
    untried = closeness_sentences(plan().assign_coords(item=[100, 400]))
    assert untried[3].endswith("5 labels and 3 annotators.")


def test_violations_and_a_pilot_are_told():
    said = closeness_sentences(plan(violated=1, kappa_interval=[0.18, 0.41]))
    assert said[0].endswith("(annotators up to .1 more or less), and agree with kappa .35.")
    assert "the system's accuracy, .90 before difficulty, in 90% of studies" in said[1]
    assert not any("violated=True" in one for one in said)
    assert "known only to be between .18 and .41 (90% interval)" in said[-2]
