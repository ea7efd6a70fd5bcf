"""Concordance and weighted reliability by their definitions: loops over pairs, plain Python.

Cabitza et al. (2020), "The elephant in the machine", Eq. 1 to 8. A study is a list of items; an
item maps an annotator to the list of (label, confidence) they gave it, labels 0, 1, ...
"""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np

import dissensus as dx

NAN = math.nan


def quietly(function, *args, **more):
    """Call a function without warnings of undefined values (and of short chains)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        return function(*args, **more)


def close(value, expected):
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


def weights_for(rng, n):
    """Equal weights, whole numbers (some of them 0), or any."""
    ways = [np.ones(n), rng.integers(0, 3, size=n).astype(float), rng.random(n) + 0.01]
    weights = ways[int(rng.integers(3))]
    return weights if weights.sum() else np.ones(n)


def study(rng, *, labels=3, annotators=4, items=5, missing=0.3, trials=False, sure="any"):
    """Draw a small study; every item has somebody. ``sure``: "any", "extreme", or None."""
    result = []
    for _ in range(int(rng.integers(1, items + 1))):
        there = np.flatnonzero(rng.random(annotators) >= missing)
        there = there if len(there) else rng.integers(annotators, size=1)
        statements = {}
        for r in there:
            n = 1 + int(rng.integers(3)) * trials
            given = rng.integers(labels, size=n).tolist()
            statements[int(r)] = [(label, _confidence(rng, sure)) for label in given]
        result.append(statements)
    return result


def _confidence(rng, sure):
    if sure is None:
        return 1.0
    levels = (0.0, 1.0) if sure == "extreme" else (0.0, 0.25, 0.5, 0.9, 1.0, float(rng.random()))
    return levels[int(rng.integers(len(levels)))]


def as_annotations(items, labels=3, kind="ordinal", sure=True):
    """Write a study down as annotations that declare 0, 1, ... for labels."""
    rows = [
        (i, r, trial, label, confidence)
        for i, answers in enumerate(items)
        for r, given in answers.items()
        for trial, (label, confidence) in enumerate(given)
    ]
    names = ("item", "annotator", "trial", "label", "sure")
    table = dict(zip(names, zip(*rows, strict=True), strict=True))
    space = None if kind == "continuous" else range(labels)
    more = {"confidence": "sure"} if sure else {}
    return dx.annotations(table, trial="trial", kind=kind, labels=space, **more)


def empirical(items, labels, weights):
    """Shares of labels given: whoever labels an item several times counts once for it."""
    share = [0.0] * labels
    for answers, weight in zip(items, weights, strict=True):
        for given in answers.values():
            for label, _ in given:
                share[label] += weight / len(given)
    return [p / sum(share) for p in share]


def meant(c, p):
    """Eq. 1."""
    return 0.0 if c == 0 else c / (c + (1 - c) * p)


def right(a, b, ways=1.0):
    """Eq. 6, with the number of ways to be wrong together; NaN if they cannot agree."""
    return NAN if {a, b} == {0.0, 1.0} else a * b / (a * b + (1 - a) * (1 - b) / ways)


def equal(a, b):
    return float(a == b)


def pair_value(statements, r, s, share, *, close=equal, accuracy=None, ways=1.0, x=0):
    """Eq. 2 times Eq. 6; ``accuracy`` takes annotator, item and the label given."""
    total = 0.0
    for (a, c), (b, d) in itertools.product(statements[r], statements[s]):
        both = close(a, b) * meant(c, share[a]) * meant(d, share[b])
        if both and accuracy is not None:
            both *= right(accuracy(r, x, a), accuracy(s, x, b), ways)
        total += both / len(statements[r]) / len(statements[s])
    return total


def item_value(labels, share, *, x=0, factor=None, **how):
    """Eq. 3 and 7."""
    pairs = list(itertools.combinations(labels, 2))
    if not pairs:
        return NAN
    total = sum(pair_value(labels, r, s, share, x=x, **how) for r, s in pairs)
    return total / len(pairs) * (1.0 if factor is None else factor[x])


def value(items, share, weights, **how):
    """Eq. 4 and 8, of items that count at all: others may have accuracies that contradict them."""
    kept = [
        (item_value(labels, share, x=x, **how), weights[x])
        for x, labels in enumerate(items)
        if weights[x] > 0 and len(labels) > 1
    ]
    return sum(v * w for v, w in kept) / sum(w for _, w in kept) if kept else NAN


def pair_values(items, names, share, weights, *, factor, **how):
    """The mean over the items that two annotators share, for each two of them."""
    out = np.full((len(names), len(names)), NAN)
    for (i, r), (j, s) in itertools.combinations(enumerate(names), 2):
        both = [
            x for x, labels in enumerate(items) if r in labels and s in labels and weights[x] > 0
        ]
        each = [factor[x] * pair_value(items[x], r, s, share, x=x, **how) for x in both]
        if both:
            out[i, j] = out[j, i] = np.average(each, weights=weights[both])
    return out


def majority(items, weights):
    """How often each annotator gives what leads among the others; ties in parts.

    Never quite always or never, so that two who agree are right in half of the cases if one always
    led and the other never did.
    """
    above, below = {}, {}
    for labels, weight in zip(items, weights, strict=True):
        for r, given in labels.items():
            votes: dict = {}
            for s, others in labels.items():
                for label, _ in others:
                    if s != r:
                        votes[label] = votes.get(label, 0.0) + 1 / len(others)
            if not votes:
                continue
            leaders = {k for k, n in votes.items() if n > max(votes.values()) - 1e-9}
            named = leaders & {label for label, _ in given}
            above[r] = above.get(r, 0.0) + weight * len(named) / len(leaders)
            below[r] = below.get(r, 0.0) + weight
    tiny = 1e-13
    return {r: min(max(above[r] / below[r], tiny), 1 - tiny) if below[r] else NAN for r in above}


def slim(statements, labels):
    """Whether one annotator, giving any other label, has the leading label beaten or tied."""

    def counts(study):
        return [sum(1 / len(g) for g in study.values() for y, _ in g if y == k)
                for k in range(labels)]  # fmt: skip

    now = counts(statements)
    lead = now.index(max(now))
    for r in statements:
        for other in range(labels):
            then = counts({**statements, r: [(other, 1.0)]})
            if other != lead and then[other] >= then[lead] - 1e-9:
                return True
    return any(now[k] >= now[lead] - 1e-9 for k in range(labels) if k != lead and statements)
