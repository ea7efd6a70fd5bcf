"""Plans of people's labels where systems have labelled all items."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx
from dissensus.studies.planning import judged
from dissensus.studies.planning.labels import _as_narrow, _filled, _labelled, _Labels

# Pilots here are labelled by the same few simulated annotators, who do not differ.
pytestmark = pytest.mark.filterwarnings("ignore:The same few annotators:dissensus.DesignWarning")

N, LABELS = 200, np.array(["a", "b", "c"])


def study(accuracies, sharp=0.1, n_pilot=60, seed=3):
    """Return a pilot, and predictions of all items by systems that know the panel so often."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(3, sharp), N)
    knows = rng.random((len(accuracies), N)) < np.array(accuracies)[:, None]
    code = np.where(knows, theta.argmax(axis=1), rng.integers(3, size=knows.shape))
    pred = dx.predictions({
        "item": np.tile(np.arange(N), len(code)), "label": LABELS[code.ravel()],
        "system": np.repeat([f"s{k}" for k in range(len(code))], N),
    })  # fmt: skip
    given = np.stack([rng.choice(3, 3, p=row) for row in theta[:n_pilot]])
    ann = dx.annotations({
        "item": np.repeat(np.arange(n_pilot), 3), "annotator": np.tile(list("uvw"), n_pilot),
        "label": LABELS[given.ravel()],
    })  # fmt: skip
    return ann, pred


def planned(ann, pred, **more):
    how = {"items": (40, 100), "draws": 200, "random_seed": 1, "progressbar": False, **more}
    return dx.plan(ann, predictions=pred, **how)


@pytest.mark.long
def test_a_judge_who_knows_the_panel_saves_labels_and_systems_that_guess_save_none():
    good, guess = (
        planned(*study(accuracies), items=(40,), annotators=(1,))
        for accuracies in ((0.97, 0.6), (0.0, 0.0))
    )
    assert good["half_width"].dims == ("annotator", "item")
    assert good["annotator"].to_numpy().tolist() == [1]
    assert (good["half_width"] < 0.9 * good["half_width_alone"]).all()
    assert (good["items_alone"] > 1.25 * good["item"]).all()
    ratio = (guess["half_width"] / guess["half_width_alone"]).to_numpy()
    assert (np.abs(ratio - 1.0) < 0.15).all()
    told, alone = (f"{float(good[f'half_width{name}'][0, 0]):.3f}" for name in ("", "_alone"))
    words = good.attrs["in_words"].replace("\N{NO-BREAK SPACE}", " ")
    assert words == (
        "With 1 label for each of 40 of 200 predicted items, 89 % intervals of systems' agreement "
        f"with the panel are on average ±{told.lstrip('0')}, and ±{alone.lstrip('0')} from the "
        f"labelled items alone. From the labelled items alone, ±{told.lstrip('0')} needs labels "
        f"for about {round(float(good['items_alone'][0, 0]))} items."
    )
    assert good.attrs["predicted_items"] == N
    assert "needs" not in guess.attrs["in_words"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_where_the_panel_is_split_systems_that_guess_save_nothing_either(seed):
    ann, pred = study((0.0,), sharp=3.0, seed=seed)
    assert "needs" not in planned(ann, pred, items=(100,)).attrs["in_words"]


@pytest.mark.slow
def test_other_sizes_do_not_change_a_size_and_a_wider_interval_is_wider():
    how = study((0.97, 0.6))
    plan = planned(*how)
    assert planned(*how).identical(plan)
    other = planned(*how, items=(40, 70, 100), annotators=(1, 3))
    for name in ("half_width", "half_width_alone"):
        assert other[name].sel(plan.coords).identical(plan[name])
    assert (planned(*how, prob=0.99)["half_width"] > plan["half_width"]).all()


@pytest.mark.slow
def test_planned_intervals_are_as_wide_as_those_of_such_a_study():
    """Of the same kind of study, made anew and analysed as a user would."""
    widths = []
    for seed in range(8):
        ann, pred = study((0.9, 0.6), sharp=0.5, n_pilot=100, seed=seed)
        rows = {name: ann[name].to_numpy()[ann[f"{name}_code"]] for name in
                ("item", "annotator", "label")}  # fmt: skip
        whole = dx.annotations(rows, items=pred["item"], labels=LABELS.tolist())
        fit = dx.models.dirichlet.fit(whole, predictions=pred, random_seed=1, progressbar=False)
        draws = dx.top_k_accuracy(fit, pred, insight="learned", random_seed=1)
        ends = draws.quantile([0.055, 0.945], ("chain", "draw"))
        widths.append(float(ends.diff("quantile").mean()) / 2)
    how = {"items": (100,), "annotators": (3,)}
    plans = [planned(*study((0.9, 0.6), 0.5, seed=seed), **how) for seed in range(4)]
    half = np.mean([float(plan["half_width"][0, 0]) for plan in plans])
    assert half == pytest.approx(np.mean(widths), rel=0.15)


@pytest.mark.slow
def test_from_labelled_items_alone_lengths_are_those_of_a_sample_from_all_items():
    """People agree, so a label shows the panel's: variance p (1 - p) (1 / n - 1 / N)."""
    ann, pred = study((0.7,), sharp=1e-4)
    top = pred["label_code"].to_numpy().ravel()
    plan = planned(ann, pred, items=(50, 100), annotators=(3,))
    right = float(np.mean(top[: ann.sizes["item"]] == ann["label_code"].to_numpy()[::3]))
    for n in (50, 100):
        deviation = np.sqrt(right * (1 - right) * (1 / n - 1 / N))
        expected = stats.norm.ppf(0.945) * deviation
        assert float(plan["half_width_alone"].sel(item=n)[0]) == pytest.approx(expected, rel=0.2)


@pytest.mark.long
def test_with_labels_for_all_items_both_are_equal():
    plan = planned(*study((0.9,)), items=(N,), annotators=(2,))
    assert float(plan["half_width"][0, 0]) == pytest.approx(float(plan["half_width_alone"][0, 0]))
    assert float(plan["items_alone"][0, 0]) == pytest.approx(N)
    assert plan.attrs["in_words"].endswith(
        "With labels for all predicted items, predictions for the other items add no information."
    )


def test_sentences_are_about_the_largest_size_below_all_items():
    alone = np.tile([[[0.3, 0.2, 0.1]]], (5, 1, 1)) + np.linspace(0, 1e-3, 5)[:, None, None]
    needed = np.array([[30.0, 80.0, 100.0]])
    tried = judged.Sizes([2], [20, 50, 100], 100, 0.89, 100)
    told = alone * [0.8, 0.7, 1.0]
    words = judged.planned(told, alone, needed, tried, _Labels.words).attrs["in_words"]
    assert "for each of 50 of 100 predicted items" in words
    assert "needs labels for about 80 items. With labels for all predicted items, " in words
    of_all = told[..., 2:], alone[..., 2:], needed[:, 2:], tried._replace(items=[100])
    whole = judged.planned(*of_all, _Labels.words).attrs["in_words"]
    assert "for each of 100 of 100 predicted items" in whole
    assert whole.count("With") == 2


def test_lengths_that_lie_between_sizes_are_linear_in_their_squares():
    """By hand: squares 8, 5, 2 of n = 10, 20, 40; 3.5 is halfway between 1/20 and 1/40."""
    alone = np.sqrt([[8.0, 5.0, 2.0]])
    told = np.sqrt([[6.5, 3.5, 2.0]])
    result = _as_narrow(told, alone, np.array([10, 20, 40]))[0]
    assert result == pytest.approx([1 / 0.075, 1 / 0.0375, 40.0])
    # Beyond the sizes: 11 is as far from 8 as 5 is; all items are 40.
    beyond = _as_narrow(np.sqrt([[11.0, 5.0, 1.0]]), alone, np.array([10, 20, 40]))[0]
    assert beyond == pytest.approx([1 / 0.15, 20.0, 40.0])


def test_others_get_values_of_labelled_items():
    """The weights of a Polya urn: sums are exact, and each item's share is Beta-binomial."""
    weights = _filled(np.arange(4), 24, (2, 4000), np.random.default_rng(1))
    assert (weights.sum("item") == 24).all()
    result = (weights - 1).to_numpy().reshape(-1, 4)
    law = stats.betabinom(20, 1, 3)
    assert result.mean(axis=0) == pytest.approx(np.full(4, law.mean()), rel=0.03)
    assert result.var(axis=0) == pytest.approx(np.full(4, law.var()), rel=0.06)


def test_simulated_labels_have_the_panels_shares():
    panel = np.array([[0.7, 0.2, 0.1], [0.0, 0.0, 1.0]])
    order, code = _labelled(panel, 20_000, np.random.default_rng(1))
    assert sorted(order) == [0, 1]
    shares = np.stack([np.bincount(row, minlength=3) for row in code]) / 20_000
    assert shares == pytest.approx(panel, abs=0.01)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"items": (30, 201)}, r"items: expected at most 200, the number of predicted items; found "
                               r"201. Type items=\(20, 60, 120\)"),
        ({"accuracy": 0.8}, "accuracy: expected none, since agreement with the panel is planned"),
        ({"target": 0.8}, "target: expected none, since agreement with the panel is planned"),
        ({"draws": 10}, "draws: expected a whole number, 100 or more"),
        ({"progressbar": "yes"}, "progressbar: expected True or False"),
    ],
)  # fmt: skip
def test_what_makes_no_plan_of_labels_is_refused(more, words):
    with pytest.raises(dx.ArgumentError, match=words):
        planned(*study((0.9,)), **more)


def test_pilots_of_other_kinds_are_refused():
    ann, pred = study((0.9,))
    numbers = dx.from_matrix(np.random.default_rng(1).normal(size=(4, 2)))
    fit = xr.DataTree()
    with pytest.raises(dx.PredictionError, match="predictions: expected one number from each"):
        planned(numbers, pred)
    for pilot, result in ((fit, "DataTree"), (xr.Dataset(), "Dataset")):
        with pytest.raises(dx.AnnotationError, match=f"pilot: expected labels .*found {result}"):
            planned(pilot, pred)
    labels = dx.predictions({"item": [0], "system": ["s"], "label": [0.5]})
    with pytest.raises(
        dx.AnnotationError, match=r"pilot: expected scores \(continuous or ordinal\).*found nominal"
    ):
        planned(ann, labels)
    few = pred.isel(item=slice(50, None))
    with pytest.raises(
        dx.PredictionError, match="for all items of the pilot; found none for 50 of"
    ):
        planned(ann, few, items=(20,))
    with pytest.raises(dx.PredictionError, match="predictions: expected labels over"):
        planned(ann, ann)
    spelled = pred.assign_coords(item=[f"{name}.0" for name in pred["item"].to_numpy()])
    with pytest.raises(
        dx.PredictionError, match=r"0 in the annotations is 0\.0 in the predictions"
    ):
        planned(ann, spelled.isel(item=slice(0, 100)), items=(20,))


def test_pilots_show_all_labels():
    _, pred = study((0.9,))
    alike = {"item": [0, 1, 2], "annotator": ["u"] * 3, "label": ["a"] * 3}
    words = r"two labels or more, .*found 'a', without 'b', 'c'\. Read .*labels=\['a', 'b', 'c'\]"
    with pytest.raises(dx.AnnotationError, match=words):
        planned(dx.annotations(alike), pred)
    with pytest.raises(dx.AnnotationError, match=r"found 'a'\. Read the pilot"):
        only = dx.predictions({"item": [0, 1, 2], "system": ["s"] * 3, "label": ["a"] * 3})
        planned(dx.annotations(alike), only, items=(1,))
