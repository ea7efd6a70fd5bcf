"""Planning a study from a pilot."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dissensus as dx

# Pilots here are labelled by the same few simulated annotators, who do not differ.
pytestmark = pytest.mark.filterwarnings("ignore:The same few annotators:dissensus.DesignWarning")


@pytest.fixture
def pilot():
    return dx.simulate.study(n_items=80, random_seed=5, kind="nominal").annotations


@pytest.mark.long
def test_more_annotators_settle_more_and_more_items_narrow_the_interval(pilot):
    result = dx.plan(pilot, annotators=(1, 4, 16, 64), items=(100, 1600), random_seed=1)
    assert (result["certainty"].diff("annotator") > 0).all()
    # Of one label an item it cannot be told how items differ, however many there are.
    result = result.sel(annotator=[4, 16, 64])
    assert (result["shortfall"].diff("annotator") < 0).all()
    ratio = result["half_width"].sel(item=100) / result["half_width"].sel(item=1600)
    # What systems know beyond the labels no number of items tells, but labels settle it.
    assert ratio.sel(annotator=4) < 3 < ratio.sel(annotator=64)
    fixed = dx.plan(pilot, annotators=(4, 64), items=(100, 1600), random_seed=1, prior_count=1)
    ratio = fixed["half_width"].sel(item=100) / fixed["half_width"].sel(item=1600)
    np.testing.assert_allclose(ratio, 4, rtol=0.35)


def labelled(n_items, n_annotators, each):
    """Return labels at random, ``each`` per item."""
    rng = np.random.default_rng(3)
    who = np.stack([rng.permutation(n_annotators)[:each] for _ in range(n_items)])
    item = np.repeat(np.arange(n_items), each)
    table = {"item": item, "annotator": who.ravel(), "label": rng.integers(2, size=item.size)}
    return dx.annotations(table, kind="nominal")


@pytest.mark.long
def test_a_pilot_by_the_same_few_annotators_is_warned_of():
    """Intervals of a study by the same few are wider than planned: see Notes of `plan`."""
    small = {"annotators": (3,), "items": (40,), "draws": 20, "random_seed": 1}
    said = {"item": range(40), "system": ["s"] * 40, "label": [0, 1] * 20}
    of_part = {"predictions": dx.predictions(said), "items": (20,), "draws": 100}
    for further in ({}, of_part):
        with pytest.warns(dx.DesignWarning, match="The same few annotators labelled most"):
            dx.plan(labelled(40, 4, 4), **small | further, progressbar=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dx.plan(labelled(40, 60, 4), **small)


@pytest.mark.long
def test_half_width_approaches_that_of_a_binomial(pilot):
    # With the truth settled, a Bayesian bootstrap interval is that of a mean of n coin flips.
    actual = dx.plan(
        pilot, annotators=(2000,), items=(400,), accuracy=0.8, prob=0.9, random_seed=2, draws=2000
    )
    expected = 1.6449 * np.sqrt(0.8 * 0.2 / 400)
    np.testing.assert_allclose(actual["half_width"].item(), expected, rtol=0.15)


@pytest.mark.long
@pytest.mark.parametrize("insight", [-1.0, 1.0])
def test_plans_leave_open_what_the_system_knows(pilot, monkeypatch, insight):
    from dissensus.studies.planning import plan

    options = {"annotators": (3,), "items": (2000,), "draws": 200, "random_seed": 4}

    def foreseen(value):
        monkeypatch.setattr(plan, "insight_of", lambda z: np.full_like(z, value))
        return dx.plan(pilot, **options)

    none, known = foreseen(0.0), foreseen(insight)
    lower = (none["shortfall"] - known["shortfall"]).item()
    assert 0.03 < np.sign(insight) * lower < 0.3
    # The same for all draws, and each item by itself: the interval hardly changes.
    np.testing.assert_allclose(known["half_width"], none["half_width"], rtol=0.25)
    monkeypatch.undo()
    assert dx.plan(pilot, **options)["half_width"].item() > 1.5 * none["half_width"].item()


def test_same_seed_same_plan(pilot):
    first, second = (dx.plan(pilot, annotators=(2,), items=(50,), random_seed=3) for _ in range(2))
    assert first.identical(second)


@pytest.mark.parametrize(
    "bad",
    [
        {"annotators": "x"}, {"annotators": [1.5]}, {"items": "x"}, {"accuracy": "high"},
        {"accuracy": 1.2}, {"annotators": (0,)}, {"items": ()}, {"prob": 2}, {"prob": "x"},
        {"draws": 0},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_plan_is_refused_by_name(pilot, bad):
    with pytest.raises(dx.ArgumentError, match=f"^{next(iter(bad))}: "):
        dx.plan(pilot, **bad)


@pytest.mark.parametrize("more", [{"target": 0.8}, {}], ids=str)
def test_what_no_plan_takes_is_refused_by_name(pilot, more):
    with pytest.raises(
        dx.ArgumentError, match=r"^threshold: expected no such argument: plan takes"
    ):
        dx.plan(pilot, threshold=3, **more)
    for name in ("truth", "kappa", "n_labels", "within", "violated"):
        with pytest.raises(dx.ArgumentError, match=rf"^{name}: .*dissensus\.plan_accuracy"):
            dx.plan(pilot, **{name: 1}, **more)
    with pytest.raises(dx.ArgumentError, match=r"^studys: .*Did you mean studies=\?"):
        dx.plan(pilot, studys=3, **more)


@pytest.mark.parametrize(
    ("n_items", "n_annotators", "settings", "words"),
    [
        (19, 2, {}, "labels of 19 items"),
        (30, 1, {}, "one label of each item"),
        (20, 2, {}, None),
        (30, 1, {"prior_count": 1}, None),
    ],
)
def test_a_pilot_that_says_little_is_called_so(n_items, n_annotators, settings, words, recwarn):
    few = dx.simulate.study(n_items, n_annotators, 3, kind="nominal", random_seed=1).annotations
    dx.plan(few, annotators=(2,), items=(20,), draws=20, random_seed=1, **settings)
    message = [str(record.message) for record in recwarn if record.category is dx.DesignWarning]
    assert len(message) == (words is not None)
    assert all(words in text for text in message)


def test_a_pilot_with_one_item_labelled_twice_says_as_little():
    ann = dx.simulate.study(30, 2, 3, kind="nominal", random_seed=1).annotations
    first = np.unique(ann["item_code"], return_index=True)[1]
    second = np.setdiff1d(np.arange(ann.sizes["annotation"]), first)[:1]
    with pytest.warns(dx.DesignWarning, match="two labels of only 1 item"):
        dx.plan(ann.isel(annotation=np.sort([*first, *second])), (2,), (20,), draws=20)


def test_one_label_of_each_item_makes_planned_widths_too_wide():
    # Simulated, to be held against a pilot with five labels of each item: what is warned of.
    whole = dx.simulate.study(200, 5, 3, kind="nominal", random_seed=3).annotations
    once = whole.isel(annotation=np.unique(whole["item_code"], return_index=True)[1])
    with pytest.warns(dx.DesignWarning, match="one label of each item"):
        alone = dx.plan(once, annotators=(3,), items=(100,), random_seed=1)["half_width"].item()
    assert alone > 1.5 * dx.plan(whole, (3,), (100,), random_seed=1)["half_width"].item()
