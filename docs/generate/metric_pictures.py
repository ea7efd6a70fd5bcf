"""A picture of each metric, of one simulated study, or of what it does to a number.

The docstring of a function is the caption of its picture.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import dissensus as dx

SIZE: Final = (6.5, 3.4)


@cache
def _study(kind: str) -> Any:
    return dx.simulate.study(n_items=80, kind=kind, random_seed=1)


@cache
def _fit(kind: str) -> xr.DataTree:
    model = dx.models.inverse_rank if kind == "ranking" else dx.models.dirichlet
    settings = {} if kind == "nominal" else {"reliability": 30.0}
    fit: xr.DataTree = model.fit(_study(kind).annotations, draws=500, random_seed=1, **settings)
    return fit


@cache
def _crossed(pools: tuple[str, ...] | None) -> xr.DataTree:
    study = dx.simulate.replication_study(60, 8, 4, family="gaussian", pools=pools, random_seed=1)
    model = dx.models.cross_replication if pools else dx.models.crossed_effects
    fit: xr.DataTree = model.fit(
        study.annotations, draws=500, tune=500, chains=2, random_seed=1, progressbar=False
    )
    return fit


def _figure() -> tuple[Any, Any]:
    figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
    ax.grid(visible=True, alpha=0.3)
    return figure, ax


def _densities(parts: dict[str, Any], label: str) -> Any:
    """Draw the draws of several things over one another."""
    figure, ax = _figure()
    for name, draws in parts.items():
        ax.hist(np.asarray(draws).ravel(), bins=45, density=True, alpha=0.55, label=name)
    ax.set_xlabel(label)
    ax.set_yticks([])
    ax.legend(frameon=False)
    return figure


def _curves(
    x: Any, lines: dict[str, Any], labels: tuple[str, str], title: str, *, log: bool = False
) -> Any:
    """Draw what becomes of a number, for some values of another."""
    figure, ax = _figure()
    for name, y in lines.items():
        ax.plot(x, y, label=name, marker="." if len(x) < 25 else None)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if log:
        ax.set_yscale("log")
    ax.legend(title=title, frameon=False)
    return figure


def _of_systems(draws: xr.DataArray) -> Any:
    """Draw the posterior of each system."""
    parts = {str(name): draws.sel(system=name) for name in draws["system"].to_numpy()}
    return _densities(parts, str(draws.name).replace("_", " "))


def _listed(metric: Callable[..., Any], **settings: Any) -> Any:
    return _of_systems(metric(
        _fit("ranking"), _study("ranking").predictions, item_weights="bayesian-bootstrap",
        random_seed=1, **settings,
    ))  # fmt: skip


def top_k_accuracy() -> Any:
    """The top-1 accuracy of four systems on new items: a distribution each, not a number."""
    return _of_systems(dx.top_k_accuracy(
        _fit("nominal"), _study("nominal").predictions, item_weights="bayesian-bootstrap",
        random_seed=1,
    ))  # fmt: skip


def set_accuracy() -> Any:
    """How often the two labels a system puts first are the two most plausible ones."""
    return _listed(dx.set_accuracy, k=2)


def overlap() -> Any:
    """The share that a system's first two labels and the two most plausible ones have in common."""
    return _listed(dx.overlap, k=2)


def average_overlap() -> Any:
    """Overlap averaged over depths 1 to 3."""
    return _listed(dx.average_overlap, depth=3)


def rank_biased_overlap() -> Any:
    """Overlap over all depths, each weighing .9 times the one above."""
    return _listed(dx.rank_biased_overlap, p=0.9)


def kendall_tau() -> Any:
    """The correlation of a system's order of labels with that of their plausibilities."""
    return _listed(dx.kendall_tau)


def spearman_footrule() -> Any:
    """How far labels are from their places: less is better."""
    return _listed(dx.spearman_footrule)


def annotation_certainty() -> Any:
    """Items from the least to the most certain, by the shares of their annotators' labels."""
    figure, ax = _figure()
    found = dx.annotation_certainty(_fit("nominal"))
    counts = dx.schema.label_counts(_study("nominal").annotations)
    ax.scatter(counts.max(axis=1) / counts.sum(axis=1), found, s=18, alpha=0.6)
    ax.set_xlabel("share of annotators who gave the most frequent label")
    ax.set_ylabel("annotation certainty")
    return figure


def certainty() -> Any:
    """How probable a system's answer is to lead, item by item: between certainly and never."""
    figure, ax = _figure()
    found = dx.certainty(_fit("nominal"), _study("nominal").predictions)
    for name in found["system"].to_numpy():
        ax.plot(np.sort(found.sel(system=name)), label=str(name))
    ax.set_xlabel("items, least first")
    ax.set_ylabel("certainty of the prediction")
    ax.legend(frameon=False)
    return figure


def compare() -> Any:
    """How probably the system of a row is better than that of a column."""
    draws = dx.top_k_accuracy(_fit("nominal"), _study("nominal").predictions)
    return dx.plots.better(dx.compare(draws))


def icc() -> Any:
    """The ICC of one label as it is given, and of the mean of labels by more annotators."""
    draws = dx.icc(_crossed(None), scale="observed")
    parts = {f"mean of {k}": dx.spearman_brown(draws, k) for k in (3, 9)}
    return _densities({"one label": draws} | parts, "ICC, labels as given")


def annotator_icc() -> Any:
    """The share of a label that is who gave it, beside the share that is what it is of."""
    parts = {metric.__name__: metric(_crossed(None)) for metric in (dx.icc, dx.annotator_icc)}
    return _densities(parts, "share of variance")


def xcc() -> Any:
    """The correlation of two annotators' labels of an item, from two pools, and of the pools."""
    fit, pair = _crossed(("old", "new")), {"pool": "old", "pool_": "new"}
    parts = {metric.__name__: metric(fit).sel(pair) for metric in (dx.xcc, dx.normalized_xcc)}
    return _densities(parts, "old and new")


def normalized_xcc() -> Any:
    """The same, noise within the pools taken out: it may be high where the other is low."""
    return xcc()


def spearman_brown() -> Any:
    """The reliability of a mean, by how many annotators it is of, and the ICC of one."""
    k = np.arange(1, 21)
    lines = {f"{one:g}": dx.spearman_brown(one, k) for one in (0.1, 0.3, 0.5, 0.7)}
    return _curves(k, lines, ("annotators", "reliability of their mean"), "ICC of one label")


def annotators_needed() -> Any:
    """How many annotators a reliable mean takes, by the ICC of one label."""
    one = np.linspace(0.05, 0.95, 200)
    lines = {f"{target:g}": dx.annotators_needed(one, target=target) for target in (0.7, 0.8, 0.9)}
    return _curves(one, lines, ("ICC of one label", "annotators needed"), "target", log=True)


def majority_accuracy() -> Any:
    """How often a majority is right, by how many vote, each right with the same probability."""
    k = np.arange(1, 22, 2)
    lines = {f"{one:g}": dx.majority_accuracy(k, one) for one in (0.55, 0.65, 0.75, 0.85)}
    return _curves(k, lines, ("annotators", "accuracy of the majority"), "accuracy of one")


def annotators_for_truth() -> Any:
    """How many annotators a majority takes that is right on 95 % of the items."""
    one = np.linspace(0.55, 0.95, 81)
    lines = {f"{labels}": dx.annotators_for_truth(one, n_labels=labels) for labels in (2, 5)}
    return _curves(one, lines, ("accuracy of one annotator", "annotators"), "labels", log=True)


def truth_accuracy() -> Any:
    """How accurate a ground truth is, by the weighted reliability of its annotators."""
    rho = np.linspace(0.3, 0.99, 100)
    lines = {f"{k}": dx.truth_accuracy(rho, n_annotators=k) for k in (3, 5, 9)}
    labels = ("weighted reliability", "accuracy of the majority")
    return _curves(rho, lines, labels, "annotators")


def actual_accuracy() -> Any:
    """What a score is worth on a ground truth that errs."""
    truth = np.linspace(0.6, 1.0, 100)
    lines = {f"{score:g}": dx.actual_accuracy(score, truth) for score in (0.85, 0.9, 0.95)}
    labels = ("accuracy of the ground truth", "actual accuracy")
    return _curves(truth, lines, labels, "accuracy against it")


def expected_risk() -> Any:
    """Items by expected risk; a mean risk in the middle may be sure, or wide open."""
    labels = _study("nominal").annotations["label"].to_numpy().tolist()
    risk = {label: place % 3 for place, label in enumerate(labels)}
    return dx.plots.expected_risk(dx.expected_risk(_fit("nominal"), risk))


METRIC_PICTURES: Final[dict[str, Callable[[], Any]]] = {
    draw.__name__: draw
    for draw in (
        top_k_accuracy, set_accuracy, overlap, average_overlap, rank_biased_overlap, kendall_tau,
        spearman_footrule, annotation_certainty, certainty, compare, icc, annotator_icc, xcc,
        normalized_xcc, spearman_brown, annotators_needed, majority_accuracy,
        annotators_for_truth, truth_accuracy, actual_accuracy, expected_risk,
    )
}  # fmt: skip


def write(folder: Path) -> None:
    """Draw all, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in METRIC_PICTURES.items():
        figure = draw()
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)
