"""Chance-corrected coefficients against their definitions, other packages, and printed values."""

from __future__ import annotations

import functools

import agreement_reference as reference
import numpy as np
import pandas as pd
import pytest
from concordance_reference import weights_for
from refusals import check_refused
from sklearn.metrics import cohen_kappa_score
from small_studies import absolute, nominal, squared
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as by_statsmodels

import dissensus as dx

WEIGHTINGS = {None: "nominal", "linear": "absolute", "quadratic": "squared"}
TEXTBOOK = "textbook_reliability"
CONTINUOUS = dx.from_matrix([[0.5, 1.5], [1.0, 1.0]], kind="continuous")
NAMES = dx.from_matrix([["x", "y"], ["y", "y"]])


def crooked(a, b):
    """A distance that no space has: 0 between neighbours only."""
    return float(max(0, abs(a - b) - 1)) + 0.5 * (a + b == 3) * (a != b)


DISTANCES = {"nominal": nominal, "absolute": absolute, "squared": squared, "crooked": crooked}


def bennett(ann, items, weights, labels, weighting):
    expected = reference.bennett(items, weights, labels, DISTANCES[WEIGHTINGS[weighting]])
    return functools.partial(dx.bennett_s, ann, weighting, weights=weights), expected


def gwet(ann, items, weights, labels, weighting):
    expected = reference.gwet(items, weights, labels, DISTANCES[WEIGHTINGS[weighting]])
    return functools.partial(dx.gwet_ac, ann, weighting, weights=weights), expected


def fleiss(ann, items, weights, labels, _):
    expected = reference.fleiss(items, weights, labels)
    return functools.partial(dx.fleiss_kappa, ann, weights=weights), expected


def cohen(ann, items, weights, labels, weighting):
    pair = ((0, 1), (1, 0))[len(items) % 2]
    distance = DISTANCES[WEIGHTINGS[weighting]]
    expected = reference.cohen(items, weights, labels, distance, *pair)
    return functools.partial(dx.cohen_kappa, ann, weighting, pair, weights=weights), expected


def iota(ann, items, weights, _, name):
    expected = reference.iota(items, weights, DISTANCES[name])
    given = crooked if name == "crooked" else name
    return functools.partial(dx.iota, ann, given, weights=weights), expected


CASES = [(case, weighting) for case in (bennett, gwet, cohen) for weighting in WEIGHTINGS]
CASES += [(fleiss, None), *((iota, name) for name in (*WEIGHTINGS.values(), "crooked"))]


@pytest.mark.unit(14, long=14)
@pytest.mark.parametrize(
    ("case", "setting"), CASES, ids=[f"{case.__name__} {setting}" for case, setting in CASES]
)
@pytest.mark.parametrize("trials", [False, True])
def test_each_is_its_definition(case, setting, trials):
    rng = np.random.default_rng(1)
    defined = 0
    for seed in range(15):
        labels = 1 + seed % 5
        items = reference.study(rng, labels=labels, trials=trials)
        if case is cohen:
            items.append({0: [0], 1: [0]})  # so that both are known by name
        weights = weights_for(rng, len(items))
        ann = reference.as_annotations(items, labels)
        defined += reference.agrees(*case(ann, items, weights, labels, setting))
    assert defined > 3


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_complete_tables_agree_with_scikit_learn_and_statsmodels(weighting):
    """For complete tables Bennett's S is Randolph's kappa."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        labels, items = 2 + seed, 20 + 9 * seed
        given = rng.integers(labels, size=(items, 2))
        counts, table = np.zeros((items, labels)), np.zeros((labels, labels))
        np.add.at(counts, (np.arange(items)[:, None], given), 1)
        np.add.at(table, tuple(given.T), 1)
        ann = dx.from_matrix(given.tolist(), kind="ordinal", labels=range(labels))
        by_sklearn = functools.partial(
            cohen_kappa_score, *given.T, weights=weighting, labels=range(labels)
        )
        weights = rng.random(items)
        pairs = [
            (dx.cohen_kappa(ann, weighting), by_sklearn()),
            (
                dx.cohen_kappa(ann, weighting),
                cohens_kappa(table, wt=weighting, return_results=False),
            ),
            (dx.cohen_kappa(ann, weighting, weights=weights), by_sklearn(sample_weight=weights)),
            (dx.bennett_s(ann), by_statsmodels(counts, method="randolph")),
            (dx.fleiss_kappa(ann), by_statsmodels(counts, method="fleiss")),
        ]
        for value, expected in pairs:
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("name", ["irr_anxiety", "irr_video"])
def test_textbook_tables_agree_with_scikit_learn(name, weighting, shared):
    path = shared / TEXTBOOK / f"{name}.csv"
    table = pd.read_csv(path).pivot(index="item", columns="annotator", values="label")
    labels = range(1, 7)
    ann = dx.read_annotations(path, kind="ordinal", labels=labels)
    for pair in ([0, 1], [0, 2], [1, 2]):
        both = (table.iloc[:, place] for place in pair)
        expected = cohen_kappa_score(*both, weights=weighting, labels=labels)
        value = dx.cohen_kappa(ann, weighting, list(table.columns[pair]))
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("function", "name", "expected", "digits"),
    [
        # irrCAC 0.4.4 (README of the folder); raw4raters also in the R package irrCAC.
        (dx.bennett_s, "fleiss1971_diagnoses", 0.44444, 5),
        (dx.bennett_s, "gwet_raw4raters", 0.77273, 5),
        (dx.bennett_s, "gwet_raw5observers", 0.48741, 5),
        (dx.gwet_ac, "fleiss1971_diagnoses", 0.44788, 5),
        (dx.gwet_ac, "gwet_raw4raters", 0.77544, 5),
        (dx.gwet_ac, "gwet_raw5observers", 0.49662, 5),
        (dx.fleiss_kappa, "fleiss1971_diagnoses", 0.43024, 5),
        (dx.fleiss_kappa, "gwet_raw4raters", 0.76117, 5),
        (dx.fleiss_kappa, "gwet_raw5observers", 0.45762, 5),
        (dx.fleiss_kappa, "fleiss1971_diagnoses", 0.430, 3),  # Fleiss (1971)
        (dx.iota, "fleiss1971_diagnoses", 0.44181, 5),  # "conger": the same for complete labels
    ],
)
def test_printed_values(function, name, expected, digits, shared):
    ann = dx.read_annotations(shared / TEXTBOOK / f"{name}.csv")
    assert round(float(function(ann)), digits) == expected


# Fleiss (1971), Table 1: how many of six psychiatrists gave each of five diagnoses to each patient.
FLEISS = """
    00060 03003 01401 00006 03030 20400 00402 20310 20040 00006
    10050 11040 03300 10050 02031 00501 30012 51000 02040 10203
    00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C.
KRIPPENDORFF = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
TABLES = {
    "Fleiss": [[k for k, n in enumerate(row) for _ in range(int(n))] for row in FLEISS.split()],
    "Krippendorff": [
        [None if label == "." else int(label) for label in unit]
        for unit in zip(*KRIPPENDORFF, strict=True)
    ],
}


@pytest.mark.unit(8)
@pytest.mark.parametrize(
    ("function", "name", "expected"),
    [
        # irrCAC 0.4.4; those of Krippendorff's table also in the R package irrCAC, and Fleiss' own
        # kappa, .430, in his article.
        (dx.bennett_s, "Fleiss", 0.44444),
        (dx.gwet_ac, "Fleiss", 0.44788),
        (dx.fleiss_kappa, "Fleiss", 0.43024),
        (dx.iota, "Fleiss", 0.44181),  # "conger", of psychiatrists in order of their diagnoses
        (dx.krippendorff_alpha, "Fleiss", 0.43341),
        (dx.bennett_s, "Krippendorff", 0.77273),
        (dx.gwet_ac, "Krippendorff", 0.77544),
        (dx.fleiss_kappa, "Krippendorff", 0.76117),
    ],
)
def test_printed_values_of_published_tables(function, name, expected):
    assert round(float(function(dx.from_matrix(TABLES[name]))), 5) == expected


def test_printed_values_of_two_abstractors():
    """Gwet's table of 100 pregnancies; the vignette "overview" of the R package irrCAC 1.0."""
    counts = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
    names = ("ectopic", "abnormal", "normal")
    ann = dx.from_matrix([
        [names[a], names[b]] for a, row in enumerate(counts) for b, n in enumerate(row)
        for _ in range(n)
    ])  # fmt: skip
    assert float(dx.bennett_s(ann)) == pytest.approx(0.835, abs=1e-12)
    assert round(float(dx.gwet_ac(ann)), 7) == 0.8493305
    assert round(float(dx.cohen_kappa(ann)), 7) == 0.7964094


def test_printed_values_of_a_contingency_table(shared):
    """Vignette "overview" of the R package irrCAC 1.0."""
    table = pd.read_csv(shared / TEXTBOOK / "gwet_3x3_abstractors.csv")
    rows = table.loc[table.index.repeat(table["n"]), ["rater1", "rater2"]]
    ann = dx.from_matrix(rows.to_numpy().tolist())
    assert ann.sizes["item"] == 100
    assert float(dx.bennett_s(ann)) == pytest.approx(0.835, abs=1e-12)
    assert round(float(dx.gwet_ac(ann)), 7) == 0.8493305
    assert round(float(dx.cohen_kappa(ann)), 7) == 0.7964094


def test_printed_values_of_pandalm(shared):
    """README of PandaLM .85, .88, .86; to four digits in the README of the shared folder."""
    ann = dx.read_annotations(shared / "pandalm" / "ratings.csv")
    names = ann["annotator"].to_numpy()
    pairs = ([0, 1], [0, 2], [1, 2])
    values = [float(dx.cohen_kappa(ann, annotators=names[pair])) for pair in pairs]
    np.testing.assert_allclose(values, [0.8520, 0.8789, 0.8617], rtol=0, atol=5e-5)


@pytest.mark.parametrize(("group", "expected"), [("g1", 0.1976), ("g2", 0.7781), ("g3", 0.1476)])
def test_printed_values_of_annotation_paradigms(group, expected, shared):
    """Röttger et al. (2022): .20, .78, .15; to four digits by statsmodels in the README."""
    path = shared / "annotation_paradigms" / "ratings.csv.gz"
    ann = dx.read_annotations(path, pool="group")
    theirs = ann["pool"].to_numpy()[ann["pool_code"].to_numpy()] == group
    ann = ann.isel(annotation=theirs)
    assert ann.sizes["annotation"] == 4000
    assert round(float(dx.fleiss_kappa(ann)), 4) == expected


def test_one_pool_is_what_its_table_says():
    """Annotators of the other pool, and items that it alone labelled, are left as names only."""
    rng = np.random.default_rng(6)
    pools = {"g1": rng.integers(3, size=(10, 3)), "g2": rng.integers(3, size=(10, 4))}
    rows = [
        (item + 4 * (pool == "g2"), f"{pool}{who}", label, pool)
        for pool, table in pools.items()
        for (item, who), label in np.ndenumerate(table)
    ]
    frame = pd.DataFrame(rows, columns=["item", "annotator", "label", "pool"])
    ann = dx.annotations(frame, pool="pool", kind="nominal")
    for place, table in enumerate(pools.values()):
        part = ann.isel(annotation=ann["pool_code"].to_numpy() == place)
        counts = (table[:, :, None] == range(3)).sum(axis=1)
        assert float(dx.fleiss_kappa(part)) == pytest.approx(by_statsmodels(counts), abs=1e-12)


def test_unused_labels_raise_bennetts_s_and_have_a_place_in_weighted_kappas():
    given = [["x", "y"], ["y", "y"], ["x", "x"]]
    two, four = dx.from_matrix(given), dx.from_matrix(given, labels=list("wxyz"))
    assert float(dx.bennett_s(two)) == pytest.approx(1 - (1 / 3) / (1 / 2))
    assert float(dx.bennett_s(four)) == pytest.approx(1 - (1 / 3) / (3 / 4))
    given = [[1, 2], [2, 1], [3, 3], [1, 1]]
    narrow = dx.from_matrix(given, kind="ordinal", labels=[1, 2, 3])
    wide = dx.from_matrix(given, kind="ordinal", labels=[1, 9, 2, 3, 10])
    assert float(dx.cohen_kappa(narrow)) == pytest.approx(float(dx.cohen_kappa(wide)))
    expected = cohen_kappa_score(*zip(*given, strict=True), weights="linear", labels=[1, 9, 2, 3])
    assert float(dx.cohen_kappa(wide, "linear")) == pytest.approx(expected)
    assert expected != pytest.approx(float(dx.cohen_kappa(narrow, "linear")))


def test_text_in_an_order_is_weighted_by_place():
    given = [["low", "high"], ["mid", "mid"], ["high", "mid"], ["low", "low"]]
    ann = dx.from_matrix(given, kind="ordinal", labels=["low", "mid", "high"])
    places = [[("low", "mid", "high").index(label) for label in row] for row in given]
    expected = cohen_kappa_score(*zip(*places, strict=True), weights="quadratic")
    assert float(dx.cohen_kappa(ann, "quadratic")) == pytest.approx(expected)


def test_numbers_count_as_labels():
    numbers = dx.from_matrix([[0.5, 0.5], [1.5, 0.5], [2.5, 2.5]], kind="continuous")
    letters = dx.from_matrix([["a", "a"], ["b", "a"], ["c", "c"]])
    expected = cohen_kappa_score(["a", "b", "c"], ["a", "a", "c"])
    assert float(dx.cohen_kappa(numbers)) == pytest.approx(expected)
    assert float(dx.fleiss_kappa(numbers)) == pytest.approx(float(dx.fleiss_kappa(letters)))


def test_opposite_annotators_reach_minus_one_and_constant_ones_zero():
    assert float(dx.cohen_kappa(dx.from_matrix([["x", "y"], ["y", "x"]]))) == pytest.approx(-1.0)
    # Each uses one label, not the same: they always disagree, as expected by chance.
    assert float(dx.cohen_kappa(dx.from_matrix([["x", "y"], ["x", "y"]]))) == 0.0


# Undefined values and refusals.


@pytest.mark.parametrize("function", [dx.bennett_s, dx.gwet_ac])
def test_one_used_label_of_several_is_perfect_agreement_and_one_label_undefined(function):
    assert float(function(dx.from_matrix([["x", "x"], ["x", "x"]], labels=["x", "y"]))) == 1.0
    with pytest.warns(dx.DissensusWarning, match="only one label to give"):
        assert np.isnan(function(dx.from_matrix([["x", "x"], ["x", "x"]])))


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        (dx.fleiss_kappa, [["x", "x", None], ["x", "x", "x"]] * 5),
        (dx.iota, [["x", "x", None], ["x", "x", "x"]] * 5),
        (dx.cohen_kappa, [["x", "x"]] * 10),
    ],
)
def test_equal_labels_are_undefined_under_any_weights(function, rows):
    same = dx.from_matrix(rows, labels=["x", "y"])
    for weights in (None, np.random.default_rng(3).random(10)):
        with pytest.warns(dx.DissensusWarning, match="all labels are the same"):
            assert np.isnan(function(same, weights=weights))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (dx.bennett_s, "labels of two annotators"),
        (dx.gwet_ac, "labels of two annotators"),
        (dx.fleiss_kappa, "labels of two annotators"),
        (dx.iota, "labels of two annotators"),
        (dx.cohen_kappa, "labels of both annotators"),
    ],
)
def test_items_without_pairs_are_undefined(function, reason):
    alone = dx.from_matrix([["x", None], [None, "y"]])
    with pytest.warns(dx.DissensusWarning, match=f"no item has {reason}") as caught:
        assert np.isnan(function(alone))
    assert "all labels" not in str(caught[0].message)


def test_what_has_no_labels_or_no_order_is_refused(votes):
    ordinal = dx.from_matrix([[1, 2], [2, 2]], kind="ordinal")
    cases = []
    for f in (dx.bennett_s, dx.gwet_ac, dx.cohen_kappa):
        cases.append((f.__name__, lambda f=f: f(NAMES, "linear"), "labels in an order"))
        for wrong in ("squared", 2, ["linear"]):
            expected = "weighting: expected None or 'linear'"
            cases.append((f"{f.__name__} {wrong}", lambda f=f, w=wrong: f(ordinal, w), expected))
    cases += [
        (
            "numbers",
            lambda: dx.cohen_kappa(CONTINUOUS, "quadratic"),
            r'iota\(..., distance="squared"\)',
        ),
        (
            "unknown distance",
            lambda: dx.iota(ordinal, "cosine"),
            "distance: expected one of 'nominal'",
        ),
        ("names", lambda: dx.iota(NAMES, "squared"), "numbers"),
    ]
    check_refused(dx.DissensusError, cases)


# The two annotators of Cohen's kappa.


def test_two_annotators_have_to_be_named_among_more(votes):
    def kappa(annotators):
        return lambda: dx.cohen_kappa(votes[0], annotators=annotators)

    single = dx.annotations({"item": [1, 2], "annotator": ["a", "a"], "label": ["x", "y"]})
    cases = [
        ("none named", kappa(None), r"None, with 3 annotators \('ann', 'bob', 'cat'\)"),
        ("unknown", kappa(("ann", "zoe")), "two names, such as 'ann', 'bob', 'cat'; found 'zoe'"),
        ("same", kappa(("ann", "ann")), "each once; found 'ann', 'ann'"),
        ("single", lambda: dx.cohen_kappa(single), "two annotators; found only 'a'"),
    ]
    wrong = ("ab", ("ann",), ("ann", "bob", "cat"), [["ann", "bob"]] * 2, [["ann"], []], 7)
    cases += [(str(names), kappa(names), "annotators: expected two names") for names in wrong]
    check_refused(dx.DissensusError, cases)


def test_annotators_without_labels_are_not_counted(votes):
    ann = votes[0]
    of_two = ann.isel(annotation=ann["annotator_code"].to_numpy() != 2)
    named = dx.cohen_kappa(ann, annotators=("ann", "bob"))
    assert float(dx.cohen_kappa(of_two)) == pytest.approx(float(named))
    ordinal = dx.annotations(
        {"item": [1, 1, 2, 2], "annotator": list("abcd"), "label": [1, 2, 1, 2]}, kind="ordinal"
    ).isel(annotation=[0, 1])
    for weighting in WEIGHTINGS:
        with pytest.warns(dx.DissensusWarning, match="no item has labels of both annotators"):
            assert np.isnan(dx.cohen_kappa(ordinal, weighting, ("c", "d")))


def test_repeated_rows_are_named_as_the_caller_knows_them(votes):
    again = votes[0].isel(annotation=[2, 0, 1, 0])
    with pytest.raises(dx.AnnotationError, match="rows 1 and 3"):
        dx.cohen_kappa(again, annotators=("ann", "bob"))


# Iota.


@pytest.mark.parametrize("distance", ["squared", "absolute", "nominal"])
def test_iota_of_numbers_on_a_continuous_scale(distance):
    rng = np.random.default_rng(2)
    for _ in range(8):
        values = np.round(rng.normal(size=5), 2) + 1e4
        items = [
            {r: [values[k] for k in given] for r, given in labels.items()}
            for labels in reference.study(rng, labels=5)
        ]
        rows = [(i, r, labels[r][0]) for i, labels in enumerate(items) for r in labels]
        table = dict(zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True))
        ann = dx.annotations(table, kind="continuous")
        expected = reference.iota(items, np.ones(len(items)), DISTANCES[distance])
        if np.isfinite(expected):
            np.testing.assert_allclose(dx.iota(ann, distance), expected, rtol=0, atol=1e-9)


def test_the_default_distance_of_iota_is_squared_for_numbers_and_else_nominal():
    given = np.random.default_rng(3).integers(4, size=(12, 3)).tolist()
    ordinal = dx.from_matrix(given, kind="ordinal")
    assert float(dx.iota(ordinal)) == float(dx.iota(ordinal, "nominal"))
    numbers = dx.from_matrix(given, kind="continuous")
    assert float(dx.iota(numbers)) == float(dx.iota(numbers, "interval"))
    assert float(dx.iota(numbers)) == pytest.approx(float(dx.iota(ordinal, "squared")))


def test_a_constant_shift_between_annotators_lowers_iota_less_than_alpha():
    first = np.random.default_rng(6).integers(5, size=100)
    ann = dx.from_matrix(np.stack([first, first + 2], axis=1).tolist(), kind="continuous")
    assert float(dx.krippendorff_alpha(ann)) < float(dx.iota(ann)) < 1.0


@pytest.mark.parametrize("distance", ["squared", "absolute", "nominal"])
def test_one_number_far_from_0_is_undefined_under_any_weights(distance):
    ann = dx.from_matrix([[1e7 + 0.1] * 3] * 20, kind="continuous")
    weights = np.random.default_rng(7).random(20)
    with pytest.warns(dx.DissensusWarning, match="all labels are the same"):
        assert np.isnan(dx.iota(ann, distance, weights=weights))


def test_no_distance_between_annotators_is_undefined_even_if_each_varies():
    """One gives 1 or 3, the other 2: the distance is 0 for neighbours."""
    ann = dx.from_matrix([[1, 2], [3, 2]] * 10, kind="ordinal")
    weights = np.random.default_rng(8).random(20)
    with pytest.warns(dx.DissensusWarning, match="is undefined"):
        assert np.isnan(dx.iota(ann, lambda a, b: max(0, abs(a - b) - 1), weights=weights))


def test_a_callable_is_called_once_for_each_pair():
    calls = []

    def distance(a, b):
        calls.append((a, b))
        return abs(a - b)

    dx.iota(dx.from_matrix([[1, 2, 3], [2, 2, 3]], kind="ordinal"), distance)
    assert len(calls) == len(set(calls)) == 9


@pytest.mark.parametrize("distance", ["nominal", "squared", "absolute", absolute])
def test_sums_do_not_grow_with_annotators_times_labels(distance):
    """500 annotators with 2 labels each, 800 labels: sums exist for what occurs only."""
    rng = np.random.default_rng(9)
    table = {
        "item": np.repeat(np.arange(500), 2),
        "annotator": rng.permutation(np.repeat(np.arange(500), 2)),
        "label": rng.integers(800, size=1000),
    }
    kept = table["annotator"] != np.roll(table["annotator"], 1)
    ann = dx.annotations({k: v[kept] for k, v in table.items()}, kind="ordinal")
    parts = dx.statistics.get("iota").sums(ann, distance).parts
    assert sum(part.shape[1] for part in parts if part.ndim > 1) <= 3300
    assert all(part.nnz <= 3300 for part in parts if not isinstance(part, np.ndarray))


def test_numbers_without_pairs_take_no_digits_however_far_away():
    # Items with one annotator do not enter; the sums must not be centred on them.
    near = [[0.0, 1.5], [1.25, 2.0], [0.0, 2.75]]
    far = [[1e9 + n, np.nan] for n in range(9)]
    expected = float(dx.iota(dx.from_matrix(near), distance="squared"))
    value = dx.iota(dx.from_matrix(near + far), distance="squared")
    assert float(value) == pytest.approx(expected, rel=1e-12)
