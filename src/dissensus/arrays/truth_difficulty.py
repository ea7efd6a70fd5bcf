"""How much items differ in how hard they are, and how much it matters to systems."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.arrays.truth_counts import Counts
from dissensus.arrays.truth_parameters import DIFFICULTY, SOURCE, Form, Parameters, Priors
from dissensus.arrays.truth_skills import log_hits
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Floats


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
