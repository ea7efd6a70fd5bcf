"""True labels of items, where annotators of one item err together.

What a latent truth explains labels by is what they point to. Annotators who are misled by the same
thing point to a wrong label together, and the more there are the surer it looks: taken one by one,
they would be independent witnesses. Of n labels whose errors have the correlation r, as many are
independent as

    m = n / (1 + (n - 1) r),

and the true label z of an item has, in place of p(z | labels), a probability that goes as
p(z | labels) to the power m / n. A system's answer s counts for a weight w of its own beyond them:

    p(z | labels, s)  ~  p(z | labels)^(m / n) e^(w [z = s]).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dissensus.families.latent_truth.kernels.states import known_label, log_sigmoid
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, uniform
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.variates import binomial, log_gamma_variate, normal, scatter
from dissensus.kernels.votes import Votes

LEAST: Final = 1e-12
"""Probabilities of true labels keep so far from 0 and 1."""
_SWEEPS: Final = 3
"""Steps between two draws that are kept."""
_LABELS: Final = 4.0
"""What all annotators together say of one of them, in labels."""


class Answers(NamedTuple):
    """Systems' answers, those to items alike taken together."""

    start: Ints
    """Where the cells of each system begin (system + 1)."""
    pattern: Ints
    """(cell)"""
    label: Ints
    """(cell): past the last label for what is never true."""
    n_items: Ints
    """(cell)"""


class Prior(NamedTuple):
    """What is believed before any truth is known."""

    correlation: Floats
    """Median of the correlation of errors, and standard deviation of its logarithm."""
    weight: Floats
    """Of a system's answer: from and to which part of the weight that it had if it erred
    independently of annotators it lies evenly, the standard deviation of what is added, and the
    largest such weight."""


class Beyond(NamedTuple):
    """Where the chain is, written over draw by draw."""

    correlation: Floats
    """Standard normal (1)."""
    independent: Floats
    """The logit of how often a system is right, if it erred independently (system)."""
    weight: Floats
    """Standard normal: where between its bounds it lies, and what is added (system, 2)."""
    truth: Floats
    """(pattern, label)"""


def room(n_patterns: int, n_labels: int, n_systems: int) -> Beyond:
    """Start a chain."""
    return Beyond(
        correlation=np.zeros(1), independent=np.ones(n_systems), weight=np.zeros((n_systems, 2)),
        truth=np.empty((n_patterns, n_labels)),
    )  # fmt: skip


def answers(pattern: Ints, codes: Ints, missing: int) -> Answers:
    """Lay systems' answers out (item, system); ``missing`` is the code of none.

    Examples
    --------
    >>> found = answers(np.array([0, 0, 1]), np.array([[1], [1], [-1]]), -1)
    >>> found.pattern, found.label, found.n_items
    (array([0]), array([1]), array([2]))
    """
    parts, start = [], [0]
    for code in codes.T:
        given = code != missing
        rows, n_items = np.unique(
            np.stack([pattern[given], code[given]]), axis=1, return_counts=True
        )
        parts.append((rows[0], rows[1], n_items))
        start.append(start[-1] + len(n_items))
    empty = np.empty(0, dtype=np.int64)
    whole = [np.concatenate([empty, *part]) for part in zip(*parts, strict=True)] or [empty] * 3
    return Answers(np.array(start, dtype=np.int64), *whole)


@inner
def _flattened(truth: Floats, p: int, power: float, out: Floats) -> None:
    """Write the probabilities of an item's true label (label)."""
    high, total = -math.inf, 0.0
    for z in range(len(out)):
        out[z] = power * math.log(max(truth[p, z], 1e-300))
        high = max(high, out[z])
    for z in range(len(out)):
        out[z] = math.exp(out[z] - high)
        total += out[z]
    for z in range(len(out)):
        out[z] = max(out[z] / total, LEAST)


@inner
def _log_known(
    x: float, prior: Floats, truth: Floats, n_given: Floats, votes: Votes, row: Floats
) -> float:
    """Return the log-probability of the true labels that are known."""
    correlation, out = prior[0] * math.exp(prior[1] * x), 0.0
    for p in range(len(votes.known)):
        if votes.known[p] >= 0 and n_given[p] > 0.0:
            _flattened(truth, p, 1.0 / (1.0 + (n_given[p] - 1.0) * correlation), row)
            out += votes.n_items[p] * math.log(row[votes.known[p]])
    return out


@kernel
def draw_correlation(
    state: State, votes: Votes, truth: Floats, n_given: Floats, prior: Floats, x: Floats,
    out: Floats,
) -> float:  # fmt: skip
    """Draw the correlation of errors by elliptical slices; write the true labels' probabilities.

    ``truth`` (pattern, label) are those by the labels alone, as if they were independent.
    """
    row = np.empty(out.shape[1])
    for _ in range(_SWEEPS):
        height = _log_known(x[0], prior, truth, n_given, votes, row) + math.log(uniform(state))
        other, angle = normal(state), 2.0 * math.pi * uniform(state)
        low, high, old = angle - 2.0 * math.pi, angle, x[0]
        while True:
            x[0] = old * math.cos(angle) + other * math.sin(angle)
            if _log_known(x[0], prior, truth, n_given, votes, row) >= height:
                break
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * uniform(state)
    correlation = prior[0] * math.exp(prior[1] * x[0])
    for p in range(len(out)):
        _flattened(truth, p, 1.0 / (1.0 + max(n_given[p] - 1.0, 0.0) * correlation), out[p])
    return correlation


@kernel
def draw_right(state: State, votes: Votes, truth: Floats, n_voices: int, out: Floats) -> float:
    """Draw the true labels, and how often each voice is right, by how many of its labels were.

    Who gave few labels is taken for a typical one. Returned is the share of items whose true label
    is the one that most labels are.
    """
    n = truth.shape[1]
    right, total = np.zeros(n_voices), np.zeros(n_voices)
    drawn, weight, said = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    majority, n_items = 0.0, 0.0
    for p in range(len(votes.n_items)):
        known = known_label(votes, p)
        whole = 0.0
        for z in range(n):
            weight[z] = truth[p, z]
            if known >= 0:
                weight[z] = 1.0 if z == known else 0.0
            whole += weight[z]
        scatter(state, votes.n_items[p], weight, whole, drawn)
        for z in range(n):
            said[z] = 0.0
        for entry in range(votes.start[p], votes.start[p + 1]):
            v, times = votes.voice[entry], votes.times[entry]
            if v < n_voices:
                right[v] += times * drawn[votes.label[entry]]
                total[v] += times * votes.n_items[p]
                said[votes.label[entry]] += times
        most, tied, hit = 0.0, 0.0, 0.0
        for z in range(n):
            most = max(most, said[z])
        for z in range(n):
            if said[z] == most:
                tied += 1.0
                hit += drawn[z]
        majority += hit / tied
        n_items += votes.n_items[p]
    all_right, in_all = 0.0, 0.0
    for v in range(n_voices):
        all_right += right[v]
        in_all += total[v]
    for v in range(n_voices):
        more = _LABELS * all_right / in_all
        out[v] = _share(state, right[v] + more, total[v] - right[v] + _LABELS - more)
    return majority / n_items


@inner
def _chance(truth: Floats, p: int, label: int) -> float:
    """Return how probably an answer is right by the annotators' labels, 0 if it never is."""
    if label >= truth.shape[1]:
        return 0.0
    return min(max(truth[p, label], LEAST), 1.0 - LEAST)


@inner
def _log_answers(
    weight: float, votes: Votes, answers: Answers, truth: Floats, first: int, last: int
) -> float:
    """Return the log-probability that a system is right and wrong where the truth is known."""
    out = 0.0
    if len(votes.known) == 0:
        return out
    for c in range(first, last):
        p, y = answers.pattern[c], answers.label[c]
        q = _chance(truth, p, y)
        if votes.known[p] >= 0 and q > 0.0:
            yes, no = math.log(q) + weight, math.log1p(-q)
            said = yes if votes.known[p] == y else no
            out += answers.n_items[c] * (said - log_plus(yes, no))
    return out


@inner
def _hits(state: State, votes: Votes, answers: Answers, truth: Floats, c: int, odds: float) -> int:
    """Draw how many items of a cell a system got right."""
    p, y = answers.pattern[c], answers.label[c]
    known = known_label(votes, p)
    if known >= 0:
        return answers.n_items[c] if known == y else 0
    q = _chance(truth, p, y)
    return binomial(state, answers.n_items[c], q * odds / (q * odds + 1.0 - q))


@inner
def _weight(place: float, noise: float, log_odds: float, prior: Floats) -> float:
    """Return the weight of a system's answer, from two standard normal numbers."""
    log_odds = min(max(log_odds, 0.0), prior[3])
    share = 0.5 * math.erfc(-place / math.sqrt(2.0))
    return (prior[0] + (prior[1] - prior[0]) * share) * log_odds + prior[2] * noise


@inner
def _log_independent(
    logit: float, votes: Votes, answers: Answers, truth: Floats, first: int, last: int,
    prior: Floats, place: float, noise: float,
) -> float:  # fmt: skip
    """Return the log density of the logit of a system's accuracy, as if it erred independently.

    What is known of the truth speaks through the weight of its answers too.
    """
    yes, no = log_sigmoid(logit), log_sigmoid(-logit)
    others = math.log(max(truth.shape[1] - 1.0, 1.0))
    weight = _weight(place, noise, logit + others, prior)
    out = yes + no + _log_answers(weight, votes, answers, truth, first, last)  # a uniform prior
    wrong = no - others
    for c in range(first, last):
        p, y = answers.pattern[c], answers.label[c]
        known = known_label(votes, p)
        if known >= 0:
            out += answers.n_items[c] * (yes if known == y else wrong)
        else:
            q = _chance(truth, p, y)
            each = log_plus(math.log(q) + yes, math.log1p(-q) + wrong) if q > 0.0 else wrong
            out += answers.n_items[c] * each
    return out


_slice_independent = slicer(_log_independent)


@kernel
def judge(
    state: State, votes: Votes, answers: Answers, truth: Floats, prior: Floats,
    independent: Floats, x: Floats, accuracy: Floats, correct: Floats, weight: Floats,
    doubt: Floats,
) -> None:  # fmt: skip
    """Draw how often systems are right, on these items and on such items, and their weights.

    ``doubt`` is the mean over items of p (1 - p), p being how probably an answer is right.
    """
    n = truth.shape[1]
    for s in range(len(accuracy)):
        first, last = answers.start[s], answers.start[s + 1]
        total = 0.0
        for c in range(first, last):
            total += answers.n_items[c]
        independent[s] = _slice_independent(
            state, independent[s], 1.0, votes, answers, truth, first, last, prior, x[s, 0],
            x[s, 1],
        )  # fmt: skip
        log_odds = independent[s] + math.log(max(n - 1.0, 1.0))
        for _ in range(_SWEEPS):
            place, noise = x[s, 0], x[s, 1]
            weight[s] = _weight(place, noise, log_odds, prior)
            height = _log_answers(weight[s], votes, answers, truth, first, last)
            height += math.log(uniform(state))
            one, other, angle = normal(state), normal(state), 2.0 * math.pi * uniform(state)
            low, high = angle - 2.0 * math.pi, angle
            while True:
                x[s, 0] = place * math.cos(angle) + one * math.sin(angle)
                x[s, 1] = noise * math.cos(angle) + other * math.sin(angle)
                weight[s] = _weight(x[s, 0], x[s, 1], log_odds, prior)
                if _log_answers(weight[s], votes, answers, truth, first, last) >= height:
                    break
                if angle < 0.0:
                    low = angle
                else:
                    high = angle
                angle = low + (high - low) * uniform(state)
        right, open_, odds = 0.0, 0.0, math.exp(weight[s])
        for c in range(first, last):
            right += _hits(state, votes, answers, truth, c, odds)
            q = _chance(truth, answers.pattern[c], answers.label[c])
            share = q * odds / (q * odds + 1.0 - q)
            open_ += answers.n_items[c] * share * (1.0 - share)
        correct[s] = right / total if total > 0.0 else np.nan
        accuracy[s] = _share(state, 0.5 + right, 0.5 + total - right)
        doubt[s] = open_ / total if total > 0.0 else np.nan


@inner
def _share(state: State, a: float, b: float) -> float:
    """Draw from Beta(a, b), away from 0 and 1."""
    odds = log_gamma_variate(state, max(a, LEAST)) - log_gamma_variate(state, max(b, LEAST))
    share = math.exp(log_sigmoid(odds))
    return min(max(share, LEAST), 1.0 - LEAST)
