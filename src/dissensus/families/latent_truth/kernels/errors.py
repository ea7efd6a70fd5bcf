"""Distributions of wrong labels: equal, decaying with distance, or different by respondent."""

from __future__ import annotations

import math

import numpy as np

from dissensus.families.latent_truth.kernels.data import CONCENTRATION, DECAY
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.dirichlet import draw_log_row
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import log_rising
from dissensus.kernels.types import Floats

LEAST = 1e-300
"""Smallest shape of a Dirichlet distribution whose gamma function is finite."""


@inner
def log_graded(decay: float, out: Floats) -> None:
    """Write log-probabilities (label, response) of errors that decay with distance."""
    n = len(out)
    for z in range(n):
        high = -math.inf
        for y in range(n):
            out[z, y] = -math.inf if y == z else -decay * abs(y - z)
            high = max(high, out[z, y])
        total = 0.0
        for y in range(n):
            if y != z:
                total += math.exp(out[z, y] - high)
        for y in range(n):
            if y != z:
                out[z, y] -= high + math.log(total)


@inner
def _log_decay(decay: float, sd: float, error: Floats, room: Floats) -> float:
    """Return the log density of the decay, given the number of each error (label, response)."""
    log_graded(decay, room)
    out = -0.5 * (decay / sd) ** 2
    for z in range(len(room)):
        for y in range(len(room)):
            if error[z, y] > 0.0:
                out += error[z, y] * room[z, y]
    return out


_slice_decay = slicer(_log_decay)


@inner
def log_errors(weight: float, base: Floats, error: Floats) -> float:
    """Return the log-likelihood of a respondent's errors about one label, counted by response.

    The probabilities of errors are integrated out: their prior is Dirichlet, with the shape
    ``weight * exp(base)``.
    """
    out = total = 0.0
    for y in range(len(base)):
        if error[y] > 0.0:
            alpha = weight * math.exp(base[y])
            if alpha < LEAST:
                return -math.inf
            total += error[y]
            out += log_rising(alpha, error[y])
    return out - log_rising(weight, total)


@inner
def _log_unequal(concentration: float, base: Floats, error: Floats) -> float:
    """Return the sum of `log_errors` for counts of errors (respondent, label, response)."""
    out = 0.0
    for r in range(len(error)):
        for z in range(len(base)):
            out += log_errors(concentration, base[z], error[r, z])
    return out


@inner
def _log_unequal_decay(
    decay: float, sd: float, concentration: float, source: Floats, error: Floats, room: Floats
) -> float:
    prior = _log_decay(decay, sd, source, room)
    return prior + _log_unequal(concentration, room, error)


_slice_unequal_decay = slicer(_log_unequal_decay)


@inner
def _log_concentration(
    log_concentration: float, prior: Floats, base: Floats, error: Floats
) -> float:
    out = -0.5 * ((log_concentration - prior[0]) / prior[1]) ** 2
    return out + _log_unequal(math.exp(log_concentration), base, error)


_slice_concentration = slicer(_log_concentration)


@kernel
def draw_decay(
    state: State, sd: float, error: Floats, source: Floats, number: Floats, log_base: Floats,
    log_error: Floats,
) -> None:  # fmt: skip
    """Draw the decay of errors with distance, which all respondents and the source share."""
    n = len(log_base)
    pooled = source.copy()
    for r in range(len(error)):
        for z in range(n):
            for y in range(n):
                pooled[z, y] += error[r, z, y]
    number[DECAY] = _slice_decay(state, number[DECAY], 0.5, sd, pooled, log_base)
    log_graded(number[DECAY], log_base)
    for r in range(len(log_error)):
        for z in range(n):
            for y in range(n):
                log_error[r, z, y] = log_base[z, y]


@kernel
def draw_unequal_decay(
    state: State, sd: float, error: Floats, source: Floats, number: Floats, log_base: Floats
) -> None:
    """Draw the decay of the central distribution, around which respondents' errors vary."""
    number[DECAY] = _slice_unequal_decay(
        state, number[DECAY], 0.5, sd, number[CONCENTRATION], source, error, log_base
    )
    log_graded(number[DECAY], log_base)


@kernel
def draw_concentration(
    state: State, prior: Floats, error: Floats, number: Floats, log_base: Floats
) -> None:
    """Draw the concentration of the respondents' distributions of errors around the centre."""
    log_concentration = _slice_concentration(
        state, math.log(number[CONCENTRATION]), 1.0, prior, log_base, error
    )
    number[CONCENTRATION] = math.exp(log_concentration)


@kernel
def draw_error_rows(
    state: State, first: int, last: int, number: Floats, log_base: Floats, error: Floats,
    log_error: Floats,
) -> None:  # fmt: skip
    """Draw the distributions of wrong labels of respondents ``first`` to ``last - 1``."""
    n = len(log_base)
    shape = np.empty(n)
    for r in range(first, last):
        for z in range(n):
            for y in range(n):
                shape[y] = number[CONCENTRATION] * math.exp(log_base[z, y]) + error[r, z, y]
            draw_log_row(state, shape, z, log_error[r, z])


@kernel
def draw_log_shares(state: State, prior: Floats, counted: Floats, out: Floats) -> None:
    """Draw the logarithms of shares, which have a Dirichlet prior, given counts."""
    shape = np.empty(len(out))
    for z in range(len(out)):
        shape[z] = prior[z] + counted[z]
    draw_log_row(state, shape, -1, out)
