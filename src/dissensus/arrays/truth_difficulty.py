"""How much items differ in how hard they are, and how much it matters to systems."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.stream import State
from dissensus.arrays.truth_counts import Counts
from dissensus.arrays.truth_parameters import DIFFICULTY, SOURCE, Form, Parameters, Priors
from dissensus.arrays.truth_skills import log_hits
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]


class _Hits(NamedTuple):
    """Right and wrong answers of one accuracy each."""

    skill: Floats
    slope: Floats
    right: Floats
    """(accuracy, ease)"""
    wrong: Floats


@njit(cache=True)
def _log_hits_of_all(spread: float, ease: Floats, hits: _Hits) -> float:
    out = 0.0
    for one in range(len(hits.skill)):
        out += log_hits(
            hits.skill[one], spread * hits.slope[one], ease, hits.right[one], hits.wrong[one]
        )
    return out


@njit(cache=True)
def _log_difficulty(log_spread: float, scale: float, ease: Floats, hits: _Hits) -> float:
    spread = math.exp(log_spread)
    return log_spread - 0.5 * (spread / scale) ** 2 + _log_hits_of_all(spread, ease, hits)


_slice_difficulty = slicer(_log_difficulty)


@njit(cache=True)
def _log_slope(log_slope: float, sd: float, spread: float, ease: Floats, hits: _Hits) -> float:
    hits.slope[:] = math.exp(log_slope)
    return -0.5 * (log_slope / sd) ** 2 + _log_hits_of_all(spread, ease, hits)


_slice_slope = slicer(_log_slope)


@njit(cache=True)
def _hits(form: Form, par: Parameters, counts: Counts, first: int, last: int) -> _Hits:
    """Collect the answers of some voices, and room for those of the source."""
    n_rows = form.n_labels if form.rows else 1
    n, n_ease = (last - first) * n_rows, counts.right.shape[2]
    found = _Hits(np.zeros(n + 1), np.ones(n + 1), np.zeros((n + 1, n_ease)),
                  np.zeros((n + 1, n_ease)))  # fmt: skip
    for v in range(first, last):
        for z in range(form.n_labels):
            row = (v - first) * n_rows + (z if form.rows else 0)
            found.skill[row] = par.skill[v, z]
            found.slope[row] = par.slope[v]
            found.right[row] += counts.right[v, z]
            found.wrong[row] += counts.wrong[v, z]
    return found


@njit(cache=True)
def draw_difficulty(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw how much items differ in how hard they are."""
    last = min(form.evidence, form.n_voices)  # others must teach nothing that annotators share
    hits = _hits(form, par, counts, 0, last)
    if last == form.n_voices:
        hits.skill[-1] = par.number[SOURCE]
        hits.right[-1], hits.wrong[-1] = counts.source_right, counts.source_wrong
    log_spread = math.log(par.number[DIFFICULTY])
    par.number[DIFFICULTY] = math.exp(
        _slice_difficulty(state, log_spread, 0.5, prior.difficulty, ease, hits)
    )


@njit(cache=True)
def draw_slopes(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw how much it matters to each system how hard items are."""
    for v in range(form.first_system, form.n_voices):
        hits = _hits(form, par, counts, v, v + 1)
        par.slope[v] = math.exp(
            _slice_slope(
                state, math.log(par.slope[v]), 0.5, prior.slope, par.number[DIFFICULTY], ease, hits
            )
        )
