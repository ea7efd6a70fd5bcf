"""Where errors fall: on all other labels alike, on near ones rather, or on a voice's own choice."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from dissensus.families.latent_truth.kernels.accuracies import log_hits
from dissensus.families.latent_truth.kernels.data import (
    CONCENTRATION,
    DECAY,
    DIFFICULTY,
    GRADED,
    SOURCE,
    UNEQUAL,
    Form,
    Parameters,
    Priors,
)
from dissensus.families.latent_truth.kernels.states import Counts
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.dirichlet import draw_log_row
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import log_rising
from dissensus.kernels.types import Floats

# How much items differ in how hard they are, and how much it matters to systems.


class _Hits(NamedTuple):
    """Right and wrong answers of one accuracy each."""

    skill: Floats
    slope: Floats
    right: Floats
    """(accuracy, ease)"""
    wrong: Floats


@inner
def _log_hits_of_all(spread: float, ease: Floats, hits: _Hits) -> float:
    out = 0.0
    for a in range(len(hits.skill)):
        out += log_hits(hits.skill[a], spread * hits.slope[a], ease, hits.right[a], hits.wrong[a])
    return out


@inner
def _log_difficulty(log_spread: float, scale: float, ease: Floats, hits: _Hits) -> float:
    spread = math.exp(log_spread)
    return log_spread - 0.5 * (spread / scale) ** 2 + _log_hits_of_all(spread, ease, hits)


_slice_difficulty = slicer(_log_difficulty)


@inner
def _log_slope(log_slope: float, sd: float, spread: float, ease: Floats, hits: _Hits) -> float:
    for a in range(len(hits.slope)):
        hits.slope[a] = math.exp(log_slope)
    return -0.5 * (log_slope / sd) ** 2 + _log_hits_of_all(spread, ease, hits)


_slice_slope = slicer(_log_slope)


@inner
def _hits(
    first: int, last: int, rows: bool, skill: Floats, slope: Floats, right: Floats, wrong: Floats
) -> _Hits:
    """Collect the answers of some voices, and room for those of the source."""
    n_labels, n_ease = right.shape[1:]
    n_rows = n_labels if rows else 1
    n = (last - first) * n_rows + 1
    hits = _Hits(np.zeros(n), np.ones(n), np.zeros((n, n_ease)), np.zeros((n, n_ease)))
    for v in range(first, last):
        for z in range(n_labels):
            row = (v - first) * n_rows + (z if rows else 0)
            hits.skill[row] = skill[v, z]
            hits.slope[row] = slope[v]
            for q in range(n_ease):
                hits.right[row, q] += right[v, z, q]
                hits.wrong[row, q] += wrong[v, z, q]
    return hits


def draw_difficulty(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw how much items differ in how hard they are."""
    last = min(form.evidence, form.n_voices)  # others must teach nothing that annotators share
    _draw_difficulty(
        state, last, form.rows > 0, last == form.n_voices, prior.difficulty, ease, par.skill,
        par.slope, par.number, counts.right, counts.wrong, counts.source_right,
        counts.source_wrong,
    )  # fmt: skip


@kernel
def _draw_difficulty(
    state: State, last: int, rows: bool, with_source: bool, scale: float, ease: Floats,
    skill: Floats, slope: Floats, number: Floats, right: Floats, wrong: Floats,
    source_right: Floats, source_wrong: Floats,
) -> None:  # fmt: skip
    hits = _hits(0, last, rows, skill, slope, right, wrong)
    if with_source:
        hits.skill[-1] = number[SOURCE]
        for q in range(len(ease)):
            hits.right[-1, q], hits.wrong[-1, q] = source_right[q], source_wrong[q]
    log_spread = math.log(number[DIFFICULTY])
    number[DIFFICULTY] = math.exp(_slice_difficulty(state, log_spread, 0.5, scale, ease, hits))


def draw_slopes(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw how much it matters to each system how hard items are."""
    _draw_slopes(
        state, form.first_system, form.rows > 0, prior.slope, ease, par.skill, par.slope,
        par.number, counts.right, counts.wrong,
    )  # fmt: skip


@kernel
def _draw_slopes(
    state: State, first_system: int, rows: bool, sd: float, ease: Floats, skill: Floats,
    slope: Floats, number: Floats, right: Floats, wrong: Floats,
) -> None:  # fmt: skip
    for v in range(first_system, len(skill)):
        hits = _hits(v, v + 1, rows, skill, slope, right, wrong)
        log_slope = _slice_slope(
            state, math.log(slope[v]), 0.5, sd, number[DIFFICULTY], ease, hits
        )  # fmt: skip
        slope[v] = math.exp(log_slope)


LEAST = 1e-300
"""Of a Dirichlet's shape that has a gamma function."""


@inner
def log_graded(decay: float, out: Floats) -> None:
    """Write log-probabilities of errors that fall off with distance (label, response)."""
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
    """Return the log density of the decay, given errors counted (label, response)."""
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
    """Return the log-likelihood of one voice's errors for a label, where they fall summed out.

    A Dirichlet a priori of shape ``weight * exp(base)``; no error is counted at the label itself.
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
    """Return the log-likelihood of errors (voice, label, response), rows of voices summed out."""
    out = 0.0
    for v in range(len(error)):
        for z in range(len(base)):
            out += log_errors(concentration, base[z], error[v, z])
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


def draw_errors(state: State, form: Form, par: Parameters, prior: Priors, counts: Counts) -> None:
    """Draw where errors fall, of annotators with one accuracy each, and what all have in common."""
    known = counts.error[: form.evidence]  # others must teach nothing that annotators share
    source = counts.source_error if form.evidence == form.n_voices else _no_errors(form.n_labels)
    if form.errors == GRADED:
        _draw_decay(state, prior.decay, known, source, par.number, par.log_base, par.log_error)
    if form.errors == UNEQUAL:
        if form.ordered:
            _draw_unequal_decay(state, prior.decay, known, source, par.number, par.log_base)
        _draw_concentration(state, prior.concentration, known, par.number, par.log_base)
        draw_error_rows(state, par, counts, 0, form.first_system)


@functools.cache
def _no_errors(n_labels: int) -> Floats:
    return np.zeros((n_labels, n_labels))


def draw_error_rows(state: State, par: Parameters, counts: Counts, first: int, last: int) -> None:
    """Draw where the errors of some voices fall, each in its own way."""
    _draw_rows(state, first, last, par.number, par.log_base, counts.error, par.log_error)


@kernel
def _draw_decay(
    state: State, sd: float, error: Floats, source: Floats, number: Floats, log_base: Floats,
    log_error: Floats,
) -> None:  # fmt: skip
    """Draw how errors fall off with distance, the same for all voices."""
    n_voices, n = len(error), len(log_base)
    pooled = np.zeros((n, n))
    for v in range(n_voices):
        for z in range(n):
            for y in range(n):
                pooled[z, y] += error[v, z, y]
    for z in range(n):
        for y in range(n):
            pooled[z, y] += source[z, y]
    number[DECAY] = _slice_decay(state, number[DECAY], 0.5, sd, pooled, log_base)
    log_graded(number[DECAY], log_base)
    for v in range(len(log_error)):
        for z in range(n):
            for y in range(n):
                log_error[v, z, y] = log_base[z, y]


@kernel
def _draw_unequal_decay(
    state: State, sd: float, error: Floats, source: Floats, number: Floats, log_base: Floats
) -> None:
    """Draw how the errors fall off that each voice's own are drawn around."""
    number[DECAY] = _slice_unequal_decay(
        state, number[DECAY], 0.5, sd, number[CONCENTRATION], source, error, log_base
    )
    log_graded(number[DECAY], log_base)


@kernel
def _draw_concentration(
    state: State, prior: Floats, error: Floats, number: Floats, log_base: Floats
) -> None:
    """Draw how alike voices are in where their errors fall."""
    log_concentration = _slice_concentration(
        state, math.log(number[CONCENTRATION]), 1.0, prior, log_base, error
    )
    number[CONCENTRATION] = math.exp(log_concentration)


@kernel
def _draw_rows(
    state: State, first: int, last: int, number: Floats, log_base: Floats, error: Floats,
    log_error: Floats,
) -> None:  # fmt: skip
    n = len(log_base)
    shape = np.empty(n)
    for v in range(first, last):
        for z in range(n):
            for y in range(n):
                shape[y] = number[CONCENTRATION] * math.exp(log_base[z, y]) + error[v, z, y]
            draw_log_row(state, shape, z, log_error[v, z])


@kernel
def draw_log_shares(state: State, prior: Floats, counted: Floats, out: Floats) -> None:
    """Draw the logarithms of shares that are Dirichlet a priori, given what was counted."""
    shape = np.empty(len(out))
    for z in range(len(out)):
        shape[z] = prior[z] + counted[z]
    draw_log_row(state, shape, -1, out)
