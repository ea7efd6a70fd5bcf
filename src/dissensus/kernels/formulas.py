r"""Closed forms for means of several labels, and for accuracy from agreement or reliability.

Further labels: in draw m of M, label z of an item is true with probability :math:`T_{mz}`, and a
further label is y with probability :math:`R_{mzy}` if z is true. After n further labels, with
unknown counts :math:`c_y`, the most probable label is true with probability

.. math:: \sum_c \max_z \frac{1}{M} \sum_m T_{mz} \binom{n}{c} \prod_y R_{mzy}^{c_y}

The mean over draws is inside the maximum, because the true parameters are unknown.

Annotators of equal skill whose errors are evenly spread (Lehner 2015): with N labels, an annotator
is right with probability p, and gives each wrong label with probability (1 - p) / (N - 1). Two
annotators agree with probability p^2 + (1 - p)^2 / (N - 1). Items with the same counts of labels
(`votes`) have the same posterior of the truth.
"""

from __future__ import annotations

import math
from math import comb
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.labels import TOLERANCE
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.kernels.votes import Votes

CELLS: Final = 4_000_000
"""Largest number of elements of an array in memory."""


def n_counts(n_labels: int, further: int) -> int:
    """Return how many different counts ``further`` labels can have."""
    return comb(n_labels + further - 1, further)


def counts_of(n_labels: int, further: int) -> Ints:
    """Return all counts that ``further`` labels can have (count, label)."""
    counts = np.zeros((1, 0), dtype=np.int64)
    for _ in range(n_labels - 1):
        left = further - counts.sum(axis=1)
        row = np.repeat(np.arange(len(counts)), left + 1)
        last = np.arange(len(row)) - np.repeat(np.cumsum(left + 1) - left - 1, left + 1)
        counts = np.concatenate([counts[row], last[:, None]], axis=1)
    return np.concatenate([counts, further - counts.sum(axis=1, keepdims=True)], axis=1)


def orders(counts: Ints) -> Floats:
    """Return the number of sequences of labels that have these counts (count)."""
    total = counts.sum(axis=1)
    return np.rint(np.exp(gammaln(total + 1.0) - gammaln(counts + 1.0).sum(axis=1)))


def right_after(truth: Floats, response: Floats, further: int) -> Floats:
    """Return the probability that the most probable label is true after further labels (item).

    ``truth`` (draw, item, label): probabilities of the true label.
    ``response`` (draw, label, response): probabilities of a further label, given the true one.
    """
    n_draws, n_items, n_labels = truth.shape
    all_counts = counts_of(n_labels, further)
    by_label = np.ascontiguousarray(truth.transpose(2, 1, 0))  # (label, item, draw)
    out = np.zeros(n_items)
    step = max(1, CELLS // (n_labels * max(n_draws, n_items)))
    for first in range(0, len(all_counts), step):
        counts = all_counts[first : first + step]
        likelihood = np.ones((n_labels, n_draws, len(counts)))
        for y in range(n_labels):
            likelihood *= response[:, :, y].T[:, :, None] ** counts[:, y]
        joint = by_label @ likelihood  # (label, item, count)
        out += joint.max(axis=0) @ orders(counts)
    return out / n_draws


def right_after_alike(truth: Floats, accuracy: Floats, further: int) -> Floats:
    """Do as `right_after` for accuracies (draw, item) and errors spread evenly over labels."""
    n_draws, n_items, n_labels = truth.shape
    wrong = (1.0 - accuracy) / max(n_labels - 1, 1)
    # The likelihood depends only on how many of the further labels are the true label.
    named = np.empty((n_items, n_labels, further + 1))
    for k in range(further + 1):
        odds = accuracy**k * wrong ** (further - k)
        named[:, :, k] = np.einsum("miz,mi->iz", truth, odds)
    all_counts, out = counts_of(n_labels, further), np.zeros(n_items)
    step = max(1, CELLS // (n_labels * n_items))
    for first in range(0, len(all_counts), step):
        counts = all_counts[first : first + step]
        joint = named[:, np.arange(n_labels), counts]  # (item, count, label)
        out += joint.max(axis=2) @ orders(counts)
    return out / n_draws


def leading_after(plausibility: Floats, further: int) -> Floats:
    """Do as `right_after`, where the label with the largest plausibility is the true one.

    ``plausibility`` (draw, item, label): probabilities of a further label of this item.
    """
    n_draws, n_items, n_labels = plausibility.shape
    leads = plausibility.argmax(axis=2).T[:, None, :] == np.arange(n_labels)[:, None]
    leads = leads.astype(np.float64)  # (item, label, draw)
    all_counts, out = counts_of(n_labels, further), np.zeros(n_items)
    step = max(1, CELLS // (n_draws * n_items))
    for first in range(0, len(all_counts), step):
        counts = all_counts[first : first + step]
        likelihood = np.ones((n_items, n_draws, len(counts)))
        for y in range(n_labels):
            likelihood *= plausibility[:, :, y].T[:, :, None] ** counts[:, y]
        out += (leads @ likelihood).max(axis=1) @ orders(counts)  # (item, label, count)
    return out / n_draws


_ROUNDING = 1e-12
"""Relative rounding error: a target or bound that is missed by at most this counts as met."""


def stepped_up(reliability: npt.ArrayLike, labels: npt.ArrayLike) -> Floats:
    """Return the reliability of the mean of ``labels`` labels (Spearman-Brown formula).

    The result is NaN where such labels do not exist: if the reliability r is below 0, at most
    1 - 1/r labels can have the correlation r with each other.
    """
    single, k = (np.asarray(values, dtype=np.float64) for values in (reliability, labels))
    below = (k - 1) * single + 1
    of_mean = k * single / np.where(below > 0, below, np.nan)
    beyond = np.abs(of_mean) - 1
    rounded = (beyond > 0) & (beyond <= _ROUNDING)  # a result must not be below -1 by rounding
    return np.asarray(np.where(rounded, np.sign(of_mean), of_mean))


def labels_needed(reliability: npt.ArrayLike, target: float) -> Floats:
    """Return the least whole number of labels whose mean has the target reliability.

    Infinity where the reliability of one label is 0 or negative.
    """
    single = np.asarray(reliability, dtype=np.float64)
    positive = single > 0
    with np.errstate(over="ignore"):  # 1e-320 needs more labels than a float can hold
        exact = target * (1 - single) / (np.where(positive, single, 1.0) * (1 - target))
    count = np.maximum(np.ceil(exact), 1.0)
    # Rounding of the quotient may change the count by 1. The Spearman-Brown formula decides.
    fewer = np.maximum(count - 1, 1.0)
    count = np.where(_reached(single, fewer, target), fewer, count)
    count = np.where(_reached(single, count, target), count, count + 1)
    return np.asarray(np.where(np.isnan(single), np.nan, np.where(positive, count, np.inf)))


def _reached(reliability: Floats, labels: Floats, target: float) -> Flags:
    with np.errstate(invalid="ignore", over="ignore"):  # ``labels`` can be infinite
        of_mean = stepped_up(reliability, labels)
    return np.asarray(of_mean >= target * (1 - _ROUNDING))


BINS: Final = 10
"""(0, .1], (.1, .2], ..., (.9, 1]: bins of the probability of the most plausible label."""
EDGE: Final = 1e-9
"""Tolerance in bin widths: a probability above an edge by at most this belongs to the bin below."""
PROBABILITY, ITEMS, AGREEMENT = range(3)
"""Sums in each bin: the probability of the leading label, items, and items on which the system
gives this label."""


class Answers(NamedTuple):
    """Systems' answers by pattern of items; entries of a pattern are adjacent."""

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
    """Write the log joint probability of the given labels and each true label (true label).

    Returns the largest log probability, and the logarithm of the sum of the probabilities.
    """
    n = len(out)
    n_given = 0
    for e in range(len(times)):
        n_given += times[e]
    right = math.log(accuracy)
    wrong = math.log((1.0 - accuracy) / (n - 1.0)) if accuracy < 1.0 else -math.inf
    for k in range(n):
        out[k] = log_prior[k] + (n_given * wrong if n_given else 0.0)
    for e in range(len(label)):
        missed = n_given - times[e]
        out[label[e]] = log_prior[label[e]] + times[e] * right + (missed * wrong if missed else 0.0)
    most, total = -math.inf, 0.0
    for k in range(n):
        most = max(most, out[k])
    if most == -math.inf:  # accuracy 1, and the labels contradict each other
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

    ``votes`` are not separated by annotator: all are of respondent 0. ``accuracy`` is at least one
    over the number of labels. If it is 1 and labels contradict each other, the result is NaN.

    >>> votes = Votes(np.array([0, 2]), np.zeros(2, int), np.array([0, 1]), np.array([2, 1]), None)
    >>> truth_probabilities(votes, 0.75, np.array([0.5, 0.5]))
    array([[0.75, 0.25]])
    """
    log_prior = _logs(prevalence)
    return np.asarray(_truth(votes.start, votes.label, votes.times, accuracy, log_prior))


def _logs(values: Floats) -> Floats:
    """Return logarithms; the logarithm of 0 is -inf."""
    return np.log(values, out=np.full(values.shape, -np.inf), where=values > 0)


@inner
def _lead(joint: Floats, most: float, code: int) -> float:
    """Return 1/n if label ``code`` is one of n leading labels, and 0 otherwise."""
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
            if math.isnan(total):  # labels contradict accuracy 1: the items do not count
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
    """Sum the answers of systems in bins of the probability of the leading label.

    ``weights`` (set of weights, entry of answers): number of items of each answer.
    ``accuracy`` (set of weights), ``prevalence`` (set of weights, label): NaN where unknown.
    Returns (set of weights, system, bin, 3), lowest bin first. The three sums are the leading
    label's probability, the number of items, and the number of items on which the system gives the
    leading label (1/n of an item if it gives one of n leading labels).
    """
    log_prior = np.where(np.isnan(prevalence), np.nan, _logs(np.nan_to_num(prevalence)))
    labels = votes.start, votes.label, votes.times
    out = _binned(labels, tuple(answers), weights, accuracy, log_prior, n_systems)
    return np.asarray(out)


NOTHING: Final = 1e-12
"""Rounding error: values that differ by at most this from those of guessing count as guessing."""


def accuracy_from(disagreement: Floats, n_labels: int) -> Floats:
    """Return the accuracy at which two annotators disagree at this rate (Lehner 2015, Eq. 2).

    Of the two solutions, the one above guessing is returned. If annotators disagree as often as
    guesses do, or more often, the result is the accuracy of guesses, 1/N.

    >>> accuracy_from(np.array([0.0, 40 / 60, 0.9]), 4)
    array([1.  , 0.5 , 0.25])
    """
    # N times agreement minus 1, computed from disagreement, which is exactly 0 if all agree.
    beyond = (n_labels - 1.0) - n_labels * disagreement
    beyond = np.where(beyond <= NOTHING, 0.0 * beyond, beyond)
    return np.asarray((1.0 + np.sqrt((n_labels - 1.0) * beyond)) / n_labels)


def guessed(accuracy: Floats, n_labels: int) -> Flags:
    """Return whether an accuracy or probability is 1/N, so that it distinguishes no labels.

    >>> guessed(np.array([0.25, 0.5]), 4)
    array([ True, False])
    """
    return np.asarray(n_labels * accuracy - 1.0 <= NOTHING)


def base_rates(share: Floats, accuracy: Floats) -> Floats:
    """Return the prevalence of each true label (..., label), by Eq. 5 of Lehner (2015).

    ``share`` (..., label) are the shares of given labels. Prevalences are clipped to [0, 1] and
    divided by their sum. They are undefined for an ``accuracy`` (...) of 1/N.

    >>> base_rates(np.array([11, 10, 10, 9]) / 40, np.array(0.5))
    array([0.325, 0.25 , 0.25 , 0.175])
    """
    n_labels, right = share.shape[-1], accuracy[..., None]
    raw = ((n_labels - 1.0) * share - 1.0 + right) / (n_labels * right - 1.0)
    clipped = np.clip(raw, 0.0, 1.0)
    return np.asarray(clipped / clipped.sum(axis=-1, keepdims=True))


def corrected_agreement(agreement: Floats, probability: Floats, n_labels: int) -> Floats:
    """Return the accuracy of a system, given its agreement with labels (Lehner 2015, Eq. 7).

    ``probability`` is the probability that a label is right. The result is clipped to [0, 1]; it is
    undefined for a probability of 1/N.

    >>> corrected_agreement(np.array([0.5, 0.0]), np.array([0.75, 0.6]), 4)
    array([0.625, 0.   ])
    """
    raw = ((n_labels - 1.0) * agreement - 1.0 + probability) / (n_labels * probability - 1.0)
    return np.clip(raw, 0.0, 1.0)


def accuracy_from_rho(rho: npt.ArrayLike, genuine: float) -> Floats:
    """Return the accuracy p of annotators, if both of a pair are right with probability p^2.

    ``rho`` is the share of pairs that agree, times the probability that agreeing pairs are right.
    This product is the share of pairs in which both are right. ``genuine`` is the probability that
    a label is not a guess. The result is NaN where p would be above 1.
    """
    return _within(np.sqrt(np.asarray(rho, dtype=np.float64)) / genuine)


def accuracy_from_concordance(concordance: npt.ArrayLike, genuine: float, n_labels: int) -> Floats:
    """Return the accuracy p at which two annotators agree with p^2 + (1 - p)^2 / (L - 1).

    Of the two solutions, the larger one is returned, which is at least 1 / L; NaN if there is none.
    """
    agreement = np.asarray(concordance, dtype=np.float64) / genuine**2
    beyond = (n_labels - 1) * (n_labels * agreement - 1)
    beyond = np.where((beyond < 0) & (beyond > -_ROUNDING), 0.0, beyond)
    with np.errstate(invalid="ignore"):
        return _within((1 + np.sqrt(beyond)) / n_labels)


def _within(accuracy: Floats) -> Floats:
    return np.where(accuracy <= 1 + _ROUNDING, np.minimum(accuracy, 1.0), np.nan)
