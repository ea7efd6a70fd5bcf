"""Confusion matrices of annotators and systems, by the five steps of Lehner (2015)."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from dissensus.kernels.types import Floats, Ints


def matrices(
    accuracy: Floats, asymmetry: float, error_range: float, prevalence: Floats,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Draw a confusion matrix for each accuracy (...): (..., label, response).

    Steps 1 and 2 are the accuracies, the same for all labels. Step 3 distributes errors by
    distance, step 4 changes each of them by at most ``error_range`` of it. Step 5 makes rows sum to
    1 again, which changes the accuracy, and then multiplies the diagonal to restore it.
    """
    n_labels = len(prevalence)
    # Equal for all accuracies, because the total of the errors is a separate factor.
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
    """Return the distribution of errors (label, response): ``asymmetry`` is the ratio of steps."""
    label = np.arange(n_labels)
    log = -np.abs(label[:, None] - label) * np.log(asymmetry)
    log = np.where(label[:, None] == label, -np.inf, log)
    return np.asarray(softmax(log, axis=1))


def with_accuracy(right: Floats, accuracy: Floats, prevalence: Floats) -> Floats:
    """Multiply probabilities of being right (..., label) so that their mean is the accuracy (...).

    Probabilities that would exceed 1 are set to 1, and the factor of the other probabilities is
    larger. Each round adds such a label, so the number of rounds is at most the number of labels.
    """
    full = np.zeros(right.shape, dtype=bool)
    while True:
        wanted = accuracy - np.where(full, prevalence, 0.0).sum(axis=-1)
        there = np.where(full, 0.0, prevalence * right).sum(axis=-1)
        # For accuracies 0 and 1, which cannot be changed, no factor is computed.
        factor = np.divide(wanted, there, out=np.ones_like(there), where=there > 0)
        scaled = factor[..., None] * right
        more = full | (scaled >= 1)
        if (more == full).all():
            return np.where(full, 1.0, scaled)
        full = more


def responses(probability: Floats, rng: np.random.Generator) -> Ints:
    """Draw a response from each row of probabilities, never a response of probability 0."""
    bound = np.cumsum(probability, axis=-1)
    place = rng.random((*probability.shape[:-1], 1)) * bound[..., -1:]
    return np.asarray((place >= bound[..., :-1]).sum(axis=-1), dtype=np.int64)


def expected_accuracy(confusion: Floats, prevalence: Floats) -> Floats:
    """Return the accuracy of each respondent, over the prevalence and groups of equal size.

    ``confusion`` is (respondent, group, label, response).
    """
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    return np.asarray((right @ prevalence).mean(axis=-1))


def with_mistakes(confusion: Floats, share: Floats) -> Floats:
    """Return matrices (respondent, group, label, response) over the true label.

    The given matrices are over the apparent label. In a ``share`` (respondent) of the items this is
    another label than the true label; all other labels are equally likely.
    """
    rest = (confusion.sum(axis=-2, keepdims=True) - confusion) / (confusion.shape[-1] - 1)
    wrong = share[:, None, None, None]
    return np.asarray(np.where(wrong > 0, (1 - wrong) * confusion + wrong * rest, confusion))


def others(label: Ints, n_labels: int, rng: np.random.Generator) -> Ints:
    """Draw another label for each label; all others are equally likely."""
    return np.asarray((label + rng.integers(1, n_labels, len(label))) % n_labels)
