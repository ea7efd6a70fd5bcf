"""Krippendorff's alpha: printed values, another package, brute force, and degenerate data."""

from __future__ import annotations

import krippendorff
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from small_studies import (
    WORDS,
    alpha_by_definition,
    nominal,
    ordinal_distance,
    ratio,
    squared,
    study,
)

import dissensus as dx
from dissensus.statistics._sums import AS_COUNTS

LEVELS = ("nominal", "ordinal", "interval", "ratio")
every_level = pytest.mark.parametrize("level", LEVELS)
NAN = np.nan

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C: four observers,
# twelve units, some values missing; the same table in irrCAC as raw4raters.
FOUR_BY_TWELVE = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)


def alpha(*args, **kwargs):
    return float(dx.krippendorff_alpha(*args, **kwargs))


def undefined(ann, why, **kwargs):
    with pytest.warns(dx.DissensusWarning, match=why):
        result = dx.krippendorff_alpha(ann, **kwargs)
    return bool(np.isnan(result))


@pytest.mark.parametrize(
    ("level", "expected"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_four_observers_and_twelve_units(level, expected):
    ann = dx.from_matrix(FOUR_BY_TWELVE.T)
    assert round(alpha(ann, level=level), 3) == expected


@pytest.mark.unit(8)
@every_level
@pytest.mark.parametrize("spread", ["labels", "numbers"])
def test_it_is_what_the_krippendorff_package_gives(level, spread):
    for seed in range(8):
        rng = np.random.default_rng([seed, len(level)])
        shape = (int(rng.integers(2, 7)), int(rng.integers(2, 12)))
        table = rng.integers(1, 6, size=shape).astype(float)
        if spread == "numbers":
            table = np.round(rng.gamma(2.0, size=shape), 3)
        table[:, 0] += np.arange(shape[0])  # never one label alone
        missing = rng.random(shape) < 0.35
        missing[:2, 0] = False
        table[missing] = NAN
        ann = dx.from_matrix(table.T, kind="continuous" if spread == "numbers" else None)
        expected = krippendorff.alpha(table, level_of_measurement=level)
        assert alpha(ann, level=level) == pytest.approx(expected, abs=1e-10)


@pytest.mark.unit(8)
@every_level
@pytest.mark.parametrize("trials", [False, True])
def test_it_is_its_definition_pair_by_pair(level, trials):
    for seed in range(6):
        kind = "nominal" if level == "nominal" else ("ordinal", "continuous")[seed % 2]
        made = study(seed, kind, trials=trials)
        labels = made.labels_by_item()
        distance = {"nominal": nominal, "interval": squared, "ratio": ratio}.get(level)
        expected = alpha_by_definition(labels, distance or ordinal_distance(labels))
        assert alpha(made.annotations(), level=level) == pytest.approx(expected, abs=1e-12)


def test_pairs_of_labels_of_one_annotator_on_one_item_are_left_out():
    rows = {"item": [1, 1, 1, 2, 2], "annotator": list("aabab"), "label": list("xyxyy")}
    ann = dx.annotations(rows | {"trial": [1, 2, 1, 1, 1]}, trial="trial")
    # n = 4 answers, of which 1.5 are x and 2.5 are y. On item 1 annotators differ in one of two
    # pairs of labels: n D_o = 2 * .5 / (2 - 1) = 1. Of n (n - 1) D_e = 2 * 1.5 * 2.5 the two labels
    # of a on item 1 are left out, which differ in two of four ordered pairs: 7.5 - .5 = 7.
    observed, expected = 1 / 4, 7 / (4 * 3)
    assert alpha(ann) == pytest.approx(1 - observed / expected) == pytest.approx(4 / 7)


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        # textbook_reliability/README.md: irrCAC's krippendorff, and the krippendorff package.
        ("textbook_reliability/fleiss1971_diagnoses", "nominal", 0.43341),
        ("textbook_reliability/gwet_raw5observers", "nominal", 0.48053),
        # R's irr::kripp.alpha gives -.0957 here: with more than two annotators and complete data
        # it is off (methods.md, section 8).
        ("textbook_reliability/shrout_fleiss1979", "nominal", -0.0648),
        ("pandalm/ratings", None, 0.8642),  # pandalm/README.md: nominal, of labels 0, 1, 2
    ],
)
def test_printed_values(shared, name, level, expected):
    ann = dx.read_annotations(shared / f"{name}.csv")
    digits = len(str(expected).split(".")[1])
    assert round(alpha(ann, level=level), digits) == expected


def test_two_paradigms(shared):
    # annotation_paradigms/README.md
    frame = pd.read_csv(shared / "annotation_paradigms" / "ratings.csv.gz")
    for group, value in {"g1": 0.1978, "g2": 0.7781, "g3": 0.1478}.items():
        assert round(alpha(dx.annotations(frame[frame["group"] == group])), 4) == value


def test_faces_rated_for_six_expressions(shared):
    # mdns_faces/README.md: ordinal alphas, with six scales and with twenty-one.
    frame = pd.read_csv(shared / "mdns_faces" / "ratings.csv.gz")
    expected = {
        "angry": (0.292, 0.099), "happy": (0.505, 0.246), "sad": (0.222, 0.137),
        "fear": (0.081, 0.012), "surprise": (0.073, -0.010), "disgust": (0.065, 0.011),
    }  # fmt: skip
    for name, values in expected.items():
        for group, value in zip(("six_scales", "twenty_one_scales"), values, strict=True):
            part = frame[(frame["dimension"] == name) & (frame["group"] == group)]
            assert round(alpha(dx.annotations(part), level="ordinal"), 3) == value


def test_the_level_follows_from_the_kind():
    numbers = dx.from_matrix([[0.5, 1.5], [2.0, 2.5], [1.0, 0.5]])
    assert alpha(numbers) == alpha(numbers, level="interval")
    codes = dx.from_matrix([[1, 2], [3, 3], [2, 2]])
    assert codes.attrs["kind"] == "ordinal"
    assert alpha(codes) == alpha(codes, level="nominal")


@every_level
def test_one_label_used_by_all_is_undefined(level):
    for matrix in ([[1, 1], [1, 1]], [[1, 1, 1], [1, 1, NAN], [2, NAN, NAN]]):
        assert undefined(dx.from_matrix(matrix), "all labels are the same", level=level)


@every_level
def test_equal_numbers_far_from_the_others_are_still_equal(level):
    # Only rounding is left of their spread, which must not pass for a spread.
    for seed in range(6):
        rng = np.random.default_rng(seed)
        value = float(rng.choice([0.1, 1 / 3, 7.7, 100.1]))
        pairs, others = np.full((3, 5), value), np.full((4, 5), NAN)
        others[:, 0] = rng.gamma(2.0, size=4)
        ann = dx.from_matrix(np.concatenate([pairs, others]))
        assert undefined(ann, "all labels are the same", level=level, weights=rng.random(7) + 0.1)
        others[:, 1] = rng.gamma(2.0, size=4)  # pairs too, but of no weight
        ann = dx.from_matrix(np.concatenate([pairs, others]))
        weights = [*rng.random(3) + 0.1, 0, 0, 0, 0]
        assert undefined(ann, "all labels are the same", level=level, weights=weights)


@every_level
def test_no_item_with_two_annotators_is_undefined(level):
    ann = dx.from_matrix([[1, NAN], [NAN, 2], [2, NAN]])
    assert undefined(ann, "no item has labels of two annotators", level=level)


@every_level
def test_perfect_agreement_on_two_labels_is_one(level):
    assert alpha(dx.from_matrix([[1, 1, 1], [2, 2, NAN]]), level=level) == 1.0
    assert alpha(dx.from_matrix([[0.1, 0.1, 0.1], [0.3] * 3]), level=level) == 1.0


def test_words_in_an_order_have_ranks_and_no_distances():
    made = study(5, "ordinal", n_labels=4)
    words = made.relabelled(dict(zip((1, 2, 3, 4), WORDS[3::-1], strict=True))).annotations()
    assert list(words["label"].values) == list(WORDS[3::-1])
    expected = alpha(made.annotations(), level="ordinal")
    assert alpha(words, level="ordinal") == pytest.approx(expected, abs=1e-14)
    for level in ("interval", "ratio"):
        with pytest.raises(dx.AnnotationError, match="which have distances"):
            dx.krippendorff_alpha(words, level=level)


def test_names_without_an_order_are_refused_above_the_nominal_level():
    ann = study(1).annotations()
    with pytest.raises(dx.AnnotationError, match=r'labels in an order.*kind="ordinal"'):
        dx.krippendorff_alpha(ann, level="ordinal")
    for level in ("interval", "ratio"):
        with pytest.raises(dx.AnnotationError, match="which have distances"):
            dx.krippendorff_alpha(ann, level=level)


def test_ratios_of_negative_numbers_are_refused_and_zeros_are_not():
    with pytest.raises(dx.AnnotationError, match=r"row 1 .*0 or more.*-1\.0"):
        dx.krippendorff_alpha(dx.from_matrix([[0.5, -1.0], [1.0, 1.5]]), level="ratio")
    table = np.array([[0.0, 0.0, 1.5], [0.0, 2.5, 2.0], [3.0, 3.5, NAN], [0.0, 0.0, 0.0]])
    result = alpha(dx.from_matrix(table), level="ratio")
    values = {i: {r: [v] for r, v in enumerate(row) if v == v} for i, row in enumerate(table)}
    assert result == pytest.approx(alpha_by_definition(values, ratio), abs=1e-13)


def test_numbers_far_from_zero_keep_their_digits():
    table = np.array([[1, 2, 4], [7, 8, 8], [3, 5, NAN], [1, 1, 2]]) / 16
    expected = alpha(dx.from_matrix(table))
    assert alpha(dx.from_matrix(table + 2.0**30)) == pytest.approx(expected, abs=1e-14)
    assert alpha(dx.from_matrix(table + 1e9)) == pytest.approx(expected, abs=1e-6)
    # Numbers that stand alone count for nothing, however far away they are.
    alone = np.array([[1e9, NAN, NAN]] * 20)
    assert alpha(dx.from_matrix(np.concatenate([table, alone]))) == pytest.approx(expected)


@every_level
def test_a_hundred_thousand_labels_on_one_item(level):
    rng = np.random.default_rng(0)
    n = 100_000
    label = rng.integers(1, 6, size=n + 2)
    frame = {"item": [0] * n + [1, 1], "annotator": range(n + 2), "label": label}
    assert abs(alpha(dx.annotations(frame), level=level)) < 0.01


def test_a_hundred_thousand_different_numbers():
    numbers = np.random.default_rng(0).normal(size=(50_000, 2))
    numbers[:, 1] += numbers[:, 0]
    ann = dx.from_matrix(numbers)
    assert alpha(ann, level="ordinal") == pytest.approx(0.65, abs=0.05)
    by_variance = np.var(numbers[:, 0] - numbers[:, 1]) + np.mean(numbers @ [1, -1]) ** 2
    expected = 1 - by_variance / (2 * np.var(numbers))
    assert alpha(ann) == pytest.approx(expected, abs=1e-4)
    assert alpha(ann, level="nominal") == pytest.approx(0.0, abs=1e-4)


def test_weights_too_small_to_count_are_undefined():
    # A weight says how often an item counts: alpha's n - 1 is not negative for less than a label.
    ann = dx.from_matrix([[1, 2], [2, NAN], [1, NAN]])
    for share in (0.01, 0.15):
        counts = xr.DataArray([share, 1.0, 1.0], dims="item", coords={"item": ann["item"]})
        counts.attrs[AS_COUNTS] = True
        assert undefined(ann, "how often an item counts", weights=counts)
        assert alpha(ann, weights=[share, 1.0, 1.0]) == 0.0  # relative to other items with pairs


@every_level
@pytest.mark.parametrize("scale", [1 / 30, 1e308, 5e-324])
def test_weights_that_are_no_numbers_of_times_are_relative(level, scale):
    rng = np.random.default_rng(11)
    ann = dx.from_matrix(rng.integers(1, 4, size=(30, 3)), kind="ordinal")
    assert alpha(ann, level=level, weights=[scale] * 30) == pytest.approx(alpha(ann, level=level))
    if 1e-200 < scale < 1e200:
        weights = rng.random(30)
        result = alpha(ann, level=level, weights=weights * scale)
        assert result == pytest.approx(alpha(ann, level=level, weights=weights), abs=1e-12)


def test_relative_weights_have_a_mean_of_one_by_the_definition():
    ann = dx.from_matrix([["a", "b"], ["b", "b"], ["a", "a"], ["a", "b"]])
    # As .75, .75, 1.5 times two labels: n = 6, of which 3.75 are a (.75 + 3) and 2.25 are b.
    expected = 1 - (2 * 0.75) / 6 / (2 * 3.75 * 2.25 / (6 * 5))
    assert alpha(ann, weights=[0.2, 0.2, 0.4, 0.0]) == pytest.approx(expected, abs=1e-14)
    assert alpha(ann, weights=[2, 2, 4, 0]) != pytest.approx(expected, abs=1e-2)


@pytest.mark.parametrize("weight", [0.001, 0.5, 50.5])
def test_weights_of_items_with_one_label_do_not_matter(weight):
    """Four items are .125 by hand; the fifth has one label, in neither disagreement."""
    pairs = [[1, 1], [2, 1], [2, 2], [1, 2], [1, None]]
    ann = dx.from_matrix(np.array(pairs, dtype=object), kind="nominal")
    alpha = dx.krippendorff_alpha(ann, weights=[0.5, 0.5, 0.5, 0.5, weight])
    assert float(alpha) == pytest.approx(0.125)
