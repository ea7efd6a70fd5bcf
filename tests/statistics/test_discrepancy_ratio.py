"""Discrepancy ratios against their definition, closed forms, and the claims of the source.

The source is Lovchinsky et al. (2020), "Discrepancy ratio: evaluating model performance when even
experts disagree on the truth". References are loops over pairs in ``discrepancy_reference``.
"""

from __future__ import annotations

import discrepancy_reference as reference
import numpy as np
import pytest
import xarray as xr
from small_studies import absolute, nominal, squared

import dissensus as dx
from dissensus.kernels import statements as statement_pairs

LABELS = list("abcd")


def check(ann, pred, labels, answers, distance, delta, **how):
    """Compare ratios of systems, with and without weights, and of annotators."""
    plain = dx.discrepancy_ratio(ann, pred, distance, **how)
    items = ann["item"].values.tolist()
    weights = dict(zip(items, np.random.default_rng(1).exponential(size=len(items)), strict=True))
    weighted = dx.discrepancy_ratio(ann, pred, distance, **how, weights=weights)
    for actual, given in ((plain, None), (weighted, weights)):
        for system in answers:
            mu, alpha = reference.discrepancies(labels, answers[system], delta, given)
            expected = {
                "annotator_discrepancy": alpha,
                "system_discrepancy": mu,
                "discrepancy_ratio": mu / alpha if alpha > 0 else np.nan,
            }
            for name, value in expected.items():
                result = (
                    actual[name].sel(system=system)
                    if name != "annotator_discrepancy"
                    else actual[name]
                )
                np.testing.assert_allclose(result, value, rtol=1e-11, atol=1e-14)
    for alpha_items in ("same", "all"):
        each = dx.annotator_discrepancy_ratio(ann, distance, alpha_items=alpha_items, **how)
        for who in ann["annotator"].to_numpy():
            expected = reference.annotator_ratio(labels, who, delta, alpha_items)
            np.testing.assert_allclose(each.sel(annotator=who), expected, rtol=1e-11)


def table_of(rng, draw, repeats):
    """Return annotations and the answers of systems, as they were drawn."""
    labels = reference.random_statements(rng, draw, repeats=repeats)
    items = sorted({item for item, _ in labels})
    return labels, {s: {item: draw(rng) for item in items} for s in ("one", "two")}


NUMBERS = {
    "squared": ({}, squared),
    "interval": ({}, squared),
    "absolute": ({}, absolute),
    "nominal": ({}, nominal),
    "hinge": ({"tolerance": 1.5}, lambda y, z: max(0.0, abs(y - z) - 1.5)),
    "callable": ({}, lambda y, z: abs(y - z) ** 0.5),
}
DRAWS = (lambda rng: float(rng.integers(0, 5)), lambda rng: float(rng.normal(50, 3)))
undefined_in_silence = pytest.mark.filterwarnings(
    "ignore:discrepancy_ratio is undefined", "ignore:annotator_discrepancy_ratio is undefined"
)


@pytest.mark.unit(12, long=12)
@pytest.mark.parametrize("distance", NUMBERS)
@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("draw", DRAWS, ids=["whole", "real"])
@undefined_in_silence
def test_numbers_equal_the_definition(distance, repeats, draw):
    how, delta = NUMBERS[distance]
    given = delta if distance == "callable" else distance
    for seed in range(3):
        rng = np.random.default_rng([seed, repeats])
        labels, answers = table_of(rng, draw, repeats)
        ann = reference.annotations(labels, rng, kind="continuous")
        pred = reference.predictions(answers, kind="continuous")
        check(ann, pred, labels, answers, given, delta, **how)


def test_numbers_are_equal_or_not_whatever_their_kind():
    table = {"item": [1, 1, 2, 2, 3, 3], "annotator": list("ababab")}
    ann = dx.annotations({**table, "label": [1.5, 2, 2, 2, 3, 1]})
    whole = dx.annotations({**table, "label": [1, 2, 2, 2, 3, 1]}, kind="ordinal")
    # Annotators differ on two of three items.
    for labels, ratio in (([1, 2, 3], 0.75), ([1.5, 2, 3], 0.5), ([7, 8, 9], 1.5)):
        pred = dx.predictions({"item": [1, 2, 3], "system": ["m"] * 3, "label": labels})
        for distance in ("nominal", nominal):
            result = dx.discrepancy_ratio(ann, pred, distance)
            assert result["discrepancy_ratio"].item() == pytest.approx(ratio)
            advantage = dx.advantage_probability(ann, pred, distance).to_numpy()
            assert advantage.tolist() == [[1, 1]] if ratio < 1 else [[0, 0]]
    halves = dx.predictions({"item": [1, 2, 3], "system": ["m"] * 3, "label": [1.5, 2, 3]})
    result = dx.discrepancy_ratio(whole, halves, "nominal")
    assert result["discrepancy_ratio"].item() == pytest.approx(0.75)


def uneven(y, z):
    """A distance between letters that nothing else is."""
    return abs(LABELS.index(y) - LABELS.index(z)) ** 0.5


@pytest.mark.parametrize("repeats", [1, 3])
@undefined_in_silence
def test_names_equal_the_definition(repeats):
    for seed in range(3):
        rng = np.random.default_rng([seed, 9])
        labels, answers = table_of(rng, lambda rng: str(rng.choice(LABELS)), repeats)
        ann = reference.annotations(labels, rng, labels=LABELS, kind="nominal")
        pred = reference.predictions(answers)
        for distance in (None, "nominal", nominal, uneven):
            delta = uneven if distance is uneven else nominal
            check(ann, pred, labels, answers, distance, delta)


def jaccard(first, second):
    return 1 - len(first & second) / len(first | second)


@undefined_in_silence
def test_sets_equal_the_definition(monkeypatch):
    """All that an annotator names over all trials is one set; so is a system's list."""
    monkeypatch.setattr(statement_pairs, "_PAIRS", 4)  # pairs in many blocks are the pairs in one
    for seed in range(5):
        rng = np.random.default_rng(seed)
        statements = reference.random_statements(
            rng, lambda rng: str(rng.choice(LABELS)), repeats=4
        )
        items = sorted({item for item, _ in statements})
        answers, rows = {"one": {}, "two": {}}, []
        for system, given in answers.items():
            for item in items:
                chosen = rng.permutation(LABELS)[: rng.integers(1, 5)]
                given[item] = frozenset(chosen.tolist())
                rows += [(item, system, label, 1) for label in given[item]]
        names = ("item", "system", "label", "rank")
        pred = dx.predictions(dict(zip(names, zip(*rows, strict=True), strict=True)), rank="rank")
        ann = reference.annotations(statements, rng, labels=LABELS, kind="nominal")
        sets = {key: [frozenset(labels)] for key, labels in statements.items()}
        check(ann, pred, sets, answers, "jaccard", jaccard)


def random_ranking(rng):
    """Return blocks of some of the labels, as a callable gets them."""
    named = rng.permutation(len(LABELS) + 2)[: rng.integers(1, 6)]
    cuts = np.flatnonzero(rng.random(len(named) - 1) < 0.6) + 1
    return tuple(
        tuple("abcdef"[k] for k in sorted(block.tolist())) for block in np.split(named, cuts)
    )


def ranking_rows(key, ranking):
    return [(*key, label, rank + 1) for rank, block in enumerate(ranking) for label in block]


def ranked(labels, answers):
    """Make annotations and predictions of rankings."""
    rows = [
        row
        for (item, annotator), rankings in labels.items()
        for trial, ranking in enumerate(rankings)
        for row in ranking_rows((item, annotator, trial), ranking)
    ]
    names = ("item", "annotator", "trial", "label", "rank")
    table = dict(zip(names, zip(*rows, strict=True), strict=True))
    ann = dx.annotations(table, rank="rank", trial="trial", labels=list("abcdef"))
    rows = [
        row
        for system, given in answers.items()
        for item, ranking in given.items()
        for row in ranking_rows((item, system), ranking)
    ]
    names = ("item", "system", "label", "rank")
    table = dict(zip(names, zip(*rows, strict=True), strict=True))
    return ann, dx.predictions(table, rank="rank")


def overlap_distance(depth):
    def delta(first, second):
        codes = [
            [["abcdef".index(label) for label in block] for block in b] for b in (first, second)
        ]
        return 1 - dx.mean_average_overlap(*codes, depth=depth, n_labels=6)

    return delta


@pytest.mark.long
@pytest.mark.parametrize("depth", [1, 3, 6])
@undefined_in_silence
def test_rankings_equal_the_definition(depth):
    for seed in range(2):
        labels, answers = table_of(np.random.default_rng(seed), random_ranking, 2)
        ann, pred = ranked(labels, answers)
        delta = overlap_distance(depth)
        check(ann, pred, labels, answers, None, delta, depth=depth)
    check(ann, pred, labels, answers, delta, delta)


@undefined_in_silence
def test_rankings_as_sets_of_what_they_list():
    labels, answers = table_of(np.random.default_rng(5), random_ranking, 2)
    sets = {
        key: [frozenset(label for ranking in rankings for block in ranking for label in block)]
        for key, rankings in labels.items()
    }
    listed = {
        system: {
            item: frozenset(label for block in ranking for label in block)
            for item, ranking in given.items()
        }
        for system, given in answers.items()
    }
    check(*ranked(labels, answers), sets, listed, "jaccard", jaccard)


def test_a_callable_is_asked_once_for_each_pair_and_direction():
    calls = []

    def distance(first, second):
        calls.append((first, second))
        return abs(first - second)

    rng = np.random.default_rng(5)
    labels, answers = table_of(rng, lambda rng: int(rng.integers(4)), 2)
    ann = reference.annotations(labels, rng, kind="ordinal", labels=range(4))
    dx.discrepancy_ratio(ann, reference.predictions(answers), distance)
    assert len(calls) <= 2 * 10  # four labels: ten pairs
    assert all(type(label) is int for pair in calls for label in pair)


def test_depth_is_that_of_the_longest_ranking_and_is_kept(rankings):
    ratio = dx.discrepancy_ratio(*rankings)
    assert ratio.attrs == {"distance": "ranking", "depth": 3}
    xr.testing.assert_equal(ratio, dx.discrepancy_ratio(*rankings, depth=3))


def test_binary_closed_forms():
    """Eq. 5 to 8: means and (population) variances of labels are all it takes."""
    rng = np.random.default_rng(6)
    given = reference.random_statements(
        rng, lambda rng: float(rng.integers(0, 2)), n_items=30, repeats=3
    )
    given = {key: labels for key, labels in given.items() if key[1] < 4 or key[0] % 2}
    statements = {i: v for i, v in reference.by_item(given).items() if len(v) >= 2}
    answers = {i: float(rng.integers(0, 2)) for i, _ in given}
    means = {i: np.array([np.mean(labels) for labels in v.values()]) for i, v in statements.items()}
    y = np.array([m.mean() for m in means.values()])
    spread = np.array([m.var() for m in means.values()])
    n = np.array([len(m) for m in means.values()])
    m = np.array([answers[i] for i in means])
    alpha = np.mean(2 * y * (1 - y) + 2 * spread / (n - 1))
    mu = (
        m.mean() + y.mean() - 2 * m.mean() * y.mean() - 2 * np.mean((m - m.mean()) * (y - y.mean()))
    )
    ann = reference.annotations(given, kind="continuous")
    pred = reference.predictions({"s": answers}, kind="continuous")
    ratio = dx.discrepancy_ratio(ann, pred, "squared")
    np.testing.assert_allclose(ratio["annotator_discrepancy"], alpha, rtol=1e-12)
    np.testing.assert_allclose(ratio["system_discrepancy"], [mu], rtol=1e-12)


def test_one_binary_label_each():
    """Eq. 6: 2 A s^2 / (A - 1)."""
    labels = np.random.default_rng(7).integers(0, 2, size=(25, 5))
    ann = dx.from_matrix(labels, kind="ordinal")
    pred = dx.predictions({"item": range(25), "system": ["s"] * 25, "label": labels[:, 0]})
    alpha = np.mean(2 * 5 * labels.var(axis=1) / 4)
    ratio = dx.discrepancy_ratio(ann, pred)
    np.testing.assert_allclose(ratio["annotator_discrepancy"], alpha, rtol=1e-12)
    nominal = dx.discrepancy_ratio(ann, pred, "nominal")
    xr.testing.assert_allclose(ratio.drop_attrs(), nominal.drop_attrs())


def test_a_strict_annotator_changes_nothing():
    """Example C.1: Charlie labels the easy image only, and the ratio is what it was without him."""
    between, towards = {"easy": 0.3, "hard": 2.0}, {"easy": 0.1, "hard": 1.7}

    def delta(first, second):
        if first == second:
            return 0.0
        image = first.split()[1]
        return (towards if "model" in (first.split()[0], second.split()[0]) else between)[image]

    rows = [["alice easy", "bob easy", "charlie easy"], ["alice hard", "bob hard", None]]
    space = [label for row in rows for label in row if label] + ["model easy", "model hard"]
    pred = dx.predictions({"item": [0, 1], "system": ["s"] * 2, "label": space[-2:]})
    for strict in (rows, [row[:2] for row in rows]):
        ann = dx.from_matrix(strict, labels=space, kind="nominal")
        ratio = dx.discrepancy_ratio(ann, pred, delta)["discrepancy_ratio"].item()
        assert ratio == pytest.approx((0.1 + 1.7) / (0.3 + 2.0), rel=1e-14)


def test_the_hinge_forgives_up_to_its_tolerance():
    """A penalty past a minimum deviation; the source prints its sign the other way round."""
    ann = dx.from_matrix([[50.0, 60.0], [40.0, 70.0]])
    pred = dx.predictions({"item": [0, 1], "system": ["s"] * 2, "label": [55.0, 20.0]},
                          kind="continuous")  # fmt: skip
    ratio = dx.discrepancy_ratio(ann, pred, "hinge", tolerance=15)
    assert ratio["annotator_discrepancy"].item() == (0 + 15) / 2
    assert ratio["system_discrepancy"].item() == (0 + (5 + 35) / 2) / 2
    plain = dx.discrepancy_ratio(ann, pred, "hinge", tolerance=0).drop_attrs()
    xr.testing.assert_identical(plain, dx.discrepancy_ratio(ann, pred, "absolute").drop_attrs())
