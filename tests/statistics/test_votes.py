"""Leave-one-annotator-out agreement, and accuracies against one annotator and the vote."""

from __future__ import annotations

import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from small_studies import study

import dissensus as dx
from dissensus.statistics._votes import by_annotator

A, B, C, D = "abcd"


def credit(scores, named, ties):
    """What naming some labels counts, from the others' exact scores."""
    leaders = {label for label, score in scores.items() if score == max(scores.values())}
    hit = leaders & named
    return float(bool(hit)) if ties == "any" else len(hit) / len(leaders)


def by_definition(labels_by_item, ties):
    """Item -> agreement, from item -> annotator -> list of {label: vote}, without rounding."""
    out = {}
    for item, by in labels_by_item.items():
        result = []
        for r, own in by.items():
            scores: dict = {}
            for s, statements in by.items():
                for votes in statements if s != r else []:
                    for label, vote in votes.items():
                        scores[label] = scores.get(label, 0) + vote / len(statements)
            if scores:
                result.append(credit(scores, {label for labels in own for label in labels}, ties))
        out[item] = float(np.mean(result)) if result else np.nan
    return out


def of_labels(made):
    """Votes of single labels."""
    return {
        item: {r: [{label: Fraction(1)} for label in labels] for r, labels in by.items()}
        for item, by in made.labels_by_item().items()
    }


def of_rankings(rankings):
    """Votes of inverse ranks (Stutz et al. 2023, Eq. 14), from item -> annotator -> rankings."""

    def votes(blocks):
        pairs = [(label, Fraction(1, place * len(block)))
                 for place, block in enumerate(blocks, start=1) for label in block]  # fmt: skip
        return dict(pairs)

    return {
        item: {r: [votes(blocks) for blocks in given] for r, given in by.items()}
        for item, by in rankings.items()
    }


def random_rankings(rng, trials):
    """Item -> annotator -> one ranking or several: blocks of a few of six labels."""
    out: dict = {}
    for i in range(rng.integers(1, 5)):
        out[f"i{i}"] = {}
        for r in range(rng.integers(1, 6)):
            given = []
            for _ in range(rng.integers(1, 4) if trials else 1):
                labels = rng.permutation(6)[: rng.integers(1, 5)].tolist()
                cuts = sorted(set(rng.integers(1, len(labels) + 1, size=2).tolist()))
                blocks = np.split(labels, cuts)
                given.append([block.tolist() for block in blocks if len(block)])
            out[f"i{i}"][f"r{r}"] = given
    return out


def as_annotations(rankings):
    rows = [
        (item, r, trial, label, place)
        for item, by in rankings.items()
        for r, given in by.items()
        for trial, blocks in enumerate(given)
        for place, block in enumerate(blocks, start=1)
        for label in block
    ]
    names = ("item", "annotator", "trial", "label", "rank")
    table = dict(zip(names, zip(*rows, strict=True), strict=True))
    return dx.annotations(table, rank="rank", trial="trial", labels=range(6))


def check(ann, expected, ties, rng):
    """Compare each item, and the weighted mean."""
    weights = {item: float(w) for item, w in zip(expected, rng.random(len(expected)), strict=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        each = dx.leave_one_out_agreement(ann, ties=ties, per_item=True)
        mean = dx.leave_one_out_agreement(ann, ties=ties, weights=weights)
    values = each.sel(item=list(expected)).values
    np.testing.assert_allclose(values, list(expected.values()), rtol=0, atol=1e-12)
    paired = {item: o for item, o in expected.items() if not np.isnan(o)}
    if paired:
        of = [weights[item] for item in paired]
        np.testing.assert_allclose(
            float(mean), np.average(list(paired.values()), weights=of), rtol=0, atol=1e-12
        )
    else:
        assert np.isnan(float(mean))


@pytest.mark.unit(4)
@pytest.mark.parametrize("ties", ["share", "any"])
@pytest.mark.parametrize("trials", [False, True])
def test_is_its_definition(ties, trials):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        kind, n_labels = ("nominal", "ordinal")[seed % 2], 2 + seed % 4
        made = study(seed, kind, n_annotators=2 + seed % 6, n_labels=n_labels, trials=trials)
        check(made.annotations(), by_definition(of_labels(made), ties), ties, rng)
        rankings = random_rankings(rng, trials)
        check(as_annotations(rankings), by_definition(of_rankings(rankings), ties), ties, rng)


def test_by_hand():
    """Of x, x, y: each x sees x and y tied (1/2), y sees x, x (0); so 1/3, or 2/3 with "any"."""
    ann = dx.from_matrix([["x", "x", "y"]])
    assert float(dx.leave_one_out_agreement(ann)) == pytest.approx(1 / 3)
    assert float(dx.leave_one_out_agreement(ann, ties="any")) == pytest.approx(2 / 3)


def test_rankings_by_hand():
    """On i: a before b; b; b before a. On j: a; b and c tied."""
    ann = dx.from_rankings(
        {"i": {"1": [[A], [B]], "2": [[B]], "3": [[B], [A]]}, "j": {"1": [[A]], "2": [[B, C]]}},
        labels=[A, B, C, D],
    )
    # Without 1, b has 1 + 1 and a 1/2: 1 names b. Without 2, a has 1 + 1/2 and b 1/2 + 1: 2 names
    # one of two. Without 3, a has 1 and b 1/2 + 1: 3 names b. On j nobody names the other's.
    each = dx.leave_one_out_agreement(ann, per_item=True)
    np.testing.assert_allclose(each, [2.5 / 3, 0.0])


def test_many_labels_and_annotators_take_time_linear_in_them():
    """All distinct, 20,000 on one item: every pair looked at would be 4e8 steps (no clock here)."""
    n = 20_000
    ann = dx.annotations({"item": [0] * n, "annotator": range(n), "label": range(n)},
                         kind="nominal")  # fmt: skip
    assert float(dx.leave_one_out_agreement(ann)) == 0.0


def test_says_why_it_is_undefined():
    lonely = dx.from_matrix([["x"], ["y"]])
    with pytest.warns(dx.DissensusWarning, match="no item has labels of two annotators"):
        assert np.isnan(float(dx.leave_one_out_agreement(lonely)))
    partly = dx.from_matrix([["x", "x"], ["y", None]])
    with pytest.warns(dx.DissensusWarning, match="in 1 of 2 values: fewer than two annotators"):
        assert np.isnan(dx.leave_one_out_agreement(partly, per_item=True).sel(item=1))


def test_refuses_what_makes_no_sense():
    ann = dx.from_matrix([["x", "x"], ["y", "x"]])
    with pytest.raises(dx.ArgumentError, match="weights"):
        dx.leave_one_out_agreement(ann, per_item=True, weights=[1, 1])
    with pytest.raises(dx.ArgumentError, match="per_item"):
        dx.bayesian_bootstrap(dx.leave_one_out_agreement, dx.from_matrix([["x", "x"]] * 30),
                              per_item=True)  # fmt: skip


@pytest.mark.long
def test_goes_with_annotation_certainty_as_in_the_source(shared):
    """Correlation .85 for Plackett-Luce at medium reliability (Stutz et al. 2023, Figure 13).

    The source has 1,947 cases, the folder the first 600. With inverse ranks, drawn exactly and
    quickly, it is .87 at reliability 10 and .85 at 20.
    """
    table = pd.read_csv(shared / "dermatology" / "rankings.csv")
    ann = dx.annotations(table, label="class", rank="rank", labels=range(419))
    with pytest.warns(dx.DissensusWarning, match="fewer than two"):
        agreement = dx.leave_one_out_agreement(ann, per_item=True)
    fit = dx.models.inverse_rank.fit(ann, draws=200, chains=1, random_seed=1, progressbar=False,
                                     reliability=20.0)  # fmt: skip
    certainty = dx.annotation_certainty(fit)
    both = np.isfinite(agreement.values)
    assert both.sum() == 594
    assert np.corrcoef(agreement.values[both], certainty.values[both])[0, 1] == pytest.approx(
        0.85, abs=0.02
    )


@pytest.mark.long
def test_goes_with_the_certainty_of_simulated_rankings():
    """Both written out in NumPy: votes of inverse ranks, and draws of a Dirichlet around them."""
    rng = np.random.default_rng(5)
    rankings = {}
    for item in range(40):
        share = rng.dirichlet(np.full(6, rng.choice([0.1, 0.5, 5.0]))) + 1e-6
        orders = (rng.choice(6, 3, replace=False, p=share / share.sum()) for _ in range(4))
        rankings[f"i{item}"] = {f"r{r}": [[[k] for k in order.tolist()]]
                                for r, order in enumerate(orders)}  # fmt: skip
    agreement = list(by_definition(of_rankings(rankings), "share").values())
    certainty = []
    for by in rankings.values():
        score = np.zeros(6)
        for (first,), (second,), (third,) in (lists[0] for lists in by.values()):
            score[[first, second, third]] += 1, 1 / 2, 1 / 3
        draws = rng.standard_gamma(20 * score / score.sum(), size=(4000, 6))
        certainty.append(np.bincount(draws.argmax(axis=1)).max() / 4000)
    expected = np.corrcoef(agreement, certainty)[0, 1]
    ann = as_annotations(rankings)
    fit = dx.models.inverse_rank.fit(ann, draws=1000, chains=1, random_seed=1, progressbar=False,
                                     reliability=20.0)  # fmt: skip
    items = list(rankings)
    fitted_agreement = dx.leave_one_out_agreement(ann, per_item=True).sel(item=items)
    fitted_certainty = dx.annotation_certainty(fit).sel(item=items)
    assert np.corrcoef(fitted_agreement, fitted_certainty)[0, 1] == pytest.approx(
        expected, abs=0.02
    )
    assert expected > 0.7


def test_annotators_one_by_one():
    ann = dx.annotations(
        {"item": [0, 0, 0, 1], "annotator": list("abca"), "label": ["x", "x", "y", "z"]}
    )
    result = by_annotator(ann)
    # a sees x and y tied, and so does b; c sees x lead; nobody else speaks of item 1.
    np.testing.assert_allclose(result, [0.5, 0.5, 0.0])
    assert result["annotator"].to_numpy().tolist() == ["a", "b", "c"]
    alone = dx.annotations({"item": [0, 0, 1], "annotator": list("abc"), "label": list("xxz")})
    assert np.isnan(by_annotator(alone).sel(annotator="c"))


# Accuracy against one annotator, and against the majority vote.


def naive(given, answer):
    return float(np.mean([np.mean([label == answer for label in labels]) for labels in given]))


def majority(given, answer):
    votes: Counter = Counter()
    for labels in given:
        for label in labels:
            votes[label] += Fraction(1, len(labels))
    leaders = [label for label, n in votes.items() if n == max(votes.values())]
    return (answer in leaders) / len(leaders)


CASES = {"naive_accuracy": naive, "majority_vote_accuracy": majority}
each_accuracy = pytest.mark.parametrize("name", CASES)


@each_accuracy
def test_each_accuracy_is_its_definition(name):
    for seed in range(10):
        kind, trials = ("nominal", "ordinal")[seed % 2], seed % 4 > 1
        made = study(seed, kind, n_annotators=1 + seed % 6, n_labels=2 + seed % 4, trials=trials)
        labels = made.labels_by_item()
        rng = np.random.default_rng(seed)
        weights = {item: float(rng.random()) for item in labels}
        actual = getattr(dx, name)(made.annotations(), made.predictions(), weights=weights)
        for system in "st":
            each = [CASES[name](list(by.values()), made.predicted[item, system])
                    for item, by in labels.items()]  # fmt: skip
            expected = np.average(each, weights=list(weights.values()))
            np.testing.assert_allclose(actual.sel(system=system), expected, rtol=0, atol=1e-12)


def test_accuracies_by_hand(votes):
    """Items: i is x, x, y; j is y, y, y; k is x, y. The good system says x, y, x."""
    ann, pred = votes
    naive_accuracy, vote = dx.naive_accuracy(ann, pred), dx.majority_vote_accuracy(ann, pred)
    assert float(naive_accuracy.sel(system="good")) == pytest.approx((2 / 3 + 1 + 1 / 2) / 3)
    assert float(vote.sel(system="good")) == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert float(vote.sel(system="bad")) == pytest.approx((0 + 0 + 1 / 2) / 3)
    assert naive_accuracy.dims == vote.dims == ("system",)


def test_naive_accuracy_falls_in_a_line_with_noise_and_the_vote_holds_out():
    """Lovchinsky et al. (2020), Figure 1a and b: ten labels, 9 annotators, the true labels.

    With a label kept with probability 1 - p and else any of ten, accuracy is 1 - .9 p.
    """
    rng = np.random.default_rng(1)
    truth = rng.integers(10, size=4000)
    pred = dx.predictions({"item": range(4000), "system": ["right"] * 4000, "label": truth})
    for p in (0.1, 0.3, 0.5):
        noisy = rng.random((4000, 9)) < p
        given = np.where(noisy, rng.integers(10, size=(4000, 9)), truth[:, None])
        ann = dx.from_matrix(given.tolist(), kind="nominal", labels=range(10))
        assert float(dx.naive_accuracy(ann, pred)[0]) == pytest.approx(1 - 0.9 * p, abs=0.01)
        assert float(dx.majority_vote_accuracy(ann, pred)[0]) > 0.94


@each_accuracy
def test_items_that_only_one_side_has_can_be_dropped(name):
    ann = dx.from_matrix([["x", "x"], ["y", "y"], ["x", "y"]])
    pred = dx.predictions({"item": [0, 2, 3], "system": ["m"] * 3, "label": ["x", "x", "y"]})
    with pytest.raises(dx.PredictionError, match="on_missing"):
        getattr(dx, name)(ann, pred)
    assert float(getattr(dx, name)(ann, pred, on_missing="drop")[0]) == 0.75


@each_accuracy
def test_labels_nobody_could_give_are_wrong_and_said_to_be(name):
    ann = dx.from_matrix([["x", "x"], ["y", "y"]])
    pred = dx.predictions({"item": [0, 1], "system": ["m"] * 2, "label": ["x", "z"]})
    with pytest.warns(dx.DissensusWarning, match="outside the label space"):
        assert float(getattr(dx, name)(ann, pred)[0]) == 0.5


@each_accuracy
def test_is_undefined_where_weighted_items_lack_predictions(name):
    ann = dx.from_matrix([["x", "x"], ["y", "y"]])
    pred = dx.predictions({"item": [0], "system": ["m"], "label": ["x"]})
    with pytest.warns(dx.DissensusWarning, match="no item has a label and a prediction"):
        result = getattr(dx, name)(ann, pred, on_missing="drop", weights=[0, 1])
    assert np.isnan(result).all()
