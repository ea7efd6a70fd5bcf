"""Coefficients of covariates, drawn with one side's effects and the pools' means integrated out.

Given the annotators' effects b, labels less b are normal about mu + X beta, with the covariances of
`items`: V for the cell means of an item, and the residual variance v within a cell. The precision
of (mu, beta) is the prior precision, plus the sum of X' V^-1 X over items, plus X' X / v within
cells. X enters by sums that never change: products of cell means by design, and products within
cells. A draw reads means of cells and of annotators, not labels.

The other half of a sweep does the same with annotators in place of items.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.families.crossed.kernels.data import Crossed, LabelSums, Parameters, Priors
from dissensus.kernels.compiled import kernel
from dissensus.kernels.random import State
from dissensus.kernels.special import backwards, factorised, forwards
from dissensus.kernels.types import Floats, Indices, Ints
from dissensus.kernels.variates import normal


class Side(NamedTuple):
    """Covariates by group; the groups are cells, or annotators."""

    mean: Floats  # (group, term)
    place: Ints  # (group): the cell's place in the design of its item; 0 for annotators
    owner: Ints  # (group): the item of a cell; the annotator itself
    pool: Ints  # (group)
    members: tuple[Ints, ...]  # (pool): its groups
    total: tuple[Floats, ...]  # (pool): sums over labels (group of the pool, term)
    within: Floats  # (pool, term, term): products about the groups' means
    between: Floats  # (design, place, place, free, free): products of means; free: pool, then term


class Regression(NamedTuple):
    """The covariates of all labels."""

    rows: tuple[Ints, ...]  # (pool): its labels, in the order of `Crossed`
    value: tuple[Floats, ...]  # (pool): their covariates (label of the pool, term)
    cells: Side
    annotators: Side


def regression(value: Floats, data: Crossed) -> Regression:
    """Sum covariates (label, term), which are in the order of `Crossed`."""
    pool_of_label = data.cell_pool[data.cell]
    rows = tuple(np.flatnonzero(pool_of_label == p) for p in range(data.n_pools))
    place = np.arange(len(data.cell_item)) - data.item_start[data.cell_item]
    each = np.arange(len(data.annotator_pool))
    return Regression(
        rows, tuple(np.ascontiguousarray(value[part]) for part in rows),
        _side(value, data.cell, data.cell_pool, data.n_pools, place, data.cell_item,
              data.designs.of_item, data.designs.n_labels.shape),
        _side(value, data.annotator, data.annotator_pool, data.n_pools, np.zeros_like(each), each,
              data.annotator_designs.of_item, (len(data.annotator_designs.n_items), 1)),
    )  # fmt: skip


def _side(
    value: Floats, group: Indices, pool: Ints, n_pools: int, place: Ints, owner: Ints,
    of_owner: Ints, shape: tuple[int, ...],
) -> Side:  # fmt: skip
    n_groups, n_terms = len(pool), value.shape[1]
    size = np.maximum(np.bincount(group, minlength=n_groups), 1)
    columns = [np.bincount(group, column, n_groups) for column in value.T]
    total = np.stack(columns, axis=1) if columns else np.zeros((n_groups, 0))
    mean = total / size[:, None]
    members = tuple(np.flatnonzero(pool == p) for p in range(n_pools))
    within = np.zeros((n_pools, n_terms, n_terms))
    of_label = pool[group]
    for p, some in enumerate(members):
        rows = value[of_label == p]
        within[p] = rows.T @ rows - total[some].T @ mean[some]
    free = np.concatenate([np.eye(n_pools)[pool], mean], axis=1)
    laid = np.zeros((len(of_owner), shape[1], free.shape[1]))
    laid[owner, place] = free
    between = np.zeros((*shape, shape[1], free.shape[1], free.shape[1]))
    for d in range(shape[0]):
        some = laid[of_owner == d]
        between[d] = np.einsum("ikf,ilg->klfg", some, some, optimize=True)
    return Side(
        mean, place, owner, pool, members, tuple(total[some] for some in members), within, between
    )


def sum_covariates(regression: Regression, latent: Floats, out: Floats) -> None:
    """Write to ``out`` (pool, term) the sum over labels of covariate times latent number."""
    for p, (rows, value) in enumerate(zip(regression.rows, regression.value, strict=True)):
        out[p] = latent[rows] @ value


def offsets(regression: Regression, coefficient: Floats, out: Floats) -> Floats:
    """Write and return the covariates' part of the mean of each label."""
    for rows, value in zip(regression.rows, regression.value, strict=True):
        out[rows] = value @ coefficient
    return out


def move_given_annotators(
    state: State, data: Crossed, labels: LabelSums, par: Parameters, priors: Priors, mean: Floats,
    within: Floats,
) -> None:  # fmt: skip
    """Draw coefficients given the annotators' effects, and subtract the covariates' part from sums.

    ``mean`` (cell) and ``within`` (pool) are of labels less annotators' effects.
    """
    assert data.regression is not None
    side, designs = data.regression.cells, data.designs
    sigma = par.correlation * np.multiply.outer(par.sd_item, par.sd_item)
    size, pool = designs.n_labels, designs.pool
    used = size > 0
    covariance = sigma[pool[:, :, None], pool[:, None, :]]
    noise = np.broadcast_to(par.sd, data.n_pools)[pool] ** 2 / np.maximum(size, 1.0)
    places = np.arange(size.shape[1])
    covariance[:, places, places] += noise
    covariance *= used[:, :, None] & used[:, None, :]
    covariance[:, places, places] += ~used  # unused places: makes the matrix invertible
    weight = np.linalg.inv(covariance) * (used[:, :, None] & used[:, None, :])
    laid = np.zeros((len(designs.of_item), size.shape[1]))
    laid[side.owner, side.place] = mean
    weighted = np.einsum("ikl,il->ik", weight[designs.of_item], laid)[side.owner, side.place]
    moment = _less(labels.covariate, data.regression.annotators, par.annotator)
    _move(state, side, weight, weighted, moment, par, priors, mean, within)


def move_given_items(
    state: State, data: Crossed, labels: LabelSums, par: Parameters, priors: Priors, mean: Floats,
    within: Floats,
) -> None:  # fmt: skip
    """Draw coefficients given the items' effects, and subtract the covariates' part from sums.

    ``mean`` (annotator) and ``within`` (pool) are of labels less items' effects.
    """
    assert data.regression is not None
    side, designs = data.regression.annotators, data.annotator_designs
    pool = designs.pool[:, 0]
    noise = np.broadcast_to(par.sd, data.n_pools)[pool] ** 2 / designs.n_labels[:, 0]
    weight = 1.0 / (par.sd_annotator[pool] ** 2 + noise)
    weighted = np.where(designs.of_item >= 0, weight[designs.of_item] * mean, 0.0)
    moment = _less(labels.covariate, data.regression.cells, par.item)
    _move(state, side, weight[:, None, None], weighted, moment, par, priors, mean, within)


def _less(moment: Floats, side: Side, effect: Floats) -> Floats:
    """Return sums of covariates times labels, less the part of one side's effects (pool, term)."""
    parts = zip(side.total, side.members, strict=True)
    return moment - np.stack([effect[some] @ total for total, some in parts])


def _move(
    state: State, side: Side, weight: Floats, weighted: Floats, moment: Floats, par: Parameters,
    priors: Priors, mean: Floats, within: Floats,
) -> None:  # fmt: skip
    """Draw means of pools and coefficients; the means are drawn again with the effects."""
    n_pools = len(par.mu)
    residual = _less(moment, side, mean)  # products of covariates and labels within groups
    prior = np.concatenate([priors.mu, priors.coefficient])
    precision = np.diag(prior[:, 1] ** -2.0)
    linear = prior[:, 0] / prior[:, 1] ** 2
    precision += np.einsum("dkl,dklfg->fg", weight, side.between)
    inverse = np.broadcast_to(par.sd**-2.0, n_pools)
    precision[n_pools:, n_pools:] += np.einsum("p,pfg->fg", inverse, side.within)
    linear[:n_pools] += np.bincount(side.pool, weighted, n_pools)
    linear[n_pools:] += inverse @ residual + weighted @ side.mean
    draw_normal(state, precision, linear)
    par.coefficient[:] = linear[n_pools:]
    mean -= side.mean @ par.coefficient
    within -= 2.0 * residual @ par.coefficient
    within += par.coefficient @ (side.within @ par.coefficient).T


@kernel
def draw_normal(state: State, precision: Floats, linear: Floats) -> None:
    """Replace ``linear`` (precision times mean) by a draw, and ``precision`` by its factor."""
    n = len(linear)
    factorised(precision, n)
    forwards(precision, n, linear)
    for k in range(n):
        linear[k] += normal(state)
    backwards(precision, n, linear)
