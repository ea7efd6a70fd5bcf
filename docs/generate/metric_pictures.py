"""A plot of each metric, for a simulated study or as a function of its argument.

The docstring of a function is the caption of its picture.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import dissensus as dx
from generate.drawn import SIZE, curves, densities, empty, of_systems
from generate.studies import crossed, fit, study


def _listed(metric: Callable[..., Any], **settings: Any) -> Any:
    return of_systems(metric(
        fit("ranking"), study("ranking").predictions, weights="bayesian-bootstrap",
        random_seed=1, **settings,
    ))  # fmt: skip


def top_k_accuracy() -> Any:
    """Posterior distribution of the top-1 accuracy of four systems on new items."""
    return of_systems(dx.top_k_accuracy(
        fit("nominal"), study("nominal").predictions, weights="bayesian-bootstrap",
        random_seed=1,
    ))  # fmt: skip


def set_accuracy() -> Any:
    """Share of items on which a system's first two labels are the two most plausible ones."""
    return _listed(dx.set_accuracy, k=2)


def overlap() -> Any:
    """Share of common labels among a system's first two and the two most plausible ones."""
    return _listed(dx.overlap, k=2)


def average_overlap() -> Any:
    """Overlap, averaged over depths 1 to 3."""
    return _listed(dx.average_overlap, depth=3)


def rank_biased_overlap() -> Any:
    """Overlap over all depths; each depth has .9 times the weight of the previous one."""
    return _listed(dx.rank_biased_overlap, p=0.9)


def kendall_tau() -> Any:
    """Rank correlation of a system's order of labels with the order of their plausibilities."""
    return _listed(dx.kendall_tau)


def spearman_footrule() -> Any:
    """Distance of labels from their places in the order of plausibilities; lower is better."""
    return _listed(dx.spearman_footrule)


def annotation_certainty() -> Any:
    """Certainty of items, by the share of annotators who gave the most frequent label."""
    figure, ax = empty()
    found = dx.annotation_certainty(fit("nominal"))
    counts = dx.schema.label_counts(study("nominal").annotations)
    ax.scatter(counts.max(axis=1) / counts.sum(axis=1), found, s=18, alpha=0.6)
    ax.set_xlabel("share of annotators who gave the most frequent label")
    ax.set_ylabel("annotation certainty")
    return figure


def certainty() -> Any:
    """Probability that a system's label is the most plausible one, for each item."""
    figure, ax = empty()
    found = dx.certainty(fit("nominal"), study("nominal").predictions)
    for name in found["system"].to_numpy():
        ax.plot(np.sort(found.sel(system=name)), label=str(name))
    ax.set_xlabel("items, least first")
    ax.set_ylabel("certainty of the prediction")
    ax.legend(frameon=False)
    return figure


def compare() -> Any:
    """Probability that the system of the row is better than the system of the column."""
    draws = dx.top_k_accuracy(fit("nominal"), study("nominal").predictions)
    return dx.plots.better(dx.compare(draws))


def icc() -> Any:
    """Observed ICC of one label, and of the mean of several annotators' labels."""
    draws = dx.icc(crossed(None), scale="observed")
    parts = {f"mean of {k}": dx.spearman_brown(draws, k) for k in (3, 9)}
    return densities({"one label": draws} | parts, "ICC, labels as given")


def annotator_icc() -> Any:
    """Share of the variance due to annotators, and share due to items."""
    parts = {metric.__name__: metric(crossed(None)) for metric in (dx.icc, dx.annotator_icc)}
    return densities(parts, "share of variance")


def xcc() -> Any:
    """Correlation of labels from two pools, and correlation of the pools' mean opinions."""
    fit, pair = crossed(("old", "new")), {"pool": "old", "pool_": "new"}
    parts = {metric.__name__: metric(fit).sel(pair) for metric in (dx.xcc, dx.normalized_xcc)}
    return densities(parts, "old and new")


def normalized_xcc() -> Any:
    """Normalised xCC excludes noise within pools. It can be high when xCC is low."""
    return xcc()


def spearman_brown() -> Any:
    """Reliability of a mean, by the number of annotators and the ICC of one label."""
    k = np.arange(1, 21)
    lines = {f"{one:g}": dx.spearman_brown(one, k) for one in (0.1, 0.3, 0.5, 0.7)}
    return curves(k, lines, ("annotators", "reliability of their mean"), "ICC of one label")


def annotators_needed() -> Any:
    """Number of annotators for a reliable mean, by the ICC of one label."""
    one = np.linspace(0.05, 0.95, 200)
    lines = {f"{target:g}": dx.annotators_needed(one, target=target) for target in (0.7, 0.8, 0.9)}
    return curves(one, lines, ("ICC of one label", "annotators needed"), "target", log=True)


def majority_accuracy() -> Any:
    """Accuracy of the majority, by the number of annotators of equal accuracy."""
    k = np.arange(1, 22, 2)
    lines = {f"{one:g}": dx.majority_accuracy(k, one) for one in (0.55, 0.65, 0.75, 0.85)}
    return curves(k, lines, ("annotators", "accuracy of the majority"), "accuracy of one")


def annotators_for_truth() -> Any:
    """Number of annotators for a majority that is right on 95 % of the items."""
    one = np.linspace(0.55, 0.95, 81)
    lines = {f"{labels}": dx.annotators_for_truth(one, n_labels=labels) for labels in (2, 5)}
    return curves(one, lines, ("accuracy of one annotator", "annotators"), "labels", log=True)


def truth_accuracy() -> Any:
    """Accuracy of a ground truth, by the weighted reliability of its annotators."""
    rho = np.linspace(0.3, 0.99, 100)
    lines = {f"{k}": dx.truth_accuracy(rho, n_annotators=k) for k in (3, 5, 9)}
    labels = ("weighted reliability", "accuracy of the majority")
    return curves(rho, lines, labels, "annotators")


def actual_accuracy() -> Any:
    """Actual accuracy of a system, by the accuracy of the ground truth."""
    truth = np.linspace(0.6, 1.0, 100)
    lines = {f"{score:g}": dx.actual_accuracy(score, truth) for score in (0.85, 0.9, 0.95)}
    labels = ("accuracy of the ground truth", "actual accuracy")
    return curves(truth, lines, labels, "accuracy against it")


def expected_risk() -> Any:
    """Items by expected risk. Items with the same mean risk can differ in uncertainty."""
    labels = study("nominal").annotations["label"].to_numpy().tolist()
    risk = {label: place % 3 for place, label in enumerate(labels)}
    return dx.plots.expected_risk(dx.expected_risk(fit("nominal"), risk))


def group_labels() -> Any:
    """Plausibilities of an item on which annotators disagree: six labels, and two groups of them,
    which are less uncertain."""
    theta = fit("nominal")["posterior"]["plausibility"]
    names = theta["label"].to_numpy().tolist()
    groups = dx.group_labels(
        theta, {name: f"group {1 + place % 2}" for place, name in enumerate(names)}
    )
    item = int(dx.annotation_certainty(theta).argmin("item"))
    figure, axes = plt.subplots(1, 2, figsize=SIZE, sharey=True, layout="constrained")
    for ax, draws in zip(axes, (theta, groups), strict=True):
        of = draws.isel(item=item)
        ax.violinplot(of.to_numpy().reshape(-1, of.sizes["label"]), showmeans=True)
        ax.set_xticks(np.arange(of.sizes["label"]) + 1, of["label"].to_numpy(), rotation=25,
                      ha="right")  # fmt: skip
    axes[0].set_ylabel("plausibility")
    return figure


def event_plausibility() -> Any:
    """Plausibility that a further score is above a threshold, for three items with five scores each
    (94 % intervals)."""
    rng = np.random.default_rng(1)
    annotations = dx.from_matrix(rng.normal([[3], [5], [7]], [[1], [2], [1]], (3, 5)))
    scores = dx.models.normal_scores.fit(annotations, draws=500, random_seed=1)
    cuts = np.linspace(0, 10, 41)
    above = xr.concat(
        [dx.event_plausibility(scores, threshold=cut).sel(label="above") for cut in cuts],
        dim=xr.DataArray(cuts, dims="threshold", name="threshold"),
    )
    low, middle, high = above.quantile([0.03, 0.5, 0.97], ("chain", "draw"))
    figure, ax = empty()
    for item in range(3):
        ax.plot(cuts, middle.isel(item=item), label=f"item {item + 1}")
        ax.fill_between(cuts, low.isel(item=item), high.isel(item=item), alpha=0.2)
    ax.set_xlabel("threshold")
    ax.set_ylabel("plausibility of a score above it")
    ax.legend(frameon=False)
    return figure


def mean_average_overlap() -> Any:
    """Two annotators who name one of ten labels first and tie some others after it: long ties agree
    partly with most lists."""
    ties = np.arange(1, 8)
    lines = {
        words: [
            dx.mean_average_overlap(
                [[0], list(range(1, 1 + n))], [[other], list(range(8, 8 - n, -1))],
                depth=3, n_labels=10,
            )
            for n in ties
        ]
        for words, other in (("the same first", 0), ("another first", 9))
    }  # fmt: skip
    return curves(ties, lines, ("labels tied in second place", "overlap"))


def partial_ranking_logp() -> Any:
    """Probability that an annotator names label A first, or ties it with B, by the strength of A;
    the other three labels have strength 1."""
    strength = np.geomspace(0.1, 30, 60)
    lines = {
        words: [np.exp(dx.partial_ranking_logp([one, 1, 1, 1], blocks)) for one in strength]
        for words, blocks in (("A", [[0]]), ("A, then B", [[0], [1]]), ("A and B tied", [[0, 1]]))
    }
    figure = curves(strength, lines, ("strength of A", "probability"))
    figure.axes[0].set_xscale("log")
    return figure


def probability_of_support() -> Any:
    """Probability that a system with accuracy .95 against the ground truth reaches the claimed
    accuracy, by the number of annotators of the ground truth."""
    rng = np.random.default_rng(1)
    rho = xr.DataArray(rng.beta(60, 15, (1, 2000)), dims=("chain", "draw"))
    claims = np.linspace(0.8, 0.95, 61)
    lines = {
        f"{n}": [
            float(dx.probability_of_support(
                dx.truth_accuracy(rho, n_annotators=n), accuracy=0.95, required=claim
            ))
            for claim in claims
        ]
        for n in (3, 5, 9)
    }  # fmt: skip
    return curves(claims, lines, ("claimed accuracy", "probability"), "annotators")


METRIC_PICTURES: Final[dict[str, Callable[[], Any]]] = {
    draw.__name__: draw
    for draw in (
        top_k_accuracy, set_accuracy, overlap, average_overlap, rank_biased_overlap, kendall_tau,
        spearman_footrule, annotation_certainty, certainty, compare, icc, annotator_icc, xcc,
        normalized_xcc, spearman_brown, annotators_needed, majority_accuracy,
        annotators_for_truth, truth_accuracy, actual_accuracy, expected_risk, group_labels,
        event_plausibility, mean_average_overlap, partial_ranking_logp, probability_of_support,
    )
}  # fmt: skip
