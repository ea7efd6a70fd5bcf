"""References for `normal_scores`: mean and variance of each item, by closed form and quadrature."""

from __future__ import annotations

from typing import Any

import numpy as np
from reference.make.summaries import least_difference, of_distribution, of_grid
from reference.make.writer import Quantity, columns, write
from scipy import special, stats

SCORES = {"i": [1.5, 2.0, 4.5], "j": [-1.0], "k": [0.5, 0.75, 0.25, 0.5, 1.0]}
PRIOR = (0.5, 0.8, 4.5, 3.0)
"""m, k, a, b; a tail light enough for the sd of a variance to have an error."""


def main() -> None:
    rows = [(item, f"a{n}", y) for item, labels in SCORES.items() for n, y in enumerate(labels)]
    quantities, apart = [], 0.0
    for item, labels in SCORES.items():
        closed, summed = by_formula(np.array(labels)), by_quadrature(np.array(labels))
        for name, result in closed.items():
            apart = max(apart, least_difference(result, summed[name]))
            quantities.append(Quantity(name, {"item": item}, result))
    write(
        "normal_scores", "given prior",
        question="What is the mean score of each item, and how far do annotators spread?",
        data={"columns": columns(rows), "options": {"kind": "continuous"}}, hyper={"prior": PRIOR},
        wrong={"prior": (*PRIOR[:3], 1.3 * PRIOR[3])}, script=__file__,
        method="closed form (Student's t, inverse Gamma), held against quadrature in 2-D",
        criteria={"exact": True, "quadrature_agrees_to_1e-6": apart < 1e-6},
        quantities=quantities,
    )  # fmt: skip


def by_formula(y: Any) -> dict[str, Any]:
    m, k, a, b = PRIOR
    n, mean = len(y), y.mean()
    after = (k * m + n * mean) / (k + n)
    shape = a + n / 2
    scale = b + ((y - mean) ** 2).sum() / 2 + k * n * (mean - m) ** 2 / (2 * (k + n))
    return {
        "mean": of_distribution(stats.t(2 * shape, after, np.sqrt(scale / shape / (k + n)))),
        "variance": of_distribution(stats.invgamma(shape, scale=scale)),
    }


def by_quadrature(y: Any) -> dict[str, Any]:
    """Sum prior times likelihood over log variance and a stretched mean, whose tails are heavy."""
    m, k, a, b = PRIOR
    log_variance = np.arange(-6.0, 12.0, 0.04)
    place = np.arange(-9.0, 9.0, 0.02)
    mean, stretch = y.mean() + np.sinh(place), np.log(np.cosh(place))
    v = np.exp(log_variance)[:, None]
    log = -a * log_variance[:, None] - b / v - (mean - m) ** 2 * k / v / 2 - np.log(v) / 2
    for score in y:
        log = log - (score - mean) ** 2 / v / 2 - np.log(v) / 2
    log = log + stretch
    mass = np.exp(log - special.logsumexp(log))
    return {
        "mean": of_grid(lambda t: y.mean() + np.sinh(t), place, mass.sum(axis=0)),
        "variance": of_grid(np.exp, log_variance, mass.sum(axis=1)),
    }
