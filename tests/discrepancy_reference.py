"""Discrepancies by their definition: plain loops over pairs, of small random tables."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from small_studies import psi

import dissensus as dx


def by_item(table):
    """From {(item, annotator): labels} to {item: {annotator: labels}}."""
    out = defaultdict(dict)
    for (item, annotator), labels in table.items():
        out[item][annotator] = labels
    return out


def alpha_of(statements, delta):
    """The inner part of Eq. 2, for one item's {annotator: labels}."""
    pairs = [(r, s) for r in statements for s in statements if r != s]
    return sum(psi(statements[r], statements[s], delta) for r, s in pairs) / len(pairs)


def mu_of(answer, statements, delta):
    """The inner part of Eq. 3."""
    return sum(psi([answer], labels, delta) for labels in statements.values()) / len(statements)


def discrepancies(table, answers, delta, weights=None):
    """Eq. 2 and 3, over items with two annotators and a prediction."""
    above = below = total = 0.0
    for item, statements in by_item(table).items():
        if len(statements) >= 2 and item in answers:
            weight = 1.0 if weights is None else weights[item]
            above += weight * mu_of(answers[item], statements, delta)
            below += weight * alpha_of(statements, delta)
            total += weight
    return (above / total, below / total) if total else (math.nan, math.nan)


def annotator_ratio(table, annotator, delta, alpha_items):
    """Take an annotator out; compare their labels, a set if several, with the others'."""
    mine = {item: labels for (item, who), labels in table.items() if who == annotator}
    rest = {key: labels for key, labels in table.items() if key[1] != annotator}
    others = {item: v for item, v in by_item(rest).items() if len(v) >= 2}
    shared = [item for item in others if item in mine]
    if not shared:
        return math.nan
    towards = [
        np.mean([psi(mine[item], z, delta) for z in others[item].values()]) for item in shared
    ]
    items = shared if alpha_items == "same" else list(others)
    alpha = np.mean([alpha_of(others[item], delta) for item in items])
    return np.mean(towards) / alpha if alpha > 0 else math.nan


def random_statements(rng, draw, n_items=6, n_annotators=5, chance=0.6, repeats=1):
    """Draw a table with missing annotators; up to ``repeats`` labels from each."""
    table = {}
    for item in range(n_items):
        for annotator in range(n_annotators):
            if rng.random() < chance or (item == 0 and annotator < 2):
                n = rng.integers(1, repeats + 1)
                table[item, annotator] = [draw(rng) for _ in range(n)]
    return table


def annotations(table, rng=None, **how):
    """Make annotations of such a table, rows in any order."""
    rows = [
        (item, annotator, trial, label)
        for (item, annotator), labels in table.items()
        for trial, label in enumerate(labels)
    ]
    if rng is not None:
        rows = [rows[k] for k in rng.permutation(len(rows))]
    columns = dict(
        zip(("item", "annotator", "trial", "label"), zip(*rows, strict=True), strict=True)
    )
    trial = "trial" if any(len(labels) > 1 for labels in table.values()) else None
    return dx.annotations(columns, trial=trial, **how)


def predictions(answers, **how):
    """Make predictions of {system: {item: answer}}."""
    rows = [(i, s, y) for s, result in answers.items() for i, y in result.items()]
    table = dict(zip(("item", "system", "label"), zip(*rows, strict=True), strict=True))
    return dx.predictions(table, **how)
