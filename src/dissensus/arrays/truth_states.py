"""The truth of items given all parameters: their labels' probabilities, and draws.

A *state* of an item is its true label, how hard it is, and, where systems are related, the answer
of the source that they share. Given the state all voices are independent, so that one table of
log-probabilities (voice, response, state) is all that the labels need to see.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.binomial_variates import scatter
from dissensus.arrays.log_sums import log_plus
from dissensus.arrays.stream import State, uniform
from dissensus.arrays.truth_parameters import (
    DIFFICULTY,
    SHARED,
    SOURCE,
    Form,
    Parameters,
)
from dissensus.arrays.truth_votes import Votes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@njit(cache=True)
def log_sigmoid(x: float) -> float:
    """Return log(1 / (1 + exp(-x))) without loss on either side."""
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))


def n_states(form: Form, ease: Floats) -> int:
    """Return how many states an item can be in."""
    return form.n_labels * len(ease) * (form.n_labels if form.related else 1)


@njit(cache=True)
def fill_tables(
    form: Form, ease: Floats, par: Parameters, log_weight: Floats, log_response: Floats
) -> None:
    """Write what labels see: the states' probabilities, and those of responses in each.

    The state of truth z at ease q with the source's answer f has the number
    ``(f * len(ease) + q) * n_labels + z``.
    """
    n, n_ease = form.n_labels, len(ease)
    spread = par.number[DIFFICULTY]
    n_sources = n if form.related else 1
    for f in range(n_sources):
        for q in range(n_ease):
            for z in range(n):
                s = (f * n_ease + q) * n + z
                log_weight[s] = par.log_prevalence[z] - math.log(n_ease)
                if form.related:
                    eta = par.number[SOURCE] + spread * ease[q]
                    log_weight[s] += _log_answer(eta, par.log_base[z, f], f == z)
    for v in range(form.n_voices):
        for z in range(n):
            for q in range(n_ease):
                eta = par.skill[v, z] + spread * par.slope[v] * ease[q]
                right, wrong = log_sigmoid(eta), log_sigmoid(-eta)
                for y in range(n):
                    own = right if y == z else wrong + par.log_error[v, z, y]
                    for f in range(n_sources):
                        s = (f * n_ease + q) * n + z
                        log_response[v, y, s] = own
                        if form.related and v >= form.first_system:
                            log_response[v, y, s] = _shared(own, par.number[SHARED], f == y)


@njit(cache=True)
def _log_answer(eta: float, log_error: float, right: bool) -> float:
    return log_sigmoid(eta) if right else log_sigmoid(-eta) + log_error


@njit(cache=True)
def _shared(own: float, logit: float, same: bool) -> float:
    """Mix a system's own answer with the source's: the chance of the latter is given as a logit."""
    alone = log_sigmoid(-logit) + own
    if not same:
        return alone
    return log_plus(alone, log_sigmoid(logit))


@njit(cache=True)
def weigh(
    votes: Votes, evidence: int, log_weight: Floats, log_response: Floats, p: int, weight: Floats
) -> float:
    """Write the weights of the states of a pattern, the largest being 1; return its logarithm."""
    weight[:] = log_weight
    for entry in range(votes.start[p], votes.start[p + 1]):
        if votes.voice[entry] >= evidence:
            continue
        row = log_response[votes.voice[entry], votes.label[entry]]
        times = votes.times[entry]
        for s in range(len(weight)):
            weight[s] += times * row[s]
    high = weight.max()
    for s in range(len(weight)):
        weight[s] = math.exp(weight[s] - high)
    return high


@njit(cache=True)
def draw_states(
    state: State, votes: Votes, form: Form, evidence: int, ease: Floats, log_weight: Floats,
    log_response: Floats, count: Floats, size: Floats, truth: Floats, mean_ease: Floats,
) -> float:  # fmt: skip
    """Draw the state of every item, and count what was said in which.

    Parameters
    ----------
    state : stream
    votes : Votes
    form : Form
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
        Written: the probability of each label being true.
    mean_ease : array (pattern)
        Written, unless it is empty: the mean ease of an item.

    Returns
    -------
    float
        The log-likelihood, states summed out.
    """
    count[:] = 0.0
    size[:] = 0.0
    n = form.n_labels
    weight = np.empty(len(log_weight))
    found = np.empty(len(log_weight), dtype=np.int64)
    whole = 0.0
    for p in range(len(votes.n_items)):
        high = weigh(votes, evidence, log_weight, log_response, p, weight)
        total = weight.sum()
        whole += votes.n_items[p] * (high + math.log(total))
        truth[p] = 0.0
        for s in range(len(weight)):
            truth[p, s % n] += weight[s] / total
        if len(mean_ease):
            mean_ease[p] = 0.0
            for s in range(len(weight)):
                mean_ease[p] += weight[s] / total * ease[(s // n) % len(ease)]
        scatter(state, votes.n_items[p], weight, total, found)
        for s in range(len(weight)):
            if found[s] == 0:
                continue
            size[s] += found[s]
            for entry in range(votes.start[p], votes.start[p + 1]):
                count[votes.voice[entry], votes.label[entry], s] += found[s] * votes.times[entry]
    return whole


@njit(cache=True)
def pattern_log_likelihood(
    votes: Votes, form: Form, log_weight: Floats, log_response: Floats, out: Floats
) -> None:
    """Write the log-likelihood of an item of each pattern, states summed out."""
    weight = np.empty(len(log_weight))
    for p in range(len(votes.n_items)):
        high = weigh(votes, form.n_voices, log_weight, log_response, p, weight)
        out[p] = high + math.log(weight.sum())


@njit(cache=True)
def replicate(
    state: State, log_weight: Floats, log_response: Floats, item: Ints, voice: Ints,
    out: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Draw labels of new items that are labelled by the same voices (row); rows go by item."""
    weight, chance = np.exp(log_weight).cumsum(), np.exp(log_response)
    last, s = -1, 0
    for row in range(len(item)):
        if item[row] != last:
            last = item[row]
            s = _drawn(state, weight)
        rest = uniform(state)
        y = 0
        while y < chance.shape[1] - 1:
            rest -= chance[voice[row], y, s]
            if rest < 0.0:
                break
            y += 1
        out[row] = y


@njit(cache=True)
def _drawn(state: State, cumulative: Floats) -> int:
    return min(
        np.searchsorted(cumulative, uniform(state) * cumulative[-1], side="right"),
        len(cumulative) - 1,
    )
