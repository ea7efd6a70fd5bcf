"""Distances between annotators in sums over items, against all pairs one by one."""

from __future__ import annotations

import numpy as np
import pytest
from small_studies import absolute, nominal, psi, ratio, squared, study

import dissensus as dx
from dissensus.statistics import _distances
from dissensus.statistics._distances import disagreement, table_of
from dissensus.statistics._ratio_level import ratio_disagreement
from dissensus.statistics._statements import rows_of

NAMED = [("nominal", nominal), ("squared", squared), ("interval", squared), ("absolute", absolute)]


def check(found, made, distance, order):
    said = made.said()
    voices = [list(said[item].values()) for item in order]
    for i, labels in enumerate(voices):
        own = sum(psi(one, one, distance) for one in labels)
        everything = sum(psi(one, two, distance) for one in labels for two in labels)
        assert found.own[i] == pytest.approx(own, abs=1e-11)
        assert found.within[i] == pytest.approx(everything - own, abs=1e-10)
    left, right = np.random.default_rng(len(order)).random((2, len(order)))
    margin = found.margin if isinstance(found.margin, np.ndarray) else found.margin.toarray()
    across = sum(
        left[i] * right[j] * psi(one, two, distance)
        for i, labels in enumerate(voices) for one in labels
        for j, others in enumerate(voices) for two in others
    )  # fmt: skip
    assert found.cross(left @ margin, right @ margin) == pytest.approx(across, abs=1e-10)
    several = found.cross(np.stack([left @ margin] * 2), np.stack([right @ margin] * 2))
    assert several == pytest.approx([across] * 2, abs=1e-10)


@pytest.mark.parametrize("trials", [False, True])
@pytest.mark.parametrize("kind", ["nominal", "ordinal", "continuous"])
@pytest.mark.parametrize(("name", "distance"), NAMED)
def test_a_distance_by_name_and_as_a_callable(kind, trials, name, distance):
    if kind == "nominal" and name != "nominal":
        return
    for seed in range(25):
        made = study(seed, kind, trials=trials)
        ann = made.annotations()
        rows = rows_of(ann)
        order = ann["item"].values.tolist()
        check(disagreement(ann, rows, name), made, distance, order)
        check(disagreement(ann, rows, distance), made, distance, order)


@pytest.mark.parametrize("trials", [False, True])
def test_ratios(trials):
    for seed in range(25):
        made = study(seed, ("ordinal", "continuous")[seed % 2], trials=trials)
        ann = made.annotations()
        rows = rows_of(ann)
        check(ratio_disagreement(ann, rows), made, ratio, ann["item"].values.tolist())


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
    for seed in range(50):
        rng = np.random.default_rng(seed)
        value = float(rng.normal())
        numbers = np.full((4, 3), value)
        numbers[0] = 10 * rng.normal(size=3)  # the centre is elsewhere
        ann = dx.from_matrix(numbers)
        found = disagreement(ann, rows_of(ann), "squared")
        weights = np.array([0.0, *rng.random(3)])
        assert found.cross(weights @ found.margin, weights @ found.margin) == 0.0
        assert (found.within >= 0).all()
        assert (found.own == 0).all()
