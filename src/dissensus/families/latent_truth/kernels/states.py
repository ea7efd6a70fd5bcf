"""The truth of items given all parameters: probabilities, draws, and counts by state.

The truth of items given all parameters: their labels' probabilities, and draws.
A *state* of an item is its true label, how hard it is, and, where systems are related, the answer
of the source that they share. Given the state all voices are independent, so that one table of
log-probabilities (voice, response, state) is all that the labels need to see.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.families.latent_truth.kernels.data import (
    DIFFICULTY,
    SHARED,
    SOURCE,
    Form,
    Parameters,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, uniform
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.variates import binomial, scatter
from dissensus.kernels.votes import Votes


@inner
def log_sigmoid(x: float) -> float:
    """Return log(1 / (1 + exp(-x))) without loss on either side."""
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))


def n_states(form: Form, ease: Floats) -> int:
    """Return how many states an item can be in."""
    return form.n_labels * len(ease) * (form.n_labels if form.related else 1)


def fill_tables(
    form: Form, ease: Floats, par: Parameters, log_weight: Floats, log_response: Floats
) -> None:
    """Write what labels see: the states' probabilities, and those of responses in each.

    The state of truth z at ease q with the source's answer f has the number
    ``(f * len(ease) + q) * n_labels + z``.
    """
    fill_own(
        par.log_prevalence, par.skill, par.slope, par.log_error, par.number[DIFFICULTY], ease,
        log_weight, log_response,
    )  # fmt: skip
    if form.related:
        add_source(par.log_base, par.number, ease, form.first_system, log_weight, log_response)


@kernel
def fill_own(
    log_prevalence: Floats, skill: Floats, slope: Floats, log_error: Floats, spread: float,
    ease: Floats, log_weight: Floats, log_response: Floats,
) -> None:  # fmt: skip
    """Write the tables of voices that answer independently."""
    n, n_ease, n_states = len(log_prevalence), len(ease), len(log_weight)
    for s in range(n_states):
        log_weight[s] = log_prevalence[s % n] - math.log(n_ease)
    for v in range(len(skill)):
        for z in range(n):
            for q in range(n_ease):
                eta = skill[v, z] + spread * slope[v] * ease[q]
                right, wrong = log_sigmoid(eta), log_sigmoid(-eta)
                for y in range(n):
                    own = right if y == z else wrong + log_error[v, z, y]
                    for s in range(q * n + z, n_states, n * n_ease):
                        log_response[v, y, s] = own


@kernel
def add_source(
    log_base: Floats, number: Floats, ease: Floats, first_system: int, log_weight: Floats,
    log_response: Floats,
) -> None:  # fmt: skip
    """Bring the source's answer into both tables: systems give it instead of their own at times."""
    n, n_ease = log_base.shape[0], len(ease)
    log_taken, log_own = log_sigmoid(number[SHARED]), log_sigmoid(-number[SHARED])
    for s in range(len(log_weight)):
        z, q, f = s % n, (s // n) % n_ease, s // (n * n_ease)
        eta = number[SOURCE] + number[DIFFICULTY] * ease[q]
        if f == z:
            log_weight[s] += log_sigmoid(eta)
        else:
            log_weight[s] += log_sigmoid(-eta) + log_base[z, f]
        for v in range(first_system, len(log_response)):
            for y in range(n):
                alone = log_own + log_response[v, y, s]
                log_response[v, y, s] = log_plus(alone, log_taken) if f == y else alone


@inner
def known_label(votes: Votes, p: int) -> int:
    """Return the true label of a pattern's items, -1 if it is not known."""
    return votes.known[p] if len(votes.known) > 0 else -1


@inner
def weigh(
    votes: Votes, evidence: int, log_weight: Floats, log_response: Floats, p: int, known: int,
    n_labels: int, weight: Floats,
) -> float:  # fmt: skip
    """Write the weights of the states of a pattern, the largest being 1; return its logarithm.

    A known label leaves the states in which it is the true one.
    """
    for s in range(len(weight)):
        weight[s] = log_weight[s]
    for entry in range(votes.start[p], votes.start[p + 1]):
        v, y, times = votes.voice[entry], votes.label[entry], votes.times[entry]
        if v < evidence:
            for s in range(len(weight)):
                weight[s] += times * log_response[v, y, s]
    high = -math.inf
    for s in range(len(weight)):
        if known >= 0 and s % n_labels != known:
            weight[s] = -math.inf
        high = max(high, weight[s])
    for s in range(len(weight)):
        weight[s] = math.exp(weight[s] - high)
    return high


@inner
def total_of(weight: Floats) -> float:
    """Add up weights."""
    total = 0.0
    for s in range(len(weight)):
        total += weight[s]
    return total


@kernel
def draw_states(
    state: State, votes: Votes, evidence: int, ease: Floats, log_weight: Floats,
    log_response: Floats, count: Floats, size: Floats, truth: Floats, mean_ease: Floats,
) -> float:  # fmt: skip
    """Draw the state of every item, and count what was said in which.

    Parameters
    ----------
    state : stream
    votes : Votes
    evidence : int
        The first voice that is no evidence of the truth.
    ease : array (ease)
    log_weight, log_response : array
        As `fill_tables` makes them.
    count : array (voice, response, state)
        Written: how often.
    size : array (state)
        Written: how many items.
    truth : array (pattern, label)
        Written: the probability of each label being true, by what was said alone.
    mean_ease : array (pattern)
        Written, unless it is empty: the mean ease of an item.

    Returns
    -------
    float
        The log-likelihood, states summed out.
    """
    count[:] = 0.0
    size[:] = 0.0
    n = truth.shape[1]
    weight = np.empty(len(log_weight))
    drawn = np.empty(len(log_weight), dtype=np.int64)
    whole = 0.0
    for p in range(len(votes.n_items)):
        known = known_label(votes, p)
        high = weigh(votes, evidence, log_weight, log_response, p, -1, n, weight)
        total = total_of(weight)
        for z in range(n):
            truth[p, z] = 0.0
        for s in range(len(weight)):
            truth[p, s % n] += weight[s] / total
        if known >= 0:
            high = weigh(votes, evidence, log_weight, log_response, p, known, n, weight)
            total = total_of(weight)
        whole += votes.n_items[p] * (high + math.log(total))
        if len(mean_ease) > 0:
            mean_ease[p] = 0.0
            for s in range(len(weight)):
                mean_ease[p] += weight[s] / total * ease[(s // n) % len(ease)]
        scatter(state, votes.n_items[p], weight, total, drawn)
        for s in range(len(weight)):
            if drawn[s] == 0:
                continue
            size[s] += drawn[s]
            for entry in range(votes.start[p], votes.start[p + 1]):
                count[votes.voice[entry], votes.label[entry], s] += drawn[s] * votes.times[entry]
    return whole


@kernel
def pattern_log_likelihood(
    votes: Votes, log_weight: Floats, log_response: Floats, out: Floats
) -> None:
    """Write the log-likelihood of an item of each pattern, states summed out."""
    weight = np.empty(len(log_weight))
    for p in range(len(votes.n_items)):
        high = weigh(
            votes, len(log_response), log_weight, log_response, p, known_label(votes, p),
            log_response.shape[1], weight,
        )  # fmt: skip
        out[p] = high + math.log(total_of(weight))


@kernel
def replicate(
    state: State, log_weight: Floats, log_response: Floats, item: Ints, voice: Ints,
    out: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Draw labels of new items that are labelled by the same voices (row); rows go by item."""
    n_voices, n_labels, n_states = log_response.shape
    cumulative, total = np.empty(n_states), 0.0
    chance = np.empty((n_voices, n_labels, n_states))
    for s in range(n_states):
        total += math.exp(log_weight[s])
        cumulative[s] = total
        for v in range(n_voices):
            for y in range(n_labels):
                chance[v, y, s] = math.exp(log_response[v, y, s])
    last, s = -1, 0
    for row in range(len(item)):
        if item[row] != last:
            last, s, place = item[row], 0, uniform(state) * total
            while s < n_states - 1 and cumulative[s] <= place:
                s += 1
        rest = uniform(state)
        y = 0
        while y < n_labels - 1:
            rest -= chance[voice[row], y, s]
            if rest < 0.0:
                break
            y += 1
        out[row] = y


# From labels counted by state to what each parameter hangs on.


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
