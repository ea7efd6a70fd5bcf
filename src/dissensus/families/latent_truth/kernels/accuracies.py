"""Draws of accuracies, of the spread of difficulty, and of a source of answers that systems share.

Accuracies are logits. If items differ in difficulty, accuracies are for a typical item and are
drawn by slice sampling. Otherwise most of them are drawn from Beta distributions.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dissensus.families.latent_truth.kernels.data import (
    DIFFICULTY,
    MEAN,
    SHARED,
    SOURCE,
    SPREAD,
    Parameters,
)
from dissensus.families.latent_truth.kernels.states import (
    above_guessing,
    add_source,
    eased,
    fill_own,
    known_label,
    log_sigmoid,
    lowest,
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
"""Number of attempts to draw a Beta variate above a bound; then slice sampling is used."""
_NO_SPREAD: Final = 1e-9
"""Standard deviations below this are excluded, because dividing by their square may overflow."""


@inner
def log_hits(
    eta: float, spread: float, ease: Floats, guess: float, right: Floats, wrong: Floats
) -> float:
    """Return the log-likelihood of an accuracy; ``right`` and ``wrong`` (ease) count answers."""
    out, above = 0.0, above_guessing(eta, guess)
    for q in range(len(ease)):
        logit = eased(eta, above, spread * ease[q], guess)
        if right[q] > 0.0:
            out += right[q] * log_sigmoid(logit)
        if wrong[q] > 0.0:
            out += wrong[q] * log_sigmoid(-logit)
    return out


@inner
def _log_beta(
    eta: float, a: float, b: float, low: float, spread: float, ease: Floats, guess: float,
    right: Floats, wrong: Floats,
) -> float:  # fmt: skip
    """Return the log density of an accuracy's logit; its prior is Beta(a, b) above ``low``."""
    if eta <= low:
        return -math.inf
    prior = a * log_sigmoid(eta) + b * log_sigmoid(-eta)
    return prior + log_hits(eta, spread, ease, guess, right, wrong)


_slice_beta = slicer(_log_beta)


@inner
def draw_beta(
    state: State, eta: float, a: float, b: float, low: float, spread: float, ease: Floats,
    guess: float, right: Floats, wrong: Floats,
) -> float:  # fmt: skip
    """Draw the logit of an accuracy, whose prior is Beta(a, b), cut off at the logit ``low``."""
    if len(ease) == 1:
        # Whether all attempts fail does not depend on eta: slice sampling is exact in this case.
        for _ in range(_TRIES):
            new = log_gamma_variate(state, a + right[0]) - log_gamma_variate(state, b + wrong[0])
            if new > low:
                return new
    hits, misses = 0.0, 0.0
    for q in range(len(ease)):
        hits += right[q]
        misses += wrong[q]
    # The heavier tail of the logit's density falls like an exponential with this scale.
    width = max(1.0, 1.0 / min(a + hits, b + misses))
    return _slice_beta(state, eta, width, a, b, low, spread, ease, guess, right, wrong)


@inner
def _log_normal(
    eta: float, mean: float, sd: float, spread: float, ease: Floats, guess: float, right: Floats,
    wrong: Floats,
) -> float:  # fmt: skip
    return -0.5 * ((eta - mean) / sd) ** 2 + log_hits(eta, spread, ease, guess, right, wrong)


_slice_normal = slicer(_log_normal)


@inner
def _log_mean(mean: float, low: float, sd: float, eta: Floats) -> float:
    """Return the log density of the logit of the mean accuracy, given the annotators' logits.

    The prior of the mean accuracy is uniform above the bound ``low``.
    """
    if mean <= low:
        return -math.inf
    out = log_sigmoid(mean) + log_sigmoid(-mean)
    for r in range(len(eta)):
        out -= 0.5 * ((eta[r] - mean) / sd) ** 2
    return out


_slice_mean = slicer(_log_mean)


@inner
def _log_spread(log_sd: float, scale: float, mean: float, eta: Floats) -> float:
    sd = math.exp(log_sd)
    if sd < _NO_SPREAD:
        return -math.inf
    out = (1 - len(eta)) * log_sd - 0.5 * (sd / scale) ** 2
    for r in range(len(eta)):
        out -= 0.5 * ((eta[r] - mean) / sd) ** 2
    return out


_slice_spread = slicer(_log_spread)


@inner
def draw_spread(state: State, sd: float, scale: float, mean: float, eta: Floats) -> float:
    """Draw the standard deviation of logits ``eta`` around a mean; its prior is half-normal."""
    return math.exp(_slice_spread(state, math.log(sd), 1.0, scale, mean, eta))


@inner
def _pool(counts: Floats, first: int, last: int, out: Floats) -> None:
    """Sum counts over respondents ``first`` to ``last - 1`` and over labels; write sums (ease)."""
    for q in range(len(out)):
        out[q] = 0.0
        for r in range(first, last):
            for z in range(counts.shape[1]):
                out[q] += counts[r, z, q]


@kernel
def draw_own_skills(
    state: State, n: int, scale: float, ease: Floats, skill: Floats, number: Floats,
    right: Floats, wrong: Floats,
) -> None:  # fmt: skip
    """Draw the accuracy of each annotator, and the mean and spread of the annotators' logits."""
    n_labels = skill.shape[1]
    eta, hits, misses = np.empty(n), np.empty(len(ease)), np.empty(len(ease))
    low = lowest(n_labels)
    for r in range(n):
        _pool(right, r, r + 1, hits)
        _pool(wrong, r, r + 1, misses)
        eta[r] = _slice_normal(
            state, skill[r, 0], 1.0, number[MEAN], number[SPREAD], number[DIFFICULTY], ease, low,
            hits, misses,
        )  # fmt: skip
        for z in range(n_labels):
            skill[r, z] = eta[r]
    number[MEAN] = _slice_mean(state, number[MEAN], 0.5, low, number[SPREAD], eta)
    number[SPREAD] = draw_spread(state, number[SPREAD], scale, number[MEAN], eta)


@kernel
def draw_common_skill(
    state: State, n: int, ease: Floats, skill: Floats, number: Floats, right: Floats,
    wrong: Floats,
) -> None:  # fmt: skip
    """Draw the accuracy that all annotators share."""
    hits, misses = np.empty(len(ease)), np.empty(len(ease))
    _pool(right, 0, n, hits)
    _pool(wrong, 0, n, misses)
    low = lowest(skill.shape[1])
    eta = draw_beta(state, skill[0, 0], 1.0, 1.0, low, number[DIFFICULTY], ease, low, hits, misses)
    for r in range(n):
        for z in range(skill.shape[1]):
            skill[r, z] = eta


@kernel
def draw_system_skills(
    state: State, first_system: int, ease: Floats, skill: Floats, slope: Floats, number: Floats,
    right: Floats, wrong: Floats,
) -> None:  # fmt: skip
    """Draw the accuracy of each system, the same for all labels."""
    hits, misses = np.empty(len(ease)), np.empty(len(ease))
    for r in range(first_system, len(skill)):
        _pool(right, r, r + 1, hits)
        _pool(wrong, r, r + 1, misses)
        eta = draw_beta(
            state, skill[r, 0], 1.0, 1.0, -math.inf, number[DIFFICULTY] * slope[r], ease,
            lowest(skill.shape[1]), hits, misses,
        )  # fmt: skip
        for z in range(skill.shape[1]):
            skill[r, z] = eta


# A source that systems share: the probability of giving its answer, and its accuracy.


@inner
def _log_source(
    logit: float, place: int, votes: Votes, first_system: int, ease: Floats, par: Parameters,
    log_weight: Floats, log_response: Floats, weight: Floats,
) -> float:  # fmt: skip
    """Return the log density of a parameter of the source, with the states of items summed out.

    The parameter is the logit of a probability with a uniform prior.
    """
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


_slice_source = slicer(_log_source)


@kernel
def draw_related(
    state: State, votes: Votes, first_system: int, ease: Floats, par: Parameters,
    log_weight: Floats, log_response: Floats,
) -> None:  # fmt: skip
    """Draw the source's accuracy and how often systems give its answer, with states summed out.

    Given the states of items, these two parameters hardly move if systems seldom give the source's
    answer: the drawn answers of the source then determine them.
    """
    weight = np.empty(len(log_weight))
    for place in range(SHARED, SOURCE + 1):
        par.number[place] = _slice_source(
            state, par.number[place], 2.0, place, votes, first_system, ease, par, log_weight,
            log_response, weight,
        )  # fmt: skip


@kernel
def draw_source(
    state: State, n_labels: int, ease: Floats, number: Floats, right: Floats, wrong: Floats,
    shared: Floats,
) -> None:  # fmt: skip
    """Draw the same two parameters as `draw_related`, given states and which answers are shared."""
    number[SOURCE] = draw_beta(
        state, number[SOURCE], 1.0, 1.0, -math.inf, number[DIFFICULTY], ease, lowest(n_labels),
        right, wrong,
    )  # fmt: skip
    taken, own = shared[0], shared[1]
    number[SHARED] = log_gamma_variate(state, 1.0 + taken) - log_gamma_variate(state, 1.0 + own)


# The spread of difficulties, and its effect on each system.


class Hits(NamedTuple):
    """Numbers of right and wrong answers; each row belongs to one accuracy."""

    guess: float  # The logit of guessing
    skill: Floats  # (row)
    slope: Floats  # (row)
    right: Floats  # (row, ease)
    wrong: Floats  # (row, ease)


@inner
def _hits(
    first: int, last: int, rows: bool, skill: Floats, slope: Floats, right: Floats, wrong: Floats
) -> Hits:
    """Return `Hits` of respondents ``first`` to ``last - 1``, and an empty row for the source."""
    n_labels, n_ease = right.shape[1:]
    n_rows = n_labels if rows else 1
    n = (last - first) * n_rows + 1
    hits = Hits(
        lowest(n_labels), np.zeros(n), np.ones(n), np.zeros((n, n_ease)), np.zeros((n, n_ease))
    )
    for r in range(first, last):
        for z in range(n_labels):
            row = (r - first) * n_rows + (z if rows else 0)
            hits.skill[row] = skill[r, z]
            hits.slope[row] = slope[r]
            for q in range(n_ease):
                hits.right[row, q] += right[r, z, q]
                hits.wrong[row, q] += wrong[r, z, q]
    return hits


@inner
def _log_all_hits(spread: float, ease: Floats, hits: Hits) -> float:
    out = 0.0
    for a in range(len(hits.skill)):
        out += log_hits(
            hits.skill[a], spread * hits.slope[a], ease, hits.guess, hits.right[a], hits.wrong[a]
        )
    return out


@inner
def _log_difficulty(log_spread: float, scale: float, ease: Floats, hits: Hits) -> float:
    spread = math.exp(log_spread)
    return log_spread - 0.5 * (spread / scale) ** 2 + _log_all_hits(spread, ease, hits)


_slice_difficulty = slicer(_log_difficulty)


@inner
def _log_slope(log_slope: float, sd: float, spread: float, ease: Floats, hits: Hits) -> float:
    for a in range(len(hits.slope)):
        hits.slope[a] = math.exp(log_slope)
    return -0.5 * (log_slope / sd) ** 2 + _log_all_hits(spread, ease, hits)


_slice_slope = slicer(_log_slope)


@kernel
def draw_difficulty(
    state: State, last: int, rows: bool, scale: float, ease: Floats, skill: Floats, slope: Floats,
    number: Floats, right: Floats, wrong: Floats, source_right: Floats, source_wrong: Floats,
) -> None:  # fmt: skip
    """Draw the spread of difficulty, given the answers of respondents below number ``last``.

    If these are all respondents, the source's answers are used too.
    """
    hits = _hits(0, last, rows, skill, slope, right, wrong)
    if last == len(skill):
        hits.skill[-1] = number[SOURCE]
        for q in range(len(ease)):
            hits.right[-1, q], hits.wrong[-1, q] = source_right[q], source_wrong[q]
    log_spread = math.log(number[DIFFICULTY])
    number[DIFFICULTY] = math.exp(_slice_difficulty(state, log_spread, 0.5, scale, ease, hits))


@kernel
def draw_slopes(
    state: State, first_system: int, rows: bool, sd: float, ease: Floats, skill: Floats,
    slope: Floats, number: Floats, right: Floats, wrong: Floats,
) -> None:  # fmt: skip
    """Draw the effect of difficulty on each system."""
    for r in range(first_system, len(skill)):
        hits = _hits(r, r + 1, rows, skill, slope, right, wrong)
        log_slope = math.log(slope[r])
        slope[r] = math.exp(_slice_slope(state, log_slope, 0.5, sd, number[DIFFICULTY], ease, hits))


# Stored parts of a draw: accuracies, confusion matrices, shares of correct answers.


@inner
def _mean_right(eta: float, spread: float, ease: Floats, guess: float) -> float:
    """Return the accuracy averaged over ease, given its logit ``eta`` for a typical item."""
    out, above = 0.0, above_guessing(eta, guess)
    for q in range(len(ease)):
        out += math.exp(log_sigmoid(eased(eta, above, spread * ease[q], guess)))
    return out / len(ease)


@kernel
def write_accuracy(
    log_prevalence: Floats, skill: Floats, slope: Floats, number: Floats, ease: Floats,
    first_related: int, out: Floats,
) -> None:  # fmt: skip
    """Write each respondent's accuracy, averaged over true labels and difficulty.

    Respondents from ``first_related`` on also give answers of the shared source.
    """
    guess = lowest(len(log_prevalence))
    for r in range(len(out)):
        own = 0.0
        for z in range(len(log_prevalence)):
            right = _mean_right(skill[r, z], number[DIFFICULTY] * slope[r], ease, guess)
            own += math.exp(log_prevalence[z]) * right
        if r >= first_related:
            taken = math.exp(log_sigmoid(number[SHARED]))
            source = _mean_right(number[SOURCE], number[DIFFICULTY], ease, guess)
            own = (1.0 - taken) * own + taken * source
        out[r] = own


@kernel
def write_confusion(
    skill: Floats, slope: Floats, number: Floats, ease: Floats, log_error: Floats, out: Floats
) -> None:
    """Write confusion matrices (respondent, label, response), averaged over difficulty."""
    n_respondents, n_labels = skill.shape
    guess = lowest(n_labels)
    for r in range(n_respondents):
        for z in range(n_labels):
            right = _mean_right(skill[r, z], number[DIFFICULTY] * slope[r], ease, guess)
            for y in range(n_labels):
                wrong = (1.0 - right) * math.exp(log_error[r, z, y])
                out[r, z, y] = right if y == z else wrong


@kernel
def write_correct(raw: Floats, first_system: int, out: Floats) -> None:
    """Write each system's share of right answers; NaN for a system without answers."""
    n_respondents, n_labels, n_states = raw.shape
    for r in range(first_system, n_respondents):
        right, total = 0.0, 0.0
        for s in range(n_states):
            right += raw[r, s % n_labels, s]
            for y in range(n_labels):
                total += raw[r, y, s]
        out[r - first_system] = right / total if total > 0.0 else np.nan
