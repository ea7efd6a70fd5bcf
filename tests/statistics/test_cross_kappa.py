"""Cross-replication kappa: printed values, brute force by the definition, and refusals."""

from __future__ import annotations

from functools import partial

import krippendorff
import numpy as np
import pandas as pd
import pytest
from small_studies import absolute, alpha_by_definition, nominal, psi, squared, study

import dissensus as dx

ITEMS = pytest.mark.parametrize("missing", ["weighted", "pairs", "items"])
DISTANCES = {"nominal": nominal, "interval": squared, "absolute": absolute}


def by_definition(made, missing, distance):
    """Every pair of labels, one by one."""
    x, y = ({i: list(by.values()) for i, by in made.labels_by_item(pool).items()} for pool in "xy")
    items = [i for i in x if x[i] and y[i]]
    size = {i: (len(x[i]), len(y[i])) for i in items}
    mean = {i: np.mean([psi(a, b, distance) for a in x[i] for b in y[i]]) for i in items}
    weight = {
        "weighted": {i: sum(size[i]) for i in items},
        "pairs": {i: size[i][0] * size[i][1] for i in items},
        "items": dict.fromkeys(items, 1),
    }[missing]
    observed = sum(weight[i] * mean[i] for i in items) / sum(weight.values())
    across = [[psi(a, b, distance) for a in x[i] for b in y[j]] for i in items
              for j in items]  # fmt: skip
    flat = [value for values in across for value in values]
    expected = np.mean([np.mean(values) for values in across] if missing == "items" else flat)
    return 1.0 - observed / expected


def on_the_shared_items(made, pool):
    mine, others = made.labels_by_item(pool), made.labels_by_item("xy"[pool == "x"])
    return {item: by for item, by in mine.items() if by and others[item]}


@pytest.mark.unit(9)
@ITEMS
@pytest.mark.parametrize("kind", ["nominal", "ordinal", "continuous"])
def test_it_is_its_definition_pair_by_pair(missing, kind):
    for seed in range(6):
        made = study(seed, kind, missing=0.5, trials=bool(seed % 2))
        ann = made.annotations()
        for name, distance in DISTANCES.items() if kind != "nominal" else [("nominal", nominal)]:
            kappa = dx.cross_kappa(ann, ("x", "y"), name, missing)
            expected = by_definition(made, missing, distance)
            assert float(kappa) == pytest.approx(expected, abs=1e-12)
            also = dx.cross_kappa(ann, ("y", "x"), distance, missing)
            assert float(also) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("kind", "name"), [("nominal", "nominal"), ("continuous", "interval")])
@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
def test_normalised_it_is_over_the_root_of_both_alphas(kind, name):
    distance, defined = DISTANCES[name], 0
    for seed in range(20):
        made = study(seed, kind, missing=0.3)
        alphas = [alpha_by_definition(on_the_shared_items(made, pool), distance) for pool in "xy"]
        for given in (name, distance):
            value = float(dx.cross_kappa(made.annotations(), None, given, normalized=True))
            expected = np.nan
            if min(alphas) > 0:
                defined += 1
                kappa = by_definition(made, "weighted", distance)
                expected = kappa / np.sqrt(alphas[0] * alphas[1])
            assert value == pytest.approx(expected, abs=1e-11, nan_ok=True)
    assert defined > 6


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize(
    ("missing", "expected"), [("weighted", 2 / 11), ("pairs", 1 / 6), ("items", 1 / 5)]
)
def test_the_example_of_its_authors(missing, expected, extra):
    # The table of Wong, Paritosh and Aroyo's own tests (github google-research/
    # cross-replication-reliability, CrossReplicationReliabilityTest.java): .1818182. The other
    # two readings by hand: 10 of 24 pairs differ, items differ by .4 on average; d_e is 1/2.
    first = {1: "BB", 2: "BBB", 3: "AA", 4: "AAA", 5: "AB"}
    second = {1: "BB", 2: "AB", 3: "AB", 4: "AB", 5: "AA"}
    if extra:  # items that one pool alone labelled change nothing
        first |= {6: "AAA", 7: "AAB"}
    items = range(1, 8)
    tables = ([table.get(item, "") for item in items] for table in (first, second))
    kappa = dx.cross_kappa(_two_tables(*tables), missing=missing)
    assert float(kappa) == pytest.approx(expected, abs=1e-14)


def test_the_worked_example_of_the_source():
    # Source 002, "Computing xRR", prints of four items and two annotators in either pool that d_o
    # is .25 and d_e .4375, so kappa_x close to .43; its table is a picture. This one has the two.
    kappa = dx.cross_kappa(_two_tables(["01", "01", "00", "00"], ["01", "11", "00", "00"]))
    assert float(kappa) == pytest.approx(1 - 0.25 / 0.4375, abs=1e-14)


@ITEMS
def test_two_paradigms(shared, missing):
    # annotation_paradigms/README.md, complete designs: all readings agree.
    frame = pd.read_csv(shared / "annotation_paradigms" / "ratings.csv.gz")
    ann = dx.annotations(frame, pool="group")
    expected = {
        ("g1", "g2"): (0.2235, 0.5696),
        ("g1", "g3"): (0.1798, 1.0512),
        ("g2", "g3"): (0.2145, 0.6324),
    }
    for pools, (plain, normalised) in expected.items():
        assert round(float(dx.cross_kappa(ann, pools, missing=missing)), 4) == plain
        kappa = dx.cross_kappa(ann, pools, missing=missing, normalized=True)
        assert round(float(kappa), 4) == normalised


def test_a_job_run_twice_with_annotators_in_both_runs(shared):
    # immigration_crowd_replication/README.md: sentences that were not test questions, items weigh
    # the same. 14 coders took part in both runs.
    frame = pd.read_csv(shared / "immigration_crowd_replication" / "ratings.csv.gz")
    frame = frame[frame["gold_item"] == 0]
    both = frame.groupby("annotator")["group"].nunique()
    assert (both == 2).sum() == 14
    ann = dx.annotations(frame, pool="group", trial="group")
    for normalized, expected in ((False, 0.5560), (True, 1.0274)):
        with pytest.warns(dx.DissensusWarning, match="^14 annotators are in both pools"):
            kappa = dx.cross_kappa(ann, missing="items", normalized=normalized)
        assert round(float(kappa), 4) == expected


@ITEMS
def test_two_of_three_pools(missing):
    """All label everything: all readings agree. Alphas are of the package krippendorff."""
    rng = np.random.default_rng(4)
    truth = rng.integers(2, size=(10, 1))
    labels = {
        pool: np.where(rng.random((10, n)) < 0.85, truth, 1 - truth)
        for pool, n in (("g1", 3), ("g2", 2), ("g3", 4))
    }
    ann = dx.annotations(
        _frame(*((item, f"{pool}{who}", label, pool) for pool, table in labels.items()
                 for (item, who), label in np.ndenumerate(table))),
        pool="pool", kind="nominal",
    )  # fmt: skip
    for pools in (("g1", "g2"), ("g3", "g1")):
        x, y = (labels[pool] for pool in pools)
        apart = np.mean(x.ravel()[:, None] != y.ravel())
        kappa = 1 - np.mean(x[:, :, None] != y[:, None]) / apart
        alphas = [krippendorff.alpha(table.T, level_of_measurement="nominal") for table in (x, y)]
        for normalized, expected in ((False, kappa), (True, kappa / np.sqrt(np.prod(alphas)))):
            actual = dx.cross_kappa(ann, pools, missing=missing, normalized=normalized)
            assert float(actual) == pytest.approx(expected, abs=1e-12)


def test_a_job_run_twice_by_the_same_annotators_on_the_same_items():
    """By the definition, which does not ask whose label it is; a trial is a run."""
    same = {"r1": "r0", "r3": "r2"}  # r0, r2 and r4 are pool x
    for seed in range(6):
        made = study(seed, single=False).mapped(
            lambda item, who, _, pool, label: (item, same.get(who, who), pool, pool, label)
        )
        alphas = [alpha_by_definition(on_the_shared_items(made, pool), nominal) for pool in "xy"]
        kappa = by_definition(made, "items", nominal)
        expected = {False: kappa}
        if min(alphas) > 0:
            expected[True] = kappa / np.sqrt(alphas[0] * alphas[1])
        for normalized, value in expected.items():
            with pytest.warns(dx.DissensusWarning, match="^2 annotators are in both pools"):
                actual = dx.cross_kappa(made.annotations(), missing="items", normalized=normalized)
            assert float(actual) == pytest.approx(value, abs=1e-11)


def test_ratings_of_faces(shared):
    # mdns_faces/README.md: squared differences, items weighted equally.
    frame = pd.read_csv(shared / "mdns_faces" / "ratings.csv.gz")
    # Raters are places in a list: the same place in the other experiment is somebody else.
    frame["annotator"] = frame["group"] + frame["annotator"].astype(str)
    expected = {
        "angry": 0.1716, "happy": 0.3423, "sad": 0.1802, "fear": 0.0586, "surprise": 0.0576,
        "disgust": 0.0454,
    }  # fmt: skip
    for name, value in expected.items():
        ann = dx.annotations(frame[frame["dimension"] == name], pool="group")
        kappa = dx.cross_kappa(ann, distance="interval", missing="items")
        assert round(float(kappa), 4) == value, name


def test_crowd_and_experts(shared):
    # drug_relations/README.md gives the alphas of either pool (on all its items), .4870 and
    # .5566, and no kappa_x: that is compared with the definition.
    folder = shared / "drug_relations"
    crowd, experts = (pd.read_csv(folder / f"{name}.csv") for name in ("crowd", "experts"))
    experts = experts[experts["annotator"] != "expert4"]  # resolved disagreements only
    frame = pd.concat([crowd.assign(pool="crowd"), experts.assign(pool="experts")])
    # Four people answered a test question twice: the README counts that as two annotators.
    again = frame.groupby(["pool", "item", "annotator"]).cumcount().astype(str)
    frame["annotator"] = frame["annotator"].astype(str) + "/" + again
    for part, value in (("crowd", 0.4870), ("experts", 0.5566)):
        own = dx.annotations(frame[frame["pool"] == part])
        assert round(float(dx.krippendorff_alpha(own)), 4) == value
    kappa = dx.cross_kappa(dx.annotations(frame, pool="pool"))
    both = frame[frame.groupby("item")["pool"].transform("nunique") == 2]
    counts = {pool: pd.crosstab(part["item"], part["label"])
              for pool, part in both.groupby("pool")}  # fmt: skip
    x, y = counts["crowd"].align(counts["experts"], fill_value=0)
    assert len(x) == 167
    r, s = x.sum(axis=1), y.sum(axis=1)
    observed = ((r + s) * (1 - (x * y).sum(axis=1) / (r * s))).sum() / (r + s).sum()
    expected = 1 - (x.sum() * y.sum()).sum() / (r.sum() * s.sum())
    assert float(kappa) == pytest.approx(1 - observed / expected, abs=1e-12)


def _frame(*rows):
    return pd.DataFrame(rows, columns=["item", "annotator", "label", "pool"])


def _two_tables(x, y):
    rows = [
        (item, f"{pool}{n}", label, pool)
        for pool, table in (("x", x), ("y", y))
        for item, labels in enumerate(table)
        for n, label in enumerate(labels)
    ]
    return dx.annotations(_frame(*rows), pool="pool")


def test_two_negative_reliabilities_give_no_positive_one():
    # Either pool contradicts itself on every item: alpha is -1/3 twice, and the product positive.
    ann = _two_tables(["ab"] * 2, ["ab"] * 2)
    assert float(dx.cross_kappa(ann)) == pytest.approx(0.0)
    with pytest.warns(dx.DissensusWarning, match="pool 'x' .* is not positive"):
        kappa = dx.cross_kappa(ann, normalized=True)
    assert np.isnan(kappa)
    assert kappa.name == "normalized_cross_kappa"


def test_a_reliability_that_is_positive_by_rounding_only_is_none():
    # Alpha of the first pool is exactly 0, and of the second (items that differ) clearly positive.
    x, y = [[2, 3, 1], [1, 1, 2]], [[1, 2, 1], [4, 5, 4]]
    for scale in (1, 7, 1000):
        made = ([[number / scale for number in row] for row in table] for table in (x, y))
        ann = _two_tables(*made)
        with pytest.warns(dx.DissensusWarning, match="pool 'x' .* not positive beyond rounding"):
            assert np.isnan(dx.cross_kappa(ann, distance="interval", normalized=True))


def test_relative_weights_change_nothing_by_their_scale():
    rng = np.random.default_rng(2)
    truth, n_items = rng.integers(0, 5, size=(12, 1)), 12
    tables = (truth + rng.integers(0, 3, size=(12, 3)) for _ in "xy")
    ann = _two_tables(*(table.tolist() for table in tables))
    for normalized in (False, True):
        of = partial(dx.cross_kappa, ann, distance="interval", normalized=normalized)
        for weights in (np.ones(n_items), rng.random(n_items)):
            expected = float(of(weights=weights))
            assert np.isfinite(expected)
            for scale in (1 / n_items, 0.5, 0.037):
                assert float(of(weights=weights * scale)) == pytest.approx(expected, abs=1e-12)
        assert float(of()) == float(of(weights=[0.5] * n_items))


def test_a_pool_of_one_annotator_has_no_reliability():
    ann = _two_tables(["a", "b"], ["ab", "bb"])
    with pytest.warns(dx.DissensusWarning, match="pool 'x' .* is undefined"):
        assert np.isnan(dx.cross_kappa(ann, normalized=True))


def test_normalised_it_may_exceed_one():
    # By hand: alpha is 1 - 5 * 2 / 18 in either pool, kappa_x 1 - (1/6) / (1/2).
    ann = _two_tables(["ab", "aa", "bb"], ["ab", "aa", "bb"])
    assert float(dx.cross_kappa(ann, normalized=True)) == pytest.approx((2 / 3) / (4 / 9))


def test_one_label_used_by_all_is_undefined():
    for x, y in ((["aa", "a"], ["a", "aa"]), (["aa", "b"], ["a", ""])):
        with pytest.warns(dx.DissensusWarning, match="all labels of both pools are the same"):
            assert np.isnan(dx.cross_kappa(_two_tables(x, y)))
    numbers = _two_tables([[0.1, 0.1, 0.1], [7.3]], [[0.1, 0.1], []])
    with pytest.warns(dx.DissensusWarning, match="all labels of both pools are the same"):
        assert np.isnan(dx.cross_kappa(numbers, distance="interval"))


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("distance", ["nominal", "interval", "absolute", squared])
def test_pools_without_a_common_item_are_undefined(distance, normalized):
    ann = _two_tables([[1.0, 2.5], []], [[], [1.0, 2.0]])
    with pytest.warns(dx.DissensusWarning, match="no overlap between the pools") as caught:
        assert np.isnan(dx.cross_kappa(ann, distance=distance, normalized=normalized))
    assert str(caught[0].message).count("undefined") == 1


def test_agreement_throughout_is_one_and_contradiction_below_zero():
    same, other = ["aa", "bb", "a"], ["a", "bbb", "a"]
    for missing in ("weighted", "pairs", "items"):
        assert float(dx.cross_kappa(_two_tables(same, other), missing=missing)) == 1.0
        swapped = _two_tables(same, [text.translate({97: "b", 98: "a"}) for text in other])
        assert float(dx.cross_kappa(swapped, missing=missing)) < 0
    numbers = _two_tables([[0.1, 0.1], [0.3] * 3], [[0.1], [0.3, 0.3]])
    assert float(dx.cross_kappa(numbers, distance="interval")) == 1.0


@pytest.mark.long
def test_large_pools_do_not_overflow():
    # Half a million labels in either pool: their product does not fit into 32 bits.
    rng = np.random.default_rng(1)
    truth = rng.random(100_000) < 0.5
    item = np.repeat(np.arange(100_000), 10)
    label = truth[item] ^ (rng.random(len(item)) < 0.1)
    annotator = np.tile(np.arange(10), 100_000)
    frame = {"item": item, "annotator": annotator, "label": label, "pool": annotator % 2}
    kappa = dx.cross_kappa(dx.annotations(frame, pool="pool"))
    # Two annotators who are each right 9 times in 10 agree .82 of the time; .64 past one half.
    assert float(kappa) == pytest.approx(0.64, abs=0.01)


def test_somebody_in_both_pools_is_one_person_in_each():
    rows = [("i", "ann", "a", "x"), ("i", "bob", "b", "x"), ("i", "eve", "a", "y"),
            ("j", "bob", "b", "x"), ("j", "ann", "b", "y"), ("j", "eve", "a", "y")]  # fmt: skip
    moved = [(i, who + pool, label, pool) for i, who, label, pool in rows]
    first, second = (dx.annotations(_frame(*table), pool="pool") for table in (rows, moved))
    with pytest.warns(dx.DissensusWarning, match="^1 annotator is in both pools, 'x' and 'y'"):
        value = float(dx.cross_kappa(first))
    assert value == float(dx.cross_kappa(second))


def test_two_labels_without_trials_are_refused():
    ann = dx.annotations(
        {"item": [1, 1, 1], "annotator": ["a", "a", "b"], "label": [1, 2, 1],
         "pool": ["x", "x", "y"], "trial": [1, 2, 1]}, pool="pool", trial="trial",
    ).drop_vars("trial")  # fmt: skip
    with pytest.raises(dx.AnnotationError, match="one label for each item and annotator"):
        dx.cross_kappa(ann)


def test_what_is_no_pair_of_pools_is_refused():
    three = dx.annotations(
        {"item": [1, 1, 1], "annotator": ["a", "b", "c"], "label": [1, 2, 1],
         "pool": ["x", "y", "z"]}, pool="pool",
    )  # fmt: skip
    refusals = [
        (None, "two of the pools 'x', 'y', 'z'; found None"),
        ("xy", "two of the pools"),
        (("x",), "1 names"),
        (("x", "y", "z"), "3 names"),
        (("x", "w"), "found 'w'"),
        (("x", "x"), "each once; found 'x', 'x'"),
        (7, "found 7"),
    ]
    for pools, message in refusals:
        with pytest.raises(dx.ArgumentError, match=message):
            dx.cross_kappa(three, pools)
    with pytest.raises(dx.AnnotationError, match=r"no pools.*pool="):
        dx.cross_kappa(dx.from_matrix([[1, 2], [1, 1]]))


def test_pools_are_found_by_their_names_whatever_these_are():
    frame = {"item": [1, 1, 2, 2], "annotator": ["a", "b", "a", "b"], "label": [1, 2, 2, 2],
             "pool": [2013, 2014, 2013, 2014]}  # fmt: skip
    ann = dx.annotations(frame, pool="pool")
    assert float(dx.cross_kappa(ann, (2013, 2014))) == float(dx.cross_kappa(ann))
    assert float(dx.cross_kappa(ann, np.array([2014, 2013]))) == float(dx.cross_kappa(ann))
