"""Confusion matrices of annotators and systems, made as Lehner (2015) makes them, in five steps."""

from __future__ import annotations

import numpy as np

from dissensus.kernels.types import Floats, Ints


def matrices(
    accuracy: Floats, asymmetry: float, error_range: float, prevalence: Floats,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Draw a confusion matrix for each accuracy.

    Steps 1 and 2 are the accuracies themselves, the same for all labels. Step 3 shares out the
    errors by distance, step 4 moves each of them at random, independently. Step 5 has two parts:
    rows are made to sum to 1 again, which moves the accuracy, and then the diagonal is brought
    back to it.

    Parameters
    ----------
    accuracy : array (...)
        Wanted, on the average over the prevalence; from 0 to 1.
    asymmetry : float
        How much more probable an error is than one a step further off; > 0.
    error_range : float
        How far an error's probability may move, as a part of itself; from 0 to 1.
    prevalence : array (label)
    rng : numpy.random.Generator

    Returns
    -------
    array (..., label, response)

    Examples
    --------
    The third row of Lehner's Table 6:

    >>> matrices(np.array(0.4), 2.0, 0.0, np.full(5, 0.2), np.random.default_rng(1))[2].round(3)
    array([0.1, 0.2, 0.4, 0.2, 0.1])
    """
    n_labels = len(prevalence)
    # The same for all accuracies, as the errors' total is a factor of their own.
    error = np.broadcast_to(
        error_shares(n_labels, asymmetry), (*accuracy.shape, n_labels, n_labels)
    )
    moved = error * (1 - error_range * rng.uniform(-1, 1, error.shape))  # never 0: (0, 2]
    total = moved.sum(axis=-1)
    kept = accuracy[..., None]
    right = kept / (kept + (1 - kept) * total)
    right = with_accuracy(right, accuracy, prevalence)
    out = (1 - right)[..., None] * moved / total[..., None]
    label = np.arange(n_labels)
    out[..., label, label] = right
    return np.asarray(out)


def error_shares(n_labels: int, asymmetry: float) -> Floats:
    """Return how errors are shared out: (label, response), rows that sum to 1.

    An error of m steps is ``asymmetry`` times as probable as one of m + 1.

    Examples
    --------
    >>> error_shares(3, 2.0).round(3)
    array([[0.   , 0.667, 0.333],
           [0.5  , 0.   , 0.5  ],
           [0.333, 0.667, 0.   ]])
    """
    label = np.arange(n_labels)
    log = -np.abs(label[:, None] - label) * np.log(asymmetry)
    log = np.where(label[:, None] == label, -np.inf, log)
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def with_accuracy(right: Floats, accuracy: Floats, prevalence: Floats) -> Floats:
    """Multiply the probabilities of being right by one factor, so that their mean is as wanted.

    None gets above 1. Where some would, they are 1, and the factor of the others is the larger:
    with each round more are found to be 1, so that there are no more rounds than labels.

    Parameters
    ----------
    right : array (..., label)
    accuracy : array (...)
        The mean over the prevalence that is wanted.
    prevalence : array (label)

    Examples
    --------
    >>> with_accuracy(np.array([0.9, 0.3]), np.array(0.8), np.array([0.5, 0.5]))
    array([1. , 0.6])
    """
    full = np.zeros(right.shape, dtype=bool)
    while True:
        wanted = accuracy - np.where(full, prevalence, 0.0).sum(axis=-1)
        there = np.where(full, 0.0, prevalence * right).sum(axis=-1)
        # Where nothing is left to change (accuracies 0 and 1) there is no factor to find.
        factor = np.divide(wanted, there, out=np.ones_like(there), where=there > 0)
        scaled = factor[..., None] * right
        more = full | (scaled >= 1)
        if (more == full).all():
            return np.where(full, 1.0, scaled)
        full = more


def responses(probability: Floats, rng: np.random.Generator) -> Ints:
    """Draw a response from each row of probabilities: (..., response) to (...).

    A response of probability 0 is never drawn.
    """
    bound = np.cumsum(probability, axis=-1)
    place = rng.random((*probability.shape[:-1], 1)) * bound[..., -1:]
    return np.asarray((place >= bound[..., :-1]).sum(axis=-1), dtype=np.int64)


def expected_accuracy(confusion: Floats, prevalence: Floats) -> Floats:
    """Return accuracies: (respondent, group, label, response) to (respondent).

    Over the prevalence of the labels, and over groups, which are equally large.
    """
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    return np.asarray((right @ prevalence).mean(axis=-1))


def with_mistakes(confusion: Floats, share: Floats) -> Floats:
    """Return matrices over the true label, from those over the label that it is taken for.

    Parameters
    ----------
    confusion : array (respondent, group, label, response)
    share : array (respondent)
        On how many items another label is taken for the true one, evenly any.

    Examples
    --------
    >>> with_mistakes(np.array([[[[0.9, 0.1], [0.3, 0.7]]]]), np.array([0.5]))
    array([[[[0.6, 0.4],
             [0.6, 0.4]]]])
    """
    rest = (confusion.sum(axis=-2, keepdims=True) - confusion) / (confusion.shape[-1] - 1)
    wrong = share[:, None, None, None]
    return np.asarray(np.where(wrong > 0, (1 - wrong) * confusion + wrong * rest, confusion))


def others(label: Ints, n_labels: int, rng: np.random.Generator) -> Ints:
    """Draw another label for each, evenly.

    Examples
    --------
    >>> others(np.array([0, 1]), 2, np.random.default_rng(1))
    array([1, 0])
    """
    return np.asarray((label + rng.integers(1, n_labels, len(label))) % n_labels)
