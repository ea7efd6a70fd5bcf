"""Who is closer to the other annotators, by the definition: plain loops over pairs of labels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def exactly(distance):
    """Take decimals for what they are, so that ties are ties."""

    def measured(first, second):
        if isinstance(first, str):
            return Fraction(distance(first, second))
        a, b = (Fraction(str(value)) for value in (first, second))
        return Fraction(int(a != b)) if distance.__name__ == "nominal" else (a - b) ** 2

    return measured


def mean_apart(labels, groups, distance):
    """How far labels are from several annotators' labels, each annotator counting once."""
    each = [
        sum((distance(a, b) for a in labels for b in others), Fraction(0))
        / (len(labels) * len(others))
        for others in groups
    ]
    return sum(each, Fraction(0)) / len(each)


def compared(by_item, predicted, system, distance):
    """Annotator -> item -> (system at least as close, annotator at least as close)."""
    distance, out = exactly(distance), {}
    for item, by in by_item.items():
        for r, own in by.items():
            rest = [labels for s, labels in by.items() if s != r]
            if not rest or (item, system) not in predicted:
                continue
            mine = mean_apart(own, rest, distance)
            theirs = mean_apart([predicted[item, system]], rest, distance)
            out.setdefault(r, {})[item] = (theirs <= mine, mine <= theirs)
    return out


def weighted(values, weights):
    """Mean over items; NaN without any."""
    total = sum(weights[item] for item in values)
    if not values or total == 0:
        return float("nan")
    return float(np.sum([weights[i] * value for i, value in values.items()]) / total)


def advantages(result, weights):
    """Annotator -> (how often the system is as close, how often the annotator is)."""
    return {
        r: tuple(weighted({i: pair[side] for i, pair in by.items()}, weights) for side in (0, 1))
        for r, by in result.items()
    }
