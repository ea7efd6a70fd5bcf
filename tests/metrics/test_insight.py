"""What systems know beyond the labels: against the definition, and against panels simulated so."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx
from dissensus.metrics._insight import draw_insights, insight_of

DRAWS = ("chain", "draw")


def of(values, *systems):
    return xr.DataArray(np.array(values), dims="system", coords={"system": list(systems)})


@pytest.mark.parametrize("k", [1, 2, 4])
def test_none_at_all_changes_nothing(make, k):
    theta = make.theta(3, n_items=20)
    pred = make.lists(3, theta)
    found = dx.top_k_accuracy(theta, pred, k, insight=of([0.0, 0.0], "t", "s"))
    xr.testing.assert_allclose(found, dx.top_k_accuracy(theta, pred, k), atol=1e-12)


def test_odds_of_every_item_are_as_many_times_what_they_were(make):
    theta = make.theta(5, n_items=200, chains=2, draws=4000)
    theta = (theta**0.2).pipe(lambda x: x / x.sum("label"))  # often close
    theta = theta.copy(data=np.random.default_rng(1).permuted(theta.values, axis=1))
    pred = make.lists(5, theta, ties=False)
    plain, found = (
        dx.top_k_accuracy(theta, pred, per_item=True, insight=of(given, "s", "t")).mean(DRAWS)
        for given in ([0.0, 0.0], [0.9, -0.6])
    )
    odds = plain / (1 - plain) * np.exp(of([0.9, -0.6], "s", "t"))
    expected = odds / (1 + odds)
    assert 0.1 < float(plain.mean()) < 0.4
    np.testing.assert_allclose(found, expected.transpose(*found.dims), atol=0.02)
    np.testing.assert_allclose(
        found.mean("item"), expected.transpose(*found.dims).mean("item"), atol=0.002
    )


@pytest.mark.parametrize("insight", [30.0, -30.0])
def test_where_labels_settle_an_item_it_changes_nothing(make, insight):
    sure = make.theta(2, draws=1).isel(draw=[0] * 20, chain=[0, 0])
    sure = sure.assign_coords(chain=[0, 1], draw=np.arange(20))
    pred = make.lists(2, sure, ties=False)
    found = dx.top_k_accuracy(sure, pred, insight=of([insight] * 2, "s", "t"), per_item=True)
    xr.testing.assert_identical(found, dx.top_k_accuracy(sure, pred, per_item=True))


def test_an_item_leans_alike_whatever_is_beside_it(make):
    theta = make.theta(6, n_items=30, draws=60)
    pred = make.lists(6, theta)
    options = {"insight": of([1.0, 1.0], "s", "t"), "per_item": True, "random_seed": 2}
    whole = dx.top_k_accuracy(theta, pred, **options)
    names = theta["item"].values[[20, 3, 11]]
    some = dx.top_k_accuracy(theta.sel(item=names), pred.sel(item=names), **options)
    xr.testing.assert_equal(whole.sel(item=names), some)


def test_drawn_it_is_a_shifted_lognormal_the_same_for_copies():
    answers = {"a": "xyxy", "copy": "xyxy", "other": "xyyx"}
    table = {
        "item": [0, 1, 2, 3] * 3,
        "system": np.repeat(list(answers), 4),
        "label": list("".join(answers.values())),
    }
    found = draw_insights(dx.predictions(table), (4, 5000), 1)
    assert found.dims == (*DRAWS, "system")
    theirs = stats.lognorm(s=1, scale=0.28, loc=-0.4)
    np.testing.assert_allclose(
        found.quantile([0.055, 0.5, 0.945], DRAWS).values,
        np.repeat(theirs.ppf([[0.055], [0.5], [0.945]]), 3, axis=1), atol=0.04,
    )  # fmt: skip
    np.testing.assert_allclose(found.sel(system="a"), found.sel(system="copy"), atol=1e-7)
    normal = np.log((found + 0.4) / 0.28).transpose("system", ...).values.reshape(3, -1)
    assert np.corrcoef(normal)[0, 2] == pytest.approx(0.5, abs=0.02)  # half of their labels
    assert insight_of(np.array(0.0)) == pytest.approx(theirs.median())


def test_seeded_it_comes_again(make):
    theta = make.theta(1, n_items=30, draws=50)
    pred = make.lists(1, theta)
    one, again, other = (
        dx.top_k_accuracy(theta, pred, insight="learned", random_seed=seed) for seed in (1, 1, 2)
    )
    xr.testing.assert_identical(one, again)
    assert not one.equals(other)


def test_what_it_cannot_be_is_refused(make):
    theta = make.theta(1)
    pred = make.lists(1, theta)
    point = theta.mean(DRAWS)
    for plausibility, insight, words in (
        (theta, 0.3, r"a DataArray over 'system'.*found 0\.3"),
        (theta, "much", r"None, 'learned', or a DataArray"),
        (theta, of([0.1], "s"), r"finite numbers for \['s', 't'\]"),
        (theta, of([0.1, np.inf], "s", "t"), r"finite numbers"),
        (point, "learned", r"beside a point estimate"),
        (theta, of([0.1, 0.2], "s", "t").expand_dims(draw=9), r"no dims but.*'draw': 9"),
        (theta, of([0.1, 0.2], "s", "t").expand_dims(item=3), r"no dims but.*'item': 3"),
    ):
        with pytest.raises(dx.ArgumentError, match=rf"^insight: expected .*{words}"):
            dx.top_k_accuracy(plausibility, pred, insight=insight)


@pytest.fixture(scope="module")
def split_panel():
    """Items of which a panel is more or less split, three labels of each, and two systems.

    One gives the leading label on nine of ten items, however even the split; one errs as people do.
    """
    rng = np.random.default_rng(4)
    n_items = 1000
    share = rng.beta(1.2, 0.8, n_items)
    yes = share > 0.5
    answers = {
        "noise": np.where(rng.random(n_items) < 0.9, yes, ~yes),
        "person": rng.random(n_items) < share,
    }
    item = np.repeat(np.arange(n_items), 3)
    label = np.array(["no", "yes"])[(rng.random(3 * n_items) < share[item]).astype(int)]
    ann = dx.annotations({"item": item, "annotator": np.tile(list("abc"), n_items), "label": label})
    table = {
        "item": np.tile(np.arange(n_items), 2),
        "system": np.repeat(list(answers), n_items),
        "label": np.array(["no", "yes"])[np.concatenate(list(answers.values())).astype(int)],
    }
    truth = {name: float((said == yes).mean()) for name, said in answers.items()}
    return ann, dx.predictions(table), truth


@pytest.fixture(scope="module")
def judged(split_panel):
    return dx.evaluate(
        *split_panel[:2], draws=200, reliability=[1, 2], truth_model=None, ground_truth=None,
        components=None, random_seed=3, progressbar=False,
    )  # fmt: skip


def test_an_evaluation_leaves_it_open(split_panel, judged):
    _, pred, truth = split_panel
    found = judged["answers"]["panel_agreement"]
    theta = judged["posterior"]["plausibility"]
    again = dx.top_k_accuracy(theta, pred, insight="learned", random_seed=3)
    xr.testing.assert_allclose(found.transpose(*again.dims).drop_attrs(), again.drop_attrs())
    without = dx.top_k_accuracy(theta, pred)
    low, high = found.quantile([0.01, 0.99], DRAWS)
    for system, value in truth.items():
        assert low.sel(system=system) < value < high.sel(system=system)
    assert without.max(DRAWS).sel(system="noise") < truth["noise"]  # what is mended
    assert (found.std(DRAWS) > without.std(DRAWS)).all()


def test_it_is_the_same_at_all_reliabilities_and_in_chunks(split_panel, judged):
    draws = judged["metrics"]["top_1_accuracy"].sel(scope="these items")
    both = draws.stack(sample=DRAWS).sel(system="noise")
    assert np.corrcoef(both.sel(reliability=1), both.sel(reliability=2))[0, 1] > 0.8
    ann, pred, _ = split_panel
    cut = dx.evaluate(
        ann, pred, draws=200, reliability=[1, 2], truth_model=None, ground_truth=None,
        components=None, random_seed=3, progressbar=False, chunks=300,
    )  # fmt: skip
    xr.testing.assert_allclose(cut["metrics"].to_dataset(), judged["metrics"].to_dataset())


def test_a_fixed_prior_has_none(split_panel):
    ann, pred, _ = split_panel
    fixed = dx.evaluate(
        ann, pred, draws=100, reliability=[1], truth_model=None, ground_truth=None,
        components=None, random_seed=3, progressbar=False, prior_count=1,
    )  # fmt: skip
    plain = dx.top_k_accuracy(fixed["posterior"]["plausibility"], pred)
    found = fixed["answers"]["panel_agreement"]
    xr.testing.assert_allclose(found.transpose(*plain.dims).drop_attrs(), plain.drop_attrs())


def test_categories_of_one_label_each_have_the_same(split_panel):
    ann, pred, _ = split_panel
    found = dx.evaluate(
        ann, pred, draws=100, reliability=[1], truth_model=None, ground_truth=None,
        components=None, random_seed=3, progressbar=False, groups={"no": "n", "yes": "y"},
    )  # fmt: skip
    np.testing.assert_allclose(
        found["categories"]["top_1_accuracy"], found["metrics"]["top_1_accuracy"], atol=1e-12
    )
