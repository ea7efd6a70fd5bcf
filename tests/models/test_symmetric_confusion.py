"""Symmetric confusion of systems that are not evidence, and of published figures."""

from __future__ import annotations

import pytest
from truth_cases import TWO, TWO_SYSTEMS, symmetric

import dissensus as dx
from dissensus.models import symmetric_confusion


@pytest.mark.long
def test_a_system_that_is_no_evidence_does_not_move_what_is_learned_from_annotators():
    """Whatever it says, annotators, prevalence and truth have the same posterior."""
    lone = symmetric(TWO)
    judged = symmetric(TWO, TWO_SYSTEMS, evidence="annotators")
    first, second = (case.fit(draws=4000, tune=300) for case in (lone, judged))
    for name in ("annotator_accuracy", "prevalence", "truth"):
        gap = first["posterior"][name].mean(("chain", "draw"))
        gap = gap - second["posterior"][name].mean(("chain", "draw"))
        assert abs(gap).max() < 0.015, name
    moved = symmetric(TWO, TWO_SYSTEMS).fit(draws=4000, tune=300)["posterior"]["truth"]
    gap = first["posterior"]["truth"].mean(("chain", "draw")) - moved.mean(("chain", "draw"))
    assert abs(gap).max() > 0.05


CODES = {
    "one accuracy": ({}, [0, 0, 0]),
    "graded errors": ({"errors": "graded"}, [0, 0, 0]),
    "unequal errors": ({"errors": "unequal"}, [0, 1, 2]),
    "accuracies": ({"accuracy": "annotator"}, [0, 1, 2]),
}


@pytest.mark.unit(4)
@pytest.mark.parametrize("name", list(CODES))
def test_respondents_are_one_only_if_annotators_are_alike(name):
    """Two items by annotators x, y and z; a system follows as the next respondent."""
    settings, codes = CODES[name]
    ann = dx.annotations(
        {"item": [0, 0, 0, 1, 1, 1], "annotator": list("xyzxyz"), "label": [1, 2, 3, 3, 3, 1]},
        kind="ordinal", labels=[1, 2, 3],
    )  # fmt: skip
    pred = dx.predictions({"item": [0, 1], "system": ["s", "s"], "label": [1, 2]})
    model = symmetric_confusion.build(ann, predictions=pred, **settings)
    expected = [[*codes, max(codes) + 1]] * 2
    assert model["respondent_code"].get_value().tolist() == expected


def test_lehners_example():
    """Table 2: ten cases; its algebra says .5 for raters and .731 for the system.

    Ten cases say little: the intervals contain both, and are wide.
    """
    data = dx.datasets.load("lehner_table2")
    fit = symmetric_confusion.fit(
        data.annotations, predictions=data.predictions, random_seed=1, progressbar=False
    )
    for name, printed in (("annotator_accuracy", 0.5), ("system_accuracy", 0.731)):
        low, high = fit["posterior"][name].quantile([0.05, 0.95]).to_numpy().ravel()
        assert low < printed < high
        assert high - low > 0.2
    algebra = dx.lehner(data.annotations, predictions=data.predictions)
    assert float(algebra["annotator_accuracy"]) == pytest.approx(0.5)
