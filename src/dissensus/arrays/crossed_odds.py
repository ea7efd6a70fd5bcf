"""The likelihood of labels of two kinds, as a product of odds.

Of the likelihood of an effect, exp(s x) / prod (1 + exp(x) o_n), all that costs anything is the
product: the odds of a label are its cell's times its annotator's, exponentials that are kept, so
that a label takes one multiplication and one addition at each look.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_parameters import Parameters
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Codes, Floats, Indices

LARGE = 1e100
"""Products are turned into a logarithm above this: one factor more does not overflow."""
_STEEPEST = 150.0
"""No probability knows an effect of more logits from this one: products of odds stay finite."""


class Odds(NamedTuple):
    """Of all cells and all annotators, and how often the second label was given."""

    cell: Floats
    annotator: Floats
    """With the mean of the pool."""
    cell_sum: Floats
    annotator_sum: Floats
    trial: Floats
    """(cell): effects that are tried."""
    trial_annotator: Floats
    """(annotator): odds that are tried."""


@inner
def held(x: float) -> float:
    """Keep an effect where its exponential is finite."""
    return min(max(x, -_STEEPEST), _STEEPEST)  # without branches: a tenth of a sweep


@kernel
def exponentials(pool: Codes, mean: Floats, effect: Floats, out: Floats) -> None:
    """Write odds, of effects with the mean of their pool."""
    for k in range(len(effect)):
        out[k] = math.exp(held(mean[pool[k]] + effect[k]))


def odds(data: Crossed, par: Parameters) -> Odds:
    """Start from where the chain stands."""
    n_cells, n_annotators = len(par.item), len(par.annotator)
    out = Odds(
        np.empty(n_cells), np.empty(n_annotators), np.bincount(data.cell, data.value, n_cells),
        np.bincount(data.annotator, data.value, n_annotators), np.empty(n_cells),
        np.empty(n_annotators),
    )  # fmt: skip
    exponentials(data.cell_pool, np.zeros(data.n_pools), par.item, out.cell)
    refresh_annotators(data, par, out)
    return out


def refresh_annotators(data: Crossed, par: Parameters, out: Odds) -> None:
    """Take up the means and the annotators' effects."""
    exponentials(data.annotator_pool, par.mu, par.annotator, out.annotator)


@inner
def log_product(factor: float, others: Floats, n: int) -> float:
    """Return sum log(1 + factor other) over the first others."""
    total, product = 0.0, 1.0
    for k in range(n):
        product *= 1.0 + factor * others[k]
        if product > LARGE:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@inner
def _log_products(factor: float, other: Floats, at: Indices, start: int, stop: int) -> float:
    """Do so for others that are anywhere."""
    total, product = 0.0, 1.0
    for n in range(start, stop):
        product *= 1.0 + factor * other[at[n]]
        if product > LARGE:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@inner
def log_of_cells(
    pool: int, cell_start: Codes, cell_pool: Codes, who: Indices, cell_sum: Floats,
    annotator: Floats, effect: Floats,
) -> float:  # fmt: skip
    """Return the log-likelihood of a pool's labels if its cells had these effects.

    What annotators add to it by themselves is left out.
    """
    total = 0.0
    for c in range(len(effect)):
        if cell_pool[c] == pool:
            x = held(effect[c])
            total += cell_sum[c] * x
            total -= _log_products(math.exp(x), annotator, who, cell_start[c], cell_start[c + 1])
    return total


@inner
def log_of_annotators(
    pool: int, cell_start: Codes, cell_pool: Codes, who: Indices, annotator_pool: Codes,
    annotator_sum: Floats, cell: Floats, mean: float, effect: Floats, trial: Floats,
) -> float:  # fmt: skip
    """Return the log-likelihood of a pool's labels if its annotators had these effects.

    What cells add to it by themselves is left out.
    """
    total = 0.0
    for j in range(len(effect)):
        if annotator_pool[j] == pool:
            x = held(mean + effect[j])
            total += annotator_sum[j] * x
            trial[j] = math.exp(x)
    for c in range(len(cell)):
        if cell_pool[c] == pool:
            total -= _log_products(cell[c], trial, who, cell_start[c], cell_start[c + 1])
    return total
