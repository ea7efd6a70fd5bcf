r"""Maximum likelihood of a latent truth with a confusion matrix for each annotator: EM.

Given how probable each label is to be true of each pattern of labels, prevalences and error rates
are shares of labels (Dawid and Skene 1979, Eqs. 2.3 and 2.4); given these, the truth follows by
Bayes' rule (2.5). The two in turn never lower the likelihood.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Floats
from dissensus.kernels.votes import Votes


class Estimate(NamedTuple):
    """Where EM stopped: the truth and the likelihood are those under the parameters."""

    prevalence: Floats
    """(label)"""
    confusion: Floats
    """How probable a response is where a label is true (voice, response, label)."""
    truth: Floats
    """How probable each label is to be true (pattern, label)."""
    log_likelihood: float
    objective: float
    """What was made as large as possible: with smoothing, more than the log-likelihood."""
    iterations: int
    converged: bool


@kernel
def climb(
    votes: Votes, truth: Floats, n_voices: int, smoothing: float, iterations: int, tolerance: float
) -> Estimate:
    r"""Go up from a first guess of the truth until the objective hardly rises.

    The objective is the log-likelihood :math:`\sum_i \log \sum_z \pi_z \prod_v C_{v z y}` (no
    multinomial constants), plus the smoothing times the sum of the logarithms of all
    :math:`\pi_z` and :math:`C_{vzy}`.

    Parameters
    ----------
    votes : Votes
        Labels by pattern; none without a label.
    truth : array (pattern, label)
        The first guess, rows that sum to 1. It is not written over.
    n_voices : int
    smoothing : float
        Count added to every label, of the prevalence and of each row of each confusion matrix.
    iterations : int
        Give up after so many; at least 1.
    tolerance : float
        Stop when an iteration adds no more than this to the objective.

    Returns
    -------
    Estimate

    Examples
    --------
    Two voices who are always of one mind, about three items:

    >>> from dissensus.kernels.votes import votes
    >>> one = np.array([0, 1, 0])
    >>> found, pattern = votes(np.arange(6) % 3, np.repeat([0, 1], 3), np.tile(one, 2), 3)
    >>> best = climb(found, np.array([[0.9, 0.1], [0.2, 0.8]])[one[[0, 1]]], 2, 0.0, 100, 1e-9)
    >>> best.prevalence.round(3), round(best.log_likelihood, 6) == round(
    ...     2 * math.log(2 / 3) + math.log(1 / 3), 6)
    (array([0.667, 0.333]), True)
    """
    n_labels = truth.shape[1]
    truth = truth.copy()
    prevalence = np.empty(n_labels)
    confusion = np.empty((n_voices, n_labels, n_labels))
    log_prevalence, log_confusion = np.empty(n_labels), np.empty(confusion.shape)
    value, before, rounds, converged = -np.inf, -np.inf, 0, False
    while rounds < iterations and not converged:
        rounds += 1
        _shares(votes, truth, smoothing, prevalence, confusion)
        penalty = _log(prevalence, log_prevalence, smoothing)
        penalty += _log(confusion.ravel(), log_confusion.ravel(), smoothing)
        value = _weigh(votes, log_prevalence, log_confusion, truth)
        converged = value + penalty - before <= tolerance
        before = value + penalty
    return Estimate(prevalence, confusion, truth, value, before, rounds, converged)


@kernel
def labels_given(votes: Votes, truth: Floats, n_voices: int) -> Floats:
    """Count the labels of each voice by what is true: (voice, response, label)."""
    given = np.zeros((n_voices, truth.shape[1], truth.shape[1]))
    _count(votes, truth, given)
    return given


@inner
def _count(votes: Votes, truth: Floats, given: Floats) -> None:
    for p in range(len(votes.n_items)):
        for entry in range(votes.start[p], votes.start[p + 1]):
            v, y = votes.voice[entry], votes.label[entry]
            times = votes.times[entry] * votes.n_items[p]
            for z in range(truth.shape[1]):
                given[v, y, z] += times * truth[p, z]


@inner
def _shares(
    votes: Votes, truth: Floats, smoothing: float, prevalence: Floats, confusion: Floats
) -> None:
    """Write prevalences and error rates as shares of labels.

    A label that is never true of what a voice labelled leaves a row of that voice open: any
    gives the same value, and it is made flat, so that the row does not pretend to know.
    """
    n_labels = len(prevalence)
    prevalence[:] = smoothing
    for p in range(len(votes.n_items)):
        for z in range(n_labels):
            prevalence[z] += votes.n_items[p] * truth[p, z]
    total = 0.0
    for z in range(n_labels):
        total += prevalence[z]
    for z in range(n_labels):
        prevalence[z] /= total
    confusion[:] = smoothing
    _count(votes, truth, confusion)
    for v in range(len(confusion)):
        for z in range(n_labels):
            total = 0.0
            for y in range(n_labels):
                total += confusion[v, y, z]
            for y in range(n_labels):
                confusion[v, y, z] = confusion[v, y, z] / total if total > 0 else 1 / n_labels


@inner
def _log(values: Floats, out: Floats, smoothing: float) -> float:
    """Write logarithms, of 0 too, and return their sum times the smoothing."""
    total = 0.0
    for place, value in enumerate(values):
        out[place] = math.log(value) if value > 0 else -np.inf
        if smoothing > 0:  # without it 0 times -inf would be no number
            total += smoothing * out[place]
    return total


@inner
def _weigh(votes: Votes, log_prevalence: Floats, log_confusion: Floats, truth: Floats) -> float:
    """Write how probable each label is to be true, and return the log-likelihood.

    A label that cannot be true has the logarithm -inf and gets exactly 0. Some label can be: the
    one by which the shares were counted.
    """
    value = 0.0
    for p in range(len(votes.n_items)):
        weight = truth[p]
        for z in range(len(weight)):
            weight[z] = log_prevalence[z]
        for entry in range(votes.start[p], votes.start[p + 1]):
            v, y, times = votes.voice[entry], votes.label[entry], votes.times[entry]
            for z in range(len(weight)):
                weight[z] += times * log_confusion[v, y, z]
        high, total = -math.inf, 0.0
        for z in range(len(weight)):
            high = max(high, weight[z])
        for z in range(len(weight)):
            weight[z] = math.exp(weight[z] - high)
            total += weight[z]
        for z in range(len(weight)):
            weight[z] /= total
        value += votes.n_items[p] * (high + math.log(total))
    return value
