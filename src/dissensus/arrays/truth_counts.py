"""From labels counted by state to what each parameter hangs on."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.arrays.truth_parameters import SHARED, Form, Parameters
from dissensus.arrays.truth_states import log_sigmoid
from dissensus.kernels.compiled import kernel
from dissensus.kernels.random import State
from dissensus.kernels.types import Floats
from dissensus.kernels.variates import binomial


class Counts(NamedTuple):
    """How often what was said, by truth and ease; written over sweep by sweep."""

    raw: Floats
    """Labels (voice, response, state)."""
    size: Floats
    """Items (state)."""
    truth: Floats
    """Items by true label (label)."""
    right: Floats
    """Answers of a voice's own that were right (voice, label, ease)."""
    wrong: Floats
    error: Floats
    """Wrong answers of a voice's own (voice, label, response)."""
    source_right: Floats
    """Items about which the source that systems share was right (ease)."""
    source_wrong: Floats
    source_error: Floats
    """Wrong answers of the source (label, response)."""
    shared: Floats
    """Answers that systems took from the source, and those of their own."""
    taken: Floats
    """Answers that are the source's (voice, response, state); empty where there is none."""


def room(form: Form, n_ease: int, n_states: int) -> Counts:
    """Make room for the counts of a sweep."""
    v, n = form.n_voices, form.n_labels
    return Counts(
        raw=np.zeros((v, n, n_states)),
        size=np.zeros(n_states),
        truth=np.zeros(n),
        right=np.zeros((v, n, n_ease)),
        wrong=np.zeros((v, n, n_ease)),
        error=np.zeros((v, n, n)),
        source_right=np.zeros(n_ease),
        source_wrong=np.zeros(n_ease),
        source_error=np.zeros((n, n)),
        shared=np.zeros(2),
        taken=np.zeros((v, n, n_states) if form.related else (0, 0, 0)),
    )


def sort_counts(
    state: State, form: Form, par: Parameters, log_response: Floats, counts: Counts
) -> None:
    """Sort what was counted by state, drawing which answers of systems were the source's."""
    if form.related:
        _draw_taken(
            state, counts.raw, log_response, par.number, form.first_system, counts.taken,
            counts.shared,
        )  # fmt: skip
        _sort_source(counts.size, counts.source_right, counts.source_wrong, counts.source_error)
    _sort(
        counts.raw, counts.size, counts.taken, counts.truth, counts.right, counts.wrong,
        counts.error,
    )  # fmt: skip


@kernel
def _sort(
    raw: Floats, size: Floats, taken: Floats, truth: Floats, right: Floats, wrong: Floats,
    error: Floats,
) -> None:  # fmt: skip
    """Sort a voice's own answers into right and wrong ones, and items by their truth."""
    n, n_ease = len(truth), right.shape[2]
    truth[:] = 0.0
    right[:] = 0.0
    wrong[:] = 0.0
    error[:] = 0.0
    for s in range(len(size)):
        truth[s % n] += size[s]
    for v in range(len(raw)):
        for y in range(n):
            for s in range(len(size)):
                own = raw[v, y, s]
                if own == 0.0:
                    continue
                if len(taken) > 0:
                    own -= taken[v, y, s]
                z, q = s % n, (s // n) % n_ease
                if y == z:
                    right[v, z, q] += own
                else:
                    wrong[v, z, q] += own
                    error[v, z, y] += own


@kernel
def _sort_source(size: Floats, right: Floats, wrong: Floats, error: Floats) -> None:
    """Sort items by whether the source that systems share was right about them."""
    n, n_ease = len(error), len(right)
    right[:] = 0.0
    wrong[:] = 0.0
    error[:] = 0.0
    for s in range(len(size)):
        z, q, f = s % n, (s // n) % n_ease, s // (n * n_ease)
        if f == z:
            right[q] += size[s]
        else:
            wrong[q] += size[s]
            error[z, f] += size[s]


@kernel
def _draw_taken(
    state: State, raw: Floats, log_response: Floats, number: Floats, first_system: int,
    taken: Floats, shared: Floats,
) -> None:  # fmt: skip
    """Draw which of the systems' answers are the source's, where it gave the same."""
    n_labels, n_states = raw.shape[1:]
    taken[:] = 0.0
    shared[:] = 0.0
    log_shared = log_sigmoid(number[SHARED])
    for v in range(first_system, len(raw)):
        for y in range(n_labels):
            for s in range(n_states):
                if raw[v, y, s] == 0.0:
                    continue
                if s // (n_states // n_labels) == y:
                    chance = math.exp(log_shared - log_response[v, y, s])
                    taken[v, y, s] = binomial(state, int(raw[v, y, s]), min(chance, 1.0))
                shared[0] += taken[v, y, s]
                shared[1] += raw[v, y, s] - taken[v, y, s]
