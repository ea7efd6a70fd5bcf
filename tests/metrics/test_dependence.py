"""Labels that depend on each other: factors and draws of sets, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import gammaln

import dissensus as dx
from dissensus.kernels.label_sets import draw_sets
from dissensus.metrics._dependence import chances, dependence

QUIET = {"draws": 300, "tune": 200, "random_seed": 1, "progressbar": False}
ALL = np.array(list(itertools.product([False, True], repeat=3)))


def test_sets_have_the_probabilities_that_enumeration_gives():
    rng = np.random.default_rng(1)
    p = np.array([0.2, 0.5, 0.7])
    sets, log_factor, log_rest = ALL[[1, 6, 7]], np.log([2.0, 0.3, 5.0]), np.log(0.4)
    n = 200_000
    out = np.zeros((n, 1, 3), dtype=bool)
    draw_sets(
        np.broadcast_to(p, (n, 1, 3)), sets, log_factor, log_rest, rng.random((n, 1)),
        rng.random((n, 1, 3)), out,
    )  # fmt: skip
    factor = np.full(8, 0.4)
    factor[[1, 6, 7]] += [2.0, 0.3, 5.0]
    expected = factor * np.where(ALL, p, 1 - p).prod(axis=1)
    expected /= expected.sum()
    code = (out[:, 0] * [4, 2, 1]).sum(axis=1)
    found = np.bincount(code, minlength=8) / n
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(0.25 / n))


def test_the_weight_of_the_prior_has_the_largest_likelihood():
    rng = np.random.default_rng(2)
    own = rng.normal(0, 1.5, (300, 1))
    answers = rng.random((300, 3)) < 1 / (1 + np.exp(-own - np.array([0.0, 0.5, -1.0])))
    found = dependence(answers)
    n, share = 300, (answers.sum(axis=0) + 0.5) / 301
    count = np.array([(answers == one).all(axis=1).sum() for one in ALL])
    alone = np.where(ALL, share, 1 - share).prod(axis=1)

    def likelihood(a):
        each = gammaln(count + a * alone) - gammaln(a * alone)
        return each.sum() + gammaln(a) - gammaln(n + a)

    weight = n / (np.exp(-found.log_rest) - 1)
    assert likelihood(weight) >= max(likelihood(weight * 1.05), likelihood(weight / 1.05))
    for one, factor in zip(found.sets, found.log_factor, strict=True):
        k = (one == ALL).all(axis=1).argmax()
        assert np.exp(factor) == pytest.approx(count[k] / alone[k] / (n + weight))
    assert np.exp(found.log_rest) == pytest.approx(weight / (n + weight))


@pytest.mark.parametrize("seed", range(5))
def test_labels_that_are_independent_stay_so(seed):
    rng = np.random.default_rng([4, seed])
    assert dependence(rng.random((200, 4)) < [0.1, 0.3, 0.5, 0.8]) is None
    assert dependence(rng.random((200, 1)) < 0.5) is None
    assert dependence(np.zeros((0, 3), dtype=bool)) is None


def test_probabilities_keep_means_and_what_items_share():
    rng = np.random.default_rng(3)
    shift, item = rng.normal(0, 0.6, (4, 500, 1)), rng.normal(0, 1.5, 80)
    member = rng.random((4, 500, 80)) < 1 / (1 + np.exp(-item - shift))
    p = chances(member)
    again = rng.random(p.shape) < p
    np.testing.assert_allclose(p.mean((0, 1)), member.mean((0, 1)), atol=0.03)
    mine, before = again.sum(-1).std(), member.sum(-1).std()
    assert mine == pytest.approx(before, rel=0.1)
    claim = item > 0
    of_group = chances(member, claim)[..., claim].sum(-1)
    assert of_group.mean() == pytest.approx(member[..., claim].sum(-1).mean(), rel=0.02)


def test_the_same_sets_have_the_same_scores():
    rows = {"item": np.repeat(np.arange(30), 3), "annotator": np.tile(list("abc"), 30),
            "label": np.random.default_rng(1).choice(["x", "y", "z"], 90)}  # fmt: skip
    ann = dx.annotations(rows, kind="set")
    same = {"item": np.tile(np.arange(30), 2), "system": np.repeat(["m", "n"], 30),
            "label": np.tile(rows["label"][::3], 2)}  # fmt: skip
    pred = dx.predictions(same, kind="set")
    fits = dx.by_label(dx.models.dirichlet.fit, ann, predictions=pred, **QUIET)
    assert fits.answers.sum(axis=1).max() == 1
    found = dx.set_score(fits, pred, random_seed=1)
    for values in found.data_vars.values():
        np.testing.assert_array_equal(values.sel(system="m"), values.sel(system="n"))
    # A set of two labels hardly occurs where each answer has one.
    alone = dx.set_score(dict(fits), pred, random_seed=1)
    assert (found["exact_match"].mean() > alone["exact_match"].mean() + 0.02).all()


@pytest.mark.long
@pytest.mark.parametrize("model", ["dirichlet", "dawid_skene"])
def test_scores_are_right_where_labels_exclude_each_other(model):
    """The true sets have one label each, and annotators give it in 7 of 10 cases or more."""
    errors, alone = [], []
    for seed in range(4):
        rng = np.random.default_rng([7, seed])
        truth = rng.integers(4, size=150)
        said = np.where(rng.random((3, 150)) < 0.65, truth, rng.integers(4, size=(3, 150)))
        system = np.where(rng.random(150) < 0.8, truth, rng.integers(4, size=150))
        names = np.array(list("wxyz"))
        ann = dx.annotations(
            {"item": np.tile(np.arange(150), 3), "annotator": np.repeat(np.arange(3), 150),
             "label": names[said].ravel()}, kind="set",
        )  # fmt: skip
        pred = dx.predictions(
            {"item": np.arange(150), "system": ["m"] * 150, "label": names[system]}, kind="set"
        )
        fit = dx.models.get(model).module.fit
        fits = dx.by_label(fit, ann, predictions=pred, **QUIET)
        known = (system == truth).mean()
        for to, given in ((errors, fits), (alone, dict(fits))):
            to.append(float(dx.set_score(given, pred, random_seed=1)["jaccard"].mean()) - known)
    assert abs(np.mean(errors)) < 0.04
    assert np.mean(np.abs(errors)) < np.mean(np.abs(alone))


@pytest.mark.long
def test_scores_of_real_panels_whose_sets_have_one_label(shared):
    """ChaosNLI: three of 100 labels are seen, and the other 97 show the panel's set."""
    votes = pd.read_csv(shared / "chaosnli_snli" / "votes100.csv.gz").set_index("item")
    rng = np.random.default_rng(1)
    votes = votes.iloc[rng.choice(len(votes), 250, replace=False)]
    names, share = np.array(list(votes.columns)), votes.to_numpy() / 100
    seen = [rng.permutation(np.repeat(np.arange(3), row))[:3] for row in votes.to_numpy()]
    items = votes.index.to_numpy()
    ann = dx.annotations({"item": np.repeat(items, 3), "annotator": np.arange(750),
                          "label": names[np.concatenate(seen)]}, kind="set")  # fmt: skip
    truth = share > 0.5
    other = np.eye(3, dtype=bool)[rng.integers(3, size=250)]
    said = np.where(rng.random((250, 1)) < 0.2, other, truth)
    rows = [{"item": item, "system": "m", "label": names[row].tolist()}
            for item, row in zip(items, said, strict=True)]  # fmt: skip
    pred = dx.predictions(pd.DataFrame(rows), kind="set")
    found = dx.evaluate(ann, pred, **QUIET)["metrics"]["jaccard"].sel(scope="these items")
    either = (said | truth).sum(axis=1)
    known = np.where(either > 0, (said & truth).sum(axis=1) / np.maximum(either, 1), 1.0).mean()
    assert float(found.mean()) == pytest.approx(known, abs=0.08)  # .12 too low if independent
    low, high = np.quantile(found, [0.055, 0.945])
    assert low - 0.02 <= known <= high + 0.02


def test_draws_are_taken_as_they_are():
    share = xr.DataArray(
        np.array([[[[0.1, 0.9], [0.8, 0.2]]]]), dims=("chain", "draw", "item", "label"),
        coords={"item": [1, 2], "label": ["no", "yes"]},
    )  # fmt: skip
    pred = dx.predictions({"item": [1, 2], "system": ["m"] * 2, "label": ["a", "b"]}, kind="set")
    found = dx.set_score({"a": share, "b": 1 - share}, pred)
    assert float(found["exact_match"].item()) == 1.0
