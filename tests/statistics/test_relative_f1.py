"""F1 relative to annotators held out: by its definition, scikit-learn, and the source's faults."""

from __future__ import annotations

import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score
from small_studies import study

import dissensus as dx

NAN = float("nan")


def vote_of(given):
    """Label -> share of the vote."""
    votes: Counter = Counter()
    for labels in given:
        for label in labels:
            votes[label] += Fraction(1, len(labels))
    leaders = [label for label, n in votes.items() if n == max(votes.values())]
    return {label: 1 / len(leaders) for label in leaders}


def f1(pairs, labels, average):
    """F1 from (weight, shares of what was said, shares of the vote), one by one."""
    cells = {label: [0.0, 0.0, 0.0] for label in labels}
    for weight, share, vote in pairs:
        for label, cell in cells.items():
            given, true = share.get(label, 0.0), vote.get(label, 0.0)
            cell[0] += weight * given * true
            cell[1] += weight * given * (1 - true)
            cell[2] += weight * (1 - given) * true
    if average == "micro":
        cells = {None: np.sum(list(cells.values()), axis=0)}
    each = [2 * tp / (2 * tp + fp + fn) for tp, fp, fn in cells.values() if tp + fp + fn > 0]
    return float(np.mean(each)) if each else NAN


def by_definition(labels_by_item, predicted, system, held, weights, labels, average):
    votes = {}
    for item, by in labels_by_item.items():
        given = [given for r, given in by.items() if r not in held]
        if given:
            votes[item] = vote_of(given)
    mine = [(weights[i], {predicted[i, system]: 1.0}, vote) for i, vote in votes.items()]
    people = []
    for r in held:
        theirs = []
        for i, vote in votes.items():
            given = labels_by_item[i].get(r, [])
            shares = {label: n / len(given) for label, n in Counter(given).items()}
            theirs += [(weights[i], shares, vote)] if given else []
        people.append(f1(theirs, labels, average))
    people = [value for value in people if not np.isnan(value)]
    return f1(mine, labels, average) - float(np.mean(people)) if people else NAN


@pytest.mark.unit(6)
@pytest.mark.parametrize("average", ["binary", "macro", "micro"])
@pytest.mark.parametrize("trials", [False, True])
def test_is_its_definition(average, trials):
    defined = 0
    for seed in range(8):
        kind = ("nominal", "ordinal")[seed % 2]
        made = study(seed, kind, n_annotators=3 + seed % 4, n_labels=2 + seed % 4, trials=trials)
        answers, rng = made.labels_by_item(), np.random.default_rng(seed)
        weights = {item: float(rng.random()) for item in answers}
        there = sorted({r for by in answers.values() for r in by})
        held = rng.permutation(there)[: rng.integers(1, len(there))].tolist()
        positive = made.labels[rng.integers(len(made.labels))] if average == "binary" else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dx.DissensusWarning)
            actual = dx.relative_f1(
                made.annotations(), made.predictions(), held,
                positive=positive, average=average, weights=weights,
            )  # fmt: skip
        labels = made.labels if positive is None else [positive]
        for system in "st":
            args = (answers, made.predicted, system, held, weights, labels, average)
            expected = by_definition(*args)
            np.testing.assert_allclose(actual.sel(system=system), expected, rtol=0, atol=1e-12)
            defined += not np.isnan(expected)
    assert defined > 8


@pytest.mark.parametrize("average", ["binary", "macro", "micro"])
def test_agrees_with_scikit_learn(average):
    """One annotator votes, so that there are no ties; everybody labels everything."""
    rng = np.random.default_rng(1)
    given = rng.integers(2 if average == "binary" else 4, size=(200, 4))
    answers = np.where(rng.random(200) < 0.5, given[:, 0], 1)
    ann = dx.from_matrix(given.tolist(), kind="nominal")
    pred = dx.predictions({"item": range(200), "system": ["m"] * 200, "label": answers})
    result = dx.relative_f1(ann, pred, [1, 2, 3], average=average)

    def score(labels):
        if average == "micro":
            return accuracy_score(given[:, 0], labels)
        return f1_score(given[:, 0], labels, average=average)

    people = np.mean([score(given[:, r]) for r in (1, 2, 3)])
    np.testing.assert_allclose(float(result[0]), score(answers) - people, rtol=0, atol=1e-12)


def test_by_hand():
    """Annotators 0 and 1 vote x, y, y; 2 and 3 are held out; the system is right throughout."""
    ann = dx.from_matrix([["x", "x", "x", "y"], ["y", "y", "x", "y"], ["y", "y", "y", "x"]])
    pred = dx.predictions({"item": range(3), "system": ["m"] * 3, "label": ["x", "y", "y"]})
    result = dx.relative_f1(ann, pred, [2, 3])
    # Of y: annotator 2 has 1 right and misses 1, 2/3; annotator 3 has 1 right, misses 1, and 1
    # wrong, 1/2. The mean is 7/12.
    assert float(result[0]) == pytest.approx(5 / 12)
    assert result.attrs["held_out"] == ["2", "3"]
    assert result.attrs["average"] == "binary"
    # Of x: annotator 2 has 1 right and 1 wrong, 2/3; annotator 3 none right, 0.
    assert float(dx.relative_f1(ann, pred, [2, 3], positive="x")[0]) == pytest.approx(2 / 3)


def simulated(rng, n_voting, *, strict=0.0, items=3000):
    """Ten labels; .7 of annotators' labels are true, fewer on hard items (Figures 1c, 1d)."""
    truth = rng.integers(10, size=items)
    hard = rng.permutation(np.linspace(0.05, 0.55, items))
    n = n_voting + 3
    noisy = rng.random((items, n)) < hard[:, None]
    given = np.where(noisy, rng.integers(10, size=(items, n)), truth[:, None]).tolist()
    for i in np.flatnonzero(hard > np.quantile(hard, 1 - strict)):
        given[i][-1] = None
    right = rng.random(items) < 0.8
    labels = np.where(right, truth, (truth + rng.integers(1, 10, size=items)) % 10)
    ann = dx.from_matrix(given, kind="nominal", labels=range(10))
    pred = dx.predictions({"item": range(items), "system": ["m"] * items, "label": labels})
    held = list(range(n_voting, n))
    return float(dx.relative_f1(ann, pred, held)[0])


def test_has_the_faults_that_the_source_shows():
    """Lovchinsky et al. (2020), Figure 1c: more voters change it; 1d: a strict annotator does."""
    rng = np.random.default_rng(2)
    two, nine = simulated(rng, 1), simulated(rng, 9)
    assert abs(two - nine) > 0.03
    lenient, strict = simulated(rng, 6), simulated(rng, 6, strict=0.7)
    assert strict < lenient - 0.03


def test_a_share_is_drawn_the_same_way_whatever_the_order_of_rows():
    made = study(3, n_items=12, n_annotators=6)
    ann, pred = made.annotations(), made.predictions()
    result = dx.relative_f1(ann, pred, 0.5, random_seed=1)
    assert len(result.attrs["held_out"]) == 3
    back = dx.relative_f1(made.mapped(lambda *row: row).annotations(), pred, 0.5, random_seed=1)
    rows = made.rows[::-1]
    turned = type(made)(rows, made.kind, made.labels, made.predicted).annotations()
    again = dx.relative_f1(turned, pred, 0.5, random_seed=1)
    assert result.attrs["held_out"] == again.attrs["held_out"] == back.attrs["held_out"]
    np.testing.assert_allclose(result, again, atol=1e-12)
    others = {tuple(dx.relative_f1(ann, pred, 0.5, random_seed=seed).attrs["held_out"])
              for seed in range(20)}  # fmt: skip
    assert len(others) > 3


def test_an_annotator_without_f1_is_left_out_and_named():
    table = [["y", "y", "x", "y"], ["x", "x", None, "x"], ["x", "x", "x", None]]
    ann = dx.from_matrix([*table, ["y", "y", None, None]])
    alone = dx.from_matrix([["x", "x", None], [None, None, "x"], ["y", "y", None]])
    pred = dx.predictions({"item": range(4), "system": ["m"] * 4, "label": list("yxxy")})
    result = dx.relative_f1(ann, pred, [2, 3])
    assert float(result[0]) == pytest.approx(1 - (0 + 1) / 2)
    few = pred.isel(item=slice(3))
    with pytest.warns(dx.DissensusWarning) as caught:
        assert np.isnan(dx.relative_f1(alone, few, [2], average="macro")[0])
    text = " ".join(str(record.message) for record in caught)
    assert "leaves out 1 of the held-out annotators ('2')" in text
    assert "share no item with the voters" in text


def test_is_undefined_where_nobody_gives_the_positive_label():
    ann = dx.from_matrix([["x", "x", "y"], ["y", "y", "y"], ["x", "x", "x"]])
    pred = dx.predictions({"item": range(3), "system": ["m"] * 3, "label": list("xyx")})
    with pytest.warns(dx.DissensusWarning, match="positive label"):
        assert np.isnan(dx.relative_f1(ann, pred, [2], weights=[0, 0, 1])[0])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"held_out": []}, "held_out"),
        ({"held_out": 1.0}, "between 0 and 1"),
        ({"held_out": 2}, "a list of annotators"),
        ({"held_out": "ann"}, "a list of annotators"),
        ({"held_out": ["dan"]}, "'dan'"),
        ({"held_out": ["ann", "ann"]}, "each once"),
        ({"held_out": ["ann", "bob", "cat"]}, "all of them"),
        ({"average": "weighted"}, "average"),
        ({"positive": "z"}, "'z'"),
        ({"positive": "x", "average": "macro"}, "positive"),
        ({"random_seed": "a"}, "random_seed"),
    ],
)
def test_refuses_what_makes_no_sense(votes, more, words):
    with pytest.raises(dx.ArgumentError, match=words):
        dx.relative_f1(*votes, **more)


def test_one_annotator_cannot_be_held_out_of_one():
    ann = dx.from_matrix([["x"], ["y"]])
    pred = dx.predictions({"item": [0, 1], "system": ["m"] * 2, "label": ["x", "y"]})
    with pytest.raises(dx.ArgumentError, match="two annotators"):
        dx.relative_f1(ann, pred)


def test_a_label_nobody_could_give_is_a_miss():
    ann = dx.from_matrix([["x", "x", "x"], ["y", "y", "y"], ["y", "y", "y"]])
    pred = dx.predictions({"item": range(3), "system": ["m"] * 3, "label": ["x", "y", "z"]})
    for average, expected in (("micro", 2 / 3), ("binary", 2 / 3), ("macro", 5 / 6)):
        with pytest.warns(dx.DissensusWarning, match="outside"):
            actual = dx.relative_f1(ann, pred, [2], average=average)
        assert float(actual[0]) == pytest.approx(expected - 1)
