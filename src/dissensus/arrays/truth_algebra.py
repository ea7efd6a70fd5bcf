"""The truth by Bayes' rule when all annotators are equally accurate and all errors alike.

What an item's labels say of the truth is then a matter of how often each was given, and items
with the same counts (`dissensus.arrays.truth_votes`) share one answer.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.label_lookup import TOLERANCE
from dissensus.arrays.truth_votes import Votes
from dissensus.arrays.types import Floats, Ints

BINS: Final = 10
"""(0, .1], (.1, .2], ..., (.9, 1]: what the probability of the leading label is sorted into."""
EDGE: Final = 1e-9
"""In widths of a bin: so close above an edge a probability is on it, and in the bin below."""
PROBABILITY, ITEMS, AGREEMENT = range(3)
"""Sums kept of each bin: of the leading label's probability, of items, of those who agree."""


class Answers(NamedTuple):
    """What systems say of the items of each pattern; entries of one pattern stand together."""

    start: Ints
    """(pattern + 1): where the entries of each pattern begin."""
    system: Ints
    """(entry)"""
    label: Ints
    """(entry): -1 for a label that annotators could not give."""


@inner
def _log_joint(
    label: Ints, times: Ints, accuracy: float, log_prior: Floats, out: Floats
) -> tuple[float, float]:
    """Write log probabilities of truth and labels (label); return their largest and log total."""
    n = len(out)
    given = 0
    for e in range(len(times)):
        given += times[e]
    right = math.log(accuracy)
    wrong = math.log((1.0 - accuracy) / (n - 1.0)) if accuracy < 1.0 else -math.inf
    for k in range(n):
        out[k] = log_prior[k] + (given * wrong if given else 0.0)
    for e in range(len(label)):
        missed = given - times[e]
        out[label[e]] = log_prior[label[e]] + times[e] * right + (missed * wrong if missed else 0.0)
    most, total = -math.inf, 0.0
    for k in range(n):
        most = max(most, out[k])
    if most == -math.inf:  # nobody errs, and these labels contradict each other
        return most, math.nan
    for k in range(n):
        total += math.exp(out[k] - most) if out[k] > -math.inf else 0.0
    return most, most + math.log(total)


@kernel
def _truth(start: Ints, label: Ints, times: Ints, accuracy: float, log_prior: Floats) -> Floats:
    out = np.empty((len(start) - 1, len(log_prior)))
    for p in range(len(out)):
        low, high = start[p], start[p + 1]
        _, total = _log_joint(label[low:high], times[low:high], accuracy, log_prior, out[p])
        for k in range(out.shape[1]):
            out[p, k] = math.exp(out[p, k] - total)
    return out


def truth_probabilities(votes: Votes, accuracy: float, prevalence: Floats) -> Floats:
    """Return the probability that each label is the true one (pattern, label).

    Parameters
    ----------
    votes : Votes
        Labels by pattern, all of one voice.
    accuracy : float
        How often annotators are right, one over the number of labels or more.
    prevalence : array (label)
        How often each label is the true one.

    Returns
    -------
    array (pattern, label)
        NaN where annotators contradict each other who are never wrong.

    Examples
    --------
    >>> votes = Votes(np.array([0, 2]), np.zeros(2, int), np.array([0, 1]), np.array([2, 1]), None)
    >>> truth_probabilities(votes, 0.75, np.array([0.5, 0.5]))
    array([[0.75, 0.25]])
    """
    log_prior = _logs(prevalence)
    return np.asarray(_truth(votes.start, votes.label, votes.times, accuracy, log_prior))


def _logs(values: Floats) -> Floats:
    """Return logs, that of 0 too."""
    return np.log(values, out=np.full(values.shape, -np.inf), where=values > 0)


@inner
def _lead(joint: Floats, most: float, code: int) -> float:
    """Return 1 if a label leads, 1/n if it is one of n that do, and else 0."""
    bound = most - TOLERANCE
    if code < 0 or joint[code] < bound:
        return 0.0
    n_leading = 0
    for k in range(len(joint)):
        n_leading += joint[k] >= bound
    return 1.0 / n_leading


@kernel
def _binned(
    votes: tuple[Ints, Ints, Ints],
    answers: tuple[Ints, Ints, Ints],
    weights: Floats,
    accuracy: Floats,
    log_prior: Floats,
    n_systems: int,
) -> Floats:
    start, label, times = votes
    first, system, code = answers
    out = np.zeros((len(weights), n_systems, BINS, 3))
    joint = np.empty(log_prior.shape[1])
    for d in range(len(weights)):
        if math.isnan(accuracy[d]) or math.isnan(log_prior[d, 0]):
            out[d] = np.nan
            continue
        for p in range(len(start) - 1):
            if first[p] == first[p + 1]:
                continue
            low, high = start[p], start[p + 1]
            most, total = _log_joint(
                label[low:high], times[low:high], accuracy[d], log_prior[d], joint
            )
            if math.isnan(total):  # of no weight, or everybody would not be right
                continue
            leading = math.exp(most - total)
            place = min(max(math.ceil(BINS * leading - EDGE) - 1, 0), BINS - 1)
            for e in range(first[p], first[p + 1]):
                s, weight = system[e], weights[d, e]
                out[d, s, place, PROBABILITY] += weight * leading
                out[d, s, place, ITEMS] += weight
                out[d, s, place, AGREEMENT] += weight * _lead(joint, most, code[e])
    return out


def binned_answers(
    votes: Votes,
    answers: Answers,
    weights: Floats,
    accuracy: Floats,
    prevalence: Floats,
    n_systems: int,
) -> Floats:
    """Sort the answers of systems by the probability of the label that leads.

    Parameters
    ----------
    votes : Votes
        Labels by pattern, all of one voice.
    answers : Answers
        What systems say of the patterns.
    weights : array (set of weights, entry of answers)
        How many items each answer is about.
    accuracy : array (set of weights)
    prevalence : array (set of weights, label)
        As for `truth_probabilities`; NaN where unknown.
    n_systems : int

    Returns
    -------
    array (set of weights, system, bin, 3)
        Over the items of each bin, lowest bin first: the sum of the leading label's probability,
        the items, and those where the system gives that label (1/n of an item where n labels
        lead). NaN where accuracy or prevalence is.

    Examples
    --------
    >>> votes = Votes(np.array([0, 2]), np.zeros(2, int), np.array([0, 1]), np.array([2, 1]), None)
    >>> answers = Answers(np.array([0, 2]), np.array([0, 0]), np.array([0, 1]))
    >>> found = binned_answers(votes, answers, np.array([[3.0, 1.0]]), np.array([0.75]),
    ...                        np.array([[0.5, 0.5]]), 1)
    >>> found[0, 0, 7]  # 4 items at .75, 3 of them answered with the label that leads
    array([3., 4., 3.])
    """
    log_prior = np.where(np.isnan(prevalence), np.nan, _logs(np.nan_to_num(prevalence)))
    labels = votes.start, votes.label, votes.times
    out = _binned(labels, tuple(answers), weights, accuracy, log_prior, n_systems)
    return np.asarray(out)
