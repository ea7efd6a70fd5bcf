"""Items given annotators where there is one pool: matrices of `items` are numbers here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dissensus.families.crossed.kernels.data import (
    Crossed,
    ItemRoom,
    ItemSums,
    Parameters,
    Priors,
    Tuning,
    log_scale_prior,
    log_within,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Codes, Floats
from dissensus.kernels.variates import normal

SD_ITEM, SD = range(2)
"""Which standard deviation is moved."""


@inner
def _log_marginal(
    n_labels: Floats, n_cells: Floats, n_items: Floats, n_each: Floats, first: Floats,
    second: Floats, within: Floats, sd_item: Floats, sd: Floats, prior_mu: Floats, root: Floats,
    linear: Floats,
) -> float:  # fmt: skip
    """Return the log density of the labels without the effects of items and the mean.

    Leaves the posterior of the mean behind: the root of its precision, and that times it.
    """
    mean, spread = prior_mu[0, 0], prior_mu[0, 1]
    precision, weighted = 1.0 / (spread * spread), mean / (spread * spread)
    prior, total, v_item, v = -0.5 * mean * weighted, 0.0, sd_item[0] ** 2, sd[0] ** 2
    for d in range(len(n_items)):
        var = v_item + v / n_each[d, 0]
        total -= 0.5 * (n_items[d] * math.log(var) + second[d, 0, 0] / var)
        precision += n_items[d] / var
        weighted += first[d, 0] / var
    total = prior + log_within(n_labels, n_cells, sd, within) + total
    if not total > -np.inf or not precision > 0.0:
        return -np.inf
    root[0, 0] = math.sqrt(precision)
    linear[0] = weighted / root[0, 0]
    return total + (0.5 * linear[0] ** 2 - math.log(root[0, 0]))


@inner
def _log_density(
    x: float, moved: int, prior_item: Floats, prior_sd: Floats, n_labels: Floats,
    n_cells: Floats, n_items: Floats, n_each: Floats, first: Floats, second: Floats,
    within: Floats, sd_item: Floats, sd: Floats, prior_mu: Floats, root: Floats, linear: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logarithm of one of the standard deviations."""
    if moved == SD_ITEM:
        sd_item[0] = math.exp(x)
        height = log_scale_prior(sd_item[0], prior_item[0])
    else:
        sd[0] = math.exp(x)
        height = log_scale_prior(sd[0], prior_sd[0])
    return x + height + _log_marginal(
        n_labels, n_cells, n_items, n_each, first, second, within, sd_item, sd, prior_mu, root,
        linear,
    )  # fmt: skip


_slice = slicer(_log_density)


@kernel
def _move_scales(
    state: State, rate: float, width_item: Floats, width_sd: Floats, prior_item: Floats,
    prior_sd: Floats, n_labels: Floats, n_cells: Floats, n_items: Floats, n_each: Floats,
    first: Floats, second: Floats, within: Floats, sd_item: Floats, sd: Floats, prior_mu: Floats,
    root: Floats, linear: Floats,
) -> None:  # fmt: skip
    for moved in range(1 + len(width_sd)):
        was = math.log(sd_item[0] if moved == SD_ITEM else sd[0])
        wide = width_item[0] if moved == SD_ITEM else width_sd[0]
        x = _slice(
            state, was, wide, moved, prior_item, prior_sd, n_labels, n_cells, n_items, n_each,
            first, second, within, sd_item, sd, prior_mu, root, linear,
        )  # fmt: skip
        wide += rate * (4.0 * abs(x - was) - wide)
        if moved == SD_ITEM:
            width_item[0] = wide
        else:
            width_sd[0] = wide


@kernel
def _draw_items(
    state: State, of_item: Codes, item_start: Codes, n_each: Floats, mean: Floats, sd_item: Floats,
    sd: Floats, root: Floats, linear: Floats, mu: Floats, item: Floats,
) -> None:  # fmt: skip
    mu[0] = (linear[0] + normal(state)) / root[0, 0]
    share, spread = np.empty(len(n_each)), np.empty(len(n_each))
    v_item, v = sd_item[0] ** 2, sd[0] ** 2
    for d in range(len(share)):
        share[d] = v_item / (v_item + v / n_each[d, 0])
        spread[d] = math.sqrt(share[d] * v / n_each[d, 0])
    for i in range(len(of_item)):
        d = of_item[i]
        if d >= 0:
            c = item_start[i]
            item[c] = share[d] * (mean[c] - mu[0]) + spread[d] * normal(state)


def marginal(
    data: Crossed, sums: ItemSums, par: Parameters, priors: Priors, room: ItemRoom
) -> tuple[Any, ...]:
    """Return the arguments of `_log_marginal`."""
    designs = data.designs
    return (
        data.n_labels, data.n_cells, designs.n_items, designs.n_labels, sums.first, sums.second,
        sums.within, par.sd_item, par.sd, priors.mu, room.precision, room.linear,
    )  # fmt: skip


def move_scales(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, sums: ItemSums,
    room: ItemRoom,
) -> None:  # fmt: skip
    """Draw the items' variance and that of the residual."""
    _move_scales(
        state, tuning.rate, tuning.sd_item, tuning.sd, priors.sd_item, priors.sd,
        *marginal(data, sums, par, priors, room),
    )  # fmt: skip


def draw_items(
    state: State, data: Crossed, par: Parameters, sums: ItemSums, room: ItemRoom
) -> None:
    """Draw the mean and the effects, from the intermediate results of the last density."""
    designs = data.designs
    _draw_items(
        state, designs.of_item, data.item_start, designs.n_labels, sums.mean, par.sd_item, par.sd,
        room.precision, room.linear, par.mu, par.item,
    )  # fmt: skip
