"""Labels of a Rasch model as compiled code reads them, and the state of a chain."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.kernels.types import Floats, Ints


class Labels(NamedTuple):
    """Labels in the order of `Crossed`, and the known truths."""

    label: Ints  # (annotation): the label's code
    level: Ints  # (annotation): of confidence; empty if confidence is not used
    truth: Ints  # (cell): the true label's code, or ``UNKNOWN``
    prevalence: Floats  # (label): prior counts, in items
    level_prior: float  # Prior count of each level of confidence, in labels
    guessed: float  # Number of labels that guesses are drawn from; 0 without guessing


class Truth(NamedTuple):
    """State of the chain besides abilities and difficulties; each sweep overwrites it."""

    log_prevalence: Floats  # (label)
    log_level: Floats  # (right, level): shares of levels of wrong labels (0) and of right ones (1)
    probability: Floats  # (cell, label): that the label is the true one
    log_likelihood: Floats  # (cell): of its labels, with an unknown truth summed out


def beginning(labels: Labels, n_cells: int) -> Truth:
    """Return starting values: labels are equally probable, and confidence is not informative."""
    n = len(labels.prevalence)
    n_levels = int(labels.level.max()) + 1 if len(labels.level) else 1
    return Truth(
        log_prevalence=np.full(n, -math.log(n)),
        log_level=np.full((2, n_levels), -math.log(n_levels)),
        probability=np.zeros((n_cells, n)),
        log_likelihood=np.zeros(n_cells),
    )
