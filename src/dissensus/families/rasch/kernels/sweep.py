"""Sweeps over abilities, difficulties and unknown truths of items.

Abilities and their mean are updated given the truth, with guesses summed out. Given which labels
are guesses, abilities could hardly move: with 100,000 labels, the smallest effective sample size of
200 abilities was a sixth of that with guesses summed out (`benchmarks/abilities.py`).

Given which labels are guesses (without guessing: which labels are wrong), abilities and
difficulties are crossed effects on binary outcomes, and `crossed.kernels.logistic` updates them.
Given abilities and difficulties, the probability that a label is the truth is proportional to its
prevalence times the odds of all annotators who gave it (`draw_truth`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.families.crossed.kernels.data import Crossed, Parameters, Priors, Tuning
from dissensus.families.crossed.kernels.logistic import move_all
from dissensus.families.crossed.kernels.logistic_regression import (
    Offset,
    by_annotators,
    by_items,
    given_effects,
)
from dissensus.families.crossed.kernels.odds import (
    Odds,
    held,
    log_product,
    odds,
    refresh_annotators,
)
from dissensus.families.crossed.kernels.transport import QUARTER, Transport, effect_room
from dissensus.families.rasch.kernels.data import Labels, Truth
from dissensus.families.rasch.kernels.unknown import (
    Room,
    all_wrong,
    highest,
    log_marginals,
    look,
    move_difficulties,
    weigh,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.dirichlet import draw_log_row
from dissensus.kernels.random import State, uniform
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import UNKNOWN, Codes, Floats, Indices

_WIDTH = 2.5
"""Width of a slice, in approximate standard deviations of the posterior."""


class Answers(NamedTuple):
    """Ease (odds) of the items that each annotator labelled, and of those labelled correctly."""

    ease: Floats  # (annotation), in the order of annotators
    right: Floats  # (annotation): of right labels, at the front of each annotator's part
    n_right: Codes  # (annotator)


def answers_room(data: Crossed) -> Answers:
    """Allocate the arrays."""
    n = len(data.annotator_cell)
    return Answers(np.empty(n), np.empty(n), np.empty(len(data.annotator_pool), dtype=np.int64))


@kernel
def _gather(
    value: Floats, annotator: Indices, cell: Indices, start: Codes, odds: Floats, ease: Floats,
    right: Floats, n_right: Codes,
) -> None:  # fmt: skip
    """Write the ease of items, by annotator: of all labels, and of right ones (value above 0)."""
    n_right[:] = 0
    seen = np.zeros(len(n_right), dtype=np.int64)
    for k in range(len(value)):
        j = annotator[k]
        easy = odds[cell[k]]
        ease[start[j] + seen[j]] = easy
        seen[j] += 1
        if value[k] > 0.0:
            right[start[j] + n_right[j]] = easy
            n_right[j] += 1


@inner
def _log_labels(
    ability: float, guessed: float, ease: Floats, right: Floats, n: int, n_right: int
) -> float:
    """Return the log-likelihood of an annotator's labels, up to a constant."""
    odds = math.exp(held(ability))
    return log_product(guessed * odds, right, n_right) - log_product(odds, ease, n)


@inner
def _log_effect(
    x: float, mean: float, sd: float, guessed: float, ease: Floats, right: Floats, n: int,
    n_right: int,
) -> float:  # fmt: skip
    return -0.5 * (x / sd) ** 2 + _log_labels(mean + x, guessed, ease, right, n, n_right)


_slice_effect = slicer(_log_effect)


@kernel
def _move_effects(
    state: State, start: Codes, mean: float, sd: float, guessed: float, ease: Floats,
    right: Floats, n_right: Codes, effect: Floats,
) -> None:  # fmt: skip
    for j in range(len(effect)):
        first, n = start[j], start[j + 1] - start[j]
        width = _WIDTH / math.sqrt(1.0 / (sd * sd) + QUARTER * n)
        effect[j] = _slice_effect(
            state, effect[j], width, mean, sd, guessed, ease[first:], right[first:], n, n_right[j]
        )


@inner
def _log_mean(
    mean: float, centre: float, sd: float, guessed: float, effect: Floats, start: Codes,
    ease: Floats, right: Floats, n_right: Codes,
) -> float:  # fmt: skip
    total = -0.5 * ((mean - centre) / sd) ** 2
    for j in range(len(effect)):
        first = start[j]
        total += _log_labels(
            mean + effect[j], guessed, ease[first:], right[first:], start[j + 1] - first,
            n_right[j],
        )  # fmt: skip
    return total


_slice_mean = slicer(_log_mean)


@kernel
def _move_mean(
    state: State, start: Codes, prior: Floats, guessed: float, ease: Floats, right: Floats,
    n_right: Codes, effect: Floats, mu: Floats,
) -> None:  # fmt: skip
    centre, spread = prior[0, 0], prior[0, 1]
    width = _WIDTH / math.sqrt(1.0 / (spread * spread) + QUARTER * len(ease))
    mu[0] = _slice_mean(
        state, mu[0], width, centre, spread, guessed, effect, start, ease, right, n_right
    )


def move_abilities(
    state: State, data: Crossed, labels: Labels, par: Parameters, priors: Priors, known: Odds,
    answers: Answers, offset: Offset | None = None,
) -> None:  # fmt: skip
    """Move every annotator's effect, and then the mean ability together with coefficients."""
    start, guessed, effect = data.annotator_start, labels.guessed, par.annotator
    seen, ease = by_annotators(data, known, offset)
    _gather(data.value, data.annotator, seen.cell, start, ease.cell, *answers)
    _move_effects(state, start, par.mu[0], par.sd_annotator[0], guessed, *answers, effect)
    if offset is None:
        _move_mean(state, start, priors.mu, guessed, *answers, effect, par.mu)
    else:
        given_effects(state, data, par, priors, offset, guessed)
        offset.refresh(par)
    refresh_annotators(data, par, known)


class Trace(NamedTuple):
    """Draws, with the draw as first axis; arrays that are not stored have size 0."""

    mu: Floats
    sd_item: Floats
    sd_annotator: Floats
    annotator: Floats
    coefficient: Floats
    item: Floats
    log_prevalence: Floats
    log_level: Floats
    truth: Floats  # (draw, cell, label)
    truth_mean: Floats  # (cell, label)
    each: Floats  # (draw, cell): log-likelihood of the labels, difficulty summed out
    log_likelihood: Floats  # (draw)


def trace_room(labels: Labels, data: Crossed, draws: int, *, items: bool, each: bool) -> Trace:
    """Allocate a trace for ``draws`` draws."""
    n, n_cells = len(labels.prevalence), len(data.cell_pool)
    n_levels = int(labels.level.max()) + 1 if len(labels.level) else 0
    return Trace(
        mu=np.empty(draws), sd_item=np.empty(draws), sd_annotator=np.empty(draws),
        annotator=np.empty((draws, len(data.annotator_pool))),
        coefficient=np.empty((draws, data.n_terms)),
        item=np.empty((draws, n_cells if items else 0)),
        log_prevalence=np.empty((draws, n)),
        log_level=np.empty((draws, 2, n_levels)),
        truth=np.empty((draws, n_cells if items else 0, n)),
        truth_mean=np.zeros((n_cells, n)),
        each=np.empty((draws, n_cells if each else 0)),
        log_likelihood=np.empty(draws),
    )  # fmt: skip


def advance(
    state: State, data: Crossed, labels: Labels, par: Parameters, priors: Priors, tuning: Tuning,
    paths: Transport, now: Truth, summing: Room, n: int, trace: Trace, first: int, centre: Floats,
) -> None:  # fmt: skip
    """Run n sweeps; store their draws from place ``first`` on, or none if ``first`` is below 0.

    The values of ``data`` are overwritten with marks: 1 for labels by annotators who knew the
    truth (without guessing: for right labels), else 0. ``centre`` is the running mean of the mean
    ability and the coefficients.
    """
    offset = _offset_of(data, par, centre)
    known, room, answers = odds(data, par), effect_room(data), answers_room(data)
    counts = np.empty(len(labels.prevalence))
    unknown = labels.guessed > 0.0 or bool((labels.truth == UNKNOWN).any())
    for sweep in range(n):
        if unknown or sweep == 0 or first >= 0:
            seen, ability = by_items(data, known, offset)
            look(seen, labels, ability, now, summing)
        if unknown:
            move_difficulties(state, data, labels, par, priors, known, now, summing, tuning.rate)
        if unknown or sweep == 0 or first >= 0:  # otherwise, the marks do not change
            log_likelihood = draw_truth(state, data, labels, par, now, summing, counts)
        if first >= 0:
            _keep(data, labels, par, now, summing, trace, first + sweep, log_likelihood)
        if labels.guessed:
            move_abilities(state, data, labels, par, priors, known, answers, offset)
            seen, ease = by_annotators(data, known, offset)
            _draw_known(
                state, data.value, seen.cell, data.annotator, labels.guessed, ease.cell,
                known.annotator,
            )  # fmt: skip
        if unknown or sweep == 0:
            _count(data.value, data.cell, data.annotator, known.cell_sum, known.annotator_sum)
        _draw_shares(state, labels.prevalence + counts, now.log_prevalence)
        if len(labels.level):  # shares of levels among wrong labels and right ones
            for right in range(2):
                _draw_shares(
                    state, labels.level_prior + summing.levels[right], now.log_level[right]
                )
        move_all(state, data, par, priors, tuning, known, room, paths, offset)


def _offset_of(data: Crossed, par: Parameters, centre: Floats) -> Offset | None:
    """Return the covariates' part of each label's logit, None without covariates."""
    return None if data.regression is None else Offset(data, data.regression, par, centre)


def draw_truth(
    state: State, data: Crossed, labels: Labels, par: Parameters, now: Truth, summing: Room,
    counts: Floats,
) -> float:  # fmt: skip
    """Draw the truth of all items, count the true labels, and mark which labels are right.

    Returns the log-likelihood of all labels. The likelihood of a truth is the probability that all
    labels are wrong, times the odds of the labels that are right under this truth.
    """
    total: float = _draw_truth(
        state, data.cell_start, par.item, labels.truth, labels.label, labels.level, labels.guessed,
        summing.odds, summing.gain, now.log_prevalence, now.log_level, summing.weight, counts,
        summing.levels, data.value, now.probability, now.log_likelihood,
    )  # fmt: skip
    return total


@kernel
def _draw_truth(
    state: State, cell_start: Codes, item: Floats, truth: Codes, label: Codes, level: Codes,
    guessed: float, odds: Floats, gain: Floats, log_prevalence: Floats, log_level: Floats,
    weight: Floats, counts: Floats, levels: Floats, value: Floats, probability: Floats,
    log_likelihood: Floats,
) -> float:  # fmt: skip
    total = 0.0
    counts[:] = 0.0
    levels[:] = 0.0
    for c in range(len(item)):
        start, stop = cell_start[c], cell_start[c + 1]
        wrong = weigh(item[c], start, stop, label, odds, gain, guessed, log_prevalence, weight)
        wrong += all_wrong(start, stop, guessed, len(counts), level, log_level)
        if truth[c] == UNKNOWN:
            high, chances = _chances(weight, probability[c])
            log_likelihood[c] = wrong + high + math.log(chances)
            z = _drawn(state, probability[c])
        else:
            z = truth[c]
            log_likelihood[c] = wrong + weight[z]
            for other in range(len(counts)):
                probability[c, other] = 1.0 if other == z else 0.0
        total += log_likelihood[c]
        counts[z] += 1.0
        for k in range(start, stop):
            right = label[k] == z
            value[k] = 1.0 if right else 0.0
            if len(level):
                levels[int(right), level[k]] += 1.0
    return total


@inner
def _chances(weight: Floats, out: Floats) -> tuple[float, float]:
    """Write probabilities, given logarithms of weights; return the sum of the weights.

    The sum is returned as the logarithm of the largest weight, and the sum divided by this weight.
    """
    high, total = highest(weight), 0.0
    for z in range(len(weight)):
        out[z] = math.exp(weight[z] - high)
        total += out[z]
    for z in range(len(weight)):
        out[z] /= total
    return high, total


@inner
def _drawn(state: State, probability: Floats) -> int:
    rest = uniform(state)
    for z in range(len(probability) - 1):
        rest -= probability[z]
        if rest < 0.0:
            return z
    return len(probability) - 1


@kernel
def _draw_known(
    state: State, value: Floats, cell: Indices, annotator: Indices, guessed: float, ease: Floats,
    ability: Floats,
) -> None:  # fmt: skip
    """Draw which of the labels marked as right were guessed, and remove their marks."""
    for k in range(len(value)):
        if value[k] > 0.0:
            odds = ease[cell[k]] * ability[annotator[k]]
            if uniform(state) * (1.0 + guessed * odds) <= 1.0:
                value[k] = 0.0


@kernel
def _count(
    value: Floats, cell: Indices, annotator: Indices, of_cell: Floats, of_annotator: Floats
) -> None:
    """Count the marked labels of items and of annotators."""
    of_cell[:] = 0.0
    of_annotator[:] = 0.0
    for k in range(len(value)):
        of_cell[cell[k]] += value[k]
        of_annotator[annotator[k]] += value[k]


@kernel
def _draw_shares(state: State, shape: Floats, out: Floats) -> None:
    """Draw the logarithms of shares that follow a Dirichlet distribution."""
    draw_log_row(state, shape, -1, out)


def _keep(
    data: Crossed, labels: Labels, par: Parameters, now: Truth, summing: Room, trace: Trace,
    place: int, log_likelihood: float,
) -> None:  # fmt: skip
    """Write one draw into the trace."""
    trace.mu[place] = par.mu[0]
    trace.sd_item[place] = par.sd_item[0]
    trace.sd_annotator[place] = par.sd_annotator[0]
    trace.annotator[place] = par.annotator
    trace.coefficient[place] = par.coefficient
    trace.log_prevalence[place] = now.log_prevalence
    np.add(trace.truth_mean, now.probability / len(trace.mu), out=trace.truth_mean)
    trace.log_likelihood[place] = log_likelihood
    if trace.item.shape[1]:
        trace.item[place] = par.item
        trace.truth[place] = now.probability
    if trace.log_level.shape[2]:
        trace.log_level[place] = now.log_level
    if trace.each.shape[1]:
        log_marginals(par.sd_item[0], data, labels, now, summing, trace.each[place])


def replay(
    state: State, data: Crossed, labels: Labels, parameters: Trace, par: Parameters, now: Truth,
    summing: Room, trace: Trace,
) -> None:  # fmt: skip
    """Draw and store truths, given draws of the parameters by another sampler (draw, ...)."""
    counts = np.empty(len(labels.prevalence))
    offset = _offset_of(data, par, par.coefficient)
    for place in range(len(parameters.mu)):
        par.mu[0] = parameters.mu[place]
        par.sd_item[0] = parameters.sd_item[place]
        par.sd_annotator[0] = parameters.sd_annotator[place]
        par.annotator[:] = parameters.annotator[place]
        par.item[:] = parameters.item[place]
        now.log_prevalence[:] = parameters.log_prevalence[place]
        if len(labels.level):
            now.log_level[:] = parameters.log_level[place]
        par.coefficient[:] = parameters.coefficient[place]
        if offset is not None:
            offset.refresh(par)
        seen, known = by_items(data, odds(data, par), offset)
        look(seen, labels, known, now, summing)
        log_likelihood = draw_truth(state, data, labels, par, now, summing, counts)
        _keep(data, labels, par, now, summing, trace, place, log_likelihood)
