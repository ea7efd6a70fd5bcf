"""Coefficients of agreement by their definitions: plain loops over pairs of labels.

A study is a list of items; an item maps an annotator to the list of labels they gave it, numbers
0, 1, ... A distance takes two labels. Item weights multiply whatever the item adds to a sum.
"""

from __future__ import annotations

import itertools
import math

import concordance_reference
import numpy as np
import pytest
from small_studies import nominal, psi

import dissensus as dx

NAN = math.nan


def study(rng, **sizes):
    """Draw a small study; every item has somebody."""
    return [
        {r: [label for label, _ in given] for r, given in labels.items()}
        for labels in concordance_reference.study(rng, sure=None, **sizes)
    ]


def as_annotations(items, labels, kind="ordinal"):
    """Write a study down as annotations that declare 0, 1, ... for labels."""
    certain = [
        {r: [(label, 1.0) for label in given] for r, given in answers.items()} for answers in items
    ]
    return concordance_reference.as_annotations(certain, labels, kind, sure=False)


def share_of(distance, labels):
    """A distance as a share of the largest one: 1 minus the weight of a weighted coefficient."""
    return lambda a, b: distance(a, b) / max(distance(0, labels - 1), 1.0)


def within(items, weights, distance):
    """Mean over items with two annotators of the mean distance of their pairs."""
    above = below = 0.0
    for labels, weight in zip(items, weights, strict=True):
        pairs = list(itertools.permutations(labels.values(), 2))
        if pairs:
            above += weight * sum(psi(*pair, distance) for pair in pairs) / len(pairs)
            below += weight
    return above / below if below else NAN


def shares(items, weights, labels):
    """Mean over items of the share of each label, every annotator counting once."""
    total = np.zeros(labels)
    for answers, weight in zip(items, weights, strict=True):
        for given in answers.values():
            for label in given:
                total[label] += weight / len(given) / len(answers)
    return total / sum(weights)


def corrected(observed, expected):
    return 1.0 - observed / expected if expected > 1e-13 else NAN


def fleiss(items, weights, labels):
    share = shares(items, weights, labels)
    return corrected(within(items, weights, nominal), 1.0 - sum(share**2))


def gwet(items, weights, labels, distance):
    if labels < 2:
        return NAN
    apart = share_of(distance, labels)
    total = sum(1.0 - apart(a, b) for a in range(labels) for b in range(labels))
    share = shares(items, weights, labels)
    chance = total / (labels * (labels - 1)) * sum(share * (1.0 - share))
    return corrected(within(items, weights, apart), 1.0 - chance)


def bennett(items, weights, labels, distance):
    apart = share_of(distance, labels)
    chance = sum(apart(a, b) for a in range(labels) for b in range(labels)) / labels**2
    return corrected(within(items, weights, apart), chance)


def cohen(items, weights, labels, distance, first, second):
    """From the table of what the first said against what the second said."""
    table = np.zeros((labels, labels))
    for answers, weight in zip(items, weights, strict=True):
        if first in answers and second in answers:
            for a in answers[first]:
                for b in answers[second]:
                    table[a, b] += weight / len(answers[first]) / len(answers[second])
    if table.sum() == 0:
        return NAN
    table /= table.sum()
    apart = np.array([[distance(a, b) for b in range(labels)] for a in range(labels)])
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return corrected((apart * table).sum(), (apart * expected).sum())


def iota(items, weights, distance):
    kept = [(labels, w) for labels, w in zip(items, weights, strict=True) if len(labels) > 1]
    observed = expected = near = far = 0.0
    for labels, weight in kept:
        for first, second in itertools.permutations(labels.values(), 2):
            observed += weight * psi(first, second, distance)
            near += weight
    for (labels, weight), (others, weighing) in itertools.product(kept, kept):
        for (r, first), (s, second) in itertools.product(labels.items(), others.items()):
            if r != s:
                expected += weight * weighing * psi(first, second, distance)
                far += weight * weighing
    if near == 0:
        return NAN
    return corrected(observed / near, expected / far)


def agrees(statistic, expected):
    """Compare a statistic, called without arguments, with its definition; tell if it is defined."""
    if math.isnan(expected):
        with pytest.warns(dx.DissensusWarning, match="is undefined"):
            actual = statistic()
        assert np.isnan(actual)
        return False
    np.testing.assert_allclose(statistic(), expected, rtol=1e-11, atol=1e-11)
    return True
