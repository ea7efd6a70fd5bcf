"""From labels counted by state to what each parameter hangs on."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.binomial_variates import binomial
from dissensus.arrays.stream import State
from dissensus.arrays.truth_parameters import SHARED, Form, Parameters
from dissensus.arrays.truth_states import log_sigmoid

Floats = npt.NDArray[np.float64]


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
    )


@njit(cache=True)
def sort_counts(
    state: State, form: Form, par: Parameters, log_response: Floats, counts: Counts
) -> None:
    """Sort what was counted by state, drawing which answers of systems were the source's."""
    n, n_ease = form.n_labels, counts.right.shape[2]
    for part in (counts.right, counts.wrong, counts.error):
        part[:] = 0.0
    for part in (counts.source_right, counts.source_wrong, counts.truth, counts.shared):
        part[:] = 0.0
    counts.source_error[:] = 0.0
    for s in range(len(counts.size)):
        z, q, f = s % n, (s // n) % n_ease, s // (n * n_ease)
        counts.truth[z] += counts.size[s]
        if form.related:
            if f == z:
                counts.source_right[q] += counts.size[s]
            else:
                counts.source_wrong[q] += counts.size[s]
                counts.source_error[z, f] += counts.size[s]
    for v in range(form.n_voices):
        mixed = form.related and v >= form.first_system
        for y in range(n):
            for s in range(len(counts.size)):
                found = counts.raw[v, y, s]
                if found == 0.0:
                    continue
                z, q, f = s % n, (s // n) % n_ease, s // (n * n_ease)
                if mixed:
                    taken = 0.0
                    if f == y:
                        chance = log_sigmoid(par.number[SHARED]) - log_response[v, y, s]
                        taken = float(binomial(state, int(found), min(math.exp(chance), 1.0)))
                    found -= taken
                    counts.shared[0] += taken
                    counts.shared[1] += found
                if y == z:
                    counts.right[v, z, q] += found
                else:
                    counts.wrong[v, z, q] += found
                    counts.error[v, z, y] += found
