"""Plans of people's scores where systems have scored all items."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx
from dissensus.studies.planning.labels import _Scores

N = 200
HOW = {"items": (40, 100), "annotators": (2,), "draws": 200, "random_seed": 1, "progressbar": False}


def study(errors, n_pilot=60, noise=5.0, seed=3):
    """Return a pilot of three scores an item, and numbers of systems with such errors."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(50, 10, N)
    labels = mean + rng.normal(size=(len(errors), N)) * np.array(errors)[:, None]
    pred = dx.predictions({
        "item": np.tile(np.arange(N), len(errors)), "label": labels.ravel(),
        "system": np.repeat([f"s{k}" for k in range(len(errors))], N),
    })  # fmt: skip
    scores = rng.normal(mean[:n_pilot, None], noise, (n_pilot, 3))
    return dx.from_matrix(scores, kind="continuous"), pred


@pytest.mark.long
def test_a_judge_who_knows_the_means_saves_scores_and_one_who_guesses_saves_few():
    good, guess = (
        dx.plan(parts[0], predictions=parts[1], **HOW | {"items": (40,)})
        for parts in (study((2.0,)), study((30.0,)))
    )
    assert good["half_width"].dims == ("annotator", "item")
    ratio = [float((plan["half_width"] / plan["half_width_alone"])[0, 0]) for plan in (good, guess)]
    assert ratio[0] < 0.6
    assert 0.8 < ratio[1] < 1.2
    assert float(good["items_alone"][0, 0]) > 80 > float(guess["items_alone"][0, 0])
    words = good.attrs["in_words"].replace("\N{NO-BREAK SPACE}", " ")
    assert words.startswith(
        "With 2 scores for each of 40 of 200 predicted items, 89 % intervals of the mean "
        "score of all items are on average ±"
    )
    assert "from the scored items alone." in words
    assert good.attrs["predicted_items"] == N


@pytest.mark.long
def test_from_scored_items_alone_lengths_are_those_of_a_sample_from_all_items():
    """Variance s**2 (1 / n - 1 / N) between items, and noise**2 / (2 n) within them."""
    plan = dx.plan(study((3.0,), noise=2.0)[0], predictions=study((3.0,))[1], **HOW)
    for n in (40, 100):
        deviation = np.sqrt(10**2 * (1 / n - 1 / N) + 2**2 / 2 / n * (n / N) ** 2)
        expected = stats.norm.ppf(0.945) * deviation
        assert float(plan["half_width_alone"].sel(item=n)[0]) == pytest.approx(expected, rel=0.25)


@pytest.mark.long
def test_planned_intervals_are_as_wide_as_those_of_such_a_study():
    """Of the same kind of study, made anew and analysed as a user would."""
    widths = []
    for seed in range(6):
        ann, pred = study((6.0,), n_pilot=100, seed=seed)
        value = ann["value"].to_numpy().reshape(100, 3)[:, :2]
        table = {"item": np.repeat(np.arange(100), 2), "annotator": [0, 1] * 100,
                 "label": value.ravel()}  # fmt: skip
        whole = dx.annotations(table, items=pred["item"], kind="continuous")
        fit = dx.models.normal_scores.fit(whole, predictions=pred, random_seed=1, progressbar=False)
        ends = fit["posterior"]["mean"].mean("item").quantile([0.055, 0.945], ("chain", "draw"))
        widths.append(float(ends.diff("quantile").mean()) / 2)
    plans = [
        dx.plan(ann, predictions=pred, **HOW | {"items": (100,)})
        for ann, pred in (study((6.0,), seed=seed) for seed in range(3))
    ]
    half = np.mean([float(plan["half_width"][0, 0]) for plan in plans])
    assert half == pytest.approx(np.mean(widths), rel=0.2)


def test_simulated_scores_have_the_items_means_and_variances():
    """Those of fewer annotators are the first ones."""
    posterior = {"mean": [[1.0, 50.0]], "variance": [[4.0, 0.25]]}
    data = xr.Dataset({
        name: (("chain", "draw", "item"), [value]) for name, value in posterior.items()
    })  # fmt: skip
    [(order, given)] = _Scores().simulated(data, 20_000, np.random.default_rng(1))
    assert sorted(order) == [0, 1]
    assert given.mean(axis=1) == pytest.approx([1.0, 50.0], abs=0.05)
    assert given.std(axis=1) == pytest.approx([2.0, 0.5], rel=0.03)
    assert abs(stats.skew(given[0])) < 0.1
    [(_, few)] = _Scores().simulated(data, 3, np.random.default_rng(1))
    np.testing.assert_array_equal(few, given[:, :3])


@pytest.mark.long
def test_strata_of_the_pilot_are_those_of_its_plan(monkeypatch):
    """If they are known of all predicted items."""
    ann, pred = study((4.0,))
    seen = []
    module = dx.models.normal_scores
    fit = module.fit
    monkeypatch.setattr(module, "fit", lambda a, **k: seen.append(a) or fit(a, **k))
    rows = {name: ann[name].to_numpy()[ann[f"{name}_code"]] for name in ("item", "annotator")}
    rows["label"] = ann["value"].to_numpy()
    every = {"item": np.arange(N), "of": np.where(np.arange(N) % 3, "a", "b")}
    pilot = dx.annotations(rows, items=every, stratum="of", kind="continuous")
    small = HOW | {"items": (30,), "draws": 100}
    dx.plan(pilot, predictions=pred, **small)
    for data in seen:
        names = data["stratum"].to_numpy()[data["stratum_code"].to_numpy()]
        assert names.tolist() == every["of"][data["item"].to_numpy()].tolist()
    del seen[:]
    dx.plan(ann, predictions=pred, **small)
    assert not any("stratum" in data.dims for data in seen)


@pytest.mark.long
def test_whole_numbers_are_scores_beside_scores_and_what_cannot_be_planned_is_refused():
    ann, pred = study((4.0,))
    whole = dx.predictions({
        "item": np.arange(N), "system": ["s"] * N,
        "label": pred["value"].to_numpy().ravel().round().astype(int) % 15,
    })  # fmt: skip
    assert "label_code" in whole
    plan = dx.plan(ann, predictions=whole, **HOW | {"items": (30,), "draws": 100})
    assert "mean score" in plan.attrs["in_words"]
    with pytest.raises(dx.ArgumentError, match="annotators: expected 2 or more: one score"):
        dx.plan(ann, predictions=pred, **HOW | {"annotators": (1, 2)})
    single = dx.from_matrix(np.arange(5.0)[:, None] + 0.5, kind="continuous")
    with pytest.raises(dx.AnnotationError, match="pilot: expected items with two or more diff"):
        dx.plan(single, predictions=pred, **HOW)
    with pytest.raises(dx.ArgumentError, match="accuracy: expected none, since the mean score is"):
        dx.plan(ann, predictions=pred, accuracy=0.8)
