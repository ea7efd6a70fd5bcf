"""How often annotators are right, from how often they agree: equal skill, all errors alike.

With N labels, an annotator is right with probability p and else gives each wrong label with
probability (1 - p) / (N - 1). Two of them then agree with probability
p^2 + (1 - p)^2 / (N - 1), and each function here turns such an equation around (Lehner 2015).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.arrays.types import Floats

NOTHING: Final = 1e-12
"""What is as close to what guesses would give is taken for it: sums are rounded."""


def accuracy_from(disagreement: Floats, n_labels: int) -> Floats:
    """Return the accuracy at which two annotators disagree so often, by Eq. 2.

    Of the two solutions the one above guessing; where annotators disagree as often as guesses
    would, or more, it is that of guesses, 1/N.

    Examples
    --------
    >>> accuracy_from(np.array([0.0, 40 / 60, 0.9]), 4)
    array([1.  , 0.5 , 0.25])
    """
    # N times agreement, less 1: in disagreement, which is exactly 0 where all agree.
    beyond = (n_labels - 1.0) - n_labels * disagreement
    beyond = np.where(beyond <= NOTHING, 0.0 * beyond, beyond)
    return np.asarray((1.0 + np.sqrt((n_labels - 1.0) * beyond)) / n_labels)


def guessed(accuracy: Floats, n_labels: int) -> npt.NDArray[np.bool_]:
    """Return whether an accuracy or probability is 1/N, so that it tells no label from another.

    Examples
    --------
    >>> guessed(np.array([0.25, 0.5]), 4)
    array([ True, False])
    """
    return np.asarray(n_labels * accuracy - 1.0 <= NOTHING)


def base_rates(share: Floats, accuracy: Floats) -> Floats:
    """Return how often each label is the true one (..., label), by Eq. 5.

    Clipped to [0, 1] and brought to a sum of 1. Not for an accuracy of 1/N.

    Parameters
    ----------
    share : array (..., label)
        How often each label is given.
    accuracy : array (...)
        How often annotators are right.

    Examples
    --------
    >>> base_rates(np.array([11, 10, 10, 9]) / 40, np.array(0.5))
    array([0.325, 0.25 , 0.25 , 0.175])
    """
    n_labels, right = share.shape[-1], accuracy[..., None]
    raw = ((n_labels - 1.0) * share - 1.0 + right) / (n_labels * right - 1.0)
    clipped = np.clip(raw, 0.0, 1.0)
    return np.asarray(clipped / clipped.sum(axis=-1, keepdims=True))


def corrected_agreement(agreement: Floats, probability: Floats, n_labels: int) -> Floats:
    """Return the accuracy of who so often gives a label that is so probably true, by Eq. 7.

    Clipped to [0, 1]. Not for a probability of 1/N.

    Examples
    --------
    >>> corrected_agreement(np.array([0.5, 0.0]), np.array([0.75, 0.6]), 4)
    array([0.625, 0.   ])
    """
    raw = ((n_labels - 1.0) * agreement - 1.0 + probability) / (n_labels * probability - 1.0)
    return np.clip(raw, 0.0, 1.0)
