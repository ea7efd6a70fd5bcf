"""Distances between annotators in sums over items, against all pairs one by one."""

from __future__ import annotations

import numpy as np
import pytest
from small_studies import absolute, nominal, psi, ratio, squared, study

import dissensus as dx
from dissensus.statistics import _distances
from dissensus.statistics._distances import (
    disagreement,
    ratio_disagreement,
    ratio_table,
    table_of,
)
from dissensus.statistics._read import rows_of

NAMED = [("nominal", nominal), ("squared", squared), ("interval", squared), ("absolute", absolute)]


def check(result, made, distance, order):
    answers = made.labels_by_item()
    statements = [list(answers[item].values()) for item in order]
    for i, labels in enumerate(statements):
        own = sum(psi(label, label, distance) for label in labels)
        everything = sum(psi(label, two, distance) for label in labels for two in labels)
        assert result.own[i] == pytest.approx(own, abs=1e-11)
        assert result.within[i] == pytest.approx(everything - own, abs=1e-10)
    left, right = np.random.default_rng(len(order)).random((2, len(order)))
    margin = result.margin if isinstance(result.margin, np.ndarray) else result.margin.toarray()
    across = sum(
        left[i] * right[j] * psi(label, two, distance)
        for i, labels in enumerate(statements) for label in labels
        for j, others in enumerate(statements) for two in others
    )  # fmt: skip
    assert result.cross(left @ margin, right @ margin) == pytest.approx(across, abs=1e-10)
    several = result.cross(np.stack([left @ margin] * 2), np.stack([right @ margin] * 2))
    assert several == pytest.approx([across] * 2, abs=1e-10)


@pytest.mark.unit(9)
@pytest.mark.parametrize(
    ("kind", "name", "distance"),
    [("nominal", "nominal", nominal),
     *((kind, *pair) for kind in ("ordinal", "continuous") for pair in NAMED)],
)  # fmt: skip
def test_a_distance_by_name_and_as_a_callable(kind, name, distance):
    for seed in range(6):
        made = study(seed, kind, trials=bool(seed % 2))
        ann = made.annotations()
        order = ann["item"].values.tolist()
        check(disagreement(ann, rows_of(ann), name), made, distance, order)
        check(disagreement(ann, rows_of(ann), distance), made, distance, order)


@pytest.mark.parametrize("kind", ["ordinal", "continuous"])
def test_ratios(kind):
    for seed in range(6):
        made = study(seed, kind, trials=bool(seed % 2))
        ann = made.annotations()
        check(ratio_disagreement(ann, rows_of(ann)), made, ratio, ann["item"].values.tolist())


def test_what_is_no_distance_is_refused(monkeypatch):
    ann = dx.from_matrix([[1, 2], [2, 3]])
    rows = rows_of(ann)
    with pytest.raises(dx.ArgumentError, match="'nominal', 'squared', 'absolute', 'interval'"):
        disagreement(ann, rows, "euclidean")
    refused = [
        (lambda a, b: a - b, "0 or more"),
        (lambda a, b: max(a - b, 0), "the same in both directions"),
        (lambda a, b: 1.0, "0 from a label to itself"),
        (lambda a, b: np.nan, "a finite number"),
        (lambda a, b: a.upper(), "AttributeError"),
        (lambda a: 0.0, "TypeError"),
        (lambda a, b: "far", "ValueError"),
    ]
    for distance, message in refused:
        with pytest.raises(dx.ArgumentError, match=f"^distance.*{message}"):
            disagreement(ann, rows, distance)
    monkeypatch.setattr(_distances, "TABLE", 2)
    with pytest.raises(dx.ArgumentError, match="3 labels: 9 pairs"):
        disagreement(ann, rows, lambda a, b: abs(a - b))


def test_a_callable_gets_plain_values():
    seen = set()

    def distance(a, b):
        seen.update({type(a), type(b)})
        return float(a != b)

    table_of(np.array([1, 2]), distance)
    table_of(np.array(["a", "b"]), distance)
    table_of(np.array(["a", "b"], dtype=object), distance)
    assert seen == {int, str}


def test_equal_numbers_have_no_distance_left_by_rounding():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        value = float(rng.normal())
        numbers = np.full((4, 3), value)
        numbers[0] = 10 * rng.normal(size=3)  # the centre is elsewhere
        ann = dx.from_matrix(numbers)
        result = disagreement(ann, rows_of(ann), "squared")
        weights = np.array([0.0, *rng.random(3)])
        assert result.cross(weights @ result.margin, weights @ result.margin) == 0.0
        assert (result.within >= 0).all()
        assert (result.own == 0).all()


@pytest.mark.parametrize("offset", [1e3, 1e5, 1e7, 1e12])
def test_items_far_from_all_others_are_exact_or_said_to_be_lost(offset):
    """Weights may pick items far from the centre of the rest, in sums around that centre."""
    near = np.array([[0, 1.5], [1.25, 2], [0, 2.75]])
    far = dx.from_matrix(np.concatenate([np.tile([0.0, 1.0], (9, 1)), near + offset]))
    actual = disagreement(far, rows_of(far), "squared")
    np.testing.assert_array_equal(actual.within[9:], 2 * np.diff(near, axis=1)[:, 0] ** 2)
    picked = [0] * 9 + [1] * 3
    expected = float(dx.krippendorff_alpha(dx.from_matrix(near)))
    if offset <= 1e5:
        assert float(dx.krippendorff_alpha(far, weights=picked)) == pytest.approx(
            expected, rel=1e-4
        )
        return
    with pytest.warns(
        dx.DissensusWarning, match="the same, up to rounding errors of the largest numbers"
    ):
        assert np.isnan(dx.krippendorff_alpha(far, weights=picked))
    with pytest.warns(
        dx.DissensusWarning, match="the same, up to rounding errors of the largest numbers"
    ):
        assert np.isnan(dx.iota(far, weights=picked))


STATISTICS = {
    "krippendorff_alpha": ("interval",),
    "iota": ("squared", "absolute"),
    "annotator_discrepancy_ratio": ("squared", "absolute"),
}


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("scale", [1e-320, 1e-139, 1e139, 1e307])
def test_numbers_whose_distances_no_float_holds_are_refused(statistic, scale):
    matrix = np.array([[1, 2, 1], [2, 4, 2], [1, 3, 2]])
    ann = dx.from_matrix(matrix * scale, kind="continuous")
    of = getattr(dx, statistic)
    for distance in STATISTICS[statistic]:
        expected = of(dx.from_matrix(matrix, kind="continuous"), distance)
        limit = 1e280 if distance == "absolute" else 1e140
        if 1 / limit < scale < limit:
            np.testing.assert_allclose(of(ann, distance), expected, rtol=1e-9)
            continue
        with pytest.raises(dx.AnnotationError, match="differences neither overflow nor underflow"):
            of(ann, distance)
    if scale > 1e-300:  # shares of one another are what they are at any scale
        alpha = dx.krippendorff_alpha(ann, "ratio")
        assert float(alpha) == pytest.approx(
            float(dx.krippendorff_alpha(dx.from_matrix(matrix, kind="continuous"), "ratio"))
        )


def test_systems_far_from_all_annotators_are_refused():
    ann = dx.from_matrix([[1, 2], [2, 2]], kind="continuous")
    frame = {"item": [0, 1], "system": ["s", "s"], "label": [1.0, 1e200]}
    pred = dx.predictions(frame, kind="continuous")
    with pytest.raises(dx.AnnotationError, match=r"^annotations and predictions: .* 1e.200"):
        dx.discrepancy_ratio(ann, pred, "squared")
    assert np.isfinite(dx.discrepancy_ratio(ann, pred, "absolute")["discrepancy_ratio"]).all()


def test_whole_numbers_that_floats_confuse_are_refused():
    large = 2**60
    ann = dx.from_matrix([[large, large + 1], [large + 2, large + 2]], kind="ordinal")
    for statistic in (dx.iota, dx.annotator_discrepancy_ratio):
        with pytest.raises(dx.AnnotationError, match=r"1152921504606846977.*Subtract the same"):
            statistic(ann, "squared")
    with pytest.raises(dx.AnnotationError, match="up to 9,007,199,254,740,992"):
        dx.krippendorff_alpha(ann, "interval")
    assert np.isfinite(dx.krippendorff_alpha(ann, "nominal"))
    assert np.isfinite(dx.krippendorff_alpha(ann, "ordinal"))
    powers = dx.from_matrix([[large, 2 * large], [large, large]], kind="ordinal")
    assert np.isfinite(dx.krippendorff_alpha(powers, "interval"))  # floats hold these


def test_all_pairs_and_two_zeros():
    values = np.array([0.0, 0.5, 2.0])
    expected = [[0.0 if a == b else ((a - b) / (a + b)) ** 2 for b in values] for a in values]
    np.testing.assert_allclose(ratio_table(values), expected, atol=1e-15)


def test_negative_numbers_are_refused_by_row_and_item():
    ann = dx.annotations(
        {"item": ["i", "j"], "annotator": ["a", "a"], "label": [1.5, -0.5]}, kind="continuous"
    )
    with pytest.raises(dx.AnnotationError, match=r"row 1 \(item 'j'\).*found -0\.5"):
        ratio_disagreement(ann, rows_of(ann))


def test_more_numbers_than_a_table_holds_are_refused(monkeypatch):
    monkeypatch.setattr(_distances, "TABLE", 2)
    ann = dx.from_matrix([[0.5, 1.5], [2.5, 0.5]])
    with pytest.raises(dx.AnnotationError, match=r"up to 2 distinct numbers.*found 3"):
        ratio_disagreement(ann, rows_of(ann))
