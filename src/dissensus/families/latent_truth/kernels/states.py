"""States of items: their probabilities given all parameters, draws of them, and counts.

The *state* of an item is its true label, its ease and, if systems are related, the answer of the
source that they share. Given the state, all answers are independent; a table (respondent, response,
state) holds their log-probabilities. The state with true label z, ease q and source's answer f has
the number ``(f * len(ease) + q) * n_labels + z``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.families.latent_truth.kernels.data import DIFFICULTY, SHARED, SOURCE, Form
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, uniform
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.variates import binomial, scatter
from dissensus.kernels.votes import Votes


@inner
def log_sigmoid(x: float) -> float:
    """Return log(1 / (1 + exp(-x))) without loss of digits on either side."""
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))


@inner
def lowest(n_labels: int) -> float:
    """Return the logit of guessing."""
    return -math.log(max(n_labels - 1.0, 1.0))


@inner
def above_guessing(eta: float, guess: float) -> float:
    """Return log(odds - odds of guessing); -inf if the accuracy is not above guessing."""
    return eta + math.log(-math.expm1(guess - eta)) if eta > guess else -math.inf


@inner
def eased(eta: float, above: float, ease: float, guess: float) -> float:
    """Return the logit of being right about an item of this ease.

    ``eta`` is the logit for a typical item; ``above`` is from `above_guessing`. The odds minus the
    odds of guessing are multiplied by exp(``ease``).
    """
    if ease == 0.0 or above == -math.inf:
        return eta
    return log_plus(above + ease, guess)


@kernel
def fill_own(
    log_prevalence: Floats, skill: Floats, slope: Floats, log_error: Floats, spread: float,
    ease: Floats, log_weight: Floats, log_response: Floats,
) -> None:  # fmt: skip
    """Write log-probabilities of states, and of each respondent's own answers in each state."""
    n, n_ease, n_states = len(log_prevalence), len(ease), len(log_weight)
    guess = lowest(n)
    for s in range(n_states):
        log_weight[s] = log_prevalence[s % n] - math.log(n_ease)
    for r in range(len(skill)):
        for z in range(n):
            above = above_guessing(skill[r, z], guess)
            for q in range(n_ease):
                eta = eased(skill[r, z], above, spread * slope[r] * ease[q], guess)
                right, wrong = log_sigmoid(eta), log_sigmoid(-eta)
                for y in range(n):
                    own = right if y == z else wrong + log_error[r, z, y]
                    for s in range(q * n + z, n_states, n * n_ease):
                        log_response[r, y, s] = own


@kernel
def add_source(
    log_base: Floats, number: Floats, ease: Floats, first_system: int, log_weight: Floats,
    log_response: Floats,
) -> None:  # fmt: skip
    """Add the source to both tables: with some probability, systems give the source's answer."""
    n, n_ease = log_base.shape[0], len(ease)
    log_taken, log_own = log_sigmoid(number[SHARED]), log_sigmoid(-number[SHARED])
    guess = lowest(n)
    above = above_guessing(number[SOURCE], guess)
    for s in range(len(log_weight)):
        z, q, f = s % n, (s // n) % n_ease, s // (n * n_ease)
        eta = eased(number[SOURCE], above, number[DIFFICULTY] * ease[q], guess)
        if f == z:
            log_weight[s] += log_sigmoid(eta)
        else:
            log_weight[s] += log_sigmoid(-eta) + log_base[z, f]
        for r in range(first_system, len(log_response)):
            for y in range(n):
                alone = log_own + log_response[r, y, s]
                log_response[r, y, s] = log_plus(alone, log_taken) if f == y else alone


@inner
def known_label(votes: Votes, p: int) -> int:
    """Return the true label of a pattern's items, or -1 if it is not known."""
    return votes.known[p] if len(votes.known) > 0 else -1


@inner
def weigh(
    votes: Votes, evidence: int, log_weight: Floats, log_response: Floats, p: int, known: int,
    n_labels: int, weight: Floats,
) -> float:  # fmt: skip
    """Write a pattern's weights (state), divided by the largest; return the largest's logarithm.

    Weights are proportional to the probabilities of states, given the labels of respondents below
    number ``evidence``. Unless ``known`` is -1, it is the true label: states with another true
    label have weight 0.
    """
    for s in range(len(weight)):
        weight[s] = log_weight[s]
    for entry in range(votes.start[p], votes.start[p + 1]):
        r, y, times = votes.respondent[entry], votes.label[entry], votes.times[entry]
        if r < evidence:
            for s in range(len(weight)):
                weight[s] += times * log_response[r, y, s]
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
    """Return the sum of weights."""
    total = 0.0
    for s in range(len(weight)):
        total += weight[s]
    return total


@kernel
def draw_states(
    state: State, votes: Votes, evidence: int, ease: Floats, log_weight: Floats,
    log_response: Floats, count: Floats, size: Floats, truth: Floats, mean_ease: Floats,
) -> float:  # fmt: skip
    """Draw the state of every item; return the log-likelihood, with states summed out.

    Writes the number of labels into ``count`` (respondent, response, state), and the number of
    items into ``size`` (state). Writes into ``truth`` (pattern, label) the probability that each
    label is true, given the labels but not the known true labels. Writes the mean ease of items
    into ``mean_ease`` (pattern), unless it is empty.
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
                r, y = votes.respondent[entry], votes.label[entry]
                count[r, y, s] += drawn[s] * votes.times[entry]
    return whole


@kernel
def pattern_log_likelihood(
    votes: Votes, log_weight: Floats, log_response: Floats, out: Floats
) -> None:
    """Write the log-likelihood of one item of each pattern, with states summed out (pattern)."""
    weight = np.empty(len(log_weight))
    for p in range(len(votes.n_items)):
        high = weigh(
            votes, len(log_response), log_weight, log_response, p, known_label(votes, p),
            log_response.shape[1], weight,
        )  # fmt: skip
        out[p] = high + math.log(total_of(weight))


@kernel
def replicate(
    state: State, log_weight: Floats, log_response: Floats, item: Ints, respondent: Ints,
    out: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Draw the labels (row) that the same respondents give new items; rows are sorted by item."""
    n_respondents, n_labels, n_states = log_response.shape
    cumulative, total = np.empty(n_states), 0.0
    chance = np.empty((n_respondents, n_labels, n_states))
    for s in range(n_states):
        total += math.exp(log_weight[s])
        cumulative[s] = total
        for r in range(n_respondents):
            for y in range(n_labels):
                chance[r, y, s] = math.exp(log_response[r, y, s])
    last, s = -1, 0
    for row in range(len(item)):
        if item[row] != last:
            last, s, place = item[row], 0, uniform(state) * total
            while s < n_states - 1 and cumulative[s] <= place:
                s += 1
        rest = uniform(state)
        y = 0
        while y < n_labels - 1:
            rest -= chance[respondent[row], y, s]
            if rest < 0.0:
                break
            y += 1
        out[row] = y


# Counts by state, arranged for each parameter.


class Counts(NamedTuple):
    """Numbers of labels and items; each sweep overwrites them.

    A system's *own* answers are those not taken from the source. All answers of annotators are own.
    """

    raw: Floats  # Labels (respondent, response, state)
    size: Floats  # Items (state)
    truth: Floats  # Items (true label)
    right: Floats  # Own answers that are right (respondent, true label, ease)
    wrong: Floats  # Own answers that are wrong (respondent, true label, ease)
    error: Floats  # Own answers that are wrong (respondent, true label, response)
    source_right: Floats  # Items about which the source is right (ease)
    source_wrong: Floats  # Items about which the source is wrong (ease)
    source_error: Floats  # Wrong answers of the source (true label, response)
    shared: Floats  # Two numbers: systems' answers taken from the source, and own answers
    taken: Floats  # Answers taken from the source (respondent, response, state), or empty


def room(form: Form, n_ease: int, n_states: int) -> Counts:
    """Allocate the counts of a sweep."""
    respondents, n = form.n_respondents, form.n_labels
    return Counts(
        raw=np.zeros((respondents, n, n_states)),
        size=np.zeros(n_states),
        truth=np.zeros(n),
        right=np.zeros((respondents, n, n_ease)),
        wrong=np.zeros((respondents, n, n_ease)),
        error=np.zeros((respondents, n, n)),
        source_right=np.zeros(n_ease),
        source_wrong=np.zeros(n_ease),
        source_error=np.zeros((n, n)),
        shared=np.zeros(2),
        taken=np.zeros((respondents, n, n_states) if form.related else (0, 0, 0)),
    )


@kernel
def sort_own(
    raw: Floats, size: Floats, taken: Floats, truth: Floats, right: Floats, wrong: Floats,
    error: Floats,
) -> None:  # fmt: skip
    """Count respondents' own answers, right and wrong, and count items by true label."""
    n, n_ease = len(truth), right.shape[2]
    truth[:] = 0.0
    right[:] = 0.0
    wrong[:] = 0.0
    error[:] = 0.0
    for s in range(len(size)):
        truth[s % n] += size[s]
    for r in range(len(raw)):
        for y in range(n):
            for s in range(len(size)):
                own = raw[r, y, s]
                if own == 0.0:
                    continue
                if len(taken) > 0:
                    own -= taken[r, y, s]
                z, q = s % n, (s // n) % n_ease
                if y == z:
                    right[r, z, q] += own
                else:
                    wrong[r, z, q] += own
                    error[r, z, y] += own


@kernel
def sort_source(
    state: State, log_response: Floats, number: Floats, first_system: int, raw: Floats,
    size: Floats, right: Floats, wrong: Floats, error: Floats, shared: Floats, taken: Floats,
) -> None:  # fmt: skip
    """Draw which answers systems took from the source; count its right and wrong answers."""
    n, n_ease, n_states = len(error), len(right), len(size)
    taken[:] = 0.0
    shared[:] = 0.0
    log_taken = log_sigmoid(number[SHARED])
    for r in range(first_system, len(raw)):
        for y in range(n):
            for s in range(n_states):
                if raw[r, y, s] == 0.0:
                    continue
                if s // (n_states // n) == y:  # the source gives the same answer in this state
                    chance = math.exp(log_taken - log_response[r, y, s])
                    taken[r, y, s] = binomial(state, int(raw[r, y, s]), min(chance, 1.0))
                shared[0] += taken[r, y, s]
                shared[1] += raw[r, y, s] - taken[r, y, s]
    right[:] = 0.0
    wrong[:] = 0.0
    error[:] = 0.0
    for s in range(n_states):
        z, q, f = s % n, (s // n) % n_ease, s // (n * n_ease)
        if f == z:
            right[q] += size[s]
        else:
            wrong[q] += size[s]
            error[z, f] += size[s]
