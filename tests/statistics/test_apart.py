"""Distances by voice, on which discrepancy ratios and advantage probabilities stand."""

from __future__ import annotations

import discrepancy_reference as reference
import numpy as np
import pytest
from seeds import seeds

from dissensus.data.alignment import systems_of
from dissensus.errors import ArgumentError
from dissensus.kernels import voices as voice_pairs
from dissensus.statistics._distances import CallableDistance
from dissensus.statistics._pairwise import statement_distances

DELTAS = {
    "squared": lambda y, z: (y - z) ** 2,
    "absolute": lambda y, z: abs(y - z),
    "nominal": lambda y, z: float(y != z),
    "jaccard": lambda y, z: 1 - len(y & z) / len(y | z),
}


def study(seed, repeats=2):
    rng = np.random.default_rng(seed)
    said = reference.random_said(rng, lambda rng: int(rng.integers(0, 4)), repeats=repeats)
    answers = {
        s: {item: int(rng.integers(0, 4)) for item in {item for item, _ in said} - {1}}
        for s in "st"
    }
    ann = reference.annotations(said, rng, kind="ordinal", labels=range(4))
    pred = reference.predictions(answers)
    return said, answers, ann, systems_of(ann, pred, "drop")


@pytest.mark.parametrize("distance", DELTAS)
@pytest.mark.parametrize("seed", seeds(10))
def test_each_voice_against_the_others_and_the_systems(distance, seed):
    said, answers, ann, systems = study(seed)
    delta, how = DELTAS[distance], lambda labels: labels
    if distance == "jaccard":
        how = lambda labels: [frozenset(labels)]  # noqa: E731
    found = statement_distances(ann, distance, systems)
    assert len(found.item) == len(said)
    towards = np.stack([found.to_system(k) for k in range(found.n_systems)], axis=1)
    items, annotators = (ann[dim].to_numpy() for dim in ("item", "annotator"))
    voices = reference.by_item(said)
    for v in range(len(said)):
        item, who = items[found.item[v]], annotators[found.annotator[v]]
        mine = how(voices[item][who])
        others = {name: how(labels) for name, labels in voices[item].items() if name != who}
        each = [reference.psi(mine, labels, delta) for labels in others.values()]
        np.testing.assert_allclose(found.to_others[v], np.mean(each) if each else np.nan)
        left = reference.alpha_of(others, delta) if len(others) > 1 else np.nan
        np.testing.assert_allclose(found.without[v], left, atol=1e-14)
        for place, system in enumerate(systems.names):
            expected = np.nan
            if item in answers[system]:
                answer = how([answers[system][item]])
                expected = reference.psi(answer, mine, delta)
            np.testing.assert_allclose(towards[v, place], expected, atol=1e-14)
    for code, item in enumerate(items):
        labels = {name: how(labels) for name, labels in voices[item].items()}
        between = reference.alpha_of(labels, delta) if len(labels) > 1 else 0.0
        np.testing.assert_allclose(found.by_item(found.to_others)[code], between, atol=1e-14)


def test_pairs_in_many_blocks_are_the_pairs_in_one(monkeypatch):
    _, _, ann, systems = study(3, repeats=1)
    whole = statement_distances(ann, "jaccard", systems)
    monkeypatch.setattr(voice_pairs, "_PAIRS", 4)
    parts = statement_distances(ann, "jaccard", systems)
    np.testing.assert_array_equal(whole.to_others, parts.to_others)


def test_without_systems_there_are_none():
    _, _, ann, _ = study(4)
    found = statement_distances(ann)
    assert found.attrs == {"distance": "squared"}
    assert found.n_systems == 0


def test_a_callable_is_asked_once_for_each_pair_and_direction():
    calls = []

    def distance(one, two):
        calls.append((one, two))
        return abs(one - two)

    _, _, ann, systems = study(5)
    found = statement_distances(ann, distance, systems)
    for place in range(found.n_systems):
        found.to_system(place)
    assert len(calls) <= 2 * 10  # four labels: ten pairs
    assert all(type(label) is int for pair in calls for label in pair)


def test_a_callable_that_fails_is_quoted():
    asked = CallableDistance(lambda one, two: {}[one], ["a", "b"])
    with pytest.raises(ArgumentError, match=r"between 'a' and 'b'.*KeyError"):
        asked(np.array([0]), np.array([1]))
