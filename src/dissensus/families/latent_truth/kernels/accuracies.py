"""A source of answers that systems share: how often they give its answer, and how good it is.

How often voices are right: draws of accuracies given how often they were.
All are logits. Where items differ in how hard they are, an accuracy is that of a typical item and
has no closed form; otherwise it has one.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dissensus.families.latent_truth.kernels.data import (
    DIFFICULTY,
    MEAN,
    SHARED,
    SOURCE,
    SPREAD,
    Form,
    Parameters,
    Priors,
)
from dissensus.families.latent_truth.kernels.states import (
    Counts,
    add_source,
    fill_own,
    known_label,
    log_sigmoid,
    total_of,
    weigh,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Floats
from dissensus.kernels.variates import log_gamma_variate
from dissensus.kernels.votes import Votes

_TRIES: Final = 20


@inner
def log_hits(eta: float, spread: float, ease: Floats, right: Floats, wrong: Floats) -> float:
    """Return the log-likelihood of an accuracy: right and wrong answers at each ease."""
    out = 0.0
    for q in range(len(ease)):
        if right[q] > 0.0:
            out += right[q] * log_sigmoid(eta + spread * ease[q])
        if wrong[q] > 0.0:
            out += wrong[q] * log_sigmoid(-eta - spread * ease[q])
    return out


@inner
def lowest(n_labels: int) -> float:
    """Return the logit of guessing."""
    return -math.log(max(n_labels - 1.0, 1.0))


@inner
def _log_beta(
    eta: float, a: float, b: float, low: float, spread: float, ease: Floats, right: Floats,
    wrong: Floats,
) -> float:  # fmt: skip
    """Return the log density of a logit, a Beta(a, b) accuracy a priori, above a bound."""
    if eta <= low:
        return -math.inf
    prior = a * log_sigmoid(eta) + b * log_sigmoid(-eta)
    return prior + log_hits(eta, spread, ease, right, wrong)


_slice_beta = slicer(_log_beta)


@inner
def draw_beta(
    state: State, eta: float, a: float, b: float, low: float, spread: float, ease: Floats,
    right: Floats, wrong: Floats,
) -> float:  # fmt: skip
    """Draw the logit of an accuracy that is Beta(a, b) a priori, above a bound."""
    if len(ease) == 1:
        for _ in range(_TRIES):  # how many fail does not hang on eta: the rest may go by slices
            new = log_gamma_variate(state, a + right[0]) - log_gamma_variate(state, b + wrong[0])
            if new > low:
                return new
    hits, misses = 0.0, 0.0
    for q in range(len(ease)):
        hits += right[q]
        misses += wrong[q]
    # The thinner of both tails falls off like an exponential, and that is how wide it is.
    width = max(1.0, 1.0 / min(a + hits, b + misses))
    return _slice_beta(state, eta, width, a, b, low, spread, ease, right, wrong)


@inner
def _log_normal(
    eta: float, mean: float, sd: float, spread: float, ease: Floats, right: Floats, wrong: Floats
) -> float:
    return -0.5 * ((eta - mean) / sd) ** 2 + log_hits(eta, spread, ease, right, wrong)


_slice_normal = slicer(_log_normal)


@inner
def _log_mean(mean: float, low: float, sd: float, eta: Floats) -> float:
    """Return the log density of the logit of a uniform accuracy, given logits around it."""
    if mean <= low:
        return -math.inf
    out = log_sigmoid(mean) + log_sigmoid(-mean)
    for v in range(len(eta)):
        out -= 0.5 * ((eta[v] - mean) / sd) ** 2
    return out


_slice_mean = slicer(_log_mean)


@inner
def _log_spread(log_sd: float, scale: float, mean: float, eta: Floats) -> float:
    sd = math.exp(log_sd)
    if sd < 1e-9:  # a spread of nothing: its inverse square is no number
        return -math.inf
    out = (1 - len(eta)) * log_sd - 0.5 * (sd / scale) ** 2
    for v in range(len(eta)):
        out -= 0.5 * ((eta[v] - mean) / sd) ** 2
    return out


_slice_spread = slicer(_log_spread)


@inner
def draw_spread(state: State, sd: float, scale: float, mean: float, eta: Floats) -> float:
    """Draw the standard deviation of logits around a mean, half-normal a priori."""
    return math.exp(_slice_spread(state, math.log(sd), 1.0, scale, mean, eta))


@inner
def answers_of(counts: Floats, v: int, out: Floats) -> None:
    """Write the answers of a voice at each ease, whatever the truth (voice, label, ease)."""
    for q in range(len(out)):
        out[q] = 0.0
        for z in range(counts.shape[1]):
            out[q] += counts[v, z, q]


def draw_skills(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw accuracies of annotators who have one each, or one for all."""
    n = form.first_system
    if form.own_accuracy:
        _draw_own(
            state, n, ease, par.skill, par.number, prior.spread, counts.right, counts.wrong
        )  # fmt: skip
    elif n > 0:
        _draw_common(state, n, ease, par.skill, par.number, counts.right, counts.wrong)


@kernel
def _draw_own(
    state: State, n: int, ease: Floats, skill: Floats, number: Floats, scale: float,
    right: Floats, wrong: Floats,
) -> None:  # fmt: skip
    """Draw the accuracy of each annotator, and the normal distribution that they come from."""
    n_labels = skill.shape[1]
    eta, hits, misses = np.empty(n), np.empty(len(ease)), np.empty(len(ease))
    for v in range(n):
        answers_of(right, v, hits)
        answers_of(wrong, v, misses)
        eta[v] = _slice_normal(
            state, skill[v, 0], 1.0, number[MEAN], number[SPREAD], number[DIFFICULTY], ease, hits,
            misses,
        )  # fmt: skip
        for z in range(n_labels):
            skill[v, z] = eta[v]
    low = lowest(n_labels)
    number[MEAN] = _slice_mean(state, number[MEAN], 0.5, low, number[SPREAD], eta)
    number[SPREAD] = draw_spread(state, number[SPREAD], scale, number[MEAN], eta)


@kernel
def _draw_common(
    state: State, n: int, ease: Floats, skill: Floats, number: Floats, right: Floats,
    wrong: Floats,
) -> None:  # fmt: skip
    """Draw the one accuracy of all annotators."""
    n_labels = skill.shape[1]
    hits, misses = np.zeros(len(ease)), np.zeros(len(ease))
    one_hits, one_misses = np.empty(len(ease)), np.empty(len(ease))
    for v in range(n):
        answers_of(right, v, one_hits)
        answers_of(wrong, v, one_misses)
        for q in range(len(ease)):
            hits[q] += one_hits[q]
            misses[q] += one_misses[q]
    eta = draw_beta(
        state, skill[0, 0], 1.0, 1.0, lowest(n_labels), number[DIFFICULTY], ease, hits, misses
    )
    for v in range(n):
        for z in range(n_labels):
            skill[v, z] = eta


@kernel
def draw_system_skills(
    state: State, first_system: int, ease: Floats, skill: Floats, slope: Floats, number: Floats,
    right: Floats, wrong: Floats,
) -> None:  # fmt: skip
    """Draw accuracies of systems that have one each."""
    hits, misses = np.empty(len(ease)), np.empty(len(ease))
    for v in range(first_system, len(skill)):
        answers_of(right, v, hits)
        answers_of(wrong, v, misses)
        eta = draw_beta(
            state, skill[v, 0], 1.0, 1.0, -math.inf, number[DIFFICULTY] * slope[v], ease, hits,
            misses,
        )  # fmt: skip
        for z in range(skill.shape[1]):
            skill[v, z] = eta


@inner
def _log_density(
    logit: float, place: int, votes: Votes, first_system: int, ease: Floats, par: Parameters,
    log_weight: Floats, log_response: Floats, weight: Floats,
) -> float:  # fmt: skip
    """Return the log density of one of the two, uniform a priori, states of items summed out."""
    par.number[place] = logit
    fill_own(
        par.log_prevalence, par.skill, par.slope, par.log_error, par.number[DIFFICULTY], ease,
        log_weight, log_response,
    )  # fmt: skip
    add_source(par.log_base, par.number, ease, first_system, log_weight, log_response)
    out = log_sigmoid(logit) + log_sigmoid(-logit)
    for p in range(len(votes.n_items)):
        high = weigh(
            votes, len(log_response), log_weight, log_response, p, known_label(votes, p),
            log_response.shape[1], weight,
        )  # fmt: skip
        out += votes.n_items[p] * (high + math.log(total_of(weight)))
    return out


_slice = slicer(_log_density)


@kernel
def draw_related(
    state: State, votes: Votes, first_system: int, ease: Floats, par: Parameters,
    log_weight: Floats, log_response: Floats,
) -> None:  # fmt: skip
    """Draw both with the states of items summed out.

    Given the states they hardly move where systems seldom give the source's answer: then it is
    not seen, and what was drawn for it last time holds it where it is.
    """
    weight = np.empty(len(log_weight))
    for place in range(SHARED, SOURCE + 1):
        par.number[place] = _slice(
            state, par.number[place], 2.0, place, votes, first_system, ease, par, log_weight,
            log_response, weight,
        )  # fmt: skip


@kernel
def draw_source(
    state: State, ease: Floats, number: Floats, right: Floats, wrong: Floats, shared: Floats
) -> None:
    """Draw both given the states of items and who took which answer from the source."""
    number[SOURCE] = draw_beta(
        state, number[SOURCE], 1.0, 1.0, -math.inf, number[DIFFICULTY], ease, right, wrong
    )
    taken, own = shared[0], shared[1]
    number[SHARED] = log_gamma_variate(state, 1.0 + taken) - log_gamma_variate(state, 1.0 + own)
