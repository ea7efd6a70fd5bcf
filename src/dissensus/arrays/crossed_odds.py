"""The likelihood of labels of two kinds, as a product of odds.

Of the likelihood of an effect, exp(s x) / prod (1 + exp(x) o_n), all that costs anything is the
product: the odds of a label are its cell's times its annotator's, exponentials that are kept, so
that a label takes one multiplication and one addition at each look.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_parameters import Parameters

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int32]

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


@njit(cache=True, inline="always")
def held(x: float) -> float:
    """Keep an effect where its exponential is finite."""
    return min(max(x, -_STEEPEST), _STEEPEST)


@njit(cache=True)
def odds(data: Crossed, par: Parameters) -> Odds:
    """Start from where the chain stands."""
    n_cells, n_annotators = len(par.item), len(par.annotator)
    out = Odds(
        np.empty(n_cells), np.empty(n_annotators), np.zeros(n_cells), np.zeros(n_annotators),
        np.empty(n_cells), np.empty(n_annotators),
    )  # fmt: skip
    for c in range(n_cells):
        out.cell[c] = math.exp(held(par.item[c]))
    refresh_annotators(data, par, out)
    for n in range(len(data.value)):
        out.cell_sum[data.cell[n]] += data.value[n]
        out.annotator_sum[data.annotator[n]] += data.value[n]
    return out


@njit(cache=True)
def refresh_annotators(data: Crossed, par: Parameters, out: Odds) -> None:
    """Take up the means and the annotators' effects."""
    for j in range(len(par.annotator)):
        out.annotator[j] = math.exp(held(par.mu[data.annotator_pool[j]] + par.annotator[j]))


@njit(cache=True)
def log_product(factor: float, others: Floats, n: int) -> float:
    """Return sum log(1 + factor other) over the first others."""
    total, product = 0.0, 1.0
    for k in range(n):
        product *= 1.0 + factor * others[k]
        if product > LARGE:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@njit(cache=True)
def _log_products(factor: float, other: Floats, at: Indices, start: int, stop: int) -> float:
    """Do so for others that are anywhere."""
    total, product = 0.0, 1.0
    for n in range(start, stop):
        product *= 1.0 + factor * other[at[n]]
        if product > LARGE:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@njit(cache=True)
def log_of_cells(data: Crossed, known: Odds, pool: int, effect: Floats, annotator: Floats) -> float:
    """Return the log-likelihood of a pool's labels if its cells had these effects.

    What annotators add to it by themselves is left out.
    """
    total = 0.0
    for c in range(len(effect)):
        if data.cell_pool[c] == pool:
            x = held(effect[c])
            total += known.cell_sum[c] * x
            start, stop = data.cell_start[c], data.cell_start[c + 1]
            total -= _log_products(math.exp(x), annotator, data.annotator, start, stop)
    return total


@njit(cache=True)
def log_of_annotators(data: Crossed, known: Odds, pool: int, par: Parameters) -> float:
    """Return the log-likelihood of a pool's labels if annotators' effects are as they stand.

    What cells add to it by themselves is left out.
    """
    total = 0.0
    for j in range(len(par.annotator)):
        if data.annotator_pool[j] == pool:
            x = held(par.mu[pool] + par.annotator[j])
            total += known.annotator_sum[j] * x
            known.trial_annotator[j] = math.exp(x)
    for c in range(len(par.item)):
        if data.cell_pool[c] == pool:
            start, stop = data.cell_start[c], data.cell_start[c + 1]
            total -= _log_products(
                known.cell[c], known.trial_annotator, data.annotator, start, stop
            )
    return total
