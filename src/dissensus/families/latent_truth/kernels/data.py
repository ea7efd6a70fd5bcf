"""What the posterior of a latent truth is over, and the priors of it, as kernels read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from dissensus.kernels.types import Floats

EQUAL, GRADED, UNEQUAL = 0, 1, 2
"""How errors fall on the other labels."""
NONE, COMPLETE, HIERARCHICAL = 0, 1, 2
"""How annotators' confusion matrices are pooled."""
_EASES = 5
"""Fifths of a normal distribution that stand for how hard items are. Eleven make no difference
that a thousand items could show."""
MEAN, SPREAD, DECAY, CONCENTRATION, DIFFICULTY, SHARED, SOURCE = range(7)
"""Places in `Parameters.number`."""


class Form(NamedTuple):
    """Which process it is; whole numbers and flags, so that all are one compiled kernel."""

    n_labels: int
    n_voices: int
    """Annotators' voices, then the systems."""
    first_system: int
    evidence: int
    """The first voice that is no evidence of the truth; ``n_voices`` if all are."""
    rows: int
    """1 if each voice has a confusion matrix of its own making, 0 for one accuracy."""
    own_accuracy: int
    errors: int
    ordered: int
    """1 if unequal errors are drawn around graded ones."""
    difficulty: int
    related: int
    pooling: int


class Priors(NamedTuple):
    """Priors; which of them count is for the form to say."""

    prevalence: Floats
    """(label)"""
    spread: float
    difficulty: float
    """Scales of half-normal priors."""
    slope: float
    """The standard deviation of the logarithm of a system's slope."""
    decay: float
    """The standard deviation of a normal one."""
    concentration: Floats
    """Mean and standard deviation of the logarithm of ``error_concentration``."""
    rows: Floats
    """Labels given in advance to each row of a confusion matrix (label, response)."""
    alike: Floats
    """Shape and rate of the Gamma prior of ``confusion_concentration``."""
    system: float
    """Labels by which each row of a system's matrix is drawn to its accuracy."""


class Parameters(NamedTuple):
    """A point of the posterior, written over sweep by sweep."""

    log_prevalence: Floats
    """(label)"""
    skill: Floats
    """Logit of being right about a typical item (voice, label); rows of `Form.rows` 0 are flat."""
    log_error: Floats
    """Logarithms of where errors fall (voice, label, response); not read where they are equal."""
    log_base: Floats
    """What rows of errors are drawn around, and errors of a source that systems share."""
    number: Floats
    """Single numbers, by place: ``MEAN``, ``SHARED`` and ``SOURCE`` are logits."""
    slope: Floats
    """How much harder items are harder for a voice (voice); 1 of annotators."""
    log_population: Floats
    """(label, response)"""
    alike: Floats
    """``confusion_concentration`` (label)"""
    level: Floats
    """Logit of the accuracy that a system's rows are drawn to; how much the logits of an annotator
    lie above those of his population, where he has one (voice)."""


def fifths() -> Floats:
    """Return how easy items are: means of the fifths of a normal distribution, of variance 1."""
    edges = stats.norm.ppf(np.linspace(0, 1, _EASES + 1))
    means = -np.diff(stats.norm.pdf(edges)) * _EASES
    return np.asarray(means / means.std())


def blank(form: Form) -> Parameters:
    """Make room for a point."""
    n, v = form.n_labels, form.n_voices
    error = np.full((v, n, n), -np.log(max(n - 1, 1)))
    error[:, np.arange(n), np.arange(n)] = -np.inf
    number = np.zeros(7)
    number[[SPREAD, CONCENTRATION]] = 0.5, 5.0
    number[DIFFICULTY] = 0.5 if form.difficulty else 0.0
    return Parameters(
        log_prevalence=np.full(n, -np.log(n)),
        skill=np.zeros((v, n)),
        log_error=error,
        log_base=error[0].copy() if v else np.zeros((n, n)),
        number=number,
        slope=np.ones(v),
        log_population=np.full((n, n), -np.log(n)),
        alike=np.full(n, 10.0),
        level=np.zeros(v),
    )
