"""Scores of predicted sets, against sums by hand and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from refusals import check_refused
from sklearn import metrics as sklearn

import dissensus as dx

NAMES = ["anger", "fear", "joy", "love"]
N_ITEMS, N_DRAWS = 12, 6


def text(held):
    return [";".join(np.array(NAMES)[row]) or "none" for row in held]


def draws_of(share):
    """Fits by label of an array (draw, item, label)."""
    return {
        label: xr.DataArray(
            np.stack([1 - share[None, ..., k], share[None, ..., k]], axis=-1),
            dims=("chain", "draw", "item", "label"),
            coords={"item": np.arange(share.shape[1]), "label": ["no", "yes"]},
        )
        for k, label in enumerate(NAMES)
    }  # fmt: skip


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(1)
    share = rng.beta(0.5, 0.7, size=(N_DRAWS, N_ITEMS, 4))
    share[:, 0] = 0.1  # empty sets
    held = rng.random((2, N_ITEMS, 4)) < np.array([0.6, 0.3])[:, None, None]
    held[0, 0] = False
    rows = {"item": np.tile(np.arange(N_ITEMS), 2), "system": ["s"] * N_ITEMS + ["t"] * N_ITEMS}
    pred = dx.predictions(
        rows | {"label": text(held.reshape(-1, 4))}, kind="set", separator=";", none="none"
    )
    return draws_of(share), pred, share > 0.5, held


def test_each_draw_is_what_scikit_learn_says(study):
    fits, pred, true, held = study
    scores = dx.set_score(fits, pred)
    assert scores["jaccard"].dims == ("chain", "draw", "system")
    assert set(scores) == {"exact_match", "jaccard", "micro_f1", "macro_f1"}
    for d in range(N_DRAWS):
        for s, system in enumerate("st"):
            mine = scores.sel(system=system).isel(chain=0, draw=d)
            pair = true[d], held[s]
            assert mine["exact_match"].item() == sklearn.accuracy_score(*pair)
            expected = sklearn.jaccard_score(*pair, average="samples", zero_division=1)
            assert mine["jaccard"].item() == pytest.approx(expected, abs=1e-12)
            for name, average in (("micro_f1", "micro"), ("macro_f1", "macro")):
                expected = sklearn.f1_score(*pair, average=average, zero_division=np.nan)
                assert mine[name].item() == pytest.approx(expected, abs=1e-12)


def test_weights_are_items_counted_so_often(study):
    fits, pred, true, held = study
    times = np.arange(N_ITEMS) % 3
    scores = dx.set_score(fits, pred, weights=times).sel(system="t").isel(chain=0, draw=2)
    pair = np.repeat(true[2], times, axis=0), np.repeat(held[1], times, axis=0)
    assert scores["exact_match"].item() == pytest.approx(sklearn.accuracy_score(*pair))
    assert scores["micro_f1"].item() == pytest.approx(sklearn.f1_score(*pair, average="micro"))
    expected = sklearn.f1_score(*pair, average="macro", zero_division=np.nan)
    assert scores["macro_f1"].item() == pytest.approx(expected)
    new = dx.set_score(fits, pred, weights="bayesian-bootstrap", random_seed=1)
    xr.testing.assert_identical(
        new, dx.set_score(fits, pred, weights="bayesian-bootstrap", random_seed=1)
    )
    assert not new.equals(dx.set_score(fits, pred, weights="bayesian-bootstrap", random_seed=2))


@pytest.mark.parametrize("tied", [False, True])
def test_the_ranking_loss_is_the_share_of_pairs_in_the_wrong_order(study, tied):
    fits, _, true, _ = study
    rng = np.random.default_rng(2)
    score = rng.integers(0, 3, (N_ITEMS, 4)) / 2 if tied else rng.random((N_ITEMS, 4))
    item, label = (each.ravel() for each in np.indices(score.shape))
    pred = dx.predictions({
        "item": item, "system": ["m"] * len(item), "label": np.array(NAMES)[label],
        "score": score.ravel(),
    }, score="score")  # fmt: skip
    scores = dx.set_score(fits, pred)["ranking_loss"].isel(chain=0, system=0)
    for d in range(N_DRAWS):
        each = []
        for i in range(N_ITEMS):
            inside, outside = score[i, true[d, i]], score[i, ~true[d, i]]
            if len(inside) and len(outside):
                gap = outside[:, None] - inside
                each.append((gap > 0).mean() + (gap == 0).mean() / 2)
        assert scores.values[d] == pytest.approx(np.mean(each), abs=1e-12)
    if not tied:
        two = (true[0].sum(1) > 0) & (true[0].sum(1) < 4)
        expected = sklearn.label_ranking_loss(true[0][two], score[two])
        assert scores.values[0] == pytest.approx(expected, abs=1e-12)


def test_labels_that_are_not_listed_come_last(study):
    fits, _, true, _ = study
    pred = dx.predictions({
        "item": np.repeat(np.arange(N_ITEMS), 2), "system": ["m"] * 2 * N_ITEMS,
        "label": ["joy", "fear"] * N_ITEMS, "rank": [1, 2] * N_ITEMS,
    }, rank="rank")  # fmt: skip
    scores = dx.set_score(fits, pred)["ranking_loss"].isel(chain=0, system=0)
    place = np.array([3.5, 2, 1, 3.5])
    each = []
    for i in range(N_ITEMS):
        gap = place[true[1, i]] - place[~true[1, i]][:, None]
        if gap.size:
            each.append((gap > 0).mean() + (gap == 0).mean() / 2)
    assert scores.values[1] == pytest.approx(np.mean(each), abs=1e-12)


def test_true_sets_are_drawn_from_the_probabilities_of_the_truth():
    """Their expected values are sums over all sets."""
    rng = np.random.default_rng(3)
    share = rng.random((5, 4))
    truth = np.broadcast_to(share, (2000, 5, 4))
    fits = {
        label: draws.to_dataset(name="truth").assign_coords(system=["l", "m"])
        for label, draws in draws_of(truth).items()
    }
    held = rng.random((5, 4)) < 0.5
    pred = dx.predictions(
        {"item": np.arange(5), "system": ["m"] * 5, "label": text(held)},
        kind="set", separator=";", none="none",
    )  # fmt: skip
    scores = dx.set_score(fits, pred, random_seed=1).mean(("chain", "draw"))
    exact, jaccard = 0.0, 0.0
    for code in range(16):
        member = np.array([code >> k & 1 for k in range(4)], dtype=bool)
        p = np.where(member, share, 1 - share).prod(axis=1)
        both, either = (member & held).sum(1), (member | held).sum(1)
        exact += (p * (member == held).all(axis=1)).mean()
        jaccard += (p * np.where(either > 0, both / np.maximum(either, 1), 1.0)).mean()
    assert scores["exact_match"].item() == pytest.approx(exact, abs=0.01)
    assert scores["jaccard"].item() == pytest.approx(jaccard, abs=0.01)
    again = dx.set_score(fits, pred, random_seed=1)
    xr.testing.assert_identical(dx.set_score(fits, pred, random_seed=1), again)
    assert not again.equals(dx.set_score(fits, pred, random_seed=2))


def test_with_correlated_errors_a_prediction_adds_its_weight_to_the_log_odds():
    rng = np.random.default_rng(6)
    share, weight = rng.uniform(0.1, 0.9, (5, 4)), rng.normal(1.0, 0.5, (4, 2, 2))
    truth = np.broadcast_to(share, (4000, 5, 4))
    fits = {
        label: draws.to_dataset(name="truth").assign(
            system_weight=(("chain", "draw", "system", "label"),
                           np.broadcast_to(weight[k], (1, 4000, 2, 2))),
            error_correlation=(("chain", "draw"), np.full((1, 4000), 0.5)),
        ).assign_coords(system=["l", "m"])
        for k, (label, draws) in enumerate(draws_of(truth).items())
    }  # fmt: skip
    held = rng.random((2, 5, 4)) < 0.5
    rows = {"item": np.tile(np.arange(5), 2), "system": np.repeat(["m", "l"], 5)}
    pred = dx.predictions(
        rows | {"label": text(held.reshape(-1, 4))}, kind="set", separator=";", none="none"
    )
    scores = dx.set_score(fits, pred, random_seed=1)["exact_match"].mean(("chain", "draw"))
    for name, answer, place in (("m", held[0], 1), ("l", held[1], 0)):
        right = np.where(answer, share, 1 - share)
        # Of the labels of a fit, "no" comes first.
        added = np.where(answer, weight[:, place, 1], weight[:, place, 0])
        odds = right / (1 - right) * np.exp(added)
        expected = (odds / (1 + odds)).prod(axis=1).mean()
        assert scores.sel(system=name).item() == pytest.approx(expected, abs=0.01)


def test_insight_is_that_of_the_accuracy_of_each_label(study):
    """With one label, exact match is `top_k_accuracy` of yes and no."""
    rng = np.random.default_rng(8)
    theta = rng.beta(2, 2, size=(400, N_ITEMS, 4))
    fits, pred = draws_of(theta), study[1]
    joy = {"joy": fits["joy"]}
    held = study[3][..., 2]
    rows = {"item": np.tile(np.arange(N_ITEMS), 2), "system": ["s"] * N_ITEMS + ["t"] * N_ITEMS}
    sets = dx.predictions(
        rows | {"label": np.where(held.ravel(), "joy", "none")}, kind="set", none="none"
    )
    answers = dx.predictions(rows | {"label": np.where(held.ravel(), "yes", "no")})
    for value in (0.0, 1.5, -0.3):
        given = xr.DataArray([value, 0.0], dims="system", coords={"system": ["s", "t"]})
        mine = dx.set_score(joy, sets, insight=given, random_seed=1)["exact_match"]
        accuracy = dx.top_k_accuracy(fits["joy"], answers, insight=given, random_seed=1)
        np.testing.assert_allclose(
            mine.mean(("chain", "draw")), accuracy.mean(("chain", "draw")), atol=0.01
        )
    learned = dx.set_score(fits, pred, insight="learned", random_seed=1)
    alone = dx.set_score(
        dict(reversed(fits.items())), pred.isel(system=[1]), insight="learned", random_seed=1
    )
    both = xr.Dataset({"a": learned["jaccard"].sel(system="t"), "b": alone["jaccard"][..., 0]})
    assert float(xr.corr(both["a"], both["b"])) > 0.7
    plain = dx.set_score(fits, pred)
    assert (
        learned["jaccard"].std(("chain", "draw")) > plain["jaccard"].std(("chain", "draw"))
    ).all()
    truth = {
        k: fit.to_dataset(name="truth").assign_coords(system=["s", "t"]) for k, fit in fits.items()
    }
    check_refused(dx.ArgumentError, [
        ("truth", lambda: dx.set_score(truth, pred, insight="learned"), "it is about a panel"),
        ("a word", lambda: dx.set_score(fits, pred, insight="much"), "insight: expected None"),
    ])  # fmt: skip


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")  # 20 items, rare labels
def test_fits_to_the_truth_without_the_system_are_refused():
    rng = np.random.default_rng(7)
    true = rng.random((20, 4)) < 0.4
    item, who = (each.ravel() for each in np.indices((20, 4)))
    labels = true[item] ^ (rng.random((80, 4)) < 0.2)
    words = {"kind": "set", "separator": ";", "none": "none"}
    ann = dx.annotations({"item": item, "annotator": who, "label": text(labels)}, **words)
    pred = dx.predictions(
        {"item": np.arange(20), "system": ["m"] * 20, "label": text(true)}, **words
    )
    quick = {"draws": 20, "tune": 20, "chains": 2, "random_seed": 1, "progressbar": False}
    two = dx.predictions({
        "item": np.repeat(np.arange(20), 2), "system": ["m"] * 40, "label": ["joy", "fear"] * 20,
        "score": [0.7, 0.2] * 20,
    }, score="score")  # fmt: skip

    def fits(**more):
        return dx.by_label(dx.models.dawid_skene.fit, ann, **more, **quick)

    check_refused(dx.ArgumentError, [
        ("alone", lambda: dx.set_score(fits(), pred), "found a fit without 'm'"),
        ("cut", lambda: dx.set_score(fits(predictions=pred, evidence="annotators"), pred),
         'found a fit with evidence="annotators"'),
        ("lists", lambda: dx.set_score(fits(predictions=pred, error_correlation=0.5), two),
         "in which lists are not evidence"),
        ("no items", lambda: dx.set_score(fits(predictions=pred, keep_items=False), pred),
         "expected draws of the panel"),
    ])  # fmt: skip
    for more in ({}, {"error_correlation": 0.5}, {"error_correlation": 0.5, "evidence": "all"}):
        scores = dx.set_score(fits(predictions=pred, **more), pred, random_seed=1)
        assert float(scores["micro_f1"].mean()) > 0.6
    assert float(dx.set_score(fits(predictions=pred), two)["ranking_loss"].mean()) < 0.7


def test_labels_of_their_own_are_wrong(study):
    fits, pred, _, held = study
    more = np.where(held[0].any(1), text(held[0]), "awe").tolist()
    more = [f"{labels};awe" if labels != "awe" else labels for labels in more]
    given = {"item": np.arange(N_ITEMS), "system": ["s"] * N_ITEMS, "label": more}
    stray = dx.predictions(given, kind="set", separator=";", none="none")
    with pytest.warns(dx.DissensusWarning, match="'awe'"):
        scores = dx.set_score(fits, stray)
    assert (scores["exact_match"] == 0).all()
    assert (scores["micro_f1"] < dx.set_score(fits, pred)["micro_f1"].sel(system=["s"])).all()


def test_from_annotations_to_scores():
    """The panel's sets of a fit: with many labels an item they are those of the majority."""
    rng = np.random.default_rng(5)
    share = np.where(rng.random((30, 4)) < 0.4, 0.9, 0.05)
    held = rng.random((30, 15, 4)) < share[:, None]
    item, who = (each.ravel() for each in np.indices((30, 15)))
    words = {"kind": "set", "separator": ";", "none": "none"}
    ann = dx.annotations(
        {"item": item, "annotator": who, "label": text(held.reshape(-1, 4))}, **words
    )
    system = (share > 0.5) ^ (rng.random((30, 4)) < 0.1)
    pred = dx.predictions(
        {"item": np.arange(30), "system": ["m"] * 30, "label": text(system)}, **words
    )
    quick = {"draws": 50, "tune": 50, "chains": 2, "random_seed": 1, "progressbar": False}
    fits = dx.by_label(dx.models.dirichlet.fit, ann, **quick)
    scores = dx.set_score(fits, pred).mean(("chain", "draw")).isel(system=0)
    top = held.mean(1) > 0.5
    assert scores["exact_match"].item() == pytest.approx((top == system).all(1).mean(), abs=0.04)
    assert scores["micro_f1"].item() == pytest.approx(
        sklearn.f1_score(top, system, average="micro"), abs=0.02
    )


LABELS = dx.predictions({"item": [0, 1], "system": ["s", "s"], "label": ["joy", "fear"]})
BAD = {
    "a fit": (lambda fits: next(iter(fits.values())), "fits: expected a fit for each label"),
    "nothing": (lambda fits: {}, "fits: expected a fit for each label"),
    "other answers": (
        lambda fits: {k: fit.assign_coords(label=["a", "b"]) for k, fit in fits.items()},
        "fits, label 'anger': expected a fit to the answers \"yes\" and \"no\"; found the labels",
    ),
    "other items": (
        lambda fits: fits | {"joy": fits["joy"].assign_coords(item=np.arange(1, N_ITEMS + 1))},
        "fits, label 'joy': expected the same items, chains and draws as for 'anger'",
    ),
    "fewer draws": (
        lambda fits: fits | {"joy": fits["joy"].isel(draw=slice(2))},
        "fits, label 'joy': expected the same items",
    ),
    "of a panel and of the truth": (
        lambda fits: fits | {"joy": fits["joy"].to_dataset(name="truth").assign_coords(
            system=["s", "t"])},
        "fits: expected fits of one model to all labels; found of a panel: label 'love'; of the",
    ),
    "the truth without systems": (
        lambda fits: {k: fit.rename("truth") for k, fit in fits.items()},
        "fits, label 'anger': expected a fit in which predictions of these systems are evidence",
    ),
    "the truth without draws": (
        lambda fits: {k: fit.mean(("chain", "draw")).to_dataset(name="truth").assign_coords(
            system=["s", "t"]) for k, fit in fits.items()},
        "fits, label 'anger': expected draws along",
    ),
    "not a number": (
        lambda fits: fits | {"joy": fits["joy"].where(fits["joy"]["item"] > 0)},
        "expected shares, from 0 to 1; found nan",
    ),
    "tuples": (
        lambda fits: {(k, 1): fit for k, fit in fits.items()}, "fits: expected labels that are",
    ),
    "no draws of items": (
        lambda fits: {k: fit.to_dataset(name="prevalence") for k, fit in fits.items()},
        "fits, label 'anger': expected draws of the panel",
    ),
}  # fmt: skip


def test_what_are_no_fits_by_label_is_refused(study):
    fits, pred, _, _ = study
    check_refused(dx.ArgumentError, [
        (name, lambda change=change: dx.set_score(change(fits), pred), words)
        for name, (change, words) in BAD.items()
    ])  # fmt: skip


def test_single_labels_are_refused(study):
    fits = {k: fit.isel(item=slice(2)) for k, fit in study[0].items()}
    with pytest.raises(dx.PredictionError, match=r'expected sets \(kind="set"\), or lists'):
        dx.set_score(fits, LABELS)
