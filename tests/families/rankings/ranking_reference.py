"""References for samplers of strengths from partial rankings, none from the code under test.

Likelihoods are summed over all orders that a partial ranking allows, as Plackett-Luce is defined,
and weigh draws from a Dirichlet distribution. A ranking is a list of blocks of cells; one that
starts with "closed" is of an annotator who saw nothing but what is listed.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr
from arviz_stats import ess

CASES = {
    "ties": ([[[0], [1, 2]], [[2], [0]]], [1.0] * 4, 3),
    "three tied, the rest in one": ([[[0, 1, 2]], [[1], [0, 2]]], [0.7, 0.7, 0.7, 2.1], 3),
    "many that nobody lists": ([[[0, 1]], [[1], [0]], [[0]]], [0.4] * 7, 2),
    "large shapes that nobody lists": ([[[0]], [[1, 0]]], [1.5] * 5, 2),
    "complete last blocks": ([[[0, 1, 2]], [[1], [0], [2]], [[2], [1, 0]]], [1.0] * 3, 3),
    "closed": (
        [["closed", [0], [2, 1]], ["closed", [3, 0], [1]], [[1, 2]], ["closed", [2]]],
        [1.0, 0.5, 1.0, 1.0, 0.7, 0.7],
        4,
    ),
    "one says nothing": ([[], [[0], [1], [2]], [[1]]], [1.0] * 4, 3),
}
"""Rankings, the cells' shapes, and how many cells have a column of their own."""


def agree(draws, want, error=0.0, least=400):
    """Compare means with a reference, in standard errors of both; draws must be effective."""
    for k in range(draws.shape[-1]):
        column = draws[:, k].astype(float)
        if np.ptp(column) == 0:
            assert column[0] == pytest.approx(want[k], abs=1e-12)
            continue
        n = float(ess(xr.DataArray(column[None], dims=("chain", "draw"), name="x")))
        assert n > least
        spread = np.hypot(column.std() / np.sqrt(n), np.broadcast_to(error, len(want))[k])
        assert abs(column.mean() - want[k]) < 4 * spread


def probability(strength, blocks):
    """Sum over all orders that a partial ranking allows: the definition. (draw, cell) in."""
    if blocks[:1] == ["closed"]:
        listed = sorted(itertools.chain(*blocks[1:]))
        strength = strength * np.isin(np.arange(strength.shape[1]), listed)
        blocks = blocks[1:]
    total = 0.0
    for orders in itertools.product(*(itertools.permutations(block) for block in blocks)):
        p, left = 1.0, np.ones(strength.shape[1])
        for label in itertools.chain(*orders):
            p, left[label] = p * strength[:, label] / np.maximum(strength @ left, 1e-300), 0
        total = total + p
    return total


def columns(theta, named):
    """Sum up what has no column of its own."""
    return np.column_stack([theta[:, :named], theta[:, named:].sum(axis=1)])


def by_importance(rankings, shape, named, power=1.0, sharpness=None, n=20_000):
    """Weigh Dirichlet draws, a first guess at the posterior; return them, and the weights."""
    each = np.ones(len(rankings)) if sharpness is None else sharpness
    guess = np.zeros(len(shape))
    for g, blocks in zip(each, rankings, strict=True):
        for label in blocks[0] if blocks and blocks[0] != "closed" else ():
            guess[label] += 0.5 * power * g / len(blocks[0])
    # Gammas of shapes 1 higher times U^(1/shape): the logarithms of small shapes stay finite.
    rng, size = np.random.default_rng(1), (n, len(shape))
    logs = np.log(rng.gamma(guess + shape + 1, size=size))
    logs += np.log(rng.uniform(size=size)) / (guess + shape)
    logs -= np.logaddexp.reduce(logs, axis=1)[:, None]
    log_weight = -logs @ guess
    for g, blocks in zip(each, rankings, strict=True):
        if blocks:
            log_weight += power * np.log(probability(np.exp(g * logs), blocks))
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    assert 1 / (weight**2).sum() > 200
    return columns(np.exp(logs), named), weight


def compare(draws, theta, weight):
    """Compare means, and how much is below the quantiles at .1, .5 and .9 of the reference."""
    mean = weight @ theta
    agree(draws, mean, np.sqrt(weight**2 @ (theta - mean) ** 2))
    for p in (0.1, 0.5, 0.9):
        at = np.quantile(theta, p, axis=0, weights=weight, method="inverted_cdf")
        below = theta <= at
        share = weight @ below
        agree(draws <= at, share, np.sqrt(weight**2 @ (below - share) ** 2))
