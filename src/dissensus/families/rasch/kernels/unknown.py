"""Moves of difficulties with truths summed out, and log-likelihoods with difficulties summed out.

Difficulties and their spread are updated with the truth of items and guesses summed out. An item on
which annotators disagree may be easy with one truth, or difficult with another. Given the truth,
its difficulty could hardly move; given the difficulty, the truth could hardly change. If the truth
is known and annotators do not guess, nothing is summed out.

A difficulty that was fitted to the labels of its item predicts these labels too well. So it is
summed out for leave-one-out cross-validation. The integral is a sum over a regular grid with steps
h. If the integrand is a peak with standard deviation s, the relative error of the sum is about
exp(-2 pi^2 s^2 / h^2), which is 3e-9 for h = s. A lower bound of s is used for h: each label adds
at most 1/4 to the precision 1 / s^2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.families.crossed.kernels.data import Crossed, Parameters, Priors, log_scale_prior
from dissensus.families.crossed.kernels.odds import LARGE, Odds, held
from dissensus.families.rasch.kernels.data import Labels, Truth
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import UNKNOWN, Codes, Floats, Indices


class Room(NamedTuple):
    """Work space of moves, allocated once a chain."""

    weight: Floats  # (label)
    rest: Floats  # (cell): effects of items in units of their spread
    odds: Floats  # (annotation): of the annotator, for an item of effect 0
    gain: Floats  # (annotation): part of a right label's log odds that does not depend on the item
    levels: Floats  # (right, level): numbers of wrong labels (0) and right ones (1)
    width: Floats  # (2): widths of the slices of the log spread and of an item's effect


def room(labels: Labels, n_cells: int) -> Room:
    """Allocate the work space."""
    n = len(labels.label)
    n_levels = int(labels.level.max()) + 1 if len(labels.level) else 0
    return Room(
        np.empty(len(labels.prevalence)), np.empty(n_cells), np.empty(n), np.empty(n),
        np.empty((2, n_levels)), np.array([0.1, 2.0]),
    )  # fmt: skip


def look(data: Crossed, labels: Labels, known: Odds, now: Truth, room: Room) -> None:
    """Write the odds and the gain of each label, which do not depend on the item."""
    _look(
        data.annotator, labels.level, labels.guessed, known.annotator, math.log(_ways(labels)),
        now.log_level, room.odds, room.gain,
    )  # fmt: skip


def _ways(labels: Labels) -> int:
    """Return the number of labels that are wrong for a given truth; at least 1."""
    return max(len(labels.prevalence) - 1, 1)


@kernel
def _look(
    who: Indices, level: Codes, guessed: float, annotator: Floats, log_ways: float,
    log_level: Floats, odds: Floats, gain: Floats,
) -> None:  # fmt: skip
    logit = np.empty(len(annotator))
    for j in range(len(annotator)):
        logit[j] = math.log(annotator[j]) + log_ways
    for k in range(len(odds)):
        odds[k] = annotator[who[k]]
        gain[k] = 0.0 if guessed else logit[who[k]]
        if len(level):
            gain[k] += log_level[1, level[k]] - log_level[0, level[k]]


@inner
def weigh(
    effect: float, start: int, stop: int, label: Codes, odds: Floats, gain: Floats,
    guessed: float, log_prevalence: Floats, weight: Floats,
) -> float:  # fmt: skip
    """Write the log weight of each truth; return the log weight of all labels being wrong.

    With guessing among K labels, a right label is 1 + K * (odds of knowing) times as probable as
    one particular wrong label.
    """
    effect = held(effect)
    easy = math.exp(effect)
    for z in range(len(weight)):
        weight[z] = log_prevalence[z]
    product, wrong = 1.0, 0.0
    for k in range(start, stop):
        product *= 1.0 + easy * odds[k]
        if product > LARGE:
            wrong -= math.log(product)
            product = 1.0
        right = math.log(1.0 + guessed * easy * odds[k]) if guessed else effect
        weight[label[k]] += gain[k] + right
    return wrong - math.log(product)


@inner
def all_wrong(
    start: int, stop: int, guessed: float, n: int, level: Codes, log_level: Floats
) -> float:
    """Return the part of the log weight of wrong labels that truth and difficulty do not change."""
    ways = guessed if guessed else max(n - 1, 1)
    total = -(stop - start) * math.log(ways)
    if len(level):
        for k in range(start, stop):
            total += log_level[0, level[k]]
    return total


@inner
def log_labels(
    effect: float, start: int, stop: int, truth: int, label: Codes, odds: Floats, gain: Floats,
    guessed: float, log_prevalence: Floats, weight: Floats,
) -> float:  # fmt: skip
    """Return the log-likelihood of an item's labels for an effect, up to a constant."""
    wrong = weigh(effect, start, stop, label, odds, gain, guessed, log_prevalence, weight)
    if truth != UNKNOWN:
        return wrong + weight[truth]
    high, seen = highest(weight), 0.0
    for z in range(len(weight)):
        seen += math.exp(weight[z] - high)
    return wrong + high + math.log(seen)


@inner
def highest(weight: Floats) -> float:
    """Return the largest weight."""
    high = weight[0]
    for z in range(1, len(weight)):
        if weight[z] > high:
            high = weight[z]
    return high


@inner
def _log_effect(
    effect: float, sd: float, start: int, stop: int, truth: int, label: Codes, odds: Floats,
    gain: Floats, guessed: float, log_prevalence: Floats, weight: Floats,
) -> float:  # fmt: skip
    z = effect / sd
    return -0.5 * z * z + log_labels(
        effect, start, stop, truth, label, odds, gain, guessed, log_prevalence, weight
    )


_slice_effect = slicer(_log_effect)


@inner
def _log_spread(
    x: float, prior: Floats, cell_start: Codes, truth: Codes, label: Codes, rest: Floats,
    odds: Floats, gain: Floats, guessed: float, log_prevalence: Floats, weight: Floats,
) -> float:  # fmt: skip
    """Return the log density of the log spread; effects keep their ratio to the spread."""
    sd = math.exp(x)
    total = x + log_scale_prior(sd, prior)
    for c in range(len(rest)):
        total += log_labels(
            sd * rest[c], cell_start[c], cell_start[c + 1], truth[c], label, odds, gain, guessed,
            log_prevalence, weight,
        )  # fmt: skip
    return total


_slice_spread = slicer(_log_spread)


def move_difficulties(
    state: State, data: Crossed, labels: Labels, par: Parameters, priors: Priors, known: Odds,
    now: Truth, room: Room, rate: float,
) -> None:  # fmt: skip
    """Move the spread with all effects, and then each effect; truths must be drawn next.

    `look` must have been called before. ``rate`` is the learning rate, or 0.
    """
    _move_difficulties(
        state, rate, room.width, priors.sd_item, data.cell_start, labels.truth, labels.label,
        room.rest, room.odds, room.gain, labels.guessed, now.log_prevalence, room.weight,
        par.sd_item, par.item, known.cell,
    )  # fmt: skip


@kernel
def _move_difficulties(
    state: State, rate: float, width: Floats, prior: Floats, start: Codes, truth: Codes,
    label: Codes, rest: Floats, odds: Floats, gain: Floats, guessed: float,
    log_prevalence: Floats, weight: Floats, sd_item: Floats, item: Floats, odds_item: Floats,
) -> None:  # fmt: skip
    was = math.log(sd_item[0])
    for c in range(len(rest)):
        rest[c] = item[c] / sd_item[0]
    x = _slice_spread(
        state, was, width[0], prior[0], start, truth, label, rest, odds, gain, guessed,
        log_prevalence, weight,
    )  # fmt: skip
    sd = math.exp(x)
    sd_item[0] = sd
    width[0] += rate * (2.5 * abs(x - was) - width[0])
    for c in range(len(rest)):
        item[c] = _slice_effect(
            state, sd * rest[c], width[1] * sd, sd, start[c], start[c + 1], truth[c], label, odds,
            gain, guessed, log_prevalence, weight,
        )  # fmt: skip
        odds_item[c] = math.exp(held(item[c]))


_REACH = 7.0
"""Minimum extent of the grid to each side, in standard deviations of the prior."""
_FADED = 37.0
"""The grid extends until the density is at most exp(-37) times the peak."""


def log_marginals(
    sd: float, data: Crossed, labels: Labels, now: Truth, room: Room, out: Floats
) -> None:
    """Write the log-likelihood of each cell (cell); difficulty and unknown truth are summed out."""
    _log_marginals(
        sd, data.cell_start, labels.truth, labels.label, labels.level, room.odds, room.gain,
        labels.guessed, now.log_prevalence, now.log_level, room.weight, out,
    )  # fmt: skip


@kernel
def _log_marginals(
    sd: float, cell_start: Codes, truth: Codes, label: Codes, level: Codes, odds: Floats,
    gain: Floats, guessed: float, log_prevalence: Floats, log_level: Floats, weight: Floats,
    out: Floats,
) -> None:  # fmt: skip
    for c in range(len(out)):
        start, stop = cell_start[c], cell_start[c + 1]
        step = min(1.0, 1.0 / math.sqrt(1.0 / (sd * sd) + 0.25 * (stop - start)))
        n = math.ceil(_REACH * sd / step)
        high, total = -np.inf, 0.0
        for side in (-1, 1):
            k, x = int(side < 0), np.inf
            # If items are alike, one on which all annotators are wrong is far in the prior's tail.
            while k <= n or x > high - _FADED:
                effect = side * k * step
                z = effect / sd
                x = -0.5 * z * z + log_labels(
                    effect, start, stop, truth[c], label, odds, gain, guessed, log_prevalence,
                    weight,
                )  # fmt: skip
                if x > high:
                    total = total * math.exp(high - x) + 1.0
                    high = x
                else:
                    total += math.exp(x - high)
                k += 1
        out[c] = high + math.log(total * step / (sd * math.sqrt(2.0 * math.pi)))
        out[c] += all_wrong(start, stop, guessed, len(weight), level, log_level)
