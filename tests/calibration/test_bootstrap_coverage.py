"""Intervals of the Bayesian bootstrap hold the population's value as often as they say.

Items are drawn from a population, annotators are always the same: that is what the bootstrap's
intervals speak of. The population's values are those of a sample of 400,000 items.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import dissensus as dx

ITEMS, DRAWS, LEVEL = 120, 600, 0.9
REDUCED, FULL = 120, 500
SKILL = np.array([0.85, 0.7, 0.8, 0.6, 0.75, 0.65])
SYSTEM = 0.8
LABELS = 4


def study(rng, n_items):
    """Six annotators in two pools, some labels missing; harder items are harder for all."""
    truth = rng.choice(LABELS, n_items, p=[0.4, 0.3, 0.2, 0.1])
    ease = rng.beta(4, 1, n_items)

    def labels_of(skill):
        right = rng.random((n_items, len(skill))) < skill * ease[:, None]
        other = (truth[:, None] + rng.integers(1, LABELS, right.shape)) % LABELS
        return np.where(right, truth[:, None], other)

    labels, kept = labels_of(SKILL), rng.random((n_items, len(SKILL))) < 0.9
    item, who = np.nonzero(kept)
    ann = dx.annotations(
        {"item": item, "annotator": who, "label": labels[item, who], "pool": who // 3},
        pool="pool", kind="nominal", labels=range(LABELS),
    )  # fmt: skip
    answers = labels_of(np.array([SYSTEM]))[:, 0]
    names = ann["item"].to_numpy()
    pred = dx.predictions(
        {"item": names, "system": ["s"] * len(names), "label": answers[names]}, kind="nominal"
    )
    return ann, pred


def alpha(ann, pred, **how):
    return how.pop("through", _once)(dx.krippendorff_alpha, ann, level="nominal", **how)


def kappa(ann, pred, **how):
    return how.pop("through", _once)(dx.cross_kappa, ann, pools=(0, 1), **how)


def ratio(ann, pred, **how):
    result = how.pop("through", _once)(dx.discrepancy_ratio, ann, pred, distance="nominal", **how)
    return result["discrepancy_ratio"].isel(system=0)


def _once(statistic, *args, **kwargs):
    return statistic(*args, **kwargs)


STATISTICS = {"alpha": alpha, "cross_kappa": kappa, "discrepancy_ratio": ratio}


@pytest.fixture(scope="module")
def population():
    ann, pred = study(np.random.default_rng(20), 400_000)
    return {name: float(statistic(ann, pred)) for name, statistic in STATISTICS.items()}


def coverage(population, studies, seed):
    """Return for each statistic the share of studies whose interval contains the value."""
    rng = np.random.default_rng(seed)
    held = dict.fromkeys(STATISTICS, 0)
    through = partial(dx.bayesian_bootstrap, draws=DRAWS)
    for k in range(studies):
        ann, pred = study(rng, ITEMS)
        for name, statistic in STATISTICS.items():
            draws = statistic(ann, pred, through=through, random_seed=k)
            low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            held[name] += low <= population[name] <= high
    return {name: count / studies for name, count in held.items()}


def test_intervals_hold_the_value(population):
    # Three standard errors of a share of .9 in 120 studies are .082.
    result = coverage(population, REDUCED, seed=1)
    assert {name: share for name, share in result.items() if not 0.81 < share < 0.985} == {}


def test_a_bootstrap_over_the_wrong_units_is_caught(population):
    """Items in clusters of equal ones, taken as if they were independent: too narrow."""
    rng, held, studies = np.random.default_rng(3), {"items": 0, "clusters": 0}, 100
    for k in range(studies):
        ann, _ = study(rng, 40)
        rows = np.tile(np.arange(ann.sizes["annotation"]), 4)
        copy = np.repeat(np.arange(4), ann.sizes["annotation"])
        table = {
            "item": ann["item_code"].to_numpy()[rows] + 1000 * copy,
            "annotator": ann["annotator_code"].to_numpy()[rows],
            "label": ann["label_code"].to_numpy()[rows],
            "cluster": ann["item_code"].to_numpy()[rows],
        }
        copied = dx.annotations(table, cluster="cluster", kind="nominal", labels=range(LABELS))
        for name, unit in (("items", "item"), ("clusters", None)):
            draws = dx.bayesian_bootstrap(
                dx.krippendorff_alpha, copied, draws=DRAWS, cluster=unit, random_seed=k
            )
            low, high = np.quantile(draws, [0.05, 0.95])
            held[name] += low <= population["alpha"] <= high
    assert held["items"] / studies < 0.75
    assert held["clusters"] / studies > 0.8


@pytest.mark.slow
def test_intervals_hold_the_value_in_full(population):
    result = coverage(population, FULL, seed=2)
    print(result)
    assert {name: share for name, share in result.items() if not 0.85 <= share <= 0.95} == {}
