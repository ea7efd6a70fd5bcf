"""The alternative annotator test: the authors' figures, and refusals.

The definition is in test_advantage_probability.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dissensus as dx

SYSTEMS = ("gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03")

PRINTED = {
    "wax": (0.1, (0.38, 0.50, 0.50, 0.00, 0.00, 0.00), (0.69, 0.74, 0.73, 0.57, 0.59, 0.50)),
    "mtbench": (0.2, (0.0,) * 6, (0.72, 0.76, 0.77, 0.69, 0.74, 0.68)),
    "cebab_aspects": (
        0.1,
        (0.70, 0.90, 0.90, 0.60, 0.50, 0.10),
        (0.91, 0.94, 0.93, 0.89, 0.90, 0.81),
    ),
}
"""Epsilon, winning rates and advantage probabilities, as printed to two digits in the outputs of
the authors' notebook (github nitaytech/AltTest, alt_test_example.ipynb, commit 13eada2)."""


# Systems may say so, people did not.
@pytest.mark.filterwarnings("ignore:Labels outside the label space.*'None-of-the-above'")
@pytest.mark.parametrize("name", PRINTED)
def test_gives_the_figures_of_the_authors(shared, name):
    margin, rates, advantages = PRINTED[name]
    ann = dx.read_annotations(shared / name / "annotations.csv")
    pred = dx.read_predictions(shared / name / "predictions.csv")
    found = dx.alt_test(ann, pred, margin).sel(system=list(SYSTEMS))
    # Half a digit, and .375 printed as .38.
    np.testing.assert_allclose(found["winning_rate"], rates, rtol=0, atol=0.005 + 1e-9)
    np.testing.assert_allclose(found["advantage_probability"], advantages, rtol=0, atol=0.005)
    np.testing.assert_array_equal(found["passes"], np.array(rates) >= 0.5)
    by_both = dx.advantage_probability(ann, pred, min_items=30).sel(system=list(SYSTEMS))
    np.testing.assert_allclose(found["system_advantage"], by_both, atol=1e-12)
    ahead = dx.winning_rate(ann, pred, margin).sel(system=list(SYSTEMS))
    assert (ahead >= found["winning_rate"]).all()


def test_does_not_divide_by_a_variance_of_zero():
    """A system that is always right against annotators who always agree: ties throughout."""
    ann = dx.from_matrix([["a", "a", "a"], ["b", "b", "b"]] * 20)
    right = dx.predictions({"item": range(40), "system": ["m"] * 40, "label": list("ab") * 20})
    wrong = dx.predictions({"item": range(40), "system": ["m"] * 40, "label": list("ba") * 20})
    won, lost = dx.alt_test(ann, right, 0.1), dx.alt_test(ann, wrong, 0.1)
    assert (won["p_value"] == 0).all()
    assert won["passes"].all()
    assert (lost["p_value"] == 1).all()
    assert not lost["win"].any()
    # Without a margin, ties are no win.
    assert not dx.alt_test(ann, right, 0.0)["win"].any()


def test_annotators_with_few_items_are_named_and_not_tested():
    table = [["a", "a", "a"], ["b", "b", None]] * 20
    ann = dx.from_matrix(table)
    pred = dx.predictions({"item": range(40), "system": ["m"] * 40, "label": list("ab") * 20})
    with pytest.warns(dx.DissensusWarning, match="1 of 3 annotators are not tested .2.: fewer"):
        found = dx.alt_test(ann, pred, 0.1)
    assert found["items"].values.tolist() == [40, 40, 20]
    assert np.isnan(found["p_value"].sel(annotator=2)).all()
    assert float(found["winning_rate"][0]) == 1.0
    with pytest.warns(dx.DissensusWarning, match="3 of 3"):
        none = dx.alt_test(ann, pred, 0.1, min_items=100)
    assert np.isnan(none["winning_rate"]).all()
    assert np.isnan(none["advantage_probability"]).all()
    assert not none["passes"].any()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"epsilon": 1.0}, "epsilon"),
        ({"epsilon": "crowd"}, "epsilon"),
        ({"epsilon": 0.1, "q": -0.1}, "q: expected"),
        ({"epsilon": 0.1, "min_items": 1}, "min_items"),
        ({"epsilon": 0.1, "distance": "cosine"}, "distance"),
    ],
)
def test_refuses_what_makes_no_sense(votes, more, said):
    with pytest.raises(dx.ArgumentError, match=said):
        dx.alt_test(*votes, **more)


def test_wins_are_wins_of_the_winning_rate_only_where_q_is_below_a_half():
    """One annotator has enough items; a p-value above .5 is no lead, but may be below q."""
    rng = np.random.default_rng(0)
    above = 0
    for _ in range(10):
        table = rng.integers(2, size=(12, 3)).astype(object)
        table[:6, 1], table[6:, 2] = None, None
        ann = dx.from_matrix(table.tolist(), kind="nominal")
        said = rng.integers(2, size=12)
        pred = dx.predictions({"item": range(12), "system": ["m"] * 12, "label": said})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dx.DissensusWarning)
            ahead = float(dx.winning_rate(ann, pred, 0.1, min_items=8)[0])
            strict, lax = (
                float(dx.alt_test(ann, pred, 0.1, q=q, min_items=8)["winning_rate"][0])
                for q in (0.49, 0.9)
            )
        assert strict <= ahead
        above += lax > ahead
    assert above > 0
